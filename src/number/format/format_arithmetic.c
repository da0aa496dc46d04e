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
    ulp_format_find(a->accumulator.name, &request.accumulator, NULL);
    ulp_format_find(a->inner.name, &request.inner, NULL);
    snprintf(request.base, sizeof request.base, "%.31s", base);
    int *choice = request.choice;
    for (int i = 0; unit && i < ULP_GPU_COUNT; i++)
        if (strcmp(a->schedule.gpu, ulp_gpu_names[i]) == 0)
            choice[ULP_PART_GPU] = i;
    for (int i = 0; unit && i < ULP_UNIT_CLASS_COUNT; i++)
        if (strcmp(a->schedule.unit_class, ulp_unit_names[i]) == 0)
            choice[ULP_PART_UNIT] = i;
    choice[ULP_PART_ROUND] = a->rounding;
    choice[ULP_PART_PLACE] = a->place == ULP_ROUND_EACH_STEP;
    choice[ULP_PART_SUBNORMALS] = a->storage.subnormals;
    choice[ULP_PART_OVERFLOW] = a->storage.overflow;
    choice[ULP_PART_OPERANDS] = a->schedule.operand_rounding;
    choice[ULP_PART_SCALE] = a->scaling[0].name[0] ? a->scaling[0].rule : a->weights.rule;
    choice[ULP_PART_SCALED] = a->scaled_modelopt;
    choice[ULP_PART_STATIC] = a->scales_static;
    choice[ULP_PART_ORDER] = a->order;
    choice[ULP_PART_REDUCE] = a->reduce;
    choice[ULP_PART_FUSED] = a->schedule.fused;
    choice[ULP_PART_PROMOTE] = a->schedule.promote;
    choice[ULP_PART_SPLIT] = a->schedule.split_k;
    choice[ULP_PART_ROWS] = a->schedule.rows;
    choice[ULP_PART_EPILOGUE] = a->schedule.epilogue_rounded;
    choice[ULP_PART_QDQ] = a->schedule.qdq_integer;
    choice[ULP_PART_VECTORS] = a->schedule.vectors_scalar;
    choice[ULP_PART_FUNCTIONS] = a->cuda_functions;
    choice[ULP_PART_EXPONENTIALS] = a->plain_exponentials;
    choice[ULP_PART_ATTENTION] = a->attention;
    choice[ULP_PART_WRITTEN] = a->attention_joined;
    choice[ULP_PART_RECURRENCE] = a->recurrence_cudnn;
    choice[ULP_PART_CONV] = a->conv_torch;
    choice[ULP_PART_NORMS] = a->norms_torch;
    choice[ULP_PART_CONSTANTS] = a->constants;
    choice[ULP_PART_BATCHNORM] = a->batchnorm_folded;
    choice[ULP_PART_SCALES] = a->scales_lowered;
    choice[ULP_PART_FUSE] = a->fuse;
    choice[ULP_PART_INNER_CONSTANTS] = a->inner_constants;
    choice[ULP_PART_INNER_CASTS] = a->inner_casts;
    for (int part = 0; part < ULP_PART_COUNT; part++)
        request.given[part] = true;
    request.given[ULP_PART_GPU] = unit;
    request.given[ULP_PART_WEIGHTS] = a->weights.name[0];
    request.given[ULP_PART_SCALE] = a->weights.name[0] || a->scaling[0].name[0];
    request.given[ULP_PART_FACTOR_B] = strcmp(a->scaling[0].name, a->scaling[1].name) != 0;
    request.given[ULP_PART_SCALED] = a->scaled_modelopt;
    request.given[ULP_PART_STATIC] = a->scales_static;
    request.given[ULP_PART_SEED] = a->rounding == ULP_ROUND_STOCHASTIC;
    request.given[ULP_PART_OVERFLOW] = a->storage.overflow != plain.overflow;
    request.given[ULP_PART_OPERANDS] = !ulp_format_holds(&request.factor, &plain);
    /* every base's; else it would set reduce, too */
    request.given[ULP_PART_ORDER] = a->order != ULP_ORDER_SEQUENTIAL;
    request.given[ULP_PART_FUSED] = !unit && a->order != ULP_ORDER_PAIRWISE;
    request.given[ULP_PART_PROMOTE] = a->schedule.promote > 0;
    request.given[ULP_PART_SPLIT] = a->schedule.split_k != 0;
    request.given[ULP_PART_ROWS] = a->schedule.rows > 1;
    request.given[ULP_PART_EPILOGUE] = a->schedule.epilogue_rounded;
    request.given[ULP_PART_QDQ] = a->schedule.qdq_integer;
    request.given[ULP_PART_VECTORS] = a->schedule.vectors_scalar;
    request.given[ULP_PART_ATTENTION] = a->attention != ULP_ATTENTION_WHOLE;
    request.given[ULP_PART_WRITTEN] = a->attention_joined;
    request.given[ULP_PART_RECURRENCE] = a->recurrence_cudnn;
    request.given[ULP_PART_CONV] = a->conv_torch;
    request.given[ULP_PART_NORMS] = a->norms_torch;
    request.given[ULP_PART_FUSE] = request.given[ULP_PART_INNER] =
        request.given[ULP_PART_INNER_CONSTANTS] = request.given[ULP_PART_INNER_CASTS] =
            a->fuse != ULP_FUSE_NONE;
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

/* "model" and "ort-cpu": fp32 where a model declares nothing else. */
static enum ulp_status find_declared(struct ulp_arithmetic *out, const char *name,
                                     struct ulp_error *error)
{
    ULP_TRY(ulp_arithmetic_find("fp32", out, error));
    out->as_declared = true;
    out->half_as_float = strcmp(name, "ort-cpu") == 0;
    snprintf(out->name, sizeof out->name, "%s", name);
    memcpy(out->asked, out->name, sizeof out->asked);
    return ULP_OK;
}

static enum ulp_status find_requested(const struct ulp_request *request, const char *name,
                                      struct ulp_arithmetic *out, struct ulp_error *error)
{
    struct ulp_arithmetic found;
    const enum ulp_status status = ulp_request_resolve(&found, request, error);
    if (status != ULP_OK)
        return ulp_fail_at(error, status, "arithmetic \"%.200s\"", name);
    if (!find_name(&found))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "arithmetic \"%.200s\": it has too many parts to be named", name);
    *out = found;
    return ULP_OK;
}

enum ulp_status ulp_arithmetic_find(const char *name, struct ulp_arithmetic *out,
                                    struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_request request;
    if (strcmp(name, "model") == 0 || strcmp(name, "ort-cpu") == 0)
        return find_declared(out, name, error);
    enum ulp_status status = ulp_request_read(&request, name, error);
    if (status != ULP_OK)
        return ulp_fail_at(error, status, "arithmetic \"%.200s\"", name);
    ULP_TRY(find_requested(&request, name, out, error));
    set_asked(out, name, NULL);
    return ULP_OK;
}

enum ulp_status ulp_arithmetic_change(struct ulp_arithmetic *out, const struct ulp_arithmetic *base,
                                      const char *part, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_request request;
    if (base->as_declared)
        return ulp_fail(error, ULP_ERROR_USAGE, "arithmetic \"%s\" takes no parts", base->name);
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
