/* Outputs as those who use them see them: choices, tokens, boxes, masks, vectors (struct
 * ulp_judged); the rules of verdict.def. */
#pragma once

#include "analysis/measure/figure.h"
#include "base/memory/alloc.h"
#include "base/text/text.h"

enum ulp_judged_figure {
#define FIGURE(name, worst, meaning) ULP_JUDGED_##name,
#include "analysis/measure/verdict.def"
    ULP_JUDGED_COUNT
};
struct ulp_judged_row {
    const char *name;
    size_t offset; /* of a double in struct ulp_judged */
    enum ulp_worst worst;
};
extern const struct ulp_judged_row ulp_judged_rows[ULP_JUDGED_COUNT];
double ulp_judged_get(const struct ulp_judged *judged, int figure);

/* Of several outputs the worst counts: broken before not judged before borderline. */
int ulp_grade_weigh(enum ulp_grade grade);

/* The task of an output of that name and shape, whose last operator that computes is `op`. */
enum ulp_task ulp_task_recognise(const struct ulp_tensor *output, const char *name, const char *op);

/* Measure value against base, of one shape. Integers are choices of their own; amounts: they are
 * steps, and no figure is theirs. */
enum ulp_status ulp_judged_measure(const struct ulp_tensor *value, const struct ulp_tensor *base,
                                   enum ulp_task task, bool amounts, struct ulp_budget *budget,
                                   struct ulp_judged *out, struct ulp_error *error);
/* Another sample's, of the same output. */
void ulp_judged_add(struct ulp_judged *sum, const struct ulp_judged *more);

/* Has the task a rule of its own for the figure? Its outputs have it then. */
bool ulp_task_has(enum ulp_task task, int figure);
/* "logits is at 63.1 dB", "logits equals the reference", "logits has an error where the reference
 * is 0": of no more is it -infinity or NaN. */
void ulp_judged_say_sqnr(struct ulp_text *out, const char *name, double db);
/* What the rules say of the figures, in a sentence. */
enum ulp_grade ulp_judged_grade(const struct ulp_judged *judged, struct ulp_text *text);

/* "fine (logits, classify: 0 of 3 first choices change)"; name NULL: not said. Where the rule is
 * about decibels alone, which others say, "fine (signal)". */
void ulp_judged_say(struct ulp_text *out, enum ulp_grade grade, const struct ulp_judged *judged,
                    const char *name);

/* Does its text say more than that and its decibels? */
bool ulp_judged_tells(const struct ulp_judged *judged);

/* judged_rows.c: the first of the largest; NaN is no choice where there is another. */
size_t ulp_first_choice(const double *row, size_t length);
