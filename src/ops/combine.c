/* Combining updates into a tensor where several may go to one place. */
#include "base/error.h"
#include "ops/combine.h"

/* Updates of one pass name different places: pass r holds each place's r-th update. */
struct passes {
    size_t count;
    size_t *first; /* of each pass in order; first[count] is the end */
    size_t *order; /* updates sorted by pass */
};

static enum ulp_status sort_passes(struct ulp_call *call, const int64_t *places,
                                   size_t update_count, size_t place_count, struct passes *out)
{
    ULP_CALL_TAKE(uint32_t, seen, call, place_count);
    ULP_CALL_TAKE(size_t, pass, call, update_count);
    ULP_TRY(ulp_call_take(call, update_count, sizeof *out->order, &out->order));
    ULP_TRY(ulp_call_take(call, update_count + 2, sizeof *out->first, &out->first));
    out->count = 0;
    for (size_t u = 0; u < update_count; u++) {
        if (places[u] < 0)
            continue;
        pass[u] = seen[places[u]]++;
        out->first[pass[u] + 1]++;
        out->count = pass[u] + 1 > out->count ? pass[u] + 1 : out->count;
    }
    for (size_t r = 0; r < out->count; r++)
        out->first[r + 1] += out->first[r];
    ULP_CALL_TAKE(size_t, next, call, out->count);
    for (size_t u = 0; u < update_count; u++)
        if (places[u] >= 0)
            out->order[out->first[pass[u]] + next[pass[u]]++] = u;
    return ULP_OK;
}

/* One tape run a pass: rows are updates, positions the elements of a block. */
enum ulp_status ulp_combine(struct ulp_call *call, const struct ulp_formula *formula,
                            const struct ulp_arithmetic *arithmetic, struct ulp_tensor *out,
                            const struct ulp_tensor *updates, const int64_t *places,
                            size_t update_count, size_t run)
{
    struct passes passes;
    ULP_TRY(sort_passes(call, places, update_count, out->count, &passes));
    ULP_CALL_TAKE(int64_t, old, call, update_count);
    ULP_CALL_TAKE(int64_t, update, call, update_count);
    for (size_t r = 0; r < passes.count; r++) {
        size_t count = passes.first[r + 1] - passes.first[r];
        for (size_t i = 0; i < count; i++) {
            size_t u = passes.order[passes.first[r] + i];
            old[i] = places[u];
            update[i] = (int64_t)(u * run);
        }
        /* rows of one element are laid out as positions of one row */
        const struct ulp_rows rows = run == 1
                                         ? (struct ulp_rows){.row_count = 1, .row_length = count}
                                         : (struct ulp_rows){.row_count = count, .row_length = run};
        struct ulp_operand at_old = {.tensor = out, .position_stride = 1};
        struct ulp_operand at_update = {.tensor = updates, .position_stride = 1};
        *(run == 1 ? &at_old.position_offset : &at_old.row_offset) = old;
        *(run == 1 ? &at_update.position_offset : &at_update.row_offset) = update;
        ULP_TRY(
            ulp_call_formula(call, formula, arithmetic, &rows, 2,
                             (struct ulp_named_operand[]){{"old", at_old}, {"update", at_update}},
                             1, (struct ulp_named_operand[]){{"new", at_old}}));
    }
    return ULP_OK;
}
