/* What a trace has recorded: numbers, and the gates that made them. */
#pragma once

#include <string.h>

#include "base/bits.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "formula/adjoint.h"
#include "ops/trace/trace.h"

/* Names lie in the binade of 2^1022, which no model's values reach; ordered as their indexes. */
#define ULP_NAME_EXPONENT 0x7FDu
#define ULP_NO_NUMBER SIZE_MAX

static inline double ulp_name_of(size_t number)
{
    return ulp_double_from((uint64_t)ULP_NAME_EXPONENT << 52 | number);
}

/* ULP_NO_NUMBER: it is no name. */
static inline size_t ulp_number_of(double name)
{
    const uint64_t bits = ulp_double_bits(name);
    return bits >> 52 == ULP_NAME_EXPONENT ? (size_t)(bits & (((uint64_t)1 << 52) - 1))
                                           : ULP_NO_NUMBER;
}

/* The part of a tensor that a gate reads, as one dimension. A copy; its named elements are numbers
 * from ulp_part_resolve on, of which the tensor is a view where all are named in order. */
struct ulp_trace_part {
    struct ulp_tensor tensor;
    bool named;      /* some element is */
    size_t start;    /* with numbers NULL: element i has number start + i */
    size_t *numbers; /* of each element, or ULP_NO_NUMBER */
};

/* A formula's adjoint, kept for tapes that are equal. */
struct ulp_trace_kept_adjoint {
    struct ulp_tape *adjoint;
    char *text;
    struct ulp_instruction *instructions;
    int *outputs;
    int instruction_count, operand_count, output_count;
    uint64_t spread;
    struct ulp_trace_kept_adjoint *next;
};

/* An output without positions has one element for each row. */
static inline bool ulp_gate_has_positions(const struct ulp_operand *output)
{
    return output->position_offset || output->position_stride;
}

/* Result (row, position) of an output is number start + row * per_row + position. */
struct ulp_trace_result {
    bool real;
    size_t start, per_row;
};

struct ulp_trace_gate {
    struct ulp_trace_gate *before, *later; /* later: the next that is pending */
    struct ulp_trace_part *parts;
    const struct ulp_arithmetic *arithmetic; /* of a gate that is pending */
    /* a formula: adjoint != NULL */
    const struct ulp_tape *adjoint, *tape;
    struct ulp_rows rows;
    int operand_count, output_count;
    struct ulp_operand *operands; /* whose tensors are the parts' */
    struct ulp_trace_result *results;
    double **slopes; /* by operand [row][position]: its derivatives, where sweeps share them */
    /* a contraction */
    struct ulp_contraction problem;
    size_t start; /* of its numbers, [batch][m][n] */
    /* other names for the elements of parts[0]: element order[i] is number start + i */
    size_t *order;
};

/* Named elements of a tensor, numbers from `start` on, which are read from it when someone asks. */
struct ulp_trace_source {
    struct ulp_trace_source *next;
    struct ulp_tensor tensor;
    size_t start;
    double part; /* more by so much of `of`; 0: as they are */
    const float *of;
};

/* What a trace does at the gates instead of recording (ops/trace/trace_enclose.h). */
struct ulp_trace_gates {
    enum ulp_status (*tape)(struct ulp_trace *, const struct ulp_tape_call *, struct ulp_error *);
    enum ulp_status (*contract)(struct ulp_trace *, const struct ulp_arithmetic *,
                                const struct ulp_contraction *, struct ulp_pool *,
                                struct ulp_error *);
    enum ulp_status (*numbers)(struct ulp_trace *, const struct ulp_tensor **, struct ulp_error *);
    void (*free)(struct ulp_trace *);
};

struct ulp_trace {
    const struct ulp_trace_gates *instead; /* NULL: it records */
    struct ulp_enclosing *enclosing;
    struct ulp_arithmetic arithmetic; /* fp64 */
    struct ulp_budget *budget;
    struct ulp_pool *pool;
    struct ulp_arena *arena; /* of gates */
    struct ulp_trace_gate *last;
    struct ulp_trace_gate *pending, *last_pending; /* not yet computed, in order */
    struct ulp_trace_source *sources;              /* not yet read, the last first */
    struct ulp_trace_mark *first_mark, **end_mark;
    double *values, *cotangents; /* values: of the first `capacity` numbers */
    size_t count, capacity;
    double *names; /* of the first name_count numbers, which inputs of all calls are views of */
    size_t name_count, names_wanted;
    struct ulp_trace_kept_adjoint *kept;
    bool passes_steps, sloped, shared; /* sloped, shared: ulp_trace_begin_reverse */
};

/* trace_names.c: room for the values of all numbers; memory until the trace is cleared, zeroed, or
 * (room) for what is written whole. */
enum ulp_status ulp_trace_reserve(struct ulp_trace *trace, struct ulp_error *error);
enum ulp_status ulp_trace_take(struct ulp_trace *trace, size_t count, size_t bytes, void *out,
                               struct ulp_error *error);
enum ulp_status ulp_trace_room(struct ulp_trace *trace, size_t count, size_t bytes, void *out,
                               struct ulp_error *error);
/* The number that the first of `count` elements is a name of, where the next ones name those after
 * it; or ULP_NO_NUMBER. */
size_t ulp_names_in_order(const struct ulp_trace *trace, const double *names, size_t count);
/* The numbers of inputs that wait to be read. */
enum ulp_status ulp_trace_read_sources(struct ulp_trace *trace, struct ulp_error *error);
/* trace_settle.c. Compute the gates that are pending and give numbers before `end`: most
 * derivatives do not depend on them. */
enum ulp_status ulp_trace_settle(struct ulp_trace *trace, size_t end, struct ulp_error *error);
/* A formula's gate now, on its operands as numbers. */
enum ulp_status ulp_gate_run(struct ulp_trace *trace, struct ulp_trace_gate *gate,
                             const struct ulp_tape_call *call, struct ulp_error *error);
/* The part's elements as numbers, valid until more are reserved. */
enum ulp_status ulp_part_resolve(struct ulp_trace *trace, struct ulp_trace_part *part,
                                 struct ulp_error *error);
/* Elements low to high of a tensor. */
enum ulp_status ulp_part_take(struct ulp_trace *trace, struct ulp_trace_part *out,
                              const struct ulp_tensor *tensor, int64_t low, int64_t high,
                              struct ulp_error *error);
/* trace_adjoint.c: the tape's adjoint; bit o of spread: output o lies at every position. */
enum ulp_status ulp_trace_adjoint(struct ulp_trace *trace, const struct ulp_tape *tape,
                                  uint64_t spread, const struct ulp_tape **out,
                                  struct ulp_error *error);

/* trace_elementwise.c: what an operand's element is owed is a derivative, which cotangents do not
 * change, times the cotangent of the row's result or of that at its position. The gate is a
 * formula. */
bool ulp_gate_is_diagonal(const struct ulp_trace_gate *gate);

/* What element e of the part is owed. */
static inline void ulp_trace_owe(struct ulp_trace *trace, const struct ulp_trace_part *part,
                                 int64_t e, double owed)
{
    const size_t number = part->numbers ? part->numbers[e] : part->start + (size_t)e;
    if (number != ULP_NO_NUMBER)
        trace->cotangents[number] += owed;
}

/* What `count` elements are owed, from e on, `stride` apart. */
static inline void ulp_trace_owe_line(struct ulp_trace *trace, const struct ulp_trace_part *part,
                                      int64_t e, int64_t stride, const double *owed, size_t count)
{
    if (part->numbers || (stride != 0 && stride != 1)) {
        for (size_t i = 0; i < count; i++)
            ulp_trace_owe(trace, part, e + (int64_t)i * stride, owed[i]);
        return;
    }
    double *to = trace->cotangents + part->start + e, sum = *to;
    for (size_t i = 0; stride && i < count; i++)
        to[i] += owed[i];
    for (size_t i = 0; !stride && i < count; i++)
        sum += owed[i];
    if (!stride)
        *to = sum;
}

/* Is any of these numbers owed anything? */
static inline bool ulp_trace_is_owed(const struct ulp_trace *trace, size_t start, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (trace->cotangents[start + i] != 0)
            return true;
    return false;
}

static inline struct ulp_tensor ulp_view_numbers(double *data, size_t count)
{
    return ulp_tensor_list(ULP_TYPE_DOUBLE, data, 1, count);
}

/* reverse_contraction.c */
enum ulp_status ulp_gate_reverse_contraction(struct ulp_trace *trace,
                                             const struct ulp_trace_gate *gate,
                                             struct ulp_error *error);

/* Between two turns ulp_trace_take takes from the other arena: what a gate needs for itself must
 * not last as long as the node, which may be a recurrence of thousands of gates. */
static inline void ulp_trace_turn(struct ulp_trace *trace, struct ulp_arena **other)
{
    struct ulp_arena *arena = trace->arena;
    trace->arena = *other;
    *other = arena;
}

static inline enum ulp_status ulp_trace_fail(struct ulp_error *error)
{
    return ulp_out_of_memory(error);
}
