/* A set of nodes as patterns that --plan reads. */
#include "analysis/plan/search.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/shown.h"

struct entries {
    const struct ulp_search *search;
    struct ulp_found *found;
    bool *chosen, *state; /* by node: of the last pattern; as the entries so far leave it */
};

/* Which nodes the pattern names; false: it is none. */
static bool choose(struct entries *entries, const char *pattern)
{
    memset(entries->chosen, 0, entries->search->plan->node_count * sizeof *entries->chosen);
    return ulp_pattern_choose(entries->search->plan, pattern, entries->chosen,
                              entries->search->memory, NULL) == ULP_OK;
}

/* The node's name, when it names nothing but the node and what its bodies hold; else its index. */
static enum ulp_status add_entry(struct entries *entries, size_t node, struct ulp_error *error)
{
    const struct ulp_plan *plan = entries->search->plan;
    const char *name = ulp_plan_node_name(plan, node);
    char index[32];
    struct ulp_found_entry *entry = &entries->found->entries[entries->found->entry_count];
    snprintf(index, sizeof index, "#%zu", node);
    if (!choose(entries, index))
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "node %zu has no pattern", node);
    size_t wanted = 0, named = 0;
    for (size_t n = 0; n < plan->node_count; n++)
        wanted += entries->chosen[n];
    bool whole = *name && ulp_is_utf8(name) && choose(entries, name) && entries->chosen[node];
    for (size_t n = 0; n < plan->node_count; n++)
        named += entries->chosen[n];
    whole = whole && named == wanted;
    if (!whole)
        name = index;
    choose(entries, name);
    entry->keep = entries->search->kept[node];
    entry->pattern = ulp_arena_text(entries->found->memory, name, strlen(name));
    entries->found->entry_count++;
    for (size_t n = 0; n < plan->node_count; n++)
        if (entries->chosen[n])
            entries->state[n] = entry->keep;
    return entry->pattern ? ULP_OK : ulp_search_memory(error);
}

/* An If, Loop or Scan names what its bodies hold, too, so those come first, the outermost before
 * the others. */
enum ulp_status ulp_search_entries(const struct ulp_search *search, struct ulp_found *found,
                                   struct ulp_error *error)
{
    const struct ulp_plan *plan = search->plan;
    struct entries entries = {.search = search, .found = found};
    found->entries = ulp_arena_take(found->memory, plan->node_count + 1, sizeof *found->entries);
    entries.chosen = ulp_arena_take(search->memory, plan->node_count + 1, sizeof(bool));
    entries.state = ulp_arena_take(search->memory, plan->node_count + 1, sizeof(bool));
    if (!found->entries || !entries.chosen || !entries.state)
        return ulp_search_memory(error);
    enum ulp_status status = ULP_OK;
    for (size_t n = plan->node_count; n-- > 0 && status == ULP_OK;)
        if (plan->nodes[n].step->bound.blocks && entries.state[n] != search->kept[n])
            status = add_entry(&entries, n, error);
    for (size_t n = 0; n < plan->node_count && status == ULP_OK; n++)
        if (!plan->nodes[n].step->bound.blocks && entries.state[n] != search->kept[n])
            status = add_entry(&entries, n, error);
    return status;
}
