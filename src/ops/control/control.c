/* If, Loop and Scan: iterations of a body, whose results are handed on or gathered along an axis.
 */
#include "ops/control/control.h"

#include <string.h>

#include "base/error.h"
#include "ops/control/control_parts.h"

/* Nothing is known before a body has run. */
static enum ulp_status infer_nothing(struct ulp_call *call)
{
    (void)call;
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

/* ---- what the kinds begin with ---- */

/* Entry i of a list attribute, 0 when it is absent. */
static int64_t list_entry(const struct ulp_call *call, const char *name, size_t i)
{
    const struct ulp_attribute_value *list = ulp_call_attribute(call, name);
    return i < list->count ? list->ints[i] : 0;
}

static enum ulp_status begin_if(struct ulp_control *control)
{
    struct ulp_call *call = control->call;
    if (call->in[0]->count != 1)
        return ULP_REFUSE(call, "the condition has %zu elements: expected 1", call->in[0]->count);
    control->branch =
        find_body(call, ulp_tensor_get_int(call->in[0], 0) ? "then_branch" : "else_branch",
                  &control->graph);
    control->iteration_count = 1;
    control->result_count = control->carried_count = call->output_count;
    return ULP_OK;
}

static enum ulp_status begin_loop(struct ulp_control *control)
{
    struct ulp_call *call = control->call;
    const struct ulp_tensor *limit = call->in[0], *condition = ulp_call_in(call, 1);
    size_t own = call->bound->node->input_count;
    control->branch = find_body(call, "body", &control->graph);
    control->carried_count = own > 2 ? own - 2 : 0;
    if (call->output_count < control->carried_count ||
        control->graph->output_count != call->output_count + 1)
        return ULP_REFUSE(call, "the body has %zu outputs for the node's %zu",
                          control->graph->output_count, call->output_count);
    if ((limit && limit->count != 1) || (condition && condition->count != 1))
        return ULP_REFUSE(call, "M or cond has another number of elements: expected 1");
    control->scan_count = call->output_count - control->carried_count;
    control->iteration_count = limit ? ulp_tensor_get_int(limit, 0) : INT64_MAX;
    control->go_on = condition ? ulp_tensor_get_int(condition, 0) != 0 : 1;
    control->number = ulp_tensor_list(ULP_TYPE_INT64, &control->iteration, 0, 1);
    control->keep = ulp_tensor_list(ULP_TYPE_BOOL, &control->go_on, 0, 1);
    control->first_input = 2;
    control->first_result = 1;
    control->input_count = 2 + control->carried_count;
    control->result_count = 1 + call->output_count;
    return ULP_OK;
}

static enum ulp_status begin_scan(struct ulp_control *control)
{
    struct ulp_call *call = control->call;
    bool batch = control->kind == ULP_CONTROL_SCAN_BATCH;
    size_t own = call->bound->node->input_count - batch;
    control->first_input = batch;
    control->branch = find_body(call, "body", &control->graph);
    control->scan_input_count = (size_t)ulp_call_int(call, "num_scan_inputs");
    for (size_t i = 0; batch && i < own; i++)
        if (call->in[1 + i]->rank < 1 || call->in[1 + i]->dims[0] != call->in[1]->dims[0])
            return ULP_REFUSE(call, "input %zu does not have the batch axis of input 1", 1 + i);
    if (batch && call->in[0] && call->in[0]->count != (size_t)call->in[1]->dims[0])
        return ULP_REFUSE(call, "sequence_lens has %zu entries for %lld sequences",
                          call->in[0]->count, (long long)call->in[1]->dims[0]);
    if (control->scan_input_count < 1 || control->scan_input_count > own ||
        control->graph->output_count != call->output_count ||
        call->output_count < own - control->scan_input_count)
        return ULP_REFUSE(call,
                          "num_scan_inputs does not fit the node's inputs and the body's outputs");
    control->carried_count = own - control->scan_input_count;
    control->scan_count = call->output_count - control->carried_count;
    control->item_count = batch ? (size_t)call->in[1]->dims[0] : 1;
    control->input_count = own;
    control->result_count = call->output_count;
    return ULP_OK;
}

/* ---- iterations ---- */

static bool is_scan(const struct ulp_control *control)
{
    return control->kind == ULP_CONTROL_SCAN || control->kind == ULP_CONTROL_SCAN_BATCH;
}

static int scan_axis(const struct ulp_control *control, size_t i, int *axis)
{
    int64_t wanted =
        control->kind == ULP_CONTROL_SCAN ? list_entry(control->call, "scan_input_axes", i) : 0;
    return ulp_call_axis(wanted, control->views[i].rank, axis, control->call->error);
}

/* The item's carried values and scan inputs, as views of the node's inputs. */
static enum ulp_status begin_item(struct ulp_control *control)
{
    const struct ulp_call *call = control->call;
    bool batch = control->kind == ULP_CONTROL_SCAN_BATCH;
    for (size_t i = 0; i < control->carried_count && control->kind != ULP_CONTROL_IF; i++) {
        const struct ulp_tensor *in = call->in[control->first_input + i];
        if (!in)
            return ULP_REFUSE(call, "input %zu is left out: a carried value needs a first one",
                              control->first_input + i);
        control->carried[i] = batch ? ulp_part_item(in, control->item) : ulp_tensor_view(in);
    }
    control->iteration = 0;
    if (!is_scan(control))
        return ULP_OK;
    for (size_t i = 0; i < control->scan_input_count; i++) {
        const struct ulp_tensor *in = call->in[control->first_input + control->carried_count + i];
        control->views[i] = batch ? ulp_part_item(in, control->item) : ulp_tensor_view(in);
    }
    for (size_t i = 0; i < control->scan_input_count; i++) {
        int axis;
        ULP_TRY(scan_axis(control, i, &axis));
        const int64_t length = control->views[i].dims[axis];
        if (i == 0)
            control->iteration_count = length;
        else if (length != control->iteration_count)
            return ULP_REFUSE(call, "scan input %zu has %lld steps, the first %lld", i,
                              (long long)length, (long long)control->iteration_count);
    }
    if (!batch || !call->in[0])
        return ULP_OK;
    const int64_t given = ulp_tensor_get_int(call->in[0], control->item);
    if (given < 0 || given > control->iteration_count)
        return ULP_REFUSE(call, "sequence_lens[%zu] is %lld of %lld steps", control->item,
                          (long long)given, (long long)control->iteration_count);
    control->iteration_count = given;
    return ULP_OK;
}

/* The slices of the scan inputs for this iteration. */
static enum ulp_status take_slices(struct ulp_control *control)
{
    const char *directions =
        control->kind == ULP_CONTROL_SCAN ? "scan_input_directions" : "directions";
    for (size_t i = 0; i < control->scan_input_count; i++) {
        const struct ulp_tensor *in = &control->views[i];
        int axis;
        ULP_TRY(scan_axis(control, i, &axis));
        ULP_TRY(ulp_part_slice(control->call, &control->slices[i], in, axis,
                               (size_t)(list_entry(control->call, directions, i)
                                            ? control->iteration_count - 1 - control->iteration
                                            : control->iteration)));
        control->inputs[control->carried_count + i] = &control->slices[i];
    }
    return ULP_OK;
}

/* What the item gave, kept for the batch. */
static enum ulp_status end_item(struct ulp_control *control)
{
    struct ulp_call *call = control->call;
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < call->output_count && status == ULP_OK; i++) {
        struct ulp_tensor result = {0};
        size_t scan = i - control->carried_count;
        if (i >= control->carried_count)
            status = ulp_parts_stack(call, &result, &control->scans[scan], 0, false,
                                     &control->graph->values[control->graph->outputs[i]].info);
        else
            status = ulp_tensor_copy(&result, &control->carried[i], call->budget, call->error);
        ULP_THEN(status, ulp_part_gather(call, &control->items[i], &result));
    }
    ulp_tensors_free(control->carried, control->carried_count);
    for (size_t i = 0; i < control->scan_count; i++) {
        ulp_tensors_free(control->scans[i].parts, control->scans[i].count);
        control->scans[i].count = 0;
    }
    return status;
}

/* Sets body and inputs for the iteration to come. */
static enum ulp_status prepare_iteration(struct ulp_control *control)
{
    control->body = NULL;
    while (control->kind == ULP_CONTROL_SCAN_BATCH && control->item < control->item_count &&
           control->iteration >= control->iteration_count) {
        ULP_TRY(end_item(control));
        if (++control->item < control->item_count)
            ULP_TRY(begin_item(control));
    }
    if (control->iteration >= control->iteration_count || !control->go_on ||
        control->item >= control->item_count)
        return ULP_OK;
    size_t first = control->kind == ULP_CONTROL_LOOP ? 2 : 0;
    if (control->kind == ULP_CONTROL_LOOP) {
        control->inputs[0] = &control->number;
        control->inputs[1] = &control->keep;
    }
    for (size_t i = 0; i < control->carried_count && control->kind != ULP_CONTROL_IF; i++)
        control->inputs[first + i] = &control->carried[i];
    if (is_scan(control))
        ULP_TRY(take_slices(control));
    control->body = control->branch;
    return ULP_OK;
}

enum ulp_status ulp_control_begin(struct ulp_control *out, struct ulp_call *call)
{
    static enum ulp_status (*const begin[])(
        struct ulp_control *) = {[ULP_CONTROL_IF] = begin_if,
                                 [ULP_CONTROL_LOOP] = begin_loop,
                                 [ULP_CONTROL_SCAN] = begin_scan,
                                 [ULP_CONTROL_SCAN_BATCH] = begin_scan};
    *out = (struct ulp_control){.call = call,
                                .kind = (enum ulp_control_kind)call->bound->op->parameter,
                                .item_count = 1,
                                .go_on = 1};
    ULP_TRY(begin[out->kind](out));
    ULP_TRY(ulp_call_take(call, out->carried_count, sizeof *out->carried, &out->carried));
    ULP_TRY(ulp_call_take(call, out->result_count + 1, sizeof *out->results, &out->results));
    ULP_TRY(ulp_call_take(call, out->scan_count, sizeof *out->scans, &out->scans));
    ULP_TRY(ulp_call_take(call, call->output_count, sizeof *out->items, &out->items));
    ULP_TRY(ulp_call_take(call, out->input_count, sizeof *out->inputs, &out->inputs));
    ULP_TRY(ulp_call_take(call, out->scan_input_count, sizeof *out->slices, &out->slices));
    ULP_TRY(ulp_call_take(call, out->scan_input_count, sizeof *out->views, &out->views));
    if (out->item_count)
        ULP_TRY(begin_item(out));
    return prepare_iteration(out);
}

enum ulp_status ulp_control_take(struct ulp_control *control)
{
    struct ulp_tensor *results = control->results;
    enum ulp_status status = ULP_OK;
    if (control->kind == ULP_CONTROL_LOOP && results[0].count != 1)
        return ULP_REFUSE(control->call, "the body's condition has %zu elements: expected 1",
                          results[0].count);
    if (control->kind == ULP_CONTROL_LOOP)
        control->go_on = ulp_tensor_get_int(&results[0], 0) != 0;
    for (size_t i = 0; i < control->carried_count; i++) {
        ulp_tensor_free(&control->carried[i]);
        control->carried[i] = results[control->first_result + i];
        results[control->first_result + i] = (struct ulp_tensor){0};
    }
    for (size_t i = 0; i < control->scan_count && status == ULP_OK; i++)
        status = ulp_part_gather(control->call, &control->scans[i],
                                 &results[control->first_result + control->carried_count + i]);
    ulp_tensors_free(results, control->result_count);
    control->iteration++;
    return status == ULP_OK ? prepare_iteration(control) : status;
}

/* The carried values become the node's first outputs. */
static enum ulp_status give_carried(struct ulp_control *control)
{
    struct ulp_call *call = control->call;
    for (size_t i = 0; i < control->carried_count && i < call->output_count; i++)
        if (control->carried[i].owned) {
            call->out[i] = control->carried[i];
            control->carried[i] = (struct ulp_tensor){0};
        } else {
            ULP_TRY(
                ulp_tensor_copy(&call->out[i], &control->carried[i], call->budget, call->error));
        }
    return ULP_OK;
}

/* A batch without items has no parts to stack: the states are as they came, a scan output has the
 * inputs' steps and what the body declares. */
static enum ulp_status end_empty_batch(struct ulp_control *control)
{
    struct ulp_call *call = control->call;
    static const struct ulp_gathered none;
    for (size_t i = 0; i < call->output_count; i++) {
        const struct ulp_tensor *in = call->in[control->first_input + i],
                                *steps = call->in[control->first_input + control->carried_count];
        struct ulp_value_info info = control->graph->values[control->graph->outputs[i]].info;
        if (i < control->carried_count) {
            ULP_TRY(ulp_tensor_copy(&call->out[i], in, call->budget, call->error));
            continue;
        }
        info.rank = info.rank < 0 ? 1 : info.rank + 1;
        if (info.rank > ULP_RANK_MAX || steps->rank < 2)
            return ULP_REFUSE(call, "the scan inputs have no steps");
        memmove(info.dims + 1, info.dims, (size_t)(info.rank - 1) * sizeof *info.dims);
        info.dims[0] = steps->dims[1];
        ULP_TRY(ulp_parts_stack(call, &call->out[i], &none, 0, false, &info));
    }
    return ULP_OK;
}

enum ulp_status ulp_control_end(struct ulp_control *control)
{
    struct ulp_call *call = control->call;
    bool batch = control->kind == ULP_CONTROL_SCAN_BATCH, scan = control->kind == ULP_CONTROL_SCAN;
    if (batch && !control->item_count)
        return end_empty_batch(control);
    ULP_TRY(batch ? ULP_OK : give_carried(control));
    for (size_t i = batch ? 0 : control->carried_count; i < call->output_count; i++) {
        const size_t s = i - control->carried_count;
        const int value = control->graph->outputs[control->first_result + i];
        ULP_TRY(ulp_parts_stack(call, &call->out[i],
                                batch ? &control->items[i] : &control->scans[s],
                                scan ? list_entry(call, "scan_output_axes", s) : 0,
                                scan && list_entry(call, "scan_output_directions", s),
                                &control->graph->values[value].info));
    }
    return ULP_OK;
}

void ulp_control_free(struct ulp_control *control)
{
    if (!control->call)
        return;
    ulp_tensors_free(control->results, control->result_count);
    ulp_tensors_free(control->carried, control->carried_count);
    for (size_t i = 0; control->scans && i < control->scan_count; i++)
        ulp_tensors_free(control->scans[i].parts, control->scans[i].count);
    for (size_t i = 0; control->items && i < control->call->output_count; i++)
        ulp_tensors_free(control->items[i].parts, control->items[i].count);
    *control = (struct ulp_control){0};
}

/* ---- where values come from ---- */

struct ulp_control_source ulp_control_input_source(const struct ulp_control *control, size_t i)
{
    struct ulp_control_source none = {-1, -1};
    size_t carried = i - (control->kind == ULP_CONTROL_LOOP ? 2 : 0);
    if (control->kind == ULP_CONTROL_LOOP && i < 2)
        return i == 0                    ? none
               : control->iteration == 0 ? (struct ulp_control_source){1, -1}
                                         : (struct ulp_control_source){-1, 0};
    if (control->iteration == 0 || carried >= control->carried_count)
        return (struct ulp_control_source){(int)(control->first_input + carried), -1};
    return (struct ulp_control_source){-1, (int)(control->first_result + carried)};
}

struct ulp_control_source ulp_control_output_source(const struct ulp_control *control, size_t i)
{
    if (i < control->carried_count && control->iteration == 0 && control->kind != ULP_CONTROL_IF)
        return (struct ulp_control_source){(int)(control->first_input + i), -1};
    return (struct ulp_control_source){-1, (int)(control->first_result + i)};
}

/* ---- in one lane ---- */

static enum ulp_status run_control(struct ulp_call *call)
{
    ULP_SCOPED(ulp_control_free) struct ulp_control control = {0};
    ULP_TRY(ulp_control_begin(&control, call));
    while (control.body) {
        ULP_TRY(call->host->run(call, control.body, control.input_count, control.inputs,
                                control.result_count, control.results, call->error));
        ULP_TRY(ulp_control_take(&control));
    }
    return ulp_control_end(&control);
}

#define CONTROL(KIND)                                                                        \
    .infer = infer_nothing, .allocates = true, .run = run_control, .work = ULP_WORK_CONTROL, \
    .parameter = ULP_CONTROL_##KIND

/* clang-format off */
const struct ulp_operator ulp_ops_control[] = {
    {.name = "If", .since = 1, .inputs = "cond:b", .outputs = "outputs*",
     .attributes = "else_branch:!graph; then_branch:!graph", CONTROL(IF)},
    {.name = "Loop", .since = 1, .inputs = "m:i? cond:b? v_initial:*?*",
     .outputs = "v_final_and_scan_outputs*",
     .attributes = "body:!graph", CONTROL(LOOP)},
    {.name = "Scan", .since = 8, .inputs = "sequence_lens:i? initial_state_and_scan_inputs:**",
     .outputs = "final_state_and_scan_outputs*", .attributes = "body:!graph; directions:ints; "
                                        "num_scan_inputs:!int",
     CONTROL(SCAN_BATCH)},
    {.name = "Scan", .since = 9, .inputs = "initial_state_and_scan_inputs:**",
     .outputs = "final_state_and_scan_outputs*",
     .attributes = "body:!graph; num_scan_inputs:!int; scan_input_axes:ints; "
                   "scan_input_directions:ints; "
                   "scan_output_axes:ints; scan_output_directions:ints", CONTROL(SCAN)},
    {0},
};
/* clang-format on */
