/* What an audit says of each node: what overflows, and how much error it adds to the outputs. */
#include "analysis/plan/plan_search.h"

#include <math.h>
#include <string.h>

#include "analysis/audit/audit_keep.h"
#include "base/machine/clock.h"
#include "base/error.h"
#include "number/function/math.h"
#include "tensor/tensor.h"

/* How far a float result of the node is from exact arithmetic on its inputs, relative, as a power:
 * the whole. */
static double introduced_power(const struct ulp_audit_node *node)
{
    double power = 0;
    for (size_t o = 0; o < node->output_count; o++) {
        const struct ulp_audit_output *output = &node->outputs[o];
        const double relative = output->introduced.rms / output->range.ref_rms;
        if (ulp_type_is_float(output->type) && isfinite(relative))
            power = ulp_math_max(power, relative * relative);
    }
    return power;
}

/* Rounding to nearest spreads the error over half an ulp on both sides: relative to a value whose
 * binade is not known, u / sqrt(3) times the mean of 1 / m^2 over 1 <= m < 2, which is 1 / 2. */
static double rounding_power(const struct ulp_arithmetic *arithmetic)
{
    return ldexp(1, -2 * arithmetic->storage.precision) / 6;
}

static void set_powers(struct ulp_search *search, const struct ulp_audit_lane *lane)
{
    const bool given = lane->attribution.given;
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_audit_node *node = &lane->nodes[n];
        const double whole = introduced_power(node),
                     rounding =
                         ulp_math_min(rounding_power(&search->emulation.plan->lanes[1]), whole),
                     condition = given && isfinite(node->condition) ? node->condition : !given,
                     share = given && node->share > 0 ? node->share : 0,
                     gain = given && node->gain > 0 ? ulp_math_min(node->gain, share) : 0;
        search->passes[n] = whole == 0;
        search->own[ULP_ESTIMATE_CONDITION][n] = condition * condition * (whole - rounding);
        search->stored[ULP_ESTIMATE_CONDITION][n] = condition * condition * rounding;
        search->own[ULP_ESTIMATE_SHARE][n] = gain;
        search->stored[ULP_ESTIMATE_SHARE][n] = share - gain;
        search->own[ULP_ESTIMATE_SHARE_ALONE][n] = share;
        search->own[ULP_ESTIMATE_INTRODUCED][n] = whole;
    }
}

enum ulp_status ulp_search_keep(struct ulp_search *search, const bool *kept,
                                struct ulp_error *error)
{
    size_t *nodes = ulp_arena_take(search->emulation.memory, search->emulation.plan->node_count + 1,
                                   sizeof *nodes),
           count = 0;
    if (!nodes)
        return ulp_out_of_memory(error);
    for (size_t n = 0; n < search->emulation.plan->node_count; n++)
        if (kept[n])
            nodes[count++] = n;
    const struct ulp_keep keep = {.nodes = nodes,
                                  .node_count = count,
                                  .arithmetic = search->options->keep_in};
    const struct ulp_keeps keeps = {.count = count > 0, .items = &keep};
    return ulp_emulation_keep(&search->emulation, &keeps, error);
}

static enum ulp_status keep_required(struct ulp_search *search, struct ulp_error *error)
{
    bool *kept = ulp_arena_take(search->emulation.memory, search->emulation.plan->node_count + 1,
                                sizeof *kept);
    if (!kept)
        return ulp_out_of_memory(error);
    for (size_t n = 0; n < search->emulation.plan->node_count; n++)
        kept[n] = search->always[n] || search->required[n];
    return ulp_search_keep(search, kept, error);
}

/* An overflow hides those behind it, and shares are of lanes without any: again with what
 * overflowed kept. */
#define AUDITS_MAX 4

enum ulp_status ulp_search_audit(struct ulp_search *search, struct ulp_error *error)
{
    const double started = ulp_seconds_now();
    enum ulp_status status = ULP_OK;
    for (int round = 0; round < AUDITS_MAX && status == ULP_OK; round++) {
        struct ulp_audit audit = {0};
        bool again = false;
        status = keep_required(search, error);
        if (status == ULP_OK)
            status = ulp_emulation_audit(&search->emulation, NULL, &audit, error);
        if (status == ULP_OK) {
            set_powers(search, &audit.lanes[0]);
            again = ulp_audit_mark_kept(&audit.lanes[0], search->free, search->required) > 0 &&
                    !audit.lanes[0].attribution.given;
            if (round == 0)
                search->audit_seconds = ulp_seconds_now() - started;
        }
        ulp_audit_free(&audit);
        if (!again)
            break;
    }
    return status;
}
