/* Comparisons that come out otherwise: the margins by which a node decides, and their errors. */
#pragma once

#include <ulpscope/audit.h>

#include "analysis/audit/audit_pair.h"
#include "analysis/audit/truth.h"
#include "run/program/program.h"

/* Of an overlap of two boxes. */
enum { ULP_TURNED_TERMS = 8 };

/* One of them: a margin of the reference's that has another sign in the lane. Its error is the sum
 * of slope times the error of that element of that input. */
struct ulp_turned {
    size_t element;       /* of what is decided, where it shows */
    double margin, error; /* margin NaN: a whole number, which something before has decided */
    /* on what the lane reads exact arithmetic decides as the reference: the node's own turned it */
    bool own;
    size_t term_count;
    struct ulp_turned_term {
        size_t input, element;
        double slope;
    } terms[ULP_TURNED_TERMS];
};

/* What a node decides in a lane (index into the audit's). */
struct ulp_deciding {
    const struct ulp_program *program;
    const struct ulp_event *event;
    size_t lane;
    const struct ulp_truth *original; /* whose values the reference's are; NULL: the model's own */
    enum ulp_status (*turned)(void *context, const struct ulp_turned *turned,
                              struct ulp_error *error); /* NULL: no one asks */
    void *context;
};

enum ulp_status ulp_choices_look(const struct ulp_deciding *deciding, struct ulp_choices *out,
                                 struct ulp_error *error);
/* Does the node round floats to so few that which one comes out is a decision, to whole numbers or
 * by a Cast to 8 bits and fewer? */
bool ulp_choices_round(const struct ulp_event *event);
/* suppression.c: of NonMaxSuppression. */
enum ulp_status ulp_suppression_look(const struct ulp_deciding *deciding, struct ulp_choices *out,
                                     struct ulp_error *error);

/* audit_pair.c: an input, as the reference (or the original) and the lane have it. */
struct ulp_pair ulp_deciding_input(const struct ulp_deciding *deciding, size_t i);

static inline enum ulp_status ulp_deciding_tell(const struct ulp_deciding *deciding,
                                                const struct ulp_turned *turned,
                                                struct ulp_error *error)
{
    return deciding->turned ? deciding->turned(deciding->context, turned, error) : ULP_OK;
}
