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

static void expect_meaning(const char *text, const char *meaning)
{
    scoped_tape *tape = NULL;
    char printed[1024], said[1100];
    ck_ok(make(&tape, text, &why));
    print_instruction(printed, sizeof printed, tape, tape->outputs[0]);
    snprintf(said, sizeof said, "%s, %d, %d", printed, tape->instruction_count, tape->phase_count);
    ck_assert_str_eq(said, meaning);
    ck_assert_int_eq(tape->outputs[1], -1);
    ck_assert_str_eq(tape->text, text);
}

static void expect_message(const char *text, const char *message)
{
    struct ulp_tape *tape = (struct ulp_tape *)&tape;
    struct ulp_error error = {.status = ULP_OK};
    ck_assert_int_eq(make(&tape, text, &error), ULP_ERROR_USAGE);
    ck_assert_ptr_null(tape);
    ck_assert_int_eq(error.status, ULP_ERROR_USAGE);
    ck_assert_str_eq(error.message, message);
    ck_assert_int_eq(make(&tape, text, NULL), ULP_ERROR_USAGE);
}

/* Those of formula.cases, and spellings that a line has not. */
TEST(test_meanings_and_messages)
{
    size_t meanings = 0, messages = 0;
    for (size_t i = 0; i < text_case_count(FORMULAS); i++) {
        const char *row = text_case(FORMULAS, i, "", 0), *said = strstr(row, " => ");
        char text[200];
        if (!said)
            continue;
        snprintf(text, sizeof text, "%.*s", (int)(said - row), row);
        const bool refused = strncmp(said + 4, "formula:", 8) == 0;
        (refused ? expect_message : expect_meaning)(text, said + 4);
        ++*(refused ? &messages : &meanings);
    }
    ck_assert(meanings == 42 && messages == 27);
    expect_meaning("\n\tx\r +  y ", "add(x,y), 3, 1");
    expect_message("", "formula:1: expected an expression, near 'end of formula'");
    expect_message("x + \xc3\xa9", "formula:5: unexpected character, near '?\?'");
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
