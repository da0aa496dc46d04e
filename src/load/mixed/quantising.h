/* What quantise_file.c is made of: nodes and constants that are put into a file. A failure is
 * remembered in `status`, and what follows does nothing. */
#pragma once

#include "kernels/operand/scaled.h"
#include "load/mixed/editor.h"
#include "load/mixed/quantise_file.h"

struct quantising {
    struct editor editor; /* first: it is what the change is given */
    const struct ulp_quantised *items;
    size_t count;
    int64_t opset;
    bool tensorrt;
    struct ulp_pool *pool;
    struct ulp_quantise_written *written;
    const char **made;    /* by item: the name that its node reads now */
    size_t position;      /* of that node */
    Ulp__NodeProto *last; /* that was put in */
    const char *stem;     /* of names */
    enum ulp_status status;
};

/* The type of ONNX with these elements; UNDEFINED: there is none. */
enum ulp_type quantising_type(const struct ulp_format *element);
/* What follows is named PREFIX, the value and the format. */
void quantising_begin(struct quantising *q, const char *prefix, const char *value,
                      const char *format);
/* A node of ai.onnx; inputs end with NULL. Returns the name of its output, and "" after a failure.
 */
const char *quantising_node(struct quantising *q, const char *op, const char *a, const char *b,
                            const char *c, const char *name);
const char *quantising_cast(struct quantising *q, const char *value, enum ulp_type type);
/* The last node is of that domain; its second output, whose name is returned. */
void quantising_domain(struct quantising *q, const char *domain);
const char *quantising_second(struct quantising *q, const char *name);
/* Attributes of the last node. */
void quantising_int(struct quantising *q, const char *name, int64_t value);
void quantising_ints(struct quantising *q, const char *name, const int64_t *values, size_t count);
void quantising_text(struct quantising *q, const char *name, const char *value);
/* Initializers: a list of integers, a FLOAT; a constant's elements and scales, as DequantizeLinear
 * reads them. */
const char *quantising_list(struct quantising *q, const int64_t *values, size_t count);
const char *quantising_float(struct quantising *q, double value);
void quantising_constant(struct quantising *q, const struct ulp_quantised *item,
                         const char **elements, const char **scales);
/* A constant's lines, as a factor has them: what is summed lies along the axis, or is all that
 * stands at one place of the channels' axis. */
struct quantising_lines {
    size_t count, k, blocks; /* blocks: of a line */
    size_t behind;           /* lines that lie behind one place of the axis */
    int64_t *line_offset, *k_offset;
    struct ulp_scaled scaled; /* rounded; freed with ulp_scaled_free, also after a failure */
};
void quantising_gather(struct quantising *q, const struct ulp_quantised *item, bool channels,
                       struct quantising_lines *out);
/* Where the scale of a line's block stands among all. */
static inline size_t quantising_block(const struct quantising_lines *lines, size_t line,
                                      size_t block)
{
    return (line / lines->behind * lines->blocks + block) * lines->behind + line % lines->behind;
}
/* Element `at` of so many bits, 4 or whole bytes; the array is zeros before. */
void quantising_put(uint8_t *raw, int bits, size_t at, uint32_t value);
/* `bytes` zeros, for quantising_raw; NULL after a failure. */
uint8_t *quantising_bytes(struct quantising *q, size_t bytes);
/* An initializer of these bytes, which are taken over. */
const char *quantising_raw(struct quantising *q, enum ulp_type type, const struct ulp_tensor *shape,
                           uint8_t *raw, size_t bytes, const char *end);
/* quantise_integer.c: the factor as integers, quantised and back. */
const char *quantise_integer(struct quantising *q, const struct ulp_quantised *item,
                             const char *name);
/* The bias of a product of these two as INT32; NULL: a code would lie beyond INT32, it stays. */
const char *quantise_bias(struct quantising *q, const struct ulp_quantised *value,
                          const struct ulp_quantised *weights);
