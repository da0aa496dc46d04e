/* Finding the nodes that a pattern of --keep names. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/text/glob.h"
#include "base/text/suggest.h"
#include "run/program/program.h"

static const char *node_name(const void *context, size_t i)
{
    const struct ulp_program *program = context;
    return program->nodes[i].step->name;
}

static const char *node_op(const void *context, size_t i)
{
    const struct ulp_program *program = context;
    return program->nodes[i].step->bound.node->op_type;
}

/* The nodes of a step's bodies. */
static void choose_bodies(const struct ulp_step *step, bool *chosen)
{
    for (int a = 0; a < ULP_ATTRIBUTES_MAX && step->bound.blocks; a++) {
        const struct ulp_block *body = step->bound.blocks[a];
        for (size_t s = 0; body && s < body->step_count; s++) {
            chosen[body->steps[s].number] = true;
            choose_bodies(&body->steps[s], chosen);
        }
    }
}

static bool reads(const struct ulp_node *node, int value)
{
    for (size_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] == value)
            return true;
    return false;
}

/* The node that an attention is computed in of which the named one is a step
 * (written-attention=kernel); NULL: it is none. */
static const char *find_joined(const struct ulp_program *program, const char *name)
{
    const struct ulp_node *node = NULL;
    for (size_t i = 0; i < program->removed_count && !node; i++)
        node = strcmp(program->removed[i].node->name, name) == 0 ? program->removed[i].node : NULL;
    for (size_t steps = 0; node && steps < program->removed_count; steps++) {
        const struct ulp_node *next = NULL;
        for (size_t n = 0; n < program->node_count; n++)
            if (strcmp(program->nodes[n].step->name, node->name) == 0)
                return node->name;
        for (size_t i = 0; i < program->removed_count && node->output_count && !next; i++)
            next =
                reads(program->removed[i].node, node->outputs[0]) ? program->removed[i].node : NULL;
        node = next;
    }
    return NULL;
}

/* "no node is called 'x' (did you mean ...?)", with the node of the value of that name. */
enum ulp_status ulp_pattern_refuse(const struct ulp_program *program, const char *name,
                                   struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_text_add(&text, "no node is called '%s'", name);
    size_t before = text.length;
    const char *joined = find_joined(program, name);
    if (joined)
        ulp_text_add(&text, ": it is a step of the attention '%s', one kernel here: keep that",
                     joined);
    for (size_t n = 0; n < program->node_count && text.length == before; n++) {
        const struct ulp_step *step = program->nodes[n].step;
        for (size_t o = 0; o < step->output_count; o++)
            if (step->outputs[o] >= 0 &&
                strcmp(program->nodes[n].block->slots[step->outputs[o]].name, name) == 0)
                ulp_text_add(&text, ": it is a value, of node '%s'", step->name);
    }
    char bare[256];
    size_t length = 0;
    for (const char *c = name; *c && length < sizeof bare - 1; c++)
        if (*c != '*' && *c != '?')
            bare[length++] = *c;
    bare[length] = 0;
    if (text.length == before)
        ulp_suggest_names(&text, bare, program->node_count, node_name, program);
    return text.failed ? ulp_out_of_memory(error)
                       : ulp_fail(error, ULP_ERROR_USAGE, "%s", text.data);
}

/* The nodes of that name; a glob only where no node is called just so. */
static bool choose_names(const struct ulp_program *program, const char *name, bool *chosen)
{
    bool any = false;
    for (size_t n = 0; n < program->node_count; n++)
        if (strcmp(program->nodes[n].step->name, name) == 0)
            any = chosen[n] = true;
    for (size_t n = 0; n < program->node_count && !any; n++)
        chosen[n] = ulp_glob_matches_name(name, program->nodes[n].step->name);
    for (size_t n = 0; n < program->node_count && !any; n++)
        any = chosen[n];
    return any;
}

static enum ulp_status choose_op(const struct ulp_program *program, const char *op, bool *chosen,
                                 struct ulp_error *error)
{
    bool any = false;
    for (size_t n = 0; n < program->node_count; n++) {
        chosen[n] = ulp_glob_matches(op, node_op(program, n));
        any |= chosen[n];
    }
    if (any)
        return ULP_OK;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_suggest_names(&text, op, program->node_count, node_op, program);
    return ulp_fail(error, ULP_ERROR_USAGE, "the model has no operator '%s'%s", op,
                    text.length && !text.failed ? text.data : "");
}

/* "12", "12-40". */
static enum ulp_status choose_numbers(const struct ulp_program *program, const char *text,
                                      bool *chosen, struct ulp_error *error)
{
    char *end, *last_end;
    const unsigned long long first = strtoull(text, &end, 10);
    const unsigned long long last = *end == '-' ? strtoull(end + 1, &last_end, 10) : first;
    if (*end != '-')
        last_end = end;
    if (!isdigit((unsigned char)*text) || *last_end || (*end == '-' && last_end == end + 1) ||
        !isdigit((unsigned char)last_end[-1]) || first > last)
        return ulp_fail(error, ULP_ERROR_USAGE, "'#%s': expected #FIRST or #FIRST-LAST, as #12-40",
                        text);
    if (last >= program->node_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "'#%s': the model has %zu nodes, #0 to #%zu", text,
                        program->node_count, program->node_count ? program->node_count - 1 : 0);
    for (size_t n = first; n <= last; n++)
        chosen[n] = true;
    return ULP_OK;
}

/* Nodes marked so far, and what is known of the inputs of each If, Loop and Scan, which its bodies'
 * nodes may all ask for. */
struct marks {
    bool *marked;
    bool back;
    enum { UNKNOWN, UNMARKED, MARKED } * given;
};

static bool follow(struct marks *marks, const struct ulp_block *block, int slot);

/* What a body is given comes from what its If, Loop or Scan is given. */
static bool follow_owner(struct marks *marks, const struct ulp_block *block)
{
    const struct ulp_step *owner = block->owner;
    if (!owner || marks->given[owner->number] != UNKNOWN)
        return owner && marks->given[owner->number] == MARKED;
    bool any = false;
    for (size_t i = 0; i < owner->own_input_count; i++)
        any |= follow(marks, block->parent, owner->inputs[i]);
    marks->given[owner->number] = any ? MARKED : UNMARKED;
    return any;
}

/* Does the slot's value come from a marked node? Going back: mark what it comes from. */
static bool follow(struct marks *marks, const struct ulp_block *block, int slot)
{
    if (slot < 0 || block->slots[slot].constant)
        return false;
    for (; block->slots[slot].outer >= 0; block = block->parent)
        slot = block->slots[slot].outer;
    const struct ulp_step *producer = ulp_block_producer(block, slot);
    if (!producer)
        return follow_owner(marks, block);
    marks->marked[producer->number] |= marks->back;
    return marks->marked[producer->number];
}

static bool follow_node(struct marks *marks, const struct ulp_program_node *node)
{
    const struct ulp_step *step = node->step;
    bool any = false;
    for (size_t i = 0; i < step->own_input_count; i++)
        any |= follow(marks, node->block, step->inputs[i]);
    for (int a = 0; a < ULP_ATTRIBUTES_MAX && step->bound.blocks; a++) {
        const struct ulp_block *body = step->bound.blocks[a];
        for (size_t i = 0; body && i < body->output_count; i++)
            any |= follow(marks, body, body->outputs[i]);
    }
    return any;
}

/* Mark all that comes from marked nodes, or (back) all they come from. Nodes come in the order of
 * what they need. */
static enum ulp_status spread_marks(const struct ulp_program *program, bool *marked, bool back,
                                    struct ulp_arena *scratch, struct ulp_error *error)
{
    struct marks marks = {marked, back,
                          ulp_arena_take(scratch, program->node_count + 1, sizeof *marks.given)};
    ULP_TRY(ulp_taken(marks.given, error));
    for (size_t i = 0; i < program->node_count; i++) {
        const size_t n = back ? program->node_count - 1 - i : i;
        if (marked[n] == back && follow_node(&marks, &program->nodes[n]))
            marked[n] = true;
    }
    return ULP_OK;
}

static enum ulp_status choose_side(const struct ulp_program *program, const char *name, bool back,
                                   bool *chosen, struct ulp_arena *scratch, struct ulp_error *error)
{
    ULP_TAKE_ARRAY(bool, named, scratch, program->node_count + 1, error);
    ULP_TRY(choose_names(program, name, named) ? ULP_OK : ulp_pattern_refuse(program, name, error));
    memcpy(chosen, named, program->node_count * sizeof *chosen);
    ULP_TRY(spread_marks(program, chosen, back, scratch, error));
    for (size_t n = 0; n < program->node_count; n++)
        chosen[n] = chosen[n] && !named[n];
    return ULP_OK;
}

/* Both ends and what lies on a way from one to the other. */
static enum ulp_status choose_between(const struct ulp_program *program, const char *first,
                                      const char *last, bool *chosen, struct ulp_arena *scratch,
                                      struct ulp_error *error)
{
    ULP_TAKE_ARRAY(bool, before, scratch, program->node_count + 1, error);
    ULP_TRY(!choose_names(program, first, chosen)  ? ulp_pattern_refuse(program, first, error)
            : !choose_names(program, last, before) ? ulp_pattern_refuse(program, last, error)
                                                   : ULP_OK);
    ULP_TRY(spread_marks(program, chosen, false, scratch, error));
    ULP_TRY(spread_marks(program, before, true, scratch, error));
    for (size_t n = 0; n < program->node_count; n++)
        chosen[n] = chosen[n] && before[n];
    return ULP_OK;
}

/* A name may hold commas: the one that parts two names of nodes counts, else the first. */
static enum ulp_status choose_two(const struct ulp_program *program, const char *names,
                                  bool *chosen, struct ulp_arena *scratch, struct ulp_error *error)
{
    const char *comma = strchr(names, ',');
    char *first = ulp_arena_copy(scratch, names);
    ULP_TRY(!first   ? ulp_out_of_memory(error)
            : !comma ? ulp_fail(error, ULP_ERROR_USAGE, "'between:%s': expected between:A,B", names)
                     : ULP_OK);
    for (const char *c = comma; c; c = strchr(c + 1, ',')) {
        memcpy(first, names, (size_t)(c - names));
        first[c - names] = 0;
        memset(chosen, 0, program->node_count * sizeof *chosen);
        const bool both =
            choose_names(program, first, chosen) && choose_names(program, c + 1, chosen);
        comma = both ? c : comma;
        if (both)
            break;
    }
    memcpy(first, names, (size_t)(comma - names));
    first[comma - names] = 0;
    memset(chosen, 0, program->node_count * sizeof *chosen);
    return choose_between(program, first, comma + 1, chosen, scratch, error);
}

static const char *after_prefix(const char *text, const char *prefix)
{
    const size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* A pattern that looks at nodes one by one; an If, Loop or Scan stands for those inside. */
static enum ulp_status choose_single(const struct ulp_program *program, const char *pattern,
                                     bool *chosen, struct ulp_error *error)
{
    const char *rest;
    enum ulp_status status = ULP_OK;
    if (choose_names(program, pattern, chosen))
        status = ULP_OK;
    else if ((rest = after_prefix(pattern, "#")))
        status = choose_numbers(program, rest, chosen, error);
    else if ((rest = after_prefix(pattern, "op:")))
        status = choose_op(program, rest, chosen, error);
    else
        status = ulp_pattern_refuse(program, pattern, error);
    for (size_t n = 0; n < program->node_count && status == ULP_OK; n++)
        if (chosen[n])
            choose_bodies(program->nodes[n].step, chosen);
    return status;
}

bool ulp_pattern_may_be_name(const char *text)
{
    return !after_prefix(text, "before:") && !after_prefix(text, "after:") &&
           !after_prefix(text, "between:");
}

enum ulp_status ulp_pattern_choose(const struct ulp_program *program, const char *pattern,
                                   bool *chosen, struct ulp_arena *scratch, struct ulp_error *error)
{
    const char *rest;
    enum ulp_status status;
    if ((rest = after_prefix(pattern, "before:")))
        status = choose_side(program, rest, true, chosen, scratch, error);
    else if ((rest = after_prefix(pattern, "after:")))
        status = choose_side(program, rest, false, chosen, scratch, error);
    else if ((rest = after_prefix(pattern, "between:")))
        status = choose_two(program, rest, chosen, scratch, error);
    else
        return choose_single(program, pattern, chosen, error);
    bool any = false;
    for (size_t n = 0; n < program->node_count; n++)
        any |= chosen[n];
    return status != ULP_OK || any ? status
                                   : ulp_fail(error, ULP_ERROR_USAGE,
                                              "'%s' names no node: nothing lies there", pattern);
}
