/* Foreign text as messages and reports show it. */
#include "tests/support/test.h"

#include <limits.h>
#include <locale.h>
#include <wchar.h>
#include <wctype.h>

#include "base/text/shown.h"

static const struct {
    const char *text, *shown;
    int columns;
} cases[] = {
    {"/model/layers.0/MatMul", "/model/layers.0/MatMul", 22},
    {"", "", 0},
    {"Größe, вес, 重み, 😀", "Größe, вес, 重み, 😀", 20},
    {"a\nb\tc\rd", "a\\nb\\tc\\rd", 10},
    {"\x1b[31mred\x1b[0m\x07", "\\x1b[31mred\\x1b[0m\\x07", 22},
    {"\xff\xfe\xc3(", "\\xff\\xfe\\xc3(", 13},
    {"cut \xe2\x82", "cut \\xe2\\x82", 12},
    {"\xc0\x80 \xe0\x80\x80 \xf0\x8f\xbf\xbf", "\\xc0\\x80 \\xe0\\x80\\x80 \\xf0\\x8f\\xbf\\xbf",
     38},
    {"\xed\xa0\x80 \xf4\x90\x80\x80 \xf8", "\\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xf8", 34},
    {"\x7f \xc2\x9b 31m", "\\x7f \\u{9b} 31m", 15}, /* C1: another way to write ESC [ */
    {"a\u202eb\u2066c\u200bd", "a\\u{202e}b\\u{2066}c\\u{200b}d", 28}, /* reversed, hidden */
    {"\ufeffx\u2028y", "\\u{feff}x\\u{2028}y", 18},
    {"\\n", "\\n", 2},
};

static size_t show_all(char *out, size_t size, const char *text)
{
    size_t columns = 0;
    const char *end = text + strlen(text);
    struct ulp_shown shown;
    *out = '\0';
    while (text < end) {
        text = ulp_show_character(&shown, text, end);
        columns += (size_t)shown.columns;
        ck_expect(strlen(out) + shown.length < size, "%s", out);
        strcat(out, shown.text);
    }
    return columns;
}

TEST(known_texts)
{
    char out[200];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq((int)show_all(out, sizeof out, cases[i].text), cases[i].columns);
        ck_assert_str_eq(out, cases[i].shown);
    }
}

/* The C library's own decoder and classes are the oracle: what is shown is UTF-8 without control
 * characters, is shown as itself, and is the text when that is such already. */
static bool has_oracle(void)
{
    const bool has = setlocale(LC_CTYPE, "C.utf8") != NULL;
    if (!has)
        fprintf(stderr, "there is no locale C.utf8: not tested\n");
    return has;
}

static bool is_visible(const char *text)
{
    mbstate_t state = {0};
    wchar_t c;
    for (size_t left = strlen(text), length; left; text += length, left -= length) {
        length = mbrtowc(&c, text, left, &state);
        if (length > left || iswcntrl((wint_t)c))
            return false;
    }
    return true;
}

TEST(any_bytes)
{
    if (!has_oracle())
        return;
    static const char pieces[][5] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (uint64_t i = 0; i < 100000; i++) {
        char text[16] = "", out[200], again[200];
        for (uint64_t n = 0; n < 8 && strlen(text) < 11; n++) {
            const uint64_t bits = (uint64_t)(ulp_random_uniform(i, n) * 0x1p32);
            const char byte[] = {(char)(1 + bits % 255), '\0'};
            strcat(text, bits >> 30 ? byte : pieces[bits % 4]);
        }
        show_all(out, sizeof out, text);
        ck_expect(is_visible(out), "'%s' of %d", out, (int)i);
        show_all(again, sizeof again, out);
        ck_expect(strcmp(again, out) == 0, "'%s' is shown as '%s'", out, again);
    }
}

TEST(long_texts_are_cut_in_the_middle)
{
    char out[100];
    ck_assert_str_eq(ulp_show(out, sizeof out, "abcdefghijkl", 12, 0), "abcdefghijkl");
    ck_assert_str_eq(ulp_show(out, sizeof out, "abcdefghijklm", 12, 14), "abc...hijklm  ");
    ck_assert_str_eq(ulp_show(out, sizeof out, "重重重重重重", 11, 12), "重...重重重 ");
    ck_assert_str_eq(ulp_show(out, sizeof out, "a\x1b\x1b\x1b\x1b", 12, 0), "a...\\x1b");
    SCOPED_MEMORY char *name = malloc(1 << 20);
    memset(name, '\n', (1 << 20) - 1);
    name[(1 << 20) - 1] = '\0';
    struct ulp_error error;
    ulp_fail(&error, ULP_ERROR_INPUT, "node '%s': %d\n  of %s", name, 7, "x");
    ck_assert_uint_le(strlen(error.message), ULP_SHOWN_COLUMNS_MAX + 30);
    ck_assert_ptr_nonnull(strstr(error.message, "...\\n"));
    ck_assert_ptr_nonnull(strstr(error.message, "': 7\n  of x"));
    ck_assert_ptr_eq(strchr(error.message, '\n'), strrchr(error.message, '\n'));
}

static int print(int show(char *, size_t, const char *, va_list), char *out, size_t size,
                 const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int length = show(out, size, format, list);
    va_end(list);
    return length;
}

#define SAME(...)                                                                             \
    do {                                                                                      \
        char wanted_[400], got_[400];                                                         \
        const int length_ = print(vsnprintf, wanted_, sizeof wanted_, __VA_ARGS__);           \
        ck_assert_int_eq(print(ulp_show_arguments, got_, sizeof got_, __VA_ARGS__), length_); \
        ck_assert_str_eq(got_, wanted_);                                                      \
    } while (0)

TEST(formats_as_the_c_library)
{
    SAME("plain %% and %s", "text");
    SAME("%s%s|%5s|%-5s|%.2s|%-6.3s|%.*s|%*s|%-*s|", "", "a", "b", "c", "defg", "hijk", 2, "lmn", 4,
         "o", 4, "p");
    SAME("%d %5d %-5d| %05d %+d %i", -1, 2, 3, 4, 5, INT_MIN);
    SAME("%u %x %08x %#x", UINT_MAX, 0xabcu, 1u, 2u);
    SAME("%ld %lld %zu %zd %td %jd %llu %lu %hd", LONG_MIN, LLONG_MIN, SIZE_MAX, (ssize_t)-1,
         (ptrdiff_t)-2, INTMAX_MAX, ULLONG_MAX, ULONG_MAX, (short)-3);
    SAME("%llx %zx %4zu %-4zu|", 0x123456789abcdefull, (size_t)255, (size_t)3, (size_t)4);
    SAME("%g %f %e %10.2e %.3g %5.1f%% %a %.17g %*.*f", 1.5, -2.25, 1e300, 1e-5, 123456.0, 99.5,
         0.1, 0.1, 8, 2, 3.14159);
    SAME("%.0f", 1.7976931348623157e308);
    SAME("%c%c", 'x', '-');
}

TEST(truncates_at_a_character)
{
    char whole[100];
    const char *const format = "%s %d %s", *const text = "é\n重😀", *const last = "\xff";
    const int length = print(ulp_show_arguments, whole, sizeof whole, format, text, -5, last);
    ck_assert_str_eq(whole, "é\\n重😀 -5 \\xff");
    const bool oracle = has_oracle();
    for (size_t size = 0; size <= (size_t)length + 1; size++) {
        char out[100] = "untouched";
        ck_assert_int_eq(print(ulp_show_arguments, out, size, format, text, -5, last), length);
        ck_assert_uint_le(strlen(out), size ? size - 1 : sizeof "untouched");
        ck_assert(size == 0 || strncmp(whole, out, strlen(out)) == 0);
        ck_assert(size == 0 || !oracle || is_visible(out));
    }
    char cut[20];
    print(ulp_show_arguments, cut, sizeof cut, "%.3s|%.4s|", "é重", "é重");
    ck_assert_str_eq(cut, "é|é|");
}

/* A line end in a name ends no line of a message, wherever the name comes in. */
TEST(messages_keep_their_lines)
{
    struct ulp_error error;
    scoped_text text = {0};
    ulp_fail(&error, ULP_ERROR_INPUT, "tensor '%s'", "a\nulpscope: all is well\x1b[2J");
    ulp_fail_at(&error, ULP_ERROR_INPUT, "file '%s'", "b\n");
    ck_assert_str_eq(error.message, "file 'b\\n': tensor 'a\\nulpscope: all is well\\x1b[2J'");
    ulp_text_show(&text, "two things:\n  %s\n  %s", "c\nd", "e");
    ulp_fail_lines(&error, ULP_ERROR_UNSUPPORTED, text.data);
    ck_assert_str_eq(error.message, "two things:\n  c\\nd\n  e");
}

TEST_SUITE("shown", 0)
