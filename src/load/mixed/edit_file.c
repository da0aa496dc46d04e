#include "load/mixed/edit_file.h"

#include <string.h>

#include "base/error.h"
#include "load/mixed/writer.h"

/* AttributeProto.AttributeType */
enum { EDIT_FLOAT = 1, EDIT_INT = 2, EDIT_STRING = 3 };

struct editing {
    struct mixed mixed; /* first: it is what the change is given */
    const struct ulp_edit *edits;
    size_t count;
    size_t *reads; /* of each value of the main graph */
};

static const struct ulp_edit *find_edit(const struct editing *e, const struct ulp_node *node)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->edits[i].node == node)
            return &e->edits[i];
    return NULL;
}

/* ---- what is read ---- */

/* Add `step` to what the node reads, by itself or in its bodies. */
static void count_node(struct editing *e, const struct ulp_node *node, const struct ulp_edit *edit,
                       size_t step)
{
    const int *inputs = edit ? edit->inputs : node->inputs;
    const size_t count = edit ? edit->input_count : node->input_count;
    for (size_t i = 0; i < count; i++)
        if (inputs[i] >= 0)
            e->reads[inputs[i]] += step;
    for (size_t a = 0; a < node->attribute_count; a++) {
        const struct ulp_graph *body = node->attributes[a].graph;
        for (size_t v = 0; body && v < body->value_count; v++)
            if (body->values[v].outer >= 0)
                e->reads[body->values[v].outer] += step;
    }
}

static bool is_read(const struct editing *e, const struct ulp_node *node)
{
    for (size_t o = 0; o < node->output_count; o++)
        if (node->outputs[o] >= 0 && e->reads[node->outputs[o]])
            return true;
    return false;
}

/* Nodes from the last on: those that only replaced ones read are read no more. */
static enum ulp_status drop_nodes(struct editing *e, const struct ulp_graph *graph,
                                  struct ulp_error *error)
{
    struct mixed *mixed = &e->mixed;
    Ulp__GraphProto *proto = mixed->proto->graph;
    bool *dropped = ulp_arena_take(mixed->arena, proto->n_node + 1, sizeof *dropped);
    size_t count = 0;
    e->reads = ulp_arena_take(mixed->arena, 2 * graph->value_count + 1, sizeof *e->reads);
    if (!dropped || !e->reads)
        return ulp_out_of_memory(error);
    size_t *before = e->reads + graph->value_count;
    for (size_t n = 0; n < graph->node_count; n++)
        count_node(e, &graph->nodes[n], NULL, 1);
    memcpy(before, e->reads, graph->value_count * sizeof *before);
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct ulp_edit *edit = find_edit(e, &graph->nodes[n]);
        if (edit) {
            count_node(e, &graph->nodes[n], NULL, (size_t)-1);
            count_node(e, &graph->nodes[n], edit, 1);
        }
    }
    for (size_t o = 0; o < graph->output_count; o++)
        e->reads[graph->outputs[o]]++, before[graph->outputs[o]]++;
    for (size_t n = graph->node_count; n-- > 0;) {
        const struct ulp_node *node = &graph->nodes[n];
        bool was_read = false;
        for (size_t o = 0; o < node->output_count; o++)
            was_read |= node->outputs[o] >= 0 && before[node->outputs[o]];
        if (!was_read || is_read(e, node) || find_edit(e, node))
            continue;
        dropped[node->position] = true;
        count_node(e, node, NULL, (size_t)-1);
    }
    for (size_t p = 0; p < proto->n_node; p++)
        if (dropped[p])
            ulp_unpack_free(&mixed->loader.unpacker, proto->node[p]);
        else
            proto->node[count++] = proto->node[p];
    proto->n_node = count;
    return ULP_OK;
}

/* Initializers that only dropped nodes read. */
static enum ulp_status drop_initializers(struct editing *e, const struct ulp_graph *graph,
                                         struct ulp_error *error)
{
    struct mixed *mixed = &e->mixed;
    Ulp__GraphProto *proto = mixed->proto->graph;
    const size_t *before = e->reads + graph->value_count;
    size_t count = 0;
    for (size_t i = 0; i < graph->input_count; i++)
        e->reads[graph->inputs[i]]++; /* before IR 4 an initializer is an input, too */
    for (size_t v = 0; v < graph->value_count; v++)
        if (graph->values[v].initializer && before[v] && !e->reads[v] &&
            ulp_names_find(&mixed->names, graph->values[v].name) < 0 &&
            !ulp_names_add(&mixed->names, graph->values[v].name, 0))
            return ulp_out_of_memory(error);
    for (size_t i = 0; i < proto->n_initializer; i++) {
        const char *name = mixed_text(mixed, proto->initializer[i]->name);
        if (name && ulp_names_find(&mixed->names, name) >= 0)
            ulp_unpack_free(&mixed->loader.unpacker, proto->initializer[i]);
        else
            proto->initializer[count++] = proto->initializer[i];
    }
    proto->n_initializer = count;
    return ULP_OK;
}

/* What is declared of results that another operator gives now: their shapes may be others. */
static void drop_declarations(struct editing *e, const struct ulp_graph *graph)
{
    Ulp__GraphProto *proto = e->mixed.proto->graph;
    size_t count = 0;
    for (size_t i = 0; i < proto->n_value_info; i++) {
        bool given = false;
        for (size_t k = 0; k < e->count; k++)
            for (size_t o = 0; e->edits[k].node && o < e->edits[k].node->output_count; o++) {
                const int value = e->edits[k].node->outputs[o];
                given |= value >= 0 &&
                         mixed_is_text(proto->value_info[i]->name, graph->values[value].name);
            }
        if (given)
            ulp_unpack_free(&e->mixed.loader.unpacker, proto->value_info[i]);
        else
            proto->value_info[count++] = proto->value_info[i];
    }
    proto->n_value_info = count;
}

/* ---- edits ---- */

static enum ulp_status set_attributes(struct mixed *mixed, Ulp__NodeProto *proto,
                                      const struct ulp_edit *edit, struct ulp_error *error)
{
    Ulp__AttributeProto *attribute;
    enum ulp_status status = ULP_OK;
    for (size_t a = 0; a < proto->n_attribute; a++)
        ulp_unpack_free(&mixed->loader.unpacker, proto->attribute[a]);
    proto->n_attribute = 0;
    if (edit->has_axis)
        status = mixed_attribute(mixed, proto, "axis", EDIT_INT, &attribute, error);
    if (edit->has_axis && status == ULP_OK) {
        attribute->has_i = true;
        attribute->i = edit->axis;
    }
    if (edit->has_epsilon && status == ULP_OK)
        status = mixed_attribute(mixed, proto, "epsilon", EDIT_FLOAT, &attribute, error);
    if (edit->has_epsilon && status == ULP_OK) {
        attribute->has_f = true;
        attribute->f = edit->epsilon;
    }
    if (edit->approximate && status == ULP_OK)
        status = mixed_attribute(mixed, proto, "approximate", EDIT_STRING, &attribute, error);
    if (edit->approximate && status == ULP_OK) {
        attribute->has_s = true;
        status = mixed_set_text(mixed, &attribute->s, edit->approximate, error);
    }
    return status;
}

static enum ulp_status edit_node(struct mixed *mixed, const struct ulp_graph *graph,
                                 const struct ulp_edit *edit, struct ulp_error *error)
{
    const size_t position = (size_t)edit->node->position;
    Ulp__NodeProto *proto =
        position < mixed->proto->graph->n_node ? mixed->proto->graph->node[position] : NULL;
    if (!proto || !mixed_is_text(proto->op_type, edit->node->op_type))
        return mixed_fail_changed(error);
    enum ulp_status status = mixed_set_text(mixed, &proto->op_type, edit->op, error);
    for (size_t i = 0; i < proto->n_input; i++)
        ulp_free(proto->input[i].data);
    proto->n_input = 0;
    ProtobufCBinaryData *inputs = NULL;
    if (status == ULP_OK) {
        void *memory = NULL;
        status = ulp_allocate_zero(&memory, edit->input_count, sizeof *inputs, mixed->budget,
                                   "the model that is written", error);
        inputs = memory;
    }
    if (status != ULP_OK)
        return status;
    ulp_free(proto->input);
    proto->input = inputs;
    for (size_t i = 0; i < edit->input_count && status == ULP_OK; i++, proto->n_input++)
        status =
            mixed_set_text(mixed, &proto->input[i],
                           edit->inputs[i] < 0 ? "" : graph->values[edit->inputs[i]].name, error);
    return status == ULP_OK ? set_attributes(mixed, proto, edit, error) : status;
}

static enum ulp_status edit_constant(struct mixed *mixed, const struct ulp_graph *graph,
                                     const struct ulp_edit *edit, struct ulp_error *error)
{
    const struct ulp_value *value = &graph->values[edit->value];
    Ulp__GraphProto *proto = mixed->proto->graph;
    for (size_t i = 0; value->initializer && i < proto->n_initializer; i++)
        if (mixed_is_text(proto->initializer[i]->name, value->name))
            return mixed_convert(mixed, proto->initializer[i], edit->tensor, edit->tensor->type,
                                 error);
    const size_t position =
        value->producer >= 0 ? (size_t)graph->nodes[value->producer].position : proto->n_node;
    if (position >= proto->n_node || !mixed_is_text(proto->node[position]->op_type, "Constant"))
        return mixed_fail_changed(error);
    return mixed_set_constant(mixed, proto->node[position], edit->tensor, edit->tensor->type,
                              error);
}

static enum ulp_status change(struct mixed *mixed, struct ulp_error *error)
{
    struct editing *e = (struct editing *)mixed;
    const struct ulp_graph *graph = mixed->request->model->graph;
    Ulp__GraphProto *proto = mixed->proto->graph;
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < e->count && status == ULP_OK; i++)
        status = e->edits[i].node ? edit_node(mixed, graph, &e->edits[i], error)
                                  : edit_constant(mixed, graph, &e->edits[i], error);
    drop_declarations(e, graph);
    if (status == ULP_OK)
        status = drop_nodes(e, graph, error);
    if (status == ULP_OK)
        status = drop_initializers(e, graph, error);
    if (status == ULP_OK)
        status = mixed_move_data(mixed, proto->node, proto->n_node, proto, error);
    const enum ulp_status closed =
        mixed_close_data(mixed, status == ULP_OK, status == ULP_OK ? error : NULL);
    return status == ULP_OK ? closed : status;
}

enum ulp_status ulp_edit_file(const struct ulp_model *model, const struct ulp_edit *edits,
                              size_t count, const char *path, struct ulp_error *error)
{
    struct ulp_mixed_written written = {0};
    const struct ulp_mixed_request request = {.model = model, .path = path};
    struct editing e = {.mixed = {.request = &request, .written = &written},
                        .edits = edits,
                        .count = count};
    if (ulp_model_is_read_from(model, path))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: is the model itself or has its weights, expected another name for the "
                        "copy",
                        path);
    return mixed_rewrite(&e.mixed, change, error);
}
