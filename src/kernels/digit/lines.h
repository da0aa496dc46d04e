/* Scales and integer digits of a panel's lines, several elements at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ULP_WIDE_LINES_MAX 24
#define ULP_WIDE_LINES_DIGITS_MAX 4

/* Element k of line i is number base[i] + offset[k] of data: records of two limbs, or floats. */
struct ulp_wide_lines {
    const void *data;
    bool floats;
    const int64_t *base, *offset;
    size_t count, k_count;
};

/* What is known of lines so far: as struct ulp_wide_line has it, before end_line. */
struct ulp_wide_scales {
    int64_t exponent[ULP_WIDE_LINES_MAX], lowest[ULP_WIDE_LINES_MAX];
    uint32_t irregular; /* an infinity or NaN is in the line: a bit each */
};

/* Digit i of k and line c goes to out[i * stride + k * width + c]; digits of lines that are not
 * `wanted`, a bit each, are those of zeros. */
struct ulp_wide_lines_cut {
    const struct ulp_wide_lines *lines;
    const int64_t *exponent;
    uint32_t wanted;
    bool exact; /* the digits hold every bit */
    int digits; /* at most ULP_WIDE_LINES_DIGITS_MAX */
    uint64_t *out;
    size_t stride, width;
};

/* One instruction set's code. */
struct ulp_wide_lines_code {
    void (*scan)(struct ulp_wide_scales *scales, const struct ulp_wide_lines *lines);
    void (*cut)(const struct ulp_wide_lines_cut *cut);
};

#ifdef __x86_64__
extern const struct ulp_wide_lines_code ulp_wide_lines_avx512;
#endif
