#include "host.h"

#include <fenv.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "tests/support/test.h"

#ifdef __x86_64__
static void flush_subnormals(void)
{
    _mm_setcsr(_mm_getcsr() | 0x8040);
}
static void shorten_x87(void)
{
    unsigned short control = 0x007F; /* 24 bits, to nearest, exceptions masked */
    __asm__ volatile("fldcw %0" : : "m"(control));
}
#endif
static void round_up(void)
{
    fesetround(FE_UPWARD);
}
static void round_down(void)
{
    fesetround(FE_DOWNWARD);
}
static void round_to_zero(void)
{
    fesetround(FE_TOWARDZERO);
}
static void raise_flags(void)
{
    feraiseexcept(FE_DIVBYZERO);
    mpfr_set_divby0();
}
static void narrow_mpfr(void)
{
    mpfr_set_emin(-4);
    mpfr_set_emax(5);
    mpfr_set_default_prec(7);
    mpfr_set_default_rounding_mode(MPFR_RNDU);
    mpfr_set_erangeflag();
}
/* Made by the fixture where localedef can; else the locale stays. */
static void write_commas(void)
{
    setlocale(LC_ALL, "de_DE");
}

const struct host hosts[] = {
#ifdef __x86_64__
    {"flushing subnormals", flush_subnormals},
    {"x87 of 24 bits", shorten_x87},
#endif
    {"rounding up", round_up},
    {"rounding down", round_down},
    {"rounding toward zero", round_to_zero},
    {"flags raised", raise_flags},
    {"a narrow MPFR", narrow_mpfr},
    {"decimal commas", write_commas},
};
const int host_count = sizeof hosts / sizeof *hosts;

struct state read_state(void)
{
    struct state state;
    memset(&state, 0, sizeof state);
#ifdef __x86_64__
    state.sse = _mm_getcsr();
    __asm__ volatile("fnstcw %0" : "=m"(state.x87));
#endif
    state.rounding = fegetround();
    state.raised = fetestexcept(FE_ALL_EXCEPT);
    state.emin = mpfr_get_emin();
    state.emax = mpfr_get_emax();
    state.precision = mpfr_get_default_prec();
    state.mpfr_rounding = mpfr_get_default_rounding_mode();
    state.flags = mpfr_flags_save();
    state.locale = uselocale((locale_t)0);
    snprintf(state.point, sizeof state.point, "%s", localeconv()->decimal_point);
    return state;
}

struct state expected;
const char *host_name;

void expect_no_flags(void)
{
    feclearexcept(FE_ALL_EXCEPT & ~FE_DIVBYZERO);
    expected.raised = fetestexcept(FE_ALL_EXCEPT);
#ifdef __x86_64__
    expected.sse = (expected.sse & ~0x3Fu) | (_mm_getcsr() & 0x3Fu);
#endif
}

void expect_state(const char *what)
{
    const struct state now = read_state();
    ck_expect(memcmp(&now, &expected, sizeof now) == 0, "%s: %s leaves another environment",
              host_name, what);
}
