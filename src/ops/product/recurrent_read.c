/* What a recurrence has: its inputs, checked, and the tensors it keeps. */
#include <string.h>

#include "base/error.h"
#include "ops/product/recurrent.h"

static bool has_shape(const struct ulp_tensor *tensor, int64_t first, int64_t second, int64_t third)
{
    return tensor->dims[0] == first && tensor->dims[1] == second && tensor->dims[2] == third;
}

enum ulp_status ulp_recurrent_read(const struct ulp_call *call, struct ulp_recurrent *s)
{
    *s = (struct ulp_recurrent){.gates = (size_t)call->bound->op->parameter,
                                .cell = ulp_cell_of(call),
                                .coded = call->bound->op->integer_sums};
    s->batch_first = !s->coded && ulp_call_int(call, "layout");
    s->x = call->in[0], s->w = call->in[1], s->r = call->in[2], s->b = ulp_call_input(call, "b");
    s->lengths = ulp_call_input(call, "sequence_lens"),
    s->initial_h = ulp_call_input(call, "initial_h");
    s->initial_c = ulp_call_input(call, "initial_c"), s->p = ulp_call_input(call, "p");
    if (s->x->rank != 3 || s->w->rank != 3 || s->r->rank != 3)
        return ULP_REFUSE(call, "x, w and r have ranks %d, %d, %d: expected 3", s->x->rank,
                          s->w->rank, s->r->rank);
    bool both = ulp_call_is(call, "direction", "bidirectional");
    if (!both && !ulp_call_is(call, "direction", "forward") &&
        !ulp_call_is(call, "direction", "reverse"))
        return ULP_REFUSE(call, "direction %s: expected forward, reverse or bidirectional",
                          ulp_call_attribute(call, "direction")->s);
    s->directions = both ? 2 : 1;
    s->steps = (size_t)s->x->dims[s->batch_first];
    s->batch = (size_t)s->x->dims[!s->batch_first];
    s->input = (size_t)s->x->dims[2];
    s->hidden = (size_t)s->r->dims[s->coded ? 1 : 2];
    const int64_t lines = (int64_t)(s->gates * s->hidden), directions = (int64_t)s->directions,
                  state = ulp_dim_mul((int64_t)(s->directions * s->batch), (int64_t)s->hidden);
    s->kernel =
        ulp_recurrent_kernel_find(call,
                                  &(struct ulp_recurrent_shape){s->gates, s->directions, s->batch,
                                                                s->input, s->hidden});
    const struct ulp_attribute_value *hidden = ulp_call_attribute(call, "hidden_size");
    const int64_t input = s->x->dims[2], h = (int64_t)s->hidden;
    bool fits = (s->coded ? has_shape(s->w, directions, input, lines) &&
                                has_shape(s->r, directions, h, lines)
                          : has_shape(s->w, directions, lines, input) &&
                                has_shape(s->r, directions, lines, h)) &&
                (!s->b || (int64_t)s->b->count == 2 * directions * lines) &&
                (!s->lengths || s->lengths->count == s->batch) &&
                (!s->initial_h || (int64_t)s->initial_h->count == state) &&
                (!s->initial_c || (int64_t)s->initial_c->count == state) &&
                (!s->p || s->p->count == 3 * s->directions * s->hidden) &&
                (!hidden->present || hidden->i == (int64_t)s->hidden);
    if (!fits)
        return ULP_REFUSE(call,
                          "the inputs' shapes do not fit x, %zu directions and hidden size %zu",
                          s->directions, s->hidden);
    return ulp_cell_activations(call, s->directions, s->kernel->stepped, s->activations);
}

enum place { PLACE_STORED, PLACE_SUMS, PLACE_WIDE };

static enum ulp_status make_buffer(struct ulp_call *call, const struct ulp_recurrent *s,
                                   struct ulp_tensor *out, int64_t rows, int64_t columns,
                                   enum place place)
{
    const int64_t dims[2] = {rows, columns};
    const struct ulp_arithmetic *a = call->arithmetic;
    if (place == PLACE_WIDE)
        ULP_TRY(ulp_call_temporary_in(call, out, &a->compute, 2, dims));
    else if (place == PLACE_SUMS)
        ULP_TRY(ulp_tensor_describe(out, s->x->type, ulp_accumulator_element(a),
                                    a->accumulator.precision, 2, dims, call->error));
    else
        ULP_TRY(ulp_call_describe_tensor(call, out, s->x->type, 2, dims));
    if (place != PLACE_WIDE)
        ULP_TRY(ulp_call_temporary(call, out));
    /* A trace takes all operands of a cell, those that its formula leaves out, too: what no one
     * has written could look like names. */
    if (call->trace)
        memset(out->data, 0, out->count * out->element_bytes);
    return ULP_OK;
}

enum ulp_status ulp_recurrent_make_buffers(struct ulp_call *call, struct ulp_recurrent *s)
{
    const int64_t lines = (int64_t)(s->gates * s->hidden), batch = (int64_t)s->batch,
                  hidden = (int64_t)s->hidden;
    const enum place h = s->kernel->h_stored ? PLACE_STORED : PLACE_WIDE,
                     c = s->kernel->c_stored ? PLACE_STORED : PLACE_WIDE;
    const struct {
        struct ulp_tensor *tensor;
        int64_t rows, columns;
        enum place place;
    } buffers[] = {
        {&s->sums_x, batch * (int64_t)s->steps, lines,
         s->kernel->input_stored ? PLACE_STORED : PLACE_SUMS},
        {&s->sums_h, batch, lines, s->kernel->sums_stored ? PLACE_STORED : PLACE_SUMS},
        {&s->sums_r, batch, hidden, PLACE_SUMS},
        {&s->h, batch, hidden, h},
        {&s->c, batch, hidden, c},
        {&s->new_h, batch, hidden, h},
        {&s->new_c, batch, hidden, c},
        {&s->reset, batch, hidden, PLACE_STORED},
        {&s->stored, batch, hidden, PLACE_STORED},
    };
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        ULP_TRY(make_buffer(call, s, buffers[i].tensor, buffers[i].rows, buffers[i].columns,
                            buffers[i].place));
    return ULP_OK;
}
