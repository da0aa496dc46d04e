/* Whether what was asked for was built: plans, trtexec's options, an engine's name. */
#include "base/machine/file.h"
#include "tests/analysis/engine_test.h"

static void check_wish(const struct ulp_wish *wish, enum ulp_wish_verdict verdict, const char *ran,
                       const char *hint)
{
    ck_assert_msg(wish->verdict == verdict && strcmp(wish->ran, ran) == 0 &&
                      strstr(wish->hint, hint),
                  "%s:%s: %s, ran '%s', hint '%s'", wish->pattern, wish->type,
                  ulp_wish_verdict_name(wish->verdict), wish->ran, wish->hint);
}

/* The page and the JSON begin with what the terminal does. */
static void check_written(const struct subject *subject, const struct ulp_wishes *wishes,
                          const char *verdict)
{
    char path[400], text[4096] = "";
    snprintf(path, sizeof path, "%s", test_folder("engine.json"));
    ck_ulp_ok(ulp_engine_map_write(&subject->built, wishes, ULP_OUTPUT_JSON, path, &error), error);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    remove(path);
    ck_assert_msg(strstr(text, verdict) != NULL, "%s", text);
}

/* A plan all of whose entries were obeyed, one of which half were, and one that names kernels. */
TEST(plans)
{
    static const struct {
        const char *engine, *keep;
        size_t counts[ULP_WISH_UNKNOWABLE + 1];
        enum ulp_wish_verdict verdict;
        const char *ran, *hint, *verdict_text;
    } cases[] = {
        {"trt10_mixed.json",
         "{\"nodes\": [\"/fc.2/MatMul\", \"op:Softmax\"], \"arithmetic\": \"fp32\"}",
         {2},
         ULP_WISH_OBEYED,
         "tf32",
         "",
         "All 2 constraints were obeyed."},
        {"trt10_mixed.json",
         "{\"nodes\": \"op:MatMul\", \"arithmetic\": \"fp32\"}",
         {0, 1},
         ULP_WISH_PARTLY,
         "fp16",
         "",
         "0 of 1 constraints were obeyed, 1 partly obeyed."},
        {"trt10_half.json",
         "{\"nodes\": \"/fc.2/MatMul\", \"arithmetic\": \"fp32\"}",
         {0, 0, 1},
         ULP_WISH_DISOBEYED,
         "fp16",
         "",
         "0 of 1 constraints were obeyed, 1 not obeyed."},
        {"trt10_half.json",
         "{\"nodes\": [\"/fc1/MatMul + /fc1/Add + /act/Relu\", \"/fc2/MatMul\"], \"arithmetic\": "
         "\"fp32\"}",
         {0, 0, 0, 2},
         ULP_WISH_NO_MATCH,
         "",
         "name its nodes: /fc1/MatMul, /fc1/Add, /act/Relu",
         "0 of 2 constraints were obeyed, 2 match nothing."},
        {"names_only.json",
         "{\"nodes\": \"/fc.2/MatMul\", \"arithmetic\": \"fp32\"}",
         {0, 0, 0, 0, 1},
         ULP_WISH_UNKNOWABLE,
         "",
         "",
         "1 unknowable."},
        {"foreign.json",
         "{\"nodes\": \"op:Softmax\", \"arithmetic\": \"fp32\"}",
         {0, 0, 0, 0, 1},
         ULP_WISH_UNKNOWABLE,
         "",
         "",
         "1 unknowable."}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct subject subject;
        struct ulp_precision_plan wanted;
        struct ulp_wishes wishes;
        char content[512], *summary;
        snprintf(content, sizeof content, "{\"arithmetic\": \"fp16\", \"keep\": [%s]}",
                 cases[c].keep);
        write_file("plan.json", content);
        begin(&subject, cases[c].engine);
        ck_ok(ulp_precision_plan_read(test_folder("plan.json"), NULL, &wanted, &why));
        ck_ok(ulp_engine_map_wishes(&subject.built, &wanted, NULL, &wishes, &why));
        for (int v = 0; v <= ULP_WISH_UNKNOWABLE; v++)
            ck_assert_msg(wishes.counts[v] == cases[c].counts[v], "case %zu: %zu %s", c,
                          wishes.counts[v], ulp_wish_verdict_name((enum ulp_wish_verdict)v));
        check_wish(&wishes.items[0], cases[c].verdict, cases[c].ran, cases[c].hint);
        ck_ok(ulp_engine_map_text(&subject.built, &wishes, 0, 0, false, &summary, &why));
        ck_assert_ptr_nonnull(strstr(summary, cases[c].verdict_text));
        free(summary);
        check_written(&subject, &wishes, cases[c].verdict_text);
        ulp_wishes_free(&wishes);
        ulp_precision_plan_free(&wanted);
        end(&subject);
    }
}

/* trtexec's text; names that match nothing have near ones. */
TEST(layer_precisions)
{
    struct subject subject;
    struct ulp_wishes wishes;
    begin(&subject, "trt10_half.json");
    ck_ok(ulp_engine_map_wishes(&subject.built, NULL,
                                "/fc1/MatMul:fp16,/fc*:fp32,/fc1/MatMull:fp32,/soft/Softmax:fp16",
                                &wishes, &why));
    ck_assert_uint_eq(wishes.count, 4);
    check_wish(&wishes.items[0], ULP_WISH_OBEYED, "fp16", "");
    check_wish(&wishes.items[1], ULP_WISH_DISOBEYED, "fp16", "");
    ck_assert_uint_eq(wishes.items[1].disobeyed, 3);
    check_wish(&wishes.items[2], ULP_WISH_NO_MATCH, "", "did you mean \"/fc1/MatMul\"");
    check_wish(&wishes.items[3], ULP_WISH_OBEYED, "fp16", "");
    ulp_wishes_free(&wishes);
    ck_assert_int_eq(ulp_engine_map_wishes(&subject.built, NULL, "a", &wishes, &error),
                     ULP_ERROR_USAGE);
    end(&subject);
}

/* An engine called FP16 that multiplies nothing in FP16 is said so first. */
TEST(false_claim)
{
    struct subject subject;
    char *verdict;
    begin(&subject, "trt10_fp16_claimed.json");
    ck_ok(ulp_engine_map_verdict(&subject.built, &verdict, &why));
    ck_assert_str_eq(verdict,
                     "Called FP16 (by its file's name), but none of its 2 products runs in "
                     "FP16: 2 in TF32. It was built with TF32 allowed, which 2 of 2 products in "
                     "FP32 use.\n");
    free(verdict);
    end(&subject);
    begin(&subject, "trt10_half.json");
    ck_ok(ulp_engine_map_verdict(&subject.built, &verdict, &why));
    ck_assert_str_eq(verdict, "This engine accumulates 1 of 2 products in FP16, 1 in FP32; it "
                              "multiplies 2 in FP16.\n");
    free(verdict);
    end(&subject);
}
