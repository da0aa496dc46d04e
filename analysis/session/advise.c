/* What helps an arithmetic most: one to three nodes in FP32, chosen by shares, each choice in a run
 * of its own. */
#include <math.h>
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "analysis/measure/metrics.h"
#include "analysis/session/advise.h"
#include "base/error.h"
#include "base/memory/budget.h"
#include "number/function/math.h"
#include "run/program/program.h"

enum { NODES_MAX = 3, LEADERS = 12, READERS = 2, POOL = LEADERS * (1 + READERS) };

/* A choice is named if its run gains so many decibels, or so many more than a smaller one's. It is
 * worth its run if it is foretold so much more of the error than a smaller one, and what it leaves,
 * which is at least the rest (Cauchy), may be the part that so many decibels leave. */
#define WORTH_A_RUN 0.02
#define WORTH_NAMING_DB 1
#define WORTH_NAMING_REST 0.8913 /* 10^(-WORTH_NAMING_DB / 20) */
/* From this part of the error on the rounding of inputs is what to look at. */
#define INPUTS_MATTER 0.5

struct choice {
    size_t nodes[NODES_MAX], count;
    double foretold; /* part of the error */
    double sqnr_db;  /* of the worst output in the run */
    size_t output;
};

struct advising {
    const struct ulp_session *session;
    struct ulp_audit *audit;
    const struct ulp_audit_lane *lane;
    const struct ulp_samples *samples;
    struct ulp_tensor_set *const *truths;
    struct ulp_alone *alone;
    size_t pool[POOL], pool_count;
    bool *chosen; /* by node */
};

/* ---- which are foretold to help ---- */

/* Is the node's result read, and by no node that is not chosen? */
static bool all_read_chosen(const struct advising *advising, size_t node)
{
    const struct ulp_audit *audit = advising->audit;
    bool read = false;
    for (size_t n = node + 1; n < audit->place_count; n++)
        for (size_t i = 0; i < audit->places[n].input_count; i++) {
            if (audit->places[n].inputs[i].node != (ptrdiff_t)node)
                continue;
            if (!advising->chosen[n])
                return false;
            read = true;
        }
    return read;
}

/* A node that is kept makes no error but by rounding its result, and not that where all who read it
 * are kept. What is left of a whole that some more than cancel counts as left. */
static double foretell(const struct advising *advising, const size_t *nodes, size_t count)
{
    double gone = 0;
    for (size_t i = 0; i < count; i++)
        advising->chosen[nodes[i]] = true;
    for (size_t i = 0; i < count; i++) {
        const struct ulp_audit_node *node = &advising->lane->nodes[nodes[i]];
        gone += all_read_chosen(advising, nodes[i]) ? node->share : node->gain;
    }
    for (size_t i = 0; i < count; i++)
        advising->chosen[nodes[i]] = false;
    return 1 - fabs(1 - gone);
}

static void add_to_pool(struct advising *advising, size_t node)
{
    const struct ulp_audit_node *it = &advising->lane->nodes[node];
    bool taken = it->kept >= 0 || !it->output_count || advising->pool_count == POOL;
    for (size_t p = 0; p < advising->pool_count; p++)
        taken |= advising->pool[p] == node;
    if (!taken)
        advising->pool[advising->pool_count++] = node;
}

/* The nodes of the largest shares and gains, with the few that read them. */
static void fill_pool(struct advising *advising)
{
    const struct ulp_audit *audit = advising->audit;
    const struct ulp_audit_lane *lane = advising->lane;
    size_t leaders[LEADERS], count = 0;
    for (; count < LEADERS; count++) {
        size_t best = lane->node_count;
        double most = 0;
        for (size_t n = 0; n < lane->node_count; n++) {
            const double size = ulp_math_max(fabs(lane->nodes[n].share), fabs(lane->nodes[n].gain));
            bool taken = false;
            for (size_t k = 0; k < count; k++)
                taken |= leaders[k] == n;
            if (!taken && size > most) {
                best = n;
                most = size;
            }
        }
        if (best == lane->node_count)
            break;
        leaders[count] = best;
        add_to_pool(advising, best);
    }
    for (size_t k = 0; k < count; k++)
        for (size_t n = leaders[k] + 1, readers = 0; n < audit->place_count; n++)
            for (size_t i = 0; i < audit->places[n].input_count && readers < READERS; i++)
                if (audit->places[n].inputs[i].node == (ptrdiff_t)leaders[k]) {
                    add_to_pool(advising, n);
                    readers++;
                }
}

/* Where the rounding of the model's inputs makes most of it: the node that first reads the one that
 * makes most, which takes it unrounded when it is kept, then those that read its results. */
static struct choice choose_readers(const struct advising *advising)
{
    const struct ulp_audit *audit = advising->audit;
    const struct ulp_audit_node *nodes = advising->lane->nodes;
    struct choice choice = {.foretold = advising->lane->attribution.inputs};
    size_t reader = 0;
    for (size_t n = 1; n < audit->place_count; n++)
        if (nodes[n].given > nodes[reader].given)
            reader = n;
    for (size_t n = reader; n < audit->place_count && choice.count < NODES_MAX; n++) {
        bool reads = n == reader;
        for (size_t i = 0; i < audit->places[n].input_count; i++)
            reads |= audit->places[n].inputs[i].node == (ptrdiff_t)reader;
        if (reads && nodes[n].kept < 0)
            choice.nodes[choice.count++] = n;
    }
    return choice;
}

/* The best of so many nodes, in the pool's order among equals. */
static struct choice choose_nodes(const struct advising *advising, size_t count)
{
    struct choice best = {.count = 0}, at = {.count = count};
    size_t index[NODES_MAX] = {0, 1, 2};
    while (index[count - 1] < advising->pool_count) {
        for (size_t i = 0; i < count; i++)
            at.nodes[i] = advising->pool[index[i]];
        at.foretold = foretell(advising, at.nodes, count);
        if (at.foretold > best.foretold)
            best = at;
        size_t i = count - 1; /* the next combination */
        while (i > 0 && index[i] == advising->pool_count - count + i)
            i--;
        index[i]++;
        for (size_t k = i + 1; k < count; k++)
            index[k] = index[k - 1] + 1;
    }
    return best;
}

/* ---- and what they do ---- */

/* Each choice in whole runs. */
static enum ulp_status run_choices(const struct advising *advising, struct choice *choices,
                                   size_t count, struct ulp_error *error)
{
    struct ulp_alone *alone = advising->alone;
    const struct ulp_audit_options *given = advising->session->options;
    const struct ulp_run_options run = {.thread_count = given->thread_count};
    struct ulp_arithmetic single;
    ULP_TRY(ulp_arithmetic_find("fp32", &single, error));
    for (size_t c = 0; c < count; c++) {
        choices[c].sqnr_db = INFINITY;
        ULP_TRY(ulp_alone_keep(alone, choices[c].nodes, choices[c].count, &single, error));
        for (size_t s = 0; s < advising->samples->count; s++) {
            ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set outputs = {0};
            ULP_TRY(ulp_program_look(alone->program, advising->samples->items[s].inputs, &run, NULL,
                                     given->progress, &outputs, error));
            ULP_TRY(ulp_session_worst(advising->lane, &outputs, advising->truths[s],
                                      &choices[c].sqnr_db, &choices[c].output, error));
        }
    }
    return ULP_OK;
}

/* What the lane gives without a choice: of a single sample the audit has it. */
static bool take_measured(const struct advising *advising, struct choice *before)
{
    const struct ulp_audit_node *outputs = &advising->lane->outputs;
    before->sqnr_db = INFINITY;
    for (size_t o = 0; o < outputs->output_count; o++) {
        const struct ulp_audit_output *output = &outputs->outputs[o];
        const struct ulp_metrics *metrics = &output->entire;
        const double own = ulp_decibels(metrics, metrics->sqnr_db);
        if (!ulp_type_is_float(output->type) || metrics->diverged ||
            (!metrics->count && !metrics->nonfinite) || !(own < before->sqnr_db))
            continue;
        before->sqnr_db = own;
        before->output = o;
    }
    return advising->samples->count == 1 && advising->session->samples->count == 1;
}

/* Nothing, the inputs' readers where these matter, then one, two and three nodes, as long as more
 * is foretold of one more. */
static size_t list_choices(const struct advising *advising, struct choice *choices)
{
    double foretold = 0;
    size_t listed = 1;
    choices[0] = (struct choice){.count = 0};
    if (advising->lane->attribution.inputs >= INPUTS_MATTER) {
        choices[listed] = choose_readers(advising);
        listed += choices[listed].count > 0;
    }
    for (size_t count = 1; count <= NODES_MAX && count <= advising->pool_count; count++) {
        const struct choice choice = choose_nodes(advising, count);
        if (choice.count < count || choice.foretold < foretold + WORTH_A_RUN ||
            1 - choice.foretold > WORTH_NAMING_REST)
            continue;
        foretold = choice.foretold;
        choices[listed++] = choice;
    }
    return listed;
}

/* The smallest of those that gain most. */
static enum ulp_status try_choices(struct advising *advising, struct choice *before,
                                   struct choice *best, struct ulp_error *error)
{
    struct choice choices[2 + NODES_MAX];
    const size_t count = list_choices(advising, choices);
    struct choice measured = choices[0];
    const bool known = take_measured(advising, &measured);
    if (count > known)
        ULP_TRY(run_choices(advising, choices + known, count - known, error));
    if (known)
        choices[0] = measured;
    *before = *best = choices[0];
    for (size_t c = 1; c < count; c++)
        if (choices[c].sqnr_db >= best->sqnr_db + WORTH_NAMING_DB)
            *best = choices[c];
    return ULP_OK;
}

/* What was tried: so many nodes in FP32. *out stays as it is where memory runs out. */
static enum ulp_status keep_remedy(const struct advising *advising, struct ulp_audit_remedy remedy,
                                   const size_t *nodes, const char *output,
                                   struct ulp_audit_remedy *out, struct ulp_error *error)
{
    const struct ulp_audit *audit = advising->audit;
    remedy.tried = true;
    remedy.ran = advising->samples->count;
    remedy.left_out = advising->session->samples->count - remedy.ran;
    ULP_TAKE(remedy.nodes, audit->memory, remedy.node_count + 1, error);
    memcpy(remedy.nodes, nodes, remedy.node_count * sizeof *nodes);
    remedy.output = ulp_arena_copy(audit->memory, output);
    ULP_TRY(ulp_taken(remedy.output, error));
    *out = remedy;
    return ULP_OK;
}

static enum ulp_status take_best(const struct advising *advising, const struct choice *before,
                                 const struct choice *best, struct ulp_audit_remedy *out,
                                 struct ulp_error *error)
{
    const struct ulp_audit_remedy remedy = {.node_count = best->count,
                                            .before_db = before->sqnr_db,
                                            .sqnr_db = best->sqnr_db};
    ULP_TRY(keep_remedy(advising, remedy, best->nodes,
                        advising->lane->outputs.outputs[best->output].name, out, error));
    for (size_t i = 1; i < best->count; i++) /* in the graph's order */
        for (size_t k = i; k > 0 && out->nodes[k - 1] > out->nodes[k]; k--) {
            const size_t node = out->nodes[k];
            out->nodes[k] = out->nodes[k - 1];
            out->nodes[k - 1] = node;
        }
    return ULP_OK;
}

/* Would a node in FP32 round less than the lane does? */
static bool can_help(const struct ulp_audit_lane *lane)
{
    const struct ulp_arithmetic *arithmetic = &lane->arithmetic;
    const int single = 24; /* bits of FP32's precision */
    return arithmetic->as_declared || arithmetic->storage.precision < single ||
           arithmetic->factor.precision < single || arithmetic->compute.precision < single ||
           arithmetic->accumulator.precision < single;
}

static enum ulp_status advise_lane(struct advising *advising, size_t l, struct ulp_error *error)
{
    const struct ulp_program *program = advising->session->programs->first;
    struct ulp_alone alone;
    struct choice before = {.count = 0}, best;
    advising->alone = &alone;
    enum ulp_status status =
        ulp_alone_create(program, l + 1, false, advising->samples->items[0].inputs, &alone, error);
    if (status == ULP_OK) {
        advising->chosen =
            ulp_arena_take(alone.memory, program->node_count + 1, sizeof *advising->chosen);
        status = ulp_taken(advising->chosen, error);
    }
    if (status == ULP_OK) {
        fill_pool(advising);
        status = try_choices(advising, &before, &best, error);
    }
    ULP_THEN(status, take_best(advising, &before, &best, &advising->audit->lanes[l].remedy, error));
    ulp_alone_free(&alone);
    return status == ULP_ERROR_UNSUPPORTED ? ULP_OK : status;
}

/* What overflows was kept for the shares: those nodes, and that run. */
static enum ulp_status take_kept(const struct advising *advising, struct ulp_audit_remedy *out,
                                 struct ulp_error *error)
{
    const struct ulp_attribution *from = &advising->lane->attribution;
    const struct ulp_audit_remedy remedy = {.node_count = from->kept_count,
                                            .before_db = -INFINITY,
                                            .sqnr_db = from->kept_sqnr_db};
    return keep_remedy(advising, remedy, from->kept, from->kept_output ? from->kept_output : "",
                       out, error);
}

/* Of samples that were finished in another process. */
static enum ulp_status complete_truths(const struct advising *advising, struct ulp_error *error)
{
    const struct ulp_programs *programs = advising->session->programs;
    const struct ulp_audit_options *given = advising->session->options;
    const struct ulp_run_options run = {.thread_count = given->thread_count};
    struct ulp_program_options planning = programs->options;
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    planning.keeps = NULL;
    planning.groups = NULL;
    planning.inputs = advising->samples->items[0].inputs;
    for (size_t s = 0; s < advising->samples->count; s++) {
        if (advising->truths[s]->count)
            continue;
        if (!program)
            ULP_TRY(ulp_program_create(programs->model, programs->lanes, 1, &planning, &program,
                                       error));
        ULP_TRY(ulp_program_look(program, advising->samples->items[s].inputs, &run, NULL,
                                 given->progress, advising->truths[s], error));
    }
    return ULP_OK;
}

enum ulp_status ulp_session_advise(const struct ulp_session *session, struct ulp_audit *audit,
                                   const struct ulp_samples *samples,
                                   struct ulp_tensor_set *const *truths, struct ulp_error *error)
{
    const struct ulp_budget *budget = ulp_model_budget(session->programs->model);
    enum ulp_status status = ULP_OK;
    bool complete = false;
    for (size_t l = 0; l < audit->lane_count && status == ULP_OK; l++) {
        const size_t refusals = ulp_budget_refusals(budget);
        struct ulp_audit_lane *lane = &audit->lanes[l];
        struct advising advising = {
            .session = session, .audit = audit, .lane = lane, .samples = samples, .truths = truths};
        const struct ulp_audit_output *worst = ulp_audit_worst(&lane->outputs);
        if (lane->attribution.kept_count) {
            status = take_kept(&advising, &lane->remedy, error);
        } else if (lane->attribution.given && samples->count && can_help(lane) && worst &&
                   worst->entire.rms > 0) {
            if (!complete)
                status = complete_truths(&advising, error);
            complete = status == ULP_OK;
            ULP_THEN(status, advise_lane(&advising, l, error));
        }
        if (ulp_budget_refused(budget, refusals, status))
            status = ULP_OK; /* nothing is tried where there is no memory for it */
    }
    return ulp_fail_at(error, status, "what helps most");
}
