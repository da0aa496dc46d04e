/* Setting, saving and restoring what a thread's owner may have changed: floating-point modes,
 * MPFR's defaults, the locale. */
#define _GNU_SOURCE
#include "base/machine/environment.h"

#include <pthread.h>

/* Where this thread's owner's environment is kept while the thread is in the library. */
static _Thread_local struct ulp_environment *kept;

/* (locale_t)0, which leaves the owner's locale, where the system has no memory for "C"; glibc's is
 * static. */
static locale_t plain_locale;
static pthread_once_t plain_locale_made = PTHREAD_ONCE_INIT;

static void make_plain_locale(void)
{
    plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* fegetenv and fesetenv take a hundred cycles each, around every call of an observer. What the
 * caller had is nearly always a new process's: then registers are only looked at. */
#if defined(__x86_64__) && defined(__GNUC__)
#define X87_CONTROL_DEFAULT 0x037F
static struct ulp_float_registers read_registers(void)
{
    struct ulp_float_registers registers = {.mxcsr = _mm_getcsr()};
    __asm__ volatile("fnstcw %0" : "=m"(registers.control));
    __asm__ volatile("fnstsw %0" : "=m"(registers.status));
    return registers;
}

static bool are_plain(const struct ulp_float_registers *registers)
{
    return (registers->mxcsr & ~ULP_MXCSR_FLAGS) == ULP_MXCSR_DEFAULT &&
           registers->control == X87_CONTROL_DEFAULT && registers->status == 0;
}

/* The caller's plain registers. */
static bool restore_plain(const struct ulp_environment *caller)
{
    const struct ulp_float_registers now = read_registers();
    if (!caller->plain)
        return false;
    if (now.status != caller->registers.status || now.control != caller->registers.control)
        fesetenv(FE_DFL_ENV);
    _mm_setcsr(caller->registers.mxcsr);
    return true;
}
#else
static struct ulp_float_registers read_registers(void)
{
    return (struct ulp_float_registers){0};
}
static bool are_plain(const struct ulp_float_registers *registers)
{
    (void)registers;
    return false;
}
static bool restore_plain(const struct ulp_environment *caller)
{
    (void)caller;
    return false;
}
#endif

static void keep(struct ulp_environment *caller)
{
    caller->registers = read_registers();
    caller->plain = are_plain(&caller->registers);
    if (!caller->plain)
        fegetenv(&caller->floats);
    caller->emin = mpfr_get_emin();
    caller->emax = mpfr_get_emax();
    caller->precision = mpfr_get_default_prec();
    caller->rounding = mpfr_get_default_rounding_mode();
    caller->flags = mpfr_flags_save();
}

static void set_plain(struct ulp_environment *caller)
{
    if (!caller->plain)
        fesetenv(FE_DFL_ENV);
    mpfr_set_emin(MPFR_EMIN_DEFAULT);
    mpfr_set_emax(MPFR_EMAX_DEFAULT);
    mpfr_set_default_prec(53);
    mpfr_set_default_rounding_mode(MPFR_RNDN);
    pthread_once(&plain_locale_made, make_plain_locale);
    caller->locale = uselocale(plain_locale);
}

static void restore(const struct ulp_environment *caller)
{
    uselocale(caller->locale);
    mpfr_set_emin(caller->emin);
    mpfr_set_emax(caller->emax);
    mpfr_set_default_prec(caller->precision);
    mpfr_set_default_rounding_mode(caller->rounding);
    mpfr_flags_restore(caller->flags, MPFR_FLAGS_ALL);
    if (!restore_plain(caller))
        fesetenv(&caller->floats);
}

void ulp_environment_enter(struct ulp_environment *caller)
{
    caller->outermost = !kept;
    if (kept)
        return;
    kept = caller;
    keep(caller);
    set_plain(caller);
}

void ulp_environment_leave(struct ulp_environment *caller)
{
    if (!caller->outermost)
        return;
    restore(caller);
    kept = NULL;
}

struct ulp_environment *ulp_environment_pause(void)
{
    struct ulp_environment *paused = kept;
    if (paused)
        restore(paused);
    kept = NULL;
    return paused;
}

void ulp_environment_resume(struct ulp_environment *paused)
{
    kept = paused;
    if (!paused)
        return;
    keep(paused);
    set_plain(paused);
}
