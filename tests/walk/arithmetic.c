/* Names of arithmetics, drawn from bases, formats, GPUs and parts. */
#include "builder.h"
#include "tests/support/test.h"
#include "tests/support/text_cases.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define PARTS_MAX 5

static const char *const bases[] = {
    "fp16",        "fp16",     "fp16",       "bf16",         "bf16",         "fp32",
    "fp64",        "tf32",     "tf32-trunc", "tf32-strict",  "fp16-strict",  "fp16-strict",
    "bf16-strict", "fp8-e4m3", "fp8-e5m2",   "fp8-e4m3fnuz", "fp8-e5m2fnuz", "fp8-e4m3-strict",
    "e5m7",        "e4m3",     "e8m3",       "e3m4",         "e6m9-strict",  "model",
    "ort-cpu",
#define TARGET(...)
#define RULES(...)
#define CHOICE(...)
#define PROCESSORS(...)
#define INSIDE(...)
#define TF32(...)
#define INTEGERS(...)
#define RULES(...)
#define ARITHMETIC(name, ...) name,
#include "number/format/target.def"
    "mpfr:30",     "mpfr:60",  "mpfr:128",   "mpfr:200",     "pair",
};
static const char *const gpus[] = {"v100", "t4",   "a100", "a2",   "ada",
                                   "l40s", "h100", "h200", "b200", "rtx5090"};
#define PARTS "parts.cases"

void random_arithmetic(uint64_t key, char *out, size_t size)
{
    struct stream stream = {.key = ulp_mix(key + 17)};
    struct ulp_arithmetic arithmetic;
    const size_t part_count = text_case_count(PARTS);
    for (int attempt = 0; attempt < 200; attempt++) {
        int length = snprintf(out, size, "%s", bases[stream_draw_below(&stream, COUNT(bases))]);
        if (stream_draw_below(&stream, 10) < 3)
            length += snprintf(out + length, size - (size_t)length, "@%s",
                               gpus[stream_draw_below(&stream, COUNT(gpus))]);
        for (size_t count = (size_t)stream_draw_below(&stream, PARTS_MAX); count > 0; count--)
            length += snprintf(out + length, size - (size_t)length, ",%s",
                               text_case(PARTS, stream_draw_below(&stream, part_count), "", 0));
        if (ulp_arithmetic_find(out, &arithmetic, NULL) == ULP_OK)
            return;
    }
    snprintf(out, size, "fp16");
}
