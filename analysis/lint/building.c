/* Proposals, and new nodes of an edit, one after another. */
#include "analysis/lint/proposal.h"
#include "run/program/program.h"

void ulp_lint_propose_more(struct ulp_lint_proposals *p, const struct ulp_edit *edit)
{
    if (!ULP_ARENA_GROWS(p->edits, p->lint.arena, p->edit_count, p->edit_capacity)) {
        p->lint.failed = true;
        return;
    }
    p->edits[p->edit_count++] = *edit;
    for (size_t g = 0; edit->node && p->covered && g < p->lint.graph_count; g++)
        if (p->lint.graphs[g].graph == edit->graph)
            p->covered[ulp_lint_number((struct ulp_lint_place){&p->lint.graphs[g], edit->node})] =
                true;
    p->items[p->count - 1].edit_count++;
}

/* One more, with no edits yet; NULL: no memory. */
static struct ulp_lint_proposal *add_proposal(struct ulp_lint_proposals *p, const char *rule,
                                              struct ulp_lint_place place, const char *format,
                                              va_list list)
{
    const char *kept = ulp_lint_sentence(&p->lint, format, list),
               *node = ulp_lint_node_name(&p->lint, place.graph, place.node->name);
    if (!kept || !node || !ULP_ARENA_GROWS(p->items, p->lint.arena, p->count, p->capacity)) {
        p->lint.failed = true;
        return NULL;
    }
    p->items[p->count] =
        (struct ulp_lint_proposal){.said = {.rule = rule, .node = node, .text = kept},
                                   .first = p->edit_count};
    return &p->items[p->count++];
}

void ulp_lint_propose_edit(struct ulp_lint_proposals *p, const struct ulp_edit *edit,
                           const char *rule, struct ulp_lint_place place, bool exact,
                           const char *format, ...)
{
    va_list list;
    va_start(list, format);
    struct ulp_lint_proposal *added = add_proposal(p, rule, place, format, list);
    va_end(list);
    if (!added)
        return;
    added->said.exact = exact;
    ulp_lint_propose_more(p, edit);
}

const char *ulp_lint_say(struct ulp_lint_proposals *p, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const char *kept = ulp_lint_sentence(&p->lint, format, list);
    va_end(list);
    return kept;
}

void ulp_lint_leave(struct ulp_lint_proposals *p, const char *rule, struct ulp_lint_place place,
                    const char *why, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    struct ulp_lint_proposal *added = add_proposal(p, rule, place, format, list);
    va_end(list);
    if (!added)
        return;
    added->said.reason = ulp_lint_say(p, "right at some sizes alone: %s", why);
    p->lint.failed |= !added->said.reason;
}

struct ulp_tensor *ulp_build_tensor(struct ulp_building *b, enum ulp_type type, int rank,
                                    size_t count)
{
    struct ulp_tensor *tensor = ulp_arena_take(b->p->lint.arena, 1, sizeof *tensor);
    void *data = ulp_arena_take(b->p->lint.arena, count + 1, sizeof(int64_t));
    b->p->lint.failed |= !tensor || !data;
    b->failed |= !tensor || !data;
    if (b->failed)
        return NULL;
    *tensor = ulp_tensor_list(ulp_type_is_float(type) ? ULP_TYPE_FLOAT : ULP_TYPE_INT64, data, rank,
                              count);
    tensor->type = type;
    return tensor;
}

struct ulp_attribute *ulp_build_attribute(struct ulp_edit_part *part, const char *name,
                                          enum ulp_attribute_kind kind)
{
    struct ulp_attribute *attribute = &part->attributes[part->attribute_count++];
    *attribute = (struct ulp_attribute){.name = name, .kind = kind};
    return attribute;
}

struct ulp_edit_part *ulp_build_part(struct ulp_building *b, const char *op,
                                     const struct ulp_edit_input *inputs, size_t count,
                                     struct ulp_edit_input *out)
{
    const char *kept = ulp_arena_copy(b->p->lint.arena, op);
    *out = (struct ulp_edit_input){.kind = ULP_EDIT_PART, .number = (int)b->count};
    b->p->lint.failed |= !kept;
    b->failed |= !kept || b->count == ULP_BUILDING_MAX;
    if (b->failed)
        return NULL;
    struct ulp_edit_part *part = &b->parts[b->count++];
    *part = (struct ulp_edit_part){.op = kept, .input_count = count};
    memcpy(part->inputs, inputs, count * sizeof *inputs);
    return part;
}

void ulp_build_propose(struct ulp_building *b, struct ulp_lint_place place, const char *rule,
                       const char *text)
{
    struct ulp_lint_proposals *p = b->p;
    if (b->failed || !b->count)
        return;
    struct ulp_edit_part *parts = ulp_arena_take(p->lint.arena, b->count, sizeof *parts);
    p->lint.failed |= !parts;
    if (!parts)
        return;
    memcpy(parts, b->parts, b->count * sizeof *parts);
    const struct ulp_edit edit = {.graph = place.graph->graph,
                                  .node = place.node,
                                  .parts = parts,
                                  .part_count = b->count,
                                  .opset = b->opset};
    ulp_lint_propose_edit(p, &edit, rule, place, true, "%s", text);
}
