/* Two saved reports: what became better or worse. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/page.h"
#include "analysis/saved/saved.h"
#include "base/error.h"
#include "base/machine/environment.h"

#define FACTOR 1.1
#define NODES_SHOWN 5

enum change { EQUAL, BETTER, WORSE };

struct comparing {
    const struct ulp_saved *before, *after;
    double factor;
    struct ulp_page page;
    struct ulp_saved_changes *changes;
};

/* Larger is worse; NaN: not known. */
static enum change compare_figures(double before, double after, double factor)
{
    if (isnan(before) || isnan(after))
        return isnan(before) == isnan(after) ? EQUAL : isnan(after) ? WORSE : BETTER;
    return after > before * factor ? WORSE : before > after * factor ? BETTER : EQUAL;
}

/* Diverging is worse than values that are not finite, and these than any error. */
static enum change compare_outputs(const json_t *before, const json_t *after, double factor)
{
    const json_t *old = json_object_get(before, "entire"), *now = json_object_get(after, "entire");
    const bool diverged = ulp_saved_true(old, "diverged");
    if (diverged != ulp_saved_true(now, "diverged"))
        return diverged ? BETTER : WORSE;
    if (diverged)
        return EQUAL;
    const enum change nonfinite =
        compare_figures(ulp_saved_number(old, "nonfinite"), ulp_saved_number(now, "nonfinite"), 1);
    return nonfinite != EQUAL ? nonfinite
                              : compare_figures(ulp_saved_number(old, "rms"),
                                                ulp_saved_number(now, "rms"), factor);
}

/* The member of a list with that name: at the same place, as in two reports of one model, or
 * anywhere. */
static const json_t *find(const json_t *list, size_t place, const char *name)
{
    const json_t *item = json_array_get(list, place);
    size_t i;
    if (item && strcmp(ulp_saved_text(item, "name"), name) == 0)
        return item;
    json_array_foreach(list, i,
                       item) if (strcmp(ulp_saved_text(item, "name"), name) == 0) return item;
    return NULL;
}

/* "38.1 dB", "equal", "3 not finite", "diverged" */
static const char *say_error(char text[32], const json_t *output)
{
    const json_t *entire = json_object_get(output, "entire");
    const double nonfinite = ulp_saved_number(entire, "nonfinite");
    if (ulp_saved_true(entire, "diverged"))
        snprintf(text, 32, "diverged");
    else if (nonfinite > 0)
        snprintf(text, 32, "%.0f not finite", nonfinite);
    else if (ulp_saved_true(entire, "exact"))
        snprintf(text, 32, "equal");
    else if (isfinite(ulp_saved_number(entire, "sqnr_db")))
        snprintf(text, 32, "%.1f dB", ulp_saved_number(entire, "sqnr_db"));
    else
        snprintf(text, 32, "%.2g rms", ulp_saved_number(entire, "rms"));
    return text;
}

static void count(struct ulp_saved_changes *changes, enum change change)
{
    changes->worse += change == WORSE;
    changes->better += change == BETTER;
    changes->equal += change == EQUAL;
}

/* A line for each output, and how they changed. */
static struct ulp_saved_changes add_outputs(struct comparing *c, struct ulp_text *out,
                                            const json_t *before, const json_t *after)
{
    static const char *const words[] = {"", "better", "WORSE"};
    const json_t *old = json_object_get(before, "outputs"),
                 *now = json_object_get(after, "outputs"), *output;
    struct ulp_saved_changes changes = {0};
    const struct ulp_page page = {out,         c->page.width,  c->page.bold,
                                  c->page.red, c->page.yellow, c->page.dim,
                                  c->page.off};
    char was[32], is[32];
    size_t o;
    ulp_text_add(out, "  %s%16s%16s%10s  %-7soutput%s\n", page.dim, "before", "after", "error x",
                 "", page.off);
    json_array_foreach(old, o, output)
    {
        const json_t *other = find(now, o, ulp_saved_text(output, "name"));
        const enum change change = other ? compare_outputs(output, other, c->factor) : WORSE;
        const double ratio = ulp_saved_number(json_object_get(other, "entire"), "rms") /
                             ulp_saved_number(json_object_get(output, "entire"), "rms");
        count(&changes, change);
        ulp_text_add(out, "  %s%16s%16s", change == WORSE ? page.red : "", say_error(was, output),
                     other ? say_error(is, other) : "not there");
        if (isfinite(ratio))
            ulp_text_add(out, "%10.2f", ratio);
        else
            ulp_text_add(out, "%10s", "");
        ulp_text_add(out, "  %-7s", words[change]);
        ulp_page_name(&page, ulp_saved_text(output, "name"), 53);
        ulp_text_add(out, "%s\n", change == WORSE ? page.off : "");
    }
    json_array_foreach(now, o, output) if (!find(old, o, ulp_saved_text(output, "name")))
    {
        count(&changes, WORSE);
        ulp_text_show(out, "  only in the second report: output %s\n",
                      ulp_saved_text(output, "name"));
    }
    return changes;
}

/* ---- nodes ---- */

struct changed_node {
    const json_t *node;
    double before, after; /* introduced, over the reference's rms */
};

static int by_growth(const void *x, const void *y)
{
    const struct changed_node *a = x, *b = y;
    const double grown = (b->after - b->before) - (a->after - a->before);
    return (grown > 0) - (grown < 0);
}

struct named_node {
    const char *name;
    const json_t *node;
};

static int by_name(const void *x, const void *y)
{
    return strcmp(((const struct named_node *)x)->name, ((const struct named_node *)y)->name);
}

/* The nodes that introduce more than before, most first, and those that newly make Inf or NaN. */
static void add_nodes(struct comparing *c, const json_t *before, const json_t *after)
{
    struct ulp_text *out = c->page.out;
    const json_t *old = json_object_get(before, "nodes"), *now = json_object_get(after, "nodes"),
                 *node;
    const size_t old_count = json_array_size(old), now_count = json_array_size(now);
    struct named_node *named = calloc(old_count + 1, sizeof *named);
    struct changed_node *changed = calloc(now_count + 1, sizeof *changed);
    size_t n, changed_count = 0, unpaired = 0, born = 0;
    if (!named || !changed)
        out->failed = true;
    json_array_foreach(named && changed ? old : NULL, n, node) named[n] =
        (struct named_node){ulp_saved_text(node, "name"), node};
    if (named)
        qsort(named, old_count, sizeof *named, by_name);
    json_array_foreach(named && changed ? now : NULL, n, node)
    {
        const struct named_node wanted = {ulp_saved_text(node, "name"), NULL},
                                *paired =
                                    bsearch(&wanted, named, old_count, sizeof *named, by_name);
        if (!paired) {
            unpaired++;
            continue;
        }
        if (ulp_saved_true(node, "nonfinite_born") &&
            !ulp_saved_true(paired->node, "nonfinite_born") && born++ < NODES_SHOWN)
            ulp_text_show(out, "  newly makes Inf or NaN: node %.0f %s (%s)\n",
                          ulp_saved_number(node, "index"), wanted.name, ulp_saved_text(node, "op"));
        const struct changed_node both = {node, ulp_saved_worst(paired->node, "introduced"),
                                          ulp_saved_worst(node, "introduced")};
        if (compare_figures(both.before, both.after, c->factor) == WORSE && !isnan(both.after))
            changed[changed_count++] = both;
    }
    if (changed_count)
        qsort(changed, changed_count, sizeof *changed, by_growth);
    for (size_t i = 0; i < changed_count && i < NODES_SHOWN; i++)
        ulp_text_show(out, "  introduces more: %.2e -> %.2e of its rms, node %.0f %s (%s)\n",
                      changed[i].before, changed[i].after,
                      ulp_saved_number(changed[i].node, "index"),
                      ulp_saved_text(changed[i].node, "name"),
                      ulp_saved_text(changed[i].node, "op"));
    if (changed_count > NODES_SHOWN)
        ulp_text_add(out, "  ... and %zu more nodes that introduce more\n",
                     changed_count - NODES_SHOWN);
    if (unpaired)
        ulp_text_add(out, "  %zu nodes of the second report have no name in the first\n", unpaired);
    free(named);
    free(changed);
}

/* ---- arithmetics ---- */

static void add_lane(struct comparing *c, const json_t *before, const json_t *after)
{
    struct ulp_text table = {0};
    struct ulp_text *out = c->page.out;
    const char *name = ulp_saved_text(after, "name"), *old = ulp_saved_text(before, "name");
    const struct ulp_saved_changes changes = add_outputs(c, &table, before, after);
    const size_t all = changes.worse + changes.better + changes.equal;
    const bool same = strcmp(name, old) == 0;
    ulp_text_show(out, "%s%s%s%s%s: ", c->page.bold, same ? "" : old, same ? "" : " -> ", name,
                  c->page.off);
    if (changes.worse)
        ulp_text_add(out, "%sworse%s at %zu of %zu outputs%s\n", c->page.red, c->page.off,
                     changes.worse, all, changes.better ? ", better at others" : "");
    else if (changes.better)
        ulp_text_add(out, "better at %zu of %zu outputs, worse at none\n", changes.better, all);
    else
        ulp_text_add(out, "no change at %zu outputs\n", all);
    ulp_text_put(out, table.data ? table.data : "", table.length);
    out->failed |= table.failed;
    ulp_text_free(&table);
    add_nodes(c, before, after);
    c->changes->worse += changes.worse;
    c->changes->better += changes.better;
    c->changes->equal += changes.equal;
}

static void add_alone(struct comparing *c, const struct ulp_saved *in,
                      const struct ulp_saved *other, const char *where)
{
    const json_t *lane;
    size_t l;
    json_array_foreach(in->arithmetics, l,
                       lane) if (!ulp_saved_arithmetic(other, ulp_saved_text(lane, "name")))
    {
        c->changes->worse += json_array_size(json_object_get(lane, "outputs"));
        ulp_text_show(c->page.out, "%s%s%s: only in the %s report, nothing to compare\n",
                      c->page.bold, ulp_saved_text(lane, "name"), c->page.off, where);
    }
}

enum ulp_status ulp_saved_compare(const struct ulp_saved *before, const struct ulp_saved *after,
                                  double factor, int width, bool colour,
                                  struct ulp_saved_changes *changes, char **out,
                                  struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_text text = {0};
    struct comparing c = {before, after, factor > 0 ? factor : FACTOR,
                          ulp_page_make(&text, width, colour), changes};
    const bool single =
        json_array_size(before->arithmetics) == 1 && json_array_size(after->arithmetics) == 1;
    const json_t *lane;
    size_t l;
    *changes = (struct ulp_saved_changes){0};
    if (single) {
        add_lane(&c, json_array_get(before->arithmetics, 0), json_array_get(after->arithmetics, 0));
    } else {
        json_array_foreach(after->arithmetics, l, lane)
        {
            const json_t *old = ulp_saved_arithmetic(before, ulp_saved_text(lane, "name"));
            if (old)
                add_lane(&c, old, lane);
        }
        add_alone(&c, before, after, "first");
        add_alone(&c, after, before, "second");
    }
    return ulp_saved_give(&text, out, error);
}
