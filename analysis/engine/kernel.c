/* What the name of a kernel says: the rows of kernel.def, and the words that stand in any name. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope/engine.h>

#include "base/text/text.h"

#define ULP_CERTAINTY(name) ULP_CERTAINTY_##name

static const struct {
    const char *token, *format;
} types[] = {
#define TYPE(token, format) {token, format},
#define KERNEL(...)
#include "analysis/engine/kernel.def"
#undef TYPE
#undef KERNEL
};

static const struct row {
    const char *pattern, *multiply, *accumulator, *epilogue, *output;
    enum ulp_certainty certainty;
    const char *source;
} rows[] = {
#define TYPE(...)
#define KERNEL(pattern, multiply, accumulator, epilogue, output, certainty, source) \
    {pattern, multiply, accumulator, epilogue, output, ULP_CERTAINTY(certainty), source},
#include "analysis/engine/kernel.def"
#undef TYPE
#undef KERNEL
};

enum { TOKENS_MAX = 5, NUMBER_MAX = 100000 };

/* What a pattern's '%' have met. */
struct tokens {
    const char *formats[TOKENS_MAX];
    int count;
};

/* Behind the token of a type; NULL: there is none. No token is the beginning of another. */
static const char *take_type(const char *name, struct tokens *tokens)
{
    for (size_t t = 0; t < sizeof types / sizeof *types && tokens->count < TOKENS_MAX; t++) {
        const size_t length = strlen(types[t].token);
        if (strncmp(name, types[t].token, length) == 0) {
            tokens->formats[tokens->count++] = types[t].format;
            return name + length;
        }
    }
    return NULL;
}

/* Behind what one character of a pattern means; NULL: it does not match. */
static const char *take_pattern_character(char meant, const char *name, struct tokens *tokens)
{
    if (meant == '%')
        return take_type(name, tokens);
    if (meant == '_' && !*name)
        return name;
    if (meant != '#')
        return *name == meant ? name + 1 : NULL;
    const char *at = name;
    while (isdigit((unsigned char)*at))
        at++;
    return at > name ? at : NULL;
}

/* Everything but '*' matches in one way, so that only the last star need be tried again. */
static bool matches(const char *pattern, const char *name, struct tokens *tokens)
{
    const char *star = NULL, *resume = NULL, *next;
    int kept = 0;
    tokens->count = 0;
    while (*pattern || *name) {
        if (*pattern == '*') {
            star = ++pattern;
            resume = name;
            kept = tokens->count;
        } else if (*pattern && (next = take_pattern_character(*pattern, name, tokens))) {
            pattern++;
            name = next;
        } else if (star && *resume) {
            pattern = star;
            name = ++resume;
            tokens->count = kept;
        } else {
            return false;
        }
    }
    return true;
}

static const char *column(const char *text, const struct tokens *tokens)
{
    return isdigit((unsigned char)*text) ? tokens->formats[*text - '1'] : text;
}

/* The number at `text`; -1: none. */
static int number_at(const char *text)
{
    if (!isdigit((unsigned char)*text))
        return -1;
    const unsigned long value = strtoul(text, NULL, 10);
    return value < NUMBER_MAX ? (int)value : NUMBER_MAX;
}

/* 80 of "sm80"; "ampere_", ... are the same by another name. */
static int find_architecture(const char *name)
{
    static const struct {
        const char *word;
        int architecture;
    } words[] = {{"maxwell_", 50}, {"volta_", 70}, {"turing_", 75}, {"ampere_", 80}};
    const char *at = strstr(name, "sm");
    for (; at; at = strstr(at + 1, "sm"))
        if (number_at(at + 2) >= 50 && (at == name || at[-1] == '_'))
            return number_at(at + 2);
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (strstr(name, words[w].word))
            return words[w].architecture;
    return 0;
}

/* The count behind a word for split-k, "splitK_4", "numSplitK: 12"; 0: none is there.
 * "splitK_64x64" goes on with a tile. */
static int count_behind(const char *word)
{
    word += strspn(word, "_:= ");
    const char *end = word;
    while (isdigit((unsigned char)*end))
        end++;
    return end > word && !isalpha((unsigned char)*end) ? number_at(word) : 0;
}

/* In how many sums a sum is cut: "sliced1x2" and the third number of "warpsize2x1x2" within a
 * block of threads, "splitK" between blocks, where logs of builds have a count behind it. 0: it is
 * cut, in how many is not told. */
static int find_slices(const char *name)
{
    const char *sliced = strstr(name, "sliced"), *warps = strstr(name, "warpsize");
    int slices = 1;
    if (warps) {
        const char *x = strchr(warps, 'x');
        x = x ? strchr(x + 1, 'x') : NULL;
        slices = x && number_at(x + 1) > 0 ? number_at(x + 1) : 1;
    }
    if (sliced) {
        const char *x = strchr(sliced, 'x');
        slices = x && number_at(x + 1) > 0 ? number_at(x + 1) : slices;
    }
    static const char *const words[] = {"split-k", "splitK", "SplitK", "splitk", "split_k"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        const char *split = strstr(name, words[w]);
        if (split)
            return count_behind(split + strlen(words[w]));
    }
    return slices;
}

/* Tensor cores by the name's own words. */
static bool names_unit(const char *name)
{
    static const char *const words[] = {"tensor", "hmma",  "imma",      "_h16816",
                                        "_h1688", "_h884", "_s16816",   "_s1688",
                                        "_s884",  "i8816", "warpgroup", "nvjet"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (strstr(name, words[w]))
            return true;
    return false;
}

void ulp_kernel_name_read(const char *name, struct ulp_kernel_name *out)
{
    struct tokens tokens;
    *out = (struct ulp_kernel_name){.multiply = "",
                                    .accumulator = "",
                                    .epilogue = "",
                                    .output = "",
                                    .slices = 1,
                                    .pattern = "",
                                    .source = ""};
    for (size_t r = 0; r < sizeof rows / sizeof *rows && !out->matrix; r++) {
        if (!matches(rows[r].pattern, name, &tokens))
            continue;
        out->matrix = true;
        out->multiply = column(rows[r].multiply, &tokens);
        out->accumulator = column(rows[r].accumulator, &tokens);
        out->epilogue = column(rows[r].epilogue, &tokens);
        out->output = column(rows[r].output, &tokens);
        out->certainty = rows[r].certainty;
        out->pattern = rows[r].pattern;
        out->source = rows[r].source;
    }
    if (!out->matrix)
        return;
    out->architecture = find_architecture(name);
    out->winograd = strstr(name, "winograd") || strstr(name, "wngd");
    out->slices = find_slices(name);
    out->unit = names_unit(name);
}

const char *ulp_kernel_name_pattern(size_t index, const char **source,
                                    enum ulp_certainty *certainty)
{
    if (index >= sizeof rows / sizeof *rows)
        return NULL;
    *source = rows[index].source;
    *certainty = rows[index].certainty;
    return rows[index].pattern;
}

ULP_NAMES(ulp_certainty_name, enum ulp_certainty, "unknown", "inferred", "observed", "documented")
