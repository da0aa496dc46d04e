/* A formula of intervals. Without row functions every element is by itself, so elements are taken
 * together as they are known together: by the joint of one of the operands. */
#include <stdlib.h>

#include "base/error.h"
#include "ops/trace/enclose_tape.h"

/* Elements without a joint, that are taken at once. */
#define PIECE 512
/* Elements with one: more of it are taken as parts, whose norms are no larger. */
#define TOGETHER_MAX 8192
/* Values that have affine forms at a time, and terms of all of them. */
#define AFFINE_PLACES_MAX ((size_t)1 << 18)
#define AFFINE_SCRATCH_MAX ((size_t)1 << 22)

static bool are_same(const struct ulp_operand *a, const struct ulp_operand *b)
{
    return a->tensor && b->tensor && a->tensor->data == b->tensor->data &&
           a->tensor->count == b->tensor->count && a->row_offset == b->row_offset &&
           a->position_offset == b->position_offset && a->row_stride == b->row_stride &&
           a->position_stride == b->position_stride;
}

/* Operands that are one tensor, laid alike: x * x as Mul(x, x). */
static void find_same(struct ulp_enclose_tape *v)
{
    const struct ulp_instruction *in = v->call->tape->instructions;
    for (int i = 0; i < v->call->tape->instruction_count; i++) {
        v->same[i] = i;
        for (int j = 0; j < i && in[i].kind == ULP_TAPE_OPERAND && v->same[i] == i; j++)
            if (in[j].kind == ULP_TAPE_OPERAND &&
                are_same(&v->call->operands[in[i].index], &v->call->operands[in[j].index]))
                v->same[i] = j;
    }
}

/* Where no operand leads to a result there are no forms. */
static void take_affine_memory(struct ulp_enclose_tape *v, size_t instructions, size_t n)
{
    struct ulp_affine_tape w = {.tape = v->call->tape,
                                .rule = &v->rule,
                                .values = v->values,
                                .stride = n};
    size_t count, scratch;
    v->affine = (struct ulp_affine_tape){0};
    if (!ulp_size_mul(instructions, n, &count) || count > AFFINE_PLACES_MAX ||
        !ulp_size_mul(v->by_rows ? count : 2 * instructions, v->trace->enclosing->symbol_count,
                      &scratch) ||
        !ulp_enclosing_take(v->trace, instructions, sizeof *w.wanted, &w.wanted) ||
        !ulp_affine_tape_leads(w.tape, w.wanted) ||
        !ulp_enclosing_take(v->trace, count, sizeof(void *), &w.operands) ||
        !ulp_enclosing_take(v->trace, scratch < AFFINE_SCRATCH_MAX ? scratch : AFFINE_SCRATCH_MAX,
                            sizeof *w.scratch, &w.scratch) ||
        !ulp_enclosing_take(v->trace, count, sizeof *w.results, &w.results))
        return;
    w.scratch_count = scratch < AFFINE_SCRATCH_MAX ? scratch : AFFINE_SCRATCH_MAX;
    v->affine = w;
}

static enum ulp_status take_memory(struct ulp_enclose_tape *v, size_t n, struct ulp_error *error)
{
    const size_t instructions = (size_t)v->call->tape->instruction_count;
    struct ulp_trace *trace = v->trace;
    const size_t outputs = (size_t)v->call->tape->output_count + 1;
    const struct {
        size_t count, bytes;
        void *to;
    } parts[] = {{instructions, sizeof *v->values, &v->values},
                 {instructions, sizeof *v->largest, &v->largest},
                 {instructions, sizeof *v->l1, &v->l1},
                 {instructions, sizeof *v->l2, &v->l2},
                 {instructions, sizeof *v->same, &v->same},
                 {outputs, sizeof *v->stored, &v->stored},
                 {n, sizeof *v->rows, &v->rows},
                 {n, sizeof *v->positions, &v->positions},
                 {n, sizeof *v->places, &v->places}};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        ULP_TRY(ulp_trace_take(trace, parts[p].count, parts[p].bytes, parts[p].to, error));
    for (size_t i = 0; i < instructions; i++) {
        ULP_TRY(ulp_trace_take(trace, n, sizeof(double), &v->values[i].lo, error));
        ULP_TRY(ulp_trace_take(trace, n, sizeof(double), &v->values[i].hi, error));
        ULP_TRY(ulp_trace_take(trace, n, 1, &v->values[i].may, error));
    }
    v->capacity = n;
    find_same(v);
    if (trace->enclosing->affine)
        take_affine_memory(v, instructions, n);
    return ULP_OK;
}

/* ---- operands ---- */

static void load_text(struct ulp_enclose_tape *v, int i, size_t n, const char *text)
{
    const struct ulp_intervals *x = &v->values[i];
    double value = strcmp(text, "pi") == 0 ? 3.14159265358979323846 : strtod(text, NULL);
    if (isinf(value))
        value = copysign(v->rule.infinity, value);
    ulp_interval_set_point(x, 0, value);
    if (isfinite(value))
        ulp_interval_set_step(&v->rule, x, 0, value, value, 0, v->rule.unit, &v->largest[i]);
    for (size_t k = 1; k < n; k++)
        ulp_interval_copy(x, k, x, 0);
    v->l1[i] = v->l2[i] = INFINITY;
}

static void load_operand(struct ulp_enclose_tape *v, int i, size_t n)
{
    struct ulp_enclosing *e = v->trace->enclosing;
    const struct ulp_operand *operand = &v->call->operands[v->call->tape->instructions[i].index];
    const struct ulp_intervals *x = &v->values[i];
    v->l1[i] = v->l2[i] = INFINITY;
    if (!operand->tensor) {
        load_text(v, i, n, operand->constant ? operand->constant : "nan");
        return;
    }
    for (size_t k = 0; k < n; k++)
        v->places[k] = ulp_operand_place(operand, v->rows[k], v->positions[k]);
    if (operand->tensor->element != ULP_ELEMENT_F64) {
        for (size_t k = 0; k < n; k++)
            ulp_interval_set_element(x, k, operand->tensor, (size_t)v->places[k]);
        return;
    }
    const double *elements = operand->tensor->data;
    for (size_t k = 0; k < n; k++) {
        const size_t number = ulp_enclosing_number(e, elements[v->places[k]]);
        if (number == ULP_NO_NUMBER)
            ulp_interval_set_point(x, k, elements[v->places[k]]);
        else
            ulp_interval_copy(x, k, &e->at, number);
        if (!v->affine.results)
            continue;
        const struct ulp_affine *form = number == ULP_NO_NUMBER ? NULL : &e->affine[number];
        v->affine.operands[(size_t)i * v->affine.stride + k] = form;
        v->has_terms = v->has_terms || (ulp_affine_is(form) && form->count);
    }
    const struct ulp_norms norms = ulp_enclosing_norms(e, elements, v->places, n, NULL);
    v->l1[i] = norms.l1;
    v->l2[i] = norms.l2;
}

static void evaluate(struct ulp_enclose_tape *v, size_t n)
{
    const struct ulp_tape *tape = v->call->tape;
    v->has_terms = false;
    for (int i = 0; i < tape->instruction_count; i++)
        if (tape->instructions[i].kind == ULP_TAPE_OPERAND)
            load_operand(v, i, n);
    ulp_tape_enclose(tape, &v->rule, n, v->values, v->same, v->largest, v->l1, v->l2);
    if (!n)
        return;
    for (int o = 0; o < tape->output_count; o++)
        ulp_enclose_open_output(v, o, n, &v->stored[o]);
    if (v->has_terms && v->by_rows)
        ulp_affine_tape_run(&v->affine, 0, n);
    for (size_t k = 0; k < n; k++) {
        if (v->has_terms && !v->by_rows)
            ulp_affine_tape_run(&v->affine, k, 1);
        for (int o = 0; o < tape->output_count; o++)
            ulp_enclose_store_output(v, &v->stored[o], k);
    }
}

/* ---- which elements together ---- */

static bool has_rows(const struct ulp_tape *tape)
{
    for (int i = 0; i < tape->instruction_count; i++)
        if (tape->instructions[i].kind != ULP_TAPE_OPERAND &&
            tape->instructions[i].kind != ULP_TAPE_CONSTANT &&
            tape->instructions[i].kind != ULP_TAPE_PRIMITIVE)
            return true;
    return false;
}

static enum ulp_status by_rows(struct ulp_enclose_tape *v, struct ulp_error *error)
{
    const struct ulp_rows *rows = v->call->rows;
    ulp_trace_turn(v->trace, &v->scratch);
    const enum ulp_status status = take_memory(v, rows->row_length, error);
    ulp_trace_turn(v->trace, &v->scratch);
    for (size_t r = 0; r < rows->row_count && status == ULP_OK; r++) {
        size_t n = rows->row_length;
        for (size_t k = 0; k < n; k++)
            v->positions[k] = (int32_t)k;
        if (rows->window)
            n = rows->window(rows->window_context, r, v->positions);
        for (size_t k = 0; k < n; k++)
            v->rows[k] = r;
        evaluate(v, n);
        if (n == 0)
            ulp_enclose_store_empty(v, r);
    }
    return status;
}

static uint32_t joint_of(const struct ulp_enclose_tape *v, const struct ulp_operand *operand,
                         size_t row, size_t position)
{
    const struct ulp_enclosing *e = v->trace->enclosing;
    const double *elements = operand->tensor->data;
    const size_t number =
        ulp_enclosing_number(e, elements[ulp_operand_place(operand, row, (int64_t)position)]);
    return number == ULP_NO_NUMBER ? ULP_NO_JOINT : e->joint[number];
}

/* The operand whose joints decide: the first that has any. */
static const struct ulp_operand *find_joined(const struct ulp_enclose_tape *v)
{
    const struct ulp_rows *rows = v->call->rows;
    for (int i = 0; i < v->call->tape->operand_count; i++) {
        const struct ulp_operand *operand = &v->call->operands[i];
        if (!ulp_operand_is_named(operand))
            continue;
        for (size_t r = 0; r < rows->row_count; r++)
            for (size_t p = 0; p < rows->row_length; p++)
                if (joint_of(v, operand, r, p) != ULP_NO_JOINT)
                    return operand;
    }
    return NULL;
}

/* Elements ordered by joint, those without one last, by counting. */
static enum ulp_status order_elements(struct ulp_enclose_tape *v, const struct ulp_operand *joined,
                                      size_t **starts, size_t **order, size_t *joints,
                                      struct ulp_error *error)
{
    const struct ulp_rows *rows = v->call->rows;
    const size_t count = rows->row_count * rows->row_length;
    *joints = v->trace->enclosing->joint_count;
    ULP_TRY(ulp_trace_take(v->trace, *joints + 2, sizeof **starts, starts, error));
    ULP_TRY(ulp_trace_take(v->trace, count, sizeof **order, order, error));
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = 0, c = 0; r < rows->row_count; r++)
            for (size_t p = 0; p < rows->row_length; p++, c++) {
                const uint32_t joint = joined ? joint_of(v, joined, r, p) : ULP_NO_JOINT;
                const size_t bucket = joint == ULP_NO_JOINT ? *joints : joint;
                if (pass == 0)
                    (*starts)[bucket + 1]++;
                else
                    (*order)[(*starts)[bucket]++] = c;
            }
        for (size_t j = 0; pass == 0 && j <= *joints; j++)
            (*starts)[j + 1] += (*starts)[j];
    }
    return ULP_OK; /* starts[j] is now where bucket j ends */
}

static enum ulp_status by_joints(struct ulp_enclose_tape *v, struct ulp_error *error)
{
    const size_t length = v->call->rows->row_length;
    const struct ulp_operand *joined = find_joined(v);
    size_t *ends, *order, joints = 0;
    ulp_trace_turn(v->trace, &v->scratch);
    enum ulp_status status = take_memory(v, joined ? TOGETHER_MAX : PIECE, error);
    ULP_THEN(status, order_elements(v, joined, &ends, &order, &joints, error));
    ulp_trace_turn(v->trace, &v->scratch); /* failed, too: the caller frees the scratch */
    for (size_t j = 0, c = 0; j <= joints && status == ULP_OK; j++)
        while (c < ends[j]) {
            const size_t most = j < joints ? TOGETHER_MAX : PIECE,
                         n = ends[j] - c < most ? ends[j] - c : most;
            for (size_t k = 0; k < n; k++) {
                v->rows[k] = order[c + k] / length;
                v->positions[k] = (int32_t)(order[c + k] % length);
            }
            evaluate(v, n);
            c += n;
        }
    return status;
}

static bool reads_names(const struct ulp_tape_call *call)
{
    for (int i = 0; i < call->tape->operand_count; i++)
        if (call->operands[i].tensor && ulp_trace_is_named(call->operands[i].tensor))
            return true;
    return false;
}

/* Has an output more bits than the doubles that bounds are? */
static bool is_wide(const struct ulp_enclose_tape *v)
{
    for (int o = 0; o < v->call->tape->output_count; o++) {
        const struct ulp_operand *to = &v->call->outputs[o];
        if (ulp_operand_is_named(to) &&
            (to->storage ? ulp_enclosing_format(v->trace->enclosing, to->storage).carrier
                         : v->arithmetic.storage.carrier) == ULP_CARRIER_MPFR)
            return true;
    }
    return false;
}

/* Numbers alone: what the lane computes of them. */
static enum ulp_status run_numbers(const struct ulp_enclose_tape *v, struct ulp_error *error)
{
    const struct ulp_tape *tape = v->call->tape;
    struct ulp_operand *outputs;
    struct ulp_format *formats;
    struct ulp_tape_call own = *v->call;
    ULP_TRY(ulp_trace_take(v->trace, (size_t)tape->output_count, sizeof *outputs, &outputs, error));
    ULP_TRY(ulp_trace_take(v->trace, (size_t)tape->output_count, sizeof *formats, &formats, error));
    for (int o = 0; o < tape->output_count; o++) {
        outputs[o] = v->call->outputs[o];
        if (!outputs[o].storage)
            continue;
        formats[o] = ulp_enclosing_format(v->trace->enclosing, outputs[o].storage);
        outputs[o].storage = &formats[o];
    }
    own.arithmetic = &v->arithmetic;
    own.outputs = outputs;
    return ulp_tape_run(&own, error);
}

/* Is a result of numbers infinite? Whether they are so in the model (a mask) or a step overflows,
 * intervals tell. */
static bool gives_infinity(const struct ulp_enclose_tape *v)
{
    const struct ulp_tape *tape = v->call->tape;
    const struct ulp_rows *rows = v->call->rows;
    for (int o = 0; o < tape->output_count; o++) {
        const struct ulp_operand *to = &v->call->outputs[o];
        const size_t n = ulp_enclose_is_one(tape, tape->outputs[o], to) ? 1 : rows->row_length;
        for (size_t e = 0;
             ulp_enclose_is_stored(v, o) && ulp_operand_is_named(to) && e < rows->row_count * n;
             e++)
            if (isinf(((const double *)
                           to->tensor->data)[ulp_operand_place(to, e / n, (int64_t)(e % n))]))
                return true;
    }
    return false;
}

enum ulp_status ulp_enclosing_tape(struct ulp_trace *trace, const struct ulp_tape_call *call,
                                   struct ulp_error *error)
{
    struct ulp_enclosing *e = trace->enclosing;
    struct ulp_enclose_tape v = {.trace = trace,
                                 .call = call,
                                 .first = e->count,
                                 .arithmetic = ulp_enclosing_arithmetic(e, call->arithmetic)};
    const struct ulp_rows *rows = call->rows;
    v.rule = ulp_interval_rule_make(&v.arithmetic);
    v.by_rows = has_rows(call->tape) || rows->window;
    if (!rows->row_count || !(reads_names(call) || is_wide(&v))) {
        ULP_TRY(run_numbers(&v, error));
        if (!gives_infinity(&v))
            return ULP_OK;
    }
    const size_t most =
        rows->row_count * (rows->row_length + 1) * (size_t)call->tape->output_count + 1;
    ULP_TRY(ulp_enclosing_reserve(trace, most, error));
    ULP_TRY(ulp_arena_create(&v.scratch, trace->budget, error));
    v.given = ulp_arena_take(v.scratch, most, sizeof(double *));
    const enum ulp_status status = !v.given    ? ulp_trace_fail(error)
                                   : v.by_rows ? by_rows(&v, error)
                                               : by_joints(&v, error);
    for (int i = 0; status == ULP_OK && i < call->tape->instruction_count; i++)
        if (call->tape->instructions[i].kind != ULP_TAPE_OPERAND &&
            call->tape->instructions[i].kind != ULP_TAPE_CONSTANT)
            ulp_enclosing_hide(trace, (struct ulp_hidden_bound){call->tape, i, v.largest[i],
                                                                v.rule.largest});
    ulp_arena_free(v.scratch);
    return status;
}
