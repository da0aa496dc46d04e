/* Packing: see pack.h. Neighbours are copied as blocks, as a convolution's or a matrix's rows are;
 * values are rounded to the factor format after gathering, where memory is contiguous. */
#include "kernels/operand/pack.h"

#include <math.h>
#include <string.h>

#include "kernels/operand/output.h"
#include "kernels/operand/operand_special.h"
#include "number/mpfr_record.h"
#include "number/round/round.h"

/* Elements that only move are moved as bits. */
typedef uint32_t move32 __attribute__((may_alias));
typedef uint64_t move64 __attribute__((may_alias));

#define SUFFIX move32
#define SOURCE move32
#define TARGET move32
#include "kernels/operand/pack_template.h"
#define SUFFIX move64
#define SOURCE move64
#define TARGET move64
#include "kernels/operand/pack_template.h"
#define SUFFIX widen
#define SOURCE float
#define TARGET double
#include "kernels/operand/pack_template.h"

struct ulp_pack ulp_pack_make(const struct ulp_arithmetic *arithmetic,
                              const struct ulp_contraction *problem, int side)
{
    return (struct ulp_pack){
        .factor = side == 0 ? &problem->a : &problem->b,
        .side = side,
        .format = side && arithmetic->scaling[1].name[0] ? arithmetic->scaling[1].element
                                                         : arithmetic->factor,
        .round = !(side == 0 ? &problem->a : &problem->b)->ready &&
                 !ulp_format_holds(&arithmetic->factor, &arithmetic->storage),
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
        ulp_record_open_const(x,
                              ulp_record_at_const(tensor->data, (size_t)offset, tensor->precision),
                              tensor->precision);
        ulp_round_mpfr(&pack->format, pack->rounding, rounded, x, pack->seed, pack->stream,
                       (uint64_t)offset);
        double value = mpfr_get_d(rounded, MPFR_RNDN);
        mpfr_clear(rounded);
        return value;
    }
    double x = tensor->element == ULP_ELEMENT_F32 ? (double)((const float *)tensor->data)[offset]
                                                  : ((const double *)tensor->data)[offset];
    if (pack->round)
        ulp_round_doubles(&pack->format, pack->rounding, &x, 1, pack->seed, pack->stream,
                          (uint64_t)offset);
    return x;
}

/* Are elements gathered first and rounded where they lie? Not when a rounding depends on the
 * element's place, nor between types that have no such path. */
static bool rounds_in_place(const struct ulp_pack *pack, enum ulp_element target)
{
    enum ulp_element source = pack->factor->tensor->element;
    return (source == target || (source == ULP_ELEMENT_F32 && target == ULP_ELEMENT_F64)) &&
           !(pack->round && pack->rounding == ULP_ROUND_STOCHASTIC);
}

static void round_in_place(void *out, enum ulp_element target, const struct ulp_pack *pack,
                           size_t count)
{
    if (!pack->round || !ulp_element_is_float(target))
        return;
    if (target == ULP_ELEMENT_F32)
        ulp_round_floats(&pack->format, pack->rounding, out, count, 0, 0, 0);
    else
        ulp_round_doubles(&pack->format, pack->rounding, out, count, 0, 0, 0);
}

/* Conversion element by element into cleared memory; line i, k at i * line_step + k * k_step. */
static void pack_slowly(void *out, enum ulp_element target, const struct ulp_pack *pack,
                        struct ulp_pack_range range, size_t line_step, size_t k_step)
{
    for (size_t i = 0; i < range.line_count; i++)
        for (size_t k = 0; k < range.k_count; k++) {
            double x = convert(pack, ulp_factor_offset(pack->factor, range.batch, range.line + i,
                                                       range.k + k));
            if (target == ULP_ELEMENT_F32)
                ((float *)out)[i * line_step + k * k_step] = (float)x;
            else
                ((double *)out)[i * line_step + k * k_step] = x;
        }
}

static void pack_panel(void *out, enum ulp_element target, const struct ulp_pack *pack,
                       struct ulp_pack_range range, size_t width)
{
    const struct ulp_tensor *tensor = pack->factor->tensor;
    if (tensor->element != target)
        gather_panel_widen(out, tensor->data, pack->factor, range, width);
    else if (tensor->element_bytes == sizeof(move32))
        gather_panel_move32(out, tensor->data, pack->factor, range, width);
    else
        gather_panel_move64(out, tensor->data, pack->factor, range, width);
    round_in_place(out, target, pack, width * range.k_count);
}

void ulp_pack_panels(void *out, enum ulp_element target, const struct ulp_pack *pack,
                     struct ulp_pack_range range, size_t width)
{
    bool in_place = rounds_in_place(pack, target);
    size_t panel_bytes = width * range.k_count * ulp_element_bytes(target, 0);
    struct ulp_pack_range panel = range;
    for (size_t done = 0; done < range.line_count; done += panel.line_count) {
        panel.line = range.line + done;
        panel.line_count = range.line_count - done < width ? range.line_count - done : width;
        if (in_place) {
            pack_panel(out, target, pack, panel, width);
        } else {
            memset(out, 0, panel_bytes);
            pack_slowly(out, target, pack, panel, 1, width);
        }
        out = (char *)out + panel_bytes;
    }
}

static void gather_rows(move32 *restrict out, const struct ulp_factor *factor,
                        struct ulp_pack_range range, size_t stride)
{
    const int64_t *k_offset = factor->k_offset + range.k;
    const bool run = ulp_output_is_run(k_offset, range.k_count);
    for (size_t i = 0; i < range.line_count; i++, out += stride) {
        const move32 *from = (const move32 *)factor->tensor->data +
                             ulp_factor_offset(factor, range.batch, range.line + i, range.k);
        for (size_t k = 0; k < range.k_count && run; k++)
            out[k] = from[k];
        for (size_t k = 0; k < range.k_count && !run; k++)
            out[k] = from[k_offset[k] - k_offset[0]];
        for (size_t k = range.k_count; k < stride; k++)
            out[k] = 0;
    }
}

void ulp_pack_rows(float *out, const struct ulp_pack *pack, struct ulp_pack_range range,
                   size_t stride)
{
    if (rounds_in_place(pack, ULP_ELEMENT_F32)) {
        gather_rows((move32 *)out, pack->factor, range, stride);
        round_in_place(out, ULP_ELEMENT_F32, pack, range.line_count * stride);
    } else {
        memset(out, 0, range.line_count * stride * sizeof *out);
        pack_slowly(out, ULP_ELEMENT_F32, pack, range, stride, 1);
    }
}

bool ulp_pack_may_be_special(const struct ulp_pack *pack, struct ulp_pool *pool)
{
    const struct ulp_tensor *tensor = pack->factor->tensor;
    return tensor->element == ULP_ELEMENT_WIDE ||
           ulp_any_beyond(tensor, pack->format.max_finite, pool);
}

bool ulp_pack_meets_padding(const struct ulp_pack *a, const struct ulp_pack *b,
                            struct ulp_pool *pool)
{
    return (a->factor->padding && ulp_pack_may_be_special(b, pool)) ||
           (b->factor->padding && ulp_pack_may_be_special(a, pool));
}

bool ulp_pack_line_has_padding(const struct ulp_pack *pack, size_t batch, size_t line,
                               size_t k_count)
{
    for (size_t k = 0; pack->factor->padding && k < k_count; k++)
        if (ulp_factor_is_padding(pack->factor, ulp_factor_offset(pack->factor, batch, line, k)))
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

void ulp_pack_pair(double *a_out, double *b_out, const struct ulp_pack *a, const struct ulp_pack *b,
                   size_t batch, size_t a_line, size_t b_line, size_t k_count)
{
    for (size_t k = 0; k < k_count; k++) {
        int64_t a_offset = ulp_factor_offset(a->factor, batch, a_line, k);
        int64_t b_offset = ulp_factor_offset(b->factor, batch, b_line, k);
        double x = convert(a, a_offset), y = convert(b, b_offset);
        bool skip_a = ulp_factor_is_padding(a->factor, a_offset) && !isfinite(y);
        bool skip_b = ulp_factor_is_padding(b->factor, b_offset) && !isfinite(x);
        a_out[k] = skip_a || skip_b ? 0 : x;
        b_out[k] = skip_a || skip_b ? 0 : y;
    }
}
