/* Models whose nodes are read otherwise. */
#include "analysis/compare/cause/reread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/idiom/idiom.h"
#include "tensor/tensor.h"

/* Values that a change may add to a node, constants and results of nodes that it puts in front. */
#define ADDED_MAX 12
#define MICROSOFT "com.microsoft"

/* com.microsoft has operators that ai.onnx has in later versions alone, or not at all. */
static enum ulp_status add_domain(struct ulp_model *model, struct ulp_arena *arena,
                                  struct ulp_error *error)
{
    struct ulp_opset *opsets;
    if (ulp_opset_find(model->opsets, model->opset_count, MICROSOFT))
        return ULP_OK;
    ULP_TAKE(opsets, arena, model->opset_count + 1, error);
    memcpy(opsets, model->opsets, model->opset_count * sizeof *opsets);
    opsets[model->opset_count++] = (struct ulp_opset){MICROSOFT, 1};
    ulp_opsets_sort(opsets, model->opset_count);
    model->opsets = opsets;
    return ULP_OK;
}

enum ulp_status ulp_reread_open(const struct ulp_program *program, size_t most,
                                struct ulp_reread *out, struct ulp_error *error)
{
    const struct ulp_graph *graph = program->model->graph;
    *out = (struct ulp_reread){.model = *program->model, .graph = *graph, .program = program};
    ULP_TRY(ulp_arena_create(&out->arena, ulp_model_budget(program->model), error));
    ULP_TAKE(out->nodes, out->arena, graph->node_count + ADDED_MAX * most, error);
    ULP_TAKE_ARRAY(struct ulp_value, values, out->arena, graph->value_count + ADDED_MAX * most,
                   error);
    memcpy(out->nodes, graph->nodes, graph->node_count * sizeof *out->nodes);
    memcpy(values, graph->values, graph->value_count * sizeof *values);
    out->graph.nodes = out->nodes;
    out->graph.values = values;
    return add_domain(&out->model, out->arena, error);
}

/* ---- what follows from shapes ---- */

static enum ulp_status give_sizes(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_node *node = ulp_reread_at(change);
    const struct ulp_tensor *out = ulp_reread_shape(change->reread, node, -1);
    if (!out || node->input_count != 3 || ulp_node_attribute(node, "axes") ||
        strcmp(node->op_type, "Resize") != 0)
        return ULP_OK;
    change->changed = true;
    ULP_TRY(ulp_reread_set_input(change->reread, node, 2, -1, error));
    return ulp_reread_set_list(change->reread, node, 3, out->dims, out->rank, error);
}

/* Its result has the elements of input 0 as they lie there. */
static enum ulp_status view_input(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_node *node = ulp_reread_at(change);
    const struct ulp_tensor *out = ulp_reread_shape(change->reread, node, -1);
    if (!out)
        return ULP_OK;
    change->changed = true;
    node->op_type = "Reshape";
    node->attribute_count = 0;
    return ulp_reread_set_list(change->reread, node, 1, out->dims, out->rank, error);
}

/* Zero points of 0, given where they are left out. */
static enum ulp_status give_zeros(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_reread *reread = change->reread;
    struct ulp_node *node = ulp_reread_at(change);
    const bool gathers = strcmp(node->op_type, "GatherBlockQuantized") == 0;
    const size_t codes = gathers ? 0 : 1, scales = 2;
    const struct ulp_tensor *code = ulp_value_constant(&reread->graph, node->inputs[codes]),
                            *scale = ulp_value_constant(&reread->graph, node->inputs[scales]);
    const int64_t bits = ulp_node_int(node, "bits", 4), block = ulp_node_int(node, "block_size", 0);
    int64_t dims[ULP_RANK_MAX] = {0};
    struct ulp_tensor zeros;
    double *numbers;
    if (!code || !scale || code->type != ULP_TYPE_UINT8 || !block || !scale->rank ||
        (change->input < node->input_count && node->inputs[change->input] >= 0))
        return ULP_OK;
    memcpy(dims, scale->dims, sizeof dims);
    int rank = scale->rank;
    if (gathers) {
        dims[rank - 1] = (dims[rank - 1] * bits + 7) / 8;
    } else {
        const int64_t blocks = (ulp_node_int(node, "K", 0) + block - 1) / block;
        dims[0] = ulp_node_int(node, "N", 0) * ((blocks * bits + 7) / 8);
        rank = 1;
    }
    ULP_TRY(ulp_reread_make_constant(reread, code, rank, dims, &zeros, &numbers, error));
    change->changed = true;
    return ulp_reread_fill_constant(reread, node, change->input, &zeros, numbers, error);
}

/* A constant of one axis, along the last one in place of the first. */
static enum ulp_status move_axis(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_node *node = ulp_reread_at(change);
    const struct ulp_tensor *from = ulp_reread_constant(change->reread, node, change->input);
    if (!from || from->rank < 2 || from->count < 2 || from->count != (size_t)from->dims[0])
        return ULP_OK;
    struct ulp_tensor to = ulp_tensor_view(from);
    to.dims[0] = 1;
    to.dims[to.rank - 1] = from->dims[0];
    change->changed = true;
    return ulp_reread_set_constant(change->reread, node, change->input, &to, error);
}

/* ---- operators, attributes and inputs ---- */

/* The last node of an activation that is written out, as another one of what that is of. */
static enum ulp_status give_activation(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_reread *reread = change->reread;
    struct ulp_node *node = ulp_reread_at(change);
    const struct ulp_block *block = reread->program->main;
    struct ulp_idiom *idioms;
    const char *x = NULL;
    size_t count;
    ULP_TRY(ulp_idioms_find(block, reread->arena, &idioms, &count, error));
    for (size_t i = 0; i < count; i++)
        if (idioms[i].kind >= ULP_IDIOM_GELU_ERF && idioms[i].kind <= ULP_IDIOM_SILU &&
            strcmp(block->steps[idioms[i].root].name, node->name) == 0)
            x = block->slots[idioms[i].holes[ULP_IDIOM_X]].name;
    const int value = x ? ulp_reread_find(&reread->graph, x) : -1;
    if (value < 0)
        return ULP_OK;
    change->changed = true;
    node->op_type = change->text;
    node->domain = MICROSOFT;
    node->attribute_count = 0;
    ULP_TRY(ulp_reread_set_input(reread, node, 0, value, error));
    node->input_count = 1;
    return ULP_OK;
}

/* What the operator's row says of an attribute; false: it has none so named. */
static bool find_attribute(const struct ulp_reread *reread, const struct ulp_node *node,
                           const char *name, struct ulp_attribute_text *out)
{
    const struct ulp_operator *op =
        ulp_operator_of(node, ulp_opset_find(reread->model.opsets, reread->model.opset_count,
                                             node->domain));
    return op && ulp_attribute_find(op, name, strlen(name), out);
}

/* A value as a change, or an operator's row, writes it, up to a ';'; of none the kind OTHER. */
static enum ulp_status read_value(struct ulp_arena *arena, const char *text,
                                  struct ulp_attribute *out, struct ulp_error *error)
{
    char *value = ulp_arena_text(arena, text, strcspn(text, ";"));
    ULP_TRY(ulp_taken(value, error));
    out->kind = *value ? ULP_ATTRIBUTE_STRING : ULP_ATTRIBUTE_OTHER;
    out->s = value;
    if (*value && strspn(value, "-0123456789") == strlen(value)) {
        out->kind = ULP_ATTRIBUTE_INT;
        out->i = strtoll(value, NULL, 10);
    } else if (*value && strspn(value, "-.e0123456789") == strlen(value)) {
        out->kind = ULP_ATTRIBUTE_FLOAT;
        out->f = strtof(value, NULL);
    }
    return ULP_OK;
}

/* Rows write a float's 1 as an integer's; NaN: it is no number. */
static double number_of(const struct ulp_attribute *attribute)
{
    return attribute->kind == ULP_ATTRIBUTE_INT     ? (double)attribute->i
           : attribute->kind == ULP_ATTRIBUTE_FLOAT ? (double)attribute->f
                                                    : NAN;
}

static bool is_same(const struct ulp_attribute *one, const struct ulp_attribute *other)
{
    return number_of(one) == number_of(other) ||
           (one->kind == ULP_ATTRIBUTE_STRING && other->kind == ULP_ATTRIBUTE_STRING &&
            strcmp(one->s, other->s) == 0);
}

/* The same of values that say the same, and of an axis counted from either end. */
static unsigned long long hash_of(const struct ulp_reread_change *change,
                                  const struct ulp_attribute *made)
{
    const struct ulp_tensor *in = ulp_reread_shape(change->reread, ulp_reread_at(change), 0);
    const bool behind = strcmp(made->name, "axis") == 0 && made->i < 0 && in;
    const double number = number_of(made) + (behind ? in->rank : 0);
    return 31 * ulp_hash(made->name, strlen(made->name)) + (made->kind == ULP_ATTRIBUTE_STRING
                                                                ? ulp_hash(made->s, strlen(made->s))
                                                                : ulp_hash(&number, sizeof number));
}

/* `more`: so much more than it has. One that is ignored has what the row says for where it is not
 * given. */
static enum ulp_status give_attribute(struct ulp_reread_change *change, bool more,
                                      struct ulp_error *error)
{
    struct ulp_node *node = ulp_reread_at(change);
    const char *name = change->word, *text = change->text;
    struct ulp_attribute made = {.name = name}, otherwise = made;
    const struct ulp_attribute *old = ulp_node_attribute(node, name);
    struct ulp_attribute_text entry;
    if (!find_attribute(change->reread, node, name, &entry) || (!old && !*text) ||
        (more && (!old || old->i <= 0)))
        return ULP_OK;
    const char *fallback = entry.fallback ? entry.fallback : "";
    ULP_TRY(read_value(change->reread->arena, fallback, &otherwise, error));
    ULP_TRY(read_value(change->reread->arena, *text ? text : fallback, &made, error));
    made.i += more ? old->i : 0;
    if (is_same(old ? old : &otherwise, &made))
        return ULP_OK;
    change->changed = true;
    change->reread->given += hash_of(change, &made);
    ULP_TRY(ulp_reread_set_attribute(change->reread, node, &made, error));
    node->attribute_count -= !*text; /* it is the last one now */
    return ULP_OK;
}

/* NAME:N: another operator, of a domain perhaps, of the first N of its inputs (else of the first)
 * and the attributes that it has, too. */
static enum ulp_status give_operator(struct ulp_reread_change *change, struct ulp_error *error)
{
    const struct ulp_reread *reread = change->reread;
    struct ulp_node *node = ulp_reread_at(change);
    char *colon = strchr(change->text, ':'), *dot = strrchr(change->text, '.');
    const size_t count = colon ? (size_t)(colon[1] - '0') : 1;
    const char *op = dot ? dot + 1 : change->text, *domain = dot ? change->text : "";
    size_t kept_count = 0;
    struct ulp_attribute_text entry;
    if (dot)
        *dot = 0;
    if (colon)
        *colon = 0;
    if (strcmp(node->op_type, op) == 0)
        return ULP_OK;
    node->op_type = op;
    node->domain = domain;
    node->input_count = node->input_count < count ? node->input_count : count;
    change->changed = true;
    ULP_TAKE_ARRAY(struct ulp_attribute, kept, reread->arena, node->attribute_count + 1, error);
    for (size_t a = 0; a < node->attribute_count; a++)
        if (find_attribute(reread, node, node->attributes[a].name, &entry))
            kept[kept_count++] = node->attributes[a];
    node->attributes = kept;
    node->attribute_count = kept_count;
    return ULP_OK;
}

/* @skipped: only where the input is of the result's size. */
static enum ulp_status leave_out(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_node *node = ulp_reread_at(change);
    const struct ulp_tensor *in = ulp_reread_shape(change->reread, node, (int)change->input),
                            *out = ulp_reread_shape(change->reread, node, -1);
    (void)error;
    if (change->word[1] == 's' &&
        (!in || !out || in->type != out->type || !ulp_tensor_same_shape(in, out)))
        return ULP_OK;
    node->op_type = "Identity";
    node->domain = "";
    node->attribute_count = 0;
    node->inputs += change->input;
    node->input_count = node->output_count = 1;
    change->changed = true;
    return ULP_OK;
}

/* With the input behind it. */
static enum ulp_status exchange_inputs(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_node *node = ulp_reread_at(change);
    const size_t next = change->input + 1;
    const int one = node->inputs[change->input],
              other = next < node->input_count ? node->inputs[next] : -1;
    if (other < 0 || one == other)
        return ULP_OK;
    change->changed = true;
    ULP_TRY(ulp_reread_set_input(change->reread, node, change->input, other, error));
    return ulp_reread_set_input(change->reread, node, next, one, error);
}

static enum ulp_status omit_input(struct ulp_reread_change *change, struct ulp_error *error)
{
    change->changed = true;
    return ulp_reread_set_input(change->reread, ulp_reread_at(change), change->input, -1, error);
}

/* Integers by 1: constant ones, or by a node before. */
static enum ulp_status step_integers(struct ulp_reread_change *change, struct ulp_error *error)
{
    return ulp_reread_constant(change->reread, ulp_reread_at(change), change->input)
               ? ulp_reread_map(change, error)
               : ulp_reread_scale(change, error);
}

/* ---- one word of a change ---- */

static const struct {
    const char *words;
    ulp_reread_fn *make;
} changes[] = {
    {"@op", give_operator},
    {"@written", give_activation},
    {"@left @skipped", leave_out},
    {"@exchanged", exchange_inputs},
    {"@absent", omit_input},
    {"@viewed", view_input},
    {"@sizes", give_sizes},
    {"@none", give_zeros},
    {"@moved", move_axis},
    {"@next @previous", step_integers},
    {"@counted @same @lower @shifted @ahead @undilated", ulp_reread_pads},
    {"@layout", ulp_reread_layout},
    {"@reversed", ulp_reread_reverse},
    {"@inverted", ulp_reread_invert},
    {"@turned", ulp_reread_exchange},
    {"@again", ulp_reread_repeat},
    {"@behind @before", ulp_reread_move},
    {"@later", ulp_reread_hide},
    {"@offset", ulp_reread_offset},
    {"@wrapped", ulp_reread_wrap},
    {"@floored", ulp_reread_floor},
    {"@summed", ulp_reread_sum},
    {"@rooted @unrooted @unbiased @scaled @unscaled @positive @negative @cut", ulp_reread_scale},
};

static enum ulp_status change_word(struct ulp_reread_change *change, char *word,
                                   struct ulp_error *error)
{
    const struct ulp_node *node = ulp_reread_at(change);
    char *text = strchr(word, '=');
    const bool more = text && text > word && text[-1] == '+';
    if (text) {
        text[more ? -1 : 0] = 0;
        text++;
    }
    change->word = word;
    change->text = text;
    change->input = 0;
    if (*word != '@')
        return give_attribute(change, more, error);
    if (text && *text >= '0' && *text <= '9') {
        change->input = (size_t)(*text - '0');
        change->text = text[1] ? text + 2 : NULL;
    }
    if (strcmp(word, "@none") != 0 &&
        (change->input >= node->input_count || node->inputs[change->input] < 0))
        return ULP_OK;
    for (size_t c = 0; c < sizeof changes / sizeof *changes; c++)
        if (ulp_is_word(word, changes[c].words))
            return changes[c].make(change, error);
    return ulp_reread_map(change, error);
}

enum ulp_status ulp_reread_node(struct ulp_reread *reread, size_t n, const char *change,
                                bool *changed, struct ulp_error *error)
{
    char *words = ulp_arena_copy(reread->arena, change), *next;
    struct ulp_reread_change one = {.reread = reread};
    const size_t behind = reread->graph.node_count - n;
    ULP_TRY(ulp_taken(words, error));
    for (; words; words = next) {
        next = strchr(words, ' ');
        if (next)
            *next++ = 0;
        one.n = reread->graph.node_count - behind; /* it lies behind what was put before it */
        ULP_TRY(change_word(&one, words, error));
    }
    *changed = one.changed;
    return ULP_OK;
}
