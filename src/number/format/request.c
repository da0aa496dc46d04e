/* Names of arithmetics: reading one into a request, writing one, and hints for misspelt words. */
#include "number/format/request.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* How a part is spelled: KEY=VALUE with `values` (NULL: a number, a format or an order), or a bare
 * word. */
static const char *const rounding_names[] = {"rne", "rna", "rz", "ru", "rd", "sr", NULL};
static const char *const overflow_names[] = {"inf", "nan", "saturate", NULL};
static const char *const subnormal_names[] = {"flush", "keep", NULL};
static const char *const order_names[] = {"sequential", "pairwise", "blocked", NULL};
static const char *const reduce_names[] = {"sequential", "pairwise", "blocked", "warp", NULL};
static const char *const place_names[] = {"result-only", "each-step", NULL};
static const char *const fused_names[] = {"nofma", "fma", NULL};
static const char *const epilogue_names[] = {"fused", "rounded", NULL};
static const char *const qdq_names[] = {"float", "integer", NULL};
static const char *const functions_names[] = {"rounded", "cuda", NULL};
static const char *const part_keys[] = {
    [PART_GPU] = "@",
    [PART_ROUND] = "round=",
    [PART_SEED] = "seed=",
    [PART_PLACE] = "",
    [PART_SUBNORMALS] = "subnormals=",
    [PART_OVERFLOW] = "overflow=",
    [PART_COMPUTE] = "compute=",
    [PART_FACTOR] = "factor=",
    [PART_ACCUMULATOR] = "acc=",
    [PART_UNIT] = "unit=",
    [PART_OPERANDS] = "operands=",
    [PART_ORDER] = "order=",
    [PART_REDUCE] = "reduce=",
    [PART_FUSED] = "",
    [PART_PROMOTE] = "promote=",
    [PART_SPLIT] = "split-k=",
    [PART_EPILOGUE] = "epilogue=",
    [PART_QDQ] = "qdq=",
    [PART_FUNCTIONS] = "functions=",
};
static const char *const part_words[] = {
    "round=",    "seed=",    "each-step", "result-only", "subnormals=", "overflow=",  "acc=",
    "compute=",  "factor=",  "order=",    "reduce=",     "fma",         "nofma",      "unit=",
    "operands=", "promote=", "split-k=",  "epilogue=",   "qdq=",        "functions=", NULL};
const char *const ulp_unit_names[] = {"none", "mma", "wgmma", "tcgen05", NULL};
const char *const ulp_gpu_names[] = {"v100", "t4",   "a100", "a2",   "ada",
                                     "l40s", "h100", "h200", "b200", NULL};

#define PARTS_KNOWN                                                                      \
    "round=rne|rna|rz|ru|rd|sr, seed=N, each-step, result-only, subnormals=keep|flush, " \
    "overflow=inf|nan|saturate, "                                                        \
    "acc=FORMAT, compute=FORMAT, factor=FORMAT, order=sequential|pairwise|blocked:N, "   \
    "reduce=sequential|pairwise|blocked:N|warp, fma, nofma, "                            \
    "unit=mma|wgmma|tcgen05|none, operands=rna|rne|rz, promote=N, split-k=N, "           \
    "epilogue=fused|rounded, qdq=float|integer, "                                        \
    "functions=rounded|cuda"
#define GPUS_KNOWN "v100, t4, a100, a2, ada, l40s, h100, h200, b200"

enum { NUMBER_MAX = 1 << 30 }; /* of blocked:N, promote=N, split-k=N */

/* Levenshtein's distance, of words shorter than 32 characters. */
static int measure_distance(const char *a, const char *b)
{
    int row[33];
    const int length = (int)strlen(b);
    if (length > 32)
        return 99;
    for (int j = 0; j <= length; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= length; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            best = best < row[j] + 1 ? best : row[j] + 1;
            best = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[length];
}

const char *ulp_suggest(char text[64], const char *word, const char *const *words)
{
    int best = 1 + (int)strlen(word) / 3;
    text[0] = 0;
    for (; *words; words++) {
        const int distance = measure_distance(word, *words);
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

static enum ulp_status read_choice(int *out, const char *key, const char *value,
                                   const char *const *words, struct ulp_error *error)
{
    char hint[64], list[160] = "";
    *out = find_word(value, words);
    if (*out >= 0)
        return ULP_OK;
    for (int i = 0; words[i]; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", words[i]);
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
    return status != ULP_OK || !out->lacks
               ? status
               : ulp_fail(error, ULP_ERROR_USAGE,
                          "%s%s: a format for storage only, of a model's own types", key, value);
}

static enum ulp_status read_part(struct ulp_request *request, const char *word,
                                 struct ulp_error *error)
{
    int part = find_word(word, place_names) >= 0   ? PART_PLACE
               : find_word(word, fused_names) >= 0 ? PART_FUSED
                                                   : -1;
    for (int i = PART_GPU + 1; i < PART_COUNT && part < 0; i++)
        if (*part_keys[i] && strncmp(word, part_keys[i], strlen(part_keys[i])) == 0)
            part = i;
    char hint[64], key[32];
    if (part < 0) {
        snprintf(key, sizeof key, "%.*s", (int)strcspn(word, "=") + (strchr(word, '=') != NULL),
                 word);
        return ulp_fail(error, ULP_ERROR_USAGE, "unknown part \"%s\"%s; known parts: " PARTS_KNOWN,
                        word, ulp_suggest(hint, key, part_words));
    }
    if (request->given[part])
        return ulp_fail(error, ULP_ERROR_USAGE, "\"%s\": this part is set twice", word);
    request->given[part] = true;
    const char *value = word + strlen(part_keys[part]);
    const char *name = part_keys[part];
    int *choice = &request->choice[part];
    uint64_t number = 0;
    enum ulp_status status = ULP_OK;
    switch ((enum ulp_part)part) {
    case PART_ROUND: return read_choice(choice, name, value, rounding_names, error);
    case PART_SEED: return read_number(&request->seed, name, value, 0, UINT64_MAX, error);
    case PART_PLACE: return read_choice(choice, name, value, place_names, error);
    case PART_SUBNORMALS: return read_choice(choice, name, value, subnormal_names, error);
    case PART_OVERFLOW: return read_choice(choice, name, value, overflow_names, error);
    case PART_COMPUTE: return read_format(&request->compute, name, value, error);
    case PART_FACTOR: return read_format(&request->factor, name, value, error);
    case PART_ACCUMULATOR: return read_format(&request->accumulator, name, value, error);
    case PART_UNIT: return read_choice(choice, name, value, ulp_unit_names, error);
    case PART_FUSED: return read_choice(choice, name, value, fused_names, error);
    case PART_EPILOGUE: return read_choice(choice, name, value, epilogue_names, error);
    case PART_QDQ: return read_choice(choice, name, value, qdq_names, error);
    case PART_FUNCTIONS: return read_choice(choice, name, value, functions_names, error);
    case PART_OPERANDS:
        status = read_choice(choice, name, value, rounding_names, error);
        if (status == ULP_OK && *choice > ULP_ROUND_TOWARD_ZERO)
            return ulp_fail(error, ULP_ERROR_USAGE, "%s: operands are rounded by rne, rna or rz",
                            word);
        return status;
    case PART_ORDER:
        return read_order(choice, &request->order_block, name, value, order_names, error);
    case PART_REDUCE:
        return read_order(choice, &request->reduce_block, name, value, reduce_names, error);
    case PART_PROMOTE:
    case PART_SPLIT:
        status = read_number(&number, name, value, 1, NUMBER_MAX, error);
        *choice = (int)number;
        return status;
    case PART_GPU:
    case PART_COUNT: break;
    }
    return ULP_OK;
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
    char *next = text, *base = strsep(&next, ","), *gpu = strchr(base, '@');
    if (gpu) {
        *gpu++ = 0;
        char hint[64];
        request->given[PART_GPU] = true;
        request->choice[PART_GPU] = find_word(gpu, ulp_gpu_names);
        if (request->choice[PART_GPU] < 0)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "unknown GPU \"%s\" after @%s; known: " GPUS_KNOWN, gpu,
                            ulp_suggest(hint, gpu, ulp_gpu_names));
    }
    if (strlen(base) >= sizeof request->base)
        return ulp_fail(error, ULP_ERROR_USAGE, "the base \"%s\" is longer than any known one",
                        base);
    snprintf(request->base, sizeof request->base, "%s", base);
    for (char *word; (word = strsep(&next, ",")) != NULL;) {
        const enum ulp_status status = read_part(request, word, error);
        if (status != ULP_OK)
            return status;
    }
    return ULP_OK;
}

static const char *find_value(const struct ulp_request *request, enum ulp_part part,
                              char number[32])
{
    const int choice = request->choice[part];
    switch (part) {
    case PART_GPU: return ulp_gpu_names[choice];
    case PART_ROUND:
    case PART_OPERANDS: return rounding_names[choice];
    case PART_PLACE: return place_names[choice];
    case PART_SUBNORMALS: return subnormal_names[choice];
    case PART_OVERFLOW: return overflow_names[choice];
    case PART_COMPUTE: return request->compute.name;
    case PART_FACTOR: return request->factor.name;
    case PART_ACCUMULATOR: return request->accumulator.name;
    case PART_UNIT: return ulp_unit_names[choice];
    case PART_FUSED: return fused_names[choice];
    case PART_EPILOGUE: return epilogue_names[choice];
    case PART_QDQ: return qdq_names[choice];
    case PART_FUNCTIONS: return functions_names[choice];
    case PART_ORDER:
    case PART_REDUCE:
        if (choice != ULP_ORDER_BLOCKED)
            return reduce_names[choice];
        snprintf(number, 32, "blocked:%d",
                 part == PART_ORDER ? request->order_block : request->reduce_block);
        return number;
    case PART_SEED: snprintf(number, 32, "%llu", (unsigned long long)request->seed); return number;
    case PART_PROMOTE:
    case PART_SPLIT: snprintf(number, 32, "%d", choice); return number;
    case PART_COUNT: break;
    }
    return "";
}

bool ulp_request_write(const struct ulp_request *request, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "%s", request->base);
    for (int part = 0; part < PART_COUNT && length < size; part++) {
        char number[32];
        if (request->given[part])
            length += (size_t)snprintf(text + length, size - length, "%s%s%s",
                                       part == PART_GPU ? "" : ",", part_keys[part],
                                       find_value(request, (enum ulp_part)part, number));
    }
    return length < size;
}
