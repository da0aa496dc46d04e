/* An allocation as text. */
#include <math.h>
#include <string.h>

#include "analysis/search/search_remedy.h"
#include "analysis/search/written/search_files.h"
#include "analysis/search/written/search_text.h"
#include "analysis/search/search_tf32.h"
#include "analysis/search/searcher.h"
#include "analysis/measure/judge.h"
#include "analysis/writing/columns.h"
#include "base/error.h"

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- what all plans say ---- */

static void add_casts(struct ulp_text *out, const struct ulp_search *found)
{
    if (found->cast_count)
        ulp_text_add(out, "%zu Cast%s convert%s %zu elements (%zu bytes read and written).\n",
                     found->cast_count, plural(found->cast_count),
                     found->cast_count == 1 ? "s" : "", found->cast_elements, found->cast_bytes);
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

static bool fuses(const struct ulp_search *found)
{
    bool some = false;
    for (size_t t = 0; t < found->target_count; t++)
        some |= found->targets[t].fused_before > 0;
    return some;
}

/* "67.6 dB at logits, without them 2.2 dB": of decibels and of one output no word twice. */
static void add_figures(struct ulp_text *out, const struct ulp_search *found)
{
    const struct ulp_search_sample *after = ulp_search_worst(found->samples, found->sample_count),
                                   *before =
                                       ulp_search_worst(found->before_samples, found->before_count);
    const bool some = after && *after->metric;
    if (some)
        ulp_search_say_figure(out, after);
    if (some && isfinite(after->ratio) && strcmp(after->metric, "sqnr_db") != 0)
        ulp_text_add(out, " (%.3g of the error allowed)", after->ratio);
    if (!before || !*before->metric || (some && !found->kept_count))
        return;
    ulp_text_add(out, !some          ? ""
                      : fuses(found) ? ", without them, node by node, "
                                     : ", without them ");
    if (some && strcmp(before->metric, "sqnr_db") == 0 && isfinite(before->value) &&
        strcmp(before->output, after->output) == 0)
        ulp_text_add(out, "%.1f dB", ulp_tenths(before->value));
    else
        ulp_search_say_figure(out, before);
}

void ulp_search_say_draws(struct ulp_text *out, const struct ulp_search *found)
{
    for (size_t t = 0; t < found->target_count; t++) {
        const struct ulp_search_target *target = &found->targets[t];
        const char *reason = ulp_judge_find_reason(target->metric);
        ulp_text_add(out, t ? (t + 1 == found->target_count ? " and " : ", ")
                          : found->met || target->held_count == target->draw_count
                              ? ", and holds in "
                              : ", but holds in ");
        ulp_text_show(out, "%zu of %zu%s%s%s", target->held_count, target->draw_count,
                      t ? "" : " draws",
                      found->target_count > 1 || target->fused_before ? " for " : "",
                      found->target_count > 1 || target->fused_before ? target->name : "");
        if (reason)
            ulp_text_show(out, " (in the worst %s %s)", target->output, reason);
        else if (strcmp(target->metric, "sqnr_db") == 0 && target->value == INFINITY)
            ulp_text_add(out, " (each equals its reference)");
        else if (strcmp(target->metric, "sqnr_db") == 0 && target->value == -INFINITY)
            ulp_text_add(out, " (the worst has an error where the reference is 0)");
        else if (strcmp(target->metric, "sqnr_db") == 0)
            ulp_text_add(out, " (worst %.1f dB)", ulp_tenths(target->value));
        else
            ulp_text_show(out, " (worst %s %.4g)", target->metric, target->value);
    }
    if (found->target_count && found->sample_count == 1 && !found->validated_count)
        ulp_text_add(out, "; on other inputs: unknown");
}

/* What stays in the wider format. */
static void add_price(struct ulp_text *out, const struct ulp_search *found)
{
    if (found->kept_count && found->macs > 0 && found->bytes > 0)
        ulp_text_add(out, "; they have %.3g %% of the multiply-adds and %.3g %% of the bytes",
                     100 * found->kept_macs / found->macs, 100 * found->kept_bytes / found->bytes);
}

/* Below so many directions a single run says little. */
#define FREEDOM_LITTLE 10

static void add_fused(struct ulp_text *out, const struct ulp_search *found,
                      const struct ulp_search_target *target)
{
    if (!target->fused_before)
        return;
    ulp_text_show(out,
                  "%s computes %zu of %zu nodes in kernels with others, without the plan %zu%s.\n",
                  target->name, target->fused_count, found->node_count, target->fused_before,
                  target->kept_apart ? ": a kept node is a kernel of its own" : "");
    if (!found->kept_count || !(target->fused_sample.ratio <= 1))
        return;
    ulp_text_show(out, "As %s fuses, nothing needs to be kept in ", target->name);
    ulp_text_add(out, found->sample_count > 1 ? "these samples (at worst " : "this sample (");
    ulp_search_say_figure(out, &target->fused_sample);
    ulp_text_add(out,
                 "): the plan is for other draws, and for where a tensor between is stored.\n");
}

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
        add_fused(out, found, &found->targets[t]);
}

/* Where the search ended: what it found is the best so far. */
static void add_over(struct ulp_text *out, const struct ulp_search *found)
{
    bool some = false; /* all draws that were made hold, but not all were made */
    for (size_t t = 0; t < found->target_count; t++)
        some |= found->targets[t].held_count == found->targets[t].draw_count &&
                found->targets[t].draw_count < ULP_SEARCH_DRAWS;
    ulp_text_add(out, "The time was over before ");
    if (!found->target_count)
        ulp_text_add(out, "any draw");
    else if (some)
        ulp_text_add(out, "all %d draws were made", ULP_SEARCH_DRAWS);
    else
        ulp_text_add(out, "all was tried");
    ulp_text_add(out, ": this is the best so far%s.\n",
                 !found->met && (some || !found->target_count)
                     ? ", and whether it holds where roundings fall otherwise is not known"
                     : "");
}

/* "fp16 then meets sqnr_db=60" */
static void add_meets(struct ulp_text *out, const struct ulp_search *found, const char *then)
{
    ulp_text_show(out, "%s%s %s ", name_of(found, found->narrow), then,
                  found->ratio <= 1 ? "meets" : "does not meet");
    ulp_search_say_tolerances(out, found);
    if (found->ratio <= 1 && !found->met) /* not in draws */
        ulp_text_add(out, " in the samples");
}

/* What meets it with nothing but the nodes that had to be kept? */
static bool keeps_nothing(const struct ulp_search *found)
{
    size_t asked = 0;
    for (size_t k = 0; k < found->kept_count; k++)
        asked += found->kept[k].always;
    return found->before <= 1 && asked == found->kept_count && found->met;
}

/* The one that obeys no file; NULL: all do. */
static const struct ulp_target *find_deaf(const struct ulp_search *found)
{
    for (size_t t = 0; t == 0 || t < found->target_count; t++) {
        const char *name = /* where no draw was made there is one */
            found->target_count ? found->targets[t].name : name_of(found, found->narrow);
        const struct ulp_target *target = ulp_search_target(name);
        if (ulp_judged_deaf(target, name))
            return target;
    }
    return NULL;
}

static void add_kept(struct ulp_text *out, const struct ulp_search *found)
{
    const bool counted =
        strcmp(found->cost, "nodes") == 0 || strcmp(found->cost, "nodes+macs") == 0;
    const struct ulp_target *deaf = find_deaf(found);
    if (deaf)
        ulp_text_show(out, "No file keeps nodes at %s; if ", deaf->name);
    else
        ulp_text_add(out, "Keep ");
    ulp_text_show(out, "%zu of %zu nodes %sin %s%s%s", found->kept_count, found->node_count,
                  deaf ? "were kept " : "", widest(found), counted ? "" : ", least by ",
                  counted ? "" : found->cost);
    ulp_tf32_say(out, found);
    ulp_text_add(out, ": ");
    add_meets(out, found, " then");
}

/* What is to be done with a plan that is met: by its files, where these are obeyed. */
static void say_use(struct ulp_text *out, const struct ulp_search *found)
{
    const struct ulp_target *deaf = find_deaf(found);
    if (found->kept_count && deaf)
        ulp_remedy_add_wider(out, deaf);
    else if (found->kept_count)
        ulp_text_add(out, "run mixed.onnx%s of --out FOLDER",
                     ulp_trt_is_meant(found) ? ", or TensorRT by the files beside it," : "");
    else if (ulp_tf32_is_forbidden(found) && found->tf32_forbidden_by)
        ulp_text_show(out, "forbid TF32: %s", found->tf32_forbidden_by);
    else
        ulp_text_add(out, "nothing");
}

bool ulp_search_fails(const struct ulp_search *found)
{
    return !keeps_nothing(found) && found->full > 1; /* NaN: with all in it, it was not run */
}

void ulp_search_say_none(struct ulp_text *out, const struct ulp_search *found)
{
    ulp_text_add(out, "No plan meets ");
    ulp_search_say_tolerances(out, found);
    ulp_text_show(out,
                  found->kept_count ? ": with every node in %s " : ": no node may be kept in %s",
                  widest(found));
    if (found->kept_count)
        ulp_search_say_full(out, found);
}

static void say_plan(struct ulp_headline *head, struct ulp_text *notes,
                     const struct ulp_search *found)
{
    struct ulp_text *what = &head->what;
    const struct ulp_target *deaf = find_deaf(found);
    const bool nothing = keeps_nothing(found), fails = ulp_search_fails(found);
    if (nothing && found->kept_count) {
        ulp_text_add(what,
                     "Keep the %zu node%s that had to be kept, and no more: ", found->kept_count,
                     plural(found->kept_count));
        add_meets(what, found, " then");
    } else if (nothing) {
        ulp_text_add(what, "Keep nothing");
        ulp_tf32_say(what, found);
        ulp_text_add(what, ": ");
        add_meets(what, found, " as it is");
    } else if (fails) {
        ulp_search_say_none(what, found);
        if (found->kept_count) {
            ulp_text_add(what, " ");
            add_kept(what, found);
        }
    } else {
        add_kept(what, found);
    }
    if (found->kept_count || !fails)
        ulp_search_say_draws(what, found);
    add_figures(&head->why, found);
    if (!nothing)
        add_price(&head->why, found);
    if (!found->met && found->timed_out)
        ulp_text_add(&head->todo, "give it more time (--stop-after)");
    else if (!found->met && deaf && deaf->keeps == ULP_KEEPS_TYPES)
        ulp_text_show(&head->todo,
                      "try the edits that ulpscope fix --for %s has, or ask for less (--tolerance)",
                      deaf->name);
    else if (!found->met)
        ulp_text_show(&head->todo, "ask for less (--tolerance), or keep nodes in more than %s",
                      widest(found));
    else if (found->nearly_kept)
        ulp_text_show(
            &head->todo,
            "leave the model in %s; or keep %zu node%s, which meet%s it in the samples and "
            "in %zu of %zu draws (a lower --confidence takes them)",
            widest(found), found->nearly_kept, plural(found->nearly_kept),
            found->nearly_kept == 1 ? "s" : "", found->nearly_held, found->nearly_drawn);
    else if (found->kept_count && found->mixed.reason)
        ulp_text_show(&head->todo, "take the nodes' names from plan.json: no mixed.onnx, %s",
                      found->mixed.reason);
    else
        say_use(&head->todo, found);
    if (found->grade_text)
        ulp_text_show(notes, "What the outputs are for: %s.\n", found->grade_text);
    if (!nothing && found->minimal && found->kept_count)
        ulp_text_add(notes, "Without any single one of them there is no room for other roundings: "
                            "each was tried.\n");
    if (found->timed_out)
        add_over(notes, found);
    add_spread(notes, found);
    add_casts(notes, found);
}

/* ---- both ---- */

void ulp_search_say_basis(struct ulp_text *out, const struct ulp_search *found)
{
    if (found->refused)
        return;
    const bool any = found->by_node ? found->kept_count : found->met && found->layer_count;
    ulp_text_add(out, "Rests on ");
    if (found->sample_count) /* none where nothing meets the tolerance */
        ulp_text_add(out, "%zu sample%s and ", found->sample_count, plural(found->sample_count));
    ulp_text_add(out, "%zu emulations", found->runs);
    if (found->validated_count && (found->tolerance_count || found->scored))
        ulp_text_add(out, "; %zu of %zu held-out samples meet the tolerance", found->validated_met,
                     found->validated_count);
    for (size_t t = 0; t < found->target_count; t++)
        if (found->targets[t].rests_on)
            ulp_text_show(out, "; in %s on %s (ulpscope list %s)", found->targets[t].name,
                          found->targets[t].rests_on, found->targets[t].name);
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
                      "are judged: with the widest format everywhere %s, with this plan %s.\n",
                      found->decided[d].name, found->decided[d].widest, found->decided[d].found);
    if (found->met && found->validated_met < found->validated_count)
        ulp_text_add(
            out, "The plan fits its samples too closely: give those that fail as --inputs, too.\n");
    else if (any && !found->validated_count && !found->target_count)
        ulp_text_add(out, "Other inputs round otherwise: give several as --inputs, and others as "
                          "--validate.\n");
}

void ulp_search_conclude(struct ulp_headline *head, struct ulp_text *notes,
                         const struct ulp_search *found)
{
    if (found->refused) {
        ulp_text_show(&head->what, "%s", found->refused);
        ulp_text_show(&head->why, "%s", found->refused_why);
        ulp_text_show_whole(&head->todo, found->refused_fix);
    } else if (found->by_node)
        say_plan(head, notes, found);
    else
        ulp_search_say_listed(head, notes, found);
    ulp_headline_drawn(head, found->drawn);
}

void ulp_search_say(struct ulp_headline *head, const void *found, size_t part)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text notes = {0};
    (void)part;
    ulp_search_conclude(head, &notes, found);
    head->what.failed |= notes.failed;
}
