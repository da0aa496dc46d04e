/* What becomes of each node: the types it reads, gives, and has in its attributes. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "load/mixed/writer.h"
#include "tensor/tensor.h"

/* Attributes that name the type of the result. */
static const struct {
    const char *op, *attribute;
} named_types[] = {{"Cast", "to"},
                   {"RandomNormal", "dtype"},
                   {"RandomUniform", "dtype"},
                   {"RandomNormalLike", "dtype"},
                   {"RandomUniformLike", "dtype"},
                   {"Bernoulli", "dtype"},
                   {"EyeLike", "dtype"},
                   {"HannWindow", "output_datatype"},
                   {"HammingWindow", "output_datatype"},
                   {"BlackmanWindow", "output_datatype"},
                   {"MelWeightMatrix", "output_datatype"}};

static int compare_nodes(const void *a, const void *b)
{
    const struct ulp_mixed_node *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

void ulp_mixed_sort(struct ulp_mixed_node *nodes, size_t count)
{
    if (count)
        qsort(nodes, count, sizeof *nodes, compare_nodes);
}

static bool same_call(const struct ulp_call_path *a, const struct ulp_call_path *b)
{
    for (; a && b && a != b && a->node == b->node; a = a->outer)
        b = b->outer;
    return a == b;
}

static const struct ulp_mixed_node *find_entry(const struct mixed *mixed,
                                               const struct ulp_node *node,
                                               const struct ulp_call_path *call)
{
    const struct ulp_mixed_node *nodes = mixed->request->nodes;
    size_t first = 0, last = mixed->request->node_count;
    while (first < last) {
        const size_t middle = first + (last - first) / 2;
        if (nodes[middle].node < node)
            first = middle + 1;
        else
            last = middle;
    }
    for (; first < mixed->request->node_count && nodes[first].node == node; first++)
        if (same_call(nodes[first].call, call))
            return &nodes[first];
    return NULL;
}

static bool is_op(const struct ulp_node *node, const char *op)
{
    return !*node->domain && strcmp(node->op_type, op) == 0;
}

/* From a float to a float: rounds once, from whatever the value is held in. */
static bool is_float_cast(struct mixed_scope *scope, const struct ulp_node *node,
                          const struct ulp_mixed_node *entry)
{
    return entry && entry->type != ULP_TYPE_UNDEFINED && is_op(node, "Cast") &&
           node->input_count == 1 && node->inputs[0] >= 0 && mixed_is_float(entry->outputs[0]) &&
           mixed_find(scope, node->inputs[0])->declared != ULP_TYPE_UNDEFINED;
}

/* What only asks for the shape of a value takes it as it is held. BFLOAT16 only from opset 13 on.
 */
static bool takes_held(const struct ulp_node *node, const struct mixed_value *value)
{
    return (is_op(node, "Shape") || is_op(node, "Size")) &&
           (value->kind == MIXED_COMPUTED || value->kind == MIXED_GIVEN) &&
           (value->held == ULP_TYPE_FLOAT || value->held == ULP_TYPE_FLOAT16);
}

/* From opset 21 on ONNX Runtime refuses a DequantizeLinear of INT8 whose value is moved and then
 * not quantised (lint: qdq-passed): between it and what moves its elements a Cast must stand. */
static bool is_dequantized(const struct mixed_value *value)
{
    static const char op[] = "DequantizeLinear";
    return value->producer && value->producer->op_type.len == strlen(op) &&
           memcmp(value->producer->op_type.data, op, strlen(op)) == 0;
}

/* What a node that hands on a wider value than its own type reads; NULL: it hands on none. */
static struct mixed_value *find_wide(struct mixed_scope *scope, const struct ulp_node *node,
                                     const struct ulp_mixed_node *entry)
{
    if (!entry || !entry->hands_on || !mixed_is_float(entry->outputs[0]) ||
        (scope->mixed->request->casts_first && is_op(node, "Transpose")) ||
        (entry->type != ULP_TYPE_FLOAT16 && entry->type != ULP_TYPE_BFLOAT16))
        return NULL;
    struct mixed_value *value = mixed_find(scope, node->inputs[0]);
    value = value->wide ? value->wide : value;
    return value->held == ULP_TYPE_FLOAT && !is_dequantized(value) &&
                   (value->kind == MIXED_COMPUTED || value->kind == MIXED_GIVEN)
               ? value
               : NULL;
}

/* Its output, before a Cast gives that the node's own type. */
static enum ulp_status hand_on_wide(struct mixed_scope *scope, const struct ulp_node *node)
{
    struct mixed_value *value = &scope->values[node->outputs[0]];
    ULP_TAKE(value->wide, scope->editor->arena, 1, scope->editor->error);
    *value->wide = *value;
    value->wide->held = ULP_TYPE_FLOAT;
    return ULP_OK;
}

static enum ulp_status read_inputs(struct mixed_scope *scope, const struct ulp_node *node,
                                   Ulp__NodeProto *proto, const struct ulp_mixed_node *entry)
{
    struct mixed_value *wide = find_wide(scope, node, entry);
    if (wide)
        ULP_TRY(mixed_read_other(scope, wide, &proto->input[0], wide->held));
    for (size_t i = wide ? 1 : 0; i < node->input_count; i++) {
        enum ulp_type type = entry ? entry->type : ULP_TYPE_UNDEFINED;
        const int number = node->inputs[entry && entry->squares ? 0 : i];
        if (number < 0)
            continue;
        const struct mixed_value *value = mixed_find(scope, number);
        if (number != node->inputs[i])
            ULP_TRY(edit_set_text(scope->editor, &proto->input[i], value->name));
        if (takes_held(node, value))
            type = value->held;
        else if (entry && i < 64 && entry->fixed >> i & 1)
            type = ULP_TYPE_UNDEFINED;
        else if (is_float_cast(scope, node, entry) && value->kind != MIXED_TENSOR &&
                 value->kind != MIXED_CONSTANT && !(value->origin && value->origin->held == type))
            type = value->held;
        ULP_TRY(mixed_read(scope, number, &proto->input[i], type));
    }
    return ULP_OK;
}

/* A Transpose that puts the first dimension among the last two, behind all others. */
static bool moves_first(const struct ulp_node *node)
{
    const struct ulp_attribute *perm =
        is_op(node, "Transpose") ? ulp_node_attribute(node, "perm") : NULL;
    bool is = perm && perm->kind == ULP_ATTRIBUTE_INTS && perm->count > 2 && node->outputs[0] >= 0;
    for (size_t i = 0; is && i + 2 < perm->count; i++)
        is = perm->ints[i] == (int64_t)i + 1;
    return is;
}

/* The node's first input, as it is read. */
static struct mixed_use *find_first(struct mixed_scope *scope, const struct ulp_node *node,
                                    const Ulp__NodeProto *proto)
{
    const struct mixed_value *value = mixed_find(scope, node->inputs[0]);
    for (; value; value = value->origin)
        for (struct mixed_use *use = value->uses; use; use = use->next)
            if (use->where == &proto->input[0])
                return use;
    return NULL;
}

/* Does the Cast read its input in that type? */
static bool reads(struct mixed_scope *scope, const struct ulp_node *node,
                  const Ulp__NodeProto *proto, enum ulp_type type)
{
    const struct mixed_use *use = find_first(scope, node, proto);
    return use && use->type == type;
}

/* A Cast to the type that a value has would do nothing. */
static enum ulp_status become_identity(struct editor *editor, Ulp__NodeProto *proto)
{
    edit_clear(editor, proto->attribute, &proto->n_attribute);
    return edit_set_text(editor, &proto->op_type, "Identity");
}

/* What a Cast reads, once more for readers in that type. */
static void note_origin(struct mixed_scope *scope, const struct ulp_node *node,
                        const struct ulp_mixed_node *entry)
{
    if (!is_float_cast(scope, node, entry) || node->outputs[0] < 0)
        return;
    struct mixed_value *value = mixed_find(scope, node->inputs[0]);
    const bool narrow = value->held == ULP_TYPE_FLOAT16 || value->held == ULP_TYPE_BFLOAT16;
    if (narrow && entry->type == ULP_TYPE_FLOAT &&
        (value->kind == MIXED_COMPUTED || value->kind == MIXED_GIVEN))
        scope->values[node->outputs[0]].origin = value;
}

static enum ulp_status set_attributes(struct mixed_scope *scope, const struct ulp_node *node,
                                      Ulp__NodeProto *proto, const struct ulp_mixed_node *entry)
{
    struct editor *editor = scope->editor;
    if (!entry || entry->type == ULP_TYPE_UNDEFINED || *node->domain || !node->output_count ||
        !mixed_is_float(entry->outputs[0]))
        return ULP_OK;
    if (is_op(node, "ConstantOfShape")) {
        const struct ulp_attribute *fill = ulp_node_attribute(node, "value");
        const float zero = 0;
        const struct ulp_tensor standard = ulp_tensor_list(ULP_TYPE_FLOAT, &zero, 1, 1);
        return edit_set_constant(editor, proto, fill && fill->tensor ? fill->tensor : &standard,
                                 entry->type);
    }
    if (is_float_cast(scope, node, entry) && reads(scope, node, proto, entry->type))
        return become_identity(editor, proto);
    for (size_t i = 0; i < sizeof named_types / sizeof *named_types; i++)
        if (is_op(node, named_types[i].op))
            ULP_TRY(edit_set_number(editor, proto, named_types[i].attribute, (int64_t)entry->type));
    return ULP_OK;
}

/* Reports call a node without a name OP_index. */
static enum ulp_status name_node(struct editor *editor, const struct ulp_node *node,
                                 Ulp__NodeProto *proto)
{
    if (proto->name.len)
        return ULP_OK;
    proto->has_name = true;
    return edit_set_text(editor, &proto->name, node->name);
}

static enum ulp_status visit_node(struct mixed_scope *scope, const struct ulp_node *node,
                                  Ulp__NodeProto *proto)
{
    struct editor *editor = scope->editor;
    const struct ulp_function *function = ulp_function_find(editor->model, node);
    const struct ulp_mixed_node *entry = find_entry(scope->mixed, node, scope->call);
    if (proto->n_input != node->input_count || proto->n_output != node->output_count ||
        proto->n_attribute != node->attribute_count)
        return ulp_fail(editor->error, ULP_ERROR_INPUT,
                        "node '%s' is another one than when it was loaded", node->name);
    ULP_TRY(name_node(editor, node, proto));
    if (function)
        return mixed_visit_call(scope, node, proto, function);
    if (!entry && (is_op(node, "Constant") || is_op(node, "ConstantOfShape")))
        return mixed_visit_constant(scope, node, proto);
    if (entry && entry->squares)
        ULP_TRY(edit_set_text(editor, &proto->op_type, "Mul"));
    ULP_TRY(read_inputs(scope, node, proto, entry));
    for (size_t o = 0; o < node->output_count; o++) {
        const enum ulp_type declared = entry && entry->outputs ? entry->outputs[o]
                                       : node->outputs[o] < 0
                                           ? ULP_TYPE_UNDEFINED
                                           : scope->source->values[node->outputs[o]].info.type;
        mixed_set_output(scope, node, proto, o, declared,
                         entry && entry->type != ULP_TYPE_UNDEFINED ? entry->type : declared);
    }
    if (find_wide(scope, node, entry))
        ULP_TRY(hand_on_wide(scope, node));
    else if (moves_first(node) && !scope->mixed->request->casts_first)
        scope->values[node->outputs[0]].transposed = find_first(scope, node, proto);
    note_origin(scope, node, entry);
    ULP_TRY(mixed_visit_bodies(scope, node, proto, entry));
    return set_attributes(scope, node, proto, entry);
}

enum ulp_status mixed_visit(struct mixed_scope *scope)
{
    const struct ulp_graph *source = scope->source;
    if (*scope->graph->node_count != source->node_count)
        return ulp_fail(scope->editor->error, ULP_ERROR_INPUT,
                        "a graph has other nodes than when it was loaded");
    for (size_t n = 0; n < source->node_count; n++) {
        const struct ulp_node *node = &source->nodes[n];
        ULP_TRY(visit_node(scope, node, (*scope->graph->nodes)[node->position]));
    }
    return ULP_OK;
}
