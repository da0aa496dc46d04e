/* Decoded lines of a factor that stay from call to call: see operand/packed.h. */
#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/tuning.h"
#include "kernels/operand/packed.h"
#include "kernels/unit/work.h"

enum { COLUMNS = ULP_UNIT_COLUMNS };

struct ulp_unit_form {
    struct ulp_packed_form base;
    bool special;       /* there may be NaN or Inf among the elements */
    size_t panel_bytes; /* of columns */
    struct ulp_unit_rows rows;
    char *data;
};

static void free_form(struct ulp_packed_form *base)
{
    struct ulp_unit_form *form = (struct ulp_unit_form *)base;
    ulp_free(form->data);
    ulp_packed_end(base);
}

static const struct ulp_unit_side *side_of(const struct ulp_unit_work *work, bool columns)
{
    return columns ? &work->columns : &work->rows;
}

static struct ulp_packed_view view_of(const struct ulp_unit_work *work, bool columns)
{
    const struct ulp_unit_side *side = side_of(work, columns);
    return (struct ulp_packed_view){side->pack.factor, work->problem->batch_count, side->count,
                                    work->problem->k};
}

static struct ulp_packed_variant variant_of(const struct ulp_unit_work *work, bool columns)
{
    const struct ulp_schedule *schedule = &work->arithmetic->schedule;
    const size_t k_block = (size_t)schedule->split_k << 24 ^ (size_t)schedule->promote ^
                           (size_t)schedule->slice_tile << 50;
    return ulp_packed_variant_of(&side_of(work, columns)->pack, columns, work->unit, k_block);
}

static size_t group_bytes(const struct ulp_unit_work *work, bool columns)
{
    const size_t lines = side_of(work, columns)->count;
    return columns
               ? ulp_size_divide_up(lines, COLUMNS) * ulp_unit_lay_panel(NULL, &work->layout, NULL)
               : ulp_unit_lay_rows(NULL, &work->layout, lines, NULL);
}

bool ulp_unit_form_serves(const struct ulp_unit_work *work, bool columns)
{
    struct ulp_packed *packed = work->problem->packed;
    const struct ulp_packed_view view = view_of(work, columns);
    const struct ulp_pack *pack = &side_of(work, columns)->pack;
    return packed && side_of(work, !columns)->count <= ULP_TUNE_FORM_LINES_MAX && view.k_count &&
           !(pack->round && pack->rounding == ULP_ROUND_STOCHASTIC) &&
           ulp_packed_is_kept(packed, &view);
}

/* One form in the making: items are panels, or rows ROWS at a time. */
struct making {
    const struct ulp_unit_work *work;
    struct ulp_unit_form *form;
    const size_t *batches; /* one of each group */
    bool columns;
    struct ulp_pool *pool;
    size_t pieces; /* of a group */
    float *lines;  /* of each worker: COLUMNS lines before decoding */
};

static struct ulp_unit_rows rows_from(const struct ulp_unit_form *form,
                                      const struct ulp_unit_layout *layout, size_t line)
{
    return (struct ulp_unit_rows){form->rows.value + line * layout->slot_stride,
                                  form->rows.exponent + line * layout->slot_stride,
                                  form->rows.special + line * layout->block_count};
}

ULP_WORK(decode_pieces)
{
    const struct making *making = context;
    const struct ulp_unit_work *work = making->work;
    const struct ulp_unit_side *side = side_of(work, making->columns);
    float *const lines = making->lines + (size_t)worker * work->problem->k * COLUMNS;
    for (size_t i = first; i < last; i++) {
        const size_t group = i / making->pieces, line = i % making->pieces * COLUMNS;
        const struct ulp_pack_range range = {.batch = making->batches[group],
                                             .line = line,
                                             .line_count =
                                                 ulp_size_min(COLUMNS, side->count - line),
                                             .k_count = work->problem->k};
        if (making->columns) {
            struct ulp_unit_panel panel;
            ulp_unit_lay_panel(&panel, &work->layout,
                               making->form->data + i * making->form->panel_bytes);
            /* with the kinds, whatever rows it will meet */
            ulp_unit_decode_panel(work->instance, &panel, &work->layout, &side->pack, range, true,
                                  lines);
        } else {
            struct ulp_unit_rows rows =
                rows_from(making->form, &work->layout, group * side->count + line);
            ulp_unit_decode_rows(work->instance, &rows, &work->layout, &side->pack, range, false,
                                 lines);
        }
    }
    return ULP_OK;
}

static enum ulp_status fill_form(void *context, struct ulp_packed_form *base, const size_t *batches,
                                 struct ulp_error *error)
{
    struct making *making = context;
    const struct ulp_unit_work *work = making->work;
    struct ulp_unit_form *form = (struct ulp_unit_form *)base;
    const size_t k = work->problem->k, count = base->line_count;
    void *data;
    ULP_SCOPED(ulp_free_of) void *lines = NULL;
    ULP_TRY(ulp_allocate(&data, base->bytes, 1, ulp_packed_budget(work->problem->packed),
                         "a decoded factor", error));
    form->data = data;
    ULP_TRY(ulp_allocate(&lines, k * COLUMNS,
                         (size_t)ulp_pool_thread_count(making->pool) * sizeof(float),
                         ulp_pool_scratch(making->pool), "lines of a factor", error));
    if (making->columns)
        form->panel_bytes = ulp_unit_lay_panel(NULL, &work->layout, NULL);
    else
        ulp_unit_lay_rows(&form->rows, &work->layout, count * base->group_count, form->data);
    form->special = ulp_pack_may_be_special(&side_of(work, making->columns)->pack, making->pool);
    making->form = form;
    making->batches = batches;
    making->pieces = ulp_size_divide_up(count, COLUMNS);
    making->lines = lines;
    return ulp_parallel_for(making->pool, making->pieces * base->group_count,
                            ulp_grain((double)k * COLUMNS), decode_pieces, making, error);
}

void ulp_unit_forms_open(struct ulp_unit_work *work, bool with_rows, bool with_columns,
                         struct ulp_pool *pool)
{
    for (int columns = !with_rows; columns <= with_columns; columns++) {
        if (!ulp_unit_form_serves(work, columns))
            continue;
        const struct ulp_packed_view view = view_of(work, columns);
        const struct ulp_packed_variant variant = variant_of(work, columns);
        work->forms[columns] = (struct ulp_unit_form *)ulp_packed_find(work->problem->packed, &view,
                                                                       free_form, &variant);
        const struct ulp_packed_recipe recipe = {.form_bytes = sizeof(struct ulp_unit_form),
                                                 .bytes = group_bytes(work, columns),
                                                 .variant = variant,
                                                 .fill = fill_form,
                                                 .free = free_form};
        struct making making = {.work = work, .columns = columns, .pool = pool};
        if (!work->forms[columns])
            work->forms[columns] = (struct ulp_unit_form *)ulp_packed_make(work->problem->packed,
                                                                           &view, &recipe, &making);
    }
}

void ulp_unit_forms_close(struct ulp_unit_work *work)
{
    for (int columns = 0; columns < 2; columns++) {
        if (work->forms[columns])
            ulp_packed_release(work->problem->packed, &work->forms[columns]->base);
        work->forms[columns] = NULL; /* sides may be set anew */
    }
}

bool ulp_unit_side_is_special(const struct ulp_unit_work *work, bool columns, struct ulp_pool *pool)
{
    return work->forms[columns] ? work->forms[columns]->special
                                : ulp_pack_may_be_special(&side_of(work, columns)->pack, pool);
}

static size_t find_group(const struct ulp_unit_work *work, bool columns, size_t batch)
{
    return ulp_packed_group(&work->forms[columns]->base,
                            ulp_packed_batch_offset(side_of(work, columns)->pack.factor, batch));
}

struct ulp_unit_rows ulp_unit_form_rows(const struct ulp_unit_work *work, size_t batch, size_t row)
{
    return rows_from(work->forms[0], &work->layout,
                     find_group(work, false, batch) * work->rows.count + row);
}

void ulp_unit_form_panel(struct ulp_unit_panel *panel, const struct ulp_unit_work *work,
                         size_t batch, size_t index)
{
    const struct ulp_unit_form *form = work->forms[1];
    const size_t panels = ulp_size_divide_up(work->columns.count, COLUMNS);
    ulp_unit_lay_panel(panel, &work->layout,
                       form->data +
                           (find_group(work, true, batch) * panels + index) * form->panel_bytes);
}
