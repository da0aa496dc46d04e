/* NonMaxSuppression. Which boxes stay is decided on the lane's own values, in FP64: its outputs are
 * indices only. */
#define _GNU_SOURCE
#include "ops/image/detect.h"

#include <stdlib.h>

#include "base/error.h"
#include "ops/compare.h"
#include "ops/ops_move.h"

struct selection {
    size_t count, room;
    int64_t (*triples)[3]; /* batch, class, box */
};

double ulp_detect_limit(const struct ulp_tensor *tensor, double fallback)
{
    return tensor && tensor->count ? ulp_tensor_read(tensor, 0) : fallback;
}

struct ulp_box ulp_box_read(const struct ulp_tensor *boxes, size_t index, bool centre)
{
    double v[4];
    for (size_t i = 0; i < 4; i++)
        v[i] = ulp_tensor_read(boxes, 4 * index + i);
    if (centre)
        return (struct ulp_box){v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
    return (struct ulp_box){v[0] < v[2] ? v[0] : v[2], v[1] < v[3] ? v[1] : v[3],
                            v[0] < v[2] ? v[2] : v[0], v[1] < v[3] ? v[3] : v[1]};
}

static double area(double height, double width)
{
    return height > 0 && width > 0 ? height * width : 0;
}

double ulp_box_overlap(const struct ulp_box *a, const struct ulp_box *b)
{
    double both =
        area((a->bottom < b->bottom ? a->bottom : b->bottom) - (a->top > b->top ? a->top : b->top),
             (a->right < b->right ? a->right : b->right) - (a->left > b->left ? a->left : b->left));
    double whole = area(a->bottom - a->top, a->right - a->left) +
                   area(b->bottom - b->top, b->right - b->left) - both;
    return whole > 0 ? both / whole : 0;
}

struct scores {
    const struct ulp_tensor *tensor;
    size_t base;
};

static int order_scores(const void *a, const void *b, void *context)
{
    const struct scores *s = context;
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    int order = ulp_compare(s->tensor, s->base + j, s->base + i);
    return order ? order : (i > j) - (i < j);
}

static enum ulp_status select_class(const struct ulp_call *call, size_t batch, size_t class,
                                    size_t *order, struct selection *out)
{
    const struct ulp_tensor *boxes = call->in[0], *all = call->in[1];
    const size_t box_count = (size_t)boxes->dims[1], class_count = (size_t)all->dims[1],
                 first = out->count;
    const double most = ulp_detect_limit(ulp_call_in(call, 2), 0),
                 iou = ulp_detect_limit(ulp_call_in(call, 3), 0);
    const struct ulp_tensor *threshold = ulp_call_in(call, 4);
    const bool centre = ulp_call_int(call, "center_point_box");
    struct scores scores = {all, (batch * class_count + class) * box_count};
    for (size_t i = 0; i < box_count; i++)
        order[i] = i;
    qsort_r(order, box_count, sizeof *order, order_scores, &scores);
    for (size_t i = 0; i < box_count && (double)(out->count - first) < most; i++) {
        if (threshold && threshold->count &&
            !(ulp_tensor_read(all, scores.base + order[i]) > ulp_tensor_read(threshold, 0)))
            continue;
        const struct ulp_box box = ulp_box_read(boxes, batch * box_count + order[i], centre);
        bool keep = true;
        for (size_t k = first; keep && k < out->count; k++) {
            const struct ulp_box kept =
                ulp_box_read(boxes, batch * box_count + (size_t)out->triples[k][2], centre);
            keep = !(ulp_box_overlap(&box, &kept) > iou);
        }
        if (!keep)
            continue;
        if (out->count == out->room)
            return ulp_fail(call->error, ULP_ERROR_MEMORY, "more boxes than expected");
        out->triples[out->count][0] = (int64_t)batch;
        out->triples[out->count][1] = (int64_t) class;
        out->triples[out->count++][2] = (int64_t)order[i];
    }
    return ULP_OK;
}

static enum ulp_status select_boxes(const struct ulp_call *call, struct selection *out)
{
    const struct ulp_tensor *boxes = call->in[0], *scores = call->in[1];
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 ||
        boxes->dims[0] != scores->dims[0] || boxes->dims[1] != scores->dims[2])
        return ULP_REFUSE(call, "expected boxes of N x B x 4 and scores of N x C x B");
    *out = (struct selection){.room = scores->count};
    ULP_TRY(ulp_call_take(call, scores->count, sizeof *out->triples, &out->triples));
    ULP_CALL_TAKE(size_t, order, call, (size_t)boxes->dims[1]);
    for (size_t n = 0; n < (size_t)scores->dims[0]; n++)
        for (size_t c = 0; c < (size_t)scores->dims[1]; c++)
            ULP_TRY(select_class(call, n, c, order, out));
    return ULP_OK;
}

static enum ulp_status infer_nms(struct ulp_call *call)
{
    struct selection selection;
    for (size_t i = 0; i < call->input_count; i++)
        if (call->in[i] && call->in[i]->count && !call->in[i]->data)
            return ULP_OK;
    ULP_TRY(select_boxes(call, &selection));
    return ulp_call_describe(call, 0, ULP_TYPE_INT64, 2, (int64_t[]){(int64_t)selection.count, 3});
}

static enum ulp_status run_nms(struct ulp_call *call)
{
    struct selection selection;
    ULP_TRY(select_boxes(call, &selection));
    for (size_t i = 0; i < selection.count; i++)
        for (size_t k = 0; k < 3; k++)
            ulp_tensor_set_int(&call->out[0], 3 * i + k, selection.triples[i][k]);
    return ULP_OK;
}

/* clang-format off */
const struct ulp_operator ulp_ops_detect[] = {
    {.name = "NonMaxSuppression", .since = 10,
     .inputs = "boxes:fnm scores:fnm max_output_boxes_per_class:i? iou_threshold:pnm? score_threshold:pnm?",
     .outputs = "selected_indices", .attributes = "center_point_box:int=0", .infer = infer_nms,
     .run = run_nms},
    {0},
};
/* clang-format on */
