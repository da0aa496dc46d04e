/* Interpolation at real coordinates. */
#include "ops/spatial/interpolate.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"

#define POSITION_MAX ((int64_t)1 << 40)
#define TAPS_MAX 4096

enum ulp_status ulp_coordinate_arithmetic(const struct ulp_call *call, struct ulp_arithmetic *out)
{
    *out = ulp_call_unrounded(call);
    return out->compute.precision >= 24 ? ULP_OK : ulp_arithmetic_find("fp32", out, call->error);
}

enum ulp_status ulp_coordinates_make(struct ulp_call *call, const struct ulp_arithmetic *arithmetic,
                                     size_t count, struct ulp_tensor *out)
{
    return ulp_call_temporary_in(call, out, &arithmetic->storage, 1, (int64_t[]){(int64_t)count});
}

enum ulp_status ulp_positions_make(struct ulp_call *call, size_t count, struct ulp_tensor *out)
{
    ULP_TRY(ulp_call_make_here(call, out, ULP_TYPE_INT64, 1, (int64_t[]){(int64_t)count}));
    for (size_t i = 0; i < count; i++)
        ((int64_t *)out->data)[i] = (int64_t)i;
    return ULP_OK;
}

int64_t ulp_coordinate_floor(const struct ulp_tensor *coordinates, size_t p)
{
    double x = floor(ulp_tensor_read(coordinates, p));
    return x > (double)POSITION_MAX     ? POSITION_MAX
           : x >= -(double)POSITION_MAX ? (int64_t)x
                                        : -POSITION_MAX;
}

/* w from the distance e of a tap. The cubic kernel is equation (4) of Keys, "Cubic convolution
 * interpolation for digital image processing", 1981. */
static const char *const kernels[] = {
    [ULP_KERNEL_LINEAR] = "w = max(0, 1 - e); ",
    [ULP_KERNEL_CUBIC] = "w = e <= 1 ? ((a + 2) * e - (a + 3)) * e * e + 1 : e < 2 ? ((a * e - 5 * "
                         "a) * e + 8 * a) * e - 4 * a : 0; ",
};

enum ulp_status ulp_taps_make(struct ulp_call *call, const struct ulp_arithmetic *arithmetic,
                              const struct ulp_tensor *coordinates,
                              const struct ulp_tap_options *options, struct ulp_taps *out)
{
    double reach = (options->kernel == ULP_KERNEL_CUBIC ? 2 : 1) / options->stretch;
    if (!(reach < TAPS_MAX / 2))
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "a reduction by %g needs more than %d elements a weight",
                        1 / options->stretch, TAPS_MAX);
    int64_t before = (int64_t)ceil(reach) - 1;
    bool normalised = options->stretch < 1 || options->inside > 0;
    struct ulp_tensor position;
    uint8_t *inside = NULL;
    *out =
        (struct ulp_taps){.coordinate_count = coordinates->count, .count = 2 * (size_t)before + 2};
    const int64_t dims[2] = {(int64_t)out->coordinate_count, (int64_t)out->count};
    ULP_TRY(ulp_positions_make(call, out->coordinate_count * out->count, &position));
    ULP_TRY(ulp_call_temporary_in(call, &out->weights, &arithmetic->storage, 2, dims));
    const struct ulp_tensor *places = coordinates;
    ULP_TRY(ulp_call_take(call, position.count, sizeof *inside, &inside));
    ULP_TRY(ulp_call_numbers_of(call, &places));
    out->position = position.data;
    for (size_t p = 0, i = 0; p < out->coordinate_count; p++) {
        int64_t at = ulp_coordinate_floor(places, p) - before;
        for (size_t t = 0; t < out->count; t++, i++, at++) {
            out->position[i] = at;
            inside[i] = options->inside <= 0 || (at >= 0 && at < options->inside);
        }
    }
    struct ulp_tensor is_inside = position, x = *coordinates, w = out->weights;
    is_inside.type = ULP_TYPE_BOOL, is_inside.element = ULP_ELEMENT_BOOL,
    is_inside.element_bytes = 1, is_inside.data = inside;
    char text[512], stretch[64], a[64];
    snprintf(stretch, sizeof stretch, "%a", options->stretch);
    snprintf(a, sizeof a, "%a", options->cubic_a);
    snprintf(text, sizeof text, "e = abs(position - x)%s; %s%s",
             options->stretch < 1 ? " * stretch" : "", kernels[options->kernel],
             normalised ? "v = inside ? w : 0; v / row_sum(v)" : "w");
    /* A row is a coordinate's taps where they are summed; else it is a tap of all coordinates,
     * which is longer. */
    const int64_t k = (int64_t)out->count, row = normalised ? k : 1, next = normalised ? 1 : k;
    out->point_step = normalised ? k : 1;
    out->tap_step = normalised ? 1 : dims[0];
    const struct ulp_rows rows = {.row_count = normalised ? out->coordinate_count : out->count,
                                  .row_length = normalised ? out->count : out->coordinate_count};
    const struct ulp_named_operand operands[] = {
        {"position", {.tensor = &position, .row_stride = row, .position_stride = next}},
        {"inside", {.tensor = &is_inside, .row_stride = row, .position_stride = next}},
        {"x", {.tensor = &x, .row_stride = normalised, .position_stride = !normalised}},
        {"stretch", {.constant = stretch}},
        {"a", {.constant = a}},
    };
    const struct ulp_operand result = {.tensor = &w,
                                       .row_stride = (int64_t)rows.row_length,
                                       .position_stride = 1};
    return ulp_call_text(call, text, arithmetic, &rows, sizeof operands / sizeof *operands,
                         operands, 1, (struct ulp_named_operand[]){{"w", result}});
}
