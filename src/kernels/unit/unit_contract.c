/* Contractions on a matrix unit: choosing which factor gives the rows, and how the columns are
 * read. */
#include <math.h>

#include "base/machine/cpu.h"
#include "base/error.h"
#include "kernels/unit/work.h"

enum { COLUMNS = ULP_UNIT_COLUMNS };

/* Which factor gives the columns: a if swapped. */
static void set_sides(struct ulp_unit_work *work, bool swapped)
{
    const struct ulp_contraction *p = work->problem;
    const struct ulp_unit_side a = {ulp_pack_make(work->arithmetic, p, 0), p->m, p->out_row_offset};
    const struct ulp_unit_side b = {ulp_pack_make(work->arithmetic, p, 1), p->n,
                                    p->out_column_offset};
    const int64_t *column_batches = swapped ? p->a.batch_offset : p->b.batch_offset;
    work->rows = swapped ? b : a;
    work->columns = swapped ? a : b;
    work->shared = true;
    for (size_t g = 1; column_batches && g < p->batch_count; g++)
        work->shared &= column_batches[g] == column_batches[0];
    work->out_is_run = work->arithmetic->rounding != ULP_ROUND_STOCHASTIC &&
                       ulp_output_is_run(work->columns.out_offset, work->columns.count);
}

/* Nanoseconds with AVX-512, measured: only their ratios matter, and these are much the same
 * everywhere. */
static double cost_of_rows(const struct ulp_unit_work *work, double places, double place,
                           double product)
{
    const double k = (double)work->problem->k, rows = (double)work->rows.count,
                 columns = (double)work->columns.count;
    const double decoded = ulp_unit_form_serves(work, false) ? 0 : k;
    return rows *
           (decoded + columns * (work->out_is_run ? 0.2 : 1.5) + places * (place + product * k));
}

static double cost_of_panels(const struct ulp_unit_work *work)
{
    const double panels = (double)((work->columns.count + COLUMNS - 1) / COLUMNS);
    const double decoded = ulp_unit_form_serves(work, true) ? 0 : 10 * (double)work->problem->k;
    return panels * (200 + decoded) + cost_of_rows(work, panels, 10, 2.4);
}

static double cost_of_column_map(const struct ulp_unit_work *work,
                                 const struct ulp_unit_column_map *map)
{
    return 0.3 * (double)map->plane_length * (double)map->step +
           cost_of_rows(work, (double)map->place_count, 10, 2.8);
}

/* Can the columns be read where they lie? */
static bool find_column_map(const struct ulp_unit_work *work, struct ulp_unit_column_map *map)
{
    const struct ulp_pack *pack = &work->columns.pack;
    return work->arithmetic->rounding != ULP_ROUND_STOCHASTIC &&
           pack->factor->tensor->element == ULP_ELEMENT_F32 &&
           !(pack->round && pack->rounding == ULP_ROUND_STOCHASTIC) &&
           ulp_unit_column_map_measure(map, pack->factor, work->columns.count, work->problem->k);
}

static enum ulp_status contract_in_place(struct ulp_unit_work *work,
                                         struct ulp_unit_column_map *map, struct ulp_pool *pool,
                                         struct ulp_error *error)
{
    enum ulp_status status =
        ulp_unit_column_map_create(map, work->columns.pack.factor, work->columns.count,
                                   &work->layout, ulp_pool_scratch(pool), error);
    if (status == ULP_OK)
        status = ulp_unit_run_inplace(work, map, pool, error);
    ulp_unit_column_map_free(map);
    return status;
}

static enum ulp_status contract(struct ulp_unit_work *work, struct ulp_pool *pool,
                                struct ulp_error *error)
{
    const bool swappable = work->arithmetic->rounding != ULP_ROUND_STOCHASTIC;
    double best = 0;
    bool best_swapped = false, in_place = false;
    struct ulp_unit_column_map map = {0}, best_map = {0};
    for (int swapped = 0; swapped <= swappable; swapped++) {
        set_sides(work, swapped);
        const double panels = cost_of_panels(work);
        if (!swapped || panels < best) {
            best = panels;
            best_swapped = swapped;
            in_place = false;
        }
        if (work->problem->onto || !find_column_map(work, &map))
            continue;
        const double cost = cost_of_column_map(work, &map);
        if (cost < best) {
            best = cost;
            best_swapped = swapped;
            in_place = true;
            best_map = map;
        }
    }
    set_sides(work, best_swapped);
    ulp_unit_forms_open(work, true, !in_place, pool);
    work->special_rows = ulp_unit_side_is_special(work, false, pool);
    /* as ulp_pack_meets_padding says, the rows looked at once */
    work->padding = (work->columns.pack.factor->padding && work->special_rows) ||
                    (work->rows.pack.factor->padding && ulp_unit_side_is_special(work, true, pool));
    const enum ulp_status status = in_place ? contract_in_place(work, &best_map, pool, error)
                                            : ulp_unit_run_panels(work, pool, error);
    ulp_unit_forms_close(work);
    return status;
}

static enum ulp_status make_output(struct ulp_unit_work *work, struct ulp_error *error)
{
    const struct ulp_schedule *schedule = &work->arithmetic->schedule;
    struct ulp_format sum = work->arithmetic->accumulator;
    if (schedule->promote > 0) /* its sums are FP32 whatever the accumulator is */
        ulp_format_find("fp32", &sum, NULL);
    return ulp_output_make(&work->output, work->arithmetic, work->problem, &sum, ULP_ELEMENT_F32,
                           error);
}

enum ulp_status ulp_unit_contract(unsigned cpu, const struct ulp_unit *unit,
                                  const struct ulp_arithmetic *arithmetic,
                                  const struct ulp_contraction *problem, struct ulp_pool *pool,
                                  struct ulp_error *error)
{
    const bool scaled = unit->kind == ULP_UNIT_SCALED && problem->a.exponent && problem->b.exponent;
    if (unit->kind != ULP_UNIT_TRUNCATED && unit->kind != ULP_UNIT_HALVES && !scaled)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "arithmetic %s: contractions do not run on the unit %s.%s.%s.%s",
                        arithmetic->name, unit->gpu, unit->unit_class, unit->input,
                        unit->accumulator);
    if (problem->batch_count == 0 || problem->m == 0 || problem->n == 0)
        return ULP_OK;
    struct ulp_unit_work work = {.arithmetic = arithmetic,
                                 .unit = unit,
                                 .problem = problem,
                                 .instance = ulp_unit_choose(cpu)};
    enum ulp_status status = make_output(&work, error);
    if (status == ULP_OK)
        status = ulp_unit_layout_create(&work.layout, unit, &arithmetic->schedule, problem->k,
                                        scaled ? problem->k_run : 0, ulp_pool_scratch(pool), error);
    if (status == ULP_OK && problem->onto && (!work.layout.one_chain || problem->store))
        status =
            ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                     "arithmetic %s: sums that begin with others are one chain", arithmetic->name);
    if (status == ULP_OK)
        status = contract(&work, pool, error);
    ulp_unit_layout_free(&work.layout);
    return status;
}

enum ulp_status ulp_contract_unit(const struct ulp_arithmetic *arithmetic,
                                  const struct ulp_contraction *problem, struct ulp_pool *pool,
                                  struct ulp_error *error)
{
    const struct ulp_unit *unit = ulp_unit_of(arithmetic, error);
    return unit ? ulp_unit_contract(ulp_cpu_features(), unit, arithmetic, problem, pool, error)
                : ULP_ERROR_UNSUPPORTED;
}
