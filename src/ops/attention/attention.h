/* Attention, for the operators that only prepare its parts: two contractions around a softmax. As
 * in a fused kernel, scores are not rounded to storage; probabilities are, as factors of the second
 * product. Where rows are added as a GPU does (reduce=warp), the factors are exp(score - top), and
 * the second product is divided by their sum before it is rounded to storage: FlashAttention. */
#pragma once

#include "ops/attention/heads.h"

struct ulp_attention {
    const struct ulp_tensor *query, *key, *value;
    struct ulp_heads q, k, v;
    /* heads first, positions in front of key's; NULL: none */
    const struct ulp_tensor *past_key, *past_value;
    int64_t past; /* their number */
    /* broadcasts to the scores; BOOL: which keys are seen; floats: added. NULL: none */
    const struct ulp_tensor *mask;
    /* BOOL, of rank 4, which broadcasts to the scores: which keys are seen, too. NULL: all */
    const struct ulp_tensor *seen;
    /* A formula's text that makes "capped" of the scaled scores, "raw", and of m0, m1, ...: the
     * operands, each of rank 4, which broadcast to the scores. NULL or empty: softcap does */
    const char *between;
    const struct ulp_tensor *operands;
    size_t operand_count;
    /* INT32 that broadcasts to the scores: `filter` is added where it is not 0 */
    const struct ulp_tensor *hidden;
    float filter;
    /* scores are stored before they are scaled, and probabilities, as by a kernel for any mask */
    bool stored;
    bool causal;
    bool coded;             /* key and value are numbers that a cache's codes stand for */
    int64_t left, right;    /* a key's farthest place before and after the query's; -1: any */
    const int64_t *lengths; /* of the keys of each batch; NULL: all */
    /* the place of each batch's first query among the keys; NULL: behind the past */
    const int64_t *starts;
    double scale;  /* NaN: 1 / sqrt(features) */
    float softcap; /* 0: none */
    /* a further score for each head (of rank 4: that broadcasts to the queries), of no key; NULL:
     * none, or 0 if `smooth` */
    const struct ulp_tensor *sink;
    bool smooth;
    struct ulp_tensor *out; /* NULL: not wanted, as are the following */
    struct ulp_heads y;
    struct ulp_tensor *present_key, *present_value; /* past and new positions, heads first */
    /* the scores, as `show` says: raw, capped, masked, seen (0 where no query sees a key) or p */
    struct ulp_tensor *shown;
    const char *show;
};

/* What rows with ulp_attend list. */
extern const struct ulp_formula ulp_attend_average;

/* Do query, key, value and past fit each other? */
enum ulp_status ulp_attention_check(const struct ulp_attention *a, struct ulp_error *error);
enum ulp_status ulp_attend(struct ulp_call *call, const struct ulp_attention *a);
