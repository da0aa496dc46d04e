/* ulpscope audit --merge: the shards of an audit as one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command/command_audit.h"

struct merge_options {
    char **folders;
    size_t folder_count;
    const char *out, *html;
    bool quiet, allow_nonfinite_inputs;
    size_t max_memory_bytes; /* 0: the shards' */
};

/* The shards' paths are taken from where they are merged. */
static enum ulp_status check_paths(const struct common_options *common, struct ulp_error *error)
{
    for (size_t i = 0; i <= common->input_count; i++) {
        const char *path = i ? common->inputs[i - 1] : common->model;
        if (access(path, F_OK) != 0)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "%s, which the shards' arguments name: %s; run audit --merge in the "
                            "folder where the shards were run",
                            path, strerror(errno));
    }
    return ULP_OK;
}

/* The arguments of the audit that made the folder, whose note they are: *text, freed with free(),
 * holds *argv's words one after the other; *argv is freed, too. */
static enum ulp_status read_arguments(const char *folder, int *argc, char ***argv, char **text,
                                      struct ulp_error *error)
{
    unsigned char *bytes = NULL;
    size_t count = 0, words = 0;
    ULP_TRY(ulp_checkpoint_note(folder, &bytes, &count, error));
    for (size_t i = 0; i < count; i++)
        words += bytes[i] == 0;
    *text = (char *)bytes;
    *argv = calloc(words + 1, sizeof **argv);
    enum ulp_status status = ULP_OK;
    if (!*argv || !count || bytes[count - 1]) {
        status = *argv
                     ? ulp_fail(error, ULP_ERROR_INPUT, "%s/audit.part: holds no arguments", folder)
                     : out_of_memory(error);
        free(*text);
        free(*argv);
        return status;
    }
    char *at = *text;
    for (size_t w = 0; w < words; w++, at += strlen(at) + 1)
        (*argv)[w] = at;
    *argc = (int)words;
    return ULP_OK;
}

/* As the shards were called, without --shard. */
static void merge_options(struct audit_options *audit, const struct merge_options *merge)
{
    audit->checkpoints = merge->folders;
    audit->checkpoint_count = merge->folder_count;
    audit->shard = audit->shard_count = 0;
    audit->merge = true;
    audit->out = merge->out;
    audit->html = merge->html;
    audit->common.quiet |= merge->quiet;
    audit->common.allow_nonfinite_inputs |= merge->allow_nonfinite_inputs;
}

static enum ulp_status merge_shards(void *parsed, struct ulp_error *error)
{
    const struct merge_options *merge = parsed;
    const bool has_memory = is_option_given("max-memory");
    void *options;
    char **argv, *text;
    int argc = 0;
    ULP_TRY(read_arguments(merge->folders[0], &argc, &argv, &text, error));
    int code = open_command(&command_audit, argc, argv, &options);
    struct audit_options *audit = options;
    if (code == ULP_OK && check_paths(&audit->common, error) != ULP_OK)
        code = fail(error);
    if (code == ULP_OK && has_memory) {
        ulp_budget_free(audit->common.budget);
        audit->common.budget = NULL;
        if (ulp_budget_create(merge->max_memory_bytes, &audit->common.budget, error) != ULP_OK)
            code = fail(error);
    }
    if (code == ULP_OK) {
        char **own = audit->checkpoints;
        merge_options(audit, merge);
        code = run_audit(audit);
        audit->checkpoints = own;
    }
    close_command(&command_audit, options);
    free(argv);
    free(text);
    return code == ULP_OK ? ULP_OK : ulp_fail(error, (enum ulp_status)code, "%s", "");
}

bool asks_to_merge(int argc, char **argv)
{
    for (int a = 1; a < argc && strcmp(argv[a], "--") != 0; a++)
        if (strcmp(argv[a], "--merge") == 0)
            return true;
    return false;
}

#define PARSED struct merge_options
static const struct option_row rows[] = {
#include "cli/command/merge_option.def"
    {0}};
const struct command command_merge = {
    .name = "audit --merge",
    .summary = "compare arithmetics with a reference, node by node: which layer loses accuracy",
    .purpose = "Put the samples together that ulpscope audit --shard K/N --checkpoint FOLDER has "
               "finished, and report as one audit of all samples would: the same bytes, but for "
               "its costs (seconds, memory).",
    .examples = "  ulpscope audit model.onnx -i samples/ --shard 1/2 --checkpoint one/\n"
                "  ulpscope audit model.onnx -i samples/ --shard 2/2 --checkpoint two/\n"
                "  ulpscope audit --merge one/ two/ --out report/",
    .notes = "The options are those of the shards, with those given here. The model and the "
             "samples' files are read again, from where the shards' arguments say.",
    .groups = {{NULL, rows, 0},
               {NULL, judge_rows, offsetof(PARSED, allow_nonfinite_inputs)},
               JSON_GROUP,
               HELP_GROUP},
    .size = sizeof(struct merge_options),
    .leads = true,
    .run = merge_shards,
};
