/* Values that leave a format are stored times a power of two, which is carried through the graph to
 * where something takes it in: constant factors, sums' constants, a normalisation, a logarithm. In
 * exact arithmetic, and but for its ends in binary, nothing changes, and no size is asked.
 *
 * Value v is stored as v * 2^-of[v]. A node computes with its inputs times 2^-in and gives its
 * result times 2^-out; where these are not `of` a multiplication is put in. Which values are
 * changed for one that does not fit is a least cut: an arc costs a multiplication, a value or a
 * constant that would not fit as many as there is no graph for. */
#pragma once

#include "analysis/lint/proposal.h"

enum ulp_power_kind {
    ULP_POWER_FIXED,
    ULP_POWER_SAME,
    ULP_POWER_PRODUCT,
    ULP_POWER_QUOTIENT,
    ULP_POWER_POWER,
    ULP_POWER_COMPARE,
    ULP_POWER_FREE,
    ULP_POWER_LOG,
    ULP_POWER_NORM,
    ULP_POWER_BATCHNORM,
};

struct ulp_power_node {
    enum ulp_power_kind kind;
    unsigned inputs; /* a bit for each that has the value's factor */
    double power;    /* of POWER */
    int constant;    /* which factor of a PRODUCT or QUOTIENT is one; -1: none */
    bool tied;       /* in and out are its own; else they are what its values have */
    bool read;       /* outputs follow from it */
    bool born;       /* in the format it goes wrong although what it reads is right */
    int in[2], out;
};
/* Of a value's finite elements in all samples, by the reference. */
struct ulp_power_range {
    double most, least; /* least: of those that are not 0; infinity: there is none */
    double squares;
    size_t count;   /* of those that are not 0 */
    bool sensitive; /* a divisor, or under a root or a logarithm: small elements count */
};
struct ulp_powers {
    struct ulp_lint_proposals *p;
    const struct ulp_lint_graph *view;
    const struct ulp_graph *graph;
    const struct ulp_format *format;
    struct ulp_power_range *ranges; /* by value */
    struct ulp_power_node *nodes;
    int *of;
    bool *bound; /* by value: it stays as it is */
    bool failed; /* out of memory */
};

/* powers_rows.c: what every node is. */
void ulp_powers_classify(struct ulp_powers *powers);
/* Has the node's input i the value's factor? */
static inline bool ulp_power_scales(const struct ulp_power_node *node, size_t i)
{
    return i < 31 ? node->inputs >> i & 1 : node->inputs == ~0u;
}
static inline bool ulp_power_computed(const struct ulp_powers *powers, int value)
{
    return value >= 0 && !ulp_lint_constant(powers->view, value) &&
           ulp_type_is_float(ulp_lint_type(powers->view, value));
}
/* Does the value fit the format times 2^-e; do a constant's elements? */
bool ulp_power_fits(const struct ulp_powers *powers, int value, int e);
bool ulp_power_constant_fits(const struct ulp_powers *powers, int value, int e);
/* Can its result be multiplied behind it? */
bool ulp_power_may_follow(const struct ulp_node *node);

/* powers_cut.c: give a value, or what node `root` computes (value -1), another k at least, and what
 * that takes. False: it costs more than it mends. */
bool ulp_powers_carry(struct ulp_powers *powers, int value, int root, int k);
/* A least cut between vertices 0 and 1: `reached` is its first side. Its cost; -1: no memory. */
struct ulp_power_arc {
    int from, to;
    double cost;
};
double ulp_power_cut(struct ulp_arena *memory, struct ulp_power_arc *arcs, size_t count,
                     size_t vertex_count, bool *reached);

/* powers_edit.c: all of it as one proposal; nothing where nothing is changed. */
void ulp_powers_propose(struct ulp_powers *powers, struct ulp_lint_place place);
