/* What an engine's kernels cost: the error that each product introduces as built, beside the same
 * product in the plain arithmetic. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/engine/words.h"
#include "analysis/writing/columns.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/memory/alloc.h"

static const struct ulp_audit_lane *find_lane(const struct ulp_audit *audit, const char *name)
{
    for (size_t l = 0; l < audit->lane_count; l++)
        if (strcmp(audit->lanes[l].name, name) == 0)
            return &audit->lanes[l];
    return NULL;
}

/* "fp16" or "fp16@a100", and nothing behind it. */
static const struct ulp_audit_lane *find_plain(const struct ulp_audit *audit, const char *name)
{
    const size_t length = strlen(name);
    for (size_t l = 0; l < audit->lane_count; l++) {
        const char *lane = audit->lanes[l].name;
        if (strncmp(lane, name, length) == 0 &&
            (!lane[length] || (lane[length] == '@' && !strchr(lane, ','))))
            return &audit->lanes[l];
    }
    return NULL;
}

static bool is_product(const struct ulp_engine_map *built, size_t node, bool half)
{
    const ptrdiff_t l = built->nodes[node].layer;
    const char *op = ulp_program_node_op(built->program, node);
    if (l < 0 || !built->layers[l].product)
        return false;
    const char *multiply = built->layers[l].multiply;
    return ulp_is_word(op, "Conv Gemm MatMul ConvTranspose") &&
           (half ? strcmp(multiply, "fp16") == 0
                 : strcmp(multiply, "tf32") == 0 || strcmp(multiply, "fp32") == 0);
}

static int by_ratio(const void *a, const void *b)
{
    const struct ulp_engine_map_cost *x = a, *y = b;
    if (x->ratio != y->ratio)
        return x->ratio > y->ratio ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static void fill(const struct ulp_engine_map *built, const struct ulp_audit_lane *engine,
                 const struct ulp_audit_lane *plain, bool half, struct ulp_engine_map_costs *out)
{
    for (size_t n = 0; n < engine->node_count && n < plain->node_count; n++) {
        const struct ulp_audit_node *a = &engine->nodes[n], *b = &plain->nodes[n];
        if (!is_product(built, a->index, half) || !a->output_count || !b->output_count)
            continue;
        struct ulp_engine_map_cost *cost = &out->items[out->count++];
        cost->node = a->index;
        cost->built = a->outputs[0].introduced.rms;
        cost->plain = b->outputs[0].introduced.rms;
        cost->ratio = cost->plain > 0 ? cost->built / cost->plain : cost->built > 0 ? INFINITY : 1;
    }
    if (!out->count)
        return;
    qsort(out->items, out->count, sizeof *out->items, by_ratio);
    out->median = out->items[out->count / 2].ratio;
    out->plain = plain->name;
}

enum ulp_status ulp_engine_map_costs(const struct ulp_engine_map *built,
                                     const struct ulp_audit *audit, const char *engine,
                                     struct ulp_engine_map_costs *out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    *out = (struct ulp_engine_map_costs){.median = NAN, .plain = ""};
    ULP_TRY(ulp_arena_create(&out->memory, ulp_arena_budget(built->memory), error));
    const bool half = built->fp16_products > 0;
    const struct ulp_audit_lane *lane = find_lane(audit, engine),
                                *plain = find_plain(audit, half ? "fp16" : "fp32");
    out->items = ulp_arena_take(out->memory, built->node_count + 1, sizeof *out->items);
    if (!out->items) {
        ulp_engine_map_costs_free(out);
        return ulp_out_of_memory(error);
    }
    if (lane && plain)
        fill(built, lane, plain, half, out);
    return ULP_OK;
}

void ulp_engine_map_costs_free(struct ulp_engine_map_costs *costs)
{
    ulp_arena_free(costs->memory);
    *costs = (struct ulp_engine_map_costs){0};
}

static void add_cost(const struct ulp_page *page, const struct ulp_engine_map *built,
                     const struct ulp_engine_map_cost *cost)
{
    const struct ulp_engine_map_layer *layer = &built->layers[built->nodes[cost->node].layer];
    ulp_text_add(page->out, "  %9.3g  %9.2e  %9.2e  %-8s  %-10s  ", cost->ratio, cost->built,
                 cost->plain, *layer->multiply ? layer->multiply : "?",
                 *layer->accumulator ? layer->accumulator : "?");
    ulp_page_name(page, ulp_program_node_name(built->program, cost->node), 58);
    ulp_text_add(page->out, "\n");
}

enum ulp_status ulp_engine_map_costs_text(const struct ulp_engine_map *built,
                                          const struct ulp_engine_map_costs *costs, size_t shown,
                                          int width, bool colour, char **out,
                                          struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_text text = {0};
    const struct ulp_page page = ulp_page_make(&text, width, colour);
    if (costs->count)
        ulp_text_show(&text,
                      "\n%sAs built, a product introduces %.3g times the error that it does in %s "
                      "(median of %zu; the most: %.3g times).%s\n"
                      "      times   as built      plain  multiply  accumulate  product\n",
                      page.bold, costs->median, costs->plain, costs->count, costs->items[0].ratio,
                      page.off);
    for (size_t c = 0; c < costs->count && (!shown || c < shown); c++)
        add_cost(&page, built, &costs->items[c]);
    if (shown && costs->count > shown)
        ulp_text_add(&text, "  ... and %zu more\n", costs->count - shown);
    return ulp_page_take(&text, ULP_OK, out, error);
}
