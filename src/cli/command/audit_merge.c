/* ulpscope audit --merge: the shards of an audit as one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command/command_audit.h"
#include "cli/sandbox/sandbox.h"

struct merge_options {
    char **folders;
    size_t folder_count;
    const char *out, *html;
    bool quiet, allow_nonfinite_inputs;
    size_t max_memory_bytes; /* 0: the shards' */
};

static error_t take_folder(struct argp_state *state, struct merge_options *options, char *argument)
{
    add_argument(state, &options->folders, &options->folder_count, argument);
    return 0;
}

static void check_folders(const struct argp_state *state, const struct merge_options *options)
{
    if (!options->folder_count)
        refuse(state, "expected the folders that ulpscope audit --checkpoint wrote");
}

static const char documentation[] =
    "Put the samples together that ulpscope audit --shard K/N --checkpoint FOLDER has finished, "
    "and "
    "report as one audit of all samples would: the same bytes, but for its costs (seconds, memory)."
    "\vThe options are those of the shards, with those given here. The model and the samples' "
    "files are read again, from where the shards' arguments say.\n\n"
    "Examples:\n"
    "  ulpscope audit model.onnx -i samples/ --shard 1/2 --checkpoint one/\n"
    "  ulpscope audit model.onnx -i samples/ --shard 2/2 --checkpoint two/\n"
    "  ulpscope audit --merge one/ two/ --out report/";

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
static int merge_shards(const struct merge_options *merge)
{
    struct ulp_error error;
    struct audit_options audit;
    char **argv, *text;
    int argc = 0;
    if (read_arguments(merge->folders[0], &argc, &argv, &text, &error) != ULP_OK)
        return fail(&error);
    int code = parse_audit_options(argc, argv, &audit);
    if (code == ULP_OK && check_paths(&audit.common, &error) != ULP_OK)
        code = fail(&error);
    if (code == ULP_OK && merge->max_memory_bytes) {
        ulp_budget_free(audit.common.budget);
        audit.common.budget = NULL;
        if (ulp_budget_create(merge->max_memory_bytes, &audit.common.budget, &error) != ULP_OK)
            code = fail(&error);
    }
    if (code == ULP_OK) {
        char **own = audit.checkpoints;
        audit.checkpoints = merge->folders;
        audit.checkpoint_count = merge->folder_count;
        audit.shard = audit.shard_count = 0;
        audit.merge = true;
        audit.out = merge->out;
        audit.html = merge->html;
        audit.common.quiet |= merge->quiet;
        audit.common.allow_nonfinite_inputs |= merge->allow_nonfinite_inputs;
        code = run_audit(&audit);
        audit.checkpoints = own;
    }
    free_audit_options(&audit);
    free(argv);
    free(text);
    return code;
}

#define OPTIONS "cli/command/merge_option.def"
#define PARSED struct merge_options
#define WORDS "--merge FOLDER..."
#define CHILDREN \
    MEMORY_CHILD CHILD(judge_argp, &options->allow_nonfinite_inputs, NULL, 0) JSON_CHILD
#define TAKE take_folder
#define CHECK check_folders
#include "cli/option/parser.def"

bool asks_to_merge(int argc, char **argv)
{
    for (int a = 1; a < argc && strcmp(argv[a], "--") != 0; a++)
        if (strcmp(argv[a], "--merge") == 0)
            return true;
    return false;
}

int merge_audits(int argc, char **argv)
{
    struct merge_options merge = {0};
    sandbox_wait();
    int code = parse_arguments(&parser, argc, argv, &merge);
    if (code == ULP_OK)
        code = merge_shards(&merge);
    free(merge.folders);
    return code;
}
