/* Bringing recorded tensors into the graph's layout: TensorFlow and others put channels last. */
#include <string.h>

#include "analysis/compare/comparing.h"
#include "base/error.h"

/* What turns one layout into the other: `count` matrices, [rows][columns] in the graph. */
struct turn {
    size_t count, rows, columns;
};

/* Is `last` (its dimensions from `first` on) what `front` is with the first of them moved to the
 * end? */
static bool is_moved(const int64_t *front, const int64_t *last, int first, int rank)
{
    for (int d = first; d < rank; d++)
        if (last[d] != front[d + 1 < rank ? d + 1 : first])
            return false;
    return true;
}

static bool find_turn(const struct ulp_tensor *recorded, const struct ulp_tensor *like,
                      struct turn *turn)
{
    const int rank = like->rank;
    if (recorded->rank != rank || !like->count || ulp_tensor_same_shape(recorded, like))
        return false;
    for (int first = 1; first >= 0; first--) { /* with and without a batch */
        const bool to_front = is_moved(like->dims, recorded->dims, first, rank),
                   to_end = is_moved(recorded->dims, like->dims, first, rank);
        if (rank - first < 3 || (first && recorded->dims[0] != like->dims[0]) ||
            (!to_front && !to_end))
            continue;
        turn->count = first ? (size_t)like->dims[0] : 1;
        const size_t each = like->count / turn->count,
                     channels = (size_t)like->dims[to_front ? first : rank - 1];
        turn->rows = to_front ? channels : each / channels;
        turn->columns = each / turn->rows;
        return true;
    }
    return false;
}

enum ulp_status ulp_layout_turn(struct ulp_tensor *out, const struct ulp_tensor *recorded,
                                const struct ulp_tensor *like, struct ulp_budget *budget,
                                struct ulp_error *error)
{
    struct turn turn;
    *out = (struct ulp_tensor){0};
    if (!find_turn(recorded, like, &turn))
        return ULP_OK;
    ULP_TRY(ulp_tensor_copy(out, recorded, budget, error));
    memcpy(out->dims, like->dims, sizeof out->dims);
    const size_t bytes = out->element_bytes, each = turn.rows * turn.columns;
    char *to = out->data;
    for (size_t m = 0; m < turn.count; m++)
        for (size_t r = 0; r < turn.rows; r++)
            for (size_t c = 0; c < turn.columns; c++, to += bytes)
                memcpy(to, (const char *)recorded->data + (m * each + c * turn.rows + r) * bytes,
                       bytes);
    return ULP_OK;
}
