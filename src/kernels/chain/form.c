#include "kernels/chain/form.h"

#include "base/tuning.h"
#include "kernels/operand/packed.h"

struct ulp_chains_form {
    struct ulp_packed_form base;
    size_t lines; /* padded to whole tiles */
    size_t group_bytes;
    char *data;
};

static void free_form(struct ulp_packed_form *base)
{
    struct ulp_chains_form *form = (struct ulp_chains_form *)base;
    ulp_free(form->data);
    ulp_packed_end(base);
}

static const struct ulp_pack *pack_of(const struct ulp_chains_job *job, int side)
{
    return side ? &job->columns : &job->rows;
}

static struct ulp_packed_view view_of(const struct ulp_chains_job *job, int side)
{
    return (struct ulp_packed_view){pack_of(job, side)->factor, job->problem->batch_count,
                                    side ? job->column_count : job->row_count, job->k_count};
}

/* Is packing the side a part of the work that is worth memory? */
static bool pays(const struct ulp_chains_job *job, int side)
{
    const struct ulp_pack *pack = pack_of(job, side);
    return job->k_count && (side ? job->row_count : job->column_count) <= ULP_TUNE_FORM_LINES_MAX &&
           ulp_element_is_float(job->element) &&
           !(pack->round && pack->rounding == ULP_ROUND_STOCHASTIC);
}

/* One form in the making. */
struct making {
    const struct ulp_chains_job *job;
    const struct ulp_chains_form *form;
    const size_t *batches; /* one of each group */
    int side;
    size_t width, pieces; /* lines of a piece of work; pieces of a block of k */
};

ULP_WORK(pack_pieces)
{
    const struct making *making = context;
    const struct ulp_chains_job *job = making->job;
    const size_t line_count = making->form->base.line_count,
                 k_blocks = ulp_size_divide_up(job->k_count, job->k_block);
    for (size_t item = first; item < last; item++) {
        const size_t line = item % making->pieces * making->width,
                     k = item / making->pieces % k_blocks * job->k_block,
                     group = item / making->pieces / k_blocks,
                     end = ulp_size_min(k + job->k_block, job->k_count);
        ulp_chains_pack_lines(job,
                              making->form->data + group * making->form->group_bytes +
                                  (k * making->form->lines + line * (end - k)) * job->element_bytes,
                              !making->side, making->batches[group], line,
                              ulp_size_min(making->width, line_count - line), k, end);
    }
    return ULP_OK;
}

static enum ulp_status fill_form(void *context, struct ulp_packed_form *base, const size_t *batches,
                                 struct ulp_error *error)
{
    struct making *making = context;
    const struct ulp_chains_job *job = making->job;
    struct ulp_chains_form *form = (struct ulp_chains_form *)base;
    const size_t tile = making->side ? job->tile_columns : job->tile_rows,
                 k_blocks = ulp_size_divide_up(job->k_count, job->k_block);
    void *memory;
    ULP_TRY(ulp_allocate(&memory, base->bytes, 1, ulp_packed_budget(job->problem->packed),
                         "panels of a factor", error));
    form->data = memory;
    form->lines = ulp_size_round_up(base->line_count, tile);
    form->group_bytes = base->bytes / base->group_count;
    making->form = form;
    making->batches = batches;
    making->width = ULP_TUNE_SHARED_PANELS * tile;
    making->pieces = ulp_size_divide_up(base->line_count, making->width);
    return ulp_parallel_for(job->pool, making->pieces * k_blocks * base->group_count,
                            ulp_grain(0.3 * (double)making->width * (double)job->k_block),
                            pack_pieces, making, error);
}

static struct ulp_chains_form *make_form(const struct ulp_chains_job *job, int side,
                                         const struct ulp_packed_view *view,
                                         const struct ulp_packed_variant *variant)
{
    struct ulp_packed_recipe recipe = {.form_bytes = sizeof(struct ulp_chains_form),
                                       .variant = *variant,
                                       .fill = fill_form,
                                       .free = free_form};
    const size_t lines =
        ulp_size_round_up(view->line_count, side ? job->tile_columns : job->tile_rows);
    if (!ulp_size_mul(lines * job->element_bytes, job->k_count, &recipe.bytes))
        return NULL;
    return (struct ulp_chains_form *)ulp_packed_make(job->problem->packed, view, &recipe,
                                                     &(struct making){.job = job, .side = side});
}

void ulp_chains_forms_open(struct ulp_chains_job *job)
{
    struct ulp_packed *packed = job->problem->packed;
    for (int side = 0; packed && side < 2; side++) {
        const struct ulp_packed_view view = view_of(job, side);
        if (!pays(job, side) || !ulp_packed_is_kept(packed, &view))
            continue;
        const struct ulp_packed_variant variant =
            ulp_packed_variant_of(pack_of(job, side), side, job->tile, job->k_block);
        job->forms[side] =
            (struct ulp_chains_form *)ulp_packed_find(packed, &view, free_form, &variant);
        if (!job->forms[side])
            job->forms[side] = make_form(job, side, &view, &variant);
    }
}

void ulp_chains_forms_close(struct ulp_chains_job *job)
{
    for (int side = 0; side < 2; side++)
        if (job->forms[side])
            ulp_packed_release(job->problem->packed, &job->forms[side]->base);
}

const char *ulp_chains_form_panels(const struct ulp_chains_form *form, int64_t batch_offset)
{
    return form->data + ulp_packed_group(&form->base, batch_offset) * form->group_bytes;
}

size_t ulp_chains_form_lines(const struct ulp_chains_form *form)
{
    return form->lines;
}
