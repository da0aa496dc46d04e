/* Constants that the file has as few bits with scales: how scales lie over elements, and whether
 * they are those that the elements were rounded by. */
#pragma once

#include "graph/graph.h"
#include "tensor/tensor.h"

/* Values, or their codes, with scales: `after` elements lie behind the axis, `length` along it, and
 * `run` of these share a scale. */
struct ulp_stored {
    const struct ulp_tensor *values, *scale;
    int axis;     /* -1: one scale for all */
    bool blocked; /* else one for each index of the axis */
    bool powers;  /* scales are codes of E8M0 */
    size_t length, after, run, runs;
};

/* As a QuantizeLinear or DequantizeLinear, or TensorRT's, lays them. False: it cannot. */
bool ulp_stored_read(const struct ulp_node *node, const struct ulp_tensor *values,
                     const struct ulp_tensor *scale, struct ulp_stored *out);
/* The same values with scales for `run` of them along another axis. */
void ulp_stored_lay(struct ulp_stored *stored, int axis, size_t run);
/* Its scales are UINT8 codes of E8M0. */
bool ulp_stored_has_powers(const struct ulp_node *node, const struct ulp_tensor *scale);
/* Which scale an element has, and the number that a scale stands for. */
size_t ulp_stored_find(const struct ulp_stored *stored, size_t element);
double ulp_stored_scale(const struct ulp_stored *stored, size_t i);

/* A block that is rounded by its own largest value has a code above half of the largest. */
struct ulp_stored_loose {
    size_t count;  /* blocks without */
    size_t blocks; /* that are not all zero */
    size_t first;  /* its scale */
    double half;   /* of the type's largest number */
};
/* True: some blocks leave a bit unused, and at most a quarter, so that the others tell how they
 * were rounded. False of other than blocks, and where zero points (NULL: none) move codes. */
bool ulp_stored_is_loose(const struct ulp_stored *stored, const struct ulp_tensor *zero,
                         struct ulp_stored_loose *out);
/* The axis of that input of that rank along which its reader sums; -1: it is no factor, or not
 * known. */
int ulp_summed_axis(const struct ulp_node *reader, size_t input, int rank);
/* The axis of the values themselves, which the reader may have behind a Transpose, if blocks lie
 * along another one; -1: they lie well, or that is not known. */
int ulp_stored_astray(const struct ulp_stored *stored, const struct ulp_node *reader, size_t input,
                      bool transposed);
