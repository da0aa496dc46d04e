/* Measured costs by node's name: {"NODE": NUMBER}, {"NODE": {"FORMAT": NUMBER, ...}}, or a profile
 * as trtexec --exportProfile writes it, a list of {"name": "NODE + NODE", "averageMs": NUMBER}. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "analysis/search/searcher.h"
#include "base/error.h"
#include "base/machine/file.h"
#include "data/json_file.h"
#include "number/function/math.h"

/* A layer costs as much at least of the mean of all layers: what was not measured is not free. */
static const double LEAST = 1e-3;

/* The cost of one node by one of its two forms, into the layer's. A number is of the widest format,
 * and goes with the bits of a value. */
static enum ulp_status add_cost(struct ulp_searcher *search, struct ulp_searched_layer *layer,
                                const char *name, const json_t *value, double part,
                                struct ulp_error *error)
{
    for (size_t c = 0; c < search->choice_count; c++) {
        const json_t *number =
            json_is_object(value) ? json_object_get(value, search->choices[c].name) : value;
        const double cost = json_number_value(number);
        if (!number)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "\"%s\" has no cost in %s: expected a number for each format", name,
                            search->choices[c].name);
        if (!json_is_number(number) || !(cost >= 0) || !isfinite(cost))
            return ulp_fail(error, ULP_ERROR_INPUT, "\"%s\": expected a cost, 0 or more", name);
        layer->cost[c] +=
            part * cost *
            (json_is_object(value) ? 1 : (double)layer->bits[c] / ulp_math_max(layer->bits[0], 1));
    }
    return ULP_OK;
}

/* SIZE_MAX: none. */
static size_t find_program_node(const struct ulp_searcher *search, const char *name, size_t length)
{
    const struct ulp_program *program = search->emulation.program;
    for (size_t n = 0; n < program->node_count; n++) {
        const char *now = ulp_program_node_name(program, n);
        if (strlen(now) == length && memcmp(now, name, length) == 0)
            return n;
    }
    return SIZE_MAX;
}

/* "NODE", or "NODE + NODE" for a kernel that computes several: each has its part. */
static enum ulp_status add_named(struct ulp_searcher *search, const char *name, const json_t *value,
                                 struct ulp_error *error)
{
    static const char join[] = " + ";
    size_t count = 1;
    const bool whole = find_program_node(search, name, strlen(name)) != SIZE_MAX;
    for (const char *at = name; !whole && (at = strstr(at, join)); at += strlen(join))
        count++;
    for (const char *at = name; at;) {
        const char *end = whole ? NULL : strstr(at, join);
        const size_t length = end ? (size_t)(end - at) : strlen(at),
                     node = find_program_node(search, at, length);
        if (node == SIZE_MAX)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "\"%s\": the model has no node \"%.*s\" (names are those of reports)",
                            name, (int)ulp_size_min(length, 200), at);
        if (search->layer_of[node] >= 0)
            ULP_TRY(add_cost(search, &search->layers[search->layer_of[node]], name, value,
                             1 / (double)count, error));
        at = end ? end + strlen(join) : NULL;
    }
    return ULP_OK;
}

static enum ulp_status add_costs(struct ulp_searcher *search, json_t *root, struct ulp_error *error)
{
    for (size_t i = 0; i < json_array_size(root); i++) {
        const json_t *item = json_array_get(root, i);
        const char *name = json_string_value(json_object_get(item, "name"));
        const json_t *cost = json_object_get(item, "averageMs");
        if (name && cost)
            ULP_TRY(add_named(search, name, cost, error));
        else if (!json_object_get(item, "count")) /* of runs, which a profile begins with */
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "item %zu: expected {\"name\": NODE, \"averageMs\": NUMBER}", i);
    }
    for (void *at = json_object_iter(root); at; at = json_object_iter_next(root, at))
        ULP_TRY(add_named(search, json_object_iter_key(at), json_object_iter_value(at), error));
    if (!json_is_array(root) && !json_is_object(root))
        return ulp_fail(error, ULP_ERROR_INPUT, "expected {\"NODE\": NUMBER, ...}");
    return ULP_OK;
}

static enum ulp_status set_least(struct ulp_searcher *search, struct ulp_error *error)
{
    double mean = 0;
    for (size_t l = 0; l < search->layer_count; l++)
        mean += search->layers[l].cost[0] / (double)search->layer_count;
    if (search->layer_count && !(mean > 0))
        return ulp_fail(error, ULP_ERROR_INPUT, "no layer costs anything");
    for (size_t l = 0; l < search->layer_count; l++) {
        struct ulp_searched_layer *layer = &search->layers[l];
        if (layer->cost[0] < LEAST * mean)
            for (size_t c = 0; c < search->choice_count; c++)
                layer->cost[c] =
                    LEAST * mean * (double)layer->bits[c] / ulp_math_max(layer->bits[0], 1);
        layer->weight = layer->cost[0];
    }
    return ULP_OK;
}

enum ulp_status ulp_search_read_costs(struct ulp_searcher *search, const char *path,
                                      struct ulp_error *error)
{
    enum { BYTES_MAX = 64 << 20 };
    struct ulp_budget *budget = ulp_model_budget(search->emulation.given.model);
    unsigned char *bytes;
    size_t count, charged = 0;
    json_t *root = NULL;
    for (size_t l = 0; l < search->layer_count; l++)
        memset(search->layers[l].cost, 0, search->choice_count * sizeof(double));
    enum ulp_status status = ulp_file_read(path, BYTES_MAX, budget, &bytes, &count, error);
    ULP_TRY(ulp_fail_at(error, status, "a cost is nodes, bits, macs, bytes, weights or a file"));
    status =
        ulp_json_parse(path, bytes, count, JSON_REJECT_DUPLICATES, budget, &root, &charged, error);
    ulp_free(bytes);
    if (status != ULP_OK)
        return status;
    status = add_costs(search, root, error);
    if (status == ULP_OK)
        status = set_least(search, error);
    ulp_json_file_free(root, budget, charged);
    return ulp_fail_at(error, status, "%s", path);
}
