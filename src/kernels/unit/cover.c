/* Covering columns with vectors: see unit/cover.h. */
#include "kernels/unit/cover.h"

#include "base/alloc.h"

enum { COLUMNS = ULP_UNIT_COLUMNS, STEP_MAX = 8 };

static int64_t find_divisor(int64_t x, int64_t y)
{
    while (y != 0) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

/* The greatest common divisor of the distances; 0 when offsets do not grow. */
static int64_t find_step(const int64_t *offset, size_t count)
{
    int64_t step = 0, last = 0;
    for (size_t i = 1; i < count; i++) {
        const int64_t distance = offset[i] - offset[i - 1];
        if (distance == last)
            continue;
        if (distance <= 0)
            return 0;
        step = find_divisor(step, distance);
        last = distance;
    }
    return step > 0 ? step : 1;
}

/* The end of the columns that a place beginning with `column` covers. */
static size_t end_place(const int64_t *offset, size_t column, size_t count, int64_t step)
{
    const int64_t end = offset[column] + COLUMNS * step;
    size_t last = count - column < COLUMNS ? count : column + COLUMNS;
    if (offset[last - 1] < end)
        return last;
    for (last = column + 1; offset[last] < end;)
        last++;
    return last;
}

bool ulp_unit_cover_measure(struct ulp_unit_cover *cover, const struct ulp_factor *columns,
                            size_t column_count, size_t k_count)
{
    const int64_t *line = columns->line_offset, *k = columns->k_offset;
    *cover = (struct ulp_unit_cover){.step = find_step(line, column_count)};
    if (cover->step == 0 || cover->step > STEP_MAX || k_count == 0)
        return false;
    int64_t k_first = k[0], k_last = k[0];
    for (size_t i = 1; i < k_count; i++) {
        k_first = k[i] < k_first ? k[i] : k_first;
        k_last = k[i] > k_last ? k[i] : k_last;
    }
    cover->first = line[0] + k_first;
    cover->extent = (size_t)(line[column_count - 1] + k_last - cover->first) + 1;
    cover->inside = (line[column_count - 1] - line[0]) / cover->step >= COLUMNS - 1;
    const size_t beyond = cover->inside ? 1 : COLUMNS; /* else a place may begin with the last */
    const size_t lanes = (cover->extent - 1) / (size_t)cover->step + beyond;
    cover->plane_length = (lanes + COLUMNS - 1) / COLUMNS * COLUMNS;
    for (size_t column = 0; column < column_count; cover->place_count++)
        column = end_place(line, column, column_count, cover->step);
    return true;
}

/* Places, their columns and runs; runs NULL: only counts them. */
static size_t find_runs(struct ulp_unit_cover *cover, const int64_t *line, size_t column_count)
{
    size_t run_count = 0, column = 0;
    for (size_t i = 0; column < column_count; i++) {
        const size_t end = end_place(line, column, column_count, cover->step);
        const int64_t last_place = (line[column_count - 1] - line[0]) / cover->step - (COLUMNS - 1);
        int64_t place = (line[column] - line[0]) / cover->step;
        /* its first lanes are the place's before it */
        place = cover->inside && place > last_place ? last_place : place;
        if (cover->runs) {
            cover->place[i] = place;
            cover->column[i] = column;
            cover->run_first[i] = run_count;
        }
        for (size_t first = column, last; first < end; first = last, run_count++) {
            for (last = first + 1; last < end && line[last] == line[last - 1] + cover->step;)
                last++;
            if (cover->runs)
                cover->runs[run_count] =
                    (struct ulp_unit_run){(uint32_t)((line[first] - line[0]) / cover->step - place),
                                          (uint32_t)(last - first)};
        }
        column = end;
    }
    if (cover->runs) {
        cover->column[cover->place_count] = column_count;
        cover->run_first[cover->place_count] = run_count;
    }
    return run_count;
}

enum ulp_status ulp_unit_cover_create(struct ulp_unit_cover *cover,
                                      const struct ulp_factor *columns, size_t column_count,
                                      const struct ulp_unit_layout *layout,
                                      struct ulp_budget *budget, struct ulp_error *error)
{
    static const char what[] = "places of columns";
    const size_t run_count = find_runs(cover, columns->line_offset, column_count);
    void *place = NULL, *slot_offset = NULL, *column = NULL, *run_first = NULL, *runs = NULL;
    enum ulp_status status =
        ulp_allocate(&place, cover->place_count, sizeof *cover->place, budget, what, error);
    if (status == ULP_OK)
        status = ulp_allocate_zero(&slot_offset, layout->slot_stride, sizeof *cover->slot_offset,
                                   budget, what, error);
    if (status == ULP_OK)
        status = ulp_allocate(&column, cover->place_count + 1, sizeof *cover->column, budget, what,
                              error);
    if (status == ULP_OK)
        status = ulp_allocate(&run_first, cover->place_count + 1, sizeof *cover->run_first, budget,
                              what, error);
    if (status == ULP_OK)
        status = ulp_allocate(&runs, run_count, sizeof *cover->runs, budget, what, error);
    cover->place = place;
    cover->slot_offset = slot_offset;
    cover->column = column;
    cover->run_first = run_first;
    cover->runs = runs;
    if (status != ULP_OK) {
        ulp_unit_cover_free(cover);
        return status;
    }
    find_runs(cover, columns->line_offset, column_count);
    for (size_t slot = 0; slot < layout->slot_count; slot++)
        if (layout->slot_k[slot] >= 0) {
            const int64_t from =
                columns->line_offset[0] + columns->k_offset[layout->slot_k[slot]] - cover->first;
            cover->slot_offset[slot] =
                from % cover->step * (int64_t)cover->plane_length + from / cover->step;
        }
    return ULP_OK;
}

void ulp_unit_cover_free(struct ulp_unit_cover *cover)
{
    ulp_free(cover->place);
    ulp_free(cover->slot_offset);
    ulp_free(cover->column);
    ulp_free(cover->run_first);
    ulp_free(cover->runs);
    *cover = (struct ulp_unit_cover){0};
}
