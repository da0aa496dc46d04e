/* Which kernels of a block become one, once the parts of its steps are known. */
#include "base/error.h"
#include "run/idiom/idiom.h"
#include "run/idiom/idiom_read.h"
#include "run/program/fusion/fusion.h"

/* So many kernels are looked through for a circle before it is taken for one: a bound on the time
 * for graphs of many thousand nodes. */
enum { KERNELS_MET = 4096 };
enum { HEAD_SMALL = 8, HEAD_LARGE = 256 }; /* of TensorRT's _gemm_mha_v2, as it was recorded */

struct search {
    struct ulp_kernels *kernels;
    /* by step: kept steps that its kernel reads, in sources[first_source[s] ..
     * first_source[s + 1]), and through places that change */
    int *sources;
    bool *indexed;
    size_t *first_source, source_count;
    int *stack;
    uint32_t *seen, stamp;
};

int ulp_kernel_root(const struct ulp_kernels *kernels, int step)
{
    while (step >= 0 && kernels->steps[step].kernel != step)
        step = kernels->steps[step].kernel;
    return step;
}

/* The kept steps that step s reads, through views and inlined steps, once each; with NULL they are
 * counted. */
static size_t list_sources(struct search *search, int s, int *out, bool *out_indexed)
{
    const struct ulp_kernels *kernels = search->kernels;
    size_t depth = 0, count = 0;
    search->stamp++;
    search->stack[depth++] = s;
    while (depth) {
        const int at = search->stack[--depth];
        const struct ulp_step *step = &kernels->block->steps[at];
        for (size_t i = 0; i < step->input_count; i++) {
            bool indexed = kernels->steps[at].split || kernels->steps[at].part == ULP_PART_COPY;
            const int from = step->inputs[i] < 0 ? -1 : ulp_kernel_source(kernels, at, i, &indexed);
            if (from < 0 || search->seen[from] == search->stamp)
                continue;
            search->seen[from] = search->stamp;
            if (!kernels->steps[from].kept) {
                search->stack[depth++] = from;
                continue;
            }
            if (out) {
                out[count] = from;
                out_indexed[count] = indexed;
            }
            count++;
        }
    }
    return count;
}

static enum ulp_status find_sources(struct search *search, struct ulp_error *error)
{
    const struct ulp_kernels *kernels = search->kernels;
    const size_t steps = kernels->block->step_count;
    for (size_t s = 0; s < steps; s++)
        search->first_source[s + 1] =
            search->first_source[s] +
            (kernels->steps[s].kept ? list_sources(search, (int)s, NULL, NULL) : 0);
    search->source_count = search->first_source[steps];
    ULP_TAKE(search->sources, kernels->memory, search->source_count + 1, error);
    ULP_TAKE(search->indexed, kernels->memory, search->source_count + 1, error);
    for (size_t s = 0; s < steps; s++)
        if (kernels->steps[s].kept)
            list_sources(search, (int)s, search->sources + search->first_source[s],
                         search->indexed + search->first_source[s]);
    return ULP_OK;
}

/* Do they run over the same elements? One that goes on with the results of rows may join, too. */
static bool are_alike(const struct ulp_kernel_step *a, const struct ulp_kernel_step *b)
{
    if (a->reduces && b->reduces)
        return a->total == b->total && (!a->rows || !b->rows || a->rows == b->rows);
    if (b->reduces)
        return are_alike(b, a);
    return a->total == b->total || (a->reduces && a->rows == b->total);
}

static bool may_join(const struct ulp_kernel_step *a, const struct ulp_kernel_step *b)
{
    const bool epilogue = a->contracts || b->contracts;
    return are_alike(a, b) && !(a->contracts && b->contracts) &&
           !(epilogue && (a->reduces || b->reduces));
}

/* Does the kernel `from` depend on `on` through another kernel? */
static bool depends_otherwise(struct search *search, int from, int on)
{
    const struct ulp_kernel_step *steps = search->kernels->steps;
    int first = on; /* the earliest step of `on`: nothing before it depends on it */
    for (int m = on; m >= 0; m = steps[m].next)
        first = m < first ? m : first;
    size_t depth = 0, met = 0;
    search->stamp++;
    search->stack[depth++] = from;
    search->seen[from] = search->stamp;
    while (depth) {
        const int at = search->stack[--depth];
        if (++met > KERNELS_MET)
            return true;
        for (int m = at; m >= 0; m = steps[m].next)
            for (size_t i = search->first_source[m]; i < search->first_source[m + 1]; i++) {
                const int root = ulp_kernel_root(search->kernels, search->sources[i]);
                if (root == on && at != from)
                    return true;
                if (root == on || search->seen[root] == search->stamp || steps[root].end < first)
                    continue;
                search->seen[root] = search->stamp;
                search->stack[depth++] = root;
            }
    }
    return false;
}

static void join_kernels(struct ulp_kernels *kernels, int a, int b)
{
    struct ulp_kernel_step *into = &kernels->steps[a], *from = &kernels->steps[b];
    if (from->reduces && (!into->reduces || !into->rows)) {
        into->total = from->total;
        into->rows = from->rows;
    }
    into->reduces |= from->reduces;
    into->contracts |= from->contracts;
    into->end = from->end > into->end ? from->end : into->end;
    kernels->steps[into->tail].next = b;
    into->tail = from->tail;
    from->kernel = a;
}

/* Attention of several heads is one kernel of TensorRT's, where a head fits its tiles. */
static bool is_attention(const struct ulp_kernels *kernels, const struct ulp_idiom *idiom)
{
    if (idiom->kind != ULP_IDIOM_ATTENTION)
        return false; /* its holes are others */
    const struct ulp_tensor *q = &kernels->block->slots[idiom->holes[ULP_IDIOM_Q]].shape;
    const int64_t head = q->rank >= 3 ? q->dims[q->rank - 1] : 0;
    return head > HEAD_SMALL && head <= HEAD_LARGE &&
           (int64_t)q->count > head * q->dims[q->rank - 2];
}

static enum ulp_status join_attention(struct ulp_kernels *kernels, struct ulp_error *error)
{
    struct ulp_idiom *idioms;
    size_t count;
    ULP_TRY(ulp_idioms_find(kernels->block, kernels->memory, &idioms, &count, error));
    for (size_t i = 0; i < count; i++) {
        int first = -1;
        for (size_t at = 0; is_attention(kernels, &idioms[i]) && at < idioms[i].step_count; at++) {
            const int s = idioms[i].steps[at];
            const bool begins = kernels->steps[s].part == ULP_PART_CONTRACTION;
            if (!kernels->steps[s].kept || (first < 0 && !begins))
                continue;
            if (first >= 0)
                join_kernels(kernels, first, s);
            first = first < 0 ? s : first;
        }
    }
    return ULP_OK;
}

static bool can_begin(enum ulp_kernel_part part)
{
    return ulp_part_is_computed(part) || part == ULP_PART_MEMORY || part == ULP_PART_CONTRACTION;
}

/* TensorRT's compiler gives elementwise work to a product's kernel in three turns: what a Conv's
 * own kernel has and, of a MatMul, what is no part of rows alone; then rows take what is before
 * them; then products take the rest. */
enum turn { TURN_OWN, TURN_ROWS, TURN_REST, TURN_COUNT };

static bool has_rows(const struct ulp_kernels *kernels, int s)
{
    bool rows = false;
    for (size_t r = kernels->first_reader[s]; r < kernels->first_reader[s + 1]; r++)
        rows |= kernels->steps[kernels->readers[r]].rows > 0;
    return rows;
}

static bool has_turn(const struct ulp_kernels *kernels, int s, int source, enum turn turn)
{
    const struct ulp_kernel_step *here = &kernels->steps[ulp_kernel_root(kernels, s)],
                                 *there = &kernels->steps[ulp_kernel_root(kernels, source)];
    if (turn == TURN_REST)
        return true;
    if (turn == TURN_ROWS)
        return !here->contracts && !there->contracts;
    return kernels->steps[s].part == ULP_PART_ELEMENTWISE && there->contracts &&
           (ulp_kernel_activates(kernels, s) ||
            (!ulp_step_is(&kernels->block->steps[source], "Conv") &&
             kernels->steps[s].reader_count > 1 && !has_rows(kernels, s)));
}

/* May the step join the source's kernel? A product's of OpenVINO takes what is its own. */
static bool takes(const struct ulp_kernels *kernels, int s, int source)
{
    const int there = ulp_kernel_root(kernels, source);
    return !kernels->taken ||
           (kernels->taken[s] >= 0 ? kernels->taken[s] == there : !kernels->steps[there].contracts);
}

/* Step s joins the kernels whose results it reads, the nearest first. */
static void join_sources(struct search *search, int s, enum turn turn)
{
    struct ulp_kernels *kernels = search->kernels;
    if (!kernels->steps[s].kept || !ulp_part_is_computed(kernels->steps[s].part))
        return;
    for (int nearest = s;;) {
        size_t at = SIZE_MAX;
        for (size_t i = search->first_source[s]; i < search->first_source[s + 1]; i++)
            if (search->sources[i] < nearest &&
                (at == SIZE_MAX || search->sources[i] > search->sources[at]))
                at = i;
        if (at == SIZE_MAX)
            return;
        nearest = search->sources[at];
        const int here = ulp_kernel_root(kernels, s), there = ulp_kernel_root(kernels, nearest);
        if (here != there && has_turn(kernels, s, nearest, turn) && takes(kernels, s, nearest) &&
            can_begin(kernels->steps[nearest].part) && !search->indexed[at] &&
            may_join(&kernels->steps[here], &kernels->steps[there]) &&
            !depends_otherwise(search, here, there))
            join_kernels(kernels, there, here);
    }
}

/* In which kernel a view or an inlined step is computed: in those of its readers, or in its own,
 * which ends with a Cast for a library. */
static int find_computed(const struct ulp_kernels *kernels, int step)
{
    int found = ULP_KERNEL_NONE;
    for (size_t r = kernels->first_reader[step]; r < kernels->first_reader[step + 1]; r++) {
        const int reader = kernels->readers[r];
        const bool cast = ulp_part_reads_memory(kernels->steps[reader].part) &&
                          ulp_kernels_cross(kernels, ulp_kernel_item(kernels, step),
                                            ulp_kernel_item(kernels, reader));
        const int root = cast ? step : ulp_kernel_of(kernels, reader);
        if (root == ULP_KERNEL_NONE || root == found)
            continue;
        if (root == ULP_KERNEL_SEVERAL || found != ULP_KERNEL_NONE)
            return ULP_KERNEL_SEVERAL;
        found = root;
    }
    return found;
}

enum ulp_status ulp_kernels_find(struct ulp_kernels *kernels, struct ulp_error *error)
{
    const size_t steps = kernels->block->step_count;
    struct ulp_arena *memory = kernels->memory;
    struct search search = {.kernels = kernels,
                            .first_source =
                                ulp_arena_take(memory, steps + 2, sizeof *search.first_source),
                            .stack = ulp_arena_take(memory, steps + 1, sizeof *search.stack),
                            .seen = ulp_arena_take(memory, steps + 1, sizeof *search.seen)};
    ULP_TRY(ulp_taken(search.first_source && search.stack && search.seen, error));
    if (ulp_kernels_plain(kernels))
        ULP_TRY(ulp_block_find_taken(kernels->block, memory, &kernels->taken, error));
    ULP_TRY(ulp_kernels_part(kernels, error));
    ULP_TRY(find_sources(&search, error));
    if (ulp_kernels_compiled(kernels))
        ULP_TRY(join_attention(kernels, error));
    for (enum turn turn = ulp_kernels_compiled(kernels) ? TURN_OWN : TURN_REST; turn < TURN_COUNT;
         turn++)
        for (size_t s = 0; s < steps; s++)
            join_sources(&search, (int)s, turn);
    for (size_t s = steps; s-- > 0;)
        if (!kernels->steps[s].kept)
            kernels->steps[s].kernel = find_computed(kernels, (int)s);
    return ULP_OK;
}
