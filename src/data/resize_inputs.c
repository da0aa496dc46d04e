/* Inputs at other sizes: a sample's own elements again and again, or fewer of them, so that indexes
 * and masks stay what they are. */
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text/text.h"
#include "data/data.h"
#include "tensor/tensor.h"

#define KEY UINT64_C(0x73697a6573) /* of the sizes that are drawn */

/* A free dimension of an input, of all that have its name. */
struct dimension {
    size_t input; /* where it is first */
    int axis;
    const char *name; /* NULL: none */
    int64_t given, drawn;
};

/* Names that differ may mean one size, as may dimensions without any: every other attempt takes
 * those that are equal in the sample for one. */
static bool is_joined(size_t attempt)
{
    return attempt % 2 != 0;
}

static bool is_same(const struct dimension *a, const struct dimension *b, bool joined)
{
    return (a->name && b->name && strcmp(a->name, b->name) == 0) ||
           (a->input == b->input && a->axis == b->axis) || (joined && a->given == b->given);
}

static const struct dimension *find_dimension(const struct dimension *list, size_t count,
                                              const struct dimension *like, bool joined)
{
    for (size_t i = 0; i < count; i++)
        if (is_same(&list[i], like, joined))
            return &list[i];
    return NULL;
}

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

static bool is_free(const struct ulp_value_info *info, const struct ulp_tensor *given, int axis)
{
    return given && info->rank == given->rank && info->dims[axis] < 0;
}

static enum ulp_status list_dimensions(const struct ulp_model *model,
                                       const struct ulp_tensor_set *inputs, size_t attempt,
                                       struct ulp_arena *arena, struct dimension **out,
                                       size_t *count, struct ulp_error *error)
{
    *count = 0;
    ULP_TAKE(*out, arena, ulp_model_input_count(model) * ULP_RANK_MAX + 1, error);
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        const struct ulp_tensor *given = ulp_tensor_set_find(inputs, info.name);
        for (int a = 0; a < info.rank; a++) {
            if (!is_free(&info, given, a))
                continue;
            const struct dimension one = {i, a, info.dim_names[a], given->dims[a],
                                          draw(attempt, *count, given->dims[a])};
            if (!find_dimension(*out, *count, &one, is_joined(attempt)))
                (*out)[(*count)++] = one;
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

static void say(struct ulp_text *said, const struct ulp_model *model, const struct dimension *list,
                size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char buffer[ULP_DIM_TEXT];
        const struct ulp_value_info info = ulp_model_input(model, list[i].input);
        ulp_text_show(said, "%s", ulp_dim_text(&info, list[i].axis, buffer));
        ulp_text_add(said, "=%lld%s", (long long)list[i].drawn, i + 1 < count ? ", " : "");
    }
}

enum ulp_status ulp_inputs_resize(const struct ulp_model *model,
                                  const struct ulp_tensor_set *inputs, size_t attempt,
                                  struct ulp_tensor_set *out, struct ulp_text *said,
                                  struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    struct dimension *list;
    size_t count;
    *out = (struct ulp_tensor_set){0};
    ULP_TRY(ulp_arena_create(&arena, ulp_model_budget(model), error));
    ULP_TRY(list_dimensions(model, inputs, attempt, arena, &list, &count, error));
    for (size_t i = 0; i < ulp_model_input_count(model) && count; i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        const struct ulp_tensor *given = ulp_tensor_set_find(inputs, info.name);
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor tensor = {0};
        int64_t dims[ULP_RANK_MAX];
        if (!given)
            continue;
        for (int a = 0; a < given->rank; a++) {
            const struct dimension one = {i, a, info.dim_names[a], given->dims[a], 0};
            dims[a] = is_free(&info, given, a)
                          ? find_dimension(list, count, &one, is_joined(attempt))->drawn
                          : given->dims[a];
        }
        ULP_TRY(ulp_tensor_describe(&tensor, given->type, given->element, given->precision,
                                    given->rank, dims, error));
        ULP_TRY(ulp_tensor_allocate(&tensor, ulp_model_budget(model), error));
        fill(&tensor, given);
        ULP_TRY(ulp_tensor_set_add(out, info.name, &tensor, error));
    }
    say(said, model, list, count);
    return ulp_taken(!said->failed, error);
}
