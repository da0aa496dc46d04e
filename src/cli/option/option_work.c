/* What a command works on: the model and its samples as the library takes them. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/command.h"

struct ulp_sample *list_samples(const struct sample_list *samples)
{
    struct ulp_sample *list = calloc(samples->count + 1, sizeof *list);
    for (size_t s = 0; s < samples->count && list; s++)
        list[s] = (struct ulp_sample){samples->items[s].name, &samples->items[s].inputs,
                                      samples->items[s].fingerprint};
    return list;
}

enum ulp_status open_work(struct work *work, const struct common_options *common,
                          const char *folder, const char *original, struct ulp_error *error)
{
    work->common = common;
    if (!work->model)
        ULP_TRY(load_with_shapes(common, folder, &work->model, error));
    if (original)
        ULP_TRY(load_model(original, common->budget, &work->original, error));
    ULP_TRY(work->held ? open_samples(work->model, common, !work->finished, &work->samples, error)
                       : read_samples(work->model, common, true, &work->samples, error));
    const size_t count = work->samples.count, held = work->held < count ? work->held : count;
    for (size_t h = 0; h < held; h++)
        ULP_TRY(load_sample(work->model, &work->samples.items[h * count / held], error));
    if (!common->quiet)
        note_choices(work->model, &work->samples);
    work->given = list_samples(&work->samples);
    for (size_t s = 0; work->given && s < count; s++)
        if (work->samples.items[s].path && !work->samples.items[s].loaded)
            work->given[s].inputs = NULL;
    progress_init(&work->progress, common->quiet, work->samples.count);
    work->observer = progress_observer(&work->progress);
    return taken(work->given, error);
}

enum ulp_status read_held_out(const struct work *work, char **paths, size_t count,
                              struct sample_list *samples, struct ulp_sample **list,
                              struct ulp_error *error)
{
    struct common_options held_out = *work->common;
    held_out.inputs = paths;
    held_out.input_count = count;
    if (count)
        ULP_TRY(read_samples(work->model, &held_out, true, samples, error));
    *list = list_samples(samples);
    return taken(*list, error);
}

static enum ulp_status open_lent(void *context, size_t index, const struct ulp_tensor_set **out,
                                 struct ulp_error *error)
{
    struct work *work = context;
    *out = &work->samples.items[index].inputs;
    return load_sample(work->model, &work->samples.items[index], error);
}

static void close_lent(void *context, size_t index)
{
    drop_sample(&((struct work *)context)->samples.items[index]);
}

struct ulp_samples lend_samples(struct work *work)
{
    return (struct ulp_samples){work->samples.count, work->given, work, open_lent, close_lent};
}

void close_work(struct work *work)
{
    progress_clear(&work->progress);
    free(work->given);
    free_samples(&work->samples);
    ulp_model_free(work->original);
    ulp_model_free(work->model);
}
