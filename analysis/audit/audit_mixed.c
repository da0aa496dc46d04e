/* Lanes with kept nodes: their arithmetics and borders in the audit. */
#include "base/error.h"
#include "analysis/audit/audit_mixed.h"

#include <string.h>

#include "run/program/program.h"

ULP_FREES(ulp_borders_free, struct ulp_border)

const struct ulp_arithmetic *ulp_audit_node_arithmetic(const struct ulp_audit_lane *lane,
                                                       const struct ulp_audit_node *node)
{
    return node->kept < 0 ? &lane->arithmetic : &lane->kept[node->kept];
}

struct ulp_asked ulp_audit_asked(const struct ulp_audit_lane *lane)
{
    const char *asked = lane->arithmetic.asked, *kept = strstr(lane->name, ",keep=");
    const size_t base = strcspn(asked, ",");
    const bool named =
        strncmp(lane->name, asked, base) == 0 && (lane->name[base] == ',' || !lane->name[base]);
    const char *text = named ? lane->name : asked;
    return (struct ulp_asked){text, (int)(named && kept ? (size_t)(kept - text) : strlen(text))};
}

struct ulp_format ulp_audit_format(const struct ulp_audit_lane *lane,
                                   const struct ulp_audit_node *node,
                                   const struct ulp_audit_output *output)
{
    const struct ulp_arithmetic *arithmetic = ulp_audit_node_arithmetic(lane, node);
    struct ulp_format format = node->kernel.unstored ? arithmetic->inner : arithmetic->storage;
    if (arithmetic->as_declared && ulp_type_is_float(output->type))
        ulp_format_find(ulp_type_format(arithmetic, output->type), &format, NULL);
    return format;
}

struct ulp_format ulp_audit_node_format(const struct ulp_audit_lane *lane,
                                        const struct ulp_audit_node *node)
{
    const struct ulp_arithmetic *arithmetic = ulp_audit_node_arithmetic(lane, node);
    for (size_t o = 0; o < node->output_count && arithmetic->as_declared; o++)
        if (ulp_type_is_float(node->outputs[o].type))
            return ulp_audit_format(lane, node, &node->outputs[o]);
    return arithmetic->storage;
}

/* The name that lives with the lane. */
static const char *find_name(const struct ulp_audit_lane *lane, const struct ulp_mix *mix,
                             const struct ulp_arithmetic *arithmetic)
{
    return arithmetic == mix->items ? lane->arithmetic.name
                                    : lane->kept[arithmetic - mix->items - 1].name;
}

static enum ulp_status keep_borders(struct ulp_audit_lane *lane, const struct ulp_mix *mix,
                                    const struct ulp_border *borders, size_t count,
                                    struct ulp_arena *memory, struct ulp_error *error)
{
    ULP_TAKE(lane->borders, memory, count + 1, error);
    for (size_t b = 0; b < count; b++) {
        const struct ulp_border *from = &borders[b];
        lane->borders[b] = (struct ulp_audit_border){.value = ulp_arena_copy(memory, from->value),
                                                     .from = find_name(lane, mix, from->from),
                                                     .to = find_name(lane, mix, from->to),
                                                     .producer = from->producer,
                                                     .first_reader = from->first_reader,
                                                     .reader_count = from->reader_count,
                                                     .elements = from->elements};
        ULP_TRY(ulp_taken(lane->borders[b].value, error));
    }
    lane->border_count = count;
    return ULP_OK;
}

enum ulp_status ulp_mixed_prepare(struct ulp_audit_lane *lane, const struct ulp_program *program,
                                  size_t index, struct ulp_arena *memory, struct ulp_error *error)
{
    const struct ulp_mix *mix = &program->mixes[index];
    const char *name = ulp_program_lane_name(program, index);
    ULP_SCOPED(ulp_borders_free_of) struct ulp_border *borders = NULL;
    size_t count;
    lane->name = ulp_arena_copy(memory, name);
    lane->kept_count = mix->count - 1;
    lane->kept = ulp_arena_take(memory, mix->count, sizeof *lane->kept);
    ULP_TRY(ulp_taken(lane->name && lane->kept, error));
    memcpy(lane->kept, mix->items + 1, lane->kept_count * sizeof *lane->kept);
    for (size_t n = 0; n < lane->node_count; n++)
        lane->nodes[n].kept = (ptrdiff_t)ulp_mix_index(mix, n) - 1;
    ULP_TRY(ulp_program_borders(program, index, &borders, &count, error));
    return keep_borders(lane, mix, borders, count, memory, error);
}
