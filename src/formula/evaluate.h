/* Running a tape, inside formula/: the plan (evaluate_plan.c, evaluate_memory.c), what one
 * instruction does (evaluate_strip.c), and the one walk over a tile of rows (evaluate.c).
 *
 * Every value is constant for the run, for a row, or for an element. A tile is the rows that a
 * worker has under way. Elements are computed a strip at a time: a strip holds positions of one
 * row, or a few positions of all rows of the tile, a position's rows side by side, so a tile of one
 * row needs nothing of its own. A fold's result is known one phase after the strips it folds: a
 * tile is walked once per phase, and its elements are computed again unless they are kept. These
 * are the same instructions on the same operands at the same places of the stochastic stream, hence
 * the same bits. */
#ifndef ULP_FORMULA_EVALUATE_H
#define ULP_FORMULA_EVALUATE_H

#include "base/alloc.h"
#include "formula/tape.h"
#include "number/strip/chain.h"

/* How often a value changes. */
enum ulp_reach { ULP_REACH_RUN, ULP_REACH_ROW, ULP_REACH_ELEMENT };

/* Primitives that are run together: the running value is that of `input`, then each link's. */
#define ULP_TAPE_LINKS_MAX 8
struct ulp_tape_chain {
    int input, link_count;
    int arguments[ULP_TAPE_LINKS_MAX];               /* the links' operands; -1: none */
    struct ulp_chain_link links[ULP_TAPE_LINKS_MAX]; /* without operands */
};

/* One instruction prepared. Slots are byte offsets in a worker's memory. */
struct ulp_tape_step {
    enum ulp_tape_kind kind;
    enum ulp_reach reach;
    int phase, arguments[3];
    int operand;                  /* its number; -1: not an operand */
    int output;                   /* whose memory the result is computed into; -1: none */
    int head;                     /* the last step of the chain it is inside; else itself */
    bool needed;                  /* by a wanted output */
    bool spread;                  /* a row's value that strips of elements use */
    bool native;                  /* an operand whose elements are the carrier's, byte for byte */
    bool in_place;                /* and which is always used where it lies in the tensor */
    bool kept;                    /* later phases use the values of all positions again */
    bool inside;                  /* a member of a chain, not its last */
    struct ulp_tape_chain *chain; /* that ends with this step; NULL: the function */
    enum ulp_fold fold_kind;
    ulp_strip_fn *function;
    const char *constant;
    size_t one;   /* not ELEMENT: the value of each row */
    size_t strip; /* ELEMENT: a register, or all positions kept; else the value spread */
    size_t fold;  /* of folds: their state */
};

struct ulp_tape_output {
    int number; /* among the tape's */
    int step;
    bool per_position; /* one value per position, else one per row */
    bool native;       /* the tensor's elements are the carrier's, byte for byte */
    bool rounds;       /* to storage; false: the value is stored as it is */
    struct ulp_format storage;
};

/* Numbers of steps, in order of dependency, or of tensors (operands, then outputs). */
struct ulp_tape_list {
    int *items;
    int count;
};

/* What is done between two times that folds are ready. */
struct ulp_tape_phase {
    struct ulp_tape_list rows;    /* REACH_ROW except folds */
    struct ulp_tape_list spreads; /* REACH_ROW and the last phase's folds, where strips use them */
    struct ulp_tape_list folds;   /* that end with it */
    struct ulp_tape_list
        elements; /* the folds, and what they, in the last phase the outputs, need */
};

/* What values are computed in. */
struct ulp_tape_numbers {
    struct ulp_strip_rule rule, sum_rule; /* of the compute format and of the accumulator */
    /* the accumulator's carrier, rounding to the compute format */
    struct ulp_strip_rule narrow_rule;
    const struct ulp_strip_table *table, *sum_table;
    size_t bytes, sum_bytes; /* of a value */
    bool same_carrier;       /* folds take strips as they are */
    bool narrow;             /* results of folds are rounded to the compute format */
    struct ulp_fold_order order;
};

/* How the rows are cut. */
struct ulp_tape_cut {
    size_t tile_rows;
    bool across;        /* strips hold positions of all rows of a tile, else of one */
    bool keep;          /* all positions of a tile fit in memory at once */
    size_t width;       /* values in a strip */
    size_t once_width;  /* copies of a REACH_RUN value */
    size_t strips;      /* of a row, each an item of work; 1: the row is the item */
    double nanoseconds; /* of an item */
};

/* Where things lie in a worker's memory. */
struct ulp_tape_slots {
    size_t values, addresses, converted, sums, unit, size, positions, offsets;
    size_t gathered, classes, members, indices, ids;
    size_t bytes;
};

/* Everything that follows from the tape, the arithmetic, the rows and how tensors are laid over
 * them. Constant while it runs. */
struct ulp_tape_plan {
    struct ulp_arena *arena;
    struct ulp_tape_numbers numbers;
    struct ulp_tape_cut cut;
    struct ulp_tape_slots slots;
    int operand_count, step_count, output_count, phase_count;
    struct ulp_tape_step *steps;
    struct ulp_tape_output *outputs; /* the wanted ones */
    struct ulp_tape_phase *phases;
    struct ulp_tape_list once;            /* REACH_RUN */
    struct ulp_tape_list kept;            /* steps */
    struct ulp_tape_list stored;          /* wanted outputs per position, computed elsewhere */
    struct ulp_tape_list row_tensors;     /* with an element a row */
    struct ulp_tape_list element_tensors; /* with elements along rows */
    ulp_chain_fn *chain;                  /* NULL: there are none */
    bool batch;                           /* one chain is all: the tile's rows at once */
    ulp_windows_fn *fold_windows; /* phase 0 is one fold of an operand, from the tensor; or NULL */
};

/* One run: the tensors' memory, the streams' key, the workers. */
struct ulp_tape_job {
    const struct ulp_tape_plan *plan;
    const struct ulp_tape_call *call;
    struct ulp_tape_worker **workers; /* NULL until used */
    int worker_count;
};

struct ulp_tape_tile {
    size_t first_row, row_count;
    const size_t *indices; /* its rows; NULL: consecutive */
    size_t position_count;
    const int32_t *positions; /* those that exist; NULL: all */
    size_t begin, end;        /* positions: of the first row, of the last one */
};

/* Where elements lie in a tensor: i's offset is base + (offsets ? offsets[i] : i * stride). */
struct ulp_tape_address {
    int64_t base, stride;
    const int64_t *offsets;
};

/* Rows of a tile whose windows have the same positions. */
struct ulp_window_class {
    uint64_t id;
    int first_row, last_row; /* a chain through the tile's rows */
};

/* One worker's memory: this, then the slots. */
struct ulp_tape_worker {
    const struct ulp_tape_job *job;
    const struct ulp_tape_plan *plan;
    const void **values;                /* by instruction: what strips of elements read */
    struct ulp_tape_address *addresses; /* by tensor: of the tile's rows */
    struct ulp_tape_tile tile;
    size_t row, lanes; /* the rows in a strip: the first one's number in the tile, how many */
    size_t span_count; /* positions in a strip, at most */
};

/* Positions [first, first + count) of the rows in a strip. */
struct ulp_tape_span {
    size_t first, count;
};

/* ---- planning ---- */

/* Checks and prepares; everything in the arena. */
enum ulp_status ulp_evaluate_plan(struct ulp_tape_plan *plan, const struct ulp_tape_call *call,
                                  struct ulp_arena *arena, struct ulp_error *error);
/* Joins instructions to chains. False: out of memory. */
bool ulp_evaluate_find_chains(struct ulp_tape_plan *plan, const struct ulp_tape *tape);
/* May the first phase be the fold of an operand's windows, straight from the tensor? Tiles are
 * chosen, the lists not made yet. */
ulp_windows_fn *ulp_evaluate_find_windows(const struct ulp_tape_plan *plan,
                                          const struct ulp_tape_call *call);
/* May a tile's rows be one chain? The lists are made. */
bool ulp_evaluate_is_batch(const struct ulp_tape_plan *plan, const struct ulp_tape_call *call);
/* The plan's last part: lists and memory. False: out of memory. */
bool ulp_evaluate_lay(struct ulp_tape_plan *plan, const struct ulp_tape_call *call);
/* a * (1 / b): how GPU kernels divide a sum by the count. */
ulp_strip_fn ulp_evaluate_scale;

/* ---- running ---- */

/* Where the tensors' elements of the tile's rows lie. */
void ulp_evaluate_address(struct ulp_tape_worker *worker, const struct ulp_tape_list *tensors);
/* The value, one for each row of the tile, of an instruction that does not change within a row. */
void ulp_evaluate_value(struct ulp_tape_worker *worker, int index);
/* It, for a span's strip. */
void ulp_evaluate_spread(const struct ulp_tape_worker *worker, int index);
/* An instruction on elements. */
void ulp_evaluate_element(struct ulp_tape_worker *worker, int index, struct ulp_tape_span span);
/* The chain that ends with `step`, on n elements of a strip. */
void ulp_evaluate_chain(const struct ulp_tape_worker *worker, const struct ulp_tape_step *step,
                        void *out, size_t n);
/* All elements of the tile, by one chain. */
void ulp_evaluate_batch(const struct ulp_tape_worker *worker);
void ulp_evaluate_begin_fold(const struct ulp_tape_worker *worker, int index);
void ulp_evaluate_add_fold(const struct ulp_tape_worker *worker, int index,
                           struct ulp_tape_span span);
/* The fold as values to compute with. */
void ulp_evaluate_end_fold(const struct ulp_tape_worker *worker, int index);
/* The whole of the plan's fold of windows into its state's place. */
void ulp_evaluate_fold_windows(const struct ulp_tape_worker *worker, int index);
void ulp_evaluate_store(const struct ulp_tape_worker *worker, int number,
                        struct ulp_tape_span span);
void ulp_evaluate_store_rows(const struct ulp_tape_worker *worker, int number);
/* The tile's positions: those of its first row's window. */
void ulp_evaluate_open_window(struct ulp_tape_worker *worker);
/* Calls run for each set of the worker's tile's rows whose windows have the same positions. */
void ulp_evaluate_classes(struct ulp_tape_worker *worker,
                          void (*run)(struct ulp_tape_worker *worker));

static inline void *ulp_evaluate_slot(const struct ulp_tape_worker *worker, size_t slot)
{
    return (char *)(uintptr_t)worker + slot;
}
/* Of the rows in a strip: the first one's. */
static inline void *ulp_evaluate_row_value(const struct ulp_tape_worker *worker,
                                           const struct ulp_tape_step *step)
{
    return (char *)ulp_evaluate_slot(worker, step->one) + worker->row * worker->plan->numbers.bytes;
}
static inline const struct ulp_operand *ulp_evaluate_tensor(const struct ulp_tape_worker *worker,
                                                            int number)
{
    const struct ulp_tape_call *call = worker->job->call;
    const int operand_count = worker->plan->operand_count;
    return number < operand_count ? &call->operands[number]
                                  : &call->outputs[number - operand_count];
}

static inline int64_t ulp_operand_row(const struct ulp_operand *operand, size_t row)
{
    return operand->row_offset ? operand->row_offset[row] : (int64_t)row * operand->row_stride;
}
static inline int64_t ulp_operand_position(const struct ulp_operand *operand, size_t position)
{
    return operand->position_offset ? operand->position_offset[position]
                                    : (int64_t)position * operand->position_stride;
}
static inline bool ulp_operand_has_positions(const struct ulp_operand *operand)
{
    return operand->position_offset || operand->position_stride;
}
static inline void *ulp_operand_at(const struct ulp_operand *operand, int64_t index)
{
    return (char *)operand->tensor->data + index * (int64_t)operand->tensor->element_bytes;
}

#endif
