/* Parts of tensors that bodies take and make: see parts.h. */
#include "ops/control/control_parts.h"

#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "ops/ops_move.h"

enum ulp_status ulp_part_gather(struct ulp_call *call, struct ulp_gathered *gathered,
                                struct ulp_tensor *part)
{
    ULP_GROW(gathered->parts, call->scratch, gathered->count, gathered->room, call->error);
    gathered->parts[gathered->count++] = *part;
    *part = (struct ulp_tensor){0};
    return ULP_OK;
}

/* Pairs beside records, which hold what pairs do not, become records. */
static enum ulp_status stack_records(struct ulp_tensor *out, const struct ulp_gathered *gathered,
                                     struct ulp_call *call)
{
    const struct ulp_tensor *records = NULL;
    for (size_t i = 0; i < gathered->count && out->element == ULP_ELEMENT_PAIR; i++)
        if (gathered->parts[i].element == ULP_ELEMENT_WIDE)
            records = &gathered->parts[i];
    for (size_t i = 0; i < gathered->count && records; i++) {
        struct ulp_tensor *part = &gathered->parts[i], wide;
        if (part->element != ULP_ELEMENT_PAIR)
            continue;
        ULP_TRY(ulp_tensor_create_like(&wide, part, records->element, records->precision,
                                       call->budget, call->error));
        const enum ulp_status status = ulp_tensor_convert(&wide, part, NULL, ULP_ROUND_NEAREST_EVEN,
                                                          0, call->pool, call->error);
        ulp_tensor_free(part);
        *part = wide;
        ULP_TRY(status);
    }
    const struct ulp_tensor like = *out;
    return records ? ulp_tensor_describe(out, like.type, records->element, records->precision,
                                         like.rank, like.dims, call->error)
                   : ULP_OK;
}

enum ulp_status ulp_parts_stack(struct ulp_call *call, struct ulp_tensor *out,
                                const struct ulp_gathered *gathered, int64_t axis, bool reverse,
                                const struct ulp_value_info *declared)
{
    const struct ulp_tensor *first = gathered->count ? &gathered->parts[0] : NULL;
    int64_t dims[ULP_RANK_MAX + 1];
    int at, rank = first ? first->rank : declared->rank < 0 ? 0 : declared->rank;
    ULP_TRY(ulp_check_rank((size_t)rank + 1, call->error));
    ULP_TRY(ulp_call_axis(axis, rank + 1, &at, call->error));
    for (int d = 0, from = 0; d <= rank; d++) {
        dims[d] = d == at                    ? (int64_t)gathered->count
                  : first                    ? first->dims[from]
                  : declared->dims[from] < 0 ? 0
                                             : declared->dims[from];
        from += d != at;
    }
    ULP_TRY(
        ulp_call_describe_tensor(call, out, first ? first->type : declared->type, rank + 1, dims));
    ULP_TRY(stack_records(out, gathered, call));
    ULP_TRY(ulp_tensor_allocate(out, call->budget, call->error));
    const struct ulp_split split = ulp_split_at(out, at);
    for (size_t i = 0; i < gathered->count; i++) {
        const struct ulp_tensor *part = &gathered->parts[reverse ? gathered->count - 1 - i : i];
        if (part->element_bytes != out->element_bytes || !ulp_tensor_same_shape(part, first)) {
            ulp_tensor_free(out);
            return ULP_REFUSE(call, "a scan output changes its shape between iterations");
        }
        for (size_t o = 0; o < split.outer; o++)
            ulp_move_run(out, (o * split.size + i) * split.inner, part, o * split.inner,
                         split.inner);
    }
    return ULP_OK;
}

enum ulp_status ulp_part_slice(struct ulp_call *call, struct ulp_tensor *out,
                               const struct ulp_tensor *in, int axis, size_t at)
{
    const struct ulp_split split = ulp_split_at(in, axis);
    if (!out->data) {
        *out = *in;
        out->rank--;
        memmove(out->dims + axis, in->dims + axis + 1,
                (size_t)(in->rank - axis - 1) * sizeof *out->dims);
        out->count = split.outer * split.inner;
        ULP_TRY(ulp_call_temporary(call, out));
    }
    for (size_t o = 0; o < split.outer && split.inner; o++)
        memcpy(ulp_element_at(out, o * split.inner),
               ulp_element_at(in, (o * split.size + at) * split.inner),
               split.inner * in->element_bytes);
    return ULP_OK;
}

struct ulp_tensor ulp_part_item(const struct ulp_tensor *in, size_t b)
{
    struct ulp_tensor item = ulp_tensor_view(in);
    item.rank--;
    memmove(item.dims, in->dims + 1, (size_t)item.rank * sizeof *item.dims);
    item.count = in->dims[0] ? in->count / (size_t)in->dims[0] : 0;
    item.data = ulp_element_at(in, b * item.count);
    return item;
}
