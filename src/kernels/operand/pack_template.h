/* Gathering panels and rows, once per pair of types. Parameters, undefined again at the end:
 *   SUFFIX   of the functions' names
 *   SOURCE   element type of the tensor
 *   TARGET   element type of the packed memory; a conversion from SOURCE must be exact
 * Instantiated by pack.c. */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

/* One panel: lanes lines at data + lane[i] + k_offset[k], to out[k * width + i]. */
static inline __attribute__((always_inline)) void JOIN(copy_run, SUFFIX)(
    TARGET *restrict out, const SOURCE *data, const int64_t *k_offset, size_t k_count, size_t width)
{
    for (size_t k = 0; k < k_count; k++, out += width)
        for (size_t i = 0; i < width; i++)
            out[i] = (TARGET)data[k_offset[k] + (int64_t)i];
}

/* Four by four: enough to write whole pieces of cache lines. data points at k = 0, k is
 * contiguous. */
static void JOIN(transpose, SUFFIX)(TARGET *restrict out, const SOURCE *data,
                                    const struct ulp_lanes *lanes, size_t k_count, size_t width)
{
    for (size_t i = 0; i < lanes->count; i += 4) {
        size_t rows = lanes->count - i < 4 ? lanes->count - i : 4, k = 0;
        const SOURCE *r[4];
        for (size_t j = 0; j < 4; j++)
            r[j] = data + lanes->offset[i + (j < rows ? j : 0)];
        for (; rows == 4 && k < k_count; k++) {
            TARGET *column = out + k * width + i;
            column[0] = (TARGET)r[0][k];
            column[1] = (TARGET)r[1][k];
            column[2] = (TARGET)r[2][k];
            column[3] = (TARGET)r[3][k];
        }
        for (; k < k_count; k++)
            for (size_t j = 0; j < rows; j++)
                out[k * width + i + j] = (TARGET)r[j][k];
    }
}

/* One panel: lines at data + lane offset + k_offset[k], to out[k * width + i]. */
static void JOIN(gather_panel, SUFFIX)(TARGET *restrict out, const SOURCE *data,
                                       const struct ulp_lanes *lanes, const int64_t *k_offset,
                                       size_t k_count, size_t width)
{
    if (lanes->count == width && ulp_pack_is_contiguous(lanes->offset, width)) {
        if (width == 32)
            JOIN(copy_run, SUFFIX)(out, data + lanes->offset[0], k_offset, k_count, 32);
        else if (width == 16)
            JOIN(copy_run, SUFFIX)(out, data + lanes->offset[0], k_offset, k_count, 16);
        else
            JOIN(copy_run, SUFFIX)(out, data + lanes->offset[0], k_offset, k_count, width);
        return;
    }
    for (size_t k = 0; lanes->count < width && k < k_count; k++)
        for (size_t i = lanes->count; i < width; i++)
            out[k * width + i] = 0;
    if (ulp_pack_is_contiguous(k_offset, k_count)) {
        if (k_count)
            JOIN(transpose, SUFFIX)(out, data + k_offset[0], lanes, k_count, width);
        return;
    }
    for (size_t k = 0; k < k_count; k++)
        for (size_t i = 0; i < lanes->count; i++)
            out[k * width + i] = (TARGET)data[lanes->offset[i] + k_offset[k]];
}

static void JOIN(gather_rows, SUFFIX)(TARGET *out, const SOURCE *data,
                                      const struct ulp_factor *factor, struct ulp_pack_range range,
                                      size_t stride)
{
    const int64_t *k_offset = factor->k_offset + range.k;
    bool contiguous = ulp_pack_is_contiguous(k_offset, range.k_count);
    for (size_t i = 0; i < range.line_count; i++, out += stride) {
        const SOURCE *source =
            data + ulp_factor_offset(factor, range.batch, range.line + i, range.k);
        if (contiguous)
            for (size_t k = 0; k < range.k_count; k++)
                out[k] = (TARGET)source[k];
        else
            for (size_t k = 0; k < range.k_count; k++)
                out[k] = (TARGET)source[k_offset[k] - k_offset[0]];
        for (size_t k = range.k_count; k < stride; k++)
            out[k] = 0;
    }
}

#undef JOIN
#undef JOIN_
#undef SUFFIX
#undef SOURCE
#undef TARGET
