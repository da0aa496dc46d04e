/* The parts of attention: products over heads, and the softmax between them. */
#pragma once

#include "ops/attention/attention.h"

/* out[b, h, i, j] = sum over c of a(b, h, i, c) * b(b, h / repeat, j, c); the steps say where. */
struct ulp_attention_product {
    const struct ulp_tensor *a, *b;
    struct ulp_heads a_heads, b_heads;
    int64_t b_line_step, b_k_step, n;
    int64_t first, k; /* c from `first` on */
    struct ulp_tensor *out;
    struct ulp_heads out_heads;
    bool store, onto; /* as of struct ulp_contraction */
};
enum ulp_status ulp_attention_multiply(struct ulp_call *call,
                                       const struct ulp_attention_product *p);

/* cached.c: keys (0) or values (1), *t with the heads *h, as the arithmetic's cache holds them,
 * scaled back; in an arithmetic whose caches have no format they stay. */
enum ulp_status ulp_attention_cached(struct ulp_call *call, int which, struct ulp_tensor *t,
                                     struct ulp_heads *h);

/* Between the products, ONNX Runtime's CPU provider: what com.microsoft's reads in FP16 it computes
 * in FP32, while ai.onnx's stores scores and probabilities. */
bool ulp_attention_is_wide(const struct ulp_call *call);
/* Of scores as sums of products: rows are queries, positions keys. wanted: "p", probabilities,
 * zeros where a query sees no key; "e", not yet divided by their sums (one a row, as sums are
 * held); "masked", scores with scale, cap and masks. */
enum ulp_status ulp_attention_scores(struct ulp_call *call, const struct ulp_attention *a,
                                     int64_t total, const struct ulp_tensor *acc,
                                     const struct ulp_tensor *allowed, const char *wanted,
                                     struct ulp_tensor *out, struct ulp_tensor *sums);
