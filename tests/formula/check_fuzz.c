/* Random formulas, whole and damaged, and a corpus of texts that are near the parser's edges. */
#include "formula_test.h"
#include "tests/fuzz/fuzz_formula.h"

/* Beside those of formula.cases. */
static const char *const corpus[] = {"", "x\n+\ty", "x+\xff", "x\x01", "\xe2\x88\x92x"};

static void check(const uint8_t *bytes, size_t count, uint64_t seed)
{
    const char *wrong = fuzz_formula(bytes, count);
    ck_assert_msg(!wrong, "seed %llu, arithmetic %u, rows %u, '%.*s': %s", (unsigned long long)seed,
                  bytes[0], bytes[1], (int)count - 2, (const char *)bytes + 2, wrong);
}

static void check_text(const char *text)
{
    uint8_t bytes[256];
    for (unsigned choice = 0; choice < 54; choice++) {
        bytes[0] = (uint8_t)(choice % 9);
        bytes[1] = (uint8_t)(choice / 9);
        strcpy((char *)bytes + 2, text);
        if (!strstr(text, "bit_")) /* parsed, but without meaning for floats */
            check(bytes, strlen(text) + 2, choice);
    }
}

TEST(test_corpus)
{
    for (size_t i = 0; i < sizeof corpus / sizeof *corpus; i++)
        check_text(corpus[i]);
    for (size_t i = 0; i < text_case_count(FORMULAS); i++) {
        char text[200];
        const char *row = text_case(FORMULAS, i, "", 0);
        snprintf(text, sizeof text, "%.*s", (int)(strstr(row, " =>") - row), row);
        check_text(text);
    }
}

TEST(test_random)
{
    const uint64_t rounds = test_count(400, 20000);
    for (uint64_t seed = 0; seed < rounds; seed++) {
        uint8_t bytes[2048];
        size_t count = fuzz_formula_make(bytes, 1500, seed);
        check(bytes, count, seed);
        for (uint64_t i = 0; i < 10; i++) {
            uint8_t damaged[2048];
            memcpy(damaged, bytes, count);
            check(damaged, fuzz_formula_damage(damaged, count, sizeof damaged, seed * 16 + i + 1),
                  seed);
        }
    }
}

/* The maker must make formulas that are accepted, else nothing behind the parser is tested. */
TEST(test_accepted)
{
    static const char *const names[] = {"x", "y", "z", "s"};
    static const char *const outputs[] = {"out", "second"};
    int accepted = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        uint8_t bytes[2048];
        scoped_tape *tape = NULL;
        bytes[fuzz_formula_make(bytes, 1500, seed)] = 0;
        accepted +=
            ulp_tape_create(&tape, (char *)bytes + 2, names, 4, outputs, 2, NULL, NULL) == ULP_OK;
    }
    ck_assert_int_ge(accepted, 150);
}
