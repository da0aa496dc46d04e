/* Tensors by name in files: numpy's npy and npz, and ONNX's test_data_set folders. What is read,
 * and what reading needs, is charged to `budget` (may be NULL). */
#pragma once

#include <ulpscope/recording.h>

struct ulp_text;

/* resize_inputs.c. A sample with other sizes in the model's free dimensions (a name has one size),
 * of its own elements: attempts 0, 1, ... draw other sizes, which the model need not take. said:
 * empty, becomes "N=5, T=3". No dimension is free: an empty set. */
#define ULP_RESIZE_ATTEMPTS 24
enum ulp_status ulp_inputs_resize(const struct ulp_model *model,
                                  const struct ulp_tensor_set *inputs, size_t attempt,
                                  struct ulp_tensor_set *out, struct ulp_text *said,
                                  struct ulp_error *error);

/* "no input is named 'x'; there are: a, b": ULP_ERROR_USAGE. */
enum ulp_status ulp_fail_input_name(const struct ulp_model *model, const char *name,
                                    struct ulp_error *error);

/* A tensor from the bytes of an .npy file (format versions 1 to 3, both byte orders, C and Fortran
 * order; f2 f4 f8, i1 to i8, u1 to u8, b1). Errors do not name the file. */
enum ulp_status ulp_npy_parse(struct ulp_tensor *out, const void *bytes, size_t count,
                              struct ulp_budget *budget, struct ulp_error *error);

/* An .npy file of a tensor, in two parts so that elements need no copy: header, then data (the
 * tensor's own memory unless `owned` is set, which is charged to what the tensor is charged to).
 * FLOAT16 elements are written as f2 when every value is one and as f4 otherwise (a lane of a wider
 * arithmetic); wide ones as f8, the nearest double; other floats in their carrier. */
struct ulp_npy {
    char header[512];
    size_t header_bytes;
    const void *data;
    size_t data_bytes;
    void *owned;
};
enum ulp_status ulp_npy_encode(struct ulp_npy *out, const struct ulp_tensor *tensor,
                               struct ulp_error *error);
void ulp_npy_free(struct ulp_npy *npy);

enum ulp_status ulp_npz_read(const char *path, struct ulp_budget *budget,
                             struct ulp_tensor_set *out, struct ulp_error *error);
/* As ulp_npz_read, of an archive in memory; errors call it `name`. */
enum ulp_status ulp_npz_parse(const char *name, const void *bytes, size_t count,
                              struct ulp_budget *budget, struct ulp_tensor_set *out,
                              struct ulp_error *error);

/* polygraphy_json.c: ulp_recording_read of a .json file. Recordings are called `name`, and their
 * iterations are counted from `first`. */
enum ulp_status ulp_polygraphy_read(const char *path, const char *name, size_t first,
                                    struct ulp_budget *budget, struct ulp_recording_list *list,
                                    struct ulp_error *error);
/* Adds a recording; *tensors is the list's then, and freed on failure. `runner` may be NULL. */
enum ulp_status ulp_recording_add(struct ulp_recording_list *list, const char *path,
                                  const char *runner, size_t iteration,
                                  struct ulp_tensor_set *tensors, struct ulp_error *error);

/* The parts as if they were one, as text freed with ulp_free; NULL: out of memory. */
char *ulp_base64_encode(const void *const parts[], const size_t counts[], size_t part_count,
                        struct ulp_budget *budget);
/* The bytes, of length / 4 * 3 at most, into out; false: the text is no base64. */
bool ulp_base64_decode(const char *text, size_t length, unsigned char *out, size_t *count);

/* ---- dim_value.c ---- */

/* What options and messages call a dimension of an input: its symbol, else as "x[2]". */
enum { ULP_DIM_TEXT = 216 };
const char *ulp_dim_text(const struct ulp_value_info *info, int dimension, char *buffer);
/* The open dimensions that nobody gave a size, each symbol once; places: with its first place. */
void ulp_dims_say_open(struct ulp_text *out, const struct ulp_model *model,
                       const struct ulp_dim_value *given, size_t count, const char *between,
                       bool places);
/* Is each an open dimension of an input, and no negative size? */
enum ulp_status ulp_dims_check(const struct ulp_model *model, const struct ulp_dim_value *dims,
                               size_t count, struct ulp_error *error);
/* NULL: no size is given. */
const struct ulp_dim_value *ulp_dims_find(const struct ulp_dim_value *dims, size_t count,
                                          const struct ulp_value_info *info, int dimension);
/* Declared, given, or 1. */
int64_t ulp_dim_size(const struct ulp_value_info *info, int dimension,
                     const struct ulp_dim_value *dims, size_t count);
