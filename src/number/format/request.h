/* What the name of an arithmetic asks for: its base and the parts set by hand. Only arithmetic.c
 * uses this. */
#ifndef ULP_NUMBER_FORMAT_REQUEST_H
#define ULP_NUMBER_FORMAT_REQUEST_H

#include <ulpscope/format.h>

/* In the order in which canonical names spell them. */
enum ulp_part {
    PART_GPU,
    PART_ROUND,
    PART_SEED,
    PART_PLACE,
    PART_SUBNORMALS,
    PART_OVERFLOW,
    PART_COMPUTE,
    PART_FACTOR,
    PART_ACCUMULATOR,
    PART_UNIT,
    PART_OPERANDS,
    PART_ORDER,
    PART_REDUCE,
    PART_FUSED,
    PART_PROMOTE,
    PART_SPLIT,
    PART_EPILOGUE,
    PART_QDQ,
    PART_FUNCTIONS,
    PART_COUNT
};

enum ulp_gpu {
    GPU_V100,
    GPU_T4,
    GPU_A100,
    GPU_A2,
    GPU_ADA,
    GPU_L40S,
    GPU_H100,
    GPU_H200,
    GPU_B200,
    GPU_COUNT
};
enum ulp_unit { UNIT_NONE, UNIT_MMA, UNIT_WGMMA, UNIT_TCGEN05, UNIT_COUNT };

struct ulp_request {
    char base[32];
    bool given[PART_COUNT];
    /* Of a part that is one of a list: the index (of the public enum where there is one); of
     * PROMOTE and SPLIT the number; PLACE 0 result-only, 1 each-step; FUSED, SUBNORMALS, EPILOGUE,
     * QDQ and FUNCTIONS 0, 1. */
    int choice[PART_COUNT];
    uint64_t seed;
    struct ulp_format compute, factor, accumulator;
    int order_block, reduce_block;
};

extern const char *const ulp_gpu_names[GPU_COUNT + 1];
extern const char *const ulp_unit_names[UNIT_COUNT + 1];

enum ulp_status ulp_request_read(struct ulp_request *request, const char *name,
                                 struct ulp_error *error);
/* Write the name into text; false when it does not fit. */
bool ulp_request_write(const struct ulp_request *request, char *text, size_t size);
/* ` (did you mean "X"?)` for the nearest of the words (ended by NULL), or "", written into text,
 * which is returned. */
const char *ulp_suggest(char text[64], const char *word, const char *const *words);

#endif
