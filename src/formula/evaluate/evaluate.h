/* Running a tape, inside formula/. The plan of a call (evaluate_plan.c, memory.c) never changes; in
 * its run (evaluate.c) each worker has memory of its own (worker.c) and computes tiles (tile.c, whose
 * conversions are in carrier.c).
 *
 * Every value is constant for the run (ULP_REACH_RUN: constants, scalar operands and what depends
 * on them only), for a row, or for an element. A tile is a number of rows side by side, often one.
 * Its elements are computed a strip at a time, all rows of a position together; a reduction's
 * result is known one phase after the strips it sums, so a tile longer than a strip is walked once
 * per phase and its elements are computed again: the same instructions on the same operands at the
 * same places of the stochastic stream, hence the same bits. */
#pragma once

#include "base/memory/alloc.h"
#include "formula/tape.h"

enum ulp_reach { ULP_REACH_RUN, ULP_REACH_ROW, ULP_REACH_ELEMENT };

/* One instruction as it is run. Slots are byte offsets in a worker's memory. */
struct ulp_tape_step {
    enum ulp_tape_kind kind;
    enum ulp_reach reach;
    int phase, arguments[3];
    bool needed;
    bool spread; /* ULP_REACH_ROW, and strips of elements use it: it is spread over a strip */
    bool native; /* an operand whose elements are the carrier's, byte for byte */
    bool kept;   /* in tiles: later phases use the values of all positions again */
    enum ulp_reduction reduction_kind;
    enum ulp_row_kernel kernel; /* of the instruction */
    ulp_strip_fn *function;
    int operand;       /* number; -1: none, or a constant */
    const void *value; /* of a constant; NULL: none */
    /* ULP_REACH_ROW: the value; in tiles one value for each row */
    size_t one;
    /* ULP_REACH_ELEMENT: a register, or all positions kept; spread and ULP_REACH_RUN: the value
     * spread */
    size_t strip;
    size_t reduction; /* of reductions: their state; in tiles, and of scans: partial results of the
                         rows */
};

struct ulp_tape_output {
    int number;                       /* among the tape's */
    const struct ulp_format *storage; /* NULL: the value is stored as it is */
    int step;
    bool per_position; /* one value per position, else one per row */
};

/* Instructions in order of dependency. */
struct ulp_tape_steps {
    int *items;
    int count;
};

struct ulp_tape_plan {
    const struct ulp_tape_call *call;     /* that it is made for */
    struct ulp_strip_rule rule, sum_rule; /* of the compute format and of sums of rows */
    struct ulp_strip_rule stored_rule;    /* of storage, where sums of groups are that */
    /* the accumulator's carrier, rounding to the compute format */
    struct ulp_strip_rule narrow_rule;
    const struct ulp_strip_table *table, *sum_table;
    size_t element_bytes, sum_bytes;
    bool same_carrier; /* reductions take strips as they are */
    bool narrow;       /* results of reductions are rounded to the compute format */
    struct ulp_reduction_order order;
    /* partial results of scans pass through it; of type UNDEFINED: they are the accumulator's */
    struct ulp_tensor partial;
    struct ulp_format partial_format;
    bool has_reductions; /* or scans: rows are walked from their beginning */
    bool tiles;       /* reductions of several rows, tile_rows at most, are formed side by side */
    bool keep;        /* all positions of a tile fit in memory at once */
    size_t tile_rows; /* 1 without tiles */
    size_t width;     /* values in a strip */
    size_t grain; /* items that one worker takes at least: strips without reductions, else rows */
    int step_count, output_count, phase_count;
    struct ulp_tape_step *steps;
    struct ulp_tape_output *outputs;       /* the wanted ones */
    struct ulp_tape_steps once;            /* ULP_REACH_RUN */
    struct ulp_tape_steps program;         /* all others, reductions among them */
    struct ulp_tape_steps *row_part;       /* by phase: ULP_REACH_ROW except reductions */
    struct ulp_tape_steps *reduction_part; /* by phase */
    /* by phase: reductions; ULP_REACH_ELEMENT that they, in the last outputs, need */
    struct ulp_tape_steps *element_part;
    size_t values_slot, converted_slot, sum_slot, unit_slot, partial_slot, size_slot,
        positions_slot, offsets_slot;
    size_t ids_slot, addresses_slot, gathered_slot;
    size_t worker_bytes;
};

/* Which items of a run in pairs are open, to be computed again: rows, or without reductions pieces
 * of ULP_OPEN_WIDTH positions, row by row. */
#define ULP_OPEN_WIDTH 8
struct ulp_open_items {
    unsigned char *marks; /* NULL: all are computed, and nothing is marked */
    size_t count;
    bool pieces;
    bool whole; /* nothing may be computed again, as outputs lie where operands do */
    bool again; /* the marked items alone */
};

/* One call with a plan. */
struct ulp_tape_run {
    const struct ulp_open_items *open;
    const struct ulp_tape_plan *plan;
    uint64_t *streams;                /* by instruction, then by output of the tape */
    struct ulp_tape_worker **workers; /* NULL until used */
};

/* A tile's rows in a tensor: row i's offset is base + (offsets ? offsets[i] : i * stride). */
struct ulp_row_address {
    int64_t base, stride;
    const int64_t *offsets;
};

/* One worker's memory: this, then the slots. */
struct ulp_tape_worker {
    const struct ulp_tape_run *run;
    const struct ulp_tape_plan *plan;
    const void **values; /* by instruction: what strips of elements read */
    /* the tile: rows first_row .. first_row + row_count - 1 */
    size_t first_row, row_count;
    size_t position_count;
    const int32_t *positions;          /* those that exist; NULL: all of them */
    size_t span_count;                 /* positions in a strip */
    struct ulp_row_address *addresses; /* of several rows, by instruction, then by output */
};

/* Check and prepare; everything in the arena. */
enum ulp_status ulp_evaluate_plan(struct ulp_tape_plan *plan, const struct ulp_tape_call *call,
                                  struct ulp_arena *arena, struct ulp_error *error);
/* Its second half: memory and orders. False: out of memory. */
bool ulp_evaluate_lay(struct ulp_tape_plan *plan, struct ulp_arena *arena);
/* The worker of that number, allocated and its constants filled at first use. */
enum ulp_status ulp_evaluate_worker(struct ulp_tape_worker **out, const struct ulp_tape_run *run,
                                    int number, struct ulp_error *error);

/* The worker's tile: every phase, and the outputs. */
void ulp_evaluate_tile(struct ulp_tape_worker *worker);
/* Without reductions: `count` positions from `first` on of the worker's row, one strip at most. */
void ulp_evaluate_strip(struct ulp_tape_worker *worker, size_t first, size_t count);
/* Without reductions: the ULP_REACH_ROW values of the worker's row. */
void ulp_evaluate_prepare(struct ulp_tape_worker *worker);
/* The values of the tile's rows of an instruction with one a row, or one for all. */
void ulp_evaluate_row_value(const struct ulp_tape_worker *worker, int index);
/* The outputs with one value a row. */
void ulp_evaluate_store_rows(struct ulp_tape_worker *worker);

/* `count` positions from `first` on of a scan of row_count rows side by side. */
void ulp_evaluate_scan(const struct ulp_tape_worker *worker, const struct ulp_tape_step *step,
                       void *out, const void *values, size_t row_count, size_t first, size_t count,
                       struct ulp_strip_place place);
/* The order of one reduction of the plan. */
static inline struct ulp_reduction_order ulp_evaluate_order(const struct ulp_tape_plan *plan,
                                                            const struct ulp_tape_step *step)
{
    struct ulp_reduction_order order = plan->order;
    if (step->kernel || step->reduction_kind != ULP_REDUCTION_SUM)
        order.kernel = step->kernel;
    return order;
}
/* n results of a reduction (values of the accumulator's carrier, overwritten) as values to compute
 * with. */
void ulp_evaluate_narrow(const struct ulp_tape_worker *worker, void *out, void *sums, size_t n,
                         struct ulp_strip_place place);
/* n values as the accumulator's carrier has them: themselves, or converted into the worker's
 * memory. */
const void *ulp_evaluate_widen(const struct ulp_tape_worker *worker, const void *values, size_t n);
/* a * (1 / b): how GPU kernels divide a sum by the count. */
ulp_strip_fn ulp_evaluate_scale;
/* n copies of the row's size. */
void ulp_evaluate_row_size(const struct ulp_tape_worker *worker, void *out, size_t n,
                           struct ulp_strip_place place);

static inline void *ulp_slot_of(const struct ulp_tape_worker *worker, size_t slot)
{
    return (char *)(uintptr_t)worker + slot;
}
static inline const struct ulp_operand *ulp_step_operand(const struct ulp_tape_worker *worker,
                                                         const struct ulp_tape_step *step)
{
    return &worker->plan->call->operands[step->operand];
}
static inline const struct ulp_operand *ulp_output_operand(const struct ulp_tape_worker *worker,
                                                           const struct ulp_tape_output *output)
{
    return &worker->plan->call->outputs[output->number];
}
static inline bool ulp_has_positions(const struct ulp_operand *operand)
{
    return operand->position_offset || operand->position_stride;
}
static inline bool ulp_has_rows(const struct ulp_operand *operand)
{
    return operand->row_offset || operand->row_stride;
}
static inline void *ulp_tape_element(const struct ulp_tensor *tensor, int64_t index)
{
    return (char *)tensor->data + index * (int64_t)tensor->element_bytes;
}
