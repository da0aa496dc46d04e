/* Names of arithmetics: reading one into a request, writing one, and hints for misspelt words. */
#include "number/format/request.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/suggest.h"
#include "number/format/scaling.h"

const char *const ulp_constants_names[] = {"saturated", "ieee", "tensorrt", "onnxconverter-common",
                                           NULL};
const char *const ulp_unit_names[] = {"none", "mma", "wgmma", "tcgen05", NULL};
const char *const ulp_gpu_names[] = {
#define GPU(NAME, name, formats, class, tf32, other, unit, known) name,
#include "number/format/gpu.def"
#undef GPU
    NULL};

/* How a part is spelled: KEY=VALUE, or a bare word, and what it sets. */
static const struct part_row {
    const char *key, *meaning;
    /* the values, by their index in request->choice; NULL: of another kind */
    const char *const *words;
    enum { CHOICE, ORDER, NUMBER, REAL, SLICES, SEED, FORMAT, FACTOR, SCALED } kind;
    /* in struct ulp_request: of FORMAT the format, of FACTOR and SCALED the scaling, of ORDER the
     * block's length */
    size_t place;
} part_rows[ULP_PART_COUNT] = {
#define LISTED(list) .words = list
#define CHOOSES(...) LISTED(((const char *const[]){__VA_ARGS__, NULL}))
#define TAKES(KIND) .kind = KIND
#define HOLDS(KIND, member) TAKES(KIND), .place = offsetof(struct ulp_request, member)
#define ORDERS(member, ...) HOLDS(ORDER, member), CHOOSES(__VA_ARGS__)
#define PART(NAME, key, values, choice, given, meaning) [ULP_PART_##NAME] = {key, meaning, values},
#include "number/format/part.def"
#undef PART
};

enum { NUMBER_MAX = 1 << 30 }; /* of blocked:N, promote=N, split-k=N */

const char *ulp_suggest(char text[64], const char *word, const char *const *words)
{
    int best = 1 + (int)strlen(word) / 3;
    text[0] = 0;
    for (; *words; words++) {
        const bool holds = strlen(word) > 2 && strstr(*words, word); /* "4090" */
        const int distance = holds ? 1 : ulp_word_distance(word, *words);
        if (distance > best || distance == (int)strlen(*words))
            continue;
        if (distance < best || !text[0])
            snprintf(text, 64, " (did you mean \"%s\"?)", *words);
        best = distance;
    }
    return text;
}

static int find_word(const char *word, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return -1;
}

static void append(char *text, size_t size, const char *more)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

static void list_words(char *text, size_t size, const char *const *words)
{
    *text = 0;
    for (int i = 0; words[i]; i++) {
        append(text, size, i ? ", " : "");
        append(text, size, words[i]);
    }
}

/* What follows the key of a part that takes no words. */
static const char *const kinds[] = {
    [NUMBER] = "N",      [SLICES] = "N|cublas", [SEED] = "N",       [REAL] = "X",
    [FORMAT] = "FORMAT", [FACTOR] = "FORMAT",   [SCALED] = "SCALED"};

static enum ulp_status read_choice(int *out, const char *key, const char *value,
                                   const char *const *words, struct ulp_error *error)
{
    char hint[64], list[160];
    *out = find_word(value, words);
    if (*out >= 0)
        return ULP_OK;
    const char *gpu = strchr(value, '@');
    if (gpu)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a GPU stands behind the base, before all parts: fp16%s,%s%.*s", gpu, key,
                        (int)(gpu - value), value);
    list_words(list, sizeof list, words);
    if (strpbrk(value, "./") && (strcmp(key, "scales=") == 0 || strcmp(key, "fuse=") == 0))
        return ulp_fail(
            error, ULP_ERROR_USAGE,
            "%s%s: no file is taken here, but by -a of audit, run, overflow, tolerance, "
            "scales and (of scales=) plan; known: %s",
            key, value, list);
    return ulp_fail(error, ULP_ERROR_USAGE, "%s%s: unknown value%s; known: %s", key, value,
                    ulp_suggest(hint, value, words), list);
}

static enum ulp_status read_number(uint64_t *out, const char *key, const char *value, uint64_t low,
                                   uint64_t high, struct ulp_error *error)
{
    uint64_t number = 0;
    const char *p = value;
    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *p - '0', &number))
            break;
    if (p == value || *p || number < low || number > high)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s%s: a whole number from %llu to %llu is needed",
                        key, value, (unsigned long long)low, (unsigned long long)high);
    *out = number;
    return ULP_OK;
}

/* A positive float, as its bits. */
static enum ulp_status read_real(int *out, const char *key, const char *value,
                                 struct ulp_error *error)
{
    char *end;
    const double number = strtod(value, &end);
    const float real = (float)number;
    if (end == value || *end || !(real >= 0x1p-126F) || !isfinite(real))
        return ulp_fail(error, ULP_ERROR_USAGE, "%s%s: a number above 0 is needed, as %s0.05", key,
                        value, key);
    memcpy(out, &real, sizeof real);
    return ULP_OK;
}

/* order= and reduce=: a word, or blocked:N. */
static enum ulp_status read_order(int *choice, int *block, const char *key, const char *value,
                                  const char *const *words, struct ulp_error *error)
{
    uint64_t number = 0;
    if (strcmp(value, "blocked") == 0)
        return ulp_fail(error, ULP_ERROR_USAGE, "%sblocked needs a block length, as %sblocked:128",
                        key, key);
    if (strncmp(value, "blocked:", 8) != 0)
        return read_choice(choice, key, value, words, error);
    char name[32];
    snprintf(name, sizeof name, "%sblocked:", key);
    const enum ulp_status status = read_number(&number, name, value + 8, 1, NUMBER_MAX, error);
    *choice = ULP_ORDER_BLOCKED;
    *block = (int)number;
    return status;
}

static enum ulp_status read_format(struct ulp_format *out, const char *key, const char *value,
                                   struct ulp_error *error)
{
    const enum ulp_status status = ulp_format_find(value, out, error);
    /* FP4 and FP6 are what units multiply, and sums and steps lie in wider ones */
    const bool is_factor = out->lacks == ULP_LACKS_NAN && strcmp(key, "factor=") == 0;
    return status != ULP_OK || !out->lacks || is_factor
               ? status
               : ulp_fail(error, ULP_ERROR_USAGE,
                          "%s%s: a format for storage only, of a model's own types", key, value);
}

static enum ulp_status read_scaling(struct ulp_scaling *out, const char *key, const char *value,
                                    struct ulp_error *error)
{
    const char *names[32];
    char hint[64], list[320];
    size_t count = 0;
    if (ulp_scaling_find(value, out))
        return ULP_OK;
    while ((names[count] = ulp_scaling_row(count)) != NULL)
        count++;
    list_words(list, sizeof list, names);
    return ulp_fail(error, ULP_ERROR_USAGE, "%s%s: no format with scales%s; known: %s", key, value,
                    ulp_suggest(hint, value, names), list);
}

/* factor=: a format with scales, or a format. */
static enum ulp_status read_factor(struct ulp_request *request, const char *key, const char *value,
                                   struct ulp_error *error)
{
    struct ulp_scaling *scaling = &request->scaling[0], two[2] = {{.name = ""}, {.name = ""}};
    const bool found = ulp_scaling_find_word(value, two), said = request->said[ULP_PART_FACTOR_B],
               both = found && strcmp(two[0].name, two[1].name) != 0;
    request->given[ULP_PART_FACTOR_B] = said || both;
    *scaling = two[0];
    if (both && !said)
        request->scaling[1] = two[1];
    if (!found)
        return read_format(&request->factor, key, value, error);
    request->factor = scaling->element;
    return ULP_OK;
}

/* "round=rne|rna|..., seed=N, result-only, each-step, ..." */
static void list_parts(char *text, size_t size)
{
    *text = 0;
    for (int p = ULP_PART_GPU + 1; p < ULP_PART_COUNT; p++) {
        const struct part_row *row = &part_rows[p];
        append(text, size, *text ? ", " : "");
        append(text, size, row->key);
        append(text, size, row->words ? "" : kinds[row->kind]);
        for (int i = 0; row->words && row->words[i]; i++) {
            append(text, size, i == 0 ? "" : *row->key ? "|" : ", ");
            append(text, size, row->words[i]);
            append(text, size, row->kind == ORDER && i == ULP_ORDER_BLOCKED ? ":N" : "");
        }
    }
}

static enum ulp_status fail_unknown(const char *word, struct ulp_error *error)
{
    const char *words[2 * ULP_PART_COUNT + 1];
    char hint[64], key[32], known[800];
    size_t count = 0;
    for (int p = ULP_PART_GPU + 1; p < ULP_PART_COUNT; p++)
        if (*part_rows[p].key)
            words[count++] = part_rows[p].key;
        else
            for (int i = 0; i < 2; i++)
                words[count++] = part_rows[p].words[i];
    words[count] = NULL;
    list_parts(known, sizeof known);
    snprintf(key, sizeof key, "%.*s", (int)strcspn(word, "=") + (strchr(word, '=') != NULL), word);
    return ulp_fail(error, ULP_ERROR_USAGE, "unknown part \"%s\"%s; known parts: %s", word,
                    ulp_suggest(hint, key, words), known);
}

static int find_part(const char *word)
{
    for (int p = 0; p < ULP_PART_COUNT; p++) {
        const struct part_row *row = &part_rows[p];
        if (*row->key ? strncmp(word, row->key, strlen(row->key)) == 0
                      : find_word(word, row->words) >= 0)
            return p;
    }
    return -1;
}

static enum ulp_status read_value(struct ulp_request *request, int part, const char *value,
                                  struct ulp_error *error)
{
    const struct part_row *row = &part_rows[part];
    void *place = (char *)request + row->place;
    uint64_t number = 0;
    enum ulp_status status = ULP_OK;
    switch (row->kind) {
    case CHOICE: return read_choice(&request->choice[part], row->key, value, row->words, error);
    case ORDER:
        return read_order(&request->choice[part], place, row->key, value, row->words, error);
    case SEED: return read_number(&request->seed, row->key, value, 0, UINT64_MAX, error);
    case FORMAT: return read_format(place, row->key, value, error);
    case FACTOR: return read_factor(request, row->key, value, error);
    case SCALED: return read_scaling(place, row->key, value, error);
    case REAL: return read_real(&request->choice[part], row->key, value, error);
    case SLICES:
        if (strcmp(value, "cublas") == 0) {
            request->choice[part] = ULP_SPLIT_CUBLAS;
            return ULP_OK;
        }
        /* fall through */
    case NUMBER:
        status = read_number(&number, row->key, value, 1, NUMBER_MAX, error);
        request->choice[part] = (int)number;
    }
    return status;
}

enum ulp_status ulp_request_change(struct ulp_request *request, const char *word,
                                   struct ulp_error *error)
{
    const int part = find_part(word);
    if (part < 0)
        return fail_unknown(word, error);
    request->given[part] = request->said[part] = true;
    return read_value(request, part, word + strlen(part_rows[part].key), error);
}

static enum ulp_status read_gpu(struct ulp_request *request, const char *gpu,
                                struct ulp_error *error)
{
    char hint[64], known[160];
    request->given[ULP_PART_GPU] = request->said[ULP_PART_GPU] = true;
    request->choice[ULP_PART_GPU] = find_word(gpu, ulp_gpu_names);
    if (request->choice[ULP_PART_GPU] >= 0)
        return ULP_OK;
    list_words(known, sizeof known, ulp_gpu_names);
    return ulp_fail(error, ULP_ERROR_USAGE, "unknown GPU \"%s\" after @%s; known: %s", gpu,
                    ulp_suggest(hint, gpu, ulp_gpu_names), known);
}

void ulp_request_settle(struct ulp_request *request, const bool said[ULP_PART_COUNT])
{
    static const enum ulp_part inside[] = {ULP_PART_INNER, ULP_PART_INNER_CONSTANTS,
                                           ULP_PART_INNER_CASTS};
    const bool none =
        request->given[ULP_PART_FUSE] && request->choice[ULP_PART_FUSE] == ULP_FUSE_NONE;
    for (size_t i = 0; i < sizeof inside / sizeof *inside && none; i++)
        request->given[inside[i]] &= said[inside[i]];
    static const enum ulp_part kernels[] = {ULP_PART_ATTENTION, ULP_PART_RECURRENCE,
                                            ULP_PART_CONV,      ULP_PART_NORMS,
                                            ULP_PART_EPILOGUE,  ULP_PART_STEPS};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        request->brought[kernels[i]] = !said[kernels[i]];
    if (!ulp_scaling_has_tensor(&request->scaling[0]))
        request->given[ULP_PART_STATIC] &= said[ULP_PART_STATIC];
}

/* What stands before "@" and ",": a base, or a runtime's name in the place of its expansion. */
static enum ulp_status read_base(struct ulp_request *request, const char *base,
                                 struct ulp_error *error)
{
    const struct ulp_runtime *runtime = ulp_runtime_find(base);
    if (runtime) {
        const enum ulp_status status = ulp_request_read(request, runtime->expansion, error);
        request->runtime = runtime;
        memset(request->said, 0, sizeof request->said);
        return status;
    }
    if (strlen(base) >= sizeof request->base)
        return ulp_fail(error, ULP_ERROR_USAGE, "the base \"%s\" is longer than any known one",
                        base);
    snprintf(request->base, sizeof request->base, "%.*s", (int)sizeof request->base - 1, base);
    return ulp_runtime_check(base, error);
}

enum ulp_status ulp_request_read(struct ulp_request *request, const char *name,
                                 struct ulp_error *error)
{
    memset(request, 0, sizeof *request);
    char text[512];
    const size_t length = strlen(name);
    if (length >= sizeof text)
        return ulp_fail(error, ULP_ERROR_USAGE, "the name is longer than %zu characters",
                        sizeof text - 1);
    for (size_t i = 0; i <= length; i++)
        text[i] = (char)tolower((unsigned char)name[i]);
    char *next = text, *gpu = strsep(&next, ","), *base = strsep(&gpu, "@");
    enum ulp_status status = read_base(request, base, error);
    if (status == ULP_OK && gpu)
        status = read_gpu(request, gpu, error);
    for (char *word; status == ULP_OK && (word = strsep(&next, ",")) != NULL;) {
        const int part = *word == '@' ? -1 : find_part(word);
        if (part < 0)
            return fail_unknown(word, error);
        if (request->said[part])
            return ulp_fail(error, ULP_ERROR_USAGE, "\"%s\": this part is set twice", word);
        status = ulp_request_change(request, word, error);
    }
    ulp_request_settle(request, request->said);
    return status;
}

static const char *find_part_value(const struct ulp_request *request, enum ulp_part part,
                                   char number[32])
{
    const struct part_row *row = &part_rows[part];
    const void *place = (const char *)request + row->place;
    const int choice = request->choice[part];
    float real;
    switch (row->kind) {
    case CHOICE: return row->words[choice];
    case FORMAT: return ((const struct ulp_format *)place)->name;
    case FACTOR:
        if (!request->scaling[0].name[0])
            return request->factor.name;
        /* fall through */
    case SCALED: return ((const struct ulp_scaling *)place)->name;
    case SEED: snprintf(number, 32, "%llu", (unsigned long long)request->seed); return number;
    case REAL:
        memcpy(&real, &choice, sizeof real);
        snprintf(number, 32, "%.6g", (double)real);
        if (strtof(number, NULL) != real) /* 9 digits tell every float */
            snprintf(number, 32, "%.9g", (double)real);
        return number;
    case SLICES:
        if (choice < 0)
            return "cublas";
        /* fall through */
    case NUMBER: snprintf(number, 32, "%d", choice); return number;
    case ORDER:
        if (choice != ULP_ORDER_BLOCKED)
            return row->words[choice];
        snprintf(number, 32, "blocked:%d", *(const int *)place);
        return number;
    }
    return "";
}

bool ulp_request_write(const struct ulp_request *request, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "%s", request->base);
    for (int part = 0; part < ULP_PART_COUNT && length < size; part++) {
        char number[32];
        if (request->given[part])
            length += (size_t)snprintf(text + length, size - length, "%s%s%s",
                                       part == ULP_PART_GPU ? "" : ",", part_rows[part].key,
                                       find_part_value(request, (enum ulp_part)part, number));
    }
    return length < size;
}

bool ulp_request_write_said(const struct ulp_request *request, char *text, size_t size)
{
    struct ulp_request said = *request;
    snprintf(said.base, sizeof said.base, "%s", request->runtime->name);
    for (int part = 0; part < ULP_PART_COUNT; part++)
        said.given[part] &= said.said[part];
    return ulp_request_write(&said, text, size);
}

const char *ulp_arithmetic_part(size_t index, char *spelled, size_t size)
{
    if (index >= ULP_PART_COUNT)
        return NULL;
    const struct part_row *row = &part_rows[index];
    size_t length =
        (size_t)snprintf(spelled, size, "%s%s", row->key, row->words ? "" : kinds[row->kind]);
    for (size_t w = 0; row->words && row->words[w] && length < size; w++)
        length +=
            (size_t)snprintf(spelled + length, size - length, "%s%s%s", w ? "|" : "", row->words[w],
                             strcmp(row->words[w], "blocked") == 0 ? ":N" : "");
    return row->meaning;
}
