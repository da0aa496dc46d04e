/* A copy of a model's file in which nodes say more: entries of metadata_props, and a doc_string.
 * The file is copied byte by byte and added to, never parsed and written again, so that all else
 * stays as it is: order and encoding of fields, fields that nobody here knows, external data. */
#ifndef ULP_LOAD_ANNOTATE_H
#define ULP_LOAD_ANNOTATE_H

#include <ulpscope/memory.h>

#include "base/text/text.h"

/* Keys begin with it, and entries with such keys are this program's: a copy of a copy has the new
 * ones only. What such a node's doc_string has from the mark on is, too. */
#define ULP_ANNOTATION_KEY "ulpscope."
#define ULP_ANNOTATION_MARK "Errors found by ulpscope"

/* What is added to a node, or to the model. */
struct ulp_annotation {
    unsigned field;          /* private: the number of metadata_props there */
    struct ulp_text entries; /* of metadata_props, encoded */
    struct ulp_text doc;     /* begins with ULP_ANNOTATION_MARK; empty: none */
};
/* Both in UTF-8. */
void ulp_annotation_add(struct ulp_annotation *annotation, const char *key, const char *value);

/* A node as the file has it. Names are those of a plan (run/plan/expand.c): one in the body of a
 * function has one for each call of it. */
struct ulp_annotated_node {
    size_t count;
    const char *const *names;
    const char *op, *output; /* its first output, as the file names it */
};

struct ulp_annotator {
    void *context;
    /* Whether any node is called PREFIX/..: else the call of that name is not followed. */
    bool (*covers)(void *context, const char *prefix);
    void (*describe)(void *context, const struct ulp_annotated_node *node,
                     struct ulp_annotation *out);
    void (*describe_model)(void *context, struct ulp_annotation *out);
    /* After all nodes, before anything is written. NULL: accepted. */
    enum ulp_status (*accept)(void *context, struct ulp_error *error);
};

/* Write the copy, which is complete or not there: before it gets its name it is read again, and
 * without what was added it must be the model's bytes. ULP_ERROR_INPUT: model is no ONNX file, or
 * has external data and path is in another folder. ULP_ERROR_USAGE: path is the model, or one of the
 * files that its weights are in. ULP_ERROR_UNSUPPORTED: the copy would be too large for protobuf. */
enum ulp_status ulp_annotate_file(const char *model, const char *path,
                                  const struct ulp_annotator *annotator, struct ulp_budget *budget,
                                  struct ulp_error *error);

#endif
