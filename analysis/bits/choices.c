/* The formats that layers may get, and the layers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/bits/allocation.h"
#include "base/error.h"
#include "number/function/math.h"

/* ---- formats ---- */

static enum ulp_status set_choice(struct ulp_bits_choice *out, const char *name, const char *parts,
                                  struct ulp_error *error)
{
    char text[512];
    *out = (struct ulp_bits_choice){0};
    snprintf(out->name, sizeof out->name, "%s", name);
    if (snprintf(text, sizeof text, "%s%s%s", name, parts && *parts ? "," : "",
                 parts ? parts : "") >= (int)sizeof text)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: too many parts", name);
    enum ulp_status status = ulp_arithmetic_find(text, &out->arithmetic, error);
    if (status != ULP_OK)
        return status;
    const struct ulp_arithmetic *arithmetic = &out->arithmetic;
    const struct ulp_format *storage = &arithmetic->storage;
    if (arithmetic->as_declared || arithmetic->half_as_float || arithmetic->schedule.qdq_integer ||
        arithmetic->fuse != ULP_FUSE_NONE || !storage->storage_bits)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: bits are allocated to layers one by one: not in model, ort-cpu, mpfr, "
                        "qdq=integer or fuse=",
                        text);
    out->mantissa = storage->precision - 1;
    out->exponent = storage->storage_bits - storage->precision;
    return ULP_OK;
}

static enum ulp_status list_formats(struct ulp_bits_search *search, struct ulp_arena *memory,
                                    struct ulp_error *error)
{
    const struct ulp_bits_options *options = search->options;
    enum ulp_status status = ULP_OK;
    size_t widest = 0;
    search->choices = ulp_arena_take(memory, options->format_count, sizeof *search->choices);
    if (!search->choices)
        return ulp_out_of_memory(error);
    for (size_t f = 0; f < options->format_count && status == ULP_OK; f++) {
        struct ulp_bits_choice *choice = &search->choices[search->choice_count++];
        status = set_choice(choice, options->formats[f], NULL, error);
        for (size_t i = 0; i + 1 < search->choice_count && status == ULP_OK; i++)
            if (strcmp(search->choices[i].arithmetic.name, choice->arithmetic.name) == 0)
                return ulp_fail(error, ULP_ERROR_USAGE, "format %s is there twice",
                                options->formats[f]);
        const struct ulp_format *now = &choice->arithmetic.storage,
                                *best = &search->choices[widest].arithmetic.storage;
        if (now->precision > best->precision ||
            (now->precision == best->precision && now->max_finite > best->max_finite))
            widest = f;
    }
    const struct ulp_bits_choice first = search->choices[0];
    search->choices[0] = search->choices[widest];
    search->choices[widest] = first;
    return status;
}

static enum ulp_status list_grid(struct ulp_bits_search *search, struct ulp_arena *memory,
                                 struct ulp_error *error)
{
    enum { EXPONENT_MIN = 2, COUNT = (ULP_BITS_EXPONENT_MAX - 1) * ULP_BITS_MANTISSA_MAX };
    const char *parts = search->options->parts ? search->options->parts : ULP_BITS_PARTS;
    enum ulp_status status = ULP_OK;
    search->grid = true;
    search->choices = ulp_arena_take(memory, COUNT, sizeof *search->choices);
    if (!search->choices)
        return ulp_out_of_memory(error);
    for (int e = ULP_BITS_EXPONENT_MAX; e >= EXPONENT_MIN && status == ULP_OK; e--)
        for (int m = ULP_BITS_MANTISSA_MAX; m >= 1 && status == ULP_OK; m--) {
            char name[16];
            snprintf(name, sizeof name, "e%dm%d", e, m);
            status = set_choice(&search->choices[search->choice_count++], name, parts, error);
        }
    return status;
}

enum ulp_status ulp_bits_choose(struct ulp_bits_search *search, struct ulp_arena *memory,
                                struct ulp_error *error)
{
    return search->options->format_count ? list_formats(search, memory, error)
                                         : list_grid(search, memory, error);
}

/* ---- layers ---- */

/* Of layer_of. */
enum { NO_LAYER = -1, SEVERAL = -2 };

static bool gives_floats(const struct ulp_audit_node *node)
{
    bool any = false;
    for (size_t o = 0; o < node->output_count; o++)
        any |= ulp_type_is_float(node->outputs[o].type);
    return any;
}

/* What the node adds to its results, relative to them, as a power. */
static double introduced_power(const struct ulp_audit_node *node)
{
    double power = 0;
    for (size_t o = 0; o < node->output_count; o++) {
        const double relative = node->outputs[o].introduced.rms / node->outputs[o].range.ref_rms;
        if (ulp_type_is_float(node->outputs[o].type) && isfinite(relative))
            power = ulp_math_max(power, relative * relative);
    }
    return power;
}

/* The layer whose values the node hands on, when all come from one. */
static ptrdiff_t find_layer(const struct ulp_bits_search *search, const struct ulp_plan_node *node)
{
    const struct ulp_step *step = node->step;
    ptrdiff_t layer = NO_LAYER;
    for (size_t i = 0; i < step->input_count; i++) {
        const int slot = step->inputs[i];
        if (slot < 0 || node->block->slots[slot].constant)
            continue;
        const size_t from = ulp_slot_holder(node->block, slot);
        if (from != ULP_NO_NODE && search->layer_of[from] == NO_LAYER)
            continue; /* integers */
        if (from == ULP_NO_NODE || from >= step->number ||
            (layer != NO_LAYER && layer != search->layer_of[from]))
            return SEVERAL;
        layer = search->layer_of[from];
    }
    return layer;
}

static double find_weight(const struct ulp_bits_search *search, const struct ulp_plan_node *node)
{
    const struct ulp_step *step = node->step;
    const enum ulp_bits_weight weight = search->options->weight;
    double elements = 0;
    if (weight == ULP_BITS_WORK)
        return step->cost;
    for (size_t i = 0; i < step->own_input_count && weight != ULP_BITS_LAYERS; i++) {
        const struct ulp_tensor *constant =
            step->inputs[i] >= 0 ? node->block->slots[step->inputs[i]].constant : NULL;
        if (constant && ulp_element_is_float(constant->element))
            elements += (double)constant->count;
    }
    for (size_t o = 0; o < step->output_count && weight == ULP_BITS_MEMORY; o++)
        if (step->outputs[o] >= 0)
            elements += (double)node->block->slots[step->outputs[o]].shape.count;
    return elements;
}

/* Rounding to nearest spreads the error over half an ulp on both sides (analysis/plan/powers.c). */
static double rounding_power(const struct ulp_arithmetic *arithmetic)
{
    return ldexp(1, -2 * arithmetic->storage.precision) / 6;
}

/* A node that adds no error of its own where all nodes have one format would add its rounding where
 * they do not. */
static void add_node(struct ulp_bits_search *search, const struct ulp_audit_node *audited,
                     bool given, const struct ulp_arithmetic *probe)
{
    const struct ulp_plan_node *node = &search->emulation.plan->nodes[audited->index];
    const double introduced = introduced_power(audited),
                 condition = given && isfinite(audited->condition) ? audited->condition : !given;
    ptrdiff_t layer = introduced == 0 ? find_layer(search, node) : SEVERAL;
    if (layer < 0) {
        layer = (ptrdiff_t)search->layer_count++;
        search->layers[layer] = (struct ulp_bits_room){.first = audited->index};
    }
    struct ulp_bits_room *room = &search->layers[layer];
    search->layer_of[audited->index] = layer;
    room->node_count++;
    room->product |= node->step->bound.op->work == ULP_WORK_CONTRACTION;
    room->weight += find_weight(search, node);
    if (audited->index == room->first || introduced > 0)
        room->power +=
            condition * condition * (introduced > 0 ? introduced : rounding_power(probe));
}

enum ulp_status ulp_bits_layers(struct ulp_bits_search *search, const struct ulp_audit *audit,
                                const struct ulp_arithmetic *probe, struct ulp_error *error)
{
    const struct ulp_audit_lane *lane = &audit->lanes[0];
    const struct ulp_plan *plan = search->emulation.plan;
    struct ulp_arena *memory = search->emulation.memory;
    search->layers = ulp_arena_take(memory, plan->node_count + 1, sizeof *search->layers);
    search->layer_of = ulp_arena_take(memory, plan->node_count + 1, sizeof *search->layer_of);
    if (!search->layers || !search->layer_of)
        return ulp_out_of_memory(error);
    for (size_t n = 0; n < plan->node_count; n++) {
        search->layer_of[n] = NO_LAYER;
        if (!plan->nodes[n].step->folded && !plan->nodes[n].step->constant &&
            gives_floats(&lane->nodes[n]))
            add_node(search, &lane->nodes[n], lane->attribution.given, probe);
    }
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < search->layer_count && status == ULP_OK; l++) {
        struct ulp_bits_room *room = &search->layers[l];
        room->weight =
            search->options->weight == ULP_BITS_LAYERS ? 1 : ulp_math_max(room->weight, 1);
        room->power *= ldexp(1, 2 * (probe->storage.precision - 1)); /* of relative 1 */
        search->total_weight += room->weight;
        status = ulp_bits_range(search, audit, l, error);
    }
    return status;
}
