/* One program on several threads at once (ulpscope/run.h: "A program is const and may be shared"):
 * runs, audits and proofs, each with a pool of its own, give the bits that they give alone. What a
 * program's runs leave for the next ones is made, found and given up meanwhile: under
 * ThreadSanitizer (scripts/test --threads) no access to it may race. */
#include <pthread.h>

#include "tests/support/networks.h"
#include "tests/support/text_model.h"
#include "analysis/audit/auditor.h"

enum { THREADS = 4, LANES = 4, ROUNDS = 3 };

static const char *const lane_names[LANES] = {"mpfr:128", "fp16", "tf32@a100", "bf16-strict"};

/* What every thread has of its own, and what all share. */
struct worker {
    const struct ulp_model *model;
    const struct ulp_program *program;
    size_t first, count; /* of its lanes */
    struct ulp_tensor_set inputs, wanted[LANES];
    struct ulp_audit audit; /* alone */
    struct ulp_proof proof;
    int number;
    bool may_lack_memory;
    char problem[200]; /* Check's macros end the process, which only the first thread may do */
};

static void note(struct worker *worker, const char *what, const char *which)
{
    snprintf(worker->problem, sizeof worker->problem, "thread %d: %s %s", worker->number, what,
             which);
}

/* ---- what a thread does ---- */

static bool is_done(struct worker *worker, enum ulp_status status, const struct ulp_error *error)
{
    if (status != ULP_OK && !(worker->may_lack_memory && status == ULP_ERROR_MEMORY))
        note(worker, "fails:", error->message);
    return status == ULP_OK;
}

static void run_plan(struct worker *worker, int round)
{
    const struct ulp_run_options options = {.thread_count = 1 + (worker->number + round) % 3,
                                            .audit = round % 2};
    struct ulp_tensor_set outputs[LANES];
    struct ulp_error error;
    if (!is_done(worker,
                 ulp_program_run(worker->program, &worker->inputs, &options, NULL, 0, outputs, NULL,
                                 &error),
                 &error))
        return;
    for (size_t l = 0; l < worker->count; l++) {
        for (size_t o = 0; o < outputs[l].count; o++)
            if (!test_same_bits(&outputs[l].items[o].tensor, &worker->wanted[l].items[o].tensor))
                note(worker, "other bits in", lane_names[worker->first + l]);
        ulp_tensor_set_free(&outputs[l]);
    }
}

static bool audit_plan(struct worker *worker, int thread_count, struct ulp_audit *out)
{
    const struct ulp_run_options options = {.thread_count = thread_count, .audit = true};
    struct ulp_auditor *auditor;
    struct ulp_error error;
    if (!is_done(worker, ulp_auditor_create(worker->program, &auditor, &error), &error))
        return false;
    const struct ulp_observer observer = ulp_auditor_observer(auditor);
    enum ulp_status status = ulp_auditor_threads(auditor, thread_count, &error);
    if (status == ULP_OK)
        status = ulp_auditor_sample(auditor, "sample", &error);
    if (status == ULP_OK)
        status = ulp_program_run(worker->program, &worker->inputs, &options, &observer, 1, NULL,
                                 NULL, &error);
    if (status == ULP_OK)
        status = ulp_auditor_finish(auditor, out, &error);
    ulp_auditor_free(auditor);
    return is_done(worker, status, &error);
}

static void compare_audits(struct worker *worker, int round)
{
    scoped_audit audit = {0};
    if (!audit_plan(worker, 2 + (worker->number + round) % 5, &audit))
        return;
    for (size_t l = 0; l < audit.lane_count; l++)
        for (size_t n = 0; n < audit.lanes[l].node_count; n++)
            for (size_t o = 0; o < audit.lanes[l].nodes[n].output_count; o++) {
                const struct ulp_audit_node *alone = &worker->audit.lanes[l].nodes[n];
                const struct ulp_audit_output *got = &audit.lanes[l].nodes[n].outputs[o];
                if (!audit_same_metrics(&got->introduced, &alone->outputs[o].introduced) ||
                    !audit_same_metrics(&got->entire, &alone->outputs[o].entire))
                    note(worker, "another error at", alone->name);
            }
}

static bool prove_plan(struct worker *worker, int thread_count, struct ulp_proof *out)
{
    struct ulp_error error;
    return is_done(worker,
                   ulp_proof_run(worker->model, worker->program, NULL, thread_count, out, &error),
                   &error);
}

static void compare_proofs(struct worker *worker, int round)
{
    scoped_proof proof = {0};
    if (!prove_plan(worker, 2 + (worker->number + round) % 5, &proof))
        return;
    if (proof.node_count != worker->proof.node_count ||
        memcmp(proof.counts, worker->proof.counts, sizeof proof.counts) != 0)
        note(worker, "proves", "something else");
    for (size_t n = 0; n < proof.node_count && !*worker->problem; n++)
        for (size_t o = 0; o < proof.nodes[n].output_count; o++)
            if (proof.nodes[n].outputs[o].bound != worker->proof.nodes[n].outputs[o].bound)
                note(worker, "another bound at", proof.nodes[n].name);
}

typedef void work_fn(struct worker *worker, int round);

struct job {
    struct worker *worker;
    work_fn *work;
    int rounds;
};

static void *work_rounds(void *context)
{
    const struct job *job = context;
    for (int round = 0; round < job->rounds && !*job->worker->problem; round++)
        job->work(job->worker, round);
    mpfr_free_cache();
    return NULL;
}

static void work_at_once(struct worker workers[THREADS], work_fn *work, int rounds)
{
    pthread_t threads[THREADS];
    struct job jobs[THREADS];
    for (int t = 0; t < THREADS; t++) {
        jobs[t] = (struct job){&workers[t], work, rounds};
        ck_assert_int_eq(pthread_create(&threads[t], NULL, work_rounds, &jobs[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++)
        ck_assert_msg(!*workers[t].problem, "%s", workers[t].problem);
}

/* ---- programs and what they give alone ---- */

static struct ulp_program *plan_lanes(const struct ulp_model *model,
                                      const struct ulp_tensor_set *inputs, size_t first,
                                      size_t count)
{
    struct ulp_arithmetic lanes[LANES];
    for (size_t l = 0; l < count; l++)
        lanes[l] = test_arithmetic(lane_names[first + l]);
    struct ulp_program *program = test_plan_lanes(model, inputs, lanes, count);
    return program;
}

/* The sample itself, or another near it. */
static struct ulp_tensor_set vary(const struct ulp_tensor_set *sample, int number)
{
    struct ulp_tensor_set varied = {0};
    for (size_t i = 0; i < sample->count; i++) {
        const struct ulp_tensor *from = &sample->items[i].tensor;
        struct ulp_tensor to;
        ck_ok(ulp_tensor_create(&to, from->type, from->element, from->precision, from->rank,
                                from->dims, &why));
        memcpy(to.data, from->data, from->count * from->element_bytes);
        for (size_t e = 0; to.element == ULP_ELEMENT_F32 && e < to.count; e++)
            ((float *)to.data)[e] *=
                1 + (float)number * 0.05f * (float)ulp_random_uniform((uint64_t)number, e);
        ck_ok(ulp_tensor_set_add(&varied, sample->items[i].name, &to, &why));
    }
    return varied;
}

/* The program of `what` for all workers, which must be new: what others leave in it is found there.
 */
static struct ulp_program *hand_out_lanes(struct worker workers[THREADS],
                                          const struct ulp_model *model,
                                          const struct ulp_tensor_set *sample, size_t first,
                                          size_t count)
{
    memset(workers, 0, THREADS * sizeof *workers);
    for (int t = 0; t < THREADS; t++)
        workers[t] = (struct worker){
            .model = model, .number = t, .first = first, .count = count, .inputs = vary(sample, t)};
    return plan_lanes(model, sample, first, count);
}

static struct ulp_program *hand_out(struct worker workers[THREADS], const struct ulp_model *model,
                                    const struct ulp_tensor_set *sample)
{
    return hand_out_lanes(workers, model, sample, 0, LANES);
}

static void take_back(struct worker workers[THREADS])
{
    for (int t = 0; t < THREADS; t++) {
        ulp_tensor_set_free(&workers[t].inputs);
        for (size_t l = 0; l < LANES; l++)
            ulp_tensor_set_free(&workers[t].wanted[l]);
    }
}

static void run_alone(struct worker workers[THREADS], const struct ulp_program *program)
{
    const struct ulp_run_options options = {.thread_count = 1};
    for (int t = 0; t < THREADS; t++)
        ck_ok(ulp_program_run(program, &workers[t].inputs, &options, NULL, 0, workers[t].wanted,
                              NULL, &why));
}

static void share(struct worker workers[THREADS], const struct ulp_program *program)
{
    for (int t = 0; t < THREADS; t++)
        workers[t].program = program;
}

static void check_lanes(const struct ulp_model *model, const struct ulp_tensor_set *sample,
                        size_t first, size_t count)
{
    struct worker workers[THREADS];
    struct ulp_program *alone = hand_out_lanes(workers, model, sample, first, count),
                       *program = plan_lanes(model, sample, first, count);
    run_alone(workers, alone);
    ulp_program_free(alone);
    share(workers, program);
    work_at_once(workers, run_plan, ROUNDS);
    take_back(workers);
    ulp_program_free(program);
}

static void check_runs(const struct ulp_model *model, const struct ulp_tensor_set *sample)
{
    check_lanes(model, sample, 0, LANES);
}

static void check_audits(const struct ulp_model *model, const struct ulp_tensor_set *sample)
{
    struct worker workers[THREADS];
    struct ulp_program *alone = hand_out(workers, model, sample),
                       *program = plan_lanes(model, sample, 0, LANES);
    share(workers, alone);
    for (int t = 0; t < THREADS; t++)
        ck_assert_msg(audit_plan(&workers[t], 1, &workers[t].audit), "%s", workers[t].problem);
    share(workers, program);
    work_at_once(workers, compare_audits, ROUNDS);
    for (int t = 0; t < THREADS; t++)
        ulp_audit_free(&workers[t].audit);
    take_back(workers);
    ulp_program_free(alone);
    ulp_program_free(program);
}

static void check_proofs(const struct ulp_model *model, const struct ulp_tensor_set *sample)
{
    struct worker workers[THREADS];
    struct ulp_program *alone = plan_lanes(model, sample, 1, 1), *program;
    ulp_program_free(hand_out(workers, model, sample));
    share(workers, alone);
    for (int t = 0; t < THREADS; t++)
        ck_assert_msg(prove_plan(&workers[t], 1, &workers[t].proof), "%s", workers[t].problem);
    ulp_program_free(alone);
    program = plan_lanes(model, sample, 1, 1);
    share(workers, program);
    work_at_once(workers, compare_proofs, 1);
    for (int t = 0; t < THREADS; t++)
        ulp_proof_free(&workers[t].proof);
    take_back(workers);
    ulp_program_free(program);
}

typedef void check_fn(const struct ulp_model *model, const struct ulp_tensor_set *sample);
static check_fn *const checks[] = {check_runs, check_audits, check_proofs};
enum { CHECKS = sizeof checks / sizeof *checks };

TEST_LOOP(threads_share_a_network, 0, test_long() ? network_count : 1)
{
    scoped_model *model = NULL;
    scoped_tensor_set sample = {0};
    if (!network_load(_i, &model, &sample))
        return;
    check_runs(model, &sample);
    check_audits(model, &sample);
}

/* A lane by itself: no other reads its values, so that its runs compute nodes together. */
TEST_LOOP(threads_share_one_lane, 0, LANES)
{
    struct ulp_model *model;
    struct ulp_tensor_set sample;
    if (!network_load(0, &model, &sample))
        return;
    check_lanes(model, &sample, (size_t)_i, 1);
    ulp_tensor_set_free(&sample);
    ulp_model_free(model);
    model = text_load(&text_with_bodies);
    sample = text_inputs(model, 3, 0, true);
    check_lanes(model, &sample, (size_t)_i, 1);
    ulp_tensor_set_free(&sample);
    ulp_model_free(model);
}

/* Bodies of If and Loop, which lanes enter or not. */
TEST_LOOP(threads_share_bodies, 0, CHECKS)
{
    scoped_model *model = text_load(&text_with_bodies);
    scoped_tensor_set sample = text_inputs(model, 3, 0, true);
    checks[_i](model, &sample);
}

/* A limit so near that runs give up what others have left, or fail. */
TEST_LOOP(threads_give_up_what_others_left, 0, 3)
{
    struct ulp_budget budget = {0};
    struct ulp_model *model = text_load_within(&text_with_bodies, &budget);
    struct ulp_tensor_set sample = text_inputs(model, 3, 0, true);
    struct worker workers[THREADS];
    struct ulp_program *alone = hand_out(workers, model, &sample);
    const size_t before = budget.used_bytes;
    run_alone(workers, alone);
    const size_t one = budget.peak_bytes - before;
    ulp_program_free(alone);
    struct ulp_program *program = plan_lanes(model, &sample, 0, LANES);
    share(workers, program);
    for (int t = 0; t < THREADS; t++)
        workers[t].may_lack_memory = true;
    budget.limit_bytes = budget.used_bytes + (size_t)(_i + 1) * one;
    work_at_once(workers, run_plan, ROUNDS);
    budget.limit_bytes = 0;
    take_back(workers);
    ulp_program_free(program);
    ulp_tensor_set_free(&sample);
    ulp_model_free(model);
    ck_assert_uint_eq(budget.used_bytes, 0);
}

/* Searches on one model, each with programs of its own. */
static void find_plan(struct worker *worker, int round)
{
    const struct ulp_sample sample = {"sample", &worker->inputs, 0};
    const char *const tolerance = "sqnr_db=50";
    static const char *const formats[] = {"fp32", "fp16"};
    const struct ulp_search_options options = {.formats = formats,
                                               .format_count = 2,
                                               .by_node = true,
                                               .reference = test_arithmetic("fp64"),
                                               .tolerances = &tolerance,
                                               .tolerance_count = 1,
                                               .thread_count = 2 + (worker->number + round) % 5};
    scoped_search found = {0};
    struct ulp_error error;
    if (!is_done(worker,
                 ulp_search_run(worker->model, &options, &sample, 1, NULL, 0, &found, &error),
                 &error))
        return;
    if (!found.met)
        note(worker, "meets", "no tolerance");
}

TEST(searches_share_a_model)
{
    scoped_model *model = NULL;
    scoped_tensor_set sample = {0};
    struct worker workers[THREADS];
    ck_assert(network_load(0, &model, &sample));
    ulp_program_free(hand_out(workers, model, &sample));
    work_at_once(workers, find_plan, 1);
    take_back(workers);
}

TEST_SUITE("shared", 120)
