/* What formats with scales do, as text and JSON. */
#include <math.h>
#include <string.h>

#include <ulpscope/scales.h>

#include "analysis/html/said.h"
#include "analysis/writing/structs.h"
#include "base/machine/environment.h"
#include "base/text/text.h"

/* A channel that costs the others less is not worth a sentence. */
#define OUTLIER_DB 1

static double percent(size_t part, size_t all)
{
    return all ? 100 * (double)part / (double)all : 0;
}

/* The tensor whose rounding is worst, and why. */
static void add_worst(struct ulp_text *out, const struct ulp_scaled_tensor *t)
{
    ulp_text_show(out, "the worst is '%s' of %s (%s): ", t->name, t->node, t->op);
    if (t->nonfinite) {
        ulp_text_add(out, "%zu of %zu elements are not finite, or share a block with one",
                     t->nonfinite, t->elements);
        return;
    }
    ulp_text_add(out,
                 "its %s leaves %s %.1f dB, by the rounding of elements %.0f %%, of scales "
                 "%.0f %%, by clipping %.0f %%; ",
                 t->format, strcmp(t->op, "QuantizeLinear") == 0 ? "it" : "the products",
                 ulp_tenths(t->product_db), 100 * t->rounding, 100 * t->scaling, 100 * t->clipping);
    ulp_text_add(out,
                 "%.3g %% of its values become zero; half of its blocks span more than %.1f bits, "
                 "of which the format has %.1f",
                 percent(t->zeros, t->elements), t->range_bits, t->format_bits);
    if (t->outlier_gain_db >= OUTLIER_DB)
        ulp_text_add(
            out,
            "; %s %zu is to blame: it is %.3g times as large as the median, and without it "
            "the others are %.1f dB more exact",
            t->outlier_is_line ? (t->weight ? "output channel" : "row (token)") : "channel",
            t->outlier, t->outlier_ratio, t->outlier_gain_db);
}

static void conclude(struct ulp_headline *head, const void *result, size_t part)
{
    const struct ulp_scales *scales = result;
    const struct ulp_scales_choice *best = scales->choices;
    (void)part;
    ulp_text_show(&head->what, "%s: ", scales->arithmetic);
    if (isfinite(ulp_tenths(scales->sqnr_db)))
        ulp_text_add(&head->what, "outputs have %.1f dB", ulp_tenths(scales->sqnr_db));
    else
        ulp_text_add(&head->what, scales->sqnr_db < 0
                                      ? "an output is not finite, or has another shape than it "
                                        "should"
                                      : "outputs are exact");
    ulp_headline_drawn(head, scales->drawn);
    add_worst(&head->why, &scales->tensors[0]);
    if (!scales->choice_count)
        ulp_text_add(&head->todo, "nothing: no other choice was tried");
    else if (!(best->gain_db > 0.5))
        ulp_text_add(&head->todo, "nothing: none of %zu other choices gains half a dB",
                     scales->choice_count);
    else
        ulp_text_show(&head->todo, "try %s, with which outputs have %.1f dB (%+.1f)", best->words,
                      ulp_tenths(best->sqnr_db), best->gain_db);
}

static void add_blocks(json_t **tiles, const struct ulp_scaled_tensor *worst)
{
    ulp_tile_add(tiles, worst->range_bits <= worst->format_bits ? ULP_TILE_GOOD : ULP_TILE_WARN,
                 "Range inside blocks", "%s bits", ULP_FIGURE("%.1f", worst->range_bits));
    ulp_tile_note(tiles, -1, "of %s; %s has %.1f", worst->name, worst->format, worst->format_bits);
    if (!(worst->outlier_gain_db >= 1))
        return;
    ulp_tile_add(tiles, ULP_TILE_WARN, "Outlier", "%s %zu",
                 !worst->outlier_is_line ? "channel"
                 : worst->weight         ? "output channel"
                                         : "row",
                 worst->outlier);
    ulp_tile_note(tiles, -1, "%.3g times the median; the others gain %.1f dB without it",
                  worst->outlier_ratio, worst->outlier_gain_db);
}

static json_t *make_tiles(const void *result)
{
    const struct ulp_scales *scales = result;
    const struct ulp_scales_choice *best = scales->choice_count ? &scales->choices[0] : NULL;
    const struct ulp_scaled_tensor *most = NULL;
    size_t clipped = 0;
    json_t *tiles = json_array();
    ulp_tile_decibels(&tiles, ULP_TILE_PLAIN, (double)NAN, ulp_tenths(scales->sqnr_db));
    ulp_tile_note(&tiles, -1, "%s", scales->arithmetic);
    if (best && best->gain_db > 0.5) {
        ulp_tile_add(&tiles, ULP_TILE_GOOD, "Best of what was run", "%.1f dB", best->sqnr_db);
        ulp_tile_note(&tiles, -1, "%s: %.1f dB more", best->words, best->gain_db);
    }
    for (size_t t = 0; t < scales->tensor_count; t++) {
        const struct ulp_scaled_tensor *tensor = &scales->tensors[t];
        clipped += tensor->clipped > 0;
        if (tensor->clipped && (!most || (double)tensor->clipped * (double)most->elements >
                                             (double)most->clipped * (double)tensor->elements))
            most = tensor;
    }
    ulp_tile_add(&tiles, clipped ? ULP_TILE_WARN : ULP_TILE_GOOD, "Tensors that are clipped",
                 "%zu of %zu", clipped, scales->tensor_count);
    if (most)
        ulp_tile_note(&tiles, -1, "most %s", most->name);
    if (scales->tensor_count)
        add_blocks(&tiles, &scales->tensors[0]);
    return tiles;
}

static const struct ulp_said said = {"scales", &ulp_struct_scales, .conclude = conclude,
                                     .tiles = make_tiles};
ULP_SAID_TEXT(scales, ulp_scales, said, ULP_DOCUMENT_ROWS)
ULP_SAID_WRITE(scales, ulp_scales, said)
