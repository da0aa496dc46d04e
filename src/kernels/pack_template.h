/* Gathering panels and rows, once per pair of types. Parameters, undefined again at the end:
 *   SUFFIX   of the functions' names
 *   SOURCE   element type of the tensor
 *   TARGET   element type of the packed memory; a conversion from SOURCE must be exact
 * Instantiated by pack.c. */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

/* One panel: lanes lines at data + lane[i] + k_offset[k], to out[k * width + i]. */
static void JOIN(gather_panel, SUFFIX)(TARGET *out, const SOURCE *data, const struct lanes *lanes,
                                       const int64_t *k_offset, size_t k_count, size_t width)
{
    if (lanes->run_count * 3 <= lanes->count) {
        for (size_t k = 0; k < k_count; k++) {
            const SOURCE *source = data + k_offset[k];
            TARGET *target = out + k * width;
            for (size_t r = 0; r < lanes->run_count; r++)
                for (size_t i = lanes->run_start[r]; i < lanes->run_start[r + 1]; i++)
                    target[i] = (TARGET)source[lanes->offset[lanes->run_start[r]] + (int64_t)(i - lanes->run_start[r])];
            for (size_t i = lanes->count; i < width; i++)
                target[i] = 0;
        }
        return;
    }
    /* Blocks of k keep the strided writes of several lanes in the same cache lines. */
    for (size_t first = 0; first < k_count; first += 16) {
        size_t last = k_count - first < 16 ? k_count : first + 16;
        for (size_t i = 0; i < lanes->count; i++) {
            const SOURCE *source = data + lanes->offset[i];
            for (size_t k = first; k < last; k++)
                out[k * width + i] = (TARGET)source[k_offset[k]];
        }
        for (size_t k = first; k < last; k++)
            for (size_t i = lanes->count; i < width; i++)
                out[k * width + i] = 0;
    }
}

static void JOIN(gather_rows, SUFFIX)(TARGET *out, const SOURCE *data, const struct ulp_factor *factor,
                                      struct ulp_pack_range range, size_t stride)
{
    const int64_t *k_offset = factor->k_offset + range.k;
    bool contiguous = is_contiguous(k_offset, range.k_count);
    for (size_t i = 0; i < range.line_count; i++, out += stride) {
        const SOURCE *source = data + ulp_factor_offset(factor, range.batch, range.line + i, range.k);
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
