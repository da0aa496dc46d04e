/* A copy of a model's file in which nodes say more: entries of metadata_props, and a doc_string. */
#pragma once

#include "base/text/text.h"
#include "graph/graph.h"

/* Keys begin with it, and entries with such keys are this program's: a copy of a copy has the new
 * ones only. What such a node's doc_string has from the mark on is, too. */
#define ULP_ANNOTATION_KEY "ulpscope."
#define ULP_ANNOTATION_MARK "Errors found by ulpscope"

/* What is added to a node, or to the model. */
struct ulp_annotation;
/* Both in UTF-8; NULL: memory for it has ended. A failure is remembered. */
void ulp_annotation_add(struct ulp_annotation *annotation, const char *key, const char *value);
/* Of a node: begins with ULP_ANNOTATION_MARK; empty: none. */
struct ulp_text *ulp_annotation_doc(struct ulp_annotation *annotation);

struct ulp_annotator {
    void *context;
    void (*describe)(void *context, const struct ulp_node *node, struct ulp_annotation *out);
    void (*describe_model)(void *context, struct ulp_annotation *out);
};

/* Write the copy, which is complete or not there. ULP_ERROR_INPUT: the file is not the one that the
 * model was loaded from any more, or has external data and path is in another folder.
 * ULP_ERROR_USAGE: path is the model, or one of the files that its weights are in.
 * ULP_ERROR_UNSUPPORTED: the copy would be too large for protobuf. */
enum ulp_status ulp_annotate_file(const struct ulp_model *model, const char *path,
                                  const struct ulp_annotator *annotator, struct ulp_error *error);
