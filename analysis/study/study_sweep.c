/* Braces in the name of an arithmetic, and what they become. */
#include <stdlib.h>
#include <string.h>

#include "analysis/study/studying.h"
#include "base/error.h"
#include "base/machine/environment.h"

enum { TEXT_MAX = 1000, BRACES_MAX = 8 };
#define NUMBER_MAX 1000000

/* A pair of braces: [begin, end) is what is between them. */
struct brace {
    const char *begin, *end;
    bool numbers;
    long from, step;
    size_t count;
};
struct parsed {
    const char *text;
    struct brace braces[BRACES_MAX];
    size_t brace_count, count;
};

/* "-12" up to the end or "..". */
static bool read_number(const char **at, const char *end, long *out)
{
    const bool negative = *at < end && **at == '-';
    const char *p = *at + negative, *first = p;
    for (*out = 0; p < end && *p >= '0' && *p <= '9' && *out <= NUMBER_MAX; p++)
        *out = 10 * *out + (*p - '0');
    *at = p;
    *out = negative ? -*out : *out;
    return p > first && labs(*out) <= NUMBER_MAX;
}

/* "A..B" or "A..B..STEP"; downwards when B is less. */
static bool read_range(struct brace *brace)
{
    const char *p = brace->begin;
    long last, step = 1;
    if (!read_number(&p, brace->end, &brace->from) || brace->end - p < 3 || memcmp(p, "..", 2) != 0)
        return false;
    p += 2;
    if (!read_number(&p, brace->end, &last))
        return false;
    if (p < brace->end) {
        if (brace->end - p < 3 || memcmp(p, "..", 2) != 0)
            return false;
        p += 2;
        if (!read_number(&p, brace->end, &step) || step < 1)
            return false;
    }
    brace->step = last < brace->from ? -step : step;
    brace->count = (size_t)(labs(last - brace->from) / step) + 1;
    brace->numbers = true;
    return p == brace->end;
}

static enum ulp_status read_brace(struct brace *brace, const char *text, struct ulp_error *error)
{
    const int length = (int)(brace->end - brace->begin);
    if (length > 0 && strstr(brace->begin, "..") && strstr(brace->begin, "..") < brace->end)
        return read_range(brace)
                   ? ULP_OK
                   : ulp_fail(error, ULP_ERROR_USAGE,
                              "sweep %s: {%.*s}: expected {A..B} or {A..B..STEP}, whole numbers up "
                              "to a million",
                              text, length, brace->begin);
    brace->count = 1;
    for (const char *p = brace->begin; p < brace->end; p++) {
        brace->count += *p == ',';
        if (*p == ',' && (p == brace->begin || p + 1 == brace->end || p[1] == ','))
            brace->count = 0, p = brace->end - 1;
    }
    return length > 0 && brace->count
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE, "sweep %s: {%.*s}: a choice is empty", text,
                          length, brace->begin);
}

static enum ulp_status parse(struct parsed *out, const char *text, struct ulp_error *error)
{
    *out = (struct parsed){.text = text, .count = 1};
    if (strlen(text) > TEXT_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE, "a sweep of more than %d characters", TEXT_MAX);
    for (const char *p = text; (p = strpbrk(p, "{}")) != NULL; p++) {
        struct brace *brace = &out->braces[out->brace_count];
        if (*p == '}')
            return ulp_fail(error, ULP_ERROR_USAGE, "sweep %s: '}' without '{'", text);
        if (out->brace_count == BRACES_MAX)
            return ulp_fail(error, ULP_ERROR_USAGE, "sweep %s: more than %d pairs of braces", text,
                            BRACES_MAX);
        *brace = (struct brace){.begin = p + 1, .end = strpbrk(p + 1, "{}")};
        if (!brace->end)
            return ulp_fail(error, ULP_ERROR_USAGE, "sweep %s: '{' without '}'", text);
        if (*brace->end == '{')
            return ulp_fail(error, ULP_ERROR_USAGE, "sweep %s: braces inside braces", text);
        ULP_TRY(read_brace(brace, text, error));
        if (brace->count > ULP_STUDY_SETTINGS_MAX ||
            (out->count *= brace->count) > ULP_STUDY_SETTINGS_MAX)
            return ulp_fail(error, ULP_ERROR_USAGE, "sweep %s: more than %d settings", text,
                            ULP_STUDY_SETTINGS_MAX);
        out->brace_count++;
        p = brace->end;
    }
    return ULP_OK;
}

enum { KEEP_NONE = BRACES_MAX };

static void add_choice(struct ulp_text *out, const struct brace *brace, size_t choice)
{
    const char *p = brace->begin;
    if (brace->numbers) {
        ulp_text_add(out, "%ld", brace->from + (long)choice * brace->step);
        return;
    }
    for (; choice; choice--)
        p += strcspn(p, ",") + 1;
    ulp_text_put(out, p, strcspn(p, ",}"));
}

/* The name of the combination, whose last braces change fastest; the pair `keep` stays. */
static void add_name(struct ulp_text *out, const struct parsed *parsed, size_t index, size_t keep,
                     size_t *choices)
{
    const char *at = parsed->text;
    for (size_t b = parsed->brace_count; b-- > 0; index /= parsed->braces[b].count)
        choices[b] = index % parsed->braces[b].count;
    for (size_t b = 0; b < parsed->brace_count; b++) {
        const struct brace *brace = &parsed->braces[b];
        if (b == keep)
            continue;
        ulp_text_put(out, at, (size_t)(brace->begin - 1 - at));
        add_choice(out, brace, choices[b]);
        at = brace->end + 1;
    }
    ulp_text_add(out, "%s", at);
}

static enum ulp_status fill(struct ulp_sweep *out, const struct parsed *parsed,
                            struct ulp_arena *arena)
{
    out->choice_counts = ulp_arena_take(arena, parsed->brace_count + 1, sizeof *out->choice_counts);
    out->names = ulp_arena_take(arena, parsed->count, sizeof *out->names);
    out->choices =
        ulp_arena_take(arena, parsed->count * parsed->brace_count + 1, sizeof *out->choices);
    if (!out->choice_counts || !out->names || !out->choices)
        return ULP_ERROR_MEMORY;
    out->brace_count = parsed->brace_count;
    out->count = parsed->count;
    for (size_t b = 0; b < parsed->brace_count; b++)
        out->choice_counts[b] = parsed->braces[b].count;
    for (size_t i = 0; i < out->count; i++) {
        struct ulp_text name = {0};
        add_name(&name, parsed, i, KEEP_NONE, &out->choices[i * out->brace_count]);
        out->names[i] =
            name.failed ? NULL : ulp_arena_text(arena, name.data ? name.data : "", name.length);
        ulp_text_free(&name);
        if (!out->names[i])
            return ULP_ERROR_MEMORY;
    }
    return ULP_OK;
}

enum ulp_status ulp_sweep_expand(const char *text, struct ulp_sweep *out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct parsed parsed;
    struct ulp_arena *arena;
    *out = (struct ulp_sweep){0};
    ULP_TRY(parse(&parsed, text, error));
    ULP_TRY(ulp_arena_create(&arena, NULL, error));
    out->memory = arena;
    if (fill(out, &parsed, arena) == ULP_OK)
        return ULP_OK;
    ulp_sweep_free(out);
    return ulp_out_of_memory(error);
}

enum ulp_status ulp_sweep_series_name(const char *text, size_t index, size_t keep,
                                      struct ulp_arena *arena, char **out, struct ulp_error *error)
{
    struct parsed parsed;
    struct ulp_text name = {0};
    size_t choices[BRACES_MAX];
    ULP_TRY(parse(&parsed, text, error));
    add_name(&name, &parsed, index, keep, choices);
    *out = name.failed ? NULL : ulp_arena_text(arena, name.data ? name.data : "", name.length);
    ulp_text_free(&name);
    return ulp_taken(*out, error);
}

void ulp_sweep_free(struct ulp_sweep *sweep)
{
    ulp_arena_free(sweep->memory);
    *sweep = (struct ulp_sweep){0};
}
