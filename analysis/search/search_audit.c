/* What is known before a search: of a plan what an audit says of each node, which must have a wider
 * range, and how much error it adds to the outputs; else the reference's outputs alone, as every
 * product is run by itself later; and the layers. */
#include <math.h>

#include "analysis/audit/audit_keep.h"
#include "analysis/search/searcher.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "number/function/math.h"

static void set_powers(struct ulp_searcher *search, const struct ulp_audit_lane *lane,
                       const struct ulp_arithmetic *probe)
{
    struct ulp_search_nodes *nodes = &search->nodes;
    const bool given = lane->attribution.given;
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_audit_node *node = &lane->nodes[n];
        const double whole = ulp_search_introduced(node),
                     rounding = ulp_math_min(ulp_search_rounding(probe), whole),
                     condition = given && isfinite(node->condition) ? node->condition : !given;
        nodes->passes[n] = whole == 0;
        nodes->own[n] = condition * condition * (whole - rounding);
        nodes->stored[n] = condition * condition * rounding;
    }
}

static enum ulp_status take_memory(struct ulp_searcher *search, struct ulp_error *error)
{
    struct ulp_search_nodes *nodes = &search->nodes;
    struct ulp_arena *memory = search->emulation.memory;
    const size_t count = search->emulation.program->node_count + 1;
    ULP_TAKE(nodes->required, memory, count, error);
    ULP_TAKE(nodes->passes, memory, count, error);
    ULP_TAKE(nodes->own, memory, count, error);
    ULP_TAKE(nodes->stored, memory, count, error);
    return ULP_OK;
}

/* An overflow hides those behind it. */
#define AUDITS_MAX 4

/* One audit with what must be wider for its range kept so. *again: there may be another; there must
 * be, as more is to be kept, and shares are of lanes without any overflow. */
static enum ulp_status audit_once(struct ulp_searcher *search, bool *again, struct ulp_error *error)
{
    const struct ulp_program *program = search->emulation.program;
    const struct ulp_arithmetic *narrow = &search->choices[search->narrow].arithmetic;
    ULP_SCOPED(ulp_audit_free) struct ulp_audit audit = {0};
    struct ulp_keep keep = {.arithmetic = search->choices[0].arithmetic};
    ULP_TAKE_ARRAY(size_t, nodes, search->emulation.memory, program->node_count + 1, error);
    for (size_t n = 0; n < program->node_count; n++)
        if (search->nodes.required[n] || search->fixed[n] == 0)
            nodes[keep.node_count++] = n;
    keep.nodes = nodes;
    const struct ulp_keeps keeps = {.count = keep.node_count > 0, .items = &keep};
    ULP_TRY(ulp_emulation_keep(&search->emulation, &keeps, error));
    ULP_TRY(ulp_emulation_audit(&search->emulation, &audit, error));
    const struct ulp_audit_lane *lane = &audit.lanes[0];
    set_powers(search, lane, narrow);
    *again = ulp_audit_mark_kept(lane, search->nodes.free, search->nodes.required) > 0 &&
             !lane->attribution.given && *again;
    if (!*again)
        ULP_TRY(ulp_search_layers(search, lane, error));
    return ULP_OK;
}

enum ulp_status ulp_search_audit(struct ulp_searcher *search, struct ulp_error *error)
{
    const double started = ulp_seconds_now();
    bool again = search->options->by_node;
    ULP_TRY(take_memory(search, error));
    if (!again) {
        ULP_TRY(ulp_emulation_truths(&search->emulation, error));
        ULP_TRY(ulp_search_layers(search, NULL, error));
        search->audit_seconds = ulp_seconds_now() - started;
    }
    for (int round = 0; round < AUDITS_MAX && again; round++) {
        again = round + 1 < AUDITS_MAX;
        ULP_TRY(audit_once(search, &again, error));
        if (round == 0)
            search->audit_seconds = ulp_seconds_now() - started;
    }
    return ULP_OK;
}
