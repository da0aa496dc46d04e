/* An allocation as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/search/search_text.h"
#include "analysis/search/searcher.h"
#include "analysis/measure/judge.h"
#include "analysis/writing/columns.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/machine/environment.h"

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- what plans and allocations say alike ---- */

static void add_casts(struct ulp_text *out, const struct ulp_search *found)
{
    if (found->cast_count)
        ulp_text_add(out, "%zu Cast%s convert%s %zu elements (%zu bytes read and written).\n",
                     found->cast_count, plural(found->cast_count),
                     found->cast_count == 1 ? "s" : "", found->cast_elements, found->cast_bytes);
}

static void add_full(struct ulp_text *out, const struct ulp_search *found)
{
    if (isfinite(found->full))
        ulp_text_add(out, "the error is %.3g times what is allowed.", found->full);
    else
        ulp_text_add(out, "nothing is allowed and there is an error, or something is not finite.");
}

static const char *name_of(const struct ulp_search *found, size_t format)
{
    return found->formats[format].name;
}

/* ---- the verdict of a plan ---- */

static const char *widest(const struct ulp_search *found)
{
    return name_of(found, found->format_count - 1);
}

/* What stays in the wider format. */
static void add_price(struct ulp_text *out, const struct ulp_search *found)
{
    if (found->macs > 0 && found->bytes > 0)
        ulp_text_add(out, " (%.3g %% of the multiply-adds, %.3g %% of the bytes)",
                     100 * found->kept_macs / found->macs, 100 * found->kept_bytes / found->bytes);
}

void ulp_search_say_draws(struct ulp_text *out, const struct ulp_search *found)
{
    for (size_t t = 0; t < found->target_count; t++) {
        const struct ulp_search_target *target = &found->targets[t];
        const char *reason = ulp_judge_find_reason(target->metric);
        ulp_text_add(out, t            ? (t + 1 == found->target_count ? " and " : ", ")
                          : found->met ? " and holds in "
                                       : ", but holds in ");
        ulp_text_show(out, "%zu of %zu%s%s%s", target->held_count, target->draw_count,
                      t ? "" : " draws",
                      found->target_count > 1 || target->fused_before ? " for " : "",
                      found->target_count > 1 || target->fused_before ? target->name : "");
        if (reason)
            ulp_text_show(out, " (in the worst %s %s)", target->output, reason);
        else if (strcmp(target->metric, "sqnr_db") == 0)
            ulp_text_add(out, " (worst %.1f dB)", target->value);
        else
            ulp_text_show(out, " (worst %s %.4g)", target->metric, target->value);
    }
    if (found->target_count && found->sample_count == 1 && !found->validated_count)
        ulp_text_add(out, "; on other inputs: unknown");
}

/* Below so many directions a single run says little. */
#define FREEDOM_LITTLE 10

static void add_spread(struct ulp_text *out, const struct ulp_search *found)
{
    double least = INFINITY;
    for (size_t t = 0; t < found->target_count; t++)
        least = found->targets[t].freedom < least ? found->targets[t].freedom : least;
    if (least < FREEDOM_LITTLE)
        ulp_text_add(out,
                     "One run says little here: between draws the error varies as that of %.0f "
                     "independent number%s.\n",
                     least, least < 1.5 ? "" : "s");
    for (size_t t = 0; t < found->target_count; t++)
        if (found->targets[t].fused_before)
            ulp_text_show(out,
                          "%s computes %zu of %zu nodes in kernels with others, without the plan "
                          "%zu: a kept node is a kernel of its own.\n",
                          found->targets[t].name, found->targets[t].fused_count, found->node_count,
                          found->targets[t].fused_before);
}

/* Where the search ended: what it found is the best so far. */
static void add_over(struct ulp_text *out, const struct ulp_search *found)
{
    bool some = false; /* all draws that were made hold, but not all were made */
    for (size_t t = 0; t < found->target_count; t++)
        some |= found->targets[t].held_count == found->targets[t].draw_count &&
                found->targets[t].draw_count < ULP_SEARCH_DRAWS;
    ulp_text_add(out, "The time was over before ");
    if (found->confidence > 0 && !found->target_count)
        ulp_text_add(out, "any draw");
    else if (some)
        ulp_text_add(out, "all %d draws were made", ULP_SEARCH_DRAWS);
    else
        ulp_text_add(out, "all was tried");
    ulp_text_add(out, ": this is the best so far%s.\n",
                 found->confidence > 0 && !found->met && (some || !found->target_count)
                     ? ", and whether it holds where roundings fall otherwise is not known"
                     : "");
}

static void add_plan(struct ulp_text *out, const struct ulp_search *found)
{
    const struct ulp_search_sample *after = ulp_search_worst(found->samples, found->sample_count);
    const bool counted =
        strcmp(found->cost, "nodes") == 0 || strcmp(found->cost, "nodes+macs") == 0;
    ulp_text_show(out, "Keep %zu of %zu nodes in %s", found->kept_count, found->node_count,
                  widest(found));
    add_price(out, found);
    ulp_text_show(out, "%s%s: %s then %s ", counted ? "" : ", least by ",
                  counted ? "" : found->cost, name_of(found, found->narrow),
                  found->ratio <= 1 ? "meets" : "does not meet");
    ulp_search_say_tolerances(out, found);
    ulp_search_say_draws(out, found);
    ulp_text_add(out, "; ");
    ulp_search_say_figure(out, after);
    if (isfinite(after->ratio))
        ulp_text_add(out, " (%.3g of the error allowed)", after->ratio);
    ulp_text_add(out, ", and without them ");
    ulp_search_say_figure(out, ulp_search_worst(found->before_samples, found->before_count));
    ulp_text_add(out, ".\n");
    if (found->grade_text)
        ulp_text_show(out, "What the outputs are for: %s.\n", found->grade_text);
    if (found->minimal && found->kept_count)
        ulp_text_add(out, found->confidence > 0
                              ? "Without any single one of them there is no room for other "
                                "roundings: each was tried.\n"
                              : "Without any single one of them it is not met: each was tried.\n");
    if (found->timed_out)
        add_over(out, found);
    add_spread(out, found);
    add_casts(out, found);
}

/* What meets it with nothing but the nodes that had to be kept. */
static void add_nothing(struct ulp_text *out, const struct ulp_search *found)
{
    if (found->kept_count)
        ulp_text_add(out,
                     "Keep the %zu node%s that had to be kept, and no more: ", found->kept_count,
                     plural(found->kept_count));
    else
        ulp_text_add(out, "Keep nothing: ");
    ulp_text_show(out, "%s %smeets ", name_of(found, found->narrow),
                  found->kept_count ? "then " : "");
    ulp_search_say_tolerances(out, found);
    ulp_text_add(out, found->kept_count ? "" : " as it is");
    ulp_search_say_draws(out, found);
    ulp_text_add(out, "; ");
    ulp_search_say_figure(out, ulp_search_worst(found->samples, found->sample_count));
    if (isfinite(found->ratio))
        ulp_text_add(out, " (%.3g of the error allowed)", found->ratio);
    ulp_text_add(out, ".\n");
    add_spread(out, found);
}

static void add_plan_verdict(struct ulp_text *out, const struct ulp_search *found)
{
    const bool fails = found->full > 1; /* NaN: with all nodes in it, it was not run */
    size_t asked = 0;
    for (size_t k = 0; k < found->kept_count; k++)
        asked += found->kept[k].always;
    if (found->before <= 1 && asked == found->kept_count && found->met) {
        add_nothing(out, found);
    } else if (fails && found->kept_count == 0) {
        ulp_text_add(out, "No plan meets ");
        ulp_search_say_tolerances(out, found);
        ulp_text_show(out, ": no node may be kept in %s, and ", widest(found));
        ulp_search_say_figure(out, ulp_search_worst(found->before_samples, found->before_count));
        ulp_text_add(out, ".\n");
    } else {
        if (fails) {
            ulp_text_add(out, "No plan meets ");
            ulp_search_say_tolerances(out, found);
            ulp_text_show(out, ": with every node in %s ", widest(found));
            add_full(out, found);
            ulp_text_add(out, "\n");
        }
        add_plan(out, found);
    }
}

/* ---- the verdict of an allocation ---- */

static void add_worst(struct ulp_text *out, const struct ulp_search *found)
{
    const struct ulp_search_sample *worst = ulp_search_worst(found->samples, found->sample_count);
    if (!worst || !*worst->metric)
        return;
    ulp_text_add(out, " ");
    ulp_search_say_figure(out, worst);
    if (!ulp_judge_find_reason(worst->metric))
        ulp_text_add(out, " (%.3g of the error allowed; the model said %.3g)", worst->ratio,
                     found->predicted);
    ulp_text_add(out, ".");
}

static void add_uniform(struct ulp_text *out, const struct ulp_search *found)
{
    if (found->uniform < 0) {
        ulp_text_add(out, " No single format that was tried for all layers meets it.");
        return;
    }
    const struct ulp_search_uniform *uniform = &found->uniforms[found->uniform];
    ulp_text_add(out, " One format for all layers would have to be %s: %.4g bits, %.3g %% more.",
                 found->formats[uniform->format].name, uniform->bits,
                 100 * (uniform->bits / found->bits - 1));
}

static void add_minimal(struct ulp_text *out, const struct ulp_search *found)
{
    if (found->minimal) {
        if (found->tried)
            ulp_text_add(out,
                         "No single layer can do with fewer bits: each of the %zu that could have "
                         "them was tried.",
                         found->tried);
        else
            ulp_text_add(out, "No layer can have fewer bits.");
        ulp_text_add(out,
                     " To first order, fractions of bits allowed, the least would be %.4g bits.\n",
                     found->relaxed);
    } else if (found->timed_out) {
        ulp_text_add(out, "The time was over before every layer was tried with fewer bits: this is "
                          "the best so far.\n");
    }
    if (found->met && found->layer_count && !isfinite(found->predicted))
        ulp_text_add(out, "What other inputs do cannot be told to first order, as somewhere the "
                          "error has no finite derivative: give more of them as --inputs.\n");
    else if (found->met && found->predicted > 1.5 && found->layer_count)
        ulp_text_add(out,
                     "The model expects %.3g times the error allowed of inputs whose roundings are "
                     "not known: give more of them as --inputs, or --expected 1.\n",
                     found->predicted);
}

static void add_unmet(struct ulp_text *out, const struct ulp_search *found)
{
    if (found->timed_out) {
        ulp_text_add(out, "The time was over before an allocation was found that meets ");
        ulp_search_say_tolerances(out, found);
        ulp_text_add(out, ".\n");
        return;
    }
    ulp_text_add(out, "No allocation meets ");
    ulp_search_say_tolerances(out, found);
    ulp_text_show(out, ": with %s in every layer, ", found->base);
    add_full(out, found);
    for (size_t p = found->point_count; p-- > 0;)
        if (found->frontier[p].allowed > 1) {
            ulp_text_add(out, " %.3g times the tolerance can be met, with %.4g bits.",
                         found->frontier[p].allowed, found->frontier[p].bits);
            break;
        }
    ulp_text_add(out, "\n");
}

static void add_allocation_verdict(struct ulp_text *out, const struct ulp_search *found)
{
    const bool weighted = ulp_search_is_weighted(found);
    if (!found->met) {
        add_unmet(out, found);
    } else if (!found->layer_count) {
        ulp_text_add(out, "Nothing to allocate: no node computes floating-point values.\n");
    } else {
        ulp_text_add(out, "Outputs stay within ");
        ulp_search_say_tolerances(out, found);
        ulp_text_show(out,
                      " with %.3g mantissa bits on average%s%s (%.4g bits with exponent and sign)",
                      found->mantissa, weighted ? ", weighted by " : "",
                      weighted ? found->cost : "", found->bits);
        ulp_text_add(out, ": of %zu layer%s ", found->layer_count, plural(found->layer_count));
        ulp_search_say_formats(out, found);
        ulp_text_add(out, ".");
        add_uniform(out, found);
        add_worst(out, found);
        ulp_text_add(out, "\n");
    }
    add_minimal(out, found);
}

/* ---- both ---- */

static void add_basis(struct ulp_text *out, const struct ulp_search *found)
{
    const char *what = ulp_search_is_plan(found) ? "plan" : "allocation";
    const bool any = found->by_node ? found->kept_count : found->met && found->layer_count;
    ulp_text_add(out, "Rests on ");
    if (found->sample_count) /* none where nothing meets the tolerance */
        ulp_text_add(out, "%zu sample%s and ", found->sample_count, plural(found->sample_count));
    ulp_text_add(out, "%zu emulations", found->runs);
    if (found->validated_count)
        ulp_text_add(out, "; %zu of %zu held-out samples meet the tolerance", found->validated_met,
                     found->validated_count);
    ulp_text_add(out, ".\n");
    for (size_t s = 0; s < found->validated_count; s++)
        if (ulp_judge_find_reason(found->validated[s].metric)) {
            ulp_text_show(out, "Held-out %s: output ", found->validated[s].name);
            ulp_search_say_figure(out, &found->validated[s]);
            ulp_text_add(out, ".\n");
        }
    if (found->follows)
        ulp_text_add(out, "With the widest format everywhere, too, something is decided otherwise "
                          "than by the reference: figures are with the reference's decisions.\n");
    for (size_t d = 0; d < found->decided_count; d++)
        ulp_text_show(out,
                      "%s is such a decision, so nothing can be asked of it, and the other outputs "
                      "are judged: with the widest format everywhere %s, with this %s %s.\n",
                      found->decided[d].name, found->decided[d].widest, what,
                      found->decided[d].found);
    if (found->met && found->validated_met < found->validated_count)
        ulp_text_add(
            out, "The %s fits its samples too closely: give those that fail as --inputs, too.\n",
            what);
    else if (any && !found->validated_count && !found->target_count)
        ulp_text_add(out, "Other inputs round otherwise: give several as --inputs, and others as "
                          "--validate.\n");
}

void ulp_search_verdict(struct ulp_text *out, const struct ulp_search *found, bool with_basis)
{
    if (found->by_node)
        add_plan_verdict(out, found);
    else if (found->scaled)
        ulp_search_say_scaled(out, found);
    else
        add_allocation_verdict(out, found);
    if (with_basis)
        add_basis(out, found);
}

enum ulp_status ulp_search_text(const struct ulp_search *found, char **out, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_text text = {0};
    enum ulp_status status = ULP_OK;
    *out = NULL;
    ulp_search_verdict(&text, found, false);
    status = ulp_search_tables(&text, found, error);
    if (!found->by_node || found->kept_count)
        ulp_text_add(&text, "\n");
    add_basis(&text, found);
    if (status == ULP_OK)
        return ulp_page_take(&text, out, error);
    ulp_text_free(&text);
    return status;
}
