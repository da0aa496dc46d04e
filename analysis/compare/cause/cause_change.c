/* Tensors seen as pictures, and the changes that preprocessing makes to them. */
#include "analysis/compare/cause/cause_change.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number/function/math.h"
#include "tensor/tensor.h"

/* torchvision's, and those of models' own cards. */
const struct ulp_normalisation ulp_normalisations[] = {
    {"ImageNet's", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    {"0.5 and 0.5", {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
    {"127 and 128 of 255",
     {127.0 / 255, 127.0 / 255, 127.0 / 255},
     {128.0 / 255, 128.0 / 255, 128.0 / 255}},
    {"CIFAR-10's", {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}},
    {"CIFAR-10's", {0.4914, 0.4822, 0.4465}, {0.2023, 0.1994, 0.2010}},
    {"CLIP's", {0.48145466, 0.4578275, 0.40821073}, {0.26862954, 0.26130258, 0.27577711}},
    /* of values from 0 to 255, as networks from Caffe have it: blue, green, red; no deviation */
    {"Caffe's 104, 117, 123",
     {104.0 / 255, 117.0 / 255, 123.0 / 255},
     {1.0 / 255, 1.0 / 255, 1.0 / 255}},
    {"MNIST's", {0.1307, 0.1307, 0.1307}, {0.3081, 0.3081, 0.3081}},
};
bool ulp_normalises_bytes(const struct ulp_normalisation *n)
{
    return n->deviation[0] < 0.01;
}

const size_t ulp_normalisation_count = sizeof ulp_normalisations / sizeof *ulp_normalisations;

static bool are_channels(int64_t size)
{
    return size == 1 || size == 3 || size == 4;
}

struct ulp_picture ulp_picture_of(const struct ulp_tensor *tensor)
{
    const int rank = tensor->rank;
    const int64_t *dims = tensor->dims + (rank == 4);
    struct ulp_picture p = {.images = 1, .channels = 1, .height = 1, .width = 1};
    if ((rank == 3 || rank == 4) && are_channels(dims[0]) && dims[1] >= 4 && dims[2] >= 4)
        p = (struct ulp_picture){1, (size_t)dims[0], (size_t)dims[1], (size_t)dims[2], false, true};
    else if ((rank == 3 || rank == 4) && are_channels(dims[2]) && dims[0] >= 4 && dims[1] >= 4)
        p = (struct ulp_picture){1, (size_t)dims[2], (size_t)dims[0], (size_t)dims[1], true, true};
    else if (rank > 0 && tensor->dims[rank - 1] > 0)
        p.width = (size_t)tensor->dims[rank - 1];
    if (p.image)
        p.images = rank == 4 ? (size_t)tensor->dims[0] : 1;
    else
        p.height = p.width ? tensor->count / p.width : 0;
    return p;
}

struct ulp_input_change ulp_change_none(void)
{
    struct ulp_input_change change = {0};
    for (int c = 0; c < ULP_CHANNELS_MAX; c++) {
        change.from[c] = c;
        change.factor[c] = 1;
    }
    return change;
}

struct ulp_input_change ulp_change_scaled(double factor)
{
    struct ulp_input_change change = ulp_change_none();
    for (int c = 0; c < ULP_CHANNELS_MAX; c++)
        change.factor[c] = factor;
    return change;
}

size_t ulp_change_places(int borders, struct ulp_input_change out[ULP_PLACES_MAX])
{
    size_t count = 0;
    for (int i = 0; i < ULP_PLACES_MAX; i++)
        out[i] = ulp_change_none();
    for (int layout = 0; layout < ULP_LAYOUT_COUNT; layout++)
        out[count++].layout = (enum ulp_axis_order)layout;
    for (int mirror = 1; mirror < 4; mirror++) {
        out[count].mirrored_rows = mirror & 1;
        out[count++].mirrored_columns = mirror & 2;
    }
    for (int place = 0; place < 9 * borders; place++)
        if (place / borders != 4) { /* it stays there */
            out[count].down = place / borders / 3 - 1;
            out[count].right = place / borders % 3 - 1;
            out[count++].border = (enum ulp_edge)(place % borders);
        }
    return count;
}

void ulp_change_reverse(struct ulp_input_change *change)
{
    change->from[0] = 2;
    change->from[2] = 0;
    const double factor = change->factor[0], offset = change->offset[0];
    change->factor[0] = change->factor[2];
    change->offset[0] = change->offset[2];
    change->factor[2] = factor;
    change->offset[2] = offset;
}

/* u is (x - mean) / deviation, and so is v, of the channels of x in reverse. */
struct ulp_input_change ulp_change_swapped(const struct ulp_normalisation *n)
{
    struct ulp_input_change change = ulp_change_none();
    ulp_change_reverse(&change);
    for (int c = 0; c < 3; c++) {
        change.factor[c] = n->deviation[2 - c] / n->deviation[c];
        change.offset[c] = (n->mean[2 - c] - n->mean[c]) / n->deviation[c];
    }
    return change;
}

struct ulp_picture_steps ulp_picture_steps(const struct ulp_picture *p, enum ulp_axis_order layout)
{
    const bool other = layout == ULP_LAYOUT_OTHER || layout == ULP_LAYOUT_OTHER_TRANSPOSED,
               transposed =
                   layout == ULP_LAYOUT_TRANSPOSED || layout == ULP_LAYOUT_OTHER_TRANSPOSED;
    const bool last = p->channels_last != other;
    const size_t pixel = last ? p->channels : 1;
    return (struct ulp_picture_steps){
        .image = p->channels * p->height * p->width,
        .channel = last ? 1 : p->height * p->width,
        .row = transposed ? pixel : p->width * pixel,
        .column = transposed ? p->height * pixel : pixel,
    };
}

static ptrdiff_t find_place(size_t place, size_t size, bool mirrored, int moved)
{
    return (ptrdiff_t)(mirrored ? size - 1 - place : place) + moved;
}

ptrdiff_t ulp_change_row(const struct ulp_picture *picture, const struct ulp_input_change *change,
                         size_t y)
{
    return find_place(y, picture->height, change->mirrored_rows, change->down);
}

ptrdiff_t ulp_change_column(const struct ulp_picture *picture,
                            const struct ulp_input_change *change, size_t x)
{
    return find_place(x, picture->width, change->mirrored_columns, change->right);
}

static void set_value(struct ulp_tensor *tensor, size_t i, double x,
                      const struct ulp_format *format)
{
    if (!format) {
        ulp_tensor_set_int(tensor, i, (int64_t)nearbyint(x));
        return;
    }
    x = ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, x, 0, 0);
    if (tensor->element == ULP_ELEMENT_F32)
        ((float *)tensor->data)[i] = (float)x;
    else
        ((double *)tensor->data)[i] = x;
}

/* So far from what was given to what stands there, which is a float: its element holds more than
 * the format it is of, which no run needs. */
static void mix_value(struct ulp_tensor *tensor, size_t i, double given, double part)
{
    const double x = given + part * (ulp_tensor_get(tensor, i) - given);
    if (tensor->element == ULP_ELEMENT_F32)
        ((float *)tensor->data)[i] = (float)x;
    else
        ((double *)tensor->data)[i] = x;
}

static ptrdiff_t clamp(ptrdiff_t place, size_t size)
{
    return place < 0 ? 0 : place >= (ptrdiff_t)size ? (ptrdiff_t)size - 1 : place;
}

/* The changed picture's pixel in every channel. */
static void change_pixel(const struct ulp_tensor *given, const struct ulp_picture *p,
                         const struct ulp_input_change *change, size_t image, size_t y, size_t x,
                         struct ulp_tensor *out, const struct ulp_format *format)
{
    const struct ulp_picture_steps from = ulp_picture_steps(p, ULP_LAYOUT_SAME),
                                   to = ulp_picture_steps(p, change->layout);
    const ptrdiff_t row = ulp_change_row(p, change, y), column = ulp_change_column(p, change, x);
    const size_t inner_row = (size_t)clamp(row, p->height),
                 inner_column = (size_t)clamp(column, p->width);
    const bool outside = row != (ptrdiff_t)inner_row || column != (ptrdiff_t)inner_column;
    for (size_t c = 0; c < p->channels; c++) {
        const size_t source = image * from.image + (size_t)change->from[c] * from.channel +
                              inner_row * from.row + inner_column * from.column;
        const double u =
            outside && change->border == ULP_EDGE_ZERO ? 0 : ulp_tensor_get(given, source);
        set_value(out, image * to.image + c * to.channel + y * to.row + x * to.column,
                  change->factor[c] * u + change->offset[c], format);
    }
}

enum ulp_status ulp_change_apply(const struct ulp_tensor *given, const struct ulp_picture *picture,
                                 const struct ulp_input_change *change, struct ulp_tensor *out,
                                 struct ulp_error *error)
{
    struct ulp_format format;
    const bool is_float = ulp_element_is_float(given->element);
    if (is_float)
        ULP_TRY(ulp_format_find(ulp_type_rows[given->type].format, &format, error));
    *out = (struct ulp_tensor){0};
    ULP_TRY(ulp_tensor_copy(out, given, NULL, error));
    for (size_t image = 0; image < picture->images; image++)
        for (size_t y = 0; y < picture->height; y++)
            for (size_t x = 0; x < picture->width; x++)
                change_pixel(given, picture, change, image, y, x, out, is_float ? &format : NULL);
    return ULP_OK;
}

enum ulp_status ulp_change_inputs(const struct ulp_tensor_set *inputs, const char *name,
                                  const struct ulp_picture *picture,
                                  const struct ulp_input_change *change, double part,
                                  struct ulp_tensor_set *out, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    *out = (struct ulp_tensor_set){0};
    for (size_t i = 0; i < inputs->count && status == ULP_OK; i++) {
        const struct ulp_tensor *given = &inputs->items[i].tensor;
        struct ulp_tensor tensor = ulp_tensor_view(given);
        if (strcmp(inputs->items[i].name, name) == 0) {
            status = ulp_change_apply(given, picture, change, &tensor, error);
            for (size_t e = 0; e < given->count && part < 1 && status == ULP_OK; e++)
                mix_value(&tensor, e, ulp_tensor_get(given, e), part);
        }
        ULP_THEN(status, ulp_tensor_set_add(out, inputs->items[i].name, &tensor, error));
        ulp_tensor_free(&tensor);
    }
    if (status != ULP_OK)
        ulp_tensor_set_free(out);
    return status;
}

/* ---- words ---- */

static void add_change_words(struct ulp_text *out, const char *words)
{
    ulp_text_add(out, "%s%s", out->length ? ", " : "", words);
}

static void describe_channels(const struct ulp_picture *p, const struct ulp_input_change *change,
                              struct ulp_text *out)
{
    bool same = true, reverse = p->channels >= 3;
    char words[64];
    for (int c = 0; c < (int)p->channels; c++) {
        same &= change->from[c] == c;
        reverse &= change->from[c] == (c < 3 ? 2 - c : c);
    }
    if (same)
        return;
    if (reverse) {
        add_change_words(out, "channels in reverse order (RGB and BGR swapped)");
        return;
    }
    snprintf(words, sizeof words, "channels in the order %d, %d, %d", change->from[0],
             change->from[1], change->from[2]);
    add_change_words(out, words);
}

static void describe_places(const struct ulp_picture *p, const struct ulp_input_change *change,
                            struct ulp_text *out)
{
    const bool other =
        change->layout == ULP_LAYOUT_OTHER || change->layout == ULP_LAYOUT_OTHER_TRANSPOSED;
    char words[96];
    if (other)
        add_change_words(out, p->channels_last
                                  ? "elements in the order NCHW where the model takes NHWC"
                                  : "elements in the order NHWC where the model takes NCHW");
    if (change->layout == ULP_LAYOUT_TRANSPOSED || change->layout == ULP_LAYOUT_OTHER_TRANSPOSED)
        add_change_words(out, "rows and columns exchanged");
    if (change->mirrored_rows && change->mirrored_columns)
        add_change_words(out, p->image ? "turned by 180 degrees" : "in reverse order");
    else if (change->mirrored_rows)
        add_change_words(out, p->image ? "upside down" : "rows in reverse order");
    else if (change->mirrored_columns)
        add_change_words(out, p->image ? "mirrored left to right" : "rows from their end");
    if (change->down || change->right) {
        snprintf(words, sizeof words, "shifted by one %s (%s%s%s)", p->image ? "pixel" : "place",
                 change->down > 0   ? "up"
                 : change->down < 0 ? "down"
                                    : "",
                 change->down && change->right ? ", " : "",
                 change->right > 0   ? "left"
                 : change->right < 0 ? "right"
                                     : "");
        add_change_words(out, words);
    }
}

/* A named mean is known to three digits, and pixels to one in 255; that nothing changed is known
 * better. */
#define NAMED 0.01
#define UNCHANGED 1e-4

/* Is v = factor u + offset in every channel, as nearly as `tolerance` says? */
static bool matches(const struct ulp_picture *p, const struct ulp_input_change *change,
                    const double factor[3], const double offset[3], double tolerance)
{
    for (size_t c = 0; c < p->channels && c < 3; c++) {
        const int from = change->from[c] < 3 ? change->from[c] : 2;
        const double scale = ulp_math_max(fabs(factor[from]), fabs(offset[from]));
        if (fabs(change->factor[c] - factor[from]) > tolerance * fabs(factor[from]) ||
            fabs(change->offset[c] - offset[from]) > tolerance * scale)
            return false;
    }
    return true;
}

/* Ways to go wrong with x in 0 to 1 or, `bytes`, in 0 to 255, when u is (x - mean) / deviation or,
 * plain, x itself. */
static bool describe_normalisation(const struct ulp_picture *p,
                                   const struct ulp_input_change *change,
                                   const struct ulp_normalisation *n, struct ulp_text *out)
{
    static const struct {
        double scale;
        bool left_out, mean, deviation;
        const char *words;
    } ways[] = {
        {1, true, true, true, "mean and standard deviation left out"},
        {255, true, true, true,
         "values from 0 to 255: neither divided by 255 nor mean and standard deviation applied"},
        {1, true, true, false, "mean not subtracted"},
        {1, true, false, true, "not divided by the standard deviation"},
        {1, false, true, true,
         "mean and standard deviation applied where the model takes values from 0 to 1"},
        {1 / 255.0, false, true, true,
         "divided by 255, mean and standard deviation applied, where the model takes values from 0 "
         "to 255"},
    };
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        double factor[3], offset[3];
        for (int c = 0; c < 3; c++) {
            const double deviation = ways[w].deviation ? n->deviation[c] : 1,
                         mean = ways[w].mean ? n->mean[c] : 0;
            factor[c] = ways[w].left_out ? ways[w].scale * deviation : ways[w].scale / deviation;
            /* x - mean left out alone: u + mean / deviation */
            offset[c] = !ways[w].left_out   ? -mean / deviation
                        : ways[w].deviation ? ways[w].scale * mean
                                            : mean / n->deviation[c];
        }
        const bool of_bytes = ulp_normalises_bytes(n);
        if ((of_bytes && ways[w].scale == 1) || !matches(p, change, factor, offset, NAMED))
            continue;
        ulp_text_add(out, "%s%s (%s)", out->length ? ", " : "",
                     !of_bytes ? ways[w].words
                     : ways[w].left_out
                         ? "mean not subtracted"
                         : "mean subtracted where the model takes values from 0 to 255",
                     n->name);
        return true;
    }
    return false;
}

static void describe_numbers(const struct ulp_picture *p, const struct ulp_input_change *change,
                             struct ulp_text *out)
{
    ulp_text_add(out, "%sscaled: each value is ", out->length ? ", " : "");
    for (size_t c = 0; c < p->channels; c++) {
        ulp_text_add(out, "%s%.5g times", c ? "; " : "", change->factor[c]);
        if (fabs(change->offset[c]) > UNCHANGED * fabs(change->factor[c]))
            ulp_text_add(out, " %s %.5g", change->offset[c] < 0 ? "minus" : "plus",
                         fabs(change->offset[c]));
    }
    ulp_text_add(out, p->channels > 1 ? " (by channel)" : "");
}

static void describe_scale(const struct ulp_picture *p, const struct ulp_input_change *change,
                           struct ulp_text *out)
{
    static const double zero[3];
    static const struct {
        double factor, offset;
        const char *words;
    } scales[] = {{255, 0, "255 times as large (not divided by 255)"},
                  {1 / 255.0, 0, "255 times as small (divided by 255 once more)"},
                  {256, 0, "256 times as large"},
                  {1 / 256.0, 0, "256 times as small"},
                  {-1, 1, "light and dark exchanged (1 less each value)"},
                  {-1, 255, "light and dark exchanged (255 less each value)"},
                  {-1, 0, "of the opposite sign"}};
    const double one[3] = {1, 1, 1};
    if (matches(p, change, one, zero, UNCHANGED))
        return;
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        const double factor[3] = {scales[s].factor, scales[s].factor, scales[s].factor},
                     offset[3] = {scales[s].offset, scales[s].offset, scales[s].offset};
        if (matches(p, change, factor, offset, NAMED)) {
            add_change_words(out, scales[s].words);
            return;
        }
    }
    for (size_t n = 0; n < ulp_normalisation_count && p->channels >= 3; n++) {
        const struct ulp_input_change swapped = ulp_change_swapped(&ulp_normalisations[n]);
        const double factor[3] = {swapped.factor[2], swapped.factor[1], swapped.factor[0]},
                     offset[3] = {swapped.offset[2], swapped.offset[1], swapped.offset[0]};
        if (change->from[0] == 2 && matches(p, change, factor, offset, NAMED)) {
            ulp_text_add(out, " before mean and standard deviation were applied (%s)",
                         ulp_normalisations[n].name);
            return;
        }
    }
    for (size_t n = 0; n < ulp_normalisation_count && p->image; n++)
        if (describe_normalisation(p, change, &ulp_normalisations[n], out))
            return;
    describe_numbers(p, change, out);
}

void ulp_change_describe(const struct ulp_picture *picture, const struct ulp_input_change *change,
                         struct ulp_text *out)
{
    describe_channels(picture, change, out);
    describe_places(picture, change, out);
    describe_scale(picture, change, out);
}
