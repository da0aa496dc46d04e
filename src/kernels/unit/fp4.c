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

typedef void run_fn(const struct line *row, const struct panel *panel, size_t group_count,
                    double *total);

static run_fn *choose(unsigned cpu)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (cpu & ULP_CPU_AVX512)
        return run_avx512;
    if (cpu & ULP_CPU_AVX2)
        return run_avx2;
#endif
    (void)cpu;
    return run_c;
}

/* What the workers share. */
struct work {
    const struct ulp_contraction *problem;
    const struct ulp_scaled *rows, *columns;
    const int64_t *row_out, *column_out;
    struct ulp_output output;
    run_fn *run;
    size_t group_count, stride, per_scale; /* groups of a line, its places; groups of a scale */
    int64_t *group_k;                      /* [group] its first k; -1: none */
    uint8_t *group_used;
    float alpha;
    struct line lines; /* of all rows */
    char *memory;      /* a panel for each worker */
    size_t panel_bytes;
};

/* One scale: Exp and Sig as the unit reads them; NaN stays NaN. */
static inline void split_scale(const struct ulp_scaled *s, float scale, int64_t *exponent,
                               double *significand)
{
    const int emin = ulp_scaling_is_power(s->scaling) ? -127 : -6;
    const int field = (int)(ulp_float_bits(scale) >> 23 & 255), e = field ? field - 127 : emin;
    *exponent = scale > 0 && e > emin ? e : emin;
    *significand = (double)scale * ulp_double_from((uint64_t)(1023 - *exponent) << 52); /* exact */
}

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

/* A group of a line, its elements `step` apart in `out`: which of them are not zero. */
static inline __attribute__((always_inline)) int64_t read_group(int16_t *out, size_t step,
                                                                const float *x, const int64_t *k,
                                                                size_t count)
{
    int64_t nonzero = 0;
    for (size_t i = 0; i < count; i++) {
        const float y = x[k[i]];
        out[i * step] = y == y ? (int16_t)(int32_t)(2 * y) : 0;
        nonzero |= (int64_t)(y != 0) << i;
    }
    return nonzero;
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
            split_scale(rows, scale, &work->lines.exponent[group], &work->lines.significand[group]);
            const int64_t nonzero =
                read_group(work->lines.twice + at * work->stride + g * GROUP, 1, x,
                           rows->k_offset + work->group_k[g], work->group_used[g]);
            work->lines.nonzero[group] = work->lines.significand[group] != 0 ? nonzero : 0;
        }
    }
    return ULP_OK;
}

static void read_panel(const struct work *work, struct panel *panel, size_t batch, size_t line,
                       size_t count)
{
    const struct ulp_scaled *columns = work->columns;
    const float *x[COLUMNS];
    size_t cell[COLUMNS];
    memset(panel->twice, 0, work->stride * sizeof *panel->twice);
    memset(panel->scales, 0, work->group_count * sizeof *panel->scales);
    for (size_t j = 0; j < count; j++) {
        x[j] = line_of(columns, batch, line + j);
        cell[j] = ulp_scaled_block(columns, batch, line + j, 0);
    }
    for (size_t g = 0; g < work->group_count; g++) {
        const size_t block = g / work->per_scale, /* from the line's first one */
            at = (size_t)(columns->run_cell[block / columns->run_blocks] - columns->run_cell[0]) *
                     columns->run_blocks +
                 block % columns->run_blocks;
        struct scales *s = &panel->scales[g];
        for (size_t j = 0; work->group_used[g] > 0 && j < count; j++) {
            int64_t exponent;
            double significand;
            split_scale(columns, columns->scale[cell[j] + at], &exponent, &significand);
            ((int64_t *)s->exponent)[j] = exponent;
            ((double *)s->significand)[j] = significand;
            const int64_t nonzero =
                read_group((int16_t *)&panel->twice[g * GROUP] + j, COLUMNS, x[j],
                           columns->k_offset + work->group_k[g], work->group_used[g]);
            ((int64_t *)s->nonzero)[j] = significand != 0 ? nonzero : 0;
        }
    }
}

static void run_panel(const struct work *work, const struct panel *panel, size_t batch,
                      size_t column, size_t count)
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
        work->run(&row, panel, work->group_count, total);
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
    const size_t stride =
        sides[0].run_count * ulp_size_round_up(sides[0].run, (size_t)sides[0].scaling->k);
    struct work work = {.problem = problem,
                        .rows = &sides[swapped],
                        .columns = &sides[!swapped],
                        .row_out = swapped ? problem->out_column_offset : problem->out_row_offset,
                        .column_out =
                            swapped ? problem->out_row_offset : problem->out_column_offset,
                        .run = choose(cpu),
                        .group_count = stride / GROUP,
                        .stride = stride,
                        .per_scale = (size_t)sides[0].scaling->k / GROUP,
                        .alpha = sides[0].tensor_scale * sides[1].tensor_scale};
    work.panel_bytes = stride * sizeof(shorts) + work.group_count * sizeof(struct scales) + 64;
    enum ulp_status status = ulp_format_find("fp32", &fp32, error);
    if (status == ULP_OK)
        status = ulp_output_make(&work.output, arithmetic, problem, &fp32, ULP_ELEMENT_F32, error);
    return status == ULP_OK ? run_all(&work, pool, error) : status;
}
