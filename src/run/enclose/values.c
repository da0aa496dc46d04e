/* What is known of values: made, copied, cut, put together. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "number/function/math.h"
#include "run/enclose/enclosed.h"

void ulp_bounds_free(struct ulp_slot_bounds *value)
{
    ulp_tensor_free(&value->numbers);
    ulp_enclosure_free(&value->range);
    *value = (struct ulp_slot_bounds){0};
}

enum ulp_status ulp_bounds_set_hull(struct ulp_enclosing_walk *w, struct ulp_slot_bounds *out,
                                    double lo, double hi, uint8_t may)
{
    const enum ulp_status status =
        ulp_enclosure_create(&out->range, out->shape.count, 0, w->from->budget, w->error);
    for (size_t i = 0; status == ULP_OK && i < out->shape.count; i++)
        ulp_interval_set(&out->range.at, i, lo, hi, may);
    out->is_range = status == ULP_OK;
    return status;
}

/* Nothing is known of a value but perhaps its shape: truth values are 0 or 1, integers those of the
 * type. */
enum ulp_status ulp_bounds_set_unknown(struct ulp_enclosing_walk *w, struct ulp_slot_bounds *out)
{
    if (out->shape.type == ULP_TYPE_UNDEFINED)
        return ULP_OK;
    double least, most;
    ulp_integer_range(out->shape.type, &least, &most);
    if (!ulp_type_is_float(out->shape.type))
        return ulp_bounds_set_hull(w, out, least, most, 0);
    return ulp_bounds_set_hull(w, out, INFINITY, -INFINITY, ULP_MAY_BE_ANYTHING);
}

enum ulp_status ulp_bounds_copy(struct ulp_enclosing_walk *w, struct ulp_slot_bounds *out,
                                const struct ulp_slot_bounds *from)
{
    *out = (struct ulp_slot_bounds){.shape = from->shape, .assumed = from->assumed};
    enum ulp_status status = ULP_OK;
    if (from->is_numbers)
        status = ulp_tensor_copy(&out->numbers, &from->numbers, w->from->budget, w->error);
    else if (from->is_range)
        status = ulp_enclosure_copy(&out->range, &from->range, w->from->budget, w->error);
    out->is_numbers = status == ULP_OK && from->is_numbers;
    out->is_range = status == ULP_OK && from->is_range;
    return status;
}

enum ulp_status ulp_bounds_set_tensor(struct ulp_enclosing_walk *w, struct ulp_slot_bounds *out,
                                      const struct ulp_tensor *value)
{
    *out = (struct ulp_slot_bounds){.shape = ulp_tensor_view(value)};
    out->shape.data = NULL;
    if (!ulp_type_is_float(value->type)) {
        const enum ulp_status status =
            ulp_tensor_copy(&out->numbers, value, w->from->budget, w->error);
        out->is_numbers = status == ULP_OK;
        return status;
    }
    ULP_TRY(ulp_bounds_set_hull(w, out, 0, 0, 0));
    for (size_t i = 0; i < value->count; i++)
        ulp_interval_set_element(&out->range.at, i, value, i);
    return ULP_OK;
}

/* Integers as intervals. */
static enum ulp_status widen_numbers(struct ulp_enclosing_walk *w, struct ulp_slot_bounds *value)
{
    if (!value->is_numbers)
        return ULP_OK;
    const enum ulp_status status = ulp_bounds_set_hull(w, value, 0, 0, 0);
    for (size_t i = 0; status == ULP_OK && i < value->shape.count; i++)
        ulp_interval_set_element(&value->range.at, i, &value->numbers, i);
    ulp_tensor_free(&value->numbers);
    value->is_numbers = false;
    return status;
}

size_t ulp_bounds_row(const struct ulp_tensor *shape, uint32_t axes, size_t i)
{
    size_t row = 0, stride = shape->count;
    for (int axis = 0; axis < shape->rank; axis++) {
        stride /= (size_t)shape->dims[axis];
        if (!(axes >> axis & 1))
            row = row * (size_t)shape->dims[axis] + i / stride;
        i %= stride;
    }
    return row;
}

static bool same_shapes(const struct ulp_slot_bounds *a, const struct ulp_slot_bounds *b)
{
    bool same = a->shape.type == b->shape.type && a->shape.rank == b->shape.rank &&
                a->shape.type != ULP_TYPE_UNDEFINED;
    for (int d = 0; same && d < a->shape.rank; d++)
        same = a->shape.dims[d] == b->shape.dims[d];
    return same;
}

/* The element's hull; true when it has grown. */
static bool join_element(const struct ulp_intervals *into, size_t i, const struct ulp_intervals *x)
{
    const bool grows = (x->may[i] & ~into->may[i]) != 0 ||
                       (x->lo[i] <= x->hi[i] && (x->lo[i] < into->lo[i] || x->hi[i] > into->hi[i]));
    if (!grows || into->may[i] & ULP_MAY_BE_ANYTHING)
        return false;
    ulp_interval_set(into, i, ulp_math_min(into->lo[i], x->lo[i]),
                     ulp_math_max(into->hi[i], x->hi[i]), into->may[i] | x->may[i]);
    return true;
}

enum ulp_status ulp_bounds_join(struct ulp_enclosing_walk *w, struct ulp_slot_bounds *into,
                                struct ulp_slot_bounds *other, bool widen, bool *grew)
{
    if (!same_shapes(into, other) || !(into->is_numbers || into->is_range) ||
        !(other->is_numbers || other->is_range))
        return ulp_fail(w->error, ULP_ERROR_UNSUPPORTED,
                        "the shapes of its bodies' results differ");
    into->assumed = into->assumed || other->assumed;
    if (into->is_numbers && other->is_numbers &&
        memcmp(into->numbers.data, other->numbers.data,
               into->numbers.count * into->numbers.element_bytes) == 0)
        return ULP_OK;
    ULP_TRY(widen_numbers(w, into));
    ULP_TRY(widen_numbers(w, other));
    struct ulp_enclosure *range = &into->range;
    /* what holds of one need not hold of the other */
    ulp_free(range->affine_memory);
    range->affine_memory = range->affine = NULL;
    double least, most;
    ulp_integer_range(into->shape.type, &least, &most);
    for (size_t i = 0; i < range->count; i++) {
        range->joint[i] = ULP_NO_JOINT;
        if (!join_element(&range->at, i, &other->range.at))
            continue;
        *grew = true;
        if (widen && ulp_type_is_float(into->shape.type))
            ulp_interval_set(&range->at, i, INFINITY, -INFINITY, ULP_MAY_BE_ANYTHING);
        else if (widen && into->shape.type != ULP_TYPE_BOOL)
            ulp_interval_set(&range->at, i, least, most, 0);
    }
    return ULP_OK;
}

/* ---- parts ---- */

/* A tensor as [outer][length][inner] around an axis. */
struct axis_view {
    size_t outer, length, inner;
};

static struct axis_view view_axis(const struct ulp_tensor *shape, int axis)
{
    struct axis_view view = {1, (size_t)shape->dims[axis], 1};
    for (int d = 0; d < shape->rank; d++)
        if (d != axis)
            *(d < axis ? &view.outer : &view.inner) *= (size_t)shape->dims[d];
    return view;
}

/* Elements of `from`, count of them beginning at `first`, to place `to`. */
static void copy_elements(struct ulp_slot_bounds *out, size_t to,
                          const struct ulp_slot_bounds *from, size_t first, size_t count)
{
    const size_t bytes = from->numbers.element_bytes;
    if (from->is_numbers)
        memcpy((char *)out->numbers.data + to * bytes,
               (const char *)from->numbers.data + first * bytes, count * bytes);
    for (size_t i = 0; from->is_range && i < count; i++)
        ulp_interval_copy(&out->range.at, to + i, &from->range.at, first + i);
}

/* Room for a value of that shape, of the kind of `like`. */
static enum ulp_status make_room(struct ulp_enclosing_walk *w, struct ulp_slot_bounds *out,
                                 const struct ulp_slot_bounds *like, int rank, const int64_t *dims)
{
    *out = (struct ulp_slot_bounds){.assumed = like->assumed};
    ULP_TRY(ulp_tensor_describe(&out->shape, like->shape.type, like->shape.element,
                                like->shape.precision, rank, dims, w->error));
    if (like->is_range)
        return ulp_bounds_set_hull(w, out, 0, 0, 0);
    out->numbers = out->shape;
    ULP_TRY(ulp_tensor_allocate(&out->numbers, w->from->budget, w->error));
    out->is_numbers = true;
    return ULP_OK;
}

enum ulp_status ulp_bounds_slice(struct ulp_enclosing_walk *w, struct ulp_slot_bounds *out,
                                 const struct ulp_slot_bounds *from, int axis, size_t index)
{
    int64_t dims[ULP_RANK_MAX] = {0};
    const struct axis_view view = view_axis(&from->shape, axis);
    for (int d = 0; d + 1 < from->shape.rank; d++)
        dims[d] = from->shape.dims[d + (d >= axis)];
    ULP_TRY(make_room(w, out, from, from->shape.rank - 1, dims));
    for (size_t o = 0; o < view.outer; o++)
        copy_elements(out, o * view.inner, from, (o * view.length + index) * view.inner,
                      view.inner);
    return ULP_OK;
}

enum ulp_status ulp_bounds_stack(struct ulp_enclosing_walk *w, struct ulp_slot_bounds *out,
                                 struct ulp_slot_bounds *parts, size_t count, int axis,
                                 bool reverse)
{
    int64_t dims[ULP_RANK_MAX] = {0};
    const int rank = parts[0].shape.rank + 1;
    bool mixed = false;
    for (size_t p = 0; p < count; p++) {
        if (!same_shapes(&parts[p], &parts[0]) || rank > ULP_RANK_MAX ||
            !(parts[p].is_numbers || parts[p].is_range))
            return ulp_fail(w->error, ULP_ERROR_UNSUPPORTED,
                            "the shapes of its body's results differ, or are not known");
        mixed = mixed || parts[p].is_range != parts[0].is_range;
    }
    for (size_t p = 0; mixed && p < count; p++)
        ULP_TRY(widen_numbers(w, &parts[p]));
    for (int d = 0; d < rank; d++)
        dims[d] = d == axis ? (int64_t)count : parts[0].shape.dims[d - (d > axis)];
    ULP_TRY(make_room(w, out, &parts[0], rank, dims));
    const struct axis_view view = view_axis(&out->shape, axis);
    for (size_t p = 0; p < count; p++) {
        const size_t place = reverse ? count - 1 - p : p;
        out->assumed = out->assumed || parts[p].assumed;
        for (size_t o = 0; o < view.outer; o++)
            copy_elements(out, (o * count + place) * view.inner, &parts[p], o * view.inner,
                          view.inner);
    }
    return ULP_OK;
}
