/* The walk through proofs: random graphs are proven in the ranges and the arithmetic that they have
 * (ulpscope/prove.h), and run there, at ends, inside and climbing; every output of every node is
 * held against what is said of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#define WALK_ROWS_MAX 1024
#define WALK_FAILURES_MAX 24

struct proof_walk {
    size_t graphs, refused_plans, refused_proofs, runs, refused_runs, tensors, values, outputs,
        proven, violations;
    double attained; /* the largest share of a finite bound that was met */
    size_t drawn[WALK_ROWS_MAX], reached[WALK_ROWS_MAX]; /* by row: graphs; proven there and run */
    uint64_t seed;                                       /* of the graph at hand */
    char stage[300], failures[WALK_FAILURES_MAX][700];   /* of the violations the first ones */
};

/* Shared memory for it. */
struct proof_walk *proof_walk_create(void);
/* Graphs of the seeds from `first` on: `count` of them, or until so many tensors were compared,
 * in processes of their own: what ends one is a violation, and the walk goes on behind it. Each
 * violation is printed where `loud`. */
void proof_walk_run(struct proof_walk *walk, uint64_t first, uint64_t count, size_t tensors,
                    bool loud);
/* The counts, a few lines to stdout. */
void proof_walk_print(const struct proof_walk *walk);
/* Rows of the table that no graph had, or none that is proven, into out (at most `size` bytes); how
 * many there are beside those that proof_walk.c excepts. */
size_t proof_walk_missing(const struct proof_walk *walk, char *out, size_t size);
