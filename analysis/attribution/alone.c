/* One lane planned by itself, to run it again. */
#include "analysis/attribution/attribution.h"
#include "base/error.h"

/* What the lane keeps by itself. */
static enum ulp_status copy_keeps(struct ulp_alone *alone, size_t nodes, const struct ulp_mix *mix,
                                  struct ulp_error *error)
{
    ULP_TAKE(alone->keeps, alone->memory, mix->count + 1, error);
    for (size_t a = 1; a < mix->count; a++) {
        size_t *kept = ulp_arena_take(alone->memory, nodes + 1, sizeof *kept), count = 0;
        ULP_TRY(ulp_taken(kept, error));
        for (size_t n = 0; n < nodes; n++)
            if (ulp_mix_index(mix, n) == a)
                kept[count++] = n;
        alone->keeps[alone->keep_count++] =
            (struct ulp_keep){.nodes = kept, .node_count = count, .arithmetic = mix->items[a]};
    }
    return ULP_OK;
}

enum ulp_status ulp_alone_create(const struct ulp_program *program, size_t l, bool beside_reference,
                                 const struct ulp_tensor_set *inputs, struct ulp_alone *out,
                                 struct ulp_error *error)
{
    const struct ulp_arithmetic lanes[] = {program->lanes[0], program->lanes[l]};
    struct ulp_keeps keeps[2] = {0};
    struct ulp_groups groups[2] = {0};
    const size_t own = beside_reference ? 1 : 0;
    *out = (struct ulp_alone){0};
    ULP_TRY(ulp_arena_create(&out->memory, ulp_model_budget(program->model), error));
    ULP_TRY(copy_keeps(out, program->node_count, &program->mixes[l], error));
    keeps[own] = (struct ulp_keeps){.count = out->keep_count, .items = out->keeps};
    ULP_TRY(ulp_program_groups(program, l, out->memory, &groups[own], error));
    const struct ulp_program_options options = {.inputs = inputs, .keeps = keeps, .groups = groups};
    ULP_TRY(ulp_program_create(program->model, lanes + 1 - own, 1 + own, &options, &out->program,
                               error));
    if (out->program->node_count != program->node_count)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "the arithmetic alone is planned with other nodes");
    return ULP_OK;
}

void ulp_alone_free(struct ulp_alone *alone)
{
    ulp_program_free(alone->program);
    ulp_arena_free(alone->memory);
}
