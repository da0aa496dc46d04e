/* One arithmetic of a program, run again and again with other nodes kept in other ones. Each
 * sample's values are held between runs, so that a run computes only what lies behind a change and
 * reads other values than before. Results are those of ulp_program_run with the same nodes kept,
 * bit for bit. For one thread at a time. */
#pragma once

#include "run/program/program.h"

struct ulp_trial;
/* Of the program's arithmetic `lane`, with nodes kept in keep_in[0], keep_in[1], ... Values are
 * held only when those of sample_count samples fit a third of the model's memory limit; else every
 * run computes everything. The pool is the caller's, and outlives the trial. */
enum ulp_status ulp_trial_create(const struct ulp_program *program, size_t lane,
                                 const struct ulp_arithmetic *keep_in, size_t keep_count,
                                 size_t sample_count, struct ulp_pool *pool, struct ulp_trial **out,
                                 struct ulp_error *error);
void ulp_trial_free(struct ulp_trial *trial);
/* The samples, in order; inputs stay the caller's and must stay valid. */
enum ulp_status ulp_trial_add(struct ulp_trial *trial, const struct ulp_tensor_set *inputs,
                              struct ulp_error *error);

/* From now on the sample's runs take the reference's decisions (ulp_run_options.follow; a Loop, If
 * or Scan by its results). integers: by slot of the main graph, the reference's; data NULL: none.
 * They stay the caller's. */
void ulp_trial_follow(struct ulp_trial *trial, size_t sample, const struct ulp_tensor *integers);

/* The sample with the nodes where kept[node] is k > 0 kept in keep_in[k - 1]. `outputs` gets the
 * graph's outputs, as ulp_program_run gives them; freed by the caller. */
enum ulp_status ulp_trial_run(struct ulp_trial *trial, size_t sample, const uint16_t *kept,
                              struct ulp_tensor_set *outputs, struct ulp_error *error);
/* Afterwards: the sample's last run becomes what the next ones are compared with. Without this
 * call the next run of any sample forgets it. */
void ulp_trial_accept(struct ulp_trial *trial);

/* How much was computed: the costs of steps (struct ulp_step) over that of the graph. */
double ulp_trial_work(const struct ulp_trial *trial);
