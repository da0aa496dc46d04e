/* The forecast as JSON and on the terminal: a verdict on each arithmetic, then the nodes it is
 * about. */
#include <float.h>
#include <math.h>
#include <string.h>

#include <ulpscope/overflow.h>

#include "analysis/audit/audit_json.h"
#include "analysis/html/said.h"
#include "analysis/measure/judge.h"
#include "analysis/measure/judged.h"
#include "analysis/report/report.h"
#include "analysis/overflow/meter.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "base/machine/environment.h"

enum { NAMED = 3 };

/* The output that is worst, of those the one nearest to the format's largest. */
static const struct ulp_overflow_output *find_worst(const struct ulp_overflow_node *node)
{
    const struct ulp_overflow_output *worst = NULL;
    for (size_t o = 0; o < node->output_count; o++) {
        const struct ulp_overflow_output *output = &node->outputs[o];
        if (!worst || ulp_overflow_is_worse(output->verdict, worst->verdict) ||
            (output->verdict == worst->verdict && output->headroom_bits < worst->headroom_bits))
            worst = output;
    }
    return worst;
}

static const struct ulp_overflow_node *find_nearest_overflow(const struct ulp_overflow_lane *lane)
{
    const struct ulp_overflow_node *nearest = NULL;
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_overflow_output *output = find_worst(&lane->nodes[n]);
        if (output && (!nearest || output->headroom_bits < find_worst(nearest)->headroom_bits))
            nearest = &lane->nodes[n];
    }
    return nearest;
}

/* ---- the verdict ---- */

static struct ulp_hint_node get_node(const void *lane, size_t n)
{
    const struct ulp_overflow_node *node = &((const struct ulp_overflow_lane *)lane)->nodes[n];
    return (struct ulp_hint_node){node->name, node->index, node->keep};
}

/* Does all that begins there come from a divisor, or the like, that has become zero? */
static bool is_by_zero(const struct ulp_overflow_node *node)
{
    bool zero = false, other = false;
    for (size_t o = 0; o < node->output_count; o++) {
        zero |= node->outputs[o].overflowed > 0 && node->outputs[o].cause == ULP_OVERFLOW_ZERO;
        other |= node->outputs[o].overflowed > 0 && node->outputs[o].cause != ULP_OVERFLOW_ZERO;
    }
    return zero && !other;
}

/* "overflows at 3 of 40 nodes": where overflows begin that do harm, or where any does if none does
 * harm. It is the count of the verdict and of the table. */
static size_t add_count(struct ulp_text *text, const struct ulp_overflow_lane *lane)
{
    bool zeros = true;
    for (size_t n = 0; n < lane->node_count; n++)
        zeros &= !lane->nodes[n].born || is_by_zero(&lane->nodes[n]);
    const bool harmful = lane->harmful_count > 0;
    const size_t count = harmful ? lane->harmful_count : lane->born_count;
    ulp_text_add(text, "%s at %zu of %zu nodes%s", zeros ? "is not finite" : "overflows", count,
                 lane->node_count, harmful ? "" : ", without harm");
    return count;
}

/* The first of those that are counted. */
static const struct ulp_overflow_node *find_first(const struct ulp_overflow_lane *lane)
{
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_overflow_node *node = &lane->nodes[n];
        if (node->born && (!lane->harmful_count || node->effect == ULP_OVERFLOW_POISONS ||
                           node->effect == ULP_OVERFLOW_SPOILS))
            return node;
    }
    return NULL;
}

/* "overflows at 3 of 40 nodes: NAME (OP) and 2 more" */
static void add_born(const struct ulp_page *page, const struct ulp_overflow_lane *lane)
{
    const struct ulp_overflow_node *first = find_first(lane);
    const size_t count = add_count(page->out, lane);
    ulp_text_add(page->out, ": ");
    if (first) {
        ulp_page_name(page, first->name, 60 + (int)strlen(first->op));
        ulp_text_add(page->out, " (%s)", first->op);
    }
    if (count > 1)
        ulp_text_add(page->out, " and %zu more", count - 1);
}

/* Remedies whose outputs are this near are equally good: the first of them. */
#define AS_GOOD_DB 0.5

/* Does it help: fewer values that are not finite, or none before and a better output? */
static bool is_better(const struct ulp_overflow_remedy *remedy,
                      const struct ulp_overflow_remedy *than)
{
    return remedy->nonfinite != than->nonfinite ? remedy->nonfinite < than->nonfinite
           : remedy->turned != than->turned
               ? remedy->turned < than->turned
               : !than->nonfinite &&
                     (remedy->sqnr_db > than->sqnr_db + AS_GOOD_DB || isnan(than->sqnr_db));
}

static void add_nonfinite(struct ulp_text *out, size_t count)
{
    ulp_text_add(out, "%zu element%s not finite", count, count == 1 ? " is" : "s are");
}

/* The remedy with the best outputs; the first, that nothing is done, where none helps. */
static const struct ulp_overflow_remedy *find_best(const struct ulp_overflow_lane *lane)
{
    const struct ulp_overflow_remedy *best = lane->remedies;
    for (size_t r = 1; r < lane->remedy_count; r++)
        if (is_better(&lane->remedies[r], best))
            best = &lane->remedies[r];
    return best;
}

/* "; keep 2 nodes in FP32: output y is at 63.4 dB, and without it at 2.2 dB" */
static void add_best_remedy(struct ulp_text *out, const struct ulp_overflow_lane *lane)
{
    const struct ulp_overflow_remedy *as_it_is = lane->remedies, *best = find_best(lane);
    if (lane->remedy_count < 2)
        return;
    if (best == as_it_is) {
        ulp_text_add(out, "; nothing that was tried helps");
        return;
    }
    ulp_text_show(out, "; %s: ", best->what);
    if (best->turned < as_it_is->turned) {
        ulp_text_add(out, "%zu integers of the outputs turn, and without it %zu", best->turned,
                     as_it_is->turned);
        return;
    }
    if (!best->output || isnan(best->sqnr_db)) {
        ulp_text_add(out, "no output can be compared");
    } else {
        ulp_text_add(out, "output ");
        ulp_judged_say_sqnr(out, best->output, best->sqnr_db);
    }
    if (best->nonfinite) {
        ulp_text_add(out, ", ");
        add_nonfinite(out, best->nonfinite);
    }
    ulp_text_add(out, ", and without it ");
    if (as_it_is->nonfinite)
        add_nonfinite(out, as_it_is->nonfinite);
    else if (isnan(as_it_is->sqnr_db))
        ulp_text_add(out, "nothing can be compared");
    else if (isinf(as_it_is->sqnr_db))
        ulp_judged_say_sqnr(out, "it", as_it_is->sqnr_db);
    else
        ulp_text_add(out, "at %.1f dB", ulp_tenths(as_it_is->sqnr_db));
}

/* May the nodes be kept to some good, as far as that was tried? */
static bool keeping_helps(const struct ulp_overflow_lane *lane)
{
    bool helps = lane->remedy_count < 2;
    for (size_t r = 1; r < lane->remedy_count; r++)
        helps |= lane->remedies[r].node_count && is_better(&lane->remedies[r], lane->remedies);
    return helps;
}

static size_t count_masked(const struct ulp_overflow_lane *lane)
{
    size_t count = 0;
    for (size_t n = 0; n < lane->node_count; n++) {
        bool masked = false;
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            masked |= lane->nodes[n].outputs[o].masked;
        count += masked;
    }
    return count;
}

/* What there is to look at: nothing where every result is empty. */
static void find_values(const struct ulp_overflow_lane *lane, bool *elements, bool *finite)
{
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++) {
            *elements |= lane->nodes[n].outputs[o].count > 0;
            *finite |= lane->nodes[n].outputs[o].finite;
        }
}

/* "its values reach 1.21e+05, and the largest fp16 is 65504" */
static void add_reach(struct ulp_text *out, const struct ulp_overflow_lane *lane)
{
    const struct ulp_overflow_node *first = find_first(lane);
    const struct ulp_overflow_output *worst = first ? find_worst(first) : NULL;
    if (worst && worst->decides)
        ulp_text_show(out, "%s reaches %s, the largest %s is %.6g, and %.0f of its results turn",
                      worst->culprit, ULP_REACH(worst->largest), worst->format.name,
                      worst->format.max_finite, worst->overflowed);
    else if (worst && worst->largest > worst->format.max_finite)
        ulp_text_add(out, "its values reach %s, and the largest %s is %.6g",
                     ULP_REACH(worst->largest), worst->format.name, worst->format.max_finite);
    else if (worst)
        ulp_overflow_say_cause(out, worst->cause, worst->culprit);
}

static void add_todo(struct ulp_text *out, const struct ulp_overflow_forecast *forecast,
                     const struct ulp_overflow_lane *lane)
{
    const struct ulp_overflow_node *first = find_first(lane);
    const struct ulp_hint_nodes nodes = {lane, lane->node_count, lane->keep_count, get_node};
    if (!lane->harmful_count)
        ulp_text_add(out, "nothing");
    else if (lane->keep_count && keeping_helps(lane)) {
        ulp_command_add(out, "audit", forecast->arguments);
        ulp_overflow_add_lane(out, lane);
        ulp_hint_keeps(out, &nodes);
    } else if (lane->remedy_count > 1 && find_best(lane) != lane->remedies)
        ulp_text_show(out, "%s", find_best(lane)->what);
    else if (first && find_worst(first)->largest > FLT_MAX)
        ulp_text_add(out, ULP_BEYOND_FP32);
    else {
        ulp_command_add(out, strstr(lane->name, ",keep=") ? "audit" : "doctor",
                        forecast->arguments);
        ulp_overflow_add_lane(out, lane);
        ulp_text_add(out, " # looks for the cause");
    }
}

/* What is said before anything of the format: that inputs or the reference are not finite. NULL:
 * they are. */
static const struct ulp_unjudged *find_unjudged(const struct ulp_unjudged_list *list)
{
    for (size_t u = 0; u < list->count; u++)
        if (list->items[u].is_input || list->items[u].because)
            return &list->items[u];
    return NULL;
}

static void add_unjudged_headline(struct ulp_headline *head,
                                  const struct ulp_overflow_forecast *forecast,
                                  const struct ulp_overflow_lane *lane,
                                  const struct ulp_unjudged *first)
{
    const bool lost = ulp_unjudged_is_lost(first);
    ulp_text_add(&head->what, "not judged: ");
    if (first->because)
        ulp_text_show(&head->what, "%s", first->because);
    else
        ulp_unjudged_say(&head->what, first);
    ulp_text_add(&head->why,
                 lost ? "behind a term that is lost a value may be of any size"
                      : "what is not finite in the reference says nothing of the format");
    if (lost) {
        ulp_command_add(&head->todo, "overflow", forecast->arguments);
        ulp_option_add(&head->todo, " --format", lane->name);
        ulp_judge_wider(&head->todo, forecast->reference);
    } else {
        ulp_text_add(&head->todo, first->is_input
                                      ? "give inputs that are finite"
                                      : "give inputs with which every output can be judged");
    }
}

void ulp_overflow_headline(const struct ulp_overflow_forecast *forecast,
                           const struct ulp_overflow_lane *lane, struct ulp_headline *head)
{
    const struct ulp_overflow_node *nearest = find_nearest_overflow(lane);
    const char *s = lane->node_count == 1 ? "" : "s";
    const struct ulp_page what = ulp_page_make(&head->what, 0, false);
    bool elements = false, finite = false;
    find_values(lane, &elements, &finite);
    ulp_text_show(&head->what, "%s: ", lane->name);
    const struct ulp_unjudged *first = find_unjudged(&forecast->unjudged);
    if (first && (first->is_input || !lane->harmful_count)) {
        add_unjudged_headline(head, forecast, lane, first);
        ulp_headline_drawn(head, forecast->drawn);
        return;
    }
    if (lane->born_count) {
        add_born(&what, lane);
        add_reach(&head->why, lane);
        add_best_remedy(&head->why, lane);
    } else if (nearest && !elements) {
        ulp_text_add(&head->what, "not judged: no result has an element");
        ulp_text_add(&head->todo, "give inputs with which a result has one");
        ulp_headline_drawn(head, forecast->drawn);
        return;
    } else if (nearest) {
        ulp_text_add(&head->what, "nothing overflows at %zu node%s", lane->node_count, s);
        if (!isinf(find_worst(nearest)->headroom_bits))
            ulp_text_show(&head->why, "%s (%s) is nearest, %.1f bits below the largest number",
                          nearest->name, nearest->op,
                          ulp_overflow_bits(find_worst(nearest)->headroom_bits));
        else
            ulp_text_add(&head->why, finite ? "all values are zero%s" : "no value is finite",
                         count_masked(lane) ? " or masks" : "");
    } else {
        ulp_text_add(&head->what, "no float is computed");
    }
    ulp_headline_drawn(head, forecast->drawn);
    add_todo(&head->todo, forecast, lane);
}

/* ---- what is said beside it ---- */

/* Additions whose smaller term is lost, were they rounded to the format of the outputs. */
static void add_absorbed(json_t **notes, const struct ulp_overflow_lane *lane)
{
    const struct ulp_overflow_node *most = NULL;
    double additions = 0, absorbed = 0;
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_overflow_node *node = &lane->nodes[n];
        additions += node->additions;
        absorbed += node->absorbed;
        if (node->absorbed > 0 && (!most || node->absorbed > most->absorbed))
            most = node;
    }
    if (most)
        ulp_note_add(notes, "",
                     "of additions rounded to %s %.1f %% lose their smaller term, most in node %zu "
                     "%s (%s), %.1f %%",
                     lane->arithmetic.storage.name, 100 * absorbed / additions, most->index,
                     most->name, most->op, 100 * most->absorbed / most->additions);
}

/* How many overflow besides, and how many come near. */
static void add_counts(json_t **notes, const struct ulp_overflow_lane *lane)
{
    const size_t overflow = lane->counts[ULP_OVERFLOW_HAPPENS], born = lane->born_count,
                 rest = lane->harmful_count ? born - lane->harmful_count : 0;
    struct ulp_text text = {0};
    if (rest)
        ulp_text_add(&text, "at %zu more without harm, ", rest);
    if (born && overflow > born)
        ulp_text_add(&text, "%zu more only hand%s on, ", overflow - born,
                     overflow - born == 1 ? "s it" : " them");
    ulp_text_add(&text, "%zu within 1 bit, %zu within 3 bits", lane->counts[ULP_OVERFLOW_1_BIT],
                 lane->counts[ULP_OVERFLOW_3_BITS]);
    if (lane->counts[ULP_OVERFLOW_UNKNOWN])
        ulp_text_add(&text, ", %zu of which nothing can be told",
                     lane->counts[ULP_OVERFLOW_UNKNOWN]);
    ulp_note_text(notes, "", &text);
}

static json_t *make_lane_notes(const struct ulp_overflow_lane *lane)
{
    json_t *notes = json_array();
    const size_t masked = count_masked(lane), inside = lane->narrow_counts[ULP_OVERFLOW_HAPPENS];
    add_counts(&notes, lane);
    if (inside && !ulp_overflow_computes_narrow(&lane->arithmetic))
        ulp_note_add(&notes, "",
                     "in kernels that compute or accumulate in %s, values inside %zu node%s "
                     "overflow",
                     lane->arithmetic.storage.name, inside, inside == 1 ? "" : "s");
    if (masked)
        ulp_note_add(&notes, "",
                     "masks, beyond %s and made finite by it, are left out at %zu node%s",
                     lane->arithmetic.storage.name, masked, masked == 1 ? "" : "s");
    add_absorbed(&notes, lane);
    return notes;
}

/* What the verdicts say nothing of. */
static json_t *make_notes(const void *result)
{
    const struct ulp_overflow_forecast *forecast = result;
    json_t *notes = json_array();
    for (size_t u = 0; u < forecast->unjudged.count && u < NAMED; u++) {
        struct ulp_text text = {0};
        ulp_text_add(&text, "cannot be judged: ");
        ulp_unjudged_say(&text, &forecast->unjudged.items[u]);
        ulp_note_text(&notes, "", &text);
    }
    if (forecast->unjudged.count > NAMED)
        ulp_note_add(&notes, "", "and %zu more cannot (overflow.json has them)",
                     forecast->unjudged.count - NAMED);
    if (forecast->beyond_reference)
        ulp_note_add(&notes, "",
                     "cannot be judged: node %s is beyond the reference %s (infinite of finite "
                     "numbers, or a term is lost in it): --reference pair says its value",
                     forecast->beyond_reference, forecast->reference);
    return notes;
}

/* ---- overflow.json: its schema is in doc/fields.md ---- */

/* A node of the program, of which a lane has those that were computed. */
static const char *name_node(const void *context, size_t index)
{
    const struct ulp_overflow_forecast *forecast = context;
    for (size_t l = 0; l < forecast->lane_count; l++)
        for (size_t n = 0; n < forecast->lanes[l].node_count; n++)
            if (forecast->lanes[l].nodes[n].index == index)
                return forecast->lanes[l].nodes[n].name;
    return "";
}

static json_t *make_tiles(const struct ulp_overflow_lane *lane)
{
    const struct ulp_overflow_node *least = NULL;
    const struct ulp_overflow_remedy *remedies = lane->remedies;
    double bits = INFINITY;
    json_t *tiles = json_array();
    ulp_tile_add(&tiles,
                 lane->harmful_count ? ULP_TILE_BAD
                 : lane->born_count  ? ULP_TILE_WARN
                                     : ULP_TILE_GOOD,
                 "Nodes that overflow", "%zu", lane->born_count);
    if (lane->harmful_count)
        ulp_tile_note(&tiles, -1, "%zu make%s results wrong", lane->harmful_count,
                      lane->harmful_count == 1 ? "s" : "");
    else
        ulp_tile_note(&tiles, -1, "none makes a result wrong");
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            if (lane->nodes[n].outputs[o].headroom_bits < bits) {
                least = &lane->nodes[n];
                bits = least->outputs[o].headroom_bits;
            }
    if (least)
        ulp_tile_headroom(&tiles, bits, (ptrdiff_t)least->index, least->name);
    if (lane->remedy_count > 1 && isfinite(remedies[1].sqnr_db)) {
        ulp_tile_decibels(&tiles, ULP_TILE_PLAIN,
                          remedies[0].nonfinite ? (double)NAN : remedies[0].sqnr_db,
                          remedies[1].sqnr_db);
        ulp_tile_note(&tiles, -1, "%s: %s", remedies[1].what,
                      remedies[1].output ? remedies[1].output : "");
    }
    if (lane->keep_count) {
        ulp_tile_kept(&tiles, lane->keep_count, lane->node_count, 0, 0);
        ulp_tile_note(&tiles, -1, "enough for the range");
    }
    return tiles;
}

static void add_tiles(struct ulp_json_writer *writer, const void *lane, const void *context)
{
    struct ulp_headline headline = {0};
    ulp_overflow_headline(context, lane, &headline);
    ulp_tiles_put(writer, &headline, make_tiles(lane));
    ulp_json_put(writer, "notes", make_lane_notes(lane));
}

/* What the table calls it: a result that is not finite by a 0 has not overflowed. */
static void add_said(struct ulp_json_writer *writer, const void *of, const void *context)
{
    const struct ulp_overflow_output *output = of;
    const bool by_zero = output->overflowed > 0 && output->cause == ULP_OVERFLOW_ZERO;
    (void)context;
    ulp_json_put(writer, "said",
                 ulp_json_text(by_zero ? "not finite"
                                       : ulp_overflow_verdict_name(output->verdict)));
}

static void conclude(struct ulp_headline *head, const void *result, size_t part)
{
    const struct ulp_overflow_forecast *forecast = result;
    ulp_overflow_headline(forecast, &forecast->lanes[part], head);
}

static size_t count_lanes(const void *result)
{
    return ((const struct ulp_overflow_forecast *)result)->lane_count;
}

static const struct ulp_json_hook hooks[] = {{&ulp_struct_overflow_lane, add_tiles, NULL},
                                             {&ulp_struct_overflow_output, add_said, NULL},
                                             {&ulp_struct_unjudged_list, NULL,
                                              ulp_json_put_unjudged}};
const struct ulp_said ulp_overflow_said = {"overflow",
                                           &ulp_struct_overflow_forecast,
                                           .conclude = conclude,
                                           .parts = count_lanes,
                                           .notes = make_notes,
                                           .hooks = hooks,
                                           .hook_count = sizeof hooks / sizeof *hooks,
                                           .node = name_node};
ULP_SAID_TEXT(overflow, ulp_overflow_forecast, ulp_overflow_said, ULP_DOCUMENT_ROWS)
ULP_SAID_WRITE(overflow, ulp_overflow_forecast, ulp_overflow_said)
