/* What the carriers share: the list of primitives, the tables, and the choice of a carrier for a
 * format. */
#include "number/round/round.h"
#include "number/strip/access.h"

const struct ulp_primitive_row ulp_primitive_rows[ULP_PRIMITIVE_COUNT] = {
#define PRIMITIVE(name, spelling, arity, result, ...) \
    [ULP_PRIMITIVE_##name] = {spelling, arity, ULP_RESULT_##result},
#include "number/primitive.def"
#undef PRIMITIVE
};

const struct ulp_strip_table *const ulp_strip_tables[ULP_STRIP_CARRIER_COUNT] = {
    [ULP_STRIP_FLOAT] = &ulp_strip_float, [ULP_STRIP_DOUBLE] = &ulp_strip_double,
    [ULP_STRIP_MPFR] = &ulp_strip_mpfr,   [ULP_STRIP_PAIR] = &ulp_strip_pair,
    [ULP_STRIP_INT64] = &ulp_strip_int64, [ULP_STRIP_UINT64] = &ulp_strip_uint64,
};

size_t ulp_strip_element_bytes(enum ulp_strip_carrier carrier, int precision)
{
    switch (carrier) {
    case ULP_STRIP_FLOAT: return sizeof(float);
    case ULP_STRIP_DOUBLE: return sizeof(double);
    case ULP_STRIP_MPFR: return ulp_record_bytes(precision);
    case ULP_STRIP_PAIR: return sizeof(struct ulp_strip_pair);
    default: return sizeof(int64_t);
    }
}

/* Rounding the float result to the format is innocuous (README.md): ties to even with 24 >= 2p + 2
 * bits, and products of two values exact in float, subnormals included. A float that overflowed is
 * beyond every such format's largest value too. */
static bool fits_float(const struct ulp_format *f)
{
    return f->precision <= 11 && 2 * ulp_format_lowest_bit(f) >= -149 && f->emax <= 126;
}

struct ulp_strip_rule ulp_strip_rule_make(const struct ulp_arithmetic *arithmetic,
                                          const struct ulp_format *format)
{
    struct ulp_strip_rule rule = {.carrier = ULP_STRIP_MPFR,
                                  .precision = format->precision,
                                  .each_step = true,
                                  .format = *format,
                                  .rounding = arithmetic->rounding,
                                  .seed = arithmetic->seed};
    const bool nearest_even = rule.rounding == ULP_ROUND_NEAREST_EVEN;
    if (nearest_even && ulp_format_is_ieee(format, 24, 127)) {
        rule.carrier = ULP_STRIP_FLOAT;
        rule.each_step = false;
        rule.cuda_functions = arithmetic->cuda_functions;
        rule.tanh_rounded = arithmetic->tanh_rounded;
        rule.mlas_functions = arithmetic->steps == ULP_STEPS_ORT_CPU;
    } else if (nearest_even && ulp_format_is_ieee(format, 53, 1023)) {
        rule.carrier = ULP_STRIP_DOUBLE;
        rule.each_step = false;
    } else if (format->carrier == ULP_CARRIER_MPFR) {
        rule.carrier = format->pairs ? ULP_STRIP_PAIR : ULP_STRIP_MPFR;
        rule.each_step = !nearest_even;
        rule.bounded = format->bounded && nearest_even;
    } else if (nearest_even && fits_float(format)) {
        rule.carrier = ULP_STRIP_FLOAT;
    } else if (format->precision <= 51) {
        rule.carrier = ULP_STRIP_DOUBLE;
    }
    return rule;
}

/* -2^(bits - 1) to 2^(bits - 1) - 1, or 0 to 2^bits - 1 (of UINT64: as the carrier has it). */
static struct ulp_strip_rule rule_of_bits(int bits, bool is_signed)
{
    const uint64_t greatest = UINT64_MAX >> (64 - bits + is_signed);
    return (struct ulp_strip_rule){.carrier = bits == 64 && !is_signed ? ULP_STRIP_UINT64
                                                                       : ULP_STRIP_INT64,
                                   .least = is_signed ? -(int64_t)greatest - 1 : 0,
                                   .greatest = (int64_t)greatest};
}

struct ulp_strip_rule ulp_strip_rule_integer(enum ulp_type type)
{
    switch (type) {
    case ULP_TYPE_BOOL: return rule_of_bits(1, false);
    case ULP_TYPE_UINT2: return rule_of_bits(2, false);
    case ULP_TYPE_INT2: return rule_of_bits(2, true);
    case ULP_TYPE_UINT4: return rule_of_bits(4, false);
    case ULP_TYPE_INT4: return rule_of_bits(4, true);
    case ULP_TYPE_UINT8: return rule_of_bits(8, false);
    case ULP_TYPE_INT8: return rule_of_bits(8, true);
    case ULP_TYPE_UINT16: return rule_of_bits(16, false);
    case ULP_TYPE_INT16: return rule_of_bits(16, true);
    case ULP_TYPE_UINT32: return rule_of_bits(32, false);
    case ULP_TYPE_INT32: return rule_of_bits(32, true);
    case ULP_TYPE_UINT64: return rule_of_bits(64, false);
    default: return rule_of_bits(64, true);
    }
}
