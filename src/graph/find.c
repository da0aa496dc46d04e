/* Looking up items of a model by name: its lists are sorted once after loading, then searched by
 * bisection. */
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

static int compare_opsets(const void *a, const void *b)
{
    return strcmp(((const struct ulp_opset *)a)->domain, ((const struct ulp_opset *)b)->domain);
}

void ulp_opsets_sort(struct ulp_opset *opsets, size_t count)
{
    if (count)
        qsort(opsets, count, sizeof *opsets, compare_opsets);
}

int64_t ulp_opset_find(const struct ulp_opset *opsets, size_t count, const char *domain)
{
    const struct ulp_opset wanted = {.domain = domain},
                           *found = count ? bsearch(&wanted, opsets, count, sizeof wanted,
                                                    compare_opsets)
                                          : NULL;
    return found ? found->version : 0;
}

static int compare_functions(const void *a, const void *b)
{
    const struct ulp_function *x = a, *y = b;
    int names = strcmp(x->name, y->name), domains = names ? names : strcmp(x->domain, y->domain);
    return domains ? domains : strcmp(x->overload, y->overload);
}

const struct ulp_function *ulp_functions_sort(struct ulp_function *functions, size_t count)
{
    if (count)
        qsort(functions, count, sizeof *functions, compare_functions);
    for (size_t i = 1; i < count; i++)
        if (compare_functions(&functions[i - 1], &functions[i]) == 0)
            return &functions[i];
    return NULL;
}

const struct ulp_function *ulp_function_find(const struct ulp_model *model,
                                             const struct ulp_node *node)
{
    const struct ulp_function wanted = {.name = node->op_type,
                                        .domain = node->domain,
                                        .overload = node->overload};
    return model->function_count ? bsearch(&wanted, model->functions, model->function_count,
                                           sizeof wanted, compare_functions)
                                 : NULL;
}

static int compare_attributes(const void *a, const void *b)
{
    return strcmp(((const struct ulp_attribute *)a)->name, ((const struct ulp_attribute *)b)->name);
}

void ulp_attributes_sort(struct ulp_attribute *attributes, size_t count)
{
    if (count)
        qsort(attributes, count, sizeof *attributes, compare_attributes);
}

const struct ulp_attribute *ulp_function_default(const struct ulp_function *function,
                                                 const char *name)
{
    const struct ulp_attribute wanted = {.name = name};
    return function->attribute_default_count
               ? bsearch(&wanted, function->attribute_defaults, function->attribute_default_count,
                         sizeof wanted, compare_attributes)
               : NULL;
}
