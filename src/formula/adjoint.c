/* Reverse accumulation, written out: the forward instructions t0, t1, ... in their order, then,
 * from the last to the first, what each instruction's cotangent gives its arguments. Contributions
 * are collected as text; the parser merges equal steps and drops what no result needs. */
#include "formula/adjoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"

static const char *const derivatives[ULP_PRIMITIVE_COUNT][3] = {
#define PRIMITIVE(name, spelling, arity, result, ...) [ULP_PRIMITIVE_##name] = {__VA_ARGS__},
#include "number/primitive.def"
#undef PRIMITIVE
};

bool ulp_primitive_is_decision(enum ulp_primitive primitive)
{
    for (int i = 0; i < 3; i++)
        if (derivatives[primitive][i] && strcmp(derivatives[primitive][i], "0"))
            return false;
    return true;
}

/* The sum of contributions to each instruction's cotangent so far; empty: none, it is zero. */
struct adjoint {
    const struct ulp_tape *tape;
    struct ulp_text *out;
    struct ulp_text *owed; /* by instruction */
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Append a derivative's text with its names replaced: a, b, c by the arguments, y by the result, g
 * by its cotangent. */
static void add_derivative(struct ulp_text *out, const char *text, int result,
                           const struct ulp_instruction *instruction)
{
    while (*text) {
        size_t length = 0;
        while (is_letter(text[length]) || (length && text[length] >= '0' && text[length] <= '9'))
            length++;
        if (length == 1 && *text >= 'a' && *text <= 'c')
            ulp_text_add(out, "t%d", instruction->arguments[*text - 'a']);
        else if (length == 1 && *text == 'y')
            ulp_text_add(out, "t%d", result);
        else if (length == 1 && *text == 'g')
            ulp_text_add(out, "b%d", result);
        else
            ulp_text_add(out, "%.*s", (int)(length ? length : 1), text);
        text += length ? length : 1;
    }
}

/* Begin and end of a term that `result` owes to `argument`: summed over the row when the argument
 * is one value a row and what it is owed is not. A cotangent of zero owes nothing. */
static void begin_term(struct adjoint *adjoint, int argument, int result, bool sum)
{
    struct ulp_text *owed = &adjoint->owed[argument];
    ulp_text_add(owed, "%s%s(b%d == 0 ? 0 : ", owed->length ? " + " : "", sum ? "row_sum" : "",
                 result);
}

static void add_primitive(struct adjoint *adjoint, int result)
{
    const struct ulp_instruction *instruction = &adjoint->tape->instructions[result];
    for (int i = 0; i < 3 && instruction->arguments[i] >= 0; i++) {
        const char *text = derivatives[instruction->primitive][i];
        const int argument = instruction->arguments[i];
        const struct ulp_instruction *owed = &adjoint->tape->instructions[argument];
        if (!strcmp(text, "0") || owed->kind == ULP_TAPE_CONSTANT ||
            owed->kind == ULP_TAPE_ROW_SIZE)
            continue;
        begin_term(adjoint, argument, result, owed->per_row && !instruction->per_row);
        add_derivative(&adjoint->owed[argument], text, result, instruction);
        ulp_text_add(&adjoint->owed[argument], ")");
    }
}

static void add_reduction(struct adjoint *adjoint, int result)
{
    const struct ulp_instruction *instruction = &adjoint->tape->instructions[result];
    const int a = instruction->arguments[0];
    struct ulp_text *owed = &adjoint->owed[a];
    const bool repeated = adjoint->tape->instructions[a].per_row;
    begin_term(adjoint, a, result, false);
    switch (instruction->reduction) {
    case ULP_REDUCTION_SUM:
        /* one value a row that is summed over it counts as often as the row is long */
        ulp_text_add(owed, repeated ? "b%d * row_size()" : "b%d", result);
        break;
    case ULP_REDUCTION_MAX:
    case ULP_REDUCTION_MIN:
        if (repeated)
            ulp_text_add(owed, "b%d", result);
        else
            ulp_text_add(owed, "t%d == t%d ? b%d / row_sum(t%d == t%d) : 0", a, result, result, a,
                         result);
        break;
    case ULP_REDUCTION_PRODUCT:
        if (repeated) {
            ulp_text_add(owed, "b%d * row_size() * pow(t%d, row_size() - 1)", result, a);
            break;
        }
        /* the product of the others: with one zero in the row only that zero's is not zero */
        ulp_text_add(owed,
                     "b%d * row_product(t%d == 0 ? 1 : t%d) * (row_sum(t%d == 0) == 0 ? 1 / t%d : "
                     "row_sum(t%d == 0) == 1 && t%d == 0 ? 1 : 0)",
                     result, a, a, a, a, a, a);
        break;
    case ULP_REDUCTION_COUNT: break;
    }
    ulp_text_add(owed, ")");
}

/* The sum of `text` over the positions from this one on. */
static void add_rest(struct ulp_text *owed, const char *text)
{
    ulp_text_add(owed, "(row_sum(%s) - running_sum(%s) + %s)", text, text, text);
}

/* What a position owes comes from those behind it. The products of the others: where there is a
 * zero before, only that one's is not zero. */
static void add_scan(struct adjoint *adjoint, int result)
{
    const struct ulp_instruction *instruction = &adjoint->tape->instructions[result];
    const int a = instruction->arguments[0];
    struct ulp_text *owed = &adjoint->owed[a];
    char text[200];
    ulp_text_add(owed, "%s%s(", owed->length ? " + " : "",
                 adjoint->tape->instructions[a].per_row ? "row_sum" : "");
    if (instruction->reduction == ULP_REDUCTION_SUM) {
        snprintf(text, sizeof text, "b%d", result);
        add_rest(owed, text);
    } else {
        static const char others[] =
            "(running_sum(t%d == 0) == %d ? b%d * running_product(t%d == 0 ? 1 : t%d) : 0)";
        ulp_text_add(owed, "t%d == 0 ? running_sum(t%d == 0) == 1 ? ", a, a);
        snprintf(text, sizeof text, others, a, 1, result, a, a);
        add_rest(owed, text);
        ulp_text_add(owed, " : 0 : ");
        snprintf(text, sizeof text, others, a, 0, result, a, a);
        add_rest(owed, text);
        ulp_text_add(owed, " / t%d", a);
    }
    ulp_text_add(owed, ")");
}

static void write_forward(struct adjoint *adjoint, int i)
{
    static const char *const reductions[ULP_REDUCTION_COUNT] = {"row_sum", "row_max", "row_min",
                                                                "row_product"};
    static const char *const scans[ULP_REDUCTION_COUNT] = {
        [ULP_REDUCTION_SUM] = "running_sum", [ULP_REDUCTION_PRODUCT] = "running_product"};
    const struct ulp_instruction *instruction = &adjoint->tape->instructions[i];
    struct ulp_text *out = adjoint->out;
    ulp_text_add(out, "t%d = ", i);
    switch (instruction->kind) {
    case ULP_TAPE_OPERAND: ulp_text_add(out, "u%d", instruction->index); break;
    case ULP_TAPE_CONSTANT:
        ulp_text_add(out, "%s", adjoint->tape->constants[instruction->index]);
        break;
    case ULP_TAPE_ROW_SIZE: ulp_text_add(out, "row_size()"); break;
    case ULP_TAPE_REDUCTION:
        ulp_text_add(out, "%s(t%d)", reductions[instruction->reduction], instruction->arguments[0]);
        break;
    case ULP_TAPE_SCAN:
        ulp_text_add(out, "%s(t%d)", scans[instruction->reduction], instruction->arguments[0]);
        break;
    case ULP_TAPE_PRIMITIVE:
        ulp_text_add(out, "%s(", ulp_primitive_rows[instruction->primitive].name);
        for (int k = 0; k < 3 && instruction->arguments[k] >= 0; k++)
            ulp_text_add(out, "%st%d", k ? ", " : "", instruction->arguments[k]);
        ulp_text_add(out, ")");
        break;
    }
    ulp_text_add(out, ";\n");
}

/* d = the cotangent of operand d, 0 when nothing is owed to it. */
static void write_result(struct adjoint *adjoint, int d)
{
    const struct ulp_tape *tape = adjoint->tape;
    int owed = -1;
    for (int i = 0; i < tape->instruction_count; i++)
        if (tape->instructions[i].kind == ULP_TAPE_OPERAND && tape->instructions[i].index == d &&
            adjoint->owed[i].length)
            owed = i;
    if (d)
        ulp_text_add(adjoint->out, "d%d = ", d);
    if (owed >= 0)
        ulp_text_add(adjoint->out, "b%d", owed);
    else
        ulp_text_add(adjoint->out, "0");
    ulp_text_add(adjoint->out, d ? ";\n" : "");
}

static void write_adjoint(struct adjoint *adjoint, const bool *spread)
{
    const struct ulp_tape *tape = adjoint->tape;
    for (int i = 0; i < tape->instruction_count; i++)
        write_forward(adjoint, i);
    for (int o = 0; o < tape->output_count; o++)
        if (tape->outputs[o] >= 0) {
            struct ulp_text *owed = &adjoint->owed[tape->outputs[o]];
            const bool sum = tape->instructions[tape->outputs[o]].per_row && spread && spread[o];
            ulp_text_add(owed, "%s%s(g%d)", owed->length ? " + " : "", sum ? "row_sum" : "", o);
        }
    for (int i = tape->instruction_count - 1; i >= 0; i--) {
        if (!adjoint->owed[i].length)
            continue;
        ulp_text_add(adjoint->out, "b%d = %s;\n", i, adjoint->owed[i].data);
        if (tape->instructions[i].kind == ULP_TAPE_PRIMITIVE)
            add_primitive(adjoint, i);
        else if (tape->instructions[i].kind == ULP_TAPE_REDUCTION)
            add_reduction(adjoint, i);
        else if (tape->instructions[i].kind == ULP_TAPE_SCAN)
            add_scan(adjoint, i);
    }
    for (int d = tape->operand_count - 1; d >= 0; d--)
        write_result(adjoint, d);
}

/* As a formula, whose last expression is d0. */
static enum ulp_status write_text(struct ulp_text *out, const struct ulp_tape *tape,
                                  const bool *spread, struct ulp_error *error)
{
    struct adjoint adjoint = {.tape = tape, .out = out};
    bool failed = true;
    adjoint.owed = calloc((size_t)tape->instruction_count + 1, sizeof *adjoint.owed);
    if (adjoint.owed) {
        write_adjoint(&adjoint, spread);
        failed = out->failed;
        for (int i = 0; i < tape->instruction_count; i++) {
            failed = failed || adjoint.owed[i].failed;
            ulp_text_free(&adjoint.owed[i]);
        }
        free(adjoint.owed);
    }
    return failed ? ulp_out_of_memory(error) : ULP_OK;
}

/* names[i] = letter and number; the texts stand behind the pointers. NULL: out of memory. */
static char **make_names(int count, const char *letters, int first)
{
    const size_t width = 16;
    char **names = malloc((size_t)(count + 1) * (sizeof *names + width));
    if (!names)
        return NULL;
    char *text = (char *)(names + count + 1);
    for (int i = 0; i < count; i++) {
        names[i] = text + (size_t)i * width;
        const bool second = i >= first;
        snprintf(names[i], width, "%c%d", letters[second], second ? i - first : i);
    }
    return names;
}

enum ulp_status ulp_tape_adjoint(struct ulp_tape **out, const struct ulp_tape *tape,
                                 const bool *spread, struct ulp_budget *budget,
                                 struct ulp_error *error)
{
    const int operand_count = tape->operand_count + tape->output_count;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    *out = NULL;
    ULP_SCOPED(ulp_scoped_free)
    char **operands = make_names(operand_count, "ug", tape->operand_count);
    ULP_SCOPED(ulp_scoped_free)
    char **outputs = make_names(tape->operand_count, "d", tape->operand_count);
    ULP_TRY(operands && outputs ? write_text(&text, tape, spread, error)
                                : ulp_out_of_memory(error));
    return ulp_tape_create(out, text.data, (const char *const *)operands, operand_count,
                           (const char *const *)outputs, tape->operand_count, budget, error);
}
