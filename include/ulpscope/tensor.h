/* Tensors: shape, ONNX element type, and elements in memory.
 *
 * Floating-point elements lie in memory in their carrier: an FP16 value is a float that FP16 can
 * represent, and a value of the MPFR reference is a flat record without pointers. So elements of
 * any format are moved as bytes. Integers lie in their own type, INT4 and UINT4 one per byte.
 * Different threads may work on different tensors; a const tensor may be shared. */
#ifndef ULPSCOPE_TENSOR_H
#define ULPSCOPE_TENSOR_H

#include <ulpscope/format.h>
#include <ulpscope/memory.h>

/* ONNX TensorProto.DataType (onnx.proto3). */
enum ulp_type {
    ULP_TYPE_UNDEFINED = 0,
    ULP_TYPE_FLOAT = 1,
    ULP_TYPE_UINT8 = 2,
    ULP_TYPE_INT8 = 3,
    ULP_TYPE_UINT16 = 4,
    ULP_TYPE_INT16 = 5,
    ULP_TYPE_INT32 = 6,
    ULP_TYPE_INT64 = 7,
    ULP_TYPE_STRING = 8,
    ULP_TYPE_BOOL = 9,
    ULP_TYPE_FLOAT16 = 10,
    ULP_TYPE_DOUBLE = 11,
    ULP_TYPE_UINT32 = 12,
    ULP_TYPE_UINT64 = 13,
    ULP_TYPE_COMPLEX64 = 14,
    ULP_TYPE_COMPLEX128 = 15,
    ULP_TYPE_BFLOAT16 = 16,
    ULP_TYPE_FLOAT8E4M3FN = 17,
    ULP_TYPE_FLOAT8E4M3FNUZ = 18,
    ULP_TYPE_FLOAT8E5M2 = 19,
    ULP_TYPE_FLOAT8E5M2FNUZ = 20,
    ULP_TYPE_UINT4 = 21,
    ULP_TYPE_INT4 = 22,
    ULP_TYPE_FLOAT4E2M1 = 23,
    ULP_TYPE_FLOAT8E8M0 = 24,
    ULP_TYPE_UINT2 = 25,
    ULP_TYPE_INT2 = 26,
    ULP_TYPE_COUNT = 27
};

/* "FLOAT16", "INT64", ... as ONNX spells it; "?" when unknown. */
ULP_API const char *ulp_type_name(enum ulp_type type);
ULP_API bool ulp_type_is_float(enum ulp_type type);

/* How elements lie in memory. */
enum ulp_element {
    ULP_ELEMENT_F32,
    ULP_ELEMENT_F64,
    ULP_ELEMENT_PAIR, /* two doubles {high, low}: their sum, of which high is the nearest double */
    ULP_ELEMENT_WIDE, /* MPFR record: {int64 exponent, int64 kind, limbs[ceil(precision / 64)]} */
    ULP_ELEMENT_I8,
    ULP_ELEMENT_U8,
    ULP_ELEMENT_I16,
    ULP_ELEMENT_U16,
    ULP_ELEMENT_I32,
    ULP_ELEMENT_U32,
    ULP_ELEMENT_I64,
    ULP_ELEMENT_U64,
    ULP_ELEMENT_BOOL, /* one byte, 0 or 1 */
    /* A float of 8 or 16 bits as ONNX's raw_data has it, little endian and not aligned: weights of
     * a model in a mapped file. No tensor that the library hands out has such elements. */
    ULP_ELEMENT_STORED,
    /* Integers of less than 8 bits, as many to a byte as fit, as ONNX's raw_data has them: weights
     * of a model. No tensor that the library hands out has such elements. */
    ULP_ELEMENT_PACKED,
    ULP_ELEMENT_COUNT
};

#define ULP_RANK_MAX 16

struct ulp_tensor {
    enum ulp_type type;       /* the type that the model declares */
    enum ulp_element element; /* how an element lies in memory */
    int precision;            /* bits of a ULP_ELEMENT_WIDE; else 0 */
    int rank;
    int64_t dims[ULP_RANK_MAX];
    size_t count;         /* product of dims */
    size_t element_bytes; /* of one element in memory */
    void *data;           /* count * element_bytes, row-major; NULL while only the shape is known */
    bool owned;           /* ulp_tensor_free frees data; false for a view */
};

/* Allocate a tensor. With element ULP_ELEMENT_COUNT the element follows from the type (of a float
 * type: its own carrier). Data is not cleared. Fails for a negative dim, a rank above ULP_RANK_MAX
 * and a size beyond memory. Free with ulp_tensor_free. */
ULP_API enum ulp_status ulp_tensor_create(struct ulp_tensor *out, enum ulp_type type,
                                          enum ulp_element element, int precision, int rank,
                                          const int64_t *dims, struct ulp_error *error);
/* A tensor over memory of the caller's, which stays the caller's: data has as many elements as dims
 * say, row-major, each as ulp_tensor_create with ULP_ELEMENT_COUNT lays out the type (an element
 * of FLOAT16 is a float). It must outlive the tensor. data may be NULL when there are no
 * elements. */
ULP_API enum ulp_status ulp_tensor_wrap(struct ulp_tensor *out, enum ulp_type type, int rank,
                                        const int64_t *dims, void *data, struct ulp_error *error);
/* Free the data when it is owned, and set *tensor to zero. NULL and a tensor of all zeros are
 * allowed. */
ULP_API void ulp_tensor_free(struct ulp_tensor *tensor);

/* Copy a tensor and its data, for instance of an event. Charged to budget (may be NULL); free with
 * ulp_tensor_free. */
ULP_API enum ulp_status ulp_tensor_copy(struct ulp_tensor *out, const struct ulp_tensor *in,
                                        struct ulp_budget *budget, struct ulp_error *error);
ULP_API bool ulp_tensor_same_shape(const struct ulp_tensor *a, const struct ulp_tensor *b);
/* Write type and shape, as "FLOAT[1,3,224,224]", into buffer (truncated to size, always
 * terminated), and return buffer. */
ULP_API const char *ulp_tensor_describe_text(const struct ulp_tensor *tensor, char *buffer,
                                             size_t size);

/* Element i as a double: exact for F32, F64 and integers up to 2^53, else rounded to nearest
 * even. */
ULP_API double ulp_tensor_get(const struct ulp_tensor *tensor, size_t i);
/* Element i of an integer or boolean tensor. A float is truncated; beyond int64 it gives 0. */
ULP_API int64_t ulp_tensor_get_int(const struct ulp_tensor *tensor, size_t i);

/* A set of named tensors: a model's inputs, a run's outputs, the members of an npz file. It owns
 * names and tensors. Initialise it with zeros, and fill it by ulp_tensor_set_add only. */
struct ulp_tensor_set {
    size_t count;
    struct ulp_named_tensor {
        char *name;
        struct ulp_tensor tensor;
    } * items;
    struct ulp_names *names; /* private to the library: an index of the names */
    bool drawn; /* by ulp_model_random_inputs, and stands for inputs that nobody gave */
};
ULP_API void ulp_tensor_set_free(struct ulp_tensor_set *set);
/* Add a tensor under a copy of name. The set takes over its data, and *tensor becomes zeros. When a
 * name is added twice, the first tensor is found. */
ULP_API enum ulp_status ulp_tensor_set_add(struct ulp_tensor_set *set, const char *name,
                                           struct ulp_tensor *tensor, struct ulp_error *error);
/* The tensor of that name, owned by the set; NULL: there is none. */
ULP_API const struct ulp_tensor *ulp_tensor_set_find(const struct ulp_tensor_set *set,
                                                     const char *name);

/* Read inputs from `path`: an .npz file, or an ONNX test_data_set_N folder with input_i.pb (a
 * tensor without a name of its own is called "input_i"). Charged to budget (may be NULL). Fails
 * with ULP_ERROR_INPUT, naming file and member. */
ULP_API enum ulp_status ulp_tensor_set_read(const char *path, struct ulp_budget *budget,
                                            struct ulp_tensor_set *out, struct ulp_error *error);
/* Write an .npz. FP16 is written as float16 when it holds every value, else as float32; WIDE
 * elements as the nearest double; BF16, FP8 and FP4, for which numpy has no type, as float32. Fails
 * with ULP_ERROR_INPUT, naming the file. */
ULP_API enum ulp_status ulp_tensor_set_write_npz(const char *path, const struct ulp_tensor_set *set,
                                                 struct ulp_error *error);

/* A number that tells sets apart: of names, types, shapes and elements. */
ULP_API uint64_t ulp_tensor_set_fingerprint(const struct ulp_tensor_set *set);

#endif
