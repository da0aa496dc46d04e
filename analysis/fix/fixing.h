/* The inside of fixing a model (ulpscope/fix.h). */
#pragma once

#include <jansson.h>
#include <ulpscope/fix.h>

#include "analysis/emulation/emulation.h"
#include "analysis/lint/proposal.h"
#include "analysis/resized/resized.h"
#include "analysis/writing/columns.h"

/* Less than that many dB is no gain: other roundings would give or take as much. */
#define ULP_FIX_GAIN_LEAST 0.1

struct ulp_fixing {
    const struct ulp_model *model;
    const struct ulp_fix_options *options;
    const struct ulp_sample *samples;
    size_t sample_count;
    struct ulp_fix *fix;
    const struct ulp_target *target;  /* NULL: none */
    struct ulp_arithmetic arithmetic; /* that it is judged in */
    struct ulp_emulation emulation;   /* of the model as it is given: limits and exact results */
    struct ulp_lint_proposals proposals;
    bool ill;    /* its outputs are fine, and yet it is not: a node overflows */
    bool *taken; /* by proposal */
    /* values that edited models have, too: what is not finite is counted among them */
    struct ulp_names shared;
    struct ulp_model *edited;  /* with those taken; NULL: there are none */
    struct ulp_resizing given; /* the model as it is, in the reference: what edits must give, too */
    struct ulp_resized resized; /* by the first ulp_fix_change */
    bool is_resized;
    struct ulp_model *guarded; /* in the given one's place; NULL: it needed no guard */
    struct ulp_lint_edit *guards;
    size_t guard_count;
    double run_seconds; /* of the model as it is given, in the reference and in the arithmetic */
};

/* fix_judge.c. A model with the given one's outputs. */
struct ulp_fix_judged {
    struct ulp_judgement worst;
    enum ulp_grade grade;
    size_t nonfinite; /* of the shared values, in all samples */
};
/* Open the emulation: exact results, and how the model comes out as it is. */
enum ulp_status ulp_fix_open(struct ulp_fixing *x, struct ulp_fix_judged *out,
                             struct ulp_error *error);
/* Judge another model by these results, with nodes kept (NULL: none). */
enum ulp_status ulp_fix_judge(struct ulp_fixing *x, const struct ulp_model *model,
                              const struct ulp_keeps *keeps, struct ulp_fix_judged *out,
                              struct ulp_error *error);
/* Judge by themselves, as the doctor does, the model that is given, which may be worse than its
 * outputs are; and the file that was written: where it is not fine nothing is met, and it goes
 * unless the best is asked for. */
enum ulp_status ulp_fix_diagnose_given(struct ulp_fixing *x, struct ulp_error *error);
/* In what a model is judged by what the plan found: with TF32 forbidden where it says so. */
enum ulp_status ulp_fix_judged_in(const struct ulp_fixing *x, const struct ulp_model *model,
                                  const char *arithmetic, struct ulp_arithmetic *out,
                                  struct ulp_error *error);
enum ulp_status ulp_fix_diagnose_file(struct ulp_fixing *x, struct ulp_error *error);
/* What the last judgement says, in the result's memory. */
enum ulp_status ulp_fix_report(const struct ulp_fixing *x, const struct ulp_fix_judged *judged,
                               struct ulp_fix_state *out, struct ulp_error *error);
/* Is it what was asked for? */
bool ulp_fix_is_met(const struct ulp_fixing *x, const struct ulp_fix_judged *judged);
/* How many dB `with` has more; infinity: only that is finite, or more of its nodes are where
 * neither is. */
double ulp_fix_gain(const struct ulp_fix_judged *without, const struct ulp_fix_judged *with);
/* What the model changes in exact arithmetic, at the samples' sizes and at others. */
enum ulp_status ulp_fix_change(struct ulp_fixing *x, const struct ulp_model *model,
                               struct ulp_altered *out, struct ulp_error *error);

/* fix_edits.c. Is the rule's edit wanted? */
bool ulp_fix_is_asked(const struct ulp_fix_options *options, const char *rule);
/* Which proposals are taken, and what each gains; *out: how the model comes out with
 * them. */
enum ulp_status ulp_fix_try_edits(struct ulp_fixing *x, const struct ulp_fix_judged *before,
                                  struct ulp_fix_judged *out, struct ulp_error *error);
/* Before powers of two are carried: constants beyond the format (masks) take their edits, although
 * these gain nothing alone, for no power of two makes a mask fit; and lose them where no power
 * gained anything. *after: how the model comes out then. */
enum ulp_status ulp_fix_bring_constants(struct ulp_fixing *x, bool bring,
                                        struct ulp_fix_judged *after, struct ulp_error *error);

/* fix_look.c. A model seen by the lint, with its values' numbers by name, and run in some lanes:
 * what edits are found by that need runs. Closed also after a failure. */
struct ulp_fix_looking {
    struct ulp_lint_proposals p;
    struct ulp_names names;
};
enum ulp_status ulp_fix_look_open(struct ulp_fix_looking *looking, const struct ulp_model *model,
                                  struct ulp_error *error);
enum ulp_status ulp_fix_look_run(const struct ulp_fixing *x, const struct ulp_fix_looking *looking,
                                 const struct ulp_arithmetic *lanes, size_t lane_count,
                                 const struct ulp_observer *observer, struct ulp_error *error);
void ulp_fix_look_close(struct ulp_fix_looking *looking);
/* fix_guard.c. Where 0 / 0 leaves nothing to judge: the model with guards, where there are any. */
enum ulp_status ulp_fix_guard(struct ulp_fixing *x, struct ulp_error *error);
/* fix_powers.c. One more edit of the result; mended: values that it makes finite. */
enum ulp_status ulp_fix_say_edit(struct ulp_fixing *x, const struct ulp_lint_edit *said,
                                 struct ulp_fix_edit edit, size_t mended, struct ulp_error *error);
/* Where the goal is not met: values that leave the format are stored times powers of
 * two, which *after gains. */
enum ulp_status ulp_fix_carry_powers(struct ulp_fixing *x, struct ulp_fix_judged *after,
                                     struct ulp_error *error);

/* fix_text.c: what is said first, and beside it. fix_write.c: the result as a document; NULL: out
 * of memory. */
void ulp_fix_conclude(struct ulp_headline *head, const void *fix, size_t part);
json_t *ulp_fix_notes(const struct ulp_fix *fix);
