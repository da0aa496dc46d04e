/* Inputs at other sizes: a sample's own elements again and again, or fewer of them, so that indexes
 * and masks stay what they are. */
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text/text.h"
#include "data/data.h"
#include "data/free_sizes.h"
#include "tensor/tensor.h"

#define KEY UINT64_C(0x73697a6573) /* of the sizes that are drawn */

/* Small sizes first; then such as lie around the given one; then, of images, multiples of what
 * networks halve them by. */
static int64_t draw(size_t attempt, size_t index, int64_t given)
{
    static const int64_t small[] = {2, 3, 5, 7, 4, 6, 8, 12};
    const int64_t around[] = {given + 1, given + 2, given - 1, 2 * given,
                              given / 2, given / 4, given + 4, given + 8},
                  whole[] = {32, 64, 96, 16, 128, 48, 24, 160};
    enum { CHOICES = sizeof small / sizeof *small };
    const int64_t *const lists[] = {small, around, whole};
    const size_t late = attempt * 3 / ULP_RESIZE_ATTEMPTS, row = late == 2 && given < 16 ? 0 : late,
                 start = (size_t)ulp_random_bits(KEY, attempt * 97 + index) % CHOICES;
    for (size_t i = 0; i < CHOICES; i++) {
        const int64_t size = lists[row][(start + i) % CHOICES];
        if (size > 0 && size != given)
            return size;
    }
    return given + 1;
}

/* Names that differ may mean one size, as may dimensions without any: every other attempt takes
 * those that are equal in the sample for one. */
static enum ulp_status draw_all(struct ulp_sizes *sizes, const struct ulp_tensor_set *inputs,
                                size_t attempt, struct ulp_arena *arena, struct ulp_text *said,
                                struct ulp_error *error)
{
    size_t drawn = 0;
    ULP_TAKE_ARRAY(int64_t, given, arena, sizes->count + 1, error);
    for (size_t i = 0; i < sizes->count; i++) {
        struct ulp_free_size *item = &sizes->items[i];
        char buffer[ULP_DIM_TEXT];
        size_t like = attempt % 2 ? 0 : i;
        given[i] = item->size;
        while (like < i && given[like] != given[i])
            like++;
        if (like < i)
            item->size = sizes->items[like].size;
        else if (ulp_tensor_set_find(inputs, item->input)) {
            item->size = draw(attempt, drawn, given[i]);
            ulp_text_show(said, "%s%s", drawn++ ? ", " : "",
                          ulp_free_size_text(item, buffer, sizeof buffer));
            ulp_text_add(said, "=%lld", (long long)item->size);
        }
    }
    return ULP_OK;
}

/* Element by element of the new tensor, the place in the given one modulo its sizes. */
static void fill(struct ulp_tensor *to, const struct ulp_tensor *from)
{
    const size_t bytes = from->element_bytes;
    int64_t at[ULP_RANK_MAX] = {0};
    if (!from->count)
        memset(to->data, 0, to->count * bytes);
    for (size_t i = 0; i < to->count && from->count; i++) {
        size_t source = 0;
        for (int a = 0; a < to->rank; a++)
            source = source * (size_t)from->dims[a] + (size_t)(at[a] % from->dims[a]);
        memcpy((char *)to->data + i * bytes, (const char *)from->data + source * bytes, bytes);
        for (int a = to->rank - 1; a >= 0 && ++at[a] == to->dims[a]; a--)
            at[a] = 0;
    }
}

enum ulp_status ulp_inputs_resize(const struct ulp_model *model,
                                  const struct ulp_tensor_set *inputs, size_t attempt,
                                  struct ulp_tensor_set *out, struct ulp_text *said,
                                  struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    struct ulp_sizes sizes;
    *out = (struct ulp_tensor_set){0};
    ULP_TRY(ulp_arena_create(&arena, ulp_model_budget(model), error));
    ULP_TRY(ulp_sizes_list(model, inputs, NULL, 0, arena, &sizes, error));
    ULP_TRY(draw_all(&sizes, inputs, attempt, arena, said, error));
    for (size_t i = 0; i < ulp_model_input_count(model) && said->length; i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        const struct ulp_tensor *given = ulp_tensor_set_find(inputs, info.name);
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor tensor = {0};
        int64_t dims[ULP_RANK_MAX];
        if (!given)
            continue;
        for (int a = 0; a < given->rank; a++) {
            const struct ulp_free_size *size =
                info.rank == given->rank && info.dims[a] < 0
                    ? ulp_sizes_find(&sizes, info.name, info.dim_names[a], a)
                    : NULL;
            dims[a] = size ? size->size : given->dims[a];
        }
        ULP_TRY(ulp_tensor_describe(&tensor, given->type, given->element, given->precision,
                                    given->rank, dims, error));
        ULP_TRY(ulp_tensor_allocate(&tensor, ulp_model_budget(model), error));
        fill(&tensor, given);
        ULP_TRY(ulp_tensor_set_add(out, info.name, &tensor, error));
    }
    return ulp_taken(!said->failed, error);
}
