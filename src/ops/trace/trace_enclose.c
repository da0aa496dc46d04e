/* A trace that encloses: what it does at the gates. */
#include "base/error.h"
#include "ops/trace/enclosing.h"

static enum ulp_status give_numbers(struct ulp_trace *trace, const struct ulp_tensor **in,
                                    struct ulp_error *error)
{
    struct ulp_enclosing *e = trace->enclosing;
    struct ulp_tensor *out;
    double *data;
    ULP_TRY(ulp_trace_take(trace, 1, sizeof *out, &out, error));
    ULP_TRY(ulp_trace_take(trace, (*in)->count, sizeof *data, &data, error));
    for (size_t i = 0; i < (*in)->count; i++) {
        data[i] = ((const double *)(*in)->data)[i];
        const size_t number = ulp_enclosing_number(e, data[i]);
        if (number == ULP_NO_NUMBER)
            continue;
        /* 0 is not one number: as a divisor -0 gives another infinity */
        if (e->at.may[number] || e->at.lo[number] != e->at.hi[number] || e->at.lo[number] == 0)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                            "what it does depends on numbers that are not known");
        data[i] = e->at.lo[number];
    }
    *out = ulp_tensor_view(*in);
    out->data = data;
    *in = out;
    return ULP_OK;
}

static void free_enclosing(struct ulp_trace *trace)
{
    struct ulp_enclosing *e = trace->enclosing;
    ulp_free(e->at.lo);
    ulp_free(e->at.hi);
    ulp_free(e->at.may);
    ulp_free(e->joint);
    ulp_free(e->stamp);
    ulp_free(e->affine);
    ulp_free(e->joints);
    ulp_free(e->hidden);
    ulp_free(e);
    trace->enclosing = NULL;
    trace->instead = NULL;
}

static const struct ulp_trace_gates gates = {ulp_enclosing_tape, ulp_enclosing_contract,
                                             give_numbers, free_enclosing};

enum ulp_status ulp_trace_enclose(struct ulp_trace *trace, const struct ulp_arithmetic *arithmetic,
                                  uint32_t symbols, struct ulp_error *error)
{
    void *memory = trace->enclosing;
    if (!memory)
        ULP_TRY(ulp_allocate_zero(&memory, 1, sizeof *trace->enclosing, trace->budget,
                                  "bounds of a node", error));
    trace->enclosing = memory;
    trace->enclosing->lane = *arithmetic;
    trace->enclosing->symbols_max = symbols;
    trace->instead = &gates;
    return ULP_OK;
}
