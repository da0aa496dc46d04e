/* Binding a row of the operator table to a node: the row is chosen, its texts are read, its
 * formulas made into tapes. */
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"
#include "ops/bind/binding.h"
#include "ops/steps.h"

#define OPERANDS_MAX 4096

/* ---- choosing the row ---- */

/* Does "attribute=value" hold for the node, its row's default included? "outputs=N", "inputs=N":
 * has it N outputs, or inputs? */
static bool holds(const struct ulp_operator *op, const struct ulp_node *node)
{
    if (!op->when)
        return true;
    const char *equals = strchr(op->when, '='), *value = equals + 1;
    size_t length = (size_t)(equals - op->when);
    if (strncmp(op->when, "outputs=", length + 1) == 0)
        return node->output_count == (size_t)atoll(value);
    if (strncmp(op->when, "inputs=", length + 1) == 0)
        return node->input_count == (size_t)atoll(value);
    const struct ulp_attribute *given = ulp_attribute_given(node, op->when, length);
    if (given && given->kind == ULP_ATTRIBUTE_STRING)
        return strcmp(given->s, value) == 0;
    if (given)
        return given->kind == ULP_ATTRIBUTE_INT && given->i == atoll(value);
    struct ulp_attribute_text entry;
    return ulp_attribute_find(op, op->when, length, &entry) && entry.fallback &&
           strlen(value) == entry.fallback_length &&
           strncmp(entry.fallback, value, entry.fallback_length) == 0;
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

const struct ulp_operator *ulp_operator_of(const struct ulp_node *node, int64_t opset)
{
    const struct ulp_operator *found = NULL, *op;
    int64_t newest = 0;
    for (size_t i = 0; (op = ulp_operator_row(i)); i++) {
        if (op->since < newest || !matches(op, node->domain, node->op_type, opset))
            continue;
        found = op->since > newest ? NULL : found;
        newest = op->since;
        if (!found && holds(op, node))
            found = op;
    }
    return found;
}

/* What may be done instead: of kernels that GPUs alone have, what computes the same where keys and
 * values lie in one piece and rows are padded; "": nothing is known. */
static const char *find_plain(const char *domain, const char *op_type)
{
#define PLAIN(name) \
    ": export with " name ", which computes it of caches in one piece and padded rows"
    static const char *const kernels[][2] = {
        {"PackedAttention DecoderMaskedSelfAttention DecoderAttention", PLAIN("Attention")},
        {"PackedMultiHeadAttention DecoderMaskedMultiHeadAttention", PLAIN("MultiHeadAttention")},
        {"PagedAttention", PLAIN("GroupQueryAttention")},
        {"SparsePagedAttention", PLAIN("SparseAttention")}};
#undef PLAIN
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (ulp_is_word(op_type, kernels[i][0]))
            return kernels[i][1];
    return strcmp(domain, "ai.onnx.ml") == 0
               ? ": ONNX Runtime computes it on the CPU as it is, TensorRT not at all; cut it off "
                 "(onnx.utils.extract_model), or export tensors (hummingbird)"
               : "";
}

static enum ulp_status choose_row(const struct ulp_binding *b, int64_t opset)
{
    const struct ulp_node *node = b->bound->node;
    const char *domain = node->domain && *node->domain ? node->domain : "ai.onnx";
    if ((b->bound->op = ulp_operator_of(node, opset)))
        return ULP_OK;
    const struct ulp_operator *newest = ulp_operator_find(node->domain, node->op_type, opset), *op;
    if (!newest)
        return ulp_fail(b->error, ULP_ERROR_UNSUPPORTED,
                        "operator %s of domain %s, opset %lld, is not supported%s", node->op_type,
                        domain, (long long)opset, find_plain(domain, node->op_type));
    ULP_SCOPED(ulp_text_free) struct ulp_text wanted = {0};
    for (size_t i = 0; (op = ulp_operator_row(i)); i++)
        if (matches(op, node->domain, node->op_type, opset) && op->since == newest->since)
            ulp_text_add(&wanted, "%s%s", wanted.length ? " or " : "", op->when);
    return ulp_fail(b->error, ULP_ERROR_UNSUPPORTED, "only %s is supported",
                    wanted.failed || !wanted.data ? newest->when : wanted.data);
}

/* ---- formula ---- */

/* formula with "f(x, ...)" written out for `count` inputs as locals in front of it, x_1 = f(x0,
 * x1), x_2 = f(x_1, x2), which nest no deeper for many, and "#x" as their number. */
static void write_out(struct ulp_text *out, const char *formula, size_t count)
{
    const char *dots = strstr(formula, ", ..."), *name = dots;
    while (name[-1] != '(')
        name--;
    const char *function = name - 1;
    while (function > formula &&
           (function[-1] == '_' || (function[-1] >= 'a' && function[-1] <= 'z')))
        function--;
    const int call = (int)(name - function), length = (int)(dots - name);
    for (size_t i = 1; i < count; i++)
        ulp_text_add(out, "%.*s_%zu = %.*s%.*s%s%zu, %.*s%zu); ", length, name, i, call, function,
                     length, name, i > 1 ? "_" : "", i - 1, length, name, i);
    ulp_text_add(out, "%.*s%.*s%s%zu", (int)(function - formula), formula, length, name,
                 count > 1 ? "_" : "", count - 1);
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

static enum ulp_status make_tape(const struct ulp_binding *b, const char *formula,
                                 const struct ulp_slot *outputs, size_t output_count,
                                 struct ulp_tape **out)
{
    struct ulp_bound *bound = b->bound;
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
        return ulp_bind_fail_memory(b);
    if (bound->op->epilogue)
        names[used++] = "acc";
    used = collect_names(names, used, bound->inputs, bound->input_slot_count);
    used = collect_names(names, used, bound->attribute_slots, bound->attribute_count);
    used = collect_names(names, used, bound->derived, bound->derived_count);
    const char **output_names = names + used;
    collect_names(names, used, outputs, output_count);
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    if (strstr(formula, ", ..."))
        write_out(&text, formula, bound->input_slot_count);
    else
        ulp_text_add(&text, "%s", formula);
    return text.failed ? ulp_bind_fail_memory(b)
                       : ulp_tape_create(out, text.data, names, (int)used, output_names,
                                         (int)output_count, ulp_arena_budget(b->arena), b->error);
}

static const char *variant_of(const struct ulp_operator *op, enum ulp_variant variant)
{
    const char *const formulas[ULP_VARIANT_COUNT] = {
        [ULP_VARIANT_PLAIN] = op->plain, [ULP_VARIANT_TORCH] = op->torch};
    return formulas[variant] ? formulas[variant] : ulp_steps_formula(op, variant);
}

/* The tape of a formula of the run function. */
static enum ulp_status parse_formula(const struct ulp_binding *b, const struct ulp_formula *formula,
                                     struct ulp_tape **out)
{
    const struct ulp_binding passing = {b->bound, b->scratch, b->scratch, b->error};
    const struct ulp_slot *operands, *outputs;
    size_t operand_count = 0, output_count = 0;
    ULP_TRY(ulp_bind_slots(&passing, formula->operands, 0, &operands, &operand_count));
    ULP_TRY(ulp_bind_slots(&passing, formula->outputs, 0, &outputs, &output_count));
    const char **names =
        ulp_arena_take(b->scratch, operand_count + output_count + 1, sizeof *names);
    if (!names)
        return ulp_bind_fail_memory(b);
    collect_names(names, 0, operands, operand_count);
    collect_names(names, operand_count, outputs, output_count);
    return ulp_tape_create(out, formula->text, names, (int)operand_count, names + operand_count,
                           (int)output_count, ulp_arena_budget(b->arena), b->error);
}

static enum ulp_status parse_formulas(const struct ulp_binding *b)
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
        return ulp_bind_fail_memory(b);
    for (size_t i = 0; i < count; i++)
        ULP_TRY(parse_formula(b, formulas[i], &bound->formulas[i]));
    return ULP_OK;
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
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *scratch = NULL;
    enum ulp_status status = ulp_arena_create(&scratch, ulp_arena_budget(arena), error);
    const struct ulp_binding b = {out, arena, scratch, error};
    const struct ulp_slot *outputs = NULL;
    size_t output_count = 0;
    out->prepared = ulp_arena_take(arena, 1, sizeof *out->prepared);
    if (status == ULP_OK && !out->prepared)
        status = ulp_bind_fail_memory(&b);
    if (status == ULP_OK && !row)
        status = choose_row(&b, opset);
    ULP_THEN(status, ulp_bind_attributes(&b));
    ULP_THEN(status, ulp_bind_inputs(&b));
    ULP_THEN(status, ulp_bind_outputs(&b, &outputs, &output_count));
    ULP_THEN(status, make_tape(&b, out->op->formula ? out->op->formula : out->op->epilogue, outputs,
                               output_count, &out->tape));
    for (int v = 0; v < ULP_VARIANT_COUNT && status == ULP_OK; v++)
        status = make_tape(&b, variant_of(out->op, (enum ulp_variant)v), outputs, output_count,
                           &out->variants[v]);
    ULP_THEN(status, parse_formulas(&b));
    if (status != ULP_OK)
        ulp_unbind(out);
    return ulp_fail_at(error, status, "node %s (%s)", node->name, node->op_type);
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
    memcpy(bound->variants, other->variants, sizeof bound->variants);
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
    for (int v = 0; v < ULP_VARIANT_COUNT; v++) {
        if (!bound->shares_tapes)
            ulp_tape_free(bound->variants[v]);
        bound->variants[v] = NULL;
    }
    for (size_t i = 0; !bound->shares_tapes && bound->formulas && bound->op->formulas[i]; i++)
        ulp_tape_free(bound->formulas[i]);
    if (!bound->shares_tapes && bound->prepared)
        ulp_prepared_free(bound->prepared);
    bound->tape = NULL;
    bound->formulas = NULL;
    bound->prepared = NULL;
}
