/* How near NonMaxSuppression's decision was: at the first row where the lists of boxes part, the
 * comparison that the lane answers otherwise than the reference. It is one of three: a score
 * against the score of the other list's box, an overlap against iou_threshold, a score against
 * score_threshold. */
#include <math.h>

#include "analysis/audit/divergence/divergence.h"
#include "analysis/audit/audit_pair.h"
#include "ops/image/detect.h"
#include "run/program/program.h"

struct lists {
    struct ulp_pair boxes, scores, iou, score;
    const struct ulp_tensor *truth;
    size_t row; /* where they part */
    bool centre;
};

/* A comparison of `reference` with 0, which is `lane` in the lane: the nearest that turns stays. */
static void look_at_comparison(struct ulp_divergence *out, double reference, double lane)
{
    if ((reference > 0) == (lane > 0) || fabs(reference) >= out->margin)
        return;
    out->margin = fabs(reference);
    out->margin_error = fabs(lane - reference);
}

static double score_of(const struct ulp_tensor *scores, const int64_t triple[3])
{
    const size_t class = (size_t)(triple[0] * scores->dims[1] + triple[1]);
    return ulp_tensor_get(scores, class * (size_t)scores->dims[2] + (size_t)triple[2]);
}

static double overlap_of(const struct lists *lists, const struct ulp_tensor *boxes,
                         const int64_t a[3], const int64_t b[3])
{
    const size_t first = (size_t)(a[0] * boxes->dims[1]);
    const struct ulp_box x = ulp_box_read(boxes, first + (size_t)a[2], lists->centre),
                         y = ulp_box_read(boxes, first + (size_t)b[2], lists->centre);
    return ulp_box_overlap(&x, &y);
}

/* Row `row` of a list; false: it is shorter, or names no box of these tensors. */
static bool read_row(int64_t out[3], const struct lists *lists, const struct ulp_tensor *list,
                     size_t row)
{
    const struct ulp_tensor *scores = lists->scores.reference;
    if (row >= (size_t)list->dims[0])
        return false;
    for (size_t i = 0; i < 3; i++) {
        out[i] = ulp_tensor_get_int(list, 3 * row + i);
        if (out[i] < 0 || out[i] >= scores->dims[i])
            return false;
    }
    return true;
}

/* One of the two boxes: against the thresholds, and the boxes that both lists have kept before. */
static void look_at_box(struct ulp_divergence *out, const struct lists *lists, const int64_t box[3])
{
    int64_t kept[3];
    look_at_comparison(out,
                       score_of(lists->scores.reference, box) -
                           ulp_detect_limit(lists->score.reference, -INFINITY),
                       score_of(lists->scores.lane, box) -
                           ulp_detect_limit(lists->score.lane, -INFINITY));
    for (size_t row = 0; row < lists->row; row++)
        if (read_row(kept, lists, lists->truth, row) && kept[0] == box[0] && kept[1] == box[1])
            look_at_comparison(out,
                               overlap_of(lists, lists->boxes.reference, box, kept) -
                                   ulp_detect_limit(lists->iou.reference, 0),
                               overlap_of(lists, lists->boxes.lane, box, kept) -
                                   ulp_detect_limit(lists->iou.lane, 0));
}

static bool are_equal(const struct ulp_tensor *a, const struct ulp_tensor *b, size_t row)
{
    for (size_t i = 3 * row; i < 3 * row + 3; i++)
        if (ulp_tensor_get_int(a, i) != ulp_tensor_get_int(b, i))
            return false;
    return true;
}

static bool has_boxes(const struct lists *lists)
{
    return lists->boxes.reference && lists->boxes.lane && lists->scores.reference &&
           lists->scores.lane && lists->scores.reference->rank == 3 &&
           ulp_tensor_same_shape(lists->scores.reference, lists->scores.lane) &&
           ulp_tensor_same_shape(lists->boxes.reference, lists->boxes.lane);
}

void ulp_divergence_suppression(struct ulp_divergence *out, const struct ulp_program *program,
                                const struct ulp_event *event, size_t lane,
                                const struct ulp_tensor *value, const struct ulp_tensor *truth)
{
    const struct ulp_attribute *centre =
        ulp_node_attribute(program->nodes[event->index].step->bound.node, "center_point_box");
    struct lists lists = {.boxes = ulp_pair_find(program, event, lane, 0),
                          .scores = ulp_pair_find(program, event, lane, 1),
                          .iou = ulp_pair_find(program, event, lane, 3),
                          .score = ulp_pair_find(program, event, lane, 4),
                          .truth = truth,
                          .centre = centre && centre->i};
    const size_t rows = (size_t)(truth->dims[0] < value->dims[0] ? truth->dims[0] : value->dims[0]);
    int64_t ours[3], theirs[3];
    if (!has_boxes(&lists))
        return;
    while (lists.row < rows && are_equal(truth, value, lists.row))
        lists.row++;
    const bool has_ours = read_row(ours, &lists, value, lists.row),
               has_theirs = read_row(theirs, &lists, truth, lists.row);
    out->first = 3 * lists.row;
    out->margin = INFINITY;
    if (has_ours)
        look_at_box(out, &lists, ours);
    if (has_theirs)
        look_at_box(out, &lists, theirs);
    if (has_ours && has_theirs && ours[0] == theirs[0] && ours[1] == theirs[1])
        look_at_comparison(out,
                           score_of(lists.scores.reference, theirs) -
                               score_of(lists.scores.reference, ours),
                           score_of(lists.scores.lane, theirs) - score_of(lists.scores.lane, ours));
    if (isinf(out->margin)) /* none turns: the boxes of another row did */
        out->margin = out->margin_error = NAN;
}
