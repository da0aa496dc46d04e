/* Names that are no arithmetic's: what is said of them. */
#include "tests/support/test.h"
#include "tests/support/text_cases.h"

#define CASES "wrong_names.cases"

static void expect_wrong(const char *name, const char *words)
{
    struct ulp_arithmetic a;
    struct ulp_error error = {.status = ULP_OK};
    ck_assert_msg(ulp_arithmetic_find(name, &a, &error) == ULP_ERROR_USAGE, "\"%s\" was accepted",
                  name);
    ck_assert_int_eq(error.status, ULP_ERROR_USAGE);
    for (const char *end; *words; words = end + (*end ? 3 : 0)) {
        char word[200];
        end = strstr(words, " | ") ? strstr(words, " | ") : words + strlen(words);
        snprintf(word, sizeof word, "%.*s", (int)(end - words), words);
        ck_assert_msg(strstr(error.message, word) != NULL, "\"%s\": message lacks \"%s\":\n%s",
                      name, word, error.message);
    }
    ck_assert_int_eq(ulp_arithmetic_find(name, &a, NULL), ULP_ERROR_USAGE);
}

/* Each wrong name, and words that its message must contain: what is wrong and what to do. */
TEST(wrong_names)
{
    const size_t count = text_case_count(CASES);
    expect_wrong("", "unknown base | fp16");
    for (size_t i = 0; i < count; i++) {
        char name[100];
        const char *row = text_case(CASES, i, "", 0);
        ck_assert_int_eq(sscanf(row, "%99s", name), 1);
        expect_wrong(name, row + strlen(name) + 3);
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
