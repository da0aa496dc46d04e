/* What each node is kept in as patterns that --plan reads. */
#include <stdio.h>
#include <string.h>

#include "analysis/emulation/emulation.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/text/shown.h"

struct entries {
    const struct ulp_program *program;
    struct ulp_arena *memory, *scratch;
    struct ulp_entry *items;
    size_t count;
    bool *chosen;    /* by node: of the last pattern */
    uint16_t *state; /* by node: as the entries so far leave it */
};

/* Which nodes the pattern names; false: it is none. */
static bool choose_by_pattern(struct entries *entries, const char *pattern)
{
    memset(entries->chosen, 0, entries->program->node_count * sizeof *entries->chosen);
    return ulp_pattern_choose(entries->program, pattern, entries->chosen, entries->scratch, NULL) ==
           ULP_OK;
}

static size_t count_chosen(const struct entries *entries)
{
    size_t count = 0;
    for (size_t n = 0; n < entries->program->node_count; n++)
        count += entries->chosen[n];
    return count;
}

/* The node's name, when it names nothing but the node and what its bodies hold; else its index. */
static enum ulp_status add_entry(struct entries *entries, size_t node, uint16_t kept,
                                 struct ulp_error *error)
{
    const char *name = ulp_program_node_name(entries->program, node);
    char index[32];
    struct ulp_entry *entry = &entries->items[entries->count++];
    snprintf(index, sizeof index, "#%zu", node);
    if (!choose_by_pattern(entries, index))
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "node %zu has no pattern", node);
    const size_t wanted = count_chosen(entries);
    const bool whole = *name && ulp_is_utf8(name) && choose_by_pattern(entries, name) &&
                       entries->chosen[node] && count_chosen(entries) == wanted;
    if (!whole) {
        name = index;
        choose_by_pattern(entries, name);
    }
    entry->kept = kept;
    entry->pattern = ulp_arena_copy(entries->memory, name);
    for (size_t n = 0; n < entries->program->node_count; n++)
        if (entries->chosen[n])
            entries->state[n] = kept;
    return ulp_taken(entry->pattern, error);
}

/* An If, Loop or Scan names what its bodies hold, too, so those come first, the outermost before
 * the others. */
enum ulp_status ulp_emulation_entries(const struct ulp_emulation *emulation, const uint16_t *kept,
                                      struct ulp_arena *memory, struct ulp_entry **out,
                                      size_t *count, struct ulp_error *error)
{
    const struct ulp_program *program = emulation->program;
    const size_t nodes = program->node_count;
    struct entries entries = {.program = program,
                              .memory = memory,
                              .scratch = emulation->memory,
                              .items = ulp_arena_take(memory, nodes + 1, sizeof *entries.items)};
    entries.chosen = ulp_arena_take(emulation->memory, nodes + 1, sizeof *entries.chosen);
    entries.state = ulp_arena_take(emulation->memory, nodes + 1, sizeof *entries.state);
    ULP_TRY(ulp_taken(entries.items && entries.chosen && entries.state, error));
    for (size_t n = nodes; n-- > 0;)
        if (program->nodes[n].step->bound.blocks && entries.state[n] != kept[n])
            ULP_TRY(add_entry(&entries, n, kept[n], error));
    for (size_t n = 0; n < nodes; n++)
        if (!program->nodes[n].step->bound.blocks && entries.state[n] != kept[n])
            ULP_TRY(add_entry(&entries, n, kept[n], error));
    *out = entries.items;
    *count = entries.count;
    return ULP_OK;
}
