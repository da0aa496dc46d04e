/* Constants read otherwise, element by element. */
#include <string.h>

#include "analysis/compare/cause/reread.h"
#include "number/function/math.h"
#include "tensor/tensor.h"

/* A mask adds 0 where a place is seen, and no more than this elsewhere. */
#define MASKED (-1e3)

static size_t last_of(const struct ulp_tensor *tensor)
{
    return tensor->rank ? (size_t)tensor->dims[tensor->rank - 1] : 1;
}

static bool is_square(const struct ulp_tensor *tensor)
{
    return tensor->rank >= 2 && tensor->dims[0] == tensor->dims[1] && tensor->dims[0] > 1;
}

static double at_transposed(const struct ulp_tensor *tensor, size_t i)
{
    const size_t side = (size_t)tensor->dims[0], each = tensor->count / (side * side);
    return ulp_tensor_get(tensor, (i / each % side * side + i / each / side) * each + i % each);
}

static bool has_kernel(const struct ulp_tensor *tensor)
{
    return tensor->rank > 2 && tensor->count > (size_t)(tensor->dims[0] * tensor->dims[1]);
}

static double at_mirrored(const struct ulp_tensor *tensor, size_t i)
{
    const size_t each = tensor->count / (size_t)(tensor->dims[0] * tensor->dims[1]);
    return ulp_tensor_get(tensor, i / each * each + (each - 1 - i % each));
}

static size_t pair_of(const struct ulp_tensor *tensor, size_t i)
{
    return i - i % last_of(tensor) + i % last_of(tensor) / 2;
}

static size_t half_of(const struct ulp_tensor *tensor, size_t i)
{
    return i - i % last_of(tensor) + 2 * (i % last_of(tensor)) % last_of(tensor);
}

/* Rows whose halves are the same, as cosines of angles that are written twice. */
static bool is_halved(const struct ulp_tensor *tensor)
{
    const size_t half = last_of(tensor) / 2;
    bool is =
        tensor->rank >= 2 && half >= 2 && last_of(tensor) % 2 == 0 && tensor->count > 2 * half;
    for (size_t i = 0; i < tensor->count && is; i++)
        is = ulp_tensor_get(tensor, i) ==
             ulp_tensor_get(tensor, i - i % (2 * half) + (i + half) % (2 * half));
    return is;
}

static double at_paired(const struct ulp_tensor *tensor, size_t i)
{
    return ulp_tensor_get(tensor, pair_of(tensor, i));
}

static bool is_paired(const struct ulp_tensor *tensor)
{
    bool is = tensor->rank >= 2 && last_of(tensor) >= 4 && last_of(tensor) % 2 == 0;
    for (size_t i = 0; i < tensor->count && is; i += 2)
        is = ulp_tensor_get(tensor, i) == ulp_tensor_get(tensor, i + 1);
    return is;
}

static double at_halved(const struct ulp_tensor *tensor, size_t i)
{
    return ulp_tensor_get(tensor, half_of(tensor, i));
}

static bool is_mask(const struct ulp_tensor *tensor)
{
    bool is = tensor->rank >= 2 && last_of(tensor) > 2, seen = false, hidden = false;
    for (size_t i = 0; i < tensor->count && is; i++) {
        const double x = ulp_tensor_get(tensor, i);
        const bool boolean = tensor->type == ULP_TYPE_BOOL;
        seen |= boolean ? x != 0 : x == 0;
        hidden |= boolean ? x == 0 : x <= MASKED;
        is = boolean || x == 0 || x <= MASKED;
    }
    return is && seen && hidden;
}

static double at_wider(const struct ulp_tensor *tensor, size_t i)
{
    const bool last = i % last_of(tensor) + 1 == last_of(tensor);
    return ulp_math_max(ulp_tensor_get(tensor, i), ulp_tensor_get(tensor, last ? i : i + 1));
}

static double at_narrower(const struct ulp_tensor *tensor, size_t i)
{
    return ulp_math_min(ulp_tensor_get(tensor, i),
                        ulp_tensor_get(tensor, i % last_of(tensor) ? i - 1 : i));
}

static bool has_other(const struct ulp_tensor *tensor)
{
    bool has = false;
    for (size_t i = 1; i < tensor->count && !has; i++)
        has = ulp_tensor_get(tensor, i) != ulp_tensor_get(tensor, 0);
    return has;
}

static double at_first(const struct ulp_tensor *tensor, size_t i)
{
    (void)i;
    return ulp_tensor_get(tensor, 0);
}

static bool has_value(const struct ulp_tensor *tensor)
{
    return has_other(tensor) || (tensor->count && ulp_tensor_get(tensor, 0) != 0);
}

static double at_zero(const struct ulp_tensor *tensor, size_t i)
{
    (void)tensor;
    (void)i;
    return 0;
}

static const struct {
    const char *name;
    bool (*fits)(const struct ulp_tensor *tensor);
    ulp_reread_map at;
} maps[] = {{"@transposed", is_square, at_transposed},
            {"@mirrored", has_kernel, at_mirrored},
            {"@paired", is_halved, at_paired},
            {"@halved", is_paired, at_halved},
            {"@wider", is_mask, at_wider},
            {"@narrower", is_mask, at_narrower},
            {"@first", has_other, at_first},
            {"@zero", has_value, at_zero}};

ulp_reread_map ulp_reread_map_find(const char *name, const struct ulp_tensor *from)
{
    for (size_t m = 0; m < sizeof maps / sizeof *maps; m++)
        if (strcmp(maps[m].name, name) == 0 && maps[m].fits(from))
            return maps[m].at;
    return NULL;
}
