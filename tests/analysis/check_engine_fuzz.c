/* Descriptions of engines as they are damaged and as attackers write them: nothing but a clean
 * refusal, or a mapping that keeps its promises; and names that are long in no more time than their
 * length takes. */
#include <time.h>

#include "base/machine/file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_load.h"
#include "tests/fuzz/fuzz_mapping.h"
#include "tests/support/test.h"

static const char *const seeds[] = {"concatenated.json",       "foreign.json",
                                    "profiles.json",           "trt10_half.json",
                                    "trt10_mixed.json",        "trt11_half.json",
                                    "trt10_fp16_claimed.json", "names_only.json",
                                    "trt84_numbered.json"};

static void expect_clean(const uint8_t *bytes, size_t count, const char *file, const char *how,
                         uint64_t seed)
{
    const char *wrong = fuzz_engine(bytes, count);
    if (!wrong)
        wrong = fuzz_mapping(bytes, count);
    ck_expect(!wrong, "%s, %s %llu: %s", file, how, (unsigned long long)seed, wrong);
}

TEST_LOOP(damaged_descriptions, 0, sizeof seeds / sizeof *seeds)
{
    const char *file = seeds[_i];
    const uint64_t rounds = test_count(250, 20000);
    char path[64];
    unsigned char *bytes;
    size_t count, damaged_count;
    snprintf(path, sizeof path, "engine/%s", file);
    ck_ok(ulp_file_read(test_data(path), (size_t)1 << 24, NULL, &bytes, &count, &why));
    expect_clean(bytes, count, file, "undamaged", 0);
    for (uint64_t seed = 1; seed <= rounds; seed++) {
        /* even seeds damage bytes; odd ones would change it as protobuf, which it is not */
        uint8_t *damaged = fuzz_mutate(bytes, count, 2 * seed, &damaged_count);
        expect_clean(damaged, damaged_count, file, "bytes", 2 * seed);
        free(damaged);
        damaged = fuzz_mapping_mutate(bytes, count, seed, &damaged_count);
        expect_clean(damaged, damaged_count, file, "strings", seed);
        free(damaged);
    }
    ulp_free(bytes);
}

/* ---- long names ---- */

static char *long_layer(size_t names, const char *joint, const char *kind, size_t *length)
{
    char *text = malloc(names * 32 + 400);
    size_t at = 0;
    ck_assert_ptr_nonnull(text);
    at += (size_t)sprintf(text + at, "{\"Layers\": [{\"Name\": \"");
    for (size_t i = 0; i < names; i++)
        at += (size_t)sprintf(text + at, "%sunknown/%zu", i ? joint : "", i);
    at += (size_t)sprintf(text + at,
                          "%s\", \"LayerType\": \"kgen\", \"Inputs\": [], \"Outputs\": []}, "
                          "{\"Name\": \"/act/Relu\", \"LayerType\": \"kgen\", \"Inputs\": [], "
                          "\"Outputs\": []}]}",
                          kind);
    *length = at;
    return text;
}

static double seconds_of(size_t names, const char *joint, const char *kind)
{
    size_t length;
    SCOPED_MEMORY char *text = long_layer(names, joint, kind, &length);
    const clock_t started = clock();
    const char *wrong = fuzz_mapping((const uint8_t *)text, length);
    const double seconds = (double)(clock() - started) / CLOCKS_PER_SEC;
    ck_assert_msg(!wrong, "%zu names: %s", names, wrong);
    return seconds;
}

/* One layer of 60,000 joined names: its time grows with their number. Twice as many take twice as
 * long, not four times; a tenth of a second is allowed for what the clock cannot tell. (Looking for
 * each kind of joint to the end of the name took minutes.) */
TEST_LOOP(joined_names, 0, 4)
{
    static const struct {
        const char *joint, *end;
    } kinds[] = {{" + ", ""}, {" || ", ""}, {", ", ""}, {"+", "_myl0_12"}};
    const double once = seconds_of(30000, kinds[_i].joint, kinds[_i].end),
                 twice = seconds_of(60000, kinds[_i].joint, kinds[_i].end);
    ck_assert_msg(twice <= 3 * once + 0.1, "30,000 names joined by '%s': %g s; 60,000: %g s",
                  kinds[_i].joint, once, twice);
}

TEST_SUITE("engine fuzz", test_long() ? 3600 : 60)
