/* Which products of two panels a tile adds at which position of the sums. */
#include "kernels/digit/digits.h"

/* ---- integer digits ---- */

int ulp_wide_full_positions(const struct ulp_wide_panel *a, const struct ulp_wide_panel *b)
{
    return a->digits + b->digits;
}

static int integer_positions(const struct ulp_wide_plan *plan, const struct ulp_wide_panel *a,
                             const struct ulp_wide_panel *b)
{
    const int full = ulp_wide_full_positions(a, b);
    if (full <= plan->positions || (a->exact && b->exact && full == plan->positions + 1))
        return full;
    return plan->positions;
}

/* A panel's array in a block of k. */
struct block {
    size_t offset, count;
};

static const uint64_t *array_of(const struct ulp_wide_panel *panel, struct block block, int array)
{
    return panel->data +
           (block.offset * (size_t)panel->arrays + (size_t)array * block.count) * panel->width;
}

static struct ulp_wide_term term_of(const struct ulp_wide_panel *a, int i,
                                    const struct ulp_wide_panel *b, int j, struct block block)
{
    return (struct ulp_wide_term){.a = array_of(a, block, i), .b = array_of(b, block, j)};
}

/* The pairs of one position that add halves of one kind. */
static size_t list_integers(struct ulp_wide_term *terms, const struct ulp_wide_panel *a,
                            const struct ulp_wide_panel *b, struct block block, int position,
                            bool high)
{
    size_t count = 0;
    for (int i = position - b->digits + 1 > 0 ? position - b->digits + 1 : 0;
         i < a->digits && i <= position; i++) {
        terms[count] = term_of(a, i, b, position - i, block);
        terms[count++].high = high;
    }
    return count;
}

/* ---- double digits ---- */

static const struct ulp_wide_panel *deep_of(const struct ulp_wide_plan *plan,
                                            const struct ulp_wide_panel *a,
                                            const struct ulp_wide_panel *b)
{
    return plan->scheme.deep ? b : a;
}

static int pairs_of_digit(const struct ulp_wide_scheme *scheme, int i,
                          const struct ulp_wide_panel *shallow)
{
    return scheme->met[i] < shallow->digits ? scheme->met[i] : shallow->digits;
}

/* Adds a weight to those in order. */
static int insert_weight(int *weights, int count, int weight)
{
    int at = count;
    while (at > 0 && weights[at - 1] > weight)
        at--;
    if (at > 0 && weights[at - 1] == weight)
        return count;
    memmove(weights + at + 1, weights + at, (size_t)(count - at) * sizeof *weights);
    weights[at] = weight;
    return count + 1;
}

static void lay_doubles(struct ulp_wide_layout *layout, const struct ulp_wide_plan *plan,
                        const struct ulp_wide_panel *a, const struct ulp_wide_panel *b)
{
    const struct ulp_wide_scheme *scheme = &plan->scheme;
    const struct ulp_wide_panel *deep = deep_of(plan, a, b), *shallow = deep == a ? b : a;
    const int deep_bits = scheme->bits[scheme->deep], shallow_bits = scheme->bits[!scheme->deep];
    int count = 0, most = 0;
    layout->ends = 0;
    for (int i = 0; i < deep->digits; i++) {
        const int pairs = pairs_of_digit(scheme, i, shallow);
        most = i + pairs > most ? i + pairs : most;
        for (int j = 0; j < pairs && deep_bits != shallow_bits; j++)
            count = insert_weight(layout->weights, count, deep_bits * i + shallow_bits * j);
    }
    if (deep_bits == shallow_bits)
        for (; count < most; count++)
            layout->weights[count] = deep_bits * count;
    layout->tails =
        (deep->digits > shallow->tail ? deep->digits - shallow->tail : 0) + !deep->exact;
    if (layout->tails)
        layout->weights[count++] = ulp_wide_scheme_last_weight(scheme);
    layout->positions = count;
    layout->gaps[0] = 32; /* sums are below 2^62: what is carried from the first fits */
    for (int p = 1; p < count; p++)
        layout->gaps[p] = (uint8_t)(layout->weights[p] - layout->weights[p - 1]);
}

static size_t list_doubles(struct ulp_wide_term *terms, const struct ulp_wide_plan *plan,
                           const struct ulp_wide_panel *a, const struct ulp_wide_panel *b,
                           struct block block, int weight)
{
    const struct ulp_wide_scheme *scheme = &plan->scheme;
    const struct ulp_wide_panel *deep = deep_of(plan, a, b), *shallow = deep == a ? b : a;
    const int deep_bits = scheme->bits[scheme->deep], shallow_bits = scheme->bits[!scheme->deep];
    size_t count = 0;
    for (int i = 0; i < deep->digits && deep_bits * i <= weight; i++) {
        const int rest = weight - deep_bits * i, j = rest / shallow_bits;
        if (rest == j * shallow_bits && j < pairs_of_digit(scheme, i, shallow))
            terms[count++] = deep == a ? term_of(a, i, b, j, block) : term_of(a, j, b, i, block);
    }
    return count;
}

static size_t list_tails(struct ulp_wide_term *terms, const struct ulp_wide_plan *plan,
                         const struct ulp_wide_panel *a, const struct ulp_wide_panel *b,
                         struct block block)
{
    const struct ulp_wide_panel *deep = deep_of(plan, a, b), *shallow = deep == a ? b : a;
    size_t count = 0;
    /* the deep panel's own tail follows its digits */
    for (int i = shallow->tail; i < deep->digits + !deep->exact; i++) {
        const int tail = shallow->digits + i - shallow->tail;
        terms[count++] = deep == a ? term_of(a, i, b, tail, block) : term_of(a, tail, b, i, block);
    }
    return count;
}

/* ---- both ---- */

void ulp_wide_tile_lay(struct ulp_wide_layout *layout, const struct ulp_wide_plan *plan,
                       const struct ulp_wide_panel *a, const struct ulp_wide_panel *b)
{
    if (!plan->tile->integer) {
        lay_doubles(layout, plan, a, b);
        return;
    }
    layout->positions = integer_positions(plan, a, b);
    layout->tails = 0;
    memset(layout->gaps, 52, sizeof layout->gaps);
}

/* Calls the kernel so that no call has more addends than `most`. */
static void run_terms(const struct ulp_wide_tile *tile, const struct ulp_wide_panel *a,
                      const struct ulp_wide_panel *b, int64_t *carries, int64_t *sums,
                      struct ulp_wide_term *terms, size_t term_count, size_t block_count,
                      size_t most)
{
    int row_log = a->width == 1 ? 0 : a->width == 2 ? 1 : a->width == 4 ? 2 : 3;
    ulp_wide_tile_fn *run = tile->run[row_log][b->width / (size_t)tile->lanes - 1];
    if (most >= block_count) {
        size_t at_once = most / block_count;
        for (size_t t = 0; t < term_count; t += at_once)
            run(carries, sums, terms + t, term_count - t < at_once ? term_count - t : at_once,
                block_count);
        return;
    }
    for (size_t t = 0; t < term_count; t++)
        for (size_t k = 0; k < block_count; k += most) {
            struct ulp_wide_term part = {.a = (const uint64_t *)terms[t].a + k * a->width,
                                         .b = (const uint64_t *)terms[t].b + k * b->width,
                                         .high = terms[t].high};
            run(carries, sums, &part, 1, block_count - k < most ? block_count - k : most);
        }
}

void ulp_wide_tile_add(int64_t *sums, const struct ulp_wide_plan *plan,
                       const struct ulp_wide_layout *layout, const struct ulp_wide_panel *a,
                       const struct ulp_wide_panel *b, size_t block_index)
{
    struct ulp_wide_term terms[2 * ULP_WIDE_POSITIONS_MAX];
    const bool integer = plan->tile->integer;
    const size_t size = a->width * b->width,
                 exact = ulp_wide_addends_max(integer, plan->scheme.bits[0] + plan->scheme.bits[1]);
    struct block block = {.offset = block_index * plan->k_block};
    block.count = plan->k - block.offset < plan->k_block ? plan->k - block.offset : plan->k_block;
    for (int p = 0; p < layout->positions; p++) {
        size_t count, most = exact;
        if (integer) {
            count = list_integers(terms, a, b, block, p, true);
            if (p > 0)
                count += list_integers(terms + count, a, b, block, p - 1, false);
        } else if (layout->tails && p == layout->positions - 1) {
            count = list_tails(terms, plan, a, b, block);
            most = (size_t)plan->scheme.chain;
        } else {
            count = list_doubles(terms, plan, a, b, block, layout->weights[p]);
        }
        run_terms(plan->tile, a, b, sums + (size_t)p * size, sums + (size_t)(p + 1) * size, terms,
                  count, block.count, most);
    }
}
