#include "load/mixed/raise_nodes.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "ops/operator.h"

enum form {
    FORM_SAME,
    FORM_INPUTS,
    FORM_LAST_AXIS,
    FORM_RESIZE,
    FORM_WORD,
    FORM_GROUPS,
    FORM_NONE
};

/* Has the newer row that attribute, too, of the same kind and default? One that need not be there
 * any more ('!') means the same where it is. */
static bool is_among(const struct ulp_attribute_text *older, const struct ulp_operator *newer)
{
    struct ulp_attribute_text other;
    const size_t length = strcspn(older->kind, ";");
    return ulp_attribute_find(newer, older->name, older->name_length, &other) &&
           strcspn(other.kind, ";") == length && strncmp(older->kind, other.kind, length) == 0;
}

static bool are_among(const struct ulp_operator *older, const struct ulp_operator *newer)
{
    struct ulp_attribute_text own;
    for (const char *text = older->attributes; ulp_attribute_next(&text, &own);)
        if (!is_among(&own, newer))
            return false;
    return true;
}

/* Do the rows compute the same, whatever they call attributes and inputs, and whichever attribute
 * chose them? */
static bool compute_alike(const struct ulp_operator *older, const struct ulp_operator *newer)
{
    struct ulp_operator as_older = *newer;
    as_older.since = older->since;
    as_older.until = older->until;
    as_older.when = older->when;
    as_older.inputs = older->inputs;
    as_older.attributes = older->attributes;
    return !older->inputs == !newer->inputs && memcmp(&as_older, older, sizeof as_older) == 0;
}

/* Has the newer row the older one's meaning: the same, or that with more attributes, and inputs
 * that may be left out? */
static bool is_wider(const struct ulp_operator *older, const struct ulp_operator *newer)
{
    if (older == newer || !older || !newer)
        return older == newer;
    const size_t inputs = older->inputs ? strlen(older->inputs) : 0;
    return compute_alike(older, newer) && are_among(older, newer) &&
           (!inputs || (strncmp(newer->inputs, older->inputs, inputs) == 0 &&
                        (!newer->inputs[inputs] || newer->inputs[inputs] == '?')));
}

/* Of the older row's attributes some are inputs of the newer, by these names. */
static const char *find_input_word(const char *op, const char *attribute)
{
    return strcmp(op, "Pad") == 0 && strcmp(attribute, "value") == 0 ? "constant_value" : attribute;
}

/* The place of the input among "x scale:f bias?"; -1: there is none. */
static int find_input(const struct ulp_operator *op, const char *name)
{
    const size_t length = strlen(name);
    int at = 0;
    for (const char *word = op->inputs; word && *word; at++) {
        if (strncmp(word, name, length) == 0 && strchr(" :?=*", word[length]))
            return at; /* strchr finds the end, too */
        word += strcspn(word, " ");
        word += strspn(word, " ");
    }
    return -1;
}

/* Did the attribute nothing but choose the row? */
static bool is_choice(const struct ulp_operator *op, const char *name)
{
    const size_t length = strlen(name);
    return op->when && strncmp(op->when, name, length) == 0 && op->when[length] == '=';
}

/* Is the attribute an input of the newer row, that the node can be given? */
static bool becomes_input(const struct ulp_operator *newer, const struct ulp_graph *graph,
                          const struct ulp_node *node, const struct ulp_attribute *attribute)
{
    const enum ulp_type type = node->input_count && node->inputs[0] >= 0
                                   ? graph->values[node->inputs[0]].info.type
                                   : ULP_TYPE_UNDEFINED;
    const bool number = attribute->kind == ULP_ATTRIBUTE_FLOAT;
    return find_input(newer, find_input_word(node->op_type, attribute->name)) >=
               (int)node->input_count &&
           (number ? type == ULP_TYPE_FLOAT || type == ULP_TYPE_UNDEFINED
                   : attribute->kind == ULP_ATTRIBUTE_INT || attribute->kind == ULP_ATTRIBUTE_INTS);
}

/* Does the newer row compute the same of attributes that it takes as inputs? What the node leaves
 * out is the older row's default: a whole number's need not be the input's. */
static bool moves_attributes(const struct ulp_operator *older, const struct ulp_operator *newer,
                             const struct ulp_graph *graph, const struct ulp_node *node)
{
    if (!compute_alike(older, newer) || !newer->inputs)
        return false;
    struct ulp_attribute_text own;
    for (const char *text = older->attributes; ulp_attribute_next(&text, &own);) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)own.name_length, own.name);
        const struct ulp_attribute *given = ulp_node_attribute(node, name);
        if (!is_among(&own, newer) && !is_choice(older, name) &&
            (given ? !becomes_input(newer, graph, node, given)
                   : find_input(newer, find_input_word(node->op_type, name)) < 0 ||
                         strncmp(own.kind, "int=", 4) == 0))
            return false;
    }
    return true;
}

/* Of a newer opset an attribute has other words, or another default. */
static const struct word {
    const char *op;
    int64_t since;                         /* of the newer */
    const char *attribute, *older, *newer; /* older NULL: it was not there */
} words[] = {{"RoiAlign", 16, "coordinate_transformation_mode", NULL, "output_half_pixel"},
             {"GridSample", 20, "mode", "bilinear", "linear"},
             {"GridSample", 20, "mode", "bicubic", "cubic"}};

static const struct word *find_word(const struct ulp_node *node, int64_t now, int64_t opset,
                                    bool given)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct word *word = &words[i];
        const struct ulp_attribute *own = ulp_node_attribute(node, word->attribute);
        if (strcmp(node->op_type, word->op) == 0 && now < word->since && opset >= word->since &&
            (!given || (word->older ? own && strcmp(own->s, word->older) == 0 : !own)))
            return word;
    }
    return NULL;
}

/* GroupNormalization scales channels from 21 on, groups before: how many channels one has; 0: that
 * is not known, or a factor is no constant. */
static size_t count_in_group(const struct ulp_graph *graph, const struct ulp_node *node)
{
    const struct ulp_value_info *x = &graph->values[node->inputs[0]].info;
    const int64_t groups = ulp_node_int(node, "num_groups", 1);
    for (size_t i = 1; i < 3; i++)
        if (!ulp_value_constant(graph, node->inputs[i]))
            return 0;
    return x->rank > 1 && x->dims[1] > 0 && groups > 0 ? (size_t)(x->dims[1] / groups) : 0;
}

static enum form find_form(const struct ulp_graph *graph, const struct ulp_node *node, int64_t now,
                           int64_t opset)
{
    if (*node->domain)
        return FORM_SAME;
    const struct ulp_operator *older = ulp_operator_of(node, now),
                              *newer = ulp_operator_of(node, opset);
    if (older && newer && find_word(node, now, opset, false))
        return FORM_WORD;
    if (is_wider(older, newer))
        return FORM_SAME;
    if (!older)
        return FORM_NONE;
    if (now < 13 && ulp_is_word(node->op_type, "Softmax LogSoftmax Hardmax"))
        return FORM_LAST_AXIS;
    if ((strcmp(node->op_type, "Resize") == 0 && now == 10) ||
        (strcmp(node->op_type, "Upsample") == 0 && now >= 7))
        return FORM_RESIZE;
    if (newer && strcmp(node->op_type, "GroupNormalization") == 0 && now < 21 && opset >= 21)
        return count_in_group(graph, node) ? FORM_GROUPS : FORM_NONE;
    return newer && moves_attributes(older, newer, graph, node) ? FORM_INPUTS : FORM_NONE;
}

static enum ulp_status check_nodes(const struct ulp_graph *graph, int64_t now, int64_t opset,
                                   struct ulp_error *error)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        if (find_form(graph, node, now, opset) == FORM_NONE)
            return ulp_fail(
                error, ULP_ERROR_UNSUPPORTED,
                "the formats need opset %lld, where %s is another operator than in %lld: "
                "convert the model first (onnx.version_converter)",
                (long long)opset, node->op_type, (long long)now);
        for (size_t a = 0; a < node->attribute_count; a++)
            if (node->attributes[a].graph)
                ULP_TRY(check_nodes(node->attributes[a].graph, now, opset, error));
    }
    return ULP_OK;
}

enum ulp_status raise_check(const struct ulp_model *model, int64_t opset, struct ulp_error *error)
{
    const int64_t now = ulp_model_opset(model, "");
    if (now >= opset)
        return ULP_OK;
    ULP_TRY(check_nodes(model->graph, now, opset, error));
    return model->function_count
               ? ulp_fail(
                     error, ULP_ERROR_UNSUPPORTED,
                     "the formats need opset %lld, and functions of the model were written for "
                     "%lld: convert the model first",
                     (long long)opset, (long long)now)
               : ULP_OK;
}

/* ---- the file ---- */

struct raising {
    struct editor *editor;
    struct edit_graph *graph;
    const struct ulp_node *node;
    Ulp__NodeProto *proto;
    int64_t now, opset;
};

static void drop_attribute(const struct raising *r, const char *name)
{
    for (size_t a = 0; a < r->proto->n_attribute; a++)
        if (edit_is_text(r->proto->attribute[a]->name, name)) {
            edit_drop(r->editor, &r->proto->attribute[a]);
            break;
        }
    edit_close_gaps(r->proto->attribute, &r->proto->n_attribute);
}

/* The tensor is read as that input; those before it that are not there are left out. */
static enum ulp_status add_input(const struct raising *r, size_t input,
                                 const struct ulp_tensor *tensor, const char *end)
{
    struct editor *editor = r->editor;
    const char *name = edit_text(editor, r->proto->output[0]);
    ULP_TRY(ulp_taken(name, editor->error));
    ULP_TRY(edit_fresh(editor, name, end, &name));
    ULP_TRY(edit_add_same(editor, name, tensor));
    while (r->proto->n_input < input)
        ULP_TRY(edit_add_name(editor, &r->proto->input, &r->proto->n_input, ""));
    return edit_add_name(editor, &r->proto->input, &r->proto->n_input, name);
}

static struct ulp_tensor view_attribute(const struct ulp_attribute *attribute)
{
    switch (attribute->kind) {
    case ULP_ATTRIBUTE_FLOAT: return ulp_tensor_list(ULP_TYPE_FLOAT, &attribute->f, 0, 1);
    case ULP_ATTRIBUTE_FLOATS:
        return ulp_tensor_list(ULP_TYPE_FLOAT, attribute->floats, 1, attribute->count);
    case ULP_ATTRIBUTE_INT: /* TopK's, as a list */
        return ulp_tensor_list(ULP_TYPE_INT64, &attribute->i, 1, 1);
    default: return ulp_tensor_list(ULP_TYPE_INT64, attribute->ints, 1, attribute->count);
    }
}

/* In the order of the inputs. */
static enum ulp_status move_attributes(const struct raising *r)
{
    const struct ulp_operator *newer = ulp_operator_of(r->node, r->opset);
    enum { INPUTS = 8 };
    const struct ulp_attribute *at[INPUTS] = {NULL};
    for (size_t a = 0; a < r->node->attribute_count; a++) {
        const struct ulp_attribute *attribute = &r->node->attributes[a];
        const int input = find_input(newer, find_input_word(r->node->op_type, attribute->name));
        if (input >= (int)r->node->input_count && input < INPUTS)
            at[input] = attribute;
        else if (is_choice(ulp_operator_of(r->node, r->now), attribute->name) &&
                 !is_choice(newer, attribute->name))
            drop_attribute(r, attribute->name);
    }
    for (size_t i = 0; i < INPUTS; i++) {
        if (!at[i])
            continue;
        const struct ulp_tensor value = view_attribute(at[i]);
        ULP_TRY(add_input(r, i, &value, at[i]->name));
        drop_attribute(r, at[i]->name);
    }
    return ULP_OK;
}

/* Before 13 all dimensions from the axis on were one row: the last, or what Flatten lays so. */
static enum ulp_status take_last_axis(const struct raising *r)
{
    struct editor *editor = r->editor;
    Ulp__NodeProto *proto = r->proto, *made;
    const int rank = r->graph->source->values[r->node->inputs[0]].info.rank;
    const struct ulp_attribute *given = ulp_node_attribute(r->node, "axis");
    const int64_t axis = given ? given->i : 1;
    const size_t position = (size_t)r->node->position;
    const char *in, *out, *shape, *flat, *rows;
    ULP_TRY(edit_set_number(editor, proto, "axis", -1));
    if (axis == -1 || (rank > 0 && axis == rank - 1))
        return ULP_OK;
    in = edit_text(editor, proto->input[0]);
    out = edit_text(editor, proto->output[0]);
    ULP_TRY(ulp_taken(in && out, editor->error));
    ULP_TRY(edit_fresh(editor, out, "shape", &shape));
    ULP_TRY(edit_fresh(editor, out, "flat", &flat));
    ULP_TRY(edit_fresh(editor, out, "rows", &rows));
    ULP_TRY(edit_add_node(editor, r->graph, position, "Shape", (const char *const[]){in, NULL},
                          shape, &made));
    ULP_TRY(edit_add_node(editor, r->graph, position, "Flatten", (const char *const[]){in, NULL},
                          flat, &made));
    ULP_TRY(edit_set_number(editor, made, "axis", axis));
    ULP_TRY(edit_set_text(editor, &proto->input[0], flat));
    ULP_TRY(edit_set_text(editor, &proto->output[0], rows));
    return edit_add_node(editor, r->graph, position + 1, "Reshape",
                         (const char *const[]){rows, shape, NULL}, out, &made);
}

static enum ulp_status set_resize(const struct raising *r, Ulp__NodeProto *proto,
                                  const char *nearest)
{
    const struct ulp_attribute texts[] = {
        {.name = "coordinate_transformation_mode", .kind = ULP_ATTRIBUTE_STRING, .s = "asymmetric"},
        {.name = "nearest_mode", .kind = ULP_ATTRIBUTE_STRING, .s = nearest}};
    for (size_t i = 0; i < 2; i++)
        ULP_TRY(edit_copy_attribute(r->editor, proto, &texts[i]));
    return ULP_OK;
}

/* *name: scales that only grow (Max), or only shrink (Min). */
static enum ulp_status add_bound(const struct raising *r, const char *op, const char **name)
{
    const float one = 1;
    const struct ulp_tensor value = ulp_tensor_list(ULP_TYPE_FLOAT, &one, 0, 1);
    const char *scales = edit_text(r->editor, r->proto->input[1]), *bound;
    Ulp__NodeProto *made;
    ULP_TRY(ulp_taken(scales, r->editor->error));
    ULP_TRY(edit_fresh(r->editor, scales, "bound", &bound));
    ULP_TRY(edit_add_same(r->editor, bound, &value));
    ULP_TRY(edit_fresh(r->editor, scales, op, name));
    return edit_add_node(r->editor, r->graph, (size_t)r->node->position, op,
                         (const char *const[]){scales, bound, NULL}, *name, &made);
}

/* One node has one rounding: here the axes that grow are resized before those that shrink. */
static enum ulp_status split_resize(const struct raising *r)
{
    struct editor *editor = r->editor;
    const char *in = edit_text(editor, r->proto->input[0]), *more, *less, *grown;
    Ulp__NodeProto *made;
    ULP_TRY(ulp_taken(in, editor->error));
    ULP_TRY(add_bound(r, "Max", &more));
    ULP_TRY(add_bound(r, "Min", &less));
    ULP_TRY(edit_fresh(editor, in, "grown", &grown));
    ULP_TRY(edit_add_node(editor, r->graph, (size_t)r->node->position, "Resize",
                          (const char *const[]){in, "", more, NULL}, grown, &made));
    ULP_TRY(set_resize(r, made, "floor"));
    ULP_TRY(edit_set_text(editor, &r->proto->input[0], grown));
    return edit_set_text(editor, &r->proto->input[1], less);
}

/* Resize of 10 and Upsample scale from the corner, and take the nearest place below where an axis
 * grows, above where it shrinks (ONNX Runtime). */
static enum ulp_status take_resize(const struct raising *r)
{
    struct editor *editor = r->editor;
    const struct ulp_attribute *scales = ulp_node_attribute(r->node, "scales"),
                               *mode = ulp_node_attribute(r->node, "mode");
    const struct ulp_tensor *by =
        scales ? NULL : ulp_value_constant(r->graph->source, r->node->inputs[1]);
    const bool nearest = !mode || strcmp(mode->s, "nearest") == 0;
    bool grows = !by, shrinks = !by && !scales;
    for (size_t i = 0; by && i < by->count; i++) {
        grows |= ulp_tensor_read(by, i) > 1;
        shrinks |= ulp_tensor_read(by, i) < 1;
    }
    if (nearest && grows && shrinks)
        ULP_TRY(split_resize(r));
    ULP_TRY(edit_set_text(editor, &r->proto->op_type, "Resize"));
    ULP_TRY(set_resize(r, r->proto, nearest && shrinks ? "ceil" : "floor"));
    if (scales) {
        const struct ulp_tensor value = view_attribute(scales);
        ULP_TRY(add_input(r, 2, &value, "scales"));
        drop_attribute(r, "scales");
        return ULP_OK;
    }
    const ProtobufCBinaryData last = r->proto->input[1];
    r->proto->input[1] = (ProtobufCBinaryData){0};
    ULP_TRY(edit_add_name(editor, &r->proto->input, &r->proto->n_input, ""));
    ulp_free(r->proto->input[2].data);
    r->proto->input[2] = last;
    return ULP_OK;
}

static enum ulp_status set_word(const struct raising *r)
{
    const struct word *word = find_word(r->node, r->now, r->opset, true);
    if (!word)
        return ULP_OK;
    drop_attribute(r, word->attribute);
    const struct ulp_attribute text = {.name = word->attribute,
                                       .kind = ULP_ATTRIBUTE_STRING,
                                       .s = word->newer};
    return edit_copy_attribute(r->editor, r->proto, &text);
}

/* Each group's factor, for all of its channels. */
static enum ulp_status repeat_groups(const struct raising *r)
{
    const size_t times = count_in_group(r->graph->source, r->node);
    for (size_t i = 1; i < 3; i++) {
        const struct ulp_tensor *given = ulp_value_constant(r->graph->source, r->node->inputs[i]);
        struct editor *editor = r->editor;
        const char *name = edit_text(editor, r->proto->input[i]);
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor all = {0};
        const int64_t count = (int64_t)(given->count * times);
        ULP_TRY(ulp_taken(name, editor->error));
        ULP_TRY(ulp_tensor_create(&all, given->type, given->element, given->precision, 1, &count,
                                  editor->error));
        for (size_t c = 0; c < all.count; c++)
            memcpy((char *)all.data + c * all.element_bytes,
                   (const char *)given->data + c / times * all.element_bytes, all.element_bytes);
        ULP_TRY(edit_fresh(editor, name, "channels", &name));
        ULP_TRY(edit_add_same(editor, name, &all));
        ULP_TRY(edit_set_text(editor, &r->proto->input[i], name));
    }
    return ULP_OK;
}

/* Split into equal parts says from 18 on how many. */
static enum ulp_status count_parts(const struct raising *r)
{
    return strcmp(r->node->op_type, "Split") == 0 && r->now < 18 && r->opset >= 18 &&
                   r->node->input_count == 1 && !ulp_node_attribute(r->node, "split")
               ? edit_set_number(r->editor, r->proto, "num_outputs", (int64_t)r->node->output_count)
               : ULP_OK;
}

static enum ulp_status raise_node(const struct raising *r)
{
    const enum form form = find_form(r->graph->source, r->node, r->now, r->opset);
    if (form == FORM_LAST_AXIS)
        return take_last_axis(r);
    if (form == FORM_RESIZE)
        return take_resize(r);
    if (form == FORM_WORD)
        return set_word(r);
    if (form == FORM_GROUPS)
        return repeat_groups(r);
    if (form == FORM_INPUTS)
        ULP_TRY(move_attributes(r));
    return count_parts(r);
}

enum ulp_status raise_nodes(struct editor *editor, int64_t opset)
{
    const int64_t now = ulp_model_opset(editor->model, "");
    for (size_t g = 0; g < editor->graph_count && now < opset; g++) {
        struct edit_graph *graph = editor->graphs[g];
        for (size_t n = 0; graph->proto && n < graph->source->node_count; n++) {
            const struct ulp_node *node = &graph->source->nodes[n];
            Ulp__NodeProto *proto = (*graph->nodes)[node->position];
            if (!edit_is_text(proto->op_type, node->op_type) ||
                proto->n_output != node->output_count || proto->n_input != node->input_count)
                return edit_fail_changed(editor);
            ULP_TRY(raise_node(&(struct raising){editor, graph, node, proto, now, opset}));
        }
    }
    return ULP_OK;
}
