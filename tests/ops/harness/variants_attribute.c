#include "variants_inside.h"

#include "tests/support/test.h"

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
        return 2 + LISTS + CHANGED_MAX * (int)VARIANT_INTEGERS;
    if (strncmp(kind, "int", 3) == 0)
        return 2 + (int)VARIANT_INTEGERS;
    if (strncmp(kind, "floats", 6) == 0)
        return 2 + LISTS + CHANGED_MAX * (int)VARIANT_FLOATS;
    if (strncmp(kind, "float", 5) == 0)
        return 2 + (int)VARIANT_FLOATS;
    if (strncmp(kind, "strings", 7) == 0)
        return 2 + (int)(COUNT(counts) * COUNT(strings));
    return 2 + (strncmp(kind, "string", 6) == 0   ? (int)COUNT(strings)
                : strncmp(kind, "tensor", 6) == 0 ? (int)VARIANT_SHAPES - 3
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
    lists.reals[i] = (float)variant_floats[n % (int)VARIANT_FLOATS];
    lists.ints[i] = variant_integers[n];
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
    /* a shape that no tensor has: an empty one */
    const enum ulp_type type = variant_types[(size_t)detail % VARIANT_TYPES];
    if (ulp_tensor_create(tensor, type, ULP_ELEMENT_COUNT, 0, variant_shapes[detail].rank,
                          variant_shapes[detail].dims, &error) != ULP_OK)
        ck_ok(ulp_tensor_create(tensor, type, ULP_ELEMENT_COUNT, 0, 1, (int64_t[]){0}, &why));
    for (size_t i = 0; i < tensor->count; i++)
        variant_set_number(tensor, NULL, i, 1, 1);
    attribute->tensor = tensor;
    ulp_text_add(what, " %s", ulp_tensor_describe_text(tensor, text, sizeof text));
}

void variant_change_attribute(struct node_case *c, const struct ulp_operator *row, int place,
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
        attribute->i = variant_integers[detail];
        ulp_text_add(what, " = %lld", (long long)attribute->i);
        break;
    case ULP_ATTRIBUTE_FLOAT:
        attribute->f = (float)variant_floats[detail];
        ulp_text_add(what, " = %g", variant_floats[detail]);
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

int variant_attribute_values(const struct ulp_operator *row, int place)
{
    struct named attribute;
    return find_attribute(row, place, &attribute) ? count_values(&attribute) : -1;
}
