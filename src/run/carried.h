/* What the runs of a program carry over to the next ones: constants as the lanes hold them (FP32
 * weights rounded to FP16, say), freed memory and threads. The first run carries its threads over
 * alone, so that one run pays neither time nor memory for the rest; from the second on there is an
 * upper limit (ULP_TUNE_KEPT_SHARE), and everything that no run uses just now is given up before an
 * allocation fails. Results never depend on it. Several threads may run a program at once. */
#pragma once

#include "run/program/program.h"
#include "tensor/lower.h"

/* The most that constants may take. */
size_t ulp_carried_limit(const struct ulp_budget *budget);
/* What is carried over is charged to budgets below this one (NULL: none), which must outlive it. */
enum ulp_status ulp_carried_create(struct ulp_carried **out, struct ulp_budget *budget,
                                   struct ulp_error *error);
void ulp_carried_free(struct ulp_carried *kept);
/* From now on memory that a run's nodes have done with is not held for the next ones: others keep
 * values as the run goes on, and find it at once. */
void ulp_carried_lend(struct ulp_carried *kept);
bool ulp_carried_lends(const struct ulp_carried *kept);

/* *out becomes a pool of thread_count threads: the one that the last run has returned, where it
 * still serves (ulp_pool_serves), or a new one. `return_pool` hands it back and takes the place of
 * one returned before; it is freed where too many threads of the process rest already. */
enum ulp_status ulp_carried_take_pool(struct ulp_carried *kept, int thread_count,
                                      struct ulp_pool **out, struct ulp_error *error);
void ulp_carried_return_pool(struct ulp_carried *kept, struct ulp_pool *pool);

/* The lanes' arithmetics change: nothing is carried over, and the next run is the first again. */
void ulp_carried_forget(struct ulp_carried *kept);

/* A run of the program begins; false: it is the first, or there is no memory, and the rest must not
 * be called. */
bool ulp_carried_begin(struct ulp_carried *kept, const struct ulp_program *program);
size_t ulp_carried_bytes(const struct ulp_carried *kept);
/* What keeps the blocks of memory that a run has freed, its values' or its scratch's, until the
 * next. */
struct ulp_budget *ulp_carried_memory(struct ulp_carried *kept, bool scratch);
/* The bytes of these, which the root is charged for, though a run can have them. */
size_t ulp_carried_spare(struct ulp_carried *kept);

/* Where the values of the block's lanes, one lane's behind the other's, begin among those of all
 * blocks; NULL: their end. */
size_t ulp_carried_place(const struct ulp_program *program, const struct ulp_block *block);
/* What a constant of so many bytes that is to be carried over must be charged to; NULL: no room. */
struct ulp_budget *ulp_carried_room(struct ulp_carried *kept, size_t bytes);
/* A view of the constant at that place, used until it is released; false: none. */
bool ulp_carried_find(struct ulp_carried *kept, size_t place, struct ulp_tensor *view);
/* The caller's constant becomes a used one and *value a view of it; where there is one already,
 * *value stays the caller's. */
void ulp_carried_add(struct ulp_carried *kept, size_t place, struct ulp_tensor *value);
void ulp_carried_release(struct ulp_carried *kept, size_t place);

/* What lowering a constant in a mapped file to the arithmetic's storage changes
 * (ulp_tensor_count_lowered), noted by an earlier call, first run or not: all weights of a model
 * that is larger than memory are read for it. false: it is not known yet. */
bool ulp_carried_find_lowered(struct ulp_carried *kept, const struct ulp_tensor *constant,
                              const struct ulp_arithmetic *in, struct ulp_lowered *out);
/* Nothing is noted where memory ends. */
void ulp_carried_add_lowered(struct ulp_carried *kept, const struct ulp_tensor *constant,
                             const struct ulp_arithmetic *in, const struct ulp_lowered *lowered);

/* What an observer noted of events with that mark (ulp_event.settled), for later ones; `part` is
 * the observer's to choose. Valid until the lanes' arithmetics change; NULL: nothing. */
const void *ulp_carried_find_note(struct ulp_carried *kept, const void *mark, size_t part);
/* The note, of malloc, becomes kept's, which frees it where there is one already. */
void ulp_carried_add_note(struct ulp_carried *kept, const void *mark, size_t part, void *note);
