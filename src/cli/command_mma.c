/* ulpscope mma: a matrix unit on raw bit patterns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "command.h"
#include "kernels/unit/unit.h"

struct mma_options {
    const char *words[3]; /* UNIT IN.npz OUT.npz */
    int word_count;
    int threads;
    bool list;
};

/* clang-format off */
static const struct argp_option option_list[] = {
    {"list", 'l', 0, 0, "List the units and where each one's parameters come from", 0},
    {"threads", 't', "N", 0, "Threads (default: all processors)", 0},
    {0},
};
/* clang-format on */

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct mma_options *options = state->input;
    int64_t threads;
    switch (key) {
    case 'l': options->list = true; return 0;
    case 't':
        if (!parse_integer(argument, 1, 1024, &threads))
            refuse(state, "--threads %s: expected 1 to 1024", argument);
        options->threads = (int)threads;
        return 0;
    case ARGP_KEY_ARG:
        if (options->word_count == 3)
            refuse(state, "too many arguments: '%s'", argument);
        options->words[options->word_count++] = argument;
        return 0;
    case ARGP_KEY_END:
        if (!options->list && options->word_count != 3)
            refuse(state, "expected UNIT IN.npz OUT.npz, or --list");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "Run a GPU's matrix unit on raw bit patterns. IN.npz has a [T,M,K], b [T,N,K] and c [T,M,N] (c "
    "may be left out: zero), unsigned integers "
    "of the formats' width; block-scaled units also scale_a [T,M,K/block] and scale_b "
    "[T,N,K/block]. OUT.npz gets d [T,M,N] in the "
    "accumulator's format. K beyond the unit's block chains blocks."
    "\vExamples:\n"
    "  ulpscope mma --list\n"
    "  ulpscope mma h200.mma.f16.f32 in.npz out.npz\n"
    "  ulpscope mma v100.mma.f16.f16 in.npz out.npz\n"
    "In Python: np.savez('in.npz', a=a.astype(np.float16).view(np.uint16), b=..., "
    "c=c.astype(np.float32).view(np.uint32))";

static void list_units(void)
{
    const struct ulp_unit *unit;
    size_t count = 0;
    say(stdout, "%-26s %5s %8s  %s\n", "unit", "block", "fraction", "parameters");
    for (; (unit = ulp_unit_row(count)) != NULL; count++) {
        char name[64];
        say(stdout, "%-26s %5d %8d  %s\n", ulp_unit_name(unit, name, sizeof name), unit->block,
            unit->fraction_bits, ulp_unit_status(unit));
    }
    say(stdout, "%zu units\n", count);
}

/* Bits of an unsigned integer element; 0: it is none. */
static int unsigned_bits(const struct ulp_tensor *tensor)
{
    switch (tensor->element) {
    case ULP_ELEMENT_U8: return 8;
    case ULP_ELEMENT_U16: return 16;
    case ULP_ELEMENT_U32: return 32;
    case ULP_ELEMENT_U64: return 64;
    default: return 0;
    }
}

/* Array `name` of IN.npz with these dimensions (0: any) and bits. Missing: *out is NULL. */
static enum ulp_status find_array(const struct ulp_tensor_set *set, const char *name, int bits,
                                  const int64_t dims[3], const struct ulp_tensor **out,
                                  struct ulp_error *error)
{
    const struct ulp_tensor *tensor = ulp_tensor_set_find(set, name);
    *out = tensor;
    if (!tensor)
        return ULP_OK;
    if (unsigned_bits(tensor) != bits)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "array '%s' is %s: this unit takes raw patterns as UINT%d", name,
                        ulp_type_name(tensor->type), bits);
    bool fits = tensor->rank == 3;
    for (int d = 0; d < 3 && fits; d++)
        fits = dims[d] == 0 || tensor->dims[d] == dims[d];
    if (!fits)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "array '%s': expected 3 dimensions that fit the others: a [T,M,K], b "
                        "[T,N,K], c [T,M,N]",
                        name);
    return ULP_OK;
}

static enum ulp_status missing(const char *name, const char *path, struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_INPUT, "%s: there is no array '%s'", path, name);
}

static enum ulp_status run_unit(const struct ulp_unit *unit, const char *path,
                                const struct ulp_tensor_set *set, struct ulp_pool *pool,
                                struct ulp_tensor *d, struct ulp_error *error)
{
    static const enum ulp_type types[] = {
        [2] = ULP_TYPE_UINT16, [4] = ULP_TYPE_UINT32, [8] = ULP_TYPE_UINT64};
    int bits = ulp_unit_input(unit)->bits, accumulator_bits = ulp_unit_accumulator_bits(unit);
    const struct ulp_tensor *a, *b, *c, *scale_a = NULL, *scale_b = NULL;
    enum ulp_status status = find_array(set, "a", bits, (int64_t[3]){0, 0, 0}, &a, error);
    if (status == ULP_OK && !a)
        status = missing("a", path, error);
    if (status == ULP_OK)
        status = find_array(set, "b", bits, (int64_t[3]){a->dims[0], 0, a->dims[2]}, &b, error);
    if (status == ULP_OK && !b)
        status = missing("b", path, error);
    if (status != ULP_OK)
        return status;
    int64_t dims[3] = {a->dims[0], a->dims[1], b->dims[1]};
    status = find_array(set, "c", accumulator_bits, dims, &c, error);
    if (status == ULP_OK && unit->scale_block) {
        int64_t scales = (a->dims[2] + unit->scale_block - 1) / unit->scale_block;
        status = find_array(set, "scale_a", 8, (int64_t[3]){a->dims[0], a->dims[1], scales},
                            &scale_a, error);
        if (status == ULP_OK)
            status = find_array(set, "scale_b", 8, (int64_t[3]){b->dims[0], b->dims[1], scales},
                                &scale_b, error);
        if (status == ULP_OK && (!scale_a || !scale_b))
            status = missing(scale_a ? "scale_b" : "scale_a", path, error);
    }
    if (status == ULP_OK)
        status =
            ulp_tensor_create(d, types[accumulator_bits / 8], ULP_ELEMENT_COUNT, 0, 3, dims, error);
    if (status != ULP_OK)
        return status;
    memset(d->data, 0, d->count * d->element_bytes);
    struct ulp_unit_problem problem = {
        .t = (size_t)dims[0],
        .m = (size_t)dims[1],
        .n = (size_t)dims[2],
        .k = (size_t)a->dims[2],
        .a = a->data,
        .b = b->data,
        .c = c ? c->data : d->data,
        .scale_a = scale_a ? scale_a->data : NULL,
        .scale_b = scale_b ? scale_b->data : NULL,
        .d = d->data,
    };
    return ulp_unit_run(unit, &problem, pool, error);
}

static enum ulp_status run_mma(const struct mma_options *options, struct ulp_error *error)
{
    struct ulp_tensor_set in = {0}, out = {0};
    struct ulp_tensor d = {0};
    struct ulp_pool *pool = NULL;
    const struct ulp_unit *unit = ulp_unit_find(options->words[0]);
    if (!unit)
        return ulp_fail(error, ULP_ERROR_USAGE, "there is no unit '%s' (ulpscope mma --list)",
                        options->words[0]);
    enum ulp_status status = ulp_tensor_set_read(options->words[1], NULL, &in, error);
    if (status == ULP_OK)
        status = ulp_pool_create(&pool, options->threads, error);
    if (status == ULP_OK)
        status = run_unit(unit, options->words[1], &in, pool, &d, error);
    if (status == ULP_OK)
        status = ulp_tensor_set_add(&out, "d", &d, error);
    if (status == ULP_OK)
        status = ulp_tensor_set_write_npz(options->words[2], &out, error);
    ulp_tensor_free(&d);
    ulp_pool_free(pool);
    ulp_tensor_set_free(&in);
    ulp_tensor_set_free(&out);
    return status;
}

int command_mma(int argc, char **argv)
{
    static const struct argp argp = {option_list,   parse_option, "UNIT IN.npz OUT.npz\n--list",
                                     documentation, NULL,         NULL,
                                     NULL};
    struct mma_options options = {0};
    struct ulp_error error = {0};
    if (parse_arguments(&argp, argc, argv, &options) != ULP_OK)
        return ULP_ERROR_MEMORY;
    if (options.list) {
        list_units();
        return ULP_OK;
    }
    return run_mma(&options, &error) == ULP_OK ? ULP_OK : fail(&error);
}
