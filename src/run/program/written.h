/* Attention that a graph writes out: what lies between its two products. */
#pragma once

#include "ops/attention/heads.h"
#include "run/idiom/idiom.h"

enum { ULP_WRITTEN_OPERANDS = 8, ULP_WRITTEN_STEPS = 64 };

struct ulp_written {
    int steps[ULP_WRITTEN_STEPS]; /* positions in block->steps; the second product's is the first */
    size_t step_count;
    int slots[3 + ULP_WRITTEN_OPERANDS]; /* q, k, v, operands */
    struct ulp_heads layout[4];          /* of q, k, v and the result; k's positions are keys */
    size_t operand_count;
    /* of each operand: 'a' is added to the scores, keys are seen where 's' and hidden where 'h'
     * holds, 'z' is a further score of no key, 'm' stands in `between`, under m0, m1, ... */
    char roles[ULP_WRITTEN_OPERANDS + 1];
    int64_t dims[ULP_WRITTEN_OPERANDS][4]; /* as which it broadcasts to batch, head, query, key */
    double scale;
    char between[640]; /* a formula's text: "capped" of "raw"; empty: they are the same */
};

/* Is the step a product of what a Softmax gives and of computed values? *why: it cannot be computed
 * as one kernel, and why not; NULL: *out is all of it. softmaxes: by step, that which it
 * ends; NULL: none. */
bool ulp_written_find(const struct ulp_block *block, int step,
                      const struct ulp_idiom *const *softmaxes, struct ulp_written *out,
                      const char **why);

/* ---- between written_find.c and written_place.c ---- */

enum { ULP_WRITTEN_CHAIN = 24 };

struct ulp_score_form;
/* A node between the products. */
struct ulp_written_link {
    int step, input;                   /* the scores are that input */
    const struct ulp_score_form *form; /* NULL: they are handed on as they are */
};

struct ulp_written_search {
    const struct ulp_block *block;
    const struct ulp_idiom *const *softmaxes;
    bool adds; /* an Add is in the chain */
    struct ulp_written *out;
    struct ulp_written_link chain[ULP_WRITTEN_CHAIN]; /* the last node first */
    size_t length;
    int first, tries; /* the first product */
    int64_t batch, heads, queries, keys;
};

static inline const struct ulp_tensor *ulp_written_shape(const struct ulp_written_search *f,
                                                         int slot)
{
    return &f->block->slots[slot].shape;
}

/* Set the layouts of out, of the products found; NULL, or why they are no heads' products. */
const char *ulp_written_place(struct ulp_written_search *search);
/* An operand's dimensions beside scores of that shape; false: it does not broadcast to them. */
bool ulp_written_place_operand(const struct ulp_written_search *search,
                               const struct ulp_tensor *operand, const struct ulp_tensor *full,
                               int64_t dims[4]);
