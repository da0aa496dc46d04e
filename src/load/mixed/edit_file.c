#include "load/mixed/edit_file.h"

#include "base/error.h"
#include "load/mixed/editor.h"

struct editing {
    struct editor editor; /* first: it is what the change is given */
    const struct ulp_edit *edits;
    size_t count;
};

/* What is declared of results that another operator gives now: their shapes may be others. */
static void drop_declarations(struct editor *editor, const struct edit_graph *graph,
                              const struct ulp_node *node)
{
    Ulp__GraphProto *proto = graph->proto;
    for (size_t i = 0; i < proto->n_value_info; i++) {
        bool given = false;
        for (size_t o = 0; o < node->output_count; o++)
            given |=
                node->outputs[o] >= 0 && edit_is_text(proto->value_info[i]->name,
                                                      graph->source->values[node->outputs[o]].name);
        if (given)
            edit_drop(editor, &proto->value_info[i]);
    }
    edit_close_gaps(proto->value_info, &proto->n_value_info);
}

static enum ulp_status add_constant(struct editor *editor, struct edit_graph *graph,
                                    const struct ulp_node *owner, const struct ulp_tensor *tensor,
                                    const char **name)
{
    const char *none = NULL;
    Ulp__NodeProto *node;
    Ulp__AttributeProto *attribute;
    ULP_TRY(edit_fresh(editor, owner->name, "Constant", name));
    ULP_TRY(edit_add_node(editor, graph, (size_t)owner->position, "Constant", &none, *name, &node));
    ULP_TRY(edit_attribute(editor, node, "value", ATTRIBUTE_TENSOR, &attribute));
    return ulp_type_is_float(tensor->type)
               ? edit_new_tensor(editor, &attribute->t, "", tensor, tensor->type)
               : edit_same_tensor(editor, &attribute->t, "", tensor);
}

/* A part of the edit as a node of its own, or as *proto. names: what each part gives. */
static enum ulp_status put_part(struct editor *editor, struct edit_graph *graph,
                                const struct ulp_edit *edit, size_t part, Ulp__NodeProto *proto,
                                const char **names)
{
    const struct ulp_edit_part *from = &edit->parts[part];
    const char *inputs[ULP_EDIT_INPUTS_MAX + 1] = {NULL};
    if (!proto)
        ULP_TRY(edit_fresh(editor, edit->node->name, from->op, &names[part]));
    for (size_t i = 0; i < from->input_count; i++) {
        const struct ulp_edit_input *input = &from->inputs[i];
        inputs[i] = input->kind == ULP_EDIT_PART ? names[input->number]
                    : input->kind == ULP_EDIT_VALUE && input->number >= 0
                        ? graph->source->values[input->number].name
                        : "";
        if (input->kind == ULP_EDIT_TENSOR)
            ULP_TRY(add_constant(editor, graph, edit->node, input->tensor, &inputs[i]));
    }
    if (!proto)
        ULP_TRY(edit_add_node(editor, graph, (size_t)edit->node->position, from->op, inputs,
                              names[part], &proto));
    else
        for (size_t i = 0; i < from->input_count; i++)
            ULP_TRY(edit_add_name(editor, &proto->input, &proto->n_input, inputs[i]));
    for (size_t a = 0; a < from->attribute_count; a++)
        ULP_TRY(edit_copy_attribute(editor, proto, &from->attributes[a]));
    return ULP_OK;
}

static enum ulp_status replace_node(struct editor *editor, struct edit_graph *graph,
                                    const struct ulp_edit *edit)
{
    const size_t position = (size_t)edit->node->position, last = edit->part_count - 1;
    Ulp__NodeProto *proto = position < *graph->node_count ? (*graph->nodes)[position] : NULL;
    const char **names = ulp_arena_take(editor->arena, edit->part_count, sizeof *names);
    if (!proto || !edit_is_text(proto->op_type, edit->node->op_type))
        return edit_fail_changed(editor);
    ULP_TRY(ulp_taken(names, editor->error));
    drop_declarations(editor, graph, edit->node);
    for (size_t p = 0; p < last; p++)
        ULP_TRY(put_part(editor, graph, edit, p, NULL, names));
    for (size_t i = 0; i < proto->n_input; i++)
        ulp_free(proto->input[i].data);
    proto->n_input = 0;
    if (edit->parts[last].op) {
        ULP_TRY(edit_drop_bodies(editor, proto));
        edit_clear(editor, proto->attribute, &proto->n_attribute);
        ULP_TRY(edit_set_text(editor, &proto->op_type, edit->parts[last].op));
    }
    return put_part(editor, graph, edit, last, proto, names);
}

static enum ulp_status replace_constant(struct editor *editor, const struct edit_graph *graph,
                                        const struct ulp_edit *edit)
{
    const struct ulp_value *value = &graph->source->values[edit->value];
    Ulp__GraphProto *proto = graph->proto;
    for (size_t i = 0; value->initializer && i < proto->n_initializer; i++)
        if (edit_is_text(proto->initializer[i]->name, value->name))
            return edit_convert(editor, proto->initializer[i], edit->tensor, edit->tensor->type);
    const size_t position = value->producer >= 0
                                ? (size_t)graph->source->nodes[value->producer].position
                                : proto->n_node;
    if (position >= proto->n_node || !edit_is_text(proto->node[position]->op_type, "Constant"))
        return edit_fail_changed(editor);
    return edit_set_constant(editor, proto->node[position], edit->tensor, edit->tensor->type);
}

static enum ulp_status change(struct editor *editor)
{
    const struct editing *e = (struct editing *)editor;
    for (size_t i = 0; i < e->count; i++) {
        const struct ulp_edit *edit = &e->edits[i];
        for (size_t g = 0; g < editor->graph_count; g++)
            if (editor->graphs[g]->source == edit->graph)
                ULP_TRY(edit->node ? replace_node(editor, editor->graphs[g], edit)
                                   : replace_constant(editor, editor->graphs[g], edit));
        if (edit->opset) /* that it needs */
            ULP_TRY(edit_import(editor, &editor->proto->opset_import,
                                &editor->proto->n_opset_import, "", edit->opset));
    }
    return ULP_OK;
}

static enum ulp_status edit(const struct ulp_model *model, const struct ulp_edit *edits,
                            size_t count, const char *path, ProtobufCBinaryData *packed,
                            struct ulp_error *error)
{
    struct editing e = {
        .editor = {.model = model, .path = path, .packed = packed, .drops = EDIT_DROP_NODES},
        .edits = edits,
        .count = count};
    return edit_model(&e.editor, change, error);
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
    ULP_THEN(status, ulp_model_load_bytes(model->path, packed.data, packed.len,
                                          ulp_model_budget(model), out, error));
    if (status != ULP_OK || !written) {
        ulp_free(packed.data);
        return status;
    }
    (*out)->bytes = packed.data;
    (*out)->byte_count = packed.len;
    return ULP_OK;
}
