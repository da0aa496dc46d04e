/* trtexec's --layerPrecisions and --layerOutputTypes: what trtexec makes of a text. */
#include "data/layer_options.h"
#include "tests/support/test.h"

static struct ulp_arena *arena;
static struct ulp_layer_options options;

static void setup(void)
{
    ck_ok(ulp_arena_create(&arena, NULL, &why));
}

static void teardown(void)
{
    ulp_layer_options_free(&options);
    ulp_arena_free(arena);
}

static void parse(const char *text, enum ulp_layer_option_kind kind)
{
    ulp_layer_options_free(&options);
    ck_ok(ulp_layer_options_parse(text, kind, arena, &options, &why));
}

/* Names, quotes and colons, as splitNameAndValue of sampleOptions.cpp has them. */
TEST(reading)
{
    parse("a:fp32,/b/c:0:fp16,'x:y':bf16,p'q':int8", ULP_LAYER_PRECISIONS);
    static const char *const expected[] = {"a", "/b/c:0", "x:y", "pq"};
    static const enum ulp_type types[] = {ULP_TYPE_FLOAT, ULP_TYPE_FLOAT16, ULP_TYPE_BFLOAT16,
                                          ULP_TYPE_INT8};
    ck_assert_uint_eq(options.count, 4);
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(options.items[i].name, expected[i]);
        ck_assert_uint_eq(options.items[i].type_count, 1);
        ck_assert_int_eq(options.items[i].types[0], types[i]);
        ck_assert(!options.items[i].pattern);
    }
    parse("a:fp32+fp16,b*:int32", ULP_LAYER_OUTPUT_TYPES);
    ck_assert_uint_eq(options.items[0].type_count, 2);
    ck_assert_int_eq(options.items[0].types[1], ULP_TYPE_FLOAT16);
    ck_assert(options.items[1].pattern);
    parse("", ULP_LAYER_PRECISIONS);
    ck_assert_uint_eq(options.count, 0);
    ck_assert_ptr_null(ulp_layer_options_find(&options, "a"));
}

/* matchStringWithOneWildcard of sampleUtils.cpp; an exact name first, of equal names the last. */
TEST(matching)
{
    static const struct {
        const char *pattern, *layer;
        bool matches;
    } cases[] = {
        {"*", "", true},        {"*", "any", true},        {"a*", "a", true},
        {"a*", "ba", false},    {"*a", "ba", true},        {"a*b", "ab", true},
        {"a*b", "a", false},    {"aba*aba", "aba", false}, {"a*b", "acb", true},
        {"a*b", "acbc", false}, {"a*b*c", "axb*c", true},  {"a*b*c", "axbxc", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ulp_layer_option option = {.name = cases[i].pattern, .pattern = true};
        ck_assert_msg(ulp_layer_option_matches(&option, cases[i].layer) == cases[i].matches,
                      "%s %s", cases[i].pattern, cases[i].layer);
    }
    parse("*:fp16,a:fp32,a:bf16,*:int8,b*:int32", ULP_LAYER_PRECISIONS);
    ck_assert_int_eq(ulp_layer_options_find(&options, "a")->types[0], ULP_TYPE_BFLOAT16);
    ck_assert_int_eq(ulp_layer_options_find(&options, "b")->types[0], ULP_TYPE_INT8);
    parse("a:fp32,b*:fp16", ULP_LAYER_PRECISIONS);
    ck_assert_ptr_null(ulp_layer_options_find(&options, "ab"));
}

/* What trtexec throws on is refused with the entry and the reason. */
TEST(refused)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"a", "expected NAME:TYPE"},
        {"a:", "expected NAME:TYPE"},
        {":fp32", "expected NAME:TYPE"},
        {"a:fp32,", "expected NAME:TYPE"},
        {"a,b:fp32", "'a'"},
        {"a:float16", "it is called fp16"},
        {"a:fp23", "no type 'fp23'"},
        {"a:fp32+fp16", "several types are for --layerOutputTypes"},
        {"'a:fp32", "1 single quote,"},
        {"'a,b':fp32", "1 single quote,"},
        {"''':fp32", "3 single quotes"},
        {"'a'", "expected NAME:TYPE"},
        {"'a'fp32", "expected NAME:TYPE"},
    };
    struct ulp_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(ulp_layer_options_parse(cases[i].text, ULP_LAYER_PRECISIONS, arena,
                                                 &options, &error),
                         ULP_ERROR_USAGE);
        ck_assert_msg(strstr(error.message, cases[i].says) != NULL, "%s: %s", cases[i].text,
                      error.message);
    }
}

/* What is written is read as the same names; those that cannot be written match at least. */
TEST(writing)
{
    static const char *const names[] = {"a", "/b/c:0", "x,y", "it's, 'so'*", "*", ",", "n,"};
    const size_t count = sizeof names / sizeof *names;
    scoped_text text = {0};
    for (size_t i = 0; i < count; i++)
        ulp_layer_option_add(&text, names[i], ULP_TYPE_FLOAT);
    ck_assert(!text.failed);
    parse(text.data, ULP_LAYER_PRECISIONS);
    ck_assert_uint_eq(options.count, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert(ulp_layer_option_matches(&options.items[i], names[i]));
        ck_assert_int_eq(options.items[i].pattern, i >= 2);
    }
    ck_assert_str_eq(options.items[2].name, "x*y");
}

TEST_MAIN("layer options", 0)
{
    tcase_add_checked_fixture(tests, setup, teardown);
}
