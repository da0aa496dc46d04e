/* Names that are no arithmetic's: what is said of them. */
#include "base/random.h"
#include "tests/support/test.h"

/* Each wrong name, and words that its message must contain: what is wrong and what to do. */
TEST(wrong_names)
{
    static const struct {
        const char *name, *words[3];
    } wrong[] = {
        {"", {"unknown base", "fp16"}},
        {"fp61", {"unknown base \"fp61\"", "did you mean \"fp64\"", "known: fp64, fp32"}},
        {"int8", {"\"int8\" is no arithmetic", "fp32,qdq=integer"}},
        {"uint4,acc=fp32", {"\"uint4\" is no arithmetic", "scales"}},
        {"half", {"did you mean \"fp16\""}},
        {"float32", {"did you mean \"fp32\""}},
        {"bf61", {"did you mean \"bf16\""}},
        {"mpfr", {"did you mean \"mpfr:128\""}},
        {"mpfr:5000", {"2 to 4096"}},
        {"e1m3", {"2 to 11 exponent bits"}},
        {"mpfr:128-strict", {"unknown base"}},
        {"mpfr:128,round=rz", {"mpfr:128 is the reference", "no parts"}},
        {"fp16,acc=mpfr:128", {"no part of another", "fp64"}},
        {"tf32-trunc-strict", {"unknown base"}},
        {"fp16@h2000",
         {"unknown GPU \"h2000\"", "did you mean \"h200\"",
          "v100, t4, a100, a2, ada, l40s, h100, h200, b200, rtx5090"}},
        {"fp16@4090", {"unknown GPU \"4090\"", "did you mean \"rtx4090\""}},
        {"fp16@", {"unknown GPU"}},
        {"fp32@h200", {"h200 has no matrix unit for products of fp32", "tf32"}},
        {"e5m7@h200", {"no matrix unit for products of e5m7"}},
        {"bf16@v100", {"v100 has no matrix unit for products of bf16", "another GPU"}},
        {"tf32@t4", {"t4 has no matrix unit"}},
        {"fp8-e4m3@a100", {"a100 has no matrix unit"}},
        {"fp16@a100,unit=wgmma", {"a100 has no wgmma instructions", "mma only"}},
        {"fp16@b200,unit=wgmma", {"mma and tcgen05"}},
        {"bf16@h200,factor=fp6-e3m2", {"h200 has no matrix unit for products of fp6-e3m2"}},
        {"bf16@b200,factor=fp6-e3m2,unit=mma", {"tcgen05 instructions", "leave out unit=mma"}},
        {"bf16,factor=nvfp5", {"nvfp5"}},
        {"bf16,weights=mxfp5", {"no format with scales", "did you mean \"mxfp", "nvfp4"}},
        {"bf16,factor=nvfp4,scale=up", {"no rule for the scales of nvfp4", "largest, four-six"}},
        {"bf16,scale=up", {"no meaning without scales"}},
        {"bf16,factor=mxfp8,factor-b=nvfp4", {"scales of the same kind"}},
        {"bf16,factor=nvfp4,weights=mxfp4", {"contradicts", "factor-b="}},
        {"fp64,factor=mxfp8", {"bf16, fp16 or fp32"}},
        {"bf16,factor=nvfp4,promote=128", {"one chain", "leave out promote="}},
        {"fp16@a100,unit=none", {"unit=none", "contradicts @a100"}},
        {"fp16,acc=bf16", {"fp32 or fp16", "not in bf16", "unit=none"}},
        {"bf16,acc=fp16", {"in fp32, not in fp16"}},
        {"fp64@h200,acc=fp32", {"adds in fp64"}},
        {"fp16,fma", {"matrix unit", "unit=none"}},
        {"fp32,order=pairwise,fma", {"pairwise", "leave out fma"}},
        {"fp32,order=blocked", {"order=blocked:128"}},
        {"fp32,order=blocked:0", {"from 1 to 1073741824"}},
        {"fp32,order=backwards", {"unknown value", "sequential, pairwise, blocked"}},
        {"fp16,qdq=integer@a100", {"behind the base", "fp16@a100,qdq=integer"}},
        {"fp16,compute=bf16", {"cannot hold every value of the storage format fp16"}},
        {"fp16,compute=fp8-e5m2", {"cannot hold"}},
        {"fp16,each-step,compute=fp32", {"each-step", "contradicts"}},
        {"fp32,result-only,compute=fp32", {"wider compute format"}},
        {"fp64,result-only", {"no wider compute format"}},
        {"fp16,seed=3", {"round=sr"}},
        {"fp16,round=sr,seed=18446744073709551616", {"from 0 to 18446744073709551615"}},
        {"fp16,round=sr,seed=-1", {"whole number"}},
        {"fp16,round=xx", {"rne, rna, rz, ru, rd, sr"}},
        {"fp32,roun=rz", {"unknown part \"roun=rz\"", "did you mean \"round=\"", "known parts"}},
        {"fp32,round=rz,round=rz", {"set twice"}},
        {"fp32,fma,nofma", {"set twice"}},
        {"fp16,", {"unknown part \"\""}},
        {"fp8-e4m3,overflow=inf", {"fp8-e4m3 has no infinity", "overflow=saturate"}},
        {"fp16,operands=rz", {"nothing is rounded"}},
        {"tf32,operands=ru", {"unknown value", "rne, rna, rz"}},
        {"fp64,promote=128", {"fp32 sum"}},
        {"fp32,split-k=0", {"from 1 to"}},
        {"fp32,split-k=8x", {"whole number"}},
        {"fp32,epilogue=rounded", {"holds every sum"}},
        {"fp32,integers=16", {"exact, saturating16"}},
        {"fp32,requant=twice", {"float, double, single"}},
        {"ort-cpu,fp16", {"unknown part \"fp16\""}},
        {"ort-cpu,unit=none", {"ort-cpu takes no parts but qdq= and integers="}},
        {"model@a100", {"unknown base"}},
        {"fp16,epilogue=half", {"fused, rounded"}},
        {"fp64,functions=cuda", {"functions=rounded"}},
        {"fp16-strict,functions=cuda", {"FP32"}},
        {"tf32,subnormals=flush,functions=cuda", {"subnormals"}},
        {"fp16,round=rz,functions=cuda", {"nearest even"}},
        {"fp32,factor=fp15", {"unknown number format"}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct ulp_arithmetic a;
        struct ulp_error error = {.status = ULP_OK};
        ck_assert_msg(ulp_arithmetic_find(wrong[i].name, &a, &error) == ULP_ERROR_USAGE,
                      "\"%s\" was accepted", wrong[i].name);
        ck_assert_int_eq(error.status, ULP_ERROR_USAGE);
        for (int j = 0; j < 3 && wrong[i].words[j]; j++)
            ck_assert_msg(strstr(error.message, wrong[i].words[j]) != NULL,
                          "\"%s\": message lacks \"%s\":\n%s", wrong[i].name, wrong[i].words[j],
                          error.message);
        ck_assert_int_eq(ulp_arithmetic_find(wrong[i].name, &a, NULL), ULP_ERROR_USAGE);
    }
    char longest[2000];
    memset(longest, 'x', sizeof longest);
    for (size_t length = 1; length < sizeof longest; length += 97) {
        longest[sizeof longest - 1] = 0;
        struct ulp_arithmetic a;
        struct ulp_error error;
        ck_assert_int_eq(ulp_arithmetic_find(longest + sizeof longest - 1 - length, &a, &error),
                         ULP_ERROR_USAGE);
    }
}

/* Random bytes and random mixtures of words never do anything but succeed or fail cleanly. */
TEST(hostile_names)
{
    static const char *const words[] = {
        "fp16",           ",",    "@",     "h200", "=",           "round=", "sr",
        "seed=",          "e",    "m",     "5",    "99999999999", "mpfr:",  "-strict",
        "order=blocked:", "acc=", "unit=", "\xff", " ",           "%s%n"};
    for (uint64_t i = 0; i < 20000; i++) {
        char name[600] = "";
        const uint64_t count = ulp_random_bits(5, i) % 40;
        for (uint64_t j = 0; j < count; j++)
            strcat(name, words[ulp_random_bits(6 + i, j) % (sizeof words / sizeof words[0])]);
        struct ulp_error error;
        struct ulp_arithmetic a;
        struct ulp_format format;
        const enum ulp_status status = ulp_arithmetic_find(name, &a, &error);
        ck_expect(status == ULP_OK || (status == ULP_ERROR_USAGE && error.message[0]), "%s", name);
        (void)ulp_format_find(name, &format, &error);
    }
}

TEST_SUITE("wrong names", 60)
