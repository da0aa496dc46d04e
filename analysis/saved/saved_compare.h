/* What became of one audit in another: the figures that text, JSON and Markdown show alike. */
#pragma once

#include "analysis/saved/saved.h"

enum ulp_change { ULP_EQUAL, ULP_BETTER, ULP_WORSE };
extern const char *const ulp_change_names[]; /* "equal", ... */

struct ulp_changed_output {
    const char *name;
    const struct ulp_audit_output *before, *after; /* NULL: not there */
    enum ulp_change change;
    double ratio; /* of the rms errors, after over before; NaN: not known */
    /* why it cannot be compared with itself: the rest of a sentence; NULL: it can */
    const char *reason;
};

/* A node of both reports. */
struct ulp_changed_node {
    const struct ulp_audit_node *node, *was; /* in the later report and the earlier */
    enum ulp_change change;
    double before, after; /* what it introduces, relative to the reference's rms; NaN: not known */
};

struct ulp_changed_lane {
    const char *before, *after; /* names; NULL: it is in the other report only */
    struct ulp_saved_changes changes;
    size_t output_count, node_count, grown_count, born_count, unpaired_count;
    struct ulp_changed_output *outputs;
    struct ulp_changed_node *nodes, /* all that both have */
        *grown, *born; /* those that introduce more, most first; that newly make Inf or NaN */
};

struct ulp_changed {
    const struct ulp_audit *before, *after;
    const char *paths[2];
    double factor;
    struct ulp_saved_changes changes; /* of all */
    size_t lane_count;
    struct ulp_changed_lane *lanes;
    struct ulp_arena *memory;
};

enum ulp_status ulp_saved_find_changes(struct ulp_saved *before, struct ulp_saved *after,
                                       double factor, struct ulp_changed *out,
                                       struct ulp_error *error);

/* "worse at 1 of 2 outputs" */
void ulp_changed_verdict(const struct ulp_saved_changes *changes, struct ulp_text *out);
