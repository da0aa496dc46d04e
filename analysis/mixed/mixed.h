/* The inside of writing a model with types and of checking what was written. */
#pragma once

#include <ulpscope/mixed.h>

#include "analysis/resized/resized.h"
#include "run/program/program_mixed.h"

#define ULP_MIXED_NAME "mixed.onnx"

struct ulp_mixed_job {
    const struct ulp_model *model;
    const struct ulp_mixed_options *options;
    const struct ulp_sample *samples;
    size_t sample_count;
    struct ulp_arena *arena;
    /* one lane: the types' own arithmetics */
    struct ulp_programs programs;
    struct ulp_program *program; /* the first of them */
    struct ulp_arithmetic low;
    struct ulp_keep kept[3];
    struct ulp_keeps keeps;
    struct ulp_mixed_types types;
    struct ulp_resized resized;
};

/* mixed.c: no such model, nor its weights in NAME.data, is of this result; what the model is read
 * from stays. */
enum ulp_status ulp_mixed_retire(const struct ulp_model *model, const char *folder,
                                 const char *name, struct ulp_error *error);
/* mixed_compare.c: the job's samples are followed by those at other sizes, as the job's plans take
 * them. */
enum ulp_status ulp_mixed_resize(struct ulp_mixed_job *job, struct ulp_error *error);
/* The sample in the lane of the plan of its shapes. types: filled with those of
 * all values that the run computes; may be NULL. */
enum ulp_status ulp_mixed_expect(struct ulp_mixed_job *job, size_t sample,
                                 struct ulp_mixed_types *types, struct ulp_tensor_set *out,
                                 struct ulp_error *error);
/* Does the file at path give these bits in that arithmetic, with these nodes kept (NULL: none)?
 * first: of the first sample, which has been run. */
enum ulp_status ulp_mixed_check(struct ulp_mixed_job *job, const char *path,
                                const struct ulp_arithmetic *in, const struct ulp_keeps *keeps,
                                const struct ulp_tensor_set *first, struct ulp_error *error);
