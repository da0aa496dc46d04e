/* An allocation as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bits/bits_write.h"
#include "analysis/measure/judge.h"
#include "analysis/writing/columns.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/machine/environment.h"

/* Of more layers those of the largest shares are shown. */
#define LAYERS_MAX 80

static void add_tolerances(struct ulp_text *out, const struct ulp_bits *bits)
{
    for (size_t t = 0; t < bits->tolerance_count; t++)
        ulp_text_show(out, "%s%s", t ? " and " : "", bits->tolerances[t]);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* ", 3 e5m9 and 1 e8m12": the formats of most layers, and the widest. */
static void add_formats(struct ulp_text *out, const struct ulp_bits *bits)
{
    enum { SHOWN = 3 };
    size_t shown[SHOWN + 1], count = 0, widest = 0;
    for (size_t f = 0; f < bits->format_count; f++)
        if (bits->formats[f].layer_count)
            widest = f;
    while (count < SHOWN) {
        size_t most = bits->format_count;
        for (size_t f = 0; f < bits->format_count; f++) {
            bool is_shown = !bits->formats[f].layer_count;
            for (size_t i = 0; i < count; i++)
                is_shown |= shown[i] == f;
            if (!is_shown && (most == bits->format_count ||
                              bits->formats[f].layer_count > bits->formats[most].layer_count))
                most = f;
        }
        if (most == bits->format_count)
            break;
        shown[count++] = most;
    }
    bool has_widest = false;
    for (size_t i = 0; i < count; i++)
        has_widest |= shown[i] == widest;
    if (!has_widest)
        shown[count++] = widest;
    for (size_t i = 0; i < count; i++)
        ulp_text_add(out, "%s%zu %s %s", i ? (i + 1 == count ? " and " : ", ") : "",
                     bits->formats[shown[i]].layer_count,
                     i + 1 == count && !has_widest ? "need" : "take", bits->formats[shown[i]].name);
}

static void add_worst(struct ulp_text *out, const struct ulp_bits *bits)
{
    const struct ulp_bits_sample *worst = NULL;
    for (size_t s = 0; s < bits->sample_count; s++)
        if (!worst || bits->samples[s].ratio > worst->ratio)
            worst = &bits->samples[s];
    if (worst && ulp_judge_find_reason(worst->metric))
        ulp_text_show(out, " %s %s.", worst->output, ulp_judge_find_reason(worst->metric));
    else if (worst && *worst->metric)
        ulp_text_show(out, " %s is at %s %.4g (%.3g of the error allowed; the model said %.3g).",
                      worst->output, worst->metric, worst->value, worst->ratio, bits->predicted);
}

static void add_uniform(struct ulp_text *out, const struct ulp_bits *bits)
{
    if (bits->uniform < 0) {
        ulp_text_add(out, " No single format that was tried for all layers meets it.");
        return;
    }
    const struct ulp_bits_uniform *uniform = &bits->uniforms[bits->uniform];
    ulp_text_add(out, " One format for all layers would have to be %s: %.4g bits, %.3g %% more.",
                 bits->formats[uniform->format].name, uniform->bits,
                 100 * (uniform->bits / bits->bits - 1));
}

static void add_minimal(struct ulp_text *out, const struct ulp_bits *bits)
{
    if (bits->minimal)
        ulp_text_add(
            out,
            "No single layer can do with fewer bits: each of the %zu that could have them was "
            "tried. To first order, fractions of bits allowed, the least would be %.4g bits.\n",
            bits->tried, bits->relaxed);
    else if (bits->timed_out)
        ulp_text_add(out, "The time was over before every layer was tried with fewer bits: this is "
                          "the best so far.\n");
    if (bits->met && bits->layer_count && !isfinite(bits->predicted))
        ulp_text_add(out, "What other inputs do cannot be told to first order, as somewhere the "
                          "error has no finite derivative: give more of them as --inputs.\n");
    else if (bits->met && bits->predicted > 1.5 && bits->layer_count)
        ulp_text_add(out,
                     "The model expects %.3g times the error allowed of inputs whose roundings are "
                     "not known: give more of them as --inputs, or --expected 1.\n",
                     bits->predicted);
    if (bits->follows)
        ulp_text_add(out,
                     "With the widest formats, too, something is decided otherwise than by the "
                     "reference: figures are with the reference's decisions.\n");
}

static void add_unmet(struct ulp_text *out, const struct ulp_bits *bits)
{
    if (bits->timed_out) {
        ulp_text_add(out, "The time was over before an allocation was found that meets ");
        add_tolerances(out, bits);
        ulp_text_add(out, ".\n");
        return;
    }
    ulp_text_add(out, "No allocation meets ");
    add_tolerances(out, bits);
    ulp_text_show(out, ": with %s in every layer, ", bits->base);
    if (isfinite(bits->full))
        ulp_text_add(out, "the error is %.3g times what is allowed.", bits->full);
    else
        ulp_text_add(out, "nothing is allowed and there is an error, or something is not finite.");
    for (size_t p = bits->point_count; p-- > 0;)
        if (bits->frontier[p].allowed > 1) {
            ulp_text_add(out, " %.3g times the tolerance can be met, with %.4g bits.",
                         bits->frontier[p].allowed, bits->frontier[p].bits);
            break;
        }
    ulp_text_add(out, "\n");
}

void ulp_bits_verdict(struct ulp_text *out, const struct ulp_bits *bits)
{
    const bool weighted = bits->weight != ULP_BITS_LAYERS;
    if (!bits->met) {
        add_unmet(out, bits);
    } else if (!bits->layer_count) {
        ulp_text_add(out, "Nothing to allocate: no node computes floating-point values.\n");
    } else {
        ulp_text_add(out, "Outputs stay within ");
        add_tolerances(out, bits);
        ulp_text_add(out,
                     " with %.3g mantissa bits on average%s%s (%.4g bits with exponent and sign)",
                     bits->mantissa, weighted ? ", weighted by " : "",
                     weighted ? ulp_bits_weight_name(bits->weight) : "", bits->bits);
        ulp_text_add(out, ": of %zu layer%s ", bits->layer_count, plural(bits->layer_count));
        add_formats(out, bits);
        ulp_text_add(out, ".");
        add_uniform(out, bits);
        add_worst(out, bits);
        ulp_text_add(out, "\n");
    }
    add_minimal(out, bits);
}

static void add_basis(struct ulp_text *out, const struct ulp_bits *bits)
{
    ulp_text_add(out, "Rests on %zu sample%s and %zu emulations", bits->sample_count,
                 plural(bits->sample_count), bits->runs);
    if (bits->validated_count)
        ulp_text_add(out, "; %zu of %zu held-out samples meet the tolerance", bits->validated_met,
                     bits->validated_count);
    ulp_text_add(out, ".\n");
    for (size_t s = 0; s < bits->validated_count; s++) {
        const struct ulp_bits_sample *sample = &bits->validated[s];
        const char *reason = ulp_judge_find_reason(sample->metric);
        if (reason)
            ulp_text_show(out, "Held-out %s: output %s %s.\n", sample->name, sample->output,
                          reason);
    }
    if (bits->met && bits->validated_met < bits->validated_count)
        ulp_text_add(out, "The allocation fits its samples too closely: give those that fail as "
                          "--inputs, too.\n");
    else if (bits->met && bits->layer_count && !bits->validated_count)
        ulp_text_add(out, "Other inputs round otherwise: give several as --inputs, and others as "
                          "--validate.\n");
}

/* ---- tables ---- */

static int by_share(const void *a, const void *b)
{
    const struct ulp_bits_layer *const *x = a, *const *y = b;
    if ((*x)->share != (*y)->share)
        return (*x)->share > (*y)->share ? -1 : 1;
    return (*x)->index < (*y)->index ? -1 : 1;
}

static int by_index(const void *a, const void *b)
{
    const struct ulp_bits_layer *const *x = a, *const *y = b;
    return (*x)->index < (*y)->index ? -1 : 1;
}

static void add_ratio(struct ulp_text *out, double ratio)
{
    if (isnan(ratio))
        ulp_text_add(out, "         -");
    else
        ulp_text_add(out, "%10.3g", ratio);
}

static void add_layer(struct ulp_text *out, const struct ulp_bits *bits,
                      const struct ulp_bits_layer *layer)
{
    const struct ulp_bits_format *format = &bits->formats[layer->format];
    ulp_text_add(out, "%7zu  %-9s %8d %8d %6d  %9.3g %6.1f%%", layer->index, format->name,
                 layer->bits - 1 - format->exponent, format->exponent, layer->exponent_needed,
                 layer->largest, 100 * layer->share);
    add_ratio(out, layer->predicted);
    add_ratio(out, layer->without);
    ulp_text_show(out, "  %-15s  %s", layer->op, layer->name);
    if (layer->node_count > 1)
        ulp_text_add(out, " (+%zu)", layer->node_count - 1);
    ulp_text_add(out, "\n");
}

static enum ulp_status add_layers(struct ulp_text *out, const struct ulp_bits *bits,
                                  struct ulp_error *error)
{
    const struct ulp_bits_layer **order = calloc(bits->layer_count + 1, sizeof *order);
    size_t shown = bits->layer_count < LAYERS_MAX ? bits->layer_count : LAYERS_MAX;
    if (!order)
        return ulp_out_of_memory(error);
    for (size_t l = 0; l < bits->layer_count; l++)
        order[l] = &bits->layers[l];
    qsort(order, bits->layer_count, sizeof *order, by_share);
    qsort(order, shown, sizeof *order, by_index);
    ulp_text_add(out, "\n%7s  %-9s %8s %8s %6s  %9s %7s%10s%10s  %-15s  %s\n", "node", "format",
                 "mantissa", "exponent", "needs", "largest", "share", "expected", "fewer", "op",
                 "name");
    for (size_t l = 0; l < shown; l++)
        add_layer(out, bits, order[l]);
    if (shown < bits->layer_count)
        ulp_text_add(out, "        and %zu layers of smaller shares: bits.json (--out) has all\n",
                     bits->layer_count - shown);
    ulp_text_add(out,
                 "\nneeds: exponent bits that the largest magnitude needs; share: of the error; "
                 "expected, fewer: the error, in units of\nwhat is allowed, when this layer "
                 "alone has fewer bits, by the model and emulated; (+n): and n nodes that hand on "
                 "its values\n");
    free(order);
    return ULP_OK;
}

static void add_frontier(struct ulp_text *out, const struct ulp_bits *bits)
{
    if (!bits->point_count)
        return;
    ulp_text_add(out, "\n%10s %10s %8s %10s %14s\n", "tolerance", "error", "bits", "mantissa",
                 "one for all");
    for (size_t p = 0; p < bits->point_count; p++) {
        const struct ulp_bits_point *point = &bits->frontier[p];
        ulp_text_add(out, "%9.4gx %9.3gx %8.3f %10.3f", point->allowed, point->ratio, point->bits,
                     point->mantissa);
        if (isnan(point->uniform_bits))
            ulp_text_add(out, "              -\n");
        else
            ulp_text_add(out, " %14.4g\n", point->uniform_bits);
    }
    ulp_text_add(out,
                 "\nthe fewest bits emulated for other tolerances, in units of the one asked for; "
                 "bits: mean over layers%s%s\n",
                 bits->weight == ULP_BITS_LAYERS ? "" : " weighted by ",
                 bits->weight == ULP_BITS_LAYERS ? "" : ulp_bits_weight_name(bits->weight));
}

enum ulp_status ulp_bits_text(const struct ulp_bits *bits, char **out, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_text text = {0};
    enum ulp_status status = ULP_OK;
    *out = NULL;
    ulp_bits_verdict(&text, bits);
    if (bits->layer_count)
        status = add_layers(&text, bits, error);
    add_frontier(&text, bits);
    ulp_text_add(&text, "\n");
    add_basis(&text, bits);
    if (status == ULP_OK)
        return ulp_page_take(&text, out, error);
    ulp_text_free(&text);
    return status;
}
