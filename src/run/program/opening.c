/* What a program at drawn sizes does where a node refuses them (open_program.h). */
#include "base/error.h"
#include "ops/infer.h"
#include "run/program/open_program.h"

bool ulp_opening_refused(const struct ulp_opening *opening, enum ulp_status status,
                         const struct ulp_error *error)
{
    return opening && (status == ULP_ERROR_INPUT || (status == ULP_ERROR_MEMORY &&
                                                     strstr(error->message, ULP_TENSOR_TOO_LARGE)));
}

int64_t ulp_opening_size(struct ulp_opening *opening, const char *input, const char *name,
                         int dimension)
{
    const struct ulp_free_size *size = ulp_sizes_find(opening->sizes, input, name, dimension);
    return size ? size->size : opening->unlike++;
}

/* Dimensions, counted from the last, that do not broadcast, or that are not equal beside the axis
 * of a Concat (0: of none). */
static enum ulp_status widen_dims(struct ulp_opening *opening, struct ulp_call *call,
                                  struct ulp_tensor *views, int axis, struct ulp_error *error)
{
    for (int back = 1; back <= ULP_RANK_MAX; back++) {
        int64_t size = 1;
        bool fits = true;
        for (size_t i = 0; i < call->input_count && back != axis; i++) {
            const int64_t here = back <= views[i].rank ? views[i].dims[views[i].rank - back] : 1;
            fits &= (axis && i == 0) || (!axis && (here == 1 || size == 1)) || here == size;
            size = axis || size == 1 ? here : size;
        }
        const int64_t unlike = fits ? 0 : opening->unlike++;
        for (size_t i = 0; i < call->input_count && !fits; i++) {
            struct ulp_tensor shape = {0};
            int64_t dims[ULP_RANK_MAX];
            if (back > views[i].rank || (!axis && views[i].dims[views[i].rank - back] == 1))
                continue;
            memcpy(dims, views[i].dims, sizeof dims);
            dims[views[i].rank - back] = unlike;
            ULP_TRY(ulp_tensor_describe(&shape, views[i].type, ULP_ELEMENT_COUNT, 0, views[i].rank,
                                        dims, error));
            ulp_tensor_free(&views[i]);
            views[i] = shape;
        }
    }
    return ULP_OK;
}

/* A Reshape to a known shape has it, whatever it is of. */
static enum ulp_status take_target(struct ulp_opening *opening, struct ulp_call *call,
                                   const struct ulp_tensor *views, struct ulp_error *error)
{
    int64_t dims[ULP_RANK_MAX];
    for (size_t d = 0; d < views[1].count; d++) {
        dims[d] = ulp_tensor_get_int(&views[1], d);
        if (dims[d] == 0 && (int)d < views[0].rank)
            dims[d] = views[0].dims[d];
        if (dims[d] < 0)
            dims[d] = opening->unlike++;
    }
    return ulp_tensor_describe(&call->out[0], views[0].type, ULP_ELEMENT_COUNT, 0,
                               (int)views[1].count, dims, error);
}

enum ulp_status ulp_opening_widen(struct ulp_opening *opening, const struct ulp_step *step,
                                  struct ulp_call *call, struct ulp_tensor *views, bool *again,
                                  struct ulp_error *error)
{
    const bool broadcasts = step->bound.op->infer == ulp_infer_broadcast ||
                            step->bound.op->infer == ulp_infer_broadcast_bool,
               joins = strcmp(step->bound.op->name, "Concat") == 0 && call->input_count > 0;
    const int64_t axis = joins ? ulp_node_int(step->bound.node, "axis", 0) : 0;
    opening->refused++;
    *again = broadcasts || joins;
    if (*again)
        return widen_dims(opening, call, views,
                          !joins ? 0 : (int)(axis < 0 ? -axis : views[0].rank - axis), error);
    if (strcmp(step->bound.op->name, "Reshape") == 0 && call->input_count == 2 && views[1].data &&
        views[1].count <= ULP_RANK_MAX)
        return take_target(opening, call, views, error);
    return ULP_ERROR_INPUT;
}
