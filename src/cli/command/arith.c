/* ulpscope arith: explaining an arithmetic's name. */
#include <stdint.h>
#include <stdio.h>

#include "base/text/text.h"
#include "cli/command.h"

static const char documentation[] =
    "Explain the name of an arithmetic: formats of storage, factors and accumulator, where it "
    "rounds, the matrix unit. Or that of a target, as --for takes it: what it stores, accumulates "
    "and fuses, how it lowers constants, and what is known of it from where. Without ARITH: all "
    "presets."
    "\vExamples:\n"
    "  ulpscope arith fp16\n"
    "  ulpscope arith tf32@a100\n"
    "  ulpscope arith torch-compile:fp16@a100\n"
    "  ulpscope arith trt10\n"
    "  ulpscope arith fp16-strict,order=pairwise\n\n"
    "Formats: fp64 fp32 fp16 bf16 tf32 fp8-e4m3 fp8-e5m2 eXmY mpfr:P\n"
    "The arithmetic 'model' uses exactly the types that the model declares, 'ort-cpu' what ONNX "
    "Runtime's CPU provider makes of them: FP16 graphs in FP32.";

/* --help ends with the parts, as the library lists them. */
static char *add_parts(int key, const char *text, void *input)
{
    struct ulp_text out = {0};
    char spelled[200];
    const char *meaning;
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC || !text)
        return (char *)(uintptr_t)text;
    ulp_text_add(&out, "%s\n\nTargets of --for, which @GPU may follow:\n", text);
    for (size_t i = 0; ulp_target(i); i++)
        ulp_text_add(&out, "  %-20s%s%s%s\n", ulp_target(i)->name, ulp_target(i)->product,
                     ulp_target(i)->alias ? "; also " : "",
                     ulp_target(i)->alias ? ulp_target(i)->alias : "");
    ulp_text_add(&out, "\nNames by runtime, which @GPU and parts may follow:\n");
    for (size_t i = 0; ulp_arithmetic_runtime(i); i++)
        ulp_text_add(&out, "  %-20s%s\n", ulp_arithmetic_runtime(i)->name,
                     ulp_arithmetic_runtime(i)->expansion);
    ulp_text_add(&out, "\nParts are appended with commas:\n");
    for (size_t i = 0; (meaning = ulp_arithmetic_part(i, spelled, sizeof spelled)); i++)
        ulp_text_add(&out, "  %s\n      %s\n", spelled, meaning);
    return out.failed ? (char *)(uintptr_t)text : out.data;
}

/* What a name by runtime stands on. */
static void describe_runtime(const char *name)
{
    const struct ulp_runtime *row = ulp_runtime_find(name);
    if (row)
        say(stdout, "%s stands for %s\n  %s: %s\n", row->name, row->expansion, row->basis,
            row->support);
}

static void describe_target(const struct ulp_target *target)
{
    char text[4096];
    ulp_target_describe(target, text, sizeof text);
    fputs(text, stdout);
    putchar('\n');
}

static void describe(const struct ulp_arithmetic *arithmetic)
{
    char text[4096];
    struct ulp_unit_info unit;
    ulp_arithmetic_describe(arithmetic, text, sizeof text);
    fputs(text, stdout);
    if (ulp_arithmetic_unit(arithmetic, &unit))
        say(stdout, "  unit        %s: %d products a block, %d fraction bits; %s.\n", unit.name,
            unit.block, unit.fraction_bits, unit.source);
    putchar('\n');
}

int command_arith(int argc, char **argv)
{
    static const struct argp argp = {.args_doc = "[ARITH...]",
                                     .doc = documentation,
                                     .help_filter = add_parts};
    struct ulp_error error;
    struct ulp_arithmetic arithmetic;
    int first = argc;
    const int code = parse_words(&argp, argc, argv, &first, NULL);
    if (code != ULP_OK)
        return code;
    for (int a = first; a < argc; a++) {
        const struct ulp_target *target = ulp_target_find(argv[a]);
        if (target) {
            describe_target(target);
            continue;
        }
        if (ulp_arithmetic_find(argv[a], &arithmetic, &error) != ULP_OK)
            return fail(&error);
        describe_runtime(argv[a]);
        describe(&arithmetic);
    }
    if (first < argc)
        return ULP_OK;
    for (size_t i = 0; ulp_arithmetic_preset(i); i++)
        if (ulp_arithmetic_find(ulp_arithmetic_preset(i), &arithmetic, &error) == ULP_OK)
            describe(&arithmetic);
    return ULP_OK;
}
