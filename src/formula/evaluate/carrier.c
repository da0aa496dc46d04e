/* Conversions between the compute format and the accumulator, and steps that need both. */
#include "formula/evaluate/evaluate.h"

#include <stdalign.h>
#include <string.h>

/* A strip seen as a tensor: converting between carriers is loading. */
static struct ulp_tensor view_strip(const struct ulp_strip_rule *rule, const void *strip, size_t n)
{
    static const struct {
        enum ulp_type type;
        enum ulp_element element;
    } kinds[ULP_STRIP_CARRIER_COUNT] = {
        [ULP_STRIP_FLOAT] = {ULP_TYPE_FLOAT, ULP_ELEMENT_F32},
        [ULP_STRIP_DOUBLE] = {ULP_TYPE_DOUBLE, ULP_ELEMENT_F64},
        [ULP_STRIP_MPFR] = {ULP_TYPE_FLOAT, ULP_ELEMENT_WIDE},
        [ULP_STRIP_INT64] = {ULP_TYPE_INT64, ULP_ELEMENT_I64},
        [ULP_STRIP_UINT64] = {ULP_TYPE_UINT64, ULP_ELEMENT_U64},
    };
    return (struct ulp_tensor){.type = kinds[rule->carrier].type,
                               .element = kinds[rule->carrier].element,
                               .precision = rule->carrier == ULP_STRIP_MPFR ? rule->precision : 0,
                               .rank = 1,
                               .dims = {(int64_t)n},
                               .count = n,
                               .element_bytes =
                                   ulp_strip_element_bytes(rule->carrier, rule->precision),
                               .data = (void *)(uintptr_t)strip};
}

void ulp_evaluate_row_size(const struct ulp_tape_worker *worker, void *out, size_t n,
                           struct ulp_strip_place place)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const int64_t length = (int64_t)worker->position_count;
    const struct ulp_tensor size = ulp_tensor_list(ULP_TYPE_INT64, &length, 0, 1);
    plan->table->load(&plan->rule, out, &size, 0, NULL, 0, 1);
    /* An integer that the carrier holds is loaded as it is; the product with 1 rounds it to the
     * format. */
    if (plan->rule.each_step) {
        void *unit = ulp_slot_of(worker, plan->size_slot);
        plan->table->constant(&plan->rule, unit, "1", 1);
        plan->table->primitive[ULP_PRIMITIVE_MUL](&plan->rule, out, out, unit, NULL, 1, place);
    }
    if (n > 1)
        plan->table->spread(&plan->rule, out, out, 0, n);
}

void ulp_evaluate_scale(const struct ulp_strip_rule *rule, void *out, const void *a, const void *b,
                        const void *c, size_t n, struct ulp_strip_place place)
{
    alignas(64) unsigned char factor[ULP_STRIP * sizeof(double)], one[ULP_STRIP * sizeof(double)];
    const struct ulp_strip_table *table = ulp_strip_tables[rule->carrier];
    table->constant(rule, one, "1", n);
    table->primitive[ULP_PRIMITIVE_DIV](rule, factor, one, b, c, n,
                                        (struct ulp_strip_place){~place.stream, place.first});
    table->primitive[ULP_PRIMITIVE_MUL](rule, out, a, factor, c, n, place);
}

const void *ulp_evaluate_widen(const struct ulp_tape_worker *worker, const void *values, size_t n)
{
    const struct ulp_tape_plan *plan = worker->plan;
    if (plan->same_carrier)
        return values;
    void *converted = ulp_slot_of(worker, plan->converted_slot);
    const struct ulp_tensor view = view_strip(&plan->rule, values, n);
    plan->sum_table->load(&plan->sum_rule, converted, &view, 0, NULL, 1, n);
    return converted;
}

void ulp_evaluate_narrow(const struct ulp_tape_worker *worker, void *out, void *sums, size_t n,
                         struct ulp_strip_place place)
{
    const struct ulp_tape_plan *plan = worker->plan;
    if (plan->narrow)
        plan->sum_table->primitive[ULP_PRIMITIVE_MUL](&plan->narrow_rule, sums, sums,
                                                      ulp_slot_of(worker, plan->unit_slot), NULL, n,
                                                      place);
    if (plan->same_carrier) {
        memcpy(out, sums, n * plan->element_bytes);
        return;
    }
    const struct ulp_tensor view = view_strip(&plan->sum_rule, sums, n);
    plan->table->load(&plan->rule, out, &view, 0, NULL, 1, n);
}

void ulp_evaluate_scan(const struct ulp_tape_worker *worker, const struct ulp_tape_step *step,
                       void *out, const void *values, size_t row_count, size_t first, size_t count,
                       struct ulp_strip_place place)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const size_t bytes = row_count * plan->element_bytes;
    void *sums = ulp_slot_of(worker, step->reduction);
    struct ulp_tensor partial = plan->partial;
    partial.data = ulp_slot_of(worker, plan->partial_slot);
    if (first == 0)
        plan->table->constant(&plan->rule, sums, ulp_reduction_rows[step->reduction_kind].empty,
                              row_count);
    for (size_t t = 0; t < count; t++, place.first++) {
        step->function(&plan->rule, sums, sums, (const char *)values + t * bytes, NULL, row_count,
                       place);
        if (partial.type != ULP_TYPE_UNDEFINED) {
            plan->table->store(&plan->rule, &plan->partial_format, &partial, 0, NULL, 1, sums,
                               row_count,
                               (struct ulp_strip_place){.stream = ~place.stream,
                                                        .first = place.first});
            plan->table->load(&plan->rule, sums, &partial, 0, NULL, 1, row_count);
        }
        memcpy((char *)out + t * bytes, sums, bytes);
    }
}
