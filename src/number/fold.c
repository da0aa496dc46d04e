/* Running reductions. Every combination of two values is the carrier's own primitive, so that it rounds as a step does;
 * the order of combinations depends only on the elements' positions, never on how they were cut into strips. */
#include "number/strip_access.h"

#include <stdalign.h>
#include <string.h>

/* Streams of the combinations that are not "partial result with element i". */
#define BLOCK_STREAM UINT64_C(0x626c6f636b000000)
#define LEVEL_STREAM UINT64_C(0x70616972ca000000)
#define LEVELS 64

struct ulp_fold_state {
    const struct ulp_strip_rule *rule;
    ulp_strip_fn *combine;
    enum ulp_fold kind;
    enum ulp_order order;
    uint64_t block;       /* elements in a block: blocked order */
    uint64_t count;       /* elements so far */
    uint64_t stream;      /* of the last strip */
    uint64_t next;        /* the stochastic index after the last element's */
    size_t element_bytes;
    /* Sequential: values[0] is the partial result. Blocked: values[0] that of whole blocks, values[1] that of the
     * running block. Pairwise: values[l] is that of an aligned group of 2^l elements, present when bit l of count is set
     * (a binary counter; adding an element carries as adding 1 does). */
    alignas(16) unsigned char values[];
};

size_t ulp_fold_bytes(const struct ulp_strip_rule *rule)
{
    return sizeof(struct ulp_fold_state) + LEVELS * ulp_strip_element_bytes(rule->carrier, rule->precision);
}

void ulp_fold_begin(struct ulp_fold_state *state, const struct ulp_strip_rule *rule, enum ulp_fold kind,
                    enum ulp_order order, int order_block)
{
    static const enum ulp_primitive combine[ULP_FOLD_COUNT] = {
        [ULP_FOLD_SUM] = ULP_PRIMITIVE_ADD, [ULP_FOLD_MAX] = ULP_PRIMITIVE_MAX,
        [ULP_FOLD_MIN] = ULP_PRIMITIVE_MIN, [ULP_FOLD_PRODUCT] = ULP_PRIMITIVE_MUL,
    };
    *state = (struct ulp_fold_state){
        .rule = rule, .combine = ulp_strip_tables[rule->carrier]->primitive[combine[kind]], .kind = kind, .order = order,
        .block = order_block > 0 ? (uint64_t)order_block : 1,
        .element_bytes = ulp_strip_element_bytes(rule->carrier, rule->precision)};
}

static void *value_at(struct ulp_fold_state *state, size_t k) { return state->values + k * state->element_bytes; }
static void copy_value(struct ulp_fold_state *state, void *to, const void *from)
{
    memcpy(to, from, state->element_bytes);
}

/* *to = *a combined with *b. */
static void combine(struct ulp_fold_state *state, void *to, const void *a, const void *b, uint64_t stream,
                    uint64_t index)
{
    state->combine(state->rule, to, a, b, NULL, 1, (struct ulp_strip_place){stream, index});
}

static void add_sequential(struct ulp_fold_state *state, const void *value, uint64_t index)
{
    if (state->count++ == 0)
        copy_value(state, value_at(state, 0), value);
    else
        combine(state, value_at(state, 0), value_at(state, 0), value, state->stream, index);
}

/* The running block joins the whole ones. */
static void end_block(struct ulp_fold_state *state, uint64_t index)
{
    if (state->count <= state->block)
        copy_value(state, value_at(state, 0), value_at(state, 1));
    else
        combine(state, value_at(state, 0), value_at(state, 0), value_at(state, 1), state->stream ^ BLOCK_STREAM, index);
}

static void add_blocked(struct ulp_fold_state *state, const void *value, uint64_t index)
{
    if (state->count % state->block == 0)
        copy_value(state, value_at(state, 1), value);
    else
        combine(state, value_at(state, 1), value_at(state, 1), value, state->stream, index);
    state->count++;
    if (state->count % state->block == 0)
        end_block(state, index);
}

static void add_pairwise(struct ulp_fold_state *state, const void *value, uint64_t index)
{
    uint64_t count = state->count++;
    size_t level = 0;
    const void *carried = value;
    for (; count & 1; count >>= 1, level++) {
        void *left = value_at(state, level);
        combine(state, left, left, carried, state->stream ^ (LEVEL_STREAM + level), index);
        carried = left;
    }
    if (carried != value_at(state, level))
        copy_value(state, value_at(state, level), carried);
}

void ulp_fold_add(struct ulp_fold_state *state, const void *strip, size_t n, struct ulp_strip_place place)
{
    state->stream = place.stream;
    state->next = place.first + n;
    const unsigned char *value = strip;
    for (size_t i = 0; i < n; i++, value += state->element_bytes) {
        const uint64_t index = place.first + i;
        switch (state->order) {
        case ULP_ORDER_SEQUENTIAL: add_sequential(state, value, index); break;
        case ULP_ORDER_BLOCKED: add_blocked(state, value, index); break;
        case ULP_ORDER_PAIRWISE: add_pairwise(state, value, index); break;
        }
    }
}

static void set_empty(struct ulp_fold_state *state, void *out)
{
    static const char *const neutral[ULP_FOLD_COUNT] = {
        [ULP_FOLD_SUM] = "0", [ULP_FOLD_MAX] = "-inf", [ULP_FOLD_MIN] = "inf", [ULP_FOLD_PRODUCT] = "1"};
    ulp_strip_tables[state->rule->carrier]->constant(state->rule, out, neutral[state->kind], 1);
}

/* The groups left in the counter join from the smallest up: each is the odd last one of its level. */
static void end_pairwise(struct ulp_fold_state *state, void *out)
{
    const void *right = NULL;
    for (size_t level = 0; level < LEVELS && state->count >> level; level++) {
        if (!(state->count >> level & 1))
            continue;
        void *left = value_at(state, level);
        if (right)
            combine(state, left, left, right, state->stream ^ (LEVEL_STREAM + level), state->next);
        right = left;
    }
    copy_value(state, out, right);
}

void ulp_fold_end(struct ulp_fold_state *state, void *out)
{
    if (state->count == 0) {
        set_empty(state, out);
        return;
    }
    if (state->order == ULP_ORDER_PAIRWISE) {
        end_pairwise(state, out);
        return;
    }
    if (state->order == ULP_ORDER_BLOCKED && state->count % state->block != 0)
        end_block(state, state->next);
    copy_value(state, out, value_at(state, 0));
}
