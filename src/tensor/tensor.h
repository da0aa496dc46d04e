/* Tensors inside the library: creation under a budget, views, conversion, broadcasting. */
#pragma once

#include <ulpscope/tensor.h>

#include "base/memory/alloc.h"
#include "base/machine/thread.h"

/* One ONNX element type. */
struct ulp_type_row {
    const char *name;         /* "FLOAT16" */
    const char *format;       /* "fp16": the number format of a float type, else NULL */
    enum ulp_element element; /* how the type lies in memory in its own arithmetic */
    int file_bits;            /* of one element in raw_data; 0: not stored as numbers (STRING) */
};
extern const struct ulp_type_row ulp_type_rows[ULP_TYPE_COUNT];

/* The format that an arithmetic as declared gives a float type: "fp16". */
static inline const char *ulp_type_format(const struct ulp_arithmetic *arithmetic,
                                          enum ulp_type type)
{
    return arithmetic->half_as_float && type == ULP_TYPE_FLOAT16 ? "fp32"
                                                                 : ulp_type_rows[type].format;
}

/* The numbers that an integer type has, as doubles. */
void ulp_integer_range(enum ulp_type type, double *low, double *high);

/* Memory size of one element. precision only matters for ULP_ELEMENT_WIDE. */
size_t ulp_element_bytes(enum ulp_element element, int precision);
bool ulp_element_is_float(enum ulp_element element);
/* Of a tensor's elements, however they lie. */
size_t ulp_tensor_bytes(const struct ulp_tensor *tensor);

/* No tensor has more elements, nor dimensions that would make more without the zeros among them.
 * So the product of a dimension, or of all, and a number below 2^20 fits int64. */
#define ULP_COUNT_MAX (INT64_C(1) << 42)
/* a * b for numbers >= 0; INT64_MAX, which no shape takes, when it is more. */
static inline int64_t ulp_dim_mul(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* Set type, element, shape, count and element_bytes; data stays NULL. Too many elements:
 * ULP_ERROR_MEMORY, with these words. */
#define ULP_TENSOR_TOO_LARGE "more than 2^42 elements"
enum ulp_status ulp_tensor_describe(struct ulp_tensor *out, enum ulp_type type,
                                    enum ulp_element element, int precision, int rank,
                                    const int64_t *dims, struct ulp_error *error);
/* Allocate data for a described tensor, charged to budget (may be NULL). */
enum ulp_status ulp_tensor_allocate(struct ulp_tensor *tensor, struct ulp_budget *budget,
                                    struct ulp_error *error);
/* Both, of another tensor's type and dimensions. */
enum ulp_status ulp_tensor_create_like(struct ulp_tensor *out, const struct ulp_tensor *like,
                                       enum ulp_element element, int precision,
                                       struct ulp_budget *budget, struct ulp_error *error);
/* So many, or none where tensors is NULL. */
void ulp_tensors_free(struct ulp_tensor *tensors, size_t count);
/* A view: same type and data, not owned. */
static inline struct ulp_tensor ulp_tensor_view(const struct ulp_tensor *tensor)
{
    struct ulp_tensor view = *tensor;
    view.owned = false;
    return view;
}
/* The elements from `first` on as one dimension; not beyond the tensor's end, which kernels that
 * look over a whole factor rely on. */
/* Elements that lie elsewhere, in the memory of their type: a list (rank 1) or a number (rank 0).
 */
struct ulp_tensor ulp_tensor_list(enum ulp_type type, const void *elements, int rank, size_t count);
struct ulp_tensor ulp_tensor_view_from(const struct ulp_tensor *tensor, size_t first);

/* ulp_tensor_get where the environment is the library's: entering it would take longer than
 * reading. */
double ulp_tensor_read_any(const struct ulp_tensor *tensor, size_t i);
static inline double ulp_tensor_read(const struct ulp_tensor *tensor, size_t i)
{
    return tensor->element == ULP_ELEMENT_F32   ? (double)((const float *)tensor->data)[i]
           : tensor->element == ULP_ELEMENT_F64 ? ((const double *)tensor->data)[i]
                                                : ulp_tensor_read_any(tensor, i);
}
/* That of `count` elements from `first` on. */
void ulp_tensor_read_range(double *out, const struct ulp_tensor *tensor, size_t first,
                           size_t count);
void ulp_tensor_set_int(struct ulp_tensor *tensor, size_t i, int64_t value);

/* What a float tensor of the lane looks like in memory: the element (and precision) that carries
 * arithmetic->storage. */
enum ulp_element ulp_storage_element(const struct ulp_format *storage);

/* Convert every element into *out (described and allocated by the caller, same count): floats to a
 * float element are rounded once to `storage` (NULL: to the nearest value of the element, exact
 * when it widens), integers to floats are rounded once, floats to integers follow ONNX Cast (toward
 * zero; out of range and NaN: see convert.c). */
enum ulp_status ulp_tensor_convert(struct ulp_tensor *out, const struct ulp_tensor *in,
                                   const struct ulp_format *storage, enum ulp_rounding rounding,
                                   uint64_t seed, struct ulp_pool *pool, struct ulp_error *error);

/* A copy in the element of its type: floats are rounded to it once. */
enum ulp_status ulp_tensor_copy_typed(struct ulp_tensor *out, const struct ulp_tensor *in,
                                      struct ulp_budget *budget, struct ulp_error *error);

/* perturb.c. *in with each element changed by a random factor within 1 +- 2^(2 - p), rounded to the
 * tensor's type; p: `precision`, or the type's when that is less. The same seed and name, the same
 * change. *out is a view of *in when nothing changes: integers, and floats that are all whole
 * numbers (masks, counts and positions, which no format rounds). */
enum ulp_status ulp_tensor_perturb(struct ulp_tensor *out, const struct ulp_tensor *in,
                                   int precision, uint64_t seed, const char *name,
                                   struct ulp_budget *budget, struct ulp_error *error);
/* What was made of *in is rounded to so many bits where all of *in has no more: a format that holds
 * them draws no rounding of them. */
void ulp_tensor_shorten(struct ulp_tensor *moved, const struct ulp_tensor *in, int precision);

/* Where the elements of a box lie, its indices in row-major order: first + sum of index[d] *
 * steps[d], for all of dims, into offsets. */
void ulp_box_offsets(int64_t *offsets, int rank, const int64_t *dims, const int64_t *steps,
                     int64_t first);

/* ONNX multidirectional (numpy) broadcasting of `count` shapes into *rank and dims. ULP_ERROR_INPUT
 * when they do not fit. */
enum ulp_status ulp_broadcast_shape(int count, const struct ulp_tensor *const *tensors, int *rank,
                                    int64_t *dims, struct ulp_error *error);
