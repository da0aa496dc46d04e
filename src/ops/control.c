/* If, Loop and Scan: bodies run by the host, their results handed over or gathered along an axis. */
#include <string.h>

#include "base/error.h"
#include "ops/move.h"

/* Nothing is known before a body has run. */
static enum ulp_status infer_nothing(struct ulp_call *call, struct ulp_error *error)
{
    (void)call;
    (void)error;
    return ULP_OK;
}

static const struct ulp_block *find_body(const struct ulp_call *call, const char *attribute,
                                         const struct ulp_graph **graph)
{
    const struct ulp_bound *bound = call->bound;
    for (size_t i = 0; i < bound->attribute_count; i++)
        if (strcmp(bound->attribute_slots[i].name, attribute) == 0) {
            *graph = bound->attributes[i].graph;
            return bound->blocks[i];
        }
    return NULL;
}

static void free_all(struct ulp_tensor *tensors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ulp_tensor_free(&tensors[i]);
}

/* ---- If ---- */

static enum ulp_status run_if(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_graph *graph;
    if (call->in[0]->count != 1)
        return ulp_fail(error, ULP_ERROR_INPUT, "the condition has %zu elements: expected 1", call->in[0]->count);
    const char *branch = ulp_tensor_get_int(call->in[0], 0) ? "then_branch" : "else_branch";
    const struct ulp_block *block = find_body(call, branch, &graph);
    return call->host->run(call, block, 0, NULL, call->output_count, call->out, error);
}

/* ---- outputs gathered over iterations ---- */

struct gathered {
    size_t count, room;
    struct ulp_tensor *parts; /* owned */
};

static enum ulp_status gather_part(struct ulp_call *call, struct gathered *gathered, struct ulp_tensor *part,
                                   struct ulp_error *error)
{
    if (gathered->count == gathered->room) {
        struct ulp_tensor *parts;
        size_t room = gathered->room ? 2 * gathered->room : 16;
        enum ulp_status status = ulp_call_take(call, room, sizeof *parts, &parts, error);
        if (status != ULP_OK)
            return status;
        if (gathered->count)
            memcpy(parts, gathered->parts, gathered->count * sizeof *parts);
        gathered->parts = parts;
        gathered->room = room;
    }
    gathered->parts[gathered->count++] = *part;
    *part = (struct ulp_tensor){0};
    return ULP_OK;
}

/* Stack the parts along a new axis; without parts the shape is what the body declares, unknown sizes 0. */
static enum ulp_status stack(struct ulp_call *call, struct ulp_tensor *out, const struct gathered *gathered,
                             int64_t axis, bool reverse, const struct ulp_value_info *declared, struct ulp_error *error)
{
    const struct ulp_tensor *first = gathered->count ? &gathered->parts[0] : NULL;
    int64_t dims[ULP_RANK_MAX + 1];
    int at, rank = first ? first->rank : declared->rank < 0 ? 0 : declared->rank;
    enum ulp_status status = rank < ULP_RANK_MAX ? ulp_call_axis(axis, rank + 1, &at, error)
                                                 : ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                                                            "at most %d dimensions are supported", ULP_RANK_MAX);
    if (status != ULP_OK)
        return status;
    for (int d = 0, from = 0; d <= rank; d++) {
        dims[d] = d == at                    ? (int64_t)gathered->count
                  : first                    ? first->dims[from]
                  : declared->dims[from] < 0 ? 0
                                             : declared->dims[from];
        from += d != at;
    }
    status = ulp_call_describe_tensor(call, out, first ? first->type : declared->type, rank + 1, dims, error);
    if (status == ULP_OK)
        status = ulp_tensor_allocate(out, call->budget, error);
    if (status != ULP_OK)
        return status;
    const struct ulp_split split = ulp_split_at(out, at);
    for (size_t i = 0; i < gathered->count; i++) {
        const struct ulp_tensor *part = &gathered->parts[reverse ? gathered->count - 1 - i : i];
        if (part->element_bytes != out->element_bytes || !ulp_tensor_same_shape(part, first)) {
            ulp_tensor_free(out);
            return ulp_fail(error, ULP_ERROR_INPUT, "a scan output changes its shape between iterations");
        }
        for (size_t o = 0; o < split.outer && split.inner; o++)
            memcpy(ulp_element_at(out, (o * split.size + i) * split.inner), ulp_element_at(part, o * split.inner),
                   split.inner * out->element_bytes);
    }
    return ULP_OK;
}

static void free_gathered(struct gathered *gathered, size_t count)
{
    for (size_t i = 0; gathered && i < count; i++)
        free_all(gathered[i].parts, gathered[i].count);
}

/* ---- Loop ---- */

/* What a loop keeps: carried values (owned once an iteration has made them), and the scan outputs so far. */
struct loop {
    const struct ulp_block *body;
    const struct ulp_graph *graph;
    size_t carried_count, scan_count;
    struct ulp_tensor *carried, *results;
    struct gathered *scans;
    const struct ulp_tensor **inputs;
};

static enum ulp_status begin_loop(struct ulp_call *call, struct loop *loop, size_t first_carried, size_t extra_inputs,
                                  struct ulp_error *error)
{
    enum ulp_status status = ulp_call_take(call, loop->carried_count, sizeof *loop->carried, &loop->carried, error);
    if (status == ULP_OK)
        status = ulp_call_take(call, loop->carried_count + loop->scan_count + 1, sizeof *loop->results, &loop->results,
                               error);
    if (status == ULP_OK)
        status = ulp_call_take(call, loop->scan_count, sizeof *loop->scans, &loop->scans, error);
    if (status == ULP_OK)
        status = ulp_call_take(call, loop->carried_count + extra_inputs, sizeof *loop->inputs, &loop->inputs, error);
    for (size_t i = 0; status == ULP_OK && i < loop->carried_count; i++)
        if (call->in[first_carried + i])
            loop->carried[i] = ulp_tensor_view(call->in[first_carried + i]);
    return status;
}

/* results[first ..]: new carried values, then one part of each scan output. */
static enum ulp_status keep_results(struct ulp_call *call, struct loop *loop, size_t first, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < loop->carried_count; i++) {
        ulp_tensor_free(&loop->carried[i]);
        loop->carried[i] = loop->results[first + i];
        loop->results[first + i] = (struct ulp_tensor){0};
    }
    for (size_t i = 0; i < loop->scan_count && status == ULP_OK; i++)
        status = gather_part(call, &loop->scans[i], &loop->results[first + loop->carried_count + i], error);
    free_all(loop->results, first + loop->carried_count + loop->scan_count);
    return status;
}

static void free_loop(struct loop *loop)
{
    if (loop->carried)
        free_all(loop->carried, loop->carried_count);
    free_gathered(loop->scans, loop->scans ? loop->scan_count : 0);
}

/* The carried values become the node's first outputs. */
static enum ulp_status give_carried(struct ulp_call *call, struct loop *loop, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < loop->carried_count && i < call->output_count && status == ULP_OK; i++)
        if (loop->carried[i].owned) {
            call->out[i] = loop->carried[i];
            loop->carried[i] = (struct ulp_tensor){0};
        } else {
            status = ulp_tensor_copy(&call->out[i], &loop->carried[i], call->budget, error);
        }
    return status;
}

static enum ulp_status run_loop(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *limit = call->in[0], *condition = ulp_call_in(call, 1);
    size_t own = call->bound->node->input_count;
    struct loop loop = {.carried_count = own > 2 ? own - 2 : 0};
    loop.body = find_body(call, "body", &loop.graph);
    if (call->output_count < loop.carried_count || loop.graph->output_count != call->output_count + 1)
        return ulp_fail(error, ULP_ERROR_INPUT, "the body has %zu outputs for the node's %zu", loop.graph->output_count,
                        call->output_count);
    loop.scan_count = call->output_count - loop.carried_count;
    int64_t number = 0, count = limit ? ulp_tensor_get_int(limit, 0) : INT64_MAX;
    uint8_t go_on = condition ? ulp_tensor_get_int(condition, 0) != 0 : 1;
    struct ulp_tensor iteration = {.type = ULP_TYPE_INT64, .element = ULP_ELEMENT_I64, .count = 1, .element_bytes = 8,
                                   .data = &number};
    struct ulp_tensor keep = {
        .type = ULP_TYPE_BOOL, .element = ULP_ELEMENT_BOOL, .count = 1, .element_bytes = 1, .data = &go_on};
    enum ulp_status status = begin_loop(call, &loop, 2, 2, error);
    for (; status == ULP_OK && number < count && go_on; number++) {
        loop.inputs[0] = &iteration;
        loop.inputs[1] = &keep;
        for (size_t i = 0; i < loop.carried_count; i++)
            loop.inputs[2 + i] = &loop.carried[i];
        status = call->host->run(call, loop.body, 2 + loop.carried_count, loop.inputs, call->output_count + 1,
                                 loop.results, error);
        if (status != ULP_OK)
            break;
        if (loop.results[0].count == 1)
            go_on = ulp_tensor_get_int(&loop.results[0], 0) != 0;
        status = keep_results(call, &loop, 1, error);
    }
    if (status == ULP_OK)
        status = give_carried(call, &loop, error);
    for (size_t i = 0; i < loop.scan_count && status == ULP_OK; i++) {
        size_t output = 1 + loop.carried_count + i;
        status = stack(call, &call->out[loop.carried_count + i], &loop.scans[i], 0, false,
                       &loop.graph->values[loop.graph->outputs[output]].info, error);
    }
    free_loop(&loop);
    return status;
}

/* ---- Scan ---- */

/* Entry i of a list attribute, 0 when it is absent. */
static int64_t list_entry(const struct ulp_call *call, const char *name, size_t i)
{
    const struct ulp_attribute_value *list = ulp_call_attribute(call, name);
    return i < list->count ? list->ints[i] : 0;
}

/* Slice number `at` of `in` along an axis, as a temporary that the next call overwrites. */
static enum ulp_status take_slice(struct ulp_call *call, struct ulp_tensor *out, const struct ulp_tensor *in, int axis,
                                  size_t at, struct ulp_error *error)
{
    const struct ulp_split split = ulp_split_at(in, axis);
    if (!out->data) {
        *out = *in;
        out->rank--;
        memmove(out->dims + axis, in->dims + axis + 1, (size_t)(in->rank - axis - 1) * sizeof *out->dims);
        out->count = split.outer * split.inner;
        enum ulp_status status = ulp_call_temporary(call, out, error);
        if (status != ULP_OK)
            return status;
    }
    for (size_t o = 0; o < split.outer && split.inner; o++)
        memcpy(ulp_element_at(out, o * split.inner), ulp_element_at(in, (o * split.size + at) * split.inner),
               split.inner * in->element_bytes);
    return ULP_OK;
}

/* All steps over scan inputs in[0 .. scan_inputs); their length is *length, which fewer steps may cut. */
static enum ulp_status scan_steps(struct ulp_call *call, struct loop *loop, size_t scan_inputs,
                                  const struct ulp_tensor *const *in, const char *axes, const char *directions,
                                  int64_t steps, struct ulp_error *error)
{
    struct ulp_tensor *slices;
    enum ulp_status status = ulp_call_take(call, scan_inputs, sizeof *slices, &slices, error);
    for (int64_t t = 0; status == ULP_OK && t < steps; t++) {
        for (size_t i = 0; i < loop->carried_count; i++)
            loop->inputs[i] = &loop->carried[i];
        for (size_t i = 0; status == ULP_OK && i < scan_inputs; i++) {
            int axis;
            status = ulp_call_axis(axes ? list_entry(call, axes, i) : 0, in[i]->rank, &axis, error);
            if (status == ULP_OK && in[i]->dims[axis] < steps)
                status = ulp_fail(error, ULP_ERROR_INPUT, "scan input %zu has %lld of %lld steps", i,
                                  (long long)in[i]->dims[axis], (long long)steps);
            if (status == ULP_OK)
                status = take_slice(call, &slices[i], in[i], axis,
                                    (size_t)(list_entry(call, directions, i) ? steps - 1 - t : t), error);
            loop->inputs[loop->carried_count + i] = &slices[i];
        }
        if (status == ULP_OK)
            status = call->host->run(call, loop->body, loop->carried_count + scan_inputs, loop->inputs,
                                     loop->carried_count + loop->scan_count, loop->results, error);
        if (status == ULP_OK)
            status = keep_results(call, loop, 0, error);
    }
    return status;
}

static enum ulp_status run_scan(struct ulp_call *call, struct ulp_error *error)
{
    size_t own = call->bound->node->input_count, scan_inputs = (size_t)ulp_call_int(call, "num_scan_inputs");
    struct loop loop = {.carried_count = own - scan_inputs};
    int axis;
    loop.body = find_body(call, "body", &loop.graph);
    if (scan_inputs < 1 || scan_inputs > own || loop.graph->output_count != call->output_count ||
        call->output_count < loop.carried_count)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "num_scan_inputs does not fit the node's inputs and the body's outputs");
    loop.scan_count = call->output_count - loop.carried_count;
    const struct ulp_tensor *const *in = call->in + loop.carried_count;
    enum ulp_status status = ulp_call_axis(list_entry(call, "scan_input_axes", 0), in[0]->rank, &axis, error);
    if (status == ULP_OK)
        status = begin_loop(call, &loop, 0, scan_inputs, error);
    if (status == ULP_OK)
        status = scan_steps(call, &loop, scan_inputs, in, "scan_input_axes", "scan_input_directions", in[0]->dims[axis],
                            error);
    if (status == ULP_OK)
        status = give_carried(call, &loop, error);
    for (size_t i = 0; i < loop.scan_count && status == ULP_OK; i++)
        status = stack(call, &call->out[loop.carried_count + i], &loop.scans[i],
                       list_entry(call, "scan_output_axes", i), list_entry(call, "scan_output_directions", i),
                       &loop.graph->values[loop.graph->outputs[loop.carried_count + i]].info, error);
    free_loop(&loop);
    return status;
}

/* ---- Scan 8: every input has a batch axis, and each item of the batch is scanned by itself ---- */

/* Item b of a batch, a view. */
static struct ulp_tensor batch_item(const struct ulp_tensor *in, size_t b)
{
    struct ulp_tensor item = ulp_tensor_view(in);
    item.rank--;
    memmove(item.dims, in->dims + 1, (size_t)item.rank * sizeof *item.dims);
    item.count = in->dims[0] ? in->count / (size_t)in->dims[0] : 0;
    item.data = ulp_element_at(in, b * item.count);
    return item;
}

static enum ulp_status scan_item(struct ulp_call *call, size_t scan_inputs, size_t b, struct gathered *outputs,
                                 struct ulp_error *error)
{
    const struct ulp_tensor *lengths = call->in[0];
    size_t own = call->bound->node->input_count - 1;
    struct loop loop = {.carried_count = own - scan_inputs};
    struct ulp_tensor *items;
    const struct ulp_tensor **pointers;
    loop.body = find_body(call, "body", &loop.graph);
    loop.scan_count = call->output_count - loop.carried_count;
    enum ulp_status status = begin_loop(call, &loop, 1, scan_inputs, error);
    if (status == ULP_OK)
        status = ulp_call_take(call, own, sizeof *items, &items, error);
    if (status == ULP_OK)
        status = ulp_call_take(call, own, sizeof *pointers, &pointers, error);
    if (status != ULP_OK)
        return status;
    for (size_t i = 0; i < own; i++) {
        items[i] = batch_item(call->in[1 + i], b);
        pointers[i] = &items[i];
        if (i < loop.carried_count)
            loop.carried[i] = items[i];
    }
    int64_t steps = lengths ? ulp_tensor_get_int(lengths, b) : items[loop.carried_count].dims[0];
    status = scan_steps(call, &loop, scan_inputs, pointers + loop.carried_count, NULL, "directions", steps, error);
    for (size_t i = 0; i < call->output_count && status == ULP_OK; i++) {
        struct ulp_tensor result = {0};
        size_t scan = i - loop.carried_count;
        if (i >= loop.carried_count)
            status = stack(call, &result, &loop.scans[scan], 0, false, &loop.graph->values[loop.graph->outputs[i]].info,
                           error);
        else
            status = ulp_tensor_copy(&result, &loop.carried[i], call->budget, error);
        if (status == ULP_OK)
            status = gather_part(call, &outputs[i], &result, error);
    }
    free_loop(&loop);
    return status;
}

static enum ulp_status run_scan_batch(struct ulp_call *call, struct ulp_error *error)
{
    size_t own = call->bound->node->input_count - 1, scan_inputs = (size_t)ulp_call_int(call, "num_scan_inputs");
    struct gathered *outputs;
    const struct ulp_graph *graph = NULL;
    find_body(call, "body", &graph);
    for (size_t i = 0; i < own; i++)
        if (call->in[1 + i]->rank < 1 || call->in[1 + i]->dims[0] != call->in[1]->dims[0])
            return ulp_fail(error, ULP_ERROR_INPUT, "input %zu does not have the batch axis of input 1", 1 + i);
    if (scan_inputs < 1 || scan_inputs > own || graph->output_count != call->output_count ||
        call->output_count < own - scan_inputs)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "num_scan_inputs does not fit the node's inputs and the body's outputs");
    enum ulp_status status = ulp_call_take(call, call->output_count, sizeof *outputs, &outputs, error);
    for (size_t b = 0; status == ULP_OK && b < (size_t)call->in[1]->dims[0]; b++)
        status = scan_item(call, scan_inputs, b, outputs, error);
    for (size_t i = 0; i < call->output_count && status == ULP_OK; i++)
        status = stack(call, &call->out[i], &outputs[i], 0, false, &graph->values[graph->outputs[i]].info, error);
    free_gathered(outputs, outputs ? call->output_count : 0);
    return status;
}

#define CONTROL .infer = infer_nothing, .allocates = true

const struct ulp_operator ulp_ops_control[] = {
    {.name = "If", .since = 1, .inputs = "cond:b", .outputs = "outputs*",
     .attributes = "else_branch:!graph; then_branch:!graph", CONTROL, .run = run_if},
    {.name = "Loop", .since = 1, .inputs = "m:i? cond:b? v_initial:*?*", .outputs = "v_final_and_scan_outputs*",
     .attributes = "body:!graph", CONTROL, .run = run_loop},
    {.name = "Scan", .since = 8, .inputs = "sequence_lens:i? initial_state_and_scan_inputs:**",
     .outputs = "final_state_and_scan_outputs*", .attributes = "body:!graph; directions:ints; num_scan_inputs:!int",
     CONTROL, .run = run_scan_batch},
    {.name = "Scan", .since = 9, .inputs = "initial_state_and_scan_inputs:**",
     .outputs = "final_state_and_scan_outputs*",
     .attributes = "body:!graph; num_scan_inputs:!int; scan_input_axes:ints; scan_input_directions:ints; "
                   "scan_output_axes:ints; scan_output_directions:ints", CONTROL, .run = run_scan},
    {0},
};
