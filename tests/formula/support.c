#include "formula_test.h"

#include "number/mpfr_record.h"

size_t draw(struct source *source, size_t below)
{
    return (size_t)(ulp_random_bits(source->key, source->counter++) % below);
}

double draw_value(struct source *source, const struct ulp_format *format, bool specials)
{
    const double values[] = {0.0,
                             -0.0,
                             INFINITY,
                             -INFINITY,
                             NAN,
                             fmin(format->max_finite, 0x1p1023),
                             ldexp(1, format->emin < -1000 ? -1000 : format->emin - 1),
                             1};
    double x = 8 * ulp_random_uniform(source->key, source->counter++) - 4;
    if (specials && draw(source, 8) == 0)
        x = values[draw(source, sizeof values / sizeof *values)];
    return ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, x, 0, 0);
}

struct ulp_tensor make_tensor(const struct ulp_arithmetic *arithmetic, int rank,
                              const int64_t *dims, const double *values)
{
    struct ulp_tensor tensor;
    const enum ulp_element element = ulp_storage_element(&arithmetic->storage);
    const int precision = element == ULP_ELEMENT_WIDE ? arithmetic->storage.precision : 0;
    ck_ok(ulp_tensor_create(&tensor, ULP_TYPE_FLOAT, element, precision, rank, dims, &why));
    for (size_t i = 0; i < tensor.count; i++) {
        const double x = values ? values[i] : 0;
        if (element == ULP_ELEMENT_F32) {
            ((float *)tensor.data)[i] = (float)x;
        } else if (element == ULP_ELEMENT_F64) {
            ((double *)tensor.data)[i] = x;
        } else {
            mpfr_t y;
            ulp_record_begin(y, ulp_record_at(tensor.data, i, precision), precision);
            mpfr_set_d(y, x, MPFR_RNDN);
            ulp_record_close(ulp_record_at(tensor.data, i, precision), y);
        }
    }
    return tensor;
}

struct ulp_tape *make_tape(const char *text, const char *const *operand_names, int operand_count,
                           int output_count)
{
    static const char *const output_names[] = {"out", "second", "third"};
    struct ulp_tape *tape;
    ck_ok(ulp_tape_create(&tape, text, operand_names, operand_count, output_names, output_count,
                          NULL, &why));
    return tape;
}

enum ulp_status run_tape(const struct ulp_tape *tape, const struct ulp_arithmetic *arithmetic,
                         const struct ulp_rows *rows, const struct ulp_operand *operands,
                         const struct ulp_operand *outputs, struct ulp_error *error)
{
    return ulp_tape_run(&(struct ulp_tape_call){.tape = tape,
                                                .arithmetic = arithmetic,
                                                .rows = rows,
                                                .operands = operands,
                                                .outputs = outputs,
                                                .node_key = 7},
                        error);
}
