/* Parts of nodes that can be computed alone: elements of formulas, rows of products and of
 * normalisations, lines of convolutions. */
#include "analysis/quick/quick_part.h"

#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/random.h"
#include "tensor/tensor.h"

#define SAMPLED_ELEMENTS 256
#define SAMPLED_ROWS 4
#define WHOLE_ELEMENTS 1024 /* up to so many are computed all */

enum ulp_status ulp_blocks_copy(struct ulp_tensor *out, const struct ulp_tensor *in,
                                const size_t *first, size_t count, size_t length, int rank,
                                const int64_t *dims, struct ulp_budget *budget,
                                struct ulp_error *error)
{
    ULP_TRY(ulp_tensor_describe(out, in->type, in->element, in->precision, rank, dims, error));
    ULP_TRY(ulp_tensor_allocate(out, budget, error));
    const size_t bytes = length * in->element_bytes;
    for (size_t b = 0; b < count; b++)
        memcpy((char *)out->data + b * bytes, (const char *)in->data + first[b] * in->element_bytes,
               bytes);
    return ULP_OK;
}

/* What a part is made of. */
struct chooser {
    struct ulp_quick_part *part;
    const struct ulp_step *step;
    const struct ulp_tensor *const *inputs;
    const struct ulp_tensor *output;
    uint64_t draw;
    struct ulp_budget *budget;
    struct ulp_error *error;
};

/* The i-th random number below `limit`. */
static size_t draw_below(const struct chooser *c, uint64_t i, size_t limit)
{
    return (size_t)(ulp_random_bits(c->draw ^ ulp_mix(c->step->number + 1), i) % limit);
}

static bool make_blocks(struct chooser *c, size_t count, size_t length)
{
    struct ulp_quick_part *part = c->part;
    part->of_node = ulp_arena_take(part->memory, count, sizeof *part->of_node);
    part->of_part = ulp_arena_take(part->memory, count, sizeof *part->of_part);
    part->count = count;
    part->length = length;
    for (size_t b = 0; b < count && part->of_part; b++)
        part->of_part[b] = b * length;
    return part->of_node && part->of_part;
}

static enum ulp_status take(struct chooser *c, size_t input, const size_t *first, size_t count,
                            size_t length, int rank, const int64_t *dims)
{
    return ulp_blocks_copy(&c->part->inputs[input], c->inputs[input], first, count, length, rank,
                           dims, c->budget, c->error);
}

/* ---- elements of a formula with broadcasting ---- */

/* Where the input has what element `at` of the output is computed of. */
static size_t find_operand(const struct ulp_tensor *output, const struct ulp_tensor *input,
                           size_t at)
{
    size_t place = 0, stride = 1;
    for (int d = output->rank - 1, i = input->rank - 1; i >= 0; d--, i--) {
        const size_t size = (size_t)output->dims[d], along = at % size;
        at /= size;
        place += input->dims[i] == 1 ? 0 : along * stride;
        stride *= (size_t)input->dims[i];
    }
    return place;
}

static bool broadcasts(const struct chooser *c)
{
    for (size_t i = 0; i < c->step->own_input_count; i++) {
        const struct ulp_tensor *input = c->inputs[i];
        if (!input)
            continue;
        if (input->rank > c->output->rank)
            return false;
        for (int d = 1; d <= input->rank; d++)
            if (input->dims[input->rank - d] != 1 &&
                input->dims[input->rank - d] != c->output->dims[c->output->rank - d])
                return false;
    }
    return true;
}

static enum ulp_status choose_elements(struct chooser *c)
{
    const int64_t dims[] = {SAMPLED_ELEMENTS};
    size_t *first = ulp_arena_take(c->part->memory, SAMPLED_ELEMENTS, sizeof *first);
    ULP_TRY(ulp_taken(first && make_blocks(c, SAMPLED_ELEMENTS, 1), c->error));
    for (size_t e = 0; e < SAMPLED_ELEMENTS; e++)
        c->part->of_node[e] = draw_below(c, e, c->output->count);
    for (size_t i = 0; i < c->step->own_input_count; i++) {
        if (!c->inputs[i] || c->inputs[i]->count == 1)
            continue;
        for (size_t e = 0; e < SAMPLED_ELEMENTS; e++)
            first[e] = find_operand(c->output, c->inputs[i], c->part->of_node[e]);
        ULP_TRY(take(c, i, first, SAMPLED_ELEMENTS, 1, 1, dims));
    }
    return ULP_OK;
}

/* ---- rows of a product ---- */

/* Rows of `a` (row_count in all) times all of b, or of the b of one of its batches. */
static enum ulp_status choose_rows(struct chooser *c)
{
    const struct ulp_tensor *a = c->inputs[0], *b = c->inputs[1];
    const size_t k = (size_t)a->dims[a->rank - 1], m = (size_t)a->dims[a->rank - 2];
    const size_t n = (size_t)b->dims[b->rank - 1];
    const size_t batches = b->rank == 2 ? 1 : b->count / (k * n);
    const size_t batch = draw_below(c, SAMPLED_ROWS, batches),
                 rows = b->rank == 2 ? a->count / k : m;
    const int64_t a_dims[] = {SAMPLED_ROWS, (int64_t)k}, b_dims[] = {(int64_t)k, (int64_t)n};
    const size_t b_first = batch * k * n;
    size_t a_first[SAMPLED_ROWS];
    ULP_TRY(ulp_taken(make_blocks(c, SAMPLED_ROWS, n), c->error));
    for (size_t r = 0; r < SAMPLED_ROWS; r++) {
        const size_t row = batch * m + draw_below(c, r, rows);
        a_first[r] = row * k;
        c->part->of_node[r] = row * n;
    }
    ULP_TRY(take(c, 0, a_first, SAMPLED_ROWS, k, 2, a_dims));
    if (b->rank > 2)
        ULP_TRY(take(c, 1, &b_first, 1, k * n, 2, b_dims));
    return ULP_OK;
}

/* Both have the same batches, or b has none. */
static bool has_rows(const struct chooser *c)
{
    const struct ulp_tensor *a = c->inputs[0], *b = c->inputs[1];
    if (!a || !b || a->rank < 2 || b->rank < 2 || (b->rank > 2 && b->rank != a->rank))
        return false;
    for (int d = 0; b->rank > 2 && d < b->rank - 2; d++)
        if (a->dims[d] != b->dims[d])
            return false;
    return true;
}

/* ---- rows of a normalisation along the last axis ---- */

static enum ulp_status choose_normalised(struct chooser *c)
{
    const struct ulp_tensor *x = c->inputs[0];
    const size_t n = (size_t)x->dims[x->rank - 1];
    int64_t dims[ULP_RANK_MAX];
    size_t first[SAMPLED_ROWS];
    ULP_TRY(ulp_taken(make_blocks(c, SAMPLED_ROWS, n), c->error));
    for (int d = 0; d < x->rank; d++)
        dims[d] = d == x->rank - 1 ? (int64_t)n : d == x->rank - 2 ? SAMPLED_ROWS : 1;
    for (size_t r = 0; r < SAMPLED_ROWS; r++)
        first[r] = c->part->of_node[r] = draw_below(c, r, x->count / n) * n;
    return take(c, 0, first, SAMPLED_ROWS, n, x->rank, dims);
}

static bool is_normalised(const struct chooser *c)
{
    static const char ops[] =
        "Softmax LogSoftmax LayerNormalization SimplifiedLayerNormalization RMSNormalization";
    const struct ulp_tensor *x = c->inputs[0];
    const struct ulp_attribute_value *axis = ulp_bound_attribute(&c->step->bound, "axis");
    bool known = ulp_is_word(c->step->bound.op->name, ops);
    for (size_t i = 1; i < c->step->own_input_count && known; i++)
        known = !c->inputs[i] || c->inputs[i]->rank <= 1;
    return known && x && x->rank >= 2 && axis && axis->present &&
           (axis->i == -1 || axis->i == x->rank - 1) &&
           !(ulp_is_word(c->step->bound.op->name, "Softmax LogSoftmax") && c->step->opset < 13);
}

/* ---- a line of a convolution ---- */

/* Of one image the lines that one line of the output is computed of, so that with the node's own
 * padding above them it is line `line` of the part. */
struct conv_line {
    size_t image, line, out_line;
    int64_t top, height, lines; /* of the input that is taken; lines of the part's output */
};

static int64_t conv_number(const struct ulp_step *step, const char *name, size_t i, int64_t absent)
{
    const struct ulp_attribute_value *value = ulp_bound_attribute(&step->bound, name);
    return value && value->present && i < value->count ? value->ints[i] : absent;
}

static bool find_line(const struct chooser *c, struct conv_line *out)
{
    const struct ulp_tensor *x = c->inputs[0], *w = c->inputs[1], *y = c->output;
    const struct ulp_attribute_value *padding = ulp_bound_attribute(&c->step->bound, "auto_pad");
    if (strcmp(c->step->bound.op->name, "Conv") != 0 || !x || !w || x->rank != 4 || y->rank != 4 ||
        (padding && padding->s && strcmp(padding->s, "NOTSET") != 0))
        return false;
    const int64_t stride = conv_number(c->step, "strides", 0, 1),
                  above = conv_number(c->step, "pads", 0, 0),
                  below = conv_number(c->step, "pads", 2, 0),
                  reach = (w->dims[2] - 1) * conv_number(c->step, "dilations", 0, 1) + 1,
                  shift = (stride - above % stride) % stride;
    /* lines whose window, and `shift` lines above it, lie in the image */
    const int64_t first = (above + shift + stride - 1) / stride,
                  last = (x->dims[2] - reach + above) / stride;
    if (last < first || last - first < 8 || stride < 1 || above < 0 || last >= y->dims[2])
        return false;
    out->out_line = (size_t)first + draw_below(c, 0, (size_t)(last - first + 1));
    out->image = draw_below(c, 1, (size_t)x->dims[0]);
    out->top = (int64_t)out->out_line * stride - above - shift;
    out->height = reach + shift;
    out->line = (size_t)((shift + above) / stride);
    out->lines = (out->height + above + below - reach) / stride + 1;
    return out->line < (size_t)out->lines;
}

static enum ulp_status choose_line(struct chooser *c, const struct conv_line *line)
{
    const struct ulp_tensor *x = c->inputs[0], *y = c->output;
    const size_t channels = (size_t)x->dims[1], width = (size_t)x->dims[3],
                 results = (size_t)y->dims[1], out_width = (size_t)y->dims[3];
    const int64_t dims[] = {1, x->dims[1], line->height, x->dims[3]};
    size_t *first = ulp_arena_take(c->part->memory, channels + 1, sizeof *first);
    ULP_TRY(ulp_taken(first && make_blocks(c, results, out_width), c->error));
    for (size_t i = 0; i < channels; i++)
        first[i] = ((line->image * channels + i) * (size_t)x->dims[2] + (size_t)line->top) * width;
    for (size_t i = 0; i < results; i++) {
        c->part->of_node[i] =
            ((line->image * results + i) * (size_t)y->dims[2] + line->out_line) * out_width;
        c->part->of_part[i] = (i * (size_t)line->lines + line->line) * out_width;
    }
    return take(c, 0, first, channels, (size_t)line->height * width, 4, dims);
}

static enum ulp_status choose(struct chooser *c)
{
    const struct ulp_operator *op = c->step->bound.op;
    struct conv_line line;
    if (c->step->output_count == 1 && c->output->count > WHOLE_ELEMENTS) {
        if (op->formula && !op->rows && op->work == ULP_WORK_FORMULA && broadcasts(c))
            return choose_elements(c);
        if (strcmp(op->name, "MatMul") == 0 && has_rows(c))
            return choose_rows(c);
        if (is_normalised(c))
            return choose_normalised(c);
        if (find_line(c, &line))
            return choose_line(c, &line);
    }
    c->part->whole = true;
    return ULP_OK;
}

enum ulp_status ulp_quick_part_choose(struct ulp_quick_part *out, const struct ulp_step *step,
                                      const struct ulp_tensor *const *inputs,
                                      const struct ulp_tensor *output, uint64_t draw,
                                      struct ulp_budget *budget, struct ulp_error *error)
{
    struct chooser c = {out, step, inputs, output, draw, budget, error};
    *out = (struct ulp_quick_part){0};
    ULP_TRY(ulp_arena_create(&out->memory, budget, error));
    ULP_TRY(choose(&c));
    for (size_t i = 0; i < step->own_input_count; i++)
        if (inputs[i] && !out->inputs[i].data)
            out->inputs[i] = ulp_tensor_view(inputs[i]);
    return ULP_OK;
}

void ulp_quick_part_free(struct ulp_quick_part *part)
{
    for (size_t i = 0; i < ULP_QUICK_PART_INPUTS; i++)
        ulp_tensor_free(&part->inputs[i]);
    ulp_arena_free(part->memory);
    *part = (struct ulp_quick_part){0};
}
