/* Lists of objects: their outputs side by side, and the objects of two sides matched. */
#include "analysis/measure/objects.h"

#include <string.h>

#include "analysis/measure/difference.h"
#include "analysis/measure/judged_groups.h"
#include "analysis/measure/row_match.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "number/function/math.h"

enum { END_SHARE = 20 }; /* a list's end is no more than one of so many objects */

/* What a part of a row is: a box; any numbers; a class, which may be another's; integers that say
 * which object it is; a score. */
enum kind { BOX, NUMBERS, CLASS, IDENTITY, SCORE };

struct column {
    enum kind kind;
    size_t first, width; /* in a row */
    bool corners;
    double weights[ULP_MATCH_COLUMNS];
};

struct side {
    double *rows;    /* [batch][row][width] */
    size_t *partner; /* of each row, in its batch; SIZE_MAX: none */
    size_t count;    /* rows of a batch */
};

struct list {
    struct side base, value;
    struct column *columns;
    size_t column_count, width, batches;
    ptrdiff_t score; /* its place in a row; -1: there is none */
    bool shares;     /* scores are from 0 to 1 */
    bool likely;     /* and objects those of ULP_OBJECT and more */
    bool boxes;
    bool numbers; /* rows have boxes or other numbers, by which they are told apart */
};

static size_t width_of(const struct ulp_object_part *part)
{
    return ulp_objects_width(part->base, part->axis);
}

static double *row_of(const struct list *list, const struct side *side, size_t batch, size_t row)
{
    return side->rows + (batch * side->count + row) * list->width;
}

/* All rows of the reference: do scores fall; are they from 0 to 1; are these corners, or lengths
 * behind a centre? */
struct look {
    bool falls, shares, corners, sizes;
};

static struct look look_at(const struct list *list, size_t first, size_t width)
{
    struct look look = {true, true, false, false};
    size_t corners = 0, sizes = 0;
    const size_t rows = list->batches * list->base.count;
    for (size_t r = 0; r < rows; r++) {
        const double *row = list->base.rows + r * list->width + first;
        look.falls &= r % list->base.count == 0 || row[0] <= row[-(ptrdiff_t)list->width];
        look.shares &= row[0] >= 0 && row[0] <= 1;
        corners += width == 4 && row[2] >= row[0] && row[3] >= row[1];
        sizes += width == 4 && row[2] >= 0 && row[3] >= 0;
    }
    look.corners = ulp_groups_are_most(corners, rows);
    look.sizes = ulp_groups_are_most(sizes, rows);
    return look;
}

static bool is_called(const char *name, const char *word)
{
    return name && strstr(name, word);
}

static void add_column(struct list *list, enum kind kind, size_t first, size_t width, bool corners)
{
    struct column *column = &list->columns[list->column_count++];
    *column = (struct column){.kind = kind, .first = first, .width = width, .corners = corners};
    list->boxes |= kind == BOX;
    list->numbers |= kind == BOX || kind == NUMBERS;
    if (kind == SCORE)
        list->score = (ptrdiff_t)first;
    if (kind == NUMBERS) /* by their spread, scores by their rms */
        ulp_match_weigh(list->base.rows + first, list->batches * list->base.count, list->width,
                        width, (ptrdiff_t)first != list->score, column->weights);
}

static void add_score(struct list *list, size_t first, bool shares)
{
    add_column(list, SCORE, first, 1, false);
    list->shares = shares;
    if (!shares)
        add_column(list, NUMBERS, first, 1, false);
}

/* The output that holds a score for each row: one that is called so, or falls, or else has numbers
 * from 0 to 1 alone, by which *likely no object is one; the count: there is none. */
static size_t find_score(const struct list *list, const struct ulp_object_part *parts, size_t count,
                         bool *likely)
{
    size_t best = count;
    int most = 0;
    for (size_t p = 0, first = 0; p < count; first += width_of(&parts[p]), p++) {
        if (width_of(&parts[p]) != 1 || !ulp_type_is_float(parts[p].base->type))
            continue;
        const struct look look = look_at(list, first, 1);
        const bool called = is_called(parts[p].name, "score") || is_called(parts[p].name, "conf");
        const int like = 4 * called + 2 * look.falls + look.shares;
        if (like <= most)
            continue;
        most = like;
        best = p;
    }
    *likely = most > 1;
    return best;
}

/* What an output's part of a row is. */
static void add_part(struct list *list, const struct ulp_object_part *part, size_t first,
                     bool score)
{
    struct ulp_objects columns;
    const size_t width = width_of(part);
    const struct look look = look_at(list, first, width);
    if (!width)
        return;
    if (ulp_objects_columns(part->base, &columns)) {
        for (size_t c = 0; c < width; c++)
            if ((int)c == columns.box)
                add_column(list, BOX, first + c, 4, true);
            else if ((int)c == columns.score)
                add_score(list, first + c, true);
            else if ((int)c < columns.box || (int)c >= columns.box + 4)
                add_column(list, CLASS, first + c, 1, false);
    } else if (!ulp_type_is_float(part->base->type)) {
        add_column(list, width == 1 ? CLASS : IDENTITY, first, width, false);
    } else if (score) {
        add_score(list, first, look.shares);
    } else {
        add_column(list, width == 4 && (look.corners || look.sizes) ? BOX : NUMBERS, first, width,
                   look.corners);
    }
}

/* Rows of scores for classes beside boxes, and no other score: the largest, and which it is. */
static void add_choice(struct list *list)
{
    struct column *scores = NULL;
    bool other = list->score >= 0, shares = true;
    for (size_t c = 0; c < list->column_count; c++) {
        struct column *column = &list->columns[c];
        other |= column->kind == CLASS || column->kind == IDENTITY ||
                 (column->kind == NUMBERS && (scores || column->width < 2));
        scores = column->kind == NUMBERS ? column : scores;
    }
    if (!list->boxes || other || !scores)
        return;
    struct side *const sides[] = {&list->base, &list->value};
    for (int s = 0; s < 2; s++)
        for (size_t r = 0; r < list->batches * sides[s]->count; r++) {
            double *row = sides[s]->rows + r * list->width;
            const size_t most = ulp_first_choice(row + scores->first, scores->width);
            row[list->width - 2] = row[scores->first + most];
            row[list->width - 1] = (double)most;
            shares &= s || (row[list->width - 2] >= 0 && row[list->width - 2] <= 1);
        }
    *scores = (struct column){.kind = CLASS, .first = list->width - 1, .width = 1};
    add_score(list, list->width - 2, shares);
}

/* Of one side all parts side by side. */
static enum ulp_status read_side(struct list *list, const struct ulp_object_part *parts,
                                 size_t count, bool base, struct ulp_budget *budget,
                                 struct ulp_error *error)
{
    struct side *side = base ? &list->base : &list->value;
    const size_t rows = list->batches * side->count;
    ULP_TRY(ulp_allocate(&side->rows, rows * list->width + 1, sizeof *side->rows, budget, "objects",
                         error));
    ULP_TRY(
        ulp_allocate(&side->partner, rows + 1, sizeof *side->partner, budget, "objects", error));
    for (size_t r = 0; r < rows; r++)
        side->partner[r] = SIZE_MAX;
    for (size_t p = 0, first = 0; p < count; p++) {
        const size_t width = width_of(&parts[p]);
        for (size_t r = 0; r < rows; r++)
            ulp_side_read(side->rows + r * list->width + first,
                          base ? parts[p].base : parts[p].value, r * width, width);
        first += width;
    }
    return ULP_OK;
}

/* False: the sides' rows are not of one kind. */
static bool measure_list(struct list *list, const struct ulp_object_part *parts, size_t count)
{
    bool same = true;
    const struct ulp_object_part *one = &parts[0];
    *list = (struct list){.batches = 1, .score = -1};
    for (int d = 0; d < one->axis; d++)
        list->batches *= (size_t)one->base->dims[d];
    list->base.count = (size_t)one->base->dims[one->axis];
    list->value.count = (size_t)one->value->dims[one->axis];
    for (size_t p = 0; p < count && same; p++) {
        const struct ulp_tensor *value = parts[p].value, *base = parts[p].base;
        list->width += width_of(&parts[p]);
        same = value->rank == base->rank && parts[p].axis == one->axis &&
               (size_t)value->dims[one->axis] == list->value.count;
        for (int d = 0; d < base->rank && same; d++)
            same = d == one->axis || value->dims[d] == base->dims[d];
    }
    list->width += 2; /* add_choice */
    return same && list->value.count <= ULP_OBJECTS_MAX;
}

/* ---- matching ---- */

static bool is_equal(const double *a, const double *b, size_t count)
{
    size_t i = 0;
    while (i < count && a[i] == b[i])
        i++;
    return i == count;
}

/* How much two rows are the same object, by one part: 1 wholly, 0 and less not at all. What is less
 * than `least` is not computed to its end. */
static double compare_column(const struct column *column, const double *base, const double *value,
                             double least)
{
    const double *b = base + column->first, *v = value + column->first,
                 most = (1 - least) * (1 - least) * (double)column->width;
    double sum = 0;
    if (column->kind == BOX) {
        const double same = ulp_box_iou(b, v, column->corners);
        return isnan(same) ? is_equal(b, v, 4) : same; /* padding */
    }
    for (size_t k = 0; k < column->width && !(sum > most); k++)
        sum += column->weights[column->width > ULP_MATCH_COLUMNS ? 0 : k] * (v[k] - b[k]) *
               (v[k] - b[k]);
    return 1 - sqrt(sum / (double)column->width);
}

/* ... by all of them, from `least` on; else 0. */
static double compare_numbers(const struct list *list, const double *base, const double *value,
                              double least)
{
    double all = 1;
    for (size_t c = 0; c < list->column_count && all > 0; c++) {
        const struct column *column = &list->columns[c];
        if (column->kind != BOX && column->kind != NUMBERS)
            continue;
        const double same = compare_column(column, base, value, least);
        all = !(same >= least) ? 0 : ulp_math_min(all, same); /* NaN: not at all */
    }
    return all;
}

static bool has_same(const struct list *list, const double *base, const double *value,
                     bool any_class)
{
    bool same = true;
    for (size_t c = 0; c < list->column_count && same; c++) {
        const struct column *column = &list->columns[c];
        if (column->kind == IDENTITY || (column->kind == CLASS && !any_class))
            same = is_equal(base + column->first, value + column->first, column->width);
    }
    return same;
}

/* Partners for rows of the reference that have none yet, each with the row that is most the same,
 * the nearest in place of such. */
static void match(struct list *list, size_t batch, double least, bool any_class)
{
    const size_t first = batch * list->base.count, other = batch * list->value.count;
    for (size_t r = 0; r < list->base.count; r++) {
        double most = least;
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < list->value.count && list->base.partner[first + r] == SIZE_MAX;
             i++) {
            const size_t v = (r + i) % list->value.count;
            const double *b = row_of(list, &list->base, batch, r),
                         *x = row_of(list, &list->value, batch, v);
            if (list->value.partner[other + v] != SIZE_MAX || !has_same(list, b, x, any_class))
                continue;
            const double same = compare_numbers(list, b, x, most);
            if (same > most || (same == most && best == SIZE_MAX)) {
                most = same;
                best = v;
            }
            if (most == 1)
                break;
        }
        if (best == SIZE_MAX)
            continue;
        list->base.partner[first + r] = best;
        list->value.partner[other + best] = r;
    }
}

static bool is_object(const struct list *list, const double *row)
{
    return !list->likely || row[list->score] >= ULP_OBJECT;
}

/* Scores of one side's list up to here are its end, where what is left out is as good; -infinity:
 * it has none, as where all scores are equal. */
static double find_end(const struct list *list, const struct side *side, size_t batch)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t r = 0; r < side->count && list->score >= 0; r++) {
        const double score = row_of(list, side, batch, r)[list->score];
        least = ulp_math_min(least, score);
        most = ulp_math_max(most, score);
    }
    return most > least ? least + 0.01 * (most - least) : (double)-INFINITY;
}

/* Objects of one side that have no partner; of these those at the list's end. */
static double count_alone(struct list *list, size_t batch, const struct side *side, double *ended)
{
    const double end = find_end(list, side, batch);
    double alone = 0;
    for (size_t r = 0; r < side->count; r++) {
        const double *row = row_of(list, side, batch, r);
        const bool missed =
            side->partner[batch * side->count + r] == SIZE_MAX && is_object(list, row);
        alone += missed;
        *ended += missed && list->score >= 0 && row[list->score] <= end;
    }
    return alone;
}

/* What has become of objects that are there on both sides. Beside boxes other numbers are fine
 * unless they have moved. */
static void judge_pair(const struct list *list, size_t batch, size_t r, struct ulp_judged *out)
{
    const size_t p = list->base.partner[batch * list->base.count + r];
    const double *b = row_of(list, &list->base, batch, r),
                 *v = row_of(list, &list->value, batch, p);
    const bool named = has_same(list, b, v, false);
    bool moved = false;
    if (!is_object(list, b) && !is_object(list, v))
        return;
    for (size_t c = 0; c < list->column_count; c++) {
        const struct column *column = &list->columns[c];
        const bool box = column->kind == BOX;
        if (!box && column->kind != NUMBERS)
            continue;
        const double same = compare_column(column, b, v, -INFINITY);
        moved |= !(same >= (box ? 0.5 : 0.9));
        if (box)
            out->iou = ulp_worst_of(out->iou, same, ULP_WORST_SMALLEST);
        else if (!list->boxes || (ptrdiff_t)column->first == list->score)
            out->numbers_off = ulp_worst_of(out->numbers_off, 1 - same, ULP_WORST_LARGEST);
    }
    out->turned += p != r;
    out->renamed += !named;
    out->moved += named && moved;
    if (list->shares)
        out->score_shift = ulp_worst_of(out->score_shift, fabs(v[list->score] - b[list->score]),
                                        ULP_WORST_LARGEST);
}

static double count_objects(const struct list *list, const struct side *side, size_t batch)
{
    double count = 0;
    for (size_t r = 0; r < side->count; r++)
        count += is_object(list, row_of(list, side, batch, r));
    return count;
}

static void judge_batch(struct list *list, size_t batch, struct ulp_judged *out)
{
    match(list, batch, 0.9, false);
    if (list->numbers) {
        match(list, batch, 0.5, false);
        match(list, batch, 0.5, true);
        match(list, batch, 0.1, false);
    }
    for (size_t r = 0; r < list->base.count; r++)
        if (list->base.partner[batch * list->base.count + r] != SIZE_MAX)
            judge_pair(list, batch, r, out);
    double ended[2] = {0, 0};
    const double lost = count_alone(list, batch, &list->base, &ended[0]),
                 found = count_alone(list, batch, &list->value, &ended[1]),
                 rows = ulp_math_max(count_objects(list, &list->base, batch),
                                     count_objects(list, &list->value, batch)),
                 most = floor(rows / END_SHARE), /* of few the last one is no end */
        missed =
            ulp_math_max(lost - ulp_math_min(ended[0], most), found - ulp_math_min(ended[1], most));
    out->lost += missed;
    out->ended += ulp_math_max(lost, found) - missed;
    out->rows += rows;
    if (missed > 0 && list->boxes)
        out->iou = 0;
}

/* Has some integer more rows than one? Numbers of users or items have not. */
static bool has_classes(const struct list *list)
{
    bool found = false;
    for (size_t c = 0; c < list->column_count; c++)
        for (size_t r = 0; r < list->base.count && !found; r++)
            for (size_t q = 0; q < r && list->columns[c].kind == CLASS && !found; q++)
                found = is_equal(row_of(list, &list->base, 0, r) + list->columns[c].first,
                                 row_of(list, &list->base, 0, q) + list->columns[c].first, 1);
    return found;
}

/* Without a score that makes an object, all rows are; but of columns that only look like a list's
 * nothing is said then. */
static void settle_objects(struct list *list, bool columns)
{
    double objects = 0;
    for (size_t b = 0; b < list->batches && list->likely; b++)
        objects += count_objects(list, &list->base, b) + count_objects(list, &list->value, b);
    list->likely &= objects > 0 || columns;
}

static void prepare(const struct list *list, bool columns, struct ulp_judged *out)
{
    *out = (struct ulp_judged){.task = ULP_TASK_OBJECTS,
                               .basis = columns ? ULP_BASIS_COLUMNS : ULP_BASIS_LIST,
                               .sqnr_db = NAN,
                               .elements = (double)(list->batches * list->base.count)};
    ulp_groups_prepare(out);
}

static void free_list(struct list *list)
{
    ulp_free(list->base.rows);
    ulp_free(list->base.partner);
    ulp_free(list->value.rows);
    ulp_free(list->value.partner);
    ulp_free(list->columns);
}

enum ulp_status ulp_objects_judge(const struct ulp_object_part *parts, size_t count,
                                  struct ulp_budget *budget, struct ulp_judged *out,
                                  struct ulp_error *error)
{
    ULP_SCOPED(free_list) struct list list;
    const bool same = measure_list(&list, parts, count);
    prepare(&list, count == 1 && ulp_objects_columns(parts[0].base, &(struct ulp_objects){0}), out);
    if (!same) {
        out->task = ULP_TASK_UNKNOWN;
        return ULP_OK;
    }
    ULP_TRY(
        ulp_allocate(&list.columns, list.width, sizeof *list.columns, budget, "objects", error));
    ULP_TRY(read_side(&list, parts, count, true, budget, error));
    ULP_TRY(read_side(&list, parts, count, false, budget, error));
    bool likely;
    const size_t score = find_score(&list, parts, count, &likely);
    for (size_t p = 0, first = 0; p < count; first += width_of(&parts[p]), p++)
        add_part(&list, &parts[p], first, p == score);
    add_choice(&list);
    list.likely = list.shares && (likely || score == count) && (list.boxes || has_classes(&list));
    settle_objects(&list, out->basis == ULP_BASIS_COLUMNS);
    for (size_t b = 0; b < list.batches; b++)
        judge_batch(&list, b, out);
    out->objects_off = out->rows > 0 ? out->lost + out->moved + out->renamed : NAN;
    return ULP_OK;
}
