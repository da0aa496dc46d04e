#include "analysis/scales/scales_stored.h"

#include <math.h>
#include <string.h>

#include "number/function/math.h"

static bool is_mxfp8(const struct ulp_node *node)
{
    return strcmp(node->op_type, "TRT_MXFP8DequantizeLinear") == 0;
}

bool ulp_stored_has_powers(const struct ulp_node *node, const struct ulp_tensor *scale)
{
    return is_mxfp8(node) && scale->type == ULP_TYPE_UINT8;
}

void ulp_stored_lay(struct ulp_stored *stored, int axis, size_t run)
{
    const struct ulp_tensor *values = stored->values;
    stored->axis = axis;
    stored->after = 1;
    stored->length = axis < 0 ? values->count : (size_t)values->dims[axis];
    stored->run = axis < 0 ? stored->length : run;
    for (int d = axis + 1; d < values->rank && axis >= 0; d++)
        stored->after *= (size_t)values->dims[d];
    stored->runs =
        stored->run ? stored->length / stored->run + (stored->length % stored->run != 0) : 0;
}

bool ulp_stored_read(const struct ulp_node *node, const struct ulp_tensor *values,
                     const struct ulp_tensor *scale, struct ulp_stored *out)
{
    const int64_t block = ulp_node_int(node, "block_size", is_mxfp8(node) ? 32 : 0);
    int64_t axis = ulp_node_int(node, "axis", is_mxfp8(node) ? -1 : 1);
    *out = (struct ulp_stored){.values = values,
                               .scale = scale,
                               .powers = ulp_stored_has_powers(node, scale)};
    if (!values->count || !scale->count)
        return false;
    if (scale->count == 1 || values->rank == 0) {
        ulp_stored_lay(out, -1, 0);
        return true;
    }
    axis += axis < 0 ? values->rank : 0;
    if (axis < 0 || axis >= values->rank)
        return false;
    out->blocked = block > 0 && scale->rank == values->rank;
    ulp_stored_lay(out, (int)axis, out->blocked ? (size_t)block : 1);
    /* else the plan refuses it */
    return out->runs == (out->blocked ? (size_t)scale->dims[axis] : scale->count) &&
           (!out->blocked || values->count / out->length * out->runs == scale->count);
}

size_t ulp_stored_find(const struct ulp_stored *stored, size_t element)
{
    if (stored->axis < 0)
        return 0;
    const size_t along = element / stored->after % stored->length / stored->run;
    return stored->blocked
               ? (element / stored->after / stored->length * stored->runs + along) * stored->after +
                     element % stored->after
               : along;
}

double ulp_stored_scale(const struct ulp_stored *stored, size_t i)
{
    const double x = ulp_tensor_get(stored->scale, i);
    if (!stored->powers)
        return x;
    return x == 255 ? NAN : ldexp(1, (int)x - 127);
}

/* The largest number of a type of few bits with a sign; 0: of another. */
static double find_top(enum ulp_type type)
{
    const struct ulp_type_row *row = &ulp_type_rows[type];
    struct ulp_format format;
    if (row->file_bits < 1 || row->file_bits > 8)
        return 0;
    if (!row->format)
        return row->name[0] == 'I' ? ldexp(1, row->file_bits - 1) - 1 : 0;
    return ulp_format_find(row->format, &format, NULL) == ULP_OK ? format.max_finite : 0;
}

bool ulp_stored_is_loose(const struct ulp_stored *stored, const struct ulp_tensor *zero,
                         struct ulp_stored_loose *out)
{
    const double top = find_top(stored->values->type);
    *out = (struct ulp_stored_loose){.half = top / 2};
    for (size_t i = 0; zero && i < zero->count; i++)
        if (ulp_tensor_get(zero, i) != 0)
            return false;
    if (!stored->blocked || top == 0)
        return false;
    for (size_t line = 0; line < stored->values->count / stored->length; line++)
        for (size_t block = 0; block < stored->runs; block++) {
            double largest = 0;
            size_t first = 0;
            for (size_t a = block * stored->run;
                 a < stored->length && a < (block + 1) * stored->run; a++) {
                const size_t i = (line / stored->after * stored->length + a) * stored->after +
                                 line % stored->after;
                largest = ulp_math_max(largest, fabs(ulp_tensor_get(stored->values, i)));
                first = ulp_stored_find(stored, i);
            }
            out->blocks += largest > 0;
            if (largest > 0 && largest <= out->half && out->count++ == 0)
                out->first = first;
        }
    return out->count > 0 && out->count * 4 <= out->blocks;
}

int ulp_summed_axis(const struct ulp_node *reader, size_t input, int rank)
{
    const bool second = input == 1;
    if (input > 1) /* a bias */
        return -1;
    if (strcmp(reader->op_type, "MatMul") == 0)
        return rank < 2 ? 0 : second ? rank - 2 : rank - 1;
    if (strcmp(reader->op_type, "Gemm") == 0)
        return second ? (ulp_node_int(reader, "transB", 0) ? 1 : 0)
                      : (ulp_node_int(reader, "transA", 0) ? 0 : 1);
    return strcmp(reader->op_type, "Conv") == 0 && second ? 1 : -1;
}

int ulp_stored_astray(const struct ulp_stored *stored, const struct ulp_node *reader, size_t input,
                      bool transposed)
{
    const int rank = stored->values->rank;
    if (!stored->blocked || rank < 2 || *reader->domain || (transposed && rank != 2))
        return -1;
    const int summed = ulp_summed_axis(reader, input, rank),
              own = transposed && summed >= 0 ? 1 - summed : summed;
    return own == stored->axis ? -1 : own;
}
