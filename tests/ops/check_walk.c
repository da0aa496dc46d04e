/* The walk over the operator table: every row with its inputs, attributes and outputs made empty,
 * extreme or wrong, one at a time and several together (harness/variants.h). Planned without data,
 * and run in a lane under a memory limit, each ends in a result of the planned shape or in a
 * refusal with one line; within a time limit, without a fault, and (where the allocator can be told
 * to fill memory) without anything in the result that was never written. `make check` takes a fixed
 * sample of the walk, `make check-long` all of it. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/rows.h"
#include "harness/variants.h"
#include "tests/support/test.h"

#if defined __SANITIZE_ADDRESS__
#define SECONDS_MAX 30
#define FILLS_MEMORY false
#else
#define SECONDS_MAX 3
#define FILLS_MEMORY true
#endif
#define MEMORY_MAX ((size_t)4 << 20)
#define FAILURES_MAX 12
/* Of the sample: one variant in so many. */
#define SAMPLE 97
/* Variants of several changes, for each of one change. */
#define TOGETHER 2

static const char *const lane_names[] = {"mpfr:128", "fp32", "fp16",
                                         "model",    "tf32", "fp16-strict"};
#define LANES (sizeof lane_names / sizeof *lane_names)

/* In memory that the forked processes share. */
static struct state {
    size_t variants, planned, computed, refused;
    size_t number; /* of the variant that runs */
    char what[800];
    char failure[1200];
} * state;

__attribute__((format(printf, 1, 2))) static bool wrong(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(state->failure, sizeof state->failure, format, list);
    va_end(list);
    return false;
}

/* ---- one variant ---- */

static bool is_refusal(enum ulp_status status, const struct ulp_error *error)
{
    if (status != ULP_ERROR_INPUT && status != ULP_ERROR_UNSUPPORTED && status != ULP_ERROR_MEMORY)
        return wrong("status %d: %s", (int)status, error->message);
    if (!*error->message || strchr(error->message, '\n'))
        return wrong("a refusal without one clean line: '%s'", error->message);
    return true;
}

/* All that one call needs; outputs are the caller's. */
struct attempt {
    const struct ulp_bound *bound;
    const struct ulp_arithmetic *lane;
    const struct node_case *c;
    struct ulp_budget budget;
    struct ulp_tensor outputs[CASE_INPUTS];
    struct ulp_error error;
};

static enum ulp_status call(struct attempt *a, const struct ulp_tensor *const *in,
                            enum ulp_status (*function)(struct ulp_call *, struct ulp_error *))
{
    const struct ulp_call made = {.bound = a->bound,
                                  .arithmetic = a->lane,
                                  .in = in,
                                  .budget = &a->budget};
    a->error = (struct ulp_error){0};
    return case_call(a->c, made, function, a->outputs, &a->error);
}

/* The shapes alone: without any values, or with those of the integers. */
static bool plan(struct attempt *a, bool integers_known, struct ulp_tensor *shapes)
{
    struct ulp_tensor views[CASE_INPUTS];
    const struct ulp_tensor *in[CASE_INPUTS] = {NULL};
    for (size_t i = 0; i < a->c->node.input_count; i++) {
        if (!a->c->in[i])
            continue;
        views[i] = ulp_tensor_view(a->c->in[i]);
        if (!integers_known || ulp_element_is_float(views[i].element))
            views[i].data = NULL;
        in[i] = &views[i];
    }
    const enum ulp_status status = call(a, in, ulp_call_infer);
    memcpy(shapes, a->outputs, sizeof a->outputs);
    state->planned++;
    return status == ULP_OK || is_refusal(status, &a->error);
}

/* What came out is whole, and what planning said it would be. */
static bool is_whole(const struct attempt *a, const struct ulp_tensor *shapes)
{
    for (size_t i = 0; i < a->c->node.output_count; i++) {
        const struct ulp_tensor *out = &a->outputs[i];
        size_t count = 1;
        if (a->c->outputs[i] < 0) {
            if (out->data)
                return wrong("output %zu is not wanted and there", i);
            continue;
        }
        for (int d = 0; d < out->rank; d++)
            count *= (size_t)out->dims[d];
        if (out->type == ULP_TYPE_UNDEFINED || !out->data || count != out->count)
            return wrong("output %zu is not there, or its count is not that of its shape", i);
        if (shapes[i].type != ULP_TYPE_UNDEFINED &&
            (shapes[i].type != out->type || !ulp_tensor_same_shape(&shapes[i], out)))
            return wrong("output %zu is not what it was planned to be", i);
    }
    return true;
}

static unsigned long long hash(const struct ulp_tensor *tensor)
{
    return ulp_hash(tensor->data, tensor->count * tensor->element_bytes);
}

/* The same again with other bytes in fresh memory. */
static bool is_written(struct attempt *a)
{
    unsigned long long first[CASE_INPUTS] = {0};
    const size_t count = a->c->node.output_count;
    bool good = true;
    for (size_t i = 0; i < count; i++)
        first[i] = hash(&a->outputs[i]);
    case_free_outputs(a->outputs);
    test_fill_memory(0x5a);
    const enum ulp_status status = call(a, a->c->in, ulp_call_run);
    test_fill_memory(0x21);
    if (status != ULP_OK)
        good = wrong("it fails the second time: %s", a->error.message);
    for (size_t i = 0; i < count && good; i++)
        if (first[i] != hash(&a->outputs[i]))
            good = wrong("output %zu depends on what was in memory before", i);
    return good;
}

/* shapes: as planned, twice. */
static bool run(struct attempt *a, const struct ulp_tensor (*shapes)[CASE_INPUTS])
{
    const enum ulp_status status = call(a, a->c->in, ulp_call_run);
    bool good = status == ULP_OK ? is_whole(a, shapes[0]) && is_whole(a, shapes[1])
                                 : is_refusal(status, &a->error);
    ++*(status == ULP_OK ? &state->computed : &state->refused);
    if (status == ULP_OK && good && FILLS_MEMORY)
        good = is_written(a);
    case_free_outputs(a->outputs);
    if (good && a->budget.used_bytes)
        good = wrong("%zu bytes are still charged", (size_t)a->budget.used_bytes);
    return good;
}

static bool has_data(const struct node_case *c)
{
    for (size_t i = 0; i < c->node.input_count; i++)
        if (c->in[i] && (!c->in[i]->data || c->in[i]->type == ULP_TYPE_UNDEFINED))
            return false;
    return true;
}

/* Shapes that no tensor has cannot be given at all. */
static bool is_possible(const struct node_case *c)
{
    for (size_t i = 0; i < c->node.input_count; i++)
        if (c->in[i] && !c->in[i]->element_bytes)
            return false;
    return true;
}

static bool try(const struct ulp_operator *row, const struct node_case *c,
                const struct ulp_arithmetic *lane)
{
    scoped_arena *arena = NULL;
    struct ulp_bound bound;
    struct attempt a = {.bound = &bound,
                        .lane = lane,
                        .c = c,
                        .budget = {.limit_bytes = MEMORY_MAX}};
    struct ulp_tensor shapes[2][CASE_INPUTS];
    ck_assert_int_eq(ulp_arena_create(&arena, NULL, NULL), ULP_OK);
    const enum ulp_status status = ulp_bind(&bound, &c->node, row->since, arena, &a.error);
    bool good = true;
    if (status != ULP_OK) {
        good = is_refusal(status, &a.error);
        state->refused++;
    } else if (is_possible(c)) {
        good = plan(&a, false, shapes[0]) && plan(&a, true, shapes[1]);
        if (good && has_data(c))
            good = run(&a, shapes);
    }
    ulp_unbind(&bound);
    return good;
}

/* What a lane that obeys declared types computes the node in: run/block.c. */
static const struct ulp_arithmetic *find_declared(const struct node_case *c,
                                                  const struct ulp_arithmetic *lane,
                                                  struct ulp_arithmetic *out)
{
    for (size_t i = 0; i < c->node.input_count; i++) {
        const struct ulp_tensor *in = c->in[i];
        if (!in || !ulp_type_is_float(in->type) || ulp_type_rows[in->type].file_bits <= 8)
            continue;
        *out = test_arithmetic(ulp_type_rows[in->type].format);
        out->as_declared = true;
        return out;
    }
    return lane;
}

/* ---- the variants of a case ---- */

struct walk {
    const struct ulp_operator *row;
    const struct hint *hint;
    struct variant *list;
    size_t count; /* of single changes */
    uint64_t key;
    struct ulp_arithmetic lanes[LANES];
};

/* Variant number n: a single change, or from `count` on two or three drawn at random. */
static bool walk_to(const struct walk *w, size_t n)
{
    const size_t changes = n < w->count ? 1 : 2 + n % 2;
    const struct ulp_arithmetic *lane = &w->lanes[(n + n / LANES) % LANES];
    struct ulp_text what = {0};
    struct node_case c;
    struct ulp_arithmetic declared;
    case_make(&c, w->row, w->hint, lane);
    for (size_t i = 0; i < changes; i++) {
        const uint64_t drawn = ulp_random_bits(w->key, 4 * n + i);
        variant_apply(&c, w->row, lane, &w->list[n < w->count ? n : drawn % w->count], &what);
    }
    ck_assert(!what.failed);
    snprintf(state->what, sizeof state->what, "%s in %s: %s", w->row->name, lane->name, what.data);
    ulp_text_free(&what);
    state->variants++;
    const bool good =
        try(w->row, &c, lane->as_declared ? find_declared(&c, lane, &declared) : lane);
    case_free(&c);
    return good;
}

/* ---- the processes ---- */

static void set_limits(void)
{
    const struct itimerval time = {.it_value = {SECONDS_MAX, 0}};
    setitimer(ITIMER_PROF, &time, NULL);
}

/* In a process of its own, variants from `first` on until one fails. */
static void walk_on(const struct walk *w, size_t first, size_t total, size_t step)
{
    for (size_t n = first; n < total; n += step) {
        state->number = n;
        state->failure[0] = 0;
        set_limits();
        if (!walk_to(w, n))
            _exit(2);
    }
    _exit(0);
}

static void report(const struct walk *w, int status, struct ulp_text *failures)
{
    ulp_text_add(failures, "%s since %d, variant %zu: %s: ", w->row->name, w->row->since,
                 state->number, state->what);
    if (WIFSIGNALED(status))
        ulp_text_add(failures,
                     WTERMSIG(status) == SIGPROF ? "it takes more than %d s\n"
                                                 : "ended by signal %d\n",
                     WTERMSIG(status) == SIGPROF ? SECONDS_MAX : WTERMSIG(status));
    else
        ulp_text_add(failures, "%s\n",
                     *state->failure ? state->failure
                                     : "the process ended (a sanitizer's finding)");
}

static size_t walk_case(const struct ulp_operator *row, const struct hint *hint, size_t number,
                        struct ulp_text *failures)
{
    struct walk w = {.row = row, .hint = hint};
    struct node_case c;
    for (size_t l = 0; l < LANES; l++)
        w.lanes[l] = test_arithmetic(lane_names[l]);
    w.key = ulp_hash(row->name, strlen(row->name)) + (uint64_t)row->since + 1000 * number;
    case_make(&c, row, hint, &w.lanes[0]);
    w.count = variant_list(row, &c, NULL);
    w.list = calloc(w.count, sizeof *w.list);
    ck_assert_ptr_nonnull(w.list);
    variant_list(row, &c, w.list);
    case_free(&c);
    const size_t step = test_long() ? 1 : SAMPLE, total = (1 + TOGETHER) * w.count;
    size_t failed = 0;
    for (size_t n = w.key % step; n < total && failed < FAILURES_MAX; failed++) {
        const pid_t child = fork();
        int status;
        ck_assert_int_ge(child, 0);
        if (child == 0)
            walk_on(&w, n, total, step);
        while (waitpid(child, &status, 0) < 0)
            ck_assert_int_eq(errno, EINTR);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            break;
        report(&w, status, failures);
        n = state->number + step;
    }
    free(w.list);
    return failed;
}

START_TEST(every_variant_ends_in_a_result_or_a_refusal)
{
    const struct ulp_operator *row = ulp_operator_row((size_t)_i);
    struct ulp_text failures = {0};
    size_t failed = 0, number = 0;
    if (case_exemption(row))
        return;
    const struct hint *hint = case_hint(row, 0);
    do
        failed += walk_case(row, hint, number++, &failures);
    while (hint && (hint = case_hint(row, number)) && failed < FAILURES_MAX);
    if (failed)
        fprintf(stderr, "%s", failures.data);
    ulp_text_free(&failures);
    ck_assert_msg(!failed, "%zu variants of %s since %d end otherwise", failed, row->name,
                  row->since);
}
END_TEST

int main(void)
{
    state = rows_share(sizeof *state);
    test_fill_memory(0x21);
#if !defined __SANITIZE_ADDRESS__
    const struct rlimit memory = {(rlim_t)4 << 30, (rlim_t)4 << 30};
    setrlimit(RLIMIT_AS, &memory);
#endif
    const int code =
        rows_run("walk", every_variant_ends_in_a_result_or_a_refusal, test_long() ? 3600 : 120);
    printf("%zu variants: planned %zu times, %zu runs gave a result, %zu were refused\n",
           state->variants, state->planned, state->computed, state->refused);
    return code;
}
