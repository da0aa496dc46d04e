/* What NVIDIA's library of products does with a shape. */
#ifndef ULP_KERNELS_CUBLAS_H
#define ULP_KERNELS_CUBLAS_H

#include <stdbool.h>
#include <stddef.h>

/* Into how many contiguous slices cuBLAS cuts the k products of each sum of an [m, k] by [k, n]
 * product in FP16 or BF16 on an H100, slices of whole tiles of ULP_CUBLAS_TILE; turned: the second
 * factor lies as [n, k]. Exact for the shapes that were recorded (cublas_split.def), else that of
 * the nearest of them, slices being longer than 1280: right for 75 % of shapes drawn at random,
 * within one slice for 92 % (scripts/split_k_table.py --check). */
#define ULP_CUBLAS_TILE 64
int ulp_cublas_slices(size_t m, size_t n, size_t k, bool turned);

/* The numbers of rows that were recorded, ascending: index 0, 1, ... until 0. */
size_t ulp_cublas_rows(size_t index);

#endif
