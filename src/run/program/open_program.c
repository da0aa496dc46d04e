/* Programs at drawn sizes (open_program.h). */
#include "run/program/open_program.h"

#include "base/error.h"

/* A small size is within a table of positions; a large one is not rounded down to the same as a
 * small one by strides. Sizes like no other begin beyond those of a few dimensions. */
enum { SMALL = 5, LARGE = 401, UNLIKE = 1009 };
/* Convolutions, patches and windows ask for multiples, and for some room. */
static const int64_t factors[] = {1, 8, 64, 448};
/* Beyond so many programs the sizes are left as they are. */
#define TRIES_MAX 16

static int64_t find_prime(int64_t from, size_t index)
{
    for (;; from++) {
        bool prime = true;
        for (int64_t i = 2; i * i <= from && prime; i++)
            prime = from % i != 0;
        if (prime && index-- == 0)
            return from;
    }
}

static enum ulp_status count_refused(const struct ulp_model *model, const struct ulp_sizes *sizes,
                                     size_t *out, struct ulp_error *error)
{
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    ULP_TRY(ulp_program_open(model, sizes, NULL, false, &program, error));
    *out = program->opening->refused;
    return ULP_OK;
}

enum ulp_status ulp_sizes_draw(const struct ulp_model *model, uint64_t seed,
                               struct ulp_sizes *sizes, struct ulp_error *error)
{
    const bool large = seed % 2;
    const size_t count = sizes->count, shift = (size_t)(seed / 2) + large;
    size_t least, tries = 1;
    for (size_t i = 0; i < count; i++)
        sizes->items[i].size = find_prime(large ? LARGE : SMALL, i + shift);
    ULP_TRY(count_refused(model, sizes, &least, error));
    for (size_t i = 0; i < count; i++) {
        int64_t best = sizes->items[i].size;
        for (size_t f = 0; f < sizeof factors / sizeof *factors && least && tries < TRIES_MAX;
             f++) {
            size_t now;
            sizes->items[i].size = find_prime(SMALL, i + shift) * factors[f];
            tries++;
            ULP_TRY(count_refused(model, sizes, &now, error));
            if (now < least) {
                least = now;
                best = sizes->items[i].size;
            }
        }
        sizes->items[i].size = best;
    }
    return ULP_OK;
}

enum ulp_status ulp_program_open(const struct ulp_model *model, const struct ulp_sizes *sizes,
                                 const struct ulp_program_options *options, bool overriding,
                                 struct ulp_program **out, struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic;
    const struct ulp_opening opening = {.sizes = sizes, .overriding = overriding, .unlike = UNLIKE};
    const struct ulp_program_options shapes = {.inputs = options ? options->inputs : NULL};
    ULP_TRY(ulp_arithmetic_find("model", &arithmetic, error));
    return ulp_program_make(model, &arithmetic, 1, &shapes, &opening, out, error);
}
