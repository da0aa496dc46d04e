/* TfIdfVectorizer over integers: how often each n-gram of a pool occurs, weighted by a formula. */
#include <string.h>

#include "base/error.h"
#include "ops/ops_move.h"

struct pool {
    const struct ulp_attribute_value *tokens, *counts, *indexes, *weights;
    int64_t shortest, longest, skips, size;
};

static enum ulp_status read_pool(const struct ulp_call *call, struct pool *p)
{
    *p = (struct pool){
        ulp_call_attribute(call, "pool_int64s"),   ulp_call_attribute(call, "ngram_counts"),
        ulp_call_attribute(call, "ngram_indexes"), ulp_call_attribute(call, "weights"),
        ulp_call_int(call, "min_gram_length"),     ulp_call_int(call, "max_gram_length"),
        ulp_call_int(call, "max_skip_count"),      0};
    if (!p->tokens->present)
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED, "pools of strings are not supported");
    size_t grams = 0;
    /* grams of n + 1 tokens lie in [counts[n], counts[n + 1]) */
    for (size_t n = 0; n < p->counts->count; n++) {
        int64_t first = p->counts->ints[n];
        int64_t last =
            n + 1 < p->counts->count ? p->counts->ints[n + 1] : (int64_t)p->tokens->count;
        if (first < 0 || last < first || last > (int64_t)p->tokens->count ||
            (last - first) % (int64_t)(n + 1) != 0)
            return ULP_REFUSE(call, "ngram_counts do not fit the pool");
        grams += (size_t)(last - first) / (n + 1);
    }
    for (size_t i = 0; i < p->indexes->count; i++) {
        if (p->indexes->ints[i] < 0 || p->indexes->ints[i] > INT32_MAX)
            return ULP_REFUSE(call, "ngram_indexes[%zu] is out of range", i);
        p->size = p->indexes->ints[i] >= p->size ? p->indexes->ints[i] + 1 : p->size;
    }
    if (grams != p->indexes->count || (p->weights->count && p->weights->count != grams) ||
        p->shortest < 1 || p->longest < p->shortest || p->skips < 0)
        return ULP_REFUSE(call, "the pool's lists or lengths do not fit each other");
    return ULP_OK;
}

static enum ulp_status infer_ngram(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct pool p;
    ULP_TRY(read_pool(call, &p));
    if ((in->rank < 1 || in->rank > 2))
        return ULP_REFUSE(call, "the input has rank %d: expected 1 or 2", in->rank);
    const int64_t dims[2] = {in->rank == 2 ? in->dims[0] : p.size, p.size};
    return ulp_call_describe(call, 0, ULP_TYPE_FLOAT, in->rank, dims);
}

/* Occurrences in a line of `length` tokens of the gram of n tokens, skip - 1 tokens left out
 * between them. */
static int64_t count_gram(const struct ulp_tensor *in, size_t first, int64_t length,
                          const int64_t *gram, int64_t n, int64_t skip)
{
    int64_t found = 0;
    for (int64_t at = 0; at < length - (n - 1) * skip; at++) {
        int64_t i = 0;
        while (i < n && ulp_tensor_get_int(in, first + (size_t)(at + i * skip)) == gram[i])
            i++;
        found += i == n;
    }
    return found;
}

static const struct ulp_formula counted = {"count weight", "y", "copy(count)"},
                                weighted = {"count weight", "y", "count * weight"},
                                weighted_once = {"count weight", "y", "count > 0 ? weight : 0"};

static enum ulp_status run_ngram(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_tensor counts, weights;
    struct pool p;
    ULP_TRY(read_pool(call, &p));
    if (call->out[0].count == 0)
        return ULP_OK;
    ULP_TRY(ulp_call_make_here(call, &counts, ULP_TYPE_INT64, 1,
                               (int64_t[]){(int64_t)call->out[0].count}));
    ULP_TRY(ulp_tensor_describe(&weights, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1,
                                (int64_t[]){p.size}, call->error));
    ULP_TRY(ulp_call_temporary(call, &weights));
    memset(counts.data, 0, counts.count * counts.element_bytes);
    for (int64_t i = 0; i < p.size; i++)
        ((float *)weights.data)[i] = 1;
    const int64_t lines = in->rank == 2 ? in->dims[0] : 1,
                  length = in->rank == 2 ? in->dims[1] : in->dims[0],
                  /* beyond this a gram of two tokens is longer than the line */
        skips = p.skips < length ? p.skips : length;
    for (size_t n = 1, gram = 0; n <= p.counts->count; n++) {
        int64_t first = p.counts->ints[n - 1];
        int64_t last = n < p.counts->count ? p.counts->ints[n] : (int64_t)p.tokens->count;
        for (int64_t at = first; at < last; at += (int64_t)n, gram++) {
            const int64_t index = p.indexes->ints[gram];
            if (p.weights->count)
                ((float *)weights.data)[index] = p.weights->floats[gram];
            if ((int64_t)n < p.shortest || (int64_t)n > p.longest)
                continue;
            for (int64_t line = 0; line < lines; line++)
                for (int64_t skip = 1; skip <= (n == 1 ? 1 : skips + 1); skip++)
                    ((int64_t *)counts.data)[line * p.size + index] +=
                        count_gram(in, (size_t)(line * length), length, p.tokens->ints + at,
                                   (int64_t)n, skip);
        }
    }
    const struct ulp_formula *formula = ulp_call_is(call, "mode", "TF")    ? &counted
                                        : ulp_call_is(call, "mode", "IDF") ? &weighted_once
                                                                           : &weighted;
    const struct ulp_rows rows = {.row_count = (size_t)lines, .row_length = (size_t)p.size};
    const struct ulp_named_operand operands[] = {
        {"count", {.tensor = &counts, .row_stride = p.size, .position_stride = 1}},
        {"weight", {.tensor = &weights, .position_stride = 1}}};
    const struct ulp_named_operand result = {
        "y", {.tensor = &call->out[0], .row_stride = p.size, .position_stride = 1}};
    return ulp_call_formula(call, formula, call->arithmetic, &rows, 2, operands, 1, &result);
}

static enum ulp_status check_ngram(struct ulp_call *call)
{
    if (!ulp_call_is(call, "mode", "TF") && !ulp_call_is(call, "mode", "IDF") &&
        !ulp_call_is(call, "mode", "TFIDF"))
        return ULP_REFUSE(call, "mode %s: expected TF, IDF or TFIDF",
                          ulp_call_attribute(call, "mode")->s);
    return ULP_OK;
}

/* clang-format off */
const struct ulp_operator ulp_ops_ngram[] = {
    {.name = "TfIdfVectorizer", .since = 9, .inputs = "x:i", .outputs = "y",
     .attributes = "max_gram_length:!int; max_skip_count:!int; min_gram_length:!int; mode:!string; "
                   "ngram_counts:!ints; "
                   "ngram_indexes:!ints; pool_int64s:ints; pool_strings:strings; weights:floats",
                   .infer = infer_ngram,
     .run = run_ngram, .check = check_ngram,
     .formulas = ULP_FORMULAS(&counted, &weighted, &weighted_once)},
    {0},
};
/* clang-format on */
