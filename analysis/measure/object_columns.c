/* Recognising a detector's objects by the columns of one output. */
#include "analysis/measure/objects.h"

#include <math.h>

#include "analysis/measure/difference.h"
#include "ops/image/detect.h"

enum { WIDTH_MAX = 7 };

/* ---- boxes ---- */

static struct ulp_box read_box(const double *row, bool corners)
{
    return corners ? (struct ulp_box){row[0], row[1], row[2], row[3]}
                   : (struct ulp_box){row[0] - row[2] / 2, row[1] - row[3] / 2, row[0] + row[2] / 2,
                                      row[1] + row[3] / 2};
}

double ulp_box_iou(const double *base, const double *value, bool corners)
{
    const struct ulp_box b = read_box(base, corners), v = read_box(value, corners);
    return ulp_box_overlap(&b, &b) > 0 ? ulp_box_overlap(&b, &v) : (double)NAN;
}

/* ---- columns ---- */

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
        ulp_side_read(row, base, r * width, width);
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
    ulp_side_read(classes, base, 0, width);
    for (size_t r = 0; r < base->count / width && objects; r++) {
        ulp_side_read(row, base, r * width, width);
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
