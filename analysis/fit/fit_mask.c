/* Masked sums: which numbers stand where. */
#include <string.h>

#include "analysis/fit/fit.h"

/* Numbers that swamp: M = big_a big_b against small^2, for sums in FP32 (24 bits) or, in all but
 * FP16 and FP8, FP64. FP8 has no small number for rest: the M's places are then zero elsewhere. */
static const struct mask_row {
    const char *operands;
    double big_a, big_b, rest, small;
    size_t count; /* of small products, so that count * small^2 < 2^-25 M */
} mask_rows[] = {
    {"fp16", 0x1p15, 1, 0x1p-24, 0x1p-12, 1 << 14}, {"bf16", 0x1p60, 1, 0x1p-60, 0x1p-30, 1 << 24},
    {"tf32", 0x1p60, 1, 0x1p-60, 0x1p-30, 1 << 24}, {"fp32", 0x1p60, 1, 0x1p-60, 0x1p-30, 1 << 24},
    {"fp64", 0x1p60, 1, 0x1p-60, 0x1p-30, 1 << 24}, {"fp8-e4m3", 0x1p8, 0x1p7, 0, 0x1p-9, 1 << 8},
    {"fp8-e5m2", 0x1p8, 0x1p7, 0, 0x1p-9, 1 << 8},
};
/* How many small products a result counts exactly. */
static const struct {
    const char *result;
    size_t count;
} result_rows[] = {{"fp16", 1 << 11}, {"bf16", 1 << 8}, {"fp32", 1 << 24}, {"fp64", 1 << 24}};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Places of M: the first half of the lines has them close together, where blocks show, the second
 * spread over k, where slices show. `odd`: those of columns. */
static void choose_places(size_t *places, size_t line_count, size_t distinct, size_t k, size_t gap,
                          size_t odd)
{
    const size_t pairs = k / 2, dense = (distinct + 1) / 2, spread = distinct - dense;
    for (size_t line = 0; line < line_count; line++) {
        const size_t i = line % distinct;
        const size_t pair = i < dense ? i * gap % pairs : (i - dense) * pairs / spread;
        places[line] = 2 * pair + odd;
    }
}

static void mark(uint8_t *kinds, const size_t *places, size_t count, uint8_t kind)
{
    for (size_t i = 0; i < count; i++)
        kinds[places[i]] = kind;
}

enum ulp_status ulp_fit_mask_make(struct ulp_fit_mask *out, const char *operands,
                                  const char *result, const struct ulp_fit_shape *shape,
                                  struct ulp_error *error)
{
    const struct mask_row *row = NULL;
    size_t count = 0;
    *out = (struct ulp_fit_mask){.k = shape->k};
    for (size_t i = 0; i < sizeof mask_rows / sizeof *mask_rows; i++)
        if (strcmp(mask_rows[i].operands, operands) == 0)
            row = &mask_rows[i];
    for (size_t i = 0; i < sizeof result_rows / sizeof *result_rows; i++)
        if (strcmp(result_rows[i].result, result) == 0)
            count = result_rows[i].count;
    if (!row || !count || shape->k < 8)
        return ULP_OK;
    count = least(count, row->count);
    out->stride = ulp_size_divide_up(shape->k, count);
    out->big_a = row->big_a;
    out->big_b = row->big_b;
    out->rest = out->stride > 1 ? 0 : row->rest;
    out->small = row->small;
    out->row_count = ulp_size_divide_up(shape->m, 2);
    out->column_count = ulp_size_divide_up(shape->n, 2);
    enum ulp_status status = ulp_allocate((void **)&out->row_place, out->row_count,
                                          sizeof *out->row_place, NULL, "probe", error);
    if (status == ULP_OK)
        status = ulp_allocate((void **)&out->column_place, out->column_count,
                              sizeof *out->column_place, NULL, "probe", error);
    if (status == ULP_OK)
        status = ulp_allocate_zero((void **)&out->kinds, out->k, 1, NULL, "probe", error);
    if (status != ULP_OK) {
        ulp_fit_mask_free(out);
        return status;
    }
    /* where places are zero for other lines, enough small products must stay between them */
    const size_t most = out->rest != 0 ? shape->k / 2 : shape->k / 8, gap = out->rest != 0 ? 1 : 4;
    choose_places(out->row_place, out->row_count, least(out->row_count, most), out->k, gap, 0);
    choose_places(out->column_place, out->column_count, least(out->column_count, most), out->k, gap,
                  1);
    mark(out->kinds, out->row_place, out->row_count, ULP_FIT_ROWS);
    mark(out->kinds, out->column_place, out->column_count, ULP_FIT_COLUMNS);
    return ULP_OK;
}

void ulp_fit_mask_free(struct ulp_fit_mask *mask)
{
    ulp_free(mask->row_place);
    ulp_free(mask->column_place);
    ulp_free(mask->kinds);
    *mask = (struct ulp_fit_mask){0};
}

static double factor(const struct ulp_fit_mask *mask, size_t k, size_t place, uint8_t own,
                     double big)
{
    if (k == place)
        return big;
    if (mask->kinds[k])
        return mask->kinds[k] == own ? mask->rest : mask->big_b;
    return k % mask->stride == 0 ? mask->small : 0;
}

double ulp_fit_mask_a(const struct ulp_fit_mask *mask, size_t row, size_t k)
{
    return factor(mask, k, mask->row_place[row], ULP_FIT_ROWS, mask->big_a);
}

double ulp_fit_mask_b(const struct ulp_fit_mask *mask, size_t column, size_t k)
{
    return factor(mask, k, mask->column_place[column], ULP_FIT_COLUMNS, -mask->big_a);
}
