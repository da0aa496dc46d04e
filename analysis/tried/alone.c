/* One lane planned by itself, to run it again. */
#include "analysis/tried/tried.h"
#include "base/error.h"

enum ulp_status ulp_lane_keeps(const struct ulp_program *program, size_t l,
                               struct ulp_arena *memory, struct ulp_keep **out, size_t *count,
                               struct ulp_error *error)
{
    const struct ulp_mix *mix = &program->mixes[l];
    *count = 0;
    ULP_TAKE(*out, memory, mix->count + 1, error);
    for (size_t a = 1; a < mix->count; a++) {
        struct ulp_keep *keep = &(*out)[(*count)++];
        ULP_TAKE_ARRAY(size_t, nodes, memory, program->node_count + 1, error);
        *keep = (struct ulp_keep){.nodes = nodes, .arithmetic = mix->items[a]};
        for (size_t n = 0; n < program->node_count; n++)
            if (ulp_mix_index(mix, n) == a)
                nodes[keep->node_count++] = n;
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
    out->lane = own;
    ULP_TRY(ulp_lane_keeps(program, l, out->memory, &out->keeps, &out->keep_count, error));
    keeps[own] = (struct ulp_keeps){.count = out->keep_count, .items = out->keeps};
    ULP_TRY(ulp_program_groups(program, l, out->memory, &groups[own], error));
    const struct ulp_program_options options = {.inputs = inputs,
                                                .keeps = keeps,
                                                .groups = groups,
                                                .spelled = program->spelled};
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

enum ulp_status ulp_alone_keep(struct ulp_alone *alone, const size_t *nodes, size_t count,
                               const struct ulp_arithmetic *arithmetic, struct ulp_error *error)
{
    const struct ulp_keeps keeps = {.count = alone->keep_count + (count > 0),
                                    .items = alone->keeps};
    alone->keeps[alone->keep_count] =
        (struct ulp_keep){.nodes = nodes, .node_count = count, .arithmetic = *arithmetic};
    return ulp_program_keep(alone->program, alone->lane, &keeps, error);
}
