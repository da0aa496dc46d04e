/* A formula of intervals. Without row functions every element is by itself, so elements are taken
 * together as they are known together: by the joint of one of the operands. */
#include <stdlib.h>

#include "formula/enclose/enclose.h"
#include "number/function/math.h"
#include "ops/trace/affine.h"

/* Elements without a joint, that are taken at once. */
#define PIECE 512
/* Elements with one: more of it are taken as parts, whose norms are no larger. */
#define TOGETHER_MAX 8192
/* Values that have affine forms at a time, and terms of all of them. */
#define AFFINE_PLACES_MAX ((size_t)1 << 18)
#define AFFINE_SCRATCH_MAX ((size_t)1 << 22)

/* An output, as it is stored of the elements that are taken together. */
struct stored {
    const struct ulp_operand *to;
    int instruction;
    bool one, named;
    struct ulp_format format;
    uint32_t joint;
};

struct evaluation {
    struct ulp_trace *trace;
    struct ulp_arena *scratch; /* given back after the evaluation */
    const struct ulp_tape_call *call;
    struct ulp_arithmetic arithmetic; /* of the lane, here */
    struct ulp_interval_rule rule;
    size_t capacity;
    bool by_rows;                 /* elements of a row meet one another */
    bool has_terms;               /* some operand's affine form does, of these elements */
    struct ulp_intervals *values; /* by instruction */
    double *largest, *l1, *l2;    /* by instruction */
    int *same;
    struct stored *stored;         /* by output */
    size_t first;                  /* number of a result */
    double **given;                /* by number, from `first` on: the element that it names */
    struct ulp_affine_tape affine; /* results NULL: no forms */
    size_t *rows;                  /* of the elements that are taken together */
    int32_t *positions;
    int64_t *places;
};

static int64_t place_of(const struct ulp_operand *operand, size_t row, int64_t position)
{
    return (operand->row_offset ? operand->row_offset[row] : (int64_t)row * operand->row_stride) +
           (operand->position_offset ? operand->position_offset[position]
                                     : position * operand->position_stride);
}

static bool is_named(const struct ulp_operand *operand)
{
    return operand->tensor && operand->tensor->element == ULP_ELEMENT_F64;
}

static bool are_same(const struct ulp_operand *a, const struct ulp_operand *b)
{
    return a->tensor && b->tensor && a->tensor->data == b->tensor->data &&
           a->tensor->count == b->tensor->count && a->row_offset == b->row_offset &&
           a->position_offset == b->position_offset && a->row_stride == b->row_stride &&
           a->position_stride == b->position_stride;
}

/* Operands that are one tensor, laid alike: x * x as Mul(x, x). */
static void find_same(struct evaluation *v)
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
static void take_affine_memory(struct evaluation *v, size_t instructions, size_t n)
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

static enum ulp_status take_memory(struct evaluation *v, size_t n, struct ulp_error *error)
{
    const size_t instructions = (size_t)v->call->tape->instruction_count;
    struct ulp_trace *trace = v->trace;
    enum ulp_status status =
        ulp_trace_take(trace, instructions, sizeof *v->values, &v->values, error);
    for (size_t i = 0; i < instructions && status == ULP_OK; i++) {
        status = ulp_trace_take(trace, n, sizeof(double), &v->values[i].lo, error);
        if (status == ULP_OK)
            status = ulp_trace_take(trace, n, sizeof(double), &v->values[i].hi, error);
        if (status == ULP_OK)
            status = ulp_trace_take(trace, n, 1, &v->values[i].may, error);
    }
    if (status == ULP_OK)
        status = ulp_trace_take(trace, instructions, sizeof *v->largest, &v->largest, error);
    if (status == ULP_OK)
        status = ulp_trace_take(trace, instructions, sizeof *v->l1, &v->l1, error);
    if (status == ULP_OK)
        status = ulp_trace_take(trace, instructions, sizeof *v->l2, &v->l2, error);
    if (status == ULP_OK)
        status = ulp_trace_take(trace, instructions, sizeof *v->same, &v->same, error);
    if (status == ULP_OK)
        status = ulp_trace_take(trace, (size_t)v->call->tape->output_count + 1, sizeof *v->stored,
                                &v->stored, error);
    if (status == ULP_OK)
        status = ulp_trace_take(trace, n, sizeof *v->rows, &v->rows, error);
    if (status == ULP_OK)
        status = ulp_trace_take(trace, n, sizeof *v->positions, &v->positions, error);
    if (status == ULP_OK)
        status = ulp_trace_take(trace, n, sizeof *v->places, &v->places, error);
    v->capacity = n;
    if (status == ULP_OK)
        find_same(v);
    if (status == ULP_OK && trace->enclosing->affine)
        take_affine_memory(v, instructions, n);
    return status;
}

/* ---- operands ---- */

static void load_text(struct evaluation *v, int i, size_t n, const char *text)
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

static void load_operand(struct evaluation *v, int i, size_t n)
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
        v->places[k] = place_of(operand, v->rows[k], v->positions[k]);
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

/* ---- outputs ---- */

/* A truth value or integer: known only when there is one. */
static void store_integer(struct evaluation *v, const struct ulp_tensor *tensor, int64_t place,
                          const struct ulp_intervals *x, size_t k)
{
    const bool known = !x->may[k] && x->lo[k] == x->hi[k];
    if (!known)
        v->trace->enclosing->unknown_integers = true;
    if (tensor->type == ULP_TYPE_BOOL)
        ((uint8_t *)tensor->data)[place] = known && x->lo[k] != 0;
    else if (tensor->element_bytes == sizeof(int64_t))
        ((int64_t *)tensor->data)[place] = known && fabs(x->lo[k]) < 0x1p62 ? (int64_t)x->lo[k] : 0;
    else
        v->trace->enclosing->unknown_integers = true;
}

/* The element's number: a new one, or that which it has been given in this call. What stands in an
 * element before is memory of whatever came before, also of another trace: a name proves nothing
 * unless it was given to this very element. */
static void store_element(struct evaluation *v, double *element, const struct ulp_intervals *x,
                          size_t k, const struct ulp_affine *affine,
                          const struct ulp_format *format, uint32_t joint)
{
    struct ulp_enclosing *e = v->trace->enclosing;
    const size_t met = ulp_enclosing_number(e, *element);
    const size_t number = e->count;
    struct ulp_affine form = {.rest = INFINITY};
    ulp_interval_copy(&e->at, number, x, k);
    if (affine)
        form = ulp_affine_meet(affine, &e->at, number);
    ulp_affine_store(&form, format);
    ulp_interval_store(&v->arithmetic, format, &e->at, number);
    if (e->at.may[number])
        form.rest = INFINITY;
    if (met != ULP_NO_NUMBER && met >= v->first && v->given[met - v->first] == element) {
        const double lo = ulp_math_min(e->at.lo[met], e->at.lo[number]),
                     hi = ulp_math_max(e->at.hi[met], e->at.hi[number]);
        ulp_interval_set(&e->at, met, lo, hi, e->at.may[met] | e->at.may[number]);
        e->joint[met] = ULP_NO_JOINT;
        form.rest = INFINITY;
        ulp_enclosing_set_affine(v->trace, met, &form);
        return;
    }
    e->joint[number] = joint;
    e->stamp[number] = 0;
    ulp_enclosing_set_affine(v->trace, number, &form);
    v->given[number - v->first] = element;
    *element = ulp_enclosing_name(e, e->count++);
}

/* A joint for the results, when more is known than their intervals say. */
static uint32_t join_results(struct evaluation *v, int i, size_t n, const struct ulp_format *format)
{
    const double unit = ldexp(1, 1 - format->precision), tiny = ldexp(1, format->emin);
    double sum = 0, squares = 0;
    for (size_t k = 0; k < n; k++) {
        const double x = v->values[i].may[k] ? INFINITY : ulp_interval_magnitude(&v->values[i], k);
        sum += x;
        squares += x * x;
    }
    const struct ulp_joint joint = {v->l1[i] * (1 + unit) + (double)n * tiny,
                                    v->l2[i] * (1 + unit) + sqrt((double)n) * tiny};
    if (n < 2 || !(joint.l1 < 0.99 * sum || joint.l2 < 0.99 * sqrt(squares)))
        return ULP_NO_JOINT;
    return ulp_enclosing_add_joint(v->trace, joint);
}

static bool is_stored(const struct evaluation *v, int o)
{
    return v->call->outputs[o].tensor && v->call->tape->outputs[o] >= 0;
}

/* One for each row? */
static bool is_one(const struct ulp_tape *tape, int i, const struct ulp_operand *to)
{
    return i >= 0 && tape->instructions[i].per_row && !ulp_gate_has_positions(to);
}

static void open_output(struct evaluation *v, int o, size_t n, struct stored *out)
{
    const struct ulp_tape *tape = v->call->tape;
    const struct ulp_operand *to = &v->call->outputs[o];
    const int i = tape->outputs[o];
    *out = (struct stored){.to = to, .instruction = i};
    if (!is_stored(v, o))
        return;
    out->one = is_one(tape, i, to);
    out->named = is_named(to);
    out->format = to->storage ? ulp_enclosing_format(v->trace->enclosing, to->storage)
                              : v->arithmetic.storage;
    out->joint = out->named && !out->one ? join_results(v, i, n, &out->format) : ULP_NO_JOINT;
}

static void store_output(struct evaluation *v, const struct stored *output, size_t k)
{
    const struct ulp_operand *to = output->to;
    const size_t i = (size_t)output->instruction;
    if (!to->tensor || output->instruction < 0 || (output->one && k > 0))
        return;
    const int64_t place = place_of(to, v->rows[k], output->one ? 0 : v->positions[k]);
    if (!output->named)
        store_integer(v, to->tensor, place, &v->values[i], k);
    else
        store_element(v, &((double *)to->tensor->data)[place], &v->values[i], k,
                      v->has_terms ? &v->affine.results[i * v->affine.stride + k] : NULL,
                      &output->format, output->joint);
}

static void evaluate(struct evaluation *v, size_t n)
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
        open_output(v, o, n, &v->stored[o]);
    if (v->has_terms && v->by_rows)
        ulp_affine_tape_run(&v->affine, 0, n);
    for (size_t k = 0; k < n; k++) {
        if (v->has_terms && !v->by_rows)
            ulp_affine_tape_run(&v->affine, k, 1);
        for (int o = 0; o < tape->output_count; o++)
            store_output(v, &v->stored[o], k);
    }
}

/* A row without elements: its result may be a sum of nothing, or a mean, which is NaN. It has one
 * where the output has no positions, whatever else the formula reads for it (a running mean, the
 * count of a window). */
static void store_empty(struct evaluation *v, size_t row)
{
    const struct ulp_tape *tape = v->call->tape;
    double lo, hi;
    uint8_t may;
    const struct ulp_intervals anything = {&lo, &hi, &may};
    ulp_interval_set(&anything, 0, INFINITY, -INFINITY, ULP_MAY_BE_ANYTHING);
    for (int o = 0; o < tape->output_count; o++) {
        const struct ulp_operand *to = &v->call->outputs[o];
        if (!is_stored(v, o) || ulp_gate_has_positions(to) || !to->tensor->count)
            continue;
        const int64_t place = place_of(to, row, 0);
        if (!is_named(to))
            store_integer(v, to->tensor, place, &anything, 0);
        else
            store_element(v, &((double *)to->tensor->data)[place], &anything, 0, NULL,
                          &v->arithmetic.storage, ULP_NO_JOINT);
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

static enum ulp_status by_rows(struct evaluation *v, struct ulp_error *error)
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
            store_empty(v, r);
    }
    return status;
}

static uint32_t joint_of(const struct evaluation *v, const struct ulp_operand *operand, size_t row,
                         size_t position)
{
    const struct ulp_enclosing *e = v->trace->enclosing;
    const double *elements = operand->tensor->data;
    const size_t number =
        ulp_enclosing_number(e, elements[place_of(operand, row, (int64_t)position)]);
    return number == ULP_NO_NUMBER ? ULP_NO_JOINT : e->joint[number];
}

/* The operand whose joints decide: the first that has any. */
static const struct ulp_operand *find_joined(const struct evaluation *v)
{
    const struct ulp_rows *rows = v->call->rows;
    for (int i = 0; i < v->call->tape->operand_count; i++) {
        const struct ulp_operand *operand = &v->call->operands[i];
        if (!is_named(operand))
            continue;
        for (size_t r = 0; r < rows->row_count; r++)
            for (size_t p = 0; p < rows->row_length; p++)
                if (joint_of(v, operand, r, p) != ULP_NO_JOINT)
                    return operand;
    }
    return NULL;
}

/* Elements ordered by joint, those without one last, by counting. */
static enum ulp_status order_elements(struct evaluation *v, const struct ulp_operand *joined,
                                      size_t **starts, size_t **order, size_t *joints,
                                      struct ulp_error *error)
{
    const struct ulp_rows *rows = v->call->rows;
    const size_t count = rows->row_count * rows->row_length;
    *joints = v->trace->enclosing->joint_count;
    enum ulp_status status = ulp_trace_take(v->trace, *joints + 2, sizeof **starts, starts, error);
    if (status == ULP_OK)
        status = ulp_trace_take(v->trace, count, sizeof **order, order, error);
    if (status != ULP_OK)
        return status;
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
    return status; /* starts[j] is now where bucket j ends */
}

static enum ulp_status by_joints(struct evaluation *v, struct ulp_error *error)
{
    const size_t length = v->call->rows->row_length;
    const struct ulp_operand *joined = find_joined(v);
    size_t *ends, *order, joints = 0;
    ulp_trace_turn(v->trace, &v->scratch);
    enum ulp_status status = take_memory(v, joined ? TOGETHER_MAX : PIECE, error);
    if (status == ULP_OK)
        status = order_elements(v, joined, &ends, &order, &joints, error);
    ulp_trace_turn(v->trace, &v->scratch);
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
static bool is_wide(const struct evaluation *v)
{
    for (int o = 0; o < v->call->tape->output_count; o++) {
        const struct ulp_operand *to = &v->call->outputs[o];
        if (is_named(to) &&
            (to->storage ? ulp_enclosing_format(v->trace->enclosing, to->storage).carrier
                         : v->arithmetic.storage.carrier) == ULP_CARRIER_MPFR)
            return true;
    }
    return false;
}

/* Numbers alone: what the lane computes of them. */
static enum ulp_status run_numbers(const struct evaluation *v, struct ulp_error *error)
{
    const struct ulp_tape *tape = v->call->tape;
    struct ulp_operand *outputs;
    struct ulp_format *formats;
    struct ulp_tape_call own = *v->call;
    enum ulp_status status =
        ulp_trace_take(v->trace, (size_t)tape->output_count, sizeof *outputs, &outputs, error);
    if (status == ULP_OK)
        status =
            ulp_trace_take(v->trace, (size_t)tape->output_count, sizeof *formats, &formats, error);
    if (status != ULP_OK)
        return status;
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
static bool gives_infinity(const struct evaluation *v)
{
    const struct ulp_tape *tape = v->call->tape;
    const struct ulp_rows *rows = v->call->rows;
    for (int o = 0; o < tape->output_count; o++) {
        const struct ulp_operand *to = &v->call->outputs[o];
        const size_t n = is_one(tape, tape->outputs[o], to) ? 1 : rows->row_length;
        for (size_t e = 0; is_stored(v, o) && is_named(to) && e < rows->row_count * n; e++)
            if (isinf(((const double *)to->tensor->data)[place_of(to, e / n, (int64_t)(e % n))]))
                return true;
    }
    return false;
}

enum ulp_status ulp_enclosing_tape(struct ulp_trace *trace, const struct ulp_tape_call *call,
                                   struct ulp_error *error)
{
    struct ulp_enclosing *e = trace->enclosing;
    struct evaluation v = {.trace = trace,
                           .call = call,
                           .first = e->count,
                           .arithmetic = ulp_enclosing_arithmetic(e, call->arithmetic)};
    const struct ulp_rows *rows = call->rows;
    v.rule = ulp_interval_rule_make(&v.arithmetic);
    v.by_rows = has_rows(call->tape) || rows->window;
    enum ulp_status status = ULP_OK;
    if (!rows->row_count || !(reads_names(call) || is_wide(&v))) {
        status = run_numbers(&v, error);
        if (status != ULP_OK || !gives_infinity(&v))
            return status;
    }
    const size_t most =
        rows->row_count * (rows->row_length + 1) * (size_t)call->tape->output_count + 1;
    status = ulp_enclosing_reserve(trace, most, error);
    if (status == ULP_OK)
        status = ulp_arena_create(&v.scratch, trace->budget, error);
    if (status != ULP_OK)
        return status;
    v.given = ulp_arena_take(v.scratch, most, sizeof(double *));
    if (!v.given)
        status = ulp_trace_fail(error);
    if (status == ULP_OK)
        status = v.by_rows ? by_rows(&v, error) : by_joints(&v, error);
    for (int i = 0; status == ULP_OK && i < call->tape->instruction_count; i++)
        if (call->tape->instructions[i].kind != ULP_TAPE_OPERAND &&
            call->tape->instructions[i].kind != ULP_TAPE_CONSTANT)
            ulp_enclosing_hide(trace, (struct ulp_hidden_bound){call->tape, i, v.largest[i],
                                                                v.rule.largest});
    ulp_arena_free(v.scratch);
    return status;
}
