/* Contractions on block-scaled units of FP4 (ULP_UNIT_SCALED_GROUPS), equal to the oracle on every
 * bit.
 *
 * Elements are held doubled, as integers of at most 12, so that a group's 16 products sum to at
 * most 2304 quarters in int16. A group's term, that sum times two scales' significands of 4 bits,
 * has at most 20 bits: exact in double. Aligned to the largest exponent e it is below 2^(F + 12),
 * and five of them add exactly in double's 53 bits; so truncation, sum and conversion are those of
 * unit.c's integers. A scale of NaN has a significand that is NaN. */
#include "kernels/unit/fp4.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/machine/cpu.h"
#include "base/memory/alloc.h"
#include "base/vectorise.h"
#include "kernels/operand/output.h"
#include "kernels/unit/fast.h"

enum { COLUMNS = ULP_UNIT_COLUMNS, GROUP = 16, GROUPS = 4, LANES = 8, PARTS = COLUMNS / LANES };
enum { FRACTION_BITS = 35, LOWEST = -139 }; /* of every such unit; the tests walk the table */

typedef double doubles __attribute__((vector_size(64)));
typedef int64_t longs __attribute__((vector_size(64)));
typedef int16_t shorts __attribute__((vector_size(64)));
typedef int16_t shorts8 __attribute__((vector_size(16)));

/* A row: elements, and of each group its scale and which of its elements are not zero. */
struct line {
    int16_t *twice;
    int64_t *nonzero, *exponent;
    double *significand;
};
struct scales {
    longs nonzero[PARTS], exponent[PARTS];
    doubles significand[PARTS];
};
struct panel {
    shorts *twice; /* [k] */
    struct scales *scales;
};

/* The element doubled; NaN is 0, as its scale is NaN. Is it another than zero? */
static inline __attribute__((always_inline)) bool read_element(int16_t *out, float x)
{
    *out = x == x ? (int16_t)(int32_t)(2 * x) : 0;
    return x != 0;
}

/* The loops of one instruction set: rows times a panel, and what reads panels. */
struct loops {
    void (*run)(const struct line *row, const struct panel *panel, size_t group_count, size_t width,
                double *total);
    void (*split)(int64_t *exponent, double *significand, const float *scale, ptrdiff_t step,
                  size_t count, int emin);
    void (*read)(int16_t *out, int64_t *nonzero, const float *x, ptrdiff_t step, const int64_t *k,
                 size_t used, size_t count);
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
    int64_t *group_k; /* [group] its first k; -1: none */
    uint8_t *group_used;
    float alpha;
    struct line lines; /* of all rows */
    char *memory;      /* a panel for each worker */
    size_t panel_bytes;
};

/* Where the groups' k are: those of a run are filled up to whole blocks. */
static void lay_groups(const struct work *work)
{
    const size_t run = work->rows->run, per_run = work->group_count / work->rows->run_count;
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
        const float *x = line_of(rows, batch, line);
        memset(work->lines.twice + at * work->stride, 0, work->stride * sizeof(int16_t));
        for (size_t g = 0; g < work->group_count; g++) {
            const size_t group = at * work->group_count + g;
            const float scale =
                rows->scale[ulp_scaled_block(rows, batch, line, g / work->per_scale)];
            int16_t *const twice = work->lines.twice + at * work->stride + g * work->width;
            int64_t nonzero = 0;
            work->loops->split(&work->lines.exponent[group], &work->lines.significand[group],
                               &scale, 0, 1, work->emin);
            for (size_t i = 0; i < work->group_used[g]; i++)
                nonzero |= (int64_t)read_element(&twice[i],
                                                 x[rows->k_offset[work->group_k[g] + (int64_t)i]])
                           << i;
            work->lines.nonzero[group] = work->lines.significand[group] != 0 ? nonzero : 0;
        }
    }
    return ULP_OK;
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

static void read_panel(const struct work *work, struct panel *panel, size_t batch, size_t line,
                       size_t count)
{
    const struct ulp_scaled *columns = work->columns;
    const bool filled = count == COLUMNS && work->width < GROUP;
    size_t piece;
    ptrdiff_t step;
    if (!filled) /* groups that a run does not fill, columns that are not there */
        memset(panel->twice, 0, work->stride * sizeof *panel->twice);
    memset(panel->scales, 0, work->group_count * sizeof *panel->scales);
    for (size_t j = 0; j < count; j += piece) {
        piece = find_piece(columns, line + j, count - j, &step);
        const float *const x = line_of(columns, batch, line + j), *const scale =
                                                                      columns->scale +
                                                                      ulp_scaled_block(columns,
                                                                                       batch,
                                                                                       line + j, 0);
        const ptrdiff_t apart = columns->shared ? step : step * (ptrdiff_t)columns->run,
                        scales_apart = step * (ptrdiff_t)columns->run_blocks;
        for (size_t g = 0; g < work->group_count; g++) {
            const size_t block = g / work->per_scale; /* from the line's first one */
            const ptrdiff_t at =
                (ptrdiff_t)(columns->run_cell[block / columns->run_blocks] - columns->run_cell[0]) *
                    (ptrdiff_t)columns->run_blocks +
                (ptrdiff_t)(block % columns->run_blocks);
            struct scales *s = &panel->scales[g];
            int64_t *const nonzero = (int64_t *)s->nonzero + j;
            double *const significand = (double *)s->significand + j;
            if (!work->group_used[g])
                continue;
            work->loops->split((int64_t *)s->exponent + j, significand, scale + at, scales_apart,
                               piece, work->emin);
            work->loops->read((int16_t *)&panel->twice[g * work->width] + j, nonzero, x, apart,
                              columns->k_offset + work->group_k[g], work->group_used[g], piece);
            for (size_t i = 0; i < piece; i++)
                nonzero[i] = significand[i] != 0 ? nonzero[i] : 0;
        }
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
    struct panel panel = {(shorts *)(void *)memory,
                          (struct scales *)(void *)(memory + work->stride * sizeof(shorts))};
    for (size_t item = first; item < last; item++) {
        const size_t batch = item / panels, column = item % panels * COLUMNS,
                     count = ulp_size_min(COLUMNS, work->columns->line_count - column);
        if (item == first || work->columns->group_count > 1 || panels > 1)
            read_panel(work, &panel, batch, column, count);
        run_panel(work, &panel, batch, column, count);
    }
    return ULP_OK;
}

static enum ulp_status run_all(struct work *work, struct ulp_pool *pool, struct ulp_error *error)
{
    struct ulp_budget *budget = ulp_pool_scratch(pool);
    const size_t lines = work->rows->group_count * work->rows->line_count,
                 panels = ulp_size_divide_up(work->columns->line_count, COLUMNS);
    const struct {
        void *to;
        size_t count, bytes;
    } parts[] = {{&work->lines.twice, lines, work->stride * sizeof(int16_t)},
                 {&work->lines.nonzero, lines, work->group_count * sizeof(int64_t)},
                 {&work->lines.exponent, lines, work->group_count * sizeof(int64_t)},
                 {&work->lines.significand, lines, work->group_count * sizeof(double)},
                 {&work->group_k, work->group_count, sizeof *work->group_k},
                 {&work->group_used, work->group_count, sizeof *work->group_used},
                 {&work->memory, (size_t)ulp_pool_thread_count(pool), work->panel_bytes}};
    void *memory[sizeof parts / sizeof *parts] = {NULL};
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == ULP_OK; i++) {
        status =
            ulp_allocate(&memory[i], parts[i].count, parts[i].bytes, budget, "FP4 operands", error);
        if (status == ULP_OK)
            memcpy(parts[i].to, &memory[i], sizeof memory[i]);
    }
    if (status == ULP_OK)
        lay_groups(work);
    if (status == ULP_OK)
        status =
            ulp_parallel_for(pool, lines, ulp_grain((double)work->stride), read_rows, work, error);
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
                        .width = width,
                        .stride = groups * width,
                        .per_scale = (size_t)sides[0].scaling->k / GROUP,
                        .alpha = sides[0].tensor_scale * sides[1].tensor_scale};
    work.panel_bytes = work.stride * sizeof(shorts) + work.group_count * sizeof(struct scales) + 64;
    ULP_TRY(ulp_format_find("fp32", &fp32, error));
    ULP_TRY(ulp_output_make(&work.output, arithmetic, problem, &fp32, ULP_ELEMENT_F32, error));
    return run_all(&work, pool, error);
}
