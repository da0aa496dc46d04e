/* Annotating a model: which names a node has, and what is added to it. */
#include "load/annotate/annotate.h"

#include <string.h>

#include "base/error.h"
#include "base/text/names.h"
#include "graph/graph.h"
#include "load/annotate/wire.h"
#include "load/load.h"

/* The prefixes of names in a graph: of the main graph NULL, of a body one for each name of its
 * node, of a function one for each call. */
struct scope {
    const char *const *prefixes;
    size_t count;
    bool call; /* in a function, where a name with a leading '/' gets its prefix, too */
};

struct function {
    const char *name, *domain, *overload;
    struct wire_bytes body;
    struct ulp_names known; /* prefixes */
    const char **prefixes;
    size_t count, capacity;
};

/* A call that is still to be followed. */
struct call {
    size_t function, prefix;
    int depth;
};

struct annotating {
    const struct ulp_annotator *annotator;
    struct ulp_budget *budget;
    struct ulp_arena *arena;
    struct function *functions;
    size_t function_count, function_capacity;
    struct call *calls;
    size_t call_count, call_capacity;
    int call_depth;           /* of the call that is followed */
    struct wire_edits *edits; /* NULL: calls are looked for, nothing is added yet */
    struct wire_external *external;
    const char *location; /* of the last tensor with external data */
    int depth;
    enum ulp_status status;
    struct ulp_error *error;
};

static void fail_memory(struct annotating *a)
{
    if (a->status == ULP_OK)
        a->status = ulp_out_of_memory(a->error);
}

static void fail_input(struct annotating *a, const char *what)
{
    if (a->status == ULP_OK)
        a->status = ulp_fail(a->error, ULP_ERROR_INPUT, "%s", what);
}

static const char *copy(struct annotating *a, struct wire_bytes bytes)
{
    const char *text =
        ulp_arena_text(a->arena, bytes.count ? (const char *)bytes.data : "", bytes.count);
    if (!text)
        fail_memory(a);
    return text ? text : "";
}

void ulp_annotation_add(struct ulp_annotation *annotation, const char *key, const char *value)
{
    struct ulp_text entry = {0};
    wire_add_field(&entry, ENTRY_KEY, key, strlen(key));
    wire_add_field(&entry, ENTRY_VALUE, value, strlen(value));
    wire_add_field(&annotation->entries, annotation->field, entry.data, entry.length);
    annotation->entries.failed |= entry.failed;
    ulp_text_free(&entry);
}

/* ---- nodes ---- */

struct header {
    const char *name, *op, *domain, *overload, *output;
    struct wire_bytes doc;
};

static struct header read_header(struct annotating *a, struct wire_bytes node)
{
    struct header header = {"", "", "", "", NULL, {0}};
    struct wire_field field;
    bool damaged;
    while (wire_next(&node, &field, &damaged))
        switch (field.is_bytes ? field.number : 0) {
        case NODE_NAME: header.name = copy(a, field.payload); break;
        case NODE_OP: header.op = copy(a, field.payload); break;
        case NODE_DOMAIN: header.domain = ulp_domain_normal(copy(a, field.payload)); break;
        case NODE_OVERLOAD: header.overload = copy(a, field.payload); break;
        case NODE_OUTPUT:
            header.output = header.output ? header.output : copy(a, field.payload);
            break;
        case NODE_DOC: header.doc = field.payload; break;
        }
    if (damaged)
        fail_input(a, "is no ONNX file");
    return header;
}

/* As the loader and a plan name them. */
static struct scope make_names(struct annotating *a, const struct header *header, size_t position,
                               const struct scope *scope)
{
    struct ulp_text text = {0};
    const char **names = ulp_arena_take(a->arena, scope->count + 1, sizeof *names);
    if (!names)
        fail_memory(a);
    for (size_t i = 0; names && i < scope->count; i++) {
        text.length = 0;
        if (scope->prefixes[i] && (scope->call || header->name[0] != '/'))
            ulp_text_add(&text, "%s/", scope->prefixes[i]);
        if (*header->name)
            ulp_text_add(&text, "%s", header->name);
        else
            ulp_text_add(&text, "%s_%zu", header->op, position);
        names[i] = text.failed ? NULL : ulp_arena_text(a->arena, text.data, text.length);
        if (!names[i])
            fail_memory(a);
    }
    ulp_text_free(&text);
    return (struct scope){names, a->status == ULP_OK ? scope->count : 0, scope->call};
}

static struct function *find_function(struct annotating *a, const struct header *header)
{
    for (size_t f = 0; f < a->function_count; f++)
        if (strcmp(a->functions[f].name, header->op) == 0 &&
            strcmp(a->functions[f].domain, header->domain) == 0 &&
            strcmp(a->functions[f].overload, header->overload) == 0)
            return &a->functions[f];
    return NULL;
}

/* The calls lie in the order in which they are found; only those with nodes to describe are
 * followed, so that there are no more than these. */
static void add_call(struct annotating *a, struct function *function, const char *prefix)
{
    if (a->call_depth >= ULP_LOAD_DEPTH_MAX || ulp_names_find(&function->known, prefix) >= 0 ||
        !a->annotator->covers(a->annotator->context, prefix) || a->status != ULP_OK)
        return;
    a->status = ulp_grow(&function->prefixes, function->count, &function->capacity,
                         sizeof *function->prefixes, a->budget, "calls of a function", a->error);
    if (a->status == ULP_OK)
        a->status = ulp_grow(&a->calls, a->call_count, &a->call_capacity, sizeof *a->calls,
                             a->budget, "calls of a function", a->error);
    if (a->status != ULP_OK)
        return;
    if (!ulp_names_add(&function->known, prefix, (int)function->count))
        fail_memory(a);
    a->calls[a->call_count++] =
        (struct call){(size_t)(function - a->functions), function->count, a->call_depth + 1};
    function->prefixes[function->count++] = prefix;
}

/* What is said of the node, at its end. */
static int64_t describe(struct annotating *a, const struct header *header,
                        const struct scope *names, const uint8_t *end)
{
    struct ulp_annotation annotation = {.field = NODE_METADATA};
    const struct ulp_annotated_node node = {names->count, names->prefixes, header->op,
                                            header->output ? header->output : ""};
    int64_t grown = 0;
    if (names->count)
        a->annotator->describe(a->annotator->context, &node, &annotation);
    if (annotation.doc.length) {
        struct ulp_text doc = {0};
        if (header->doc.count) {
            ulp_text_put(&doc, (const char *)header->doc.data, header->doc.count);
            ulp_text_put(&doc, "\n\n", 2);
        }
        ulp_text_put(&doc, annotation.doc.data, annotation.doc.length);
        wire_add_field(&annotation.entries, NODE_DOC, doc.data, doc.length);
        annotation.entries.failed |= doc.failed;
        ulp_text_free(&doc);
    }
    if (annotation.entries.failed || annotation.doc.failed)
        fail_memory(a);
    else if (annotation.entries.length)
        grown = wire_replace(a->edits, wire_edit(a->edits, end), 0, annotation.entries.data,
                             annotation.entries.length);
    ulp_text_free(&annotation.entries);
    ulp_text_free(&annotation.doc);
    return grown;
}

/* ---- the walk: functions return how much longer what they walk through gets ---- */

static int64_t walk_graph(struct annotating *a, struct wire_bytes graph, const struct scope *scope,
                          uint64_t node_number);

/* Many tensors lie in one file. */
static void add_location(struct annotating *a, struct wire_bytes location)
{
    const char *text = a->location && wire_is(location, a->location) ? NULL : copy(a, location);
    if (!text || a->status != ULP_OK)
        return;
    a->location = text;
    if (!a->external->first || !*a->external->first)
        a->external->first = text;
    a->status = a->external->accept(a->external->context, text, a->error);
}

static void check_tensor(struct annotating *a, struct wire_bytes tensor)
{
    struct wire_field field;
    bool damaged;
    while (wire_next(&tensor, &field, &damaged)) {
        if (field.number == TENSOR_LOCATION && field.value == 1 && !a->external->first)
            a->external->first = "";
        if (field.number != TENSOR_EXTERNAL || !field.is_bytes)
            continue;
        struct wire_bytes entry = field.payload, value = {0};
        struct wire_field part;
        bool is_location = false;
        while (wire_next(&entry, &part, &damaged)) {
            is_location |= part.number == ENTRY_KEY && wire_is(part.payload, "location");
            value = part.number == ENTRY_VALUE ? part.payload : value;
        }
        if (is_location)
            add_location(a, value);
    }
}

static void check_sparse(struct annotating *a, struct wire_bytes sparse)
{
    struct wire_field field;
    bool damaged;
    while (wire_next(&sparse, &field, &damaged))
        if (field.is_bytes && (field.number == SPARSE_VALUES || field.number == SPARSE_INDICES))
            check_tensor(a, field.payload);
}

static int64_t walk_attribute(struct annotating *a, struct wire_bytes attribute,
                              const struct scope *names)
{
    struct wire_field field;
    bool damaged;
    int64_t grown = 0;
    while (a->status == ULP_OK && wire_next(&attribute, &field, &damaged)) {
        if (!field.is_bytes)
            continue;
        if (field.number == ATTRIBUTE_TENSOR || field.number == ATTRIBUTE_TENSORS)
            check_tensor(a, field.payload);
        if (field.number == ATTRIBUTE_SPARSE || field.number == ATTRIBUTE_SPARSES)
            check_sparse(a, field.payload);
        if (field.number != ATTRIBUTE_GRAPH && field.number != ATTRIBUTE_GRAPHS)
            continue;
        const size_t length = a->edits ? wire_edit(a->edits, field.length) : 0;
        const int64_t inside = walk_graph(a, field.payload, names, GRAPH_NODE);
        if (inside)
            grown += wire_replace_length(a->edits, length, &field, inside);
    }
    return grown;
}

static int64_t walk_node(struct annotating *a, struct wire_bytes node, size_t position,
                         const struct scope *scope)
{
    const uint8_t *end = node.data + node.count;
    const struct header header = read_header(a, node);
    const struct scope names = make_names(a, &header, position, scope);
    struct function *function = find_function(a, &header);
    struct wire_field field;
    bool damaged;
    int64_t grown = 0;
    for (size_t i = 0; i < names.count && function && !a->edits; i++)
        add_call(a, function, names.prefixes[i]);
    while (a->status == ULP_OK && wire_next(&node, &field, &damaged)) {
        if (!field.is_bytes || field.number != NODE_ATTRIBUTE)
            continue;
        const size_t length = a->edits ? wire_edit(a->edits, field.length) : 0;
        const int64_t inside = walk_attribute(a, field.payload, &names);
        if (inside)
            grown += wire_replace_length(a->edits, length, &field, inside);
    }
    return grown + (a->edits && a->status == ULP_OK ? describe(a, &header, &names, end) : 0);
}

static int64_t walk_graph(struct annotating *a, struct wire_bytes graph, const struct scope *scope,
                          uint64_t node_number)
{
    struct wire_field field;
    bool damaged = false;
    size_t position = 0;
    int64_t grown = 0;
    if (a->depth++ > ULP_LOAD_DEPTH_MAX)
        fail_input(a, "its graphs are nested too deep");
    while (a->status == ULP_OK && wire_next(&graph, &field, &damaged)) {
        if (!field.is_bytes)
            continue;
        if (node_number == GRAPH_NODE && field.number == GRAPH_INITIALIZER)
            check_tensor(a, field.payload);
        if (node_number == GRAPH_NODE && field.number == GRAPH_SPARSE)
            check_sparse(a, field.payload);
        if (field.number != node_number)
            continue;
        const size_t length = a->edits ? wire_edit(a->edits, field.length) : 0;
        const int64_t inside = walk_node(a, field.payload, position++, scope);
        if (inside)
            grown += wire_replace_length(a->edits, length, &field, inside);
    }
    a->depth--;
    if (damaged)
        fail_input(a, "is no ONNX file");
    return grown;
}

static void add_function(struct annotating *a, struct wire_bytes body)
{
    struct function function = {"", "", "", body, {.budget = a->budget}, NULL, 0, 0};
    struct wire_bytes rest = body;
    struct wire_field field;
    bool damaged;
    while (wire_next(&rest, &field, &damaged))
        switch (field.is_bytes ? field.number : 0) {
        case FUNCTION_NAME: function.name = copy(a, field.payload); break;
        case FUNCTION_DOMAIN: function.domain = ulp_domain_normal(copy(a, field.payload)); break;
        case FUNCTION_OVERLOAD: function.overload = copy(a, field.payload); break;
        }
    if (a->status == ULP_OK)
        a->status = ulp_grow(&a->functions, a->function_count, &a->function_capacity,
                             sizeof *a->functions, a->budget, "the functions of a model", a->error);
    if (a->status == ULP_OK)
        a->functions[a->function_count++] = function;
}

/* The main graph; several would be joined into one. */
static struct wire_bytes find_graph(struct annotating *a, struct wire_bytes model)
{
    struct wire_bytes graph = {0};
    struct wire_field field;
    bool damaged;
    while (a->status == ULP_OK && wire_next(&model, &field, &damaged)) {
        if (field.is_bytes && field.number == MODEL_FUNCTIONS)
            add_function(a, field.payload);
        if (!field.is_bytes || field.number != MODEL_GRAPH)
            continue;
        if (graph.data)
            fail_input(a, "has two graphs");
        graph = field.payload;
    }
    if (damaged || !graph.data)
        fail_input(a, "is no ONNX file");
    return graph;
}

static const struct scope main_scope = {(const char *const[]){NULL}, 1, false};

/* Which functions are called by what names. */
static void find_calls(struct annotating *a, struct wire_bytes model)
{
    walk_graph(a, find_graph(a, model), &main_scope, GRAPH_NODE);
    for (size_t c = 0; c < a->call_count && a->status == ULP_OK; c++) {
        const struct call call = a->calls[c];
        const struct function *function = &a->functions[call.function];
        a->call_depth = call.depth;
        walk_graph(a, function->body, &(struct scope){&function->prefixes[call.prefix], 1, true},
                   FUNCTION_NODE);
    }
}

static void add_all(struct annotating *a, struct wire_bytes model)
{
    struct ulp_annotation annotation = {.field = MODEL_METADATA};
    const uint8_t *end = model.data + model.count;
    struct wire_field field;
    bool damaged;
    size_t f = 0;
    while (a->status == ULP_OK && wire_next(&model, &field, &damaged)) {
        if (!field.is_bytes || (field.number != MODEL_GRAPH && field.number != MODEL_FUNCTIONS))
            continue;
        const bool is_graph = field.number == MODEL_GRAPH;
        const struct function *function = is_graph ? NULL : &a->functions[f++];
        const struct scope scope =
            is_graph ? main_scope : (struct scope){function->prefixes, function->count, true};
        const size_t length = wire_edit(a->edits, field.length);
        const int64_t inside =
            walk_graph(a, field.payload, &scope, is_graph ? GRAPH_NODE : FUNCTION_NODE);
        if (inside)
            wire_replace_length(a->edits, length, &field, inside);
    }
    a->annotator->describe_model(a->annotator->context, &annotation);
    if (annotation.entries.failed)
        fail_memory(a);
    else if (annotation.entries.length && a->status == ULP_OK)
        wire_replace(a->edits, wire_edit(a->edits, end), 0, annotation.entries.data,
                     annotation.entries.length);
    ulp_text_free(&annotation.entries);
    if (a->status == ULP_OK)
        a->status = a->edits->status;
}

enum ulp_status wire_annotate(struct wire_bytes model, const struct ulp_annotator *annotator,
                              struct ulp_arena *arena, struct wire_edits *edits,
                              struct wire_external *external, struct ulp_error *error)
{
    struct annotating a = {.annotator = annotator,
                           .budget = edits->budget,
                           .arena = arena,
                           .external = external,
                           .error = error};
    edits->base = model.data;
    edits->error = error;
    find_calls(&a, model);
    a.edits = edits;
    if (a.status == ULP_OK)
        add_all(&a, model);
    for (size_t f = 0; f < a.function_count; f++) {
        ulp_names_free(&a.functions[f].known);
        ulp_free(a.functions[f].prefixes);
    }
    ulp_free(a.functions);
    ulp_free(a.calls);
    return a.status;
}
