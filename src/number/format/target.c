/* Targets, and arithmetics named by them: "torch-compile:fp16@a100,acc=fp16". */
#include <ulpscope/target.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text/suggest.h"
#include "number/format/request.h"

#define TARGET(...)
#define ARITHMETIC(...)
#define RULES(...)
#define CHOICE(...)
#define PROCESSORS(...)
#define INSIDE(...)
#define TF32(...)
#define INTEGERS(...)

static const struct ulp_target targets[] = {
#undef TARGET
#define TARGET(BIT, name, alias, product, ...) \
    {name, alias, product, ULP_TARGET_##BIT, __VA_ARGS__},
#include "number/format/target.def"
#undef TARGET
#define TARGET(...)
};

static const struct ulp_runtime arithmetics[] = {
#define RULE(part, ...) "," part
#undef ARITHMETIC
#define ARITHMETIC(name, rules) {name, &(rules)[1]},
#include "number/format/target.def"
#undef ARITHMETIC
#undef RULE
};

/* The rules of an arithmetic or of a target follow a row that has its name alone. */
static const struct ulp_rule rules_of[] = {
#define RULE(part, known, by, on, shown) {NULL, part, ULP_KNOWN_##known, by, on, shown},
#define ARITHMETIC(name, rules) {.of = name}, rules
#undef RULES
#define RULES ARITHMETIC
#include "number/format/target.def"
#undef ARITHMETIC
#undef RULES
#define ARITHMETIC(...)
#define RULES(...)
};

#define SAYS_STRICT "every step and sum is rounded to storage"
#define SAYS_SUMMED                                                                             \
    "every step is rounded to storage, a row's sum in FP32, too, before it is read; over the "  \
    "first axes blocks of rows are summed so, and added in storage, here in order, by the GPU " \
    "as they end"
#define SAYS_SUMMED_FP16 "in FP16 " SAYS_SUMMED
#define SAYS_SUMMED_BF16 "in BF16 " SAYS_SUMMED
#define SAYS_MATRIX SAYS_SUMMED " where the axes are all first or all last; else one rounding"
#define SAYS_ELSEWHERE "in FP32, states too, between two Casts"
#define SAYS_ELSEWHERE_FP32 "of FP32 graphs by the CPU provider, in FP32"
#define SAYS_HALVED                                                                               \
    "every step is rounded to storage, into which the matrix unit adds the products; what cuDNN " \
    "has not (peepholes, clipping, other functions, a GRU that resets before) " SAYS_ELSEWHERE
#define SAYS_THREADS SAYS_STRICT ", rows are summed by 64 threads"
#define SAYS_VECTORS SAYS_STRICT ", rows are summed by 64 threads, each in four parts"
#define SAYS_POOLED SAYS_STRICT ", few long rows are summed by 128 threads"
#define SAYS_NHWC SAYS_STRICT ", in the order of channels-last data"
#define SAYS_DOTS SAYS_STRICT ", with transB=1 four products at once"
#define SAYS_PANELS                                                                               \
    "products are added in blocks of 256 k where a factor is a constant, else of 128 or, of few " \
    "columns, more"
#define SAYS_CELLS "products are added in blocks of 256 k, biases to each other first"
#define SAYS_IMAGES                                                                              \
    "products are added in blocks of 16 channels (1x1: 128; of fewer: each by itself), as with " \
    "AVX-512"
#define SAYS_SLICED                                                                              \
    "of k above 1536 so much at a time is added in FP32, whose sums are rounded to storage and " \
    "added in it"
#define SAYS_WRITTEN "statistics in FP32, then every step is rounded to storage"
#define SAYS_IN_LONG_ROWS "of rows beyond 1024 the sum with the bias and its powers are stored"
#define SAYS_IN_BATCHES SAYS_WRITTEN ", of several images"
#define SAYS_IN_CORNERS "linear in FP16: weights of corners are rounded, these added one by one"
#define SAYS_BY_SHAPE                                                                         \
    "weights are rounded to FP16 twice; of 4 bits and up to 16 rows 32 threads add in FP16, " \
    "every eighth product of one row, every other of more, and their sums in FP32"
#define SAYS_MANY " behind a product of more than 64 rows"
#define SAYS_ODD SAYS_MANY ", no multiple of 8"
#define SAYS_FEW " behind a product of fewer rows or of more dimensions"
#define SAYS_SIZED "errors of this size, not the bits"
#define SAYS_FUSED "one rounding, of the sum and what is added to it"
#define SAYS_STORED "in FP16 scores and probabilities are stored, sums in FP32"
#define SAYS_INSIDE "in FP16 the result alone is stored, all inside in FP32"
#define SAYS_MASKED \
    "with a mask of keys or pairs scores are stored before they are scaled, and probabilities"
#define SAYS_IN_FOURS \
    "rows are added in four partial sums, of images in blocks of 16 channels one after the other"
#define SAYS_IN_SIXTEENS "rows are added in sixteen partial sums"
#define SAYS_APART "steps and rows in FP32"
#define SAYS_ADDED "rows are added in the storage format, by halves"
#define SAYS_ONE_BY_ONE "rows are added one after the other"
#define SAYS_IN_ORDER SAYS_ONE_BY_ONE
static const struct {
    enum ulp_steps runtime;
    struct ulp_rule rule;
} steps_rules[] = {
#define STEPS(runtime, op, rule, ...) {ULP_STEPS_##runtime, RULE(op ": " SAYS_##rule, __VA_ARGS__)},
#define FORMULA(runtime, op, when, rule, formula, ...) STEPS(runtime, op, rule, __VA_ARGS__)
#define BEHIND(runtime, what, op, when, formula, ...) \
    {ULP_STEPS_##runtime, RULE(op SAYS_##what ": " SAYS_SIZED, __VA_ARGS__)},
#define CELL(runtime, op, gates, activation, steps, ...) \
    {ULP_STEPS_##runtime, RULE(op "'s " gates ": " SAYS_SIZED, __VA_ARGS__)},
#include "number/format/steps.def"
#undef RULE
};

static const struct ulp_target_choice choices[] = {
#undef CHOICE
#define CHOICE(...) {__VA_ARGS__, false, false},
#undef PROCESSORS
#define PROCESSORS(...) {__VA_ARGS__, true, false},
#undef INSIDE
#define INSIDE(...) {__VA_ARGS__, false, true},
#include "number/format/target.def"
};

#undef CHOICE
#undef PROCESSORS
#undef INSIDE
#define CHOICE(...)
#define PROCESSORS(...)
#define INSIDE(...)

static const struct ulp_target_tf32 tf32[] = {
#undef TF32
#define TF32(...) {__VA_ARGS__},
#include "number/format/target.def"
#undef TF32
#define TF32(...)
};

static const struct ulp_target_integers integers[] = {
#undef INTEGERS
#define INTEGERS(...) {__VA_ARGS__},
#include "number/format/target.def"
#undef INTEGERS
#define INTEGERS(...)
};

/* Of the part steps=, as enum ulp_steps. */
const char *const ulp_steps_names[] = {
    "alike",    "ort-cuda",    "webgpu",         "ort-cpu",           "htp", "rknn", "tensorrt",
    "openvino", "stored-rows", "stored-moments", "stored-reductions", NULL};

const char *const ulp_floats_names[] = {"fp32",
#define FLOATS(name, ...) name,
#include "number/format/target.def"
                                        NULL};

enum {
    TARGET_COUNT = sizeof targets / sizeof *targets,
    ARITHMETIC_COUNT = sizeof arithmetics / sizeof *arithmetics,
    RULE_COUNT = sizeof rules_of / sizeof *rules_of,
    STEPS_COUNT = sizeof steps_rules / sizeof *steps_rules,
    CHOICE_COUNT = sizeof choices / sizeof *choices,
    TF32_COUNT = sizeof tf32 / sizeof *tf32
};

const struct ulp_target *ulp_target(size_t index)
{
    return index < TARGET_COUNT ? &targets[index] : NULL;
}

const struct ulp_target_choice *ulp_target_choice(size_t index)
{
    return index < CHOICE_COUNT ? &choices[index] : NULL;
}

static bool is_called(const char *name, size_t length, const char *word)
{
    return word && strlen(word) == length && strncasecmp(word, name, length) == 0;
}

static const struct ulp_target *find_target(const char *name, size_t length)
{
    for (size_t t = 0; t < TARGET_COUNT; t++)
        if (is_called(name, length, targets[t].name) || is_called(name, length, targets[t].alias))
            return &targets[t];
    return NULL;
}

const struct ulp_target_tf32 *ulp_target_tf32(const struct ulp_target *target)
{
    for (size_t i = 0; i < TF32_COUNT; i++)
        if (strcmp(tf32[i].target, target->name) == 0)
            return &tf32[i];
    return NULL;
}

const struct ulp_target_integers *ulp_target_integers(const struct ulp_target *target)
{
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        if (strcmp(integers[i].target, target->name) == 0)
            return &integers[i];
    return NULL;
}

bool ulp_target_read(const char *name, struct ulp_target_name *out)
{
    const size_t own = strcspn(name, "@,"), whole = strcspn(name, ",");
    *out = (struct ulp_target_name){.target = find_target(name, own)};
    if (!out->target || whole - own >= sizeof out->gpu)
        return false;
    snprintf(out->gpu, sizeof out->gpu, "%.*s", (int)(whole - own), name + own);
    for (const char *part = name + whole; *part;) {
        const char *value = strchr(++part, '=');
        const size_t length = strcspn(part, ","), key = value ? (size_t)(++value - part) : 0,
                     left = length - key;
        if (is_called(part, length, "tf32=on") || is_called(part, length, "tf32=off"))
            out->tf32 = left == 2 ? ULP_TF32_ALLOWED : ULP_TF32_FORBIDDEN;
        else if (is_called(part, key, "version=") && left && left < sizeof out->version &&
                 strspn(value, "0123456789.") == left)
            snprintf(out->version, sizeof out->version, "%.*s", (int)left, value);
        else
            return false;
        part += length;
    }
    return out->tf32 == ULP_TF32_USUAL || ulp_target_tf32(out->target);
}

const struct ulp_target *ulp_target_find(const char *name)
{
    struct ulp_target_name read;
    return ulp_target_read(name, &read) ? read.target : NULL;
}

static const char *name_target(const void *context, size_t t)
{
    (void)context;
    return targets[t].name;
}

enum ulp_status ulp_target_refuse(const char *name, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text near = {0};
    char known[400] = "";
    for (size_t t = 0; t < TARGET_COUNT; t++) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s%s%s%s", t ? ", " : "", targets[t].name,
                 targets[t].alias ? " (" : "", targets[t].alias ? targets[t].alias : "",
                 targets[t].alias ? ")" : "");
    }
    ulp_suggest_names(&near, strcasecmp(name, "tensorrt") == 0 ? "trt" : name, TARGET_COUNT,
                      name_target, NULL);
    ulp_fail(error, ULP_ERROR_USAGE,
             "%s: no target is called so%s; known: %s; @GPU may follow, and where FP32 may be TF32 "
             ",tf32=on or ,tf32=off (trt10@a100,tf32=off); and ,version=N",
             name, near.length ? near.data : "", known);
    return ULP_ERROR_USAGE;
}

const struct ulp_runtime *ulp_arithmetic_runtime(size_t index)
{
    return index < ARITHMETIC_COUNT ? &arithmetics[index] : NULL;
}

const struct ulp_runtime *ulp_runtime_find(const char *name)
{
    const size_t length = strcspn(name, ",@"), own = strcspn(name, ":");
    const struct ulp_target *target = own < length ? find_target(name, own) : NULL;
    for (size_t i = 0; i < ARITHMETIC_COUNT && target; i++) {
        const size_t front = strlen(target->name);
        if (strncmp(arithmetics[i].name, target->name, front) == 0 &&
            is_called(name + own, length - own, arithmetics[i].name + front))
            return &arithmetics[i];
    }
    return NULL;
}

ULP_NAMES(ulp_known_name, enum ulp_known, "recorded", "documented", "stated", "inferred")

bool ulp_target_rule(size_t index, struct ulp_rule *out)
{
    const char *of = NULL;
    for (size_t r = 0; r < RULE_COUNT; r++) {
        if (rules_of[r].of)
            of = rules_of[r].of;
        else if (index-- == 0) {
            *out = rules_of[r];
            out->of = of;
            return true;
        }
    }
    if (index >= STEPS_COUNT)
        return false;
    *out = steps_rules[index].rule;
    out->of = ulp_steps_names[steps_rules[index].runtime];
    return true;
}

/* What stands behind ",steps=" or the like; NULL: nothing does. */
static const char *find_part(const char *name, const char *key, size_t length)
{
    for (const char *at = strchr(name, ','); at; at = strchr(at + 1, ','))
        if (strncasecmp(at + 1, key, length) == 0)
            return at + 1 + length;
    return NULL;
}

bool ulp_rule_holds(const struct ulp_rule *rule, const char *name)
{
    const struct ulp_runtime *runtime = ulp_runtime_find(name);
    const char *equals = strchr(rule->rule, '='), *steps = find_part(name, "steps=", 6);
    if (is_called(runtime ? runtime->name : name,
                  runtime ? strlen(runtime->name) : strcspn(name, "@,"), rule->of))
        return !equals || !find_part(name, rule->rule, (size_t)(equals + 1 - rule->rule));
    if (!steps && runtime)
        steps = find_part(runtime->expansion, "steps=", 6);
    return steps && is_called(steps, strcspn(steps, ","), rule->of);
}

enum ulp_status ulp_runtime_check(const char *base, struct ulp_error *error)
{
    char known[1000] = "";
    if (!base[strcspn(base, ":")] || !find_target(base, strcspn(base, ":")))
        return ULP_OK;
    for (size_t i = 0; i < ARITHMETIC_COUNT; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
                 arithmetics[i].name);
    return ulp_fail(error, ULP_ERROR_USAGE, "no arithmetic of a runtime is called so; known: %s",
                    known);
}
