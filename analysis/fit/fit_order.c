/* The order of a sum, read from masked sums without any candidate (the idea is FPRev's: Xie et al.,
 * arXiv 2411.00442). All small products that are added before both M and -M are in are lost; the
 * rest is counted by the result. So each pair of places tells how large the smallest part of the
 * sum is that holds both. Parts that are segments of k are searched for; whatever else it is, is
 * said as the parts that were found. */
#include <math.h>

#include "analysis/fit/fit.h"
#include "base/error.h"
#include "base/text/text.h"

/* How many small products were lost for each pair: [row * columns + column]. */
struct losses {
    const struct ulp_fit_mask *mask;
    size_t *lost;
    /* small products before each place of k; of a pair, those two places less where they count */
    size_t *before;
    size_t own; /* how many of a pair's own places are counted in `before` */
};

/* ---- reading ---- */

static bool is_probe(const struct ulp_fit_mask *mask, const struct ulp_fit_values *values)
{
    const size_t n = (size_t)values->b.dims[1];
    for (size_t k = 0; k < mask->k; k++) {
        for (size_t r = 0; r < mask->row_count; r++)
            if (ulp_tensor_get(&values->a, r * mask->k + k) != ulp_fit_mask_a(mask, r, k))
                return false;
        for (size_t c = 0; c < mask->column_count; c++)
            if (ulp_tensor_get(&values->b, k * n + c) != ulp_fit_mask_b(mask, c, k))
                return false;
    }
    return mask->row_count && mask->column_count;
}

static void count_small(struct losses *losses)
{
    const struct ulp_fit_mask *mask = losses->mask;
    losses->own = mask->rest != 0 ? 2 : 0;
    losses->before[0] = 0;
    for (size_t k = 0; k < mask->k; k++)
        losses->before[k + 1] =
            losses->before[k] + (mask->kinds[k] ? mask->rest != 0 : k % mask->stride == 0);
}

/* false: some result is no number of small products: M did not swamp them all. */
static bool count_losses(struct losses *losses, const struct ulp_fit_values *values)
{
    const struct ulp_fit_mask *mask = losses->mask;
    const size_t n = (size_t)values->c.dims[1], all = losses->before[mask->k] - losses->own;
    const double small = mask->small * mask->small;
    for (size_t r = 0; r < mask->row_count; r++)
        for (size_t c = 0; c < mask->column_count; c++) {
            const double left = ulp_tensor_get(&values->c, r * n + c) / small;
            if (!(left >= 0 && left <= (double)all) || left != floor(left))
                return false;
            losses->lost[r * mask->column_count + c] = all - (size_t)left;
        }
    return true;
}

/* ---- sums of segments ---- */

/* Blocks of `block` products, each added at once to what is before it in its chain; chains of
 * `chain` products; sums of `outer` products that are chains added in order; these added in order.
 * Lengths that are k or more: there is no such level. */
struct nesting {
    size_t block, chain, outer;
    bool reversed; /* the outermost are added from the last one on */
};

static size_t end_of(size_t begin, size_t end, size_t at, size_t length)
{
    return ulp_size_min(begin + ((at - begin) / length + 1) * length, end);
}

/* The part [*begin, *end) that holds the places low < high. */
static void find_part(const struct nesting *nesting, size_t k, size_t low, size_t high,
                      size_t *begin, size_t *end)
{
    const size_t lengths[] = {nesting->outer, nesting->chain};
    *begin = 0;
    *end = k;
    for (int level = 0; level < 2; level++) {
        const size_t length = lengths[level];
        if (length >= *end - *begin)
            continue;
        if ((low - *begin) / length != (high - *begin) / length) {
            const bool last_first = nesting->reversed && *end - *begin == k;
            const size_t whole = *end;
            *end = last_first ? whole : end_of(*begin, whole, high, length);
            *begin += last_first ? (low - *begin) / length * length : 0;
            return;
        }
        const size_t first = *begin + (low - *begin) / length * length;
        *end = end_of(*begin, *end, low, length);
        *begin = first;
    }
    *end = end_of(*begin, *end, high, nesting->block);
}

static bool explains(const struct nesting *nesting, const struct losses *losses)
{
    const struct ulp_fit_mask *mask = losses->mask;
    for (size_t r = 0; r < mask->row_count; r++)
        for (size_t c = 0; c < mask->column_count; c++) {
            const size_t i = mask->row_place[r], j = mask->column_place[c];
            size_t begin, end;
            find_part(nesting, mask->k, ulp_size_min(i, j), i < j ? j : i, &begin, &end);
            if (losses->before[end] - losses->before[begin] - losses->own !=
                losses->lost[r * mask->column_count + c])
                return false;
        }
    return true;
}

enum { BLOCK_MAX = 128 };

/* The nestings that explain every pair, the simplest first: without chains and outer sums, then
 * with the first, then with both. Returns how many there are among those of the simplest kind. */
static size_t find_nestings(const struct losses *losses, struct nesting *first)
{
    const size_t k = losses->mask->k;
    size_t count = 0;
    for (int levels = 0; levels < 3 && !count; levels++)
        for (size_t block = 1; block <= BLOCK_MAX && (block == 1 || block / 2 < k); block *= 2)
            for (size_t chain = levels ? block : k; chain <= k; chain += block) {
                const size_t step = levels == 2 ? chain : k;
                for (size_t outer = levels == 2 ? 2 * chain : k; outer <= k; outer += step)
                    for (int reversed = 0; reversed <= (levels > 0); reversed++) {
                        const struct nesting nesting = {block, chain, outer, reversed};
                        if ((levels && chain == k) || (levels == 2 && outer >= k) ||
                            !explains(&nesting, losses))
                            continue;
                        if (!count++)
                            *first = nesting;
                    }
            }
    return count;
}

static void add_nesting(struct ulp_text *text, const struct nesting *nesting, size_t k)
{
    const char *const order = nesting->reversed ? "from the last one on" : "in order";
    if (nesting->block > 1)
        ulp_text_add(text, "blocks of %zu products are added at once", nesting->block);
    else
        ulp_text_add(text, "one product is added after the other");
    if (nesting->chain >= k) {
        ulp_text_add(text, ", in one chain over k");
        return;
    }
    ulp_text_add(text, ", in chains of %zu products", nesting->chain);
    if (nesting->block > 1)
        ulp_text_add(text, " (%zu blocks)", ulp_size_divide_up(nesting->chain, nesting->block));
    const size_t inner = nesting->outer < k ? nesting->outer : k;
    ulp_text_add(text, "; %zu of their sums are added %s",
                 ulp_size_divide_up(inner, nesting->chain),
                 nesting->outer < k ? "in order" : order);
    if (nesting->outer < k)
        ulp_text_add(text, " (%zu products), and %zu of these %s", nesting->outer,
                     ulp_size_divide_up(k, nesting->outer), order);
}

/* ---- any other order ---- */

static size_t root_of(size_t *parent, size_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

enum { LEVELS_SHOWN = 6, MEMBERS_SHOWN = 8 };

static size_t next_loss(const struct losses *losses, size_t pair_count, size_t above, bool first)
{
    size_t next = SIZE_MAX;
    for (size_t p = 0; p < pair_count; p++)
        if ((first || losses->lost[p] > above) && losses->lost[p] < next)
            next = losses->lost[p];
    return next;
}

/* "with place 0: 0, 1, 8, 9, ..." : the places in the same part as the first, at this level. */
static void add_members(struct ulp_text *text, const struct losses *losses, size_t *parent)
{
    const size_t k = losses->mask->k, root = root_of(parent, losses->mask->row_place[0]);
    size_t shown = 0, count = 0;
    for (size_t i = 0; i < k; i++)
        count += losses->mask->kinds[i] && root_of(parent, i) == root;
    for (size_t i = 0; i < k && shown < MEMBERS_SHOWN; i++)
        if (losses->mask->kinds[i] && root_of(parent, i) == root)
            ulp_text_add(text, "%s%zu", shown++ ? ", " : "", i);
    ulp_text_add(text, "%s (%zu of the places looked at)", count > shown ? ", ..." : "", count);
}

/* The sum as a tree: at each size of parts, which places are in the part of the first one. */
static enum ulp_status add_tree(struct ulp_text *text, const struct losses *losses,
                                struct ulp_error *error)
{
    const struct ulp_fit_mask *mask = losses->mask;
    const size_t pairs = mask->row_count * mask->column_count;
    size_t *parent, level = 0;
    ULP_TRY(ulp_allocate((void **)&parent, mask->k, sizeof *parent, NULL, "order", error));
    for (size_t i = 0; i < mask->k; i++)
        parent[i] = i;
    ulp_text_add(text, "no nest of segments: the parts of the sum that hold k = %zu are",
                 mask->row_place[0]);
    for (int shown = 0; shown < LEVELS_SHOWN; shown++) {
        level = next_loss(losses, pairs, level, shown == 0);
        if (level == SIZE_MAX)
            break;
        for (size_t p = 0; p < pairs; p++)
            if (losses->lost[p] <= level)
                parent[root_of(parent, mask->row_place[p / mask->column_count])] =
                    root_of(parent, mask->column_place[p % mask->column_count]);
        ulp_text_add(text, "%s %zu products: k = ", shown ? ";" : "", level + 2);
        add_members(text, losses, parent);
    }
    ulp_free(parent);
    return ULP_OK;
}

/* ---- in words ---- */

static enum ulp_status describe(const struct losses *losses, struct ulp_text *text,
                                struct ulp_error *error)
{
    struct nesting nesting;
    const size_t count = find_nestings(losses, &nesting);
    ulp_text_add(text, "%zu pairs of products, read without candidates: ",
                 losses->mask->row_count * losses->mask->column_count);
    if (!count)
        return add_tree(text, losses, error);
    add_nesting(text, &nesting, losses->mask->k);
    if (count > 1)
        ulp_text_add(text, " (%zu other lengths explain the pairs as well)", count - 1);
    return ULP_OK;
}

static enum ulp_status read(struct losses *losses, const struct ulp_fit_values *values,
                            struct ulp_text *text, struct ulp_error *error)
{
    const struct ulp_fit_mask *mask = losses->mask;
    ULP_TRY(ulp_allocate((void **)&losses->lost, mask->row_count * mask->column_count,
                         sizeof *losses->lost, NULL, "order", error));
    ULP_TRY(ulp_allocate((void **)&losses->before, mask->k + 1, sizeof *losses->before, NULL,
                         "order", error));
    count_small(losses);
    if (count_losses(losses, values))
        return describe(losses, text, error);
    ulp_text_add(text,
                 "the masked sums are not whole numbers of small products: sums are wider than "
                 "FP32 somewhere, and their order cannot be read");
    return ULP_OK;
}

enum ulp_status ulp_fit_order_read(const struct ulp_fit_values *values,
                                   const struct ulp_fit_case *fit_case,
                                   const struct ulp_fit_shape *shape, char **words,
                                   struct ulp_error *error)
{
    struct ulp_fit_mask mask;
    struct ulp_text text = {0};
    *words = NULL;
    enum ulp_status status =
        ulp_fit_mask_make(&mask, fit_case->operands, fit_case->result, shape, error);
    if (status == ULP_OK && is_probe(&mask, values)) {
        struct losses losses = {.mask = &mask};
        status = read(&losses, values, &text, error);
        ulp_free(losses.lost);
        ulp_free(losses.before);
    }
    ulp_fit_mask_free(&mask);
    if (status == ULP_OK && text.failed)
        status = ulp_out_of_memory(error);
    if (status == ULP_OK)
        *words = text.data;
    else
        ulp_text_free(&text);
    return status;
}
