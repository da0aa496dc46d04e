/* What the name of an arithmetic asks for: its base and the parts set by hand. */
#pragma once

#include <ulpscope/format.h>

enum ulp_part {
#define PART(NAME, ...) ULP_PART_##NAME,
#include "number/format/part.def"
#undef PART
    ULP_PART_COUNT
};

enum ulp_gpu {
#define GPU(NAME, name, formats, class, tf32, other, unit, known) ULP_GPU_##NAME,
#include "number/format/gpu.def"
#undef GPU
    ULP_GPU_COUNT
};
enum ulp_unit_class {
    ULP_UNIT_CLASS_NONE,
    ULP_UNIT_CLASS_MMA,
    ULP_UNIT_CLASS_WGMMA,
    ULP_UNIT_CLASS_TCGEN05,
    ULP_UNIT_CLASS_COUNT
};

struct ulp_request {
    char base[32];
    bool given[ULP_PART_COUNT];
    const struct ulp_runtime *runtime; /* that the name begins with; NULL: none */
    bool said[ULP_PART_COUNT];         /* behind a runtime's name, or in a name without one */
    bool brought[ULP_PART_COUNT];      /* by a runtime's name: left out where it cannot be */
    /* Of a part that is one of a list: the index (of the public enum where there is one); of
     * PROMOTE, SPLIT and ROWS the number; PLACE 0 result-only, 1 each-step; FUSED, SUBNORMALS,
     * EPILOGUE, QDQ, VECTORS, FUNCTIONS, EXPONENTIALS and BATCHNORM 0, 1. */
    int choice[ULP_PART_COUNT];
    uint64_t seed;
    struct ulp_format compute, factor, accumulator, inner;
    /* of FACTOR (no name: it is a format alone) and FACTOR_B, and of WEIGHTS */
    struct ulp_scaling scaling[2], weights;
    struct ulp_scaling caches[3]; /* of KEYS, VALUES, and of CACHES for both */
    int order_block, reduce_block;
};

extern const char *const ulp_gpu_names[ULP_GPU_COUNT + 1];
extern const char *const ulp_steps_names[];
extern const char *const ulp_unit_names[ULP_UNIT_CLASS_COUNT + 1];
extern const char *const ulp_constants_names[]; /* by enum ulp_constants */
extern const char *const ulp_floats_names[];    /* target.c */

/* The request of a name; a runtime's name is that of its expansion. */
enum ulp_status ulp_request_read(struct ulp_request *request, const char *name,
                                 struct ulp_error *error);
/* Set one part, as it is written after a comma, or "@GPU", in the place of what was asked for. */
enum ulp_status ulp_request_change(struct ulp_request *request, const char *part,
                                   struct ulp_error *error);
/* What has no meaning without a kernel goes with fuse=none, and kernels that cannot be are left
 * out, but for parts that were said. */
void ulp_request_settle(struct ulp_request *request, const bool said[ULP_PART_COUNT]);
/* floats.c: what FLOAT nodes are computed in, of ulp_floats_names, on that GPU ("" or with "@" or
 * without); fp32 where it has no TF32. */
enum ulp_status ulp_floats_find(const char *floats, const char *gpu, struct ulp_arithmetic *out,
                                struct ulp_error *error);
/* target.c: refuses a base that is no runtime's name and begins like one ("trt:fp17"). */
enum ulp_status ulp_runtime_check(const char *base, struct ulp_error *error);
/* resolve.c: the arithmetic that it asks for, without a name. */
enum ulp_status ulp_request_resolve(struct ulp_arithmetic *out, const struct ulp_request *request,
                                    struct ulp_error *error);
/* Write the name into text; false when it does not fit. */
bool ulp_request_write(const struct ulp_request *request, char *text, size_t size);
/* The same of what was said behind the runtime's name, which there must be. */
bool ulp_request_write_said(const struct ulp_request *request, char *text, size_t size);
/* ` (did you mean "X"?)` for the nearest of the words (ended by NULL), or "", written into text,
 * which is returned. */
const char *ulp_suggest(char text[64], const char *word, const char *const *words);

/* "@GPU": the other GPU to compare the arithmetic's with (gpu.def). NULL: it has none. */
const char *ulp_arithmetic_other_gpu(const struct ulp_arithmetic *arithmetic);
