/* What a host program may have set on the thread that calls the library. */
#pragma once

#include <locale.h>
#include <mpfr.h>

struct host {
    const char *name;
    void (*set)(void);
};
extern const struct host hosts[];
extern const int host_count;

struct state {
    unsigned sse;
    unsigned short x87;
    int rounding, raised;
    mpfr_exp_t emin, emax;
    mpfr_prec_t precision;
    mpfr_rnd_t mpfr_rounding;
    mpfr_flags_t flags;
    locale_t locale;
    char point[8];
};

struct state read_state(void);

/* The host's, set; what every call must leave. */
extern struct state expected;
extern const char *host_name;
/* Before a call: with no exception flags but those that a host sets, those of the test's own
 * arithmetic say nothing, and each that the library raises is another one. */
void expect_no_flags(void);
void expect_state(const char *what);
