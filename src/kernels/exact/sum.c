/* The exact path of wide contractions: products without rounding by mpfr_mul, their sum by
 * mpfr_sum, one rounding. It takes any values and exponents. */
#include "kernels/exact/parts.h"

#include "base/error.h"
#include "base/memory/alloc.h"

struct ulp_wide_sum {
    size_t limbs_each; /* of a product */
    mp_limb_t *limbs;
    mpfr_t *products;
    mpfr_ptr *pointers;
    mpfr_t sum;
};

static int factor_precision(const struct ulp_tensor *tensor)
{
    return tensor->element == ULP_ELEMENT_WIDE   ? tensor->precision
           : tensor->element == ULP_ELEMENT_PAIR ? ULP_PAIR_RECORD_BITS
           : tensor->element == ULP_ELEMENT_F64  ? 53
                                                 : 24;
}

void ulp_wide_view_element(struct ulp_wide_view *view, const struct ulp_tensor *tensor,
                           int64_t element)
{
    if (tensor->element == ULP_ELEMENT_WIDE) {
        ulp_record_open_const(view->value,
                              ulp_record_at_const(tensor->data, (size_t)element, tensor->precision),
                              tensor->precision);
        return;
    }
    mpfr_custom_init_set(view->value, MPFR_ZERO_KIND, 0, factor_precision(tensor), view->limbs);
    if (tensor->element == ULP_ELEMENT_PAIR) {
        const struct ulp_double_pair *pair = (const struct ulp_double_pair *)tensor->data + element;
        ulp_pair_get(view->value, pair->high, pair->low);
        return;
    }
    if (tensor->element == ULP_ELEMENT_F64)
        mpfr_set_d(view->value, ((const double *)tensor->data)[element], MPFR_RNDN);
    else
        mpfr_set_flt(view->value, ((const float *)tensor->data)[element], MPFR_RNDN);
}

enum ulp_status ulp_wide_sum_create(struct ulp_wide_sum **out, const struct ulp_wide_call *call,
                                    struct ulp_error *error)
{
    const struct ulp_contraction *problem = &call->problem;
    int precision = factor_precision(problem->a.tensor) + factor_precision(problem->b.tensor);
    size_t limbs_each = ((size_t)precision + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS;
    struct ulp_budget *budget = ulp_pool_scratch(call->pool);
    mpfr_t *products;
    *out = NULL;
    size_t each = limbs_each * sizeof(mp_limb_t) + sizeof(mpfr_t) + sizeof(mpfr_ptr);
    ULP_TRY(ulp_allocate(&products, problem->k + 1, each, budget, "the products of a sum", error));
    struct ulp_wide_sum *sum;
    enum ulp_status status = ulp_allocate(&sum, 1, sizeof **out, budget, "a sum", error);
    if (status != ULP_OK) {
        ulp_free(products);
        return status;
    }
    sum->products = products;
    sum->pointers = (mpfr_ptr *)(sum->products + problem->k + 1);
    sum->limbs = (mp_limb_t *)(sum->pointers + problem->k + 1);
    sum->limbs_each = limbs_each;
    for (size_t k = 0; k < problem->k; k++) {
        mpfr_custom_init_set(sum->products[k], MPFR_ZERO_KIND, 0, precision,
                             sum->limbs + k * limbs_each);
        sum->pointers[k] = sum->products[k];
    }
    mpfr_init2(sum->sum, call->precision + ULP_WIDE_EXTRA_BITS);
    *out = sum;
    return ULP_OK;
}

void ulp_wide_sum_free(struct ulp_wide_sum *sum)
{
    if (!sum)
        return;
    mpfr_clear(sum->sum);
    ulp_free(sum->products);
    ulp_free(sum);
}

void ulp_wide_sum_element(struct ulp_wide_sum *sum, const struct ulp_wide_call *call,
                          struct ulp_wide_place place)
{
    const struct ulp_factor *a = &call->problem.a, *b = &call->problem.b;
    int64_t a_line = ulp_wide_line(a, place.batch, place.i),
            b_line = ulp_wide_line(b, place.batch, place.j);
    size_t count = 0;
    for (size_t k = 0; k < call->problem.k; k++) {
        int64_t a_element = a_line + a->k_offset[k], b_element = b_line + b->k_offset[k];
        if (ulp_factor_is_padding(a, a_element) || ulp_factor_is_padding(b, b_element))
            continue;
        struct ulp_wide_view x, y;
        ulp_wide_view_element(&x, a->tensor, a_element);
        ulp_wide_view_element(&y, b->tensor, b_element);
        mpfr_mul(sum->products[count++], x.value, y.value, MPFR_RNDN);
        if (mpfr_nan_p(sum->products[count - 1]))
            break; /* and so is the sum */
    }
    int lost = mpfr_sum(sum->sum, sum->pointers, count, MPFR_RNDZ);
    if (lost && mpfr_regular_p(sum->sum))
        ulp_wide_make_odd(sum->sum);
    ulp_wide_store(call, ulp_wide_out(&call->problem, place), sum->sum);
}
