/* Notes on stderr: which inputs the program chose. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

/* A dimension that the model leaves open, as an input has it. */
struct open_dim {
    const char *name, *input;
    int64_t size;
    size_t at; /* in the order of inputs */
};

static int compare_dims(const void *a, const void *b)
{
    const struct open_dim *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* One name of a dimension with two sizes: some exporters name what is not equal. The graph decides
 * whether it runs. */
static void note_sizes(struct open_dim *dims, size_t count)
{
    qsort(dims, count, sizeof *dims, compare_dims);
    for (size_t i = 1, first = 0; i < count; i++) {
        if (strcmp(dims[i].name, dims[first].name) != 0)
            first = i;
        const bool is_less = dims[i].size < dims[first].size;
        const struct open_dim *less = &dims[is_less ? i : first],
                              *more = &dims[is_less ? first : i];
        if (less->size != more->size)
            say(stderr, "ulpscope: dimension %s is %lld in input %s and %lld in input %s\n",
                less->name, (long long)less->size, less->input, (long long)more->size, more->input);
    }
}

static void note_dimensions(const struct ulp_model *model, const struct ulp_tensor_set *inputs)
{
    const size_t input_count = ulp_model_input_count(model);
    size_t most = 0, count = 0;
    for (size_t i = 0; i < input_count; i++)
        most += (size_t)(ulp_model_input(model, i).rank > 0 ? ulp_model_input(model, i).rank : 0);
    struct open_dim *dims = malloc((most + 1) * sizeof *dims);
    if (!dims)
        return; /* only a note is missing */
    for (size_t i = 0; i < input_count; i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        const struct ulp_tensor *given = ulp_tensor_set_find(inputs, info.name);
        for (int d = 0; given && d < info.rank && d < given->rank; d++)
            if (info.dims[d] < 0 && info.dim_names[d]) {
                dims[count] =
                    (struct open_dim){info.dim_names[d], info.name, given->dims[d], count};
                count++;
            }
    }
    note_sizes(dims, count);
    free(dims);
}

void note_choices(const struct ulp_model *model, const struct sample_list *samples)
{
    note_dimensions(model, &samples->items[0].inputs);
    if (!samples->random)
        return;
    say(stderr, "ulpscope: no --inputs: %s\n", samples->items[0].name);
    if (*random_open_dims())
        fputs("ulpscope: set open dimensions with --dim or --inputs\n", stderr);
}
