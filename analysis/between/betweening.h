/* What the files of analysis/between share. */
#pragma once

#include <ulpscope/between.h>

#include "analysis/attribution/attribution.h"
#include "base/memory/alloc.h"

/* The rows of one sample's output, and the token given for each. */
struct ulp_given_tokens {
    size_t rows, length; /* length 1: an element is its token's log-probability */
    size_t positions;    /* of one text, not 0: rows that follow each other */
    int64_t *tokens;     /* by row; -1: the row does not count */
    size_t count;        /* of rows that count */
};

struct ulp_betweening {
    const struct ulp_model *model;
    const struct ulp_sample *samples;
    size_t sample_count;
    const struct ulp_between_options *options;
    struct ulp_between *out;
    struct ulp_programs programs; /* reference, first, second */
    bool ahead;                   /* a position's scores follow from the next token, too */
    size_t tokens_taken;          /* of options->tokens, by the samples so far */
    int output;                   /* of the model's */
    double squares;               /* sum of d * d */
    /* by node: what its errors in the first and second make of that */
    double *parts[2];
    bool *own;                          /* by node: it gives other results on equal inputs */
    bool nonfinite;                     /* somewhere a lane or the reference alone is finite */
    struct ulp_between_cache *caches;   /* room for all; NULL: they are not looked at */
    struct ulp_attributed_heads *heads; /* by node, of these */
    double inputs, rows;                /* rows: with distributions */
};

/* between_tokens.c: which output holds the rows (of the reference's values), and the sample's
 * tokens, which the arena holds. */
enum ulp_status ulp_between_find_output(struct ulp_betweening *b, const struct ulp_program *program,
                                        const struct ulp_tensor_set *outputs,
                                        struct ulp_error *error);
enum ulp_status ulp_between_look_ahead(struct ulp_betweening *b, struct ulp_program *program,
                                       const struct ulp_tensor_set *outputs,
                                       struct ulp_error *error);
enum ulp_status ulp_between_find_tokens(struct ulp_betweening *b,
                                        const struct ulp_tensor_set *inputs,
                                        const struct ulp_tensor *rows, struct ulp_arena *memory,
                                        struct ulp_given_tokens *out, struct ulp_error *error);
/* The log-probabilities of the given tokens. gradient: gains for each row that counts scale[row]
 * times the derivative of its log-probability by the row's elements; NULL: not wanted. */
enum ulp_status ulp_between_logs(const struct ulp_given_tokens *given,
                                 const struct ulp_tensor *value, double *logs, const double *scale,
                                 double *gradient, struct ulp_error *error);

/* between_cache.c: one more token's d at a length of context; in the end means, and the law. */
void ulp_between_add_context(struct ulp_between *out, size_t context, double d);
void ulp_between_finish_contexts(struct ulp_between *out);
/* What stands out in keys and values of a node, in the first sample; and its heads. */
enum ulp_status ulp_between_see_caches(struct ulp_betweening *b, const struct ulp_event *event,
                                       struct ulp_error *error);
/* Shares of the heads, largest first. */
enum ulp_status ulp_between_finish_heads(struct ulp_betweening *b, struct ulp_error *error);

/* between_try.c: what brings the second nearer to the first, run one after another. */
enum ulp_status ulp_between_try(struct ulp_betweening *b, struct ulp_error *error);
