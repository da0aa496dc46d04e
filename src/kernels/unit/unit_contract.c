/* Contractions on a matrix unit: choosing which factor gives the rows. */

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
    work->out_is_run = ulp_output_is_run(work->columns.out_offset, work->columns.count);
}

/* Nanoseconds, measured: only their ratios matter, and these are much the same everywhere. */
static double find_cost(const struct ulp_unit_work *work)
{
    const double k = (double)work->problem->k, rows = (double)work->rows.count,
                 columns = (double)work->columns.count,
                 panels = (double)((work->columns.count + COLUMNS - 1) / COLUMNS);
    return panels * (200 + 10 * k) +
           rows * (k + columns * (work->out_is_run ? 0.2 : 1.5) + panels * (10 + 2.4 * k));
}

static enum ulp_status contract(struct ulp_unit_work *work, struct ulp_pool *pool,
                                struct ulp_error *error)
{
    set_sides(work, false);
    const double cost = find_cost(work);
    set_sides(work, true);
    if (work->arithmetic->rounding == ULP_ROUND_STOCHASTIC || find_cost(work) >= cost)
        set_sides(work, false);
    work->special_rows = ulp_pack_may_be_special(&work->rows.pack, pool);
    /* as ulp_pack_meets_padding says, the rows looked at once */
    work->padding =
        (work->columns.pack.factor->padding && work->special_rows) ||
        (work->rows.pack.factor->padding && ulp_pack_may_be_special(&work->columns.pack, pool));
    return ulp_unit_run_panels(work, pool, error);
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
                                 .problem = problem,
                                 .instance = ulp_unit_choose(cpu)};
    ULP_TRY(make_output(&work, error));
    enum ulp_status status =
        ulp_unit_layout_create(&work.layout, unit, &arithmetic->schedule, problem->k,
                               scaled ? problem->k_run : 0, ulp_pool_scratch(pool), error);
    ULP_THEN(status, problem->onto && (!work.layout.one_chain || problem->store)
                         ? ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                                    "arithmetic %s: sums that begin with others are one chain",
                                    arithmetic->name)
                         : contract(&work, pool, error));
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
