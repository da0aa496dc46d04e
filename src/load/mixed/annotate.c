/* Annotating a model: its file is read again, and written with what is said of its nodes. */
#include "load/mixed/annotate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "load/mixed/writer.h"

struct annotating {
    struct mixed mixed; /* first: mixed_rewrite gives it back */
    const struct ulp_annotator *annotator;
};

struct ulp_annotation {
    struct mixed *mixed;
    Ulp__EntryProto ***entries;
    size_t *count;
    struct ulp_text doc;
    enum ulp_status status;
    struct ulp_error *error;
};

void ulp_annotation_add(struct ulp_annotation *out, const char *key, const char *value)
{
    if (out->status == ULP_OK)
        out->status = key && value ? mixed_add_entry(out->mixed, out->entries, out->count, key,
                                                     value, out->error)
                                   : ulp_out_of_memory(out->error);
}

struct ulp_text *ulp_annotation_doc(struct ulp_annotation *out)
{
    return &out->doc;
}

/* Takes out what an earlier annotation has added; returns whether there was any. */
static bool strip_entries(struct mixed *mixed, Ulp__EntryProto **entries, size_t *count)
{
    const size_t length = strlen(ULP_ANNOTATION_KEY), before = *count;
    for (size_t i = 0; i < before; i++)
        if (entries[i]->key.len >= length &&
            memcmp(entries[i]->key.data, ULP_ANNOTATION_KEY, length) == 0)
            mixed_drop(mixed, &entries[i]);
    mixed_close_gaps(entries, count);
    return *count < before;
}

/* The length of the text before the last mark, and the empty line that was put before it. */
static size_t plain_length(ProtobufCBinaryData doc)
{
    const size_t length = strlen(ULP_ANNOTATION_MARK);
    for (size_t i = doc.len >= length ? doc.len - length + 1 : 0; i-- > 0;)
        if (memcmp(doc.data + i, ULP_ANNOTATION_MARK, length) == 0)
            return i >= 2 && memcmp(doc.data + i - 2, "\n\n", 2) == 0 ? i - 2 : i;
    return doc.len;
}

static enum ulp_status set_doc(struct ulp_annotation *out, Ulp__NodeProto *proto)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text doc = {0};
    if (!out->doc.length && !out->doc.failed)
        return ULP_OK;
    if (proto->doc_string.len) {
        ulp_text_put(&doc, (const char *)proto->doc_string.data, proto->doc_string.len);
        ulp_text_put(&doc, "\n\n", 2);
    }
    ulp_text_put(&doc, out->doc.data, out->doc.length);
    ULP_TRY(doc.failed || out->doc.failed
                ? ulp_out_of_memory(out->error)
                : mixed_set_text(out->mixed, &proto->doc_string, doc.data, out->error));
    proto->has_doc_string = true;
    return ULP_OK;
}

static enum ulp_status describe(struct annotating *a, const struct ulp_node *node,
                                Ulp__NodeProto *proto, struct ulp_error *error)
{
    struct ulp_annotation out = {.mixed = &a->mixed,
                                 .entries = &proto->metadata_props,
                                 .count = &proto->n_metadata_props,
                                 .error = error};
    if (strip_entries(out.mixed, proto->metadata_props, &proto->n_metadata_props)) {
        proto->doc_string.len = plain_length(proto->doc_string);
        proto->has_doc_string = proto->doc_string.len > 0;
    }
    a->annotator->describe(a->annotator->context, node, &out);
    const enum ulp_status status = out.status == ULP_OK ? set_doc(&out, proto) : out.status;
    ulp_text_free(&out.doc);
    return status;
}

static enum ulp_status visit(struct annotating *a, const struct ulp_graph *graph,
                             Ulp__NodeProto **nodes, size_t count, struct ulp_error *error);

static enum ulp_status visit_body(struct annotating *a, const struct ulp_graph *graph,
                                  ProtobufCBinaryData *bytes, struct ulp_error *error)
{
    void *message;
    ULP_TRY(ulp_unpack(&a->mixed.loader.unpacker, &message, &ulp__graph_proto__descriptor,
                       bytes->data, bytes->len, "subgraph", error));
    Ulp__GraphProto *proto = message;
    enum ulp_status status = visit(a, graph, proto->node, proto->n_node, error);
    if (status == ULP_OK)
        status = mixed_pack(&a->mixed, &proto->base, bytes, error);
    ulp_unpack_free(&a->mixed.loader.unpacker, proto);
    return status;
}

static enum ulp_status visit(struct annotating *a, const struct ulp_graph *graph,
                             Ulp__NodeProto **nodes, size_t count, struct ulp_error *error)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        Ulp__NodeProto *proto = (size_t)node->position < count ? nodes[node->position] : NULL;
        if (!proto || !mixed_is_text(proto->op_type, node->op_type) ||
            proto->n_attribute != node->attribute_count)
            return mixed_fail_changed(error);
        for (size_t i = 0; i < node->attribute_count; i++)
            if (node->attributes[i].graph)
                ULP_TRY(visit_body(a, node->attributes[i].graph, &proto->attribute[i]->g, error));
        ULP_TRY(describe(a, node, proto, error));
    }
    return ULP_OK;
}

static enum ulp_status visit_functions(struct annotating *a, struct ulp_error *error)
{
    const struct ulp_model *model = a->mixed.request->model;
    const Ulp__ModelProto *proto = a->mixed.proto;
    for (size_t f = 0; f < model->function_count; f++)
        for (size_t p = 0; p < proto->n_functions; p++)
            if (mixed_is_function(proto->functions[p], &model->functions[f]))
                ULP_TRY(visit(a, model->functions[f].body, proto->functions[p]->node,
                              proto->functions[p]->n_node, error));
    return ULP_OK;
}

static enum ulp_status change(struct mixed *mixed, struct ulp_error *error)
{
    struct annotating *a = (struct annotating *)mixed;
    Ulp__ModelProto *proto = mixed->proto;
    struct ulp_annotation out = {.mixed = mixed,
                                 .entries = &proto->metadata_props,
                                 .count = &proto->n_metadata_props,
                                 .error = error};
    ULP_TRY(
        visit(a, mixed->request->model->graph, proto->graph->node, proto->graph->n_node, error));
    ULP_TRY(visit_functions(a, error));
    strip_entries(mixed, proto->metadata_props, &proto->n_metadata_props);
    a->annotator->describe_model(a->annotator->context, &out);
    return out.status;
}

/* The folder of a file, as a file of its own. */
static bool find_folder(const char *path, struct stat *out)
{
    const char *slash = strrchr(path, '/');
    ULP_SCOPED(ulp_scoped_free)
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    return folder && stat(folder, out) == 0;
}

/* Paths of external data are relative to the folder of the file. */
static enum ulp_status check_path(const struct ulp_model *model, const char *path,
                                  struct ulp_error *error)
{
    struct stat old, new;
    if (ulp_model_is_read_from(model, path))
        return ulp_fail(
            error, ULP_ERROR_USAGE,
            "%s: is the model itself or has its weights, expected another name for the copy", path);
    if (!model->mapping_count || (find_folder(model->path, &old) && find_folder(path, &new) &&
                                  old.st_dev == new.st_dev &&old.st_ino == new.st_ino))
        return ULP_OK;
    return ulp_fail(error, ULP_ERROR_INPUT,
                    "%s: its weights are in other files beside it, which the copy must find: write "
                    "the copy into the model's folder",
                    model->path);
}

enum ulp_status ulp_annotate_file(const struct ulp_model *model, const char *path,
                                  const struct ulp_annotator *annotator, struct ulp_error *error)
{
    const struct ulp_mixed_request request = {.model = model, .path = path};
    struct annotating a = {.mixed = {.request = &request}, .annotator = annotator};
    ULP_TRY(check_path(model, path, error));
    return mixed_rewrite(&a.mixed, change, error);
}
