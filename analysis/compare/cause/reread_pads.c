/* Windows read otherwise: padding that follows from shapes. */
#include <string.h>

#include "analysis/compare/cause/reread.h"
#include "base/error.h"

/* Of an input, or of the result (-1); NULL: it is not known. */
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

static int64_t list_int(const struct ulp_node *node, const char *name, size_t i, int64_t fallback)
{
    const struct ulp_attribute *list = ulp_node_attribute(node, name);
    return list && i < list->count ? list->ints[i] : fallback;
}

/* How many places the windows of axis d take beyond the input, before and behind it together. */
static int64_t reach(const struct ulp_reread *reread, const struct ulp_node *node, size_t d)
{
    const struct ulp_tensor *in = ulp_reread_shape(reread, node, 0),
                            *out = ulp_reread_shape(reread, node, -1),
                            *weights = ulp_reread_shape(reread, node, 1);
    const int64_t kernel = list_int(node, "kernel_shape", d, weights ? weights->dims[d + 2] : 1);
    return (out->dims[d + 2] - 1) * list_int(node, "strides", d, 1) +
           (kernel - 1) * list_int(node, "dilations", d, 1) + 1 - in->dims[d + 2];
}

/* Padding that follows from the shapes: of ceil_mode, whose places beyond the end count, or SAME.
 */
enum ulp_status ulp_reread_pads(struct ulp_reread *reread, struct ulp_node *node,
                                const char *change, bool *changed, struct ulp_error *error)
{
    const struct ulp_tensor *in = ulp_reread_shape(reread, node, 0),
                            *out = ulp_reread_shape(reread, node, -1);
    const bool counted = strcmp(change, "@counted") == 0, lower = strcmp(change, "@lower") == 0;
    int64_t pads[2 * ULP_RANK_MAX] = {0};
    if (!in || !out || in->rank < 3 || out->rank != in->rank)
        return ULP_OK;
    const size_t axes = (size_t)in->rank - 2;
    for (size_t d = 0; d < axes; d++) {
        const int64_t all = reach(reread, node, d), total = all > 0 ? all : 0;
        pads[d] = counted ? list_int(node, "pads", d, 0) : (total + lower) / 2;
        pads[axes + d] = total - pads[d];
        *changed |= pads[axes + d] != list_int(node, "pads", axes + d, 0) ||
                    pads[d] != list_int(node, "pads", d, 0);
        if (pads[axes + d] < 0)
            pads[axes + d] = 0;
    }
    if (!*changed)
        return ULP_OK;
    const struct ulp_attribute none = {.name = "auto_pad",
                                       .kind = ULP_ATTRIBUTE_STRING,
                                       .s = "NOTSET"};
    ULP_TRY(ulp_reread_set_attribute(reread, node, &none, error));
    ULP_TRY(ulp_reread_set_ints(reread, node, "pads", pads, 2 * axes, error));
    if (counted) {
        ULP_TRY(ulp_reread_set_int(reread, node, "ceil_mode", 0, error));
        ULP_TRY(ulp_reread_set_int(reread, node, "count_include_pad", 1, error));
    }
    return ULP_OK;
}
