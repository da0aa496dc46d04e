/* What the doctor's files share. */
#pragma once

#include <jansson.h>

#include <ulpscope/doctor.h>

#include "analysis/writing/columns.h"
#include "base/memory/alloc.h"
#include "base/text/text.h"

enum { ULP_SINGLE = 24 }; /* bits of FP32's precision */
enum { ULP_DOCTOR_SUMS = 2 };

struct ulp_doctoring {
    const struct ulp_model *model;
    const struct ulp_doctor_options *options;
    const struct ulp_sample *samples;
    size_t sample_count;
    struct ulp_doctor *doctor;
    /* A graph in FP32 that the target leaves so: what is judged is that, or, named by its
     * arithmetic, a conversion; the other is `beside`. `forbidden`: without the TF32 of the first.
     */
    bool floats, converts, has_tf32;
    struct ulp_arithmetic beside, forbidden;
    bool forbidding_mends;
    bool by_target;                    /* what is judged is the target's, also where it was named */
    const struct ulp_audit_lane *lane; /* that is judged */
    const struct ulp_target *target;   /* NULL: none */
    const struct ulp_target_choice *processors; /* that differ; NULL: none */
    bool exact_is_worse;                        /* of these, the one whose sums are exact */
    bool sums_alike; /* or saturated sums are no cause: the error is the same without */
    /* causes whose errors a node behind them makes count for more, and that node, by index */
    struct ulp_doctor_through {
        size_t cause, at;
    } through[3];
    size_t through_count;
    /* nodes that a wider arithmetic is tried in, where FP32 is what is wrong; NULL: there are none
     */
    size_t wide_first, wide_last;
    /* how is added, where nothing recorded or documented says it: the other choices are the audit's
     * last lanes, beside its lane `sums_of`; the node that makes the answer depend on how rows
     * inside operators are, NULL: it does not */
    struct ulp_doctor_sums {
        const struct ulp_target_choice *row;
        struct ulp_arithmetic arithmetic;
    } sums[ULP_DOCTOR_SUMS];
    size_t sum_count, sums_of;
    const struct ulp_audit_node *adds;
    bool only_inside; /* all is fine where they are added in FP32 */
    const char *wide_in;
    size_t cause_capacity;
    struct ulp_doctor_cause unkept; /* one that there was no memory for */
    double started;
    bool typed;  /* what it is judged in stores in a type that nodes of a graph may have */
    bool failed; /* out of memory */
};

/* doctoring.c: the text (NULL: none) in the result's memory; and one more cause, about a node
 * (NULL: none) and a value (NULL: none); the sentence is taken and freed. */
char *ulp_doctor_copy(struct ulp_doctoring *x, const char *text);
struct ulp_doctor_cause *ulp_doctor_add(struct ulp_doctoring *x, enum ulp_doctor_reason reason,
                                        const struct ulp_audit_node *node, const char *value,
                                        struct ulp_text *text);

/* doctoring.c: the text in the result's memory; it is freed. */
char *ulp_doctor_keep(struct ulp_doctoring *x, struct ulp_text *text);

/* doctoring.c: a step begins. */
void ulp_doctor_begin(const struct ulp_doctoring *x, const char *step, size_t index);

/* doctor_forecast.c: doctor->overflow, where something overflows. */
enum ulp_status ulp_doctor_forecast(struct ulp_doctoring *x,
                                    const struct ulp_arithmetic *arithmetic,
                                    struct ulp_error *error);

/* doctor_inside.c: what an arithmetic of that name leaves open; and, of the lane that it is, what
 * comes of the other choices, behind a verdict of that grade. */
void ulp_doctor_choose_sums(struct ulp_doctoring *x, const char *arithmetic);
enum ulp_status ulp_doctor_weigh_sums(struct ulp_doctoring *x, size_t of, enum ulp_grade grade,
                                      struct ulp_text *out, struct ulp_error *error);
/* doctor_inside.c: the choice of rows, which there is. */
const struct ulp_doctor_sums *ulp_doctor_rows(const struct ulp_doctoring *x);

/* doctor_plan.c: doctor->plan, where something is wrong that nodes in FP32 may mend; the sqnr_db
 * that it is to meet; and whether it does: one that keeps nothing changes nothing, one of every
 * node is no file, and outputs may not be fine at the plan's decibels. */
enum ulp_status ulp_doctor_plan(struct ulp_doctoring *x, struct ulp_error *error);
double ulp_doctor_tolerance(const struct ulp_doctoring *x);
bool ulp_doctor_mends(const struct ulp_search *plan);

/* cause.c: all causes, by the rules. */
enum ulp_status ulp_doctor_find_causes(struct ulp_doctoring *x, struct ulp_error *error);
#define CAUSE(reason, word, function, what) void function(struct ulp_doctoring *x);
#include "analysis/doctor/reason.def"

/* doctor_wider.c: where FP32 is what is wrong: the nodes that FP64 may mend, and the remedy that
 * this is, as a run gives it. */
enum ulp_status ulp_doctor_try_wider(struct ulp_doctoring *x, struct ulp_error *error);

/* doctor_todo.c: doctor->remedy, and behind it doctor->next. */
enum ulp_status ulp_doctor_say_remedy(struct ulp_doctoring *x, struct ulp_error *error);
void ulp_doctor_say_next(struct ulp_doctoring *x);

/* doctor_text.c: what is said first, and beside it. */
void ulp_doctor_conclude(struct ulp_headline *head, const void *doctor, size_t part);
json_t *ulp_doctor_notes(const void *doctor);

/* doctor_lint.c: an error of the lint that no figure shows: the target refuses the graph, or takes
 * it for another; NULL: there is none, or no target was named. */
const struct ulp_finding *ulp_doctor_find_refused(const struct ulp_doctor *doctor);

/* doctoring.c: the node that makes the cause's error count for more; the cause's own: none does.
 */
ptrdiff_t ulp_doctor_through(const struct ulp_doctoring *x, const struct ulp_doctor_cause *cause);

/* doctor_lint.c: what the lint says of the causes that were found: its rule, and what to do. */
void ulp_doctor_match_lint(struct ulp_doctoring *x);
