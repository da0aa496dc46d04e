/* If, Loop and Scan. An If whose condition is known takes that branch, any other both, and its
 * results are either's. */
#include "base/error.h"
#include "run/enclose/enclose_bodies.h"

/* ---- If ---- */

static enum ulp_status run_if(struct bodies *b, struct ulp_slot_bounds *outputs)
{
    int64_t condition = 0;
    const bool known = ulp_bodies_know(b, 0, 0, &condition);
    enum ulp_status status = ULP_OK;
    for (int branch = 1; branch >= 0 && status == ULP_OK; branch--) {
        const struct ulp_block *body =
            ulp_bodies_find(b->step, branch ? "then_branch" : "else_branch");
        if (known && (condition != 0) != branch)
            continue;
        status = body ? ulp_bodies_open(b, body)
                      : ulp_fail(b->outer->error, ULP_ERROR_UNSUPPORTED, "it has no such branch");
        ULP_THEN(status, ulp_bodies_run(b, NULL, 0));
        for (size_t o = 0; o < b->step->output_count && status == ULP_OK; o++) {
            bool grew = false;
            if (outputs[o].is_numbers || outputs[o].is_range) {
                status = ulp_bounds_join(b->outer, &outputs[o], &b->results[o], false, &grew);
                continue;
            }
            outputs[o] = b->results[o];
            b->results[o] = (struct ulp_slot_bounds){0};
        }
        ulp_bodies_free_results(b);
        if (b->inner.from)
            ulp_enclose_close(&b->inner);
        b->inner.from = NULL;
    }
    return status;
}

/* ---- the step ---- */

static void close_bodies(struct bodies *b)
{
    ulp_bodies_free_results(b);
    ulp_bodies_free_parts(b);
    for (size_t c = 0; b->carried && c < b->carried_count; c++)
        ulp_bounds_free(&b->carried[c]);
    for (size_t s = 0; b->scanned && s < b->scan_input_count; s++)
        ulp_bounds_free(&b->scanned[s]);
    if (b->inner.from)
        ulp_enclose_close(&b->inner);
    ulp_arena_free(b->arena);
}

enum ulp_status ulp_enclose_bodies(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                   bool *assumed)
{
    struct bodies b = {.outer = w,
                       .step = step,
                       .kind = (enum ulp_control_kind)step->bound.op->parameter};
    ULP_TRY(ulp_arena_create(&b.arena, w->from->budget, w->error));
    struct ulp_slot_bounds *outputs =
        ulp_arena_take(b.arena, step->output_count + 1, sizeof *outputs);
    enum ulp_status status = ULP_OK;
    if (!outputs)
        status = ulp_out_of_memory(w->error);
    else if (b.kind == ULP_CONTROL_IF)
        status = run_if(&b, outputs);
    else if (b.kind == ULP_CONTROL_LOOP)
        status = ulp_bodies_loop(&b, outputs);
    else if (b.kind == ULP_CONTROL_SCAN)
        status = ulp_bodies_scan(&b, outputs);
    else
        status = ulp_fail(w->error, ULP_ERROR_UNSUPPORTED, "a Scan of batches is not followed");
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
    for (int a = 0; status != ULP_OK && status != ULP_ERROR_MEMORY && a < ULP_ATTRIBUTES_MAX; a++)
        if (step->bound.blocks[a] && ulp_enclose_disown(w, step->bound.blocks[a]) != ULP_OK)
            status = ulp_out_of_memory(w->error);
    close_bodies(&b);
    return status;
}
