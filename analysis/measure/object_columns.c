/* Recognising a detector's objects by the columns of one output. */
#include "analysis/measure/objects.h"

#include "number/function/math.h"

enum { WIDTH_MAX = 7 };

/* ---- boxes ---- */

struct box {
    double left, top, right, bottom;
};

static struct box read_box(const double *row, bool corners)
{
    return corners ? (struct box){row[0], row[1], row[2], row[3]}
                   : (struct box){row[0] - row[2] / 2, row[1] - row[3] / 2, row[0] + row[2] / 2,
                                  row[1] + row[3] / 2};
}

static double area_of(struct box box)
{
    return ulp_math_max(box.right - box.left, 0) * ulp_math_max(box.bottom - box.top, 0);
}

double ulp_box_iou(const double *base, const double *value, bool corners)
{
    const struct box b = read_box(base, corners), v = read_box(value, corners);
    const struct box both = {ulp_math_max(b.left, v.left), ulp_math_max(b.top, v.top),
                             ulp_math_min(b.right, v.right), ulp_math_min(b.bottom, v.bottom)};
    const double shared = area_of(both), all = area_of(b) + area_of(v) - shared;
    return !(area_of(b) > 0) ? (double)NAN : all > 0 ? shared / all : 0;
}

/* ---- columns ---- */

static void read_row(const struct ulp_tensor *tensor, size_t row, size_t width, double *out)
{
    for (size_t c = 0; c < width; c++)
        out[c] = ulp_tensor_read(tensor, row * width + c);
}

/* What holds of a column in all rows. */
struct seen {
    bool integers; /* and none negative */
    bool falls;    /* from 0 to 1, and in an image none above the one before */
};

static void look_at_columns(const struct ulp_tensor *base, size_t width, size_t rows_each,
                            struct seen *out)
{
    double row[WIDTH_MAX], before[WIDTH_MAX] = {0};
    for (size_t c = 0; c < width; c++)
        out[c] = (struct seen){true, true};
    for (size_t r = 0; r < base->count / width; r++) {
        read_row(base, r, width, row);
        for (size_t c = 0; c < width; c++) {
            out[c].integers &= row[c] >= 0 && row[c] == floor(row[c]);
            out[c].falls &=
                row[c] >= 0 && row[c] <= 1 && (r % rows_each == 0 || row[c] <= before[c]);
            before[c] = row[c];
        }
    }
}

/* Are four columns from `first` on two corners in every object? Where there is none, in all rows,
 * of which some are of another class: any six columns might be numbers without objects. */
static bool are_corners(const struct ulp_tensor *base, size_t width, size_t first, size_t score)
{
    double row[WIDTH_MAX], classes[WIDTH_MAX];
    bool objects = true, rows = true, any = false, classed = false;
    read_row(base, 0, width, classes);
    for (size_t r = 0; r < base->count / width && objects; r++) {
        read_row(base, r, width, row);
        const bool corners = row[first + 2] > row[first] && row[first + 3] > row[first + 1],
                   object = row[score] >= ULP_OBJECT;
        any |= object;
        objects &= corners || !object;
        rows &= corners;
        for (size_t c = 0; c < width; c++)
            classed |= (c < first || c >= first + 4) && c != score && row[c] != classes[c];
    }
    return any ? objects : rows && classed;
}

bool ulp_objects_columns(const struct ulp_tensor *base, struct ulp_objects *out)
{
    struct seen columns[WIDTH_MAX];
    const size_t width = base->rank > 1 ? (size_t)base->dims[base->rank - 1] : 0,
                 rows_each = base->rank > 1 ? (size_t)base->dims[base->rank - 2] : 0;
    if (!ulp_type_is_float(base->type) || base->rank > 3 || width < 6 || width > WIDTH_MAX ||
        rows_each < 2 || !base->count || base->count / width > ULP_OBJECTS_MAX)
        return false;
    look_at_columns(base, width, rows_each, columns);
    for (size_t box = 0; box + 4 <= width; box++)
        for (size_t score = 0; score < width; score++) {
            bool fits = (score < box || score >= box + 4) && columns[score].falls &&
                        !columns[score].integers;
            for (size_t c = 0; c < width && fits; c++)
                fits = (c >= box && c < box + 4) || c == score || columns[c].integers;
            if (fits && are_corners(base, width, box, score)) {
                *out = (struct ulp_objects){(int)box, (int)score};
                return true;
            }
        }
    return false;
}
