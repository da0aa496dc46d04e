/* From bounds of all values to what is proven, and where the bounds grew. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <ulpscope/prove.h>

#include "analysis/audit/place.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "formula/words.h"
#include "number/function/math.h"
#include "analysis/prove/box.h"
#include "analysis/writing/columns.h"
#include "run/enclose/enclose_graph.h"

/* Unknowns of affine forms: what they cost grows with its square. A small image has 3072. */
#define SYMBOLS 16384

struct prover {
    const struct ulp_program *program;
    struct ulp_proof *proof;
    size_t node_capacity;
    double *bounds; /* by slot; of what is not known INFINITY */
    int *makers;    /* by slot: position in proof->nodes of what computes it; -1: none */
    double limit;
    struct ulp_budget *budget;
};

ULP_NAMES(ulp_proof_verdict_name, enum ulp_proof_verdict, [ULP_PROOF_PROVEN] = "proven",
          [ULP_PROOF_CONDITIONAL] = "conditional", [ULP_PROOF_NOT_PROVEN] = "not proven")

/* ---- nodes ---- */

static void set_output(struct prover *prover, const struct ulp_enclosed *from, bool main,
                       struct ulp_proof_output *out)
{
    *out =
        (struct ulp_proof_output){.name = ulp_arena_copy(prover->proof->memory, from->name),
                                  .verdict = from->unknown   ? ULP_PROOF_NOT_PROVEN
                                             : from->assumed ? ULP_PROOF_CONDITIONAL
                                                             : ULP_PROOF_PROVEN,
                                  .bound = from->unknown ? ulp_math_max(from->bound, from->reached)
                                                         : from->bound,
                                  .low = from->low,
                                  .high = from->high,
                                  .elements = from->count,
                                  .unproven = from->unknown,
                                  .infinite = from->infinite};
    if (main) {
        prover->bounds[from->slot] = out->bound;
        prover->makers[from->slot] = (int)prover->proof->node_count;
    }
}

static char *describe_hidden(struct prover *prover, const struct ulp_hidden_bound *hidden)
{
    char words[160];
    return ulp_arena_copy(prover->proof->memory,
                          hidden->tape ? ulp_tape_words(hidden->tape, hidden->instruction, words,
                                                        sizeof words)
                                       : "sums of products");
}

static bool is_output(const struct ulp_hidden_bound *hidden)
{
    for (int o = 0; hidden->tape && o < hidden->tape->output_count; o++)
        if (hidden->tape->outputs[o] == hidden->instruction)
            return true;
    return false;
}

/* Those that may be too large; when there are none the largest. */
static enum ulp_status add_hidden(struct prover *prover, const struct ulp_enclosed_node *from,
                                  struct ulp_proof_node *node, struct ulp_error *error)
{
    const struct ulp_hidden_bound *largest = NULL;
    ULP_TAKE(node->hidden, prover->proof->memory, from->hidden_count + 1, error);
    for (size_t h = 0; h <= from->hidden_count; h++) {
        const struct ulp_hidden_bound *hidden = h < from->hidden_count ? &from->hidden[h] : largest;
        if (!hidden || (h < from->hidden_count && is_output(hidden)))
            continue;
        const bool proven = hidden->largest <= hidden->limit;
        if (proven && (!largest || hidden->largest > largest->largest))
            largest = hidden;
        if (proven == (h < from->hidden_count))
            continue;
        struct ulp_proof_hidden *out = &node->hidden[node->hidden_count++];
        *out = (struct ulp_proof_hidden){.what = describe_hidden(prover, hidden),
                                         .bound = hidden->largest,
                                         .limit = hidden->limit,
                                         .proven = proven};
        ULP_TRY(ulp_taken(out->what, error));
    }
    return ULP_OK;
}

/* Back along the inputs with the largest bounds, as long as these are known: the node whose result
 * is bounded by most times its inputs' bound. */
static void find_growth(const struct prover *prover, const struct ulp_enclosed_node *from,
                        struct ulp_proof_node *node, double reached)
{
    const struct ulp_step *step = from->step;
    double best = 0;
    ptrdiff_t at = (ptrdiff_t)node->index;
    for (int steps = 0; steps < 64; steps++) {
        int widest = -1;
        double inputs = 0;
        for (size_t i = 0; i < step->own_input_count; i++) {
            const int slot = step->inputs[i];
            if (slot >= 0 && prover->bounds[slot] > inputs) {
                inputs = prover->bounds[slot];
                widest = slot;
            }
        }
        if (isfinite(inputs) && !(reached / ulp_math_max(inputs, 1) <= best)) {
            best = reached / ulp_math_max(inputs, 1);
            node->grew = at;
            node->grew_from = inputs;
        }
        if (widest < 0 || prover->makers[widest] < 0 || inputs < sqrt(prover->limit))
            return;
        const struct ulp_proof_node *maker = &prover->proof->nodes[prover->makers[widest]];
        at = (ptrdiff_t)maker->index;
        step = prover->program->nodes[maker->index].step;
        reached = inputs;
    }
}

static bool has_float_output(const struct ulp_enclosed_node *from)
{
    for (size_t o = 0; o < from->output_count; o++)
        if (from->outputs[o].is_float)
            return true;
    return false;
}

/* Why nothing bounds a result whose operands are bounded: a formula's step with a pole. */
static char *find_pole(struct prover *prover, const struct ulp_enclosed_node *from)
{
    for (size_t h = 0; h < from->hidden_count; h++) {
        const struct ulp_hidden_bound *hidden = &from->hidden[h];
        const struct ulp_instruction *in =
            hidden->tape ? &hidden->tape->instructions[hidden->instruction] : NULL;
        if (!in || isfinite(hidden->largest) || in->kind != ULP_TAPE_PRIMITIVE ||
            (in->primitive != ULP_PRIMITIVE_DIV && in->primitive != ULP_PRIMITIVE_LOG &&
             in->primitive != ULP_PRIMITIVE_SQRT && in->primitive != ULP_PRIMITIVE_POW))
            continue;
        char words[160], text[300];
        snprintf(text, sizeof text, "%s may be anything: nothing keeps its operands off a pole",
                 ulp_tape_words(hidden->tape, hidden->instruction, words, sizeof words));
        return ulp_arena_copy(prover->proof->memory, text);
    }
    return NULL;
}

static enum ulp_status make_node(struct prover *prover, const struct ulp_enclosed_node *from,
                                 struct ulp_proof_node *node, struct ulp_error *error)
{
    const bool main = from->block == prover->program->main;
    double reached = 0;
    bool proven = true;
    *node = (struct ulp_proof_node){.index = from->node,
                                    .name = ulp_arena_copy(prover->proof->memory, from->step->name),
                                    .op = ulp_arena_copy(prover->proof->memory,
                                                         from->step->bound.node->op_type),
                                    .inputs = from->inputs,
                                    .normalised = from->normalised != NULL,
                                    .grew = -1};
    ULP_TAKE(node->outputs, prover->proof->memory, from->output_count, error);
    ULP_TRY(ulp_taken(node->name && node->op, error));
    for (size_t o = 0; o < from->output_count; o++) {
        if (!from->outputs[o].is_float)
            continue;
        struct ulp_proof_output *out = &node->outputs[node->output_count++];
        set_output(prover, &from->outputs[o], main, out);
        ULP_TRY(ulp_taken(out->name, error));
        proven &= out->verdict != ULP_PROOF_NOT_PROVEN;
        reached = ulp_math_max(reached, out->bound);
    }
    if (!proven && from->reason &&
        !(node->reason = ulp_arena_copy(prover->proof->memory, from->reason)))
        return ulp_out_of_memory(error);
    if (!proven && !from->reason && isfinite(from->inputs) && !isfinite(reached))
        node->reason = find_pole(prover, from);
    if (!proven && main)
        find_growth(prover, from, node, reached);
    return add_hidden(prover, from, node, error);
}

/* Of a node in a body, met again: what holds of all its executions. */
static void merge_node(struct ulp_proof_node *into, const struct ulp_proof_node *other)
{
    for (size_t o = 0; o < into->output_count; o++)
        for (size_t p = 0; p < other->output_count; p++) {
            struct ulp_proof_output *a = &into->outputs[o];
            const struct ulp_proof_output *b = &other->outputs[p];
            if (strcmp(a->name, b->name) != 0)
                continue;
            a->verdict = b->verdict > a->verdict ? b->verdict : a->verdict;
            a->bound = ulp_math_max(a->bound, b->bound);
            a->low = ulp_math_min(a->low, b->low);
            a->high = ulp_math_max(a->high, b->high);
            a->elements = b->elements > a->elements ? b->elements : a->elements;
            a->unproven = b->unproven > a->unproven ? b->unproven : a->unproven;
            a->infinite = b->infinite > a->infinite ? b->infinite : a->infinite;
        }
    into->inputs = ulp_math_max(into->inputs, other->inputs);
    into->normalised = into->normalised && other->normalised;
    into->reason = into->reason ? into->reason : other->reason;
    /* those that are not proven come first */
    if (other->hidden_count &&
        (!into->hidden_count || into->hidden[0].proven > other->hidden[0].proven ||
         (into->hidden[0].proven == other->hidden[0].proven &&
          other->hidden[0].bound > into->hidden[0].bound))) {
        into->hidden = other->hidden;
        into->hidden_count = other->hidden_count;
    }
}

/* What has no element is within any bound. */
static void look_for_empty(struct prover *prover, const struct ulp_enclosed *from)
{
    const struct ulp_block *main = prover->program->main;
    for (size_t o = 0; o < main->output_count && !from->count && !prover->proof->empty; o++)
        if (main->outputs[o] == from->slot)
            prover->proof->empty = ulp_arena_copy(prover->proof->memory,
                                                  ulp_model_output(prover->program->model, o).name);
}

static enum ulp_status add_enclosed_node(void *context, const struct ulp_enclosed_node *from,
                                         struct ulp_error *error)
{
    struct prover *prover = context;
    struct ulp_proof *proof = prover->proof;
    if (!has_float_output(from))
        return ULP_OK;
    ULP_GROW(proof->nodes, proof->memory, proof->node_count, prover->node_capacity, error);
    struct ulp_proof_node *node = &proof->nodes[proof->node_count];
    ULP_TRY(make_node(prover, from, node, error));
    for (size_t o = 0; o < from->output_count && from->block == prover->program->main; o++)
        look_for_empty(prover, &from->outputs[o]);
    for (size_t n = proof->node_count; from->block != prover->program->main && n > 0; n--)
        if (proof->nodes[n - 1].index == node->index) {
            merge_node(&proof->nodes[n - 1], node);
            return ULP_OK;
        }
    proof->node_count++;
    return ULP_OK;
}

static void count_verdicts(struct ulp_proof *proof)
{
    proof->output_count = proof->hidden_unproven = 0;
    memset(proof->counts, 0, sizeof proof->counts);
    for (size_t n = 0; n < proof->node_count; n++) {
        const struct ulp_proof_node *node = &proof->nodes[n];
        proof->output_count += node->output_count;
        for (size_t o = 0; o < node->output_count; o++)
            proof->counts[node->outputs[o].verdict]++;
        for (size_t h = 0; h < node->hidden_count; h++)
            proof->hidden_unproven += !node->hidden[h].proven;
    }
}

static enum ulp_status enclose_nodes(struct prover *prover, const struct ulp_input_range *box,
                                     uint32_t symbols, struct ulp_pool *pool,
                                     struct ulp_error *error)
{
    prover->proof->node_count = 0;
    const enum ulp_status status =
        ulp_enclose_run(&(struct ulp_enclose){prover->program, box, add_enclosed_node, prover,
                                              prover->budget, pool, symbols},
                        error);
    count_verdicts(prover->proof);
    return status;
}

static enum ulp_status fill(struct prover *prover, const struct ulp_model *model,
                            const struct ulp_prove_box *from, int thread_count,
                            struct ulp_error *error)
{
    const struct ulp_program *program = prover->program;
    struct ulp_proof *proof = prover->proof;
    struct ulp_input_range *box;
    ULP_SCOPED(ulp_pool_free_of) struct ulp_pool *pool = NULL;
    proof->model_path = ulp_arena_copy(prover->proof->memory, ulp_model_path(model));
    proof->arguments = ulp_model_words(proof->memory, model);
    proof->arithmetic = ulp_arena_copy(prover->proof->memory, program->lanes[0].asked);
    proof->format = program->lanes[0].storage;
    prover->limit = proof->format.max_finite;
    ULP_TAKE(prover->bounds, proof->memory, program->main->slot_count + 1, error);
    ULP_TAKE(prover->makers, proof->memory, program->main->slot_count + 1, error);
    ULP_TRY(ulp_taken(proof->model_path && proof->arguments && proof->arithmetic, error));
    for (size_t s = 0; s < program->main->slot_count; s++)
        prover->makers[s] = -1;
    ULP_TRY(ulp_proof_set_box(proof, program, model, from, &box, error));
    for (size_t b = 0; b < program->main->input_count; b++)
        prover->bounds[program->main->inputs[b]] =
            ulp_math_max(fabs(box[b].low), fabs(box[b].high));
    ULP_TRY(ulp_pool_create(&pool, thread_count, error));
    ULP_TRY(enclose_nodes(prover, box, 0, pool, error));
    /* what intervals and norms leave open: with affine forms, which take longer, and more memory
     * than there may be */
    if (!proof->counts[ULP_PROOF_NOT_PROVEN] && !proof->hidden_unproven)
        return ULP_OK;
    const enum ulp_status status = enclose_nodes(prover, box, SYMBOLS, pool, error);
    proof->short_of_memory = status == ULP_ERROR_MEMORY;
    return proof->short_of_memory ? enclose_nodes(prover, box, 0, pool, error) : status;
}

/* Bounds are of operators as they are written, not of a GPU's kernels for them. */
static enum ulp_status refuse_kernels(const struct ulp_program *program, struct ulp_error *error)
{
    const struct ulp_arithmetic *lane = &program->lanes[0];
    if (lane->steps == ULP_STEPS_HTP)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "'%s' has errors of a recorded size, of which there is no proof: add "
                        "steps=alike",
                        ulp_program_lane_name(program, 0));
    for (size_t b = 0; b < program->block_count; b++)
        for (size_t i = 0; i < program->blocks[b]->step_count; i++) {
            const struct ulp_step *step = &program->blocks[b]->steps[i];
            const char *kernel = step->bound.op->kernel;
            if (ulp_mix_joins(&program->mixes[0], step->number))
                return ulp_fail(error, ULP_ERROR_USAGE,
                                "node '%s' (%s) has what is behind it in its weights in '%s', "
                                "which bounds do not follow: add fuse=none",
                                step->name, step->bound.op->name,
                                ulp_program_lane_name(program, 0));
            if (!kernel || step->folded)
                continue;
            const bool attention = strcmp(kernel, "attention") == 0;
            if (attention ? lane->attention != ULP_ATTENTION_WHOLE : lane->recurrence_cudnn)
                return ulp_fail(error, ULP_ERROR_USAGE,
                                "node '%s' (%s) is a GPU's kernel in '%s', of which there is no "
                                "proof: add %s",
                                step->name, step->bound.op->name, ulp_program_lane_name(program, 0),
                                attention ? "attention=whole" : "recurrence=plain");
        }
    return ULP_OK;
}

enum ulp_status ulp_proof_run(const struct ulp_model *model, const struct ulp_program *program,
                              const struct ulp_prove_box *box, int thread_count,
                              struct ulp_proof *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct prover prover = {.program = program, .proof = out, .budget = ulp_model_budget(model)};
    static const struct ulp_prove_box none;
    const double started = ulp_seconds_now();
    *out = (struct ulp_proof){0};
    if (program->lanes[0].steps == ULP_STEPS_OPENVINO)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a proof is in one arithmetic for all nodes, where '%s' leaves a graph's "
                        "last nodes in FP32: add steps=alike",
                        ulp_program_lane_name(program, 0));
    if (program->lanes[0].as_declared || program->mixes[0].of_node)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a proof is in one arithmetic for all nodes: not '%s'",
                        ulp_program_lane_name(program, 0));
    if (program->lanes[0].scaling[0].name[0] || program->lanes[0].weights.name[0])
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a proof does not follow scales that are chosen by the values: leave "
                        "formats with scales out of '%s'",
                        ulp_program_lane_name(program, 0));
    if (program->lanes[0].steps == ULP_STEPS_ORT_CPU)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a proof has functions within some units of the last place: leave "
                        "steps=ort-cpu out of '%s', whose sigmoid is off by 6e-8 absolutely",
                        ulp_program_lane_name(program, 0));
    enum ulp_status status = refuse_kernels(program, error);
    ULP_THEN(status, ulp_arena_create(&out->memory, ulp_model_budget(model), error));
    ULP_THEN(status, ulp_places_make(program, out->memory, &out->places, error));
    if (status == ULP_OK)
        out->place_count = ulp_program_node_count(program);
    ULP_THEN(status, fill(&prover, model, box ? box : &none, thread_count, error));
    out->seconds = ulp_seconds_now() - started;
    if (status != ULP_OK)
        ulp_proof_free(out);
    return status;
}

ULP_RESULT_FREE(ulp_proof_free, struct ulp_proof)
