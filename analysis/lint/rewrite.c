/* Edits that are terms: the rows of rewrite.def, matched against the main graph and bodies from
 * each node backwards, and built in its place. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/lint/proposal.h"
#include "number/function/math.h"

enum { TERMS_MAX = 40, NAMES_MAX = 12, WORD_BYTES = 20, AXES_MAX = ULP_RANK_MAX };

struct term {
    enum { NAME, NUMBER, NODE } kind;
    char op[WORD_BYTES];
    int name;   /* of a NAME; of a NODE its tag, or the one whose attributes it has; -1: none */
    bool keeps; /* [TAG!] */
    double number;
    int arguments[ULP_EDIT_INPUTS_MAX], count;
};

struct rewriting {
    struct ulp_lint_proposals *p;
    const char *at; /* in the text */
    struct term terms[TERMS_MAX];
    int term_count;
    char names[NAMES_MAX][WORD_BYTES];
    int name_count;
    struct ulp_lint_place root;
    /* by name: what has matched */
    struct bound {
        bool is;
        struct ulp_edit_input input;
        struct ulp_lint_place place; /* of a tag */
    } bound[NAMES_MAX];
    struct ulp_building building;
    size_t plan; /* of lint->planned, that has the shapes */
};

/* ---- texts ---- */

static void read_word(struct rewriting *r, char word[WORD_BYTES])
{
    size_t length = 0;
    r->at += strspn(r->at, " ");
    while (isalnum((unsigned char)*r->at) && length + 1 < WORD_BYTES)
        word[length++] = *r->at++;
    word[length] = '\0';
    r->at += strspn(r->at, " ");
}

static int find_name(struct rewriting *r, const char *word)
{
    for (int n = 0; n < r->name_count; n++)
        if (strcmp(r->names[n], word) == 0)
            return n;
    memcpy(r->names[r->name_count], word, WORD_BYTES);
    return r->name_count++;
}

static int read_term(struct rewriting *r)
{
    struct term term = {.name = -1};
    char word[WORD_BYTES];
    r->at += strspn(r->at, " ");
    if (*r->at == '-' || isdigit((unsigned char)*r->at)) {
        char *end;
        term.kind = NUMBER;
        term.number = (double)strtol(r->at, &end, 10);
        r->at = end;
    } else {
        read_word(r, word);
        if (*r->at == ':') {
            r->at++;
            term.name = find_name(r, word);
            read_word(r, word);
        }
        memcpy(term.op, word, WORD_BYTES);
        if (*r->at == '[') {
            r->at++;
            read_word(r, word);
            term.name = find_name(r, word);
            term.keeps = *r->at == '!';
            r->at += strcspn(r->at, "]") + 1;
        }
        term.kind = *r->at == '(' ? NODE : NAME;
        if (term.kind == NAME)
            term.name = find_name(r, term.op);
        while (term.kind == NODE && *r->at != ')') {
            r->at++; /* ( or , */
            const int argument = read_term(r);
            term.arguments[term.count++] = argument;
        }
        r->at += term.kind == NODE;
        r->at += strspn(r->at, " ");
    }
    r->terms[r->term_count] = term;
    return r->term_count++;
}

/* ---- matching ---- */

static bool match_value(struct rewriting *r, int value, int index);

static bool match_arguments(struct rewriting *r, struct ulp_lint_place place,
                            const struct term *term, bool swapped)
{
    for (int i = 0; i < term->count; i++) {
        const size_t from = (size_t)(swapped ? 1 - i : i);
        if (!match_value(r, ulp_lint_input(place, from), term->arguments[i]))
            return false;
    }
    return true;
}

static bool match_node(struct rewriting *r, struct ulp_lint_place place, int index)
{
    const struct term *term = &r->terms[index];
    struct bound kept[NAMES_MAX];
    if (!ulp_lint_is(place, term->op) || *place.node->domain || place.graph != r->root.graph ||
        place.node->input_count < (size_t)term->count ||
        (term->name < 0 && place.node->input_count != (size_t)term->count))
        return false;
    memcpy(kept, r->bound, sizeof kept);
    for (int swapped = 0;
         swapped <= (term->count == 2 && ulp_lint_is_any(place, "Add Mul Max Min")); swapped++) {
        memcpy(r->bound, kept, sizeof kept);
        if (term->name >= 0)
            r->bound[term->name] = (struct bound){.is = true,
                                                  .input.number = ulp_lint_output(place, 0),
                                                  .place = place};
        if (match_arguments(r, place, term, swapped))
            return true;
    }
    memcpy(r->bound, kept, sizeof kept);
    return false;
}

static bool match_value(struct rewriting *r, int value, int index)
{
    const struct term *term = &r->terms[index];
    double number;
    if (value < 0)
        return false;
    if (term->kind == NODE)
        return match_node(r, ulp_lint_producer(r->root.graph, value), index);
    if (term->kind == NUMBER)
        return ulp_lint_scalar(r->root.graph, value, &number) && number == term->number;
    struct bound *bound = &r->bound[term->name];
    if (bound->is)
        return bound->input.number == value;
    const struct ulp_tensor *constant = ulp_lint_constant(r->root.graph, value);
    if (r->names[term->name][0] == 'k' && !(constant && ulp_type_is_float(constant->type)))
        return false;
    *bound = (struct bound){.is = true, .input.number = value};
    return true;
}

/* ---- conditions ---- */

static int value_of(struct rewriting *r, const char *name)
{
    char word[WORD_BYTES] = {0};
    memcpy(word, name, strlen(name));
    return r->bound[find_name(r, word)].input.number;
}

static struct ulp_lint_place node_of(struct rewriting *r, const char *name)
{
    return ulp_lint_producer(r->root.graph, value_of(r, name));
}

static const struct ulp_tensor *constant_of(struct rewriting *r, const char *name)
{
    return ulp_lint_constant(r->root.graph, value_of(r, name));
}

static const struct ulp_tensor *shape_of(const struct rewriting *r, int value)
{
    return ulp_lint_shape_of(&r->p->lint, r->plan, r->root.graph, value);
}

static bool always(struct rewriting *r)
{
    return r != NULL;
}

/* The target computes exponentials as they are written. */
static bool plain(struct rewriting *r)
{
    return r->p->lint.options->targets & ULP_TARGET_COREML_ANE;
}

/* A scale of one dimension gives one to the product of two vectors, but not to either. */
static bool scales_late(struct rewriting *r)
{
    int ignored;
    const struct ulp_tensor *scale = constant_of(r, "k"), *a = shape_of(r, value_of(r, "a")),
                            *b = shape_of(r, value_of(r, "b"));
    return ulp_lint_scales_late(r->root, &ignored) &&
           (scale->rank == 0 || (scale->rank == 1 && ((a && a->rank >= 2) || (b && b->rank >= 2))));
}

/* Of constant weights: one scale, or one for each column. */
static bool scales_weights(struct rewriting *r)
{
    const struct ulp_tensor *k = constant_of(r, "k"), *w = constant_of(r, "w");
    return w && w->rank == 2 && !constant_of(r, "a") && k->rank <= 1 &&
           (k->count == 1 || k->count == (size_t)w->dims[1]);
}

/* One divisor for each row of the product. */
static bool divides_rows(struct rewriting *r)
{
    const struct ulp_tensor *d = shape_of(r, value_of(r, "d")), *a = shape_of(r, value_of(r, "a")),
                            *b = shape_of(r, value_of(r, "b")),
                            *y = shape_of(r, ulp_lint_output(r->root, 0));
    return d && a && b && y && b->rank >= 2 && !constant_of(r, "d") && d->rank == y->rank &&
           a->rank == y->rank && y->rank >= 2 && d->dims[d->rank - 1] == 1 &&
           d->dims[d->rank - 2] == y->dims[y->rank - 2];
}

static bool is_computed(struct rewriting *r, const char *name)
{
    return !constant_of(r, name);
}

static bool computed(struct rewriting *r)
{
    return is_computed(r, "m") && is_computed(r, "x") && constant_of(r, "k")->count == 1;
}

static double largest(const struct ulp_tensor *constant)
{
    double most = 0;
    for (size_t i = 0; i < constant->count; i++)
        most = ulp_math_max(most, fabs(ulp_tensor_get(constant, i)));
    return most;
}

/* The first scale enlarges, the second brings it back; their product has no more dimensions. */
static bool large_first(struct rewriting *r)
{
    const struct ulp_tensor *k = constant_of(r, "k"), *kk = constant_of(r, "kk"),
                            *x = shape_of(r, value_of(r, "x"));
    return is_computed(r, "x") && x && k->rank <= x->rank && kk->rank <= x->rank &&
           largest(k) > 1 && largest(kk) < 1 && largest(kk) > 0;
}

static bool shrinks(struct rewriting *r)
{
    const struct ulp_tensor *k = constant_of(r, "k");
    const double factor = k->count == 1 ? fabs(ulp_tensor_get(k, 0)) : 0;
    return k->rank == 0 && factor > 0 && (ulp_lint_is(r->root, "Div") ? factor > 1 : factor < 1);
}

/* Of a reduction, and of a CumSum or a Softmax its one axis: as attribute or constant. *count 0:
 * all. False: they are not known. */
static bool find_axes(struct ulp_lint_place place, int64_t axes[AXES_MAX], size_t *count)
{
    const struct ulp_attribute *attribute = ulp_node_attribute(place.node, "axes");
    const int input = ulp_lint_input(place, 1);
    const struct ulp_tensor *constant = input < 0 ? NULL : ulp_lint_constant(place.graph, input);
    *count = 0;
    if ((input >= 0 && !constant) || ulp_lint_int(place, "noop_with_empty_axes", 0))
        return false;
    if (ulp_lint_is_any(place, "Softmax LogSoftmax")) {
        axes[(*count)++] = ulp_lint_int(place, "axis", -1);
        return ulp_lint_opset(place) >= 13; /* before it is of all axes from that on */
    }
    if (attribute && attribute->kind == ULP_ATTRIBUTE_INTS && attribute->count <= AXES_MAX)
        for (; *count < attribute->count; ++*count)
            axes[*count] = attribute->ints[*count];
    if (constant && constant->count <= AXES_MAX)
        for (; *count < constant->count; ++*count)
            axes[*count] = ulp_tensor_get_int(constant, *count);
    return true;
}

static bool keeps_axes(struct rewriting *r)
{
    int64_t axes[AXES_MAX];
    size_t count;
    const struct ulp_lint_place mean = node_of(r, "r");
    return ulp_lint_int(mean, "keepdims", 1) && find_axes(mean, axes, &count) &&
           constant_of(r, "k")->count == 1 && is_computed(r, "x");
}

static bool reduces(struct rewriting *r)
{
    int64_t axes[AXES_MAX];
    size_t count;
    return is_computed(r, "x") && find_axes(node_of(r, "r"), axes, &count);
}

static bool same_axes(struct rewriting *r)
{
    int64_t one[AXES_MAX], other[AXES_MAX];
    size_t count, others;
    const struct ulp_lint_place squares = node_of(r, "r"), mean = node_of(r, "n");
    return ulp_lint_int(mean, "keepdims", 1) && ulp_lint_int(squares, "keepdims", 1) &&
           find_axes(squares, one, &count) && find_axes(mean, other, &others) && count == others &&
           memcmp(one, other, count * sizeof *one) == 0;
}

static bool constant_axis(struct rewriting *r)
{
    int64_t axes[AXES_MAX];
    size_t count;
    return find_axes(node_of(r, "r"), axes, &count) && count == 1;
}

/* ---- building ---- */

/* A reduction over the axes of another node; where this opset has them. */
static void reduce_like(struct rewriting *r, struct ulp_edit_part *part, struct ulp_lint_place like,
                        bool keeps)
{
    int64_t axes[AXES_MAX];
    size_t count;
    const int64_t opset = ulp_lint_opset(r->root);
    const bool input = opset >= (strcmp(part->op, "ReduceSum") == 0 ? 13 : 18);
    r->building.failed |= !find_axes(like, axes, &count);
    ulp_build_attribute(part, "keepdims", ULP_ATTRIBUTE_INT)->i =
        keeps || ulp_lint_int(like, "keepdims", 1);
    struct ulp_tensor *tensor = count && !r->building.failed
                                    ? ulp_build_tensor(&r->building, ULP_TYPE_INT64, 1, count)
                                    : NULL;
    if (!tensor)
        return;
    memcpy(tensor->data, axes, count * sizeof *axes);
    if (input) {
        part->inputs[part->input_count++] =
            (struct ulp_edit_input){.kind = ULP_EDIT_TENSOR, .tensor = tensor};
        return;
    }
    struct ulp_attribute *attribute = ulp_build_attribute(part, "axes", ULP_ATTRIBUTE_INTS);
    attribute->ints = tensor->data;
    attribute->count = count;
}

/* The attributes of a node, and its inputs beyond those that are written. */
static void be_like(struct rewriting *r, struct ulp_edit_part *part, struct ulp_lint_place like)
{
    for (size_t i = part->input_count; i < like.node->input_count && i < ULP_EDIT_INPUTS_MAX; i++)
        part->inputs[part->input_count++].number = like.node->inputs[i];
    for (size_t a = 0; a < like.node->attribute_count; a++) {
        const struct ulp_attribute *from = &like.node->attributes[a];
        if (from->kind != ULP_ATTRIBUTE_INT || part->attribute_count == ULP_EDIT_ATTRIBUTES_MAX)
            r->building.failed = true;
        else
            part->attributes[part->attribute_count++] = *from;
    }
}

static struct ulp_edit_input build(struct rewriting *r, int index)
{
    const struct term *term = &r->terms[index];
    const struct ulp_edit_input none = {.number = -1};
    if (r->building.failed || term->kind == NAME)
        return r->building.failed ? none : r->bound[term->name].input;
    if (term->kind == NUMBER) {
        struct ulp_tensor *tensor =
            ulp_build_tensor(&r->building,
                             ulp_lint_type(r->root.graph, ulp_lint_output(r->root, 0)), 0, 1);
        if (tensor)
            *(float *)tensor->data = (float)term->number;
        return (struct ulp_edit_input){.kind = ULP_EDIT_TENSOR, .tensor = tensor};
    }
    struct ulp_edit_input inputs[ULP_EDIT_INPUTS_MAX];
    for (int i = 0; i < term->count; i++)
        inputs[i] = build(r, term->arguments[i]);
    struct ulp_edit_input result;
    struct ulp_edit_part *part =
        ulp_build_part(&r->building, term->op, inputs, (size_t)term->count, &result);
    if (part && term->name >= 0 && strncmp(term->op, "Reduce", 6) == 0)
        reduce_like(r, part, r->bound[term->name].place, term->keeps);
    else if (part && term->name >= 0)
        be_like(r, part, r->bound[term->name].place);
    return result;
}

/* "m = TERM; ... TERM" */
static void build_all(struct rewriting *r, const char *text)
{
    for (r->at = text; *r->at && !r->building.failed;) {
        char word[WORD_BYTES] = {0};
        const char *begin = r->at;
        read_word(r, word);
        const bool defines = *r->at == '=';
        r->at = defines ? r->at + 1 : begin;
        const struct ulp_edit_input input = build(r, read_term(r));
        if (defines)
            r->bound[find_name(r, word)] = (struct bound){.is = true, .input = input};
        r->at += strspn(r->at, "; ");
    }
}

/* ---- rows ---- */

static const struct row {
    const char *rule;
    bool tried;
    bool (*condition)(struct rewriting *r);
    const char *pattern, *replacement, *text;
} rows[] = {
#define REWRITE(...) {__VA_ARGS__},
#include "analysis/lint/rewrite.def"
#undef REWRITE
};

const char *ulp_lint_rewrite_rule(size_t index)
{
    return index < sizeof rows / sizeof *rows ? rows[index].rule : NULL;
}

struct trying {
    struct rewriting *r;
    const struct row *row;
};

static bool meets(const struct ulp_lint *lint, size_t at, const void *of)
{
    const struct trying *trying = of;
    (void)lint;
    trying->r->plan = at;
    return trying->row->condition(trying->r);
}

static void try_row(struct ulp_lint_proposals *p, struct ulp_lint_place place,
                    const struct row *row)
{
    struct rewriting r = {.p = p, .at = row->pattern, .root = place, .building.p = p};
    const struct trying trying = {&r, row};
    const char *why;
    if (!match_node(&r, place, read_term(&r)))
        return;
    if (!ulp_lint_holds(&p->lint, meets, &trying, &why)) {
        if (why)
            ulp_lint_leave(p, row->rule, place, row->tried, why, "%s", row->text);
        return;
    }
    build_all(&r, row->replacement);
    ulp_build_propose(&r.building, place, row->rule, row->tried, row->text);
}

void ulp_lint_rewrite(struct ulp_lint_proposals *p)
{
    for (size_t n = 0; n < p->lint.node_count; n++) {
        const struct ulp_lint_place place = p->lint.places[n];
        if (place.graph->function ||
            !ulp_lint_in_half(&p->lint, ulp_lint_type(place.graph, ulp_lint_output(place, 0))))
            continue;
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            if (!p->covered[n])
                try_row(p, place, &rows[r]);
    }
}
