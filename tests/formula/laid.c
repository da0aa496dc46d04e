#include "laid.h"

#include "oracle.h"

const char *const laid_names[] = {"x", "y", "z", "w", "s", "c"};
#define CONSTANT "0.1"

void laid_create(struct laid *laid, const char *arithmetic, size_t row_count, size_t row_length,
                 bool specials, uint64_t seed)
{
    static const int row_strides[] = {1, 1, 1, 0, 0}, position_strides[] = {1, 1, 0, 1, 0};
    struct source source = {.key = seed};
    *laid = (struct laid){.arithmetic = test_arithmetic(arithmetic),
                          .rows = {.row_count = row_count, .row_length = row_length}};
    laid->arithmetic.cuda_functions = false; /* the oracle's are MPFR's, rounded */
    for (int i = 0; i < LAID_OPERANDS; i++) {
        if (i == LAID_OPERANDS - 1) {
            laid->operands[i].constant = CONSTANT;
            break;
        }
        laid->values[i] = calloc(row_count * row_length + 1, sizeof(double));
        const size_t rows = row_strides[i] ? row_count : 1,
                     length = position_strides[i] ? row_length : 1;
        SCOPED_MEMORY double *own = calloc(rows * length + 1, sizeof *own);
        for (size_t k = 0; k < rows * length; k++)
            own[k] = draw_value(&source, &laid->arithmetic.storage, specials);
        laid->tensors[i] =
            make_tensor(&laid->arithmetic, 1, (int64_t[]){(int64_t)(rows * length)}, own);
        laid->operands[i] = (struct ulp_operand){.tensor = &laid->tensors[i],
                                                 .row_stride = row_strides[i] ? (int64_t)length : 0,
                                                 .position_stride = position_strides[i]};
        for (size_t row = 0; row < row_count; row++)
            for (size_t p = 0; p < row_length; p++)
                laid->values[i][row * row_length + p] =
                    own[(rows > 1 ? row * length : 0) + (length > 1 ? p : 0)];
    }
}

void laid_free(struct laid *laid)
{
    for (int i = 0; i < LAID_OPERANDS; i++) {
        ulp_tensor_free(&laid->tensors[i]);
        free(laid->values[i]);
    }
}

bool is_per_row(const struct ulp_tape *tape, int output)
{
    return tape->instructions[tape->outputs[output]].per_row;
}

struct ulp_tensor laid_run(const struct laid *laid, const struct ulp_tape *tape, int threads,
                           uint64_t node_key)
{
    const bool per_row = is_per_row(tape, 0);
    const size_t count = laid->rows.row_count * (per_row ? 1 : laid->rows.row_length);
    struct ulp_tensor out = make_tensor(&laid->arithmetic, 1, (int64_t[]){(int64_t)count}, NULL);
    const struct ulp_operand output = {.tensor = &out,
                                       .row_stride = per_row ? 1 : (int64_t)laid->rows.row_length,
                                       .position_stride = !per_row};
    scoped_pool *pool = test_pool(threads);
    const struct ulp_tape_call call = {.tape = tape,
                                       .arithmetic = &laid->arithmetic,
                                       .rows = &laid->rows,
                                       .operands = laid->operands,
                                       .outputs = &output,
                                       .node_key = node_key,
                                       .pool = pool};
    ck_ok(ulp_tape_run(&call, &why));
    return out;
}

static void compare(const struct laid *laid, const struct ulp_tape *tape,
                    const struct ulp_tensor *out)
{
    const size_t length = laid->rows.row_length, step = is_per_row(tape, 0) ? 1 : length;
    struct oracle oracle = {.tape = tape,
                            .arithmetic = &laid->arithmetic,
                            .row_length = length,
                            .operands = (const double *const *)laid->values,
                            .constant = CONSTANT};
    mpfr_t expected;
    for (int i = 0; i < tape->instruction_count; i++)
        oracle.contiguous |= tape->instructions[i].kind == ULP_TAPE_OPERAND &&
                             laid->operands[tape->instructions[i].index].position_stride == 1;
    oracle_init(&oracle);
    mpfr_init2(expected, 700);
    for (size_t row = 0; row < laid->rows.row_count; row++)
        for (size_t p = 0; p < step; p++) {
            oracle_value(&oracle, expected, 0, row, p);
            if (!oracle_equal(out, row * step + p, expected))
                ck_abort_msg("%s, '%s', %zu rows of %zu: row %zu position %zu is %a, expected %a",
                             laid->arithmetic.name, tape->text, laid->rows.row_count, length, row,
                             p, ulp_tensor_get(out, row * step + p),
                             mpfr_get_d(expected, MPFR_RNDN));
        }
    mpfr_clear(expected);
    oracle_clear(&oracle);
    mpfr_free_cache();
}

void laid_check(const char *arithmetic, const char *formula, size_t row_count, size_t row_length,
                bool specials)
{
    struct laid laid;
    scoped_tape *tape = make_tape(formula, laid_names, LAID_OPERANDS, 1);
    laid_create(&laid, arithmetic, row_count, row_length, specials, row_length * 31 + row_count);
    struct ulp_tensor out = laid_run(&laid, tape, 1, 7);
    compare(&laid, tape, &out);
    ulp_tensor_free(&out);
    laid_free(&laid);
}
