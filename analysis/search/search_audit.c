/* What an audit says of each node: what must have a wider range, and how much error it adds to the
 * outputs; and the layers. */
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

/* One audit with the nodes that `which` marks, or all, kept in an arithmetic. *again: there may be
 * another; there must be, as more is to be kept for its range, and shares are of lanes without any
 * overflow. */
static enum ulp_status audit_once(struct ulp_searcher *search, const bool *which,
                                  const struct ulp_arithmetic *keep_in,
                                  const struct ulp_arithmetic *probe, bool *again,
                                  struct ulp_error *error)
{
    const struct ulp_program *program = search->emulation.program;
    ULP_SCOPED(ulp_audit_free) struct ulp_audit audit = {0};
    struct ulp_keep keep = {.arithmetic = *keep_in};
    ULP_TAKE_ARRAY(size_t, nodes, search->emulation.memory, program->node_count + 1, error);
    for (size_t n = 0; n < program->node_count; n++)
        if (which ? which[n] || search->fixed[n] == 0
                  : !program->nodes[n].step->folded && !program->nodes[n].step->constant)
            nodes[keep.node_count++] = n;
    keep.nodes = nodes;
    const struct ulp_keeps keeps = {.count = keep.node_count > 0, .items = &keep};
    ULP_TRY(ulp_emulation_keep(&search->emulation, &keeps, error));
    ULP_TRY(ulp_emulation_audit(&search->emulation, &audit, error));
    const struct ulp_audit_lane *lane = &audit.lanes[0];
    set_powers(search, lane, probe);
    *again = which && ulp_audit_mark_kept(lane, search->nodes.free, search->nodes.required) > 0 &&
             !lane->attribution.given && *again;
    if (!*again)
        ULP_TRY(ulp_search_layers(search, &audit, probe, error));
    return ULP_OK;
}

/* Shares are measured where errors are well above those of FP32, and no range is left. */
static const char probe_name[] = "e8m10,result-only,compute=fp32,acc=fp32";
/* An overflow hides those behind it. */
#define AUDITS_MAX 4

/* Of a plan in its narrower arithmetic, with what must be wider for its range kept so. */
enum ulp_status ulp_search_audit(struct ulp_searcher *search, struct ulp_error *error)
{
    const double started = ulp_seconds_now();
    const bool by_node = search->options->by_node;
    struct ulp_arithmetic probe = search->choices[search->narrow].arithmetic;
    bool again = true;
    ULP_TRY(take_memory(search, error));
    if (!by_node)
        ULP_TRY(ulp_arithmetic_find(probe_name, &probe, error));
    for (int round = 0; round < AUDITS_MAX && again; round++) {
        again = round + 1 < AUDITS_MAX;
        ULP_TRY(audit_once(search, by_node ? search->nodes.required : NULL,
                           by_node ? &search->choices[0].arithmetic : &probe, &probe, &again,
                           error));
        if (round == 0)
            search->audit_seconds = ulp_seconds_now() - started;
    }
    return ULP_OK;
}
