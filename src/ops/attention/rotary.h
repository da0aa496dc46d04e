/* Rotary position embeddings. */
#pragma once

#include "ops/attention/heads.h"

/* What rows with ulp_rotate list. */
extern const struct ulp_formula ulp_rotate_pairs;

/* Pairs of the first `turned` features turned by the angle of their position: row ids[batch,
 * position] of the caches; ids NULL: row batch * length + position. Pairs are neighbours
 * (interleaved) or `turned` / 2 apart. */
struct ulp_rotation {
    const struct ulp_tensor *cosines, *sines;
    const struct ulp_tensor *ids; /* integers, batch x length */
    bool counted;                 /* ids NULL: rows follow each other in each batch, */
    int64_t first;                /* from this one on, */
    const int64_t *starts;        /* and so many behind; NULL: 0 */
    int64_t turned;
    bool interleaved;
};
enum ulp_status ulp_rotate(struct ulp_call *call, const struct ulp_rotation *rotation,
                           struct ulp_tensor *out, const struct ulp_heads *out_heads,
                           const struct ulp_tensor *in, const struct ulp_heads *in_heads);
/* The same into a temporary without gaps, which *in and *heads become. */
enum ulp_status ulp_rotate_heads(struct ulp_call *call, const struct ulp_rotation *rotation,
                                 const struct ulp_tensor **in, struct ulp_heads *heads);
