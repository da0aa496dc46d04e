/* Which unit and schedule gave these bits? Of a product of two matrices that a GPU computed,
 * operands and result are given; every way to compute it that an arithmetic's name can say is
 * tried: format that the operands are rounded to and how, matrix unit or scalar chain, accumulator,
 * promotion, slices of k, order, rounding of the result. What remains is the set that gives every
 * bit; where that is not one, a probe (other operands of the same shape) tells its members apart.
 *
 * A probe also holds masked sums, after FPRev (Xie et al., arXiv 2411.00442): two of the products
 * are M and -M, all others so small that they are lost when they are added to M. How many are left
 * in the result says which were added between the two, so the order of the sum is read without any
 * candidates. All functions are thread-safe; results do not depend on the number of threads. */
#ifndef ULPSCOPE_FIT_H
#define ULPSCOPE_FIT_H

#include <ulpscope/tensor.h>

struct ulp_arena;

/* c = a b. a [m, k], b [k, n], c [m, n]; transposed_a: a is [k, m]; transposed_b: b is [n, k].
 * Floats; or unsigned integers of 8 or 16 bits, which are patterns of formats of that width. */
struct ulp_fit_product {
    const struct ulp_tensor *a, *b, *c;
    bool transposed_a, transposed_b;
};

/* Zeros: everything is tried. */
struct ulp_fit_options {
    size_t size;     /* ULP_OPTIONS */
    const char *gpu; /* "a100": only its units */
    /* the format of a and b ("fp16", "tf32", "fp8-e4m3"), and of c ("fp16", "bf16", "fp32"); NULL:
     * all that their elements can have */
    const char *operands, *result;
    int thread_count; /* 0: all processors */
    /* of probes: the shape of their product; 0: that of the product it is made for */
    size_t probe_m, probe_n, probe_k;
};

/* One way to compute the products. */
struct ulp_fit_candidate {
    char name[256]; /* of the arithmetic, as after --arith */
    char gpus[96];  /* whose units are the same by definition: "h100, h200, b200"; "": a chain */
    /* parts with which it is the same for these lengths of k, by definition: products of another
     * length tell them apart. "promote=64" for split-k=16 of k = 1024 */
    char also[128];
    char operands[24], result[24]; /* the formats that a and b, and c, were taken for */
    bool consistent;               /* every element has its bits */
    size_t equal;                  /* elements that have */
    /* the first element that differs, of which product, and its two values; 0 of a consistent one
     */
    size_t product, index;
    double recorded, computed;
    double
        max_ulps; /* the largest difference, in ulps of the result's format; infinite: NaN or not */
    /* the smallest block of that product which holds every difference */
    size_t first_row, last_row, first_column, last_column;
};

struct ulp_fit {
    size_t product_count, elements;
    size_t tried;      /* candidates */
    size_t consistent; /* how many give every bit: the first of those below, simplest names first */
    size_t count;      /* with the nearest of the others, nearest first */
    struct ulp_fit_candidate *candidates; /* [count count] */
    /* what the masked sums say of a product of a probe's operands, in sentences; NULL: there is
     * none */
    char *order;
    /* no candidate is consistent, but two, each in a part of the elements, give them all: which;
     * NULL: no two */
    char *parts;
    double seconds;
    struct ulp_arena *memory; /* private: holds the rest */
};

/* Find them. All products must come from one way to compute. Other ranks, shapes or types:
 * ULP_ERROR_USAGE. Free *out with ulp_fit_free. */
ULP_API enum ulp_status ulp_fit_run(const struct ulp_fit_product *products, size_t count,
                                    const struct ulp_fit_options *options, struct ulp_fit *out,
                                    struct ulp_error *error);
ULP_API void ulp_fit_free(struct ulp_fit *fit);

/* Operands on which the consistent candidates differ. */
struct ulp_fit_probe {
    struct ulp_tensor a, b; /* types, shapes and transpositions of the product it is made for */
    /* of each consistent candidate the number of its class, from 0: those of one class give the
     * same bits on the probe, too */
    size_t count, class_count;
    size_t *classes;
    struct ulp_arena *memory; /* private */
};
/* Make a probe of the product's shape (libraries choose by shape) and compute it in every
 * consistent candidate. Its types are the product's, whose elements say of which format its numbers
 * must be. Free *out with ulp_fit_probe_free. */
ULP_API enum ulp_status ulp_fit_probe_make(const struct ulp_fit *fit,
                                           const struct ulp_fit_product *product,
                                           const struct ulp_fit_options *options,
                                           struct ulp_fit_probe *out, struct ulp_error *error);
ULP_API void ulp_fit_probe_free(struct ulp_fit_probe *probe);

/* As text: the answer in a sentence, then the candidates, `limit` at most (0: all). probe: NULL, or
 * the one that was written to probe_path. Free *out with free(). */
ULP_API enum ulp_status ulp_fit_text(const struct ulp_fit *fit, const struct ulp_fit_probe *probe,
                                     const char *probe_path, size_t limit, char **out,
                                     struct ulp_error *error);
/* As JSON (schema: doc/fit.md). */
ULP_API enum ulp_status ulp_fit_write_json(const struct ulp_fit *fit,
                                           const struct ulp_fit_probe *probe, const char *path,
                                           struct ulp_error *error);

#endif
