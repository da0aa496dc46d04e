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

/* Elements, and of each group its scale and, as bits, which of its elements are not zero; of a row,
 * or of a panel, where each has COLUMNS in place of one. */
struct line {
    int16_t *twice, *nonzero, *exponent;
    float *significand;
};
struct panel {
    shorts *twice; /* [k] */
    shorts *nonzero, *exponent;
    floats (*significand)[2];
};

/* A group of lines: elements `step` cells apart, and their scales. */
struct source {
    const float *x, *scale;
    ptrdiff_t step, scale_step;
    const int64_t *k;
    size_t used;
    int emin; /* of scales */
};

/* The element doubled; NaN is 0, as its scale is NaN. Is it another than zero? */
static inline __attribute__((always_inline)) int16_t read_element(int16_t *out, float x)
{
    *out = (int16_t)(int32_t)(x == x ? 2 * x : 0);
    return x != 0;
}

/* The loops of one instruction set: rows times a panel, and what reads both: elements of one k lie
 * `apart`. */
struct loops {
    void (*run)(const struct line *row, const struct panel *panel, size_t group_count, size_t width,
                double *total);
    void (*read)(struct line out, size_t apart, const struct source *from, size_t count);
};

#define TARGET
#define SUFFIX c
#include "kernels/unit/fp4_template.h"
#undef TARGET
#undef SUFFIX
#if defined(__x86_64__) && defined(__GNUC__)
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
#if defined(__x86_64__) && defined(__GNUC__)
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
    int emin; /* of scales */
    /* groups of a line; places of a group, fewer where runs are shorter, and of a line; groups of a
     * scale */
    size_t group_count, width, stride, per_scale;
    int64_t *group_k; /* [group] its first k */
    uint8_t *group_used;
    float alpha;
    struct line lines; /* of all rows */
    size_t per_run;    /* groups of a run */
    struct line cells; /* that columns share, [batch][group of a run][element][cell] */
    char *memory;      /* a panel for each worker */
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
        for (size_t g = 0; g < work->group_count; g++) {
            const size_t group = at * work->group_count + g;
            const struct line out = {work->lines.twice + at * work->stride + g * work->width,
                                     work->lines.nonzero + group, work->lines.exponent + group,
                                     work->lines.significand + group};
            const struct source from = {.x = line_of(rows, batch, line),
                                        .scale =
                                            rows->scale + ulp_scaled_block(rows, batch, line,
                                                                           g / work->per_scale),
                                        .k = rows->k_offset + work->group_k[g],
                                        .used = work->group_used[g],
                                        .emin = work->emin};
            work->loops->read(out, 1, &from, 1);
        }
    }
    return ULP_OK;
}

/* Cells that lines share, each read once: `first` and on of a batch, of a group of their run. */
static void read_cells_from(const struct work *work, size_t batch, size_t g, size_t first,
                            size_t count)
{
    const struct ulp_scaled *columns = work->columns;
    const size_t cells = columns->cell_count, at = (batch * work->per_run + g) * cells + first;
    const struct line out = {
        work->cells.twice + (batch * work->per_run * work->width + g * work->width) * cells + first,
        work->cells.nonzero + at, work->cells.exponent + at, work->cells.significand + at};
    const struct source from = {.x = (const float *)columns->elements.data +
                                     batch * columns->run * cells + first - columns->run_cell[0],
                                .scale = columns->scale +
                                         (batch * cells + first) * columns->run_blocks +
                                         g / work->per_scale,
                                .step = 1,
                                .scale_step = (ptrdiff_t)columns->run_blocks,
                                .k = columns->k_offset + work->group_k[g],
                                .used = work->group_used[g],
                                .emin = work->emin};
    work->loops->read(out, cells, &from, count);
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
                        ulp_size_min(CELLS, cells - part));
    }
    return ULP_OK;
}

/* Columns whose cells lie `step` apart from `cell` on. */
struct piece {
    size_t first, count;
    ptrdiff_t step, cell;
};

/* Where a group's first cell is in a plane with one value of each cell. */
static size_t plane_of(const struct work *work, size_t first, size_t g)
{
    const struct ulp_scaled *columns = work->columns;
    return (first + g % work->per_run) * columns->cell_count +
           (size_t)columns->run_cell[g / work->per_run];
}

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
    for (size_t at = 0; at < work->stride; at++) {
        const size_t g = at / work->width, plane = (own + g % per_run) * work->width;
        copy_columns(panel->twice + at,
                     work->cells.twice + (plane + at % work->width) * cells +
                         columns->run_cell[g / per_run],
                     sizeof(int16_t), pieces, n);
    }
    for (size_t g = 0; g < work->group_count; g++)
        copy_columns(panel->nonzero + g, work->cells.nonzero + plane_of(work, own, g),
                     sizeof(int16_t), pieces, n);
    for (size_t g = 0; g < work->group_count; g++)
        copy_columns(panel->exponent + g, work->cells.exponent + plane_of(work, own, g),
                     sizeof(int16_t), pieces, n);
    for (size_t g = 0; g < work->group_count; g++)
        copy_columns(panel->significand + g, work->cells.significand + plane_of(work, own, g),
                     sizeof(float), pieces, n);
}

/* Columns with cells of their own. */
static void read_panel(const struct work *work, struct panel *panel, size_t batch, size_t line,
                       size_t count)
{
    const struct ulp_scaled *columns = work->columns;
    struct source from = {.x = line_of(columns, batch, line),
                          .step = (ptrdiff_t)(columns->run_count * columns->run),
                          .scale_step = (ptrdiff_t)columns->block_count,
                          .emin = work->emin};
    const float *const scale = columns->scale + ulp_scaled_block(columns, batch, line, 0);
    for (size_t g = 0; g < work->group_count; g++) {
        const struct line out = {(int16_t *)&panel->twice[g * work->width],
                                 (int16_t *)&panel->nonzero[g], (int16_t *)&panel->exponent[g],
                                 (float *)&panel->significand[g]};
        from.scale = scale + g / work->per_scale;
        from.k = columns->k_offset + work->group_k[g];
        from.used = work->group_used[g];
        if (from.used)
            work->loops->read(out, COLUMNS, &from, count);
    }
}

ULP_VECTORISE static void run_panel(const struct work *work, const struct panel *panel,
                                    size_t batch, size_t column, size_t count)
{
    const struct ulp_contraction *p = work->problem;
    const int64_t base = p->out_batch_offset ? p->out_batch_offset[batch] : 0;
    const size_t rows = work->rows->line_count,
                 shift = work->rows->group_count > 1 ? batch * rows : 0;
    for (size_t i = 0; i < rows; i++) {
        const size_t line = shift + i, group = line * work->group_count;
        const struct line row = {work->lines.twice + line * work->stride,
                                 work->lines.nonzero + group, work->lines.exponent + group,
                                 work->lines.significand + group};
        double total[COLUMNS] __attribute__((aligned(64)));
        float strip[COLUMNS];
        work->loops->run(&row, panel, work->group_count, work->width, total);
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
    panel.nonzero = panel.twice + work->stride;
    panel.exponent = panel.nonzero + work->group_count;
    panel.significand = (floats(*)[2])(void *)(panel.exponent + work->group_count);
    for (size_t item = first; item < last; item++) {
        const size_t batch = item / panels, column = item % panels * COLUMNS,
                     count = ulp_size_min(COLUMNS, work->columns->line_count - column);
        if (item == first || work->columns->group_count > 1 || panels > 1)
            (work->columns->shared ? copy_panel : read_panel)(work, &panel, batch, column, count);
        run_panel(work, &panel, batch, column, count);
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
                 {&work->lines.nonzero, lines, work->group_count * sizeof(int16_t)},
                 {&work->lines.exponent, lines, work->group_count * sizeof(int16_t)},
                 {&work->lines.significand, lines, work->group_count * sizeof(float)},
                 {&work->cells.twice, planes * work->width, cells * sizeof(int16_t)},
                 {&work->cells.nonzero, planes, cells * sizeof(int16_t)},
                 {&work->cells.exponent, planes, cells * sizeof(int16_t)},
                 {&work->cells.significand, planes, cells * sizeof(float)},
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
                        .emin = ulp_scaling_is_power(sides[0].scaling) ? -127 : -6,
                        .group_count = groups,
                        .per_run = groups / sides[0].run_count,
                        .width = width,
                        .stride = groups * width,
                        .per_scale = (size_t)sides[0].scaling->k / GROUP,
                        .alpha = sides[0].tensor_scale * sides[1].tensor_scale};
    work.panel_bytes = (work.stride + 4 * work.group_count) * sizeof(shorts) + SLACK;
    ULP_TRY(ulp_format_find("fp32", &fp32, error));
    ULP_TRY(ulp_output_make(&work.output, arithmetic, problem, &fp32, ULP_ELEMENT_F32, error));
    return run_all(&work, pool, error);
}
