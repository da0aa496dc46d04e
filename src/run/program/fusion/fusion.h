/* Which nodes of a block are computed together, as the compilers of PyTorch and TensorRT put them
 * into kernels; doc/fusion.md states the rules and their sources.
 *
 * Every step is a part of a kernel. Elementwise steps are inlined into what reads them, and
 * computed again for each reader, unless that is dear or somebody needs the value in memory. The
 * others, and those that are kept in memory, begin as kernels of their own; kernels that run over
 * the same elements become one where that makes no circle. Inside a kernel values keep the inner
 * format. */
#pragma once

#include <string.h>

#include "run/program/program.h"

/* In place of a kernel, and of a step. */
enum { ULP_KERNEL_SEVERAL = -1, ULP_KERNEL_NONE = -2 };
enum { ULP_SOURCE_OUTSIDE = -1, ULP_SOURCE_CONSTANT = -2 };

enum ulp_kernel_part {
    ULP_PART_LIBRARY,     /* a kernel for itself: reads and writes memory */
    ULP_PART_CONTRACTION, /* the same, but what follows may be its epilogue */
    ULP_PART_MEMORY, /* reads memory, else elementwise: a bias behind a library's sum, a pool */
    ULP_PART_ELEMENTWISE,
    ULP_PART_COPY, /* elementwise, but of elements from other places (Gather, Concat) */
    ULP_PART_REDUCTION,
    ULP_PART_VIEW, /* elements of another value as they are: free within a kernel */
};

struct ulp_kernel_step {
    enum ulp_kernel_part part;
    /* of a view: the step whose result it is a view of, or one of the two above; elements change
     * places on the way, so that no register hands them on */
    int source;
    bool indexed;
    bool split; /* a reduction in two kernels: the first reads memory, the second has its rows */
    bool kept;  /* its result is in memory, or its kernel ends with it; false: inlined, or a view */
    size_t total;          /* elements that it runs over */
    size_t rows;           /* of a reduction; 0: unknown, or none */
    size_t reader_count;   /* through views */
    bool read_from_memory; /* by one of them, or outside the block */
    bool read_elementwise; /* by elementwise steps alone */
    /* bit i: a library reads its Cast to the lane's arithmetic i from memory; i < 64 */
    uint64_t casts_stored;
    bool adds_bias; /* of a library's product: before its sum is rounded (addmm) */
    /* of a kept step: a step of its kernel nearer to the root, which is its own; of others the root
     * of the only kernel that computes it, or one of the two below */
    int kernel;
    /* of a root */
    bool reduces, contracts;
    int end;        /* the last step of the kernel */
    int next, tail; /* list of the kernel's steps: the next one, -1: none; the last, at the root */
};

struct ulp_kernels {
    const struct ulp_block *block;
    const struct ulp_mix *mix;
    const struct ulp_grouping *grouping; /* of fuse=groups and fuse=ort; NULL: kernels are found */
    struct ulp_arena *memory;
    struct ulp_kernel_step *steps;
    /* by step: who reads it, in readers[first_reader[s] .. first_reader[s + 1]) */
    int *readers;
    size_t *first_reader;
    int *taken;    /* openvino.c; NULL: unless fuse=openvino */
    int *products; /* by slot: weighted products of it; NULL: unless fuse=tensorrt */
};

/* groups.c: how many groups the node is in; and whether the source is in every group of the
 * reader, and is not rounded there. */
size_t ulp_grouping_count(const struct ulp_grouping *grouping, size_t node);
bool ulp_grouping_shares(const struct ulp_grouping *grouping, size_t reader, size_t source);

/* In what a BatchNormalization of that arithmetic is folded (fold_conv.c); ULP_FOLD_COUNT: it is
 * not.
 */
static inline int ulp_fold_type(const struct ulp_arithmetic *arithmetic)
{
    return arithmetic->fuse == ULP_FUSE_OPENVINO           ? ULP_FOLD_GIVEN
           : arithmetic->fuse == ULP_FUSE_BIAS             ? ULP_FOLD_SINGLE
           : strcmp(arithmetic->storage.name, "fp16") == 0 ? ULP_FOLD_HALF
           : strcmp(arithmetic->storage.name, "fp32") == 0 ? ULP_FOLD_SINGLE
                                                           : ULP_FOLD_COUNT;
}
/* ort_groups.c: sets `grouping` of fuse=ort. *kernel_count: of the program so far. */
enum ulp_status ulp_kernels_of_ort(struct ulp_kernels *kernels, size_t node_count,
                                   size_t *kernel_count, struct ulp_error *error);

/* parts.c: parts alone. */
enum ulp_status ulp_kernels_describe(struct ulp_kernels *kernels, struct ulp_error *error);
/* Parts, readers, what is kept. */
enum ulp_status ulp_kernels_part(struct ulp_kernels *kernels, struct ulp_error *error);
/* Is it a bias: an Add of a constant or a BatchNormalization that reads what only it reads, a
 * product or, with fuse=bias, another bias? Parts of steps before it are known. */
bool ulp_kernel_biases(const struct ulp_kernels *kernels, const struct ulp_step *step);
/* Is it in the kernel of TensorRT's Conv before it: what is added, or its activation? */
bool ulp_kernel_activates(const struct ulp_kernels *kernels, int step);
/* kernels.c: all of it. */
enum ulp_status ulp_kernels_find(struct ulp_kernels *kernels, struct ulp_error *error);
int ulp_kernel_root(const struct ulp_kernels *kernels, int step);
/* The root of the kernel that computes the step, or one of the two words for none. */
static inline int ulp_kernel_of(const struct ulp_kernels *kernels, int step)
{
    return kernels->steps[step].kept ? ulp_kernel_root(kernels, step) : kernels->steps[step].kernel;
}
/* Does a kernel compute such a step from values in registers? */
static inline bool ulp_part_is_computed(enum ulp_kernel_part part)
{
    return part == ULP_PART_ELEMENTWISE || part == ULP_PART_COPY || part == ULP_PART_REDUCTION;
}
/* Does it take what it reads from memory? */
bool ulp_part_reads_memory(enum ulp_kernel_part part);
/* Are kernels as TensorRT's compiler makes them? */
static inline bool ulp_kernels_compiled(const struct ulp_kernels *kernels)
{
    return kernels->mix->items->fuse == ULP_FUSE_TENSORRT;
}
/* Are they OpenVINO's: elementwise work, and products with what follows? */
static inline bool ulp_kernels_plain(const struct ulp_kernels *kernels)
{
    return kernels->mix->items->fuse == ULP_FUSE_OPENVINO;
}
/* Which of the lane's arithmetics the step has. */
static inline size_t ulp_kernel_item(const struct ulp_kernels *kernels, int step)
{
    return ulp_mix_index(kernels->mix, kernels->block->steps[step].number);
}
/* parts.c: have two of the lane's arithmetics the same values inside kernels, and are Casts
 * between them a kernel's steps? */
bool ulp_kernels_cross(const struct ulp_kernels *kernels, size_t one, size_t other);
/* Is the step's result read outside the block? */
bool ulp_kernel_leaves(const struct ulp_kernels *kernels, int step);
/* The step whose result the step's input i is, through views; or that it is a constant, or from
 * outside the block. *indexed is set when a view between them changes places. */
int ulp_kernel_source(const struct ulp_kernels *kernels, int step, size_t i, bool *indexed);
