/* What NVIDIA's library of products does with a shape. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Into how many contiguous slices cuBLAS cuts the k products of each sum of an [m, k] by [k, n]
 * product in FP16 or BF16 on an H100, slices of whole tiles of ULP_CUBLAS_TILE; turned: the second
 * factor lies as [n, k]. Exact for the shapes that were recorded (cublas_split.def), else that of
 * the nearest of them, slices being longer than 1280: right for 75 % of shapes drawn at random,
 * within one slice for 92 % (lab/split_k_table.py --check). */
#define ULP_CUBLAS_TILE 64
int ulp_cublas_slices(size_t m, size_t n, size_t k, bool turned);

/* How its FP32 and TF32 products go through the k of each sum (cublas_floats.def). */
struct ulp_cublas_order {
    bool chain; /* of fused multiply-adds over FP32 values, no matrix unit */
    /* slices of so many k, the last shorter; their sums are added in order */
    size_t slice;
    /* in each slice what is over whole tiles of so many comes first, in blocks of its own; 0: as k
     * comes */
    size_t tile;
    /* > 0: of chunks of so many k the even ones are one chain, the odd ones another */
    size_t chunk;
};

/* Of `batches` products of [m, k] by [k, n]; tf32: TF32 is allowed. Exact for the shapes that were
 * recorded, else by the nearest of them. Of batches a rule: TF32 from 32 terms on where k and n are
 * multiples of 4, or from 256 on, uncut (97 % of 3,600 recorded shapes). One row or column: the two
 * chains of the recorded lengths where there are two; other kernels for them (warps that add in a
 * tree) are taken for one chain. */
struct ulp_cublas_order ulp_cublas_find(bool tf32, size_t batches, size_t m, size_t n, size_t k,
                                        bool turned);
