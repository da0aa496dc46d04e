/* Random inputs at sizes that the model takes, found by trying: its own shape functions, and a run
 * in FP64, say whether it does. One of a single element shows little of what sums and norms do, and
 * networks that halve an image or window a signal refuse it. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/machine/environment.h"
#include "base/memory/alloc.h"
#include "base/options.h"
#include "data/data.h"
#include "data/free_sizes.h"
#include "run/program/program.h"
#include "run/random_inputs.h"

/* Those that most models take come first; then rare ones: a window of audio, an image that is not
 * scaled, a table of a few positions. */
static const int64_t sizes[] = {64, 32, 48, 256, 512, 1024, 16000, 320, 224, 640, 480, 16, 128, 8};
enum { SIZES = sizeof sizes / sizeof *sizes };
/* Where they are not all alike: a cache beside the tokens that it is joined with, an image's sides,
 * a batch that stands second. Of up to so many dimensions. */
enum { APART_MAX = 4, WAYS = 5, TRIES_MAX = 700, OPEN_MAX = 100, WEIGHTS_MAX = 50, EMPTY_MAX = 6 };
static const int64_t apart[] = {64, 8, 256};
/* Beyond, inputs are no example any more. */
#define ELEMENTS_MAX 1e7
/* From here on an empty output is no reason to try further sizes. */
#define EMPTY_ELEMENTS_MAX 1e5

struct fitting {
    const struct ulp_model *model;
    struct ulp_random_options options; /* dims: those that are given, then those that are open */
    struct ulp_dim_value *dims;
    size_t given, open;
    struct ulp_arithmetic fp64;
    struct ulp_tensor_set *out;
    bool found, empty; /* empty: the last run left an output so */
    size_t empty_count;
    struct ulp_error refused[2]; /* the first two */
    size_t refused_count;
};

/* ---- what is open ---- */

/* Does a symbol stand first in an input that has other dimensions, or say that it is a batch's? */
static bool is_batch(const struct ulp_model *model, const struct ulp_free_size *size)
{
    bool is = size->name && (strstr(size->name, "batch") || strstr(size->name, "Batch"));
    for (size_t i = 0; i < ulp_model_input_count(model) && !is; i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        const char *first = info.rank > 1 ? info.dim_names[0] : NULL;
        is = size->name
                 ? first && strcmp(first, size->name) == 0
                 : info.rank > 1 && size->dimension == 0 && strcmp(info.name, size->input) == 0;
    }
    return is;
}

/* Behind those that are given what needs a size. */
static enum ulp_status open(struct fitting *f, struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_dim_value *given = f->options.dims;
    struct ulp_sizes all;
    ULP_TRY(ulp_sizes_list(f->model, NULL, NULL, 0, arena, &all, error));
    ULP_TAKE(f->dims, arena, f->given + all.count + 1, error);
    for (size_t i = 0; i < f->given; i++)
        f->dims[i] = given[i];
    for (size_t i = 0; i < all.count; i++) {
        char buffer[ULP_DIM_TEXT];
        const char *name = ulp_free_size_text(&all.items[i], buffer, sizeof buffer);
        bool settled = is_batch(f->model, &all.items[i]);
        for (size_t g = 0; g < f->given; g++)
            settled |= strcmp(given[g].name, name) == 0;
        char *copy = settled ? NULL : ulp_arena_copy(arena, name);
        ULP_TRY(ulp_taken(settled || copy, error));
        if (!settled)
            f->dims[f->given + f->open++].name = copy;
    }
    if (f->open > OPEN_MAX)
        f->open = 0;
    f->options.dims = f->dims;
    f->options.dim_count = f->given + f->open;
    return f->open ? ulp_arithmetic_find("fp64", &f->fp64, error) : ULP_OK;
}

/* ---- trying ---- */

/* Nothing, as of less than a window; floats that are all 0, as of less than a frame, or NaN, as the
 * deviation of a single one. */
static bool is_empty(const struct ulp_tensor *output)
{
    bool zero = true, nan = false;
    for (size_t i = 0; i < output->count && ulp_element_is_float(output->element); i++) {
        zero &= ulp_tensor_get(output, i) == 0;
        nan |= isnan(ulp_tensor_get(output, i));
    }
    return !output->count || (ulp_element_is_float(output->element) && (zero || nan));
}

static enum ulp_status run(struct fitting *f, const struct ulp_tensor_set *inputs,
                           struct ulp_error *error)
{
    const struct ulp_program_options options = {.inputs = inputs};
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set outputs = {0};
    ULP_TRY(ulp_program_create(f->model, &f->fp64, 1, &options, &program, error));
    ULP_TRY(ulp_program_run(program, inputs, NULL, NULL, 0, &outputs, NULL, error));
    f->empty = false;
    for (size_t o = 0; o < outputs.count; o++)
        f->empty |= is_empty(&outputs.items[o].tensor);
    return ULP_OK;
}

static double count_elements(const struct fitting *f)
{
    double sum = 0;
    for (size_t i = 0; i < ulp_model_input_count(f->model); i++) {
        const struct ulp_value_info info = ulp_model_input(f->model, i);
        double count = 1;
        for (int d = 0; d < info.rank; d++) {
            count *= (double)ulp_dim_size(&info, d, f->dims, f->given + f->open);
        }
        sum += count;
    }
    return sum;
}

static enum ulp_status attempt(struct fitting *f, struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set inputs = {0};
    struct ulp_error refused = {0};
    if (count_elements(f) > ELEMENTS_MAX)
        return ULP_OK;
    enum ulp_status status = ulp_random_inputs_at(f->model, &f->options, &inputs, &refused);
    ULP_THEN(status, run(f, &inputs, &refused));
    f->found = status == ULP_OK && (!f->empty || f->empty_count++ == EMPTY_MAX ||
                                    count_elements(f) > EMPTY_ELEMENTS_MAX);
    if (status == ULP_OK && (!f->empty || f->empty_count == 1)) {
        ulp_tensor_set_free(f->out);
        *f->out = inputs; /* the first of those that leave an output empty, for want of others */
        inputs = (struct ulp_tensor_set){0};
    } else if (status != ULP_OK && !ulp_program_refuses(status)) {
        return ulp_fail_lines(error, status, refused.message);
    } else if (status != ULP_OK && f->refused_count++ < 2)
        f->refused[f->refused_count - 1] = refused;
    return ULP_OK;
}

/* Sizes make no difference to what is not supported; others are not sought for long. */
static bool is_vain(const struct fitting *f)
{
    const struct ulp_error *refused = f->refused;
    return (f->refused_count == 2 && refused->status == ULP_ERROR_UNSUPPORTED &&
            strcmp(refused[0].message, refused[1].message) == 0) ||
           f->refused_count == TRIES_MAX;
}

static enum ulp_status try_alike(struct fitting *f, struct ulp_error *error)
{
    for (size_t s = 0; s < SIZES && !f->found && !is_vain(f); s++) {
        for (size_t i = 0; i < f->open; i++)
            f->dims[f->given + i].value = sizes[s];
        ULP_TRY(attempt(f, error));
    }
    return ULP_OK;
}

/* A size that stands nowhere but in weights: the features of a product, the channels of a Conv. */
static enum ulp_status try_weights(struct fitting *f, struct ulp_error *error)
{
    int64_t tried[WEIGHTS_MAX];
    size_t count = 0;
    for (size_t t = 0; t < f->model->tensor_count; t++)
        for (int d = 0; d < f->model->tensors[t]->rank; d++) {
            const int64_t size = f->model->tensors[t]->dims[d];
            size_t known = 0;
            while (known < count && tried[known] != size)
                known++;
            if (size < 2 || known < count || count == WEIGHTS_MAX || f->found || is_vain(f))
                continue;
            tried[count++] = size;
            for (size_t i = 0; i < f->open; i++)
                f->dims[f->given + i].value = size;
            ULP_TRY(attempt(f, error));
        }
    return ULP_OK;
}

/* Every way in which each may be the size, 1, nothing, one more or both together. */
static enum ulp_status try_apart(struct fitting *f, int64_t size, struct ulp_error *error)
{
    const int64_t ways[WAYS] = {size, 1, 0, size + 1, 2 * size};
    size_t count = 1;
    for (size_t i = 0; i < f->open; i++)
        count *= WAYS;
    for (size_t way = 1; way < count && !f->found && !is_vain(f); way++) {
        size_t rest = way;
        for (size_t i = f->open; i-- > 0; rest /= WAYS)
            f->dims[f->given + i].value = ways[rest % WAYS];
        ULP_TRY(attempt(f, error));
    }
    return ULP_OK;
}

enum ulp_status ulp_model_random_inputs(const struct ulp_model *model,
                                        const struct ulp_random_options *options,
                                        struct ulp_tensor_set *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = (struct ulp_tensor_set){0};
    ULP_OPTIONS_TAKE(ulp_random_options, options, error);
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    struct fitting f = {.model = model,
                        .options = *options,
                        .given = options->dim_count,
                        .out = out};
    ULP_TRY(ulp_random_options_check(model, options, error));
    ULP_TRY(ulp_arena_create(&arena, ulp_model_budget(model), error));
    ULP_TRY(open(&f, arena, error));
    if (f.open)
        ULP_TRY(try_alike(&f, error));
    f.found |= f.empty_count > 0; /* these take other sizes, and leave outputs empty at all */
    if (f.open)
        ULP_TRY(try_weights(&f, error));
    for (size_t s = 0; s < sizeof apart / sizeof *apart && f.open > 1 && f.open <= APART_MAX; s++)
        ULP_TRY(try_apart(&f, apart[s], error));
    if (f.found || f.empty_count)
        return ULP_OK;
    const enum ulp_status status = ulp_random_inputs_at(model, options, out, error);
    struct ulp_program *program = NULL;
    struct ulp_error lacking = {0};
    /* inputs of strings, sequences or optionals: what the model lacks besides is said with them */
    if (status == ULP_ERROR_UNSUPPORTED && ulp_arithmetic_find("fp64", &f.fp64, NULL) == ULP_OK &&
        ulp_program_create(model, &f.fp64, 1, NULL, &program, &lacking) == ULP_ERROR_UNSUPPORTED)
        ulp_fail_lines(error, status, lacking.message);
    ulp_program_free(program);
    return status;
}
