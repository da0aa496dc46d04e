#include "variants.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define BIG(bits) (INT64_C(1) << (bits))

/* Ends of integer types, and numbers whose products and sums leave them. */
static const int64_t integers[] = {0,       1,       -1,          2,        3,         5,
                                   17,      256,     BIG(16),     BIG(20),  INT32_MAX, -BIG(31),
                                   BIG(31), BIG(32), BIG(40),     BIG(62),  -BIG(62),  INT64_MAX,
                                   -2,      -17,     BIG(63 - 4), INT64_MIN};
static const double floats[] = {0,     -0.0, 1,      -1,     NAN,   INFINITY,  -INFINITY, 1e38,
                                -1e38, 1e19, 0x1p62, 0x1p31, 1e-40, 0.3333333, 1000};

/* ---- the row's texts ---- */

struct word {
    const char *text;
    size_t length;
    char kind;
    bool variadic;
};

/* Word number n of an inputs or outputs text; the last, when variadic, for all that follow. */
static bool find_word(const char *text, int n, struct word *out)
{
    struct word word = {0};
    for (const char *p = text ? text : ""; *(p += strspn(p, " ")); p += word.length) {
        word = (struct word){.text = p, .length = strcspn(p, " ")};
        const char *colon = memchr(p, ':', word.length);
        word.kind = colon ? colon[1] : 0;
        word.variadic = p[word.length - 1] == '*' && !(colon && colon + 2 == p + word.length);
        *out = word;
        if (n-- == 0)
            return true;
    }
    return word.variadic;
}

static int count_words(const char *text)
{
    struct word word;
    int count = 0;
    while (count < CASE_INPUTS - 2 && find_word(text, count, &word) && !word.variadic)
        count++;
    return count + 2; /* and more than there are */
}

struct named {
    const char *name, *kind;
    size_t length;
};

/* Attribute number n of a row. */
static bool find_attribute(const struct ulp_operator *row, int n, struct named *out)
{
    const char *text = row->attributes ? row->attributes : "";
    while (*(text += strspn(text, "; "))) {
        *out = (struct named){.name = text, .length = strcspn(text, ":")};
        out->kind = text + out->length + 1;
        out->kind += *out->kind == '!';
        if (n-- == 0)
            return true;
        text += strcspn(text, ";");
    }
    return false;
}

/* ---- inputs ---- */

struct shape {
    int rank;
    int64_t dims[ULP_RANK_MAX];
};

/* Relative to what the input has (or input 0, for one that is not given): */
enum { SAME, NO_FIRST, NO_LAST, FIRST_ONE, LAST_ONE, FLAT, TURNED, RELATIVE };
static const struct shape shapes[] = {
    {0, {0}},
    {1, {0}},
    {1, {1}},
    {1, {2}},
    {1, {3}},
    {1, {4}},
    {1, {5}},
    {2, {1, 1}},
    {2, {2, 3}},
    {2, {0, 4}},
    {2, {3, 0}},
    {3, {1, 1, 1}},
    {3, {2, 3, 4}},
    {4, {1, 1, 1, 1}},
    {5, {2, 1, 2, 1, 2}},
    {16, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    /* nothing, between much */
    {2, {0, BIG(40)}},
    {2, {BIG(40), 0}},
    {3, {BIG(31), 0, BIG(31)}},
    {4, {0, BIG(20), BIG(20), 1}},
    {5, {BIG(20), BIG(20), 0, 3, BIG(20)}},
    {1, {BIG(31)}},
    {2, {BIG(31), BIG(31)}},
    {1, {BIG(62)}},
};
#define SHAPES ((int)COUNT(shapes) + RELATIVE)

/* Of one dimension: values, then what is added to it. */
static const int64_t dims[] = {0, 1, 2, 64, BIG(20), BIG(31), BIG(40), BIG(62)};
static const int64_t steps[] = {-1, 1, 7};
#define DIMS ((int)(COUNT(dims) + COUNT(steps)))
#define DIMS_MAX 5

static const enum ulp_type types[] = {ULP_TYPE_FLOAT,        ULP_TYPE_INT64,  ULP_TYPE_INT32,
                                      ULP_TYPE_UINT8,        ULP_TYPE_INT8,   ULP_TYPE_BOOL,
                                      ULP_TYPE_FLOAT16,      ULP_TYPE_DOUBLE, ULP_TYPE_UINT64,
                                      ULP_TYPE_FLOAT8E4M3FN, ULP_TYPE_INT4,   ULP_TYPE_FLOAT8E8M0};

/* Which elements. */
enum { ALL, FIRST, LAST, PARTS };

/* Element i as the lane holds it (lane NULL: as the model does). */
static void set_number(struct ulp_tensor *tensor, const struct ulp_arithmetic *lane, size_t i,
                       double real, int64_t whole)
{
    struct ulp_format format;
    struct ulp_error error;
    if (!ulp_element_is_float(tensor->element)) {
        ulp_tensor_set_int(tensor, i, whole);
        return;
    }
    if (lane && ulp_type_rows[tensor->type].file_bits > 8)
        format = lane->storage;
    else
        ck_ulp_ok(ulp_format_find(ulp_type_rows[tensor->type].format, &format, &error), error);
    const struct ulp_tensor from = {.type = ULP_TYPE_DOUBLE,
                                    .element = ULP_ELEMENT_F64,
                                    .count = 1,
                                    .element_bytes = sizeof real,
                                    .data = &real};
    struct ulp_tensor to = *tensor;
    to.rank = 0;
    to.count = 1;
    to.data = (char *)tensor->data + i * tensor->element_bytes;
    ck_ulp_ok(ulp_tensor_convert(&to, &from, &format, ULP_ROUND_NEAREST_EVEN, 0, NULL, &error),
              error);
}

/* Input `place` anew (lane NULL: as the model has it), its elements those it had again and again.
 */
static void remake(struct node_case *c, const struct ulp_arithmetic *lane, int place,
                   enum ulp_type type, const struct shape *shape)
{
    struct ulp_tensor *tensor = &c->inputs[place], old = *tensor;
    const bool is_float = ulp_type_is_float(type);
    struct ulp_error error;
    tensor->data = NULL;
    while ((int)c->node.input_count <= place)
        c->numbers[c->node.input_count++] = -1;
    c->numbers[place] = place;
    c->in[place] = tensor;
    enum ulp_status status = ulp_tensor_describe(
        tensor, type, is_float && lane ? ulp_storage_element(&lane->storage) : ULP_ELEMENT_COUNT,
        is_float && lane ? lane->storage.precision : 0, shape->rank, shape->dims, &error);
    if (status == ULP_OK && tensor->count <= VARIANT_ELEMENTS_MAX)
        ck_ulp_ok(ulp_tensor_allocate(tensor, NULL, &error), error);
    for (size_t i = 0; tensor->data && i < tensor->count; i++) {
        const bool had = old.data && old.count;
        const double real = had ? ulp_tensor_get(&old, i % old.count) : 0.25 * (double)(i % 7);
        set_number(tensor, lane, i, real,
                   had && !ulp_element_is_float(old.element)
                       ? ulp_tensor_get_int(&old, i % old.count)
                   : had ? (int64_t)real
                         : (int64_t)(i % 2));
    }
    ulp_tensor_free(&old);
    if (status != ULP_OK) /* no tensor has such a shape */
        *tensor = (struct ulp_tensor){.type = type};
}

static enum ulp_type type_of(const struct node_case *c, const struct ulp_operator *row, int place)
{
    struct word word = {0};
    if (c->in[place])
        return c->in[place]->type;
    find_word(row->inputs, place, &word);
    return word.kind == 'i' ? ULP_TYPE_INT64 : word.kind == 'b' ? ULP_TYPE_BOOL : ULP_TYPE_FLOAT;
}

static struct shape shape_of(const struct node_case *c, int place)
{
    const struct ulp_tensor *tensor = c->in[place] ? c->in[place] : c->in[0];
    struct shape shape = {0};
    if (!tensor)
        return shape;
    shape.rank = tensor->rank;
    memcpy(shape.dims, tensor->dims, sizeof shape.dims);
    return shape;
}

static struct shape change_shape(struct shape shape, int detail)
{
    int64_t *d = shape.dims;
    const int rank = shape.rank;
    if (detail >= RELATIVE)
        return shapes[detail - RELATIVE];
    switch (detail) {
    case NO_FIRST:
        shape.rank -= rank > 0;
        memmove(d, d + 1, (ULP_RANK_MAX - 1) * sizeof *d);
        break;
    case NO_LAST: shape.rank -= rank > 0; break;
    case FIRST_ONE:
        if (rank == ULP_RANK_MAX)
            break;
        memmove(d + 1, d, (ULP_RANK_MAX - 1) * sizeof *d);
        d[0] = 1;
        shape.rank++;
        break;
    case LAST_ONE:
        if (rank < ULP_RANK_MAX)
            d[shape.rank++] = 1;
        break;
    case FLAT:
        for (int i = 1; i < rank; i++)
            d[0] *= d[i];
        d[0] = rank ? d[0] : 1;
        shape.rank = 1;
        break;
    case TURNED:
        for (int i = 0; i < rank / 2; i++) {
            const int64_t other = d[i];
            d[i] = d[rank - 1 - i];
            d[rank - 1 - i] = other;
        }
        break;
    default: break;
    }
    return shape;
}

static void change_values(struct node_case *c, const struct ulp_arithmetic *lane, int place,
                          int detail, struct ulp_text *what)
{
    struct ulp_tensor *tensor = &c->inputs[place];
    const bool is_float = tensor->data && ulp_element_is_float(tensor->element);
    const int part = detail % PARTS, n = detail / PARTS;
    const double real = floats[n % (int)COUNT(floats)];
    const int64_t whole = integers[n % (int)COUNT(integers)];
    for (size_t i = 0; tensor->data && i < tensor->count; i++)
        if (part == ALL || i == (part == FIRST ? 0 : tensor->count - 1))
            set_number(tensor, lane, i, real, whole);
    ulp_text_add(what, "input %d: %s ", place,
                 part == ALL     ? "all"
                 : part == FIRST ? "first"
                                 : "last");
    ulp_text_add(what, is_float ? "%g" : "%.0f", is_float ? real : (double)whole);
}

/* ---- attributes ---- */

static const char *const strings[] = {
    "",
    "nonsense",
    "NOTSET",
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "constant",
    "edge",
    "reflect",
    "reflection",
    "border",
    "zeros",
    "wrap",
    "nearest",
    "linear",
    "bilinear",
    "cubic",
    "floor",
    "round_prefer_ceil",
    "half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "output_half_pixel",
    "not_larger",
    "not_smaller",
    "none",
    "add",
    "mul",
    "max",
    "min",
    "avg",
    "forward",
    "reverse",
    "bidirectional",
    "circular",
    "gated",
    "delta",
    "gated_delta",
    "silu",
    "up",
    "down",
    "TF",
    "IDF",
    "TFIDF",
    "LEFT",
    "RIGHT",
    "Relu",
    "Clip",
    "ij->ji",
    "ii->i",
    "...ij,jk->...ik",
    "a,b,c->abc",
    "ij,jk",
    "->",
    ",",
    "i...",
    "ABCDEFGHIJKLMNOPQ->A",
};

/* Lists: count times one number, or the list of the case with one entry changed. */
static const int counts[] = {0, 1, 2, 3, 4, 5, 6, 64};
#define LISTS ((int)COUNT(counts) * 8)
#define CHANGED_MAX 4
static const int64_t list_integers[] = {0, 1, -1, 2, BIG(20), BIG(31), BIG(62), INT64_MIN};
static const double list_floats[] = {0, 1, -1, 0.5, 2, NAN, INFINITY, 1e30};

static int count_values(const struct named *attribute)
{
    const char *kind = attribute->kind;
    if (strncmp(kind, "ints", 4) == 0)
        return 2 + LISTS + CHANGED_MAX * (int)COUNT(integers);
    if (strncmp(kind, "int", 3) == 0)
        return 2 + (int)COUNT(integers);
    if (strncmp(kind, "floats", 6) == 0)
        return 2 + LISTS + CHANGED_MAX * (int)COUNT(floats);
    if (strncmp(kind, "float", 5) == 0)
        return 2 + (int)COUNT(floats);
    if (strncmp(kind, "strings", 7) == 0)
        return 2 + (int)(COUNT(counts) * COUNT(strings));
    return 2 + (strncmp(kind, "string", 6) == 0   ? (int)COUNT(strings)
                : strncmp(kind, "tensor", 6) == 0 ? (int)COUNT(shapes) - 3
                                                  : 0);
}

/* The node's attribute of that name, made when it has none. */
static struct ulp_attribute *attribute_of(struct node_case *c, const struct named *wanted,
                                          enum ulp_attribute_kind kind)
{
    size_t i = 0;
    while (i < c->node.attribute_count &&
           (strlen(c->attributes[i].name) != wanted->length ||
            strncmp(c->attributes[i].name, wanted->name, wanted->length) != 0))
        i++;
    if (i == c->node.attribute_count) {
        ck_assert_uint_lt(i, COUNT(c->attributes));
        c->attributes[c->node.attribute_count++] =
            (struct ulp_attribute){.name = ulp_arena_text(c->arena, wanted->name, wanted->length),
                                   .kind = kind,
                                   .s = ""};
    }
    return &c->attributes[i];
}

static void drop_attribute(struct node_case *c, const struct named *wanted)
{
    struct ulp_attribute *attribute = attribute_of(c, wanted, ULP_ATTRIBUTE_INT);
    const size_t behind = (size_t)(&c->attributes[c->node.attribute_count] - attribute) - 1;
    memmove(attribute, attribute + 1, behind * sizeof *attribute);
    c->node.attribute_count--;
}

struct lists {
    int64_t *ints;
    float *reals;
    const char **texts;
};

/* The list with `count` entries, of those it had; the rest 1. */
static struct lists resize_lists(struct node_case *c, struct ulp_attribute *attribute, size_t count)
{
    struct lists lists = {ulp_arena_take(c->arena, count + 1, sizeof *lists.ints),
                          ulp_arena_take(c->arena, count + 1, sizeof *lists.reals),
                          ulp_arena_take(c->arena, count + 1, sizeof *lists.texts)};
    for (size_t i = 0; i < count; i++) {
        lists.ints[i] = attribute->ints && i < attribute->count ? attribute->ints[i] : 1;
        lists.reals[i] = attribute->floats && i < attribute->count ? attribute->floats[i] : 1;
        lists.texts[i] =
            attribute->strings && i < attribute->count ? attribute->strings[i] : "Relu";
    }
    attribute->count = count;
    attribute->ints = lists.ints;
    attribute->floats = lists.reals;
    attribute->strings = lists.texts;
    return lists;
}

static void change_list(struct node_case *c, struct ulp_attribute *attribute, bool is_float,
                        int detail, struct ulp_text *what)
{
    if (detail < LISTS) {
        const int n = detail % 8;
        const struct lists lists = resize_lists(c, attribute, (size_t)counts[detail / 8]);
        for (size_t i = 0; i < attribute->count; i++) {
            lists.ints[i] = list_integers[n];
            lists.reals[i] = (float)list_floats[n];
        }
        ulp_text_add(what, " %zu times %g", attribute->count,
                     is_float ? list_floats[n] : (double)list_integers[n]);
        return;
    }
    const size_t at = (size_t)(detail - LISTS) % CHANGED_MAX;
    const int n = (detail - LISTS) / CHANGED_MAX;
    const struct lists lists =
        resize_lists(c, attribute, attribute->count ? attribute->count : at + 1);
    const size_t i = at % attribute->count;
    lists.reals[i] = (float)floats[n % (int)COUNT(floats)];
    lists.ints[i] = integers[n];
    ulp_text_add(what, " [%zu] = %g", i, is_float ? (double)lists.reals[i] : (double)lists.ints[i]);
}

static void change_strings(struct node_case *c, struct ulp_attribute *attribute, int detail,
                           struct ulp_text *what)
{
    const char *text = strings[(size_t)detail / COUNT(counts)];
    const struct lists lists =
        resize_lists(c, attribute, (size_t)counts[(size_t)detail % COUNT(counts)]);
    for (size_t i = 0; i < attribute->count; i++)
        lists.texts[i] = text;
    ulp_text_add(what, " %zu times '%s'", attribute->count, text);
}

static void change_tensor(struct node_case *c, struct ulp_attribute *attribute, int detail,
                          struct ulp_text *what)
{
    struct ulp_tensor *tensor = &c->inputs[CASE_INPUTS - 1];
    struct ulp_error error;
    char text[200];
    ulp_tensor_free(tensor);
    ck_ulp_ok(ulp_tensor_create(tensor, types[(size_t)detail % COUNT(types)], ULP_ELEMENT_COUNT, 0,
                                shapes[detail].rank, shapes[detail].dims, &error),
              error);
    for (size_t i = 0; i < tensor->count; i++)
        set_number(tensor, NULL, i, 1, 1);
    attribute->tensor = tensor;
    ulp_text_add(what, " %s", ulp_tensor_describe_text(tensor, text, sizeof text));
}

static void change_attribute(struct node_case *c, const struct ulp_operator *row, int place,
                             int detail, struct ulp_text *what)
{
    static const struct {
        const char *name;
        enum ulp_attribute_kind kind;
    } kinds[] = {{"ints", ULP_ATTRIBUTE_INTS},       {"int", ULP_ATTRIBUTE_INT},
                 {"floats", ULP_ATTRIBUTE_FLOATS},   {"float", ULP_ATTRIBUTE_FLOAT},
                 {"strings", ULP_ATTRIBUTE_STRINGS}, {"string", ULP_ATTRIBUTE_STRING},
                 {"tensor", ULP_ATTRIBUTE_TENSOR},   {"", ULP_ATTRIBUTE_OTHER}};
    struct named wanted;
    size_t k = 0;
    find_attribute(row, place, &wanted);
    ulp_text_add(what, "%.*s", (int)wanted.length, wanted.name);
    while (strncmp(kinds[k].name, wanted.kind, strlen(kinds[k].name)) != 0)
        k++;
    if (detail == 0) {
        drop_attribute(c, &wanted);
        ulp_text_add(what, " is not given");
        return;
    }
    struct ulp_attribute *attribute = attribute_of(c, &wanted, kinds[k].kind);
    if (detail == 1) {
        attribute->kind =
            attribute->kind == ULP_ATTRIBUTE_INT ? ULP_ATTRIBUTE_FLOAT : ULP_ATTRIBUTE_INT;
        ulp_text_add(what, " of another kind");
        return;
    }
    detail -= 2;
    switch (kinds[k].kind) {
    case ULP_ATTRIBUTE_INT:
        attribute->i = integers[detail];
        ulp_text_add(what, " = %lld", (long long)attribute->i);
        break;
    case ULP_ATTRIBUTE_FLOAT:
        attribute->f = (float)floats[detail];
        ulp_text_add(what, " = %g", floats[detail]);
        break;
    case ULP_ATTRIBUTE_STRING:
        attribute->s = strings[detail];
        ulp_text_add(what, " = '%s'", attribute->s);
        break;
    case ULP_ATTRIBUTE_INTS: change_list(c, attribute, false, detail, what); break;
    case ULP_ATTRIBUTE_FLOATS: change_list(c, attribute, true, detail, what); break;
    case ULP_ATTRIBUTE_STRINGS: change_strings(c, attribute, detail, what); break;
    case ULP_ATTRIBUTE_TENSOR: change_tensor(c, attribute, detail, what); break;
    default: break;
    }
}

/* ---- outputs ---- */

/* How many there are: none to six, twenty. Then which are left out: one, all but one, all. */
static const int output_counts[] = {0, 1, 2, 3, 4, 5, 6, 20};
#define LEFT_OUT_MAX 4

static void change_outputs(struct node_case *c, int detail, struct ulp_text *what)
{
    if (detail < (int)COUNT(output_counts)) {
        c->node.output_count = (size_t)output_counts[detail];
        ulp_text_add(what, "%zu outputs", c->node.output_count);
        return;
    }
    detail -= (int)COUNT(output_counts);
    const bool others = detail >= LEFT_OUT_MAX;
    const int one = detail % LEFT_OUT_MAX;
    const bool all = detail == 2 * LEFT_OUT_MAX;
    for (int i = 0; i < (int)c->node.output_count; i++)
        if (all || (i == one) != others)
            c->outputs[i] = -1;
    ulp_text_add(what,
                 all      ? "no output is wanted"
                 : others ? "only output %d"
                          : "not output %d",
                 one);
}

/* ---- all ---- */

static void add(struct variant *out, size_t *count, enum variant_kind kind, int place, int details)
{
    for (int detail = 0; detail < details; detail++, (*count)++)
        if (out)
            out[*count] = (struct variant){kind, place, detail};
}

size_t variant_list(const struct ulp_operator *row, const struct node_case *c, struct variant *out)
{
    struct named attribute;
    const int inputs = count_words(row->inputs);
    size_t count = 0;
    for (int i = 0; i < inputs; i++) {
        const struct shape shape = shape_of(c, i);
        const int rank = shape.rank < DIMS_MAX ? shape.rank : DIMS_MAX;
        const int values = (int)COUNT(integers);
        add(out, &count, VARIANT_OMIT, i, c->in[i] != NULL);
        add(out, &count, VARIANT_SHAPE, i, SHAPES);
        add(out, &count, VARIANT_DIM, i, rank * DIMS);
        add(out, &count, VARIANT_TYPE, i, (int)COUNT(types));
        add(out, &count, VARIANT_VALUES, i, c->in[i] ? values * PARTS : 0);
        add(out, &count, VARIANT_CONSTANT, i,
            (row->mixed || row->formula) && ulp_type_is_float(type_of(c, row, i)));
    }
    for (int a = 0; find_attribute(row, a, &attribute); a++)
        add(out, &count, VARIANT_ATTRIBUTE, a, count_values(&attribute));
    add(out, &count, VARIANT_OUTPUTS, 0, (int)COUNT(output_counts) + 2 * LEFT_OUT_MAX + 1);
    return count;
}

void variant_apply(struct node_case *c, const struct ulp_operator *row,
                   const struct ulp_arithmetic *lane, const struct variant *v,
                   struct ulp_text *what)
{
    struct shape shape = shape_of(c, v->place);
    char text[200];
    if (what->length)
        ulp_text_add(what, ", ");
    switch (v->kind) {
    case VARIANT_OMIT:
        c->numbers[v->place] = -1;
        c->in[v->place] = NULL;
        ulp_text_add(what, "input %d is not given", v->place);
        return;
    case VARIANT_SHAPE: shape = change_shape(shape, v->detail); break;
    case VARIANT_DIM: {
        int64_t *dim = &shape.dims[v->detail / DIMS];
        const int n = v->detail % DIMS;
        *dim = n < (int)COUNT(dims) ? dims[n] : *dim + steps[n - (int)COUNT(dims)];
        break;
    }
    case VARIANT_TYPE:
    case VARIANT_CONSTANT: break;
    case VARIANT_VALUES: change_values(c, lane, v->place, v->detail, what); return;
    case VARIANT_ATTRIBUTE: change_attribute(c, row, v->place, v->detail, what); return;
    case VARIANT_OUTPUTS: change_outputs(c, v->detail, what); return;
    }
    remake(c, v->kind == VARIANT_CONSTANT ? NULL : lane, v->place,
           v->kind == VARIANT_TYPE ? types[v->detail] : type_of(c, row, v->place), &shape);
    ulp_text_add(what, "input %d is %s%s", v->place,
                 v->kind == VARIANT_CONSTANT ? "a constant " : "",
                 ulp_tensor_describe_text(&c->inputs[v->place], text, sizeof text));
}
