/* Covering columns with vectors: see unit/column_map.h. */
#include "kernels/unit/column_map.h"

#include "base/memory/alloc.h"

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

bool ulp_unit_column_map_measure(struct ulp_unit_column_map *map, const struct ulp_factor *columns,
                                 size_t column_count, size_t k_count)
{
    const int64_t *line = columns->line_offset, *k = columns->k_offset;
    *map = (struct ulp_unit_column_map){.step = find_step(line, column_count)};
    if (map->step == 0 || map->step > STEP_MAX || k_count == 0)
        return false;
    int64_t k_first = k[0], k_last = k[0];
    for (size_t i = 1; i < k_count; i++) {
        k_first = k[i] < k_first ? k[i] : k_first;
        k_last = k[i] > k_last ? k[i] : k_last;
    }
    map->first = line[0] + k_first;
    map->extent = (size_t)(line[column_count - 1] + k_last - map->first) + 1;
    map->inside = (line[column_count - 1] - line[0]) / map->step >= COLUMNS - 1;
    const size_t beyond = map->inside ? 1 : COLUMNS; /* else a place may begin with the last */
    const size_t lanes = (map->extent - 1) / (size_t)map->step + beyond;
    map->plane_length = (lanes + COLUMNS - 1) / COLUMNS * COLUMNS;
    for (size_t column = 0; column < column_count; map->place_count++)
        column = end_place(line, column, column_count, map->step);
    return true;
}

/* Places, their columns and runs; runs NULL: only counts them. */
static size_t find_runs(struct ulp_unit_column_map *map, const int64_t *line, size_t column_count)
{
    size_t run_count = 0, column = 0;
    for (size_t i = 0; column < column_count; i++) {
        const size_t end = end_place(line, column, column_count, map->step);
        const int64_t last_place = (line[column_count - 1] - line[0]) / map->step - (COLUMNS - 1);
        int64_t place = (line[column] - line[0]) / map->step;
        /* its first lanes are the place's before it */
        place = map->inside && place > last_place ? last_place : place;
        if (map->runs) {
            map->place[i] = place;
            map->column[i] = column;
            map->run_first[i] = run_count;
        }
        for (size_t first = column, last; first < end; first = last, run_count++) {
            for (last = first + 1; last < end && line[last] == line[last - 1] + map->step;)
                last++;
            if (map->runs)
                map->runs[run_count] =
                    (struct ulp_unit_run){(uint32_t)((line[first] - line[0]) / map->step - place),
                                          (uint32_t)(last - first)};
        }
        column = end;
    }
    if (map->runs) {
        map->column[map->place_count] = column_count;
        map->run_first[map->place_count] = run_count;
    }
    return run_count;
}

enum ulp_status ulp_unit_column_map_create(struct ulp_unit_column_map *map,
                                           const struct ulp_factor *columns, size_t column_count,
                                           const struct ulp_unit_layout *layout,
                                           struct ulp_budget *budget, struct ulp_error *error)
{
    static const char what[] = "places of columns";
    const size_t run_count = find_runs(map, columns->line_offset, column_count);
    void *place = NULL, *slot_offset = NULL, *column = NULL, *run_first = NULL, *runs = NULL;
    enum ulp_status status =
        ulp_allocate(&place, map->place_count, sizeof *map->place, budget, what, error);
    if (status == ULP_OK)
        status = ulp_allocate_zero(&slot_offset, layout->slot_stride, sizeof *map->slot_offset,
                                   budget, what, error);
    if (status == ULP_OK)
        status =
            ulp_allocate(&column, map->place_count + 1, sizeof *map->column, budget, what, error);
    if (status == ULP_OK)
        status = ulp_allocate(&run_first, map->place_count + 1, sizeof *map->run_first, budget,
                              what, error);
    if (status == ULP_OK)
        status = ulp_allocate(&runs, run_count, sizeof *map->runs, budget, what, error);
    map->place = place;
    map->slot_offset = slot_offset;
    map->column = column;
    map->run_first = run_first;
    map->runs = runs;
    if (status != ULP_OK) {
        ulp_unit_column_map_free(map);
        return status;
    }
    find_runs(map, columns->line_offset, column_count);
    for (size_t slot = 0; slot < layout->slot_count; slot++)
        if (layout->slot_k[slot] >= 0) {
            const int64_t from =
                columns->line_offset[0] + columns->k_offset[layout->slot_k[slot]] - map->first;
            map->slot_offset[slot] =
                from % map->step * (int64_t)map->plane_length + from / map->step;
        }
    return ULP_OK;
}

void ulp_unit_column_map_free(struct ulp_unit_column_map *map)
{
    ulp_free(map->place);
    ulp_free(map->slot_offset);
    ulp_free(map->column);
    ulp_free(map->run_first);
    ulp_free(map->runs);
    *map = (struct ulp_unit_column_map){0};
}
