/* Steps behind a product by constant weights, with nothing between them but what its kernel takes
 * in: what a runtime's compiler makes one kernel of, which computes functions otherwise
 * (steps.def). */
#include <string.h>

#include "base/text/text.h"
#include "run/program/program.h"

#define DEPTH_MAX 6 /* nodes between them; recorded were up to three */
#define ROWS_FEW 64 /* of a product that a Tanh behind it is computed with */

struct path {
    const struct ulp_block *block;
    const struct ulp_step *end;
    bool reshaped;
    int moved; /* Transposes between the product and the Reshape */
    int depth;
};

static bool is_constant(const struct ulp_block *block, int slot)
{
    const struct ulp_step *step = ulp_block_producer(block, slot);
    return slot >= 0 && (block->slots[slot].constant || (step && step->settled));
}

/* Is the value also a factor of what the function ends in: x sigmoid(x), or x (1 + erf(x / a))? */
static bool is_gated(const struct path *path, const struct ulp_step *step, int i)
{
    return strcmp(step->bound.op->name, "Mul") == 0 &&
           (strcmp(path->end->bound.op->name, "Erf") == 0 ||
            (strcmp(path->end->bound.op->name, "Sigmoid") == 0 && path->depth == 0 &&
             step->inputs[i == 0] == path->end->outputs[0]));
}

/* Is it read on the path alone? *gated: apart from that. */
static bool is_inner(const struct path *path, int slot, bool *gated)
{
    const struct ulp_reading *all;
    const size_t count = ulp_block_readings(path->block, slot, &all);
    size_t others = 0;
    for (size_t r = 0; r < count; r++) {
        if (all[r].step < 0)
            return false;
        const bool mul = is_gated(path, &path->block->steps[all[r].step], all[r].input);
        *gated |= mul;
        others += !mul;
    }
    return others <= 1;
}

/* A Conv has channels and places, a product of matrices columns and rows. Depthwise ones are
 * kernels of their own. */
static enum ulp_behind find_kind(const struct ulp_block *block, const struct ulp_step *step)
{
    const struct ulp_tensor *out = &block->slots[step->outputs[0]].shape;
    const bool conv = strcmp(step->bound.op->name, "Conv") == 0;
    const struct ulp_attribute_value *group = ulp_bound_attribute(&step->bound, "group");
    if ((!is_constant(block, step->inputs[1]) && (conv || !is_constant(block, step->inputs[0]))) ||
        (conv && group && group->i > 1 && block->slots[step->inputs[1]].shape.dims[1] == 1) ||
        out->rank < 2)
        return ULP_BEHIND_NONE;
    const int columns = conv ? 1 : out->rank - 1, wide = conv ? out->rank - 1 : out->rank - 2;
    int64_t rows = 1, others = 1;
    for (int d = conv ? 2 : 0; d < out->rank; d++)
        if (d == wide || (!conv && out->rank < 4 && d != columns))
            rows *= out->dims[d];
        else if (d != columns)
            others *= out->dims[d];
    return others > 1 || rows <= ROWS_FEW ? ULP_BEHIND_FEW
           : rows % 8                     ? ULP_BEHIND_ODD
                                          : ULP_BEHIND_MANY;
}

/* The product that the value in `slot` is of. A Reshape is taken in where it leaves the kernel's
 * order of elements: behind a Conv, which has its channels last there, after one Transpose. */
static enum ulp_behind find_product(struct path path, int slot)
{
    const struct ulp_step *step = ulp_block_producer(path.block, slot);
    bool gated = false;
    if (!step || step->folded || path.depth > DEPTH_MAX || !is_inner(&path, slot, &gated))
        return ULP_BEHIND_NONE;
    const char *op = step->bound.op->name;
    const int *in = step->inputs;
    enum ulp_behind found = ULP_BEHIND_NONE;
    path.depth++;
    if (ulp_is_word(op, "Conv MatMul Gemm")) {
        if (!path.reshaped || path.moved == (op[0] == 'C'))
            found = find_kind(path.block, step);
    } else if (strcmp(op, "Transpose") == 0) {
        path.moved++;
        found = find_product(path, in[0]);
    } else if (ulp_is_word(op, "Reshape Flatten Squeeze Unsqueeze")) {
        path.reshaped = true;
        path.moved = 0;
        found = find_product(path, in[0]);
    } else if (ulp_is_word(op, "Identity BatchNormalization Add") ||
               (ulp_is_word(op, "Sub Mul Div") && is_constant(path.block, in[1]))) {
        found = find_product(path, in[0]);
        if (!found && strcmp(op, "Add") == 0)
            found = find_product(path, in[1]);
    }
    return gated && found < ULP_BEHIND_FEW ? ULP_BEHIND_NONE : found;
}

void ulp_program_find_behind(struct ulp_block *block)
{
    for (size_t s = 0; s < block->step_count; s++) {
        struct ulp_step *step = &block->steps[s];
        bool has = false;
        for (int v = ULP_VARIANT_HTP_FEW; v < ULP_VARIANT_HTP; v++)
            has |= step->bound.variants[v] != NULL;
        if (has && !step->folded)
            step->behind =
                find_product((struct path){.block = block, .end = step}, step->inputs[0]);
    }
}
