/* Where a run left the reference's decisions, and what it is to the walks. */
#pragma once

#include "run/walk.h"

/* Where lanes of a run left the reference's decisions (integers that nodes compute from floats,
 * branches, iterations, shapes; whole numbers of Round, Floor and Ceil): a copy of all lanes'
 * values before that node. Charged to the model's budget and given up before an allocation fails.
 * For one run at a time; the program must outlive it. A run without `follow` leaves there where a
 * lane first left the decisions; one with `follow`, on the same inputs and with the same
 * arithmetics, begins at that node, if that is still known: it shows no node of the main graph
 * before. */
enum ulp_status ulp_departure_create(const struct ulp_program *program, struct ulp_departure **out,
                                     struct ulp_error *error);
void ulp_departure_free(struct ulp_departure *departure);

/* Of another plan: a usage error. NULL: nothing. */
enum ulp_status ulp_departure_check(const struct ulp_departure *departure,
                                    const struct ulp_program *program, struct ulp_error *error);

/* A run that may leave a departure begins, on whatever inputs: it is empty. NULL: nothing. */
void ulp_departure_clear(struct ulp_departure *departure);
/* The largest memory it has had. NULL: none. */
size_t ulp_departure_bytes(const struct ulp_departure *departure);

/* After a step of the main graph in which a lane departed, while its results are not the lanes'
 * yet: copies all lanes' values, unless an earlier step's are here. What finds no memory is not
 * here, and is not tried again. */
void ulp_departure_leave(struct ulp_departure *departure, const struct ulp_frame *frame,
                         const struct ulp_step *step);

/* The lanes, which have the inputs, get what was left, which stays until the end of the run;
 * returns the step to go on with. 0: there is nothing. */
size_t ulp_departure_enter(struct ulp_departure *departure, const struct ulp_frame *frame);
void ulp_departure_release(struct ulp_departure *departure);
