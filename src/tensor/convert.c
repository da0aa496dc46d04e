/* Converting elements between memory forms, each value rounded once.
 *
 * Values on their way to a format of at most 51 bits pass through a double rounded to odd
 * (truncated, last bit set when anything was cut), from which every rounding mode still gives the
 * single correct rounding (number/README.md). Floats to integers go toward zero; a value beyond the
 * integer's range goes to its nearest end and NaN to 0, as CUDA's cvt.rzi does (ONNX Cast leaves
 * these cases undefined). Anything to BOOL is value != 0 (NaN is true). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "number/double_pair.h"
#include "number/mpfr_record.h"
#include "number/round/round.h"
#include "number/strip/access.h"
#include "tensor/odd.h"
#include "tensor/stored.h"

#define CHUNK 256
#define FLOAT_CHUNK 2048 /* 8 KiB: rounded while they are in the first cache */
/* Of formats that a double rounded to odd can be rounded to. */
#define ODD_PRECISION_MAX 51

struct conversion {
    struct ulp_tensor *out;
    const struct ulp_tensor *in;
    size_t shift; /* of in's element 0: elements have the numbers they have in out */
    const struct ulp_format *storage;
    enum ulp_rounding rounding;
    uint64_t seed;
};
typedef void convert_fn(const struct conversion *c, size_t first, size_t last);

static void convert_to_narrow_float(const struct conversion *c, size_t first, size_t last)
{
    double buffer[CHUNK];
    for (size_t i = first; i < last; i += CHUNK) {
        size_t count = last - i < CHUNK ? last - i : CHUNK;
        ulp_odd_read(c->in, i - c->shift, count, buffer);
        if (c->storage)
            ulp_round_doubles(c->storage, c->rounding, buffer, count, c->seed, 0, i);
        if (c->out->element == ULP_ELEMENT_F32)
            for (size_t j = 0; j < count; j++)
                ((float *)c->out->data)[i + j] = (float)buffer[j];
        else
            memcpy((double *)c->out->data + i, buffer, count * sizeof *buffer);
    }
}

/* A float holds its value exactly, and rounding it needs no detour. */
static void convert_floats(const struct conversion *c, size_t first, size_t last)
{
    const float *in = c->in->data;
    float *out = c->out->data;
    for (size_t i = first; i < last; i += FLOAT_CHUNK) {
        const size_t count = last - i < FLOAT_CHUNK ? last - i : FLOAT_CHUNK;
        if (out != in)
            memcpy(out + i, in + (i - c->shift), count * sizeof *out);
        if (c->storage)
            ulp_round_floats(c->storage, c->rounding, out + i, count, c->seed, 0, i);
    }
}

static void convert_to_wide(const struct conversion *c, size_t first, size_t last)
{
    int precision = c->out->precision;
    for (size_t i = first; i < last; i++) {
        struct ulp_record *record = ulp_record_at(c->out->data, i, precision);
        struct ulp_exact x;
        mpfr_t out;
        ulp_exact_open(&x, c->in, i - c->shift);
        ulp_record_begin(out, record, precision);
        if (c->storage && c->storage->precision < precision)
            ulp_round_mpfr(c->storage, c->rounding, out, x.value, c->seed, 0, i);
        else
            mpfr_set(out, x.value, MPFR_RNDN);
        ulp_record_close(record, out);
    }
}

/* What no pair holds is noted, and NaN. */
static void convert_to_pairs(const struct conversion *c, size_t first, size_t last)
{
    struct ulp_double_pair *out = c->out->data;
    const bool rounds = c->storage && c->storage->carrier != ULP_CARRIER_MPFR;
    const bool pairs = c->in->element == ULP_ELEMENT_PAIR && !rounds;
    size_t lost = 0;
    for (size_t i = first; i < last; i++) {
        struct ulp_exact x;
        bool exact;
        if (pairs) {
            out[i] = ((const struct ulp_double_pair *)c->in->data)[i - c->shift];
            continue;
        }
        if (c->in->element == ULP_ELEMENT_F64 && !rounds) {
            out[i] = (struct ulp_double_pair){((const double *)c->in->data)[i - c->shift], 0};
            lost += !ulp_pair_holds(out[i].high);
            continue;
        }
        if (c->in->element == ULP_ELEMENT_F32 && !rounds) {
            out[i] =
                (struct ulp_double_pair){(double)((const float *)c->in->data)[i - c->shift], 0};
            continue;
        }
        ulp_exact_open(&x, c->in, i - c->shift);
        if (rounds) {
            mp_limb_t limbs[1];
            mpfr_t rounded;
            mpfr_custom_init_set(rounded, MPFR_NAN_KIND, 0, 53, limbs);
            ulp_round_mpfr(c->storage, c->rounding, rounded, x.value, c->seed, 0, i);
            out[i] = (struct ulp_double_pair){mpfr_get_d(rounded, MPFR_RNDN), 0};
        } else if (!ulp_pair_set(&out[i], x.value, &exact)) {
            out[i] = (struct ulp_double_pair){NAN, 0};
            lost++;
        }
    }
    if (lost)
        ulp_note(lost);
}

/* fp64 and custom formats between 52 and 53 bits. */
static void convert_to_double(const struct conversion *c, size_t first, size_t last)
{
    mpfr_t rounded;
    mpfr_init2(rounded, 53);
    for (size_t i = first; i < last; i++) {
        struct ulp_exact x;
        ulp_exact_open(&x, c->in, i - c->shift);
        if (c->storage) {
            ulp_round_mpfr(c->storage, c->rounding, rounded, x.value, c->seed, 0, i);
            ((double *)c->out->data)[i] = mpfr_get_d(rounded, MPFR_RNDN);
        } else {
            ((double *)c->out->data)[i] = mpfr_get_d(x.value, MPFR_RNDN);
        }
    }
    mpfr_clear(rounded);
}

static void convert_to_bool(const struct conversion *c, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        double value = 0;
        if (ulp_element_is_float(c->in->element))
            ulp_odd_read(c->in, i - c->shift, 1, &value);
        else
            value = ulp_tensor_get_int(c->in, i) != 0;
        ((uint8_t *)c->out->data)[i] = value != 0;
    }
}

void ulp_integer_range(enum ulp_type type, double *low, double *high)
{
    const struct ulp_integer_kind kind = ulp_integer_kind(type, ulp_type_rows[type].element);
    const double end = ldexp(1, kind.bits - kind.is_signed);
    *low = kind.is_signed ? -end : 0;
    *high = end - 1;
}

/* Elements that wrap as their type does are moved by loops of their own. */
static void convert_integers(const struct conversion *c, size_t first, size_t last)
{
    const enum ulp_element in = c->in->element, out = c->out->element;
    const bool in_byte = in == ULP_ELEMENT_I8 || in == ULP_ELEMENT_U8,
               out_byte = out == ULP_ELEMENT_I8 || out == ULP_ELEMENT_U8;
    if (in_byte && out_byte && (c->out->type == ULP_TYPE_INT8 || c->out->type == ULP_TYPE_UINT8)) {
        memcpy((char *)c->out->data + first, (const char *)c->in->data + first, last - first);
    } else if (in == ULP_ELEMENT_I8 && out == ULP_ELEMENT_I32) {
        for (size_t i = first; i < last; i++)
            ((int32_t *)c->out->data)[i] = ((const int8_t *)c->in->data)[i];
    } else if (in == ULP_ELEMENT_U8 && out == ULP_ELEMENT_I32) {
        for (size_t i = first; i < last; i++)
            ((int32_t *)c->out->data)[i] = ((const uint8_t *)c->in->data)[i];
    } else {
        for (size_t i = first; i < last; i++)
            ulp_strip_set_int(c->out, i, ulp_tensor_get_int(c->in, i));
    }
}

static void convert_to_integer(const struct conversion *c, size_t first, size_t last)
{
    if (!ulp_element_is_float(c->in->element)) {
        convert_integers(c, first, last);
        return;
    }
    const bool exact = c->in->element == ULP_ELEMENT_WIDE || c->in->element == ULP_ELEMENT_PAIR,
               natural = c->out->element == ULP_ELEMENT_U64,
               long_integers = natural || c->out->element == ULP_ELEMENT_I64;
    for (size_t i = first; i < last; i += ULP_STRIP) {
        const size_t n = last - i < ULP_STRIP ? last - i : ULP_STRIP;
        double values[ULP_STRIP];
        /* truncation of a value rounded to odd is truncation of the value below 2^52 */
        ulp_odd_read(c->in, i - c->shift, n, values);
        ulp_strip_set_truncated(c->out, (int64_t)i, NULL, 1, values, n);
        for (size_t j = 0; j < n && exact && long_integers; j++) {
            const double value = values[j];
            const bool within = natural ? value > 0 && value < 0x1p64 : fabs(value) < 0x1p63;
            if (!within || fabs(value) < 0x1p52)
                continue;
            struct ulp_exact x;
            ulp_exact_open(&x, c->in, i + j);
            ulp_tensor_set_int(c->out, i + j,
                               natural ? (int64_t)mpfr_get_ui(x.value, MPFR_RNDZ)
                                       : mpfr_get_si(x.value, MPFR_RNDZ));
        }
    }
}

static convert_fn *choose_conversion(const struct conversion *c)
{
    /* which a double holds */
    const bool exact = c->in->element == ULP_ELEMENT_F32 || c->in->element == ULP_ELEMENT_F64;
    switch (c->out->element) {
    case ULP_ELEMENT_F32:
        return c->in->element == ULP_ELEMENT_F32 ? convert_floats : convert_to_narrow_float;
    case ULP_ELEMENT_F64:
        return exact || (c->storage && c->storage->precision <= ODD_PRECISION_MAX)
                   ? convert_to_narrow_float
                   : convert_to_double;
    case ULP_ELEMENT_PAIR: return convert_to_pairs;
    case ULP_ELEMENT_WIDE: return convert_to_wide;
    case ULP_ELEMENT_BOOL: return convert_to_bool;
    default: return convert_to_integer;
    }
}

/* Each to the byte that memory has it in. */
static void convert_packed(const struct conversion *c, size_t first, size_t last)
{
    const enum ulp_type type = c->in->type;
    const unsigned char *raw = c->in->data;
    unsigned char *to = c->out->data;
    if (ulp_type_rows[type].file_bits != 4) {
        for (size_t i = first; i < last; i++)
            to[i] = (unsigned char)ulp_packed_read(type, raw, i);
        return;
    }
    /* a sign bit of 8 makes the upper codes negative, none leaves them */
    const int sign = ulp_type_rows[type].element == ULP_ELEMENT_I8 ? 8 : 0;
    for (size_t i = first; i < last; i++) {
        const int code = raw[i / 2] >> (i % 2 * 4) & 15;
        to[i] = (unsigned char)((code ^ sign) - sign);
    }
}

/* Through floats, which hold the values exactly. */
static void convert_stored(const struct conversion *c, size_t first, size_t last)
{
    float buffer[FLOAT_CHUNK];
    struct ulp_tensor part = *c->in;
    struct conversion inner = *c;
    part.element = ULP_ELEMENT_F32;
    part.element_bytes = sizeof *buffer;
    part.data = buffer;
    inner.in = &part;
    convert_fn *convert = choose_conversion(&inner);
    for (size_t i = first; i < last; i += FLOAT_CHUNK) {
        const size_t count = last - i < FLOAT_CHUNK ? last - i : FLOAT_CHUNK;
        ulp_floats_read(c->in, i, count, buffer);
        inner.shift = i;
        convert(&inner, i, i + count);
    }
}

struct convert_job {
    struct conversion conversion;
    convert_fn *convert;
};

ULP_WORK(convert_range)
{
    const struct convert_job *job = context;
    job->convert(&job->conversion, first, last);
    return ULP_OK;
}

enum ulp_status ulp_tensor_convert(struct ulp_tensor *out, const struct ulp_tensor *in,
                                   const struct ulp_format *storage, enum ulp_rounding rounding,
                                   uint64_t seed, struct ulp_pool *pool, struct ulp_error *error)
{
    if (out->count != in->count)
        return ulp_fail(error, ULP_ERROR_USAGE, "converting %zu elements into a tensor of %zu",
                        in->count, out->count);
    if (out->element == ULP_ELEMENT_COUNT || in->element == ULP_ELEMENT_COUNT ||
        (in->count && !in->data))
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "tensors of type %s cannot be converted to %s", ulp_type_name(in->type),
                        ulp_type_name(out->type));
    struct convert_job job = {{out, in, 0, storage, rounding, seed}, NULL};
    job.convert = in->element == ULP_ELEMENT_STORED ? convert_stored
                  : in->element == ULP_ELEMENT_PACKED && out->type == in->type
                      ? convert_packed
                      : choose_conversion(&job.conversion);
    const bool wide = out->element == ULP_ELEMENT_WIDE || in->element == ULP_ELEMENT_WIDE ||
                      out->element == ULP_ELEMENT_PAIR;
    return ulp_parallel_for(pool, in->count, ulp_grain(wide ? 20 : 1), convert_range, &job, error);
}

enum ulp_status ulp_tensor_in_memory(struct ulp_tensor *out, const struct ulp_tensor *tensor,
                                     struct ulp_budget *budget, struct ulp_pool *pool,
                                     struct ulp_error *error)
{
    *out = ulp_tensor_view(tensor);
    if (!ulp_is_stored(tensor))
        return ULP_OK;
    ULP_TRY(ulp_tensor_create_like(out, tensor, ULP_ELEMENT_COUNT, 0, budget, error));
    return ulp_tensor_convert(out, tensor, NULL, ULP_ROUND_NEAREST_EVEN, 0, pool, error);
}

enum ulp_status ulp_tensor_copy_typed(struct ulp_tensor *out, const struct ulp_tensor *in,
                                      struct ulp_budget *budget, struct ulp_error *error)
{
    struct ulp_format format;
    if (!ulp_element_is_float(in->element))
        return ulp_tensor_copy(out, in, budget, error);
    ULP_TRY(ulp_format_find(ulp_type_rows[in->type].format, &format, error));
    ULP_TRY(ulp_tensor_create_like(out, in, ULP_ELEMENT_COUNT, 0, budget, error));
    const enum ulp_status status =
        ulp_tensor_convert(out, in, &format, ULP_ROUND_NEAREST_EVEN, 0, NULL, error);
    if (status != ULP_OK)
        ulp_tensor_free(out);
    return status;
}
