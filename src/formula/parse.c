/* The formulas' parser: recursive descent over the grammar in tape.h, binary operators by
 * precedence climbing. It emits instructions as it goes; there is no syntax tree. */
#include "formula/build.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "formula/token.h"

/* Nested parentheses, calls, unary operators, ?: : hostile text must not use up the stack. */
#define DEPTH_MAX 200
#define NEAR_MAX 24 /* bytes of text quoted in a message */

struct local {
    const char *name;
    size_t length;
    int instruction;
};

struct parser {
    struct ulp_tape_builder *builder;
    const char *text;
    struct ulp_token token; /* the next one, not yet taken */
    const char *const *operand_names;
    int operand_count;
    struct local *locals;
    int local_count;
    int depth;
    enum ulp_status status;
    struct ulp_error *error;
};

static int parse_expression(struct parser *parser);

static int column_of(const struct parser *parser, const char *place)
{
    return (int)(place - parser->text) + 1;
}

static bool is_printable(char c)
{
    return c >= ' ' && c <= '~';
}

/* Records the first failure; always gives -1, the instruction that is none. */
static int fail(struct parser *parser, const char *place, const char *what, const char *name,
                size_t length)
{
    if (parser->status != ULP_OK)
        return -1;
    char near[NEAR_MAX + 1], quoted[NEAR_MAX + 1];
    size_t near_length = 0, quoted_length = 0;
    for (; near_length < NEAR_MAX && place[near_length]; near_length++)
        near[near_length] = is_printable(place[near_length]) ? place[near_length] : '?';
    near[near_length] = 0;
    for (; quoted_length < NEAR_MAX && quoted_length < length; quoted_length++)
        quoted[quoted_length] = is_printable(name[quoted_length]) ? name[quoted_length] : '?';
    quoted[quoted_length] = 0;
    parser->status = ulp_fail(parser->error, ULP_ERROR_USAGE, "formula:%d: %s%s%s%s, near '%s'",
                              column_of(parser, place), length ? "'" : "", quoted,
                              length ? "' " : "", what, *near ? near : "end of formula");
    return -1;
}

static int fail_here(struct parser *parser, const char *what)
{
    return fail(parser, parser->token.start, what, "", 0);
}

/* Gives the instruction back, or turns the builder's failure into the parser's. */
static int check_built(struct parser *parser, int instruction, const char *place)
{
    if (instruction >= 0)
        return instruction;
    if (parser->builder->too_long)
        return fail(parser, place, "the formula has too many steps", "", 0);
    if (parser->status == ULP_OK)
        parser->status = ulp_out_of_memory(parser->error);
    return -1;
}

static int emit(struct parser *parser, struct ulp_instruction instruction, const char *place)
{
    instruction.column = column_of(parser, place);
    return check_built(parser, ulp_tape_build(parser->builder, &instruction), place);
}

static int emit_primitive(struct parser *parser, enum ulp_primitive primitive, int a, int b, int c,
                          const char *place)
{
    const struct ulp_instruction instruction = {.kind = ULP_TAPE_PRIMITIVE,
                                                .primitive = primitive,
                                                .arguments = {a, b, c}};
    return emit(parser, instruction, place);
}

static void next_token(struct parser *parser)
{
    const char *problem = NULL;
    parser->token = ulp_token_read(parser->token.start + parser->token.length, &problem);
    if (problem)
        fail(parser, parser->token.start, problem, "", 0);
}

static bool at_symbol(const struct parser *parser, const char *symbol)
{
    return parser->token.kind == ULP_TOKEN_SYMBOL && ulp_token_is(&parser->token, symbol);
}

static bool take_symbol(struct parser *parser, const char *symbol)
{
    if (!at_symbol(parser, symbol))
        return false;
    next_token(parser);
    return true;
}

/* What a name without parentheses means: a local, an operand or a constant. */
static int find_name(const struct parser *parser, const struct ulp_token *name)
{
    for (int i = 0; i < parser->local_count; i++)
        if (parser->locals[i].length == name->length &&
            !strncmp(parser->locals[i].name, name->start, name->length))
            return i;
    return -1;
}

static int parse_name(struct parser *parser, const struct ulp_token *name)
{
    static const char *const constants[] = {"pi", "inf", "nan"};
    const int local = find_name(parser, name);
    if (local >= 0)
        return parser->locals[local].instruction;
    for (int i = 0; i < parser->operand_count; i++)
        if (ulp_token_is(name, parser->operand_names[i])) {
            const struct ulp_instruction operand = {.kind = ULP_TAPE_OPERAND,
                                                    .index = i,
                                                    .arguments = {-1, -1, -1}};
            return emit(parser, operand, name->start);
        }
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (ulp_token_is(name, constants[i]))
            return check_built(parser,
                               ulp_tape_build_constant(parser->builder, constants[i], name->length,
                                                       column_of(parser, name->start)),
                               name->start);
    return fail(parser, name->start, "is not an operand, an earlier local or a constant",
                name->start, name->length);
}

/* A row function's meaning: a reduction, perhaps divided by the row's size, or of all positions
 * before, or that size alone. */
static const struct row_function {
    const char *name;
    int arity;
    enum ulp_reduction reduction;
    bool mean, running;
    enum ulp_row_kernel kernel;
} row_functions[] = {
    {.name = "row_sum", .arity = 1, .reduction = ULP_REDUCTION_SUM},
    {.name = "row_mean", .arity = 1, .reduction = ULP_REDUCTION_SUM, .mean = true},
    {.name = "row_max", .arity = 1, .reduction = ULP_REDUCTION_MAX},
    {.name = "row_min", .arity = 1, .reduction = ULP_REDUCTION_MIN},
    {.name = "row_product", .arity = 1, .reduction = ULP_REDUCTION_PRODUCT},
    {.name = "running_sum", .arity = 1, .reduction = ULP_REDUCTION_SUM, .running = true},
    {.name = "running_product", .arity = 1, .reduction = ULP_REDUCTION_PRODUCT, .running = true},
    {.name = "row_size", .arity = 0},
    /* ONNX Runtime's, of floats alone */
    {.name = "mlas_mean", .arity = 1, .kernel = ULP_ROW_MEAN},
    {.name = "mlas_squares", .arity = 1, .kernel = ULP_ROW_SQUARES},
    {.name = "welford_mean", .arity = 1, .kernel = ULP_ROW_WELFORD_MEAN},
    {.name = "welford_squares", .arity = 1, .kernel = ULP_ROW_WELFORD_SQUARES},
};

static int emit_row_function(struct parser *parser, const struct row_function *function,
                             int argument, const char *place)
{
    const struct ulp_instruction size = {.kind = ULP_TAPE_ROW_SIZE, .arguments = {-1, -1, -1}};
    if (!function->arity)
        return emit(parser, size, place);
    const struct ulp_instruction reduction = {.kind = function->running ? ULP_TAPE_SCAN
                                                                        : ULP_TAPE_REDUCTION,
                                              .reduction = function->reduction,
                                              .kernel = function->kernel,
                                              .arguments = {argument, -1, -1}};
    const int reduced = emit(parser, reduction, place);
    if (!function->mean || reduced < 0)
        return reduced;
    const int count = emit(parser, size, place);
    return count < 0 ? -1 : emit_primitive(parser, ULP_PRIMITIVE_DIV, reduced, count, -1, place);
}

/* The arguments up to the closing parenthesis; false after a failure. The opening one is taken. */
static bool parse_arguments(struct parser *parser, const struct ulp_token *name, int arity,
                            int *arguments)
{
    char wanted[64];
    int count = 0;
    if (!at_symbol(parser, ")"))
        do {
            const int argument = parse_expression(parser);
            if (argument < 0)
                return false;
            if (count < arity)
                arguments[count] = argument;
            count++;
        } while (take_symbol(parser, ","));
    if (!at_symbol(parser, ")"))
        return fail_here(parser, "expected ',' or ')'") >= 0;
    if (count != arity) {
        snprintf(wanted, sizeof wanted, "takes %d argument%s, not %d", arity, arity == 1 ? "" : "s",
                 count);
        return fail(parser, name->start, wanted, name->start, name->length) >= 0;
    }
    next_token(parser);
    return true;
}

static int parse_call(struct parser *parser, const struct ulp_token *name)
{
    int arguments[3] = {-1, -1, -1};
    for (size_t i = 0; i < sizeof row_functions / sizeof *row_functions; i++)
        if (ulp_token_is(name, row_functions[i].name))
            return parse_arguments(parser, name, row_functions[i].arity, arguments)
                       ? emit_row_function(parser, &row_functions[i], arguments[0], name->start)
                       : -1;
    for (int i = 0; i < ULP_PRIMITIVE_COUNT; i++)
        if (ulp_token_is(name, ulp_primitive_rows[i].name))
            return parse_arguments(parser, name, ulp_primitive_rows[i].arity, arguments)
                       ? emit_primitive(parser, (enum ulp_primitive)i, arguments[0], arguments[1],
                                        arguments[2], name->start)
                       : -1;
    return fail(parser, name->start, "is not a function", name->start, name->length);
}

static int parse_primary(struct parser *parser)
{
    const struct ulp_token token = parser->token;
    if (token.kind == ULP_TOKEN_NUMBER) {
        next_token(parser);
        return check_built(parser,
                           ulp_tape_build_constant(parser->builder, token.start, token.length,
                                                   column_of(parser, token.start)),
                           token.start);
    }
    if (token.kind == ULP_TOKEN_NAME) {
        next_token(parser);
        return take_symbol(parser, "(") ? parse_call(parser, &token) : parse_name(parser, &token);
    }
    if (take_symbol(parser, "(")) {
        const int inside = parse_expression(parser);
        if (inside >= 0 && !take_symbol(parser, ")"))
            return fail_here(parser, "expected ')'");
        return inside;
    }
    return fail_here(parser, "expected an expression");
}

/* A minus directly before a number is part of the constant, so that -0.1 is rounded once as it
 * stands (in a directed mode, -round(0.1) is not round(-0.1)). */
static int parse_negative(struct parser *parser, const char *minus)
{
    const struct ulp_token token = parser->token;
    char text[256];
    if (token.kind == ULP_TOKEN_NUMBER && token.length + 1 < sizeof text) {
        text[0] = '-';
        memcpy(text + 1, token.start, token.length);
        next_token(parser);
        return check_built(parser,
                           ulp_tape_build_constant(parser->builder, text, token.length + 1,
                                                   column_of(parser, minus)),
                           minus);
    }
    return -2;
}

static int parse_unary(struct parser *parser)
{
    const char *place = parser->token.start;
    if (parser->status != ULP_OK)
        return -1;
    if (++parser->depth > DEPTH_MAX)
        return fail_here(parser, "nested too deeply");
    int result;
    if (take_symbol(parser, "-")) {
        result = parse_negative(parser, place);
        if (result == -2) {
            const int argument = parse_unary(parser);
            result = argument < 0
                         ? -1
                         : emit_primitive(parser, ULP_PRIMITIVE_NEG, argument, -1, -1, place);
        }
    } else if (take_symbol(parser, "!")) {
        const int argument = parse_unary(parser);
        result =
            argument < 0 ? -1 : emit_primitive(parser, ULP_PRIMITIVE_NOT, argument, -1, -1, place);
    } else {
        result = parse_primary(parser);
    }
    parser->depth--;
    return result;
}

/* Binary operators, loosest first as in C. a > b is b < a; a != b is !(a == b), so that it holds
 * for NaN. */
static const struct binary_operator {
    const char *spelling;
    int level;
    enum ulp_primitive primitive;
    bool swap, negate;
} binary_operators[] = {
    {.spelling = "||", .level = 1, .primitive = ULP_PRIMITIVE_OR},
    {.spelling = "&&", .level = 2, .primitive = ULP_PRIMITIVE_AND},
    {.spelling = "==", .level = 3, .primitive = ULP_PRIMITIVE_EQUAL},
    {.spelling = "!=", .level = 3, .primitive = ULP_PRIMITIVE_EQUAL, .negate = true},
    {.spelling = "<", .level = 4, .primitive = ULP_PRIMITIVE_LESS},
    {.spelling = ">", .level = 4, .primitive = ULP_PRIMITIVE_LESS, .swap = true},
    {.spelling = "<=", .level = 4, .primitive = ULP_PRIMITIVE_LESS_EQUAL},
    {.spelling = ">=", .level = 4, .primitive = ULP_PRIMITIVE_LESS_EQUAL, .swap = true},
    {.spelling = "+", .level = 5, .primitive = ULP_PRIMITIVE_ADD},
    {.spelling = "-", .level = 5, .primitive = ULP_PRIMITIVE_SUB},
    {.spelling = "*", .level = 6, .primitive = ULP_PRIMITIVE_MUL},
    {.spelling = "/", .level = 6, .primitive = ULP_PRIMITIVE_DIV},
};

static const struct binary_operator *find_binary(const struct parser *parser)
{
    for (size_t i = 0; i < sizeof binary_operators / sizeof *binary_operators; i++)
        if (at_symbol(parser, binary_operators[i].spelling))
            return &binary_operators[i];
    return NULL;
}

static int parse_binary(struct parser *parser, int level)
{
    int left = parse_unary(parser);
    for (;;) {
        const struct binary_operator *binary = find_binary(parser);
        if (left < 0 || !binary || binary->level < level)
            return left;
        const char *place = parser->token.start;
        next_token(parser);
        const int right = parse_binary(parser, binary->level + 1);
        if (right < 0)
            return -1;
        left = emit_primitive(parser, binary->primitive, binary->swap ? right : left,
                              binary->swap ? left : right, -1, place);
        if (left >= 0 && binary->negate)
            left = emit_primitive(parser, ULP_PRIMITIVE_NOT, left, -1, -1, place);
    }
}

static int parse_expression(struct parser *parser)
{
    if (parser->status != ULP_OK)
        return -1;
    if (++parser->depth > DEPTH_MAX)
        return fail_here(parser, "nested too deeply");
    int result = parse_binary(parser, 1);
    const char *place = parser->token.start;
    if (result >= 0 && take_symbol(parser, "?")) {
        const int condition = result;
        const int yes = parse_expression(parser);
        if (yes >= 0 && !take_symbol(parser, ":"))
            return fail_here(parser, "expected ':'");
        const int no = yes < 0 ? -1 : parse_expression(parser);
        result =
            no < 0 ? -1 : emit_primitive(parser, ULP_PRIMITIVE_SELECT, condition, yes, no, place);
    }
    parser->depth--;
    return result;
}

/* name "=" expression ";" when that is what follows; false when it is the last expression (or after
 * a failure). */
static bool parse_local(struct parser *parser)
{
    const struct ulp_token name = parser->token;
    if (parser->status != ULP_OK || name.kind != ULP_TOKEN_NAME)
        return false;
    next_token(parser);
    if (!at_symbol(parser, "=")) {
        parser->token = (struct ulp_token){.start = name.start};
        next_token(parser);
        return false;
    }
    bool taken = find_name(parser, &name) >= 0;
    for (int i = 0; i < parser->operand_count; i++)
        taken = taken || ulp_token_is(&name, parser->operand_names[i]);
    if (taken)
        return fail(parser, name.start, "is an operand or defined before", name.start,
                    name.length) >= 0;
    if (ulp_token_is(&name, "pi") || ulp_token_is(&name, "inf") || ulp_token_is(&name, "nan"))
        return fail(parser, name.start, "is a constant", name.start, name.length) >= 0;
    next_token(parser);
    const int instruction = parse_expression(parser);
    if (instruction < 0)
        return false;
    if (!take_symbol(parser, ";"))
        return fail_here(parser, "expected an operator or ';'") >= 0;
    parser->locals[parser->local_count++] =
        (struct local){.name = name.start, .length = name.length, .instruction = instruction};
    return true;
}

enum ulp_status ulp_tape_parse(struct ulp_tape_builder *builder, const char *text,
                               const char *const *operand_names, int operand_count,
                               const char *const *output_names, int output_count, int *outputs,
                               struct ulp_error *error)
{
    struct parser parser = {.builder = builder,
                            .text = text,
                            .token = {.start = text},
                            .error = error,
                            .operand_names = operand_names,
                            .operand_count = operand_count};
    size_t semicolons = 0;
    for (const char *s = text; *s; s++)
        semicolons += *s == ';';
    ULP_TAKE(parser.locals, builder->arena, semicolons + 1, error);
    next_token(&parser);
    while (parse_local(&parser))
        ;
    const int last = parser.status == ULP_OK ? parse_expression(&parser) : -1;
    if (parser.status == ULP_OK && parser.token.kind != ULP_TOKEN_END)
        fail_here(&parser, "expected an operator or the end");
    if (parser.status != ULP_OK)
        return parser.status;
    for (int i = 0; i < output_count; i++) {
        const struct ulp_token name = {.start = output_names[i], .length = strlen(output_names[i])};
        const int local = i ? find_name(&parser, &name) : -1;
        outputs[i] = i ? local < 0 ? -1 : parser.locals[local].instruction : last;
    }
    return ULP_OK;
}
