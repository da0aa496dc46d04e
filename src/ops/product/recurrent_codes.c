#include "ops/product/recurrent_codes.h"

#include "base/error.h"
#include "ops/ops_move.h"

const struct ulp_formula ulp_coded_scaled = {"acc a_scale scale", "y", "acc * (a_scale * scale)"};

/* The direction's part of scales or zero points: one number, or one for each line. */
static enum ulp_status read_part(const struct ulp_tensor *all, size_t directions, size_t direction,
                                 size_t lines, const char *name, struct ulp_tensor *part,
                                 struct ulp_error *error)
{
    const size_t each = all->count / directions;
    if (all->count % directions || (each != 1 && each != lines))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s has %zu elements: expected one, or %zu, for each of %zu directions",
                        name, all->count, lines, directions);
    *part = ulp_tensor_view_from(all, direction * each);
    part->count = each;
    part->dims[0] = (int64_t)each;
    return ULP_OK;
}

enum ulp_status ulp_coded_weights_read(struct ulp_call *call, struct ulp_coded_weights *out,
                                       const struct ulp_tensor *weights,
                                       const struct ulp_tensor *scale,
                                       const struct ulp_tensor *zero, size_t direction)
{
    const size_t directions = (size_t)weights->dims[0];
    struct ulp_tensor *own, own_zero, *own_scale;
    *out = (struct ulp_coded_weights){.k = (size_t)weights->dims[1],
                                      .lines = (size_t)weights->dims[2]};
    ULP_TRY(ulp_call_take(call, 1, sizeof *own, &own));
    *own = ulp_tensor_view(weights);
    own->rank = 2;
    own->dims[0] = weights->dims[1], own->dims[1] = weights->dims[2];
    own->count = out->k * out->lines;
    if (own->count)
        own->data = ulp_element_at(weights, direction * own->count);
    out->bytes = own;
    ULP_TRY(ulp_call_take(call, 1, sizeof *own_scale, &own_scale));
    ULP_TRY(read_part(scale, directions, direction, out->lines, "a scale", own_scale, call->error));
    if (zero)
        ULP_TRY(read_part(zero, directions, direction, out->lines, "a zero point", &own_zero,
                          call->error));
    out->scale = (struct ulp_operand){.tensor = own_scale, .position_stride = own_scale->count > 1};
    return ulp_integer_combine(call, &out->codes, "x - zero", own, zero ? &own_zero : NULL, 1);
}

enum ulp_status ulp_coded_multiply(struct ulp_call *call, struct ulp_tensor *out,
                                   const struct ulp_tensor *a, size_t rows,
                                   const struct ulp_coded_weights *weights)
{
    const size_t k = weights->k, lines = weights->lines;
    struct ulp_tensor bytes, a_scale, a_zero, codes, raw, *sums;
    struct ulp_pairs pairs;
    ULP_TRY(ulp_quantize_dynamic(call, a, &bytes, &a_scale, &a_zero));
    ULP_TRY(ulp_integer_combine(call, &codes, "x - zero", &bytes, &a_zero, 0));
    ULP_TRY(
        ulp_call_make(call, ULP_TYPE_INT32, 2, (int64_t[]){(int64_t)rows, (int64_t)lines}, &sums));
    struct ulp_contraction problem = {
        .batch_count = 1,
        .m = rows,
        .n = lines,
        .k = k,
        .out = sums,
        .a = {.tensor = &codes},
        .b = {.tensor = &weights->codes},
    };
    const struct ulp_product_steps steps = {(int64_t)k, 1, 1, (int64_t)lines, (int64_t)lines, 1};
    ULP_TRY(ulp_product_lay(call, &problem, steps));
    ULP_TRY(ulp_call_contract(call, &problem));
    if (ulp_pairs_find(call, &bytes, &a_zero, weights->bytes, &pairs)) {
        ULP_TRY(ulp_integer_combine(call, &raw, "x - zero", weights->bytes, NULL, 0));
        problem.b.tensor = &raw;
        problem.pairs = &pairs;
        ULP_TRY(ulp_contract(call->arithmetic, &problem, call->pool, call->error));
    }
    const struct ulp_operand line = {.row_stride = (int64_t)lines, .position_stride = 1};
    struct ulp_named_operand operands[] = {{"acc", line},
                                           {"a_scale", {.tensor = &a_scale}},
                                           {"scale", weights->scale}};
    struct ulp_named_operand result = {"y", line};
    operands[0].operand.tensor = sums;
    result.operand.tensor = out;
    const struct ulp_rows cells = {.row_count = rows, .row_length = lines};
    return ulp_call_formula(call, &ulp_coded_scaled, call->arithmetic, &cells, 3, operands, 1,
                            &result);
}
