/* Packing for tiles of pairs, and forms of factors that stay as they are. */
#include "kernels/pair/pair_panels.h"

#include <math.h>

#include "base/bits.h"
#include "kernels/operand/pack.h"
#include "kernels/operand/output.h"

void ulp_pair_side_make(struct ulp_pair_side *side, const struct ulp_factor *factor,
                        size_t line_count, size_t k_count, size_t width)
{
    *side = (struct ulp_pair_side){
        .factor = factor,
        .line_count = line_count,
        .k_count = k_count,
        .width = width,
        .parts = ulp_size_divide_up(factor->tensor->element_bytes, sizeof(double)),
    };
}

/* Of pairs and triples: high parts, then low parts, of each k. */
static void split_panel(double *out, const struct ulp_pair_side *side, size_t batch, size_t line,
                        size_t count, size_t k, size_t k_count)
{
    const struct ulp_factor *factor = side->factor;
    const size_t width = side->width, parts = side->parts;
    const int64_t *offset = factor->line_offset + line;
    const double *data = (const double *)factor->tensor->data +
                         (int64_t)parts * (factor->batch_offset ? factor->batch_offset[batch] : 0);
    const bool neighbours = ulp_output_is_run(offset, count);
    memset(out, 0, count < width ? k_count * parts * width * sizeof *out : 0);
    for (size_t at = 0; at < k_count; at++, out += parts * width) {
        const double *from = data + (int64_t)parts * factor->k_offset[k + at];
        if (neighbours && parts == 2) {
            from += 2 * offset[0];
            for (size_t i = 0; i < count; i++) {
                out[i] = from[2 * i];
                out[width + i] = from[2 * i + 1];
            }
        } else {
            for (size_t i = 0; i < count; i++)
                for (size_t part = 0; part < parts; part++)
                    out[part * width + i] = from[(int64_t)parts * offset[i] + (int64_t)part];
        }
    }
}

/* Magnitudes are ordered as their bits; a zero's, less 1, are the largest. */
static void look_at_magnitudes(struct ulp_pair_range *range, const double *panel, size_t step,
                               size_t k_count)
{
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t largest = 0, least = ulp_double_bits(INFINITY) - 1;
    for (size_t k = 0; k < k_count; k++) {
        const uint64_t bits = ulp_double_bits(panel[k * step]) & ~sign, less = (bits - 1) & ~sign;
        largest = bits > largest ? bits : largest;
        least = less < least ? less : least;
    }
    const double most = ulp_double_from(largest), few = ulp_double_from(least + 1);
    range->largest = most >= range->largest ? most : !(most < INFINITY) ? INFINITY : range->largest;
    range->least = few < range->least ? few : range->least;
}

static void pack_panel(double *out, struct ulp_pair_range *ranges, const struct ulp_pair_side *side,
                       size_t batch, size_t line, size_t k, size_t k_count)
{
    const size_t rest = side->line_count - line, count = rest < side->width ? rest : side->width;
    if (side->parts > 1) {
        split_panel(out, side, batch, line, count, k, k_count);
    } else {
        const struct ulp_pack pack = {.factor = side->factor};
        ulp_pack_panels(out, ULP_ELEMENT_F64, &pack,
                        (struct ulp_pack_range){batch, line, count, k, k_count}, side->width);
    }
    for (size_t i = 0; i < side->width; i++)
        look_at_magnitudes(&ranges[i], out + i, ulp_pair_step(side), k_count);
}

struct ulp_pair_form {
    struct ulp_packed_form form;
    double *panels; /* of all groups: groups times panels times k */
    struct ulp_pair_range *ranges;
    size_t panel_count;
};

static void free_form(struct ulp_packed_form *form)
{
    struct ulp_pair_form *pair = (struct ulp_pair_form *)form;
    ulp_free(pair->panels);
    ulp_free(pair->ranges);
    ulp_packed_end(form);
}

/* What a form is made of. */
struct making {
    const struct ulp_pair_side *side;
    struct ulp_pair_form *form;
    const size_t *batches;
    struct ulp_pool *pool;
    struct ulp_budget *budget;
};

ULP_WORK(fill_panels)
{
    const struct making *making = context;
    const struct ulp_pair_side *side = making->side;
    struct ulp_pair_form *form = making->form;
    for (size_t r = first * side->width; r < last * side->width; r++)
        form->ranges[r] = ULP_PAIR_ZEROS;
    for (size_t p = first; p < last; p++)
        pack_panel(form->panels + p * ulp_pair_step(side) * side->k_count,
                   form->ranges + p * side->width, side, making->batches[p / form->panel_count],
                   p % form->panel_count * side->width, 0, side->k_count);
    return ULP_OK;
}

static enum ulp_status fill_form(void *context, struct ulp_packed_form *form, const size_t *batches,
                                 struct ulp_error *error)
{
    struct making *making = context;
    const struct ulp_pair_side *side = making->side;
    struct ulp_pair_form *pair = making->form = (struct ulp_pair_form *)form;
    void *memory;
    pair->panel_count = ulp_size_divide_up(side->line_count, side->width);
    const size_t panels = pair->panel_count * form->group_count;
    ULP_TRY(ulp_allocate(&memory, panels * side->k_count, ulp_pair_step(side) * sizeof(double),
                         making->budget, "a packed factor", error));
    pair->panels = memory;
    ULP_TRY(ulp_allocate(&memory, panels * side->width, sizeof *pair->ranges, making->budget,
                         "a packed factor's magnitudes", error));
    pair->ranges = memory;
    making->batches = batches;
    return ulp_parallel_for(making->pool, panels,
                            ulp_grain(2.0 * (double)side->width * (double)side->k_count),
                            fill_panels, making, error);
}

static struct ulp_packed_view view_of(const struct ulp_pair_side *side,
                                      const struct ulp_contraction *problem)
{
    return (struct ulp_packed_view){side->factor, problem->batch_count, side->line_count,
                                    side->k_count};
}

void ulp_pair_form_find(struct ulp_pair_side *side, const struct ulp_contraction *problem,
                        int number, struct ulp_pool *pool)
{
    const struct ulp_packed_view view = view_of(side, problem);
    struct ulp_packed_recipe recipe = {
        .form_bytes = sizeof(struct ulp_pair_form),
        .fill = fill_form,
        .free = free_form,
    };
    size_t lines = ulp_size_round_up(side->line_count, side->width);
    if (!ulp_packed_is_kept(problem->packed, &view) ||
        !ulp_size_mul(lines, side->k_count, &recipe.bytes) ||
        !ulp_size_mul(recipe.bytes, sizeof(double) * side->parts, &recipe.bytes))
        return;
    recipe.variant = (struct ulp_packed_variant){.k_block = side->width, .side = (uint32_t)number};
    struct ulp_packed_form *form =
        ulp_packed_find(problem->packed, &view, free_form, &recipe.variant);
    if (!form) {
        struct making making = {.side = side,
                                .pool = pool,
                                .budget = ulp_packed_budget(problem->packed)};
        form = ulp_packed_make(problem->packed, &view, &recipe, &making);
    }
    side->form = (struct ulp_pair_form *)form;
}

void ulp_pair_form_end(const struct ulp_pair_side *side, const struct ulp_contraction *problem)
{
    if (side->form)
        ulp_packed_release(problem->packed, &side->form->form);
}

const double *ulp_pair_panel(double *out, struct ulp_pair_range *ranges,
                             const struct ulp_pair_side *side, size_t batch, size_t line, size_t k,
                             size_t k_count)
{
    const struct ulp_pair_form *form = side->form;
    if (!form) {
        pack_panel(out, ranges, side, batch, line, k, k_count);
        return out;
    }
    const size_t group =
                     ulp_packed_group(&form->form, ulp_packed_batch_offset(side->factor, batch)),
                 panel = group * form->panel_count + line / side->width;
    memcpy(ranges, form->ranges + panel * side->width, side->width * sizeof *ranges);
    return form->panels + (panel * side->k_count + k) * ulp_pair_step(side);
}
