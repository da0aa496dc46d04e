/* What a thread's owner may have set and every number here depends on: rounding mode, flushing of
 * subnormals, traps and x87 precision (a library linked with -ffast-math sets them for its whole
 * process), MPFR's exponent range and defaults, and the locale's decimal point. Public functions
 * that compute, read or write numbers begin with ULP_ENTER(error); and find all of it as a new
 * thread of a new process has it; what the caller had, exception flags included, is back when they
 * return. Threads of a pool enter once. */
#pragma once

#include <fenv.h>
#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif
#include <stdbool.h>
#include <mpfr.h>

#include "base/error.h"

struct ulp_environment {
    bool outermost; /* false: entered already, nothing is kept here and leaving changes nothing */
    fenv_t floats;  /* not where it is plain */
    /* the same as registers, where these are read in some cycles; plain: they are a new process's
     * but for the exception flags of SSE */
    struct ulp_float_registers {
        unsigned mxcsr;
        unsigned short control, status;
    } registers;
    bool plain;
    locale_t locale;
    mpfr_exp_t emin, emax;
    mpfr_prec_t precision;
    mpfr_rnd_t rounding;
    mpfr_flags_t flags;
};
void ulp_environment_enter(struct ulp_environment *caller);
void ulp_environment_leave(struct ulp_environment *caller);
#define ULP_ENTER_ENVIRONMENT                                                      \
    struct ulp_environment caller __attribute__((cleanup(ulp_environment_leave))); \
    ulp_environment_enter(&caller)
/* ... and of a public function whose caller does not ask why it failed: inside there is always an
 * error to read. */
#define ULP_ENTER(error)      \
    ULP_ENTER_ENVIRONMENT;    \
    struct ulp_error unasked; \
    error = ulp_error_or(error, &unasked)

/* Around calls of the caller's own functions: these see what the caller had, and may change it. */
struct ulp_environment *ulp_environment_pause(void);
void ulp_environment_resume(struct ulp_environment *paused);

/* The part that operations on one double depend on, some nanoseconds: for functions of one
 * element. */
#ifdef __x86_64__
#include <xmmintrin.h>
#define ULP_MXCSR_DEFAULT 0x1F80u
#define ULP_MXCSR_FLAGS 0x3Fu
struct ulp_float_mode {
    unsigned control;
};
static inline void ulp_float_mode_enter(struct ulp_float_mode *caller)
{
    caller->control = _mm_getcsr();
    if ((caller->control & ~ULP_MXCSR_FLAGS) != ULP_MXCSR_DEFAULT)
        _mm_setcsr(ULP_MXCSR_DEFAULT);
}
static inline void ulp_float_mode_leave(struct ulp_float_mode *caller)
{
    if (_mm_getcsr() != caller->control)
        _mm_setcsr(caller->control);
}
#else
struct ulp_float_mode {
    fenv_t control;
};
static inline void ulp_float_mode_enter(struct ulp_float_mode *caller)
{
    fegetenv(&caller->control);
    fesetenv(FE_DFL_ENV);
}
static inline void ulp_float_mode_leave(struct ulp_float_mode *caller)
{
    fesetenv(&caller->control);
}
#endif
/* Compilers do not know that operations depend on the mode: x is computed before this, and what
 * uses it after. */
#define ULP_COMPUTED_HERE(x) __asm__ volatile("" : "+m"(x) : : "memory")
