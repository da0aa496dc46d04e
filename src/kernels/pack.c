/* Packing: see pack.h. A panel's lines are looked at once for runs of neighbours, so that a convolution's or a matrix's
 * rows are copied as blocks; values are rounded to the factor format after gathering, where memory is contiguous. */
#include "kernels/pack.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "number/mpfr_record.h"
#include "number/round.h"

#define WIDTH_MAX 64

/* The lines of one panel: offsets of their first elements, cut into runs of consecutive offsets. */
struct lanes {
    size_t count, run_count;
    int64_t offset[WIDTH_MAX];
    size_t run_start[WIDTH_MAX + 1];
};

static bool is_contiguous(const int64_t *offset, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (offset[i] != offset[i - 1] + 1)
            return false;
    return true;
}

static void find_lanes(struct lanes *lanes, const struct ulp_factor *factor, size_t batch, size_t line, size_t count)
{
    int64_t base = factor->batch_offset ? factor->batch_offset[batch] : 0;
    lanes->count = count;
    lanes->run_count = 0;
    for (size_t i = 0; i < count; i++) {
        lanes->offset[i] = base + factor->line_offset[line + i];
        if (i == 0 || lanes->offset[i] != lanes->offset[i - 1] + 1)
            lanes->run_start[lanes->run_count++] = i;
    }
    lanes->run_start[lanes->run_count] = count;
}

#define SUFFIX f32_f32
#define SOURCE float
#define TARGET float
#include "kernels/pack_template.h"
#define SUFFIX f32_f64
#define SOURCE float
#define TARGET double
#include "kernels/pack_template.h"
#define SUFFIX f64_f64
#define SOURCE double
#define TARGET double
#include "kernels/pack_template.h"

/* Is every value of `inner` one of `outer`? */
static bool holds(const struct ulp_format *outer, const struct ulp_format *inner)
{
    int inner_lowest = inner->emin - (inner->subnormals ? inner->precision - 1 : 0);
    int outer_lowest = outer->emin - (outer->subnormals ? outer->precision - 1 : 0);
    return outer->precision >= inner->precision && outer->max_finite >= inner->max_finite && inner_lowest >= outer_lowest &&
           (outer->signed_zero || !inner->signed_zero) &&
           (outer->overflow == inner->overflow || outer->overflow == ULP_OVERFLOW_INFINITY);
}

struct ulp_pack ulp_pack_make(const struct ulp_arithmetic *arithmetic, const struct ulp_contraction *problem, int side)
{
    return (struct ulp_pack){
        .factor = side == 0 ? &problem->a : &problem->b,
        .format = arithmetic->factor,
        .round = !holds(&arithmetic->factor, &arithmetic->storage),
        .rounding = arithmetic->schedule.operand_rounding,
        .seed = arithmetic->seed,
        .stream = (uint64_t)side,
    };
}

/* Any element of the tensor, converted, as a double: the definition the fast paths equal. */
static double convert(const struct ulp_pack *pack, int64_t offset)
{
    const struct ulp_tensor *tensor = pack->factor->tensor;
    if (tensor->element == ULP_ELEMENT_WIDE) {
        mpfr_t x, rounded;
        mpfr_prec_t precision = pack->format.precision > 53 ? pack->format.precision : 53;
        mpfr_init2(rounded, precision);
        ulp_record_open_const(x, ulp_record_at_const(tensor->data, (size_t)offset, tensor->precision), tensor->precision);
        ulp_round_mpfr(&pack->format, pack->rounding, rounded, x, pack->seed, pack->stream, (uint64_t)offset);
        double value = mpfr_get_d(rounded, MPFR_RNDN);
        mpfr_clear(rounded);
        return value;
    }
    double x = tensor->element == ULP_ELEMENT_F32 ? (double)((const float *)tensor->data)[offset]
                                                  : ((const double *)tensor->data)[offset];
    if (pack->round)
        ulp_round_doubles(&pack->format, pack->rounding, &x, 1, pack->seed, pack->stream, (uint64_t)offset);
    return x;
}

/* Are elements gathered first and rounded where they lie? Not when a rounding depends on the element's place, nor from
 * types that have no such path. */
static bool rounds_in_place(const struct ulp_pack *pack, enum ulp_element target)
{
    enum ulp_element source = pack->factor->tensor->element;
    return (source == ULP_ELEMENT_F32 || (source == ULP_ELEMENT_F64 && target == ULP_ELEMENT_F64)) &&
           !(pack->round && pack->rounding == ULP_ROUND_STOCHASTIC);
}

/* Conversion element by element; line i, k at i * line_step + k * k_step. */
static void pack_slowly(void *out, enum ulp_element target, const struct ulp_pack *pack, struct ulp_pack_range range,
                        size_t line_step, size_t k_step)
{
    for (size_t i = 0; i < range.line_count; i++)
        for (size_t k = 0; k < range.k_count; k++) {
            double x = convert(pack, ulp_factor_offset(pack->factor, range.batch, range.line + i, range.k + k));
            if (target == ULP_ELEMENT_F32)
                ((float *)out)[i * line_step + k * k_step] = (float)x;
            else
                ((double *)out)[i * line_step + k * k_step] = x;
        }
}

void ulp_pack_panels_float(float *out, const struct ulp_pack *pack, struct ulp_pack_range range, size_t width)
{
    assert(width <= WIDTH_MAX);
    bool in_place = rounds_in_place(pack, ULP_ELEMENT_F32);
    struct lanes lanes;
    for (size_t first = 0; first < range.line_count; first += width, out += width * range.k_count) {
        struct ulp_pack_range panel = range;
        panel.line += first;
        panel.line_count = range.line_count - first < width ? range.line_count - first : width;
        if (!in_place) {
            memset(out, 0, width * range.k_count * sizeof *out);
            pack_slowly(out, ULP_ELEMENT_F32, pack, panel, 1, width);
            continue;
        }
        find_lanes(&lanes, pack->factor, range.batch, panel.line, panel.line_count);
        gather_panel_f32_f32(out, pack->factor->tensor->data, &lanes, pack->factor->k_offset + range.k, range.k_count,
                             width);
        if (pack->round)
            ulp_round_floats(&pack->format, pack->rounding, out, width * range.k_count, 0, 0, 0);
    }
}

void ulp_pack_panels_double(double *out, const struct ulp_pack *pack, struct ulp_pack_range range, size_t width)
{
    assert(width <= WIDTH_MAX);
    const struct ulp_tensor *tensor = pack->factor->tensor;
    bool in_place = rounds_in_place(pack, ULP_ELEMENT_F64);
    struct lanes lanes;
    for (size_t first = 0; first < range.line_count; first += width, out += width * range.k_count) {
        struct ulp_pack_range panel = range;
        panel.line += first;
        panel.line_count = range.line_count - first < width ? range.line_count - first : width;
        if (!in_place) {
            memset(out, 0, width * range.k_count * sizeof *out);
            pack_slowly(out, ULP_ELEMENT_F64, pack, panel, 1, width);
            continue;
        }
        const int64_t *k_offset = pack->factor->k_offset + range.k;
        find_lanes(&lanes, pack->factor, range.batch, panel.line, panel.line_count);
        if (tensor->element == ULP_ELEMENT_F32)
            gather_panel_f32_f64(out, tensor->data, &lanes, k_offset, range.k_count, width);
        else
            gather_panel_f64_f64(out, tensor->data, &lanes, k_offset, range.k_count, width);
        if (pack->round)
            ulp_round_doubles(&pack->format, pack->rounding, out, width * range.k_count, 0, 0, 0);
    }
}

void ulp_pack_rows_float(float *out, const struct ulp_pack *pack, struct ulp_pack_range range, size_t stride)
{
    if (!rounds_in_place(pack, ULP_ELEMENT_F32)) {
        memset(out, 0, range.line_count * stride * sizeof *out);
        pack_slowly(out, ULP_ELEMENT_F32, pack, range, stride, 1);
        return;
    }
    gather_rows_f32_f32(out, pack->factor->tensor->data, pack->factor, range, stride);
    if (pack->round)
        ulp_round_floats(&pack->format, pack->rounding, out, range.line_count * stride, 0, 0, 0);
}

void ulp_pack_rows_double(double *out, const struct ulp_pack *pack, struct ulp_pack_range range, size_t stride)
{
    const struct ulp_tensor *tensor = pack->factor->tensor;
    if (!rounds_in_place(pack, ULP_ELEMENT_F64)) {
        memset(out, 0, range.line_count * stride * sizeof *out);
        pack_slowly(out, ULP_ELEMENT_F64, pack, range, stride, 1);
        return;
    }
    if (tensor->element == ULP_ELEMENT_F32)
        gather_rows_f32_f64(out, tensor->data, pack->factor, range, stride);
    else
        gather_rows_f64_f64(out, tensor->data, pack->factor, range, stride);
    if (pack->round)
        ulp_round_doubles(&pack->format, pack->rounding, out, range.line_count * stride, 0, 0, 0);
}

/* Does the tensor hold a value that may be non-finite in the factor format? Conservative: a value above max_finite may
 * still round down to it, and elements the contraction does not use count too. */
static bool may_be_nonfinite(const struct ulp_pack *pack)
{
    const struct ulp_tensor *tensor = pack->factor->tensor;
    double limit = pack->format.max_finite < INFINITY ? pack->format.max_finite : DBL_MAX;
    bool within = true;
    if (tensor->element == ULP_ELEMENT_F32) {
        const float *x = tensor->data;
        float bound = limit > FLT_MAX ? FLT_MAX : (float)limit; /* formats' limits below FLT_MAX are exact in float */
        for (size_t i = 0; i < tensor->count; i++)
            within &= fabsf(x[i]) <= bound;
    } else if (tensor->element == ULP_ELEMENT_F64) {
        const double *x = tensor->data;
        for (size_t i = 0; i < tensor->count; i++)
            within &= fabs(x[i]) <= limit;
    } else {
        within = false;
    }
    return !within;
}

bool ulp_pack_meets_padding(const struct ulp_pack *a, const struct ulp_pack *b)
{
    return (a->factor->padding && may_be_nonfinite(b)) || (b->factor->padding && may_be_nonfinite(a));
}

bool ulp_pack_line_has_padding(const struct ulp_pack *pack, size_t batch, size_t line, size_t k_count)
{
    const uint8_t *padding = pack->factor->padding;
    for (size_t k = 0; padding && k < k_count; k++)
        if (padding[ulp_factor_offset(pack->factor, batch, line, k)])
            return true;
    return false;
}

bool ulp_pack_line_is_finite(const struct ulp_pack *pack, size_t batch, size_t line, size_t k_count)
{
    for (size_t k = 0; k < k_count; k++)
        if (!isfinite(convert(pack, ulp_factor_offset(pack->factor, batch, line, k))))
            return false;
    return true;
}

void ulp_pack_pair(double *a_out, double *b_out, const struct ulp_pack *a, const struct ulp_pack *b, size_t batch,
                   size_t a_line, size_t b_line, size_t k_count)
{
    for (size_t k = 0; k < k_count; k++) {
        int64_t a_offset = ulp_factor_offset(a->factor, batch, a_line, k);
        int64_t b_offset = ulp_factor_offset(b->factor, batch, b_line, k);
        double x = convert(a, a_offset), y = convert(b, b_offset);
        bool skip_a = a->factor->padding && a->factor->padding[a_offset] && !isfinite(y);
        bool skip_b = b->factor->padding && b->factor->padding[b_offset] && !isfinite(x);
        a_out[k] = skip_a || skip_b ? 0 : x;
        b_out[k] = skip_a || skip_b ? 0 : y;
    }
}
