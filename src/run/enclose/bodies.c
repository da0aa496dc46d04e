/* If, Loop and Scan. An If whose condition is known takes that branch, any other both, and its
 * results are either's. Iterations are followed one by one while their number is known; where it is
 * not, or they are many, what is carried becomes all that any iteration can be given: joined with
 * the results until these add nothing, what still grows then being anything at all. */
#include <string.h>

#include "base/error.h"
#include "ops/control/control.h"
#include "run/enclose/enclosed.h"

/* Iterations that are followed one by one, times the nodes of the body. */
#define STEPS_MAX 20000
/* Rounds of joining after which what still grows may be anything. */
#define ROUNDS 6
#define ROUNDS_MAX 64
/* Parts of what iterations that are joined gather. */
#define PARTS_MAX (1 << 20)

struct scan_output {
    struct ulp_slot_bounds *parts;
    size_t count;
};

struct bodies {
    struct ulp_enclosing_walk *outer, inner;
    const struct ulp_step *step;
    const struct ulp_block *body;
    struct ulp_arena *arena;
    enum ulp_control_kind kind;
    /* of the body: carried values, which begin at that input and result, then scan inputs */
    size_t carried_count, scan_input_count, scan_count, first_input, first_result;
    struct ulp_slot_bounds *carried;
    struct ulp_slot_bounds *scanned; /* by scan input: the whole value */
    int axes[ULP_ATTRIBUTES_MAX];
    struct ulp_slot_bounds *results; /* of the last iteration, by output of the body */
    struct scan_output *scans;
    bool assumed;
};

static const struct ulp_attribute_value *attribute(const struct ulp_step *step, const char *name)
{
    for (size_t i = 0; i < step->bound.attribute_count; i++)
        if (strcmp(step->bound.attribute_slots[i].name, name) == 0)
            return &step->bound.attributes[i];
    return NULL;
}

static const struct ulp_block *find_body(const struct ulp_step *step, const char *name)
{
    const struct ulp_attribute_value *value = attribute(step, name);
    return value ? step->bound.blocks[value - step->bound.attributes] : NULL;
}

static int64_t list_entry(const struct ulp_step *step, const char *name, size_t i)
{
    const struct ulp_attribute_value *list = attribute(step, name);
    return list && i < list->count ? list->ints[i] : 0;
}

/* ---- values of the step ---- */

static enum ulp_status read_input(struct bodies *b, size_t i, struct ulp_slot_bounds *out,
                                  struct ulp_error *error)
{
    const int slot = b->step->inputs[i];
    *out = (struct ulp_slot_bounds){0};
    if (slot < 0)
        return ULP_OK;
    if (b->outer->block->slots[slot].constant) {
        struct ulp_tensor wide = {0};
        const struct ulp_tensor *value;
        enum ulp_status status = ulp_enclose_constant(b->outer, b->step, i, &wide, &value, error);
        if (status == ULP_OK)
            status = ulp_bounds_set_tensor(b->outer, out, value, error);
        ulp_tensor_free(&wide);
        return status;
    }
    const struct ulp_slot_bounds *value = &b->outer->values[slot];
    if (!value->is_numbers && !value->is_range)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "the shape of '%s' is not known",
                        b->outer->block->slots[slot].name);
    return ulp_bounds_copy(b->outer, out, value, error);
}

/* The step's input i, one integer or truth value: is it known? Without it `otherwise`. */
static bool know_input(const struct bodies *b, size_t i, int64_t otherwise, int64_t *out)
{
    const int slot = i < b->step->own_input_count ? b->step->inputs[i] : -1;
    const struct ulp_tensor *value = slot < 0 ? NULL : b->outer->block->slots[slot].constant;
    *out = otherwise;
    if (slot < 0)
        return true;
    if (!value && b->outer->values[slot].is_numbers)
        value = &b->outer->values[slot].numbers;
    if (!value || value->count != 1)
        return false;
    *out = ulp_tensor_get_int(value, 0);
    return true;
}

/* ---- one run of the body ---- */

static enum ulp_status open_body(struct bodies *b, const struct ulp_block *body,
                                 struct ulp_error *error)
{
    b->body = body;
    b->results = ulp_arena_take(b->arena, body->output_count + 1, sizeof *b->results);
    if (!b->results)
        return ulp_fail_memory(error, "out of memory");
    const enum ulp_status status =
        ulp_enclose_open(&b->inner, b->outer->from, body, b->outer->mix, b->outer->trace, error);
    b->inner.lane.keeps_constants = b->inner.lane.repeats = true;
    return status;
}

/* What the body captures: as in ulp_body_enter, after the node's own inputs. */
static enum ulp_status set_captured(struct bodies *b, struct ulp_error *error)
{
    size_t i = b->step->bound.node->input_count;
    enum ulp_status status = ULP_OK;
    for (int a = 0; a < ULP_ATTRIBUTES_MAX; a++) {
        const struct ulp_block *other = b->step->bound.blocks[a];
        for (size_t c = 0; other && c < other->captured_count && status == ULP_OK; c++, i++) {
            const int slot = other->captured[c];
            if (other == b->body && !b->body->slots[slot].constant)
                status = read_input(b, i, &b->inner.values[slot], error);
        }
    }
    return status;
}

/* A result of the body, a copy. */
static enum ulp_status take_result(struct bodies *b, size_t r, struct ulp_error *error)
{
    const int slot = b->body->outputs[r];
    struct ulp_slot_bounds *value = &b->inner.values[slot];
    if (!b->body->slots[slot].constant) {
        if (!value->is_numbers && !value->is_range)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                            "the shape of its body's result '%s' is not known",
                            b->body->slots[slot].name);
        b->assumed = b->assumed || value->assumed;
        return ulp_bounds_copy(b->outer, &b->results[r], value, error);
    }
    struct ulp_tensor wide = {0}, converted = {0};
    const struct ulp_tensor *constant;
    enum ulp_status status =
        ulp_lane_value(&b->inner.lane, slot, (struct ulp_reader){0}, &converted, &constant, error);
    if (status == ULP_OK)
        status = ulp_enclose_widen(b->outer, &wide, &constant, error);
    if (status == ULP_OK)
        status = ulp_bounds_set_tensor(b->outer, &b->results[r], constant, error);
    ulp_tensor_free(&wide);
    ulp_tensor_free(&converted);
    return status;
}

static void free_results(struct bodies *b)
{
    for (size_t r = 0; b->body && b->results && r < b->body->output_count; r++)
        ulp_bounds_free(&b->results[r]);
}

/* The body on inputs, which become its own; results are then those. */
static enum ulp_status run_body(struct bodies *b, struct ulp_slot_bounds *inputs, size_t count,
                                struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    struct ulp_enclosing_walk *inner = &b->inner;
    free_results(b);
    for (size_t v = 0; v < b->body->slot_count; v++)
        ulp_bounds_free(&inner->values[v]);
    if (count != b->body->input_count)
        status = ulp_fail(error, ULP_ERROR_UNSUPPORTED, "its body takes %zu values, not %zu",
                          b->body->input_count, count);
    for (size_t i = 0; i < count; i++)
        if (status == ULP_OK) {
            inner->values[b->body->inputs[i]] = inputs[i];
            status = ulp_enclose_give_symbols(inner, &inner->values[b->body->inputs[i]], error);
        } else {
            ulp_bounds_free(&inputs[i]);
        }
    if (status == ULP_OK)
        status = set_captured(b, error);
    for (size_t r = 0; r < b->body->output_count; r++)
        inner->keep[b->body->outputs[r]] = true;
    if (status == ULP_OK)
        status = ulp_enclose_steps(inner, error);
    for (size_t r = 0; r < b->body->output_count && status == ULP_OK; r++)
        status = take_result(b, r, error);
    return status;
}

/* ---- If ---- */

static enum ulp_status run_if(struct bodies *b, struct ulp_slot_bounds *outputs,
                              struct ulp_error *error)
{
    int64_t condition = 0;
    const bool known = know_input(b, 0, 0, &condition);
    enum ulp_status status = ULP_OK;
    for (int branch = 1; branch >= 0 && status == ULP_OK; branch--) {
        const struct ulp_block *body = find_body(b->step, branch ? "then_branch" : "else_branch");
        if (known && (condition != 0) != branch)
            continue;
        status = body ? open_body(b, body, error)
                      : ulp_fail(error, ULP_ERROR_UNSUPPORTED, "it has no such branch");
        if (status == ULP_OK)
            status = run_body(b, NULL, 0, error);
        for (size_t o = 0; o < b->step->output_count && status == ULP_OK; o++) {
            bool grew = false;
            if (outputs[o].is_numbers || outputs[o].is_range) {
                status =
                    ulp_bounds_join(b->outer, &outputs[o], &b->results[o], false, &grew, error);
                continue;
            }
            outputs[o] = b->results[o];
            b->results[o] = (struct ulp_slot_bounds){0};
        }
        free_results(b);
        if (b->inner.from)
            ulp_enclose_close(&b->inner);
        b->inner.from = NULL;
    }
    return status;
}

/* ---- iterations ---- */

static void free_parts(struct bodies *b)
{
    for (size_t s = 0; b->scans && s < b->scan_count; s++) {
        for (size_t p = 0; p < b->scans[s].count; p++)
            ulp_bounds_free(&b->scans[s].parts[p]);
        b->scans[s].count = 0;
    }
}

static enum ulp_status begin_carried(struct bodies *b, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    free_parts(b);
    for (size_t c = 0; c < b->carried_count && status == ULP_OK; c++) {
        ulp_bounds_free(&b->carried[c]);
        status = read_input(b, b->first_input + c, &b->carried[c], error);
    }
    return status;
}

/* A number that is not known: an iteration's, or the condition. */
static enum ulp_status set_number(struct bodies *b, enum ulp_type type, bool known, int64_t value,
                                  struct ulp_slot_bounds *out, struct ulp_error *error)
{
    struct ulp_tensor number;
    enum ulp_status status = ulp_tensor_create(&number, type, ULP_ELEMENT_COUNT, 0, 0, NULL, error);
    if (status != ULP_OK)
        return status;
    if (type == ULP_TYPE_BOOL)
        *(uint8_t *)number.data = value != 0;
    else
        *(int64_t *)number.data = value;
    if (known) {
        status = ulp_bounds_set_tensor(b->outer, out, &number, error);
    } else {
        *out = (struct ulp_slot_bounds){.shape = ulp_tensor_view(&number)};
        out->shape.data = NULL;
        status =
            ulp_bounds_set_hull(b->outer, out, 0, type == ULP_TYPE_BOOL ? 1 : 0x1p63, 0, error);
    }
    ulp_tensor_free(&number);
    return status;
}

/* Scan input s in that iteration; iteration < 0: in any. */
static enum ulp_status slice_input(struct bodies *b, size_t s, int64_t iteration, int64_t count,
                                   struct ulp_slot_bounds *out, struct ulp_error *error)
{
    const bool back = list_entry(b->step, "scan_input_directions", s);
    const int64_t first = iteration < 0 ? 0 : back ? count - 1 - iteration : iteration;
    enum ulp_status status =
        ulp_bounds_slice(b->outer, out, &b->scanned[s], b->axes[s], (size_t)first, error);
    for (int64_t k = 1; iteration < 0 && k < count && status == ULP_OK; k++) {
        struct ulp_slot_bounds other;
        bool grew;
        status = ulp_bounds_slice(b->outer, &other, &b->scanned[s], b->axes[s], (size_t)k, error);
        if (status == ULP_OK)
            status = ulp_bounds_join(b->outer, out, &other, false, &grew, error);
        ulp_bounds_free(&other);
    }
    return status;
}

/* One iteration, or (iteration < 0) any. */
static enum ulp_status run_iteration(struct bodies *b, int64_t iteration, int64_t count,
                                     struct ulp_error *error)
{
    const size_t before = b->kind == ULP_CONTROL_LOOP ? 2 : 0,
                 inputs = before + b->carried_count + b->scan_input_count;
    struct ulp_slot_bounds *in = ulp_arena_take(b->arena, inputs + 1, sizeof *in);
    enum ulp_status status = in ? ULP_OK : ulp_fail_memory(error, "out of memory");
    if (status == ULP_OK && before)
        status = set_number(b, ULP_TYPE_INT64, iteration >= 0, iteration, &in[0], error);
    if (status == ULP_OK && before) /* it runs, so the condition was true */
        status = set_number(b, ULP_TYPE_BOOL, true, 1, &in[1], error);
    for (size_t c = 0; c < b->carried_count && status == ULP_OK; c++)
        status = ulp_bounds_copy(b->outer, &in[before + c], &b->carried[c], error);
    for (size_t s = 0; s < b->scan_input_count && status == ULP_OK; s++)
        status = slice_input(b, s, iteration, count, &in[before + b->carried_count + s], error);
    if (status == ULP_OK)
        return run_body(b, in, inputs, error);
    for (size_t i = 0; in && i < inputs; i++)
        ulp_bounds_free(&in[i]);
    return status;
}

static enum ulp_status keep_parts(struct bodies *b, size_t room, struct ulp_error *error)
{
    for (size_t s = 0; s < b->scan_count; s++) {
        struct scan_output *scan = &b->scans[s];
        if (!scan->parts)
            scan->parts = ulp_arena_take(b->arena, room, sizeof *scan->parts);
        if (!scan->parts)
            return ulp_fail_memory(error, "out of memory");
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
static enum ulp_status follow(struct bodies *b, int64_t count, int64_t most, bool go_on, bool *done,
                              struct ulp_error *error)
{
    enum ulp_status status = begin_carried(b, error);
    *done = false;
    for (int64_t k = 0; k < most && k < count && go_on && status == ULP_OK; k++) {
        bool known = true;
        status = run_iteration(b, k, count, error);
        if (status == ULP_OK)
            go_on = goes_on(b, &known);
        if (status != ULP_OK || !known)
            return status;
        for (size_t c = 0; c < b->carried_count; c++) {
            ulp_bounds_free(&b->carried[c]);
            b->carried[c] = b->results[b->first_result + c];
            b->results[b->first_result + c] = (struct ulp_slot_bounds){0};
        }
        status = keep_parts(b, (size_t)(most < count ? most : count), error);
    }
    *done = status == ULP_OK && (!go_on || count <= most);
    return status;
}

/* All at once: carried values that hold before and after any iteration. The last round's results
 * are those of any iteration; *always: after each it goes on. */
static enum ulp_status join_iterations(struct bodies *b, int64_t count, bool *always,
                                       struct ulp_error *error)
{
    enum ulp_status status = begin_carried(b, error);
    bool grew = true;
    for (int round = 0; grew && status == ULP_OK; round++) {
        grew = false;
        status = round < ROUNDS_MAX
                     ? run_iteration(b, -1, count, error)
                     : ulp_fail(error, ULP_ERROR_UNSUPPORTED, "its carried values do not settle");
        for (size_t c = 0; c < b->carried_count && status == ULP_OK; c++)
            status = ulp_bounds_join(b->outer, &b->carried[c], &b->results[b->first_result + c],
                                     round >= ROUNDS, &grew, error);
    }
    bool known;
    *always = status == ULP_OK && goes_on(b, &known) && known;
    return status;
}

/* Every iteration's results are as the last round's. */
static enum ulp_status repeat_parts(struct bodies *b, size_t count, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t s = 0; s < b->scan_count; s++) {
        struct scan_output *scan = &b->scans[s];
        scan->parts = ulp_arena_take(b->arena, count, sizeof *scan->parts);
        if (!scan->parts)
            return ulp_fail_memory(error, "out of memory");
        for (; scan->count < count && status == ULP_OK; scan->count++)
            status = ulp_bounds_copy(b->outer, &scan->parts[scan->count],
                                     &b->results[b->first_result + b->carried_count + s], error);
    }
    return status;
}

/* The outputs, carried values first. What is gathered without knowing how often has no shape but
 * what is declared. */
static enum ulp_status give_outputs(struct bodies *b, struct ulp_slot_bounds *outputs,
                                    struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    const bool is_scan = b->kind == ULP_CONTROL_SCAN;
    for (size_t c = 0; c < b->carried_count; c++) {
        outputs[c] = b->carried[c];
        b->carried[c] = (struct ulp_slot_bounds){0};
    }
    for (size_t s = 0; s < b->scan_count && status == ULP_OK; s++) {
        const struct scan_output *scan = &b->scans[s];
        const size_t o = b->carried_count + s;
        const int slot = b->step->outputs[o];
        if (slot < 0)
            continue;
        if (!scan->count) {
            outputs[o].shape = b->outer->block->slots[slot].shape;
            status = ulp_bounds_set_unknown(b->outer, &outputs[o], error);
            continue;
        }
        const int rank = scan->parts[0].shape.rank + 1;
        int64_t axis = is_scan ? list_entry(b->step, "scan_output_axes", s) : 0;
        axis += axis < 0 ? rank : 0;
        status =
            axis >= 0 && axis < rank
                ? ulp_bounds_stack(b->outer, &outputs[o], scan->parts, scan->count, (int)axis,
                                   is_scan && list_entry(b->step, "scan_output_directions", s),
                                   error)
                : ulp_fail(error, ULP_ERROR_UNSUPPORTED, "it has no axis %lld", (long long)axis);
    }
    return status;
}

static enum ulp_status iterate(struct bodies *b, int64_t count, bool known, bool go_on,
                               struct ulp_slot_bounds *outputs, struct ulp_error *error)
{
    const int64_t most = STEPS_MAX / (int64_t)(b->body->step_count + 1) + 1;
    bool done = false, always = false;
    enum ulp_status status = ULP_OK;
    if (known)
        status = follow(b, count, most, go_on, &done, error);
    if (status == ULP_OK && !done) {
        status = join_iterations(b, count, &always, error);
        if (status == ULP_OK && known && always && go_on && count < PARTS_MAX)
            status = repeat_parts(b, (size_t)count, error);
    }
    return status == ULP_OK ? give_outputs(b, outputs, error) : status;
}

static enum ulp_status take_memory(struct bodies *b, struct ulp_error *error)
{
    b->carried = ulp_arena_take(b->arena, b->carried_count + 1, sizeof *b->carried);
    b->scanned = ulp_arena_take(b->arena, b->scan_input_count + 1, sizeof *b->scanned);
    b->scans = ulp_arena_take(b->arena, b->scan_count + 1, sizeof *b->scans);
    return b->carried && b->scanned && b->scans ? ULP_OK : ulp_fail_memory(error, "out of memory");
}

static enum ulp_status run_loop(struct bodies *b, struct ulp_slot_bounds *outputs,
                                struct ulp_error *error)
{
    const struct ulp_block *body = find_body(b->step, "body");
    int64_t count, go_on;
    const bool known = know_input(b, 0, INT64_MAX, &count), decided = know_input(b, 1, 1, &go_on);
    const size_t own = b->step->bound.node->input_count;
    b->carried_count = own > 2 ? own - 2 : 0;
    b->first_input = 2;
    b->first_result = 1;
    if (!body || b->step->output_count < b->carried_count ||
        body->output_count != b->step->output_count + 1)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "its body's outputs do not fit its own");
    b->scan_count = b->step->output_count - b->carried_count;
    enum ulp_status status = take_memory(b, error);
    if (status == ULP_OK)
        status = open_body(b, body, error);
    return status == ULP_OK ? iterate(b, count, known && decided, go_on != 0, outputs, error)
                            : status;
}

static enum ulp_status run_scan(struct bodies *b, struct ulp_slot_bounds *outputs,
                                struct ulp_error *error)
{
    const struct ulp_block *body = find_body(b->step, "body");
    const struct ulp_attribute_value *scanned = attribute(b->step, "num_scan_inputs");
    const size_t own = b->step->bound.node->input_count;
    b->scan_input_count = scanned && scanned->i > 0 ? (size_t)scanned->i : 0;
    if (!body || !b->scan_input_count || b->scan_input_count > own ||
        b->scan_input_count > ULP_ATTRIBUTES_MAX || body->output_count != b->step->output_count ||
        b->step->output_count < own - b->scan_input_count)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "its body's outputs do not fit its own");
    b->carried_count = own - b->scan_input_count;
    b->scan_count = b->step->output_count - b->carried_count;
    enum ulp_status status = take_memory(b, error);
    int64_t count = 0;
    for (size_t s = 0; s < b->scan_input_count && status == ULP_OK; s++) {
        status = read_input(b, b->carried_count + s, &b->scanned[s], error);
        const struct ulp_tensor *shape = &b->scanned[s].shape;
        int64_t axis = list_entry(b->step, "scan_input_axes", s);
        axis += axis < 0 ? shape->rank : 0;
        if (status == ULP_OK &&
            (axis < 0 || axis >= shape->rank || (s > 0 && shape->dims[axis] != count)))
            status = ulp_fail(error, ULP_ERROR_UNSUPPORTED, "its inputs do not fit each other");
        if (status != ULP_OK)
            return status;
        b->axes[s] = (int)axis;
        count = shape->dims[axis];
    }
    if (status == ULP_OK)
        status = open_body(b, body, error);
    return status == ULP_OK ? iterate(b, count, true, true, outputs, error) : status;
}

/* ---- the step ---- */

static void close_bodies(struct bodies *b)
{
    free_results(b);
    free_parts(b);
    for (size_t c = 0; b->carried && c < b->carried_count; c++)
        ulp_bounds_free(&b->carried[c]);
    for (size_t s = 0; b->scanned && s < b->scan_input_count; s++)
        ulp_bounds_free(&b->scanned[s]);
    if (b->inner.from)
        ulp_enclose_close(&b->inner);
    ulp_arena_free(b->arena);
}

enum ulp_status ulp_enclose_bodies(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                   bool *assumed, struct ulp_error *error)
{
    struct bodies b = {.outer = w,
                       .step = step,
                       .kind = (enum ulp_control_kind)step->bound.op->parameter};
    enum ulp_status status = ulp_arena_create(&b.arena, w->from->budget, error);
    if (status != ULP_OK)
        return status;
    struct ulp_slot_bounds *outputs =
        ulp_arena_take(b.arena, step->output_count + 1, sizeof *outputs);
    if (!outputs)
        status = ulp_fail_memory(error, "out of memory");
    else if (b.kind == ULP_CONTROL_IF)
        status = run_if(&b, outputs, error);
    else if (b.kind == ULP_CONTROL_LOOP)
        status = run_loop(&b, outputs, error);
    else if (b.kind == ULP_CONTROL_SCAN)
        status = run_scan(&b, outputs, error);
    else
        status = ulp_fail(error, ULP_ERROR_UNSUPPORTED, "a Scan of batches is not followed");
    for (size_t o = 0; outputs && o < step->output_count; o++) {
        const int slot = step->outputs[o];
        if (status != ULP_OK || slot < 0) {
            ulp_bounds_free(&outputs[o]);
            continue;
        }
        const enum ulp_type declared = w->block->slots[slot].shape.type;
        ulp_bounds_free(&w->values[slot]);
        w->values[slot] = outputs[o];
        if (declared != ULP_TYPE_UNDEFINED)
            w->values[slot].shape.type = declared;
    }
    *assumed = *assumed || b.assumed;
    struct ulp_error ignored;
    for (int a = 0; status != ULP_OK && status != ULP_ERROR_MEMORY && a < ULP_ATTRIBUTES_MAX; a++)
        if (step->bound.blocks[a] &&
            ulp_enclose_disown(w, step->bound.blocks[a], &ignored) != ULP_OK)
            status = ulp_fail_memory(error, "out of memory");
    close_bodies(&b);
    return status;
}
