/* ulpscope arith: explaining an arithmetic's name. */
#include <stdio.h>

#include "command.h"

static const char documentation[] =
    "Explain the name of an arithmetic: formats of storage, factors and accumulator, where it "
    "rounds, the matrix unit. Without NAME: all presets."
    "\vExamples:\n"
    "  ulpscope arith fp16\n"
    "  ulpscope arith tf32@a100\n"
    "  ulpscope arith fp16-strict,order=pairwise\n\n"
    "Parts are appended with commas: round=rne|rna|rz|ru|rd|sr  seed=N  each-step  result-only\n"
    "subnormals=keep|flush  overflow=inf|nan|saturate  acc=FORMAT  compute=FORMAT  factor=FORMAT\n"
    "order=sequential|pairwise|blocked:N  reduce=sequential|pairwise|blocked:N|warp  fma  nofma\n"
    "unit=mma|wgmma|tcgen05|none  operands=rna|rne|rz  promote=N  split-k=N  "
    "epilogue=fused|rounded\n"
    "qdq=float|integer: a Q/DQ graph in floats as it is written, or its products summed in INT32 "
    "as\n"
    "  an INT8 kernel does\n"
    "functions=rounded|cuda: every function correctly rounded, or erf, exp and sigmoid as CUDA's\n"
    "  library computes them (the default with a matrix unit)\n"
    "qdq-scales=declared|lowered: scales of QuantizeLinear and DequantizeLinear as the model\n"
    "  declares them, or lowered like other constants\n"
    "constants=saturated|ieee|tensorrt|onnxconverter-common: constants beyond the largest value\n"
    "  become that value, or infinite, or what that converter makes of them\n\n"
    "Formats: fp64 fp32 fp16 bf16 tf32 fp8-e4m3 fp8-e5m2 eXmY mpfr:P\n"
    "The arithmetic 'model' uses exactly the types that the model declares, 'ort-cpu' what ONNX\n"
    "Runtime's CPU provider makes of them: FP16 graphs in FP32.";

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
    static const struct argp argp = {.args_doc = "[NAME...]", .doc = documentation};
    struct ulp_error error;
    struct ulp_arithmetic arithmetic;
    int first = argc;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, &first, NULL) != 0)
        return fail_memory();
    for (int a = first; a < argc; a++) {
        if (ulp_arithmetic_find(argv[a], &arithmetic, &error) != ULP_OK)
            return fail(&error);
        describe(&arithmetic);
    }
    if (first < argc)
        return ULP_OK;
    for (size_t i = 0; ulp_arithmetic_preset(i); i++)
        if (ulp_arithmetic_find(ulp_arithmetic_preset(i), &arithmetic, &error) == ULP_OK)
            describe(&arithmetic);
    return ULP_OK;
}
