/* Every public function under what a host may have set on its thread: the bits are those of a plain
 * one, and what was set is there when the function returns and when it calls the host. */
#include <fenv.h>
#include <sched.h>
#include <stdatomic.h>

#include "environment/host.h"
#include "environment/subject.h"
#include "tests/support/test.h"

TEST_LOOP(hosts_change_no_bit, 0, subject_count)
{
    const struct subject *subject = &subjects[_i];
    fenv_t plain;
    struct digest wanted = {0};
    subjects_open();
    fegetenv(&plain);
    host_name = "a plain host";
    expected = read_state();
    subject->digest(&wanted);
    for (int h = 0; h < host_count; h++) {
        struct digest got = {0};
        host_name = hosts[h].name;
        hosts[h].set();
        expected = read_state();
        subject->digest(&got);
        ck_assert_msg(got.value == wanted.value, "%s change under %s", subject->name, host_name);
        fesetenv(&plain);
        mpfr_set_emin(MPFR_EMIN_DEFAULT);
        mpfr_set_emax(MPFR_EMAX_DEFAULT);
        mpfr_set_default_prec(53);
        mpfr_set_default_rounding_mode(MPFR_RNDN);
        mpfr_clear_flags();
        setlocale(LC_ALL, "C");
    }
    subjects_close();
}

/* Threads start with their creator's floating-point environment. */
static struct state worker_states[4];
static atomic_int workers_seen;

ULP_WORK(see_worker)
{
    (void)context, (void)first, (void)last;
    if (worker && !worker_states[worker].precision) {
        worker_states[worker] = read_state();
        workers_seen++;
    }
    while (!workers_seen) /* until another has come */
        sched_yield();
    return ULP_OK;
}

TEST_LOOP(workers_do_not_inherit, 0, host_count)
{
    const struct state plain = read_state();
    scoped_pool *pool = test_pool(4);
    hosts[_i].set();
    ck_assert_int_eq(ulp_parallel_for(pool, 4, 1, see_worker, NULL, NULL), ULP_OK);
    for (int w = 1; w < 4; w++) {
        const struct state *state = &worker_states[w];
        if (!state->precision)
            continue;
        ck_assert_uint_eq(state->sse & ~0x3Fu, plain.sse & ~0x3Fu);
        ck_assert_uint_eq(state->x87, plain.x87);
        ck_assert_int_eq(state->rounding, plain.rounding);
        ck_assert(state->emin == plain.emin && state->emax == plain.emax);
        ck_assert_str_eq(state->point, ".");
    }
}

static void make_locale(void)
{
    char command[512];
    test_folder_create();
    snprintf(command, sizeof command,
             "localedef --no-archive -i de_DE -f ISO-8859-1 '%s' >/dev/null 2>&1",
             test_folder("de_DE"));
    setenv("LOCPATH", test_folder(""), 1);
    if (system(command) != 0)
        fprintf(stderr, "localedef makes no locale with decimal commas: not tested\n");
}

TEST_MAIN("environment", 0)
{
    tcase_add_unchecked_fixture(tests, make_locale, test_folder_remove);
}
