#include "cases.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define DEFAULT_INPUT "g[2,3,4]"

static const char *name_of(const struct ulp_operator *row)
{
    static char text[128];
    const char *domain = row->domain ? row->domain : "";
    snprintf(text, sizeof text, "%s%s",
             strcmp(domain, "com.microsoft") == 0 ? "ms."
             : strcmp(domain, "trt") == 0         ? "trt."
                                                  : "",
             row->name);
    return text;
}

const struct hint *case_hint(const struct ulp_operator *row, size_t n)
{
    for (const struct hint *hint = all_hints(); hint->op; hint++)
        if (strcmp(hint->op, name_of(row)) == 0 &&
            (hint->since == 0 || hint->since == row->since) && n-- == 0)
            return hint;
    return NULL;
}

const char *case_exemption(const struct ulp_operator *row)
{
    for (const struct exemption *e = exemptions; e->op; e++)
        if (strcmp(e->op, name_of(row)) == 0)
            return e->reason;
    return NULL;
}

/* ---- tensors ---- */

static enum ulp_type type_of(char letter)
{
    switch (letter) {
    case 'f':
    case 'g': return ULP_TYPE_FLOAT;
    case 'i': return ULP_TYPE_INT64;
    case 'j': return ULP_TYPE_INT32;
    case 'u': return ULP_TYPE_UINT8;
    case 's': return ULP_TYPE_INT8;
    case 'b': return ULP_TYPE_BOOL;
    case 'e': return ULP_TYPE_FLOAT8E4M3FN;
    case 'n': return ULP_TYPE_INT4;
    default: ck_abort_msg("'%c' is no type of a case's input", letter); return ULP_TYPE_UNDEFINED;
    }
}

static void set_element(struct ulp_tensor *tensor, size_t i, double value)
{
    if (!ulp_element_is_float(tensor->element)) {
        ulp_tensor_set_int(tensor, i, (int64_t)value);
        return;
    }
    struct ulp_tensor one = {.type = ULP_TYPE_DOUBLE,
                             .element = ULP_ELEMENT_F64,
                             .count = 1,
                             .element_bytes = 8,
                             .data = &value};
    struct ulp_tensor at = *tensor;
    struct ulp_error error;
    at.rank = 0;
    at.count = 1;
    at.data = (char *)tensor->data + i * tensor->element_bytes;
    ck_assert_msg(ulp_tensor_convert(&at, &one, NULL, ULP_ROUND_NEAREST_EVEN, 0, NULL, &error) ==
                      ULP_OK,
                  "%s", error.message);
}

/* 8 significant bits, exponents from -6 to 0, so that sums round. */
static double random_float(uint64_t stream, uint64_t i)
{
    const uint64_t bits = ulp_random_bits(stream, i);
    return ldexp(1 + (double)(bits & 127) / 128, -(int)((bits >> 8) % 7)) * (bits >> 63 ? -1 : 1);
}

/* One word of a hint. lane NULL: elements as the model has them. stream: of the random values. */
static void make_tensor(struct ulp_tensor *out, const char *word, const struct ulp_arithmetic *lane,
                        uint64_t stream)
{
    int64_t dims[ULP_RANK_MAX];
    int rank = 0;
    const enum ulp_type type = type_of(*word);
    const bool is_float = ulp_type_is_float(type);
    char *p = strchr(word, '[');
    ck_assert_msg(p, "input '%s' has no dimensions", word);
    for (p++; *p != ']'; p += *p == ',')
        dims[rank++] = strtoll(p, &p, 10);
    p++;
    struct ulp_error error;
    enum ulp_status status =
        is_float && lane ? ulp_tensor_create(out, type, ulp_storage_element(&lane->storage),
                                             lane->storage.precision, rank, dims, &error)
                         : ulp_tensor_create(out, type, ULP_ELEMENT_COUNT, 0, rank, dims, &error);
    ck_assert_msg(status == ULP_OK, "%s: %s", word, error.message);
    double low = is_float ? -2 : 0, high = is_float ? 2 : 1;
    if (*p == '(')
        sscanf(p, "(%lf,%lf)", &low, &high);
    const char *values = *p == '{' ? p + 1 : NULL, *next = values;
    for (size_t i = 0; i < out->count; i++) {
        const double unit = is_float ? 16 : 1, span = (high - low) * unit + 1;
        double value = *word == 'g' ? random_float(stream, i)
                                    : low + floor(ulp_random_uniform(stream, i) * span) / unit;
        if (values) {
            char *end;
            value = strtod(next, &end);
            ck_assert_msg(end != next, "values of '%s'", word);
            next = *end == ',' ? end + 1 : values;
        }
        set_element(out, i, value);
    }
}

/* ---- attributes ---- */

/* The kind's name in the row's attribute text, or NULL. */
static const char *kind_of(const struct ulp_operator *row, const char *name, size_t length)
{
    const char *text = row->attributes ? row->attributes : "";
    while (*(text += strspn(text, "; "))) {
        if (strcspn(text, ":") == length && strncmp(text, name, length) == 0) {
            text += length + 1;
            return text + (*text == '!');
        }
        text += strcspn(text, ";");
    }
    return NULL;
}

static void read_list(struct node_case *c, const char *text, struct ulp_attribute *out)
{
    float *floats = ulp_arena_take(c->arena, 64, sizeof *floats);
    int64_t *ints = ulp_arena_take(c->arena, 64, sizeof *ints);
    const char **strings = ulp_arena_take(c->arena, 64, sizeof *strings);
    for (; *text; text += *text == ',') {
        size_t length = strcspn(text, ",");
        strings[out->count] = ulp_arena_text(c->arena, text, length);
        floats[out->count] = strtof(text, NULL);
        ints[out->count++] = atoll(text);
        text += length;
    }
    out->floats = floats;
    out->ints = ints;
    out->strings = strings;
}

static void give(struct node_case *c, const struct ulp_operator *row, const char *name,
                 size_t name_length, const char *value, size_t length)
{
    static const struct {
        const char *name;
        enum ulp_attribute_kind kind;
    } kinds[] = {{"ints", ULP_ATTRIBUTE_INTS},       {"int", ULP_ATTRIBUTE_INT},
                 {"floats", ULP_ATTRIBUTE_FLOATS},   {"float", ULP_ATTRIBUTE_FLOAT},
                 {"strings", ULP_ATTRIBUTE_STRINGS}, {"string", ULP_ATTRIBUTE_STRING},
                 {"tensor", ULP_ATTRIBUTE_TENSOR}};
    const char *kind = kind_of(row, name, name_length),
               *text = ulp_arena_text(c->arena, value, length);
    if (!kind) /* older and newer rows of one hint: only what the row has */
        return;
    struct ulp_attribute *a = &c->attributes[c->node.attribute_count++];
    *a = (struct ulp_attribute){.name = ulp_arena_text(c->arena, name, name_length),
                                .i = atoll(text),
                                .f = strtof(text, NULL),
                                .s = text};
    size_t k = 0;
    while (strncmp(kinds[k].name, kind, strlen(kinds[k].name)) != 0)
        ck_assert_uint_lt(++k, sizeof kinds / sizeof *kinds);
    a->kind = kinds[k].kind;
    if (a->kind == ULP_ATTRIBUTE_TENSOR) {
        /* at most one; freed with the inputs */
        struct ulp_tensor *tensor = &c->inputs[CASE_INPUTS - 1];
        make_tensor(tensor, text, NULL, 99);
        a->tensor = tensor;
    } else {
        read_list(c, text, a);
    }
}

static void give_all(struct node_case *c, const struct ulp_operator *row, const char *text)
{
    while (*(text += strspn(text, "; "))) {
        size_t length = strcspn(text, ";"), name = strcspn(text, "=");
        if (strncmp(text, "#outputs=", 9) == 0)
            c->node.output_count = (size_t)atoi(text + 9);
        else
            give(c, row, text, name, text + name + 1, length - name - 1);
        text += length;
    }
}

static size_t count_outputs(const struct ulp_operator *row)
{
    size_t count = 0;
    for (const char *p = row->outputs; *(p += strspn(p, " ")); p += strcspn(p, " "))
        count++;
    return count;
}

/* ---- cases ---- */

/* An input word from the row's own text: "x", "rest*", "flag:b", ... Returns how many inputs it
 * makes. */
static size_t guess_input(const char *slot, size_t length, const char **word)
{
    const char *colon = memchr(slot, ':', length);
    const bool optional = memchr(slot, '?', length) != NULL,
               variadic = slot[length - 1] == '*' &&
                          !(colon && colon[1] == '*' && length == (size_t)(colon - slot) + 2);
    *word = colon && colon[1] == 'b'   ? "b[2,3,4]"
            : colon && colon[1] == 'i' ? "i[2,3,4](0,3)"
                                       : DEFAULT_INPUT;
    return optional ? 0 : variadic ? 2 : 1;
}

static void add_input(struct node_case *c, const char *word, const struct ulp_arithmetic *lane)
{
    size_t i = c->node.input_count++;
    ck_assert_uint_lt(i, CASE_INPUTS - 1);
    c->numbers[i] = *word == '_' ? -1 : (int)i;
    if (*word == '_')
        return;
    make_tensor(&c->inputs[i], word, lane, i + 1);
    c->in[i] = &c->inputs[i];
}

void case_make(struct node_case *out, const struct ulp_operator *row, const struct hint *hint,
               const struct ulp_arithmetic *lane)
{
    const char *text = hint && hint->inputs ? hint->inputs : row->inputs;
    *out = (struct node_case){.node = {.name = row->name,
                                       .op_type = row->name,
                                       .domain = row->domain ? row->domain : "",
                                       .attributes = out->attributes,
                                       .inputs = out->numbers,
                                       .outputs = out->outputs,
                                       .output_count = count_outputs(row)}};
    ck_assert_int_eq(ulp_arena_create(&out->arena, NULL, NULL), ULP_OK);
    for (int i = 0; i < CASE_INPUTS; i++)
        out->outputs[i] = i;
    for (const char *p = text ? text : ""; *(p += strspn(p, " ")); p += strcspn(p, " ")) {
        char word[160];
        size_t length = strcspn(p, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, p);
        if (hint && hint->inputs) {
            add_input(out, word, lane);
        } else {
            const char *guessed;
            for (size_t count = guess_input(p, length, &guessed); count > 0; count--)
                add_input(out, guessed, lane);
        }
    }
    if (hint && hint->attributes)
        give_all(out, row, hint->attributes);
    if (row->when && strncmp(row->when, "outputs=", 8) == 0)
        out->node.output_count = (size_t)atoi(row->when + 8);
    else if (row->when && strncmp(row->when, "inputs=", 7) != 0)
        give_all(out, row, row->when);
    ck_assert_uint_le(out->node.output_count, CASE_INPUTS);
}

void case_free(struct node_case *c)
{
    for (int i = 0; i < CASE_INPUTS; i++)
        ulp_tensor_free(&c->inputs[i]);
    ulp_arena_free(c->arena);
}
