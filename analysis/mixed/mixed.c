/* A model with types: what each node's type is, the file, and its check. */
#define _GNU_SOURCE
#include "analysis/mixed/mixed.h"

#include <stdio.h>

#include "base/machine/environment.h"
#include "base/machine/file.h"
#include "base/error.h"
#include "base/options.h"
#include "number/format/request.h"

static const char *const ends[] = {".data", ""};
enum { FILES = sizeof ends / sizeof *ends };

/* ---- the types' own arithmetics ---- */

static enum ulp_status keep_type(struct ulp_mixed_job *job, enum ulp_type type,
                                 struct ulp_keep *out, struct ulp_error *error)
{
    const size_t count = job->program->node_count;
    size_t *nodes = ulp_arena_take(job->arena, count + 1, sizeof *nodes), kept = 0;
    ULP_TRY(ulp_taken(nodes, error));
    for (size_t n = 0; n < count; n++)
        if (job->types.node[n] == type)
            nodes[kept++] = n;
    *out = (struct ulp_keep){.nodes = nodes, .node_count = kept};
    return ulp_arithmetic_find(ulp_type_rows[type].format, &out->arithmetic, error);
}

/* fp16@a100 is stored as fp16 is, and a graph does not say more; its constants are in the file as
 * the arithmetic lowers them. */
static enum ulp_status find_low(const struct ulp_mixed_job *job, struct ulp_arithmetic *out,
                                struct ulp_error *error)
{
    struct ulp_arithmetic plain;
    char part[80];
    snprintf(part, sizeof part, "constants=%s", ulp_constants_names[job->types.constants]);
    ULP_TRY(ulp_arithmetic_find(ulp_type_rows[job->types.low].format, &plain, error));
    return ulp_arithmetic_change(out, &plain, part, error);
}

static enum ulp_status plan_first(struct ulp_mixed_job *job, const struct ulp_arithmetic *lane,
                                  const struct ulp_keeps *keeps, struct ulp_error *error)
{
    job->programs = (struct ulp_programs){.model = job->model,
                                          .lanes = lane,
                                          .lane_count = 1,
                                          .options = {.keeps = keeps}};
    return ulp_programs_choose(&job->programs, job->samples[0].inputs, &job->program, error);
}

static enum ulp_status plan_types(struct ulp_mixed_job *job, struct ulp_error *error)
{
    static const enum ulp_type others[] = {ULP_TYPE_FLOAT, ULP_TYPE_FLOAT16, ULP_TYPE_BFLOAT16};
    enum ulp_status status = find_low(job, &job->low, error);
    ulp_programs_free(&job->programs);
    job->keeps = (struct ulp_keeps){0, job->kept, "types"};
    ULP_THEN(status, plan_first(job, &job->low, NULL, error));
    for (size_t t = 0; t < sizeof others / sizeof *others && status == ULP_OK; t++)
        if (others[t] != job->types.low)
            status = keep_type(job, others[t], &job->kept[job->keeps.count++], error);
    job->programs.options.keeps = &job->keeps;
    return status == ULP_OK ? ulp_program_keep(job->program, 0, &job->keeps, error) : status;
}

/* Types that are not declared, as in bodies, are what a run has: nodes that are computed as
 * declared follow them. */
static enum ulp_status note_types(struct ulp_mixed_job *job, struct ulp_error *error)
{
    const struct ulp_mixed_options as_given = {.thread_count = job->options->thread_count},
                                   *options = job->options;
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set outputs = {0};
    job->options = &as_given;
    enum ulp_status status = ULP_OK;
    for (size_t s = 0; s < job->sample_count && status == ULP_OK; s++) {
        ulp_tensor_set_free(&outputs);
        status = ulp_mixed_expect(job, s, &job->types, &outputs, error);
    }
    job->options = options;
    return status;
}

static enum ulp_status find_types(struct ulp_mixed_job *job, struct ulp_error *error)
{
    const struct ulp_mixed_options *wanted = job->options;
    ULP_TRY(plan_first(job, &wanted->arithmetic, &wanted->keeps, error));
    ULP_TRY(ulp_mixed_types_begin(job->program, &job->types, job->arena, error));
    if (wanted->arithmetic.as_declared || wanted->arithmetic.types_declared)
        ULP_TRY(note_types(job, error));
    return ulp_mixed_types_find(job->program, 0, &job->types, error);
}

/* ---- the report ---- */

static enum ulp_status report_nodes(const struct ulp_mixed_job *job, struct ulp_mixed *out,
                                    struct ulp_error *error)
{
    const struct ulp_program *program = job->program;
    const struct ulp_mixed_types *types = &job->types;
    ULP_TAKE(out->widened, out->memory, program->node_count + 1, error);
    out->low_count = out->float_count = out->other_count = out->widened_count = 0;
    for (size_t n = 0; n < program->node_count; n++) {
        if (types->node[n] == ULP_TYPE_UNDEFINED)
            continue;
        if (types->node[n] == job->types.low)
            out->low_count++;
        else if (types->node[n] == ULP_TYPE_FLOAT)
            out->float_count++;
        else
            out->other_count++;
        if (types->widened[n] == ULP_WIDENED_NOT)
            continue;
        struct ulp_mixed_widened *widened = &out->widened[out->widened_count++];
        *widened = (struct ulp_mixed_widened){
            .index = n,
            .name = ulp_arena_copy(out->memory, ulp_program_node_name(program, n)),
            .op = ulp_arena_copy(out->memory, ulp_program_node_op(program, n)),
            .why = types->widened[n]};
        ULP_TRY(ulp_taken(widened->name && widened->op, error));
    }
    out->low_type = ulp_arena_copy(out->memory, ulp_type_name(job->types.low));
    return ulp_taken(out->low_type, error);
}

static enum ulp_status give_reason(struct ulp_mixed *out, const char *reason,
                                   struct ulp_error *error)
{
    out->reason = ulp_arena_copy(out->memory, reason);
    return ulp_taken(out->reason, error);
}

/* Every node is FLOAT. */
static enum ulp_status explain_wide(const struct ulp_mixed_job *job, struct ulp_mixed *out,
                                    struct ulp_error *error)
{
    char text[200];
    if (!out->widened_count)
        return give_reason(out, "the plan keeps every node in FLOAT", error);
    snprintf(
        text, sizeof text,
        "opset %lld has none of these operators in %s: convert the model to a newer one (22 has "
        "most of them)",
        (long long)ulp_model_opset(job->model, ""), out->low_type);
    return give_reason(out, text, error);
}

/* ---- the files ---- */

/* The types of what the first sample leaves out are those that others have. */
static enum ulp_status complete_types(struct ulp_mixed_job *job, struct ulp_mixed *out,
                                      struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t s = 1; s < job->sample_count && status == ULP_OK; s++) {
        struct ulp_tensor_set outputs;
        status = ulp_mixed_expect(job, s, &job->types, &outputs, error);
        ulp_tensor_set_free(&outputs);
    }
    if (status != ULP_OK || !ulp_mixed_types_lack(job->program, &job->types))
        return status;
    ulp_mixed_types_leave(job->program, &job->types);
    return report_nodes(job, out, error);
}

static enum ulp_status say_checked(const struct ulp_mixed_job *job, struct ulp_mixed *out,
                                   struct ulp_error *error)
{
    struct ulp_text text = {0};
    out->sample_count = job->sample_count - job->resized.count;
    ulp_resized_say(&text, &job->resized, out->sample_count);
    out->checked = ulp_text_keep(&text, out->memory);
    return ulp_taken(out->checked, error);
}

static enum ulp_status write_and_check(struct ulp_mixed_job *job, const char *path,
                                       struct ulp_mixed *out, struct ulp_error *error)
{
    struct ulp_mixed_written written;
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set first = {0};
    const enum ulp_type io = job->options->lower_io ? job->types.low : ULP_TYPE_UNDEFINED;
    struct ulp_arithmetic declared;
    ULP_TRY(ulp_arithmetic_find("model", &declared, error));
    ULP_TRY(ulp_mixed_expect(job, 0, &job->types, &first, error));
    if (ulp_mixed_types_lack(job->program, &job->types))
        ULP_TRY(complete_types(job, out, error));
    ULP_TRY(ulp_mixed_resize(job, error));
    ULP_TRY(ulp_mixed_types_write(job->program, &job->types, io, path, &written, error));
    ULP_TRY(ulp_mixed_check(job, path, &declared, NULL, &first, error));
    out->cast_count = written.casts;
    out->constant_count = written.converted;
    out->duplicate_count = written.duplicated;
    out->external = written.external;
    return say_checked(job, out, error);
}

/* Until the model has been read again and checked its files have no names. */
static enum ulp_status make_files(struct ulp_mixed_job *job, const char *folder,
                                  struct ulp_mixed *out, struct ulp_error *error)
{
    char paths[FILES][4096];
    const char *path = paths[FILES - 1],
               *name = job->options->name ? job->options->name : ULP_MIXED_NAME;
    for (int f = 0; f < FILES; f++) {
        if (snprintf(paths[f], sizeof paths[f], "%s/%s%s", folder, name, ends[f]) >=
            (int)sizeof paths[f])
            return ulp_fail(error, ULP_ERROR_USAGE, "%s: the path is too long", folder);
        if (ulp_model_is_read_from(job->model, paths[f]))
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s is the model, or its weights: give another folder", paths[f]);
    }
    const bool begun = ulp_files_hold();
    enum ulp_status status = write_and_check(job, path, out, error);
    for (int f = 0; f < FILES && status != ULP_OK; f++)
        ulp_files_drop(paths[f]);
    status = ulp_files_release(begun, status, error);
    if (status == ULP_OK && !(out->path = ulp_arena_copy(out->memory, path)))
        status = ulp_out_of_memory(error);
    return status;
}

enum ulp_status ulp_mixed_retire(const struct ulp_model *model, const char *folder,
                                 const char *name, struct ulp_error *error)
{
    for (int f = 0; f < FILES; f++) {
        char path[4096], file[300];
        snprintf(file, sizeof file, "%s%s", name, ends[f]);
        if (snprintf(path, sizeof path, "%s/%s", folder, file) < (int)sizeof path &&
            !ulp_model_is_read_from(model, path))
            ULP_TRY(ulp_file_retire(folder, file, error));
    }
    return ULP_OK;
}

/* ---- all of it ---- */

static enum ulp_status make(struct ulp_mixed_job *job, const char *folder, struct ulp_mixed *out,
                            struct ulp_error *error)
{
    struct ulp_error problem = {0};
    enum ulp_status status = find_types(job, &problem);
    if (status == ULP_ERROR_UNSUPPORTED && job->types.node)
        return give_reason(out, problem.message, error);
    if (status != ULP_OK)
        return ulp_fail_lines(error, status, problem.message);
    if (job->program->written.joined)
        return give_reason(out,
                           "attention that the graph writes out is one node of the plan "
                           "(written-attention=kernel, which formats of caches bring), and types "
                           "are of the graph's own nodes",
                           error);
    char text[200];
    if (job->types.low == ULP_TYPE_UNDEFINED) {
        snprintf(text, sizeof text, "the plan keeps every node, and %s is no type of a graph",
                 job->options->arithmetic.storage.name);
        return give_reason(out, text, error);
    }
    if (job->types.low == ULP_TYPE_FLOAT && !job->types.mixes) {
        snprintf(text, sizeof text, "%.100s is stored in FLOAT: the graph has these types as it is",
                 job->options->arithmetic.asked);
        return give_reason(out, text, error);
    }
    ULP_TRY(plan_types(job, error));
    ULP_TRY(report_nodes(job, out, error));
    const bool is_wide = !out->low_count && !out->other_count && !job->types.differs;
    if (is_wide && (out->widened_count || !job->options->lower_io))
        return explain_wide(job, out, error);
    return make_files(job, folder, out, error);
}

enum ulp_status ulp_mixed_write(const struct ulp_model *model,
                                const struct ulp_mixed_options *options,
                                const struct ulp_sample *samples, size_t sample_count,
                                const char *folder, struct ulp_mixed *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = (struct ulp_mixed){0};
    ULP_OPTIONS_TAKE(ulp_mixed_options, options, error);
    struct ulp_mixed_job job = {.model = model,
                                .options = options,
                                .samples = samples,
                                .sample_count = sample_count};
    struct ulp_arena *memory = NULL;
    if (!sample_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "a graph with types is checked with a sample");
    enum ulp_status status = ulp_arena_create(&job.arena, ulp_model_budget(model), error);
    ULP_THEN(status, ulp_arena_create(&memory, ulp_model_budget(model), error));
    out->memory = memory;
    ULP_THEN(status, make(&job, folder, out, error));
    if (status == ULP_OK && !out->path && !options->name)
        status = ulp_mixed_retire(model, folder, ULP_MIXED_NAME, error);
    ulp_resized_free(&job.resized);
    ulp_programs_free(&job.programs);
    ulp_arena_free(job.arena);
    if (status != ULP_OK)
        ulp_mixed_free(out);
    return status;
}

ULP_RESULT_FREE(ulp_mixed_free, struct ulp_mixed)
