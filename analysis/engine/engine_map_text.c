/* An engine in words: the verdict, what was wished, what ran, what became of the nodes. */
#include <string.h>

#include "analysis/engine/words.h"
#include "analysis/writing/columns.h"
#include "base/machine/environment.h"
#include "base/memory/alloc.h"
#include "run/program/program.h"

static void add_more(const struct ulp_page *page, size_t listed, size_t shown)
{
    if (shown && listed > shown)
        ulp_text_add(page->out, "  ... and %zu more (--show 0 lists all)\n", listed - shown);
}

/* May one more line be shown? */
static bool take_line(size_t *listed, size_t shown)
{
    return ++*listed <= shown || shown == 0;
}

/* ---- the head ---- */

static void say_read(struct ulp_text *out, const struct ulp_engine_map *built)
{
    const struct ulp_engine *engine = built->engine;
    size_t helpers = 0;
    for (size_t l = 0; l < built->layer_count; l++)
        helpers += built->layers[l].helper;
    ulp_text_show_whole(out, engine->path);
    ulp_text_add(out, ": %zu layers, %zu of them the runtime's own", built->layer_count, helpers);
    if (*engine->version)
        ulp_text_show(out, "; %s", engine->version);
    if (*engine->precisions)
        ulp_text_show(out, "; allowed: %s", engine->precisions);
    if (engine->profile_count > 1)
        ulp_text_add(out, "; the first of %zu profiles", engine->profile_count);
    ulp_text_add(out, "; emulated on: %s", *built->gpu ? built->gpu : "a CPU");
    if (built->numbered)
        ulp_text_add(out, "; its names are operator and index: nodes were numbered");
}

void ulp_engine_headline(const struct ulp_engine_map *built, const struct ulp_wishes *wishes,
                         struct ulp_headline *head)
{
    const bool wished = wishes && wishes->count,
               disobeyed = wished && wishes->counts[ULP_WISH_OBEYED] < wishes->count;
    const char *arguments = built->program->model->arguments;
    if (wished)
        ulp_wishes_say(&head->what, wishes);
    ulp_engine_verdict(built, &head->what);
    say_read(&head->why, built);
    ulp_text_add(&head->todo, "ulpscope audit");
    ulp_word_add(&head->todo, built->model_path);
    ulp_text_add(&head->todo, " --engine");
    ulp_word_add(&head->todo, built->engine->path);
    ulp_text_add(&head->todo, "%s # %s", arguments ? arguments : "",
                 disobeyed ? "what runs instead, and what that costs at the outputs"
                           : "what that costs at the outputs");
}

/* ---- wishes ---- */

bool ulp_wishes_say(struct ulp_text *out, const struct ulp_wishes *wishes)
{
    const size_t *counts = wishes->counts;
    const bool well = counts[ULP_WISH_OBEYED] == wishes->count;
    if (well)
        ulp_text_add(out, "All %zu constraints were obeyed", wishes->count);
    else
        ulp_text_add(out, "%zu of %zu constraints were obeyed", counts[ULP_WISH_OBEYED],
                     wishes->count);
    for (int v = ULP_WISH_PARTLY; v <= ULP_WISH_UNKNOWABLE; v++)
        if (counts[v])
            ulp_text_add(out, ", %zu %s", counts[v],
                         v == ULP_WISH_NO_MATCH
                             ? counts[v] == 1 ? "matches nothing" : "match nothing"
                             : ulp_wish_verdict_name((enum ulp_wish_verdict)v));
    ulp_text_add(out, ". ");
    return well;
}

static void add_wish(const struct ulp_page *page, const struct ulp_engine_map *built,
                     const struct ulp_wish *wish)
{
    ulp_text_show(page->out, "  %s:%s: %s", wish->pattern, wish->type,
                  ulp_wish_verdict_name(wish->verdict));
    if (wish->verdict == ULP_WISH_OBEYED && *wish->ran && strcmp(wish->ran, wish->type) != 0)
        ulp_text_add(page->out, " (as %s)", wish->ran);
    if (wish->node >= 0) {
        ulp_text_show(page->out, ": %s ran in %s",
                      ulp_program_node_name(built->program, (size_t)wish->node), wish->ran);
        ulp_text_show(page->out, ", in layer %s", built->layers[wish->layer].layer->name);
        if (wish->disobeyed > 1)
            ulp_text_add(page->out, "; so did %zu more", wish->disobeyed - 1);
    }
    if (wish->unknown && wish->verdict != ULP_WISH_OBEYED)
        ulp_text_add(page->out, "; of %zu node%s nothing is told", wish->unknown,
                     wish->unknown == 1 ? "" : "s");
    if (*wish->hint)
        ulp_text_show(page->out, ": %s", wish->hint);
    ulp_text_add(page->out, "\n");
}

static void add_wishes(const struct ulp_page *page, const struct ulp_engine_map *built,
                       const struct ulp_wishes *wishes, size_t shown)
{
    static const enum ulp_wish_verdict order[] = {ULP_WISH_DISOBEYED, ULP_WISH_PARTLY,
                                                  ULP_WISH_NO_MATCH, ULP_WISH_UNKNOWABLE,
                                                  ULP_WISH_OBEYED};
    size_t listed = 0, disobeyed = 0, quantised = 0;
    ulp_text_add(page->out, "\n%sconstraints%s\n", page->bold, page->off);
    for (size_t v = 0; v < sizeof order / sizeof *order; v++)
        for (size_t w = 0; w < wishes->count; w++)
            if (wishes->items[w].verdict == order[v] && take_line(&listed, shown))
                add_wish(page, built, &wishes->items[w]);
    add_more(page, listed, shown);
    for (size_t w = 0; w < wishes->count; w++)
        if (wishes->items[w].disobeyed)
            ++*(strcmp(wishes->items[w].ran, "int8") == 0 ? &quantised : &disobeyed);
    if (quantised)
        ulp_text_add(page->out,
                     "  nodes between Q/DQ run in INT8: take QuantizeLinear and "
                     "DequantizeLinear away, of the values that\n  they read and of their "
                     "weights, where another type is wanted\n");
    if (disobeyed)
        ulp_text_add(
            page->out,
            "  trtexec takes constraints for hints without --precisionConstraints=obey, "
            "and a node needs both\n  --layerPrecisions and --layerOutputTypes; or put the "
            "types into the graph (ulpscope plan writes it)\n");
}

/* ---- what ran ---- */

/* Is there an earlier product of the same description? */
static bool is_repeated(const struct ulp_engine_map *built, size_t l)
{
    const struct ulp_engine_map_layer *a = &built->layers[l];
    for (size_t k = 0; k < l; k++) {
        const struct ulp_engine_map_layer *b = &built->layers[k];
        if (b->product && a->input == b->input && a->weights == b->weights &&
            a->output == b->output && a->certainty == b->certainty &&
            strcmp(a->multiply, b->multiply) == 0 && strcmp(a->accumulator, b->accumulator) == 0 &&
            a->kernel.winograd == b->kernel.winograd)
            return true;
    }
    return false;
}

static size_t count_alike(const struct ulp_engine_map *built, size_t l)
{
    size_t count = 1;
    const struct ulp_engine_map_layer *a = &built->layers[l];
    for (size_t k = l + 1; k < built->layer_count; k++) {
        const struct ulp_engine_map_layer *b = &built->layers[k];
        count += b->product && a->input == b->input && a->weights == b->weights &&
                 a->output == b->output && a->certainty == b->certainty &&
                 strcmp(a->multiply, b->multiply) == 0 &&
                 strcmp(a->accumulator, b->accumulator) == 0 &&
                 a->kernel.winograd == b->kernel.winograd;
    }
    return count;
}

static const char *word(const char *text)
{
    return *text ? text : "?";
}

static void add_products(const struct ulp_page *page, const struct ulp_engine_map *built,
                         size_t shown)
{
    size_t listed = 0;
    if (!built->products)
        return;
    ulp_text_add(page->out,
                 "\n%sproducts%s\n  layers  input weights output  multiply  accumulate  sure\n",
                 page->bold, page->off);
    for (size_t l = 0; l < built->layer_count; l++) {
        const struct ulp_engine_map_layer *layer = &built->layers[l];
        if (!layer->product || is_repeated(built, l) || !take_line(&listed, shown))
            continue;
        ulp_text_add(page->out, "  %6zu  %-5s %-7s %-6s  %-8s  %-10s  %s%s\n",
                     count_alike(built, l), ulp_engine_type_word(layer->input),
                     ulp_engine_type_word(layer->weights), ulp_engine_type_word(layer->output),
                     word(layer->multiply), word(layer->accumulator),
                     ulp_certainty_name(layer->certainty),
                     layer->kernel.winograd ? ", Winograd" : "");
    }
    add_more(page, listed, shown);
}

static void add_layers(const struct ulp_page *page, const struct ulp_engine_map *built,
                       size_t shown)
{
    size_t listed = 0;
    ulp_text_add(page->out,
                 "\n%slayers%s\n  input output  multiply  accumulate  mapped by  nodes  layer\n",
                 page->bold, page->off);
    for (size_t l = 0; l < built->layer_count; l++) {
        const struct ulp_engine_map_layer *layer = &built->layers[l];
        if (layer->helper || !take_line(&listed, shown))
            continue;
        ulp_text_add(page->out, "  %-5s %-6s  %-8s  %-10s  %-9s  %5zu  ",
                     ulp_engine_type_word(layer->input), ulp_engine_type_word(layer->output),
                     layer->product ? word(layer->multiply) : "",
                     layer->product ? word(layer->accumulator) : "", ulp_mapped_by_name(layer->by),
                     layer->node_count);
        ulp_page_name(page, layer->layer->name, 56);
        ulp_text_add(page->out, "\n");
    }
    add_more(page, listed, shown);
}

static void add_roundings(const struct ulp_page *page, const struct ulp_engine_map *built,
                          size_t shown)
{
    size_t listed = 0;
    for (size_t l = 0; l < built->layer_count; l++) {
        const struct ulp_engine_map_layer *layer = &built->layers[l];
        if (!layer->converts && !ulp_layer_casts(layer))
            continue;
        if (!listed)
            ulp_text_add(page->out, "\n%schanges of type between and inside layers%s\n", page->bold,
                         page->off);
        if (!take_line(&listed, shown))
            continue;
        if (layer->converts)
            ulp_text_add(page->out, "  %-5s to %-5s  ", ulp_engine_type_word(layer->input),
                         ulp_engine_type_word(layer->output));
        else
            ulp_text_add(page->out, "  Cast inside     ");
        ulp_page_name(page, layer->layer->name, 18);
        ulp_text_add(page->out, "\n");
    }
    add_more(page, listed, shown);
}

/* ---- nodes ---- */

static void add_kind(const struct ulp_page *page, const struct ulp_engine_map *built,
                     enum ulp_engine_map_kind kind, const char *what, size_t shown)
{
    size_t listed = 0;
    if (!built->kinds[kind])
        return;
    ulp_text_add(page->out, "  %zu %s\n", built->kinds[kind], what);
    for (size_t n = 0; n < built->node_count; n++) {
        if (built->nodes[n].kind != kind || !take_line(&listed, shown))
            continue;
        ulp_text_add(page->out, "      ");
        ulp_page_name(page, ulp_program_node_name(built->program, n), 24);
        ulp_text_add(page->out, " (%s)", ulp_program_node_op(built->program, n));
        if (built->nodes[n].layer >= 0) {
            ulp_text_add(page->out, " in ");
            ulp_page_name(page, built->layers[built->nodes[n].layer].layer->name, 60);
        }
        ulp_text_add(page->out, "\n");
    }
    add_more(page, listed, shown);
}

static void add_built_nodes(const struct ulp_page *page, const struct ulp_engine_map *built,
                            size_t shown)
{
    ulp_text_add(page->out, "\n%snodes%s\n  %zu computed by layers that name them\n", page->bold,
                 page->off, built->kinds[ULP_BUILT_MAPPED]);
    if (built->kinds[ULP_BUILT_CONSTANT])
        ulp_text_add(page->out, "  %zu known before the run\n", built->kinds[ULP_BUILT_CONSTANT]);
    add_kind(page, built, ULP_BUILT_MOVED, "only move elements: no kernel of their own", shown);
    add_kind(page, built, ULP_BUILT_TAKEN,
             "computed by a layer that does not name them, by the tensors around it", shown);
    add_kind(page, built, ULP_BUILT_INSIDE,
             "inside a ForeignNode, whose kernels and types are not told", shown);
    add_kind(page, built, ULP_BUILT_LOST, "computed by no layer: nothing is told of them", shown);
}

static void add_assumed(const struct ulp_page *page, const struct ulp_engine_map *built)
{
    bool any = false;
    for (size_t l = 0; l < built->layer_count; l++) {
        const char *assumed = built->layers[l].assumed;
        size_t count = 0, first = 0;
        while (first < l && strcmp(built->layers[first].assumed, assumed) != 0)
            first++;
        if (!*assumed || first < l)
            continue;
        for (size_t k = l; k < built->layer_count; k++)
            count += strcmp(built->layers[k].assumed, assumed) == 0;
        if (!any)
            ulp_text_add(page->out, "\n%semulated otherwise, or assumed%s\n", page->bold,
                         page->off);
        any = true;
        ulp_text_add(page->out, "  %zu layer%s: %s\n", count, count == 1 ? "" : "s", assumed);
    }
}

enum ulp_status ulp_engine_map_text(const struct ulp_engine_map *built,
                                    const struct ulp_wishes *wishes, size_t shown, int width,
                                    bool colour, char **out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_text text = {0};
    const struct ulp_page page = ulp_page_make(&text, width, colour);
    struct ulp_headline head = {0};
    const bool bad = ulp_engine_false_claim(built) ||
                     (wishes && wishes->counts[ULP_WISH_OBEYED] < wishes->count);
    ulp_engine_headline(built, wishes, &head);
    ulp_page_headline(&page, bad ? page.red : "", &head);
    ulp_headline_free(&page, &head);
    if (wishes && wishes->count)
        add_wishes(&page, built, wishes, shown);
    add_products(&page, built, shown);
    add_layers(&page, built, shown);
    add_roundings(&page, built, shown);
    add_built_nodes(&page, built, shown);
    add_assumed(&page, built);
    return ulp_page_take(&text, ULP_OK, out, error);
}

enum ulp_status ulp_engine_map_verdict(const struct ulp_engine_map *built, char **out,
                                       struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_text text = {0};
    ulp_engine_verdict(built, &text);
    ulp_text_add(&text, "\n");
    return ulp_page_take(&text, ULP_OK, out, error);
}
