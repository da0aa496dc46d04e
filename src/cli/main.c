/* ulpscope: the program. Prepares the process, finds the command and calls it. */
#include <fenv.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <gmp.h>

#include "base/text/suggest.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/sandbox/sandbox.h"

static const struct command *const commands[] = {
    &command_doctor,  &command_audit,  &command_plan,      &command_fix,   &command_compare,
    &command_lint,    &command_engine, &command_overflow,  &command_demo,  &command_run,
    &command_extract, &command_quantise, &command_tolerance, &command_prove, &command_show,
    &command_diff,    &command_list,   &command_mcp,       &command_mma};
#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static const char purpose[] =
    "Which layer of an ONNX model loses accuracy in FP16, BF16, TF32 or FP8, which one overflows,\n"
    "and what to keep in FP32: computed on a plain CPU, beside an arbitrary-precision reference.";
static const char exit_codes[] =
    "0 done; 1 done, but a limit of --fail-above or --fail-on was crossed or cannot be\n"
    "judged (NaN, nothing to compare), the doctor does not call it fine, the lint found an error,\n"
    "no plan meets a tolerance, the tolerance of --check is not met, --fail-if-worse found\n"
    "something, or a recording is not explained;\n"
    "2 wrong usage, or an output that is read, too, or a symbolic link;\n"
    "3 unreadable or malformed input; 4 unsupported model; 5 out of memory or --max-memory\n"
    "reached; 6 the time of --max-time is over.";

/* The commands at the front with what they do and the others by name, or all. */
static void print_help(FILE *out, bool all)
{
    fputs("Usage: ulpscope COMMAND [OPTION...]\n", out);
    fputs(purpose, out);
    fputs("\n\nStart here:\n"
          "  ulpscope doctor model.onnx -i inputs.npz --for trt\n"
          "  ulpscope audit model.onnx -i inputs.npz --arith fp16,tf32 --out report/\n"
          "  ulpscope demo\n\nCommands:\n",
          out);
    for (size_t c = 0; c < COMMAND_COUNT; c++)
        if (all || commands[c]->is_front)
            say(out, "  %-13s%s\n", commands[c]->name, commands[c]->summary);
    for (size_t c = 0, others = 0; c < COMMAND_COUNT && !all; c++)
        if (!commands[c]->is_front)
            say(out, "%s%s", others++ ? ", " : "  and ", commands[c]->name);
    fputs(all ? "\n" : " (ulpscope --help=all)\n\n", out);
    fputs("  ulpscope COMMAND -h       examples and the options that are most used\n"
          "  --max-time SECONDS        of every command: end it then, with exit code 6\n"
          "  --sandbox                 of every command: open no files but those it names\n"
          "  ulpscope --version        version\n\n"
          "Exit codes: ",
          out);
    fputs(exit_codes, out);
    fputs("\n", out);
}

/* What manual pages and completions are made of. */
static void describe_program(void)
{
    fputs("program", stdout);
    describe_field(ulp_version());
    fputs("\npurpose", stdout);
    describe_field(purpose);
    fputs("\nexit", stdout);
    describe_field(exit_codes);
    putchar('\n');
    for (size_t c = 0; c < COMMAND_COUNT; c++) {
        fputs("command", stdout);
        describe_field(commands[c]->name);
        describe_field(commands[c]->summary);
        putchar('\n');
    }
    describe_values();
}

/* Memory that is freed stays the process's: a run that follows another (--repeat, samples) then
 * meets no page that the system must clear and hand over again, which costs some microseconds for
 * each 4 KiB. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    if (!mallopt(M_MMAP_THRESHOLD, 1 << 30))
        mallopt(M_MMAP_THRESHOLD, 1 << 25); /* the most that older versions take */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

/* What a preloaded library may have changed before main. The library sees to itself; the program
 * reads and prints numbers, too. */
static void set_plain_environment(void)
{
    fesetenv(FE_DFL_ENV);
    setlocale(LC_ALL, "C");
}

/* What GMP calls when its reserve is used up as well: it cannot be told that there is no memory. */
static void *end_without_memory(size_t size)
{
    static const char message[] = "ulpscope: out of memory in MPFR\n";
    (void)size;
    (void)!write(STDERR_FILENO, message, sizeof message - 1);
    _exit(ULP_ERROR_MEMORY);
}

#define RESERVE_BYTES ((size_t)4 << 20)

/* When memory ends nothing is written; what is whole when something else fails stays. */
static int run_to_end(const struct command *command, int argc, char **argv)
{
    struct ulp_error error;
    ulp_outputs_hold();
    const int code = run_command(command, argc, argv);
    return end_json(ulp_outputs_release(code != ULP_ERROR_MEMORY, &error) == ULP_OK ? code
                                                                                    : fail(&error));
}

static const char *name_command(const void *context, size_t i)
{
    (void)context;
    return commands[i]->name;
}

int main(int argc, char **argv)
{
    struct ulp_error error;
    open_streams();
    set_plain_environment();
    keep_memory();
    mp_set_memory_functions(end_without_memory, NULL, NULL);
    if (ulp_memory_reserve(RESERVE_BYTES, &error) != ULP_OK)
        return fail(&error);
    watch_signals();
    watch_files();
    int code = watch_time(&argc, argv);
    if (code != ULP_OK)
        return code;
    code = sandbox_ask(&argc, argv);
    if (code != ULP_OK)
        return code;
    static char help[] = "--help";
    if (argc > 2 && strcmp(argv[1], "help") == 0) { /* help COMMAND */
        argv[1] = argv[2];
        argv[2] = help;
        argc = 3;
    }
    const char *name = argc > 1 ? argv[1] : "--help";
    const bool all = strcmp(name, "--help=all") == 0;
    if (all || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "-?") == 0 ||
        strcmp(name, "help") == 0) {
        print_help(argc > 1 ? stdout : stderr, all);
        return argc > 1 ? ULP_OK : ULP_ERROR_USAGE;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        say(stdout, "ulpscope %s\n", ulp_version());
        return ULP_OK;
    }
    if (argc == 2 && strcmp(name, "--describe") == 0) {
        describe_program();
        return ULP_OK;
    }
    if (answer_gone(name, argc - 1, argv + 1))
        return ULP_ERROR_USAGE;
    for (size_t c = 0; c < COMMAND_COUNT; c++)
        if (strcmp(name, commands[c]->name) == 0) {
            const bool merges = commands[c] == &command_audit && asks_to_merge(argc - 1, argv + 1);
            return run_to_end(merges ? &command_merge : commands[c], argc - 1, argv + 1);
        }
    const size_t length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, ".onnx") == 0) {
        say(stderr,
            "ulpscope: %s is no command: say what to do with the model, as ulpscope doctor %s "
            "(ulpscope --help lists the commands)\n",
            name, name);
        return ULP_ERROR_USAGE;
    }
    struct ulp_text near = {0};
    ulp_suggest_names(&near, name, COMMAND_COUNT, name_command, NULL);
    say(stderr, "ulpscope: there is no command '%s'%s; commands are", name,
        near.length ? near.data : "");
    ulp_text_free(&near);
    for (size_t c = 0; c < COMMAND_COUNT; c++)
        say(stderr, "%s %s", c ? "," : "", commands[c]->name);
    fputs(" (ulpscope --help)\n", stderr);
    return ULP_ERROR_USAGE;
}
