/* May something be judged? What every gate asks before it looks at a figure: audits' limits,
 * searches, tolerances, forecasts and comparisons of reports. */
#pragma once

#include <ulpscope/limit.h>

#include "base/memory/alloc.h"
#include "base/text/text.h"

/* What stands against these figures of an output: ULP_CROSSED_VALUE, only their values;
 * ULP_CROSSED_DIVERGED, _NONFINITE, _EMPTY or _NOTHING. */
enum ulp_crossing_kind ulp_judge_metrics(const struct ulp_metrics *metrics);
/* What stands against an output's vacant samples, of which there are some. */
enum ulp_crossing_kind ulp_judge_vacant(const struct ulp_vacant *vacant);
/* The same of a reference's output by itself: _EMPTY, _NOTHING or, where inputs are drawn at random
 * (may be NULL), _IDLE; or ULP_CROSSED_VALUE. */
enum ulp_crossing_kind ulp_judge_reference(const struct ulp_tensor *reference,
                                           const struct ulp_tensor_set *inputs);
/* A name ("empty"), and the rest of a sentence that begins with an output ("has no element to
 * compare"). Static storage; NULL of ULP_CROSSED_VALUE. */
const char *ulp_judge_name(enum ulp_crossing_kind kind);
const char *ulp_judge_reason(enum ulp_crossing_kind kind);
/* The reason of that name; NULL: it is no such name, but that of a figure. */
const char *ulp_judge_find_reason(const char *name);

/* ULP_ERROR_LIMIT when an input holds NaN or infinity: the message names the first one, in the
 * sample of that name (may be NULL). */
enum ulp_status ulp_judge_inputs(const struct ulp_tensor_set *inputs, const char *sample,
                                 struct ulp_error *error);
/* ULP_ERROR_LIMIT, and the sentence. */
enum ulp_status ulp_judge_fail(const struct ulp_unjudged *unjudged, struct ulp_error *error);
/* One more; texts are copied into the arena (name and sample may be NULL). False: no memory. */
bool ulp_unjudged_add(struct ulp_arena *arena, struct ulp_unjudged_list *list,
                      struct ulp_unjudged unjudged);
/* Every input that holds NaN or infinity. */
bool ulp_unjudged_add_inputs(struct ulp_arena *arena, struct ulp_unjudged_list *list,
                             const struct ulp_tensor_set *inputs, const char *sample);
/* Is it by the reference's digits? */
bool ulp_unjudged_is_lost(const struct ulp_unjudged *unjudged);
/* The sentence, made harmless. */
void ulp_unjudged_say(struct ulp_text *out, const struct ulp_unjudged *unjudged);

/* The birth by which that output of the graph is not finite; NULL: none. name NULL: any output, and
 * also one that outputs only depend on. */
const struct ulp_birth *ulp_birth_of(const struct ulp_birth *births, size_t count,
                                     const char *name);
/* "node 3 Div_3 (Div) is 0 / 0, in the reference already"; and why, where that is known, behind ":
 * ". */
void ulp_birth_say(struct ulp_text *out, const struct ulp_birth *birth, bool why);
/* What the user is to do about it: no format mends it. */
void ulp_birth_todo(struct ulp_text *out, const struct ulp_birth *birth);
/* ULP_ERROR_LIMIT, of that output or, NULL, of all. */
enum ulp_status ulp_judge_fail_birth(enum ulp_crossing_kind kind, const struct ulp_birth *birth,
                                     const char *output, const char *sample,
                                     struct ulp_error *error);
/* One more that cannot be judged, by that. False: no memory. */
bool ulp_unjudged_add_birth(struct ulp_arena *arena, struct ulp_unjudged_list *list,
                            enum ulp_crossing_kind kind, const struct ulp_birth *birth,
                            const char *output, const char *sample);

/* Is the reference good for too few digits of the outputs to judge anything by it? */
#define ULP_JUDGING_DIGITS 8.0 /* FP32 has 7.2 */
static inline bool ulp_certificate_is_lost(const struct ulp_certificate *certificate)
{
    return certificate->given && certificate->output_digits < ULP_JUDGING_DIGITS;
}
/* " --reference mpfr:512" where pair has too few. */
void ulp_judge_wider(struct ulp_text *out, const char *reference);
/* "the reference lost its digits at node 0 add (Add): pair is good for 0.9 digits of the
 * outputs"; name and op: of the node at certificate->lost_at. */
void ulp_certificate_say(struct ulp_text *out, const struct ulp_certificate *certificate,
                         const char *name, const char *op, const char *reference);

/* One more, of all outputs, by that. False: no memory. */
bool ulp_unjudged_add_lost(struct ulp_arena *arena, struct ulp_unjudged_list *list,
                           const struct ulp_certificate *certificate, const char *name,
                           const char *op, const char *reference, const char *sample);

/* Is the element a number? Of an MPFR record also beyond double's range. */
bool ulp_judge_is_finite(const struct ulp_tensor *tensor, size_t i);
/* NaN and infinities in a tensor; 0 in integers. */
size_t ulp_judge_count_nonfinite(const struct ulp_tensor *tensor);
