/* The pairs of QuantizeLinear and DequantizeLinear of a quantised model, beside its original: what
 * each clips, its error in steps, and what the output gains when the floats pass by it. */
#include <math.h>
#include <stdlib.h>

#include "analysis/attribution/attribution.h"
#include "analysis/measure/difference.h"
#include "analysis/scales/scales_stored.h"
#include "analysis/session/advise.h"
#include "analysis/session/rescale.h"
#include "analysis/session/twin.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "number/function/math.h"
#include "ops/product/quantize_rows.h"

/* An error of more than this many steps is none of rounding: half a step, and what the arithmetic
 * rounds of up to 2^7 steps. */
#define CLIPPED_FROM 0.75

/* One pair, and its floats in the arithmetic's own run. */
struct paired {
    const struct ulp_step *quantizer, *dequantizer; /* quantizer NULL: of weights */
    const struct ulp_step *folded; /* the original's activation that it does, too; or NULL */
    struct ulp_tensor floats;      /* what its readers would read without it */
    bool there;
};

struct pairing {
    const struct ulp_session *session;
    const struct ulp_program *program;
    struct ulp_program *original;
    const struct ulp_tensor_set *inputs;
    struct ulp_tensor_set truth; /* the original's outputs */
    struct ulp_audit *audit;
    struct ulp_audit_lane *lane;
    struct ulp_arena *memory;
    struct paired *items;
    size_t count;
    bool measured; /* what is looked at now is another sample, of which only floats are taken */
};

/* ---- which there are ---- */

static enum ulp_status list_pairs(struct pairing *pairing, struct ulp_error *error)
{
    const struct ulp_block *block = pairing->program->main;
    ULP_TAKE(pairing->items, pairing->memory, block->step_count + 1, error);
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        if (step->folded || !ulp_is_dequantizer(step->bound.op) || step->outputs[0] < 0)
            continue;
        struct paired *pair = &pairing->items[pairing->count];
        *pair =
            (struct paired){.quantizer = ulp_twin_quantizer(block, step),
                            .dequantizer = step,
                            .folded = ulp_twin_folded(pairing->program, pairing->original, step)};
        if (!pair->quantizer)
            ULP_TRY(ulp_twin_weight(pairing->session->options, pairing->program, pairing->original,
                                    step, &pair->floats, error));
        pair->there = pair->floats.type != ULP_TYPE_UNDEFINED;
        pairing->count += pair->quantizer || pair->there;
    }
    return ULP_OK;
}

/* ---- what they do ---- */

static void measure_pair(const struct pairing *pairing, const struct paired *pair,
                         const struct ulp_tensor *value, struct ulp_qdq_pair *out)
{
    const struct ulp_program_slot *slots = pairing->program->main->slots;
    const struct ulp_step *dequantizer = pair->dequantizer;
    const enum ulp_type type = slots[dequantizer->inputs[0]].shape.type;
    const struct ulp_tensor *scale = slots[dequantizer->inputs[1]].constant;
    struct ulp_stored stored;
    const bool known = scale && ulp_stored_read(dequantizer->bound.node, value, scale, &stored);
    double squares = 0;
    out->elements = value->count;
    for (size_t i = 0; i < value->count && pair->floats.count == value->count; i++) {
        double read, given;
        ulp_side_read(&read, value, i, 1);
        ulp_side_read(&given, &pair->floats, i, 1);
        const double steps =
            known ? (read - given) / ulp_stored_scale(&stored, ulp_stored_find(&stored, i)) : NAN;
        squares += steps * steps;
        out->clipped += !ulp_type_is_float(type) && fabs(steps) > CLIPPED_FROM;
    }
    out->step_rms = ulp_type_is_float(type) ? NAN : sqrt(squares / (double)value->count);
}

/* Of the arithmetic's own run: what each pair reads, and what it gives. */
static enum ulp_status look_at_node(void *context, const struct ulp_event *event,
                                    struct ulp_error *error)
{
    struct pairing *pairing = context;
    enum ulp_status status = ULP_OK;
    for (size_t p = 0; p < pairing->count && status == ULP_OK; p++) {
        struct paired *pair = &pairing->items[p];
        if (pair->quantizer && pair->quantizer->number == event->index && event->input_count &&
            event->inputs[0].entire) {
            ulp_tensor_free(&pair->floats);
            status = ulp_tensor_copy(&pair->floats, event->inputs[0].entire,
                                     ulp_model_budget(pairing->program->model), error);
            pair->there = status == ULP_OK;
            if (pair->there && pair->folded)
                ulp_twin_activate(pairing->original, pair->folded, &pair->floats);
        }
        if (pair->dequantizer->number == event->index && event->output_count && pair->there &&
            !pairing->measured && event->values[0].entire)
            measure_pair(pairing, pair, event->values[0].entire, &pairing->lane->qdq_pairs[p]);
    }
    return status;
}

static enum ulp_status run_once(const struct pairing *pairing, const struct ulp_alone *alone,
                                const struct paired *without, const struct ulp_observer *looking,
                                double *db, struct ulp_error *error)
{
    const struct ulp_audit_options *options = pairing->session->options;
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set given = {0};
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set outputs = {0};
    size_t worst = 0;
    *db = INFINITY;
    if (without) {
        struct ulp_tensor view = ulp_tensor_view(&without->floats);
        ULP_TRY(
            ulp_tensor_set_add(&given,
                               pairing->program->main->slots[without->dequantizer->outputs[0]].name,
                               &view, error));
    }
    const struct ulp_run_options run = {.thread_count = options->thread_count, .given = &given};
    ULP_TRY(ulp_program_look(alone->program, pairing->inputs, &run, looking, options->progress,
                             &outputs, error));
    return ulp_session_worst(pairing->lane, &outputs, &pairing->truth, db, &worst, error);
}

static int by_gain(const void *a, const void *b)
{
    const struct ulp_qdq_pair *x = a, *y = b;
    if (isnan(x->gained_db) != isnan(y->gained_db))
        return isnan(x->gained_db) ? 1 : -1;
    if (!isnan(x->gained_db) && x->gained_db != y->gained_db)
        return x->gained_db < y->gained_db ? 1 : -1;
    return x->dequantizer < y->dequantizer ? -1 : x->dequantizer > y->dequantizer;
}

static enum ulp_status describe_pairs(struct pairing *pairing, struct ulp_error *error)
{
    struct ulp_arena *memory = pairing->audit->memory;
    ULP_TAKE(pairing->lane->qdq_pairs, memory, pairing->count + 1, error);
    pairing->lane->qdq_pair_count = pairing->count;
    for (size_t p = 0; p < pairing->count; p++) {
        const struct paired *pair = &pairing->items[p];
        const char *name = pairing->program->main->slots[pair->dequantizer->outputs[0]].name;
        struct ulp_qdq_pair *out = &pairing->lane->qdq_pairs[p];
        *out = (struct ulp_qdq_pair){.quantizer =
                                         pair->quantizer ? (ptrdiff_t)pair->quantizer->number : -1,
                                     .dequantizer = pair->dequantizer->number};
        if (!(out->value = ulp_arena_copy(memory, name)))
            return ulp_out_of_memory(error);
    }
    return ULP_OK;
}

/* Kernels that read integers read nothing in their place: the same arithmetic without them. */
static enum ulp_status plan_without_integers(const struct pairing *pairing, struct ulp_alone *alone,
                                             struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic = alone->program->lanes[0];
    const struct ulp_keeps keeps = {.count = alone->keep_count, .items = alone->keeps};
    const struct ulp_program_options options = {.inputs = pairing->inputs,
                                                .keeps = &keeps,
                                                .spelled = pairing->program->spelled};
    struct ulp_program *program;
    if (!arithmetic.schedule.qdq_integer)
        return ULP_OK;
    arithmetic.schedule.qdq_integer = false;
    ULP_TRY(ulp_program_create(pairing->program->model, &arithmetic, 1, &options, &program, error));
    ulp_program_free(alone->program);
    alone->program = program;
    return program->node_count == pairing->program->node_count ? ULP_OK : ULP_ERROR_UNSUPPORTED;
}

/* What a scale for each channel would gain where one for all costs that much. */
#define WORTH_CHANNELS_DB 1

/* The fault in its stored scales; NULL: there is none. */
static const struct ulp_stored_fault *find_fault(const struct pairing *pairing,
                                                 const struct paired *pair)
{
    for (size_t f = 0; f < pairing->audit->stored_fault_count && !pair->quantizer; f++)
        if (pairing->audit->stored_faults[f].dequantizer == pair->dequantizer->number)
            return &pairing->audit->stored_faults[f];
    return NULL;
}

static bool has_one_scale(const struct pairing *pairing, const struct paired *pair)
{
    const struct ulp_tensor *scale =
        pairing->program->main->slots[pair->dequantizer->inputs[1]].constant;
    return scale && scale->count == 1;
}

static enum ulp_status try_scales(struct pairing *pairing, const struct ulp_alone *alone,
                                  const struct paired *pair, int summed, double before,
                                  double *gained, struct ulp_error *error)
{
    struct paired rescaled = *pair;
    double after = NAN;
    enum ulp_status status = ulp_rescale(pairing->program, pair->dequantizer, &pair->floats, summed,
                                         &rescaled.floats, error);
    if (status == ULP_OK && rescaled.floats.type != ULP_TYPE_UNDEFINED)
        status = run_once(pairing, alone, &rescaled, NULL, &after, error);
    *gained = after - before;
    ulp_tensor_free(&rescaled.floats);
    return status;
}

static enum ulp_status run_original(struct pairing *pairing, struct ulp_error *error)
{
    const struct ulp_run_options run = {.thread_count = pairing->session->options->thread_count};
    ulp_tensor_set_free(&pairing->truth);
    return ulp_program_run(pairing->original, pairing->inputs, &run, NULL, 0, &pairing->truth, NULL,
                           error);
}

/* Of a sample's worst output, with the pair and without it; the least of all samples so far. */
static enum ulp_status try_sample(struct pairing *pairing, const struct ulp_alone *alone,
                                  const struct paired *pair, double *before, double *after,
                                  struct ulp_error *error)
{
    const struct ulp_observer looking = {.context = pairing,
                                         .node_done = look_at_node,
                                         .modes_unused = true};
    double db;
    ULP_TRY(run_original(pairing, error));
    ULP_TRY(run_once(pairing, alone, NULL, &looking, &db, error));
    *before = ulp_math_min(*before, db);
    ULP_TRY(run_once(pairing, alone, pair, NULL, &db, error));
    *after = ulp_math_min(*after, db);
    return ULP_OK;
}

/* The pair that gains most is tried on at most so many samples, which lie evenly among all: what
 * helps one may harm another. */
#define SAMPLES_TRIED 16

static enum ulp_status try_samples(struct pairing *pairing, const struct ulp_alone *alone,
                                   const struct paired *pair, struct ulp_qdq_pair *out,
                                   struct ulp_error *error)
{
    const struct ulp_session *session = pairing->session;
    const struct ulp_tensor_set *first = pairing->inputs;
    const size_t samples = session->samples->count, tried = ulp_size_min(samples, SAMPLES_TRIED);
    double before = INFINITY, after = INFINITY;
    enum ulp_status status = ULP_OK;
    pairing->measured = true;
    for (size_t t = 0; t < tried && status == ULP_OK; t++) {
        const size_t s = t * samples / tried;
        status = ulp_samples_open(session->samples, s, &pairing->inputs, error);
        if (status != ULP_OK)
            break;
        if (ulp_program_takes(pairing->program, pairing->inputs)) {
            status = try_sample(pairing, alone, pair, &before, &after, error);
            out->sample_count++;
        }
        ulp_samples_close(session->samples, s);
    }
    out->worst_db = after - before;
    pairing->measured = false;
    pairing->inputs = first;
    return status == ULP_OK ? run_original(pairing, error) : status;
}

/* Of those whose gain is known the one that gains most; NULL: none is known. */
static struct ulp_qdq_pair *find_most(struct ulp_audit_lane *lane)
{
    struct ulp_qdq_pair *most = NULL;
    for (size_t p = 0; p < lane->qdq_pair_count; p++)
        if (!isnan(lane->qdq_pairs[p].gained_db) &&
            (!most || by_gain(&lane->qdq_pairs[p], most) < 0))
            most = &lane->qdq_pairs[p];
    return most;
}

static enum ulp_status try_lane(struct pairing *pairing, size_t l, struct ulp_error *error)
{
    const struct ulp_observer looking = {.context = pairing,
                                         .node_done = look_at_node,
                                         .modes_unused = true};
    struct ulp_alone alone;
    double before = 0, after;
    pairing->lane = &pairing->audit->lanes[l];
    enum ulp_status status =
        ulp_alone_create(pairing->program, l + 1, false, pairing->inputs, &alone, error);
    ULP_THEN(status, plan_without_integers(pairing, &alone, error));
    ULP_THEN(status, describe_pairs(pairing, error));
    ULP_THEN(status, run_once(pairing, &alone, NULL, &looking, &before, error));
    for (size_t p = 0; p < pairing->count && status == ULP_OK; p++) {
        const struct paired *pair = &pairing->items[p];
        struct ulp_qdq_pair *out = &pairing->lane->qdq_pairs[p];
        const struct ulp_stored_fault *fault = find_fault(pairing, pair);
        out->gained_db = out->channels_db = out->blocks_db = out->worst_db = NAN;
        if (!pair->there)
            continue;
        status = run_once(pairing, &alone, pair, NULL, &after, error);
        out->gained_db = after - before;
        if (status == ULP_OK && fault)
            status = try_scales(pairing, &alone, pair, (int)fault->summed, before, &out->blocks_db,
                                error);
        else if (status == ULP_OK && !pair->quantizer && has_one_scale(pairing, pair) &&
                 after - before >= WORTH_CHANNELS_DB)
            status = try_scales(pairing, &alone, pair, -1, before, &out->channels_db, error);
    }
    struct ulp_qdq_pair *most = status == ULP_OK ? find_most(pairing->lane) : NULL;
    if (most && pairing->session->samples->count > 1)
        status = try_samples(pairing, &alone, &pairing->items[most - pairing->lane->qdq_pairs],
                             most, error);
    if (status == ULP_OK)
        qsort(pairing->lane->qdq_pairs, pairing->count, sizeof *pairing->lane->qdq_pairs, by_gain);
    ulp_alone_free(&alone);
    return status == ULP_ERROR_UNSUPPORTED ? ULP_OK : status;
}

enum ulp_status ulp_session_pairs(const struct ulp_session *session, struct ulp_audit *audit,
                                  const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    struct pairing pairing = {.session = session,
                              .program = session->programs->first,
                              .inputs = inputs,
                              .audit = audit};
    const struct ulp_program_options planning = {.inputs = inputs};
    enum ulp_status status =
        ulp_arena_create(&pairing.memory, ulp_model_budget(session->programs->model), error);
    ULP_THEN(status, ulp_program_create(session->options->original, session->programs->lanes, 1,
                                        &planning, &pairing.original, error));
    ULP_THEN(status, list_pairs(&pairing, error));
    if (status == ULP_OK && pairing.count)
        status = run_original(&pairing, error);
    for (size_t l = 0; l < audit->lane_count && pairing.count && status == ULP_OK; l++)
        status = try_lane(&pairing, l, error);
    for (size_t p = 0; p < pairing.count; p++)
        ulp_tensor_free(&pairing.items[p].floats);
    ulp_tensor_set_free(&pairing.truth);
    ulp_program_free(pairing.original);
    ulp_arena_free(pairing.memory);
    return ulp_fail_at(error, status, "pairs of QuantizeLinear");
}
