/* What the name of an arithmetic asks for: its base and the parts set by hand. */
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
    PART_VECTORS,
    PART_OPERANDS,
    PART_ORDER,
    PART_REDUCE,
    PART_FUSED,
    PART_PROMOTE,
    PART_SPLIT,
    PART_EPILOGUE,
    PART_QDQ,
    PART_FUNCTIONS,
    PART_CONSTANTS,
    PART_SCALES,
    PART_FUSE,
    PART_INNER,
    PART_INNER_CONSTANTS,
    PART_COUNT
};

enum ulp_gpu {
#define GPU(NAME, name, formats, class, tf32, other) GPU_##NAME,
#include "number/format/gpu.def"
#undef GPU
    GPU_COUNT
};
enum ulp_unit_class { UNIT_NONE, UNIT_MMA, UNIT_WGMMA, UNIT_TCGEN05, UNIT_COUNT };

struct ulp_request {
    char base[32];
    bool given[PART_COUNT];
    /* Of a part that is one of a list: the index (of the public enum where there is one); of
     * PROMOTE and SPLIT the number; PLACE 0 result-only, 1 each-step; FUSED, SUBNORMALS, EPILOGUE,
     * QDQ, VECTORS and FUNCTIONS 0, 1. */
    int choice[PART_COUNT];
    uint64_t seed;
    struct ulp_format compute, factor, accumulator, inner;
    int order_block, reduce_block;
};

extern const char *const ulp_gpu_names[GPU_COUNT + 1];
extern const char *const ulp_unit_names[UNIT_COUNT + 1];
extern const char *const ulp_constants_names[]; /* by enum ulp_constants */

/* The request of a name; a runtime's name is that of its expansion. */
enum ulp_status ulp_request_read(struct ulp_request *request, const char *name,
                                 struct ulp_error *error);
/* Set one part, as it is written after a comma, or "@GPU", in the place of what was asked for. */
enum ulp_status ulp_request_change(struct ulp_request *request, const char *part,
                                   struct ulp_error *error);
/* runtime.c: refuses a base that is no runtime's name and begins like one ("trt:fp17"). */
enum ulp_status ulp_runtime_check(const char *base, struct ulp_error *error);
/* resolve.c: the arithmetic that it asks for, without a name. */
enum ulp_status ulp_request_resolve(struct ulp_arithmetic *out, const struct ulp_request *request,
                                    struct ulp_error *error);
/* Write the name into text; false when it does not fit. */
bool ulp_request_write(const struct ulp_request *request, char *text, size_t size);
/* ` (did you mean "X"?)` for the nearest of the words (ended by NULL), or "", written into text,
 * which is returned. */
const char *ulp_suggest(char text[64], const char *word, const char *const *words);

/* The arithmetic that `base` is with another part: "split-k=4", "nofma", "@a100". Parts of the name
 * of base stay; what it leaves to defaults may change with the part. */
enum ulp_status ulp_arithmetic_change(struct ulp_arithmetic *out, const struct ulp_arithmetic *base,
                                      const char *part, struct ulp_error *error);
/* "@GPU": the other GPU to compare the arithmetic's with (gpu.def). NULL: it has none. */
const char *ulp_arithmetic_other_gpu(const struct ulp_arithmetic *arithmetic);

#endif
