/* Where the reference itself stops being finite with the inputs that it is given: 0 / 0 of silent
 * bins, log 0, a Softmax of a row of -Inf. Whatever judges outputs asks, since an arithmetic that
 * gives the same NaN has no error. */
#pragma once

#include "analysis/audit/lost.h"
#include "analysis/audit/taint.h"
#include "analysis/measure/judge.h"
#include "base/memory/alloc.h"
#include "run/program/program.h"

/* One sample's. A birth is a node whose results are not finite though what it reads is, or NaN
 * though it reads none but in constants, and not by inputs of the model. */
struct ulp_birth_watch {
    const struct ulp_program *program;
    struct ulp_arena *memory; /* of the births */
    struct ulp_birth *items;
    size_t count, capacity;
    size_t sample;               /* that births are noted under */
    struct ulp_taint_set taints; /* of values that are not finite by births, or (nonfinite) by
                                    inputs of the model */
    struct ulp_lost lost;        /* of ulp_birth_find: digits of the reference */
};
/* The sample is over, or a new one begins: what was found is the memory's. */
void ulp_birth_forget(struct ulp_birth_watch *watch);
/* A node's results in lane 0; nonfinite: their elements that are not finite, where that is known,
 * else SIZE_MAX. */
enum ulp_status ulp_birth_look(struct ulp_birth_watch *watch, const struct ulp_event *event,
                               size_t nonfinite, struct ulp_error *error);
/* After the sample's run: which outputs of the graph are not finite by which birth, and which
 * others depend on one: in FP64, with other values in its place. Births that reach no output are
 * dropped. */
enum ulp_status ulp_birth_settle(struct ulp_birth_watch *watch, const struct ulp_tensor_set *inputs,
                                 int thread_count, struct ulp_error *error);

/* All of it, of one sample: in FP64, and where that stops being finite in `reference`. watch:
 * program is set here and for the call alone, memory is the caller's. certificate: of the reference
 * where its digits are suspected to be lost, else not given; NULL: that is not asked. */
enum ulp_status ulp_birth_find(struct ulp_birth_watch *watch, const struct ulp_model *model,
                               const struct ulp_arithmetic *reference,
                               const struct ulp_tensor_set *inputs, int thread_count,
                               struct ulp_certificate *certificate, struct ulp_error *error);
