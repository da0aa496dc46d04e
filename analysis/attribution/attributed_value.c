/* What is to be explained: "NAME", "NAME[i,j]", "NAME[a]-NAME[b]". */
#include <stdlib.h>
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "base/error.h"
#include "run/pass/amounts.h"

static enum ulp_status fail_output(const char *output, const char *what, struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_USAGE,
                    "output %s: %s; expected NAME, NAME[i,j] or NAME[a]-NAME[b] of a float value "
                    "of the main graph",
                    output, what);
}

/* -1: there is none of that name. */
static int find_slot(const struct ulp_program *program, const char *name, size_t length)
{
    const struct ulp_block *block = program->main;
    for (size_t i = 0; i < block->output_count; i++) {
        const char *output = ulp_model_output(program->model, i).name;
        if (strlen(output) == length && memcmp(output, name, length) == 0)
            return block->outputs[i];
    }
    for (size_t s = 0; s < block->slot_count; s++)
        if (block->slots[s].name && strlen(block->slots[s].name) == length &&
            memcmp(block->slots[s].name, name, length) == 0)
            return (int)s;
    return -1;
}

/* "i,j" up to the bracket, an element of a value of that shape. */
static enum ulp_status read_index(const char *output, const char *text, const char *end,
                                  const struct ulp_tensor *shape, size_t *out,
                                  struct ulp_error *error)
{
    int rank = 0;
    *out = 0;
    if (shape->type == ULP_TYPE_UNDEFINED)
        return fail_output(output, "its shape is not known before the run", error);
    while (text < end && rank < shape->rank) {
        char *after;
        long long index = strtoll(text, &after, 10);
        index += index < 0 ? shape->dims[rank] : 0;
        if (after == text || (after != end && *after != ',') || index < 0 ||
            index >= shape->dims[rank])
            return fail_output(output, "an index is outside its shape", error);
        *out = *out * (size_t)shape->dims[rank++] + (size_t)index;
        text = after + (after < end);
    }
    return rank == shape->rank && text == end
               ? ULP_OK
               : fail_output(output, "it has not one index for each dimension", error);
}

/* One term: [from, end). */
static enum ulp_status read_term(const struct ulp_program *program, const char *output,
                                 const char *from, const char *end,
                                 struct ulp_attributed_value *out, struct ulp_error *error)
{
    const char *bracket = end;
    out->slot = find_slot(program, from, (size_t)(end - from));
    if (out->slot < 0 && end > from && end[-1] == ']') {
        while (bracket > from && *bracket != '[')
            bracket--;
        out->slot = find_slot(program, from, (size_t)(bracket - from));
        out->one = true;
    }
    if (out->slot < 0)
        return fail_output(output, "there is no such value", error);
    if (!ulp_block_computes(program->main, out->slot))
        return fail_output(output, "no node computes it", error);
    return out->one ? read_index(output, bracket + 1, end - 1,
                                 &program->main->slots[out->slot].shape, &out->index, error)
                    : ULP_OK;
}

static enum ulp_status read_output(struct ulp_attributor *attributor, const char *output,
                                   struct ulp_error *error)
{
    const char *end = output + strlen(output), *minus = strstr(output, "]-");
    struct ulp_attributed_value *targets = attributor->targets;
    if (find_slot(attributor->program, output, strlen(output)) >= 0)
        minus = NULL;
    targets[0].sign = 1;
    targets[1].sign = -1;
    attributor->difference = minus != NULL;
    attributor->target_count = minus ? 2 : 1;
    ULP_TRY(read_term(attributor->program, output, output, minus ? minus + 1 : end, &targets[0],
                      error));
    if (minus)
        ULP_TRY(read_term(attributor->program, output, minus + 2, end, &targets[1], error));
    return minus && !(targets[0].one && targets[1].one)
               ? fail_output(output, "a difference is of two elements", error)
               : ULP_OK;
}

enum ulp_status ulp_attribution_targets(struct ulp_attributor *attributor, const char *output,
                                        struct ulp_error *error)
{
    const struct ulp_block *block = attributor->program->main;
    ULP_TAKE(attributor->targets, attributor->memory, block->output_count + 2, error);
    ULP_TAKE(attributor->wanted, attributor->memory, block->slot_count + 1, error);
    ULP_TAKE(attributor->amounts, attributor->memory, block->slot_count + 1, error);
    ulp_find_amounts(block, attributor->amounts);
    if (output) {
        attributor->output = ulp_arena_copy(attributor->memory, output);
        ULP_TRY(attributor->output ? read_output(attributor, output, error)
                                   : ulp_out_of_memory(error));
    }
    for (size_t i = 0; !output && i < block->output_count; i++)
        if (ulp_block_computes(block, block->outputs[i]))
            attributor->targets[attributor->target_count++] =
                (struct ulp_attributed_value){.slot = block->outputs[i], .sign = 1};
    for (size_t t = 0; t < attributor->target_count; t++)
        attributor->wanted[attributor->targets[t].slot] = true;
    return ULP_OK;
}

const char *ulp_attribution_output(const struct ulp_attributor *attributor, size_t group)
{
    const struct ulp_block *block = attributor->program->main;
    if (attributor->output || !attributor->each)
        return attributor->output ? attributor->output : "";
    for (size_t i = 0; i < block->output_count; i++)
        if (block->outputs[i] == attributor->targets[group].slot)
            return ulp_model_output(attributor->program->model, i).name;
    return "";
}
