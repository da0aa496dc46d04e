/* Tables of unary functions with one entry for every value of a small format: magnitudes 0 ..
 * largest, infinity, NaN, each with both signs. A value's index is read off its bits: scaled so
 * that the format's smallest normal number is float's, the leading bits of the float number the
 * format's values in order, subnormals included. */
#include "number/function/unary_table.h"
#include "base/bits.h"
#include "number/function/function.h"

#include <pthread.h>
#include <stdlib.h>

struct unary_table {
    struct unary_table *next;
    struct ulp_format format;
    enum ulp_rounding rounding;
    enum ulp_primitive function;
    /* 2^(-126 - emin), exact on every value of the format, and 2^(126 + emin) */
    float scale, unscale;
    int shift;        /* a float's bits below the format's significand */
    uint32_t largest; /* the number of max_finite; + 1 infinity, + 2 NaN */
    float values[];   /* [negative * (largest + 3) + number] */
};

/* Tables are only ever added, at the head, by the holder of the lock; readers need none. */
static _Atomic(struct unary_table *) tables;
static pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;

static bool same_values(const struct ulp_format *f, const struct ulp_format *g)
{
    return f->precision == g->precision && f->emin == g->emin && f->emax == g->emax &&
           f->max_finite == g->max_finite && f->overflow == g->overflow &&
           f->subnormals == g->subnormals && f->signed_zero == g->signed_zero;
}

static const struct unary_table *find_unary_table(const struct ulp_strip_rule *rule,
                                                  enum ulp_primitive function)
{
    const struct unary_table *table = tables;
    while (table && !(table->function == function && table->rounding == rule->rounding &&
                      same_values(&table->format, &rule->format)))
        table = table->next;
    return table;
}

static bool can_tabulate(const struct ulp_strip_rule *rule)
{
    const struct ulp_format *f = &rule->format;
    return rule->each_step && rule->rounding != ULP_ROUND_STOCHASTIC && f->storage_bits > 0 &&
           f->storage_bits <= 16 && f->carrier == ULP_CARRIER_FLOAT && f->emin >= -126 &&
           f->emax <= 127;
}

static float value_of(const struct unary_table *table, uint32_t number)
{
    if (number > table->largest)
        return ulp_float_from(number == table->largest + 1 ? UINT32_C(0x7f800000)
                                                           : UINT32_C(0x7fc00000));
    return ulp_float_from(number << table->shift) * table->unscale;
}

static void fill(struct unary_table *table)
{
    const uint32_t half = table->largest + 3;
    double x[ULP_STRIP];
    for (uint32_t first = 0; first < 2 * half; first += ULP_STRIP) {
        const uint32_t n = 2 * half - first < ULP_STRIP ? 2 * half - first : ULP_STRIP;
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t number = first + i;
            x[i] = number < half ? value_of(table, number) : -value_of(table, number - half);
        }
        ulp_function_doubles(&table->format, table->rounding, table->function, x, x, NULL, n, 0, 0,
                             0);
        for (uint32_t i = 0; i < n; i++)
            table->values[first + i] = (float)x[i];
    }
}

static const struct unary_table *create(const struct ulp_strip_rule *rule,
                                        enum ulp_primitive function)
{
    const struct ulp_format *f = &rule->format;
    const int shift = 24 - f->precision;
    const float scale = ulp_float_from((uint32_t)(-126 - f->emin + 127) << 23), unscale = 1 / scale;
    const uint32_t largest = ulp_float_bits((float)f->max_finite * scale) >> shift;
    struct unary_table *table =
        malloc(sizeof *table + 2 * ((size_t)largest + 3) * sizeof table->values[0]);
    if (!table)
        return NULL;
    *table =
        (struct unary_table){NULL, *f, rule->rounding, function, scale, unscale, shift, largest};
    fill(table);
    return table;
}

static const struct unary_table *find_or_create(const struct ulp_strip_rule *rule,
                                                enum ulp_primitive function)
{
    const struct unary_table *found = find_unary_table(rule, function);
    if (found)
        return found;
    pthread_mutex_lock(&tables_lock);
    found = find_unary_table(rule, function);
    if (!found) {
        struct unary_table *table = (struct unary_table *)(uintptr_t)create(rule, function);
        if (table) {
            table->next = tables;
            tables = table;
        }
        found = table;
    }
    pthread_mutex_unlock(&tables_lock);
    return found;
}

bool ulp_unary_table_apply(const struct ulp_strip_rule *rule, enum ulp_primitive function, float *y,
                           const float *x, size_t n)
{
    if (!can_tabulate(rule))
        return false;
    const struct unary_table *table = find_or_create(rule, function);
    if (!table)
        return false;
    int32_t index[ULP_STRIP], strays = 0;
    const float scale = table->scale, unscale = table->unscale;
    const int32_t largest = (int32_t)table->largest, cut = (1 << table->shift) - 1,
                  shift = table->shift;
    for (size_t i = 0; i < n; i++) {
        const float scaled = x[i] * scale;
        const int32_t bits = (int32_t)ulp_float_bits(scaled), size = bits & INT32_MAX,
                      number = size >> shift;
        const int32_t finite = size<INT32_C(0x7f800000), nan = size> INT32_C(0x7f800000);
        strays |= finite & ((scaled * unscale != x[i]) | ((size & cut) != 0) | (number > largest));
        index[i] = (finite ? number : largest + 1 + nan) + (bits < 0 ? largest + 3 : 0);
    }
    if (strays)
        return false;
    for (size_t i = 0; i < n; i++)
        y[i] = table->values[index[i]];
    return true;
}
