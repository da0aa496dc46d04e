/* All idioms of a block: the rows of idiom.def tried at every node, from the last on. */
#include <string.h>

#include "base/error.h"
#include "run/idiom/idiom.h"
#include "run/idiom/idiom_read.h"

static const struct row {
    enum ulp_idiom_kind kind;
    const char *formula;
} rows[] = {
#define IDIOM(KIND, formula) {ULP_IDIOM_##KIND, formula},
#include "run/idiom/idiom.def"
#undef IDIOM
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Normalisations are of one family: an RMSNormalization inside a LayerNormalization is none. */
static uint32_t family(enum ulp_idiom_kind kind)
{
    return UINT32_C(1) << (kind == ULP_IDIOM_RMS_NORM ? ULP_IDIOM_LAYER_NORM : kind);
}

struct search {
    const struct ulp_block *block;
    struct ulp_idiom_formula *formulas; /* by row */
    uint32_t *taken;                    /* by step: the families whose idioms it is in */
    uint8_t *far; /* by step: steps back to one that every idiom has one of; that many: none */
    struct ulp_idiom *found;
    size_t count, capacity;
    struct ulp_arena *arena;
};

static bool add_found(struct search *search, const struct ulp_idiom *idiom)
{
    if (!ULP_ARENA_GROWS(search->found, search->arena, search->count, search->capacity))
        return false;
    search->found[search->count++] = *idiom;
    for (size_t s = 0; s < idiom->step_count; s++)
        search->taken[idiom->steps[s]] |= family(idiom->kind);
    return true;
}

static bool is_free(const struct search *search, const struct ulp_idiom *idiom)
{
    return !(search->taken[idiom->root] & family(idiom->kind));
}

static bool is_reduction(const struct ulp_step *step)
{
    return strncmp(step->bound.op->name, "Reduce", 6) == 0;
}

/* Where reductions leave their axes out, or a Reshape moves dimensions of 1: nothing is broadcast
 * but along these, after a Reshape that puts them back. */
static bool keeps_ranks(const struct ulp_block *block, const struct ulp_idiom *out)
{
    bool leaves_out = false;
    int rank = 0;
    for (size_t s = 0; s < out->step_count; s++) {
        const struct ulp_step *step = &block->steps[out->steps[s]];
        const bool reduces = is_reduction(step);
        const struct ulp_tensor *in = &block->slots[step->inputs[0]].shape;
        leaves_out |= reduces
                          ? !ulp_step_keeps_dims(step)
                          : out->axes && ulp_is_word(step->bound.op->name, "Reshape Expand") &&
                                !ulp_tensor_same_shape(in, &block->slots[step->outputs[0]].shape);
        rank = reduces && in->rank > rank ? in->rank : rank;
    }
    for (size_t s = 0; leaves_out && s < out->step_count; s++) {
        const struct ulp_step *step = &block->steps[out->steps[s]];
        const struct ulp_tensor *result = &block->slots[step->outputs[0]].shape;
        if (ulp_is_word(step->bound.op->name, "Reshape Expand"))
            for (int d = 0; d < result->rank; d++)
                if (result->rank != rank || (out->axes >> d & 1 && result->dims[d] != 1))
                    return false;
        const bool elementwise = step->bound.op->formula && !is_reduction(step);
        for (size_t i = 0; elementwise && i < step->own_input_count; i++) {
            const int slot = step->inputs[i];
            const struct ulp_tensor *in = slot >= 0 ? &block->slots[slot].shape : NULL;
            if (in && !ulp_slot_known(block, slot) && in->rank != result->rank)
                return false;
        }
    }
    return true;
}

/* Sums and products of a long chain match in so many ways that each would be tried to the end. */
static void find_far(struct search *search)
{
    static const char needed[] = "ReduceMean ReduceSum Erf Tanh Sigmoid Exp Softmax";
    for (size_t s = 0; s < search->block->step_count; s++) {
        const struct ulp_step *step = &search->block->steps[s];
        unsigned far = ulp_is_word(step->bound.op->name, needed) ? 0 : ULP_IDIOM_STEPS_MAX;
        for (size_t i = 0; i < step->own_input_count; i++) {
            const struct ulp_step *from = ulp_block_producer(search->block, step->inputs[i]);
            const unsigned one = from ? search->far[from - search->block->steps] + 1u : far;
            far = one < far ? one : far;
        }
        search->far[s] = (uint8_t)far;
    }
}

bool ulp_idiom_is_closed(const struct ulp_block *block, const struct ulp_idiom *idiom)
{
    for (size_t s = 0; s + 1 < idiom->step_count; s++) {
        const struct ulp_step *step = &block->steps[idiom->steps[s]];
        for (size_t o = 0; o < step->output_count; o++)
            if (!ulp_block_read_within(block, step->outputs[o], idiom->steps, idiom->step_count))
                return false;
    }
    return true;
}

void ulp_idiom_leave_cast(const struct ulp_block *block, struct ulp_idiom *idiom)
{
    const struct ulp_step *first = &block->steps[idiom->steps[0]];
    if (ulp_step_is(first, "Cast") &&
        !ulp_block_read_within(block, first->outputs[0], idiom->steps, idiom->step_count))
        memmove(idiom->steps, idiom->steps + 1, --idiom->step_count * sizeof *idiom->steps);
}

static bool find_at(struct search *search, int step)
{
    for (int r = 0; r < ROWS; r++) {
        struct ulp_idiom idiom = {.kind = rows[r].kind, .formula = rows[r].formula, .root = step};
        if (is_free(search, &idiom) &&
            ulp_idiom_match(search->block, step, &search->formulas[r], &idiom) &&
            keeps_ranks(search->block, &idiom) && !add_found(search, &idiom))
            return false;
    }
    return true;
}

enum ulp_status ulp_idioms_find(const struct ulp_block *block, struct ulp_arena *arena,
                                struct ulp_idiom **out, size_t *count, struct ulp_error *error)
{
    struct search search = {.block = block,
                            .arena = arena,
                            .formulas = ulp_arena_take(arena, ROWS, sizeof *search.formulas),
                            .taken = ulp_arena_take(arena, block->step_count + 1, sizeof(uint32_t)),
                            .far = ulp_arena_take(arena, block->step_count + 1, 1)};
    *out = NULL;
    *count = 0;
    ULP_TRY(ulp_taken(search.formulas && search.taken && search.far, error));
    for (int r = 0; r < ROWS; r++)
        ULP_TRY(ulp_idiom_parse(rows[r].formula, &search.formulas[r], error));
    find_far(&search);
    for (size_t s = block->step_count; s-- > 0;)
        if (!block->steps[s].folded && search.far[s] < ULP_IDIOM_STEPS_MAX &&
            !find_at(&search, (int)s))
            return ulp_out_of_memory(error);
    for (size_t i = 0; i < search.count / 2; i++) { /* found from the last on */
        const struct ulp_idiom last = search.found[search.count - 1 - i];
        search.found[search.count - 1 - i] = search.found[i];
        search.found[i] = last;
    }
    *out = search.found;
    *count = search.count;
    return ULP_OK;
}
