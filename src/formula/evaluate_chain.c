/* Chains in a tape: primitives on strips, each of which only the next one reads, are run together
 * (number/strip_chain.h). Operands that are one value a row need no strip then, and neither do the
 * values between. */
#include "formula/evaluate.h"

#include "base/cpu.h"

/* The step that reads the running value of a chain that ends with `tail`, so that the chain can go
 * on with it. */
static bool goes_on(const struct ulp_tape_plan *plan, int tail, const int *uses)
{
    return tail >= 0 && plan->steps[tail].chain && uses[tail] == 1 &&
           plan->steps[tail].chain->link_count < ULP_TAPE_LINKS_MAX;
}

static bool is_element(const struct ulp_tape_plan *plan, int index)
{
    return index >= 0 && plan->steps[index].reach == ULP_REACH_ELEMENT;
}

static void add_link(struct ulp_tape_plan *plan, struct ulp_tape_chain *chain, int index,
                     enum ulp_primitive primitive, int place)
{
    const struct ulp_tape_step *step = &plan->steps[index];
    const int operand = step->arguments[1 - place];
    const enum ulp_reach reach = operand < 0 ? ULP_REACH_RUN : plan->steps[operand].reach;
    chain->arguments[chain->link_count] = operand;
    chain->links[chain->link_count++] =
        (struct ulp_chain_link){.primitive = primitive,
                                .reversed = place == 1,
                                .one = reach == ULP_REACH_RUN ||
                                       (reach == ULP_REACH_ROW && !plan->cut.across)};
}

bool ulp_evaluate_find_chains(struct ulp_tape_plan *plan, const struct ulp_tape *tape)
{
    const struct ulp_strip_rule *rule = &plan->numbers.rule;
    int *uses = ulp_arena_take(plan->arena, (size_t)plan->step_count, sizeof *uses);
    if (!uses)
        return false;
    plan->chain = rule->each_step ? NULL : ulp_chain_of(rule->carrier, ulp_cpu_features());
    for (int i = 0; i < plan->step_count; i++) {
        plan->steps[i].head = i;
        for (int k = 0; k < 3; k++)
            if (plan->steps[i].needed && plan->steps[i].arguments[k] >= 0)
                uses[plan->steps[i].arguments[k]]++;
    }
    for (int i = 0; i < plan->output_count; i++)
        uses[plan->outputs[i].step]++;
    for (int i = 0; i < plan->step_count && plan->chain; i++) {
        struct ulp_tape_step *step = &plan->steps[i];
        const enum ulp_primitive primitive = tape->instructions[i].primitive;
        if (!step->needed || step->kind != ULP_TAPE_PRIMITIVE || step->reach != ULP_REACH_ELEMENT ||
            !ulp_primitive_rows[primitive].chained)
            continue;
        int place =
            goes_on(plan, step->arguments[0], uses) || !goes_on(plan, step->arguments[1], uses) ? 0
                                                                                                : 1;
        const int before = step->arguments[place];
        if (goes_on(plan, before, uses)) {
            step->chain = plan->steps[before].chain;
            plan->steps[before].chain = NULL;
            plan->steps[before].inside = true;
        } else {
            place = is_element(plan, step->arguments[0]) ? 0 : 1;
            step->chain = ulp_arena_take(plan->arena, 1, sizeof *step->chain);
            if (!step->chain)
                return false;
            step->chain->input = step->arguments[place];
        }
        add_link(plan, step->chain, i, primitive, place);
    }
    /* Members know the step that computes them: the one that reads their value, and so on. */
    for (int i = plan->step_count - 1; i >= 0; i--)
        for (int k = 0; k < 3; k++) {
            const int argument = plan->steps[i].needed ? plan->steps[i].arguments[k] : -1;
            if (argument >= 0 && plan->steps[argument].inside)
                plan->steps[argument].head = plan->steps[i].head;
        }
    return true;
}

void ulp_evaluate_chain(const struct ulp_tape_worker *worker, const struct ulp_tape_step *step,
                        void *out, size_t n)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_chain *chain = step->chain;
    struct ulp_chain_link links[ULP_TAPE_LINKS_MAX];
    for (int i = 0; i < chain->link_count; i++) {
        const int argument = chain->arguments[i];
        links[i] = chain->links[i];
        if (argument >= 0)
            links[i].operand = plan->steps[argument].reach == ULP_REACH_ROW && links[i].one
                                   ? ulp_evaluate_row_value(worker, &plan->steps[argument])
                                   : worker->values[argument];
    }
    plan->chain(out, 0, worker->values[chain->input], 0, links, chain->link_count, 1, n);
}

static void *find_element(const struct ulp_operand *operand, size_t row, size_t position)
{
    return ulp_operand_at(operand, (int64_t)row * operand->row_stride + (int64_t)position);
}

bool ulp_evaluate_is_batch(const struct ulp_tape_plan *plan, const struct ulp_tape_call *call)
{
    const struct ulp_tape_list *elements = &plan->phases[0].elements;
    if (!plan->chain || plan->phase_count > 1 || plan->phases[0].folds.count ||
        call->rows->window || plan->output_count != 1 || elements->count == 0 ||
        !plan->steps[elements->items[elements->count - 1]].chain)
        return false;
    for (int i = 0; i < elements->count; i++) {
        const struct ulp_tape_step *step = &plan->steps[elements->items[i]];
        const struct ulp_operand *tensor = step->kind == ULP_TAPE_OPERAND
                                               ? &call->operands[step->operand]
                                               : &call->outputs[plan->outputs[0].number];
        if (tensor->row_offset || !(step->in_place || (step->chain && step->output >= 0)))
            return false;
    }
    return true;
}

/* The chain on positions `span` of n of the tile's rows. */
static void run_rows(const struct ulp_tape_worker *worker, size_t row, size_t n,
                     struct ulp_tape_span span)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_call *call = worker->job->call;
    const struct ulp_tape_list *elements = &plan->phases[0].elements;
    const struct ulp_tape_chain *chain = plan->steps[elements->items[elements->count - 1]].chain;
    const struct ulp_operand *input = &call->operands[plan->steps[chain->input].operand],
                             *output = &call->outputs[plan->outputs[0].number];
    const size_t first = worker->tile.first_row + row;
    struct ulp_chain_link links[ULP_TAPE_LINKS_MAX];
    for (int i = 0; i < chain->link_count; i++) {
        const int argument = chain->arguments[i];
        links[i] = chain->links[i];
        if (argument < 0)
            continue;
        const struct ulp_tape_step *step = &plan->steps[argument];
        if (step->reach == ULP_REACH_ELEMENT) {
            const struct ulp_operand *operand = &call->operands[step->operand];
            links[i].operand = find_element(operand, first, span.first);
            links[i].row_step = (size_t)operand->row_stride;
        } else if (step->reach == ULP_REACH_ROW) {
            links[i].operand =
                (char *)ulp_evaluate_row_value(worker, step) + row * plan->numbers.bytes;
            links[i].row_step = 1;
        } else {
            links[i].operand = worker->values[argument];
        }
    }
    plan->chain(find_element(output, first, span.first), (size_t)output->row_stride,
                find_element(input, first, span.first), (size_t)input->row_stride, links,
                chain->link_count, n, span.count);
}

void ulp_evaluate_batch(const struct ulp_tape_worker *worker)
{
    const struct ulp_tape_tile *tile = &worker->tile;
    const size_t length = tile->position_count,
                 first_end = tile->row_count > 1 ? length : tile->end;
    size_t first = 0, last = tile->row_count;
    if (tile->begin > 0 || first_end < length)
        run_rows(worker, first++, 1, (struct ulp_tape_span){tile->begin, first_end - tile->begin});
    if (last > first && tile->end < length)
        run_rows(worker, --last, 1, (struct ulp_tape_span){0, tile->end});
    if (last > first)
        run_rows(worker, first, last - first, (struct ulp_tape_span){0, length});
}
