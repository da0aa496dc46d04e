/* Outputs as those who use them see them: choices, tokens, boxes, masks, vectors (struct
 * ulp_judged); the rules of verdict.def. */
#pragma once

#include <math.h>
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
/* ... of one grade and task that with the larger error, else the first. */
bool ulp_judged_is_worse(const struct ulp_judged *one, const struct ulp_judged *other);

/* A row of probabilities adds up to 1 within this. */
#define ULP_ADDS_UP 0.05

/* Along the last axis; of axis 1; an eighth of a long last axis. */
enum ulp_judged_group { ULP_GROUP_COLUMN, ULP_GROUP_CHANNEL, ULP_GROUP_WINDOW };

/* What an output is for, and why. */
struct ulp_purpose {
    enum ulp_task task;
    enum ulp_basis basis;
};
/* A vocabulary has no fewer tokens. Do an output's rows have an element for each token that the
 * model reads? Perhaps: features of tokens are as many. */
enum { ULP_VOCABULARY_MIN = 16 };
enum ulp_vocabulary { ULP_VOCABULARY_NONE, ULP_VOCABULARY_PERHAPS, ULP_VOCABULARY_SURE };
/* Of the reference's values of a float output of that name, whose last operator that computes is
 * `op`. */
struct ulp_purpose ulp_task_recognise(const struct ulp_tensor *output, const char *name,
                                      const char *op, enum ulp_vocabulary vocabulary);
/* Axes, without those behind the second where all of them are 1. */
int ulp_judged_rank(const struct ulp_tensor *output);

/* Measure value against base, of one shape. Integers that are a signal are steps, and no figure is
 * theirs; others are choices of their own, whatever the task. */
enum ulp_status ulp_judged_measure(const struct ulp_tensor *value, const struct ulp_tensor *base,
                                   struct ulp_purpose purpose, struct ulp_budget *budget,
                                   struct ulp_judged *out, struct ulp_error *error);
/* Another sample's, of the same output. */
void ulp_judged_add(struct ulp_judged *sum, const struct ulp_judged *more);

/* Has the task a rule of its own for the figure? Its outputs have it then. */
bool ulp_task_has(enum ulp_task task, int figure);
/* From how many decibels on the task's outputs are fine, below how many broken; of one without such
 * a rule as of a signal. */
double ulp_task_decibels(enum ulp_task task, bool broken);
/* "logits is at 63.1 dB", "logits equals the reference", "logits has an error where the reference
 * is 0": of no more is it -infinity or NaN. */
void ulp_judged_say_sqnr(struct ulp_text *out, const char *name, double db);
/* What the rules say of the figures, in a sentence. */
enum ulp_grade ulp_judged_grade(const struct ulp_judged *judged, struct ulp_text *text);
/* Each gets its grade, of those that are for something; the first whose grade weighs most. count:
 * there is none. */
size_t ulp_judged_worst(struct ulp_judged *items, size_t count);

/* "fine (logits, classify by name: 0 of 3 first choices change)"; name NULL: not said. Where the
 * rule is about decibels alone, which others say, "fine (signal)", if it is fine. */
void ulp_judged_say(struct ulp_text *out, enum ulp_grade grade, const struct ulp_judged *judged,
                    const char *name);

/* Does its text say more than the decibels of the whole? */
bool ulp_judged_tells(const struct ulp_judged *judged);
/* Behind that text: ", at 63.1 dB"; behind decibels of a group ", the whole at 63.1 dB". */
void ulp_judged_say_whole(struct ulp_text *out, const char *text, double db);
/* Of an output: class numbers and indices are counted, and objects stand in any order. NaN: of
 * these. */
static inline double ulp_judged_decibels(const struct ulp_judged *judged, double sqnr_db)
{
    const bool counted = judged->task == ULP_TASK_INTEGER || judged->task == ULP_TASK_OBJECTS;
    return counted ? (double)NAN : sqnr_db;
}
/* Of two figures, of which NaN is none. */
static inline double ulp_worst_of(double a, double b, enum ulp_worst worst)
{
    return isnan(a)                      ? b
           : isnan(b)                    ? a
           : worst == ULP_WORST_SMALLEST ? (a < b ? a : b)
                                         : (a > b ? a : b);
}
/* "classify by name" */
void ulp_judged_say_task(struct ulp_text *out, const struct ulp_judged *judged);

/* Log-probabilities in place: of probabilities their logarithms (true), of scores less the
 * logarithm of the sum of their exponentials. */
bool ulp_judged_logs(double *row, size_t length);
