/* split-k=auto: in how many slices each product was cut. A run goes along the recorded values, and
 * computes each product beside it in one count of slices after the other; the fewest that give
 * every recorded bit count. */
#include <string.h>

#include "analysis/compare/comparing.h"
#include "analysis/schedule/slices.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/text/text.h"
#include "kernels/cublas.h"
#include "run/program/program.h"

#define KEEPS_NAME "slices found"

/* Counts of one run: each is a lane. */
enum { COUNTS_AT_ONCE = 8 };

/* Ways to store sums of slices; those but the first where they are narrower than FP32. */
static const char *const kinds[] = {"", "partials=serial", "partials=workspace",
                                    "partials=rounded"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* A product, in one recording: by count of slices, how many elements have the recorded bits. */
struct tried {
    size_t elements, equal[KINDS * 2 * ULP_SLICES_TRIED_MAX];
};

/* A way to cut k: counts of slices as they come, then from 2 on of slices that are whole tiles of
 * cuBLAS, then both from 2 on in other kinds; 0 slices: the end. */
struct cut {
    int slices, tile, kind;
};

static struct cut cut_at(size_t index)
{
    size_t count = 0;
    while (ulp_slices_tried(count))
        count++;
    if (!index)
        return (struct cut){1, 0, 0};
    const size_t rest = (index - 1) % (2 * (count - 1)), kind = (index - 1) / (2 * (count - 1));
    if (kind >= KINDS)
        return (struct cut){0};
    return rest < count - 1
               ? (struct cut){ulp_slices_tried(rest + 1), 0, (int)kind}
               : (struct cut){ulp_slices_tried(rest - count + 2), ULP_CUBLAS_TILE, (int)kind};
}

static enum ulp_status cut_arithmetic(struct ulp_arithmetic *out, const struct ulp_arithmetic *base,
                                      struct cut cut, struct ulp_error *error)
{
    struct ulp_arithmetic whole;
    ULP_TRY(ulp_slices_arithmetic(&whole, base, cut.slices, error));
    if (cut.kind)
        ULP_TRY(ulp_arithmetic_change(out, &whole, kinds[cut.kind], error));
    else
        *out = whole;
    out->schedule.slice_tile = cut.tile;
    return ULP_OK;
}

struct searching {
    struct ulp_slices_found *found;
    struct ulp_comparing *comparing; /* of these counts */
    size_t file, file_count;
    size_t first_count;
    bool wide;           /* sums of slices cannot be narrower than FP32 */
    struct tried *tried; /* by node and file */
    bool *product;       /* by node */
    size_t node_count;
};

static enum ulp_status try_output(struct searching *searching, const struct ulp_event *event,
                                  size_t o, struct ulp_error *error)
{
    struct ulp_comparing *comparing = searching->comparing;
    const struct ulp_tensor *like = event->values[event->output_count + o].entire;
    const ptrdiff_t number = ulp_compared_find(comparing, event->output_names[o], event->execution);
    struct tried *tried = &searching->tried[event->index * searching->file_count + searching->file];
    const struct ulp_tensor *recorded =
        number >= 0 ? comparing->work[number].recorded[searching->file] : NULL;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor turned = {0};
    if (!recorded || !like || recorded->count != like->count || !ulp_type_is_float(recorded->type))
        return ULP_OK;
    ULP_TRY(ulp_layout_turn(&turned, recorded, like, ulp_comparing_budget(comparing), error));
    tried->elements = like->count;
    for (size_t l = 1; l < event->lane_count; l++)
        tried->equal[searching->first_count + l - 1] =
            ulp_equal_elements(event->values[l * event->output_count + o].entire,
                               turned.data ? &turned : recorded);
    return ULP_OK;
}

static enum ulp_status try_node(void *context, const struct ulp_event *event,
                                struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct searching *searching = context;
    const struct ulp_program *program = searching->comparing->program;
    if (!event->output_count || !event->values[event->output_count].entire ||
        program->nodes[event->index].block != program->main)
        return ULP_OK;
    searching->product[event->index] = true;
    return try_output(searching, event, 0, error);
}

/* What one recording has of the graph's values, in the graph's layout where that is known. */
static enum ulp_status list_given(const struct ulp_comparing *comparing, size_t file,
                                  struct ulp_tensor_set *out, struct ulp_error *error)
{
    const struct ulp_block *block = comparing->program->main;
    for (size_t s = 0; s < block->slot_count; s++) {
        const ptrdiff_t number = ulp_compared_find(comparing, block->slots[s].name, 0);
        const struct ulp_tensor *recorded =
            number >= 0 ? comparing->work[number].recorded[file] : NULL;
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor copy = {0};
        if (!recorded || ulp_tensor_set_find(out, block->slots[s].name))
            continue;
        ULP_TRY(ulp_layout_turn(&copy, recorded, &block->slots[s].shape,
                                ulp_comparing_budget(comparing), error));
        if (!copy.data)
            ULP_TRY(ulp_tensor_copy(&copy, recorded, ulp_comparing_budget(comparing), error));
        ULP_TRY(ulp_tensor_set_add(out, block->slots[s].name, &copy, error));
    }
    return ULP_OK;
}

static enum ulp_status run_file(struct searching *searching, struct ulp_error *error)
{
    struct ulp_comparing *comparing = searching->comparing;
    const struct ulp_compare_options *options = comparing->options;
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set given = {0};
    struct ulp_run_options run = {.thread_count = options->thread_count};
    const struct ulp_observer trying = {.context = searching, .node_done = try_node};
    ULP_TRY(list_given(comparing, searching->file, &given, error));
    run.audit = false;
    run.isolated = true;
    run.given = &given;
    return ulp_program_look(comparing->program, comparing->inputs, &run, &trying, options->progress,
                            NULL, error);
}

static enum ulp_status take_room(struct searching *searching, size_t node_count,
                                 struct ulp_error *error)
{
    if (searching->tried)
        return ULP_OK;
    searching->node_count = node_count;
    searching->tried =
        ulp_arena_take(searching->found->memory, node_count * searching->file_count + 1,
                       sizeof *searching->tried);
    searching->product =
        ulp_arena_take(searching->found->memory, node_count + 1, sizeof *searching->product);
    return ulp_taken(searching->tried && searching->product, error);
}

/* Some counts: a program whose lanes are the base and the base in each. */
static enum ulp_status try_counts(struct searching *searching, const struct ulp_comparing *outer,
                                  const struct ulp_arithmetic *base, struct ulp_error *error)
{
    struct ulp_arithmetic lanes[1 + COUNTS_AT_ONCE] = {*base};
    struct ulp_compare_options options = *outer->options;
    ULP_SCOPED(ulp_comparison_free) struct ulp_comparison scratch = {0};
    ULP_SCOPED(ulp_comparing_free)
    struct ulp_comparing comparing = {.model = outer->model,
                                      .inputs = outer->inputs,
                                      .recordings = outer->recordings,
                                      .recording_count = outer->recording_count,
                                      .options = &options,
                                      .trials = 1,
                                      .out = &scratch};
    const struct ulp_program_options plan_options = {.inputs = outer->inputs};
    size_t count = 1;
    options.arithmetics = base;
    options.arithmetic_count = 1;
    options.keeps = NULL;
    searching->comparing = &comparing;
    ULP_TRY(ulp_comparing_prepare(&comparing, error));
    for (; count <= COUNTS_AT_ONCE; count++) {
        const struct cut cut = cut_at(searching->first_count + count - 1);
        if (!cut.slices || (cut.kind && searching->wide))
            break;
        ULP_TRY(cut_arithmetic(&lanes[count], base, cut, error));
    }
    ULP_TRY(ulp_program_create(comparing.model, lanes, count, &plan_options, &comparing.program,
                               error));
    ULP_TRY(take_room(searching, comparing.program->node_count, error));
    ULP_TRY(ulp_compare_match(&comparing, error));
    for (searching->file = 0; searching->file < searching->file_count; searching->file++)
        ULP_TRY(run_file(searching, error));
    return ULP_OK;
}

/* ---- what was found ---- */

static size_t find_best(const struct tried *tried)
{
    size_t best = 0;
    for (size_t c = 0; cut_at(c).slices; c++)
        if (tried->equal[c] > tried->equal[best])
            best = c;
    return best;
}

/* The recording with the highest share; of equal ones the first. */
static size_t find_file(const struct searching *searching, size_t node)
{
    const struct tried *all = &searching->tried[node * searching->file_count];
    size_t file = 0;
    double most = -1;
    for (size_t f = 0; f < searching->file_count; f++) {
        const double share =
            all[f].elements ? (double)all[f].equal[find_best(&all[f])] / (double)all[f].elements
                            : -1;
        if (share > most) {
            most = share;
            file = f;
        }
    }
    return file;
}

/* "9, 10": the counts of such slices that give the same bits; "any other" for all of them. */
static const char *list_others(struct searching *searching, const struct tried *tried, size_t best)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    size_t alike = 0, count = 0;
    for (size_t c = 0; cut_at(c).slices; c++) {
        const struct cut cut = cut_at(c);
        if (cut.tile != cut_at(best).tile || cut.kind != cut_at(best).kind)
            continue;
        count++;
        if (c != best && tried->equal[c] == tried->equal[best])
            ulp_text_add(&text, "%s%d", alike++ ? ", " : "", cut.slices);
    }
    const char *list = alike + 1 == count ? "any other" : alike ? text.data : "";
    return text.failed ? NULL
                       : ulp_arena_text(searching->found->memory, list ? list : "",
                                        list ? strlen(list) : 0);
}

static enum ulp_status add_found(struct searching *searching, size_t arithmetic, size_t node,
                                 struct ulp_error *error)
{
    struct ulp_slices_found *found = searching->found;
    const size_t file = find_file(searching, node);
    const struct tried *tried = &searching->tried[node * searching->file_count + file];
    const size_t best = find_best(tried);
    struct ulp_compared_slices *out = &found->items[found->count++];
    size_t next = 0;
    for (size_t c = 0; cut_at(c).slices; c++)
        if (tried->equal[c] < tried->equal[best] && tried->equal[c] > next)
            next = tried->equal[c];
    *out = (struct ulp_compared_slices){.index = node,
                                        .arithmetic = arithmetic,
                                        .file = file,
                                        .slices = cut_at(best).slices,
                                        .tile = cut_at(best).tile,
                                        .partials = kinds[cut_at(best).kind],
                                        .elements = tried->elements,
                                        .equal = tried->elements ? tried->equal[best] : 0,
                                        .next = next};
    out->found = tried->elements && out->equal == out->elements;
    out->others = list_others(searching, tried, best);
    return ulp_taken(out->others, error);
}

static struct cut cut_of(const struct ulp_compared_slices *item)
{
    int kind = 0;
    while (strcmp(kinds[kind], item->partials) != 0)
        kind++;
    return (struct cut){item->slices, item->tile, kind};
}

/* The arithmetic of the comparison: one count for all, or the base with nodes kept in others. */
static enum ulp_status settle(struct searching *searching, const struct ulp_comparing *outer,
                              const struct ulp_arithmetic *base, size_t a, size_t first,
                              struct ulp_error *error)
{
    struct ulp_slices_found *found = searching->found;
    const struct ulp_keeps *given = outer->options->keeps ? &outer->options->keeps[a] : NULL;
    const size_t count = found->count - first, before = given ? given->count : 0;
    bool alike = count > 0;
    for (size_t i = first; i < found->count; i++)
        alike &= found->items[i].found && found->items[i].slices == found->items[first].slices &&
                 found->items[i].tile == found->items[first].tile &&
                 found->items[i].partials == found->items[first].partials;
    found->arithmetics[a] = *base;
    found->keeps[a] = given ? *given : (struct ulp_keeps){0};
    if (alike)
        return cut_arithmetic(&found->arithmetics[a], base, cut_of(&found->items[first]), error);
    struct ulp_keep *keeps = ulp_arena_take(found->memory, before + count + 1, sizeof *keeps);
    ULP_TRY(ulp_taken(keeps, error));
    for (size_t k = 0; k < before; k++)
        keeps[k] = given->items[k];
    found->keeps[a].items = keeps;
    found->keeps[a].name = found->keeps[a].name ? found->keeps[a].name : KEEPS_NAME;
    found->keeps[a].count = before;
    for (size_t i = first; i < found->count; i++) {
        struct ulp_compared_slices *item = &found->items[i];
        if (!item->found || item->slices == 1)
            continue;
        struct ulp_keep *keep = &keeps[found->keeps[a].count++];
        *keep = (struct ulp_keep){.nodes = &item->index, .node_count = 1};
        ULP_TRY(cut_arithmetic(&keep->arithmetic, base, cut_of(item), error));
    }
    return ULP_OK;
}

static enum ulp_status search_one(struct ulp_slices_found *found, const struct ulp_comparing *outer,
                                  size_t a, struct ulp_error *error)
{
    struct searching searching = {.found = found, .file_count = outer->recording_count};
    struct ulp_arithmetic base;
    enum ulp_status status =
        ulp_slices_arithmetic(&base, &outer->options->arithmetics[a], 1, error);
    struct ulp_arithmetic narrow;
    struct ulp_error ignored;
    searching.wide = status == ULP_OK &&
                     cut_arithmetic(&narrow, &base, (struct cut){2, 0, 1}, &ignored) != ULP_OK;
    for (; cut_at(searching.first_count).slices && status == ULP_OK &&
           !(searching.wide && cut_at(searching.first_count).kind);
         searching.first_count += COUNTS_AT_ONCE)
        status = try_counts(&searching, outer, &base, error);
    size_t products = 0;
    const size_t first = found->count;
    for (size_t n = 0; n < searching.node_count; n++)
        products += searching.product[n];
    struct ulp_compared_slices *items =
        status == ULP_OK ? ulp_arena_take(found->memory, first + products + 1, sizeof *items)
                         : NULL;
    if (status == ULP_OK && !items)
        return ulp_out_of_memory(error);
    if (items && first)
        memcpy(items, found->items, first * sizeof *items);
    found->items = items ? items : found->items;
    for (size_t n = 0; n < searching.node_count && status == ULP_OK; n++)
        if (searching.product[n])
            status = add_found(&searching, a, n, error);
    return status == ULP_OK ? settle(&searching, outer, &base, a, first, error) : status;
}

enum ulp_status ulp_compare_find_slices(const struct ulp_comparing *comparing,
                                        struct ulp_slices_found *found,
                                        struct ulp_compare_options *changed,
                                        struct ulp_error *error)
{
    const struct ulp_compare_options *options = comparing->options;
    const size_t count = options->arithmetic_count;
    bool wanted = false;
    *found = (struct ulp_slices_found){0};
    for (size_t a = 0; a < count; a++)
        wanted |= options->arithmetics[a].schedule.split_k == ULP_SPLIT_AUTO;
    if (!wanted)
        return ULP_OK;
    ULP_TRY(ulp_arena_create(&found->memory, ulp_model_budget(comparing->model), error));
    ULP_TAKE(found->arithmetics, found->memory, count, error);
    ULP_TAKE(found->keeps, found->memory, count, error);
    for (size_t a = 0; a < count; a++) {
        found->arithmetics[a] = options->arithmetics[a];
        found->keeps[a] = options->keeps ? options->keeps[a] : (struct ulp_keeps){0};
        if (options->arithmetics[a].schedule.split_k == ULP_SPLIT_AUTO)
            ULP_TRY(search_one(found, comparing, a, error));
    }
    *changed = *options;
    changed->arithmetics = found->arithmetics;
    changed->keeps = found->keeps;
    return ULP_OK;
}

/* The nodes by name, and what the arithmetic is called whose nodes have several counts. */
enum ulp_status ulp_compare_keep_slices(const struct ulp_comparing *comparing,
                                        const struct ulp_slices_found *found,
                                        struct ulp_error *error)
{
    struct ulp_comparison *out = comparing->out;
    out->slices = ulp_arena_take(out->memory, found->count + 1, sizeof *out->slices);
    bool whole = out->slices;
    for (size_t i = 0; i < found->count && whole; i++) {
        struct ulp_compared_slices *item = &out->slices[out->slice_count++];
        *item = found->items[i];
        item->node =
            ulp_comparing_text(comparing, ulp_program_node_name(comparing->program, item->index));
        item->op =
            ulp_comparing_text(comparing, ulp_program_node_op(comparing->program, item->index));
        item->others = ulp_comparing_text(comparing, item->others);
        whole = item->node && item->op && item->others;
    }
    for (size_t a = 0; a < out->arithmetic_count && found->keeps && whole; a++) {
        const struct ulp_keeps *keeps = &found->keeps[a];
        struct ulp_text name = {0};
        if (!keeps->name || strcmp(keeps->name, KEEPS_NAME) != 0)
            continue;
        ulp_text_add(&name, "%s,split-k=auto", out->arithmetics[a]);
        whole = !name.failed && (out->arithmetics[a] = ulp_comparing_text(comparing, name.data));
        ulp_text_free(&name);
    }
    return ulp_taken(whole, error);
}
