/* Creating a worker's memory at first use. */
#include "formula/evaluate/evaluate.h"

#include <string.h>

#include "base/error.h"

/* Values that never change: computed here, and spread over a strip. */
static void fill_once(struct ulp_tape_worker *worker)
{
    const struct ulp_tape_plan *plan = worker->plan;
    for (int i = 0; i < plan->once.count; i++) {
        const struct ulp_tape_step *step = &plan->steps[plan->once.items[i]];
        if (step->value)
            memcpy(ulp_slot_of(worker, step->strip), step->value, plan->element_bytes);
        else
            ulp_evaluate_row_value(worker, plan->once.items[i]);
    }
    for (int i = 0; i < plan->once.count; i++) {
        void *out = ulp_slot_of(worker, plan->steps[plan->once.items[i]].strip);
        if (plan->width > 1)
            plan->table->spread(&plan->rule, out, out, 0, plan->width);
    }
}

enum ulp_status ulp_evaluate_worker(struct ulp_tape_worker **out, const struct ulp_tape_run *run,
                                    int number, struct ulp_error *error)
{
    const struct ulp_tape_plan *plan = run->plan;
    /* Work that runs inside another pool's worker comes with that worker's number, and alone. */
    struct ulp_tape_worker **slot =
        &run->workers[number < ulp_pool_thread_count(plan->call->pool) ? number : 0];
    if (!*slot) {
        struct ulp_tape_worker *worker;
        ULP_TRY(ulp_allocate(&worker, plan->worker_bytes, 1, ulp_pool_scratch(plan->call->pool),
                             "scratch memory of a formula", error));
        *worker = (struct ulp_tape_worker){.run = run,
                                           .plan = plan,
                                           .values = ulp_slot_of(worker, plan->values_slot),
                                           .addresses = ulp_slot_of(worker, plan->addresses_slot),
                                           .row_count = 1,
                                           .position_count = plan->call->rows->row_length};
        for (int i = 0; i < plan->step_count; i++)
            worker->values[i] =
                plan->steps[i].strip ? ulp_slot_of(worker, plan->steps[i].strip) : NULL;
        if (plan->narrow && plan->has_reductions)
            plan->sum_table->constant(&plan->sum_rule, ulp_slot_of(worker, plan->unit_slot), "1",
                                      plan->tile_rows);
        fill_once(worker);
        *slot = worker;
    }
    *out = *slot;
    return ULP_OK;
}
