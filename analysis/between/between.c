/* The difference of given tokens' log-probabilities between two arithmetics, and each node's share
 * of it: <ulpscope/between.h>. */
#include "analysis/between/betweening.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/judged.h"
#include "analysis/writing/columns.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/options.h"
#include "number/format/scaling.h"

enum { FIRST = 1, SECOND, LANES };
/* Rounding the logarithm of a sum of 1 leaves less, of a reference in FP32, too. */
#define LOG_MAX 1e-3

/* One sample: what the lanes gave. */
struct compared {
    struct ulp_program *program;
    struct ulp_attributor *attributor;
    struct ulp_tensor_set outputs[LANES];
    struct ulp_given_tokens given;
    double *logs[LANES], *weights;
};

static const struct ulp_tensor *rows_of(const struct ulp_betweening *b, const struct compared *c,
                                        int lane)
{
    return &c->outputs[lane].items[b->output].tensor;
}

/* ---- figures ---- */

/* Tokens before the sample's first: what a mask has beyond the positions. */
static size_t past_of(const struct ulp_tensor_set *inputs, size_t positions)
{
    for (size_t i = 0; inputs && i < inputs->count; i++) {
        const struct ulp_tensor *t = &inputs->items[i].tensor;
        if (strstr(inputs->items[i].name, "mask") && t->rank == 2 &&
            t->dims[1] > (int64_t)positions)
            return (size_t)t->dims[1] - positions;
    }
    return 0;
}

static void add_figures(struct ulp_betweening *b, const struct compared *c,
                        const struct ulp_tensor_set *inputs)
{
    struct ulp_between *out = b->out;
    const size_t positions = c->given.positions, past = past_of(inputs, positions);
    for (size_t r = 0; r < c->given.rows; r++) {
        const double reference = c->logs[0][r], first = c->logs[FIRST][r],
                     second = c->logs[SECOND][r], d = second - first;
        if (c->given.tokens[r] < 0)
            continue;
        out->nonfinite += !isfinite(d);
        out->nats += fabs(d);
        out->mean += d;
        b->squares += d * d;
        ulp_between_add_context(out, past + r % positions + 1, d);
        out->first_loss -= first;
        out->second_loss -= second;
        out->first_error += fabs(first - reference);
        out->second_error += fabs(second - reference);
        if (!out->token_count || fabs(d) > out->most || (isnan(d) && !isnan(out->most))) {
            out->most = fabs(d);
            out->most_at = out->token_count;
        }
        out->token_count++;
    }
}

/* The sum of the d * d is explained: half of its derivative by the second's elements less that by
 * the first's is d times the mean of the derivatives of l, by which l differs up to third order. */
static enum ulp_status add_shares(struct ulp_betweening *b, struct compared *c,
                                  struct ulp_error *error)
{
    const struct ulp_attributed *lanes = c->attributor->lanes;
    ulp_attributor_weigh(c->attributor, c->weights);
    c->attributor->heads = b->heads;
    ULP_TRY(ulp_attributor_sweep(c->attributor, error));
    for (int l = 0; l < 2; l++)
        if (lanes[l].reason && !b->out->no_shares) {
            b->out->no_shares = ulp_arena_copy(b->out->memory, lanes[l].reason);
            ULP_TRY(ulp_taken(b->out->no_shares, error));
        }
    for (int l = 0; l < 2 && !b->out->no_shares; l++) {
        const struct ulp_output_shares *sums = lanes[l].sums;
        b->nonfinite |= lanes[l].nonfinite;
        for (size_t n = 0; n < c->program->node_count; n++)
            b->parts[l][n] += sums->nodes[n].share + sums->nodes[n].decision;
        b->inputs += (l ? 1 : -1) * sums->inputs;
    }
    return ULP_OK;
}

static enum ulp_status add_distributions(struct ulp_betweening *b, const struct compared *c,
                                         struct ulp_error *error)
{
    struct ulp_judged judged;
    const struct ulp_purpose text = {ULP_TASK_TEXT, ULP_BASIS_ASKED};
    if (c->given.length == 1)
        return ULP_OK;
    ULP_TRY(ulp_judged_measure(rows_of(b, c, SECOND), rows_of(b, c, FIRST), text,
                               ulp_model_budget(b->model), &judged, error));
    b->out->kl += judged.kl * judged.rows;
    b->out->flips += judged.top1_flips;
    b->rows += judged.rows;
    return ULP_OK;
}

/* ---- a sample ---- */

static enum ulp_status measure_logs(struct ulp_betweening *b, struct compared *c,
                                    struct ulp_arena *memory, struct ulp_error *error)
{
    const size_t count = c->given.rows * c->given.length;
    for (int l = 0; l < LANES; l++) { /* those of both follow, for their difference weighs */
        ULP_TAKE(c->logs[l], memory, c->given.rows, error);
        ULP_TRY(ulp_between_logs(&c->given, rows_of(b, c, l), c->logs[l], NULL, NULL, error));
    }
    for (size_t r = 0; r < c->given.rows; r++)
        if (c->given.length == 1 && c->given.tokens[r] >= 0 && c->logs[0][r] > LOG_MAX)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "output %s has %.3g, and no log-probability is above 0: if it has a "
                            "row of scores for each position, --tokens FILE.npy says the tokens",
                            b->out->output, c->logs[0][r]);
    ULP_TAKE_ARRAY(double, scale, memory, c->given.rows, error);
    ULP_TAKE(c->weights, memory, count, error);
    for (size_t r = 0; r < c->given.rows; r++)
        scale[r] = (c->logs[SECOND][r] - c->logs[FIRST][r]) / 2;
    for (int l = FIRST; l <= SECOND; l++)
        ULP_TRY(
            ulp_between_logs(&c->given, rows_of(b, c, l), c->logs[l], scale, c->weights, error));
    return ULP_OK;
}

/* Observes which nodes give other results on the reference's inputs. */
static enum ulp_status see_own(void *context, const struct ulp_event *event,
                               struct ulp_error *error)
{
    struct ulp_betweening *b = context;
    ULP_TRY(ulp_between_see_caches(b, event, error));
    for (size_t o = 0; o < event->output_count && !b->own[event->index]; o++) {
        const struct ulp_tensor *first = event->values[FIRST * event->output_count + o].single,
                                *second = event->values[SECOND * event->output_count + o].single;
        if (!first || !second || !ulp_tensor_same_shape(first, second))
            continue;
        for (size_t i = 0; i < first->count && !b->own[event->index]; i++)
            b->own[event->index] = ulp_tensor_get(first, i) != ulp_tensor_get(second, i) &&
                                   !isnan(ulp_tensor_get(first, i));
    }
    return ULP_OK;
}

static enum ulp_status take_sums(struct ulp_betweening *b, size_t count, struct ulp_error *error)
{
    if (b->own)
        return ULP_OK;
    ULP_TAKE(b->parts[0], b->out->memory, count, error);
    ULP_TAKE(b->parts[1], b->out->memory, count, error);
    ULP_TAKE(b->own, b->out->memory, count, error);
    if (ulp_scaling_is_cached(&b->options->first) || ulp_scaling_is_cached(&b->options->second)) {
        ULP_TAKE(b->caches, b->out->memory, 2 * count, error);
        b->out->caches = b->caches;
        ULP_TAKE(b->heads, b->out->memory, count, error);
    }
    return ULP_OK;
}

static enum ulp_status run_sample(struct ulp_betweening *b, const struct ulp_sample *sample,
                                  struct compared *c, struct ulp_error *error)
{
    struct ulp_between *out = b->out;
    const struct ulp_observer *progress = b->options->progress;
    struct ulp_run_options run = {.thread_count = b->options->thread_count, .audit = true};
    ULP_TRY(ulp_programs_choose(&b->programs, sample->inputs, &c->program, error));
    ULP_TRY(take_sums(b, c->program->node_count + 1, error));
    ULP_TRY(
        ulp_attributor_create(c->program, out->output, run.thread_count, &c->attributor, error));
    ULP_TRY(ulp_attributor_sample(c->attributor, sample->inputs, error));
    const struct ulp_observer observers[] = {ulp_attributor_observer(c->attributor),
                                             {.context = b,
                                              .node_done = see_own,
                                              .modes_unused = true},
                                             progress ? *progress : (struct ulp_observer){0}};
    return ulp_program_run(c->program, sample->inputs, &run, observers, progress ? 3 : 2,
                           c->outputs, NULL, error);
}

/* The output is known by the first sample's values. */
static enum ulp_status find_output(struct ulp_betweening *b, struct ulp_error *error)
{
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    const struct ulp_tensor_set *inputs = b->samples[0].inputs;
    struct ulp_arithmetic fp32;
    const struct ulp_program_options planned = {.inputs = inputs};
    struct ulp_run_options run = {.thread_count = b->options->thread_count};
    struct ulp_tensor_set outputs = {0};
    ULP_TRY(ulp_arithmetic_find("fp32", &fp32, error));
    ULP_TRY(ulp_program_create(b->model, &fp32, 1, &planned, &program, error));
    enum ulp_status status = ulp_program_run(program, inputs, &run, NULL, 0, &outputs, NULL, error);
    ULP_THEN(status, ulp_between_find_output(b, program, &outputs, error));
    ULP_THEN(status, ulp_between_look_ahead(b, program, &outputs, error));
    if (status == ULP_OK) {
        const char *name = outputs.items[b->output].name;
        b->out->output = ulp_arena_copy(b->out->memory, name);
        status = ulp_taken(b->out->output, error);
    }
    ulp_tensor_set_free(&outputs);
    return status;
}

static enum ulp_status compare_sample(struct ulp_betweening *b, const struct ulp_sample *sample,
                                      struct ulp_error *error)
{
    struct compared c = {0};
    struct ulp_arena *memory = NULL;
    enum ulp_status status = ulp_arena_create(&memory, ulp_model_budget(b->model), error);
    ULP_THEN(status, run_sample(b, sample, &c, error));
    ULP_THEN(status, ulp_between_find_tokens(b, sample->inputs, rows_of(b, &c, 0), memory, &c.given,
                                             error));
    ULP_THEN(status, measure_logs(b, &c, memory, error));
    ULP_THEN(status, add_distributions(b, &c, error));
    if (status == ULP_OK) {
        add_figures(b, &c, sample->inputs);
        status = add_shares(b, &c, error);
    }
    for (int l = 0; l < LANES; l++)
        ulp_tensor_set_free(&c.outputs[l]);
    ulp_attributor_free(c.attributor);
    ulp_arena_free(memory);
    return status;
}

/* ---- all samples ---- */

static int order_nodes(const void *a, const void *b)
{
    const struct ulp_between_node *x = a, *y = b;
    const double left = fabs(x->share), right = fabs(y->share);
    return left != right ? (left < right) - (left > right)
                         : (x->index > y->index) - (x->index < y->index);
}

static enum ulp_status take_name(struct ulp_between *out, const char *text, char **to,
                                 struct ulp_error *error)
{
    *to = ulp_arena_copy(out->memory, text);
    return ulp_taken(*to, error);
}

static enum ulp_status name_node(struct ulp_between *out, const struct ulp_program *program,
                                 size_t n, struct ulp_between_node *node, struct ulp_error *error)
{
    const char *name = ulp_program_node_name(program, n), *op = ulp_program_node_op(program, n);
    node->name = ulp_arena_copy(out->memory, name);
    node->op = ulp_arena_copy(out->memory, op);
    return ulp_taken(node->name && node->op, error);
}

/* Shares that lack half of it, or have it half again, are none. */
#define LACKS_MOST 0.5
static const char too_large[] =
    "errors are too large for derivatives, as where a mask hides all of a position, of padding: "
    "--tokens, with -1 there, leaves it out";

static enum ulp_status finish_nodes(struct ulp_betweening *b, struct ulp_error *error)
{
    const struct ulp_program *program = b->programs.first;
    struct ulp_between *out = b->out;
    out->explained = out->own_share = NAN;
    for (size_t n = 0; n < program->node_count; n++)
        out->own_count += b->own[n];
    if (out->no_shares || !(b->squares > 0))
        return ULP_OK;
    ULP_TAKE(out->nodes, out->memory, program->node_count + 1, error);
    out->inputs = b->inputs / b->squares;
    out->explained = out->inputs;
    out->own_share = 0;
    for (size_t n = 0; n < program->node_count; n++) {
        struct ulp_between_node *node = &out->nodes[out->node_count];
        *node = (struct ulp_between_node){.index = n,
                                          .first = b->parts[0][n] / b->squares,
                                          .second = b->parts[1][n] / b->squares};
        node->share = node->second - node->first;
        node->own = b->own[n];
        if (node->share == 0)
            continue;
        out->explained += node->share;
        out->own_share += node->own ? node->share : 0;
        ULP_TRY(name_node(out, program, n, node, error));
        out->node_count++;
    }
    qsort(out->nodes, out->node_count, sizeof *out->nodes, order_nodes);
    if (fabs(1 - out->explained) <= (b->nonfinite ? ULP_ATTRIBUTION_WHOLE : LACKS_MOST))
        return ulp_between_finish_heads(b, error); /* what is not finite is absorbed, if any is */
    out->node_count = 0;
    out->explained = out->own_share = NAN;
    return take_name(out, b->nonfinite ? ulp_attribution_nonfinite : too_large, &out->no_shares,
                     error);
}

static void finish_figures(struct ulp_betweening *b)
{
    struct ulp_between *out = b->out;
    double *const means[] = {&out->nats,        &out->mean,        &out->first_loss,
                             &out->second_loss, &out->first_error, &out->second_error};
    const double count = (double)out->token_count;
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        *means[i] /= count;
    out->rms = sqrt(b->squares / count);
    ulp_between_finish_contexts(out);
    out->kl = b->rows > 0 ? out->kl / b->rows : NAN;
    out->flips = b->rows > 0 ? out->flips : NAN;
}

static enum ulp_status begin(struct ulp_betweening *b, struct ulp_error *error)
{
    struct ulp_between *out = b->out;
    ULP_TRY(ulp_arena_create(&out->memory, ulp_model_budget(b->model), error));
    ULP_TRY(take_name(out, ulp_model_path(b->model), &out->model_path, error));
    ULP_TRY(take_name(out, b->options->reference.asked, &out->reference, error));
    out->arguments = ulp_model_words(out->memory, b->model);
    out->drawn = b->samples[0].inputs->drawn;
    out->sample_count = b->sample_count;
    return ulp_taken(out->arguments, error);
}

static enum ulp_status compare_samples(struct ulp_betweening *b, struct ulp_error *error)
{
    struct ulp_between *out = b->out;
    ULP_TRY(begin(b, error));
    ULP_TRY(find_output(b, error));
    for (size_t s = 0; s < b->sample_count; s++) {
        enum ulp_status status = compare_sample(b, &b->samples[s], error);
        if (status != ULP_OK && b->sample_count > 1)
            return ulp_fail_at(error, status, "%s", b->samples[s].name);
        ULP_TRY(status);
    }
    if (b->options->tokens && b->tokens_taken != b->options->tokens->count)
        return ulp_fail(
            error, ULP_ERROR_INPUT,
            "%s has %zu tokens: expected one for each of the %zu positions of all samples",
            b->out->tokens, b->options->tokens->count, b->tokens_taken);
    ULP_TRY(take_name(out, ulp_program_lane_name(b->programs.first, FIRST), &out->first, error));
    ULP_TRY(take_name(out, ulp_program_lane_name(b->programs.first, SECOND), &out->second, error));
    finish_figures(b);
    ULP_TRY(finish_nodes(b, error));
    return out->nats > 0 && !out->nonfinite ? ulp_between_try(b, error) : ULP_OK;
}

enum ulp_status ulp_between_run(const struct ulp_model *model, const struct ulp_sample *samples,
                                size_t sample_count, const struct ulp_between_options *options,
                                struct ulp_between *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = (struct ulp_between){0};
    ULP_OPTIONS_TAKE(ulp_between_options, options, error);
    const double started = ulp_seconds_now();
    const struct ulp_arithmetic lanes[LANES] = {options->reference, options->first,
                                                options->second};
    const struct ulp_keeps keeps[LANES] = {{0},
                                           {0},
                                           options->keeps ? *options->keeps
                                                          : (struct ulp_keeps){0}};
    struct ulp_betweening b = {.model = model,
                               .samples = samples,
                               .sample_count = sample_count,
                               .options = options,
                               .out = out,
                               .programs = {.model = model,
                                            .lanes = lanes,
                                            .lane_count = LANES,
                                            .options = {.keeps = keeps}}};
    const enum ulp_status status = compare_samples(&b, error);
    ulp_programs_free(&b.programs);
    out->seconds = ulp_seconds_now() - started;
    if (status != ULP_OK)
        ulp_between_free(out);
    return status;
}

ULP_RESULT_FREE(ulp_between_free, struct ulp_between)
