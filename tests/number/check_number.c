/* Arithmetics by name: what names mean, and that they round-trip. */
#include "kernels/unit/unit.h"
#include "tests/support/test.h"
#include "tests/support/text_cases.h"

static bool same_format(const struct ulp_format *a, const struct ulp_format *b)
{
    return strcmp(a->name, b->name) == 0 && a->precision == b->precision && a->emin == b->emin &&
           a->emax == b->emax && a->max_finite == b->max_finite && a->overflow == b->overflow &&
           a->subnormals == b->subnormals && a->signed_zero == b->signed_zero &&
           a->carrier == b->carrier && a->storage_bits == b->storage_bits;
}

static bool same_meaning(const struct ulp_arithmetic *a, const struct ulp_arithmetic *b)
{
    const struct ulp_schedule *s = &a->schedule, *t = &b->schedule;
    return same_format(&a->storage, &b->storage) && same_format(&a->factor, &b->factor) &&
           same_format(&a->accumulator, &b->accumulator) && same_format(&a->compute, &b->compute) &&
           a->rounding == b->rounding && a->place == b->place && a->order == b->order &&
           a->order_block == b->order_block && a->reduce == b->reduce &&
           a->reduce_block == b->reduce_block && a->seed == b->seed && !strcmp(s->gpu, t->gpu) &&
           !strcmp(s->unit_class, t->unit_class) && s->fused == t->fused &&
           s->operand_rounding == t->operand_rounding && s->promote == t->promote &&
           s->split_k == t->split_k && s->epilogue_rounded == t->epilogue_rounded &&
           s->vectors_scalar == t->vectors_scalar && s->matmul_scalar == t->matmul_scalar &&
           a->cuda_functions == b->cuda_functions && a->attention == b->attention &&
           a->recurrence_cudnn == b->recurrence_cudnn && a->steps == b->steps &&
           a->conv == b->conv && a->norms_torch == b->norms_torch &&
           a->scaled_modelopt == b->scaled_modelopt && a->scales_static == b->scales_static &&
           a->plain_exponentials == b->plain_exponentials && a->constants == b->constants &&
           a->scales_lowered == b->scales_lowered && a->batchnorm_folded == b->batchnorm_folded &&
           a->types_declared == b->types_declared && a->floats == b->floats;
}

/* What every arithmetic must satisfy, whatever its name. */
static void expect_consistent(const struct ulp_arithmetic *a, const char *name)
{
    const struct ulp_schedule *s = &a->schedule;
    ck_expect(!s->gpu[0] == !s->unit_class[0], "%s: GPU without a class", name);
    ck_expect(!(s->gpu[0] && s->fused), "%s: a unit and a fused chain", name);
    ck_expect(a->place == ULP_ROUND_RESULT || same_format(&a->compute, &a->storage),
              "%s: compute is not storage", name);
    ck_expect(a->place == ULP_ROUND_EACH_STEP || strcmp(a->compute.name, a->storage.name),
              "%s: compute is storage", name);
    ck_expect(a->order != ULP_ORDER_WARP, "%s: products in the order of rows", name);
    ck_expect(a->reduce == ULP_ORDER_BLOCKED ? a->reduce_block > 0 : a->reduce_block == 0,
              "%s: reduce_block", name);
    ck_expect(a->order == ULP_ORDER_BLOCKED ? a->order_block > 0 : a->order_block == 0,
              "%s: order_block", name);
    struct ulp_error error;
    if (s->gpu[0])
        ck_expect(ulp_unit_of(a, &error) != NULL, "%s: %s", name, error.message);
    char text[4096];
    const size_t length = ulp_arithmetic_describe(a, text, sizeof text);
    ck_expect(length == strlen(text), "%s: description of %zu bytes", name, length);
    ck_expect(strncmp(text, a->name, strlen(a->name)) == 0 && text[strlen(a->name)] == '\n',
              "%s: no name", name);
    for (const char *line = strchr(text, '\n') + 1, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        ck_expect(end && end - line <= 96, "%s: a description's line is too long: %s", name, line);
    }
}

static unsigned long round_trips;

static void expect_round_trip(const char *name)
{
    struct ulp_arithmetic a, b;
    if (ulp_arithmetic_find(name, &a, NULL) != ULP_OK)
        return;
    struct ulp_error error;
    ck_expect(ulp_arithmetic_find(a.name, &b, &error) == ULP_OK, "%s: canonical: %s", name,
              error.message);
    ck_expect(same_meaning(&a, &b) && strcmp(a.name, b.name) == 0, "%s: canonical %s means %s",
              name, a.name, b.name);
    expect_consistent(&a, name);
    round_trips++;
}

static const char *const bases[] = {"fp64",        "fp32",        "fp16",
                                    "bf16",        "tf32",        "tf32-trunc",
                                    "fp8-e4m3",    "fp8-e5m2",    "fp8-e4m3fnuz",
                                    "e5m7",        "e9m20",       "e11m52",
                                    "fp16-strict", "tf32-strict", "fp8-e4m3-strict",
                                    "fp32-strict", "mpfr:128"};
static const char *const gpu_parts[] = {"",      "@v100", "@t4",   "@a100", "@a2",     "@ada",
                                        "@l40s", "@h100", "@h200", "@b200", "@rtx5090"};
/* One list a part; every combination of an entry of each list is a name. */
static const char *const part_lists[][8] = {
    {"", ",round=rz", ",round=sr,seed=18446744073709551615", ",round=sr"},
    {"", ",each-step", ",result-only", ",compute=fp64", ",compute=fp32", ",compute=fp16"},
    {"", ",acc=fp16", ",acc=fp64", ",acc=e8m12"},
    {"", ",factor=tf32", ",factor=bf16", ",factor=fp32", ",factor=fp4-e2m1", ",factor=nvfp4",
     ",factor=fp8-row,factor-b=fp8-e5m2-row"},
    {"", ",unit=none", ",unit=mma", ",unit=wgmma", ",unit=tcgen05"},
    {"", ",order=pairwise", ",order=blocked:64"},
    {"", ",fma", ",nofma"},
    {"", ",subnormals=flush", ",overflow=saturate,subnormals=keep", ",overflow=nan"},
    {"", ",operands=rz", ",operands=rna"},
    {"", ",vectors=scalar"},
    {"", ",functions=cuda", ",functions=rounded"},
    {"", ",constants=ieee", ",constants=onnxconverter-common"},
    {"", ",qdq-scales=lowered"},
    {"", ",batchnorm=folded"},
    {"", ",promote=128", ",split-k=8,epilogue=rounded", ",promote=1073741824,split-k=1"},
};
enum { LIST_COUNT = sizeof part_lists / sizeof part_lists[0] };

static size_t list_length(const char *const list[8])
{
    size_t n = 0;
    while (n < 8 && list[n])
        n++;
    return n;
}

TEST_LOOP(names_round_trip, 0, sizeof bases / sizeof bases[0])
{
    /* All pairs of parts on every base and GPU, and random combinations of all of them. */
    for (size_t g = 0; g < sizeof gpu_parts / sizeof gpu_parts[0]; g++)
        for (int p = 0; p < LIST_COUNT; p++)
            for (int q = p + 1; q < LIST_COUNT; q++)
                for (size_t i = 0; i < list_length(part_lists[p]); i++)
                    for (size_t j = 0; j < list_length(part_lists[q]); j++) {
                        char name[256];
                        snprintf(name, sizeof name, "%s%s%s%s", bases[_i], gpu_parts[g],
                                 part_lists[q][j], part_lists[p][i]);
                        if (g == 0 || g == 3 || (i + j + g) % 5 == 0 || test_long())
                            expect_round_trip(name);
                    }
    for (uint64_t k = 0; k < test_count(4000, 40000); k++) {
        char name[512];
        uint64_t random = ulp_random_bits(77, k);
        snprintf(name, sizeof name, "%s%s", bases[_i],
                 random & 3 ? "" : gpu_parts[(random >> 2) % 10]);
        for (int p = 0; p < LIST_COUNT; p++) {
            random = ulp_random_bits(78 + (uint64_t)p, k);
            const size_t length = strlen(name);
            if (random & 1)
                snprintf(name + length, sizeof name - length, "%s",
                         part_lists[p][(random >> 1) % list_length(part_lists[p])]);
        }
        expect_round_trip(name);
    }
    ck_assert_uint_gt(round_trips, strcmp(bases[_i], "mpfr:128") == 0 ? 0 : 500);
}

#define CASES "names.cases"

/* The number-th record of that kind, as words; false: there are no so many. */
static bool read_case(const char *kind, size_t number, char words[11][120])
{
    for (size_t i = 0, count = text_case_count(CASES); i < count; i++) {
        const char *row = text_case(CASES, i, "", 0);
        if (strncmp(row, kind, strlen(kind)) == 0 && number-- == 0) {
            memset(words, 0, 11 * sizeof *words);
            for (int w = 0, length = 0; w < 11 && sscanf(row, "%119s%n", words[w], &length) == 1;
                 w++)
                row += length;
            return true;
        }
    }
    return false;
}

/* Different words, the same arithmetic, one name. */
TEST(canonical_names)
{
    char words[11][120];
    for (size_t i = 0; read_case("same ", i, words); i++) {
        const struct ulp_arithmetic a = test_arithmetic(words[1]), b = test_arithmetic(words[2]);
        ck_assert_msg(strcmp(a.name, b.name) == 0 && same_meaning(&a, &b), "%s is %s, but %s is %s",
                      words[1], a.name, words[2], b.name);
        ck_assert(strcmp(words[1], words[2]) != 0 || strcmp(a.name, words[1]) == 0);
    }
    for (size_t i = 0; ulp_arithmetic_preset(i); i++)
        ck_assert_str_eq(test_arithmetic(ulp_arithmetic_preset(i)).name, ulp_arithmetic_preset(i));
}

/* How each rule of a target is known. Of its arithmetics each part is one of its rules by itself;
 * what is assumed of one that has no such name is a rule of its base. tests/check_lab.sh looks for
 * the scripts. */
TEST(rules)
{
    const struct ulp_target *target;
    struct ulp_rule rule;
    size_t count = 0;
    for (; ulp_target_rule(count, &rule); count++) {
        const bool script = strncmp(rule.by, "lab/", 4) == 0;
        ck_assert_msg(script == (rule.known == ULP_KNOWN_RECORDED), "%s of %s is %s by %s",
                      rule.rule, rule.of, ulp_known_name(rule.known), rule.by);
        ck_assert_msg(*rule.by && (!script || *rule.on), "%s of %s: by what, on what?", rule.rule,
                      rule.of);
    }
    ck_assert_uint_gt(count, 60);
    for (size_t t = 0; (target = ulp_target(t)); t++) {
        char text[32768];
        ck_assert_uint_gt(ulp_rules_describe(target->lowered, text, sizeof text), 0);
        ck_assert_uint_lt(ulp_target_describe(target, text, sizeof text), sizeof text);
    }
    const struct ulp_rule acc = {.of = "trt11:fp16", .rule = "acc=fp16"},
                          op = {.of = "ort-cuda", .rule = "Elu: "};
    ck_assert(ulp_rule_holds(&acc, "TRT:FP16@a100,fuse=none"));
    ck_assert(!ulp_rule_holds(&acc, "trt:fp16@a100,acc=fp32"));
    ck_assert(!ulp_rule_holds(&acc, "trt10:fp16"));
    ck_assert(ulp_rule_holds(&op, "ort-cuda:fp16@h100"));
    ck_assert(ulp_rule_holds(&op, "fp16,steps=ort-cuda"));
    ck_assert(!ulp_rule_holds(&op, "ort-cuda:fp16,steps=alike"));
    ck_assert(!ulp_rule_holds(&op, "ort-cuda:tf32"));
}

/* A runtime's name is its expansion's; what follows replaces parts of it. */
TEST(runtimes)
{
    static const char *const pairs[][2] = {
        {"torch-compile:fp16@a100",
         "fp16@a100,epilogue=rounded,attention=cudnn,recurrence=cudnn,constants=ieee,fuse=reduce"},
        {"torch-compile:fp16,fuse=pointwise",
         "fp16,epilogue=rounded,attention=cudnn,recurrence=cudnn,constants=ieee,fuse=pointwise"},
        {"torch:bf16,unit=none,recurrence=plain", "bf16,unit=none,epilogue=rounded,constants=ieee"},
        {"trt:fp16@a100,acc=fp32",
         "fp16@a100,batchnorm=folded,fuse=tensorrt,fuse-constants=stored"},
        {"trt:fp16", "trt11:fp16"},
        {"trt10:bf16@b200", "bf16@b200,constants=tensorrt,batchnorm=folded,fuse=reduce,"
                            "fuse-constants=stored"}};
    const struct ulp_runtime *row;
    struct ulp_arithmetic out;
    struct ulp_error error;
    size_t count = 0;
    for (; (row = ulp_arithmetic_runtime(count)); count++) {
        ck_assert_str_eq(test_arithmetic(row->name).asked, row->name);
        ck_assert_str_eq(test_arithmetic(row->name).name, test_arithmetic(row->expansion).name);
    }
    ck_assert_uint_gt(count, 5);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        ck_assert_str_eq(test_arithmetic(pairs[i][0]).name, test_arithmetic(pairs[i][1]).name);
    ck_assert_str_eq(test_arithmetic("TRT:FP16@a100,acc=fp32").asked, "trt11:fp16@a100,acc=fp32");
    ck_assert_str_eq(test_arithmetic("fp16,acc=fp32").asked, "fp16");
    ck_assert_str_eq(test_arithmetic("ort-cpu").asked, "ort-cpu");
    ck_fails(ULP_ERROR_USAGE, "torch-compile:fp16", ulp_arithmetic_find("torch:fp8", &out, &why));
    ck_assert_int_eq(ulp_arithmetic_find("torch:fp16,nonsense=1", &out, &error), ULP_ERROR_USAGE);
    ck_fails(ULP_ERROR_USAGE, "twice",
             ulp_arithmetic_find("trt:fp16,acc=fp32,acc=fp16", &out, &why));
    ck_assert_str_eq(ulp_runtime_find("TRT:FP16@a100,acc=fp32")->name, "trt11:fp16");
    ck_assert_ptr_null(ulp_runtime_find("fp16"));
    ck_assert_ptr_null(ulp_runtime_find("trt"));
    ck_assert_int_eq(ulp_arithmetic_find("mpfr:64", &out, &error), ULP_OK);
}

/* What is listed for --help: every value of every part is read, or refused for its sense and not as
 * a word nobody knows. */
TEST(parts)
{
    static const char *const starts[] = {"fp32",
                                         "tf32",
                                         "fp16",
                                         "bf16-strict",
                                         "fp16@b200",
                                         "fp16,split-k=cublas",
                                         "fp16,fuse=reduce",
                                         "bf16,factor=nvfp4",
                                         "bf16,factor=mxfp8",
                                         "bf16,factor=fp8-cast",
                                         "bf16,kv=int8-row",
                                         "bf16,kv=int8-tensor"};
    char spelled[200], name[300];
    size_t part = 0, values = 0;
    for (; ulp_arithmetic_part(part, spelled, sizeof spelled); part++) {
        const size_t key =
            strcspn(spelled, "=") < strlen(spelled) ? strcspn(spelled, "=") + 1 : spelled[0] == '@';
        for (char *value = strtok(spelled + key, "|"); value; value = strtok(NULL, "|")) {
            bool found = false;
            struct ulp_arithmetic out;
            struct ulp_error error;
            if (strcmp(value, "N") == 0 || strcmp(value, "X") == 0)
                value[0] = '4';
            if (strlen(value) > 2 && strcmp(value + strlen(value) - 2, ":N") == 0)
                value[strlen(value) - 1] = '4';
            for (size_t b = 0; b < sizeof starts / sizeof *starts; b++) {
                snprintf(name, sizeof name, "%s%s%.*s%s", starts[b], spelled[0] == '@' ? "" : ",",
                         (int)key, spelled,
                         strcmp(value, "FORMAT") == 0   ? "fp32"
                         : strcmp(value, "SCALED") == 0 ? "nvfp4"
                                                        : value);
                found |= ulp_arithmetic_find(name, &out, &error) == ULP_OK ||
                         strstr(error.message, "seed= ");
            }
            ck_assert_msg(found, "%s: %s", name, error.message);
            values++;
        }
    }
    ck_assert_int_eq(ulp_arithmetic_part(part, spelled, sizeof spelled) == NULL, 1);
    ck_assert(part > 15 && values > 40);
}

/* The parts of the documented names, as design and format.h state them. */
TEST(meanings)
{
    static const char *const operands[] = {
        [ULP_ROUND_NEAREST_EVEN] = "rne", [ULP_ROUND_TOWARD_ZERO] = "rz"};
    char words[11][120];
    size_t count = 0;
    for (; read_case("meaning ", count, words); count++) {
        const struct ulp_arithmetic a = test_arithmetic(words[1]);
        const char *const found[] = {a.storage.name,
                                     a.factor.name,
                                     a.compute.name,
                                     a.accumulator.name,
                                     a.place == ULP_ROUND_RESULT ? "result" : "each-step",
                                     *a.schedule.gpu ? a.schedule.gpu : "-",
                                     *a.schedule.unit_class ? a.schedule.unit_class : "-",
                                     a.schedule.fused ? "fused" : "apart"};
        for (int w = 0; w < 8; w++)
            ck_assert_msg(strcmp(found[w], words[2 + w]) == 0, "%s: %s, not %s", words[1], found[w],
                          words[2 + w]);
        ck_assert_str_eq(operands[a.schedule.operand_rounding], words[10]);
    }
    ck_assert_uint_gt(count, 20);
    struct ulp_arithmetic a = test_arithmetic(
        "fp32,subnormals=flush,overflow=saturate,order=blocked:7,round=rd,promote=32");
    ck_assert(!a.storage.subnormals && !a.accumulator.subnormals && !a.compute.subnormals &&
              !a.factor.subnormals);
    ck_assert(a.storage.overflow == ULP_OVERFLOW_SATURATE &&
              a.accumulator.overflow == ULP_OVERFLOW_SATURATE);
    ck_assert(a.order == ULP_ORDER_BLOCKED && a.order_block == 7 && a.rounding == ULP_ROUND_DOWN &&
              a.schedule.promote == 32);
    /* the unit's accumulator keeps the unit's rule */
    a = test_arithmetic("fp16,acc=fp16,subnormals=flush");
    ck_assert(!a.storage.subnormals && a.accumulator.subnormals && a.compute.subnormals);
}

/* TF32 operands: as an H200's libraries were recorded to round them; where none were, as the
 * instruction set converts. */
static enum ulp_rounding operands_of(const char *name)
{
    return test_arithmetic(name).schedule.operand_rounding;
}

TEST(operands_of_tf32)
{
    static const char *const gpus[] = {"a100", "a2", "ada", "l40s", "h100", "b200", "rtx5090"};
    char name[64];
    ck_assert_int_eq(operands_of("tf32"), ULP_ROUND_NEAREST_EVEN);
    ck_assert_int_eq(operands_of("tf32@h200,operands=rna"), ULP_ROUND_NEAREST_AWAY);
    ck_assert_int_eq(operands_of("tf32,unit=none"), ULP_ROUND_NEAREST_AWAY);
    ck_assert_int_eq(operands_of("trt:tf32"), ULP_ROUND_NEAREST_AWAY);
    ck_assert_int_eq(operands_of("torch:tf32"), ULP_ROUND_NEAREST_EVEN);
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++) {
        snprintf(name, sizeof name, "tf32@%s", gpus[i]);
        ck_assert_int_eq(operands_of(name), ULP_ROUND_NEAREST_AWAY);
        snprintf(name, sizeof name, "tf32@%s,operands=rne", gpus[i]);
        ck_assert_int_eq(operands_of(name), ULP_ROUND_NEAREST_EVEN);
        snprintf(name, sizeof name, "tf32-trunc@%s", gpus[i]);
        ck_assert_int_eq(operands_of(name), ULP_ROUND_TOWARD_ZERO);
    }
}

/* A part in the place of another; what has no meaning any more goes with it. */
TEST(changed_parts)
{
    char words[11][120];
    for (size_t i = 0; read_case("change ", i, words); i++) {
        const struct ulp_arithmetic base = test_arithmetic(words[1]);
        const bool refused = strcmp(words[3], "refused") == 0;
        struct ulp_arithmetic out;
        struct ulp_error error;
        const enum ulp_status status = ulp_arithmetic_change(&out, &base, words[2], &error);
        ck_assert_int_eq(status, refused ? ULP_ERROR_USAGE : ULP_OK);
        if (refused)
            continue;
        ck_assert_str_eq(out.name, words[3]);
        ck_assert_str_eq(out.asked, *words[4] ? words[4] : words[3]);
        ck_assert_str_eq(test_arithmetic(out.asked).name, out.name);
    }
    ck_assert_str_eq(test_arithmetic("trt:fp16,fuse=none").name, "fp16,acc=fp16,batchnorm=folded");
    ck_assert_int_eq(test_arithmetic("fp16,split-k=16").schedule.split_k, 16);
}

TEST(descriptions)
{
    const struct ulp_arithmetic a = test_arithmetic("tf32@a100,split-k=8,promote=64");
    char text[4096], small[64];
    const size_t length = ulp_arithmetic_describe(&a, text, sizeof text);
    ck_assert_uint_eq(length, strlen(text));
    static const char *const words[] = {"FP32", "TF32",         "(11 significant", "ties away",
                                        "a100", "8 contiguous", "64 products"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        ck_assert_msg(strstr(text, words[i]) != NULL, "description lacks \"%s\":\n%s", words[i],
                      text);
    memset(small, 'x', sizeof small);
    ck_assert_uint_eq(ulp_arithmetic_describe(&a, small, 20), length);
    ck_assert(strlen(small) == 19 && strncmp(small, text, 19) == 0 && small[20] == 'x');
    ck_assert_uint_eq(ulp_arithmetic_describe(&a, NULL, 0), length);
}

TEST_SUITE("number", 300)
