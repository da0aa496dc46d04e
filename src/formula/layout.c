/* Elementwise and reducing layouts: axes are dropped, merged and split into those that number the
 * rows and those along a row; an operand whose axes are not one arithmetic progression gets a table
 * of offsets. */
#include "formula/layout.h"

#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/tuning.h"

/* The axes under way: lane i is an operand or output that has a tensor; strides are in elements, 0
 * along a broadcast axis. Axes [0, row_axes) number rows, the others positions. */
struct grid {
    struct ulp_arena *arena;
    int rank, row_axes, lane_count;
    int64_t dims[ULP_RANK_MAX + 1];
    struct ulp_operand **lanes;
    int64_t (*strides)[ULP_RANK_MAX + 1];
};

const struct ulp_tensor *ulp_layout_view(struct ulp_arena *arena, const struct ulp_tensor *tensor,
                                         int rank, const int64_t *dims)
{
    struct ulp_tensor *view = ulp_arena_take(arena, 1, sizeof *view);
    size_t count = 1;
    if (!view || rank < 0 || rank > ULP_RANK_MAX)
        return NULL;
    *view = ulp_tensor_view(tensor);
    view->rank = rank;
    for (int i = 0; i < rank; i++) {
        view->dims[i] = dims[i];
        if (dims[i] < 0 || !ulp_size_mul(count, (size_t)dims[i], &count))
            return NULL;
    }
    return count == tensor->count ? view : NULL;
}

static enum ulp_status open_grid(struct grid *grid, const struct ulp_layout *layout,
                                 struct ulp_error *error)
{
    const int most = layout->operand_count + layout->output_count;
    *grid = (struct grid){.arena = layout->arena};
    grid->lanes = ulp_arena_take(grid->arena, (size_t)most + 1, sizeof *grid->lanes);
    grid->strides = ulp_arena_take(grid->arena, (size_t)most + 1, sizeof *grid->strides);
    return ulp_taken(grid->lanes && grid->strides, error);
}

static void clear_addresses(struct ulp_operand *operand)
{
    operand->row_offset = operand->position_offset = NULL;
    operand->row_stride = operand->position_stride = 0;
}

/* Row-major strides of dims; those of axes of size 1 are 0. */
static void fill_strides(int64_t *strides, int rank, const int64_t *dims)
{
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = dims[i] == 1 ? 0 : step;
        step *= dims[i];
    }
}

/* Add operand number `number` broadcast from the right to dims. */
static enum ulp_status add_operand(struct grid *grid, struct ulp_operand *operand, int number,
                                   int rank, const int64_t *dims, struct ulp_error *error)
{
    clear_addresses(operand);
    const struct ulp_tensor *tensor = operand->tensor;
    if (!tensor)
        return ULP_OK;
    int64_t own[ULP_RANK_MAX], *strides = grid->strides[grid->lane_count];
    const int shift = rank - tensor->rank;
    bool fits = true;
    fill_strides(own, tensor->rank, tensor->dims);
    memset(strides, 0, sizeof *grid->strides);
    for (int i = 0; i < tensor->rank; i++) {
        const int axis = i + shift;
        fits = fits && (tensor->dims[i] == 1 || (axis >= 0 && tensor->dims[i] == dims[axis]));
        if (fits && axis >= 0)
            strides[axis] = own[i];
    }
    if (!fits) {
        char shape[200];
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "operand %d, %s, does not broadcast to the shape computed", number,
                        ulp_tensor_describe_text(tensor, shape, sizeof shape));
    }
    grid->lanes[grid->lane_count++] = operand;
    return ULP_OK;
}

static void drop_axis(struct grid *grid, int axis)
{
    const size_t behind = (size_t)(grid->rank - axis - 1);
    memmove(&grid->dims[axis], &grid->dims[axis + 1], behind * sizeof *grid->dims);
    for (int i = 0; i < grid->lane_count; i++)
        memmove(&grid->strides[i][axis], &grid->strides[i][axis + 1],
                behind * sizeof **grid->strides);
    grid->rank--;
    if (axis < grid->row_axes)
        grid->row_axes--;
}

/* Whether axes a and a + 1 are one progression for every lane. */
static bool can_merge(const struct grid *grid, int axis)
{
    if (axis + 1 == grid->row_axes)
        return false;
    for (int i = 0; i < grid->lane_count; i++)
        if (grid->strides[i][axis] != grid->strides[i][axis + 1] * grid->dims[axis + 1])
            return false;
    return true;
}

/* Drop axes of size 1 and merge neighbours, never a row axis with a position axis. */
static void collapse(struct grid *grid)
{
    for (int axis = grid->rank - 1; axis >= 0; axis--)
        if (grid->dims[axis] == 1)
            drop_axis(grid, axis);
    for (int axis = grid->rank - 2; axis >= 0; axis--)
        if (can_merge(grid, axis)) {
            grid->dims[axis + 1] *= grid->dims[axis];
            drop_axis(grid, axis);
        }
}

static void move_axis_last(struct grid *grid, int axis)
{
    const int64_t dim = grid->dims[axis];
    const size_t behind = (size_t)(grid->rank - axis - 1);
    memmove(&grid->dims[axis], &grid->dims[axis + 1], behind * sizeof *grid->dims);
    grid->dims[grid->rank - 1] = dim;
    for (int i = 0; i < grid->lane_count; i++) {
        const int64_t stride = grid->strides[i][axis];
        memmove(&grid->strides[i][axis], &grid->strides[i][axis + 1],
                behind * sizeof **grid->strides);
        grid->strides[i][grid->rank - 1] = stride;
    }
}

/* Make axis into two, of dims / inner and inner. */
static void split_axis(struct grid *grid, int axis, int64_t inner)
{
    const size_t behind = (size_t)(grid->rank - axis - 1);
    memmove(&grid->dims[axis + 2], &grid->dims[axis + 1], behind * sizeof *grid->dims);
    grid->dims[axis] /= inner;
    grid->dims[axis + 1] = inner;
    for (int i = 0; i < grid->lane_count; i++) {
        int64_t *strides = grid->strides[i];
        memmove(&strides[axis + 2], &strides[axis + 1], behind * sizeof *strides);
        strides[axis + 1] = strides[axis];
        strides[axis] *= inner;
    }
    grid->rank++;
}

/* Offsets of all indices of axes [first, last) of a lane, row-major: one stride when they are a
 * progression, else a table, shared with an earlier lane that lies in the same way. */
static enum ulp_status fill_group(struct grid *grid, int lane, bool of_rows, size_t count,
                                  struct ulp_error *error)
{
    const int first = of_rows ? 0 : grid->row_axes, last = of_rows ? grid->row_axes : grid->rank;
    const int64_t *strides = grid->strides[lane], *dims = grid->dims;
    struct ulp_operand *operand = grid->lanes[lane];
    const size_t bytes = (size_t)(last - first) * sizeof *strides;
    bool progression = true;
    for (int axis = first; axis + 1 < last; axis++)
        progression = progression && strides[axis] == strides[axis + 1] * dims[axis + 1];
    if (progression || !count) {
        *(of_rows ? &operand->row_stride : &operand->position_stride) =
            first < last ? strides[last - 1] : 0;
        return ULP_OK;
    }
    const int64_t *table = NULL;
    for (int i = 0; i < lane && !table; i++)
        if (!memcmp(&grid->strides[i][first], &strides[first], bytes))
            table = of_rows ? grid->lanes[i]->row_offset : grid->lanes[i]->position_offset;
    if (!table) {
        int64_t *offsets = ulp_arena_take(grid->arena, count, sizeof *offsets);
        int64_t index[ULP_RANK_MAX + 1] = {0}, offset = 0;
        ULP_TRY(ulp_taken(offsets, error));
        for (size_t i = 0; i < count; i++) {
            offsets[i] = offset;
            for (int axis = last - 1; axis >= first; axis--) {
                offset += strides[axis];
                if (++index[axis] < dims[axis])
                    break;
                offset -= strides[axis] * dims[axis];
                index[axis] = 0;
            }
        }
        table = offsets;
    }
    *(of_rows ? &operand->row_offset : &operand->position_offset) = table;
    return ULP_OK;
}

static enum ulp_status close_grid(struct grid *grid, struct ulp_rows *rows, struct ulp_error *error)
{
    *rows = (struct ulp_rows){.row_count = 1, .row_length = 1};
    for (int axis = 0; axis < grid->rank; axis++)
        *(axis < grid->row_axes ? &rows->row_count : &rows->row_length) *= (size_t)grid->dims[axis];
    for (int i = 0; i < grid->lane_count; i++) {
        ULP_TRY(fill_group(grid, i, true, rows->row_count, error));
        ULP_TRY(fill_group(grid, i, false, rows->row_length, error));
    }
    return ULP_OK;
}

/* The largest divisor of n that is at most `most`. */
static int64_t largest_divisor(int64_t n, int64_t most)
{
    for (int64_t d = most < n ? most : n; d > 1; d--)
        if (n % d == 0)
            return d;
    return 1;
}

/* Which axes are a row. Elements do not depend on each other, so any choice is right; a row should
 * be one long progression, or several short inner axes joined (with tables), or the longest axis
 * when nothing divides well. */
static void choose_rows(struct grid *grid)
{
    const int last = grid->rank - 1;
    if (grid->rank < 2 || grid->dims[last] >= ULP_TUNE_ROW_MIN) {
        grid->row_axes = grid->rank ? last : 0;
        return;
    }
    int64_t length = 1, longest = 0;
    int axis = last;
    for (; axis >= 0 && length * grid->dims[axis] <= ULP_TUNE_ROW_JOINED; axis--)
        length *= grid->dims[axis];
    if (axis >= 0) {
        const int64_t inner = largest_divisor(grid->dims[axis], ULP_TUNE_ROW_JOINED / length);
        int longest_axis = 0;
        for (int i = 0; i <= last; i++)
            if (grid->dims[i] > longest) {
                longest = grid->dims[i];
                longest_axis = i;
            }
        if (length * inner < ULP_TUNE_ROW_MIN && longest > length * inner) {
            move_axis_last(grid, longest_axis);
            grid->row_axes = last;
            return;
        }
        if (inner > 1)
            split_axis(grid, axis, inner);
    }
    grid->row_axes = axis + 1;
}

enum ulp_status ulp_layout_elementwise(const struct ulp_layout *layout, struct ulp_error *error)
{
    struct grid grid;
    const struct ulp_tensor *full = NULL;
    ULP_TRY(open_grid(&grid, layout, error));
    for (int i = layout->output_count - 1; i >= 0; i--)
        if (layout->outputs[i].tensor)
            full = layout->outputs[i].tensor;
    if (!full)
        return ulp_fail(error, ULP_ERROR_USAGE, "no output of an elementwise operator is wanted");
    for (int i = 0; i < layout->operand_count; i++)
        ULP_TRY(add_operand(&grid, &layout->operands[i], i, full->rank, full->dims, error));
    for (int i = 0; i < layout->output_count; i++) {
        const struct ulp_tensor *tensor = layout->outputs[i].tensor;
        if (tensor && tensor->count != full->count)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "output %d of an elementwise operator has another size", i);
        clear_addresses(&layout->outputs[i]);
        if (tensor) {
            fill_strides(grid.strides[grid.lane_count], full->rank, full->dims);
            grid.lanes[grid.lane_count++] = &layout->outputs[i];
        }
    }
    grid.rank = full->rank;
    memcpy(grid.dims, full->dims, (size_t)full->rank * sizeof *grid.dims);
    collapse(&grid);
    choose_rows(&grid);
    return close_grid(&grid, layout->rows, error);
}

/* Strides of an output of ulp_layout_reduce over the axes of dims, of which row_count * row_length
 * elements. */
static enum ulp_status add_output_strides(struct grid *grid, struct ulp_operand *output, int number,
                                          int rank, const int64_t *dims, const bool *reduced,
                                          size_t full_count, size_t row_count,
                                          struct ulp_error *error)
{
    clear_addresses(output);
    if (!output->tensor)
        return ULP_OK;
    const bool full = output->tensor->count == full_count;
    if (!full && output->tensor->count != row_count)
        return ulp_fail(error, ULP_ERROR_INPUT, "output %d has %zu elements, expected %zu or %zu",
                        number, output->tensor->count, full_count, row_count);
    int64_t kept[ULP_RANK_MAX], *strides = grid->strides[grid->lane_count];
    for (int i = 0; i < rank; i++)
        kept[i] = reduced[i] && !full ? 1 : dims[i];
    fill_strides(strides, rank, kept);
    grid->lanes[grid->lane_count++] = output;
    return ULP_OK;
}

/* Put the axes that are not reduced first. */
static void order_axes(struct grid *grid, int rank, const int64_t *dims, const bool *reduced)
{
    int order[ULP_RANK_MAX], count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < rank; i++)
            if (reduced[i] == (pass == 1))
                order[count++] = i;
        if (!pass)
            grid->row_axes = count;
    }
    grid->rank = rank;
    for (int i = 0; i < rank; i++)
        grid->dims[i] = dims[order[i]];
    for (int lane = 0; lane < grid->lane_count; lane++) {
        int64_t strides[ULP_RANK_MAX + 1] = {0};
        for (int i = 0; i < rank; i++)
            strides[i] = grid->strides[lane][order[i]];
        memcpy(grid->strides[lane], strides, sizeof strides);
    }
}

enum ulp_status ulp_layout_reduce(const struct ulp_layout *layout, int rank, const int64_t *dims,
                                  const bool *reduced, struct ulp_error *error)
{
    struct grid grid;
    size_t full_count = 1, row_count = 1;
    ULP_TRY(open_grid(&grid, layout, error));
    for (int i = 0; i < rank; i++) {
        ULP_TRY(ulp_taken(ulp_size_mul(full_count, (size_t)dims[i], &full_count), error));
        row_count *= reduced[i] ? 1 : (size_t)dims[i];
    }
    for (int i = 0; i < layout->operand_count; i++)
        ULP_TRY(add_operand(&grid, &layout->operands[i], i, rank, dims, error));
    for (int i = 0; i < layout->output_count; i++)
        ULP_TRY(add_output_strides(&grid, &layout->outputs[i], i, rank, dims, reduced, full_count,
                                   row_count, error));
    order_axes(&grid, rank, dims, reduced);
    collapse(&grid);
    return close_grid(&grid, layout->rows, error);
}
