/* Emulating one choice after another of each node's arithmetic on given samples, and judging the
 * outputs by tolerances: what searches (analysis/search) propose is proven here.
 * Functions enter no environment: their callers have. */
#pragma once

#include <ulpscope/audit.h>
#include <ulpscope/mixed.h>
#include <ulpscope/target.h>

#include "analysis/measure/limit.h"
#include "analysis/tried/tried.h"
#include "run/pass/trial.h"
#include "run/program/program.h"

/* Does no file keep a node in FP32 there? Nor in integer kernels, which have no types to keep. */
bool ulp_judged_deaf(const struct ulp_target *target, const char *arithmetic);
/* ulp_judged_in; where two kinds of processors differ, in those whose sums saturate. */
enum ulp_status ulp_judged_in_worse(const struct ulp_model *model, const char *target,
                                    const char *arithmetic, char *name, struct ulp_arithmetic *out,
                                    struct ulp_error *error);

/* The worst of what is judged in one sample, as ratio of errors: at most 1 is within tolerance.
 * metric: of the tolerance, or what stands against the output (ulp_judge_name). */
struct ulp_judgement {
    double ratio;
    const char *output, *metric;
    double value;
    bool loses; /* the task's own figure is less by more than may be, or is none */
};

/* What is emulated. */
struct ulp_emulated {
    const struct ulp_model *model;
    const struct ulp_arithmetic *reference, *arithmetic;
    const struct ulp_sample *samples;
    size_t sample_count;
    const char *const *tolerances; /* as in struct ulp_search_options */
    size_t tolerance_count;
    int thread_count;
    bool allow_nonfinite_inputs;
    bool lower_outputs; /* FLOAT outputs of the graph get the arithmetic's own type */
    const struct ulp_observer *progress; /* `cancelled` is asked before each run; may be NULL */
    const char *what;                    /* "a plan", in messages */
    enum ulp_task task;                  /* of float outputs; ULP_TASK_UNKNOWN: is recognised */
    const struct ulp_scorer *scorer;     /* as in struct ulp_search_options */
};

/* Problems of one shape of each input and the same constants, in order. */
struct ulp_emulated_shape {
    size_t first, count;             /* the first of them */
    struct ulp_perturbation redrawn; /* of a drawn problem, which has a shape of its own */
    struct ulp_program *program;     /* its own; NULL: the emulation's, or the trial is not open */
    struct ulp_trial *trial;         /* of the second lane; NULL: not open */
};

/* Problems drawn anew, at most: what searches run besides the samples. */
#define ULP_DRAWN_MAX 4
/* Arithmetics side by side, at most. */
#define ULP_BESIDE_MAX 16
/* The orders in which an arithmetic's sums may be formed: its sum whole or in slices, and then the
 * same with rows by warps, where there is one. */
struct ulp_legal_schedules {
    char name[sizeof((struct ulp_arithmetic *)0)->name]; /* of the arithmetic */
    struct ulp_arithmetic *items;
    size_t count;
};

struct ulp_emulation {
    struct ulp_emulated given;
    /* What is run: the samples, then problems close by, in which every rounding is drawn anew
     * (analysis/schedule/redraw.h) */
    size_t problem_count;
    const struct ulp_tensor_set **inputs; /* by problem */
    struct ulp_tensor_set drawn[ULP_DRAWN_MAX];
    struct ulp_legal_schedules schedules[ULP_BESIDE_MAX]; /* of draws so far */
    size_t schedules_count;
    struct ulp_program *program;  /* the first of plans; lanes: the reference, the arithmetic */
    struct ulp_programs programs; /* for audits and held-out samples; all have the first's nodes */
    struct ulp_keeps keeps[2];    /* of the plans' lanes: what ulp_emulation_keep said */
    struct ulp_arithmetic lanes[2];
    struct ulp_arena *memory;
    struct ulp_pool *pool;
    struct ulp_emulated_shape *shapes; /* the first sample's first */
    size_t shape_count;
    size_t *shape_of, *place; /* by problem: its shape, and its place among those that have it */
    const struct ulp_arithmetic *keep_in; /* of ulp_emulation_choices */
    size_t keep_count;
    double work; /* of trials that were closed */
    struct ulp_limit *limits;
    size_t limit_count;
    struct ulp_tensor_set *truths; /* of each problem: the reference's outputs */
    bool *scored;                  /* of each problem: the figure of its truth is known */
    double *scores;                /* the given scorer's, which may take long */
    struct ulp_tensor **integers;  /* of each problem, by slot of the main graph: the reference's */
    /* Where runs take the reference's decisions (follows): by output, it diverged before. One that
     * is nothing but a decision is left out of what is judged, as long as another is there. */
    bool *decided, *left;
    bool follows;
    size_t first_problem;      /* the one that failed last is tried first */
    double deadline;           /* by ulp_seconds_now; 0: none */
    bool late;                 /* it was over before all problems of a run were */
    size_t runs;               /* each of one problem */
    struct ulp_judged *judged; /* by output: what runs of samples give is added; NULL: nothing */
};

/* Plan the model for every sample's shapes. Closed also after a failure. */
enum ulp_status ulp_emulation_open(struct ulp_emulation *emulation,
                                   const struct ulp_emulated *given, struct ulp_error *error);
void ulp_emulation_close(struct ulp_emulation *emulation);

/* The second lane of audits and held-out samples keeps these nodes; they are copied. */
enum ulp_status ulp_emulation_keep(struct ulp_emulation *emulation, const struct ulp_keeps *keeps,
                                   struct ulp_error *error);

/* emulation_audit.c. One audit of all samples with shares, in which the second lane keeps what
 * ulp_emulation_keep gave it; the truths. Free *out with ulp_audit_free. */
enum ulp_status ulp_emulation_audit(struct ulp_emulation *emulation, struct ulp_audit *out,
                                    struct ulp_error *error);
/* An observer of a run of the plan on a problem, which notes what the reference decides. notes:
 * room for it. */
struct ulp_emulation_notes {
    struct ulp_emulation *emulation;
    const struct ulp_program *program;
    struct ulp_tensor *integers;
};
struct ulp_observer ulp_emulation_note(struct ulp_emulation *emulation, size_t problem,
                                       const struct ulp_program *program,
                                       struct ulp_emulation_notes *notes);

/* draws.c. So many problems more, drawn anew of the samples in turn. After the audit and before
 * ulp_emulation_choices. */
enum ulp_status ulp_emulation_redraw(struct ulp_emulation *emulation, size_t count,
                                     struct ulp_error *error);
/* A problem close by the sample draw % sample_count, in each of the lanes. An arithmetic whose sums
 * may be formed in several orders has one of them. */
enum ulp_status ulp_emulation_draw(struct ulp_emulation *emulation, size_t draw,
                                   const struct ulp_attempt *lanes, size_t count,
                                   struct ulp_judgement *out, struct ulp_error *error);
/* The sample itself. */
enum ulp_status ulp_emulation_beside(struct ulp_emulation *emulation, size_t sample,
                                     const struct ulp_attempt *lanes, size_t count,
                                     struct ulp_judgement *out, struct ulp_error *error);

/* The nodes that the lane computes in kernels with others. */
enum ulp_status ulp_emulation_count_fused(const struct ulp_emulation *emulation,
                                          const struct ulp_attempt *lane, size_t *out,
                                          struct ulp_error *error);

/* The arithmetics in which runs may keep nodes, which outlive the emulation. Once, after the truths
 * are known. */
enum ulp_status ulp_emulation_choices(struct ulp_emulation *emulation,
                                      const struct ulp_arithmetic *keep_in, size_t count,
                                      struct ulp_error *error);
/* What runs have computed, in whole runs of one sample. */
double ulp_emulation_work(const struct ulp_emulation *emulation);
/* From now on runs take the reference's decisions. */
void ulp_emulation_follow(struct ulp_emulation *emulation);

/* emulation_judge.c */
enum ulp_status ulp_emulation_limits(struct ulp_emulation *emulation, struct ulp_error *error);
/* ULP_ERROR_LIMIT when an input of the samples holds what is not finite, unless that is allowed. */
enum ulp_status ulp_emulation_check_inputs(const struct ulp_emulated *given,
                                           const struct ulp_sample *samples, size_t count,
                                           struct ulp_error *error);
/* ULP_ERROR_LIMIT when the truths leave nothing to judge by, or are not finite: no search could
 * find it. By the births of an audit of the samples; NULL: they are looked for. And the same of a
 * sample and what its outputs are in the reference. */
enum ulp_status ulp_emulation_check_truths(const struct ulp_emulation *emulation,
                                           const struct ulp_audit *audit, struct ulp_error *error);
enum ulp_status ulp_emulation_check_sample(const struct ulp_emulation *emulation,
                                           const struct ulp_sample *sample,
                                           const struct ulp_tensor_set *truth,
                                           struct ulp_error *error);
enum ulp_status ulp_emulation_judge(const struct ulp_emulation *emulation,
                                    const struct ulp_tensor_set *outputs,
                                    const struct ulp_tensor_set *truth, struct ulp_judgement *out,
                                    struct ulp_error *error);
bool ulp_emulation_diverged(const struct ulp_emulation *emulation,
                            const struct ulp_judgement *judgements);
/* Before runs of which is asked whether they diverge: those of others do not count. */
void ulp_emulation_forget_decided(struct ulp_emulation *emulation);
/* Of all outputs as `judged` has them, and what is worst in all samples: what is not finite, or has
 * another shape, is broken whatever its figures are. */
enum ulp_grade ulp_emulation_grade(const struct ulp_emulation *emulation,
                                   const struct ulp_judgement *worst);
/* *judged, to be freed (ulp_free): of outputs that are one list's what is said of the list, else
 * UNKNOWN. */
enum ulp_status ulp_emulation_lists(const struct ulp_emulation *emulation,
                                    const struct ulp_tensor_set *outputs,
                                    const struct ulp_tensor_set *truth,
                                    struct ulp_judged **judged, struct ulp_error *error);
/* What the output is for, as asked or as it looks. */
struct ulp_purpose ulp_emulation_purpose(const struct ulp_emulation *emulation, size_t output,
                                         const struct ulp_tensor *truth);

/* shapes.c. Which sample has which shapes; every one is planned once. */
enum ulp_status ulp_emulation_shapes(struct ulp_emulation *emulation, struct ulp_error *error);
/* Run a problem as ulp_trial_run does, in *trial, that of its shapes. Trials stay open; where
 * memory is short, only the problem's. */
enum ulp_status ulp_emulation_run(struct ulp_emulation *emulation, size_t problem,
                                  const uint16_t *kept, struct ulp_trial **trial,
                                  struct ulp_tensor_set *outputs, struct ulp_error *error);
enum ulp_status ulp_emulation_open_trial(struct ulp_emulation *emulation, size_t shape,
                                         struct ulp_error *error);
/* SIZE_MAX: all. */
void ulp_emulation_close_trials(struct ulp_emulation *emulation, size_t except);

/* try.c. Every problem with the nodes kept as ulp_trial_run says: each sample's judgement (may be
 * NULL) and the worst ratio, infinite where the deadline leaves some out. */
enum ulp_status ulp_emulation_judge_all(struct ulp_emulation *emulation, const uint16_t *kept,
                                        struct ulp_judgement *judgements, double *ratio,
                                        struct ulp_error *error);
/* One problem, compared with the last run that was judged in all. */
enum ulp_status ulp_emulation_problem(struct ulp_emulation *emulation, size_t problem,
                                      const uint16_t *kept, struct ulp_judgement *out,
                                      struct ulp_error *error);
/* The same, left at the first problem that fails. *all: none was left out. */
enum ulp_status ulp_emulation_try(struct ulp_emulation *emulation, const uint16_t *kept,
                                  double *ratio, bool *all, struct ulp_error *error);
/* Where no audit gives them: the truths of all samples, checked. */
enum ulp_status ulp_emulation_truths(struct ulp_emulation *emulation, struct ulp_error *error);
/* What gives the same outputs in one lane, as an edited model or a file that was written: the worst
 * of all samples, by their truths. looking: may be NULL. */
enum ulp_status ulp_emulation_judge_lane(struct ulp_emulation *emulation,
                                         struct ulp_programs *programs,
                                         const struct ulp_observer *looking,
                                         struct ulp_judgement *worst, struct ulp_error *error);
/* A sample that was not emulated before, as any user would run it: the second lane keeps what
 * ulp_emulation_keep gave it. Of any shapes. */
enum ulp_status ulp_emulation_held_out(struct ulp_emulation *emulation,
                                       const struct ulp_sample *sample, struct ulp_judgement *out,
                                       struct ulp_error *error);

/* Likewise every sample with decisions of its own: how the output of the graph looks to those who
 * use it. ULP_TASK_UNKNOWN: it has another shape in each. */
enum ulp_status ulp_emulation_decide(struct ulp_emulation *emulation, size_t output,
                                     struct ulp_judged *out, struct ulp_error *error);

/* entries.c: what each node is kept in, as patterns of struct ulp_keep. Of several that name a node
 * the last applies. Charged to memory. */
struct ulp_entry {
    char *pattern;
    uint16_t kept;
};
enum ulp_status ulp_emulation_entries(const struct ulp_emulation *emulation, const uint16_t *kept,
                                      struct ulp_arena *memory, struct ulp_entry **out,
                                      size_t *count, struct ulp_error *error);
