/* Formats with scales by name, and the rules by which scales are chosen. */
#pragma once

#include <string.h>
#include <ulpscope/format.h>

/* Names in the table's order, index 0, 1, ... until NULL. */
const char *ulp_scaling_row(size_t index);
/* The row of that name with the rule that is its own; false: there is none. */
bool ulp_scaling_find(const char *name, struct ulp_scaling *out);
/* What factor= takes: a row, of both factors alike, or a word for two of them ("int8"): of values
 * that are no weights, and of weights. */
bool ulp_scaling_find_word(const char *word, struct ulp_scaling out[2]);
struct ulp_request;
/* What a request says of scales; storage, rounding and accumulator are set. */
enum ulp_status ulp_scaling_resolve(struct ulp_arithmetic *out, const struct ulp_request *request,
                                    struct ulp_error *error);
extern const char *const ulp_scale_rule_names[]; /* by enum ulp_scale_rule, ended by NULL */
/* What the rule says, for sentences: "the scale is ...". */
const char *ulp_scale_rule_meaning(enum ulp_scale_rule rule);

static inline bool ulp_scaling_is_power(const struct ulp_scaling *scaling)
{
    return scaling->scale.lacks == ULP_LACKS_ZERO_AND_SIGN;
}
/* Integers: their elements are one binade. */
static inline bool ulp_scaling_is_integer(const struct ulp_scaling *scaling)
{
    return scaling->name[0] && scaling->element.emin == scaling->element.emax;
}
/* Scales that a block-scaled unit takes beside the elements; else the sums are multiplied by
 * them. */
static inline bool ulp_scaling_is_inside(const struct ulp_scaling *scaling)
{
    return scaling->name[0] && scaling->scale.storage_bits == 8;
}
/* Is there a scale that the whole tensor shares? */
static inline bool ulp_scaling_has_tensor(const struct ulp_scaling *scaling)
{
    return scaling->name[0] && (scaling->tensor_scale || scaling->k + scaling->lines == 0);
}
/* Of an element, with its part of the scale of its block. */
static inline double ulp_scaling_bits(const struct ulp_scaling *scaling)
{
    return scaling->element.storage_bits + (scaling->k && scaling->lines <= 1
                                                ? (double)scaling->scale.storage_bits / scaling->k
                                                : 0);
}
/* The order of struct ulp_factor_range in its list. */
int ulp_factor_range_order(const void *a, const void *b);
/* Of factors, or of weights. */
static inline bool ulp_scaling_is_used(const struct ulp_arithmetic *arithmetic)
{
    return arithmetic->scaling[0].name[0] || arithmetic->weights.name[0];
}
/* Are keys or values rounded as their caches hold them? */
static inline bool ulp_scaling_is_cached(const struct ulp_arithmetic *arithmetic)
{
    return arithmetic->caches[0].name[0] || arithmetic->caches[1].name[0];
}
/* Are factors scaled back, to arithmetic->factor, before they are multiplied, as fake quantisation
 * does? Else that is the format of elements. */
static inline bool ulp_scaling_is_fake(const struct ulp_arithmetic *arithmetic)
{
    return arithmetic->scaling[0].name[0] &&
           strcmp(arithmetic->factor.name, arithmetic->scaling[0].element.name) != 0;
}
