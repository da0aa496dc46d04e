/* Loop and Scan. Iterations are followed one by one while their number is known; where it is not,
 * or they are many, what is carried becomes all that any iteration can be given: joined with the
 * results until these add nothing, what still grows then being anything at all. */
#include "base/error.h"
#include "run/enclose/enclose_bodies.h"

/* Iterations that are followed one by one, times the nodes of the body. */
#define STEPS_MAX 20000
/* Rounds of joining after which what still grows may be anything. */
#define ROUNDS 6
#define ROUNDS_MAX 64
/* Parts of what iterations that are joined gather. */
#define PARTS_MAX (1 << 20)

static int64_t list_entry(const struct ulp_step *step, const char *name, size_t i)
{
    const struct ulp_attribute_value *list = ulp_bound_attribute(&step->bound, name);
    return list && i < list->count ? list->ints[i] : 0;
}

void ulp_bodies_free_parts(struct bodies *b)
{
    for (size_t s = 0; b->scans && s < b->scan_count; s++) {
        for (size_t p = 0; p < b->scans[s].count; p++)
            ulp_bounds_free(&b->scans[s].parts[p]);
        b->scans[s].count = 0;
    }
}

static enum ulp_status begin_carried(struct bodies *b)
{
    ulp_bodies_free_parts(b);
    for (size_t c = 0; c < b->carried_count; c++) {
        ulp_bounds_free(&b->carried[c]);
        ULP_TRY(ulp_bodies_read(b, b->first_input + c, &b->carried[c]));
    }
    return ULP_OK;
}

/* A number that is not known: an iteration's, or the condition. */
static enum ulp_status set_number(struct bodies *b, enum ulp_type type, bool known, int64_t value,
                                  struct ulp_slot_bounds *out)
{
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor number = {0};
    ULP_TRY(ulp_tensor_create(&number, type, ULP_ELEMENT_COUNT, 0, 0, NULL, b->outer->error));
    if (type == ULP_TYPE_BOOL)
        *(uint8_t *)number.data = value != 0;
    else
        *(int64_t *)number.data = value;
    if (known) {
        ULP_TRY(ulp_bounds_set_tensor(b->outer, out, &number));
    } else {
        *out = (struct ulp_slot_bounds){.shape = ulp_tensor_view(&number)};
        out->shape.data = NULL;
        ULP_TRY(ulp_bounds_set_hull(b->outer, out, 0, type == ULP_TYPE_BOOL ? 1 : 0x1p63, 0));
    }
    return ULP_OK;
}

/* Scan input s in that iteration; iteration < 0: in any. */
static enum ulp_status slice_input(struct bodies *b, size_t s, int64_t iteration, int64_t count,
                                   struct ulp_slot_bounds *out)
{
    const bool back = list_entry(b->step, "scan_input_directions", s);
    const int64_t first = iteration < 0 ? 0 : back ? count - 1 - iteration : iteration;
    ULP_TRY(ulp_bounds_slice(b->outer, out, &b->scanned[s], b->axes[s], (size_t)first));
    for (int64_t k = 1; iteration < 0 && k < count; k++) {
        ULP_SCOPED(ulp_bounds_free) struct ulp_slot_bounds other = {0};
        bool grew;
        ULP_TRY(ulp_bounds_slice(b->outer, &other, &b->scanned[s], b->axes[s], (size_t)k));
        ULP_TRY(ulp_bounds_join(b->outer, out, &other, false, &grew));
    }
    return ULP_OK;
}

/* One iteration, or (iteration < 0) any. */
static enum ulp_status run_iteration(struct bodies *b, int64_t iteration, int64_t count)
{
    const size_t before = b->kind == ULP_CONTROL_LOOP ? 2 : 0,
                 inputs = before + b->carried_count + b->scan_input_count;
    struct ulp_slot_bounds *in = ulp_arena_take(b->arena, inputs + 1, sizeof *in);
    enum ulp_status status = ulp_taken(in, b->outer->error);
    if (status == ULP_OK && before)
        status = set_number(b, ULP_TYPE_INT64, iteration >= 0, iteration, &in[0]);
    if (status == ULP_OK && before) /* it runs, so the condition was true */
        status = set_number(b, ULP_TYPE_BOOL, true, 1, &in[1]);
    for (size_t c = 0; c < b->carried_count && status == ULP_OK; c++)
        status = ulp_bounds_copy(b->outer, &in[before + c], &b->carried[c]);
    for (size_t s = 0; s < b->scan_input_count && status == ULP_OK; s++)
        status = slice_input(b, s, iteration, count, &in[before + b->carried_count + s]);
    if (status == ULP_OK)
        return ulp_bodies_run(b, in, inputs);
    for (size_t i = 0; in && i < inputs; i++)
        ulp_bounds_free(&in[i]);
    return status;
}

static enum ulp_status keep_parts(struct bodies *b, size_t room)
{
    for (size_t s = 0; s < b->scan_count; s++) {
        struct scan_output *scan = &b->scans[s];
        if (!scan->parts)
            ULP_TAKE(scan->parts, b->arena, room, b->outer->error);
        struct ulp_slot_bounds *result = &b->results[b->first_result + b->carried_count + s];
        scan->parts[scan->count++] = *result;
        *result = (struct ulp_slot_bounds){0};
    }
    return ULP_OK;
}

/* Does a Loop go on after this iteration? *known: the condition is. */
static bool goes_on(const struct bodies *b, bool *known)
{
    const struct ulp_slot_bounds *condition = &b->results[0];
    *known =
        b->kind != ULP_CONTROL_LOOP || (condition->is_numbers && condition->numbers.count == 1);
    return b->kind != ULP_CONTROL_LOOP ||
           (*known && ulp_tensor_get_int(&condition->numbers, 0) != 0);
}

/* One after the other, `most` at most. *done: they have come to their end. */
static enum ulp_status follow(struct bodies *b, int64_t count, int64_t most, bool go_on, bool *done)
{
    *done = false;
    ULP_TRY(begin_carried(b));
    for (int64_t k = 0; k < most && k < count && go_on; k++) {
        bool known = true;
        ULP_TRY(run_iteration(b, k, count));
        go_on = goes_on(b, &known);
        if (!known)
            return ULP_OK;
        for (size_t c = 0; c < b->carried_count; c++) {
            ulp_bounds_free(&b->carried[c]);
            b->carried[c] = b->results[b->first_result + c];
            b->results[b->first_result + c] = (struct ulp_slot_bounds){0};
        }
        ULP_TRY(keep_parts(b, (size_t)(most < count ? most : count)));
    }
    *done = !go_on || count <= most;
    return ULP_OK;
}

/* All at once: carried values that hold before and after any iteration. The last round's results
 * are those of any iteration; *always: after each it goes on. */
static enum ulp_status join_iterations(struct bodies *b, int64_t count, bool *always)
{
    ULP_TRY(begin_carried(b));
    bool grew = true;
    for (int round = 0; grew; round++) {
        grew = false;
        ULP_TRY(round < ROUNDS_MAX ? run_iteration(b, -1, count)
                                   : ulp_fail(b->outer->error, ULP_ERROR_UNSUPPORTED,
                                              "its carried values do not settle"));
        for (size_t c = 0; c < b->carried_count; c++)
            ULP_TRY(ulp_bounds_join(b->outer, &b->carried[c], &b->results[b->first_result + c],
                                    round >= ROUNDS, &grew));
    }
    bool known;
    *always = goes_on(b, &known) && known;
    return ULP_OK;
}

/* Every iteration's results are as the last round's. */
static enum ulp_status repeat_parts(struct bodies *b, size_t count)
{
    for (size_t s = 0; s < b->scan_count; s++) {
        struct scan_output *scan = &b->scans[s];
        ULP_TAKE(scan->parts, b->arena, count, b->outer->error);
        for (; scan->count < count; scan->count++)
            ULP_TRY(ulp_bounds_copy(b->outer, &scan->parts[scan->count],
                                    &b->results[b->first_result + b->carried_count + s]));
    }
    return ULP_OK;
}

/* The outputs, carried values first. What is gathered without knowing how often has no shape but
 * what is declared. */
static enum ulp_status give_outputs(struct bodies *b, struct ulp_slot_bounds *outputs)
{
    const bool is_scan = b->kind == ULP_CONTROL_SCAN;
    for (size_t c = 0; c < b->carried_count; c++) {
        outputs[c] = b->carried[c];
        b->carried[c] = (struct ulp_slot_bounds){0};
    }
    for (size_t s = 0; s < b->scan_count; s++) {
        const struct scan_output *scan = &b->scans[s];
        const size_t o = b->carried_count + s;
        const int slot = b->step->outputs[o];
        if (slot < 0)
            continue;
        if (!scan->count) {
            outputs[o].shape = b->outer->block->slots[slot].shape;
            ULP_TRY(ulp_bounds_set_unknown(b->outer, &outputs[o]));
            continue;
        }
        const int rank = scan->parts[0].shape.rank + 1;
        int64_t axis = is_scan ? list_entry(b->step, "scan_output_axes", s) : 0;
        axis += axis < 0 ? rank : 0;
        ULP_TRY(axis >= 0 && axis < rank
                    ? ulp_bounds_stack(b->outer, &outputs[o], scan->parts, scan->count, (int)axis,
                                       is_scan && list_entry(b->step, "scan_output_directions", s))
                    : ulp_fail(b->outer->error, ULP_ERROR_UNSUPPORTED, "it has no axis %lld",
                               (long long)axis));
    }
    return ULP_OK;
}

static enum ulp_status iterate(struct bodies *b, int64_t count, bool known, bool go_on,
                               struct ulp_slot_bounds *outputs)
{
    const int64_t most = STEPS_MAX / (int64_t)(b->body->step_count + 1) + 1;
    bool done = false, always = false;
    if (known)
        ULP_TRY(follow(b, count, most, go_on, &done));
    if (!done) {
        ULP_TRY(join_iterations(b, count, &always));
        if (known && always && go_on && count < PARTS_MAX)
            ULP_TRY(repeat_parts(b, (size_t)count));
    }
    return give_outputs(b, outputs);
}

static enum ulp_status take_memory(struct bodies *b)
{
    b->carried = ulp_arena_take(b->arena, b->carried_count + 1, sizeof *b->carried);
    b->scanned = ulp_arena_take(b->arena, b->scan_input_count + 1, sizeof *b->scanned);
    b->scans = ulp_arena_take(b->arena, b->scan_count + 1, sizeof *b->scans);
    return ulp_taken(b->carried && b->scanned && b->scans, b->outer->error);
}

enum ulp_status ulp_bodies_loop(struct bodies *b, struct ulp_slot_bounds *outputs)
{
    const struct ulp_block *body = ulp_bodies_find(b->step, "body");
    int64_t count, go_on;
    const bool known = ulp_bodies_know(b, 0, INT64_MAX, &count),
               decided = ulp_bodies_know(b, 1, 1, &go_on);
    const size_t own = b->step->bound.node->input_count;
    b->carried_count = own > 2 ? own - 2 : 0;
    b->first_input = 2;
    b->first_result = 1;
    if (!body || b->step->output_count < b->carried_count ||
        body->output_count != b->step->output_count + 1)
        return ulp_fail(b->outer->error, ULP_ERROR_UNSUPPORTED,
                        "its body's outputs do not fit its own");
    b->scan_count = b->step->output_count - b->carried_count;
    ULP_TRY(take_memory(b));
    ULP_TRY(ulp_bodies_open(b, body));
    return iterate(b, count, known && decided, go_on != 0, outputs);
}

enum ulp_status ulp_bodies_scan(struct bodies *b, struct ulp_slot_bounds *outputs)
{
    const struct ulp_block *body = ulp_bodies_find(b->step, "body");
    const struct ulp_attribute_value *scanned =
        ulp_bound_attribute(&b->step->bound, "num_scan_inputs");
    const size_t own = b->step->bound.node->input_count;
    b->scan_input_count = scanned && scanned->i > 0 ? (size_t)scanned->i : 0;
    if (!body || !b->scan_input_count || b->scan_input_count > own ||
        b->scan_input_count > ULP_ATTRIBUTES_MAX || body->output_count != b->step->output_count ||
        b->step->output_count < own - b->scan_input_count)
        return ulp_fail(b->outer->error, ULP_ERROR_UNSUPPORTED,
                        "its body's outputs do not fit its own");
    b->carried_count = own - b->scan_input_count;
    b->scan_count = b->step->output_count - b->carried_count;
    ULP_TRY(take_memory(b));
    int64_t count = 0;
    for (size_t s = 0; s < b->scan_input_count; s++) {
        ULP_TRY(ulp_bodies_read(b, b->carried_count + s, &b->scanned[s]));
        const struct ulp_tensor *shape = &b->scanned[s].shape;
        int64_t axis = list_entry(b->step, "scan_input_axes", s);
        axis += axis < 0 ? shape->rank : 0;
        if (axis < 0 || axis >= shape->rank || (s > 0 && shape->dims[axis] != count))
            return ulp_fail(b->outer->error, ULP_ERROR_UNSUPPORTED,
                            "its inputs do not fit each other");
        b->axes[s] = (int)axis;
        count = shape->dims[axis];
    }
    ULP_TRY(ulp_bodies_open(b, body));
    return iterate(b, count, true, true, outputs);
}
