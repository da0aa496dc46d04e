/* Groups of an output by their own rms, and those that became constant. */
#include "analysis/measure/judged_groups.h"

#include <math.h>

#include "base/error.h"
#include "number/function/math.h"

/* A part of the reference whose elements differ by less than this of the largest is as good as
 * constant itself. */
#define SPREAD 0.1
/* Scores that are off by no more are fine (RULE of score_shift). */
#define SCORE_OFF 0.01
/* What a group (row, column, channel) carries is its rms over the output's. It counts from half a
 * step of FP16 at the output's rms on, 2^-11, which is 66 dB below it: who keeps the output in 16
 * bits, or weighs its elements alike, sees nothing of what is smaller, and scores of 1 beside
 * pixels of 640 are six times as large. Below the square of that, 2^-22 or 132 dB, where a few
 * roundings of FP32 lie, it is nothing in the format that models are made in either. Between the
 * two it is faint. */
#define COUNTS 0x1p-11
#define NOTHING 0x1p-22
/* A line of an image, or one of a long axis, is no quantity of its own: where it carries less than
 * this it is background, which any step that suits the rest makes constant. */
#define LINE 0x1p-4
/* SHORT: of n groups that carry alike one that is lost leaves the whole at 10 log10(n) dB, so that
 * up to 100 the whole is broken by itself (20 dB): each is a quantity of its own there, and what
 * its size hides from the whole is looked for; a longer axis is a vector or a sequence, of which
 * WINDOWS are looked at. FEW: elements of which fewer may all be small by chance. PLANE: of fewer
 * rows and columns an image is none. */
enum { COLUMNS_MAX = 1 << 18, SHORT = 100, WINDOWS = ULP_GROUP_WINDOWS, FEW = 4, PLANE = 16 };
/* Windows, and groups of few elements, are lost where they err so many times as much as most: a
 * quiet end that has become 0 does, one that drowns in what noise there is everywhere does not. */
#define APART 4

static void add_to(struct ulp_judged_part *part, double value, double base)
{
    if (!part->count++)
        *part = (struct ulp_judged_part){value, value, base, base, 0, 0, 0, true, 1};
    part->squares += base * base;
    part->errors += (value - base) * (value - base);
    part->off = ulp_math_max(part->off, fabs(value - base));
    part->finite &= isfinite(value) && isfinite(base);
    part->least = ulp_math_min(part->least, value);
    part->most = ulp_math_max(part->most, value);
    part->base_least = ulp_math_min(part->base_least, base);
    part->base_most = ulp_math_max(part->base_most, base);
}

static double rms_of(double squares, double count)
{
    return sqrt(squares / count);
}

/* Has it become constant, and carries as much as counts? */
static bool is_dead(const struct ulp_judged_groups *g, const struct ulp_judged_part *part,
                    double counts)
{
    const double size = ulp_math_max(fabs(part->base_least), fabs(part->base_most));
    return part->count > 1 && part->finite && part->least == part->most &&
           part->base_most - part->base_least >= SPREAD * size && size > 0 &&
           rms_of(part->squares, (double)part->count) >= counts * g->rms;
}

size_t ulp_first_choice(const double *row, size_t length)
{
    size_t first = 0;
    for (size_t i = 1; i < length; i++)
        if (row[i] > row[first] || (isnan(row[first]) && !isnan(row[i])))
            first = i;
    return first;
}

void ulp_groups_prepare(struct ulp_judged *out)
{
    for (int f = 0; f < ULP_JUDGED_COUNT; f++)
        *(double *)(void *)((char *)out + ulp_judged_rows[f].offset) = NAN;
    out->columns = out->channels = NAN;
    out->group_kind = out->group_at = out->group_carries = NAN;
    out->faint_kind = out->faint_at = out->faint_carries = NAN;
}

bool ulp_groups_are_something(const struct ulp_judged_groups *groups, double rms)
{
    return rms >= NOTHING * groups->rms;
}

void ulp_groups_add(struct ulp_judged_groups *groups, size_t row, const double *value,
                    const double *base, struct ulp_judged *out)
{
    struct ulp_judged_part whole = {0}, none = {0};
    struct ulp_judged_part *second =
        groups->second_count ? &groups->seconds[row / groups->rows_each % groups->second_count]
                             : &none;
    for (size_t i = 0; i < groups->length; i++) {
        add_to(&whole, value[i], base[i]);
        add_to(second, value[i], base[i]);
    }
    for (size_t i = 0; i < groups->length && groups->has_windows; i++)
        add_to(&groups->windows[i * WINDOWS / groups->length], value[i], base[i]);
    for (size_t i = 0; i < groups->column_count; i++)
        add_to(&groups->columns[i], value[i], base[i]);
    out->constant_rows += is_dead(groups, &whole, groups->own_rows ? COUNTS : LINE);
}

static double count_dead(const struct ulp_judged_groups *g, const struct ulp_judged_part *parts,
                         size_t count, bool own)
{
    size_t dead = 0;
    for (size_t p = 0; p < count; p++)
        dead += is_dead(g, &parts[p], own ? COUNTS : LINE);
    return (double)dead;
}

/* Does the p-th err much more than three quarters of the others, of which there are some? */
static bool is_apart(const struct ulp_judged_part *parts, size_t count, size_t p)
{
    const double off = rms_of(parts[p].errors, (double)parts[p].count);
    size_t less = 0;
    for (size_t i = 0; i < count; i++)
        less += i != p && off >= APART * rms_of(parts[i].errors, (double)parts[i].count);
    return count >= FEW && 4 * less >= 3 * (count - 1);
}

/* Of what stands behind boxes. */
static double find_rest(const struct ulp_judged_groups *g)
{
    double squares = 0, count = 0;
    for (size_t i = 4; i < g->column_count; i++) {
        squares += g->columns[i].squares;
        count += (double)g->columns[i].count;
    }
    return rms_of(squares, count);
}

/* Groups by their own rms. Behind boxes are scores, beside which pixels do not count; where they
 * are from 0 to 1 small ones that are off by little are as good as any score that is. */
static void judge_groups(const struct ulp_judged_groups *g, const struct ulp_judged_part *parts,
                         size_t count, enum ulp_judged_group group, struct ulp_judged *out)
{
    const double rest = find_rest(g);
    for (size_t p = 0; p < count; p++) {
        const struct ulp_judged_part *part = &parts[p];
        const bool behind = out->task == ULP_TASK_DETECT && group == ULP_GROUP_COLUMN && p >= 4,
                   apart = group == ULP_GROUP_WINDOW || part->count < FEW;
        const double rms = rms_of(part->squares, (double)part->count), carries = rms / g->rms,
                     beside = behind ? rms / rest : carries,
                     off = rms_of(part->errors, (double)part->count),
                     db = off > 0 ? 20 * ulp_math_log10(rms / off) : (double)INFINITY;
        if (!part->finite || !(beside >= (apart ? COUNTS : NOTHING)) ||
            (behind && part->base_least >= 0 && part->base_most <= 1 && part->off < SCORE_OFF) ||
            (apart && (out->task != ULP_TASK_SIGNAL || !is_apart(parts, count, p))))
            continue;
        if (beside >= COUNTS && !(db >= out->group_db)) {
            out->group_db = db;
            out->group_kind = group;
            out->group_at = (double)p;
            out->group_carries = carries;
        } else if (beside < COUNTS && !(db >= out->faint_db)) {
            out->faint_db = db;
            out->faint_kind = group;
            out->faint_at = (double)p;
            out->faint_carries = carries;
        }
    }
}

void ulp_groups_judge(const struct ulp_judged_groups *g, bool shares, struct ulp_judged *out)
{
    const enum ulp_task task = out->task;
    if (g->column_count && g->rows > 1) {
        out->columns = (double)g->column_count;
        out->constant_columns =
            shares ? 0 : count_dead(g, g->columns, g->column_count, g->own_columns);
    }
    if (g->channel_count > 1) {
        out->channels = (double)g->channel_count;
        out->constant_channels = shares ? 0 : count_dead(g, g->seconds, g->channel_count, true);
    }
    if (shares || task == ULP_TASK_NONE || task == ULP_TASK_EMBED || task == ULP_TASK_TEXT ||
        task == ULP_TASK_TOKENS || task == ULP_TASK_SEGMENT)
        return;
    if (g->has_columns || (task == ULP_TASK_DETECT && g->length <= SHORT))
        judge_groups(g, g->columns, g->column_count, ULP_GROUP_COLUMN, out);
    if (g->has_seconds && task != ULP_TASK_DETECT)
        judge_groups(g, g->seconds, g->second_count, ULP_GROUP_CHANNEL, out);
    if (g->has_windows)
        judge_groups(g, g->windows, WINDOWS, ULP_GROUP_WINDOW, out);
}

/* Do two axes that follow each other look like the rows and columns of an image? */
static bool is_plane(const struct ulp_tensor *base, int axis)
{
    const int64_t a = base->dims[axis], b = base->dims[axis + 1];
    return a >= PLANE && b >= PLANE && a < 2 * b && b < 2 * a && a % 2 == 0 && b % 2 == 0;
}

/* Short axes have groups, but for rows and columns of an image. */
enum ulp_status ulp_groups_open(struct ulp_judged_groups *g, const struct ulp_tensor *base,
                                void **parts, struct ulp_budget *budget, struct ulp_error *error)
{
    const int rank = ulp_judged_rank(base);
    int plane = rank - 2;
    while (plane > 0 && !is_plane(base, plane))
        plane--;
    const bool any = rank > 2 && plane > 0, wide = any && plane + 1 == rank - 1;
    g->length = rank ? (size_t)base->dims[rank - 1] : 1;
    g->rows = base->count / g->length;
    g->rows_each = 1;
    for (int d = 2; d + 1 < rank; d++)
        g->rows_each *= (size_t)base->dims[d];
    g->column_count = g->length <= (g->rows > 1 ? COLUMNS_MAX : SHORT) ? g->length : 0;
    g->own_rows = rank < 4 && g->rows <= SHORT && !any;
    g->own_columns = rank < 4 && g->length <= SHORT && !any;
    g->second_count = rank > 2 ? (size_t)base->dims[1] : 0;
    g->channel_count = rank > 3 ? g->second_count : 0; /* of three axes rows are the channels */
    g->has_columns = g->length > 1 && g->length <= SHORT && !wide;
    g->has_windows = g->length > SHORT && !wide;
    g->has_seconds = g->second_count > 1 && g->second_count <= SHORT && !(any && plane == 1);
    if (!g->has_seconds && !g->channel_count)
        g->second_count = 0;
    ULP_TRY(ulp_allocate_zero(parts, g->column_count + g->second_count + 1,
                              sizeof(struct ulp_judged_part), budget,
                              "columns and channels of an output", error));
    g->columns = *parts;
    g->seconds = g->columns + g->column_count;
    return ULP_OK;
}
