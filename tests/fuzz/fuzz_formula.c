#include "tests/fuzz/fuzz_formula.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/random.h"
#include "formula/tape.h"

#define TEXT_MAX 4000
#define ROWS_MAX 40
#define LENGTH_MAX 600
#define OPERANDS 4
#define OUTPUTS 2

static const char *const names[] = {"x", "y", "z", "s"};
static const char *const output_names[] = {"out", "second"};
static const char *const arithmetics[] = {"fp32",
                                          "fp16-strict",
                                          "fp16",
                                          "fp64",
                                          "bf16-strict,round=rz",
                                          "mpfr:64",
                                          "fp32,order=pairwise",
                                          "fp32,order=blocked:5",
                                          "fp16-strict,acc=fp32"};
#define ARITHMETICS (sizeof arithmetics / sizeof *arithmetics)
static const struct {
    size_t row_count, row_length;
} shapes[] = {{1, 1}, {2, 600}, {40, 3}, {9, 0}, {20, 30}, {3, 513}};
#define SHAPES (sizeof shapes / sizeof *shapes)

/* Promises of tape.h. */
static const char *check_tape(const struct ulp_tape *tape)
{
    for (int i = 0; i < tape->instruction_count; i++) {
        const struct ulp_instruction *instruction = &tape->instructions[i];
        int phase = 0;
        for (int k = 0; k < 3; k++) {
            const int argument = instruction->arguments[k];
            if (argument >= i)
                return "an argument is no earlier instruction";
            if (argument < 0)
                continue;
            const struct ulp_instruction *source = &tape->instructions[argument];
            const int ready = source->phase + (source->kind == ULP_TAPE_REDUCTION);
            phase = ready > phase ? ready : phase;
            if (instruction->kind == ULP_TAPE_PRIMITIVE && instruction->per_row && !source->per_row)
                return "a value per row depends on one per position";
        }
        if (instruction->phase != phase || phase >= tape->phase_count)
            return "a wrong phase";
        if (instruction->column < 1 || (size_t)instruction->column > strlen(tape->text))
            return "a column outside the text";
        for (int j = 0; j < i; j++)
            if (instruction->kind == tape->instructions[j].kind &&
                instruction->index == tape->instructions[j].index &&
                instruction->primitive == tape->instructions[j].primitive &&
                instruction->reduction == tape->instructions[j].reduction &&
                !memcmp(instruction->arguments, tape->instructions[j].arguments,
                        sizeof instruction->arguments))
                return "an instruction appears twice";
    }
    return NULL;
}

/* One run over rows [first, first + count) of the shape into out (one value per position) and
 * second. */
struct run {
    const struct ulp_tape *tape;
    const struct ulp_arithmetic *arithmetic;
    struct ulp_tensor operands[OPERANDS];
    double data[OPERANDS][ROWS_MAX * LENGTH_MAX];
    bool filled;
};

static enum ulp_status run_rows(struct run *run, size_t first, size_t count, size_t length,
                                double *out, struct ulp_error *error)
{
    const int64_t dims = (int64_t)(count * length);
    struct ulp_rows rows = {.row_count = count, .row_length = length};
    struct ulp_operand operands[OPERANDS],
        outputs[OUTPUTS] = {{.row_stride = (int64_t)length, .position_stride = 1}};
    for (int i = 0; i < OPERANDS; i++) {
        run->operands[i] = (struct ulp_tensor){.type = ULP_TYPE_DOUBLE,
                                               .element = ULP_ELEMENT_F64,
                                               .rank = 1,
                                               .dims = {ROWS_MAX * LENGTH_MAX},
                                               .count = ROWS_MAX * LENGTH_MAX,
                                               .element_bytes = sizeof(double),
                                               .data = run->data[i]};
        operands[i] = (struct ulp_operand){.tensor = &run->operands[i]};
        if (i < 2) {
            run->operands[i].data = run->data[i] + first * length;
            operands[i].position_stride = 1;
            operands[i].row_stride = (int64_t)length;
        } else if (i == 2) {
            run->operands[i].data = run->data[i] + first;
            operands[i].row_stride = 1;
        }
    }
    struct ulp_tensor result = {.type = ULP_TYPE_DOUBLE,
                                .element = ULP_ELEMENT_F64,
                                .rank = 1,
                                .dims = {dims},
                                .count = (size_t)dims,
                                .element_bytes = sizeof(double),
                                .data = out};
    outputs[0].tensor = &result;
    return ulp_tape_run(&(struct ulp_tape_call){.tape = run->tape,
                                                .arithmetic = run->arithmetic,
                                                .rows = &rows,
                                                .operands = operands,
                                                .outputs = outputs,
                                                .node_key = 1},
                        error);
}

static const char *check_run(const struct ulp_tape *tape, const char *arithmetic_name, size_t shape)
{
    static struct run run;
    static double together[ROWS_MAX * LENGTH_MAX], alone[LENGTH_MAX];
    struct ulp_arithmetic arithmetic;
    struct ulp_error error;
    if (ulp_arithmetic_find(arithmetic_name, &arithmetic, &error) != ULP_OK)
        return "an arithmetic is unknown";
    run.tape = tape;
    run.arithmetic = &arithmetic;
    for (int i = 0; i < OPERANDS && !run.filled; i++)
        for (size_t k = 0; k < ROWS_MAX * LENGTH_MAX; k++)
            run.data[i][k] =
                k % 17 == 3 ? 0 : (double)((k * 2654435761u + (size_t)i * 40503u) % 256) / 64 - 2;
    run.filled = true;
    const size_t count = shapes[shape].row_count, length = shapes[shape].row_length;
    if (run_rows(&run, 0, count, length, together, &error) != ULP_OK)
        return "a formula that was parsed does not run";
    for (size_t row = 0; row < count; row += count / 3 + 1) {
        if (run_rows(&run, row, 1, length, alone, &error) != ULP_OK)
            return "one row does not run";
        for (size_t p = 0; p < length; p++) {
            const double a = together[row * length + p], b = alone[p];
            if (memcmp(&a, &b, sizeof a) && !(isnan(a) && isnan(b)))
                return "a row alone gives another result";
        }
    }
    return NULL;
}

const char *fuzz_formula(const uint8_t *bytes, size_t count)
{
    char text[TEXT_MAX + 1];
    struct ulp_tape *tape;
    struct ulp_error error = {.status = ULP_OK};
    if (count < 2)
        return NULL;
    const size_t length = count - 2 < TEXT_MAX ? count - 2 : TEXT_MAX;
    memcpy(text, bytes + 2, length);
    text[length] = 0;
    const enum ulp_status status =
        ulp_tape_create(&tape, text, names, OPERANDS, output_names, OUTPUTS, NULL, &error);
    if (status != ULP_OK) {
        unsigned column = 0;
        for (const char *s = error.message + 8; *s >= '0' && *s <= '9'; s++)
            column = column * 10 + (unsigned)(*s - '0');
        if (status != ULP_ERROR_USAGE || tape || strncmp(error.message, "formula:", 8))
            return "a refusal that is not the parser's";
        if (column < 1 || column > strlen(text) + 1 || strpbrk(error.message, "\n\r\t"))
            return "a message without a column of the text, or with control characters";
        return NULL;
    }
    const char *wrong = check_tape(tape);
    if (!wrong && tape->instruction_count < 60)
        wrong = check_run(tape, arithmetics[bytes[0] % ARITHMETICS], bytes[1] % SHAPES);
    ulp_tape_free(tape);
    return wrong;
}

struct maker {
    uint64_t seed, counter;
    uint8_t *bytes;
    size_t count, size;
};

static size_t draw(struct maker *maker, size_t below)
{
    return (size_t)(ulp_random_bits(maker->seed, maker->counter++) % below);
}

static void put(struct maker *maker, const char *text)
{
    const size_t length = strlen(text);
    if (maker->count + length > maker->size)
        return;
    memcpy(maker->bytes + maker->count, text, length);
    maker->count += length;
}

static void make_expression(struct maker *maker, int depth)
{
    static const char *const leaves[] = {"x",    "y",  "z",   "s",   "1",          "0.5", "-2",
                                         "1e-3", "pi", "inf", "nan", "row_size()", "d"};
    static const char *const binaries[] = {"+",    "-",    "*",    "/",    " < ", " >= ",
                                           " == ", " != ", " && ", " || ", " - "};
    static const char *const unaries[] = {"-",           "!",           "abs",
                                          "sqrt",        "exp",         "tanh",
                                          "floor",       "sigmoid",     "row_sum",
                                          "row_max",     "row_min",     "row_mean",
                                          "row_product", "log",         "is_nan",
                                          "sign",        "running_sum", "running_product"};
    static const char *const pairs[] = {"min", "max", "pow", "mod", "fmod", "xor"};
    const size_t kind = depth <= 0 ? 0 : draw(maker, 8);
    if (kind < 2) {
        put(maker, leaves[draw(maker, sizeof leaves / sizeof *leaves)]);
    } else if (kind < 5) {
        const bool brackets = draw(maker, 2);
        put(maker, brackets ? "(" : "");
        make_expression(maker, depth - 1);
        put(maker, binaries[draw(maker, sizeof binaries / sizeof *binaries)]);
        make_expression(maker, depth - 1);
        put(maker, brackets ? ")" : "");
    } else if (kind < 7) {
        const size_t which = draw(maker, sizeof unaries / sizeof *unaries);
        put(maker, unaries[which]);
        put(maker, "(");
        make_expression(maker, depth - 1);
        put(maker, ")");
    } else if (draw(maker, 2)) {
        put(maker, pairs[draw(maker, sizeof pairs / sizeof *pairs)]);
        put(maker, "(");
        make_expression(maker, depth - 1);
        put(maker, ", ");
        make_expression(maker, depth - 1);
        put(maker, ")");
    } else {
        make_expression(maker, depth - 1);
        put(maker, " ? ");
        make_expression(maker, depth - 1);
        put(maker, " : ");
        make_expression(maker, depth - 1);
    }
}

size_t fuzz_formula_make(uint8_t *bytes, size_t size, uint64_t seed)
{
    struct maker maker = {.seed = seed, .bytes = bytes, .size = size};
    const char choices[] = {(char)(1 + draw(&maker, 250)), (char)(1 + draw(&maker, 250)), 0};
    put(&maker, choices);
    put(&maker, "d = ");
    const size_t local = maker.count - 4;
    make_expression(&maker, 3);
    put(&maker, "; ");
    /* it might name itself: no local then */
    if (memchr(bytes + local + 1, 'd', maker.count - local - 1))
        maker.count = local;
    if (draw(&maker, 2) && maker.count > local) {
        put(&maker, "second = d * y; ");
    }
    make_expression(&maker, 4);
    return maker.count;
}

size_t fuzz_formula_damage(uint8_t *bytes, size_t count, size_t size, uint64_t seed)
{
    static const char alphabet[] = "xyzd01.e+-*/<>=!&|?:;,() _\"#@p\x80";
    struct maker maker = {.seed = seed};
    for (size_t changes = 1 + draw(&maker, 4); changes > 0 && count > 2; changes--) {
        const size_t at = 2 + draw(&maker, count - 2), length = 1 + draw(&maker, count - at);
        switch (draw(&maker, 4)) {
        case 0: bytes[at] = (uint8_t)alphabet[draw(&maker, sizeof alphabet - 1)]; break;
        case 1:
            memmove(bytes + at, bytes + at + length, count - at - length);
            count -= length;
            break;
        case 2:
            if (count + length <= size) {
                memmove(bytes + at + length, bytes + at, count - at);
                count += length;
            }
            break;
        case 3: bytes[at] = (uint8_t)draw(&maker, 256); break;
        }
    }
    return count;
}
