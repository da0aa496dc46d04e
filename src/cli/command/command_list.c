/* ulpscope list: what this version has, and what a name means. */
#include <unistd.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/suggest.h"
#include "base/text/text.h"
#include "cli/command.h"

/* ---- operators ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct ulp_operator_info *x = a, *y = b;
    int order = strcmp(x->domain, y->domain);
    if (order == 0)
        order = strcmp(x->name, y->name);
    if (order == 0)
        order = (x->since > y->since) - (x->since < y->since);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* The rows, in order; freed with free(). */
static enum ulp_status read_rows(struct ulp_operator_info **rows, size_t *count,
                                 struct ulp_error *error)
{
    struct ulp_operator_info row;
    for (*count = 0; ulp_operator_info(*count, &row); ++*count)
        ;
    *rows = calloc(*count + 1, sizeof **rows);
    if (!*rows)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < *count; i++)
        ulp_operator_info(i, &(*rows)[i]);
    qsort(*rows, *count, sizeof **rows, compare_rows);
    return ULP_OK;
}

static void print_row(const struct ulp_operator_info *row)
{
    char versions[32];
    if (row->until)
        snprintf(versions, sizeof versions, "%d-%d", row->since, row->until);
    else
        snprintf(versions, sizeof versions, "%d-", row->since);
    say(stdout, "%s%s%-*s opset %-7s %s%s\n", row->domain, *row->domain ? "." : "",
        *row->domain ? 1 : 28, row->name, versions,
        row->formula ? "formula: "
        : row->text  ? "contraction, then "
                     : row->work,
        row->text ? row->text : "");
    const char *text;
    for (size_t i = 0; (text = ulp_operator_info_formula(row->index, i)); i++)
        say(stdout, "%44s with formula: %s\n", "", text);
}

static size_t count_operators(void)
{
    struct ulp_operator_info row, before;
    size_t count = 0;
    for (size_t i = 0; ulp_operator_info(i, &row); i++) {
        bool is_new = true;
        for (size_t j = 0; j < i && is_new; j++)
            is_new = !ulp_operator_info(j, &before) || strcmp(row.name, before.name) != 0 ||
                     strcmp(row.domain, before.domain) != 0;
        count += is_new;
    }
    return count;
}

/* Those of that name (NULL: all, and how many there are); how many were printed. */
static enum ulp_status print_operators(const char *name, size_t *printed, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) struct ulp_operator_info *rows = NULL;
    size_t count, formulas = 0;
    ULP_TRY(read_rows(&rows, &count, error));
    *printed = 0;
    for (size_t i = 0; i < count; i++) {
        formulas += rows[i].formula;
        if (name && strcmp(name, rows[i].name) != 0)
            continue;
        print_row(&rows[i]);
        ++*printed;
    }
    if (!name)
        say(stdout, "%zu operators in %zu rows, %zu of the rows are formulas\n", count_operators(),
            count, formulas);
    return ULP_OK;
}

/* ---- units ---- */

static bool is_of_gpu(const struct ulp_unit_info *unit, const char *gpu)
{
    const size_t length = strlen(gpu);
    return strncmp(unit->name, gpu, length) == 0 && unit->name[length] == '.';
}

/* Those of that name or of that GPU (NULL: all, and which GPUs have those of others). */
static size_t print_units(const char *name)
{
    struct ulp_unit_info unit;
    struct ulp_gpu_info gpu;
    size_t printed = 0;
    const char *of = name;
    for (size_t i = 0; name && ulp_gpu_info(i, &gpu); i++)
        if (strcmp(name, gpu.name) == 0)
            of = gpu.unit;
    for (size_t i = 0; ulp_unit_info(i, &unit); i++) {
        if (name && strcmp(name, unit.name) != 0 && !is_of_gpu(&unit, of))
            continue;
        if (!printed++)
            say(stdout, "%-26s %5s %8s  %s\n", "unit", "block", "fraction", "parameters");
        say(stdout, "%-26s %5d %8d  %s\n", unit.name, unit.block, unit.fraction_bits, unit.source);
    }
    if (!name)
        say(stdout, "%zu units\n", printed);
    for (size_t i = 0; ulp_gpu_info(i, &gpu); i++)
        if (*gpu.known && (!name || strcmp(name, gpu.name) == 0))
            say(stdout, "%-8s has the units of %s: %s; not measured itself\n", gpu.name, gpu.unit,
                gpu.known);
    return printed;
}

/* ---- arithmetics and targets ---- */

/* Lines with a title, which go on behind it. */
static void print_description(char *text)
{
    enum { BEHIND = 14 };
    static const char blanks[BEHIND + 1] = "              ";
    if (!terminal_width(STDOUT_FILENO)) {
        fputs(text, stdout);
        return;
    }
    for (char *line = text, *end; *line; line = end) {
        for (end = strchr(line, '\n'); end && strncmp(end + 1, blanks, BEHIND) == 0;
             end = strchr(end, '\n')) {
            *end = ' ';
            memmove(end + 1, end + 1 + BEHIND, strlen(end + 1 + BEHIND) + 1);
        }
        if (end)
            *end++ = '\0';
        else
            end = line + strlen(line);
        say_wrapped(BEHIND, "%s", line);
    }
}

static void describe_target(const struct ulp_target *target)
{
    char text[32768];
    ulp_target_describe(target, text, sizeof text);
    print_description(text);
    putchar('\n');
}

static void describe_arithmetic(const struct ulp_arithmetic *arithmetic, const char *name)
{
    char text[16384];
    struct ulp_unit_info unit;
    ulp_arithmetic_describe(arithmetic, text, sizeof text);
    print_description(text);
    if (ulp_arithmetic_unit(arithmetic, &unit))
        say_wrapped(14, "  unit        %s: %d products a block, %d fraction bits; %s.", unit.name,
                    unit.block, unit.fraction_bits, unit.source);
    ulp_rules_describe(name, text, sizeof text);
    print_description(text);
    putchar('\n');
}

static enum ulp_status explain_arithmetic(const char *name, struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic;
    const struct ulp_runtime *row = ulp_runtime_find(name);
    ULP_TRY(ulp_arithmetic_find(name, &arithmetic, error));
    if (row) /* what a name by runtime stands on */
        say(stdout, "%s stands for %s\n", row->name, row->expansion);
    describe_arithmetic(&arithmetic, name);
    return ULP_OK;
}

static size_t print_arithmetics(bool shown)
{
    struct ulp_arithmetic arithmetic;
    struct ulp_error error;
    const struct ulp_runtime *row;
    size_t presets = 0, runtimes = 0;
    for (; ulp_arithmetic_preset(presets); presets++)
        if (shown &&
            ulp_arithmetic_find(ulp_arithmetic_preset(presets), &arithmetic, &error) == ULP_OK)
            describe_arithmetic(&arithmetic, arithmetic.name);
    if (shown)
        say(stdout, "Names by runtime, which @GPU and parts may follow:\n");
    for (; (row = ulp_arithmetic_runtime(runtimes)); runtimes++)
        if (shown)
            say(stdout, "  %-20s%s\n", row->name, row->expansion);
    return presets + runtimes;
}

static size_t print_parts(bool shown)
{
    char spelled[200];
    const char *meaning;
    size_t count = 0;
    for (; (meaning = ulp_arithmetic_part(count, spelled, sizeof spelled)); count++)
        if (shown)
            say(stdout, "%s\n    %s\n", spelled, meaning);
    return count;
}

static size_t print_targets(bool shown)
{
    const struct ulp_target *target;
    size_t count = 0;
    for (; (target = ulp_target(count)); count++)
        if (shown)
            say(stdout, "%-20s%s%s%s\n", target->name, target->product,
                target->alias ? "; also " : "", target->alias ? target->alias : "");
    return count;
}

/* ---- the command ---- */

static void print_overview(void)
{
    struct ulp_unit_info unit;
    size_t units = 0;
    while (ulp_unit_info(units, &unit))
        units++;
    say(stdout,
        "ulpscope %s, instruction sets %s\n"
        "%5zu arithmetics  how a model is computed: formats, rounding, order of sums\n"
        "%5zu parts        what a name of one may go on with: fp16@a100,acc=fp16\n"
        "%5zu targets      where a model runs, as --for takes it\n"
        "%5zu operators    and the formulas that define them\n"
        "%5zu units        of GPUs, computed bit for bit\n"
        "ulpscope list operators has them all, ulpscope list NAME explains one.\n",
        ulp_version(), ulp_instruction_sets(), print_arithmetics(false), print_parts(false),
        print_targets(false), count_operators(), units);
}

static const char *name_operator(const void *context, size_t i)
{
    return ((const struct ulp_operator_info *)context)[i].name;
}

static enum ulp_status refuse_operator(const char *name, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) struct ulp_operator_info *rows = NULL;
    ULP_SCOPED(ulp_text_free) struct ulp_text near = {0};
    size_t count;
    ULP_TRY(read_rows(&rows, &count, error));
    ulp_suggest_names(&near, name, count, name_operator, rows);
    return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                    "this version has no operator '%s'%s (ulpscope list operators has all)", name,
                    near.length ? near.data : "");
}

static enum ulp_status list(const char *word, struct ulp_error *error)
{
    const struct ulp_target *target = ulp_target_find(word);
    size_t printed = 0;
    if (strcmp(word, "arithmetics") == 0)
        print_arithmetics(true);
    else if (strcmp(word, "parts") == 0)
        print_parts(true);
    else if (strcmp(word, "targets") == 0)
        print_targets(true);
    else if (strcmp(word, "units") == 0)
        print_units(NULL);
    else if (strcmp(word, "operators") == 0)
        return print_operators(NULL, &printed, error);
    else if (target)
        describe_target(target);
    else if (print_units(word) == 0) {
        ULP_TRY(print_operators(word, &printed, error));
        if (!printed)
            return isupper((unsigned char)*word) ? refuse_operator(word, error)
                                                 : explain_arithmetic(word, error);
    }
    return ULP_OK;
}

struct list_options {
    char **names;
    size_t count;
};

static enum ulp_status list_names(void *parsed, struct ulp_error *error)
{
    const struct list_options *options = parsed;
    if (!options->count)
        print_overview();
    for (size_t n = 0; n < options->count; n++)
        ULP_TRY(list(options->names[n], error));
    return ULP_OK;
}

#define PARSED struct list_options
static const struct option_row rows[] = {
#include "cli/command/list_option.def"
    {0}};
const struct command command_list = {
    .name = "list",
    .summary = "say which arithmetics, targets, operators and units there are, and explain one",
    .purpose =
        "Without a word: what can be listed, and how much there is of it. \"arithmetics\", "
        "\"parts\" (appended to the name of one), \"targets\" (of --for), \"operators\" (with the "
        "formulas that define them) or \"units\" (of GPUs, with the sources of their parameters): "
        "all of them. Any other word is the name of one, which is explained: of an arithmetic "
        "formats, rounding, order of sums and matrix unit; of a target what it stores, accumulates "
        "and fuses, how it lowers constants, and what is known of it from where.",
    .examples = "  ulpscope list\n"
                "  ulpscope list operators\n"
                "  ulpscope list tf32@a100\n"
                "  ulpscope list torch-compile:fp16@a100 trt10\n"
                "  ulpscope list fp16-strict,order=pairwise\n"
                "  ulpscope list Softmax h200.mma.f16.f32 a30",
    .notes = "Formats: fp64 fp32 fp16 bf16 tf32 fp8-e4m3 fp8-e5m2 eXmY mpfr:P\n"
             "The arithmetic 'model' uses exactly the types that the model declares, 'ort-cpu' "
             "what ONNX Runtime's CPU provider makes of them: FP16 graphs in FP32.",
    .groups = {{NULL, rows, 0}, HELP_GROUP},
    .size = sizeof(struct list_options),
    .run = list_names,
};
