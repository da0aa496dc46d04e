/* Reading, matching and building terms. */
#include "analysis/lint/term.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* ---- texts ---- */

static void read_word(struct ulp_terms *r, char word[ULP_TERM_BYTES])
{
    size_t length = 0;
    r->at += strspn(r->at, " ");
    while ((isalnum((unsigned char)*r->at) || *r->at == '_') && length + 1 < ULP_TERM_BYTES)
        word[length++] = *r->at++;
    word[length] = '\0';
    r->at += strspn(r->at, " ");
}

static int find_name(struct ulp_terms *r, const char *word)
{
    for (int n = 0; n < r->name_count; n++)
        if (strcmp(r->names[n], word) == 0)
            return n;
    memcpy(r->names[r->name_count], word, ULP_TERM_BYTES);
    return r->name_count++;
}

static int read_term(struct ulp_terms *r)
{
    struct ulp_term term = {.name = -1};
    char word[ULP_TERM_BYTES];
    r->at += strspn(r->at, " ");
    if (*r->at == '-' || isdigit((unsigned char)*r->at)) {
        char *end;
        term.kind = ULP_TERM_NUMBER;
        term.number = (double)strtol(r->at, &end, 10);
        r->at = end;
    } else {
        read_word(r, word);
        if (*r->at == ':') {
            r->at++;
            term.name = find_name(r, word);
            read_word(r, word);
        }
        memcpy(term.op, word, ULP_TERM_BYTES);
        if (*r->at == '[') {
            r->at++;
            read_word(r, word);
            term.name = find_name(r, word);
            term.keeps = *r->at == '!';
            r->at += strcspn(r->at, "]") + 1;
        }
        if (*r->at == '{') {
            const size_t length = strcspn(++r->at, "}");
            memcpy(term.given, r->at, length);
            r->at += length + 1;
        }
        term.kind = *r->at == '(' ? ULP_TERM_NODE : ULP_TERM_NAME;
        if (term.kind == ULP_TERM_NAME)
            term.name = find_name(r, term.op);
        r->at += strncmp(r->at, "()", 2) == 0;
        while (term.kind == ULP_TERM_NODE && *r->at != ')') {
            r->at++; /* ( or , */
            const int argument = read_term(r);
            term.arguments[term.count++] = argument;
        }
        r->at += term.kind == ULP_TERM_NODE;
        r->at += strspn(r->at, " ");
    }
    r->terms[r->term_count] = term;
    return r->term_count++;
}

/* Which kind of idiom it names; -1: it is an operator. */
static int find_kind(const char *op)
{
    static const char *const kinds[ULP_IDIOM_KIND_COUNT] = {
        [ULP_IDIOM_LAYER_NORM] = "LAYER_NORM",     [ULP_IDIOM_RMS_NORM] = "RMS_NORM",
        [ULP_IDIOM_GELU_ERF] = "GELU_ERF",         [ULP_IDIOM_GELU_TANH] = "GELU_TANH",
        [ULP_IDIOM_GELU_SIGMOID] = "GELU_SIGMOID", [ULP_IDIOM_SILU] = "SILU",
        [ULP_IDIOM_SOFTMAX] = "SOFTMAX",           [ULP_IDIOM_ATTENTION] = "ATTENTION"};
    for (int k = 0; k < ULP_IDIOM_KIND_COUNT; k++)
        if (strcmp(kinds[k], op) == 0)
            return k;
    return -1;
}

/* ---- matching ---- */

static bool match_value(struct ulp_terms *r, int value, int index);

/* Has a constant of one element more dimensions than the value that it is computed with? */
static bool adds_dimensions(const struct ulp_terms *r, int constant, int value)
{
    const struct ulp_tensor *shape = ulp_lint_shape_of(&r->p->lint, 0, r->root.graph, value);
    return ulp_lint_constant(r->root.graph, constant)->rank > (shape ? shape->rank : 1);
}

static bool match_arguments(struct ulp_terms *r, struct ulp_lint_place place,
                            const struct ulp_term *term, bool swapped)
{
    for (int i = 0; i < term->count; i++) {
        const size_t from = (size_t)(swapped ? 1 - i : i);
        const int value = ulp_lint_input(place, from);
        if (!match_value(r, value, term->arguments[i]) ||
            (r->terms[term->arguments[i]].kind == ULP_TERM_NUMBER &&
             adds_dimensions(r, value, ulp_lint_input(place, 1 - from))))
            return false;
    }
    return true;
}

/* The holes of an idiom, those that it has, in the order of enum ulp_idiom_hole. */
static bool match_holes(struct ulp_terms *r, const struct ulp_block *block,
                        const struct ulp_idiom *idiom, const struct ulp_term *term)
{
    int count = 0;
    for (int h = 0; h < ULP_IDIOM_HOLE_COUNT; h++) {
        const int slot = idiom->holes[h];
        if (slot >= 0 &&
            (count == term->count ||
             !match_value(r, ulp_lint_value_in(&r->p->lint, r->root.graph, block, slot),
                          term->arguments[count++])))
            return false;
    }
    return count == term->count;
}

/* Is the node the last one of such an idiom? */
static bool match_idiom(struct ulp_terms *r, struct ulp_lint_place place,
                        const struct ulp_term *term, int kind)
{
    const struct ulp_lint_planned *planned = r->p->lint.planned;
    const struct ulp_lint_step *at =
        planned && planned->steps ? &planned->steps[ulp_lint_number(place)] : NULL;
    for (size_t i = at ? at->first : 0; at && at->idioms && i < at->idioms->count; i++) {
        const struct ulp_idiom *idiom = &at->idioms->items[i];
        if (&at->block->steps[idiom->root] != at->step)
            break;
        r->block = at->block;
        r->idiom = idiom;
        if ((int)idiom->kind == kind && match_holes(r, at->block, idiom, term))
            return true;
    }
    r->idiom = NULL;
    return false;
}

static bool match_node(struct ulp_terms *r, struct ulp_lint_place place, int index)
{
    const struct ulp_term *term = &r->terms[index];
    const int kind = find_kind(term->op);
    struct ulp_term_bound kept[ULP_TERM_NAMES_MAX];
    if (!place.node || place.graph != r->root.graph ||
        (kind < 0 && (!ulp_lint_is(place, term->op) || *place.node->domain ||
                      place.node->input_count < (size_t)term->count ||
                      (term->name < 0 && place.node->input_count != (size_t)term->count))))
        return false;
    memcpy(kept, r->bound, sizeof kept);
    for (int swapped = 0;
         swapped <= (kind < 0 && term->count == 2 && ulp_lint_is_any(place, "Add Mul Max Min"));
         swapped++) {
        memcpy(r->bound, kept, sizeof kept);
        if (term->name >= 0)
            r->bound[term->name] =
                (struct ulp_term_bound){.is = true,
                                        .input.number = ulp_lint_output(place, 0),
                                        .place = place};
        if (kind >= 0 ? match_idiom(r, place, term, kind)
                      : match_arguments(r, place, term, swapped))
            return true;
    }
    memcpy(r->bound, kept, sizeof kept);
    return false;
}

static bool match_value(struct ulp_terms *r, int value, int index)
{
    const struct ulp_term *term = &r->terms[index];
    double number;
    if (value < 0)
        return false;
    if (term->kind == ULP_TERM_NODE)
        return match_node(r, ulp_lint_producer(r->root.graph, value), index);
    if (term->kind == ULP_TERM_NUMBER)
        return ulp_lint_scalar(r->root.graph, value, &number) && number == term->number;
    struct ulp_term_bound *bound = &r->bound[term->name];
    if (bound->is)
        return bound->input.number == value;
    const struct ulp_tensor *constant = ulp_lint_constant(r->root.graph, value);
    if (r->names[term->name][0] == 'k' && !(constant && ulp_type_is_float(constant->type)))
        return false;
    *bound = (struct ulp_term_bound){.is = true, .input.number = value};
    return true;
}

bool ulp_terms_match(struct ulp_terms *r, struct ulp_lint_place place, const char *pattern)
{
    r->at = pattern;
    r->term_count = r->name_count = 0;
    r->root = place;
    r->idiom = NULL;
    r->plan = 0;
    r->building.p = r->p;
    r->building.count = 0;
    r->building.failed = false;
    memset(r->bound, 0, sizeof r->bound);
    return match_node(r, place, read_term(r));
}

/* ---- what has matched ---- */

static const struct ulp_term_bound *find_bound(const struct ulp_terms *r, const char *name)
{
    for (int n = 0; n < r->name_count; n++)
        if (strcmp(r->names[n], name) == 0 && r->bound[n].is)
            return &r->bound[n];
    return NULL;
}

int ulp_term_value(const struct ulp_terms *r, const char *name)
{
    const struct ulp_term_bound *bound = find_bound(r, name);
    return bound ? bound->input.number : -1;
}

struct ulp_lint_place ulp_term_node(const struct ulp_terms *r, const char *name)
{
    return ulp_lint_producer(r->root.graph, ulp_term_value(r, name));
}

const struct ulp_tensor *ulp_term_constant(const struct ulp_terms *r, const char *name)
{
    return ulp_lint_constant(r->root.graph, ulp_term_value(r, name));
}

const struct ulp_tensor *ulp_term_shape(const struct ulp_terms *r, const char *name)
{
    return ulp_lint_shape_of(&r->p->lint, r->plan, r->root.graph, ulp_term_value(r, name));
}

const struct ulp_idiom *ulp_term_idiom(const struct ulp_terms *r, const struct ulp_block **block)
{
    return r->idiom ? ulp_lint_idiom_at(&r->p->lint, r->plan, r->block, r->idiom, block) : NULL;
}

bool ulp_term_axes(struct ulp_lint_place place, int64_t axes[ULP_RANK_MAX], size_t *count)
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
    if (attribute && attribute->kind == ULP_ATTRIBUTE_INTS && attribute->count <= ULP_RANK_MAX)
        for (; *count < attribute->count; ++*count)
            axes[*count] = attribute->ints[*count];
    if (constant && constant->count <= ULP_RANK_MAX)
        for (; *count < constant->count; ++*count)
            axes[*count] = ulp_tensor_get_int(constant, *count);
    return true;
}

/* ---- building ---- */

/* A reduction over the axes of another node; where this opset has them. */
static void reduce_like(struct ulp_terms *r, struct ulp_edit_part *part, struct ulp_lint_place like,
                        bool keeps)
{
    int64_t axes[ULP_RANK_MAX];
    size_t count;
    const int64_t opset = ulp_lint_opset(r->root);
    const bool input = opset >= (strcmp(part->op, "ReduceSum") == 0 ? 13 : 18);
    r->building.failed |= !ulp_term_axes(like, axes, &count);
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
static void be_like(struct ulp_terms *r, struct ulp_edit_part *part, struct ulp_lint_place like)
{
    for (size_t i = part->input_count; i < like.node->input_count && i < ULP_EDIT_INPUTS_MAX; i++)
        part->inputs[part->input_count++].number = like.node->inputs[i];
    for (size_t a = 0; a < like.node->attribute_count; a++) {
        const struct ulp_attribute *from = &like.node->attributes[a];
        if (from->reference || part->attribute_count == ULP_EDIT_ATTRIBUTES_MAX)
            r->building.failed = true;
        else
            part->attributes[part->attribute_count++] = *from;
    }
}

/* A constant's numbers in one dimension. */
static struct ulp_edit_input flat(struct ulp_terms *r, struct ulp_edit_input of)
{
    const struct ulp_tensor *from = ulp_lint_constant(r->root.graph, of.number);
    struct ulp_tensor *to = ulp_build_tensor(&r->building, from->type, 1, from->count);
    for (size_t i = 0; to && i < from->count; i++)
        ((float *)to->data)[i] = (float)ulp_tensor_get(from, i);
    return (struct ulp_edit_input){.kind = ULP_EDIT_TENSOR, .tensor = to};
}

/* Of four dimensions, with the last two exchanged: before the transposition that is there, or
 * behind one. */
static struct ulp_edit_input turned(struct ulp_terms *r, struct ulp_edit_input in)
{
    static const int64_t swapped[] = {0, 1, 3, 2};
    const struct ulp_lint_place place = ulp_lint_producer(r->root.graph, in.number);
    const struct ulp_attribute *perm =
        ulp_lint_is(place, "Transpose") && place.graph == r->root.graph
            ? ulp_node_attribute(place.node, "perm")
            : NULL;
    int64_t *axes = ulp_arena_take(r->p->lint.arena, 4, sizeof *axes);
    struct ulp_edit_input out = in;
    const bool behind = perm && perm->kind == ULP_ATTRIBUTE_INTS && perm->count == 4;
    bool same = behind;
    r->building.failed |= !axes;
    r->p->lint.failed |= !axes;
    for (int d = 0; d < 4 && axes; d++) {
        axes[d] = behind ? perm->ints[swapped[d]] : swapped[d];
        same &= axes[d] == d;
    }
    if (behind)
        in.number = ulp_lint_input(place, 0);
    struct ulp_edit_part *part =
        same ? NULL : ulp_build_part(&r->building, "Transpose", &in, 1, &out);
    if (part) {
        struct ulp_attribute *attribute = ulp_build_attribute(part, "perm", ULP_ATTRIBUTE_INTS);
        attribute->ints = axes;
        attribute->count = 4;
    }
    return same ? in : out;
}

/* ---- a normalisation of channels in a product's weights ---- */

/* What the channel is multiplied by, and what is added then. */
static double find_line(const struct ulp_terms *r, size_t channel, double *shift)
{
    static const char *const names[] = {"kscale", "kshift", "kmean", "kvariance"};
    const double epsilon = ulp_node_float(r->root.node, "epsilon", 1e-5F);
    double x[4];
    for (int i = 0; i < 4; i++)
        x[i] = ulp_tensor_get(ulp_term_constant(r, names[i]), channel);
    const double factor = x[0] / sqrt(x[3] + epsilon);
    *shift = x[1] - x[2] * factor;
    return factor;
}

/* What is added to the product (number -1: nothing yet), and its weights. */
static struct ulp_edit_input normed(struct ulp_terms *r, struct ulp_edit_input in, bool weights)
{
    const struct ulp_lint_place product = ulp_term_node(r, "c");
    const struct ulp_tensor *of = ulp_lint_constant(r->root.graph, in.number),
                            *scale = ulp_term_constant(r, "kscale"), *like = weights ? of : scale;
    const bool columns = ulp_lint_is(product, "Gemm") && !ulp_lint_int(product, "transB", 0);
    const size_t inner = weights && !columns ? of->count / scale->count : 1;
    struct ulp_tensor *to = ulp_build_tensor(&r->building, ULP_TYPE_FLOAT, like->rank, like->count);
    for (size_t i = 0; to && i < to->count; i++) {
        double shift, factor = find_line(r, i / inner % scale->count, &shift),
                      x = of ? ulp_tensor_get(of, i) : 0;
        float *out = (float *)to->data + i;
        *out = (float)(weights ? x * factor : x * factor + shift);
        r->building.failed |= !isfinite(*out);
    }
    if (to)
        memcpy(to->dims, like->dims, sizeof to->dims);
    return (struct ulp_edit_input){.kind = ULP_EDIT_TENSOR, .tensor = to};
}

/* Integers that hold every difference from a constant below 2^30. */
static enum ulp_type find_wider(const struct ulp_terms *r)
{
    return ulp_lint_type(r->root.graph, ulp_term_value(r, "q")) == ULP_TYPE_INT32 ? ULP_TYPE_INT64
                                                                                  : ULP_TYPE_INT32;
}

static struct ulp_edit_input call(struct ulp_terms *r, const char *name, struct ulp_edit_input in)
{
    return strcmp(name, "whole") == 0    ? ulp_build_whole(&r->building, find_wider(r),
                                                           ulp_lint_constant(r->root.graph, in.number))
           : strcmp(name, "flat") == 0   ? flat(r, in)
           : strcmp(name, "turned") == 0 ? turned(r, in)
                                         : normed(r, in, strcmp(name, "weights") == 0);
}

/* By what has matched: an idiom, or the node `n`. */
static void give_attributes(struct ulp_terms *r, struct ulp_edit_part *part, const char *given)
{
    const struct ulp_idiom *idiom = r->idiom;
    const struct ulp_lint_place n = ulp_term_node(r, "n");
    const double epsilon = idiom    ? idiom->epsilon
                           : n.node ? ulp_node_float(n.node, "epsilon", 1e-5F)
                                    : 1e-5F;
    if (ulp_is_word("axis", given))
        ulp_build_attribute(part, "axis", ULP_ATTRIBUTE_INT)->i = idiom->axis;
    if (ulp_is_word("num_groups", given))
        ulp_build_attribute(part, "num_groups", ULP_ATTRIBUTE_INT)->i =
            ulp_term_shape(r, "y")->dims[1];
    if (ulp_is_word("epsilon", given))
        ulp_build_attribute(part, "epsilon", ULP_ATTRIBUTE_FLOAT)->f = (float)epsilon;
    if (ulp_is_word("scale", given))
        ulp_build_attribute(part, "scale", ULP_ATTRIBUTE_FLOAT)->f = (float)idiom->scale;
    if (ulp_is_word("type", given))
        ulp_build_attribute(part, "to", ULP_ATTRIBUTE_INT)->i =
            ulp_lint_type(r->root.graph, ulp_lint_output(r->root, 0));
    if (ulp_is_word("wider", given))
        ulp_build_attribute(part, "to", ULP_ATTRIBUTE_INT)->i = find_wider(r);
    if (ulp_is_word("tanh", given))
        ulp_build_attribute(part, "approximate", ULP_ATTRIBUTE_STRING)->s = "tanh";
}

static struct ulp_edit_input build(struct ulp_terms *r, int index)
{
    const struct ulp_term *term = &r->terms[index];
    const struct ulp_edit_input none = {.number = -1};
    if (r->building.failed || term->kind == ULP_TERM_NAME)
        return r->building.failed ? none : r->bound[term->name].input;
    if (term->kind == ULP_TERM_NUMBER) {
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
    if (islower((unsigned char)*term->op))
        return call(r, term->op, term->count ? inputs[0] : none);
    struct ulp_edit_input result;
    struct ulp_edit_part *part =
        ulp_build_part(&r->building, term->op, inputs, (size_t)term->count, &result);
    if (part && term->name >= 0 && strncmp(term->op, "Reduce", 6) == 0)
        reduce_like(r, part, r->bound[term->name].place, term->keeps);
    else if (part && term->name >= 0)
        be_like(r, part, r->bound[term->name].place);
    if (part)
        give_attributes(r, part, term->given);
    return result;
}

void ulp_terms_build(struct ulp_terms *r, const char *replacement)
{
    for (r->at = replacement; *r->at && !r->building.failed;) {
        char word[ULP_TERM_BYTES] = {0};
        const char *begin = r->at;
        read_word(r, word);
        const bool defines = *r->at == '=';
        r->at = defines ? r->at + 1 : begin;
        const struct ulp_edit_input input = build(r, read_term(r));
        if (defines)
            r->bound[find_name(r, word)] = (struct ulp_term_bound){.is = true, .input = input};
        r->at += strspn(r->at, "; ");
    }
}
