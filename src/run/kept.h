/* What runs of a program leave for the next ones: constants as the lanes hold them (FP32 weights
 * rounded to FP16, say), packed factors, freed memory and threads. The first run leaves its threads
 * alone, so that one run pays neither time nor memory for the rest; from the second on there is an
 * upper limit (ULP_TUNE_KEPT_SHARE), and everything that no run uses just now is given up before an
 * allocation fails. Results never depend on it. Several threads may run a program at once. */
#pragma once

#include "kernels/operand/packed.h"
#include "run/program/program.h"
#include "tensor/lower.h"

/* The most that constants, and packed factors, may take each. */
size_t ulp_kept_limit(const struct ulp_budget *budget);
/* What is left is charged to budgets below this one (NULL: none), which must outlive it. */
enum ulp_status ulp_kept_create(struct ulp_kept **out, struct ulp_budget *budget,
                                struct ulp_error *error);
void ulp_kept_free(struct ulp_kept *kept);
/* From now on memory that a run's nodes have done with is not held for the next ones: others keep
 * values as the run goes on, and find it at once. */
void ulp_kept_lend(struct ulp_kept *kept);
bool ulp_kept_lends(const struct ulp_kept *kept);

/* A pool of the threads that an earlier run, the first or a later one, has left, or a new one;
 * left it is with nothing charged to its scratch budget, in place of one left before; or freed
 * where too many threads rest already. */
enum ulp_status ulp_kept_take_pool(struct ulp_kept *kept, int thread_count, struct ulp_pool **out,
                                   struct ulp_error *error);
void ulp_kept_leave_pool(struct ulp_kept *kept, struct ulp_pool *pool);

/* The lanes' arithmetics change: nothing is left, and the next run is the first again. */
void ulp_kept_forget(struct ulp_kept *kept);

/* A run of the program begins; false: it is the first, or there is no memory, and the rest must not
 * be called. */
bool ulp_kept_begin(struct ulp_kept *kept, const struct ulp_program *program);
/* The cache of packed factors, in which every constant of the program is kept. */
struct ulp_packed *ulp_kept_packed(struct ulp_kept *kept);
size_t ulp_kept_bytes(const struct ulp_kept *kept);
/* What keeps the blocks of memory that a run has freed, its values' or its scratch's, until the
 * next. */
struct ulp_budget *ulp_kept_memory(struct ulp_kept *kept, bool scratch);
/* The bytes of these, which the root is charged for, though a run can have them. */
size_t ulp_kept_spare(struct ulp_kept *kept);

/* Where the values of the block's lanes, one lane's behind the other's, begin among those of all
 * blocks; NULL: their end. */
size_t ulp_kept_place(const struct ulp_program *program, const struct ulp_block *block);
/* What a constant of so many bytes that is to be left must be charged to; NULL: no room. */
struct ulp_budget *ulp_kept_room(struct ulp_kept *kept, size_t bytes);
/* A view of the constant at that place, used until it is released; false: none. */
bool ulp_kept_find(struct ulp_kept *kept, size_t place, struct ulp_tensor *view);
/* The caller's constant becomes a used one and *value a view of it; false: there is one already,
 * and *value stays the caller's. */
bool ulp_kept_leave(struct ulp_kept *kept, size_t place, struct ulp_tensor *value);
void ulp_kept_release(struct ulp_kept *kept, size_t place);

/* What lowering a constant in a mapped file to the arithmetic's storage changes
 * (ulp_tensor_count_lowered), left by an earlier call, first run or not: all weights of a model
 * that is larger than memory are read for it. false: it is not known yet. */
bool ulp_kept_find_lowered(struct ulp_kept *kept, const struct ulp_tensor *constant,
                           const struct ulp_arithmetic *in, struct ulp_lowered *out);
/* Nothing is left where memory ends. */
void ulp_kept_leave_lowered(struct ulp_kept *kept, const struct ulp_tensor *constant,
                            const struct ulp_arithmetic *in, const struct ulp_lowered *lowered);

/* What an observer noted of events with that mark (ulp_event.settled), for later ones; `part` is
 * the observer's to choose. Valid until the lanes' arithmetics change; NULL: nothing. */
const void *ulp_kept_find_note(struct ulp_kept *kept, const void *mark, size_t part);
/* The note, of malloc, becomes kept's, which frees it where there is one already. */
void ulp_kept_leave_note(struct ulp_kept *kept, const void *mark, size_t part, void *note);

/* The note of formulas that are run as one, the last of which is that step (rerun.h), left by an
 * earlier run; NULL: none. */
struct ulp_rerun *ulp_kept_find_rerun(const struct ulp_kept *kept, const struct ulp_step *step);
/* It becomes kept's (may be NULL), which frees it where there is one already. */
void ulp_kept_leave_rerun(struct ulp_kept *kept, const struct ulp_step *step,
                          struct ulp_rerun *rerun);
