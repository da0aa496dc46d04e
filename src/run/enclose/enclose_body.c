/* The body of an If, Loop or Scan: a walk of its own through it, for what it is given. */
#include "base/error.h"
#include "run/enclose/enclose_bodies.h"

const struct ulp_block *ulp_bodies_find(const struct ulp_step *step, const char *name)
{
    const struct ulp_attribute_value *value = ulp_bound_attribute(&step->bound, name);
    return value ? step->bound.blocks[value - step->bound.attributes] : NULL;
}

/* ---- values of the step ---- */

enum ulp_status ulp_bodies_read(struct bodies *b, size_t i, struct ulp_slot_bounds *out)
{
    const int slot = b->step->inputs[i];
    *out = (struct ulp_slot_bounds){0};
    if (slot < 0)
        return ULP_OK;
    if (b->outer->block->slots[slot].constant) {
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor wide = {0};
        const struct ulp_tensor *value;
        ULP_TRY(ulp_enclose_constant(b->outer, b->step, i, &wide, &value));
        return ulp_bounds_set_tensor(b->outer, out, value);
    }
    const struct ulp_slot_bounds *value = &b->outer->values[slot];
    if (!value->is_numbers && !value->is_range)
        return ulp_fail(b->outer->error, ULP_ERROR_UNSUPPORTED, "the shape of '%s' is not known",
                        b->outer->block->slots[slot].name);
    return ulp_bounds_copy(b->outer, out, value);
}

/* The step's input i, one integer or truth value: is it known? Without it `otherwise`. */
bool ulp_bodies_know(const struct bodies *b, size_t i, int64_t otherwise, int64_t *out)
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

enum ulp_status ulp_bodies_open(struct bodies *b, const struct ulp_block *body)
{
    b->body = body;
    ULP_TAKE(b->results, b->arena, body->output_count + 1, b->outer->error);
    ULP_TRY(ulp_enclose_open(&b->inner, b->outer->from, body, b->outer->mix, b->outer->trace,
                             b->outer->error));
    b->inner.lane.keeps_constants = true;
    return ULP_OK;
}

/* What the body captures: as in ulp_body_enter, after the node's own inputs. */
static enum ulp_status set_captured(struct bodies *b)
{
    size_t i = b->step->bound.node->input_count;
    for (int a = 0; a < ULP_ATTRIBUTES_MAX; a++) {
        const struct ulp_block *other = b->step->bound.blocks[a];
        for (size_t c = 0; other && c < other->captured_count; c++, i++) {
            const int slot = other->captured[c];
            if (other == b->body && !b->body->slots[slot].constant)
                ULP_TRY(ulp_bodies_read(b, i, &b->inner.values[slot]));
        }
    }
    return ULP_OK;
}

/* A result of the body, a copy. */
static enum ulp_status take_result(struct bodies *b, size_t r)
{
    const int slot = b->body->outputs[r];
    struct ulp_slot_bounds *value = &b->inner.values[slot];
    if (!b->body->slots[slot].constant) {
        if (!value->is_numbers && !value->is_range)
            return ulp_fail(b->outer->error, ULP_ERROR_UNSUPPORTED,
                            "the shape of its body's result '%s' is not known",
                            b->body->slots[slot].name);
        b->assumed = b->assumed || value->assumed;
        return ulp_bounds_copy(b->outer, &b->results[r], value);
    }
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor wide = {0};
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor converted = {0};
    const struct ulp_tensor *constant;
    ULP_TRY(ulp_lane_value(&b->inner.lane, slot, (struct ulp_reader){0}, &converted, &constant,
                           b->outer->error));
    ULP_TRY(ulp_enclose_widen(b->outer, &wide, &constant));
    return ulp_bounds_set_tensor(b->outer, &b->results[r], constant);
}

void ulp_bodies_free_results(struct bodies *b)
{
    for (size_t r = 0; b->body && b->results && r < b->body->output_count; r++)
        ulp_bounds_free(&b->results[r]);
}

/* The body on inputs, which become its own; results are then those. */
enum ulp_status ulp_bodies_run(struct bodies *b, struct ulp_slot_bounds *inputs, size_t count)
{
    enum ulp_status status = ULP_OK;
    struct ulp_enclosing_walk *inner = &b->inner;
    ulp_bodies_free_results(b);
    for (size_t v = 0; v < b->body->slot_count; v++)
        ulp_bounds_free(&inner->values[v]);
    if (count != b->body->input_count)
        status = ulp_fail(b->outer->error, ULP_ERROR_UNSUPPORTED,
                          "its body takes %zu values, not %zu", b->body->input_count, count);
    for (size_t i = 0; i < count; i++)
        if (status == ULP_OK) {
            inner->values[b->body->inputs[i]] = inputs[i];
            status = ulp_enclose_give_symbols(inner, &inner->values[b->body->inputs[i]]);
        } else {
            ulp_bounds_free(&inputs[i]);
        }
    ULP_THEN(status, set_captured(b));
    for (size_t r = 0; r < b->body->output_count; r++)
        inner->keep[b->body->outputs[r]] = true;
    ULP_THEN(status, ulp_enclose_steps(inner));
    for (size_t r = 0; r < b->body->output_count && status == ULP_OK; r++)
        status = take_result(b, r);
    return status;
}
