#include "round_test.h"

const char *const mode_names[] = {"rne", "rna", "rz", "ru", "rd", "sr"};

struct ulp_format get_format(const char *name)
{
    const struct ulp_format format = test_format(name);
    return format;
}

uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

bool same_double(double a, double b)
{
    return (isnan(a) && isnan(b)) || double_bits(a) == double_bits(b);
}

void check_double(const struct ulp_format *format, enum ulp_rounding mode, double x, double got,
                  double want)
{
    ck_expect(same_double(got, want), "%s %s: %a gives %a, not %a", format->name, mode_names[mode],
              x, got, want);
    const double alone = ulp_format_round(format, mode, x, 0, 0);
    ck_expect(same_double(alone, want), "%s %s: ulp_format_round %a gives %a, not %a", format->name,
              mode_names[mode], x, alone, want);
}
