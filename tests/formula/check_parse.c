/* The parser: what each spelling means, which instructions are merged or dropped, and where errors
 * are reported. */
#include "formula_test.h"

static const char *const operand_names[] = {"x", "y", "scale", "min"};
static const char *const output_names[] = {"out", "mean", "d"};
static const char *const spellings[] = {
#define PRIMITIVE(name, spelling, ...) spelling,
#include "number/primitive.def"
#undef PRIMITIVE
};
static const char *const fold_names[] = {"row_sum", "row_max", "row_min", "row_product"};

static enum ulp_status make(struct ulp_tape **tape, const char *text, struct ulp_error *error)
{
    return ulp_tape_create(tape, text, operand_names, 4, output_names, 3, NULL, error);
}

/* Instruction i fully parenthesised. */
static void print_instruction(char *out, size_t size, const struct ulp_tape *tape, int i)
{
    const struct ulp_instruction *instruction = &tape->instructions[i];
    size_t used = 0;
    switch (instruction->kind) {
    case ULP_TAPE_OPERAND: snprintf(out, size, "%s", operand_names[instruction->index]); return;
    case ULP_TAPE_CONSTANT: snprintf(out, size, "%s", tape->constants[instruction->index]); return;
    case ULP_TAPE_ROW_SIZE: snprintf(out, size, "row_size()"); return;
    case ULP_TAPE_PRIMITIVE:
        used = (size_t)snprintf(out, size, "%s(", spellings[instruction->primitive]);
        break;
    case ULP_TAPE_REDUCTION:
        used = (size_t)snprintf(out, size, "%s(", fold_names[instruction->reduction]);
        break;
    case ULP_TAPE_SCAN:
        used = (size_t)snprintf(out, size, "running_%s(", fold_names[instruction->reduction] + 4);
        break;
    }
    for (int k = 0; k < 3 && instruction->arguments[k] >= 0; k++) {
        ck_assert_int_lt(instruction->arguments[k], i);
        if (k)
            used += (size_t)snprintf(out + used, size - used, ",");
        print_instruction(out + used, size - used, tape, instruction->arguments[k]);
        used += strlen(out + used);
    }
    snprintf(out + used, size - used, ")");
}

static const struct {
    const char *text, *meaning;
    int instruction_count, phase_count;
} meanings[] = {
    {"x", "x", 1, 1},
    {"1.5e-3", "1.5e-3", 1, 1},
    {".5 + 0x1.8p+3", "add(.5,0x1.8p+3)", 3, 1},
    {"x + y * scale", "add(x,mul(y,scale))", 5, 1},
    {"(x + y) * scale", "mul(add(x,y),scale)", 5, 1},
    {"x - y - scale", "sub(sub(x,y),scale)", 5, 1},
    {"x / y / scale", "div(div(x,y),scale)", 5, 1},
    {"x - y + scale", "add(sub(x,y),scale)", 5, 1},
    {"-x * y", "mul(neg(x),y)", 4, 1},
    {"-2 * y", "mul(-2,y)", 3, 1},
    {"x - 2", "sub(x,2)", 3, 1},
    {"x -2", "sub(x,2)", 3, 1},
    {"- - 2", "neg(-2)", 2, 1},
    {"!x == y", "equal(not(x),y)", 4, 1},
    {"x != y", "not(equal(x,y))", 4, 1},
    {"x > y", "less(y,x)", 3, 1},
    {"x >= y", "less_equal(y,x)", 3, 1},
    {"x <= y", "less_equal(x,y)", 3, 1},
    {"x < y == y < x", "equal(less(x,y),less(y,x))", 5, 1},
    {"x || y && scale", "or(x,and(y,scale))", 5, 1},
    {"x && y || scale", "or(and(x,y),scale)", 5, 1},
    {"x == y && scale", "and(equal(x,y),scale)", 5, 1},
    {"x < 0 ? y : x", "select(less(x,0),y,x)", 5, 1},
    {"x ? y : scale ? 1 : 2", "select(x,y,select(scale,1,2))", 7, 1},
    {"x ? y ? 1 : 2 : scale", "select(x,select(y,1,2),scale)", 7, 1},
    {"x + y ? 1 : 2", "select(add(x,y),1,2)", 6, 1},
    {"pi * x", "mul(pi,x)", 3, 1},
    {"-inf", "neg(inf)", 2, 1},
    {"min(x, min)", "min(x,min)", 3, 1},
    {"fma(x,y,scale)", "fma(x,y,scale)", 4, 1},
    {"x*y+x*y", "add(mul(x,y),mul(x,y))", 4, 1},
    {"a = x * y; b = x * y; a + b", "add(mul(x,y),mul(x,y))", 4, 1},
    {"unused = exp(x); y", "y", 1, 1},
    {"max = x; max + max(max, 1)", "add(x,max(x,1))", 4, 1},
    {"row_sum(x)", "row_sum(x)", 2, 1},
    {"row_mean(x)", "div(row_sum(x),row_size())", 4, 2},
    {"row_product(x) / row_size()", "div(row_product(x),row_size())", 4, 2},
    {"x - row_max(x)", "sub(x,row_max(x))", 3, 2},
    {"e = exp(x - row_max(x)); e / row_sum(e)",
     "div(exp(sub(x,row_max(x))),row_sum(exp(sub(x,row_max(x)))))", 6, 3},
    {"row_min(row_sum(x) * 2)", "row_min(mul(row_sum(x),2))", 5, 2},
    {"running_sum(x - row_max(x))", "running_sum(sub(x,row_max(x)))", 4, 2},
    {"running_product(2) * row_sum(running_sum(x))",
     "mul(running_product(2),row_sum(running_sum(x)))", 6, 2},
    {"\n\tx\r +  y ", "add(x,y)", 3, 1},
};

TEST_LOOP(test_meaning, 0, sizeof meanings / sizeof *meanings)
{
    scoped_tape *tape = NULL;
    ck_ok(make(&tape, meanings[_i].text, &why));
    char printed[1024];
    print_instruction(printed, sizeof printed, tape, tape->outputs[0]);
    ck_assert_str_eq(printed, meanings[_i].meaning);
    ck_assert_int_eq(tape->instruction_count, meanings[_i].instruction_count);
    ck_assert_int_eq(tape->phase_count, meanings[_i].phase_count);
    ck_assert_int_eq(tape->outputs[1], -1);
    ck_assert_str_eq(tape->text, meanings[_i].text);
}

/* Messages in full: the column, the name, what was expected, what stands there. */
static const struct {
    const char *text, *message;
} failures[] = {
    {"", "formula:1: expected an expression, near 'end of formula'"},
    {"x +", "formula:4: expected an expression, near 'end of formula'"},
    {"x + * y", "formula:5: expected an expression, near '* y'"},
    {"x y", "formula:3: expected an operator or the end, near 'y'"},
    {"foo + 1",
     "formula:1: 'foo' is not an operand, an earlier local or a constant, near 'foo + 1'"},
    {"x + foo(1)", "formula:5: 'foo' is not a function, near 'foo(1)'"},
    {"exp(x, y)", "formula:1: 'exp' takes 1 argument, not 2, near 'exp(x, y)'"},
    {"1 + fma(x, y)", "formula:5: 'fma' takes 3 arguments, not 2, near 'fma(x, y)'"},
    {"row_size(x)", "formula:1: 'row_size' takes 0 arguments, not 1, near 'row_size(x)'"},
    {"row_sum()", "formula:1: 'row_sum' takes 1 argument, not 0, near 'row_sum()'"},
    {"max(x, y", "formula:9: expected ',' or ')', near 'end of formula'"},
    {"(x", "formula:3: expected ')', near 'end of formula'"},
    {"x)", "formula:2: expected an operator or the end, near ')'"},
    {"x ? y", "formula:6: expected ':', near 'end of formula'"},
    {"a = x", "formula:6: expected an operator or ';', near 'end of formula'"},
    {"a = x;", "formula:7: expected an expression, near 'end of formula'"},
    {"x = y; x", "formula:1: 'x' is an operand or defined before, near 'x = y; x'"},
    {"a = x; a = y; a", "formula:8: 'a' is an operand or defined before, near 'a = y; a'"},
    {"pi = 3; pi", "formula:1: 'pi' is a constant, near 'pi = 3; pi'"},
    {"a = a; a", "formula:5: 'a' is not an operand, an earlier local or a constant, near 'a; a'"},
    {"x @ y", "formula:3: unexpected character, near '@ y'"},
    {"x + 1.2.3", "formula:5: malformed number, near '1.2.3'"},
    {"2x", "formula:1: malformed number, near '2x'"},
    {"1e", "formula:1: malformed number, near '1e'"},
    {"0x", "formula:1: malformed number, near '0x'"},
    {"x | y", "formula:3: expected an operator or the end, near '| y'"},
    {"x = = y", "formula:1: 'x' is an operand or defined before, near 'x = = y'"},
    {"q = = y; q", "formula:5: expected an expression, near '= y; q'"},
    {"x + \xc3\xa9", "formula:5: unexpected character, near '?\?'"},
};

TEST_LOOP(test_failure, 0, sizeof failures / sizeof *failures)
{
    struct ulp_tape *tape = (struct ulp_tape *)&tape;
    struct ulp_error error = {.status = ULP_OK};
    ck_assert_int_eq(make(&tape, failures[_i].text, &error), ULP_ERROR_USAGE);
    ck_assert_ptr_null(tape);
    ck_assert_int_eq(error.status, ULP_ERROR_USAGE);
    ck_assert_str_eq(error.message, failures[_i].message);
    ck_assert_int_eq(make(&tape, failures[_i].text, NULL), ULP_ERROR_USAGE);
}

TEST(test_outputs)
{
    scoped_tape *tape = NULL;
    ck_ok(make(&tape, "mean = row_mean(x); d = x - mean; out = 3; d * y", &why));
    char printed[256];
    print_instruction(printed, sizeof printed, tape, tape->outputs[0]);
    ck_assert_str_eq(printed, "mul(sub(x,div(row_sum(x),row_size())),y)");
    print_instruction(printed, sizeof printed, tape, tape->outputs[1]);
    ck_assert_str_eq(printed, "div(row_sum(x),row_size())");
    print_instruction(printed, sizeof printed, tape, tape->outputs[2]);
    ck_assert_str_eq(printed, "sub(x,div(row_sum(x),row_size()))");
    ck_assert(tape->instructions[tape->outputs[1]].per_row);
    ck_assert(!tape->instructions[tape->outputs[2]].per_row);
    ck_assert_int_eq(tape->instructions[tape->outputs[1]].phase, 1);
    ck_assert_int_eq(tape->constant_count, 0);
}

/* Text of `count` copies between two ends. */
static char *repeat(const char *before, const char *unit, size_t count, const char *after)
{
    char *text = malloc(strlen(before) + count * strlen(unit) + strlen(after) + 1), *at = text;
    at = stpcpy(at, before);
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, unit);
    stpcpy(at, after);
    return text;
}

TEST(test_limits)
{
    static const char *const units[] = {"(", "-", "!", "exp(", "1?", "1?1:", "row_sum("};
    struct ulp_tape *tape;
    struct ulp_error error = {.status = ULP_OK};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        SCOPED_MEMORY char *text = repeat("", units[i], 100000, "x");
        ck_assert_int_eq(make(&tape, text, &error), ULP_ERROR_USAGE);
        ck_assert_msg(strstr(error.message, "nested too deeply") != NULL, "%s: %s", units[i],
                      error.message);
    }
    /* 1024 and 16 for each operand (build.h) */
    const size_t most = 1024 + 16 * 4;
    char *text = repeat("x", "+x", most - 2, "");
    ck_ok(make(&tape, text, &why));
    ck_assert_int_eq(tape->instruction_count, most - 1);
    ulp_tape_free(tape);
    free(text);
    text = repeat("x", "+x", most, "");
    ck_fails(ULP_ERROR_USAGE, "too many steps", make(&tape, text, &why));
    free(text);
}

/* Whichever of a tape's requests a limit refuses. */
TEST(test_memory)
{
    struct ulp_budget budget = {0};
    struct ulp_tape *tape = NULL;
    struct ulp_error error;
    size_t refused = 0;
    while (!tape && budget.limit_bytes < 10000000) {
        budget.limit_bytes += 4096;
        if (ulp_tape_create(&tape, "x * x + 2", operand_names, 4, output_names, 3, &budget,
                            &error) == ULP_OK)
            break;
        refused++;
        ck_assert_msg(error.status == ULP_ERROR_MEMORY &&
                          strstr(error.message, "the memory limit of"),
                      "%zu bytes: %s", budget.limit_bytes, error.message);
    }
    ck_assert(tape && refused > 10);
    ulp_tape_free(tape);
    ck_assert_uint_eq(budget.used_bytes, 0);
}
