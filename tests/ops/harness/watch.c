#include "watch.h"

#include "tests/support/test.h"

#include "interval.h"
#include "kernels/contract.h"
#include "number/double_pair.h"
#include "number/mpfr_record.h"
#include "number/strip/access.h"

/* The reference rounds steps at 128 bits, so that it may lie outside an interval of exact results
 * by that much. */
#define REFERENCE_SLACK 0x1p-110

static struct watch *current;

void watch_start(struct watch *watch)
{
    current = watch;
}

void watch_element(mpfr_t out, const struct ulp_tensor *tensor, size_t i)
{
    if (tensor->element == ULP_ELEMENT_PAIR) {
        const struct ulp_double_pair *pair = (const struct ulp_double_pair *)tensor->data + i;
        ulp_pair_get(out, pair->high, pair->low);
        return;
    }
    if (tensor->element == ULP_ELEMENT_WIDE) {
        mpfr_t record;
        ulp_record_open_const(record, ulp_record_at_const(tensor->data, i, tensor->precision),
                              tensor->precision);
        mpfr_set(out, record, MPFR_RNDN);
    } else if (ulp_element_is_float(tensor->element)) {
        mpfr_set_d(out, ulp_tensor_get(tensor, i), MPFR_RNDN);
    } else if (tensor->element == ULP_ELEMENT_U64) {
        mpfr_set_uj(out, ((const uint64_t *)tensor->data)[i], MPFR_RNDN);
    } else {
        mpfr_set_sj(out, ulp_tensor_get_int(tensor, i), MPFR_RNDN);
    }
}

/* ---- one row of one tape ---- */

struct evaluation {
    const struct ulp_tape *tape;
    const struct ulp_arithmetic *arithmetic;
    const struct ulp_rows *rows;
    const struct ulp_operand *operands;
    enum interval_rounding rounding;
    size_t width;            /* positions of a row at most */
    struct interval *values; /* [instruction][position] */
    int32_t *positions;
    size_t row, count; /* positions that exist in the row */
    bool windowed;
};

static struct interval *value_at(const struct evaluation *e, int instruction, size_t i)
{
    return &e->values[(size_t)instruction * e->width +
                      (e->tape->instructions[instruction].per_row ? 0 : i)];
}

static int64_t place_of(const struct ulp_operand *operand, size_t row, int64_t position)
{
    const size_t period = operand->row_period, turn = period ? row / period : 0;
    return (operand->row_offset
                ? operand->row_offset[row - turn * period] + (int64_t)turn * operand->row_stride
                : (int64_t)row * operand->row_stride) +
           (operand->position_offset ? operand->position_offset[position]
                                     : position * operand->position_stride);
}
static int64_t position_of(const struct evaluation *e, size_t i)
{
    return e->windowed ? e->positions[i] : (int64_t)i;
}

static void load_text(const struct evaluation *e, const char *text, struct interval *out)
{
    mpfr_t value;
    mpfr_init2(value, INTERVAL_PRECISION);
    if (strcmp(text, "pi") == 0) {
        mpfr_const_pi(out->lo, MPFR_RNDD);
        mpfr_const_pi(out->hi, MPFR_RNDU);
        out->number = true;
        out->nan = false;
    } else {
        char *end;
        mpfr_strtofr(value, text, &end, 0, MPFR_RNDN); /* 320 bits: far finer than any format */
        ck_assert_msg(*text && !*end, "constant '%s'", text);
        interval_set(out, value);
    }
    mpfr_clear(value);
    interval_round(out, &e->arithmetic->compute, e->rounding);
}

static void load_size(const struct evaluation *e, struct interval *out)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", e->count);
    load_text(e, text, out);
}

static void load_operand(const struct evaluation *e, int index, size_t i, struct interval *out)
{
    const struct ulp_operand *operand = &e->operands[index];
    if (!operand->tensor && operand->constant) {
        load_text(e, operand->constant, out);
        return;
    }
    ck_assert_msg(operand->tensor, "operand %d is neither tensor nor constant", index);
    scoped_mpfr value;
    mpfr_init2(value, INTERVAL_PRECISION);
    watch_element(value, operand->tensor, (size_t)place_of(operand, e->row, position_of(e, i)));
    interval_set(out, value);
    if (operand->tensor->element == ULP_ELEMENT_WIDE || operand->tensor->element == ULP_ELEMENT_F64)
        /* parameters may be wider than the lane */
        interval_round(out, &e->arithmetic->compute, e->rounding);
}

static const enum ulp_primitive fold_steps[ULP_REDUCTION_COUNT] = {
    [ULP_REDUCTION_SUM] = ULP_PRIMITIVE_ADD,
    [ULP_REDUCTION_MAX] = ULP_PRIMITIVE_MAX,
    [ULP_REDUCTION_MIN] = ULP_PRIMITIVE_MIN,
    [ULP_REDUCTION_PRODUCT] = ULP_PRIMITIVE_MUL};

/* a = a OP b in the format of rows; next: for the result. */
static void combine(const struct evaluation *e, enum ulp_reduction kind, struct interval *a,
                    const struct interval *b, struct interval *next)
{
    interval_compute(fold_steps[kind], next, a, b, NULL);
    interval_round(next, &e->arithmetic->rows, e->rounding);
    interval_copy(a, next);
}

/* A row's elements are neighbours in memory, in some operand that the tape reads. */
static bool is_contiguous(const struct evaluation *e)
{
    for (int n = 0; n < e->tape->instruction_count; n++) {
        const struct ulp_instruction *instruction = &e->tape->instructions[n];
        const struct ulp_operand *operand =
            instruction->kind == ULP_TAPE_OPERAND ? &e->operands[instruction->index] : NULL;
        if (operand && operand->tensor && e->width > 1 &&
            place_of(operand, 0, 1) - place_of(operand, 0, 0) == 1)
            return true;
    }
    return false;
}

static bool is_warp(const struct evaluation *e)
{
    return e->arithmetic->reduce == ULP_ORDER_WARP && !e->rows->window && !e->rows->window_classes;
}

/* The partial sums of a GPU's threads, in the words of src/number/README.md, 5.1: `threads` with
 * `own` partial sums each; element i goes to partial sum i mod (own * threads); a thread adds its
 * own in order; the upper half of threads is added to the lower until one is left. */
static void fold_warp(const struct evaluation *e, enum ulp_reduction kind, struct interval *values,
                      struct interval *next)
{
    size_t threads = 1, own = 1;
    if (!is_contiguous(e))
        own = 4;
    else if (e->count >= 128)
        threads = 32, own = 4;
    else
        while (threads < 32 && 2 * threads <= e->count)
            threads *= 2;
    for (size_t i = own * threads; i < e->count; i++)
        combine(e, kind, &values[i % (own * threads)], &values[i], next);
    for (size_t i = 0; i < own * threads && i < e->count; i++)
        if (i % own)
            combine(e, kind, &values[i - i % own], &values[i], next);
    for (size_t half = threads / 2; half > 0; half /= 2)
        for (size_t t = 0; t < half && (t + half) * own < e->count; t++)
            combine(e, kind, &values[t * own], &values[(t + half) * own], next);
}

static void reduction(const struct evaluation *e, const struct ulp_instruction *instruction,
                      struct interval *out)
{
    static const char *const empty[ULP_REDUCTION_COUNT] = {[ULP_REDUCTION_SUM] = "0",
                                                           [ULP_REDUCTION_PRODUCT] = "1",
                                                           [ULP_REDUCTION_MAX] = "-inf",
                                                           [ULP_REDUCTION_MIN] = "inf"};
    const enum ulp_reduction kind = instruction->reduction;
    struct interval *values = calloc(e->count + 1, sizeof *values), *next = &values[e->count];
    ck_assert_ptr_nonnull(values);
    for (size_t i = 0; i <= e->count; i++)
        interval_init(&values[i]);
    for (size_t i = 0; i < e->count; i++)
        interval_copy(&values[i], value_at(e, instruction->arguments[0], i));
    if (e->count == 0)
        load_text(e, empty[kind], out);
    else if (is_warp(e))
        fold_warp(e, kind, values, next);
    else
        for (size_t i = 1; i < e->count; i++)
            combine(e, kind, &values[0], &values[i], next);
    if (e->count)
        interval_copy(out, &values[0]);
    /* a single element was not rounded yet */
    interval_round(out, &e->arithmetic->rows, e->rounding);
    interval_round(out, &e->arithmetic->compute, e->rounding);
    for (size_t i = 0; i <= e->count; i++)
        interval_clear(&values[i]);
    free(values);
}

static void scan(const struct evaluation *e, const struct ulp_instruction *instruction,
                 size_t position, struct interval *out)
{
    const int index = (int)(instruction - e->tape->instructions);
    struct interval before;
    interval_init(&before);
    if (position == 0)
        load_text(e, instruction->reduction == ULP_REDUCTION_PRODUCT ? "1" : "0", &before);
    else
        interval_copy(&before, value_at(e, index, position - 1));
    interval_compute(fold_steps[instruction->reduction], out, &before,
                     value_at(e, instruction->arguments[0], position), NULL);
    interval_round(out, &e->arithmetic->compute, e->rounding);
    interval_round(out, &e->arithmetic->rows, e->rounding);
    interval_clear(&before);
}

/* How many ulps of FP32 CUDA's functions err (check_function_cuda); an ulp is at most 2^-23 |x|.
 * Their sigmoid is 0 where exp overflows. */
static const double cuda_ulps[ULP_PRIMITIVE_COUNT] = {[ULP_PRIMITIVE_ERF] = 1.125,
                                                      [ULP_PRIMITIVE_EXP] = 2,
                                                      [ULP_PRIMITIVE_SIGMOID] = 3.25,
                                                      [ULP_PRIMITIVE_TANH] = 1.875,
                                                      [ULP_PRIMITIVE_RSQRT] = 1.515};

static void widen_function(const struct evaluation *e, enum ulp_primitive primitive,
                           struct interval *x)
{
    if (!e->arithmetic->cuda_functions || cuda_ulps[primitive] == 0 || !x->number)
        return;
    const double relative = cuda_ulps[primitive] * 0x1p-23,
                 absolute = primitive == ULP_PRIMITIVE_ERF ? 0 : 0x1p-126;
    scoped_mpfr margin;
    mpfr_init2(margin, INTERVAL_PRECISION);
    mpfr_mul_d(margin, x->lo, relative, MPFR_RNDU);
    mpfr_abs(margin, margin, MPFR_RNDU);
    mpfr_sub(x->lo, x->lo, margin, MPFR_RNDD);
    mpfr_sub_d(x->lo, x->lo, absolute, MPFR_RNDD);
    mpfr_mul_d(margin, x->hi, relative, MPFR_RNDU);
    mpfr_abs(margin, margin, MPFR_RNDU);
    mpfr_add(x->hi, x->hi, margin, MPFR_RNDU);
    mpfr_add_d(x->hi, x->hi, absolute, MPFR_RNDU);
}

/* Beside a matrix unit a mean is the sum times the rounded reciprocal of the count. */
static bool is_scaled_mean(const struct evaluation *e, const struct ulp_instruction *instruction)
{
    const struct ulp_instruction *all = e->tape->instructions;
    return is_warp(e) && instruction->primitive == ULP_PRIMITIVE_DIV &&
           all[instruction->arguments[0]].kind == ULP_TAPE_REDUCTION &&
           all[instruction->arguments[1]].kind == ULP_TAPE_ROW_SIZE;
}

static void compute(const struct evaluation *e, const struct ulp_instruction *instruction,
                    struct interval *out, struct interval *const *arguments)
{
    struct interval one, reciprocal;
    if (!is_scaled_mean(e, instruction)) {
        interval_compute(instruction->primitive, out, arguments[0], arguments[1], arguments[2]);
        widen_function(e, instruction->primitive, out);
    } else {
        interval_init(&one);
        interval_init(&reciprocal);
        load_text(e, "1", &one);
        interval_compute(ULP_PRIMITIVE_DIV, &reciprocal, &one, arguments[1], NULL);
        interval_round(&reciprocal, &e->arithmetic->compute, e->rounding);
        interval_compute(ULP_PRIMITIVE_MUL, out, arguments[0], &reciprocal, NULL);
        interval_clear(&one);
        interval_clear(&reciprocal);
    }
    interval_round(out, &e->arithmetic->compute, e->rounding);
}

static void evaluate_row(struct evaluation *e)
{
    for (int n = 0; n < e->tape->instruction_count; n++) {
        const struct ulp_instruction *instruction = &e->tape->instructions[n];
        const size_t count = instruction->per_row ? 1 : e->count;
        for (size_t i = 0; i < count; i++) {
            struct interval *out = value_at(e, n, i), *arguments[3] = {NULL};
            for (int k = 0; k < 3; k++)
                arguments[k] = instruction->arguments[k] < 0
                                   ? NULL
                                   : value_at(e, instruction->arguments[k], i);
            switch (instruction->kind) {
            case ULP_TAPE_OPERAND: load_operand(e, instruction->index, i, out); break;
            case ULP_TAPE_CONSTANT:
                load_text(e, e->tape->constants[instruction->index], out);
                break;
            case ULP_TAPE_ROW_SIZE: load_size(e, out); break;
            case ULP_TAPE_REDUCTION: reduction(e, instruction, out); break;
            case ULP_TAPE_SCAN: scan(e, instruction, i, out); break;
            case ULP_TAPE_PRIMITIVE: compute(e, instruction, out, arguments); break;
            }
        }
    }
}

/* ---- what is expected of a run, found before it: outputs may lie where operands do ---- */

struct expectation {
    size_t output, element;
    struct interval step, bound;
};
struct expectations {
    struct expectation *items;
    size_t count, room;
};

static bool has_positions(const struct ulp_operand *operand)
{
    return operand->position_offset || operand->position_stride;
}

static void expect_row(struct evaluation *e, const struct ulp_operand *outputs,
                       struct expectations *all, size_t *next)
{
    for (int o = 0; o < e->tape->output_count; o++) {
        if (!outputs[o].tensor)
            continue;
        const struct ulp_tensor *tensor = outputs[o].tensor;
        const size_t count = has_positions(&outputs[o]) ? e->count : 1;
        for (size_t i = 0; i < count; i++) {
            if (*next == all->room) {
                all->room = all->room ? 2 * all->room : 64;
                all->items = realloc(all->items, all->room * sizeof *all->items);
                ck_assert_ptr_nonnull(all->items);
            }
            struct expectation *item = &all->items[(*next)++];
            if (e->rounding == INTERVAL_STEP) {
                item->output = (size_t)o;
                item->element =
                    (size_t)place_of(&outputs[o], e->row,
                                     has_positions(&outputs[o]) ? position_of(e, i) : 0);
                interval_init(&item->step);
                interval_init(&item->bound);
            }
            struct interval *x = e->rounding == INTERVAL_STEP ? &item->step : &item->bound;
            interval_copy(x, value_at(e, e->tape->outputs[o], i));
            if (ulp_element_is_float(tensor->element))
                interval_round(x, outputs[o].storage ? outputs[o].storage : &e->arithmetic->storage,
                               e->rounding);
            else
                interval_truncate(x);
        }
    }
}

static void expect_all(struct evaluation *e, const struct ulp_operand *outputs,
                       struct expectations *all)
{
    const size_t values = (size_t)e->tape->instruction_count * (e->width ? e->width : 1);
    e->values = calloc(values, sizeof *e->values);
    e->positions = calloc(e->width + 1, sizeof *e->positions);
    ck_assert(e->values && e->positions);
    for (size_t i = 0; i < values; i++)
        interval_init(&e->values[i]);
    for (int pass = 0; pass < 2; pass++) {
        size_t next = 0;
        e->rounding = pass == 0 ? INTERVAL_STEP : INTERVAL_BOUND;
        for (e->row = 0; e->row < e->rows->row_count; e->row++) {
            e->windowed = e->rows->window != NULL;
            e->count = e->windowed ? e->rows->window(e->rows->window_context, e->row, e->positions)
                                   : e->rows->row_length;
            evaluate_row(e);
            expect_row(e, outputs, all, &next);
        }
        all->count = next;
    }
    for (size_t i = 0; i < values; i++)
        interval_clear(&e->values[i]);
    free(e->values);
    free(e->positions);
}

static void check_bound(const struct expectation *item, const mpfr_t value,
                        const struct ulp_tensor *reference, const char *text)
{
    scoped_mpfr r, width;
    mpfr_inits2(INTERVAL_PRECISION, r, width, (mpfr_ptr)0);
    watch_element(r, reference, item->element);
    if (!interval_holds(&item->bound, r, REFERENCE_SLACK))
        ck_abort_msg("%s: output %zu element %zu: the reference %.20g is outside [%.20g, %.20g], "
                     "the bound of '%s'",
                     current->what, item->output, item->element, mpfr_get_d(r, MPFR_RNDN),
                     mpfr_get_d(item->bound.lo, MPFR_RNDN), mpfr_get_d(item->bound.hi, MPFR_RNDN),
                     text);
    mpfr_sub(width, item->bound.hi, item->bound.lo, MPFR_RNDU);
    mpfr_sub(r, r, value, MPFR_RNDU);
    if (mpfr_regular_p(width) && mpfr_number_p(r)) {
        double share = fabs(mpfr_get_d(r, MPFR_RNDN) / mpfr_get_d(width, MPFR_RNDN));
        current->largest_share = share > current->largest_share ? share : current->largest_share;
    }
}

static void check_all(const struct expectations *all, const struct ulp_operand *outputs,
                      const struct ulp_tape *tape)
{
    scoped_mpfr value;
    mpfr_init2(value, INTERVAL_PRECISION);
    for (size_t n = 0; n < all->count; n++) {
        struct expectation *item = &all->items[n];
        watch_element(value, outputs[item->output].tensor, item->element);
        if (!interval_holds(&item->step, value, 0))
            ck_abort_msg("%s: output %zu element %zu is %.20g, outside [%.20g, %.20g] of '%s'",
                         current->what, item->output, item->element, mpfr_get_d(value, MPFR_RNDN),
                         mpfr_get_d(item->step.lo, MPFR_RNDN), mpfr_get_d(item->step.hi, MPFR_RNDN),
                         tape->text);
        current->points += item->step.nan != item->step.number &&
                           (item->step.nan || mpfr_equal_p(item->step.lo, item->step.hi));
        if (current->reference)
            check_bound(item, value, &current->reference[item->output], tape->text);
        interval_clear(&item->step);
        interval_clear(&item->bound);
    }
    current->values += all->count;
    current->tapes++;
}

static bool is_integer_run(const struct ulp_tape *tape, const struct ulp_operand *operands,
                           const struct ulp_operand *outputs)
{
    for (int i = 0; i < tape->operand_count; i++)
        if (operands[i].tensor && ulp_element_is_float(operands[i].tensor->element))
            return false;
    for (int i = 0; i < tape->output_count; i++)
        if (outputs[i].tensor && ulp_element_is_float(outputs[i].tensor->element))
            return false;
    return true;
}

enum ulp_status __real_ulp_tape_run(const struct ulp_tape_call *call, struct ulp_error *error);
enum ulp_status __wrap_ulp_tape_run(const struct ulp_tape_call *call, struct ulp_error *error);

enum ulp_status __wrap_ulp_tape_run(const struct ulp_tape_call *call, struct ulp_error *error)
{
    struct evaluation e = {.tape = call->tape,
                           .arithmetic = call->arithmetic,
                           .rows = call->rows,
                           .operands = call->operands,
                           .width = call->rows->row_length};
    struct expectations all = {0};
    const bool watched = current && !is_integer_run(call->tape, call->operands, call->outputs);
    if (watched)
        expect_all(&e, call->outputs, &all);
    enum ulp_status status = __real_ulp_tape_run(call, error);
    if (watched && status == ULP_OK)
        check_all(&all, call->outputs, call->tape);
    free(all.items);
    return status;
}

enum ulp_status __real_ulp_contract(const struct ulp_arithmetic *arithmetic,
                                    const struct ulp_contraction *problem, struct ulp_pool *pool,
                                    struct ulp_error *error);
enum ulp_status __wrap_ulp_contract(const struct ulp_arithmetic *arithmetic,
                                    const struct ulp_contraction *problem, struct ulp_pool *pool,
                                    struct ulp_error *error);

enum ulp_status __wrap_ulp_contract(const struct ulp_arithmetic *arithmetic,
                                    const struct ulp_contraction *problem, struct ulp_pool *pool,
                                    struct ulp_error *error)
{
    if (current)
        current->contractions++;
    return __real_ulp_contract(arithmetic, problem, pool, error);
}
