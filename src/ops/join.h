/* Formulas of nodes that follow one another, run as one, so that what lies between them is in no
 * memory: a contraction or a formula first, then formulas that go by the element, over tensors of
 * one shape. All but the last wait: their tapes and operands are kept here, and their results are
 * tensors without memory, or with a contraction's sums. The last call runs them all, in place
 * of the sums. Where storage holds all that is computed in (ulp_join_serves) the bits are those of
 * the nodes one by one. */
#pragma once

#include "ops/operator.h"

#define ULP_JOIN_MEMBERS_MAX 16
#define ULP_JOIN_OPERANDS_MAX 40

struct ulp_join {
    bool waits; /* the call that is run now, and not the last */
    size_t count, operand_count;
    const struct ulp_tape *tapes[ULP_JOIN_MEMBERS_MAX];
    /* where the result of each is said to lie, by which later operands know it */
    const void *marks[ULP_JOIN_MEMBERS_MAX];
    struct ulp_operand operands[ULP_JOIN_OPERANDS_MAX]; /* of the joined tape */
    struct ulp_tensor tensors[ULP_JOIN_OPERANDS_MAX];   /* theirs */
    int source[ULP_JOIN_OPERANDS_MAX];                  /* as in ulp_tape_join */
    size_t source_count;
    struct ulp_tensor sums; /* of a contraction; without data: there is none */
    /* what the last call ran over the operands, which leaves them as they were laid out; NULL:
     * nothing, or what another run of equal shapes may not do likewise */
    const struct ulp_tape *tape;
    struct ulp_rows rows;
    struct ulp_operand output; /* its tensor is the call's */
};

/* Do all results that wait keep the bits that they would have in memory? */
bool ulp_join_serves(const struct ulp_arithmetic *arithmetic);
/* May the node begin, and may it follow in, a join? Its outputs are floats. */
bool ulp_join_begins(const struct ulp_bound *bound);
bool ulp_join_follows(const struct ulp_bound *bound);
/* Is it a formula over rows, which begins no join but may be run by itself as one does? */
bool ulp_join_lays_rows(const struct ulp_bound *bound);
/* How many operands its formula has. */
size_t ulp_join_operand_count(const struct ulp_bound *bound);

/* The memory of a follower's output: of the sums, or none where it waits. False: it needs its own.
 */
bool ulp_join_place(struct ulp_join *join, struct ulp_tensor *out);
/* Keep the call's formula; operands are laid out to broadcast to the call's output. */
enum ulp_status ulp_join_add(struct ulp_join *join, const struct ulp_tape *tape,
                             const struct ulp_operand *operands, const struct ulp_tensor *out,
                             struct ulp_error *error);
/* For run_formula: the operands of a formula over rows become the join's. And what is run now. */
void ulp_join_alone(struct ulp_join *join, const struct ulp_tape *tape, const struct ulp_rows *rows,
                    const struct ulp_operand *operands, const struct ulp_operand *outputs);
void ulp_join_note(struct ulp_join *join, const struct ulp_tape *tape, const struct ulp_rows *rows,
                   const struct ulp_operand *output);
/* The result of a contraction that waits becomes the join's. */
void ulp_join_take(struct ulp_join *join, struct ulp_tensor *sums);
/* The end of one; it may begin again. */
void ulp_join_clear(struct ulp_join *join);
