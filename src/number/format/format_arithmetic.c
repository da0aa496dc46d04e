/* Arithmetics by name. The canonical name is the shortest request found that resolves to the same
 * arithmetic: equal arithmetics have equal names, and parsing a name gives its arithmetic back. */
#include <ulpscope/format.h>

#include <stdio.h>
#include <string.h>

#include "base/machine/environment.h"
#include "base/error.h"
#include "number/format/base.h"
#include "number/format/request.h"
#include "number/format/scaling.h"
#include "number/round/round.h"

static int index_of(const char *name, const char *const *names)
{
    int i = 0;
    while (names[i] && strcmp(name, names[i]) != 0)
        i++;
    return names[i] ? i : 0;
}

static int real_bits(float real)
{
    int bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

/* Every part of an arithmetic, said explicitly on top of a base. */
static struct ulp_request request_all(const struct ulp_arithmetic *a, const char *base)
{
    const bool unit = a->schedule.gpu[0] != 0;
    struct ulp_format plain;
    ulp_format_find(a->storage.name, &plain, NULL);
    struct ulp_request request = {.seed = a->seed,
                                  .order_block = a->order_block,
                                  .reduce_block = a->reduce_block};
    ulp_format_find(a->compute.name, &request.compute, NULL);
    ulp_format_find(a->factor.name, &request.factor, NULL);
    /* with the rules that are their own: scale= says another */
    ulp_scaling_find(a->scaling[0].name, &request.scaling[0]);
    ulp_scaling_find(a->scaling[1].name, &request.scaling[1]);
    ulp_scaling_find(a->weights.name, &request.weights);
    ulp_scaling_find(a->caches[0].name, &request.caches[0]);
    ulp_scaling_find(a->caches[1].name, &request.caches[1]);
    ulp_format_find(a->accumulator.name, &request.accumulator, NULL);
    ulp_format_find(a->inner.name, &request.inner, NULL);
    snprintf(request.base, sizeof request.base, "%.31s", base);
#define PART(NAME, key, values, CHOICE, GIVEN, meaning) \
    request.choice[ULP_PART_##NAME] = (int)(CHOICE);    \
    request.given[ULP_PART_##NAME] = GIVEN;
#include "number/format/part.def"
#undef PART
    return request;
}

/* The same formats, and the same parts when all are said. */
static bool equal_arithmetics(const struct ulp_arithmetic *a, const struct ulp_arithmetic *b)
{
    const struct ulp_request x = request_all(a, ""), y = request_all(b, "");
    return ulp_format_same(&a->storage, &b->storage) && ulp_format_same(&a->factor, &b->factor) &&
           ulp_format_same(&a->accumulator, &b->accumulator) &&
           strcmp(a->scaling[0].name, b->scaling[0].name) == 0 &&
           strcmp(a->scaling[1].name, b->scaling[1].name) == 0 &&
           a->scaling[0].rule == b->scaling[0].rule && a->scaling[1].rule == b->scaling[1].rule &&
           strcmp(a->caches[0].name, b->caches[0].name) == 0 &&
           strcmp(a->caches[1].name, b->caches[1].name) == 0 &&
           strcmp(a->weights.name, b->weights.name) == 0 && a->weights.rule == b->weights.rule &&
           ulp_format_same(&a->compute, &b->compute) && ulp_format_same(&a->inner, &b->inner) &&
           x.seed == y.seed && x.order_block == y.order_block && x.reduce_block == y.reduce_block &&
           memcmp(x.given, y.given, sizeof x.given) == 0 &&
           memcmp(x.choice, y.choice, sizeof x.choice) == 0;
}

/* The shortest name on top of a base: parts are left out, last first, while the arithmetic stays
 * the same. */
static bool write_name(const struct ulp_arithmetic *a, const char *base, char name[sizeof a->name])
{
    struct ulp_arithmetic other;
    struct ulp_request request = request_all(a, base);
    if (a->storage.carrier == ULP_CARRIER_MPFR)
        memset(request.given, 0, sizeof request.given);
    if (ulp_request_resolve(&other, &request, NULL) != ULP_OK || !equal_arithmetics(a, &other))
        return false;
    for (int part = ULP_PART_COUNT - 1; part >= 0; part--) {
        const bool given = request.given[part];
        request.given[part] = false;
        if (given && (ulp_request_resolve(&other, &request, NULL) != ULP_OK ||
                      !equal_arithmetics(a, &other)))
            request.given[part] = true;
    }
    return ulp_request_write(&request, name, sizeof a->name);
}

/* The same, unless a->name is shorter already. */
static void try_name(struct ulp_arithmetic *a, const char *base)
{
    char name[sizeof a->name];
    if (write_name(a, base, name) && (!a->name[0] || strlen(name) < strlen(a->name)))
        memcpy(a->name, name, sizeof name);
}

static bool find_name(struct ulp_arithmetic *a)
{
    char strict[sizeof a->storage.name + sizeof "-strict"];
    const char *other;
    snprintf(strict, sizeof strict, "%s-strict", a->storage.name);
    a->name[0] = 0;
    try_name(a, a->storage.name);
    try_name(a, strict);
    for (size_t i = 0; (other = ulp_base_of_storage(a->storage.name, i)) != NULL; i++)
        try_name(a, other);
    return a->name[0] != 0;
}

/* As it was asked for by name, and then with this part, or NULL; its own name where that is no
 * runtime's. */
static void set_asked(struct ulp_arithmetic *a, const char *name, const char *part)
{
    struct ulp_request request;
    struct ulp_arithmetic other;
    char text[sizeof a->asked];
    memcpy(a->asked, a->name, sizeof a->asked);
    if (ulp_request_read(&request, name, NULL) != ULP_OK || !request.runtime ||
        (part && ulp_request_change(&request, part, NULL) != ULP_OK))
        return;
    if (part)
        ulp_request_settle(&request, (const bool[ULP_PART_COUNT]){false});
    if (ulp_request_write_said(&request, text, sizeof text) &&
        ulp_request_read(&request, text, NULL) == ULP_OK &&
        ulp_request_resolve(&other, &request, NULL) == ULP_OK && equal_arithmetics(a, &other))
        memcpy(a->asked, text, sizeof text);
}

/* The length of "model" or "ort-cpu" in front of a name; 0: neither. */
static size_t begins_declared(const char *name)
{
    static const char *const words[] = {"model", "ort-cpu"};
    const size_t length = strcspn(name, ",");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && strncmp(name, words[i], length) == 0)
            return length;
    return 0;
}

/* "ort-cpu,qdq=integer": the word of `declared`, the parts of `plain`, which begins with "fp32".
 * false: it has no room. */
static bool write_declared(char text[sizeof((struct ulp_arithmetic *)0)->name], const char *word,
                           const char *plain)
{
    const size_t size = sizeof((struct ulp_arithmetic *)0)->name;
    return (size_t)snprintf(text, size, "%.*s%s", (int)strcspn(word, ","), word,
                            plain + strcspn(plain, ",")) < size;
}

static enum ulp_status fail_length(const char *name, struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_USAGE,
                    "arithmetic \"%.200s\": it has too many parts to be named", name);
}

/* "model" and "ort-cpu": fp32 where a model declares nothing else. Of the parts those of integers
 * alone mean something beside declared types. */
static enum ulp_status find_declared(struct ulp_arithmetic *out, const char *name,
                                     struct ulp_error *error)
{
    const size_t length = begins_declared(name);
    const bool is_ort = strncmp(name, "ort-cpu", length) == 0;
    struct ulp_arithmetic fp32;
    struct ulp_request request;
    char text[sizeof out->name];
    if (!write_declared(text, "fp32", name))
        return fail_length(name, error);
    ULP_TRY(
        ulp_fail_at(error, ulp_request_read(&request, text, error), "arithmetic \"%.200s\"", name));
    for (int part = 0; part < ULP_PART_COUNT; part++)
        if (request.said[part] && part != ULP_PART_QDQ && part != ULP_PART_INTEGERS)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "arithmetic \"%.200s\": %.*s takes no parts but qdq= and integers=",
                            name, (int)length, name);
    ULP_TRY(ulp_arithmetic_find(text, &fp32, error));
    write_declared(text, name, fp32.name);
    *out = fp32;
    out->as_declared = true;
    out->half_as_float = out->schedule.levels_obeyed = is_ort;
    out->steps = is_ort ? ULP_STEPS_ORT_CPU : ULP_STEPS_ALIKE;
    memcpy(out->name, text, sizeof out->name);
    memcpy(out->asked, text, sizeof out->asked);
    return ULP_OK;
}

static enum ulp_status find_requested(const struct ulp_request *request, const char *name,
                                      struct ulp_arithmetic *out, struct ulp_error *error)
{
    struct ulp_arithmetic found;
    ULP_TRY(ulp_fail_at(error, ulp_request_resolve(&found, request, error), "arithmetic \"%.200s\"",
                        name));
    if (!find_name(&found))
        return fail_length(name, error);
    *out = found;
    return ULP_OK;
}

enum ulp_status ulp_arithmetic_find(const char *name, struct ulp_arithmetic *out,
                                    struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_request request;
    if (begins_declared(name))
        return find_declared(out, name, error);
    ULP_TRY(
        ulp_fail_at(error, ulp_request_read(&request, name, error), "arithmetic \"%.200s\"", name));
    ULP_TRY(find_requested(&request, name, out, error));
    set_asked(out, name, NULL);
    return ULP_OK;
}

static enum ulp_status change_declared(struct ulp_arithmetic *out,
                                       const struct ulp_arithmetic *base, const char *part,
                                       struct ulp_error *error)
{
    char text[sizeof base->name];
    struct ulp_arithmetic plain, changed;
    write_declared(text, "fp32", base->name);
    ULP_TRY(ulp_arithmetic_find(text, &plain, error));
    ULP_TRY(ulp_arithmetic_change(&changed, &plain, part, error));
    if (strncmp(changed.name, "fp32", 4) != 0 || !write_declared(text, base->name, changed.name))
        return ulp_fail(error, ULP_ERROR_USAGE, "arithmetic \"%s\" takes no %s", base->name, part);
    return find_declared(out, text, error);
}

enum ulp_status ulp_arithmetic_change(struct ulp_arithmetic *out, const struct ulp_arithmetic *base,
                                      const char *part, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_request request;
    if (base->as_declared)
        return change_declared(out, base, part, error);
    ULP_TRY(ulp_request_read(&request, base->name, error));
    ULP_TRY(ulp_request_change(&request, part, error));
    ulp_request_settle(&request, (const bool[ULP_PART_COUNT]){false});
    const struct ulp_factor_ranges *ranges = base->ranges; /* out may be base */
    char asked[sizeof base->asked];
    memcpy(asked, base->asked, sizeof asked);
    ULP_TRY(find_requested(&request, base->name, out, error));
    set_asked(out, asked, part);
    out->ranges = out->scales_static ? ranges : NULL;
    return ULP_OK;
}
