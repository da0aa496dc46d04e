/* Affine forms: of a number that depends on others in a way that intervals forget, as a residual
 * stream and what is added to it do. x = centre + sum of terms[s] e_s + r with |e_s| <= 1, the same
 * e_s in all forms, and |r| <= rest; x - x is 0, and sums of products with weights know how their
 * elements move together. (De Figueiredo, Stolfi: Affine arithmetic, 2004; the relaxation of
 * max: Singh et al., Fast and effective robustness certification, 2018.)
 *
 * A term stands for one unknown: an element of an input, or what a step that is not linear has done
 * to an element. Roundings go to `rest`. */
#pragma once

#include <math.h>

#include "ops/trace/enclosing.h"

/* Terms of all elements that a node computes, or of a tensor; products of terms with weights in one
 * contraction. What is beyond is bounded by intervals and joints alone. */
#define ULP_AFFINE_TERMS_MAX ((size_t)1 << 24)
#define ULP_AFFINE_PRODUCTS_MAX 0x1p33

static inline bool ulp_affine_is(const struct ulp_affine *x)
{
    return x && x->rest < INFINITY;
}
/* How far from its centre, at most; its largest magnitude. */
static inline double ulp_affine_radius(const struct ulp_affine *x)
{
    return (x->spread + x->rest) * (1 + 0x1p-50);
}
static inline double ulp_affine_magnitude(const struct ulp_affine *x)
{
    return (fabs(x->centre) + ulp_affine_radius(x)) * (1 + 0x1p-50);
}
/* It may be off by so much more. */
static inline void ulp_affine_loosen(struct ulp_affine *x, double error)
{
    x->rest = (x->rest + error) * (1 + 0x1p-51);
}
/* Without terms: all of the interval is rest. None, when anything may be. */
struct ulp_affine ulp_affine_of_interval(const struct ulp_intervals *x, size_t i);

/* A sum of forms with weights, into a row of its own: begin, add, finish. */
struct ulp_affine_sum {
    double *row; /* terms first to first + count */
    uint32_t first, end;
    double centre, rest, size;
    double steps;
};
/* The terms that a sum with x as a summand has, too; start with end 0. */
void ulp_affine_span(struct ulp_affine_sum *sum, const struct ulp_affine *x);
/* row: end - first zeros */
void ulp_affine_begin(struct ulp_affine_sum *sum, double *row);
void ulp_affine_add(struct ulp_affine_sum *sum, double weight, const struct ulp_affine *x);
/* a b = cb a + ca b - ca cb + (a - ca)(b - cb) */
void ulp_affine_add_product(struct ulp_affine_sum *sum, const struct ulp_affine *a,
                            const struct ulp_affine *b);
/* error: more that the result may be off by. What doubles lose is added: each of the sums, of
 * centres and of each term, errs by less than steps + 8 units of the sum of magnitudes. */
struct ulp_affine ulp_affine_finish(const struct ulp_affine_sum *sum, double error);

/* Number i is known by the form as well as by its interval: the better of both, before it is
 * stored. Returns the form to keep, or none: when it says less than the interval. */
struct ulp_affine ulp_affine_meet(const struct ulp_affine *form, const struct ulp_intervals *x,
                                  size_t i);
/* After rounding to the format. */
void ulp_affine_store(struct ulp_affine *form, const struct ulp_format *format);

/* Memory for the forms of a tensor's elements, none yet, and their terms: the caller frees *forms.
 */
enum ulp_status ulp_affine_allocate(size_t count, size_t terms, struct ulp_budget *budget,
                                    struct ulp_affine **forms, double **row,
                                    struct ulp_error *error);
/* A copy whose terms begin at *row, which is moved behind them. */
struct ulp_affine ulp_affine_copy(const struct ulp_affine *form, double **row);

/* affine_tape.c: the forms of a formula's instructions at positions 0 to n, which are reduced
 * together, or (n 1) one of them. operands: by instruction and position, NULL where the interval
 * alone is known; `values` from position k on. results: those of outputs hold until the next call.
 * False: there is none. */
struct ulp_affine_tape {
    const struct ulp_tape *tape;
    const struct ulp_interval_rule *rule;
    const struct ulp_intervals *values;
    size_t stride; /* of results and operands: from one instruction to the next */
    const struct ulp_affine **operands;
    struct ulp_affine *results;
    bool *wanted; /* by instruction */
    double *scratch;
    size_t scratch_count, scratch_used;
};
/* Are there instructions that lead from operands to an output by linear steps? */
bool ulp_affine_tape_leads(const struct ulp_tape *tape, bool *wanted);
bool ulp_affine_tape_run(struct ulp_affine_tape *at, size_t k, size_t n);

/* affine_contract.c: forms of a contraction's results, [batch][m][n], before rounding; NULL: there
 * are none. a, b: what is known of the factors' elements. */
struct ulp_affine *ulp_affine_contract(struct ulp_trace *trace, const struct ulp_contraction *p,
                                       const struct ulp_affine *a, const struct ulp_affine *b,
                                       struct ulp_pool *pool);
