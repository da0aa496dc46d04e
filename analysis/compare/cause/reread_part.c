/* Parts of a node that is read otherwise. */
#include <string.h>

#include "analysis/compare/cause/reread.h"
#include "base/error.h"
#include "tensor/tensor.h"

/* The graph is the copy's only now: what was copied may lie elsewhere since. */
struct ulp_value *ulp_reread_add_value(struct ulp_reread *reread, const char *like)
{
    struct ulp_value *value = &reread->graph.values[reread->graph.value_count];
    *value = (struct ulp_value){.producer = -1, .outer = -1};
    value->name = ulp_arena_say(reread->arena, "%s#%zu", like, reread->graph.value_count++);
    return value->name ? value : NULL;
}

int ulp_reread_find(const struct ulp_graph *graph, const char *name)
{
    size_t v = 0;
    while (v < graph->value_count && strcmp(graph->values[v].name, name) != 0)
        v++;
    return v < graph->value_count ? (int)v : -1;
}

const struct ulp_tensor *ulp_reread_constant(const struct ulp_reread *reread,
                                             const struct ulp_node *node, size_t input)
{
    return input < node->input_count ? ulp_value_constant(&reread->graph, node->inputs[input])
                                     : NULL;
}

enum ulp_status ulp_reread_set_input(struct ulp_reread *reread, struct ulp_node *node, size_t input,
                                     int value, struct ulp_error *error)
{
    const size_t count = input < node->input_count ? node->input_count : input + 1;
    ULP_TAKE_ARRAY(int, inputs, reread->arena, count, error);
    for (size_t i = 0; i < count; i++)
        inputs[i] = i == input ? value : i < node->input_count ? node->inputs[i] : -1;
    node->inputs = inputs;
    node->input_count = count;
    return ULP_OK;
}

enum ulp_status ulp_reread_set_constant(struct ulp_reread *reread, struct ulp_node *node,
                                        size_t input, struct ulp_tensor *tensor,
                                        struct ulp_error *error)
{
    struct ulp_value *value = ulp_reread_add_value(reread, node->name);
    ULP_TRY(ulp_taken(value, error));
    ULP_TAKE_ARRAY(struct ulp_tensor, kept, reread->arena, 1, error);
    *kept = *tensor;
    value->initializer = kept;
    return ulp_reread_set_input(reread, node, input, (int)(value - reread->graph.values), error);
}

/* A tensor of those numbers in the type of another. */
enum ulp_status ulp_reread_make_constant(struct ulp_reread *reread, const struct ulp_tensor *like,
                                         int rank, const int64_t *dims, struct ulp_tensor *out,
                                         double **numbers, struct ulp_error *error)
{
    ULP_TRY(ulp_tensor_describe(out, like->type, ulp_type_rows[like->type].element, 0, rank, dims,
                                error));
    out->data = ulp_arena_take(reread->arena, out->count + 1, out->element_bytes);
    *numbers = ulp_arena_take(reread->arena, out->count + 1, sizeof **numbers);
    return ulp_taken(out->data && *numbers, error);
}

enum ulp_status ulp_reread_fill_constant(struct ulp_reread *reread, struct ulp_node *node,
                                         size_t input, struct ulp_tensor *tensor,
                                         const double *numbers, struct ulp_error *error)
{
    struct ulp_tensor from;
    const int64_t count = (int64_t)tensor->count;
    ULP_TRY(ulp_tensor_describe(&from, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, 1, &count, error));
    from.data = (void *)(uintptr_t)numbers;
    ULP_TRY(ulp_tensor_convert(tensor, &from, NULL, ULP_ROUND_NEAREST_EVEN, 0, NULL, error));
    return ulp_reread_set_constant(reread, node, input, tensor, error);
}

enum ulp_status ulp_reread_set_attribute(struct ulp_reread *reread, struct ulp_node *node,
                                         const struct ulp_attribute *attribute,
                                         struct ulp_error *error)
{
    size_t count = 0;
    ULP_TAKE_ARRAY(struct ulp_attribute, all, reread->arena, node->attribute_count + 1, error);
    for (size_t a = 0; a < node->attribute_count; a++)
        if (strcmp(node->attributes[a].name, attribute->name) != 0)
            all[count++] = node->attributes[a];
    all[count++] = *attribute;
    node->attributes = all;
    node->attribute_count = count;
    return ULP_OK;
}

enum ulp_status ulp_reread_set_ints(struct ulp_reread *reread, struct ulp_node *node,
                                    const char *name, const int64_t *values, size_t count,
                                    struct ulp_error *error)
{
    ULP_TAKE_ARRAY(int64_t, kept, reread->arena, count, error);
    memcpy(kept, values, count * sizeof *kept);
    const struct ulp_attribute attribute = {.name = name,
                                            .kind = ULP_ATTRIBUTE_INTS,
                                            .ints = kept,
                                            .count = count};
    return ulp_reread_set_attribute(reread, node, &attribute, error);
}

enum ulp_status ulp_reread_set_int(struct ulp_reread *reread, struct ulp_node *node,
                                   const char *name, int64_t i, struct ulp_error *error)
{
    const struct ulp_attribute attribute = {.name = name, .kind = ULP_ATTRIBUTE_INT, .i = i};
    return ulp_reread_set_attribute(reread, node, &attribute, error);
}

enum ulp_status ulp_reread_set_list(struct ulp_reread *reread, struct ulp_node *node, size_t input,
                                    const int64_t *from, int64_t count, struct ulp_error *error)
{
    const struct ulp_tensor like = {.type = ULP_TYPE_INT64};
    struct ulp_tensor list;
    double *numbers;
    ULP_TRY(ulp_reread_make_constant(reread, &like, 1, &count, &list, &numbers, error));
    for (int64_t i = 0; i < count; i++)
        numbers[i] = (double)(from ? from[i] : count - 1 - i);
    return ulp_reread_fill_constant(reread, node, input, &list, numbers, error);
}

const struct ulp_tensor *ulp_reread_shape(const struct ulp_reread *reread,
                                          const struct ulp_node *node, int input)
{
    const int *values = input < 0 ? node->outputs : node->inputs;
    const size_t at = input < 0 ? 0 : (size_t)input,
                 count = input < 0 ? node->output_count : node->input_count;
    const int value = at < count ? values[at] : -1,
              slot = value < 0
                         ? -1
                         : ulp_program_find_slot(reread->program, reread->graph.values[value].name);
    const struct ulp_tensor *shape = slot < 0 ? NULL : &reread->program->main->slots[slot].shape;
    bool known = shape && shape->type != ULP_TYPE_UNDEFINED;
    for (int d = 0; known && d < shape->rank; d++)
        known = shape->dims[d] >= 0;
    return known ? shape : NULL;
}
