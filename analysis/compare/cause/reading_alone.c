/* Readings of single nodes, each judged alone on what the model as it is gives: most change
 * nothing, and of those that do derivatives say what they make of the tensor that was recorded. One
 * sweep goes back from it (run/pass/backward.h) with several cotangents, its error and random
 * signs: the product of those at a node's result with what a reading changes there is, to first
 * order, that of the tensor's change with the seeds. A reading that explains the error gives the
 * error's own. */
#include <math.h>
#include <string.h>

#include "analysis/compare/cause/readings.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/random.h"
#include "run/pass/backward.h"
#include "tensor/tensor.h"

/* Sweeps go back over each node in FP64: so many times what a run takes, together. */
#define SWEEPS_COST 20

/* Of what may be computed, and of the time in which an answer is wanted: so much for nodes alone.
 */
#define ALONE_COST 0.5
#define ALONE_TIME 0.7

bool ulp_trying_leaves(struct ulp_trying *trying, size_t n, double cost_part, double time_part)
{
    const bool leaves = trying->base.cost > cost_part * trying->cost_max ||
                        ulp_compare_is_late(trying->comparing, time_part);
    trying->left[n] |= leaves && !trying->wires;
    return leaves;
}

bool ulp_tried_reads(const struct ulp_trying *trying, const struct ulp_tried_reading *trial,
                     size_t n)
{
    return trying->suspects[n] && (trial->only == SIZE_MAX || trial->only == n) &&
           (!trial->op || strcmp(trial->op, ulp_trying_graph(trying)->nodes[n].op_type) == 0) &&
           (!trial->place || trial->place == trying->places[n]) &&
           (*trial->reading->ops == '*' ||
            ulp_is_word(ulp_trying_graph(trying)->nodes[n].op_type, trial->reading->ops));
}

enum ulp_status ulp_tried_reread(const struct ulp_trying *trying, struct ulp_tried_reading *trial,
                                 struct ulp_reread *out, struct ulp_error *error)
{
    const struct ulp_graph *graph = ulp_trying_graph(trying);
    size_t most = 1;
    for (size_t n = 0; n < graph->node_count && trial->reading; n++)
        most += ulp_tried_reads(trying, trial, n);
    ULP_TRY(ulp_reread_open(trying->comparing->program, most, out, error));
    out->target = trying->comparing->out->tensors[trying->tensor].node;
    out->ahead = trying->ahead;
    out->ahead_count = trying->ahead_count;
    out->own = trial->own;
    out->number = trial->number;
    trial->changed = 0;
    memset(trying->read, 0, graph->node_count * sizeof *trying->read);
    if (!trial->reading && trial->only != SIZE_MAX) {
        trial->changed = 1;
        trial->first = trial->only;
        trying->read[trial->only] = true;
        ULP_TRY(
            ulp_reread_set_input(out, &out->nodes[trial->only], trial->wired, trial->value, error));
    }
    for (size_t n = graph->node_count; n-- > 0 && trial->reading;) {
        bool changed = false;
        if (!ulp_tried_reads(trying, trial, n))
            continue;
        ULP_TRY(ulp_reread_node(out, n, trial->reading->change, &changed, error));
        trial->changed += changed;
        trying->read[n] = changed;
        trial->first = changed ? n : trial->first;
    }
    trial->given = out->given;
    out->model.graph = &out->graph;
    return ULP_OK;
}

enum ulp_status ulp_tried_measure(struct ulp_trying *trying, struct ulp_tried_reading *trial,
                                  struct ulp_error *error)
{
    struct ulp_comparing *comparing = trying->comparing;
    const struct ulp_run_options run = ulp_comparing_runs(comparing);
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set set = {0};
    struct ulp_reread read = {0};
    struct ulp_cut part = {0};
    trial->distance = INFINITY;
    ulp_comparing_begins(comparing);
    enum ulp_status status = ulp_tried_reread(trying, trial, &read, error);
    ULP_THEN(status, ulp_cut_find(&read, trying->target, &part, error));
    if (status == ULP_OK && part.count)
        status = ulp_cut_run(&trying->base, &read, &part, &trying->target, 1, &run, &set, error);
    if (status == ULP_OK && set.count)
        status = ulp_compare_distance(comparing, trying->file, trying->tensor, &set.items[0].tensor,
                                      &trial->distance, error);
    ulp_arena_free(read.arena);
    return ulp_program_refuses(status) ? ULP_OK : status; /* else nobody can have read it so */
}

struct sweeping {
    struct ulp_trying *trying;
    struct ulp_reverse *sweeps; /* NULL: nothing tells what a change makes of the tensor */
    bool *seen;                 /* by node */
};

static const struct ulp_tensor *value_of(const struct ulp_trying *trying, int value)
{
    return ulp_cut_value(&trying->base, ulp_trying_graph(trying), value);
}

static const double *cotangents_of(const struct sweeping *sweeping, size_t probe, int value)
{
    const struct ulp_trying *trying = sweeping->trying;
    const int slot =
        ulp_program_find_slot(trying->base.program, ulp_trying_graph(trying)->values[value].name);
    return sweeping->sweeps && slot >= 0 ? sweeping->sweeps[probe].cotangents[slot] : NULL;
}

/* What the node's results, which are in `set`, are beside those of the model as it is. */
static bool weigh_results(const struct sweeping *sweeping, const struct ulp_reread *read,
                          const int *wanted, size_t count, const struct ulp_tensor_set *set,
                          struct ulp_tried_reading *trial)
{
    bool differs = false;
    trial->told = sweeping->sweeps != NULL;
    for (size_t o = 0; o < count; o++) {
        const char *name = read->graph.values[wanted[o]].name;
        const struct ulp_tensor *now = ulp_tensor_set_find(set, name),
                                *before = value_of(sweeping->trying, wanted[o]);
        if (!now || !before)
            continue;
        trial->result = 31 * trial->result + ulp_hash(now->data, now->count * now->element_bytes);
        if (!ulp_tensor_same_shape(now, before) || now->element != before->element) {
            differs = true;
            trial->told = false;
            continue;
        }
        if (memcmp(now->data, before->data, now->count * now->element_bytes) == 0)
            continue;
        differs = true;
        trial->told = trial->told && cotangents_of(sweeping, 0, wanted[o]);
        for (size_t p = 0; p < ULP_PROBES && trial->told; p++) {
            const double *weights = cotangents_of(sweeping, p, wanted[o]);
            for (size_t i = 0; weights && i < now->count; i++)
                if (weights[i] != 0)
                    trial->moved[p] +=
                        weights[i] * (ulp_tensor_get(now, i) - ulp_tensor_get(before, i));
            trial->told = trial->told && isfinite(trial->moved[p]);
        }
    }
    return differs;
}

static size_t list_results(const struct ulp_reread *read, const struct ulp_cut *part, int *wanted)
{
    size_t last = read->graph.node_count, count = 0;
    while (last > 0 && !part->in[last - 1])
        last--;
    for (size_t o = 0; last && o < read->nodes[last - 1].output_count; o++)
        if (read->nodes[last - 1].outputs[o] >= 0)
            wanted[count++] = read->nodes[last - 1].outputs[o];
    return count;
}

enum ulp_status ulp_tried_add(struct ulp_trying *trying, const struct ulp_tried_reading *trial,
                              struct ulp_error *error)
{
    struct ulp_tried_reading *room;
    if (trying->alone_count == trying->alone_capacity) {
        trying->alone_capacity = 2 * trying->alone_capacity + 64;
        ULP_TAKE(room, trying->comparing->arena, trying->alone_capacity, error);
        memcpy(room, trying->alone, trying->alone_count * sizeof *room);
        trying->alone = room;
    }
    trying->alone[trying->alone_count++] = *trial;
    return ULP_OK;
}

static enum ulp_status run_alone(const struct sweeping *sweeping, const struct ulp_reread *read,
                                 struct ulp_tried_reading *trial, bool *differs,
                                 struct ulp_error *error)
{
    struct ulp_trying *trying = sweeping->trying;
    const struct ulp_run_options run = {.thread_count = 1};
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set set = {0};
    struct ulp_cut part;
    ULP_TRY(ulp_cut_find(read, -1, &part, error));
    ULP_TAKE_ARRAY(int, wanted, read->arena, read->graph.value_count + 1, error);
    const size_t count = list_results(read, &part, wanted);
    if (count)
        ULP_TRY(ulp_cut_run(&trying->base, read, &part, wanted, count, &run, &set, error));
    *differs = weigh_results(sweeping, read, wanted, count, &set, trial);
    return ULP_OK;
}

static enum ulp_status try_trial(const struct sweeping *sweeping, struct ulp_tried_reading trial,
                                 struct ulp_error *error)
{
    struct ulp_trying *trying = sweeping->trying;
    struct ulp_reread read = {0};
    bool differs = true;
    enum ulp_status status = ulp_tried_reread(trying, &trial, &read, error);
    if (status == ULP_OK && trial.changed && trying->base.cuts)
        status = run_alone(sweeping, &read, &trial, &differs, error);
    if (status == ULP_OK && trial.changed && differs)
        status = ulp_tried_add(trying, &trial, error);
    ulp_arena_free(read.arena);
    return ulp_program_refuses(status) ? ULP_OK : status; /* else nobody can have read it so */
}

/* A node with several inputs that reads another value of the same shape, as of a buffer that is not
 * what it is taken for. */
static enum ulp_status try_wires(const struct sweeping *sweeping, size_t n, struct ulp_error *error)
{
    const struct ulp_trying *trying = sweeping->trying;
    const struct ulp_graph *graph = ulp_trying_graph(trying);
    const struct ulp_node *node = &graph->nodes[n];
    for (size_t i = 0; i < node->input_count && node->input_count > 1; i++) {
        const int own = node->inputs[i];
        for (size_t v = 0; v < graph->value_count && own >= 0 && trying->shapes[own]; v++)
            if ((int)v != own && trying->shapes[v] && graph->values[v].producer < (int)n &&
                trying->shapes[v]->type == trying->shapes[own]->type &&
                ulp_tensor_same_shape(trying->shapes[v], trying->shapes[own]))
                ULP_TRY(
                    try_trial(sweeping,
                              (struct ulp_tried_reading){.only = n, .wired = i, .value = (int)v},
                              error));
    }
    return ULP_OK;
}

static enum ulp_status try_readings(const struct sweeping *sweeping, size_t n,
                                    struct ulp_error *error)
{
    for (const struct ulp_known_reading *r = sweeping->trying->readings; r; r = r->next) {
        const struct ulp_tried_reading trial = {.reading = r, .only = n};
        if (ulp_tried_reads(sweeping->trying, &trial, n))
            ULP_TRY(try_trial(sweeping, trial, error));
    }
    return ULP_OK;
}

static enum ulp_status try_node(const struct sweeping *sweeping, size_t n, struct ulp_error *error)
{
    struct ulp_trying *trying = sweeping->trying;
    if (!trying->suspects[n] || sweeping->seen[n] ||
        ulp_trying_leaves(trying, n, ALONE_COST, ALONE_TIME))
        return ULP_OK;
    sweeping->seen[n] = true;
    return trying->wires ? try_wires(sweeping, n, error) : try_readings(sweeping, n, error);
}

/* ---- the sweep ---- */

static enum ulp_status see_step(void *context, const struct ulp_step *step, struct ulp_error *error)
{
    const struct sweeping *sweeping = context;
    return try_node(sweeping, ulp_trying_node(sweeping->trying, step), error);
}

/* The sweep ends at what was recorded and is explained: nothing there is held. */
static enum ulp_status end_step(const struct ulp_reverse *sweep, const struct ulp_step *step,
                                struct ulp_error *error)
{
    const struct sweeping *sweeping = sweep->context;
    (void)error;
    for (size_t i = 0; i < step->input_count; i++) {
        const int slot = step->inputs[i];
        const struct ulp_step *from = ulp_block_producer(sweep->program->main, slot);
        if (!from || sweeping->trying->suspects[ulp_trying_node(sweeping->trying, from)])
            continue;
        ulp_free(sweep->cotangents[slot]);
        sweep->cotangents[slot] = NULL;
    }
    return ULP_OK;
}

/* The tensor, or the first behind it that is not explained either and has numbers that suspects
 * give, as scores beside classes; SIZE_MAX: none is. */
static size_t find_seeded(const struct ulp_trying *trying)
{
    const struct ulp_comparing *comparing = trying->comparing;
    const struct ulp_graph *graph = ulp_trying_graph(trying);
    for (size_t t = trying->tensor; t < comparing->out->tensor_count && trying->base.cuts; t++) {
        const struct ulp_compared_tensor *tensor = &comparing->out->tensors[t];
        const int at =
            tensor->values[trying->file].recorded ? ulp_reread_find(graph, tensor->name) : -1;
        const struct ulp_tensor *value = at < 0 ? NULL : value_of(trying, at);
        if (value && value->data && graph->values[at].producer >= 0 &&
            trying->suspects[graph->values[at].producer] &&
            !tensor->values[trying->file].explained && ulp_element_is_float(value->element) &&
            value->count == ulp_recorded(&comparing->work[t], trying->file)->count)
            return t;
    }
    return SIZE_MAX;
}

/* Which recorded row the value's is nearest to, behind a choice of rows. */
static size_t find_row(const struct ulp_tensor *value, const struct ulp_tensor *recorded,
                       size_t width, size_t row)
{
    double least = INFINITY;
    size_t nearest = row;
    for (size_t r = 0; r < recorded->count / width; r++) {
        double sum = 0;
        for (size_t i = 0; i < width && sum < least; i++) {
            const double d =
                ulp_tensor_get(recorded, r * width + i) - ulp_tensor_get(value, row * width + i);
            sum += d * d;
        }
        if (sum < least) {
            least = sum;
            nearest = r;
        }
    }
    return nearest;
}

/* The tensor's error, and signs where it has one. */
static enum ulp_status seed(struct ulp_trying *trying, size_t t, const struct ulp_reverse *sweeps,
                            struct ulp_error *error)
{
    const struct ulp_comparing *comparing = trying->comparing;
    const char *name = comparing->out->tensors[t].name;
    const struct ulp_tensor *recorded = ulp_recorded(&comparing->work[t], trying->file),
                            *value =
                                value_of(trying, ulp_reread_find(ulp_trying_graph(trying), name));
    const size_t all = ulp_matched_width(&comparing->out->tensors[t]),
                 width = all && ulp_compared_by_rows(comparing, trying->file, t) &&
                                 value->count % all == 0
                             ? all
                             : 1;
    double *seeds[ULP_PROBES];
    for (size_t p = 0; p < ULP_PROBES; p++) {
        trying->seeds[p] = 0;
        ULP_TRY(ulp_reverse_cotangents(&sweeps[p],
                                       ulp_program_find_slot(trying->base.program, name),
                                       value->count, &seeds[p], error));
    }
    for (size_t i = 0, row = 0; i < value->count; i++) {
        if (i % width == 0)
            row = width > 1 ? find_row(value, recorded, width, i / width) : i;
        const double off =
            ulp_tensor_get(recorded, row * width + i % width) - ulp_tensor_get(value, i);
        for (size_t p = 0; p < ULP_PROBES && isfinite(off); p++) {
            seeds[p][i] = !p ? off : ulp_random_uniform(p, i) < 0.5 ? -1 : 1;
            trying->seeds[p] += seeds[p][i] * off;
        }
    }
    return ULP_OK;
}

static enum ulp_status sweep(struct sweeping *sweeping, size_t seeded, struct ulp_error *error)
{
    struct ulp_trying *trying = sweeping->trying;
    const struct ulp_program *program = trying->base.program;
    struct ulp_arena *const arena = trying->comparing->arena;
    ULP_TAKE_ARRAY(struct ulp_reverse, sweeps, arena, ULP_PROBES, error);
    for (size_t p = 0; p < ULP_PROBES; p++) {
        sweeps[p] = (struct ulp_reverse){.program = program,
                                         .values = trying->base.values,
                                         .plain = true,
                                         .budget = ulp_model_budget(program->model),
                                         .pool = trying->comparing->pool,
                                         .told = see_step,
                                         .decided = end_step,
                                         .context = sweeping};
        ULP_TAKE(sweeps[p].cotangents, arena, program->main->slot_count + 1, error);
        ULP_TAKE(sweeps[p].stopped, arena, program->node_count + 1, error);
        ULP_TAKE(sweeps[p].passed, arena, program->node_count + 1, error);
    }
    sweeping->sweeps = sweeps;
    trying->base.cost += SWEEPS_COST * program->main->cost;
    enum ulp_status status = seed(trying, seeded, sweeps, error);
    if (status == ULP_OK && trying->seeds[0] > 0)
        status = ulp_reverse_run(sweeps, ULP_PROBES, error);
    for (size_t p = 0; p < ULP_PROBES; p++)
        for (size_t s = 0; s < program->main->slot_count; s++)
            ulp_free(sweeps[p].cotangents[s]);
    sweeping->sweeps = NULL;
    return ulp_program_refuses(status) ? ULP_OK : status; /* without derivatives in what is left */
}

enum ulp_status ulp_try_alone(struct ulp_trying *trying, struct ulp_error *error)
{
    const size_t nodes = ulp_trying_graph(trying)->node_count, seeded = find_seeded(trying);
    struct sweeping sweeping = {.trying = trying};
    trying->alone_count = 0;
    ULP_TAKE(sweeping.seen, trying->comparing->arena, nodes + 1, error);
    if (seeded != SIZE_MAX && !ulp_compare_is_late(trying->comparing, ALONE_TIME))
        ULP_TRY(sweep(&sweeping, seeded, error));
    for (size_t n = nodes; n-- > 0;)
        ULP_TRY(try_node(&sweeping, n, error));
    return ULP_OK;
}
