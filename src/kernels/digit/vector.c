/* Running digit/vector.h: rows are cut into digits first, columns while they are multiplied. */
#include "kernels/digit/vector.h"

#include <math.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "kernels/operand/operand_special.h"
#include "kernels/digit/cut.h"

#define ROWS_MAX 4 /* with more, written digits pay */
/* At most 33 flushes (vector_x86.c), each of less than 16 * 2^52: sums stay far below 2^63. */
#define K_MAX 65536

struct run {
    const struct ulp_wide_plan *plan;
    const struct ulp_wide_call *call;
    struct ulp_wide_panel *rows; /* of one row each */
    int64_t k_step;
    struct ulp_budget *scratch;
};

bool ulp_wide_vector_serves(const struct ulp_wide_call *call, const struct ulp_wide_tile *tile)
{
    const struct ulp_contraction *problem = &call->problem;
    const struct ulp_factor *b = &problem->b;
    return tile->vector && problem->m <= ROWS_MAX && problem->batch_count == 1 &&
           problem->k <= K_MAX && b->tensor->element == ULP_ELEMENT_F32 &&
           (ulp_offset_step(b->k_offset, problem->k) == 1 ||
            (ulp_offset_step(b->k_offset, problem->k) != 0 &&
             ulp_offset_step(b->line_offset, problem->n) == 1)) &&
           !ulp_any_beyond(problem->a.tensor, INFINITY, call->pool);
}

/* The columns' scales, and how many digits they have. */
static void measure_columns(struct ulp_wide_panel *panel, double *scale, const struct run *run,
                            const struct ulp_wide_floats *floats)
{
    const int first_bits = run->plan->tile->integer ? 51 : run->plan->scheme.bits[panel->side] - 1;
    int32_t largest[ULP_WIDE_VECTOR_COLUMNS], smallest_less_1[ULP_WIDE_VECTOR_COLUMNS];
    run->plan->tile->vector->scan(largest, smallest_less_1, floats);
    panel->irregular = true;
    for (size_t c = 0; c < panel->count; c++) {
        panel->lines[c] = ulp_wide_line_of_floats(largest[c], smallest_less_1[c]);
        panel->irregular &= panel->lines[c].irregular;
        scale[c] =
            panel->lines[c].irregular ? 0 : ldexp(1, first_bits - (int)panel->lines[c].exponent);
    }
    ulp_wide_choose_digits(panel, run->plan);
}

/* The sums of a row with columns that are one digit each. */
static void add_floats(int64_t *sums, struct ulp_wide_panel *panel, const struct run *run,
                       const struct ulp_wide_layout *layout, const struct ulp_wide_panel *row,
                       const struct ulp_wide_floats *floats, const double *scale)
{
    int64_t digit_sums[2 * ULP_WIDE_VECTOR_COLUMNS] = {0},
                           by_line[ULP_WIDE_COLUMNS_MAX][ULP_WIDE_POSITIONS_MAX + 2];
    run->plan->tile->vector->sum(sums, layout->positions, digit_sums, panel->width, row->data,
                                 run->plan->k, row->digits, floats, scale);
    for (size_t c = 0; c < panel->width; c++) {
        by_line[c][0] = digit_sums[c] + (digit_sums[panel->width + c] >> 52);
        by_line[c][1] = digit_sums[panel->width + c] & (((int64_t)1 << 52) - 1);
    }
    ulp_wide_halve(panel, run->plan, by_line);
}

/* A worker's memory. */
struct scratch {
    int64_t *sums, *half_sums;
    uint64_t *data; /* digits of columns that have several; created when first needed */
    struct ulp_wide_kulisch *kulisch;
};

/* The sums of a row with columns that are two double digits each at most. What is left after the
 * first digit of `bits` is cut in the second of as many. */
static void add_pairs(int64_t *sums, const struct run *run, struct ulp_wide_layout *layout,
                      const struct ulp_wide_panel *row, const struct ulp_wide_panel *panel,
                      const struct ulp_wide_floats *floats, const double *scale)
{
    const struct ulp_wide_plan *plan = run->plan;
    const struct ulp_wide_scheme *scheme = &plan->scheme;
    const size_t exact = ulp_wide_addends_max(false, scheme->bits[0] + scheme->bits[1]);
    struct ulp_wide_tails tails;
    int64_t unused[ULP_WIDE_VECTOR_COLUMNS];
    struct ulp_wide_pairs pairs = {.digits = row->digits,
                                   .tail = !row->exact,
                                   .addends = exact < (size_t)scheme->chain ? exact
                                                                            : (size_t)scheme->chain,
                                   .column = floats->column,
                                   .k_step = floats->k_step,
                                   .columns = floats->columns,
                                   .scale = scale,
                                   .step = ldexp(1, scheme->bits[1])};
    for (int i = 0; i < row->digits; i++)
        for (int j = 0; j < 2; j++) {
            int p = 0;
            while (layout->weights[p] != scheme->bits[0] * i + scheme->bits[1] * j &&
                   p < layout->positions - 1)
                p++;
            pairs.sums[2 * i + j] =
                j < panel->digits ? sums + (size_t)(p + 1) * panel->width : unused;
        }
    if (pairs.tail) {
        /* the last tail is that of the whole floats */
        ulp_wide_make_tails(&tails, panel, scheme);
        pairs.to_tail = ldexp(tails.tails[tails.count - 1].scale, 63 - scheme->bits[1]);
        pairs.sums[2 * row->digits] = sums + (size_t)layout->positions * panel->width;
    }
    for (size_t first = 0; first < plan->k; first += plan->k_block) {
        const size_t left = plan->k - first;
        pairs.k_count = left < plan->k_block ? left : plan->k_block;
        pairs.x = (const double *)row->data + first * (size_t)row->arrays;
        pairs.stride = pairs.k_count;
        pairs.floats = floats->data + (int64_t)first * floats->k_step;
        memset(unused, 0, sizeof unused);
        plan->tile->vector->pairs(&pairs);
        layout->ends += 8; /* lanes */
    }
}

/* Can add_pairs serve the row? */
static bool are_pairs(const struct run *run, const struct ulp_wide_panel *row,
                      const struct ulp_wide_panel *panel)
{
    const struct ulp_wide_scheme *scheme = &run->plan->scheme;
    return scheme->deep == 0 && panel->exact && panel->digits <= 2 &&
           panel->digits <= scheme->met[row->digits - 1];
}

static enum ulp_status run_columns(const struct run *run, struct scratch *scratch, size_t first,
                                   struct ulp_error *error)
{
    const struct ulp_contraction *problem = &run->call->problem;
    const struct ulp_wide_plan *plan = run->plan;
    const size_t left = problem->n - first, most = plan->tile->vector->columns,
                 count = left < most ? left : most;
    struct ulp_wide_panel panel = {.first = first,
                                   .side = 1,
                                   .count = count,
                                   .width = (count + 7) / 8 * 8,
                                   .half_sums = scratch->half_sums,
                                   .data = scratch->data};
    const struct ulp_wide_floats floats = {
        .data = (const float *)problem->b.tensor->data + problem->b.k_offset[0] +
                (problem->b.batch_offset ? problem->b.batch_offset[0] : 0),
        .column = problem->b.line_offset + first,
        .k_step = run->k_step,
        .columns = count,
        .k_count = problem->k};
    double scale[ULP_WIDE_VECTOR_COLUMNS];
    enum ulp_status status = ULP_OK;
    measure_columns(&panel, scale, run, &floats);
    const bool integer = plan->tile->integer, one_digit = panel.exact && panel.digits == 1;
    bool in_registers = true;
    for (size_t row = 0; row < problem->m; row++)
        in_registers &= integer ? one_digit : are_pairs(run, &run->rows[row], &panel);
    if (!in_registers && !panel.irregular) {
        void *data = scratch->data;
        if (!data)
            status =
                ulp_allocate(&data, 1, ulp_wide_panel_data_bytes(plan, 1, ULP_WIDE_VECTOR_COLUMNS),
                             run->scratch, "digits of columns", error);
        if (status != ULP_OK)
            return status;
        panel.data = scratch->data = data;
        ulp_wide_cut(&panel, plan, &problem->b, 0);
    }
    for (size_t row = 0; row < problem->m && status == ULP_OK; row++) {
        struct ulp_wide_layout layout;
        ulp_wide_tile_lay(&layout, plan, &run->rows[row], &panel);
        memset(scratch->sums, 0,
               (size_t)(plan->positions + 2) * panel.width * sizeof *scratch->sums);
        if (panel.irregular || run->rows[row].irregular)
            ;
        else if (!in_registers)
            for (size_t block = 0; block * plan->k_block < plan->k; block++)
                ulp_wide_tile_add(scratch->sums, plan, &layout, &run->rows[row], &panel, block);
        else if (integer)
            add_floats(scratch->sums, &panel, run, &layout, &run->rows[row], &floats, scale);
        else
            add_pairs(scratch->sums, run, &layout, &run->rows[row], &panel, &floats, scale);
        status = ulp_wide_tile_store(scratch->sums, plan, run->call, 0, &layout, &run->rows[row],
                                     &panel, scratch->kulisch, error);
    }
    return status;
}

ULP_WORK(work_on_columns)
{
    const struct run *run = context;
    struct scratch scratch = {0};
    void *sums = NULL, *half_sums = NULL;
    enum ulp_status status = ulp_wide_kulisch_create(&scratch.kulisch, run->scratch, error);
    if (status == ULP_OK)
        status = ulp_allocate(&sums, (size_t)(run->plan->positions + 2) * ULP_WIDE_VECTOR_COLUMNS,
                              sizeof(int64_t), run->scratch, "sums of a contraction", error);
    if (status == ULP_OK)
        status = ulp_allocate(&half_sums, 1, ulp_wide_panel_half_bytes(run->plan), run->scratch,
                              "sums of a contraction", error);
    scratch.sums = sums;
    scratch.half_sums = half_sums;
    for (size_t i = first; i < last && status == ULP_OK; i++)
        status = run_columns(run, &scratch, i * run->plan->tile->vector->columns, error);
    ulp_wide_kulisch_free(scratch.kulisch);
    ulp_free(scratch.data);
    ulp_free(half_sums);
    ulp_free(sums);
    return status;
}

static enum ulp_status cut_rows(const struct run *run, uint64_t *data, int64_t *half_sums,
                                bool *fit)
{
    const struct ulp_contraction *problem = &run->call->problem;
    *fit = true;
    for (size_t i = 0; i < problem->m; i++) {
        struct ulp_wide_panel *row = &run->rows[i];
        *row = (struct ulp_wide_panel){.first = i, .count = 1, .width = 1};
        row->data = data + i * (ulp_wide_panel_data_bytes(run->plan, 0, 1) / sizeof *data);
        row->half_sums = half_sums + i * (ulp_wide_panel_half_bytes(run->plan) / sizeof *half_sums);
        ulp_wide_pack(row, run->plan, &problem->a, 0);
        *fit &= row->digits <= run->plan->tile->vector->digits_max;
    }
    return ULP_OK;
}

enum ulp_status ulp_wide_run_vector(const struct ulp_wide_plan *plan,
                                    const struct ulp_wide_call *call, bool *done,
                                    struct ulp_pool *pool, struct ulp_error *error)
{
    const struct ulp_contraction *problem = &call->problem;
    struct ulp_wide_plan whole = *plan; /* integers: k in one block */
    if (whole.tile->integer)
        whole.k_block = plan->k;
    struct run run = {.plan = &whole,
                      .call = call,
                      .scratch = ulp_pool_scratch(pool),
                      .k_step = ulp_offset_step(problem->b.k_offset, problem->k)};
    ULP_SCOPED(ulp_free_of) void *rows = NULL;
    ULP_SCOPED(ulp_free_of) void *data = NULL;
    ULP_SCOPED(ulp_free_of) void *half_sums = NULL;
    ULP_TRY(ulp_allocate(&rows, problem->m, sizeof *run.rows, run.scratch, "rows", error));
    ULP_TRY(ulp_allocate(&data, problem->m, ulp_wide_panel_data_bytes(&whole, 0, 1), run.scratch,
                         "digits of rows", error));
    ULP_TRY(ulp_allocate(&half_sums, problem->m, ulp_wide_panel_half_bytes(&whole), run.scratch,
                         "digits of rows", error));
    run.rows = rows;
    ULP_TRY(cut_rows(&run, data, half_sums, done));
    if (*done) {
        const size_t most = whole.tile->vector->columns, groups = (problem->n + most - 1) / most;
        ULP_TRY(ulp_parallel_for(pool, groups, 1 + 65536 / (most * (problem->k + 1)),
                                 work_on_columns, &run, error));
    }
    return ULP_OK;
}
