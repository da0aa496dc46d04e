/* Input samples: files and folders. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"

enum ulp_status add_sample(struct sample_list *list, const char *name, const char *path,
                           struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    struct sample *items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (items)
        list->items = items;
    char *copy = strdup(name), *own = path ? strdup(path) : NULL;
    if (!items || !copy || (path && !own)) {
        free(copy);
        free(own);
        ulp_tensor_set_free(inputs);
        return out_of_memory(error);
    }
    items[list->count++] =
        (struct sample){.name = copy, .path = own, .inputs = *inputs, .loaded = true};
    return ULP_OK;
}

static bool holds_pb(const char *folder)
{
    char path[4096];
    struct stat info;
    return snprintf(path, sizeof path, "%s/input_0.pb", folder) < (int)sizeof path &&
           stat(path, &info) == 0;
}

/* Polygraphy's --save-inputs: each iteration is a sample. */
static enum ulp_status read_json(const char *path, struct ulp_budget *budget,
                                 struct sample_list *list, struct ulp_error *error)
{
    ULP_SCOPED(ulp_recording_list_free) struct ulp_recording_list recordings = {0};
    ULP_TRY(ulp_recording_read(path, NULL, budget, &recordings, error));
    for (size_t r = 0; r < recordings.count; r++) {
        struct ulp_recording *recording = &recordings.items[r];
        ULP_SCOPED(ulp_text_free) struct ulp_text name = {0};
        ulp_text_add(&name, recordings.count > 1 ? "%s[%zu]" : "%s", recording->name,
                     recording->iteration);
        ULP_TRY(taken(!name.failed, error));
        const enum ulp_status status =
            add_sample(list, name.data, NULL, &recording->tensors, error);
        recording->tensors = (struct ulp_tensor_set){0};
        ULP_TRY(status);
    }
    return ULP_OK;
}

/* Whether a folder is one sample, an .npy file for each input: it has one of the first's name. */
static bool holds_npy(const struct ulp_model *model, const char *folder)
{
    char path[4096];
    struct stat info;
    const char *name = ulp_model_input_count(model) ? ulp_model_input(model, 0).name : "";
    return *name && !strchr(name, '/') &&
           snprintf(path, sizeof path, "%s/%s.npy", folder, name) < (int)sizeof path &&
           stat(path, &info) == 0;
}

/* An .npy file, which is the only input whatever it is called, or a folder of one for each. */
static enum ulp_status read_npy(const struct ulp_model *model, const char *path,
                                struct ulp_tensor_set *out, struct ulp_error *error)
{
    ULP_SCOPED(ulp_recording_list_free) struct ulp_recording_list recordings = {0};
    const bool is_file = ulp_text_ends(path, ".npy");
    const size_t inputs = ulp_model_input_count(model);
    *out = (struct ulp_tensor_set){0};
    if (is_file && inputs != 1)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s: is one array, and the model has %zu inputs; give an .npz, or a folder "
                        "with NAME.npy for each",
                        path, inputs);
    ULP_TRY(ulp_recording_read(path, NULL, ulp_model_budget(model), &recordings, error));
    if (is_file)
        ULP_TRY(ulp_tensor_set_add(out, ulp_model_input(model, 0).name,
                                   &recordings.items[0].tensors.items[0].tensor, error));
    if (!is_file) {
        *out = recordings.items[0].tensors;
        recordings.items[0].tensors = (struct ulp_tensor_set){0};
    }
    return ULP_OK;
}

static enum ulp_status read_inputs(const struct ulp_model *model, const char *path,
                                   struct ulp_tensor_set *out, struct ulp_error *error)
{
    struct ulp_budget *budget = ulp_model_budget(model);
    if (ulp_text_ends(path, ".pb"))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s: is one tensor of a sample; give the folder that it is in", path);
    return holds_pb(path) ? ulp_test_data_set_read(path, "input", model, budget, out, error)
           : ulp_text_ends(path, ".npy") || holds_npy(model, path)
               ? read_npy(model, path, out, error)
               : ulp_tensor_set_read(path, budget, out, error);
}

static enum ulp_status read_one(const struct ulp_model *model, const char *path,
                                struct sample_list *list, struct ulp_error *error)
{
    struct ulp_tensor_set inputs;
    if (ulp_text_ends(path, ".json"))
        return read_json(path, ulp_model_budget(model), list, error);
    ULP_TRY(read_inputs(model, path, &inputs, error));
    return add_sample(list, path, path, &inputs, error);
}

static int is_sample(const struct dirent *entry)
{
    return strncmp(entry->d_name, "test_data_set_", 14) == 0 ||
           ulp_text_ends(entry->d_name, ".npz");
}

static int is_npy(const struct dirent *entry)
{
    return ulp_text_ends(entry->d_name, ".npy");
}

/* A folder of test_data_set_N folders or npz files, or of npy files alone, in the order of their
 * numbers. */
static enum ulp_status visit_folder(const char *folder, use_path *use, void *context,
                                    struct ulp_error *error)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_sample, versionsort);
    if (count == 0) {
        free(entries);
        count = scandir(folder, &entries, is_npy, versionsort);
    }
    if (count < 0)
        return ulp_fail(error, ulp_status_of(errno), "%s: cannot read the folder: %s", folder,
                        strerror(errno));
    enum ulp_status status = ULP_OK;
    if (count == 0)
        status = ulp_fail(
            error, ULP_ERROR_INPUT,
            "%s: holds no sample: neither input_0.pb, test_data_set_N folders, nor .npz or "
            ".npy files, as numpy.save(path, array) makes of a picture that is prepared as the "
            "application prepares it",
            folder);
    for (int e = 0; e < count; e++) {
        char path[4096];
        if (status == ULP_OK &&
            snprintf(path, sizeof path, "%s%s%s", folder, ulp_text_ends(folder, "/") ? "" : "/",
                     entries[e]->d_name) >= (int)sizeof path)
            status = ulp_fail(error, ULP_ERROR_INPUT, "%s: the path of '%s' in it is too long",
                              folder, entries[e]->d_name);
        else if (status == ULP_OK)
            status = use(context, path, error);
        free(entries[e]);
    }
    free(entries);
    return status;
}

enum ulp_status visit_list(const char *list, use_path *use, void *context, struct ulp_error *error)
{
    const char *slash = strrchr(list, '/');
    FILE *file = fopen(list, "r");
    char *line = NULL;
    size_t room = 0, count = 0;
    ssize_t length;
    enum ulp_status status = ULP_OK;
    if (!file)
        return ulp_fail(error, ulp_status_of(errno), "%s: cannot open: %s", list, strerror(errno));
    for (size_t number = 1; status == ULP_OK && (length = getline(&line, &room, file)) >= 0;
         number++) {
        struct ulp_text path = {0};
        line[strcspn(line, "\r\n")] = '\0';
        if (!*line || *line == '#')
            continue;
        if (slash && *line != '/')
            ulp_text_put(&path, list, (size_t)(slash + 1 - list));
        ulp_text_put(&path, line, strlen(line));
        status = path.failed ? out_of_memory(error) : use(context, path.data, error);
        ulp_fail_at(error, status, "%s: line %zu", list, number);
        ulp_text_free(&path);
        count++;
    }
    if (status == ULP_OK && !feof(file) && !ferror(file)) /* getline wanted memory */
        status = out_of_memory(error);
    if (status == ULP_OK && (ferror(file) || !count))
        status = ulp_fail(error, ULP_ERROR_INPUT,
                          "%s: names no sample: expected a path on each line", list);
    free(line);
    fclose(file);
    return status;
}

/* Reading all of a folder. */
struct reading {
    const struct ulp_model *model;
    struct sample_list *list;
    /* .npy files of a model of several inputs, of which one alone is no sample; unordered: of a
     * folder, and not as the command line or a list has them */
    struct ulp_tensor_set arrays;
    struct ulp_text array_names;
    bool unordered;
    /* what read_path does with those after the first: nothing, a check, a check while it is loaded
     */
    enum { READ_NAMES, READ_CHECKED, READ_ALL } extent;
    bool any_shapes;
};

static enum ulp_status compare_shape(const struct sample_list *list, size_t s,
                                     struct ulp_error *error);

/* Its arrays in the model's names and types. notes: where to say how, or NULL. */
static enum ulp_status take_sample(const struct ulp_model *model, struct sample *sample,
                                   struct ulp_text *notes, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *lines = NULL;
    ULP_TRY(ulp_model_take_inputs(model, &sample->inputs, &lines, error));
    if (notes && lines)
        ulp_text_add(notes, "%s", lines);
    return ulp_model_check_inputs(model, &sample->inputs, error);
}

/* Samples that were added from `first` on. */
static enum ulp_status check_added(const struct reading *reading, size_t first,
                                   struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t s = first; s < reading->list->count && status == ULP_OK; s++) {
        struct sample *sample = &reading->list->items[s];
        status = take_sample(reading->model, sample, s ? NULL : &reading->list->notes, error);
        if (status != ULP_OK)
            ulp_fail_at(error, status, "%s", sample->name);
        else if (reading->extent == READ_ALL && !reading->any_shapes)
            status = compare_shape(reading->list, s, error);
        sample->fingerprint = ulp_tensor_set_fingerprint(&sample->inputs);
        if (s > 0 && reading->extent != READ_ALL)
            drop_sample(sample);
    }
    return status;
}

static enum ulp_status add_array(struct reading *reading, const char *path, struct ulp_error *error)
{
    ULP_SCOPED(ulp_recording_list_free) struct ulp_recording_list list = {0};
    ULP_TRY(ulp_recording_read(path, NULL, ulp_model_budget(reading->model), &list, error));
    struct ulp_named_tensor *array = &list.items[0].tensors.items[0];
    ulp_text_add(&reading->array_names, "%s%s", reading->arrays.count ? ", " : "", path);
    return ulp_tensor_set_add(&reading->arrays, array->name, &array->tensor, error);
}

/* Their names where these are the inputs', or the inputs' in the order that somebody gave. */
static enum ulp_status name_arrays(struct reading *reading, struct ulp_error *error)
{
    const size_t count = reading->arrays.count;
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set given = reading->arrays;
    bool named = true;
    reading->arrays = (struct ulp_tensor_set){0};
    for (size_t i = 0; i < count; i++)
        named &= ulp_tensor_set_find(&given, ulp_model_input(reading->model, i).name) != NULL;
    named |= reading->unordered;
    for (size_t i = 0; i < count; i++) {
        struct ulp_named_tensor *array = &given.items[i];
        const char *name = named ? array->name : ulp_model_input(reading->model, i).name;
        if (!named)
            ulp_text_add(&reading->list->notes, "%s'%s' is input %s%s",
                         i ? ", " : "by position: ", array->name, name, i + 1 < count ? "" : "\n");
        ULP_TRY(ulp_tensor_set_add(&reading->arrays, name, &array->tensor, error));
    }
    return ULP_OK;
}

/* The sample that they are. */
static enum ulp_status add_arrays(struct reading *reading, struct ulp_error *error)
{
    const size_t inputs = ulp_model_input_count(reading->model), count = reading->arrays.count;
    ULP_TRY(taken(!reading->array_names.failed, error));
    if (count != inputs || reading->list->count)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%.1000s: %s, and the model has %zu inputs; give an .npz, or a folder with "
                        "NAME.npy for each",
                        reading->array_names.data,
                        reading->list->count ? "arrays beside samples"
                        : count == 1         ? "is one array"
                                             : "are not as many arrays",
                        inputs);
    ULP_TRY(name_arrays(reading, error));
    ULP_TRY(add_sample(reading->list, reading->array_names.data, NULL, &reading->arrays, error));
    reading->arrays = (struct ulp_tensor_set){0};
    return check_added(reading, 0, error);
}

static enum ulp_status read_path(void *context, const char *path, struct ulp_error *error)
{
    struct reading *reading = context;
    const size_t before = reading->list->count;
    if (ulp_text_ends(path, ".npy") && ulp_model_input_count(reading->model) > 1)
        return add_array(reading, path, error);
    if (before && reading->extent == READ_NAMES && !ulp_text_ends(path, ".json")) {
        struct ulp_tensor_set none = {0};
        ULP_TRY(add_sample(reading->list, path, path, &none, error));
        reading->list->items[before].loaded = false;
        return ULP_OK;
    }
    ULP_TRY(read_one(reading->model, path, reading->list, error));
    return check_added(reading, before, error);
}

/* A sample's file or folder, or a folder of these. */
static enum ulp_status read_place(void *context, const char *path, struct ulp_error *error)
{
    struct reading *reading = context;
    struct stat info;
    const bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode) && !holds_pb(path) &&
                           !holds_npy(reading->model, path);
    reading->unordered |= is_folder;
    return is_folder ? visit_folder(path, read_path, context, error)
                     : read_path(context, path, error);
}

/* One plan serves all samples, so their shapes agree; said before anything runs. */
static enum ulp_status compare_shape(const struct sample_list *list, size_t s,
                                     struct ulp_error *error)
{
    const struct sample *first = &list->items[0], *sample = &list->items[s];
    for (size_t i = 0; i < first->inputs.count; i++) {
        const struct ulp_named_tensor *expected = &first->inputs.items[i];
        const struct ulp_tensor *got = ulp_tensor_set_find(&sample->inputs, expected->name);
        char one[200], other[200];
        if (got && !ulp_tensor_same_shape(got, &expected->tensor))
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "%s: input '%s' is %s, but %s in %s; this command takes samples of one "
                            "shape, `audit`, `overflow`, `plan` and `tolerance` of any",
                            sample->name, expected->name,
                            ulp_tensor_describe_text(got, one, sizeof one),
                            ulp_tensor_describe_text(&expected->tensor, other, sizeof other),
                            first->name);
    }
    return ULP_OK;
}

/* Each line is a note on stderr. */
static void say_notes(char *lines)
{
    for (char *line = lines, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        say(stderr, "ulpscope: %s\n", line);
    }
}

enum ulp_status read_recording(const struct ulp_model *model, const struct common_options *options,
                               const char *path, struct ulp_recording_list *list,
                               struct ulp_error *error)
{
    const size_t before = list->count;
    ULP_TRY(ulp_recording_read(path, model, options->budget, list, error));
    for (size_t r = before; r < list->count; r++) {
        ULP_SCOPED(ulp_scoped_free) char *notes = NULL;
        ULP_TRY(ulp_model_take_outputs(model, &list->items[r].tensors, &notes, error));
        if (!options->quiet)
            say_notes(notes);
    }
    return ULP_OK;
}

static enum ulp_status read_extent(struct reading *reading, const struct common_options *options,
                                   struct ulp_error *error)
{
    struct sample_list *out = reading->list;
    enum ulp_status status = ULP_OK;
    *out = (struct sample_list){0};
    for (size_t i = 0; i < options->input_count && status == ULP_OK; i++)
        status = ulp_text_ends(options->inputs[i], ".txt")
                     ? visit_list(options->inputs[i], read_place, reading, error)
                     : read_place(reading, options->inputs[i], error);
    if (status == ULP_OK && reading->arrays.count)
        status = add_arrays(reading, error);
    ulp_tensor_set_free(&reading->arrays);
    ulp_text_free(&reading->array_names);
    if (status == ULP_OK && options->input_count == 0) {
        status = make_random_sample(reading->model, options, out, error);
        ULP_THEN(status, check_added(reading, 0, error));
    }
    if (status == ULP_OK && !options->quiet)
        say_notes(out->notes.data);
    if (status != ULP_OK)
        free_samples(out);
    return status;
}

enum ulp_status read_samples(const struct ulp_model *model, const struct common_options *options,
                             bool any_shapes, struct sample_list *out, struct ulp_error *error)
{
    struct reading reading = {.model = model,
                              .list = out,
                              .extent = READ_ALL,
                              .any_shapes = any_shapes};
    return read_extent(&reading, options, error);
}

enum ulp_status open_samples(const struct ulp_model *model, const struct common_options *options,
                             bool check, struct sample_list *out, struct ulp_error *error)
{
    struct reading reading = {.model = model,
                              .list = out,
                              .extent = check ? READ_CHECKED : READ_NAMES};
    return read_extent(&reading, options, error);
}

enum ulp_status load_sample(const struct ulp_model *model, struct sample *sample,
                            struct ulp_error *error)
{
    if (sample->loaded)
        return ULP_OK;
    enum ulp_status status = read_inputs(model, sample->path, &sample->inputs, error);
    sample->loaded = status == ULP_OK;
    ULP_THEN(status, take_sample(model, sample, NULL, error));
    if (status == ULP_OK && sample->fingerprint &&
        ulp_tensor_set_fingerprint(&sample->inputs) != sample->fingerprint)
        status =
            ulp_fail(error, ULP_ERROR_INPUT, "%s: has changed since it was checked", sample->name);
    return status;
}

void drop_sample(struct sample *sample)
{
    if (!sample->path || !sample->loaded)
        return;
    ulp_tensor_set_free(&sample->inputs);
    sample->inputs = (struct ulp_tensor_set){0};
    sample->loaded = false;
}

void free_samples(struct sample_list *samples)
{
    for (size_t s = 0; s < samples->count; s++) {
        free(samples->items[s].name);
        free(samples->items[s].path);
        ulp_tensor_set_free(&samples->items[s].inputs);
    }
    free(samples->items);
    ulp_text_free(&samples->notes);
    *samples = (struct sample_list){0};
}
