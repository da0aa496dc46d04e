/* What a format of caches meets: the difference by length of context, as a law, and channels of
 * keys and values that stand out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/between/betweening.h"
#include "base/error.h"
#include "number/function/math.h"
#include "tensor/tensor.h"

/* ---- by context ---- */

/* A length's figures count for the law from so many tokens on, and a law needs so many lengths. */
enum { LAW_TOKENS = 8, LAW_LENGTHS = 3 };
/* log2 of the rms of n normal numbers varies by 1 / (2 n ln(2)^2). */
#define LAW_VARIANCE 1.0407

void ulp_between_add_context(struct ulp_between *out, size_t context, double d)
{
    size_t bin = 0;
    while (bin + 1 < ULP_BETWEEN_CONTEXTS && context >> (bin + 1))
        bin++;
    struct ulp_between_context *to = &out->contexts[bin];
    if (out->context_count <= bin)
        out->context_count = bin + 1;
    to->tokens++;
    to->nats += fabs(d);
    to->rms += d * d;
    to->length += ulp_math_log2((double)context);
}

void ulp_between_finish_contexts(struct ulp_between *out)
{
    double weight = 0, x = 0, y = 0, xx = 0, xy = 0;
    size_t used = 0;
    for (size_t b = 0; b < out->context_count; b++) {
        struct ulp_between_context *c = &out->contexts[b];
        const double count = (double)c->tokens;
        if (!c->tokens)
            continue;
        c->nats /= count;
        c->rms = sqrt(c->rms / count);
        c->length /= count;
        if (c->tokens >= LAW_TOKENS && c->rms > 0) {
            const double size = ulp_math_log2(c->rms);
            used++;
            weight += count;
            x += count * c->length;
            y += count * size;
            xx += count * c->length * c->length;
            xy += count * c->length * size;
        }
        c->length = ulp_math_exp(c->length * 0.69314718055994530942);
    }
    const double spread = xx - x * x / weight;
    out->law = out->law_error = NAN;
    if (used < LAW_LENGTHS || !(spread > 0))
        return;
    out->law = (xy - x * y / weight) / spread;
    out->law_error = sqrt(LAW_VARIANCE / spread);
}

/* ---- channels ---- */

/* heads x channels of keys or values; across: channels lie before positions. */
struct cache {
    const struct ulp_tensor *tensor;
    bool across;
    size_t heads, size, length;
};

static bool read_cache(const struct ulp_tensor *tensor, bool across, struct cache *out)
{
    if (!tensor || tensor->rank != 4 || !tensor->count || !ulp_element_is_float(tensor->element))
        return false;
    *out = (struct cache){.tensor = tensor,
                          .across = across,
                          .heads = (size_t)tensor->dims[1],
                          .size = (size_t)tensor->dims[across ? 2 : 3],
                          .length = (size_t)tensor->dims[across ? 3 : 2]};
    return true;
}

/* The keys (which 0) or values (1) of a node in a lane: what it hands on as present ones, or reads.
 */
static bool find_cache(const struct ulp_event *event, size_t lane, int which, struct cache *out)
{
    const struct ulp_lane_value *inputs = event->inputs + lane * event->input_count;
    const bool written = strcmp(event->op, "MatMul") == 0;
    if (written ? event->input_count < 3 : !strstr(event->op, "Attention"))
        return false;
    for (size_t o = 0; o < event->output_count && !written; o++)
        if (event->output_positions[o] == 1 + which)
            return read_cache(event->values[lane * event->output_count + o].entire, false, out);
    return event->input_count >= 3 && read_cache(inputs[1 + which].entire, written && !which, out);
}

static int order_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure_channels(const struct cache *c, double *largest)
{
    for (size_t i = 0; i < c->tensor->count; i++) {
        const size_t within = i % (c->size * c->length),
                     head = i / (c->size * c->length) % c->heads;
        const size_t channel = c->across ? within / c->length : within % c->size;
        const double m = fabs(ulp_tensor_get(c->tensor, i));
        double *to = &largest[head * c->size + channel];
        *to = isfinite(m) && m > *to ? m : *to;
    }
}

/* The channel that stands out most, of its head's median. */
static void judge_channels(const struct cache *c, const double *largest, double *sorted,
                           struct ulp_between_cache *out)
{
    for (size_t h = 0; h < c->heads; h++) {
        const double *row = largest + h * c->size;
        memcpy(sorted, row, c->size * sizeof *sorted);
        qsort(sorted, c->size, sizeof *sorted, order_numbers);
        const double median = sorted[c->size / 2];
        for (size_t i = 0; i < c->size; i++)
            if (median > 0 && row[i] / median > out->ratio) {
                out->ratio = row[i] / median;
                out->head = h;
                out->channel = i;
                out->largest = row[i];
            }
    }
}

/* ---- heads ---- */

/* The node's first output is of heads' features: before the positions, or in one row. */
static enum ulp_status see_heads(struct ulp_betweening *b, const struct ulp_event *event,
                                 size_t heads, struct ulp_error *error)
{
    struct ulp_attributed_heads *to = b->heads ? &b->heads[event->index] : NULL;
    const struct ulp_tensor *y = event->values[event->output_count].entire;
    const int axis = y ? y->rank == 4 ? 1 : y->rank - 1 : 0;
    if (!to || !y || y->rank < 3 || heads < 2 || y->dims[axis] % (int64_t)heads)
        return ULP_OK;
    if (to->count && to->count != heads) { /* samples have other heads: they cannot be added */
        b->heads = NULL;
        return ULP_OK;
    }
    if (!to->count)
        for (int l = 0; l < 2; l++)
            ULP_TAKE(to->shares[l], b->out->memory, heads, error);
    to->count = heads;
    to->length = (size_t)y->dims[axis] / heads;
    for (int d = axis + 1; d < y->rank; d++)
        to->length *= (size_t)y->dims[d];
    return ULP_OK;
}

static int order_heads(const void *a, const void *b)
{
    const struct ulp_between_head *x = a, *y = b;
    const double left = fabs(x->share), right = fabs(y->share);
    return left != right        ? (left < right) - (left > right)
           : x->node != y->node ? (x->node > y->node) - (x->node < y->node)
                                : (x->head > y->head) - (x->head < y->head);
}

enum ulp_status ulp_between_finish_heads(struct ulp_betweening *b, struct ulp_error *error)
{
    struct ulp_between *out = b->out;
    size_t count = 0;
    for (size_t n = 0; b->heads && n < out->node_count; n++)
        count += b->heads[out->nodes[n].index].count;
    ULP_TAKE(out->heads, out->memory, count + 1, error);
    for (size_t n = 0; b->heads && n < out->node_count; n++) {
        const struct ulp_attributed_heads *of = &b->heads[out->nodes[n].index];
        for (size_t h = 0; h < of->count; h++)
            out->heads[out->head_count++] =
                (struct ulp_between_head){.node = out->nodes[n].index,
                                          .name = out->nodes[n].name,
                                          .head = h,
                                          .share =
                                              (of->shares[1][h] - of->shares[0][h]) / b->squares};
    }
    qsort(out->heads, out->head_count, sizeof *out->heads, order_heads);
    return ULP_OK;
}

enum ulp_status ulp_between_see_caches(struct ulp_betweening *b, const struct ulp_event *event,
                                       struct ulp_error *error)
{
    struct ulp_between *out = b->out;
    for (int which = 0; which < 2; which++) {
        struct cache cache;
        if (!b->caches || event->execution || !find_cache(event, 1, which, &cache))
            continue;
        ULP_TRY(see_heads(b, event, cache.heads, error));
        if (out->token_count)
            continue;
        ULP_SCOPED(ulp_free_of) void *memory = NULL;
        ULP_TRY(ulp_allocate_zero(&memory, (cache.heads + 1) * cache.size, sizeof(double), NULL,
                                  "channels of a cache", error));
        struct ulp_between_cache *to = &b->caches[out->cache_count];
        *to = (struct ulp_between_cache){.node = event->index};
        to->name = ulp_arena_copy(out->memory, event->name);
        to->what = ulp_arena_text(out->memory, which ? "values" : "keys", which ? 6 : 4);
        ULP_TRY(ulp_taken(to->name && to->what, error));
        double *largest = memory;
        measure_channels(&cache, largest);
        judge_channels(&cache, largest, largest + cache.heads * cache.size, to);
        out->cache_count++;
    }
    return ULP_OK;
}
