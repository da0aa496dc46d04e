/* Gathering panels, once per pair of types. Parameters, undefined again at the end:
 *   SUFFIX   of the functions' names
 *   SOURCE   element type of the tensor
 *   TARGET   element type of the packed memory; a conversion from SOURCE must be exact
 * Instantiated by pack.c. */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

/* One panel: line i, k of the range to out[k * width + i], and zeros behind the last line. */
static void JOIN(gather_panel, SUFFIX)(TARGET *restrict out, const SOURCE *data,
                                       const struct ulp_factor *factor, struct ulp_pack_range range,
                                       size_t width)
{
    const int64_t *line = factor->line_offset + range.line, *k_offset = factor->k_offset + range.k;
    const size_t count = range.line_count;
    const bool run = count == width && ulp_output_is_run(line, count);
    data += factor->batch_offset ? factor->batch_offset[range.batch] : 0;
    for (size_t k = 0; k < range.k_count; k++, out += width) {
        const SOURCE *from = data + k_offset[k];
        for (size_t i = 0; i < count && run; i++)
            out[i] = (TARGET)from[line[0] + (int64_t)i];
        for (size_t i = 0; i < count && !run; i++)
            out[i] = (TARGET)from[line[i]];
        for (size_t i = count; i < width; i++)
            out[i] = 0;
    }
}

#undef JOIN
#undef JOIN_
#undef SUFFIX
#undef SOURCE
#undef TARGET
