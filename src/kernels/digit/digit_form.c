/* Digits of factors that stay as they are, kept from call to call (packed.h): all lines of all
 * different batches, and the plan that served well with them, so that the next call need not look
 * at outputs to make one. */
#include "kernels/digit/digit_form.h"

#include <math.h>
#include <pthread.h>

#include "base/memory/alloc.h"
#include "kernels/operand/operand_special.h"
#include "base/tuning.h"

/* Positions beyond those of the plan that a form of exact panels serves: other inputs may ask for
 * some more. */
#define POSITIONS_SPARE 2

struct ulp_wide_form {
    struct ulp_packed_form base;
    const struct ulp_wide_tile *tile;
    struct ulp_wide_scheme scheme; /* of double digits */
    int least, most; /* positions of plans it serves; of integer digits, when panels are exact, some
                      * more than it was made for */
    size_t k_block, width, panel_count; /* panels of a batch */
    bool special, sorted; /* an infinity or NaN is among the elements; they are sorted */
    struct ulp_wide_panel *panels;
    void *data, *half_sums, *sets;
    struct ulp_wide_plan plan; /* positions 0: none served yet; under served_mutex, as the next */
    int precision;             /* that it served */
};

/* Of all forms: runs on other threads use the same ones, and what has served is copied, once before
 * and once after a contraction. */
static pthread_mutex_t served_mutex = PTHREAD_MUTEX_INITIALIZER;

static void free_form(struct ulp_packed_form *base)
{
    struct ulp_wide_form *form = (struct ulp_wide_form *)base;
    ulp_free(form->panels);
    ulp_free(form->data);
    ulp_free(form->half_sums);
    ulp_free(form->sets);
    ulp_packed_end(base);
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
            form = (struct ulp_wide_form *)ulp_packed_find(call->problem.packed, &view, free_form,
                                                           &(const struct ulp_packed_variant){0});
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

static bool read_served(const struct ulp_wide_form *form, int precision, struct ulp_wide_plan *plan)
{
    pthread_mutex_lock(&served_mutex);
    const bool has = form->plan.positions && form->precision == precision;
    if (has)
        *plan = form->plan;
    pthread_mutex_unlock(&served_mutex);
    return has;
}

bool ulp_wide_forms_plan(struct ulp_wide_plan *plan, const struct ulp_wide_call *call)
{
    for (int side = 0; side < 2; side++) {
        const struct ulp_wide_form *form = call->forms[side];
        if (!form || !read_served(form, call->precision, plan))
            continue;
        plan->special = ulp_wide_is_special_side(call, 0) || ulp_wide_is_special_side(call, 1);
        return true;
    }
    return false;
}

static bool serves(const struct ulp_wide_form *form, const struct ulp_wide_plan *plan)
{
    return memcmp(&form->scheme, &plan->scheme, sizeof form->scheme) == 0 &&
           form->k_block == plan->k_block && form->least <= plan->positions &&
           plan->positions <= form->most && (form->sorted || !plan->special);
}

/* One form in the making. */
struct making {
    const struct ulp_wide_call *call;
    const struct ulp_wide_plan *plan;
    const struct ulp_factor *factor;
    int side;
    struct ulp_pool *pool;
    struct ulp_wide_form *form;
    const size_t *batches; /* one of each group */
};

ULP_WORK(measure_panels)
{
    const struct making *making = context;
    for (size_t i = first; i < last; i++)
        ulp_wide_measure(&making->form->panels[i], making->plan, making->factor,
                         making->batches[i / making->form->panel_count]);
    return ULP_OK;
}

ULP_WORK(cut_panels)
{
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
        panel->side = side;
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
                                  : (size_t)panel->arrays * form->base.k_count * panel->width *
                                        sizeof *panel->data;
        half_count += rows * panel->width;
        digits = panel->digits > digits ? panel->digits : digits;
        exact &= panel->exact;
    }
    if (exact && form->tile->integer)
        form->least = digits;
    else
        form->most = form->least;
    if (bytes > ULP_TUNE_DIGIT_FORM_BYTES_MAX)
        return ULP_ERROR_MEMORY;
    ULP_TRY(ulp_allocate(&form->data, bytes, 1, budget, what, error));
    ULP_TRY(ulp_allocate_zero(&form->half_sums, half_count, sizeof(int64_t), budget, what, error));
    form->base.bytes = bytes + half_count * sizeof(int64_t);
    uint64_t *data = form->data;
    int64_t *half_sums = form->half_sums;
    for (size_t i = 0; i < panels; i++) {
        struct ulp_wide_panel *panel = &form->panels[i];
        panel->data = data;
        panel->half_sums = half_sums;
        data += panel->irregular ? 0 : (size_t)panel->arrays * form->base.k_count * panel->width;
        half_sums += rows * panel->width;
    }
    return ULP_OK;
}

static enum ulp_status fill_form(void *context, struct ulp_packed_form *base, const size_t *batches,
                                 struct ulp_error *error)
{
    struct making *making = context;
    const struct ulp_wide_call *call = making->call;
    const struct ulp_wide_plan *plan = making->plan;
    struct ulp_budget *budget = ulp_packed_budget(call->problem.packed);
    struct ulp_wide_form *form = (struct ulp_wide_form *)base;
    making->form = form;
    making->batches = batches;
    form->tile = plan->tile;
    form->scheme = plan->scheme;
    form->least = plan->positions;
    form->most = plan->positions + POSITIONS_SPARE;
    form->k_block = plan->k_block;
    form->width = width_of(call, plan->tile, making->side);
    form->panel_count = (base->line_count + form->width - 1) / form->width;
    form->sorted = plan->special;
    form->special = plan->special && ulp_any_beyond(making->factor->tensor, INFINITY, making->pool);
    const size_t panels = base->group_count * form->panel_count,
                 set_bytes = ulp_wide_panel_set_bytes(plan);
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
    choose_lines(form, making->side);
    ULP_TRY(ulp_parallel_for(making->pool, panels, 1, measure_panels, making, error));
    ULP_TRY(allocate_digits(form, budget, error));
    return ulp_parallel_for(making->pool, panels, 1, cut_panels, making, error);
}

static struct ulp_wide_form *make_form(const struct ulp_wide_call *call,
                                       const struct ulp_wide_plan *plan, int side,
                                       struct ulp_pool *pool)
{
    static const struct ulp_packed_recipe recipe = {.form_bytes = sizeof(struct ulp_wide_form),
                                                    .fill = fill_form,
                                                    .free = free_form};
    const struct ulp_packed_view view = view_of(call, side);
    struct making making = {
        .call = call, .plan = plan, .factor = view.factor, .side = side, .pool = pool};
    return (struct ulp_wide_form *)ulp_packed_make(call->problem.packed, &view, &recipe, &making);
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
        struct ulp_wide_form *form = call->forms[side];
        if (!form)
            continue;
        pthread_mutex_lock(&served_mutex);
        form->plan = *plan;
        form->plan.positions = served_well ? plan->positions : 0;
        form->precision = call->precision;
        pthread_mutex_unlock(&served_mutex);
        release(call, side);
    }
}

const struct ulp_wide_panel *ulp_wide_form_panels(const struct ulp_wide_form *form,
                                                  int64_t batch_offset)
{
    return form->panels + ulp_packed_group(&form->base, batch_offset) * form->panel_count;
}
