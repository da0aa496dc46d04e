/* The quick reference: FP64, and 128 bits where that is not enough. */
#include "analysis/quick/quick.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/session/session.h"
#include "base/error.h"

/* After so many turns all nodes are widened. */
#define QUICK_TURNS 4

/* The reference's nodes in `wide` at 128 bits. */
static enum ulp_status widen_reference(struct ulp_plan *plan, const bool *wide, size_t *count,
                                       struct ulp_error *error)
{
    size_t *nodes = calloc(plan->node_count + 1, sizeof *nodes);
    struct ulp_keep keep = {.nodes = nodes};
    const struct ulp_keeps keeps = {.count = 1, .items = &keep, .name = "128 bits"}, none = {0};
    if (!nodes)
        return ulp_out_of_memory(error);
    for (size_t n = 0; n < plan->node_count; n++)
        if (wide[n])
            nodes[keep.node_count++] = n;
    *count = keep.node_count;
    enum ulp_status status = ulp_arithmetic_find("mpfr:128", &keep.arithmetic, error);
    if (status == ULP_OK)
        status = ulp_plan_keep(plan, 0, *count ? &keeps : &none, error);
    free(nodes);
    return status;
}

struct turns {
    bool *wide; /* by node */
    bool more;
    size_t doubtful; /* in the turn before */
};

static enum ulp_status take_turn(const struct ulp_session *session, size_t index,
                                 const struct ulp_tensor_set *inputs, struct ulp_plan *plan,
                                 bool last, ulp_session_make *make, struct turns *turns,
                                 struct ulp_audit *out, struct ulp_error *error)
{
    struct ulp_quick *quick = NULL;
    size_t recomputed;
    for (size_t n = 0; n < plan->node_count && last; n++)
        turns->wide[n] = true;
    enum ulp_status status = widen_reference(plan, turns->wide, &recomputed, error);
    if (status == ULP_OK && !last)
        status = ulp_quick_create(plan, session->options->thread_count, &quick, error);
    if (status == ULP_OK)
        status = make(session, index, inputs, plan, quick, out, error);
    if (status == ULP_OK && last)
        out->quick =
            (struct ulp_quick_check){.given = true, .worst_node = -1, .doubtful = turns->doubtful};
    out->quick.recomputed = recomputed;
    turns->doubtful = out->quick.doubtful;
    turns->more = status == ULP_OK && turns->doubtful && !last;
    for (size_t n = 0; n < plan->node_count && turns->more; n++)
        turns->wide[n] |= ulp_quick_is_doubtful(quick, n);
    ulp_quick_free(quick);
    if (turns->more)
        ulp_audit_free(out);
    return status;
}

/* Every sample begins in FP64, so that none depends on those before it. */
enum ulp_status ulp_session_quick(const struct ulp_session *session, size_t index,
                                  const struct ulp_tensor_set *inputs, struct ulp_plan *plan,
                                  ulp_session_make *make, struct ulp_audit *out,
                                  struct ulp_error *error)
{
    static const struct ulp_keeps none;
    struct turns turns = {.wide = calloc(plan->node_count + 1, sizeof *turns.wide), .more = true};
    enum ulp_status status = turns.wide ? ULP_OK : ulp_out_of_memory(error);
    for (int turn = 0; turn <= QUICK_TURNS && status == ULP_OK && turns.more; turn++)
        status =
            take_turn(session, index, inputs, plan, turn == QUICK_TURNS, make, &turns, out, error);
    if (status == ULP_OK)
        status = ulp_plan_keep(plan, 0, &none, error);
    free(turns.wide);
    return status;
}
