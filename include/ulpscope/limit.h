/* Limits that an audit is to meet, as a person writes them, and what does not meet them. The
 * calls on one audit are for one thread at a time. */
#ifndef ULPSCOPE_LIMIT_H
#define ULPSCOPE_LIMIT_H

#include <ulpscope/audit.h>

enum ulp_crossing_kind {
    ULP_CROSSED_VALUE,    /* the figure is above the limit (cosine and sqnr_db: below it), or NaN */
    ULP_CROSSED_NOTHING,  /* no finite element to compare */
    ULP_CROSSED_UNPAIRED, /* the reference model has no value to compare with */
    ULP_CROSSED_DIVERGED, /* its shape or integers differ from the reference's */
    ULP_CROSSED_INPUT,    /* NaN or infinity in an input of the model: output is its name */
    ULP_CROSSED_EMPTY,    /* no element at all, as of an empty batch */
    ULP_CROSSED_IDLE,     /* floats that are all 0 in the reference, of random inputs */
    ULP_CROSSED_NONFINITE, /* elements that are not finite, and differ from the reference's: of
                              these a figure says nothing. value: how many */
    ULP_CROSSED_REFERENCE, /* elements of the reference itself are not finite, from `node` on
                              (struct ulp_birth). value: how many of that node's */
    ULP_CROSSED_HIDDEN, /* output is no output of the graph, but what is not finite in the reference
                           and what outputs depend on although they are finite */
    ULP_CROSSED_LOST,   /* the reference is good for less than 8 digits of the outputs (its
                           certificate): value. output is NULL */
    ULP_CROSSED_NO_FIGURE, /* no output has such a figure, by what it is for: output is NULL */
    ULP_CROSSED_NO_OUTPUT, /* the model, or the limit, has no output: output is NULL */
};
/* A limit that is not met: by the worst output of one arithmetic, or by an input. Strings belong to
 * the audit. */
struct ulp_crossing {
    enum ulp_crossing_kind kind;
    const char *arithmetic; /* NULL: an input */
    const char *output;
    const char *node;   /* that computes the output; NULL: not known */
    const char *sample; /* of an input, or in which alone there is nothing to compare; else NULL */
    double value, limit;
    size_t more; /* number of further outputs of the arithmetic, or inputs, that do not meet it */
};
struct ulp_crossing_list {
    size_t count;
    struct ulp_crossing *items; /* freed with free */
};

/* What a result says nothing of, and why: a gate on the result must not open because of it. Strings
 * belong to the result. */
struct ulp_unjudged {
    bool is_input;      /* of the model, which a caller may have meant; else an output */
    const char *name;   /* NULL: the model has no output */
    const char *sample; /* NULL: of all */
    const char *reason; /* the rest of a sentence: "has no element to compare" */
    /* "node 3 quotient (Div) is 0 / 0, in the reference already: all of c is 0" (struct ulp_birth);
     * NULL: not known */
    const char *because;
};
struct ulp_unjudged_list {
    size_t count, capacity; /* capacity: private */
    struct ulp_unjudged *items;
};
/* The sentence on one of them, without a full stop; free *out with free(). */
ULP_API enum ulp_status ulp_unjudged_text(const struct ulp_unjudged *unjudged, char **out,
                                          struct ulp_error *error);

/* Check an audit against a limit "METRIC=VALUE". METRIC is max_abs, rms, mean, max_rel, max_ulp,
 * median_ulp, cosine or sqnr_db, alone (of entire) or after "single.", "entire.", "introduced." or
 * "carried."; a figure of struct ulp_judged as
 * top1_flips (of outputs that have it; doc/verdicts.md); nonfinite (of every node),
 * outputs.nonfinite (of the graph's outputs) or diverged (1: an output's shape or integers differ
 * from the reference's). The limit applies to every arithmetic, sample and graph output; "ARITH:",
 * "OUTPUT:" or "ARITH:OUTPUT:" before METRIC restricts it to these, as in "fp16:logits:sqnr_db=40".
 *
 * An output that cannot be compared does not meet a limit, nor does an audit whose inputs are not
 * finite, unless allow_nonfinite_inputs. Of a float output that has diverged the figures with the
 * reference's decisions count (ulp_divergence.followed), unless with them nothing is left of its
 * error: an output that is itself a decision is compared with itself, and does not meet a limit on
 * a figure. nonfinite and outputs.nonfinite leave out what has diverged, unless no other output is
 * left. *out is empty when the limit is met. An unknown metric,
 * arithmetic or output: ULP_ERROR_USAGE, and the message lists the known ones. */
ULP_API enum ulp_status ulp_audit_check(const struct ulp_audit *audit, const char *limit,
                                        bool allow_nonfinite_inputs, struct ulp_crossing_list *out,
                                        struct ulp_error *error);
/* Check the limits and keep them in the audit with what does not meet them, for its reports. Errors
 * as of ulp_audit_check. */
ULP_API enum ulp_status ulp_audit_keep_limits(struct ulp_audit *audit, const char *const *limits,
                                              size_t count, bool allow_nonfinite_inputs,
                                              struct ulp_error *error);
/* Check, before an audit is run, that the limit is written correctly and that its arithmetic and
 * output are those of the program, which is a program of the model. program NULL: only how it is
 * written. ULP_ERROR_USAGE when not. */
ULP_API enum ulp_status ulp_limit_check(const char *limit, const struct ulp_model *model,
                                        const struct ulp_program *program, struct ulp_error *error);
/* A crossing in one line, as "fp16, output logits of node head: sqnr_db 3, limit 40". Free *out
 * with free(). */
ULP_API enum ulp_status ulp_crossing_text(const struct ulp_crossing *crossing, const char *limit,
                                          char **out, struct ulp_error *error);

#endif
