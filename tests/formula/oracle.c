#include "oracle.h"

#include "tests/support/test.h"

#include "number/mpfr_record.h"
#include "number/round/round.h"

/* Intermediate results are truncated to so many bits with a sticky last one (rounded to odd):
 * rounding them to any format of at most WORK_BITS - 2 bits is then rounding the exact value. */
#define WORK_BITS 700

void oracle_init(struct oracle *oracle)
{
    oracle->folded_row = SIZE_MAX;
    for (int i = 0; i < 64; i++)
        mpfr_init2(oracle->reduced[i], WORK_BITS);
}

void oracle_clear(struct oracle *oracle)
{
    for (int i = 0; i < 64; i++)
        mpfr_clear(oracle->reduced[i]);
}

static void make_odd(mpfr_t x, int ternary)
{
    if (ternary == 0 || !mpfr_regular_p(x))
        return;
    const mpfr_prec_t limbs = (WORK_BITS + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS;
    mp_limb_t *significand = mpfr_custom_get_significand(x);
    significand[0] |= (mp_limb_t)1 << (limbs * GMP_NUMB_BITS - WORK_BITS);
}

static void round_in_place(const struct oracle *oracle, const struct ulp_format *format, mpfr_t x)
{
    ulp_round_mpfr(format, oracle->arithmetic->rounding, x, x, 0, 0, 0);
}

/* *out = primitive(a, b, c), out not rounded to a format yet; false when the primitive passes
 * values on unrounded. */
static bool apply(enum ulp_primitive primitive, mpfr_t out, const mpfr_t a, const mpfr_t b,
                  const mpfr_t c)
{
    int ternary = 0;
    const bool unordered = mpfr_nan_p(a) || (b && mpfr_nan_p(b));
    switch (primitive) {
    /* A sum that is exactly zero of unlike signs is +0, in every direction of rounding. */
    case ULP_PRIMITIVE_ADD: ternary = mpfr_add(out, a, b, MPFR_RNDZ); break;
    case ULP_PRIMITIVE_SUB: ternary = mpfr_sub(out, a, b, MPFR_RNDZ); break;
    case ULP_PRIMITIVE_MUL: ternary = mpfr_mul(out, a, b, MPFR_RNDZ); break;
    case ULP_PRIMITIVE_DIV: ternary = mpfr_div(out, a, b, MPFR_RNDZ); break;
    case ULP_PRIMITIVE_SQRT: ternary = mpfr_sqrt(out, a, MPFR_RNDZ); break;
    case ULP_PRIMITIVE_EXP: ternary = mpfr_exp(out, a, MPFR_RNDZ); break;
    case ULP_PRIMITIVE_TANH: ternary = mpfr_tanh(out, a, MPFR_RNDZ); break;
    case ULP_PRIMITIVE_FMA: ternary = mpfr_fma(out, a, b, c, MPFR_RNDZ); break;
    case ULP_PRIMITIVE_NEG: mpfr_neg(out, a, MPFR_RNDZ); break;
    case ULP_PRIMITIVE_ABS: mpfr_abs(out, a, MPFR_RNDZ); return false;
    case ULP_PRIMITIVE_COPY: mpfr_set(out, a, MPFR_RNDZ); return false;
    case ULP_PRIMITIVE_MIN:
    case ULP_PRIMITIVE_MAX:
        if (unordered)
            mpfr_set_nan(out);
        else if (primitive == ULP_PRIMITIVE_MIN)
            mpfr_min(out, a, b, MPFR_RNDZ);
        else
            mpfr_max(out, a, b, MPFR_RNDZ);
        /* mpfr_min and mpfr_max do not order -0 below +0. */
        if (!unordered && mpfr_zero_p(a) && mpfr_zero_p(b))
            mpfr_set_zero(out, primitive == ULP_PRIMITIVE_MIN
                                   ? (mpfr_signbit(a) || mpfr_signbit(b) ? -1 : 1)
                                   : (mpfr_signbit(a) && mpfr_signbit(b) ? -1 : 1));
        return false;
    case ULP_PRIMITIVE_LESS:
        mpfr_set_si(out, !unordered && mpfr_less_p(a, b), MPFR_RNDZ);
        return false;
    case ULP_PRIMITIVE_LESS_EQUAL:
        mpfr_set_si(out, !unordered && mpfr_lessequal_p(a, b), MPFR_RNDZ);
        return false;
    case ULP_PRIMITIVE_EQUAL:
        mpfr_set_si(out, !unordered && mpfr_equal_p(a, b), MPFR_RNDZ);
        return false;
    case ULP_PRIMITIVE_NOT: mpfr_set_si(out, mpfr_zero_p(a), MPFR_RNDZ); return false;
    case ULP_PRIMITIVE_SELECT: mpfr_set(out, mpfr_zero_p(a) ? c : b, MPFR_RNDZ); return false;
    default: ck_abort_msg("the oracle does not know primitive %d", primitive);
    }
    make_odd(out, ternary);
    return true;
}

/* a = a combined with b. */
static void combine(const struct oracle *oracle, enum ulp_reduction reduction, mpfr_t a,
                    const mpfr_t b)
{
    static const enum ulp_primitive primitives[] = {[ULP_REDUCTION_SUM] = ULP_PRIMITIVE_ADD,
                                                    [ULP_REDUCTION_MAX] = ULP_PRIMITIVE_MAX,
                                                    [ULP_REDUCTION_MIN] = ULP_PRIMITIVE_MIN,
                                                    [ULP_REDUCTION_PRODUCT] = ULP_PRIMITIVE_MUL};
    scoped_mpfr result;
    mpfr_init2(result, WORK_BITS);
    if (apply(primitives[reduction], result, a, b, NULL))
        round_in_place(oracle, &oracle->arithmetic->rows, result);
    mpfr_set(a, result, MPFR_RNDZ);
}

/* number/README.md section 5.1, as a GPU's threads would: thread t of T has `own` partial sums, of
 * elements congruent to own * t + k modulo own * T. */
static void fold_threads(const struct oracle *oracle, enum ulp_reduction reduction, mpfr_t *values,
                         size_t n)
{
    size_t threads = 1, own = 1;
    if (!oracle->contiguous)
        own = 4;
    else if (n >= 128)
        threads = 32, own = 4;
    else
        while (threads < 32 && threads * 2 <= n)
            threads *= 2;
    const size_t stride = threads * own;
    for (size_t part = 0; part < stride; part++)
        for (size_t i = part + stride; i < n; i += stride)
            combine(oracle, reduction, values[part], values[i]);
    for (size_t t = 0; t < threads; t++)
        for (size_t k = 1; k < own && t * own + k < n; k++)
            combine(oracle, reduction, values[t * own], values[t * own + k]);
    for (size_t half = threads / 2; half > 0; half /= 2)
        for (size_t t = 0; t < half; t++)
            if ((t + half) * own < n)
                combine(oracle, reduction, values[t * own], values[(t + half) * own]);
}

/* The orders as format.h words them, on an array of all n values, destroyed; the result is
 * values[0]. */
static void fold_values(const struct oracle *oracle, enum ulp_reduction reduction, mpfr_t *values,
                        size_t n)
{
    const size_t block = (size_t)oracle->arithmetic->reduce_block;
    switch (oracle->arithmetic->reduce) {
    case ULP_ORDER_SEQUENTIAL:
        for (size_t i = 1; i < n; i++)
            combine(oracle, reduction, values[0], values[i]);
        return;
    case ULP_ORDER_PAIRWISE:
        while (n > 1) {
            for (size_t i = 0; i + 1 < n; i += 2) {
                combine(oracle, reduction, values[i], values[i + 1]);
                mpfr_swap(values[i / 2], values[i]);
            }
            if (n % 2)
                mpfr_swap(values[n / 2], values[n - 1]);
            n = (n + 1) / 2;
        }
        return;
    case ULP_ORDER_BLOCKED:
        for (size_t first = 0; first < n; first += block)
            for (size_t i = first + 1; i < n && i < first + block; i++)
                combine(oracle, reduction, values[first], values[i]);
        for (size_t first = block; first < n; first += block)
            combine(oracle, reduction, values[0], values[first]);
        return;
    case ULP_ORDER_WARP: fold_threads(oracle, reduction, values, n); return;
    }
}

static void find_value(struct oracle *oracle, mpfr_t out, int index, size_t row, size_t position);

static void find_fold(struct oracle *oracle, mpfr_t out, const struct ulp_instruction *instruction,
                      size_t row)
{
    static const int empty_sign[] = {[ULP_REDUCTION_MAX] = -1, [ULP_REDUCTION_MIN] = 1};
    const size_t n = oracle->row_length;
    SCOPED_MEMORY mpfr_t *values = malloc((n + 1) * sizeof *values);
    for (size_t i = 0; i < n; i++) {
        mpfr_init2(values[i], WORK_BITS);
        find_value(oracle, values[i], instruction->arguments[0], row, i);
    }
    if (n) {
        fold_values(oracle, instruction->reduction, values, n);
        mpfr_set(out, values[0], MPFR_RNDZ);
    } else if (instruction->reduction == ULP_REDUCTION_SUM ||
               instruction->reduction == ULP_REDUCTION_PRODUCT) {
        mpfr_set_si(out, instruction->reduction == ULP_REDUCTION_PRODUCT, MPFR_RNDZ);
    } else {
        mpfr_set_inf(out, empty_sign[instruction->reduction]);
    }
    round_in_place(oracle, &oracle->arithmetic->compute, out);
    for (size_t i = 0; i < n; i++)
        mpfr_clear(values[i]);
}

/* What earlier instructions gave for this row. */
static void forget_other_rows(struct oracle *oracle, size_t row)
{
    for (int i = 0; i < 64 && oracle->folded_row != row; i++) {
        oracle->known[i] = false;
        oracle->scanned[i] = 0;
    }
    oracle->folded_row = row;
}

static void find_scan(struct oracle *oracle, mpfr_t out, int index, size_t row, size_t position)
{
    const struct ulp_instruction *instruction = &oracle->tape->instructions[index];
    const bool product = instruction->reduction == ULP_REDUCTION_PRODUCT;
    scoped_mpfr value;
    forget_other_rows(oracle, row);
    ck_assert_int_lt(index, 64);
    mpfr_init2(value, WORK_BITS);
    if (oracle->scanned[index] > position)
        oracle->scanned[index] = 0;
    if (oracle->scanned[index] == 0)
        mpfr_set_si(oracle->reduced[index], product, MPFR_RNDZ);
    for (; oracle->scanned[index] <= position; oracle->scanned[index]++) {
        find_value(oracle, value, instruction->arguments[0], row, oracle->scanned[index]);
        apply(product ? ULP_PRIMITIVE_MUL : ULP_PRIMITIVE_ADD, out, oracle->reduced[index], value,
              NULL);
        round_in_place(oracle, &oracle->arithmetic->compute, out);
        round_in_place(oracle, &oracle->arithmetic->rows, out);
        mpfr_set(oracle->reduced[index], out, MPFR_RNDZ);
    }
    mpfr_set(out, oracle->reduced[index], MPFR_RNDZ);
}

static void find_constant(const struct oracle *oracle, mpfr_t out, const char *text)
{
    make_odd(out, mpfr_strtofr(out, text, NULL, 0, MPFR_RNDZ));
    round_in_place(oracle, &oracle->arithmetic->compute, out);
}

static bool is_mean(const struct oracle *oracle, const struct ulp_instruction *instruction)
{
    const struct ulp_instruction *all = oracle->tape->instructions;
    return instruction->primitive == ULP_PRIMITIVE_DIV &&
           all[instruction->arguments[0]].kind == ULP_TAPE_REDUCTION &&
           all[instruction->arguments[1]].kind == ULP_TAPE_ROW_SIZE;
}

static void find_value(struct oracle *oracle, mpfr_t out, int index, size_t row, size_t position)
{
    const struct ulp_instruction *instruction = &oracle->tape->instructions[index];
    mpfr_t arguments[3];
    switch (instruction->kind) {
    case ULP_TAPE_OPERAND:
        if (!oracle->operands[instruction->index]) {
            find_constant(oracle, out, oracle->constant);
            return;
        }
        mpfr_set_d(out, oracle->operands[instruction->index][row * oracle->row_length + position],
                   MPFR_RNDZ);
        return;
    case ULP_TAPE_CONSTANT:
        find_constant(oracle, out, oracle->tape->constants[instruction->index]);
        return;
    case ULP_TAPE_ROW_SIZE:
        mpfr_set_ui(out, oracle->row_length, MPFR_RNDZ);
        round_in_place(oracle, &oracle->arithmetic->compute, out);
        return;
    case ULP_TAPE_REDUCTION:
        forget_other_rows(oracle, row);
        ck_assert_int_lt(index, 64);
        if (!oracle->known[index]) {
            mpfr_t reduced;
            mpfr_init2(reduced, WORK_BITS);
            find_fold(oracle, reduced, instruction, row);
            mpfr_set(oracle->reduced[index], reduced, MPFR_RNDZ);
            mpfr_clear(reduced);
            oracle->known[index] = true;
        }
        mpfr_set(out, oracle->reduced[index], MPFR_RNDZ);
        return;
    case ULP_TAPE_SCAN: find_scan(oracle, out, index, row, position); return;
    case ULP_TAPE_PRIMITIVE:
        for (int k = 0; k < 3; k++) {
            mpfr_init2(arguments[k], WORK_BITS);
            if (instruction->arguments[k] >= 0)
                find_value(oracle, arguments[k], instruction->arguments[k], row, position);
        }
        if (oracle->arithmetic->reduce == ULP_ORDER_WARP && is_mean(oracle, instruction)) {
            mpfr_set_ui(arguments[2], 1, MPFR_RNDZ);
            apply(ULP_PRIMITIVE_DIV, arguments[2], arguments[2], arguments[1], NULL);
            round_in_place(oracle, &oracle->arithmetic->compute, arguments[2]);
            apply(ULP_PRIMITIVE_MUL, out, arguments[0], arguments[2], NULL);
            round_in_place(oracle, &oracle->arithmetic->compute, out);
        } else if (apply(instruction->primitive, out, arguments[0],
                         instruction->arguments[1] < 0 ? NULL : arguments[1], arguments[2])) {
            round_in_place(oracle, &oracle->arithmetic->compute, out);
        }
        for (int k = 0; k < 3; k++)
            mpfr_clear(arguments[k]);
        return;
    }
}

void oracle_value(struct oracle *oracle, mpfr_t out, int output, size_t row, size_t position)
{
    scoped_mpfr value;
    mpfr_init2(value, WORK_BITS);
    find_value(oracle, value, oracle->tape->outputs[output], row, position);
    round_in_place(oracle, &oracle->arithmetic->storage, value);
    mpfr_set(out, value, MPFR_RNDN);
}

bool oracle_equal(const struct ulp_tensor *tensor, size_t index, const mpfr_t x)
{
    mpfr_t element, copy;
    bool equal;
    mpfr_init2(copy, 53);
    if (tensor->element == ULP_ELEMENT_WIDE) {
        ulp_record_open_const(element, ulp_record_at_const(tensor->data, index, tensor->precision),
                              tensor->precision);
    } else {
        mpfr_set_d(copy, ulp_tensor_get(tensor, index), MPFR_RNDN);
        mpfr_custom_init_set(element, mpfr_custom_get_kind(copy),
                             mpfr_regular_p(copy) ? mpfr_get_exp(copy) : 0, 53,
                             mpfr_custom_get_significand(copy));
    }
    if (mpfr_nan_p(x) || mpfr_nan_p(element))
        equal = mpfr_nan_p(x) && mpfr_nan_p(element);
    else
        equal = mpfr_equal_p(x, element) && !mpfr_signbit(x) == !mpfr_signbit(element);
    mpfr_clear(copy);
    return equal;
}
