/* Several processes of one audit, as mpirun starts them (configure --with-mpi). Without MPI, or
 * when started alone, there is one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether mpirun started this process, among others. */
bool ranks_are_several(void);
/* Whether this program could be one of several at all. */
bool ranks_are_possible(void);
/* How many processes mpirun or srun started, as they say it to each, whether or not this program
 * can join them; 1: none. And which of them this is, from 0. */
size_t ranks_started(void);
size_t ranks_own_start(void);
/* Of a process that mpirun started: joins the others. Called once, before the others. */
void ranks_join(void);
size_t ranks_count(void);
size_t ranks_self(void); /* from 0 */
/* Hand the bytes (malloc'd, which this frees) of sample `index` to rank 0; returns before they have
 * arrived, but not before those before have. */
void ranks_hand(size_t index, unsigned char *bytes, size_t count);
/* In rank 0: those of sample `index`, made by rank `from`; freed with free(). False: no memory. */
bool ranks_take(size_t index, size_t from, unsigned char **bytes, size_t *count);
/* Whether all ranks, each of which calls this, gave the same number; returns when all have. */
bool ranks_all_equal(uint64_t number);
/* The end of the process, with that exit code; after a failure it is the end of all. Returns it. */
int ranks_leave(int code);
