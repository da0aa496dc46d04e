/* Rules about operators that are written out as several nodes. They are found on a plan
 * (run/idiom): a model that cannot be planned has none. */
#include <string.h>

#include "analysis/lint/lint.h"
#include "run/idiom/idiom.h"

/* Which nodes are part of one, in the plan at the sizes given. */
static void mark(struct ulp_lint *lint)
{
    ulp_lint_plan(lint);
    if (lint->failed)
        return;
    lint->in_idiom = ulp_arena_take(lint->arena, lint->node_count + 1, sizeof *lint->in_idiom);
    lint->failed |= !lint->in_idiom;
    for (size_t b = 0; b < lint->planned->block_count && !lint->failed; b++) {
        const struct ulp_lint_idioms *found = &lint->planned->idioms[b];
        for (size_t i = 0; i < found->count; i++)
            for (size_t s = 0; s < found->items[i].step_count; s++) {
                const struct ulp_lint_place place =
                    ulp_lint_place_of(lint, &found->block->steps[found->items[i].steps[s]]);
                if (place.node)
                    lint->in_idiom[ulp_lint_number(place)] = true;
            }
    }
}

bool ulp_lint_in_idiom(struct ulp_lint *lint, struct ulp_lint_place place)
{
    if (!lint->in_idiom && !lint->failed)
        mark(lint);
    return lint->in_idiom && lint->in_idiom[ulp_lint_number(place)];
}

void ulp_lint_weights_coded(struct ulp_lint *lint)
{
    struct ulp_lint_place first = {0};
    size_t count = 0;
    ulp_lint_plan(lint);
    struct ulp_program *program = lint->failed ? NULL : lint->planned->program;
    for (size_t n = 0; program && n < program->node_count; n++) {
        const struct ulp_step *step = program->nodes[n].step;
        if (!ulp_step_coded_block(program->nodes[n].block, step))
            continue;
        first = count++ ? first : ulp_lint_place_of(lint, step);
    }
    if (count)
        ulp_lint_add(lint, first, NULL,
                     "%zu product%s of dequantised weights round%s the other factor to INT8", count,
                     count == 1 ? "" : "s", count == 1 ? "s" : "");
}

/* A model that declares FP16 keeps other nodes in FP32 on purpose. */
static bool gives_half(const struct ulp_lint *lint, struct ulp_lint_place place)
{
    return ulp_lint_in_half(lint, ulp_lint_type(place.graph, ulp_lint_output(place, 0)));
}

/* Does every node of the idiom but its Casts? Where one is in FP32, somebody has seen to it. */
static bool is_in_half(const struct ulp_lint *lint, const struct ulp_block *block,
                       const struct ulp_idiom *idiom)
{
    for (size_t s = 0; s < idiom->step_count; s++) {
        const struct ulp_step *step = &block->steps[idiom->steps[s]];
        const struct ulp_lint_place place = ulp_lint_place_of(lint, step);
        if (place.node && strcmp(step->bound.op->name, "Cast") != 0 && !gives_half(lint, place))
            return false;
    }
    return true;
}

/* The operators normalise the last axes: those of the idiom, when their shape is known. */
static bool reduces_last_axes(const struct ulp_block *block, const struct ulp_idiom *idiom)
{
    const struct ulp_tensor *x = &block->slots[idiom->holes[ULP_IDIOM_X]].shape;
    if (idiom->axis < 0 || x->type == ULP_TYPE_UNDEFINED)
        return true;
    const uint32_t all = (UINT32_C(1) << x->rank) - 1, before = (UINT32_C(1) << idiom->axis) - 1;
    return idiom->axes == (all & ~before);
}

struct found {
    const struct ulp_block *block;
    const struct ulp_idiom *idiom;
};

static bool is_there(const struct ulp_lint *lint, size_t at, const void *of)
{
    const struct found *found = of;
    const struct ulp_block *block;
    return ulp_lint_idiom_at(lint, at, found->block, found->idiom, &block) != NULL;
}

/* Report the idioms of kinds first to last. An attention has its Softmax reported with it. */
static void report(struct ulp_lint *lint, enum ulp_idiom_kind first, enum ulp_idiom_kind last,
                   const char *what)
{
    ulp_lint_plan(lint);
    for (size_t b = 0; !lint->failed && b < lint->planned->block_count; b++)
        for (size_t i = 0; i < lint->planned->idioms[b].count; i++) {
            const struct found found = {lint->planned->idioms[b].block,
                                        &lint->planned->idioms[b].items[i]};
            const struct ulp_idiom *idiom = found.idiom;
            const struct ulp_step *root = &found.block->steps[idiom->root];
            const char *why;
            const struct ulp_lint_place place = ulp_lint_place_of(lint, root),
                                        first_place =
                                            ulp_lint_place_of(lint,
                                                              &found.block->steps[idiom->steps[0]]);
            const bool normalises =
                idiom->kind == ULP_IDIOM_LAYER_NORM || idiom->kind == ULP_IDIOM_RMS_NORM;
            if (idiom->kind < first || idiom->kind > last || idiom->step_count < 2 ||
                (normalises && !reduces_last_axes(found.block, idiom)) ||
                !is_in_half(lint, found.block, idiom))
                continue;
            lint->common.begins = first_place.node ? ulp_lint_number(first_place) : 0;
            if (ulp_lint_holds(lint, is_there, &found, &why))
                ulp_lint_add(lint, place, NULL, "%zu nodes that end in '%s' are %s",
                             idiom->step_count, root->name, what);
            else if (why)
                ulp_lint_add(lint, place, NULL,
                             "%s, and at some sizes alone %zu nodes that end in '%s' are %s", why,
                             idiom->step_count, root->name, what);
        }
}

void ulp_lint_written(struct ulp_lint *lint)
{
    static const struct {
        const char *rule;
        enum ulp_idiom_kind first, last;
        const char *what;
    } rows[] = {{"decomposed-layernorm", ULP_IDIOM_LAYER_NORM, ULP_IDIOM_LAYER_NORM,
                 "one LayerNormalization"},
                {"decomposed-rmsnorm", ULP_IDIOM_RMS_NORM, ULP_IDIOM_RMS_NORM,
                 "one RMSNormalization"},
                {"decomposed-gelu", ULP_IDIOM_GELU_ERF, ULP_IDIOM_GELU_TANH, "one Gelu"},
                {"decomposed-softmax", ULP_IDIOM_SOFTMAX, ULP_IDIOM_SOFTMAX, "one Softmax"},
                {"decomposed-attention", ULP_IDIOM_ATTENTION, ULP_IDIOM_ATTENTION,
                 "one Attention"}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        if (strcmp(rows[r].rule, lint->common.rule) == 0)
            report(lint, rows[r].first, rows[r].last, rows[r].what);
}
