/* A report.json in memory, whose members may be missing or of another kind: a figure is then NaN, a
 * text empty, a list without elements. */
#pragma once

#include <jansson.h>
#include <ulpscope/audit.h>
#include <ulpscope/saved.h>

#include "base/memory/alloc.h"
#include "base/text/text.h"

struct ulp_saved {
    json_t *root;
    const char *kind;    /* of document.def */
    const json_t *lanes; /* of an audit, or what is one of two arithmetics: a list of objects */
    char *path;
    struct ulp_budget *budget;
    size_t charged;          /* for root */
    struct ulp_arena *arena; /* of audit; NULL: not asked for yet */
    const struct ulp_audit *audit;
};

/* Fails for a report that has no lanes. */
enum ulp_status ulp_saved_check_lanes(const struct ulp_saved *saved, struct ulp_error *error);

double ulp_saved_number(const json_t *object, const char *key);
const char *ulp_saved_text(const json_t *object, const char *key);
bool ulp_saved_true(const json_t *object, const char *key);

/* The rms of a view ("entire", ...) of a node's or graph's output, over the reference's rms. */
double ulp_saved_relative(const json_t *output, const char *view);
/* "FLOAT[1,8,64]" */
void ulp_saved_add_shape(struct ulp_text *out, const json_t *output);
/* The node's remarks: " not finite here" and the like. */
const char *ulp_saved_remark(const json_t *node);
