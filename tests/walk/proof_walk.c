#include "proof_walk.h"

#include <errno.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random_graph.h"
#include "tests/analysis/attack.h"
#include "tests/ops/harness/rows.h"
#include "tests/support/test.h"

/* Inputs of a graph: ends first (random_graph.h), then others; and climbs. */
#define SAMPLES 14
#define CLIMBS 3
#define MEMORY_MAX ((size_t)256 << 20)
/* Of a graph: milliseconds are usual. */
#if defined __SANITIZE_ADDRESS__
#define SECONDS_MAX 120
#else
#define SECONDS_MAX 20
#endif
/* Graphs of one process. */
#define BATCH 256

/* Rows that are not reached, with the reason. */
static const struct exemption excepted[] = {{0}};

struct proof_walk *proof_walk_create(void)
{
    return rows_share(sizeof(struct proof_walk));
}

static void note(struct proof_walk *walk, bool loud, const char *what)
{
    char text[700];
    snprintf(text, sizeof text, "seed %llu, %s: %s", (unsigned long long)walk->seed, walk->stage,
             what);
    if (walk->violations < WALK_FAILURES_MAX)
        memcpy(walk->failures[walk->violations], text, sizeof text);
    walk->violations++;
    if (loud) {
        printf("%s\n", text);
        fflush(stdout);
    }
}

/* ---- one graph ---- */

struct trip {
    struct proof_walk *walk;
    const struct random_graph *graph;
    bool loud;
};

static void take_wrong(void *context, const char *what)
{
    struct trip *trip = context;
    note(trip->walk, trip->loud, what);
}

static void make_sample(void *context, uint64_t seed, struct ulp_tensor_set *out)
{
    const struct trip *trip = context;
    random_graph_sample(trip->graph, seed, out);
}

static void set_stage(struct proof_walk *walk, const char *stage, const struct random_graph *graph)
{
    snprintf(walk->stage, sizeof walk->stage, "%s in %s", stage, graph->arithmetic);
}

/* Whether it is done; a refusal has one line. */
static bool passes(struct trip *trip, enum ulp_status status, const struct ulp_error *error)
{
    if (status != ULP_OK &&
        (!*error->message || status == ULP_ERROR_LIMIT || status == ULP_ERROR_CANCELLED))
        take_wrong(trip, "a refusal without a line, or of a wrong status");
    return status == ULP_OK;
}

/* Which rows the graph has, and of which an output is proven. */
static void count_rows(struct proof_walk *walk, const struct random_graph *graph,
                       const struct ulp_proof *proof)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        const size_t row = graph->nodes[n].row;
        bool proven = false, known = false;
        for (size_t p = 0; p < proof->node_count; p++)
            if (strcmp(proof->nodes[p].name, graph->nodes[n].name) == 0) {
                known = true;
                for (size_t o = 0; o < proof->nodes[p].output_count; o++)
                    proven |= proof->nodes[p].outputs[o].verdict == ULP_PROOF_PROVEN;
            }
        ck_expect(row < WALK_ROWS_MAX, "the table has more rows");
        walk->drawn[row]++;
        walk->reached[row] += proven || !known;
    }
}

/* Ends, inside and climbing. */
static void attack(struct trip *trip, struct subject *subject, const struct ulp_tensor_set *shapes)
{
    struct proof_walk *walk = trip->walk;
    subject->wrong = take_wrong;
    subject->make = make_sample;
    subject->context = trip;
    set_stage(walk, "run", trip->graph);
    attack_randomly(subject, SAMPLES, 0, shapes);
    set_stage(walk, "climb", trip->graph);
    attack_climbing(subject, CLIMBS, ulp_mix(trip->graph->seed) >> 40, shapes);
    walk->runs += subject->random + subject->climbed;
    walk->refused_runs += subject->refused;
    walk->tensors += subject->tensors;
    walk->values += subject->values;
    walk->attained = fmax(walk->attained, subject->attained);
}

static void prove(struct trip *trip, struct subject *subject, const struct ulp_tensor_set *shapes)
{
    const struct random_graph *graph = trip->graph;
    struct proof_walk *walk = trip->walk;
    struct ulp_input_range ranges[RANDOM_INPUTS_MAX];
    struct ulp_prove_box box = {.ranges = ranges};
    struct ulp_error error;
    for (size_t i = 0; i < graph->input_count; i++)
        if (graph->inputs[i].type != ULP_TYPE_BOOL)
            ranges[box.range_count++] =
                (struct ulp_input_range){graph->inputs[i].name, graph->inputs[i].low,
                                         graph->inputs[i].high};
    set_stage(walk, "prove", graph);
    if (!passes(trip,
                ulp_proof_run(subject->model, subject->program, &box, 1, &subject->proof, &error),
                &error)) {
        walk->refused_proofs++;
        return;
    }
    walk->outputs += subject->proof.output_count;
    walk->proven += subject->proof.counts[ULP_PROOF_PROVEN];
    count_rows(walk, graph, &subject->proof);
    attack(trip, subject, shapes);
    ulp_proof_free(&subject->proof);
}

static void walk_graph(struct proof_walk *walk, uint64_t seed, bool loud)
{
    struct random_graph graph;
    struct trip trip = {walk, &graph, loud};
    struct ulp_budget budget = {.limit_bytes = MEMORY_MAX};
    struct ulp_tensor_set shapes;
    struct subject subject = {0};
    struct ulp_error error;
    snprintf(walk->stage, sizeof walk->stage, "making it");
    random_graph_make(seed, &graph);
    walk->graphs++;
    set_stage(walk, "plan", &graph);
    const struct ulp_arithmetic lane = test_arithmetic(graph.arithmetic);
    ck_ok(ulp_model_load_bytes("random.onnx", graph.model.data, graph.model.count, &budget,
                               &subject.model, &why));
    random_graph_sample(&graph, 0, &shapes);
    const struct ulp_program_options options = {.inputs = &shapes};
    if (passes(&trip,
               ulp_program_create(subject.model, &lane, 1, &options, &subject.program, &error),
               &error)) {
        prove(&trip, &subject, &shapes);
        ulp_program_free(subject.program);
    } else {
        walk->refused_plans++;
    }
    ulp_tensor_set_free(&shapes);
    ulp_model_free(subject.model);
    if (budget.used_bytes)
        take_wrong(&trip, "memory is still charged");
    random_graph_free(&graph);
}

/* ---- the processes ---- */

static void walk_on(struct proof_walk *walk, uint64_t first, uint64_t end, size_t tensors,
                    bool loud)
{
    for (uint64_t seed = first; seed < end && walk->tensors < tensors; seed++) {
        const struct itimerval time = {.it_value = {SECONDS_MAX, 0}};
        walk->seed = seed;
        setitimer(ITIMER_PROF, &time, NULL);
        walk_graph(walk, seed, loud);
    }
    exit(0); /* not _exit: a build that counts lines (coverage.py) writes its counts */
}

void proof_walk_run(struct proof_walk *walk, uint64_t first, uint64_t count, size_t tensors,
                    bool loud)
{
    const uint64_t end = first + count;
    while (first < end && walk->tensors < tensors) {
        const uint64_t next = end - first < BATCH ? end : first + BATCH;
        int status;
        fflush(NULL);
        const pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
            walk_on(walk, first, next, tensors, loud);
        while (waitpid(child, &status, 0) < 0)
            ck_assert_int_eq(errno, EINTR);
        first = next;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        char what[100];
        snprintf(what, sizeof what, "ended by %s %d", WIFSIGNALED(status) ? "signal" : "code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        note(walk, loud, what);
        first = walk->seed + 1;
    }
}

/* ---- the report ---- */

static const char *exception(const struct ulp_operator *row)
{
    for (const struct exemption *e = excepted; e->op; e++)
        if (strcmp(e->op, row->name) == 0)
            return e->reason;
    return NULL;
}

size_t proof_walk_missing(const struct proof_walk *walk, char *out, size_t size)
{
    size_t missing = 0, length = 0;
    *out = 0;
    for (size_t r = 0; ulp_operator_row(r); r++) {
        const struct ulp_operator *row = ulp_operator_row(r);
        if (walk->reached[r])
            continue;
        missing += !exception(row);
        if (length < size)
            length += (size_t)snprintf(out + length, size - length, "%s%s since %d%s%s (%s%s)",
                                       length ? ", " : "", row->name, row->since,
                                       row->when ? " with " : "", row->when ? row->when : "",
                                       walk->drawn[r] ? "never proven" : "never drawn",
                                       exception(row) ? ", excepted" : "");
    }
    return missing;
}

void proof_walk_print(const struct proof_walk *walk)
{
    char missing[6000];
    size_t rows = 0, drawn = 0, reached = 0;
    for (; ulp_operator_row(rows); rows++) {
        drawn += walk->drawn[rows] > 0;
        reached += walk->reached[rows] > 0;
    }
    proof_walk_missing(walk, missing, sizeof missing);
    printf(
        "%zu graphs (%zu plans and %zu proofs refused), %zu of %zu outputs proven; %zu runs "
        "(%zu refused), %zu tensors, %zu values, at most %.3f of a bound; of %zu rows %zu drawn, "
        "%zu proven; %zu violations\n",
        walk->graphs, walk->refused_plans, walk->refused_proofs, walk->proven, walk->outputs,
        walk->runs, walk->refused_runs, walk->tensors, walk->values, walk->attained, rows, drawn,
        reached, walk->violations);
    if (*missing)
        printf("rows not reached: %s\n", missing);
}
