/* Binding a row of the operator table to a node: its texts are parsed, the node's attributes read,
 * its formulas made into tapes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "ops/operator.h"

#define OPERANDS_MAX 4096

struct binding {
    struct ulp_bound *bound;
    struct ulp_arena *arena;
    struct ulp_arena *scratch; /* freed when the node is bound */
    struct ulp_error *error;
};

static enum ulp_status fail_memory(const struct binding *b)
{
    return ulp_out_of_memory(b->error);
}

/* "int" -> INT, ... with a NULL at the end. */
static const struct attribute_kind {
    const char *name;
    enum ulp_attribute_kind kind;
} attribute_kinds[] = {
    {"int", ULP_ATTRIBUTE_INT},       {"float", ULP_ATTRIBUTE_FLOAT},
    {"string", ULP_ATTRIBUTE_STRING}, {"ints", ULP_ATTRIBUTE_INTS},
    {"floats", ULP_ATTRIBUTE_FLOATS}, {"strings", ULP_ATTRIBUTE_STRINGS},
    {"tensor", ULP_ATTRIBUTE_TENSOR}, {"graph", ULP_ATTRIBUTE_GRAPH},
};

/* Where one entry of a row's attribute text lies: name, kind and default. */
struct attribute_text {
    const char *name, *kind, *fallback; /* fallback NULL: none */
    size_t name_length, kind_length, fallback_length;
    bool required;
};

/* The next entry of an attribute text, or false at its end. */
static bool next_attribute(const char **text, struct attribute_text *out)
{
    const char *p = *text ? *text + strspn(*text, "; ") : "";
    if (!*p)
        return false;
    size_t length = strcspn(p, ";");
    *text = p + length;
    *out = (struct attribute_text){.name = p, .name_length = strcspn(p, ":;")};
    out->kind = p + out->name_length + 1;
    if (*out->kind == '!') {
        out->required = true;
        out->kind++;
    }
    out->kind_length = strcspn(out->kind, "=;");
    if (out->kind[out->kind_length] == '=') {
        out->fallback = out->kind + out->kind_length + 1;
        out->fallback_length = (size_t)(p + length - out->fallback);
    }
    return true;
}

static const struct attribute_kind *find_kind(const struct attribute_text *text)
{
    for (size_t i = 0; i < sizeof attribute_kinds / sizeof *attribute_kinds; i++)
        if (strlen(attribute_kinds[i].name) == text->kind_length &&
            strncmp(attribute_kinds[i].name, text->kind, text->kind_length) == 0)
            return &attribute_kinds[i];
    return NULL;
}

static const struct ulp_attribute *given_attribute(const struct ulp_node *node, const char *name,
                                                   size_t length)
{
    for (size_t i = 0; i < node->attribute_count; i++)
        if (strlen(node->attributes[i].name) == length &&
            strncmp(node->attributes[i].name, name, length) == 0)
            return &node->attributes[i];
    return NULL;
}

/* ---- choosing the row ---- */

/* Does "attribute=value" hold for the node, its row's default included? "outputs=N": has it N
 * outputs? */
static bool holds(const struct ulp_operator *op, const struct ulp_node *node)
{
    if (!op->when)
        return true;
    const char *equals = strchr(op->when, '='), *value = equals + 1;
    size_t length = (size_t)(equals - op->when);
    if (strncmp(op->when, "outputs=", length + 1) == 0)
        return node->output_count == (size_t)atoll(value);
    const struct ulp_attribute *given = given_attribute(node, op->when, length);
    if (given && given->kind == ULP_ATTRIBUTE_STRING)
        return strcmp(given->s, value) == 0;
    if (given)
        return given->kind == ULP_ATTRIBUTE_INT && given->i == atoll(value);
    struct attribute_text entry;
    for (const char *text = op->attributes; next_attribute(&text, &entry);)
        if (entry.name_length == length && strncmp(entry.name, op->when, length) == 0)
            return entry.fallback && strlen(value) == entry.fallback_length &&
                   strncmp(entry.fallback, value, entry.fallback_length) == 0;
    return false;
}

static bool matches(const struct ulp_operator *op, const char *domain, const char *name,
                    int64_t opset)
{
    return strcmp(op->name, name) == 0 &&
           strcmp(op->domain ? op->domain : "", domain ? domain : "") == 0 && op->since <= opset &&
           (op->until == 0 || opset <= op->until);
}

const struct ulp_operator *ulp_operator_find(const char *domain, const char *name, int64_t opset)
{
    const struct ulp_operator *best = NULL, *op;
    for (size_t i = 0; (op = ulp_operator_row(i)); i++)
        if (matches(op, domain, name, opset) && (!best || op->since > best->since))
            best = op;
    return best;
}

/* Of the rows with the newest since, the one whose `when` holds. */
static enum ulp_status choose_row(const struct binding *b, int64_t opset)
{
    const struct ulp_node *node = b->bound->node;
    const struct ulp_operator *newest = ulp_operator_find(node->domain, node->op_type, opset), *op;
    const char *domain = node->domain && *node->domain ? node->domain : "ai.onnx";
    if (!newest)
        return ulp_fail(b->error, ULP_ERROR_UNSUPPORTED,
                        "operator %s of domain %s, opset %lld, is not supported", node->op_type,
                        domain, (long long)opset);
    struct ulp_text wanted = {0};
    for (size_t i = 0; (op = ulp_operator_row(i)); i++) {
        if (!matches(op, node->domain, node->op_type, opset) || op->since != newest->since)
            continue;
        if (holds(op, node)) {
            b->bound->op = op;
            ulp_text_free(&wanted);
            return ULP_OK;
        }
        ulp_text_add(&wanted, "%s%s", wanted.length ? " or " : "", op->when);
    }
    enum ulp_status status = ulp_fail(b->error, ULP_ERROR_UNSUPPORTED, "only %s is supported",
                                      wanted.failed || !wanted.data ? newest->when : wanted.data);
    ulp_text_free(&wanted);
    return status;
}

/* ---- attributes ---- */

static size_t count_items(const char *text, size_t length)
{
    size_t count = length > 0;
    for (size_t i = 0; i < length; i++)
        count += text[i] == ',';
    return count;
}

static enum ulp_status read_default(const struct binding *b, const struct attribute_text *entry,
                                    enum ulp_attribute_kind kind, struct ulp_attribute_value *out)
{
    char *text = ulp_arena_text(b->arena, entry->fallback, entry->fallback_length);
    size_t count = count_items(entry->fallback, entry->fallback_length);
    int64_t *ints = ulp_arena_take(b->arena, count + 1, sizeof *ints);
    float *floats = ulp_arena_take(b->arena, count + 1, sizeof *floats);
    const char **strings = ulp_arena_take(b->arena, count + 1, sizeof *strings);
    if (!text || !ints || !floats || !strings)
        return fail_memory(b);
    *out = (struct ulp_attribute_value){
        .present = true, .count = count, .ints = ints, .floats = floats, .strings = strings};
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(text, ",");
        char *item = text;
        text += length + (text[length] == ',');
        item[length] = 0;
        ints[i] = atoll(item);
        floats[i] = strtof(item, NULL);
        strings[i] = item;
    }
    bool scalar =
        kind == ULP_ATTRIBUTE_INT || kind == ULP_ATTRIBUTE_FLOAT || kind == ULP_ATTRIBUTE_STRING;
    if (scalar) {
        out->i = ints[0];
        out->f = floats[0];
        out->s = count ? strings[0] : "";
    }
    return ULP_OK;
}

static struct ulp_attribute_value read_given(const struct ulp_attribute *given)
{
    return (struct ulp_attribute_value){
        .present = true,
        .i = given->i,
        .f = given->f,
        .s = given->s,
        .count = given->count,
        .ints = given->ints,
        .floats = given->floats,
        .strings = given->strings,
        .tensor = given->tensor,
        .graph = given->graph,
    };
}

/* The number as exact text, for formulas. */
static enum ulp_status write_constant(const struct binding *b, enum ulp_attribute_kind kind,
                                      const struct ulp_attribute_value *value,
                                      struct ulp_slot *slot)
{
    char text[64];
    if (!value->present || (kind != ULP_ATTRIBUTE_INT && kind != ULP_ATTRIBUTE_FLOAT))
        return ULP_OK;
    int length = kind == ULP_ATTRIBUTE_INT
                     ? snprintf(text, sizeof text, "%lld", (long long)value->i)
                     : snprintf(text, sizeof text, "%a", (double)value->f);
    slot->text = ulp_arena_text(b->arena, text, (size_t)length);
    return slot->text ? ULP_OK : fail_memory(b);
}

static enum ulp_status read_attribute(const struct binding *b, const struct attribute_text *entry,
                                      struct ulp_slot *slot, struct ulp_attribute_value *value)
{
    const struct attribute_kind *kind = find_kind(entry);
    const struct ulp_attribute *given =
        given_attribute(b->bound->node, entry->name, entry->name_length);
    slot->name = ulp_arena_text(b->arena, entry->name, entry->name_length);
    slot->optional = !entry->required;
    if (!slot->name)
        return fail_memory(b);
    if (!kind)
        return ulp_fail(b->error, ULP_ERROR_USAGE, "the row's attribute %s has an unknown kind",
                        slot->name);
    if (given && given->kind != kind->kind)
        return ulp_fail(b->error, ULP_ERROR_INPUT, "attribute %s has the wrong kind: expected %s",
                        slot->name, kind->name);
    enum ulp_status status = ULP_OK;
    if (given)
        *value = read_given(given);
    else if (entry->fallback)
        status = read_default(b, entry, kind->kind, value);
    else if (entry->required)
        status = ulp_fail(b->error, ULP_ERROR_INPUT, "attribute %s is missing", slot->name);
    return status == ULP_OK ? write_constant(b, kind->kind, value, slot) : status;
}

static enum ulp_status refuse_unknown_attributes(const struct binding *b)
{
    const struct ulp_bound *bound = b->bound;
    for (size_t i = 0; i < bound->node->attribute_count; i++) {
        const char *name = bound->node->attributes[i].name;
        size_t a = 0;
        while (a < bound->attribute_count && strcmp(bound->attribute_slots[a].name, name) != 0)
            a++;
        if (a == bound->attribute_count)
            return ulp_fail(b->error, ULP_ERROR_UNSUPPORTED,
                            "attribute %s is not supported in opset %lld", name,
                            (long long)bound->opset);
    }
    return ULP_OK;
}

/* What lasts takes no more room in the arena than it needs. */
static const void *copy(const struct binding *b, const void *items, size_t count, size_t bytes)
{
    void *kept = ulp_arena_take(b->arena, count, bytes);
    if (kept && count)
        memcpy(kept, items, count * bytes);
    return kept;
}

static enum ulp_status read_attributes(const struct binding *b)
{
    struct ulp_bound *bound = b->bound;
    struct ulp_slot slots[ULP_ATTRIBUTES_MAX] = {0};
    struct ulp_attribute_value values[ULP_ATTRIBUTES_MAX] = {0};
    struct attribute_text entry;
    size_t count = 0;
    for (const char *text = bound->op->attributes; next_attribute(&text, &entry); count++) {
        if (count == ULP_ATTRIBUTES_MAX)
            return ulp_fail(b->error, ULP_ERROR_USAGE, "the row has more than %d attributes",
                            ULP_ATTRIBUTES_MAX);
        enum ulp_status status = read_attribute(b, &entry, &slots[count], &values[count]);
        if (status != ULP_OK)
            return status;
    }
    bound->attribute_slots = copy(b, slots, count, sizeof *slots);
    bound->attributes = copy(b, values, count, sizeof *values);
    if (!bound->attribute_slots || !bound->attributes)
        return fail_memory(b);
    bound->attribute_count = count;
    return refuse_unknown_attributes(b);
}

/* ---- inputs ---- */

/* One word "name:k?=TEXT" or "name*" of an inputs, outputs or derived text. */
static enum ulp_status read_slot(const struct binding *b, const char *word, size_t length,
                                 struct ulp_slot *out)
{
    size_t used = 0;
    while (used < length && !strchr(":?*", word[used]))
        used++;
    out->name = ulp_arena_text(b->arena, word, used);
    if (used + 1 < length && word[used] == ':') {
        out->kind = word[used + 1];
        used += 2;
    }
    if (used < length && word[used] == '?') {
        out->optional = true;
        used++;
    }
    if (used < length && word[used] == '=') {
        out->text = ulp_arena_text(b->arena, word + used + 1, length - used - 1);
        return out->name && out->text ? ULP_OK : fail_memory(b);
    }
    out->variadic = used < length && word[used] == '*';
    return out->name ? ULP_OK : fail_memory(b);
}

/* All words of text; the last, when variadic, as often as needed to make given_count slots. */
static enum ulp_status read_slots(const struct binding *b, const char *text, size_t given_count,
                                  const struct ulp_slot **out, size_t *count)
{
    size_t room = given_count + 1;
    for (const char *p = text ? text : ""; *(p += strspn(p, " ")); p += strcspn(p, " "))
        room++;
    struct ulp_slot *slots = ulp_arena_take(b->arena, room, sizeof *slots);
    if (!slots)
        return fail_memory(b);
    *out = slots;
    for (const char *p = text ? text : ""; *(p += strspn(p, " "));) {
        size_t length = strcspn(p, " ");
        enum ulp_status status = read_slot(b, p, length, &slots[(*count)++]);
        if (status != ULP_OK)
            return status;
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
            return fail_memory(b);
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

static enum ulp_status read_inputs(const struct binding *b)
{
    struct ulp_bound *bound = b->bound;
    const struct ulp_node *node = bound->node;
    enum ulp_status status = read_slots(b, bound->op->inputs, node->input_count, &bound->inputs,
                                        &bound->input_slot_count);
    if (status != ULP_OK)
        return status;
    if (node->input_count > bound->input_slot_count)
        return ulp_fail(b->error, ULP_ERROR_INPUT, "%zu inputs: expected at most %zu",
                        node->input_count, bound->input_slot_count);
    for (size_t i = 0; i < bound->input_slot_count && i < 32; i++)
        bound->weights |= (uint32_t)is_listed(bound->op->weights, &bound->inputs[i]) << i;
    for (size_t i = 0; i < bound->input_slot_count; i++)
        if (!bound->inputs[i].optional && (i >= node->input_count || node->inputs[i] < 0))
            return ulp_fail(b->error, ULP_ERROR_INPUT, "input %zu, %s, is missing", i,
                            bound->inputs[i].name);
    return read_slots(b, bound->op->derived, 0, &bound->derived, &bound->derived_count);
}

/* The row's outputs, from scratch. */
static enum ulp_status read_outputs(const struct binding *b, const struct ulp_slot **outputs,
                                    size_t *count)
{
    struct ulp_bound *bound = b->bound;
    const struct ulp_node *node = bound->node;
    const struct binding passing = {bound, b->scratch, b->scratch, b->error};
    enum ulp_status status =
        read_slots(&passing, bound->op->outputs, node->output_count, outputs, count);
    if (status != ULP_OK)
        return status;
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

/* ---- formula ---- */

/* formula with "f(x, ...)" written out as f(f(x0, x1), x2) for `count` inputs, and "#x" as their
 * number. */
static void write_out(struct ulp_text *out, const char *formula, size_t count)
{
    const char *dots = strstr(formula, ", ..."), *name = dots;
    while (name[-1] != '(')
        name--;
    const char *function = name - 1;
    while (function > formula &&
           (function[-1] == '_' || (function[-1] >= 'a' && function[-1] <= 'z')))
        function--;
    ulp_text_add(out, "%.*s", (int)(function - formula), formula);
    for (size_t i = 1; i < count; i++)
        ulp_text_add(out, "%.*s", (int)(name - function), function);
    for (size_t i = 0; i < count; i++)
        ulp_text_add(out, i ? ", %.*s%zu)" : "%.*s%zu", (int)(dots - name), name, i);
    const char *rest = dots + strlen(", ...)"), *number = strchr(rest, '#');
    if (number)
        ulp_text_add(out, "%.*s%zu%s", (int)(number - rest), rest, count,
                     number + 1 + (dots - name));
    else
        ulp_text_add(out, "%s", rest);
}

static size_t collect_names(const char **names, size_t used, const struct ulp_slot *slots,
                            size_t count)
{
    for (size_t i = 0; i < count; i++)
        names[used++] = slots[i].name;
    return used;
}

static enum ulp_status make_tape(const struct binding *b, const struct ulp_slot *outputs,
                                 size_t output_count)
{
    struct ulp_bound *bound = b->bound;
    const char *formula = bound->op->formula ? bound->op->formula : bound->op->epilogue;
    if (!formula)
        return ULP_OK;
    size_t used = 0;
    size_t most =
        1 + bound->input_slot_count + bound->attribute_count + bound->derived_count + output_count;
    if (most > OPERANDS_MAX)
        return ulp_fail(b->error, ULP_ERROR_UNSUPPORTED, "more than %d inputs and outputs",
                        OPERANDS_MAX);
    const char **names = ulp_arena_take(b->scratch, most, sizeof *names);
    if (!names)
        return fail_memory(b);
    if (bound->op->epilogue)
        names[used++] = "acc";
    used = collect_names(names, used, bound->inputs, bound->input_slot_count);
    used = collect_names(names, used, bound->attribute_slots, bound->attribute_count);
    used = collect_names(names, used, bound->derived, bound->derived_count);
    const char **output_names = names + used;
    collect_names(names, used, outputs, output_count);
    struct ulp_text text = {0};
    if (strstr(formula, ", ..."))
        write_out(&text, formula, bound->input_slot_count);
    else
        ulp_text_add(&text, "%s", formula);
    const enum ulp_status status =
        text.failed ? fail_memory(b)
                    : ulp_tape_create(&bound->tape, text.data, names, (int)used, output_names,
                                      (int)output_count, ulp_arena_budget(b->arena), b->error);
    ulp_text_free(&text);
    return status;
}

/* The tape of a formula of the run function. */
static enum ulp_status parse_formula(const struct binding *b, const struct ulp_formula *formula,
                                     struct ulp_tape **out)
{
    const struct binding passing = {b->bound, b->scratch, b->scratch, b->error};
    const struct ulp_slot *operands, *outputs;
    size_t operand_count = 0, output_count = 0;
    enum ulp_status status = read_slots(&passing, formula->operands, 0, &operands, &operand_count);
    if (status == ULP_OK)
        status = read_slots(&passing, formula->outputs, 0, &outputs, &output_count);
    if (status != ULP_OK)
        return status;
    const char **names =
        ulp_arena_take(b->scratch, operand_count + output_count + 1, sizeof *names);
    if (!names)
        return fail_memory(b);
    collect_names(names, 0, operands, operand_count);
    collect_names(names, operand_count, outputs, output_count);
    return ulp_tape_create(out, formula->text, names, (int)operand_count, names + operand_count,
                           (int)output_count, ulp_arena_budget(b->arena), b->error);
}

static enum ulp_status parse_formulas(const struct binding *b)
{
    struct ulp_bound *bound = b->bound;
    const struct ulp_formula *const *formulas = bound->op->formulas;
    size_t count = 0;
    while (formulas && formulas[count])
        count++;
    if (!count)
        return ULP_OK;
    bound->formulas = ulp_arena_take(b->arena, count, sizeof *bound->formulas);
    if (!bound->formulas)
        return fail_memory(b);
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < count && status == ULP_OK; i++)
        status = parse_formula(b, formulas[i], &bound->formulas[i]);
    return status;
}

enum ulp_status ulp_bind(struct ulp_bound *out, const struct ulp_node *node, int64_t opset,
                         struct ulp_arena *arena, struct ulp_error *error)
{
    return ulp_bind_row(out, NULL, node, opset, arena, error);
}

enum ulp_status ulp_bind_row(struct ulp_bound *out, const struct ulp_operator *row,
                             const struct ulp_node *node, int64_t opset, struct ulp_arena *arena,
                             struct ulp_error *error)
{
    *out = (struct ulp_bound){.op = row,
                              .node = node,
                              .opset = opset,
                              .key = ulp_hash(node->name, strlen(node->name))};
    struct ulp_arena *scratch;
    enum ulp_status status = ulp_arena_create(&scratch, ulp_arena_budget(arena), error);
    const struct binding b = {out, arena, scratch, error};
    const struct ulp_slot *outputs = NULL;
    size_t output_count = 0;
    out->prepared = ulp_arena_take(arena, 1, sizeof *out->prepared);
    if (status == ULP_OK && !out->prepared)
        status = fail_memory(&b);
    if (status == ULP_OK && !row)
        status = choose_row(&b, opset);
    if (status == ULP_OK)
        status = read_attributes(&b);
    if (status == ULP_OK)
        status = read_inputs(&b);
    if (status == ULP_OK)
        status = read_outputs(&b, &outputs, &output_count);
    if (status == ULP_OK)
        status = make_tape(&b, outputs, output_count);
    if (status == ULP_OK)
        status = parse_formulas(&b);
    if (status != ULP_OK)
        ulp_unbind(out);
    ulp_arena_free(scratch);
    return status == ULP_OK ? ULP_OK
                            : ulp_fail_at(error, status, "node %s (%s)", node->name, node->op_type);
}

/* Names of operands and outputs are the row's, their numbers the nodes'. */
static bool is_same_tape(const struct ulp_bound *a, const struct ulp_bound *b)
{
    if (!a->tape || !b->tape)
        return a->tape == b->tape;
    return a->tape->operand_count == b->tape->operand_count &&
           a->tape->output_count == b->tape->output_count &&
           a->input_slot_count == b->input_slot_count && strcmp(a->tape->text, b->tape->text) == 0;
}

bool ulp_bind_share(struct ulp_bound *bound, const struct ulp_bound *other)
{
    if (bound->op != other->op || (!bound->tape && !bound->formulas) || !is_same_tape(bound, other))
        return false;
    ulp_unbind(bound);
    bound->tape = other->tape;
    bound->formulas = other->formulas;
    bound->prepared = other->prepared;
    bound->shares_tapes = true;
    return true;
}

void ulp_unbind(struct ulp_bound *bound)
{
    if (!bound)
        return;
    if (!bound->shares_tapes)
        ulp_tape_free(bound->tape);
    for (size_t i = 0; !bound->shares_tapes && bound->formulas && bound->op->formulas[i]; i++)
        ulp_tape_free(bound->formulas[i]);
    if (!bound->shares_tapes && bound->prepared)
        ulp_prepared_free(bound->prepared);
    bound->tape = NULL;
    bound->formulas = NULL;
    bound->prepared = NULL;
}
