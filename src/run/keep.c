/* Lanes whose nodes differ: which arithmetic each node of a lane has. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "run/plan.h"

static enum ulp_status out_of_memory(struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory while planning");
}

enum ulp_status ulp_mix_create(struct ulp_mix *out, const struct ulp_arithmetic *lane,
                               struct ulp_error *error)
{
    *out = (struct ulp_mix){.count = 1, .items = malloc(sizeof *out->items)};
    if (!out->items)
        return out_of_memory(error);
    *out->items = *lane;
    return ULP_OK;
}

void ulp_mix_free(struct ulp_mix *mix)
{
    free(mix->name);
    free(mix->items);
    free(mix->of_node);
    *mix = (struct ulp_mix){0};
}

/* The arithmetic's index among the mix's; SIZE_MAX: there is no room for it. */
static size_t add_arithmetic(struct ulp_mix *mix, const struct ulp_arithmetic *arithmetic)
{
    size_t i = 0;
    while (i < mix->count && strcmp(mix->items[i].name, arithmetic->name) != 0)
        i++;
    if (i < mix->count)
        return i;
    struct ulp_arithmetic *grown =
        i < UINT16_MAX ? realloc(mix->items, (i + 1) * sizeof *grown) : NULL;
    if (!grown)
        return SIZE_MAX;
    mix->items = grown;
    grown[i] = *arithmetic;
    mix->count++;
    return i;
}

static enum ulp_status choose_nodes(const struct ulp_plan *plan, const struct ulp_keep *keep,
                                    bool *chosen, struct ulp_error *error)
{
    memset(chosen, 0, plan->node_count * sizeof *chosen);
    if (keep->pattern)
        return ulp_pattern_choose(plan, keep->pattern, chosen, error);
    for (size_t i = 0; i < keep->node_count; i++) {
        if (keep->nodes[i] >= plan->node_count)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "node %zu is to be kept in %s, but the plan has %zu nodes",
                            keep->nodes[i], keep->arithmetic.name, plan->node_count);
        chosen[keep->nodes[i]] = true;
    }
    return ULP_OK;
}

static enum ulp_status apply_keep(const struct ulp_plan *plan, struct ulp_mix *mix,
                                  const struct ulp_keep *keep, bool *chosen,
                                  struct ulp_error *error)
{
    if (keep->arithmetic.schedule.qdq_integer && !plan->wants_integers)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "nodes are to be kept in %s: plan with qdq=integer in a lane or its keeps",
                        keep->arithmetic.name);
    enum ulp_status status = choose_nodes(plan, keep, chosen, error);
    const size_t arithmetic = status == ULP_OK ? add_arithmetic(mix, &keep->arithmetic) : 0;
    if (arithmetic == SIZE_MAX)
        return out_of_memory(error);
    for (size_t n = 0; n < plan->node_count && status == ULP_OK; n++)
        if (chosen[n])
            mix->of_node[n] = (uint16_t)arithmetic;
    return status;
}

/* "fp16,keep=plan.json"; without a name each pattern: "fp16,keep=op:Softmax=fp32". */
static enum ulp_status name_mix(struct ulp_mix *mix, const struct ulp_keeps *keeps,
                                struct ulp_error *error)
{
    struct ulp_text text = {0};
    ulp_text_add(&text, "%s", mix->items[0].name);
    if (keeps->name)
        ulp_text_add(&text, ",keep=%s", keeps->name);
    for (size_t k = 0; !keeps->name && k < keeps->count; k++) {
        const struct ulp_keep *keep = &keeps->items[k];
        if (keep->pattern)
            ulp_text_add(&text, ",keep=%s=%s", keep->pattern, keep->arithmetic.name);
        else
            ulp_text_add(&text, ",keep=%zu nodes=%s", keep->node_count, keep->arithmetic.name);
    }
    mix->name = text.failed ? NULL : strdup(text.data);
    ulp_text_free(&text);
    return mix->name ? ULP_OK : out_of_memory(error);
}

enum ulp_status ulp_plan_keep(struct ulp_plan *plan, size_t lane, const struct ulp_keeps *keeps,
                              struct ulp_error *error)
{
    struct ulp_mix mix;
    enum ulp_status status = ulp_mix_create(&mix, &plan->lanes[lane], error);
    bool *chosen = calloc(plan->node_count + 1, sizeof *chosen);
    if (status == ULP_OK && keeps->count) {
        mix.of_node = calloc(plan->node_count + 1, sizeof *mix.of_node);
        status = mix.of_node && chosen ? name_mix(&mix, keeps, error) : out_of_memory(error);
    }
    for (size_t k = 0; k < keeps->count && status == ULP_OK; k++)
        status = apply_keep(plan, &mix, &keeps->items[k], chosen, error);
    free(chosen);
    if (status != ULP_OK) {
        ulp_mix_free(&mix);
        return status;
    }
    ulp_mix_free(&plan->mixes[lane]);
    plan->mixes[lane] = mix;
    return ULP_OK;
}

const char *ulp_plan_lane_name(const struct ulp_plan *plan, size_t lane)
{
    return plan->mixes[lane].name ? plan->mixes[lane].name : plan->lanes[lane].name;
}

const struct ulp_arithmetic *ulp_plan_node_arithmetic(const struct ulp_plan *plan, size_t lane,
                                                      size_t index)
{
    return ulp_mix_arithmetic(&plan->mixes[lane], index);
}
