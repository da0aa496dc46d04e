/* Probes: operands on which candidates differ. The first rows of a and columns of b are masked
 * (fit_mask.c); the others are random, a quarter each of ordinary numbers, of numbers of very
 * different size, and of such whose products cancel: what is left of a sum that is zero is its
 * rounding errors, which show in a narrow result, too. */
#include <math.h>
#include <string.h>

#include <ulpscope/array.h>

#include "analysis/fit/fit.h"
#include "analysis/schedule/slices.h"
#include "base/error.h"
#include "base/options.h"
#include "base/machine/environment.h"
#include "base/random.h"

enum { SEEDS = 4 };

struct making {
    const struct ulp_fit *fit;
    const struct ulp_fit_product *product;
    struct ulp_fit_shape shape;
    struct ulp_fit_mask mask;
    struct ulp_format format; /* of the operands' values */
    const char *operands;
    bool patterns;
    int range; /* binary exponents of numbers of different size */
    int thread_count;
    uint64_t seed;
};

/* ---- numbers ---- */

/* Of mean 0 and deviation 1, and much like a normal number: the sum of four uniform ones. No
 * function of libm, whose bits vary. */
static double draw_number(uint64_t key, uint64_t at)
{
    double sum = -2;
    for (uint64_t i = 0; i < 4; i++)
        sum += ulp_random_uniform(key, 4 * at + i);
    return 1.7320508075688772 * sum;
}

/* Element k of random line `line` of a (of b: columns). Lines 2 and 3 of each four cancel: the
 * second half of k repeats the first, in b with the other sign. */
static double draw(const struct making *making, bool is_b, size_t line, size_t k)
{
    const size_t half = making->shape.k / 2;
    const bool cancels = line % 4 >= 2, second = cancels && k >= half && k < 2 * half;
    const uint64_t key = ulp_mix(2 * making->seed + is_b),
                   at = line * making->shape.k + (second ? k - half : k);
    double x = draw_number(key, at);
    if (line % 2) {
        const double exponent = (2 * ulp_random_uniform(ulp_mix(key), at) - 1) * making->range;
        x = ldexp(x, (int)exponent);
    }
    if (cancels && k >= 2 * half)
        x = 0;
    x = ulp_format_round(&making->format, ULP_ROUND_NEAREST_EVEN, second && is_b ? -x : x, 0, 0);
    /* every fourth element of ordinary lines has 12 bits: half of those are ties for TF32 */
    if (making->format.precision == 24 && line % 4 == 0 && k % 4 == 0) {
        struct ulp_format tie = making->format;
        tie.precision = 12;
        x = ulp_format_round(&tie, ULP_ROUND_NEAREST_EVEN, x, 0, 0);
    }
    return x;
}

static double element(const struct making *making, bool is_b, size_t line, size_t k)
{
    const size_t masked = is_b ? making->mask.column_count : making->mask.row_count;
    if (line >= masked)
        return draw(making, is_b, line - masked, k);
    return is_b ? ulp_fit_mask_b(&making->mask, line, k) : ulp_fit_mask_a(&making->mask, line, k);
}

/* a [m, k] or b [k, n] as it lies in the product's operand: transposed, of its type. */
static enum ulp_status make_operand(const struct making *making, bool is_b, struct ulp_tensor *out,
                                    struct ulp_error *error)
{
    const struct ulp_tensor *like = is_b ? making->product->b : making->product->a;
    const bool transposed = is_b ? making->product->transposed_b : making->product->transposed_a;
    const size_t line_count = is_b ? making->shape.n : making->shape.m, k_count = making->shape.k;
    const bool lines_first = is_b == transposed;
    const int64_t dims[] = {(int64_t)(lines_first ? line_count : k_count),
                            (int64_t)(lines_first ? k_count : line_count)};
    const enum ulp_type type = making->patterns ? ULP_TYPE_FLOAT : like->type;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor values = {0};
    ULP_TRY(ulp_tensor_create(&values, type, ULP_ELEMENT_COUNT, 0, 2, dims, error));
    for (size_t line = 0; line < line_count; line++)
        for (size_t k = 0; k < k_count; k++) {
            const size_t at = lines_first ? line * k_count + k : k * line_count + line;
            const double x = element(making, is_b, line, k);
            if (values.element == ULP_ELEMENT_F64)
                ((double *)values.data)[at] = x;
            else
                ((float *)values.data)[at] = (float)x;
        }
    if (!making->patterns) {
        *out = values;
        values = (struct ulp_tensor){0};
        return ULP_OK;
    }
    struct ulp_format format;
    const bool byte = like->element_bytes == 1;
    ULP_TRY(ulp_format_find(making->operands, &format, error));
    ULP_TRY(ulp_tensor_create(out, byte ? ULP_TYPE_UINT8 : ULP_TYPE_UINT16, ULP_ELEMENT_COUNT, 0, 2,
                              dims, error));
    return ulp_array_encode(out, &values, &format, 1, error);
}

/* ---- classes of candidates ---- */

static enum ulp_status compute(const struct making *making, const struct ulp_fit_probe *probe,
                               const struct ulp_fit_candidate *candidate, struct ulp_tensor *out,
                               struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor a = {0};
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor b = {0};
    ULP_TRY(ulp_arithmetic_find(candidate->name, &arithmetic, error));
    ULP_TRY(
        ulp_fit_decode(&a, &probe->a, making->product->transposed_a, candidate->operands, error));
    ULP_TRY(
        ulp_fit_decode(&b, &probe->b, making->product->transposed_b, candidate->operands, error));
    return ulp_array_matmul(out, &arithmetic, &a, &b, making->thread_count, error);
}

/* The class of each consistent candidate. */
static enum ulp_status classify(const struct making *making, struct ulp_fit_probe *probe,
                                struct ulp_error *error)
{
    struct ulp_tensor *firsts;
    ULP_TRY(
        ulp_allocate_zero((void **)&firsts, probe->count, sizeof *firsts, NULL, "probe", error));
    probe->class_count = 0;
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < probe->count && status == ULP_OK; i++) {
        struct ulp_tensor result = {0};
        size_t class = 0;
        status = compute(making, probe, &making->fit->candidates[i], &result, error);
        while (status == ULP_OK && class < probe->class_count &&
               ulp_equal_elements(&result, &firsts[class]) < result.count)
            class ++;
        probe->classes[i] = class;
        if (status == ULP_OK && class == probe->class_count)
            firsts[probe->class_count++] = result;
        else
            ulp_tensor_free(&result);
    }
    for (size_t i = 0; i < probe->count; i++)
        ulp_tensor_free(&firsts[i]);
    ulp_free(firsts);
    return status;
}

/* ---- a probe ---- */

static enum ulp_status make(struct making *making, uint64_t seed, struct ulp_fit_probe *out,
                            struct ulp_error *error)
{
    making->seed = seed;
    *out = (struct ulp_fit_probe){.count = making->fit->consistent};
    ULP_TRY(ulp_arena_create(&out->memory, NULL, error));
    ULP_TAKE(out->classes, out->memory, out->count + 1, error);
    ULP_TRY(make_operand(making, false, &out->a, error));
    ULP_TRY(make_operand(making, true, &out->b, error));
    return classify(making, out, error);
}

/* What the operands' values are: of the format if those given are, too. */
static enum ulp_status find_format(struct making *making, struct ulp_error *error)
{
    const struct ulp_tensor *a = making->product->a, *b = making->product->b;
    making->patterns = !ulp_type_is_float(a->type);
    making->operands = making->fit->count ? making->fit->candidates[0].operands : "fp32";
    const bool exact = making->patterns ||
                       (ulp_fit_holds(making->operands, a) && ulp_fit_holds(making->operands, b));
    const char *name = exact ? making->operands : "fp32";
    making->range = strncmp(name, "fp8", 3) == 0 || strcmp(name, "fp16") == 0 ? 6 : 12;
    return ulp_format_find(name, &making->format, error);
}

enum ulp_status ulp_fit_probe_make(const struct ulp_fit *fit, const struct ulp_fit_product *product,
                                   const struct ulp_fit_options *options, struct ulp_fit_probe *out,
                                   struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    *out = (struct ulp_fit_probe){0};
    ULP_OPTIONS_TAKE(ulp_fit_options, options, error);
    struct making making = {.fit = fit, .product = product, .thread_count = options->thread_count};
    enum ulp_status status = ulp_fit_measure(product, &making.shape, error);
    making.shape.m = options->probe_m ? options->probe_m : making.shape.m;
    making.shape.n = options->probe_n ? options->probe_n : making.shape.n;
    making.shape.k = options->probe_k ? options->probe_k : making.shape.k;
    if (status == ULP_OK)
        status = find_format(&making, error);
    if (status == ULP_OK)
        status = ulp_fit_mask_make(&making.mask, making.operands,
                                   fit->count ? fit->candidates[0].result : "fp32", &making.shape,
                                   error);
    for (uint64_t seed = 0; seed < SEEDS && status == ULP_OK; seed++) {
        struct ulp_fit_probe probe;
        status = make(&making, seed, &probe, error);
        const bool better = status == ULP_OK && (seed == 0 || probe.class_count > out->class_count);
        struct ulp_fit_probe *worse = better ? out : &probe;
        ulp_fit_probe_free(worse);
        if (better)
            *out = probe;
        if (status == ULP_OK && out->class_count == out->count)
            break;
    }
    ulp_fit_mask_free(&making.mask);
    if (status != ULP_OK)
        ulp_fit_probe_free(out);
    return status;
}

void ulp_fit_probe_free(struct ulp_fit_probe *probe)
{
    ulp_tensor_free(&probe->a);
    ulp_tensor_free(&probe->b);
    ulp_arena_free(probe->memory);
    *probe = (struct ulp_fit_probe){0};
}
