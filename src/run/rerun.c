#include "run/rerun.h"

#include "base/error.h"
#include "base/memory/alloc.h"
#include "ops/prepared.h"

/* An operand of the tape: a step's input, or a number; of the contraction's epilogue the one that
 * the join has. */
struct operand {
    struct ulp_operand laid;     /* without a tensor */
    const struct ulp_step *step; /* NULL: the join's */
    size_t input;                /* of the step */
    struct ulp_tensor was;       /* without data; type UNDEFINED: it is no tensor */
};

struct ulp_rerun {
    const struct ulp_tape *tape;
    const struct ulp_step *last;
    _Atomic(const struct ulp_tape_plan *) plan; /* of the run before; NULL: there was none */
    struct ulp_rows rows;
    struct ulp_operand output;
    struct ulp_tensor result; /* without data */
    size_t given, operand_count;
    struct operand operands[];
};

static struct ulp_tensor shape_of(const struct ulp_tensor *tensor)
{
    struct ulp_tensor shape = ulp_tensor_view(tensor);
    shape.data = NULL;
    return shape;
}

/* Is operand o of the step what its inputs and attributes say, which stay as long as the program?
 */
static bool is_own(const struct ulp_step *step, size_t o, const struct ulp_operand *laid)
{
    const struct ulp_bound *bound = &step->bound;
    const bool input = o < bound->input_slot_count;
    const char *text =
        input ? bound->inputs[o].text : bound->attribute_slots[o - bound->input_slot_count].text;
    return laid->tensor ? input : !laid->constant || laid->constant == text;
}

/* Which inputs of steps the join's operands are; false: one is none. */
static bool find_operands(struct ulp_rerun *rerun, struct ulp_lane *lane,
                          struct ulp_rerun_begin begin, size_t last)
{
    const struct ulp_join *join = lane->join;
    size_t at = begin.operands, number = begin.sources;
    for (size_t s = begin.first; s <= last; s++) {
        const struct ulp_step *step = &lane->block->steps[s];
        const size_t count = step->folded ? 0 : ulp_join_operand_count(&step->bound);
        for (size_t o = 0; o < count; o++) {
            const struct ulp_tensor *tensor = NULL;
            struct operand *operand = &rerun->operands[at];
            struct ulp_error ignored;
            if (number == join->source_count || join->source[number++] >= 0)
                continue;
            if (at == join->operand_count || !is_own(step, o, &join->operands[at]))
                return false;
            operand->step = step;
            operand->input = o;
            if (join->operands[at].tensor) {
                if (ulp_lane_input(lane, step, o, NULL, &tensor, &ignored) != ULP_OK || !tensor ||
                    tensor->data != join->operands[at].tensor->data)
                    return false;
                operand->was = shape_of(tensor);
            }
            at++;
        }
    }
    return at == join->operand_count && number == join->source_count;
}

struct ulp_rerun *ulp_rerun_note(struct ulp_lane *lane, struct ulp_rerun_begin begin, size_t last)
{
    const struct ulp_join *join = lane->join;
    const struct ulp_step *step = &lane->block->steps[last];
    const struct ulp_tape_plans *plans = &step->bound.prepared->plans;
    const size_t bytes = sizeof(struct ulp_rerun) + join->operand_count * sizeof(struct operand);
    void *memory;
    struct ulp_error ignored;
    if (!join->tape || !ulp_lane_is_uniform(lane) || !ulp_tape_plans_have_room(plans) ||
        ulp_allocate_zero(&memory, bytes, 1, plans->budget, "a formula's run", &ignored) != ULP_OK)
        return NULL;
    struct ulp_rerun *rerun = memory;
    *rerun = (struct ulp_rerun){.tape = join->tape,
                                .last = step,
                                .rows = join->rows,
                                .output = join->output,
                                .result = shape_of(&lane->values[step->outputs[0]]),
                                .given = begin.operands,
                                .operand_count = join->operand_count};
    for (size_t i = 0; i < join->operand_count; i++) {
        rerun->operands[i].laid = join->operands[i];
        rerun->operands[i].laid.tensor = NULL;
        if (i < begin.operands && join->operands[i].tensor)
            rerun->operands[i].was = shape_of(join->operands[i].tensor);
    }
    if (find_operands(rerun, lane, begin, last))
        return rerun;
    ulp_free(rerun);
    return NULL;
}

static bool is_alike(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    return a->type == b->type && a->element == b->element && a->precision == b->precision &&
           ulp_tensor_same_shape(a, b);
}

/* The operands with the tensors of this run, in the join; *alike false: one has another shape. */
static enum ulp_status set_operands(const struct ulp_rerun *rerun, struct ulp_lane *lane,
                                    bool *alike, struct ulp_error *error)
{
    struct ulp_join *join = lane->join;
    *alike = join->operand_count == rerun->given;
    for (size_t i = 0; i < rerun->operand_count && *alike; i++) {
        const struct operand *operand = &rerun->operands[i];
        const struct ulp_tensor *tensor = NULL;
        struct ulp_operand laid = operand->laid;
        if (i < rerun->given) {
            tensor = join->operands[i].tensor;
            laid.constant = join->operands[i].constant;
        } else if (operand->was.type != ULP_TYPE_UNDEFINED) {
            ULP_TRY(ulp_lane_input(lane, operand->step, operand->input, NULL, &tensor, error));
        }
        *alike = tensor ? is_alike(tensor, &operand->was) : operand->was.type == ULP_TYPE_UNDEFINED;
        laid.tensor = tensor;
        join->operands[i] = laid;
    }
    return ULP_OK;
}

enum ulp_status ulp_rerun_run(struct ulp_rerun *rerun, struct ulp_lane *lane,
                              struct ulp_tensor *result, bool *ran, struct ulp_error *error)
{
    struct ulp_join *join = lane->join;
    ULP_TRY(set_operands(rerun, lane, ran, error));
    if (!*ran)
        return ULP_OK;
    const struct ulp_step *last = rerun->last;
    struct ulp_operand output = rerun->output;
    *result = rerun->result;
    join->waits = false;
    enum ulp_status status =
        ulp_join_place(join, result) ? ULP_OK : ulp_tensor_allocate(result, lane->budget, error);
    output.tensor = result;
    if (status == ULP_OK)
        status = ulp_tape_run(&(struct ulp_tape_call){.tape = rerun->tape,
                                                      .arithmetic = ulp_lane_arithmetic(lane, last),
                                                      .rows = &rerun->rows,
                                                      .operands = join->operands,
                                                      .outputs = &output,
                                                      .node_key = last->bound.key,
                                                      .pool = lane->pool,
                                                      .plans = &last->bound.prepared->plans,
                                                      .last = &rerun->plan},
                              error);
    if (status == ULP_OK)
        return ULP_OK;
    ulp_tensor_free(result);
    return ulp_fail_at(error, status, "node %s (%s)", last->name, last->bound.node->op_type);
}
