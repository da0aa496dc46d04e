/* The list of a model's free dimensions (free_sizes.h). */
#include "data/free_sizes.h"

#include <stdio.h>
#include <string.h>

#include "data/data.h"

/* Those beyond are like no other, so that the time is linear in the inputs. */
#define LISTED_MAX 200

static int64_t given_size(const struct ulp_tensor_set *inputs, const struct ulp_dim_value *dims,
                          size_t dim_count, const struct ulp_value_info *info, int dimension)
{
    const struct ulp_tensor *given = inputs ? ulp_tensor_set_find(inputs, info->name) : NULL;
    return given && dimension < given->rank ? given->dims[dimension]
                                            : ulp_dim_size(info, dimension, dims, dim_count);
}

enum ulp_status ulp_sizes_list(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                               const struct ulp_dim_value *dims, size_t dim_count,
                               struct ulp_arena *arena, struct ulp_sizes *out,
                               struct ulp_error *error)
{
    const struct ulp_graph *graph = model->graph;
    *out = (struct ulp_sizes){0};
    ULP_TAKE(out->items, arena, LISTED_MAX, error);
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct ulp_value *value = &graph->values[graph->inputs[i]];
        out->unranked |= value->info.rank < 0 && !value->initializer;
        for (int d = 0; d < value->info.rank && (!value->initializer || value->overridable); d++)
            if (value->info.dims[d] < 0 && out->count < LISTED_MAX &&
                !ulp_sizes_find(out, value->name, value->info.dim_names[d], d))
                out->items[out->count++] =
                    (struct ulp_free_size){value->info.dim_names[d], value->name, d,
                                           given_size(inputs, dims, dim_count, &value->info, d)};
    }
    return ULP_OK;
}

struct ulp_free_size *ulp_sizes_find(const struct ulp_sizes *sizes, const char *input,
                                     const char *name, int dimension)
{
    for (size_t i = 0; i < sizes->count; i++) {
        struct ulp_free_size *item = &sizes->items[i];
        if (name ? item->name && strcmp(item->name, name) == 0
                 : !item->name && item->dimension == dimension && strcmp(item->input, input) == 0)
            return item;
    }
    return NULL;
}

const char *ulp_free_size_text(const struct ulp_free_size *size, char *buffer, size_t bytes)
{
    if (size->name)
        return size->name;
    snprintf(buffer, bytes, "%s[%d]", size->input, size->dimension);
    return buffer;
}
