/* Measuring struct ulp_judged: one pass over the rows of both tensors, and one over the second axis
 * where that is of classes. */
#include "analysis/measure/judged_groups.h"

#include <math.h>
#include <string.h>

#include "analysis/measure/difference.h"
#include "analysis/measure/objects.h"
#include "base/error.h"
#include "number/function/function.h"
#include "number/function/math.h"

/* Probabilities below this are as good as none: FP16's least number is 6e-8. */
#define UNLIKELY 1e-12
/* Choices that are nearer, of the row's rms, are as good as equal. */
#define CLEAR 0.01
enum { FIRST = 5, STRIP = 256 };

struct judging {
    const struct ulp_tensor *value, *base;
    struct ulp_judged *out;
    size_t rows, length;        /* along the last axis */
    size_t channels, rows_each; /* channels 0: there are none */
    double *v, *b;              /* a row */
    struct ulp_judged_groups groups;
    double kl_sum;
    bool corners; /* of boxes: two corners, not a centre and a size */
    bool shares;  /* of choices and scores: all are from 0 to 1 */
    bool logs;    /* of scores: they are logarithms of probabilities */
};

static bool has_nan(const double *row, size_t length)
{
    bool any = false;
    for (size_t i = 0; i < length; i++)
        any |= isnan(row[i]);
    return any;
}

/* ---- choices ---- */

static void judge_choice(struct judging *j, size_t v, size_t b, double margin)
{
    double squares = 0, count = 0;
    if (v == b)
        return;
    for (size_t i = 0; i < j->length; i++)
        if (isfinite(j->b[i])) { /* others are masked */
            squares += j->b[i] * j->b[i];
            count++;
        }
    j->out->top1_flips++;
    j->out->top1_clear += !(margin < CLEAR * sqrt(squares / count));
    j->out->top1_margin = ulp_math_max(j->out->top1_margin, margin);
}

/* The first five, in order; of equal ones the first. */
static void find_five(const double *row, size_t length, size_t out[FIRST])
{
    for (size_t f = 0; f < FIRST; f++) {
        out[f] = length;
        for (size_t i = 0; i < length; i++) {
            bool taken = false;
            for (size_t g = 0; g < f; g++)
                taken |= out[g] == i;
            if (!taken && (out[f] == length || row[i] > row[out[f]]))
                out[f] = i;
        }
    }
}

static void judge_row_choice(struct judging *j)
{
    size_t five[FIRST], other[FIRST];
    const size_t b = ulp_first_choice(j->b, j->length), v = ulp_first_choice(j->v, j->length);
    judge_choice(j, has_nan(j->v, j->length) ? j->length : v, b, j->b[b] - j->b[v]);
    if (j->length < FIRST)
        return;
    find_five(j->v, j->length, five);
    find_five(j->b, j->length, other);
    j->out->top5_changes = (isnan(j->out->top5_changes) ? 0 : j->out->top5_changes) +
                           (memcmp(five, other, sizeof five) != 0);
}

/* ---- distributions ---- */

bool ulp_judged_logs(double *row, size_t length)
{
    double sum = 0, most = -INFINITY, exps = 0;
    bool positive = true;
    for (size_t i = 0; i < length; i++) {
        positive &= row[i] >= 0;
        sum += row[i];
        most = ulp_math_max(most, row[i]);
    }
    if (positive && fabs(sum - 1) < 0.05) {
        for (size_t i = 0; i < length; i++)
            row[i] = ulp_math_log(ulp_math_max(row[i], UNLIKELY));
        return true;
    }
    for (size_t i = 0; i < length; i += STRIP) {
        double strip[STRIP];
        const size_t count = length - i < STRIP ? length - i : STRIP;
        for (size_t k = 0; k < count; k++)
            strip[k] = row[i + k] - most;
        ulp_function_binary64(ULP_PRIMITIVE_EXP, strip, strip, NULL, count);
        for (size_t k = 0; k < count; k++)
            exps += strip[k];
    }
    const double log = most + ulp_math_log(exps);
    for (size_t i = 0; i < length; i++)
        row[i] -= log;
    return false;
}

static void judge_tokens(struct judging *j)
{
    const size_t first = ulp_first_choice(j->b, j->length);
    const double unlikely = ulp_math_log(UNLIKELY);
    double kl = 0;
    ulp_judged_logs(j->v, j->length);
    ulp_judged_logs(j->b, j->length);
    for (size_t i = 0; i < j->length; i += STRIP) {
        double exps[STRIP];
        const size_t count = j->length - i < STRIP ? j->length - i : STRIP;
        ulp_function_binary64(ULP_PRIMITIVE_EXP, exps, j->b + i, NULL, count);
        for (size_t k = 0; k < count; k++)
            if (j->b[i + k] > unlikely)
                kl += exps[k] * (j->b[i + k] - ulp_math_max(j->v[i + k], unlikely));
    }
    j->kl_sum += kl;
    j->out->logprob =
        ulp_worst_of(j->out->logprob, fabs(j->v[first] - j->b[first]), ULP_WORST_LARGEST);
}

/* ---- boxes ---- */

/* Of boxes of the reference that are any. */
static void judge_box(struct judging *j)
{
    j->out->iou =
        ulp_worst_of(j->out->iou, ulp_box_iou(j->b, j->v, j->corners), ULP_WORST_SMALLEST);
}

/* ---- vectors, thresholds ---- */

static void judge_vector(struct judging *j)
{
    double vv = 0, bb = 0, vb = 0;
    for (size_t i = 0; i < j->length; i++) {
        vv += j->v[i] * j->v[i];
        bb += j->b[i] * j->b[i];
        vb += j->v[i] * j->b[i];
    }
    if (!ulp_groups_are_something(&j->groups, sqrt(bb / (double)j->length)))
        return; /* or NaN */
    const double cosine = vv > 0 && bb > 0 ? vb / (sqrt(vv) * sqrt(bb)) : vv == bb;
    j->out->row_cosine = ulp_worst_of(j->out->row_cosine, cosine, ULP_WORST_SMALLEST);
}

/* Each element is a token's. */
static void judge_given(struct judging *j)
{
    for (size_t i = 0; i < j->length; i++)
        if (isfinite(j->b[i]))
            j->out->logprob =
                ulp_worst_of(j->out->logprob, fabs(j->v[i] - j->b[i]), ULP_WORST_LARGEST);
}

static void judge_threshold(struct judging *j, double threshold)
{
    for (size_t i = 0; i < j->length && j->logs; i++) {
        j->v[i] = ulp_math_exp(j->v[i]);
        j->b[i] = ulp_math_exp(j->b[i]);
    }
    for (size_t i = 0; i < j->length; i++) {
        if (isnan(j->b[i])) {
            j->out->elements--;
            continue;
        }
        j->out->mask_flips += (j->v[i] > threshold) != (j->b[i] > threshold) || isnan(j->v[i]);
        if (threshold > 0) /* probabilities */
            j->out->score_shift = ulp_math_max(isnan(j->out->score_shift) ? 0 : j->out->score_shift,
                                               fabs(j->v[i] - j->b[i]));
    }
}

/* ---- the pass over rows ---- */

static void read_row(const struct judging *j, size_t row)
{
    ulp_side_read(j->v, j->value, row * j->length, j->length);
    ulp_side_read(j->b, j->base, row * j->length, j->length);
}

/* What holds for all elements of the reference. */
struct overview {
    double least, most, squares, finite;
    /* rows whose third and fourth are beyond the first and second; or are lengths; whose
     * exponentials add up to 1 */
    size_t corners, sizes, logs;
};

static struct overview look_over(const struct judging *j, bool logs)
{
    struct overview view = {INFINITY, -INFINITY, 0, 0, 0, 0, 0};
    for (size_t r = 0; r < j->rows; r++) {
        double exps = 0;
        ulp_side_read(j->b, j->base, r * j->length, j->length);
        for (size_t i = 0; i < j->length; i++) {
            if (isnan(j->b[i]))
                continue;
            exps += logs ? ulp_math_exp(j->b[i]) : 0;
            view.squares += isfinite(j->b[i]) ? j->b[i] * j->b[i] : 0;
            view.finite += isfinite(j->b[i]);
            view.least = ulp_math_min(view.least, j->b[i]);
            view.most = ulp_math_max(view.most, j->b[i]);
        }
        view.logs += j->length > 1 && fabs(exps - 1) < ULP_ADDS_UP;
        view.corners += j->length >= 4 && j->b[2] >= j->b[0] && j->b[3] >= j->b[1];
        view.sizes += j->length >= 4 && j->b[2] >= 0 && j->b[3] >= 0;
    }
    return view;
}

static void judge_row(struct judging *j, enum ulp_task task, double threshold)
{
    switch (task) {
    case ULP_TASK_CLASSIFY:
    case ULP_TASK_TEXT:
        if (has_nan(j->b, j->length)) {
            j->out->rows--;
            break;
        }
        judge_row_choice(j);
        if (task == ULP_TASK_TEXT)
            judge_tokens(j);
        break;
    case ULP_TASK_DETECT:
        if (j->length >= 4)
            judge_box(j);
        break;
    case ULP_TASK_EMBED: judge_vector(j); break;
    case ULP_TASK_TOKENS: judge_given(j); break;
    case ULP_TASK_SCORE: judge_threshold(j, threshold); break;
    case ULP_TASK_SEGMENT:
        if (j->channels < 2)
            judge_threshold(j, threshold);
        break;
    default: break;
    }
}

static void judge_rows(struct judging *j, enum ulp_task task)
{
    const bool scores = task == ULP_TASK_SCORE || task == ULP_TASK_SEGMENT,
               chooses = scores || task == ULP_TASK_CLASSIFY || task == ULP_TASK_TEXT;
    const struct overview view = look_over(j, scores);
    j->groups.rms = sqrt(view.squares / view.finite);
    j->shares = chooses && view.least >= 0 && view.most <= 1;
    j->logs = view.most <= 0 && view.logs > 0 && ulp_groups_are_most(view.logs, j->rows);
    j->corners = ulp_groups_are_most(view.corners, j->rows);
    if (task == ULP_TASK_DETECT && !j->corners && !ulp_groups_are_most(view.sizes, j->rows)) {
        j->out->task = task = ULP_TASK_SIGNAL; /* distances to anchors, not boxes */
        j->out->basis = ULP_BASIS_NONE;
    }
    for (size_t r = 0; r < j->rows; r++) {
        read_row(j, r);
        ulp_groups_add(&j->groups, r, j->v, j->b, j->out);
        judge_row(j, task, j->shares || j->logs ? 0.5 : 0);
    }
    ulp_groups_judge(&j->groups, j->shares, j->out);
    if (task == ULP_TASK_TEXT && j->out->rows > 0)
        j->out->kl = j->kl_sum / j->out->rows;
}

/* ---- classes along the second axis ---- */

static void judge_places(struct judging *j)
{
    double v[STRIP], b[STRIP], best_v[STRIP], best_b[STRIP];
    size_t first_v[STRIP], first_b[STRIP];
    const size_t plane = j->rows_each * j->length, images = j->rows / (j->channels * j->rows_each);
    j->out->elements = (double)(images * plane);
    for (size_t n = 0; n < images; n++)
        for (size_t p = 0; p < plane; p += STRIP) {
            const size_t count = plane - p < STRIP ? plane - p : STRIP;
            for (size_t c = 0; c < j->channels; c++) {
                const size_t at = (n * j->channels + c) * plane + p;
                ulp_side_read(v, j->value, at, count);
                ulp_side_read(b, j->base, at, count);
                for (size_t i = 0; i < count; i++) {
                    if (!c || v[i] > best_v[i] || isnan(v[i]))
                        best_v[i] = v[i], first_v[i] = isnan(v[i]) ? j->channels : c;
                    if (!c || b[i] > best_b[i] || isnan(b[i]))
                        best_b[i] = b[i], first_b[i] = c;
                }
            }
            for (size_t i = 0; i < count; i++) {
                j->out->mask_flips += !isnan(best_b[i]) && first_v[i] != first_b[i];
                j->out->elements -= isnan(best_b[i]);
            }
        }
}

/* ---- integers ---- */

static void judge_integers(struct judging *j)
{
    const size_t bytes = j->base->element_bytes;
    const char *v = j->value->data, *b = j->base->data;
    j->out->differing = 0;
    /* which doubles may not tell apart */
    if (bytes == sizeof(int64_t) && j->value->element == j->base->element) {
        for (size_t i = 0; i < j->base->count; i++)
            j->out->differing += memcmp(v + i * bytes, b + i * bytes, bytes) != 0;
        return;
    }
    for (size_t r = 0; r < j->rows; r++) {
        read_row(j, r);
        for (size_t i = 0; i < j->length; i++)
            j->out->differing += j->v[i] != j->b[i];
    }
}

static void prepare_figures(struct ulp_judged *out, struct ulp_purpose purpose,
                            const struct judging *j)
{
    const enum ulp_task task = purpose.task;
    *out = (struct ulp_judged){.task = task, .basis = purpose.basis};
    out->sqnr_db = NAN;
    out->rows = (double)j->rows;
    out->elements = (double)(j->rows * j->length);
    ulp_groups_prepare(out);
    if (task == ULP_TASK_CLASSIFY || task == ULP_TASK_TEXT)
        out->top1_flips = out->top1_clear = out->top1_margin = 0;
    if (task == ULP_TASK_SCORE || task == ULP_TASK_SEGMENT)
        out->mask_flips = 0;
    if (task != ULP_TASK_INTEGER && task != ULP_TASK_OBJECTS && j->length > 1)
        out->constant_rows = 0;
}

static enum ulp_status measure_rows(struct judging *j, enum ulp_task task,
                                    struct ulp_budget *budget, struct ulp_error *error)
{
    ULP_SCOPED(ulp_free_of) void *rows = NULL;
    ULP_SCOPED(ulp_free_of) void *parts = NULL;
    ULP_TRY(
        ulp_allocate(&rows, j->length, 2 * sizeof(double), budget, "a row of an output", error));
    ULP_TRY(ulp_groups_open(&j->groups, j->base, &parts, budget, error));
    j->v = rows;
    j->b = j->v + j->length;
    if (task == ULP_TASK_INTEGER)
        judge_integers(j);
    else
        judge_rows(j, task);
    if (task == ULP_TASK_SEGMENT && j->channels > 1)
        judge_places(j);
    return ULP_OK;
}

enum ulp_status ulp_judged_measure(const struct ulp_tensor *value, const struct ulp_tensor *base,
                                   struct ulp_purpose purpose, struct ulp_budget *budget,
                                   struct ulp_judged *out, struct ulp_error *error)
{
    const int rank = ulp_judged_rank(base);
    struct judging j = {.value = value, .base = base, .out = out, .rows = 1, .rows_each = 1};
    const bool integers = !ulp_type_is_float(base->type),
               steps = integers && purpose.task == ULP_TASK_SIGNAL;
    j.length = rank ? (size_t)base->dims[rank - 1] : 1;
    j.rows = j.length ? base->count / j.length : 0;
    for (int d = 2; d + 1 < rank; d++)
        j.rows_each *= (size_t)base->dims[d];
    /* of three axes rows are the channels, but where a Softmax chooses along the second */
    const bool chosen =
        purpose.basis == ULP_BASIS_SOFTMAX || purpose.basis == ULP_BASIS_LOG_SOFTMAX;
    j.channels = rank >= 4 || (rank == 3 && chosen) ? (size_t)base->dims[1] : 0;
    if (integers && !steps)
        purpose.task = ULP_TASK_INTEGER;
    prepare_figures(out, purpose, &j);
    if (purpose.task == ULP_TASK_OBJECTS)
        return ulp_objects_judge(&(struct ulp_object_part){NULL, value, base, base->rank - 2}, 1,
                                 budget, out, error);
    return base->count && !steps ? measure_rows(&j, purpose.task, budget, error) : ULP_OK;
}
