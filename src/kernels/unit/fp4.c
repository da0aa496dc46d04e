/* Contractions on block-scaled units of FP4 (ULP_UNIT_SCALED_GROUPS), equal to the oracle on every
 * bit.
 *
 * Elements are held doubled, as integers of at most 12, so that a group's 16 products sum to at
 * most 2304 quarters in int16. A group's term, that sum times two scales' significands of 4 bits,
 * has at most 20 bits: exact in float. Aligned to the largest exponent e it is below 2^(F + 12),
 * and five of them add exactly in double's 53 bits; so truncation, sum and conversion are those of
 * unit.c's integers. A scale of NaN has a significand that is NaN.
 */
#include "kernels/unit/fp4.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/machine/cpu.h"
#include "base/memory/alloc.h"
#include "base/vectorise.h"
#include "kernels/operand/output.h"
#include "kernels/unit/fast.h"

enum { COLUMNS = ULP_UNIT_COLUMNS, GROUP = 16, GROUPS = 4, LANES = 8, PARTS = COLUMNS / LANES };
enum { PIECE = 4096 };                      /* elements that are doubled at a time */
enum { SLACK = 64 };                        /* bytes of a panel, to align it */
enum { FRACTION_BITS = 35, LOWEST = -139 }; /* of every such unit; the tests walk the table */

typedef double doubles __attribute__((vector_size(64)));
typedef float floats __attribute__((vector_size(64)));
typedef int64_t longs __attribute__((vector_size(64)));
typedef int16_t shorts __attribute__((vector_size(64)));
typedef float floats8 __attribute__((vector_size(32)));
typedef int16_t shorts8 __attribute__((vector_size(16)));
typedef int16_t shorts16 __attribute__((vector_size(32)));

/* Elements, and of each group its scale; of a row, or of a panel, where each has COLUMNS in place
 * of one. */
struct line {
    int16_t *twice; /* [k] */
    float *scale;
};
/* What the unit aligns by: of each group the scale's parts and, as bits, which elements are not
 * zero. */
struct parts {
    int16_t *nonzero, *exponent;
    float *significand;
};
struct panel {
    shorts *twice; /* [k] */
    floats (*scale)[2];
    shorts *nonzero, *exponent; /* the parts, where a row asks for them */
    floats (*significand)[2];
    bool split; /* they are there */
};

/* Scales as their bits, which are ordered as they are: the largest, and the smallest of a group
 * that is not zero. */
struct bounds {
    int32_t low, high;
};
static const struct bounds nowhere = {INT32_MAX, 0};

/* A group of lines: elements `step` cells apart, and their scales. */
struct source {
    const int16_t *x;
    const float *scale;
    ptrdiff_t step, scale_step;
    const int64_t *k;
    size_t used;
};

/* A row, and how the groups of lines lie. */
struct row {
    struct line line;
    struct parts parts;
    const uint8_t *used; /* [group] its elements; a group without any takes no part */
    size_t group_count, width;
};

/* The loops of one instruction set: a row times a panel, aligned and truncated as the unit does it,
 * or where nothing is cut off, which is false when a sum reached 2^top; what doubles elements,
 * where NaN is 0, as its scale is NaN; and what reads both: elements of one k lie `apart`, bounds
 * of each line beside another's. */
struct loops {
    void (*run)(const struct row *row, const struct panel *panel, double *total);
    bool (*run_plain)(const struct row *row, const struct panel *panel, int top, double *total);
    void (*twice)(int16_t *out, const float *x, size_t count);
    void (*read)(struct line out, size_t apart, const struct source *from, size_t count,
                 int32_t *low, int32_t *high);
    void (*split)(struct parts out, struct line line, size_t apart, size_t used, int emin,
                  size_t count);
};

#define TEMPLATE "kernels/unit/fp4_template.h"
#include "base/machine/each_cpu_template.h"

/* What the workers share. */
struct work {
    const struct ulp_contraction *problem;
    const struct ulp_scaled *rows, *columns;
    int16_t *twice[2]; /* their elements, as they lie */
    const int64_t *row_out, *column_out;
    struct ulp_output output;
    const struct loops *loops;
    int emin;     /* of scales */
    int fraction; /* bits of a product of scales and elements below its exponent */
    /* groups of a line; places of a group, fewer where runs are shorter, and of a line; groups of a
     * scale */
    size_t group_count, width, stride, per_scale;
    int64_t *group_k; /* [group] its first k */
    uint8_t *group_used;
    float alpha;
    struct line lines; /* of all rows */
    struct parts line_parts;
    struct bounds *line_bounds;
    size_t per_run;  /* groups of a run */
    bool out_is_run; /* columns' results lie side by side */
    char *memory;    /* a panel for each worker */
    size_t panel_bytes;
};

/* Where the groups' k are: those of a run are filled up to whole blocks. */
static void lay_groups(const struct work *work)
{
    const size_t run = work->columns->run, per_run = work->per_run;
    for (size_t g = 0; g < work->group_count; g++) {
        const size_t in_run = g % per_run * GROUP,
                     used = in_run < run ? ulp_size_min(GROUP, run - in_run) : 0;
        work->group_used[g] = (uint8_t)used;
        work->group_k[g] = used ? (int64_t)(g / per_run * run + in_run) : 0;
    }
}

ULP_WORK(double_elements)
{
    const struct work *work = context;
    const struct ulp_tensor *sides[2] = {&work->rows->elements, &work->columns->elements};
    const size_t rows = ulp_size_divide_up(sides[0]->count, PIECE);
    for (size_t item = first; item < last; item++) {
        const size_t side = item >= rows, at = (side ? item - rows : item) * PIECE;
        work->loops->twice(work->twice[side] + at, (const float *)sides[side]->data + at,
                           ulp_size_min(PIECE, sides[side]->count - at));
    }
    return ULP_OK;
}

ULP_WORK(read_rows)
{
    const struct work *work = context;
    const struct ulp_scaled *rows = work->rows;
    for (size_t at = first; at < last; at++) {
        const size_t batch = at / rows->line_count, line = at % rows->line_count;
        work->line_bounds[at] = nowhere;
        for (size_t g = 0; g < work->group_count; g++) {
            const size_t group = at * work->group_count + g;
            const struct line out = {work->lines.twice + at * work->stride + g * work->width,
                                     work->lines.scale + group};
            const struct parts parts = {work->line_parts.nonzero + group,
                                        work->line_parts.exponent + group,
                                        work->line_parts.significand + group};
            const struct source from = {
                .x = work->twice[0] + rows->batch_offset[batch] + rows->line_offset[line],
                .scale = rows->scale + ulp_scaled_block(rows, batch, line, g / work->per_scale),
                .k = rows->k_offset + work->group_k[g],
                .used = work->group_used[g]};
            if (!from.used)
                continue;
            struct bounds *const bounds = &work->line_bounds[at];
            work->loops->read(out, 1, &from, 1, &bounds->low, &bounds->high);
            work->loops->split(parts, out, 1, from.used, work->emin, 1);
        }
    }
    return ULP_OK;
}

static struct line line_in(const struct work *work, const struct panel *panel, size_t g)
{
    return (struct line){(int16_t *)&panel->twice[g * work->width], (float *)&panel->scale[g]};
}

/* How many lines from there on lie `step` cells apart. */
static size_t find_piece(const struct ulp_scaled *s, size_t line, size_t count, int64_t *step)
{
    size_t found = 1;
    *step = count > 1 ? s->line_cell[line + 1] - s->line_cell[line] : 1;
    while (found < count && s->line_cell[line + found] - s->line_cell[line + found - 1] == *step)
        found++;
    return found;
}

static struct bounds read_panel(const struct work *work, struct panel *panel, size_t batch,
                                size_t line, size_t count)
{
    const struct ulp_scaled *columns = work->columns;
    struct bounds bounds = nowhere;
    int32_t low[COLUMNS], high[COLUMNS];
    for (size_t j = 0; j < COLUMNS; j++)
        low[j] = nowhere.low, high[j] = nowhere.high;
    panel->split = false;
    for (size_t first = 0, found; first < count; first += found) {
        int64_t step;
        found = find_piece(columns, line + first, count - first, &step);
        struct source from = {.x = work->twice[1] + columns->batch_offset[batch] +
                                   columns->line_offset[line + first],
                              .step = (ptrdiff_t)(columns->shared ? step
                                                                  : step * (int64_t)columns->run),
                              .scale_step = (ptrdiff_t)(step * (int64_t)columns->run_blocks)};
        for (size_t g = 0; g < work->group_count; g++) {
            const struct line all = line_in(work, panel, g),
                              out = {all.twice + first, all.scale + first};
            from.scale = columns->scale +
                         ulp_scaled_block(columns, batch, line + first, g / work->per_scale);
            from.k = columns->k_offset + work->group_k[g];
            from.used = work->group_used[g];
            if (from.used)
                work->loops->read(out, COLUMNS, &from, found, low + first, high + first);
        }
    }
    for (size_t j = 0; j < COLUMNS; j++) {
        bounds.low = low[j] < bounds.low ? low[j] : bounds.low;
        bounds.high = high[j] > bounds.high ? high[j] : bounds.high;
    }
    return bounds;
}

static void split_panel(const struct work *work, struct panel *panel)
{
    for (size_t g = 0; g < work->group_count && !panel->split; g++) {
        const struct parts out = {(int16_t *)&panel->nonzero[g], (int16_t *)&panel->exponent[g],
                                  (float *)&panel->significand[g]};
        if (work->group_used[g])
            work->loops->split(out, line_in(work, panel, g), COLUMNS, work->group_used[g],
                               work->emin, COLUMNS);
    }
    panel->split = true;
}

static int find_exponent(const struct work *work, int32_t scale)
{
    const int own = (scale >> 23) - 127;
    return own > work->emin ? own : work->emin;
}

/* Is nothing cut off from the products of a row and a panel, when sums stay below 2^*top?
 *
 * A scale is a multiple of 2^(E - s), of its exponent E (of subnormals: of their field), where s is
 * 3 for E4M3 and 0 for powers of two, and a sum of products one of quarters: so terms that are not
 * zero are multiples of 2^q, q = E_row + E_panel - 2 s - 2 of the smallest scales, and with them
 * all sums, as what is cut off a sum's 24 bits are its lowest. The unit cuts terms and c at 2^(e -
 * F): none loses anything while e <= q + F. The largest exponent of a term is at most that of the
 * largest scales; c's is while c is below 2^(q + F + 1). A block then adds, exactly in double,
 * multiples of 2^q below 2^(q + F + 14): four terms are below 2^(11 + e) each, by 2304 quarters and
 * significands below 2. FP32's subnormals are none where 2^q is a normal number, and its infinities
 * are above. */
static bool is_plain(const struct work *work, struct bounds row, struct bounds panel, int *top)
{
    const int high = find_exponent(work, row.high) + find_exponent(work, panel.high),
              q = find_exponent(work, row.low) + find_exponent(work, panel.low) - work->fraction;
    *top = q + FRACTION_BITS + 1;
    return high <= q + FRACTION_BITS && q >= -126 && *top <= 126;
}

/* Sums of a row become results; `total` holds `count` of them. */
static void store(const struct work *work, size_t batch, size_t row, size_t column,
                  const double *total, size_t count)
{
    const struct ulp_contraction *p = work->problem;
    const int64_t base =
                      (p->out_batch_offset ? p->out_batch_offset[batch] : 0) + work->row_out[row],
                  *const offset = work->column_out + column;
    float strip[COLUMNS];
    for (size_t j = 0; j < count; j++)
        strip[j] = (float)total[j] * work->alpha;
    ulp_output_strip(&work->output, base, offset, work->out_is_run, strip, count,
                     (struct ulp_draw){0});
}

/* The line of the rows' factor that row i of a batch is. */
static size_t find_line(const struct work *work, size_t batch, size_t i)
{
    return (work->rows->group_count > 1 ? batch * work->rows->line_count : 0) + i;
}

static void run_row(const struct work *work, struct panel *panel, struct bounds bounds,
                    size_t batch, size_t i, size_t column, size_t count)
{
    const size_t line = find_line(work, batch, i), group = line * work->group_count;
    const struct row row = {.line = {work->lines.twice + line * work->stride,
                                     work->lines.scale + group},
                            .parts = {work->line_parts.nonzero + group,
                                      work->line_parts.exponent + group,
                                      work->line_parts.significand + group},
                            .used = work->group_used,
                            .group_count = work->group_count,
                            .width = work->width};
    int top;
    double total[COLUMNS] __attribute__((aligned(64)));
    if (!is_plain(work, work->line_bounds[line], bounds, &top) ||
        !work->loops->run_plain(&row, panel, top, total)) {
        split_panel(work, panel);
        work->loops->run(&row, panel, total);
    }
    store(work, batch, i, column, total, count);
}

static struct panel lay_panel(const struct work *work, int worker)
{
    char *memory = work->memory + (size_t)worker * work->panel_bytes;
    memory += (64 - (uintptr_t)memory % 64) % 64;
    struct panel panel = {.twice = (shorts *)(void *)memory};
    panel.nonzero = panel.twice + work->stride;
    panel.exponent = panel.nonzero + work->group_count;
    panel.scale = (floats(*)[2])(void *)(panel.exponent + work->group_count);
    panel.significand = panel.scale + work->group_count;
    return panel;
}

ULP_WORK(run_panels)
{
    const struct work *work = context;
    const size_t panels = ulp_size_divide_up(work->columns->line_count, COLUMNS);
    struct panel panel = lay_panel(work, worker);
    struct bounds bounds = nowhere;
    for (size_t item = first; item < last; item++) {
        const size_t batch = item / panels, column = item % panels * COLUMNS,
                     count = ulp_size_min(COLUMNS, work->columns->line_count - column);
        if (item == first || work->columns->group_count > 1 || panels > 1)
            bounds = read_panel(work, &panel, batch, column, count);
        for (size_t i = 0; i < work->rows->line_count; i++)
            run_row(work, &panel, bounds, batch, i, column, count);
    }
    return ULP_OK;
}

/* Zeros: places that a run does not fill stay so. */
#define TAKE(place, count, bytes) \
    ULP_TRY(ulp_taken(((place) = ulp_arena_take(arena, count, bytes)) != NULL, error))

static enum ulp_status run_all(struct work *work, struct ulp_pool *pool, struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    const struct ulp_tensor *rows = &work->rows->elements, *columns = &work->columns->elements;
    const size_t threads = (size_t)ulp_pool_thread_count(pool),
                 lines = work->rows->group_count * work->rows->line_count,
                 groups = work->group_count,
                 panels = ulp_size_divide_up(work->columns->line_count, COLUMNS);
    ULP_TRY(ulp_arena_create(&arena, ulp_pool_scratch(pool), error));
    TAKE(work->lines.twice, lines, work->stride * sizeof(int16_t));
    TAKE(work->lines.scale, lines, groups * sizeof(float));
    TAKE(work->line_parts.nonzero, lines, groups * sizeof(int16_t));
    TAKE(work->line_parts.exponent, lines, groups * sizeof(int16_t));
    TAKE(work->line_parts.significand, lines, groups * sizeof(float));
    TAKE(work->line_bounds, lines, sizeof *work->line_bounds);
    TAKE(work->group_k, groups, sizeof *work->group_k);
    TAKE(work->group_used, groups, sizeof *work->group_used);
    TAKE(work->twice[0], rows->count, sizeof(int16_t));
    TAKE(work->twice[1], columns->count, sizeof(int16_t));
    TAKE(work->memory, threads, work->panel_bytes);
    lay_groups(work);
    ULP_TRY(ulp_parallel_for(pool,
                             ulp_size_divide_up(rows->count, PIECE) +
                                 ulp_size_divide_up(columns->count, PIECE),
                             ulp_grain(PIECE / 4), double_elements, work, error));
    ULP_TRY(ulp_parallel_for(pool, lines, ulp_grain((double)work->stride), read_rows, work, error));
    return ulp_parallel_for(pool, work->problem->batch_count * panels,
                            ulp_grain((double)(work->stride * work->rows->line_count)), run_panels,
                            work, error);
}

enum ulp_status ulp_unit_run_fp4(unsigned cpu, const struct ulp_arithmetic *arithmetic,
                                 const struct ulp_contraction *problem,
                                 const struct ulp_scaled sides[2], struct ulp_pool *pool,
                                 struct ulp_error *error)
{
    struct ulp_format fp32;
    const bool swapped = problem->m > problem->n; /* columns are the longer side */
    const bool power = ulp_scaling_is_power(sides[0].scaling);
    const size_t groups = sides[0].run_count *
                          ulp_size_round_up(sides[0].run, (size_t)sides[0].scaling->k) / GROUP,
                 width = ulp_size_min(sides[0].run, GROUP);
    struct work work = {.problem = problem,
                        .rows = &sides[swapped],
                        .columns = &sides[!swapped],
                        .row_out = swapped ? problem->out_column_offset : problem->out_row_offset,
                        .column_out =
                            swapped ? problem->out_row_offset : problem->out_column_offset,
                        .loops = ULP_BY_FEATURES(cpu, &loops_avx512, &loops_avx2, &loops_portable),
                        .emin = power ? -127 : -6,
                        .fraction = power ? 2 : 2 + 2 * 3,
                        .group_count = groups,
                        .per_run = groups / sides[0].run_count,
                        .width = width,
                        .stride = groups * width,
                        .per_scale = (size_t)sides[0].scaling->k / GROUP,
                        .alpha = sides[0].tensor_scale * sides[1].tensor_scale};
    work.panel_bytes = (work.stride + 6 * work.group_count) * sizeof(shorts) + SLACK;
    work.out_is_run = ulp_output_is_run(work.column_out, work.columns->line_count);
    ULP_TRY(ulp_format_find("fp32", &fp32, error));
    ULP_TRY(ulp_output_make(&work.output, arithmetic, problem, &fp32, ULP_ELEMENT_F32, error));
    return run_all(&work, pool, error);
}
