/* Lanes shared by ranks: --lanes-over-ranks. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/command/audit.h"
#include "cli/ranks.h"

enum ulp_status share_lanes(const struct lane_list *lanes, struct lane_list *out,
                            struct ulp_error *error)
{
    const size_t ranks = ranks_count(),
                 shares = ulp_part_owner_count(lanes->arithmetics, lanes->count);
    size_t *own = calloc(lanes->count, sizeof *own), count = 1; /* the reference is every one's */
    if (!own)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    for (size_t l = 1; l < lanes->count; l++)
        if (ulp_part_owner(lanes->arithmetics, lanes->count, l, ranks) == ranks_self())
            own[count++] = l;
    const enum ulp_status status =
        ranks <= shares ? pick_lanes(lanes, own, count, out, error)
                        : ulp_fail(error, ULP_ERROR_USAGE,
                                   "--lanes-over-ranks: the arithmetics are for %zu %s at most, "
                                   "and mpirun started %zu",
                                   shares, shares == 1 ? "rank" : "ranks", ranks);
    free(own);
    return status;
}
