/* Lanes shared by ranks: --lanes-over-ranks. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/command/audit.h"
#include "cli/ranks.h"

/* Rank 0 says it, and ends the others, which wait for that. */
static enum ulp_status refuse_ranks(size_t ranks, size_t shares, struct ulp_error *error)
{
    bool ended = true;
    if (ranks_self() > 0)
        ranks_agree(&ended);
    return ulp_fail(
        error, ULP_ERROR_USAGE,
        "--lanes-over-ranks: the arithmetics are for %zu %s at most, and mpirun started "
        "%zu",
        shares, shares == 1 ? "rank" : "ranks", ranks);
}

enum ulp_status share_lanes(const struct lane_list *lanes, struct lane_list *out,
                            struct ulp_error *error)
{
    const size_t ranks = ranks_count(),
                 shares = ulp_part_owner_count(lanes->arithmetics, lanes->count);
    if (ranks > shares)
        return refuse_ranks(ranks, shares, error);
    size_t *own = calloc(lanes->count, sizeof *own), count = 1; /* the reference is every one's */
    if (!own)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    for (size_t l = 1; l < lanes->count; l++)
        if (ulp_part_owner(lanes->arithmetics, lanes->count, l, ranks) == ranks_self())
            own[count++] = l;
    const enum ulp_status status = pick_lanes(lanes, own, count, out, error);
    free(own);
    return status;
}
