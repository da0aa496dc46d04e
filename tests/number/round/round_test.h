/* What the parts of check_round share. */
#pragma once

#include "number/round/round.h"
#include "tests/support/test.h"

enum { MODE_COUNT = ULP_ROUND_STOCHASTIC }; /* the deterministic ones */
extern const char *const mode_names[ULP_ROUND_STOCHASTIC + 1];

/* The format of that name; fails the test when it is unknown. */
struct ulp_format get_format(const char *name);

uint64_t double_bits(double x);
/* The same bits, or two NaN. */
bool same_double(double a, double b);
/* got, and what ulp_format_round gives for x, must be `want`. */
void check_double(const struct ulp_format *format, enum ulp_rounding mode, double x, double got,
                  double want);
