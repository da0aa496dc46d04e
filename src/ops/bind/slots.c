/* The inputs, outputs and derived operands of a row, by name. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "ops/bind/binding.h"

/* The letters behind ':'. Returns their number. */
static size_t read_letters(const char *letters, size_t length, struct ulp_slot *out)
{
    const struct {
        char letter;
        bool *way;
    } ways[] = {{'m', &out->mixed}, {'n', &out->number}, {'c', &out->compared},
                {'t', &out->table}, {'u', &out->packed}, {'k', &out->in_blocks}};
    const size_t count = sizeof ways / sizeof *ways;
    size_t used = 0;
    if (length && strchr("ibfp*", *letters))
        out->kind = letters[used++];
    for (; used < length; used++) {
        size_t w = 0;
        while (w < count && ways[w].letter != letters[used])
            w++;
        if (w == count)
            break;
        *ways[w].way = true;
    }
    return used;
}

/* One word "name:k?=TEXT" or "name*" of an inputs, outputs or derived text. */
static enum ulp_status read_slot(const struct ulp_binding *b, const char *word, size_t length,
                                 struct ulp_slot *out)
{
    size_t used = 0;
    while (used < length && !strchr(":?*", word[used]))
        used++;
    out->name = ulp_arena_text(b->arena, word, used);
    if (used < length && word[used] == ':')
        used += 1 + read_letters(word + used + 1, length - used - 1, out);
    if (used < length && word[used] == '?') {
        out->optional = true;
        used++;
    }
    if (used < length && word[used] == '=') {
        out->text = ulp_arena_text(b->arena, word + used + 1, length - used - 1);
        return out->name && out->text ? ULP_OK : ulp_bind_fail_memory(b);
    }
    out->variadic = used < length && word[used] == '*';
    return out->name ? ULP_OK : ulp_bind_fail_memory(b);
}

enum ulp_status ulp_bind_slots(const struct ulp_binding *b, const char *text, size_t given_count,
                               const struct ulp_slot **out, size_t *count)
{
    size_t room = given_count + 1;
    for (const char *p = text ? text : ""; *(p += strspn(p, " ")); p += strcspn(p, " "))
        room++;
    struct ulp_slot *slots = ulp_arena_take(b->arena, room, sizeof *slots);
    if (!slots)
        return ulp_bind_fail_memory(b);
    *out = slots;
    for (const char *p = text ? text : ""; *(p += strspn(p, " "));) {
        size_t length = strcspn(p, " ");
        ULP_TRY(read_slot(b, p, length, &slots[(*count)++]));
        p += length;
    }
    if (!*count || !slots[*count - 1].variadic)
        return ULP_OK;
    struct ulp_slot last = slots[--*count];
    for (size_t i = 0; *count < given_count || (i == 0 && !last.optional); i++) {
        char name[64];
        int length = snprintf(name, sizeof name, "%s%zu", last.name, i);
        slots[*count] = last;
        slots[*count].name = ulp_arena_text(b->arena, name, (size_t)length);
        if (!slots[(*count)++].name)
            return ulp_bind_fail_memory(b);
    }
    return ULP_OK;
}

/* Is the slot's name a word of the text? */
static bool is_listed(const char *text, const struct ulp_slot *slot)
{
    const size_t length = strlen(slot->name);
    for (const char *p = text ? text : ""; *(p += strspn(p, " ")); p += strcspn(p, " "))
        if (strcspn(p, " ") == length && strncmp(p, slot->name, length) == 0)
            return true;
    return false;
}

enum ulp_status ulp_bind_inputs(const struct ulp_binding *b)
{
    struct ulp_bound *bound = b->bound;
    const struct ulp_node *node = bound->node;
    ULP_TRY(ulp_bind_slots(b, bound->op->inputs, node->input_count, &bound->inputs,
                           &bound->input_slot_count));
    if (node->input_count > bound->input_slot_count)
        return ulp_fail(b->error, ULP_ERROR_INPUT, "%zu inputs: expected at most %zu",
                        node->input_count, bound->input_slot_count);
    for (size_t i = 0; i < bound->input_slot_count && i < 32; i++)
        bound->weights |= (uint32_t)is_listed(bound->op->weights, &bound->inputs[i]) << i;
    for (size_t i = 0; i < bound->input_slot_count; i++) {
        bound->stops |= bound->inputs[i].number;
        bound->compares |= bound->inputs[i].compared;
    }
    for (size_t i = 0; i < bound->input_slot_count; i++)
        if (!bound->inputs[i].optional && (i >= node->input_count || node->inputs[i] < 0))
            return ulp_fail(b->error, ULP_ERROR_INPUT, "input %zu, %s, is missing", i,
                            bound->inputs[i].name);
    return ulp_bind_slots(b, bound->op->derived, 0, &bound->derived, &bound->derived_count);
}

/* The row's outputs, from scratch. */
enum ulp_status ulp_bind_outputs(const struct ulp_binding *b, const struct ulp_slot **outputs,
                                 size_t *count)
{
    struct ulp_bound *bound = b->bound;
    const struct ulp_node *node = bound->node;
    const struct ulp_binding passing = {bound, b->scratch, b->scratch, b->error};
    ULP_TRY(ulp_bind_slots(&passing, bound->op->outputs, node->output_count, outputs, count));
    if (*count && !node->output_count && !(*outputs)[0].optional)
        return ulp_fail(b->error, ULP_ERROR_INPUT, "there are no outputs: expected at least one");
    for (size_t i = *count; i < node->output_count; i++)
        if (node->outputs[i] >= 0)
            return ulp_fail(b->error, ULP_ERROR_UNSUPPORTED,
                            "output %zu is not supported: this version computes the first %zu", i,
                            *count);
    while (bound->required_output_count < *count &&
           !(*outputs)[bound->required_output_count].optional &&
           !(*outputs)[bound->required_output_count].variadic)
        bound->required_output_count++;
    return ULP_OK;
}
