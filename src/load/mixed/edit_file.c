#include "load/mixed/edit_file.h"

#include <string.h>

#include "base/error.h"
#include "load/mixed/writer.h"

/* The main graph, or a body of a node. */
struct edit_scope {
    struct edit_scope *next; /* of those that were edited before */
    const struct ulp_graph *graph;
    Ulp__GraphProto *proto;
    size_t *reads, *before;   /* of each value: now, and in the model */
    struct ulp_names dropped; /* initializers */
    struct edit_insert {
        size_t position; /* of the node in the file that it comes before */
        Ulp__NodeProto *node;
    } * inserts; /* by edit, in order */
    size_t insert_count;
};
struct editing {
    struct mixed mixed; /* first: it is what the change is given */
    const struct ulp_edit *edits;
    size_t count;
    struct edit_scope *scopes;
};

static const struct ulp_edit *find_edit(const struct editing *e, const struct ulp_node *node)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->edits[i].node == node)
            return &e->edits[i];
    return NULL;
}

/* ---- what is read ---- */

/* Add `step` to what the node reads, by itself or in its bodies; edited: as these are now. */
static void count_node(const struct editing *e, size_t *counts, const struct ulp_node *node,
                       bool edited, size_t step)
{
    for (size_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] >= 0)
            counts[node->inputs[i]] += step;
    for (size_t a = 0; a < node->attribute_count; a++) {
        const struct ulp_graph *body = node->attributes[a].graph;
        const struct edit_scope *scope = edited && body ? e->scopes : NULL;
        while (scope && scope->graph != body)
            scope = scope->next;
        for (size_t v = 0; body && v < body->value_count; v++)
            if (body->values[v].outer >= 0 && (!scope || scope->reads[v]))
                counts[body->values[v].outer] += step;
    }
}

/* What takes its place. */
static void count_parts(size_t *counts, const struct ulp_edit *edit, size_t step)
{
    for (size_t p = 0; p < edit->part_count; p++)
        for (size_t i = 0; i < edit->parts[p].input_count; i++) {
            const struct ulp_edit_input *input = &edit->parts[p].inputs[i];
            if (input->kind == ULP_EDIT_VALUE && input->number >= 0)
                counts[input->number] += step;
        }
}

static bool is_read(const size_t *counts, const struct ulp_node *node)
{
    for (size_t o = 0; o < node->output_count; o++)
        if (node->outputs[o] >= 0 && counts[node->outputs[o]])
            return true;
    return false;
}

/* The file's nodes but those dropped, each behind the new ones that it reads. */
static enum ulp_status put_nodes(struct mixed *mixed, struct edit_scope *scope, const bool *dropped,
                                 struct ulp_error *error)
{
    Ulp__GraphProto *proto = scope->proto;
    void *memory = NULL;
    size_t count = 0;
    ULP_TRY(ulp_allocate_zero(&memory, proto->n_node + scope->insert_count + 1, sizeof *proto->node,
                              mixed->budget, "the model that is written", error));
    Ulp__NodeProto **nodes = memory;
    for (size_t p = 0; p < proto->n_node; p++) {
        for (size_t i = 0; i < scope->insert_count && !dropped[p]; i++)
            if (scope->inserts[i].position == p && scope->inserts[i].node) {
                nodes[count++] = scope->inserts[i].node;
                scope->inserts[i].node = NULL;
            }
        if (dropped[p])
            ulp_unpack_free(&mixed->loader.unpacker, proto->node[p]);
        else
            nodes[count++] = proto->node[p];
    }
    ulp_free(proto->node);
    proto->node = nodes;
    proto->n_node = count;
    return ULP_OK;
}

/* Nodes from the last on: those that only replaced ones read are read no more. */
static enum ulp_status drop_nodes(struct editing *e, struct edit_scope *scope,
                                  struct ulp_error *error)
{
    struct mixed *mixed = &e->mixed;
    const struct ulp_graph *graph = scope->graph;
    bool *dropped = ulp_arena_take(mixed->arena, scope->proto->n_node + 1, sizeof *dropped);
    size_t *reads = ulp_arena_take(mixed->arena, graph->value_count + 1, sizeof *reads),
           *before = ulp_arena_take(mixed->arena, graph->value_count + 1, sizeof *before);
    scope->reads = reads;
    scope->before = before;
    ULP_TRY(ulp_taken(dropped && reads && before, error));
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct ulp_edit *edit = find_edit(e, &graph->nodes[n]);
        count_node(e, before, &graph->nodes[n], false, 1);
        if (edit)
            count_parts(reads, edit, 1);
        else
            count_node(e, reads, &graph->nodes[n], true, 1);
    }
    for (size_t o = 0; o < graph->output_count; o++)
        if (graph->outputs[o] >= 0)
            reads[graph->outputs[o]]++, before[graph->outputs[o]]++;
    for (size_t n = graph->node_count; n-- > 0;) {
        const struct ulp_node *node = &graph->nodes[n];
        const struct ulp_edit *edit = find_edit(e, node);
        if (!is_read(before, node) || is_read(reads, node))
            continue;
        dropped[node->position] = true;
        if (edit)
            count_parts(reads, edit, (size_t)-1);
        else
            count_node(e, reads, node, true, (size_t)-1);
    }
    return put_nodes(mixed, scope, dropped, error);
}

/* Initializers that only dropped nodes read. */
static enum ulp_status drop_initializers(struct mixed *mixed, struct edit_scope *scope,
                                         struct ulp_error *error)
{
    const struct ulp_graph *graph = scope->graph;
    Ulp__GraphProto *proto = scope->proto;
    for (size_t i = 0; i < graph->input_count; i++)
        scope->reads[graph->inputs[i]]++; /* before IR 4 an initializer is an input, too */
    for (size_t v = 0; v < graph->value_count; v++)
        if (graph->values[v].initializer && scope->before[v] && !scope->reads[v] &&
            ulp_names_find(&scope->dropped, graph->values[v].name) < 0 &&
            !ulp_names_add(&scope->dropped, graph->values[v].name, 0))
            return ulp_out_of_memory(error);
    for (size_t i = 0; i < proto->n_initializer; i++) {
        const char *name = mixed_text(mixed, proto->initializer[i]->name);
        if (name && ulp_names_find(&scope->dropped, name) >= 0)
            mixed_drop(mixed, &proto->initializer[i]);
    }
    mixed_close_gaps(proto->initializer, &proto->n_initializer);
    return ULP_OK;
}

/* What is declared of results that another operator gives now: their shapes may be others. */
static void drop_declarations(struct editing *e, const struct edit_scope *scope)
{
    Ulp__GraphProto *proto = scope->proto;
    for (size_t i = 0; i < proto->n_value_info; i++) {
        bool given = false;
        for (size_t k = 0; k < e->count; k++)
            for (size_t o = 0; e->edits[k].graph == scope->graph && e->edits[k].node &&
                               o < e->edits[k].node->output_count;
                 o++) {
                const int value = e->edits[k].node->outputs[o];
                given |= value >= 0 && mixed_is_text(proto->value_info[i]->name,
                                                     scope->graph->values[value].name);
            }
        if (given)
            mixed_drop(&e->mixed, &proto->value_info[i]);
    }
    mixed_close_gaps(proto->value_info, &proto->n_value_info);
}

/* ---- edits ---- */

/* Before the node at that position, which the edit replaces; *out: its message, the list's. */
static enum ulp_status insert(struct mixed *mixed, struct edit_scope *scope, size_t position,
                              const char *name, const char *op, Ulp__NodeProto **out,
                              struct ulp_error *error)
{
    ULP_TRY(mixed_new(mixed, out, &ulp__node_proto__descriptor, error));
    scope->inserts[scope->insert_count++] = (struct edit_insert){position, *out};
    ULP_TRY(mixed_name_node(mixed, *out, op, name, error));
    return mixed_add_name(mixed, &(*out)->output, &(*out)->n_output, name, error);
}

static enum ulp_status insert_constant(struct mixed *mixed, struct edit_scope *scope,
                                       size_t position, const char *owner,
                                       const struct ulp_tensor *tensor, const char **name,
                                       struct ulp_error *error)
{
    Ulp__NodeProto *node;
    Ulp__AttributeProto *attribute;
    ULP_TRY(mixed_fresh(mixed, owner, "Constant", name, error));
    ULP_TRY(insert(mixed, scope, position, *name, "Constant", &node, error));
    ULP_TRY(mixed_attribute(mixed, node, "value", ATTRIBUTE_TENSOR, &attribute, error));
    return ulp_type_is_float(tensor->type)
               ? mixed_new_tensor(mixed, &attribute->t, "", tensor, tensor->type, error)
               : mixed_same_tensor(mixed, &attribute->t, "", tensor, error);
}

/* names: what the parts before give. */
static enum ulp_status set_part(struct mixed *mixed, struct edit_scope *scope, size_t position,
                                const struct ulp_edit *edit, size_t part, Ulp__NodeProto *proto,
                                const char *const *names, struct ulp_error *error)
{
    const struct ulp_edit_part *from = &edit->parts[part];
    for (size_t i = 0; i < from->input_count; i++) {
        const struct ulp_edit_input *input = &from->inputs[i];
        const char *name = "";
        if (input->kind == ULP_EDIT_TENSOR)
            ULP_TRY(insert_constant(mixed, scope, position, edit->node->name, input->tensor, &name,
                                    error));
        else if (input->kind == ULP_EDIT_PART)
            name = names[input->number];
        else if (input->number >= 0)
            name = scope->graph->values[input->number].name;
        ULP_TRY(mixed_add_name(mixed, &proto->input, &proto->n_input, name, error));
    }
    for (size_t a = 0; a < from->attribute_count; a++)
        ULP_TRY(mixed_copy_attribute(mixed, proto, &from->attributes[a], error));
    return ULP_OK;
}

static enum ulp_status edit_node(struct mixed *mixed, struct edit_scope *scope,
                                 const struct ulp_edit *edit, struct ulp_error *error)
{
    const size_t position = (size_t)edit->node->position, last = edit->part_count - 1;
    Ulp__NodeProto *proto = position < scope->proto->n_node ? scope->proto->node[position] : NULL;
    const char **names = ulp_arena_take(mixed->arena, edit->part_count, sizeof *names);
    if (!proto || !mixed_is_text(proto->op_type, edit->node->op_type))
        return mixed_fail_changed(error);
    ULP_TRY(ulp_taken(names, error));
    for (size_t p = 0; p < last; p++) {
        Ulp__NodeProto *node;
        /* what it reads is inserted before it */
        const size_t before = scope->insert_count;
        ULP_TRY(mixed_fresh(mixed, edit->node->name, edit->parts[p].op, &names[p], error));
        ULP_TRY(insert(mixed, scope, position, names[p], edit->parts[p].op, &node, error));
        ULP_TRY(set_part(mixed, scope, position, edit, p, node, names, error));
        const struct edit_insert own = scope->inserts[before];
        memmove(&scope->inserts[before], &scope->inserts[before + 1],
                (scope->insert_count - before - 1) * sizeof own);
        scope->inserts[scope->insert_count - 1] = own;
    }
    for (size_t i = 0; i < proto->n_input; i++)
        ulp_free(proto->input[i].data);
    proto->n_input = 0;
    if (edit->parts[last].op) {
        mixed_clear(mixed, proto->attribute, &proto->n_attribute);
        ULP_TRY(mixed_set_text(mixed, &proto->op_type, edit->parts[last].op, error));
    }
    return set_part(mixed, scope, position, edit, last, proto, names, error);
}

static enum ulp_status edit_constant(struct mixed *mixed, const struct edit_scope *scope,
                                     const struct ulp_edit *edit, struct ulp_error *error)
{
    const struct ulp_graph *graph = scope->graph;
    const struct ulp_value *value = &graph->values[edit->value];
    Ulp__GraphProto *proto = scope->proto;
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

/* ---- graphs ---- */

static enum ulp_status edit_graph(struct editing *e, const struct ulp_graph *graph,
                                  Ulp__GraphProto *proto, struct ulp_error *error);

/* The file has a body as bytes of its attribute. */
static enum ulp_status edit_body(struct editing *e, const struct ulp_graph *body,
                                 Ulp__AttributeProto *attribute, struct ulp_error *error)
{
    struct mixed *mixed = &e->mixed;
    void *message = NULL;
    enum ulp_status status =
        ulp_unpack(&mixed->loader.unpacker, &message, &ulp__graph_proto__descriptor,
                   attribute->g.data, attribute->g.len, "subgraph", error);
    Ulp__GraphProto *proto = message;
    if (status == ULP_OK)
        status = edit_graph(e, body, proto, error);
    if (status == ULP_OK)
        status = mixed_pack(mixed, &proto->base, &attribute->g, error);
    ulp_unpack_free(&mixed->loader.unpacker, message);
    return status;
}

static enum ulp_status edit_bodies(struct editing *e, const struct edit_scope *scope,
                                   struct ulp_error *error)
{
    const Ulp__GraphProto *proto = scope->proto;
    for (size_t n = 0; n < scope->graph->node_count; n++) {
        const struct ulp_node *node = &scope->graph->nodes[n];
        const size_t p = (size_t)node->position;
        for (size_t a = 0; a < node->attribute_count; a++)
            if (node->attributes[a].graph)
                ULP_TRY(p < proto->n_node && a < proto->node[p]->n_attribute
                            ? edit_body(e, node->attributes[a].graph, proto->node[p]->attribute[a],
                                        error)
                            : mixed_fail_changed(error));
    }
    return ULP_OK;
}

static enum ulp_status make_edits(struct editing *e, struct edit_scope *scope,
                                  struct ulp_error *error)
{
    size_t most = 1; /* nodes that are inserted */
    for (size_t i = 0; i < e->count; i++)
        if (e->edits[i].graph == scope->graph)
            most += e->edits[i].part_count * (1 + ULP_EDIT_INPUTS_MAX);
    ULP_TAKE(scope->inserts, e->mixed.arena, most, error);
    for (size_t i = 0; i < e->count; i++) {
        const struct ulp_edit *edit = &e->edits[i];
        if (edit->graph == scope->graph)
            ULP_TRY(edit->node ? edit_node(&e->mixed, scope, edit, error)
                               : edit_constant(&e->mixed, scope, edit, error));
    }
    return ULP_OK;
}

/* Bodies first: what they read of the graph around them is then known. */
static enum ulp_status edit_graph(struct editing *e, const struct ulp_graph *graph,
                                  Ulp__GraphProto *proto, struct ulp_error *error)
{
    struct mixed *mixed = &e->mixed;
    struct edit_scope *scope = ulp_arena_take(mixed->arena, 1, sizeof *scope);
    ULP_TRY(ulp_taken(scope, error));
    *scope = (struct edit_scope){.graph = graph, .proto = proto, .dropped.budget = mixed->budget};
    enum ulp_status status = edit_bodies(e, scope, error);
    if (status == ULP_OK)
        status = make_edits(e, scope, error);
    drop_declarations(e, scope);
    if (status == ULP_OK)
        status = drop_nodes(e, scope, error);
    if (status == ULP_OK)
        status = drop_initializers(mixed, scope, error);
    if (status == ULP_OK && !mixed->packed)
        status = mixed_move_data(mixed, proto->node, proto->n_node, proto, error);
    for (size_t i = 0; i < scope->insert_count; i++) /* of nodes that were dropped, or a failure */
        ulp_unpack_free(&mixed->loader.unpacker, scope->inserts[i].node);
    ulp_names_free(&scope->dropped);
    scope->next = e->scopes;
    if (status == ULP_OK)
        e->scopes = scope;
    return status;
}

static enum ulp_status change(struct mixed *mixed, struct ulp_error *error)
{
    struct editing *e = (struct editing *)mixed;
    ULP_TRY(mixed_collect_names(mixed, error));
    ULP_TRY(edit_graph(e, mixed->request->model->graph, mixed->proto->graph, error));
    for (size_t i = 0; i < e->count; i++) /* to what the edits need */
        if (e->edits[i].opset)
            ULP_TRY(mixed_import(mixed, &mixed->proto->opset_import, &mixed->proto->n_opset_import,
                                 "", e->edits[i].opset, error));
    return ULP_OK;
}

static enum ulp_status edit(const struct ulp_model *model, const struct ulp_edit *edits,
                            size_t count, const char *path, ProtobufCBinaryData *packed,
                            struct ulp_error *error)
{
    struct ulp_mixed_written written = {0};
    const struct ulp_mixed_request request = {.model = model, .path = path};
    struct editing e = {.mixed = {.request = &request, .written = &written, .packed = packed},
                        .edits = edits,
                        .count = count};
    return mixed_rewrite(&e.mixed, change, error);
}

enum ulp_status ulp_edit_file(const struct ulp_model *model, const struct ulp_edit *edits,
                              size_t count, const char *path, struct ulp_error *error)
{
    if (ulp_model_is_read_from(model, path))
        return ulp_fail(
            error, ULP_ERROR_USAGE,
            "%s: is the model itself or has its weights, expected another name for the copy", path);
    return edit(model, edits, count, path, NULL, error);
}

enum ulp_status ulp_edit_load(const struct ulp_model *model, const struct ulp_edit *edits,
                              size_t count, bool written, struct ulp_model **out,
                              struct ulp_error *error)
{
    ProtobufCBinaryData packed = {0};
    *out = NULL;
    enum ulp_status status = edit(model, edits, count, model->path, &packed, error);
    if (status == ULP_OK)
        status = ulp_model_load_bytes(model->path, packed.data, packed.len, ulp_model_budget(model),
                                      out, error);
    if (status != ULP_OK || !written) {
        ulp_free(packed.data);
        return status;
    }
    (*out)->bytes = packed.data;
    (*out)->byte_count = packed.len;
    return ULP_OK;
}
