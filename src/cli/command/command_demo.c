/* ulpscope demo: the trained example audited, as a page to open. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/command/example_bytes.h"

static void say_what_to_look_at(const char *folder)
{
    say(stdout,
        "\nOpen %s/report.html (one file, no network). Look at\n"
        "  the headline   which node overflows, what becomes of the output, and the two nodes to\n"
        "                 keep in FP32. No NaN reaches the output: no check for NaN finds this\n"
        "  the graph      each node's colour is its share of the error; click block/norm1/Sum\n"
        "  its panel      the exact values reach 1.21e+05, and FP16 ends at 65504\n"
        "Then\n"
        "  ulpscope audit %s/model.onnx -i %s/inputs.npz --arith fp16 \\\n"
        "      --keep 'block/norm1/Sum=fp32' --keep 'block/norm1/Variance=fp32'\n"
        "                 the same with these two nodes in FP32: from 2.2 dB to 63.4 dB\n"
        "  ulpscope plan %s/model.onnx -i %s/inputs.npz --arith fp16 --tolerance sqnr_db=60\n"
        "                 finds such nodes, and proves them\n"
        "  ulpscope audit yours.onnx -i yours.npz --arith fp16 --html report.html\n",
        folder, folder, folder, folder, folder);
}

/* The trained example (examples/digits), inside the program. */
struct example_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};
#define ROW(name, bytes)          \
    {                             \
        name, bytes, sizeof bytes \
    }
static const struct example_file model_file = ROW("model.onnx", bytes_of_model);
static const struct example_file inputs_file = ROW("inputs.npz", bytes_of_inputs);

static enum ulp_status write_all(int descriptor, const struct example_file *file, const char *path,
                                 struct ulp_error *error)
{
    size_t done = 0;
    while (done < file->count) {
        const ssize_t count = write(descriptor, file->bytes + done, file->count - done);
        if (count < 0 && errno != EINTR)
            return ulp_fail(error, ULP_ERROR_INPUT, "%s: cannot be written: %s", path,
                            strerror(errno));
        done += count > 0 ? (size_t)count : 0;
    }
    return ULP_OK;
}

static enum ulp_status check_same(int descriptor, const struct example_file *file, const char *path,
                                  struct ulp_error *error)
{
    unsigned char *bytes = malloc(file->count + 1);
    if (!bytes)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    size_t done = 0;
    ssize_t count = 1;
    while (count > 0 && done <= file->count) {
        count = read(descriptor, bytes + done, file->count + 1 - done);
        done += count > 0 ? (size_t)count : 0;
    }
    const bool same = done == file->count && memcmp(bytes, file->bytes, done) == 0;
    free(bytes);
    return same ? ULP_OK
                : ulp_fail(error, ULP_ERROR_USAGE,
                           "%s: is there already, and is not the example's; name another folder",
                           path);
}

/* Write it into the folder; *path, its path, is freed with free(). A file that is there stays: one
 * with other bytes, or a link, is refused. */
static enum ulp_status write_example(const struct example_file *file, const char *folder,
                                     char **path, struct ulp_error *error)
{
    struct ulp_text text = {0};
    ulp_text_add(&text, "%s/%s", folder, file->name);
    if (text.failed)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    *path = text.data;
    int descriptor = open(*path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const bool is_there = descriptor < 0 && errno == EEXIST;
    if (is_there)
        descriptor = open(*path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: %s", *path, strerror(errno));
    enum ulp_status status = is_there ? check_same(descriptor, file, *path, error)
                                      : write_all(descriptor, file, *path, error);
    if (close(descriptor) != 0 && status == ULP_OK)
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: %s", *path, strerror(errno));
    return status;
}

struct demo_options {
    char *folder;
};

/* The audit says itself what fails. */
static enum ulp_status show(void *parsed, struct ulp_error *error)
{
    const struct demo_options *options = parsed;
    ULP_SCOPED(ulp_text_free) struct ulp_text page = {0};
    ULP_SCOPED(ulp_scoped_free) char *model = NULL;
    ULP_SCOPED(ulp_scoped_free) char *inputs = NULL;
    ulp_text_add(&page, "%s/report.html", options->folder);
    ULP_TRY(taken(!page.failed, error));
    ULP_TRY(ulp_report_prepare(options->folder, error));
    ULP_TRY(write_example(&model_file, options->folder, &model, error));
    ULP_TRY(write_example(&inputs_file, options->folder, &inputs, error));
    char title[] = "audit", quiet[] = "-q", given[] = "-i", list[] = "--arith=fp16", out[] = "-o",
         html[] = "--html";
    char *argv[] = {title, model,           quiet, given,     inputs, list,
                    out,   options->folder, html,  page.data, NULL};
    const int code = run_command(&command_audit, (int)(sizeof argv / sizeof *argv) - 1, argv);
    if (code != ULP_OK)
        return ulp_fail(error, (enum ulp_status)code, "%s", "");
    say_what_to_look_at(options->folder);
    return ULP_OK;
}

#define PARSED struct demo_options
static const struct option_row rows[] = {
#include "cli/command/demo_option.def"
    {0}};
const struct command command_demo = {
    .name = "demo",
    .summary = "audit the example that the program carries, and show the page",
    .purpose =
        "From nothing to a page: audit a small trained transformer, which the program carries, in "
        "FP16, and say what to look at. Its outputs are finite in FP16, and wrong.",
    .examples = "  ulpscope demo\n"
                "      writes ulpscope-demo/report.html, beside the model and its inputs\n"
                "  ulpscope demo -o /tmp/demo",
    .groups = {{NULL, rows, 0}, HELP_GROUP},
    .size = sizeof(struct demo_options),
    .leads = true,
    .run = show,
};
