/* Flat MPFR values: {int64 exponent, int64 kind, limbs}. No pointers, so tensors of them are moved
 * as bytes. An mpfr_t that works directly on a record is made with mpfr_custom_init_set and needs
 * no clear. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <mpfr.h>

struct ulp_record {
    int64_t exponent;
    /* MPFR_NAN_KIND, MPFR_INF_KIND, MPFR_ZERO_KIND, MPFR_REGULAR_KIND, negative for negative
     * values; in strips of a bounded rule plus 2^32 times the error of ulp_record_error */
    int64_t kind;
    mp_limb_t limbs[];
};

static inline size_t ulp_record_bytes(int precision)
{
    return sizeof(struct ulp_record) +
           ((size_t)precision + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS * sizeof(mp_limb_t);
}

/* Make *x the record's value without copying; x aliases the record's limbs and is valid while it
 * lives. */
static inline void ulp_record_open(mpfr_t x, struct ulp_record *record, int precision)
{
    mpfr_custom_init_set(x, (int)record->kind, (mpfr_exp_t)record->exponent, precision,
                         record->limbs);
}
static inline void ulp_record_open_const(mpfr_t x, const struct ulp_record *record, int precision)
{
    ulp_record_open(x, (struct ulp_record *)(uintptr_t)record, precision);
}
/* Make *x an uninitialised result (NaN) on the record's limbs; call ulp_record_close after
 * computing. */
static inline void ulp_record_begin(mpfr_t x, struct ulp_record *record, int precision)
{
    mpfr_custom_init_set(x, MPFR_NAN_KIND, 0, precision, record->limbs);
}
/* Write exponent and kind of x, opened on this record, back into it. Zeros, infinities and NaN have
 * zero limbs, so that equal values are equal bytes. */
static inline void ulp_record_close(struct ulp_record *record, const mpfr_t x)
{
    record->kind = mpfr_custom_get_kind(x);
    record->exponent = mpfr_regular_p(x) ? (int64_t)mpfr_custom_get_exp(x) : 0;
    if (!mpfr_regular_p(x))
        memset(record->limbs, 0, ulp_record_bytes((int)mpfr_get_prec(x)) - sizeof *record);
}
/* In strips of a bounded rule: the logarithm of a bound of the value's error; 0: there is none. */
static inline int32_t ulp_record_error(const struct ulp_record *record)
{
    return (int32_t)((record->kind - (int32_t)record->kind) >> 32);
}
static inline void ulp_record_set_error(struct ulp_record *record, int32_t error)
{
    record->kind = (int32_t)record->kind + (int64_t)error * ((int64_t)1 << 32);
}
/* Record i of an array. */
static inline struct ulp_record *ulp_record_at(void *records, size_t i, int precision)
{
    return (struct ulp_record *)((char *)records + i * ulp_record_bytes(precision));
}
static inline const struct ulp_record *ulp_record_at_const(const void *records, size_t i,
                                                           int precision)
{
    return (const struct ulp_record *)((const char *)records + i * ulp_record_bytes(precision));
}
