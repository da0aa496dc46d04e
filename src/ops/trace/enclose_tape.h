/* A formula of intervals while it is evaluated: what enclose_tape.c and enclose_store.c share. */
#pragma once

#include "formula/enclose/enclose.h"
#include "ops/trace/affine.h"

/* An output, as it is stored of the elements that are taken together. */
struct ulp_enclose_output {
    const struct ulp_operand *to;
    int instruction;
    bool one, named;
    struct ulp_format format;
    uint32_t joint;
};

struct ulp_enclose_tape {
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
    struct ulp_enclose_output *stored; /* by output */
    size_t first;                      /* number of a result */
    double **given;                    /* by number, from `first` on: the element that it names */
    struct ulp_affine_tape affine;     /* results NULL: no forms */
    size_t *rows;                      /* of the elements that are taken together */
    int32_t *positions;
    int64_t *places;
};

static inline bool ulp_operand_is_named(const struct ulp_operand *operand)
{
    return operand->tensor && operand->tensor->element == ULP_ELEMENT_F64;
}

static inline bool ulp_enclose_is_stored(const struct ulp_enclose_tape *v, int o)
{
    return v->call->outputs[o].tensor && v->call->tape->outputs[o] >= 0;
}

/* One for each row? */
static inline bool ulp_enclose_is_one(const struct ulp_tape *tape, int i,
                                      const struct ulp_operand *to)
{
    return i >= 0 && tape->instructions[i].per_row && !ulp_gate_has_positions(to);
}

/* enclose_store.c: how output o is stored of n elements; the k-th of them; of a row without
 * elements. */
void ulp_enclose_open_output(struct ulp_enclose_tape *v, int o, size_t n,
                             struct ulp_enclose_output *out);
void ulp_enclose_store_output(struct ulp_enclose_tape *v, const struct ulp_enclose_output *output,
                              size_t k);
void ulp_enclose_store_empty(struct ulp_enclose_tape *v, size_t row);
