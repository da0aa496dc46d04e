/* What a text's given tokens lose between two arithmetics: trainer and rollout, one GPU and
 * another, eager and compiled, a head in BF16 and in FP32.
 *
 * The model's output holds for each position a row of scores for the tokens of a vocabulary (or
 * their probabilities, or logarithms of these), or already the log-probability of each given token.
 * With l the log-probability of a position's given token, d = l of the second arithmetic less l of
 * the first, in nats. Both are computed beside the reference. A node's share is what the errors
 * that it introduces make of the sum of squares of d: those in the second arithmetic less those in
 * the first, by one sweep back through each lane with the same cotangents, so that shares of all
 * nodes add up to 1 where errors are small enough for derivatives. */
#ifndef ULPSCOPE_BETWEEN_H
#define ULPSCOPE_BETWEEN_H

#include <ulpscope/run.h>
#include <ulpscope/written.h>

/* A node's part of the difference. */
struct ulp_between_node {
    size_t index;
    char *name, *op;
    double share;         /* second less first */
    double first, second; /* of the errors it introduces in either arithmetic */
    bool own; /* it gives other results on equal inputs; else it reads what differs already */
};

/* One change of the second arithmetic that was run, and what was left of the difference. */
struct ulp_between_change {
    char *what;    /* "acc=fp16 as in the first", "the 12 MatMul as in the first" */
    double nats;   /* mean of |d| with it */
    double closes; /* 1 - nats / those without it */
};

/* The given tokens of one length of context: from 2^n to 2^(n + 1) - 1 tokens before and at their
 * position, the past's too. */
struct ulp_between_context {
    size_t tokens;
    double length;    /* geometric mean of the lengths */
    double nats, rms; /* of d */
};
enum { ULP_BETWEEN_CONTEXTS = 32 };

/* Keys or values of a node, as the first arithmetic has them in the first sample. */
struct ulp_between_cache {
    size_t node;
    char *name, *what; /* "keys", "values" */
    /* the channel whose largest magnitude is most above the median channel's of its head */
    size_t head, channel;
    double largest, ratio;
};

/* A head of a node's keys and values, with all queries that read it. */
struct ulp_between_head {
    size_t node;
    char *name;
    size_t head;
    double share; /* of the difference; the heads' sum is the node's */
};

struct ulp_between {
    char *model_path, *arguments, *reference, *first, *second;
    char *output; /* that holds the rows */
    char *tokens; /* where the given tokens come from */
    size_t sample_count, token_count;
    size_t nonfinite; /* of these tokens: d is not finite, which leaves figures NaN */
    bool drawn;       /* inputs of a sample are random, not given */
    /* of d, over all given tokens: means of |d| and d, root of the mean square, the largest |d| and
     * the position of that, counted over all samples */
    double nats, mean, rms, most;
    size_t most_at;
    double kl;    /* mean of the divergence of the first's distribution to the second's, in nats */
    double flips; /* positions whose first choice is another */
    double first_loss, second_loss;   /* mean of -l */
    double first_error, second_error; /* mean of |l less the reference's| */
    double inputs;                    /* share of rounding the model's inputs */
    double explained;                 /* sum of all shares; NaN: there are none */
    char *no_shares;                  /* why; NULL: there are shares */
    size_t own_count;                 /* nodes that give other results on equal inputs */
    double own_share;                 /* sum of their shares; NaN: there are none */
    size_t node_count;                /* of those with a share, largest first */
    struct ulp_between_node *nodes;
    size_t change_count; /* that were tried, the one that closes most first */
    struct ulp_between_change *changes;
    size_t context_count;
    struct ulp_between_context contexts[ULP_BETWEEN_CONTEXTS];
    /* log2 of the rms of d grows by so much with log2 of the length, give or take a standard error;
     * NaN: there are fewer than three lengths of eight tokens */
    double law, law_error;
    size_t cache_count; /* where an arithmetic has formats of caches */
    struct ulp_between_cache *caches;
    size_t head_count; /* where there are such formats and shares, largest first */
    struct ulp_between_head *heads;
    double seconds;
    struct ulp_arena *memory; /* private: holds the rest */
};

/* Initialise with zeros; reference, first and second must be set. */
struct ulp_between_options {
    size_t size; /* ULP_OPTIONS */
    struct ulp_arithmetic reference, first, second;
    const struct ulp_keeps *keeps; /* of the second; NULL: no nodes in others */
    const char *output;            /* NULL: the one float output that can be it */
    /* integers, one for each position of each sample in turn; negative: that position does not
     * count. NULL: each position's is the next one of the integer input that has the positions,
     * and the last position has none */
    const struct ulp_tensor *tokens;
    const char *tokens_name; /* as results call them; NULL: none */
    int thread_count;        /* 0: all processors */
    const struct ulp_observer *progress;
};

/* Measure on these samples, whose shapes may differ where they leave the same nodes. Free *out with
 * ulp_between_free. */
ULP_API enum ulp_status ulp_between_run(const struct ulp_model *model,
                                        const struct ulp_sample *samples, size_t sample_count,
                                        const struct ulp_between_options *options,
                                        struct ulp_between *out, struct ulp_error *error);
ULP_API void ulp_between_free(struct ulp_between *between);
/* The result as text. Free *out with free(); width and colour as in ulp_report_text. */
ULP_API enum ulp_status ulp_between_text(const struct ulp_between *between, int width, bool colour,
                                         char **out, struct ulp_error *error);
/* Write it (doc/fields.md). */
ULP_API enum ulp_status ulp_between_write(const struct ulp_between *between,
                                          enum ulp_output_kind as, const char *path,
                                          struct ulp_error *error);

#endif
