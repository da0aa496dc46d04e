/* Kernels that the caller names: the groups of a lane with fuse=groups. */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/text/names.h"
#include "run/program/fusion/fusion.h"

/* Nodes by their names: the first of each name, and the next of the same name. A node of the model
 * that the program does not have (a Constant) is CONSTANT: naming it does nothing. */
enum { CONSTANT = INT_MAX };
struct directory {
    const struct ulp_program *program;
    struct ulp_names names;
    int *next; /* -1: none */
};

static enum ulp_status list_names(struct directory *directory, const struct ulp_program *program,
                                  struct ulp_arena *scratch, struct ulp_error *error)
{
    directory->program = program;
    directory->names.budget = ulp_arena_budget(scratch);
    directory->next = ulp_arena_take(scratch, program->node_count + 1, sizeof *directory->next);
    int *last = ulp_arena_take(scratch, program->node_count + 1, sizeof *last);
    ULP_TRY(ulp_taken(directory->next && last, error));
    for (size_t n = 0; n < program->node_count; n++) {
        const int first = ulp_names_find(&directory->names, program->nodes[n].step->name);
        directory->next[n] = -1;
        if (first < 0 && !ulp_names_add(&directory->names, program->nodes[n].step->name, (int)n))
            return ulp_out_of_memory(error);
        if (first >= 0)
            directory->next[last[first]] = (int)n;
        last[first < 0 ? (int)n : first] = (int)n;
    }
    const struct ulp_graph *graph = program->model->graph;
    for (size_t n = 0; n < graph->node_count; n++)
        if (ulp_names_find(&directory->names, graph->nodes[n].name) < 0 &&
            !ulp_names_add(&directory->names, graph->nodes[n].name, CONSTANT))
            return ulp_out_of_memory(error);
    return ULP_OK;
}

/* The first node that the text names; -1: none. *single: by its index, so that no other is. */
static int find_named_node(const struct directory *directory, const char *text, bool *single)
{
    const int named = ulp_names_find(&directory->names, text);
    *single = false;
    if (named >= 0 || *text != '#' || !isdigit((unsigned char)text[1]))
        return named;
    char *end;
    const unsigned long long index = strtoull(text + 1, &end, 10);
    *single = true;
    return !*end && index < directory->program->node_count ? (int)index : -1;
}

/* What to do with each node that is named. */
struct entry {
    size_t group;
    struct ulp_grouping *grouping;
    size_t *filled; /* by node: how many of its groups are in; NULL: they are only counted */
    bool rounded;
};

static bool is_in(const struct ulp_grouping *grouping, const size_t *filled, size_t node,
                  size_t group)
{
    return filled[node] && grouping->groups[grouping->first[node] + filled[node] - 1] == group;
}

static void enter_node(const struct entry *entry, size_t node)
{
    struct ulp_grouping *grouping = entry->grouping;
    if (entry->rounded)
        grouping->rounded[node] = true;
    else if (!entry->filled)
        grouping->first[node + 1]++;
    else if (!is_in(grouping, entry->filled, node, entry->group))
        grouping->groups[grouping->first[node] + entry->filled[node]++] = (uint32_t)entry->group;
}

static enum ulp_status refuse(const struct directory *directory, const struct ulp_group *group,
                              size_t number, const char *name, struct ulp_error *error)
{
    const enum ulp_status status =
        *name == '#'
            ? ulp_fail(error, ULP_ERROR_USAGE,
                       "no node is called '%s', and the model has %zu nodes, #0 to #%zu", name,
                       directory->program->node_count,
                       directory->program->node_count ? directory->program->node_count - 1 : 0)
            : ulp_pattern_refuse(directory->program, name, error);
    return group->name ? ulp_fail_at(error, status, "group %zu '%s'", number + 1, group->name)
                       : ulp_fail_at(error, status, "group %zu", number + 1);
}

static enum ulp_status enter_names(const struct directory *directory, const struct ulp_group *group,
                                   const struct entry *entry, struct ulp_error *error)
{
    const char *const *names = entry->rounded ? group->rounded : group->nodes;
    const size_t count = entry->rounded ? group->rounded_count : group->node_count;
    for (size_t i = 0; i < count; i++) {
        bool single;
        int node = find_named_node(directory, names[i], &single);
        if (node < 0)
            return refuse(directory, group, entry->group, names[i], error);
        for (; node >= 0 && node != CONSTANT; node = single ? -1 : directory->next[node]) {
            if (entry->rounded &&
                !is_in(entry->grouping, entry->filled, (size_t)node, entry->group))
                return ulp_fail(error, ULP_ERROR_USAGE,
                                "group %zu%s%s: '%s' is to be rounded there and is none of its "
                                "nodes",
                                entry->group + 1, group->name ? " " : "",
                                group->name ? group->name : "", names[i]);
            enter_node(entry, (size_t)node);
        }
    }
    return ULP_OK;
}

/* Count, make room, enter. */
static enum ulp_status fill_grouping(struct ulp_grouping *grouping,
                                     const struct directory *directory,
                                     const struct ulp_groups *groups, struct ulp_arena *memory,
                                     struct ulp_arena *scratch, struct ulp_error *error)
{
    const size_t nodes = directory->program->node_count;
    ULP_TAKE_ARRAY(size_t, filled, scratch, nodes + 1, error);
    for (size_t g = 0; g < groups->count; g++)
        ULP_TRY(enter_names(directory, &groups->items[g], &(struct entry){g, grouping, NULL, false},
                            error));
    for (size_t n = 0; n < nodes; n++)
        grouping->first[n + 1] += grouping->first[n];
    grouping->groups = ulp_arena_take(memory, grouping->first[nodes] + 1, sizeof(uint32_t));
    if (!grouping->groups)
        return ulp_out_of_memory(error);
    for (size_t g = 0; g < groups->count; g++) {
        const struct ulp_group *group = &groups->items[g];
        ULP_TRY(enter_names(directory, group, &(struct entry){g, grouping, filled, false}, error));
        ULP_TRY(enter_names(directory, group, &(struct entry){g, grouping, filled, true}, error));
    }
    /* a node that a group names twice was counted twice: close the gaps */
    size_t end = 0;
    for (size_t n = 0; n < nodes; n++) {
        memmove(&grouping->groups[end], &grouping->groups[grouping->first[n]],
                filled[n] * sizeof *grouping->groups);
        grouping->first[n] = end;
        end += filled[n];
    }
    grouping->first[nodes] = end;
    return ULP_OK;
}

static void free_directory(struct directory *directory)
{
    ulp_names_free(&directory->names);
}

enum ulp_status ulp_program_group(struct ulp_program *program, size_t lane,
                                  const struct ulp_groups *groups, struct ulp_error *error)
{
    if (!groups || !groups->count)
        return ulp_fail(
            error, ULP_ERROR_USAGE,
            "%s: the program is given no groups for it; a command takes them as fuse=FILE",
            program->lanes[lane].name);
    if (groups->count >= UINT32_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE, "%zu groups: at most %u", groups->count,
                        UINT32_MAX - 1);
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *scratch = NULL;
    ULP_SCOPED(free_directory) struct directory directory = {0};
    ULP_TRY(ulp_arena_create(&scratch, &program->budget, error));
    const char *name = groups->name ? groups->name : "groups";
    ULP_TAKE_ARRAY(struct ulp_grouping, grouping, program->arena, 1, error);
    grouping->count = groups->count;
    grouping->name = ulp_arena_copy(program->arena, name);
    ULP_TAKE(grouping->first, program->arena, program->node_count + 2, error);
    ULP_TAKE(grouping->rounded, program->arena, program->node_count + 1, error);
    ULP_TRY(ulp_taken(grouping->name, error));
    ULP_TRY(list_names(&directory, program, scratch, error));
    ULP_TRY(fill_grouping(grouping, &directory, groups, program->arena, scratch, error));
    program->groupings[lane] = grouping;
    return ULP_OK;
}

enum ulp_status ulp_program_groups(const struct ulp_program *program, size_t lane,
                                   struct ulp_arena *arena, struct ulp_groups *out,
                                   struct ulp_error *error)
{
    const struct ulp_grouping *grouping = program->groupings[lane];
    *out = (struct ulp_groups){0};
    if (!grouping)
        return ULP_OK;
    const size_t entries = grouping->first[program->node_count];
    struct ulp_group *items = ulp_arena_take(arena, grouping->count, sizeof *items);
    const char **names = ulp_arena_take(arena, 2 * entries + 1, sizeof *names);
    ULP_TRY(ulp_taken(items && names, error));
    for (size_t i = 0; i < entries; i++)
        items[grouping->groups[i]].node_count++;
    for (size_t g = 0, end = 0; g < grouping->count; g++) {
        items[g].nodes = names + end;
        items[g].rounded = names + entries + end;
        end += items[g].node_count;
        items[g].node_count = 0;
    }
    for (size_t n = 0; n < program->node_count; n++)
        for (size_t i = grouping->first[n]; i < grouping->first[n + 1]; i++) {
            struct ulp_group *item = &items[grouping->groups[i]];
            const char *name = program->nodes[n].step->name;
            ((const char **)(uintptr_t)item->nodes)[item->node_count++] = name;
            if (grouping->rounded[n])
                ((const char **)(uintptr_t)item->rounded)[item->rounded_count++] = name;
        }
    *out = (struct ulp_groups){grouping->count, items, grouping->name};
    return ULP_OK;
}

size_t ulp_grouping_count(const struct ulp_grouping *grouping, size_t node)
{
    return grouping->first[node + 1] - grouping->first[node];
}

/* Both lists ascend. */
bool ulp_grouping_shares(const struct ulp_grouping *grouping, size_t reader, size_t source)
{
    size_t at = grouping->first[source];
    for (size_t i = grouping->first[reader]; i < grouping->first[reader + 1]; i++) {
        while (at < grouping->first[source + 1] && grouping->groups[at] < grouping->groups[i])
            at++;
        if (at == grouping->first[source + 1] || grouping->groups[at] != grouping->groups[i])
            return false;
    }
    return ulp_grouping_count(grouping, reader) > 0 && !grouping->rounded[source];
}
