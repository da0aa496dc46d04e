/* Formulas: an operator's meaning as text, parsed once into a tape of primitives, run in any
 * arithmetic.
 *
 * Grammar (positions in error messages are 1-based columns):
 *   formula    = { name "=" expression ";" } expression
 *   expression = primaries with C's operators and precedence: ?: || && == != < <= > >= + - * / and
 *                unary - !
 *   primary    = number | "pi" | "inf" | "nan" | name | call | "(" expression ")"
 *   call       = name "(" expression { "," expression } ")"
 * Numbers stay decimal text until the arithmetic is known, then are rounded once. A name is an
 * operand (tensor input or attribute), a local, or a primitive's spelling in primitive.def. Row
 * functions reduce a row to one value in the arithmetic's format of rows and its order: row_sum,
 * row_mean, row_max, row_min, row_product, and row_size() is the number of elements of the row.
 * running_sum and running_product give every position the reduction of the row's elements up to it,
 * in order from 0 or 1 on; each partial result is rounded to the accumulator's format. The last
 * expression is the first output; a local whose name is that of a further output is that output.
 * Common subexpressions are evaluated once.
 *
 * The tape is a static list of instructions in dependency order, with no state, so that other walks
 * over it (adjoint, interval, ranges of intermediates) need nothing from the operators. */
#pragma once

#include "base/machine/thread.h"
#include "number/strip.h"
#include "tensor/tensor.h"

enum ulp_tape_kind {
    ULP_TAPE_OPERAND,   /* operand[index] */
    ULP_TAPE_CONSTANT,  /* constants[index], text */
    ULP_TAPE_PRIMITIVE, /* primitive(arguments) */
    ULP_TAPE_REDUCTION, /* reduction of argument 0 over the row */
    ULP_TAPE_SCAN,      /* reduction of argument 0 over the row up to the position */
    ULP_TAPE_ROW_SIZE,
};

struct ulp_instruction {
    enum ulp_tape_kind kind;
    int index; /* operand or constant number */
    enum ulp_primitive primitive;
    enum ulp_reduction reduction;
    enum ulp_row_kernel kernel; /* of a reduction that is a runtime's alone */
    int arguments[3];           /* earlier instructions; -1: none */
    /* reductions of phase p need every strip of the row before phase p + 1 can start */
    int phase;
    /* one value a row: constants, reductions and what depends on such only */
    bool per_row;
    int column; /* in the text, for messages */
};

struct ulp_tape {
    char *text;
    int instruction_count, operand_count, output_count, phase_count;
    struct ulp_instruction *instructions;
    int *outputs; /* instruction of each output; -1: the formula does not give it */
    char **constants;
    int constant_count;
};

/* Parse. operand_names and output_names name operands 0.. and outputs 0.. (output 0 is the last
 * expression whatever its name). budget may be NULL. Errors: ULP_ERROR_USAGE "formula:COLUMN: what,
 * near 'text'". Immutable afterwards; may be shared. */
enum ulp_status ulp_tape_create(struct ulp_tape **out, const char *text,
                                const char *const *operand_names, int operand_count,
                                const char *const *output_names, int output_count,
                                struct ulp_budget *budget, struct ulp_error *error);
void ulp_tape_free(struct ulp_tape *tape);
/* Whether every result is a real number that any format has which holds the first operand_count
 * operands: these, 0, 1, integer parts and truth values, chosen by what is no rounded number
 * either. The formula reads no other operands then. */
bool ulp_tape_is_exact(const struct ulp_tape *tape, int operand_count);

/* Whether some value of a row follows from several of its elements. */
bool ulp_tape_reduces(const struct ulp_tape *tape);

/* Where an operand's (or output's) elements lie: element (row r, position p) is at
 * (row_offset ? row_offset[r] : r * row_stride) + (position_offset ? position_offset[p] : p *
 * position_stride). A stride of 0 repeats (broadcast). With row_period row_offset is of so many
 * rows, and the next ones lie row_stride further each (the channels of a pool); position_offset is
 * set then. */
struct ulp_operand {
    const struct ulp_tensor *tensor; /* NULL: the constant */
    const char *constant;            /* number as text, exact: decimal or "%a" */
    const int64_t *row_offset, *position_offset;
    int64_t row_stride, position_stride;
    size_t row_period;
    const struct ulp_format *storage; /* of a float output; NULL: the arithmetic's */
};
/* Where the row begins. */
static inline int64_t ulp_row_base(const struct ulp_operand *operand, size_t row)
{
    const size_t period = operand->row_period;
    if (!operand->row_offset)
        return (int64_t)row * operand->row_stride;
    return period
               ? operand->row_offset[row % period] + (int64_t)(row / period) * operand->row_stride
               : operand->row_offset[row];
}
/* Which of the tensor's elements the position of the row is. */
static inline int64_t ulp_operand_place(const struct ulp_operand *operand, size_t row,
                                        size_t position)
{
    return ulp_row_base(operand, row) + (operand->position_offset
                                             ? operand->position_offset[position]
                                             : (int64_t)position * operand->position_stride);
}

/* The rows a tape runs over. All rows have row_length positions unless `window` is set: then it
 * fills positions[] with those (0 <= p < row_length) that exist in row r, in increasing order, and
 * returns their number (a pooling window at the border). window_classes is optional and makes short
 * rows fast: ids[i] of row first + i, equal only for rows whose windows have the same positions;
 * set, it also says that rows are windows. Both are called from several threads. */
struct ulp_rows {
    size_t row_count, row_length;
    size_t (*window)(const void *context, size_t row, int32_t *positions);
    void (*window_classes)(const void *context, size_t first, size_t count, uint64_t *ids);
    const void *window_context;
};

/* One run of a tape. outputs[i].tensor is written (const is cast away), NULL: not wanted. An output
 * whose instruction is per_row is written at position 0 of each row, or at every position when the
 * output has a position stride or table. Float outputs are rounded once to their storage. For
 * tensors that are all integers or booleans the integer carrier is used; a primitive without
 * integer meaning is ULP_ERROR_UNSUPPORTED. An output may be the same memory as an operand when
 * both are addressed equally. */
struct ulp_tape_call {
    const struct ulp_tape *tape;
    const struct ulp_arithmetic *arithmetic;
    const struct ulp_rows *rows;
    const struct ulp_operand *operands, *outputs;
    /* starts the stochastic stream: instruction i of node k at (row, position) draws number row *
     * row_length + position of the stream of (k, i) */
    uint64_t node_key;
    struct ulp_pool *pool; /* NULL: the caller's thread alone */
};
enum ulp_status ulp_tape_run(const struct ulp_tape_call *call, struct ulp_error *error);
