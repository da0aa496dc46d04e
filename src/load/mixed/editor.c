#include "load/mixed/editor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/machine/file.h"

/* ---- names ---- */

static bool add_name(struct ulp_names *names, const char *name)
{
    return ulp_names_find(names, name) >= 0 || ulp_names_add(names, name, 0);
}

/* Bodies share their names with the graphs around them, so a new name is new everywhere. */
static bool add_names(struct editor *editor, const struct ulp_graph *graph)
{
    bool added = true;
    for (size_t v = 0; v < graph->value_count && added; v++)
        added = add_name(&editor->names, graph->values[v].name);
    for (size_t o = 0; o < graph->output_count && added; o++)
        added =
            graph->outputs[o] < 0 || add_name(&editor->read, graph->values[graph->outputs[o]].name);
    for (size_t n = 0; n < graph->node_count && added; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        added = add_name(&editor->names, node->name);
        for (size_t i = 0; i < node->input_count && added; i++)
            added =
                node->inputs[i] < 0 || add_name(&editor->read, graph->values[node->inputs[i]].name);
        for (size_t a = 0; a < node->attribute_count && added; a++)
            added = !node->attributes[a].graph || add_names(editor, node->attributes[a].graph);
    }
    return added;
}

static enum ulp_status collect_names(struct editor *editor)
{
    const struct ulp_model *model = editor->model;
    bool added = add_names(editor, model->graph);
    for (size_t f = 0; f < model->function_count && added; f++)
        added = add_name(&editor->names, model->functions[f].name) &&
                add_names(editor, model->functions[f].body);
    return ulp_taken(added, editor->error);
}

/* ---- graphs ---- */

enum ulp_status edit_fail_changed(struct editor *editor)
{
    return ulp_fail(editor->error, ULP_ERROR_INPUT, "is not the file any more that was loaded");
}

struct edit_graph *edit_body(const struct editor *editor, const Ulp__AttributeProto *attribute)
{
    for (size_t g = editor->graph_count; g-- > 0;)
        if (editor->graphs[g]->attribute == attribute)
            return editor->graphs[g];
    return NULL;
}

static enum ulp_status open_graph(struct editor *editor, struct edit_graph graph,
                                  struct edit_graph **out);

static enum ulp_status open_body(struct editor *editor, struct edit_graph *parent,
                                 const struct ulp_graph *source, Ulp__AttributeProto *attribute)
{
    struct edit_graph *graph = NULL;
    void *message;
    ULP_TRY(ulp_unpack(&editor->loader.unpacker, &message, &ulp__graph_proto__descriptor,
                       attribute->g.data, attribute->g.len, "subgraph", editor->error));
    const enum ulp_status status = open_graph(editor,
                                              (struct edit_graph){.parent = parent,
                                                                  .source = source,
                                                                  .attribute = attribute,
                                                                  .proto = message},
                                              &graph);
    if (!graph)
        ulp_unpack_free(&editor->loader.unpacker, message);
    return status;
}

/* With all of its bodies. *out: the list has it, also after a failure; NULL: it has not. */
static enum ulp_status open_graph(struct editor *editor, struct edit_graph graph,
                                  struct edit_graph **out)
{
    struct edit_graph *opened = ulp_arena_take(editor->arena, 1, sizeof *opened);
    Ulp__GraphProto *proto = graph.proto;
    Ulp__FunctionProto *function = graph.function;
    ULP_TRY(ulp_taken(opened, editor->error));
    ULP_TRY(ulp_grow(&editor->graphs, editor->graph_count, &editor->graph_capacity,
                     sizeof *editor->graphs, editor->budget, "the model that is written",
                     editor->error));
    graph.nodes = proto ? &proto->node : &function->node;
    graph.node_count = proto ? &proto->n_node : &function->n_node;
    graph.infos = proto ? &proto->value_info : &function->value_info;
    graph.info_count = proto ? &proto->n_value_info : &function->n_value_info;
    *opened = graph;
    *out = editor->graphs[editor->graph_count++] = opened;
    for (size_t n = 0; n < graph.source->node_count; n++) {
        const struct ulp_node *node = &graph.source->nodes[n];
        const size_t p = (size_t)node->position;
        for (size_t a = 0; a < node->attribute_count; a++)
            if (node->attributes[a].graph)
                ULP_TRY(p < *graph.node_count && a < (*graph.nodes)[p]->n_attribute
                            ? open_body(editor, opened, node->attributes[a].graph,
                                        (*graph.nodes)[p]->attribute[a])
                            : edit_fail_changed(editor));
    }
    return ULP_OK;
}

enum ulp_status edit_open_function(struct editor *editor, const struct ulp_graph *source,
                                   Ulp__FunctionProto *function, struct edit_graph **out)
{
    return open_graph(editor, (struct edit_graph){.source = source, .function = function}, out);
}

/* ---- nodes ---- */

/* The graph takes the node over, also when this fails. */
static enum ulp_status insert(struct editor *editor, struct edit_graph *graph, size_t position,
                              Ulp__NodeProto *node)
{
    const enum ulp_status status =
        ulp_grow(&graph->inserts, graph->insert_count, &graph->insert_capacity,
                 sizeof *graph->inserts, editor->budget, "the model that is written",
                 editor->error);
    if (status == ULP_OK) {
        const size_t order = graph->insert_count++;
        graph->inserts[order] = (struct edit_insert){position, order, node};
    } else {
        ulp_unpack_free(&editor->loader.unpacker, node);
    }
    return status;
}

enum ulp_status edit_add_node(struct editor *editor, struct edit_graph *graph, size_t position,
                              const char *op, const char *const *inputs, const char *out,
                              Ulp__NodeProto **node)
{
    ULP_TRY(edit_new(editor, node, &ulp__node_proto__descriptor));
    ULP_TRY(insert(editor, graph, position, *node));
    (*node)->has_op_type = (*node)->has_name = true;
    ULP_TRY(edit_set_text(editor, &(*node)->op_type, op));
    ULP_TRY(edit_set_text(editor, &(*node)->name, out));
    for (; *inputs; inputs++)
        ULP_TRY(edit_add_name(editor, &(*node)->input, &(*node)->n_input, *inputs));
    return edit_add_name(editor, &(*node)->output, &(*node)->n_output, out);
}

enum ulp_status edit_add_clone(struct editor *editor, struct edit_graph *graph, size_t position,
                               const Ulp__NodeProto *original, const char *end, const char *out,
                               Ulp__NodeProto **node)
{
    const char *name;
    ULP_TRY(edit_clone(editor, &original->base, node));
    ULP_TRY(insert(editor, graph, position, *node));
    ULP_TRY(edit_fresh(editor, out, end, &name));
    ULP_TRY(edit_set_text(editor, &(*node)->name, name));
    return edit_set_text(editor, &(*node)->output[0], out);
}

static int by_position(const void *a, const void *b)
{
    const struct edit_insert *x = a, *y = b;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static enum ulp_status put_inserts(struct editor *editor, struct edit_graph *graph)
{
    const size_t old = *graph->node_count;
    Ulp__NodeProto **nodes = NULL;
    if (!graph->insert_count)
        return ULP_OK;
    ULP_TRY(ulp_allocate(&nodes, old + graph->insert_count, sizeof(Ulp__NodeProto *),
                         editor->budget, "the model that is written", editor->error));
    size_t count = 0, at = 0;
    qsort(graph->inserts, graph->insert_count, sizeof *graph->inserts, by_position);
    for (size_t n = 0; n <= old; n++) {
        for (; at < graph->insert_count && (graph->inserts[at].position <= n || n == old); at++)
            nodes[count++] = graph->inserts[at].node;
        if (n < old)
            nodes[count++] = (*graph->nodes)[n];
    }
    ulp_free(*graph->nodes);
    *graph->nodes = nodes;
    *graph->node_count = count;
    graph->insert_count = 0;
    return ULP_OK;
}

/* ---- what is read no more ---- */

/* Names that the graph gives get the numbers that follow. */
static enum ulp_status number_name(struct editor *editor, struct edit_graph *graph,
                                   ProtobufCBinaryData name, size_t *count)
{
    const char *text = edit_text(editor, name);
    ULP_TRY(ulp_taken(text, editor->error));
    if (!*text || ulp_names_find(&graph->names, text) >= 0)
        return ULP_OK;
    return ulp_taken(ulp_names_add(&graph->names, text, (int)(*count)++), editor->error);
}

static enum ulp_status number_names(struct editor *editor, struct edit_graph *graph, size_t *count)
{
    const Ulp__GraphProto *proto = graph->proto;
    graph->names.budget = editor->budget;
    for (size_t i = 0; proto && i < proto->n_input; i++)
        ULP_TRY(number_name(editor, graph, proto->input[i]->name, count));
    for (size_t i = 0; proto && i < proto->n_initializer; i++)
        ULP_TRY(number_name(editor, graph, proto->initializer[i]->name, count));
    for (size_t i = 0; proto && i < proto->n_sparse_initializer; i++)
        ULP_TRY(number_name(editor, graph, proto->sparse_initializer[i]->values->name, count));
    for (size_t n = 0; n < *graph->node_count; n++)
        for (size_t o = 0; o < (*graph->nodes)[n]->n_output; o++)
            ULP_TRY(number_name(editor, graph, (*graph->nodes)[n]->output[o], count));
    return ULP_OK;
}

static enum ulp_status count_name(struct editor *editor, const struct edit_graph *graph,
                                  ProtobufCBinaryData name, size_t step)
{
    const char *text = edit_text(editor, name);
    int number = -1;
    ULP_TRY(ulp_taken(text, editor->error));
    for (; graph && number < 0; graph = graph->parent)
        number = ulp_names_find(&graph->names, text);
    if (number >= 0)
        editor->reads[number] += step;
    return ULP_OK;
}

static enum ulp_status count_inputs(struct editor *editor, const struct edit_graph *graph,
                                    const Ulp__NodeProto *node, size_t step)
{
    for (size_t i = 0; i < node->n_input; i++)
        ULP_TRY(count_name(editor, graph, node->input[i], step));
    return ULP_OK;
}

/* Inputs count as read: before IR 4 an initializer is an input, too. */
static enum ulp_status count_graph(struct editor *editor, const struct edit_graph *graph,
                                   size_t step)
{
    const Ulp__GraphProto *proto = graph->proto;
    const Ulp__FunctionProto *function = graph->function;
    for (size_t n = 0; n < *graph->node_count; n++)
        ULP_TRY(count_inputs(editor, graph, (*graph->nodes)[n], step));
    for (size_t i = 0; proto && i < proto->n_input; i++)
        ULP_TRY(count_name(editor, graph, proto->input[i]->name, step));
    for (size_t o = 0; proto && o < proto->n_output; o++)
        ULP_TRY(count_name(editor, graph, proto->output[o]->name, step));
    for (size_t o = 0; function && o < function->n_output; o++)
        ULP_TRY(count_name(editor, graph, function->output[o], step));
    return ULP_OK;
}

enum ulp_status edit_drop_bodies(struct editor *editor, const Ulp__NodeProto *node)
{
    for (size_t g = 0; g < editor->graph_count; g++) {
        struct edit_graph *graph = editor->graphs[g];
        bool inside = graph->parent && graph->parent->dropped;
        for (size_t a = 0; a < node->n_attribute; a++)
            inside |= graph->attribute == node->attribute[a];
        if (!inside || graph->dropped)
            continue;
        graph->dropped = true;
        if (editor->reads)
            ULP_TRY(count_graph(editor, graph, (size_t)-1));
    }
    return ULP_OK;
}

/* *lost: the model has read it, or it is new, and now nothing does. */
static enum ulp_status look(struct editor *editor, const struct edit_graph *graph,
                            ProtobufCBinaryData name, bool *read, bool *lost)
{
    const char *text = edit_text(editor, name);
    ULP_TRY(ulp_taken(text, editor->error));
    const int number = ulp_names_find(&graph->names, text);
    *read |= number >= 0 && editor->reads[number];
    *lost |= number >= 0 && !editor->reads[number] &&
             (editor->drops_idle || ulp_names_find(&editor->read, text) >= 0);
    return ULP_OK;
}

/* From the last on: nodes that only dropped ones read are read no more. */
static enum ulp_status drop_nodes(struct editor *editor, const struct edit_graph *graph)
{
    Ulp__NodeProto **nodes = *graph->nodes;
    for (size_t n = *graph->node_count; n-- > 0;) {
        bool read = editor->drops == EDIT_DROP_CONSTANTS &&
                    !edit_is_text(nodes[n]->op_type, "Constant"),
             lost = false;
        for (size_t o = 0; o < nodes[n]->n_output && !read; o++)
            ULP_TRY(look(editor, graph, nodes[n]->output[o], &read, &lost));
        if (read || !lost)
            continue;
        ULP_TRY(count_inputs(editor, graph, nodes[n], (size_t)-1));
        ULP_TRY(edit_drop_bodies(editor, nodes[n]));
        edit_drop(editor, &nodes[n]);
    }
    edit_close_gaps(nodes, graph->node_count);
    return ULP_OK;
}

static enum ulp_status drop_tensor(struct editor *editor, const struct edit_graph *graph,
                                   ProtobufCBinaryData name, void *place)
{
    bool read = false, lost = false;
    ULP_TRY(look(editor, graph, name, &read, &lost));
    if (lost)
        edit_drop(editor, place);
    return ULP_OK;
}

static enum ulp_status drop_initializers(struct editor *editor, const struct edit_graph *graph)
{
    Ulp__GraphProto *proto = graph->proto;
    for (size_t i = 0; i < proto->n_initializer; i++)
        ULP_TRY(drop_tensor(editor, graph, proto->initializer[i]->name, &proto->initializer[i]));
    edit_close_gaps(proto->initializer, &proto->n_initializer);
    for (size_t i = 0; i < proto->n_sparse_initializer; i++)
        ULP_TRY(drop_tensor(editor, graph, proto->sparse_initializer[i]->values->name,
                            &proto->sparse_initializer[i]));
    edit_close_gaps(proto->sparse_initializer, &proto->n_sparse_initializer);
    return ULP_OK;
}

static enum ulp_status drop_unread(struct editor *editor, size_t first)
{
    size_t count = 0;
    for (size_t g = first; g < editor->graph_count; g++)
        if (!editor->graphs[g]->dropped)
            ULP_TRY(number_names(editor, editor->graphs[g], &count));
    ULP_TAKE(editor->reads, editor->arena, count + 1, editor->error);
    for (size_t g = first; g < editor->graph_count; g++)
        if (!editor->graphs[g]->dropped)
            ULP_TRY(count_graph(editor, editor->graphs[g], 1));
    for (size_t g = editor->graph_count; g-- > first;) {
        if (!editor->graphs[g]->dropped)
            ULP_TRY(drop_nodes(editor, editor->graphs[g]));
        if (!editor->graphs[g]->dropped && editor->graphs[g]->proto)
            ULP_TRY(drop_initializers(editor, editor->graphs[g]));
    }
    editor->reads = NULL;
    return ULP_OK;
}

/* ---- the file ---- */

static void free_graph(struct editor *editor, struct edit_graph *graph)
{
    for (size_t i = 0; i < graph->insert_count; i++)
        ulp_unpack_free(&editor->loader.unpacker, graph->inserts[i].node);
    ulp_free(graph->inserts);
    ulp_names_free(&graph->names);
    if (graph->attribute)
        ulp_unpack_free(&editor->loader.unpacker, graph->proto);
}

enum ulp_status edit_close_graphs(struct editor *editor, size_t first)
{
    for (size_t g = first; g < editor->graph_count; g++)
        ULP_TRY(put_inserts(editor, editor->graphs[g]));
    ULP_TRY(drop_unread(editor, first));
    for (; editor->graph_count > first; editor->graph_count--) {
        struct edit_graph *graph = editor->graphs[editor->graph_count - 1];
        if (!graph->dropped)
            ULP_TRY(edit_move_data(editor, graph));
        if (!graph->dropped && graph->attribute)
            ULP_TRY(edit_pack(editor, &graph->proto->base, &graph->attribute->g));
        free_graph(editor, graph);
    }
    return ULP_OK;
}

static enum ulp_status open_model(struct editor *editor, const void *bytes, size_t count)
{
    const char *slash = strrchr(editor->path, '/');
    const char *name = slash ? slash + 1 : editor->path;
    struct edit_graph *graph;
    void *message = NULL;
    ULP_TRY(ulp_loader_open(&editor->loader, editor->model->path, count, editor->budget,
                            editor->error));
    ULP_TRY(ulp_arena_create(&editor->arena, editor->budget, editor->error));
    editor->data_name = ulp_arena_say(editor->arena, "%s.data", name);
    ULP_TRY(ulp_taken(editor->data_name, editor->error));
    ULP_TRY(ulp_unpack(&editor->loader.unpacker, &message, &ulp__model_proto__descriptor, bytes,
                       count, "model", editor->error));
    editor->proto = message;
    if (!editor->proto->graph)
        return edit_fail_changed(editor);
    ULP_TRY(collect_names(editor));
    return open_graph(editor,
                      (struct edit_graph){.source = editor->model->graph,
                                          .proto = editor->proto->graph},
                      &graph);
}

static enum ulp_status write_model(struct editor *editor)
{
    ProtobufCBinaryData packed = {0};
    if (protobuf_c_message_get_packed_size(&editor->proto->base) > ULP_MODEL_BYTES_MAX)
        return ulp_fail(editor->error, ULP_ERROR_UNSUPPORTED,
                        "the model would be larger than 2 GiB, where protobuf ends: give one with "
                        "external data");
    ULP_TRY(edit_pack(editor, &editor->proto->base, &packed));
    if (editor->packed) {
        *editor->packed = packed;
        return ULP_OK;
    }
    const enum ulp_status status =
        ulp_file_write(editor->path, packed.data, packed.len, editor->error);
    ulp_free(packed.data);
    return status;
}

static enum ulp_status save_model(struct editor *editor, enum ulp_status status)
{
    ULP_THEN(status, edit_close_graphs(editor, 0));
    if (status != ULP_OK)
        editor->error = NULL; /* it has the reason */
    const enum ulp_status closed = edit_close_data(editor, status == ULP_OK);
    status = status == ULP_OK ? closed : status;
    return status == ULP_OK ? write_model(editor) : status;
}

static void close_model(struct editor *editor)
{
    while (editor->graph_count)
        free_graph(editor, editor->graphs[--editor->graph_count]);
    ulp_free(editor->graphs);
    ulp_unpack_free(&editor->loader.unpacker, editor->proto);
    ulp_names_free(&editor->names);
    ulp_names_free(&editor->read);
    ulp_arena_free(editor->arena);
    ulp_loader_free(&editor->loader);
}

enum ulp_status edit_model(struct editor *editor, edit_change *change, struct ulp_error *error)
{
    const struct ulp_model *model = editor->model;
    void *mapped = NULL;
    size_t count = model->byte_count;
    editor->error = error;
    editor->budget = editor->names.budget = editor->read.budget = ulp_model_budget(model);
    ULP_TRY(ulp_model_check_file(model, error));
    if (!model->bytes)
        ULP_TRY(ulp_file_map(model->path, ULP_MODEL_BYTES_MAX, &mapped, &count, error));
    enum ulp_status status = open_model(editor, model->bytes ? model->bytes : mapped, count);
    ULP_THEN(status, change(editor));
    status = save_model(editor, status);
    close_model(editor);
    if (mapped)
        munmap(mapped, count);
    return ulp_fail_at(error, status, "%s", model->path);
}
