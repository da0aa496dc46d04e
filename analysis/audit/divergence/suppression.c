/* NonMaxSuppression's comparisons that turn: a box is chosen in the reference or in a lane alone
 * because of its score against score_threshold, of its overlap with another chosen box against
 * iou_threshold, or of both scores. */
#include <math.h>

#include "analysis/audit/audit_pair.h"
#include "analysis/audit/divergence/turned.h"
#include "base/error.h"
#include "ops/image/detect.h"
#include "run/program/program.h"

struct lists {
    const struct ulp_deciding *deciding;
    struct ulp_pair boxes, scores;
    struct ulp_pair chosen;        /* the reference's list, and the lane's */
    const struct ulp_tensor *here; /* NULL: not known */
    double iou[2], score[2];       /* limits, of the reference and the lane */
    bool centre;
};

static size_t place_of(const struct lists *lists, const int64_t triple[3])
{
    const struct ulp_tensor *scores = lists->scores.reference;
    const size_t class = (size_t)(triple[0] * scores->dims[1] + triple[1]);
    return class * (size_t)scores->dims[2] + (size_t)triple[2];
}

/* Row `row` of a list; false: it names no box of these tensors. */
static bool read_row(int64_t out[3], const struct lists *lists, const struct ulp_tensor *list,
                     size_t row)
{
    for (size_t i = 0; i < 3; i++) {
        out[i] = ulp_tensor_get_int(list, 3 * row + i);
        if (out[i] < 0 || out[i] >= lists->scores.reference->dims[i])
            return false;
    }
    return true;
}

static bool is_chosen(const struct lists *lists, const struct ulp_tensor *list,
                      const int64_t box[3])
{
    int64_t row[3];
    for (size_t r = 0; list && r < (size_t)list->dims[0]; r++)
        if (read_row(row, lists, list, r) && row[0] == box[0] && row[1] == box[1] &&
            row[2] == box[2])
            return true;
    return false;
}

/* Coordinates of the two boxes, the first `moved` of which are the lane's. */
static double overlap_of(const struct lists *lists, const int64_t a[3], const int64_t b[3],
                         size_t moved)
{
    double corners[ULP_TURNED_TERMS];
    struct ulp_tensor boxes = {.element = ULP_ELEMENT_F64,
                               .rank = 2,
                               .dims = {2, 4},
                               .count = ULP_TURNED_TERMS,
                               .element_bytes = sizeof *corners,
                               .data = corners};
    const size_t first = (size_t)(a[0] * lists->boxes.reference->dims[1]);
    for (size_t c = 0; c < ULP_TURNED_TERMS; c++)
        corners[c] = ulp_tensor_read(c < moved ? lists->boxes.lane : lists->boxes.reference,
                                     4 * (first + (size_t)(c < 4 ? a : b)[2]) + c % 4);
    const struct ulp_box x = ulp_box_read(&boxes, 0, lists->centre),
                         y = ulp_box_read(&boxes, 1, lists->centre);
    return ulp_box_overlap(&x, &y);
}

/* The nearest that turns stays. */
static bool turns(const struct ulp_turned *best, double reference, double lane)
{
    return (reference > 0) != (lane > 0) && fabs(reference) < best->margin;
}

static void look_at_scores(struct ulp_turned *best, const struct lists *lists, const int64_t a[3],
                           const int64_t b[3])
{
    const size_t x = place_of(lists, a), y = b ? place_of(lists, b) : x;
    const double r = ulp_tensor_read(lists->scores.reference, x) -
                     (b ? ulp_tensor_read(lists->scores.reference, y) : lists->score[0]),
                 p = ulp_tensor_read(lists->scores.lane, x) -
                     (b ? ulp_tensor_read(lists->scores.lane, y) : lists->score[1]);
    if (!turns(best, r, p))
        return;
    best->margin = fabs(r);
    best->error = p - r;
    best->term_count = 1 + (b != NULL);
    best->terms[0] = (struct ulp_turned_term){1, x, 1};
    best->terms[1] = (struct ulp_turned_term){1, y, -1};
}

/* Each coordinate's slope is that of the way from the reference's overlap to the lane's on which
 * they move one after the other, so that the slopes times the errors are the error of the overlap.
 */
static void look_at_overlap(struct ulp_turned *best, const struct lists *lists, const int64_t a[3],
                            const int64_t b[3])
{
    const size_t first = (size_t)(a[0] * lists->boxes.reference->dims[1]);
    double overlap = overlap_of(lists, a, b, 0);
    const double r = overlap - lists->iou[0],
                 p = overlap_of(lists, a, b, ULP_TURNED_TERMS) - lists->iou[1];
    if (!turns(best, r, p))
        return;
    best->margin = fabs(r);
    best->error = p - r;
    best->term_count = ULP_TURNED_TERMS;
    for (size_t c = 0; c < ULP_TURNED_TERMS; c++) {
        const size_t at = 4 * (first + (size_t)(c < 4 ? a : b)[2]) + c % 4;
        const double before = overlap, way = ulp_tensor_read(lists->boxes.lane, at) -
                                             ulp_tensor_read(lists->boxes.reference, at);
        overlap = overlap_of(lists, a, b, c + 1);
        best->terms[c] = (struct ulp_turned_term){0, at, way != 0 ? (overlap - before) / way : 0};
    }
}

/* A box that one of the lists alone has. */
static enum ulp_status look_at_box(const struct lists *lists, const int64_t box[3], size_t row,
                                   struct ulp_error *error)
{
    struct ulp_turned best = {.element = 3 * row, .margin = INFINITY};
    int64_t kept[3];
    look_at_scores(&best, lists, box, NULL);
    for (int l = 0; l < 2; l++) {
        const struct ulp_tensor *list = l ? lists->chosen.lane : lists->chosen.reference;
        for (size_t r = 0; r < (size_t)list->dims[0]; r++)
            if (read_row(kept, lists, list, r) && kept[0] == box[0] && kept[1] == box[1] &&
                kept[2] != box[2]) {
                look_at_overlap(&best, lists, box, kept);
                if (overlap_of(lists, box, kept, 0) > lists->iou[0])
                    look_at_scores(&best, lists, kept, box);
            }
    }
    best.own = lists->here &&
               is_chosen(lists, lists->here, box) == is_chosen(lists, lists->chosen.reference, box);
    return isinf(best.margin) ? ULP_OK /* the boxes of another row turned */
                              : ulp_deciding_tell(lists->deciding, &best, error);
}

/* The same boxes in another order: by their scores. */
static enum ulp_status look_at_order(const struct lists *lists, struct ulp_error *error)
{
    const size_t rows = (size_t)lists->chosen.reference->dims[0];
    int64_t a[3], b[3];
    for (size_t r = 0; r < rows && r < (size_t)lists->chosen.lane->dims[0]; r++) {
        struct ulp_turned best = {.element = 3 * r, .margin = INFINITY};
        if (!read_row(a, lists, lists->chosen.reference, r) ||
            !read_row(b, lists, lists->chosen.lane, r) || a[0] != b[0] || a[1] != b[1] ||
            a[2] == b[2])
            continue;
        look_at_scores(&best, lists, a, b);
        if (isfinite(best.margin))
            ULP_TRY(ulp_deciding_tell(lists->deciding, &best, error));
    }
    return ULP_OK;
}

static bool has_boxes(const struct lists *lists)
{
    return lists->boxes.reference && lists->boxes.lane && lists->scores.reference &&
           lists->scores.lane && lists->scores.reference->rank == 3 && lists->chosen.reference &&
           lists->chosen.lane &&
           ulp_tensor_same_shape(lists->scores.reference, lists->scores.lane) &&
           ulp_tensor_same_shape(lists->boxes.reference, lists->boxes.lane);
}

static void read_limits(struct lists *lists)
{
    const struct ulp_pair iou = ulp_deciding_input(lists->deciding, 3),
                          score = ulp_deciding_input(lists->deciding, 4);
    lists->iou[0] = ulp_detect_limit(iou.reference, 0);
    lists->iou[1] = ulp_detect_limit(iou.lane, 0);
    lists->score[0] = ulp_detect_limit(score.reference, -INFINITY);
    lists->score[1] = ulp_detect_limit(score.lane, -INFINITY);
}

enum ulp_status ulp_suppression_look(const struct ulp_deciding *deciding, struct ulp_choices *out,
                                     struct ulp_error *error)
{
    const struct ulp_event *event = deciding->event;
    const struct ulp_lane_value *value = &event->values[(deciding->lane + 1) * event->output_count];
    const struct ulp_attribute *centre =
        ulp_node_attribute(deciding->program->nodes[event->index].step->bound.node,
                           "center_point_box");
    struct lists lists = {.deciding = deciding,
                          .boxes = ulp_deciding_input(deciding, 0),
                          .scores = ulp_deciding_input(deciding, 1),
                          .chosen = {deciding->original
                                         ? ulp_truth_find(deciding->original,
                                                          event->output_names[0], event->execution,
                                                          value->entire)
                                         : event->values[0].entire,
                                     value->entire},
                          .here = value->here,
                          .centre = centre && centre->i};
    int64_t box[3];
    if (!has_boxes(&lists))
        return ULP_OK;
    read_limits(&lists);
    out->count = (size_t)lists.chosen.reference->dims[0];
    for (int l = 0; l < 2; l++) {
        const struct ulp_tensor *list = l ? lists.chosen.lane : lists.chosen.reference,
                                *other = l ? lists.chosen.reference : lists.chosen.lane;
        for (size_t row = 0; row < (size_t)list->dims[0]; row++) {
            if (!read_row(box, &lists, list, row) || is_chosen(&lists, other, box))
                continue;
            out->differing++;
            ULP_TRY(look_at_box(&lists, box, row, error));
        }
    }
    return out->differing ? ULP_OK : look_at_order(&lists, error);
}
