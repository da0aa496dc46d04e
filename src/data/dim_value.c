/* Sizes that are given for dimensions that a model leaves open, by symbol or place. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/text/names.h"
#include "base/text/text.h"
#include "data/data.h"

const char *ulp_dim_text(const struct ulp_value_info *info, int dimension, char *buffer)
{
    if (info->dim_names[dimension])
        return info->dim_names[dimension];
    snprintf(buffer, ULP_DIM_TEXT, "%.200s[%d]", info->name, dimension);
    return buffer;
}

void ulp_dims_say_open(struct ulp_text *out, const struct ulp_model *model,
                       const struct ulp_dim_value *given, size_t count, const char *between,
                       bool places)
{
    ULP_SCOPED(ulp_names_free) struct ulp_names symbols = {0};
    char buffer[ULP_DIM_TEXT];
    bool first = true;
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        for (int d = 0; d < info.rank; d++) {
            const char *symbol = info.dim_names[d];
            if (info.dims[d] >= 0 || ulp_dims_find(given, count, &info, d) ||
                (symbol && ulp_names_find(&symbols, symbol) >= 0))
                continue;
            if (symbol && !ulp_names_add(&symbols, symbol, 0))
                out->failed = true;
            ulp_text_add(out, "%s%.60s", first ? "" : between, ulp_dim_text(&info, d, buffer));
            if (symbol && places)
                ulp_text_add(out, " (%.60s[%d])", info.name, d);
            first = false;
        }
    }
}

static bool is_open(const struct ulp_model *model, const struct ulp_dim_value *one)
{
    bool is = false;
    for (size_t i = 0; i < ulp_model_input_count(model) && !is; i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        for (int d = 0; d < info.rank && !is; d++)
            is = info.dims[d] < 0 && ulp_dims_find(one, 1, &info, d);
    }
    return is;
}

/* The dimensions' names a value may be given for must be the model's, or a typing error would go
 * unseen. */
enum ulp_status ulp_dims_check(const struct ulp_model *model, const struct ulp_dim_value *dims,
                               size_t dim_count, struct ulp_error *error)
{
    for (size_t v = 0; v < dim_count; v++) {
        ULP_SCOPED(ulp_text_free) struct ulp_text known = {0};
        if (!is_open(model, &dims[v])) {
            ulp_dims_say_open(&known, model, NULL, 0, " ", true);
            return known.failed
                       ? ulp_out_of_memory(error)
                       : ulp_fail(error, ULP_ERROR_USAGE,
                                  "no input has an open dimension '%.100s'; there are: %.1000s",
                                  dims[v].name, known.data ? known.data : "none");
        }
        if (dims[v].value < 0)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "dimension '%.100s' is %lld, expected 0 or more", dims[v].name,
                            (long long)dims[v].value);
    }
    return ULP_OK;
}

const struct ulp_dim_value *ulp_dims_find(const struct ulp_dim_value *dims, size_t count,
                                          const struct ulp_value_info *info, int dimension)
{
    char buffer[ULP_DIM_TEXT];
    const char *name = count ? ulp_dim_text(info, dimension, buffer) : NULL;
    for (size_t v = 0; v < count; v++)
        if (strcmp(dims[v].name, name) == 0)
            return &dims[v];
    return NULL;
}

int64_t ulp_dim_size(const struct ulp_value_info *info, int dimension,
                     const struct ulp_dim_value *dims, size_t count)
{
    if (info->dims[dimension] >= 0)
        return info->dims[dimension];
    const struct ulp_dim_value *given = ulp_dims_find(dims, count, info, dimension);
    return given ? given->value : 1;
}
