/* The matrix units of GPUs, bit for bit: which exist, what each computes (an exact integer oracle),
 * and the contraction built on them.
 *
 * Names: a unit is "gpu.class.input.accumulator", such as "h200.mma.f16.f32" or
 * "h200.wgmma.e4m3.f32". NVIDIA's units are one algorithm, the truncated fused dot-product-add;
 * unit.c states it. Sources: recorded vectors of the GPUs themselves, and MMA-Sim (arXiv
 * 2511.10909). */
#pragma once

#include "kernels/contract.h"

enum ulp_unit_kind {
    /* blocks of products and the accumulator, each term truncated, one conversion */
    ULP_UNIT_TRUNCATED,
    /* FP8 through the FP16 unit in two halves; the accumulator is added afterwards */
    ULP_UNIT_HALVES,
    /* as TRUNCATED, one pair of E8M0 scales for every scale_block products */
    ULP_UNIT_SCALED,
    /* FP4: groups of 16 products added exactly, scaled, then truncated as terms */
    ULP_UNIT_SCALED_GROUPS,
    ULP_UNIT_FMA,     /* a chain of fused multiply-adds, nearest even */
    ULP_UNIT_INTEGER, /* exact, modulo 2^32 */
};

/* The one conversion at the end of a block. */
enum ulp_unit_output {
    ULP_UNIT_RZ_FP32,  /* 24 bits, truncated; subnormals kept; 2^128 and more is infinite */
    ULP_UNIT_RZ_E8M13, /* 14 bits, truncated, stored as FP32 */
    ULP_UNIT_RNE_FP16, /* FP16, nearest even */
    ULP_UNIT_RNE_FP64,
    ULP_UNIT_INT32,
};

#define ULP_UNIT_NO_FLOOR (-100000)

/* Where a row's parameters come from. */
enum ulp_unit_source {
    /* every bit compared with that GPU: vectors recorded for this project */
    ULP_UNIT_MEASURED,
    /* every bit compared with that GPU: north-numerical-computing/MATLAB-tensor-core. No sum there
     * is zero, whose sign is MMA-Sim's and the H200's */
    ULP_UNIT_MEASURED_PUBLIC,
    /* the same unit as a measured one (H100 for H200, E5M2 for E4M3); not compared itself */
    ULP_UNIT_INFERRED,
    ULP_UNIT_PUBLISHED, /* published models (MMA-Sim), not compared with the hardware here */
    ULP_UNIT_DEFINED,   /* exact by definition */
};

/* An operand type. Values are exact in double. */
struct ulp_unit_input {
    const char *name;   /* "f16", in unit names */
    const char *format; /* "fp16", of struct ulp_format; "" for integers */
    /* of one element's raw pattern as read and written; FP6 and FP4 lie one to a byte, in its low
     * bits */
    int bits;
    int precision; /* significand bits with the hidden one */
    int emin;      /* the exponent a subnormal reads */
    /* "" or the format of block scales, fp8-e8m0 or fp8-e4m3, whose sign is not read */
    const char *scale;
};

struct ulp_unit {
    /* input: the type of both operands, or of a and of b, "e4m3-e5m2" */
    const char *gpu, *unit_class, *input, *accumulator;
    enum ulp_unit_kind kind;
    enum ulp_unit_output output;
    int block;         /* products in one sum; of ULP_UNIT_HALVES 32, two sums of 16 */
    int fraction_bits; /* kept below the largest exponent */
    int floor;         /* the smallest exponent a block is aligned to */
    int scale_block;   /* products that share a scale; 0: no scales */
    enum ulp_unit_source source;
};

/* The rows, index 0, 1, ... until NULL. Static storage. */
const struct ulp_unit *ulp_unit_row(size_t index);
/* The GPU whose rows the matrix unit of this GPU is: another where it was not measured itself
 * (number/format/gpu.def); the word itself when there is no such GPU. */
const char *ulp_unit_gpu(const char *gpu);
/* By name "gpu.class.input.accumulator"; NULL when there is none. */
const struct ulp_unit *ulp_unit_find(const char *name);
/* The unit an arithmetic's contractions run on. NULL: ULP_ERROR_UNSUPPORTED with the units that GPU
 * has. */
const struct ulp_unit *ulp_unit_of(const struct ulp_arithmetic *arithmetic,
                                   struct ulp_error *error);
/* "h200.mma.f16.f32" into buffer (always terminated), returned. 32 bytes are enough for every
 * row. */
char *ulp_unit_name(const struct ulp_unit *unit, char *buffer, size_t size);
/* What is known about the row, one line of text: for listings. */
const char *ulp_unit_status(const struct ulp_unit *unit);
/* The type of a (side 0) and b (1). */
const struct ulp_unit_input *ulp_unit_input(const struct ulp_unit *unit, int side);
/* Both operands have one floating-point format, no scales, and arithmetics name the class. */
bool ulp_unit_is_plain(const struct ulp_unit *unit);
/* Bits of a raw element of c and d. */
int ulp_unit_accumulator_bits(const struct ulp_unit *unit);

/* The oracle. c + a[0] b[0] + ... + a[k-1] b[k-1] as the unit computes it: blocks in increasing k,
 * each block's converted result the next one's c. Values are exact in double and must be values of
 * the unit's types. NaN is NaN. scale_a, scale_b: one value per scale_block products, NULL for
 * units without scales. */
double ulp_unit_chain(const struct ulp_unit *unit, const double *a, const double *b,
                      const double *scale_a, const double *scale_b, size_t k, double c);

/* A finite operand as the fast path holds it: Exp(value), with its scale's, is said, so that a
 * subnormal and a scaled value are read as the unit reads them. */
struct ulp_unit_factor {
    float value;
    int exponent;
};
/* One block of TRUNCATED or SCALED onto a finite c. */
double ulp_unit_sum_factors(const struct ulp_unit *unit, const struct ulp_unit_factor *a,
                            const struct ulp_unit_factor *b, size_t count, double c);

/* Raw patterns to values, exactly as the unit reads them (TF32 drops its low 13 bits). count
 * elements of the operand's bits; scales are bytes. */
enum ulp_status ulp_unit_decode(const struct ulp_unit *unit, int side, double *out, const void *raw,
                                size_t count, struct ulp_error *error);
enum ulp_status ulp_unit_decode_scales(const struct ulp_unit *unit, double *out, const uint8_t *raw,
                                       size_t count, struct ulp_error *error);

/* A stack of products on raw patterns: d[t](m, n) = c[t](m, n) + sum over k of a[t](m, k) * b[t](n,
 * k), all row-major. scale_a [t][m][ceil(k / scale_block)] and scale_b [t][n][...] are NULL for
 * units without scales. Runs the oracle. */
struct ulp_unit_problem {
    size_t t, m, n, k;
    const void *a, *b, *c;
    const uint8_t *scale_a, *scale_b;
    void *d;
};
enum ulp_status ulp_unit_run(const struct ulp_unit *unit, const struct ulp_unit_problem *problem,
                             struct ulp_pool *pool, struct ulp_error *error);

/* The schedule: a contiguous slice has this many k. Of slice_tile the smallest multiple that is at
 * least k / split_k; else k / split_k when that is whole, else the smallest multiple of the unit's
 * block that is no less (the last slices are then shorter or empty). */
size_t ulp_unit_slice_length(const struct ulp_unit *unit, size_t k,
                             const struct ulp_schedule *schedule);

/* A contraction on the unit of arithmetic->schedule (ulp_contract calls this when unit_class is not
 * empty). Slices of k, each a chain from 0 whose result is added (FP32, nearest even) to an FP32
 * sum every schedule.promote k. Slices' results are added in order, nearest even, in FP32; in FP16
 * when that is the accumulator and nothing is promoted. */
enum ulp_status ulp_contract_unit(const struct ulp_arithmetic *arithmetic,
                                  const struct ulp_contraction *problem, struct ulp_pool *pool,
                                  struct ulp_error *error);
