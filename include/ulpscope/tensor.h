/* Tensors: shape, ONNX element type, and elements in memory.
 *
 * Floating-point elements lie in memory in their carrier (an FP16 value is a float that FP16 can
 * represent; a value of the MPFR reference is a flat record without pointers), so every movement of
 * elements is a byte move whatever the format. Integers lie in their own type; INT4 and UINT4 one
 * per byte. Functions are thread-safe for different tensors; const tensors may be shared. */
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
    ULP_ELEMENT_COUNT
};

#define ULP_RANK_MAX 16

struct ulp_tensor {
    enum ulp_type type;       /* as the model declares it */
    enum ulp_element element; /* as it lies in memory */
    int precision;            /* of ULP_ELEMENT_WIDE, else 0 */
    int rank;
    int64_t dims[ULP_RANK_MAX];
    size_t count;         /* product of dims */
    size_t element_bytes; /* of one element in memory */
    void *data;           /* count * element_bytes, row-major; NULL while only the shape is known */
    bool owned;           /* ulp_tensor_free frees data; a view never owns */
};

/* Allocate a tensor: element is chosen from type when `element` is ULP_ELEMENT_COUNT (floats: the
 * type's own carrier). Data is not cleared. Errors: negative dim, product beyond memory, rank. */
ULP_API enum ulp_status ulp_tensor_create(struct ulp_tensor *out, enum ulp_type type,
                                          enum ulp_element element, int precision, int rank,
                                          const int64_t *dims, struct ulp_error *error);
/* Free owned data and clear *tensor; a cleared (all zero) tensor and NULL are fine. */
ULP_API void ulp_tensor_free(struct ulp_tensor *tensor);

/* A copy with data of its own, of an event's values for instance; charged to budget (may be
 * NULL). */
ULP_API enum ulp_status ulp_tensor_copy(struct ulp_tensor *out, const struct ulp_tensor *in,
                                        struct ulp_budget *budget, struct ulp_error *error);
ULP_API bool ulp_tensor_same_shape(const struct ulp_tensor *a, const struct ulp_tensor *b);
/* "FLOAT[1,3,224,224]" into buffer (truncated to size, always terminated), which is returned. */
ULP_API const char *ulp_tensor_describe_text(const struct ulp_tensor *tensor, char *buffer,
                                             size_t size);

/* Element i as a double: exact for F32, F64 and integers up to 2^53, else rounded to nearest
 * even. */
ULP_API double ulp_tensor_get(const struct ulp_tensor *tensor, size_t i);
/* Element i of an integer or boolean tensor; of floats truncated, 0 where that is beyond int64. */
ULP_API int64_t ulp_tensor_get_int(const struct ulp_tensor *tensor, size_t i);

/* A set of named tensors: a model's inputs, a run's outputs, the members of an npz file. Owns
 * all. Zero-initialise; filled by ulp_tensor_set_add alone. */
struct ulp_tensor_set {
    size_t count;
    struct ulp_named_tensor {
        char *name;
        struct ulp_tensor tensor;
    } * items;
    struct ulp_names *names; /* the library's: where each name is */
};
ULP_API void ulp_tensor_set_free(struct ulp_tensor_set *set);
/* Adds a tensor under a copy of name; the set then owns its data and *tensor is cleared. Of two
 * under one name the first is found. */
ULP_API enum ulp_status ulp_tensor_set_add(struct ulp_tensor_set *set, const char *name,
                                           struct ulp_tensor *tensor, struct ulp_error *error);
/* NULL when there is none of that name. */
ULP_API const struct ulp_tensor *ulp_tensor_set_find(const struct ulp_tensor_set *set,
                                                     const char *name);

/* Read inputs from `path`, charged to budget (may be NULL): an .npz file, or an ONNX
 * test_data_set_N folder with input_i.pb (whose members are named by the tensor's own name, or
 * "input_i" when it has none). Write an .npz (FP16 as float16 when every value is one, else as
 * float32; wide elements as the nearest double; BF16, FP8 and FP4, which numpy cannot name, as FP32
 * values). Errors: ULP_ERROR_INPUT with file and member. */
ULP_API enum ulp_status ulp_tensor_set_read(const char *path, struct ulp_budget *budget,
                                            struct ulp_tensor_set *out, struct ulp_error *error);
ULP_API enum ulp_status ulp_tensor_set_write_npz(const char *path, const struct ulp_tensor_set *set,
                                                 struct ulp_error *error);

#endif
