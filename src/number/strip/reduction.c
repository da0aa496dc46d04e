/* Running reductions. Every combination of two values is the carrier's own primitive, so that it
 * rounds as a step does; the order of combinations depends only on the elements' positions, never
 * on how they were cut into strips. */
#include "number/strip.h"

#include <stdalign.h>
#include <string.h>

/* Streams of the combinations that are not "partial result with element i". */
#define BLOCK_STREAM UINT64_C(0x626c6f636b000000)
#define LEVEL_STREAM UINT64_C(0x70616972ca000000)
#define LEVELS 64
/* Half a strip of the carriers whose strips are worked on as a whole. */
#define HALF_BYTES (ULP_STRIP / 2 * sizeof(double))

struct ulp_reduction_state {
    const struct ulp_strip_rule *rule;
    ulp_strip_fn *combine;
    enum ulp_reduction kind;
    enum ulp_order order;
    struct ulp_reduction_order parts; /* warp */
    uint64_t block;                   /* elements in a block: blocked order */
    uint64_t count;                   /* elements so far */
    uint64_t stream;                  /* of the last strip */
    uint64_t origin;                  /* stochastic index of element 0 */
    size_t element_bytes;
    /* Sequential: values[0] is the partial result. Blocked: values[0] that of whole blocks,
     * values[1] that of the running block. Pairwise: values[l] is that of an aligned group of 2^l
     * elements, present when bit l of count is set (a binary counter; adding an element carries as
     * adding 1 does). Warp: the partial results. */
    alignas(64) unsigned char values[];
};

const struct ulp_reduction_row ulp_reduction_rows[ULP_REDUCTION_COUNT] = {
    [ULP_REDUCTION_SUM] = {ULP_PRIMITIVE_ADD, "0"},
    [ULP_REDUCTION_MAX] = {ULP_PRIMITIVE_MAX, "-inf"},
    [ULP_REDUCTION_MIN] = {ULP_PRIMITIVE_MIN, "inf"},
    [ULP_REDUCTION_PRODUCT] = {ULP_PRIMITIVE_MUL, "1"},
};

size_t ulp_reduction_bytes(const struct ulp_strip_rule *rule, struct ulp_reduction_order order)
{
    const size_t parts = order.kernel                    ? order.length
                         : order.order == ULP_ORDER_WARP ? (size_t)order.parts
                                                         : 0;
    return sizeof(struct ulp_reduction_state) +
           (parts > LEVELS ? parts : LEVELS) *
               ulp_strip_element_bytes(rule->carrier, rule->precision);
}

void ulp_reduction_begin(struct ulp_reduction_state *state, const struct ulp_strip_rule *rule,
                         enum ulp_reduction kind, struct ulp_reduction_order order)
{
    state->rule = rule;
    state->combine = ulp_strip_tables[rule->carrier]->primitive[ulp_reduction_rows[kind].combine];
    state->kind = kind;
    state->order = order.order;
    state->parts = order;
    state->block = order.block > 0 ? (uint64_t)order.block : 1;
    state->count = 0;
    state->stream = 0;
    state->origin = 0;
    state->element_bytes = ulp_strip_element_bytes(rule->carrier, rule->precision);
}

static void *value_at(struct ulp_reduction_state *state, size_t k)
{
    return state->values + k * state->element_bytes;
}
static void copy_value(const struct ulp_reduction_state *state, void *to, const void *from)
{
    memcpy(to, from, state->element_bytes);
}

/* *to = *a combined with *b. */
static void combine(const struct ulp_reduction_state *state, void *to, const void *a, const void *b,
                    uint64_t stream, uint64_t index)
{
    state->combine(state->rule, to, a, b, NULL, 1, (struct ulp_strip_place){stream, index});
}

/* *sum combined with n elements, one after the other. */
static void chain(const struct ulp_reduction_state *state, void *sum, const unsigned char *x,
                  size_t n, uint64_t index)
{
    for (size_t i = 0; i < n; i++)
        combine(state, sum, sum, x + i * state->element_bytes, state->stream, index + i);
}

static void add_sequential(struct ulp_reduction_state *state, const unsigned char *x, size_t n,
                           uint64_t index)
{
    const size_t first = state->count == 0;
    if (first)
        copy_value(state, value_at(state, 0), x);
    chain(state, value_at(state, 0), x + first * state->element_bytes, n - first, index + first);
    state->count += n;
}

/* The running block, whose last element is number `index` of the stochastic stream, joins the whole
 * ones. */
static void end_block(struct ulp_reduction_state *state, uint64_t index)
{
    if (state->count <= state->block)
        copy_value(state, value_at(state, 0), value_at(state, 1));
    else
        combine(state, value_at(state, 0), value_at(state, 0), value_at(state, 1),
                state->stream ^ BLOCK_STREAM, index);
}

static void add_blocked(struct ulp_reduction_state *state, const unsigned char *x, size_t n,
                        uint64_t index)
{
    while (n > 0) {
        const uint64_t done = state->count % state->block, room = state->block - done;
        const size_t length = room < n ? (size_t)room : n, first = done == 0;
        if (first)
            copy_value(state, value_at(state, 1), x);
        chain(state, value_at(state, 1), x + first * state->element_bytes, length - first,
              index + first);
        state->count += length;
        x += length * state->element_bytes;
        index += length;
        n -= length;
        if (length == room)
            end_block(state, index - 1);
    }
}

/* Groups of 2^level elements join in pairs: the place of the pair to which element number count
 * belongs. */
static struct ulp_strip_place pair_place(const struct ulp_reduction_state *state, size_t level)
{
    return (struct ulp_strip_place){state->stream ^ (LEVEL_STREAM + level),
                                    state->origin + (state->count >> level >> 1)};
}

/* An element enters the counter; count does not yet include it. */
static void carry(struct ulp_reduction_state *state, const void *value)
{
    const void *carried = value;
    size_t level = 0;
    for (; state->count >> level & 1; level++) {
        void *left = value_at(state, level);
        const struct ulp_strip_place place = pair_place(state, level);
        combine(state, left, left, carried, place.stream, place.first);
        carried = left;
    }
    if (carried != value_at(state, level))
        copy_value(state, value_at(state, level), carried);
}

static void add_pairwise(struct ulp_reduction_state *state, const unsigned char *x, size_t n)
{
    for (size_t i = 0; i < n; i++, state->count++)
        carry(state, x + i * state->element_bytes);
}

/* Elements go to the partial results in turn, as many at a time as are left before the last one. */
static void add_parts(struct ulp_reduction_state *state, const unsigned char *x, size_t n,
                      struct ulp_strip_place place)
{
    const size_t parts = (size_t)state->parts.parts;
    while (n > 0) {
        const size_t part = (size_t)(state->count % parts), room = parts - part;
        size_t length = room < n ? room : n;
        length = length < ULP_STRIP ? length : ULP_STRIP;
        if (state->count < parts)
            memcpy(value_at(state, part), x, length * state->element_bytes);
        else
            state->combine(state->rule, value_at(state, part), value_at(state, part), x, NULL,
                           length, place);
        state->count += length;
        place.first += length;
        x += length * state->element_bytes;
        n -= length;
    }
}

struct ulp_reduction_order ulp_reduction_order_warp(size_t row_length, bool contiguous)
{
    struct ulp_reduction_order order = {.order = ULP_ORDER_WARP, .parts = 1, .group = 1};
    if (!contiguous)
        order.parts = order.group = 4;
    else if (row_length >= 128)
        order = (struct ulp_reduction_order){.order = ULP_ORDER_WARP, .parts = 128, .group = 4};
    else
        while (order.parts < 32 && 2 * (size_t)order.parts <= row_length)
            order.parts *= 2;
    return order;
}

/* As blocks of a grid add to a result that begins as 0. */
static void join_stored(const struct ulp_strip_rule *stored, unsigned char *sums, size_t bytes,
                        size_t count, ulp_strip_fn *add)
{
    const double zero = 0, *const none = &zero;
    const struct ulp_strip_place nowhere = {0, 0};
    for (size_t t = 0; t < count; t++) {
        unsigned char *const sum = sums + t * bytes;
        add(stored, sum, sum, none, NULL, 1, nowhere);
        if (t)
            add(stored, sums, sums, sum, NULL, 1, nowhere);
    }
}

void ulp_reduction_join(const struct ulp_strip_rule *rule, enum ulp_reduction kind,
                        struct ulp_reduction_order order, void *parts, size_t n, uint64_t count,
                        struct ulp_strip_place place)
{
    const size_t bytes = n * ulp_strip_element_bytes(rule->carrier, rule->precision);
    ulp_strip_fn *const add =
        ulp_strip_tables[rule->carrier]->primitive[ulp_reduction_rows[kind].combine];
    const size_t group = (size_t)order.group, threads = (size_t)order.parts / group;
    unsigned char *const values = parts;
    uint64_t level = 0;
    struct ulp_strip_place at = {.first = place.first};
    for (size_t t = 0; t < threads && t * group < count; t++) {
        unsigned char *const sum = values + t * bytes;
        if (t)
            memcpy(sum, values + t * group * bytes, bytes);
        for (size_t k = 1; k < group && t * group + k < count; k++) {
            at.stream = place.stream ^ (LEVEL_STREAM + t * group + k);
            add(rule, sum, sum, values + (t * group + k) * bytes, NULL, n, at);
        }
    }
    const uint64_t sums = (count + group - 1) / group;
    if (order.stored) {
        join_stored(order.stored, values, bytes, threads < sums ? threads : (size_t)sums, add);
        return;
    }
    const size_t rest = order.rest > 1 ? (size_t)order.rest : 1;
    for (size_t half = threads / 2; half >= rest; half /= 2, level++) {
        /* those of one row are neighbours, and numbers are drawn one by one */
        const bool together = n == 1 && rule->rounding != ULP_ROUND_STOCHASTIC && sums > half;
        if (together)
            add(rule, values, values, values + half * bytes, NULL,
                sums - half < half ? sums - half : half, at);
        for (size_t t = 0; t < half && t + half < sums && !together; t++) {
            at.stream = place.stream ^ (LEVEL_STREAM + (size_t)order.parts * (level + 1) + t);
            add(rule, values + t * bytes, values + t * bytes, values + (t + half) * bytes, NULL, n,
                at);
        }
    }
    for (size_t t = 1; t < rest && t < sums; t++) {
        at.stream = place.stream ^ (LEVEL_STREAM + (size_t)order.parts * (level + 1) + t);
        add(rule, values, values, values + t * bytes, NULL, n, at);
    }
}

/* Extrema do not depend on the order: halves of a strip are combined until one value is left. */
static void add_extremum(struct ulp_reduction_state *state, const unsigned char *x, size_t n)
{
    alignas(64) unsigned char best[HALF_BYTES];
    const size_t bytes = state->element_bytes;
    const struct ulp_strip_place nowhere = {0, 0};
    while (n > 1) {
        const size_t half = n / 2;
        state->combine(state->rule, best, x, x + half * bytes, NULL, half, nowhere);
        if (n % 2)
            state->combine(state->rule, best, best, x + 2 * half * bytes, NULL, 1, nowhere);
        x = best;
        n = half;
    }
    if (state->count == 0)
        copy_value(state, value_at(state, 0), x);
    else
        combine(state, value_at(state, 0), value_at(state, 0), x, 0, 0);
    state->count = 1;
}

static bool is_extremum(const struct ulp_reduction_state *state)
{
    return (state->kind == ULP_REDUCTION_MAX || state->kind == ULP_REDUCTION_MIN) &&
           state->element_bytes <= sizeof(double);
}

void ulp_reduction_add(struct ulp_reduction_state *state, const void *strip, size_t n,
                       struct ulp_strip_place place)
{
    if (n == 0)
        return;
    state->stream = place.stream;
    state->origin = place.first - state->count;
    if (is_extremum(state)) {
        add_extremum(state, strip, n);
        return;
    }
    if (state->parts.kernel) {
        memcpy(value_at(state, state->count), strip, n * state->element_bytes);
        state->count += n;
        return;
    }
    switch (state->order) {
    case ULP_ORDER_SEQUENTIAL: add_sequential(state, strip, n, place.first); break;
    case ULP_ORDER_BLOCKED: add_blocked(state, strip, n, place.first); break;
    case ULP_ORDER_PAIRWISE: add_pairwise(state, strip, n); break;
    case ULP_ORDER_WARP: add_parts(state, strip, n, place); break;
    }
}

static void set_empty(const struct ulp_reduction_state *state, void *out)
{
    static const char *const neutral[ULP_REDUCTION_COUNT] = {[ULP_REDUCTION_SUM] = "0",
                                                             [ULP_REDUCTION_MAX] = "-inf",
                                                             [ULP_REDUCTION_MIN] = "inf",
                                                             [ULP_REDUCTION_PRODUCT] = "1"};
    ulp_strip_tables[state->rule->carrier]->constant(state->rule, out, neutral[state->kind], 1);
}

/* The groups left in the counter join from the smallest up: each is the odd last one of its
 * level. */
static void end_pairwise(struct ulp_reduction_state *state, void *out)
{
    const void *right = NULL;
    for (size_t level = 0; level < LEVELS && state->count >> level; level++) {
        if (!(state->count >> level & 1))
            continue;
        void *left = value_at(state, level);
        const struct ulp_strip_place place = pair_place(state, level);
        if (right)
            combine(state, left, left, right, place.stream, place.first);
        right = left;
    }
    copy_value(state, out, right);
}

void ulp_reduction_end(struct ulp_reduction_state *state, void *out)
{
    if (state->count == 0) {
        set_empty(state, out);
        return;
    }
    if (state->parts.kernel && !is_extremum(state)) {
        const float sum = ulp_mlas_row(state->parts.kernel, (const float *)state->values,
                                       state->count, state->parts.head);
        copy_value(state, out, &sum);
        return;
    }
    if (state->order == ULP_ORDER_PAIRWISE && !is_extremum(state)) {
        end_pairwise(state, out);
        return;
    }
    if (state->order == ULP_ORDER_WARP && !is_extremum(state))
        ulp_reduction_join(state->rule, state->kind, state->parts, state->values, 1, state->count,
                           (struct ulp_strip_place){state->stream, state->origin});
    if (state->order == ULP_ORDER_BLOCKED && !is_extremum(state) &&
        state->count % state->block != 0)
        end_block(state, state->origin + state->count - 1);
    copy_value(state, out, value_at(state, 0));
}
