/* Digits of factors that stay as they are, kept from call to call (packed.h): all lines of all
 * different batches, and the plan that served well with them, so that the next call need not look
 * at outputs to make one. */
#include "kernels/digit/form.h"

#include <math.h>

#include "base/memory/alloc.h"
#include "kernels/operand/special.h"
#include "base/tuning.h"

/* Positions beyond those of the plan that a form of exact panels serves: other inputs may ask for
 * some more. */
#define POSITIONS_SPARE 2

struct ulp_wide_form {
    struct ulp_packed_form base;
    const struct ulp_wide_tile *tile;
    int digit_bits;
    int least, most;                    /* positions of plans it serves */
    size_t k_block, width, panel_count; /* panels of a batch */
    bool special, sorted; /* an infinity or NaN is among the elements; they are sorted */
    struct ulp_wide_panel *panels;
    void *data, *half_sums, *sets;
    struct ulp_wide_plan plan; /* positions 0: none served yet */
    int precision;             /* that it served */
};

static void free_form(struct ulp_packed_form *base)
{
    struct ulp_wide_form *form = (struct ulp_wide_form *)base;
    ulp_packed_end(base);
    ulp_free(form->panels);
    ulp_free(form->data);
    ulp_free(form->half_sums);
    ulp_free(form->sets);
    ulp_free(form);
}

static const struct ulp_factor *factor_of(const struct ulp_wide_call *call, int side)
{
    return side ? &call->problem.b : &call->problem.a;
}

static struct ulp_packed_view view_of(const struct ulp_wide_call *call, int side)
{
    const struct ulp_contraction *problem = &call->problem;
    return (struct ulp_packed_view){factor_of(call, side), problem->batch_count,
                                    side ? problem->n : problem->m, problem->k};
}

static size_t width_of(const struct ulp_wide_call *call, const struct ulp_wide_tile *tile, int side)
{
    return side ? ulp_wide_column_width(tile) : ulp_wide_row_width(tile, call->problem.m);
}

void ulp_wide_forms_find(struct ulp_wide_call *call, const struct ulp_wide_tile *tile)
{
    for (int side = 0; side < 2; side++) {
        const struct ulp_packed_view view = view_of(call, side);
        struct ulp_wide_form *form = NULL;
        if (call->kept[side])
            form = (struct ulp_wide_form *)ulp_packed_find(call->problem.packed, &view, free_form);
        if (form && (form->tile != tile || form->width != width_of(call, tile, side))) {
            ulp_packed_release(call->problem.packed, &form->base);
            form = NULL;
        }
        call->forms[side] = form;
    }
}

bool ulp_wide_is_special_side(const struct ulp_wide_call *call, int side)
{
    if (call->regular)
        return false;
    return call->forms[side] ? call->forms[side]->special
                             : ulp_any_beyond(factor_of(call, side)->tensor, INFINITY, call->pool);
}

bool ulp_wide_forms_plan(struct ulp_wide_plan *plan, const struct ulp_wide_call *call)
{
    for (int side = 0; side < 2; side++) {
        const struct ulp_wide_form *form = call->forms[side];
        if (!form || !form->plan.positions || form->precision != call->precision)
            continue;
        *plan = form->plan;
        plan->special = ulp_wide_is_special_side(call, 0) || ulp_wide_is_special_side(call, 1);
        return true;
    }
    return false;
}

static bool serves(const struct ulp_wide_form *form, const struct ulp_wide_plan *plan)
{
    return form->digit_bits == plan->digit_bits && form->k_block == plan->k_block &&
           form->least <= plan->positions && plan->positions <= form->most &&
           (form->sorted || !plan->special);
}

/* One form in the making. */
struct making {
    struct ulp_wide_form *form;
    const struct ulp_wide_plan *plan;
    const struct ulp_factor *factor;
    const size_t *batches; /* one of each group */
};

static enum ulp_status measure_panels(void *context, size_t first, size_t last, int worker,
                                      struct ulp_error *error)
{
    (void)worker, (void)error;
    const struct making *making = context;
    for (size_t i = first; i < last; i++)
        ulp_wide_measure(&making->form->panels[i], making->plan, making->factor,
                         making->batches[i / making->form->panel_count]);
    return ULP_OK;
}

static enum ulp_status cut_panels(void *context, size_t first, size_t last, int worker,
                                  struct ulp_error *error)
{
    (void)worker, (void)error;
    const struct making *making = context;
    for (size_t i = first; i < last; i++)
        ulp_wide_cut(&making->form->panels[i], making->plan, making->factor,
                     making->batches[i / making->form->panel_count]);
    return ULP_OK;
}

static void choose_lines(struct ulp_wide_form *form, int side)
{
    const size_t lanes = (size_t)form->tile->lanes;
    for (size_t i = 0; i < form->base.group_count * form->panel_count; i++) {
        struct ulp_wide_panel *panel = &form->panels[i];
        panel->first = i % form->panel_count * form->width;
        const size_t left = form->base.line_count - panel->first;
        panel->count = left < form->width ? left : form->width;
        panel->width = side ? (panel->count + lanes - 1) / lanes * lanes
                            : ulp_wide_row_width(form->tile, panel->count);
    }
}

/* Memory for digits and halves of sums, now that the panels are measured. */
static enum ulp_status allocate_digits(struct ulp_wide_form *form, struct ulp_budget *budget,
                                       struct ulp_error *error)
{
    const size_t panels = form->base.group_count * form->panel_count, rows = (size_t)form->most + 2;
    const char *what = "digits of a contraction's factor";
    size_t bytes = 0, half_count = 0;
    int digits = 0;
    bool exact = true;
    for (size_t i = 0; i < panels; i++) {
        const struct ulp_wide_panel *panel = &form->panels[i];
        bytes += panel->irregular ? 0
                                  : (size_t)panel->digits * form->base.k_count * panel->width *
                                        sizeof *panel->data;
        half_count += rows * panel->width;
        digits = panel->digits > digits ? panel->digits : digits;
        exact &= panel->exact;
    }
    if (exact)
        form->least = digits;
    else
        form->most = form->least;
    if (bytes > ULP_TUNE_DIGIT_FORM_BYTES_MAX)
        return ULP_ERROR_MEMORY;
    enum ulp_status status = ulp_allocate(&form->data, bytes, 1, budget, what, error);
    if (status == ULP_OK)
        status =
            ulp_allocate_zero(&form->half_sums, half_count, sizeof(int64_t), budget, what, error);
    if (status != ULP_OK)
        return status;
    uint64_t *data = form->data;
    int64_t *half_sums = form->half_sums;
    for (size_t i = 0; i < panels; i++) {
        struct ulp_wide_panel *panel = &form->panels[i];
        panel->data = data;
        panel->half_sums = half_sums;
        data += panel->irregular ? 0 : (size_t)panel->digits * form->base.k_count * panel->width;
        half_sums += rows * panel->width;
    }
    return ULP_OK;
}

static enum ulp_status fill_form(struct ulp_wide_form *form, struct making *making, int side,
                                 struct ulp_budget *budget, struct ulp_pool *pool,
                                 struct ulp_error *error)
{
    const size_t panels = form->base.group_count * form->panel_count,
                 set_bytes = ulp_wide_panel_set_bytes(making->plan);
    void *memory;
    enum ulp_status status = ulp_allocate_zero(&memory, panels, sizeof *form->panels, budget,
                                               "a packed factor's panels", error);
    form->panels = memory;
    if (status == ULP_OK && set_bytes)
        status =
            ulp_allocate(&form->sets, panels, set_bytes, budget, "sets of a packed factor", error);
    if (status != ULP_OK)
        return status;
    for (size_t i = 0; set_bytes && i < panels; i++)
        form->panels[i].sets = (uint64_t *)((char *)form->sets + i * set_bytes);
    choose_lines(form, side);
    status = ulp_parallel_for(pool, panels, 1, measure_panels, making, error);
    if (status == ULP_OK)
        status = allocate_digits(form, budget, error);
    return status == ULP_OK ? ulp_parallel_for(pool, panels, 1, cut_panels, making, error) : status;
}

/* A batch of each of the form's groups. */
static enum ulp_status list_batches(size_t **out, const struct ulp_wide_form *form,
                                    const struct ulp_packed_view *view, struct ulp_budget *budget,
                                    struct ulp_error *error)
{
    void *memory;
    enum ulp_status status = ulp_allocate(&memory, form->base.group_count, sizeof **out, budget,
                                          "batches of a factor", error);
    *out = memory;
    for (size_t batch = 0; status == ULP_OK && batch < view->batch_count; batch++)
        (*out)[ulp_packed_group(&form->base, ulp_packed_batch_offset(view->factor, batch))] = batch;
    return status;
}

/* NULL: there is no memory for it, which is no failure. */
static struct ulp_wide_form *make_form(const struct ulp_wide_call *call,
                                       const struct ulp_wide_plan *plan, int side,
                                       struct ulp_pool *pool)
{
    struct ulp_packed *packed = call->problem.packed;
    struct ulp_budget *budget = ulp_packed_budget(packed);
    const struct ulp_packed_view view = view_of(call, side);
    struct ulp_error error;
    void *memory;
    if (ulp_allocate_zero(&memory, 1, sizeof(struct ulp_wide_form), budget, "a packed factor",
                          &error) != ULP_OK)
        return NULL;
    struct ulp_wide_form *form = memory;
    const size_t width = width_of(call, plan->tile, side);
    *form = (struct ulp_wide_form){.base = {.free = free_form},
                                   .tile = plan->tile,
                                   .digit_bits = plan->digit_bits,
                                   .least = plan->positions,
                                   .most = plan->positions + POSITIONS_SPARE,
                                   .k_block = plan->k_block,
                                   .width = width,
                                   .panel_count = (view.line_count + width - 1) / width,
                                   .sorted = plan->special,
                                   .special = plan->special &&
                                              ulp_any_beyond(view.factor->tensor, INFINITY, pool)};
    size_t *batches = NULL;
    enum ulp_status status = ulp_packed_begin(packed, &form->base, &view, &error);
    if (status == ULP_OK)
        status = list_batches(&batches, form, &view, budget, &error);
    if (status == ULP_OK)
        status = fill_form(form, &(struct making){form, plan, view.factor, batches}, side, budget,
                           pool, &error);
    ulp_free(batches);
    if (status == ULP_OK) {
        ulp_packed_add(packed, &form->base);
        return form;
    }
    free_form(&form->base);
    return NULL;
}

static void release(struct ulp_wide_call *call, int side)
{
    if (call->forms[side])
        ulp_packed_release(call->problem.packed, &call->forms[side]->base);
    call->forms[side] = NULL;
}

void ulp_wide_forms_make(struct ulp_wide_call *call, const struct ulp_wide_plan *plan,
                         struct ulp_pool *pool)
{
    for (int side = 0; side < 2; side++) {
        if (!call->kept[side] || (call->forms[side] && serves(call->forms[side], plan)))
            continue;
        release(call, side);
        call->forms[side] = make_form(call, plan, side, pool);
    }
}

void ulp_wide_forms_end(struct ulp_wide_call *call, const struct ulp_wide_plan *plan,
                        bool served_well)
{
    for (int side = 0; side < 2; side++) {
        if (!call->forms[side])
            continue;
        call->forms[side]->plan = *plan;
        call->forms[side]->precision = call->precision;
        if (!served_well)
            call->forms[side]->plan.positions = 0;
        release(call, side);
    }
}

const struct ulp_wide_panel *ulp_wide_form_panels(const struct ulp_wide_form *form,
                                                  int64_t batch_offset)
{
    return form->panels + ulp_packed_group(&form->base, batch_offset) * form->panel_count;
}
