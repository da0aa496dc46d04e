/* Exact differences: in doubles where that is certain, else by MPFR's subtraction into 53 bits. */
#include "analysis/measure/difference.h"

#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "number/double_pair.h"
#include "number/mpfr_record.h"
#include "tensor/tensor.h"

/* Elements that are looked at to tell whether a node only moves values. */
enum { BEGIN_COUNT = 512 };

static bool is_plain(const struct ulp_tensor *tensor)
{
    return tensor->element != ULP_ELEMENT_WIDE && tensor->element != ULP_ELEMENT_PAIR;
}

/* Element i of a wide tensor; a finite one beyond double (exp(800)) is the largest double, for it
 * is no infinity. */
static double read_hard(const struct ulp_tensor *tensor, size_t i)
{
    const int64_t kind = ulp_record_at_const(tensor->data, i, tensor->precision)->kind;
    if (kind == MPFR_NAN_KIND)
        return NAN;
    if (kind == MPFR_INF_KIND || kind == -MPFR_INF_KIND)
        return kind < 0 ? -INFINITY : INFINITY;
    const double x = ulp_tensor_read(tensor, i);
    return isinf(x) ? copysign(DBL_MAX, x) : x;
}

static void read_plain(double *out, const struct ulp_tensor *tensor, size_t first, size_t count)
{
    if (tensor->element == ULP_ELEMENT_F32)
        ulp_metrics_code_find()->widen(out, (const float *)tensor->data + first, count);
    else
        ulp_tensor_read_range(out, tensor, first, count);
}

void ulp_side_open(struct ulp_metrics_side *side, const struct ulp_tensor *tensor, size_t first,
                   size_t count)
{
    side->tensor = tensor;
    side->first = first;
    side->count = count;
    side->plain = is_plain(tensor);
    if (side->plain) {
        read_plain(side->nearest, tensor, first, count);
        return;
    }
    if (tensor->element == ULP_ELEMENT_PAIR) {
        ulp_metrics_code_find()->open_pairs(side,
                                            (const struct ulp_double_pair *)tensor->data + first,
                                            count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        side->nearest[i] = read_hard(tensor, first + i);
        side->high[i] = side->middle[i] = 0;
        side->hard[i] = -1;
    }
}

/* A plain one as if it had been wide. */
static void widen(struct ulp_metrics_side *out, const struct ulp_metrics_side *side)
{
    memcpy(out->high, side->nearest, side->count * sizeof(double));
    memset(out->middle, 0, side->count * sizeof(double));
    memset(out->hard, 0, side->count * sizeof(int64_t));
}

void ulp_side_read(double *out, const struct ulp_tensor *tensor, size_t first, size_t count)
{
    if (is_plain(tensor)) {
        read_plain(out, tensor, first, count);
        return;
    }
    struct ulp_metrics_side side;
    for (size_t i = 0; i < count; i += ULP_METRICS_STRIP) {
        ulp_side_open(&side, tensor, first + i, ulp_size_min(count - i, ULP_METRICS_STRIP));
        memcpy(out + i, side.nearest, side.count * sizeof *out);
    }
}

/* Value less base of one element, rounded once by MPFR. */
static double subtract_exactly(const struct ulp_tensor *value, const struct ulp_tensor *base,
                               size_t i)
{
    mp_limb_t limbs[3][ULP_PAIR_RECORD_BITS / GMP_NUMB_BITS];
    mpfr_t difference53, sides[2];
    const struct ulp_tensor *tensors[2] = {value, base};
    for (int side = 0; side < 2; side++) {
        if (is_plain(tensors[side])) {
            mpfr_custom_init_set(sides[side], MPFR_NAN_KIND, 0, 53, limbs[side]);
            mpfr_set_d(sides[side], ulp_tensor_read(tensors[side], i), MPFR_RNDN);
        } else if (tensors[side]->element == ULP_ELEMENT_PAIR) {
            const struct ulp_double_pair *pair =
                (const struct ulp_double_pair *)tensors[side]->data + i;
            mpfr_custom_init_set(sides[side], MPFR_NAN_KIND, 0, ULP_PAIR_RECORD_BITS, limbs[side]);
            ulp_pair_get(sides[side], pair->high, pair->low);
        } else {
            ulp_record_open_const(sides[side],
                                  ulp_record_at_const(tensors[side]->data, i,
                                                      tensors[side]->precision),
                                  tensors[side]->precision);
        }
    }
    mpfr_custom_init_set(difference53, MPFR_NAN_KIND, 0, 53, limbs[2]);
    mpfr_sub(difference53, sides[0], sides[1], MPFR_RNDN);
    double difference = mpfr_get_d(difference53, MPFR_RNDN);
    return isinf(difference) && mpfr_number_p(difference53) ? copysign(DBL_MAX, difference)
                                                            : difference;
}

void ulp_sides_subtract(double *difference, const struct ulp_metrics_side *value,
                        const struct ulp_metrics_side *base)
{
    const struct ulp_metrics_code *code = ulp_metrics_code_find();
    const size_t count = value->count;
    int64_t undecided[ULP_METRICS_STRIP];
    struct ulp_metrics_side wide;
    if (value->plain && base->plain) {
        for (size_t i = 0; i < count; i++)
            difference[i] = value->nearest[i] - base->nearest[i];
        return;
    }
    if (base->plain)
        widen(&wide, base);
    if (value->plain
            ? code->subtract_from_plain(difference, undecided, value->nearest, base, count)
            : code->subtract(difference, undecided, value, base->plain ? &wide : base, count))
        return;
    for (size_t i = 0; i < count; i++)
        if (!undecided[i])
            continue;
        else if (!isfinite(value->nearest[i]) || !isfinite(base->nearest[i]))
            difference[i] = NAN;
        else if (value->tensor && base->tensor)
            difference[i] = subtract_exactly(value->tensor, base->tensor, value->first + i);
        else if (!base->plain && base->hard[i])
            difference[i] = value->nearest[i] - base->nearest[i];
}

bool ulp_sides_begin_equal(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    const size_t end = ulp_size_min(ulp_size_min(a->count, b->count), BEGIN_COUNT);
    for (size_t first = 0, count; first < end; first += count) {
        double difference[ULP_METRICS_STRIP];
        struct ulp_metrics_side sides[2];
        count = ulp_size_min(end - first, ULP_METRICS_STRIP);
        ulp_side_open(&sides[0], a, first, count);
        ulp_side_open(&sides[1], b, first, count);
        ulp_sides_subtract(difference, &sides[0], &sides[1]);
        for (size_t i = 0; i < count; i++)
            if (difference[i] != 0)
                return false;
    }
    return true;
}
