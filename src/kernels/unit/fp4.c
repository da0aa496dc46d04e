/* Contractions on block-scaled units of FP4 (ULP_UNIT_SCALED_GROUPS), equal to the oracle on every
 * bit.
 *
 * Elements are held doubled, as integers of at most 12, so that a group's 16 products sum to at
 * most 2304 quarters in int16. A group's term, that sum times two scales' significands of 4 bits,
 * has at most 20 bits: exact in float. Aligned to the largest exponent e it is below 2^(F + 12),
 * and five of them add exactly in double's 53 bits; so truncation, sum and conversion are those of
 * unit.c's integers. A scale of NaN has a significand that is NaN.
 *
 * Cells that lines share, those of convolutions, are read once, and then copied to the panels. */
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
enum { CELLS = 1024 }; /* read at a time */
enum { SLACK = 192 };  /* bytes of a panel: to align it, and what copies write beyond */
enum { FRACTION_BITS = 35, LOWEST = -139 }; /* of every such unit; the tests walk the table */

typedef double doubles __attribute__((vector_size(64)));
typedef float floats __attribute__((vector_size(64)));
typedef int64_t longs __attribute__((vector_size(64)));
typedef int16_t shorts __attribute__((vector_size(64)));
typedef float floats8 __attribute__((vector_size(32)));
typedef int16_t shorts8 __attribute__((vector_size(16)));
typedef int16_t shorts16 __attribute__((vector_size(32)));

/* Elements, and of each group its scale; of a row, of cells, or of a panel, where each has COLUMNS
 * in place of one. */
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
    const float *x, *scale;
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

/* The element doubled; NaN is 0, as its scale is NaN. */
static inline __attribute__((always_inline)) int16_t read_element(float x)
{
    return (int16_t)(int32_t)(x == x ? 2 * x : 0);
}

/* The loops of one instruction set: a row times a panel, aligned and truncated as the unit does it,
 * or where nothing is cut off, which is false when a sum reached 2^top; and what reads both:
 * elements of one k lie `apart`. */
struct loops {
    void (*run)(const struct row *row, const struct panel *panel, double *total);
    bool (*run_plain)(const struct row *row, const struct panel *panel, int top, double *total);
    void (*read)(struct line out, size_t apart, const struct source *from, size_t count,
                 struct bounds *bounds);
    void (*split)(struct parts out, struct line line, size_t apart, size_t used, int emin,
                  size_t count);
};

#define TARGET
#define SUFFIX c
#include "kernels/unit/fp4_template.h"
#undef TARGET
#undef SUFFIX
#if ULP_X86_VECTORS
#define TARGET __attribute__((target("avx2")))
#define SUFFIX avx2
#include "kernels/unit/fp4_template.h"
#undef TARGET
#undef SUFFIX
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define SUFFIX avx512
#include "kernels/unit/fp4_template.h"
#undef TARGET
#undef SUFFIX
#endif

static const struct loops *choose(unsigned cpu)
{
#if ULP_X86_VECTORS
    if (cpu & ULP_CPU_AVX512)
        return &loops_avx512;
    if (cpu & ULP_CPU_AVX2)
        return &loops_avx2;
#endif
    (void)cpu;
    return &loops_c;
}

/* What the workers share. */
struct work {
    const struct ulp_contraction *problem;
    const struct ulp_scaled *rows, *columns;
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
    size_t per_run;             /* groups of a run */
    struct line cells;          /* that columns share, [batch][group of a run][element][cell] */
    struct bounds *cell_bounds; /* [batch][group of a run][CELLS of them] */
    char *memory;               /* a panel for each worker */
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

static const float *line_of(const struct ulp_scaled *s, size_t batch, size_t line)
{
    return (const float *)s->elements.data + s->batch_offset[batch] + s->line_offset[line];
}

static enum ulp_status read_rows(void *context, size_t first, size_t last, int worker,
                                 struct ulp_error *error)
{
    (void)worker, (void)error;
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
            const struct source from = {.x = line_of(rows, batch, line),
                                        .scale =
                                            rows->scale + ulp_scaled_block(rows, batch, line,
                                                                           g / work->per_scale),
                                        .k = rows->k_offset + work->group_k[g],
                                        .used = work->group_used[g]};
            if (!from.used)
                continue;
            work->loops->read(out, 1, &from, 1, &work->line_bounds[at]);
            work->loops->split(parts, out, 1, from.used, work->emin, 1);
        }
    }
    return ULP_OK;
}

/* Cells that lines share, each read once: `first` and on of a batch, of a group of their run. */
static void read_cells_from(const struct work *work, size_t batch, size_t g, size_t first,
                            size_t count, struct bounds *bounds)
{
    const struct ulp_scaled *columns = work->columns;
    const size_t cells = columns->cell_count, plane = batch * work->per_run + g;
    const struct line out = {work->cells.twice + plane * work->width * cells + first,
                             work->cells.scale + plane * cells + first};
    const struct source from = {.x = (const float *)columns->elements.data +
                                     batch * columns->run * cells + first - columns->run_cell[0],
                                .scale = columns->scale +
                                         (batch * cells + first) * columns->run_blocks +
                                         g / work->per_scale,
                                .step = 1,
                                .scale_step = (ptrdiff_t)columns->run_blocks,
                                .k = columns->k_offset + work->group_k[g],
                                .used = work->group_used[g]};
    *bounds = nowhere;
    if (from.used)
        work->loops->read(out, cells, &from, count, bounds);
}

static enum ulp_status read_cells(void *context, size_t first, size_t last, int worker,
                                  struct ulp_error *error)
{
    (void)worker, (void)error;
    const struct work *work = context;
    const size_t cells = work->columns->cell_count, parts = ulp_size_divide_up(cells, CELLS);
    for (size_t item = first; item < last; item++) {
        const size_t part = item % parts * CELLS, g = item / parts % work->per_run;
        read_cells_from(work, item / parts / work->per_run, g, part,
                        ulp_size_min(CELLS, cells - part), &work->cell_bounds[item]);
    }
    return ULP_OK;
}

/* Columns whose cells lie `step` apart from `cell` on. */
struct piece {
    size_t first, count;
    ptrdiff_t step, cell;
};

/* How many lines from there on lie `step` cells apart. */
static size_t find_piece(const struct ulp_scaled *s, size_t line, size_t count, ptrdiff_t *step)
{
    size_t found = 1;
    *step = count > 1 ? (ptrdiff_t)(s->line_cell[line + 1] - s->line_cell[line]) : 1;
    while (found < count && s->line_cell[line + found] - s->line_cell[line + found - 1] == *step)
        found++;
    return found;
}

/* One value of each column. Copies COLUMNS at once: what is too much is written over by the next
 * piece, or by what follows in memory and is copied later. */
static inline __attribute__((always_inline)) void copy_columns(void *to, const void *from,
                                                               size_t size,
                                                               const struct piece *pieces,
                                                               size_t count)
{
    for (const struct piece *p = pieces; p < pieces + count; p++) {
        char *const out = (char *)to + p->first * size;
        const char *const in = (const char *)from + p->cell * (ptrdiff_t)size;
        if (p->step == 1)
            memcpy(out, in, COLUMNS * size);
        for (size_t i = 0; i < p->count && p->step != 1; i++)
            memcpy(out + i * size, in + (ptrdiff_t)(i * size) * p->step, size);
    }
}

/* Columns with cells that others have, too. */
static void copy_panel(const struct work *work, struct panel *panel, size_t batch, size_t line,
                       size_t count)
{
    const struct ulp_scaled *columns = work->columns;
    const size_t cells = columns->cell_count, per_run = work->per_run,
                 own = columns->group_count > 1 ? batch * per_run : 0;
    struct piece pieces[COLUMNS];
    size_t n = 0;
    for (size_t j = 0; j < count; j += pieces[n++].count) {
        pieces[n].first = j;
        pieces[n].cell = (ptrdiff_t)columns->line_cell[line + j];
        pieces[n].count = find_piece(columns, line + j, count - j, &pieces[n].step);
    }
    for (size_t r = 0, g = 0; r < columns->run_count; r++)
        for (size_t plane = own; plane < own + per_run; plane++, g++) {
            for (size_t i = 0; i < work->group_used[g]; i++)
                copy_columns(panel->twice + g * work->width + i,
                             work->cells.twice + (plane * work->width + i) * cells +
                                 columns->run_cell[r],
                             sizeof(int16_t), pieces, n);
            if (work->group_used[g])
                copy_columns(panel->scale + g,
                             work->cells.scale + plane * cells + columns->run_cell[r],
                             sizeof(float), pieces, n);
        }
}

static struct line line_in(const struct work *work, const struct panel *panel, size_t g)
{
    return (struct line){(int16_t *)&panel->twice[g * work->width], (float *)&panel->scale[g]};
}

/* Columns with cells of their own. */
static void read_panel(const struct work *work, struct panel *panel, size_t batch, size_t line,
                       size_t count, struct bounds *bounds)
{
    const struct ulp_scaled *columns = work->columns;
    struct source from = {.x = line_of(columns, batch, line),
                          .step = (ptrdiff_t)(columns->run_count * columns->run),
                          .scale_step = (ptrdiff_t)columns->block_count};
    const float *const scale = columns->scale + ulp_scaled_block(columns, batch, line, 0);
    for (size_t g = 0; g < work->group_count; g++) {
        const struct line out = line_in(work, panel, g);
        from.scale = scale + g / work->per_scale;
        from.k = columns->k_offset + work->group_k[g];
        from.used = work->group_used[g];
        if (from.used)
            work->loops->read(out, COLUMNS, &from, count, bounds);
    }
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

static void add_bounds(struct bounds *sum, struct bounds more)
{
    sum->low = more.low < sum->low ? more.low : sum->low;
    sum->high = more.high > sum->high ? more.high : sum->high;
}

/* Of all cells of a batch. */
static struct bounds find_cell_bounds(const struct work *work, size_t batch)
{
    const size_t count = work->per_run * ulp_size_divide_up(work->columns->cell_count, CELLS);
    struct bounds bounds = nowhere;
    for (size_t i = 0; i < count; i++)
        add_bounds(&bounds, work->cell_bounds[batch * count + i]);
    return bounds;
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

ULP_VECTORISE static void run_panel(const struct work *work, struct panel *panel,
                                    struct bounds bounds, size_t batch, size_t column, size_t count)
{
    const struct ulp_contraction *p = work->problem;
    const int64_t base = p->out_batch_offset ? p->out_batch_offset[batch] : 0;
    const size_t rows = work->rows->line_count,
                 shift = work->rows->group_count > 1 ? batch * rows : 0;
    for (size_t i = 0; i < rows; i++) {
        const size_t line = shift + i, group = line * work->group_count;
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
        float strip[COLUMNS];
        if (!is_plain(work, work->line_bounds[line], bounds, &top) ||
            !work->loops->run_plain(&row, panel, top, total)) {
            split_panel(work, panel);
            work->loops->run(&row, panel, total);
        }
        for (size_t j = 0; j < COLUMNS; j++)
            strip[j] = (float)total[j] * work->alpha;
        ulp_output_strip(&work->output, base + work->row_out[i], work->column_out + column, strip,
                         count, (struct ulp_draw){0});
    }
}

static enum ulp_status run_panels(void *context, size_t first, size_t last, int worker,
                                  struct ulp_error *error)
{
    (void)error;
    const struct work *work = context;
    const size_t panels = ulp_size_divide_up(work->columns->line_count, COLUMNS);
    char *memory = work->memory + (size_t)worker * work->panel_bytes;
    memory += (64 - (uintptr_t)memory % 64) % 64;
    struct panel panel = {.twice = (shorts *)(void *)memory};
    struct bounds bounds = nowhere;
    panel.nonzero = panel.twice + work->stride;
    panel.exponent = panel.nonzero + work->group_count;
    panel.scale = (floats(*)[2])(void *)(panel.exponent + work->group_count);
    panel.significand = panel.scale + work->group_count;
    for (size_t item = first; item < last; item++) {
        const size_t batch = item / panels, column = item % panels * COLUMNS,
                     count = ulp_size_min(COLUMNS, work->columns->line_count - column);
        const bool own = work->columns->group_count > 1;
        if (work->columns->shared && (item == first || (own && column == 0)))
            bounds = find_cell_bounds(work, own ? batch : 0);
        if (item == first || own || panels > 1) {
            panel.split = false;
            if (work->columns->shared) {
                copy_panel(work, &panel, batch, column, count);
            } else {
                bounds = nowhere;
                read_panel(work, &panel, batch, column, count, &bounds);
            }
        }
        run_panel(work, &panel, bounds, batch, column, count);
    }
    return ULP_OK;
}

static enum ulp_status run_all(struct work *work, struct ulp_pool *pool, struct ulp_error *error)
{
    struct ulp_budget *budget = ulp_pool_scratch(pool);
    const size_t lines = work->rows->group_count * work->rows->line_count,
                 panels = ulp_size_divide_up(work->columns->line_count, COLUMNS);
    const size_t planes = work->columns->shared ? work->columns->group_count * work->per_run : 0,
                 cells = work->columns->cell_count + COLUMNS;
    /* zeros: places that a run does not fill stay so */
    const struct {
        void *to;
        size_t count, bytes;
    } parts[] = {{&work->lines.twice, lines, work->stride * sizeof(int16_t)},
                 {&work->lines.scale, lines, work->group_count * sizeof(float)},
                 {&work->line_parts.nonzero, lines, work->group_count * sizeof(int16_t)},
                 {&work->line_parts.exponent, lines, work->group_count * sizeof(int16_t)},
                 {&work->line_parts.significand, lines, work->group_count * sizeof(float)},
                 {&work->line_bounds, lines, sizeof *work->line_bounds},
                 {&work->cells.twice, planes * work->width, cells * sizeof(int16_t)},
                 {&work->cells.scale, planes, cells * sizeof(float)},
                 {&work->cell_bounds, planes,
                  ulp_size_divide_up(work->columns->cell_count, CELLS) * sizeof(struct bounds)},
                 {&work->group_k, work->group_count, sizeof *work->group_k},
                 {&work->group_used, work->group_count, sizeof *work->group_used},
                 {&work->memory, (size_t)ulp_pool_thread_count(pool), work->panel_bytes}};
    void *memory[sizeof parts / sizeof *parts] = {NULL};
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == ULP_OK; i++) {
        status = ulp_allocate_zero(&memory[i], parts[i].count, parts[i].bytes, budget,
                                   "FP4 operands", error);
        if (status == ULP_OK)
            memcpy(parts[i].to, &memory[i], sizeof memory[i]);
    }
    if (status == ULP_OK)
        lay_groups(work);
    if (status == ULP_OK)
        status =
            ulp_parallel_for(pool, lines, ulp_grain((double)work->stride), read_rows, work, error);
    if (status == ULP_OK)
        status =
            ulp_parallel_for(pool, planes * ulp_size_divide_up(work->columns->cell_count, CELLS),
                             ulp_grain((double)(work->width * CELLS) / 4), read_cells, work, error);
    if (status == ULP_OK)
        status = ulp_parallel_for(pool, work->problem->batch_count * panels,
                                  ulp_grain((double)(work->stride * work->rows->line_count)),
                                  run_panels, work, error);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ulp_free(memory[i]);
    return status;
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
                        .loops = choose(cpu),
                        .emin = power ? -127 : -6,
                        .fraction = power ? 2 : 2 + 2 * 3,
                        .group_count = groups,
                        .per_run = groups / sides[0].run_count,
                        .width = width,
                        .stride = groups * width,
                        .per_scale = (size_t)sides[0].scaling->k / GROUP,
                        .alpha = sides[0].tensor_scale * sides[1].tensor_scale};
    work.panel_bytes = (work.stride + 6 * work.group_count) * sizeof(shorts) + SLACK;
    ULP_TRY(ulp_format_find("fp32", &fp32, error));
    ULP_TRY(ulp_output_make(&work.output, arithmetic, problem, &fp32, ULP_ELEMENT_F32, error));
    return run_all(&work, pool, error);
}
