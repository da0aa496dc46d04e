/* Kept nodes: the arithmetic of each node in each lane. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "number/format/request.h"
#include "base/text/text.h"
#include "run/program/program.h"

static enum ulp_status choose_nodes(const struct ulp_program *program, const struct ulp_keep *keep,
                                    bool *chosen, struct ulp_arena *scratch,
                                    struct ulp_error *error)
{
    memset(chosen, 0, program->node_count * sizeof *chosen);
    if (keep->pattern)
        return ulp_pattern_choose(program, keep->pattern, chosen, scratch, error);
    for (size_t i = 0; i < keep->node_count; i++) {
        if (keep->nodes[i] >= program->node_count)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "node %zu is to be kept in %s, but the model has %zu nodes",
                            keep->nodes[i], keep->arithmetic.name, program->node_count);
        chosen[keep->nodes[i]] = true;
    }
    return ULP_OK;
}

static enum ulp_status apply_keep(const struct ulp_program *program, struct ulp_mix *mix,
                                  const struct ulp_keep *keep, bool *chosen,
                                  struct ulp_error *error)
{
    if (keep->arithmetic.schedule.qdq_integer && !program->wants_integers)
        return ulp_fail(
            error, ULP_ERROR_USAGE,
            "nodes are to be kept in %s: compile with qdq=integer in a lane or its keeps",
            keep->arithmetic.name);
    ULP_TRY(choose_nodes(program, keep, chosen, mix->memory, error));
    const size_t arithmetic = ulp_mix_add(mix, &keep->arithmetic);
    for (size_t n = 0; n < program->node_count; n++)
        if (chosen[n])
            mix->of_node[n] = (uint16_t)arithmetic;
    return ULP_OK;
}

/* "bf16,scales=static,fuse=groups" with the names of the ranges and groups. */
static void add_arithmetic_name(struct ulp_text *text, const struct ulp_arithmetic *arithmetic,
                                const struct ulp_grouping *grouping)
{
    const struct {
        const char *key, *word, *name;
    } parts[] = {{"scales=", "static", arithmetic->ranges ? arithmetic->ranges->name : NULL},
                 {"fuse=", "groups", grouping ? grouping->name : NULL}};
    const char *rest = arithmetic->asked;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *at = rest;
        while (parts[i].name && (at = strstr(at, parts[i].key)) != NULL && at[-1] != ',')
            at++; /* qdq-scales= */
        if (!parts[i].name || !at)
            continue;
        at += strlen(parts[i].key);
        ulp_text_add(text, "%.*s%s", (int)(at - rest), rest, parts[i].name);
        rest = at + strlen(parts[i].word);
    }
    ulp_text_add(text, "%s", rest);
}

/* "fp16,keep=plan.json"; without a name each pattern: "fp16,keep=op:Softmax=fp32". */
static enum ulp_status name_mix(struct ulp_mix *mix, const struct ulp_keeps *keeps,
                                const struct ulp_grouping *grouping, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    add_arithmetic_name(&text, &mix->items[0], grouping);
    if (keeps->name)
        ulp_text_add(&text, ",keep=%s", keeps->name);
    for (size_t k = 0; !keeps->name && k < keeps->count; k++) {
        const struct ulp_keep *keep = &keeps->items[k];
        if (keep->pattern)
            ulp_text_add(&text, ",keep=%s=%s", keep->pattern, keep->arithmetic.asked);
        else
            ulp_text_add(&text, ",keep=%zu nodes=%s", keep->node_count, keep->arithmetic.asked);
    }
    mix->name = ulp_text_keep(&text, mix->memory);
    return ulp_taken(mix->name, error);
}

/* Of slots in order, the first type of floats that are stored as they are computed. *lacks: the
 * type of one before is not known. */
static enum ulp_type find_type(const struct ulp_block *block, const int *slots, size_t count,
                               bool *lacks)
{
    for (size_t i = 0; i < count; i++) {
        if (slots[i] < 0)
            continue;
        const enum ulp_type type = ulp_slot_type(&block->slots[slots[i]]);
        *lacks |= type == ULP_TYPE_UNDEFINED;
        if (ulp_type_is_float(type) && ulp_type_rows[type].file_bits > 8)
            return type;
    }
    return ULP_TYPE_UNDEFINED;
}

enum ulp_type ulp_step_type(const struct ulp_block *block, const struct ulp_step *step)
{
    bool lacks = false;
    enum ulp_type type = find_type(block, step->outputs, step->output_count, &lacks);
    if (type == ULP_TYPE_UNDEFINED)
        type = find_type(block, step->inputs, step->own_input_count, &lacks);
    return type == ULP_TYPE_UNDEFINED && !lacks ? ULP_TYPE_FLOAT : type;
}

/* In "ort-cpu" some nodes obey the types that are declared. */
static enum ulp_status declare_halves(const struct ulp_program *program, struct ulp_mix *mix,
                                      uint16_t *of_node, struct ulp_error *error)
{
    struct ulp_arithmetic declared;
    ULP_TAKE_ARRAY(bool, half, mix->memory, program->node_count + 1, error);
    ULP_TRY(ulp_arithmetic_find("model", &declared, error));
    ULP_TRY(ulp_program_ort_cpu(program, half, mix->memory, error));
    declared.schedule.qdq_integer = mix->items[0].schedule.qdq_integer;
    declared.schedule.integers_saturate = mix->items[0].schedule.integers_saturate;
    declared.schedule.levels_obeyed = true;
    declared.steps = mix->items[0].steps;
    const size_t arithmetic = ulp_mix_add(mix, &declared);
    for (size_t n = 0; n < program->node_count; n++)
        if (half[n])
            of_node[n] = (uint16_t)arithmetic;
    return ULP_OK;
}

enum ulp_status ulp_program_declare(const struct ulp_program *program, struct ulp_mix *mix,
                                    uint16_t *of_node, struct ulp_error *error)
{
    const struct ulp_arithmetic *lane = mix->items;
    if (lane->half_as_float)
        return declare_halves(program, mix, of_node, error);
    if (!lane->as_declared && !lane->types_declared)
        return lane->steps == ULP_STEPS_OPENVINO
                   ? ulp_program_leave_ends(program, mix, of_node, error)
                   : ULP_OK;
    size_t of_type[ULP_TYPE_COUNT] = {0}; /* 0: not looked for yet */
    for (size_t n = 0; n < program->node_count; n++) {
        const struct ulp_program_node *node = &program->nodes[n];
        const enum ulp_type type = ulp_step_type(node->block, node->step);
        const char *name = type == ULP_TYPE_UNDEFINED ? "model" : ulp_type_rows[type].format;
        if (lane->types_declared && strcmp(name, lane->storage.name) == 0)
            continue;
        if (!of_type[type]) {
            struct ulp_arithmetic declared;
            ULP_TRY(type == ULP_TYPE_FLOAT && lane->floats
                        ? ulp_floats_find(lane->floats, lane->schedule.gpu, &declared, error)
                        : ulp_arithmetic_find(name, &declared, error));
            of_type[type] = ulp_mix_add(mix, &declared);
        }
        of_node[n] = (uint16_t)of_type[type];
    }
    return ULP_OK;
}

static enum ulp_status fill_mix(const struct ulp_program *program, struct ulp_mix *mix,
                                const struct ulp_arithmetic *lane, const struct ulp_keeps *keeps,
                                struct ulp_error *error)
{
    bool *chosen = ulp_arena_take(mix->memory, program->node_count + 1, sizeof *chosen);
    mix->items =
        ulp_arena_take(mix->memory, keeps->count + 1 + ULP_DECLARED_MAX, sizeof *mix->items);
    mix->of_node = ulp_arena_take(mix->memory, program->node_count + 1, sizeof *mix->of_node);
    ULP_TRY(ulp_taken(chosen && mix->items && mix->of_node, error));
    if (keeps->count >= UINT16_MAX - ULP_DECLARED_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE, "%zu entries of nodes to be kept: at most %d",
                        keeps->count, UINT16_MAX - ULP_DECLARED_MAX - 1);
    mix->count = 1;
    mix->items[0] = *lane;
    ULP_TRY(ulp_program_declare(program, mix, mix->of_node, error));
    for (size_t k = 0; k < keeps->count; k++)
        ULP_TRY(apply_keep(program, mix, &keeps->items[k], chosen, error));
    return ULP_OK;
}

enum ulp_status ulp_program_keep(struct ulp_program *program, size_t lane,
                                 const struct ulp_keeps *keeps, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_mix mix = {.count = 1, .items = &program->lanes[lane]};
    enum ulp_status status = ULP_OK;
    const bool fuses = program->lanes[lane].fuse != ULP_FUSE_NONE;
    const bool differs = keeps->count || program->lanes[lane].half_as_float ||
                         program->lanes[lane].types_declared ||
                         program->lanes[lane].steps == ULP_STEPS_OPENVINO;
    const bool named = differs || program->groupings[lane] || program->lanes[lane].ranges;
    if (named || fuses)
        status = ulp_arena_create(&mix.memory, &program->budget, error);
    if (differs && status == ULP_OK)
        status = fill_mix(program, &mix, &program->lanes[lane], keeps, error);
    if (named && status == ULP_OK)
        status = name_mix(&mix, keeps, program->groupings[lane], error);
    if (fuses && status == ULP_OK)
        status = ulp_program_fuse(program, lane, &mix, error);
    ulp_arena_free(status == ULP_OK ? program->mixes[lane].memory : mix.memory);
    if (status == ULP_OK) {
        program->mixes[lane] = mix;
        ulp_program_find_peak(program);
    }
    return status;
}

const char *ulp_program_lane_name(const struct ulp_program *program, size_t lane)
{
    return program->names[lane]        ? program->names[lane]
           : program->mixes[lane].name ? program->mixes[lane].name
                                       : program->lanes[lane].asked;
}

const struct ulp_arithmetic *ulp_program_node_arithmetic(const struct ulp_program *program,
                                                         size_t lane, size_t index)
{
    return ulp_mix_arithmetic(&program->mixes[lane], index);
}
