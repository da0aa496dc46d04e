#include "variants.h"

#include "tests/support/test.h"
#include "variants_inside.h"

/* Ends of integer types, and numbers whose products and sums leave them. */
const int64_t variant_integers[VARIANT_INTEGERS] = {0,           1,         -1,        2,
                                                    3,           5,         17,        256,
                                                    BIG(16),     BIG(20),   INT32_MAX, -BIG(31),
                                                    BIG(31),     BIG(32),   BIG(40),   BIG(62),
                                                    -BIG(62),    INT64_MAX, -2,        -17,
                                                    BIG(63 - 4), INT64_MIN};
const double variant_floats[VARIANT_FLOATS] = {0,        -0.0,      1,     -1,        NAN,
                                               INFINITY, -INFINITY, 1e38,  -1e38,     1e19,
                                               0x1p62,   0x1p31,    1e-40, 0.3333333, 1000};

/* ---- the row's texts ---- */

struct word {
    const char *text;
    size_t length;
    char kind;
    bool variadic, mixed;
};

/* Word number n of an inputs or outputs text; the last, when variadic, for all that follow. */
static bool find_word(const char *text, int n, struct word *out)
{
    struct word word = {0};
    for (const char *p = text ? text : ""; *(p += strspn(p, " ")); p += word.length) {
        word = (struct word){.text = p, .length = strcspn(p, " ")};
        const char *colon = memchr(p, ':', word.length);
        word.kind = colon && strchr("ibfp*", colon[1]) ? colon[1] : 0;
        word.mixed = colon && memchr(colon, 'm', strcspn(colon, " ?="));
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

/* ---- inputs ---- */

/* Relative to what the input has (or input 0, for one that is not given): */
enum { SAME, NO_FIRST, NO_LAST, FIRST_ONE, LAST_ONE, FLAT, TURNED, RELATIVE };
const struct shape variant_shapes[VARIANT_SHAPES] = {
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
#define SHAPES ((int)VARIANT_SHAPES + RELATIVE)

/* Of one dimension: values, then what is added to it. */
static const int64_t dims[] = {0, 1, 2, 64, BIG(20), BIG(31), BIG(40), BIG(62)};
static const int64_t steps[] = {-1, 1, 7};
#define DIMS ((int)(COUNT(dims) + COUNT(steps)))
#define DIMS_MAX 5

const enum ulp_type variant_types[VARIANT_TYPES] = {ULP_TYPE_FLOAT,   ULP_TYPE_INT64,
                                                    ULP_TYPE_INT32,   ULP_TYPE_UINT8,
                                                    ULP_TYPE_INT8,    ULP_TYPE_BOOL,
                                                    ULP_TYPE_FLOAT16, ULP_TYPE_DOUBLE,
                                                    ULP_TYPE_UINT64,  ULP_TYPE_FLOAT8E4M3FN,
                                                    ULP_TYPE_INT4,    ULP_TYPE_FLOAT8E8M0};

/* Which elements. */
enum { ALL, FIRST, LAST, PARTS };

void variant_set_number(struct ulp_tensor *tensor, const struct ulp_arithmetic *lane, size_t i,
                        double real, int64_t whole)
{
    struct ulp_format format;
    if (!ulp_element_is_float(tensor->element)) {
        ulp_tensor_set_int(tensor, i, whole);
        return;
    }
    if (lane && ulp_type_rows[tensor->type].file_bits > 8)
        format = lane->storage;
    else
        ck_ok(ulp_format_find(ulp_type_rows[tensor->type].format, &format, &why));
    const struct ulp_tensor from = {.type = ULP_TYPE_DOUBLE,
                                    .element = ULP_ELEMENT_F64,
                                    .count = 1,
                                    .element_bytes = sizeof real,
                                    .data = &real};
    struct ulp_tensor to = *tensor;
    to.rank = 0;
    to.count = 1;
    to.data = (char *)tensor->data + i * tensor->element_bytes;
    ck_ok(ulp_tensor_convert(&to, &from, &format, ULP_ROUND_NEAREST_EVEN, 0, NULL, &why));
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
        ck_ok(ulp_tensor_allocate(tensor, NULL, &why));
    for (size_t i = 0; tensor->data && i < tensor->count; i++) {
        const bool had = old.data && old.count;
        const double real = had ? ulp_tensor_get(&old, i % old.count) : 0.25 * (double)(i % 7);
        variant_set_number(tensor, lane, i, real,
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

static bool is_mixed(const struct ulp_operator *row, int place)
{
    struct word word = {0};
    find_word(row->inputs, place, &word);
    return word.mixed;
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
        return variant_shapes[detail - RELATIVE];
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
    const double real = variant_floats[n % (int)VARIANT_FLOATS];
    const int64_t whole = variant_integers[n % (int)VARIANT_INTEGERS];
    for (size_t i = 0; tensor->data && i < tensor->count; i++)
        if (part == ALL || i == (part == FIRST ? 0 : tensor->count - 1))
            variant_set_number(tensor, lane, i, real, whole);
    ulp_text_add(what, "input %d: %s ", place,
                 part == ALL     ? "all"
                 : part == FIRST ? "first"
                                 : "last");
    ulp_text_add(what, is_float ? "%g" : "%.0f", is_float ? real : (double)whole);
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
    const int inputs = count_words(row->inputs);
    size_t count = 0;
    for (int i = 0; i < inputs; i++) {
        const struct shape shape = shape_of(c, i);
        const int rank = shape.rank < DIMS_MAX ? shape.rank : DIMS_MAX;
        const int values = (int)VARIANT_INTEGERS;
        add(out, &count, VARIANT_OMIT, i, c->in[i] != NULL);
        add(out, &count, VARIANT_SHAPE, i, SHAPES);
        add(out, &count, VARIANT_DIM, i, rank * DIMS);
        add(out, &count, VARIANT_TYPE, i, (int)VARIANT_TYPES);
        add(out, &count, VARIANT_VALUES, i, c->in[i] ? values * PARTS : 0);
        add(out, &count, VARIANT_CONSTANT, i,
            (is_mixed(row, i) || row->formula) && ulp_type_is_float(type_of(c, row, i)));
    }
    for (int a = 0, values; (values = variant_attribute_values(row, a)) >= 0; a++)
        add(out, &count, VARIANT_ATTRIBUTE, a, values);
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
    case VARIANT_ATTRIBUTE: variant_change_attribute(c, row, v->place, v->detail, what); return;
    case VARIANT_OUTPUTS: change_outputs(c, v->detail, what); return;
    }
    remake(c, v->kind == VARIANT_CONSTANT ? NULL : lane, v->place,
           v->kind == VARIANT_TYPE ? variant_types[v->detail] : type_of(c, row, v->place), &shape);
    ulp_text_add(what, "input %d is %s%s", v->place,
                 v->kind == VARIANT_CONSTANT ? "a constant " : "",
                 ulp_tensor_describe_text(&c->inputs[v->place], text, sizeof text));
}
