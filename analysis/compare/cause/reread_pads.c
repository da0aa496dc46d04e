/* Windows read otherwise: padding that follows from shapes. */
#include <string.h>

#include "analysis/compare/cause/reread.h"
#include "base/error.h"

static int64_t list_int(const struct ulp_node *node, const char *name, size_t i, int64_t fallback)
{
    const struct ulp_attribute *list = ulp_node_attribute(node, name);
    return list && i < list->count ? list->ints[i] : fallback;
}

static int64_t kernel_of(const struct ulp_reread *reread, const struct ulp_node *node, size_t d)
{
    const struct ulp_tensor *weights = ulp_reread_shape(reread, node, 1);
    return list_int(node, "kernel_shape", d, weights ? weights->dims[d + 2] : 1);
}

/* How many places the windows of axis d take beyond the input, before and behind it together. */
static int64_t reach(const struct ulp_reread *reread, const struct ulp_node *node, size_t d)
{
    const struct ulp_tensor *in = ulp_reread_shape(reread, node, 0),
                            *out = ulp_reread_shape(reread, node, -1);
    return (out->dims[d + 2] - 1) * list_int(node, "strides", d, 1) +
           (kernel_of(reread, node, d) - 1) * list_int(node, "dilations", d, 1) + 1 -
           in->dims[d + 2];
}

/* The padding before and behind axis d that the change gives. */
static void give_pads(const struct ulp_reread *reread, const struct ulp_node *node, size_t d,
                      size_t axes, const char *change, int64_t *first, int64_t *last)
{
    const int64_t all = reach(reread, node, d), total = all > 0 ? all : 0;
    int64_t less = 0; /* of what is before */
    *first = list_int(node, "pads", d, 0);
    *last = list_int(node, "pads", axes + d, 0);
    if (ulp_is_word(change, "@same @lower")) {
        *first = (total + (change[1] == 'l')) / 2;
        *last = total - *first;
    } else if (strcmp(change, "@counted") == 0) {
        *last = total - *first;
    } else if (strcmp(change, "@undilated") == 0) {
        less = (list_int(node, "dilations", d, 1) - 1) * (kernel_of(reread, node, d) - 1);
        *last -= less - less / 2;
        less /= 2;
    } else if (*first || *last) {
        less = change[1] == 's' ? 1 : -1;
        *last += less;
    }
    *first -= less;
}

/* Padding that follows from the shapes: of ceil_mode, whose places beyond the end count, SAME, or
 * without dilations; or windows that are a place further. */
enum ulp_status ulp_reread_pads(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_reread *reread = change->reread;
    struct ulp_node *node = ulp_reread_at(change);
    const struct ulp_tensor *in = ulp_reread_shape(reread, node, 0),
                            *out = ulp_reread_shape(reread, node, -1);
    int64_t pads[2 * ULP_RANK_MAX] = {0}, ones[ULP_RANK_MAX];
    if (!in || !out || in->rank < 3 || out->rank != in->rank)
        return ULP_OK;
    const size_t axes = (size_t)in->rank - 2;
    for (size_t d = 0; d < axes; d++) {
        ones[d] = 1;
        give_pads(reread, node, d, axes, change->word, &pads[d], &pads[axes + d]);
        change->changed |= pads[axes + d] != list_int(node, "pads", axes + d, 0) ||
                           pads[d] != list_int(node, "pads", d, 0);
        pads[axes + d] = pads[axes + d] < 0 ? 0 : pads[axes + d];
    }
    if (!change->changed)
        return ULP_OK;
    const struct ulp_attribute none = {.name = "auto_pad",
                                       .kind = ULP_ATTRIBUTE_STRING,
                                       .s = "NOTSET"};
    ULP_TRY(ulp_reread_set_attribute(reread, node, &none, error));
    ULP_TRY(ulp_reread_set_ints(reread, node, "pads", pads, 2 * axes, error));
    if (strcmp(change->word, "@undilated") == 0)
        return ulp_reread_set_ints(reread, node, "dilations", ones, axes, error);
    if (strcmp(change->word, "@counted") == 0) {
        ULP_TRY(ulp_reread_set_int(reread, node, "ceil_mode", 0, error));
        ULP_TRY(ulp_reread_set_int(reread, node, "count_include_pad", 1, error));
    }
    return ULP_OK;
}
