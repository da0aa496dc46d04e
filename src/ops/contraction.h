/* From an operator to ulp_contract and through its row's epilogue. */
#ifndef ULP_OPS_CONTRACTION_H
#define ULP_OPS_CONTRACTION_H

#include "ops/infer.h"

/* Where contractions put their sums: output 0 itself, rounded as it is stored, or accumulators for an epilogue. */
struct ulp_sums {
    struct ulp_tensor acc; /* with an epilogue */
    struct ulp_tensor *out;
    bool store;
};

/* with_epilogue false: the epilogue would change nothing, the sums are the result. */
enum ulp_status ulp_sums_begin(struct ulp_call *call, bool with_epilogue, struct ulp_sums *sums, struct ulp_error *error);
/* One contraction into the sums; problem's out and store are set here. Several may each fill a part. */
enum ulp_status ulp_sums_add(struct ulp_call *call, struct ulp_sums *sums, struct ulp_contraction *problem,
                             struct ulp_error *error);
/* The epilogue over all of output 0. Input `along` (its slot's number, -1: none) lies along axis 1, as a bias does; input
 * `broadcast` (-1: none) is broadcast; other inputs are no numbers of the epilogue. */
enum ulp_status ulp_sums_end(struct ulp_call *call, struct ulp_sums *sums, int along, int broadcast, struct ulp_error *error);

#endif
