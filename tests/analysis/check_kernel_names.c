/* Kernels' names (ulpscope/engine.h): the grammar of doc/engine.md, and the names in the
 * descriptions of real engines, which are read when ULPSCOPE_TEST_DATA is set. */
#include "tests/analysis/engine_test.h"
#include "tests/support/text_cases.h"

#define CASES "kernels.cases"

static const char *or_dash(const char *text)
{
    return *text ? text : "-";
}

/* The grammar of doc/engine.md; names of engines and libraries as they are published. */
TEST(kernel_names)
{
    struct ulp_kernel_name name;
    char found[200];
    for (size_t c = 0; c < text_case_count(CASES); c++) {
        const char *wanted = text_case(CASES, c, "", 0), *given = strstr(wanted, ": ") + 2;
        if (strncmp(wanted, "engine ", 7) == 0)
            continue;
        ulp_kernel_name_read(given, &name);
        snprintf(found, sizeof found,
                 "%s %s %s %s, %s, %d slices, sm%d%s%s: ", or_dash(name.multiply),
                 or_dash(name.accumulator), or_dash(name.epilogue), or_dash(name.output),
                 ulp_certainty_name(name.certainty), name.slices, name.architecture,
                 name.unit ? ", unit" : "", name.winograd ? ", winograd" : "");
        ck_assert_msg(name.matrix && strncmp(wanted, found, strlen(found)) == 0, "%s%s (%s)", found,
                      given, name.pattern);
        ck_assert(*name.source);
    }
    static const char *const none[] = {"", "sm50_xmma_pooling_fw_4d_FP16FP32NHWC_Average_FastDiv",
                                       "__myl_MaxrSubExpSum_0x574acd", "f16f16", "____"};
    for (size_t c = 0; c < sizeof none / sizeof *none; c++) {
        ulp_kernel_name_read(none[c], &name);
        ck_assert_msg(!name.matrix, "%s is taken for a product by %s", none[c], name.pattern);
    }
}

/* A long name is read in time that grows with its square at most. */
TEST(long_kernel_name)
{
    const size_t length = 200000;
    char *name = malloc(length + 1);
    struct ulp_kernel_name out;
    ck_assert_ptr_nonnull(name);
    for (size_t i = 0; i < length; i++)
        name[i] = "_f16"[i % 4];
    name[length] = 0;
    ulp_kernel_name_read(name, &out);
    free(name);
    const char *source;
    enum ulp_certainty certainty;
    size_t rows = 0;
    for (; ulp_kernel_name_pattern(rows, &source, &certainty); rows++)
        ck_assert(*source);
    ck_assert_uint_gt(rows, 20);
}

TEST(real_kernels)
{
    for (size_t c = 0; c < text_case_count(CASES) && test_shared("engines"); c++) {
        const char *wanted = text_case(CASES, c, "", 0);
        char file[200], found[400];
        if (sscanf(wanted, "engine %199[^:]", file) != 1)
            continue;
        char path[256];
        scoped_engine engine = {0};
        int half = 0, wide = 0, whole = 0, hidden = 0, tf32 = 0, fp32 = 0, winograd = 0;
        snprintf(path, sizeof path, "engines/%s.json", file);
        ck_ok(ulp_engine_read(test_shared(path), NULL, &engine, &why));
        ck_assert_uint_gt(engine.layer_count, 2);
        for (size_t l = 0; l < engine.layer_count; l++) {
            struct ulp_kernel_name name;
            ulp_kernel_name_read(engine.layers[l].kernel, &name);
            if (!name.matrix || strcmp(engine.layers[l].kind, "kgen") == 0)
                continue;
            half += strcmp(name.accumulator, "fp16") == 0;
            wide += strcmp(name.accumulator, "fp32") == 0;
            whole += strcmp(name.accumulator, "int32") == 0;
            hidden += !*name.accumulator;
            tf32 += strcmp(name.multiply, "tf32") == 0;
            fp32 += strcmp(name.multiply, "fp32") == 0;
            winograd += name.winograd;
            /* the name's output is the row's, wherever both tell */
            if (*name.output && engine.layers[l].output_count)
                ck_assert_msg((strcmp(name.output, "fp16") == 0) ==
                                  (engine.layers[l].outputs[0].type == ULP_TYPE_FLOAT16),
                              "%s: %s writes %s", file, engine.layers[l].kernel,
                              engine.layers[l].outputs[0].format);
        }
        snprintf(found, sizeof found,
                 "engine %s: %d fp16, %d fp32, %d int32, %d hidden; %d tf32, %d fp32, %d winograd",
                 file, half, wide, whole, hidden, tf32, fp32, winograd);
        ck_assert_str_eq(found, wanted);
    }
}
