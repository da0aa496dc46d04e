/* The formats that layers may get, and nodes that have theirs already. */
#include <stdio.h>
#include <string.h>
#include <ulpscope/doctor.h>

#include "analysis/search/searcher.h"
#include "base/error.h"
#include "number/format/scaling.h"

/* ---- formats ---- */

/* What an allocation cannot be made of. */
static enum ulp_status check_allocated(const struct ulp_arithmetic *arithmetic, bool by_node,
                                       const char *text, struct ulp_error *error)
{
    if (arithmetic->schedule.qdq_integer && !by_node)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: each node has an arithmetic of its own: not qdq=integer", text);
    if (arithmetic->fuse != ULP_FUSE_NONE && !by_node)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: each layer has an arithmetic of its own: leave out fuse=", text);
    if (!by_node && (arithmetic->as_declared || !arithmetic->storage.storage_bits))
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: bits are counted: not of model or mpfr", text);
    return ULP_OK;
}

static enum ulp_status set_choice(struct ulp_search_choice *out, const char *name,
                                  const struct ulp_search_options *options, struct ulp_error *error)
{
    *out = (struct ulp_search_choice){0};
    ULP_TRY(ulp_arithmetic_find(name, &out->arithmetic, error));
    ULP_TRY(check_allocated(&out->arithmetic, options->by_node, name, error));
    out->arithmetic.ranges = out->arithmetic.scales_static ? options->ranges : NULL;
    const struct ulp_format *storage = &out->arithmetic.storage;
    snprintf(out->name, sizeof out->name, "%s", out->arithmetic.asked);
    out->mantissa = storage->precision - 1;
    out->bits = storage->storage_bits;
    return ULP_OK;
}

/* Of a plan's target ("trt10@a100") what it makes of the model; else the format as it is named. */
static enum ulp_status name_choice(const struct ulp_searcher *search, const char *format,
                                   char room[ULP_JUDGED_IN_BYTES], const char **name,
                                   struct ulp_error *error)
{
    struct ulp_arithmetic found;
    struct ulp_target_name named;
    char target[80];
    const bool is_target = search->options->by_node && ulp_target_read(format, &named);
    *name = is_target ? room : format;
    if (!is_target)
        return ULP_OK;
    const bool forbidden = search->tf32 == ULP_TF32_FORBIDDEN && named.tf32 == ULP_TF32_USUAL &&
                           ulp_target_tf32(named.target);
    snprintf(target, sizeof target, "%.60s%s", format, forbidden ? ",tf32=off" : "");
    return ulp_judged_in_worse(search->emulation.given.model, target, NULL, room, &found, error);
}

/* ---- formats with scales ---- */

/* What values are stored in, and all else computed: the one format of the list that has no scales.
 */
static enum ulp_status find_plain(const struct ulp_search_options *options, const char **out,
                                  struct ulp_error *error)
{
    struct ulp_scaling scaling[2];
    size_t plain = 0;
    bool integers = false, scaled = false;
    for (size_t f = 0; f < options->format_count; f++)
        if (ulp_scaling_find_word(options->formats[f], scaling)) {
            scaled = true;
            integers |= ulp_scaling_is_integer(&scaling[0]);
        } else if (plain++ == 0) {
            *out = options->formats[f];
        }
    if (!plain)
        *out = integers ? "fp32" : "bf16";
    if (!scaled)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "formats without scales alone: give one that products' factors are rounded "
                        "to, as int8 or nvfp4, or ask ulpscope plan for nodes in two of these");
    if (plain < 2 && ulp_is_word(*out, "bf16 fp16 fp32"))
        return ULP_OK;
    return ulp_fail(error, ULP_ERROR_USAGE,
                    "formats with scales are those of products' factors, and all else is computed "
                    "in one other: give bf16, fp16 or fp32 beside them, here %s",
                    plain < 2 ? *out : "there are several");
}

/* Factors are scaled back to storage and multiplied there, by that format's unit, as a graph says
 * it and runs need least time for. */
static enum ulp_status set_scaled(struct ulp_search_choice *out, const char *name,
                                  const char *plain, const struct ulp_search_options *options,
                                  struct ulp_error *error)
{
    char text[128];
    struct ulp_scaling row[2];
    ulp_scaling_find_word(name, row);
    const bool is_static = options->ranges && options->ranges->count &&
                           ulp_scaling_is_integer(&row[0]) && ulp_scaling_has_tensor(&row[0]);
    if (options->tensorrt && !ulp_is_word(name, "mxfp8 nvfp4 fp8-tensor"))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: TensorRT's operators have nvfp4, mxfp8 and fp8-tensor", name);
    snprintf(text, sizeof text, "%s,factor=%s,unit=%s%s%s",
             strcmp(plain, "fp32") == 0   ? "fp32"
             : strcmp(plain, "fp16") == 0 ? "fp16@h200"
                                          : "bf16@h200",
             name, strcmp(plain, "fp32") == 0 ? "none" : "mma",
             options->tensorrt && ulp_scaling_is_power(&row[0]) ? ",scale=up" : "",
             is_static ? ",scales=static" : "");
    ULP_TRY(set_choice(out, text, options, error));
    const struct ulp_scaling *scaling = &out->arithmetic.scaling[0];
    if (!ulp_scaling_is_fake(&out->arithmetic))
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "%s: factors are not scaled back", text);
    snprintf(out->name, sizeof out->name, "%s", name);
    out->mantissa = scaling->element.precision - 1;
    out->bits = ulp_search_factor_bits(scaling, SIZE_MAX);
    return ULP_OK;
}

/* In what the target computes kept nodes: as asked, or what FP32 is there. */
static enum ulp_status find_floats(struct ulp_searcher *search, const char *name, size_t t,
                                   struct ulp_error *error)
{
    struct ulp_target_name named;
    struct ulp_arithmetic usual, *floats = &search->floats[t];
    const bool open = !search->options->formats || !search->options->formats[0];
    *floats = search->choices[0].arithmetic;
    if (!search->options->by_node || !ulp_target_read(name, &named))
        return ULP_OK;
    const enum ulp_tf32 asked = named.tf32;
    named.tf32 = ULP_TF32_USUAL;
    ULP_TRY(ulp_target_floats(&named, &usual, error));
    named.tf32 = asked == ULP_TF32_USUAL ? search->tf32 : asked;
    if (open)
        ULP_TRY(ulp_target_floats(&named, floats, error));
    search->forbids[t] =
        strcmp(usual.factor.name, "tf32") == 0 && strcmp(floats->factor.name, "fp32") == 0;
    return ULP_OK;
}

/* What a plan is for: found node by node, as a change of one node moves the borders of kernels, and
 * judged as it fuses. */
static enum ulp_status list_targets(struct ulp_searcher *search, struct ulp_error *error)
{
    const struct ulp_search_options *options = search->options;
    const size_t count = options->target_count ? options->target_count : 1;
    const char *const *names = options->target_count ? options->targets : &options->formats[1];
    if (count > ULP_SEARCH_TARGETS_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE, "a plan is for %d arithmetics at most",
                        ULP_SEARCH_TARGETS_MAX);
    for (size_t t = 0; t < count; t++) {
        struct ulp_search_choice choice;
        char room[ULP_JUDGED_IN_BYTES];
        const char *name;
        struct ulp_arithmetic *target = &search->targets[search->target_count],
                              *lowered = &search->lowered[search->target_count++];
        ULP_TRY(name_choice(search, names[t], room, &name, error));
        ULP_TRY(set_choice(&choice, name, options, error));
        ULP_TRY(find_floats(search, names[t], search->target_count - 1, error));
        *target = *lowered = choice.arithmetic;
        search->target_names[search->target_count - 1] =
            ulp_target_find(names[t]) ? target->asked : names[t];
        for (size_t o = 0; o + 1 < search->target_count; o++)
            if (strcmp(search->targets[o].name, target->name) == 0)
                return ulp_fail(error, ULP_ERROR_USAGE, "%s: %s is there already, name it once",
                                names[t], target->asked);
        search->judged_in[search->judged_in_count++] = (struct ulp_search_judged_in){target, t};
        if (target->fuse != ULP_FUSE_NONE) {
            ULP_TRY(ulp_arithmetic_change(lowered, target, "fuse=none", error));
            search->judged_in[search->judged_in_count++] =
                (struct ulp_search_judged_in){lowered, t};
        }
    }
    return ULP_OK;
}

static enum ulp_status list_formats(struct ulp_searcher *search, struct ulp_arena *memory,
                                    struct ulp_error *error)
{
    const struct ulp_search_options *options = search->options;
    struct ulp_scaling scaling[2];
    const char *plain = NULL;
    ULP_TAKE(search->choices, memory, options->format_count + 1, error);
    if (!options->by_node) {
        ULP_TRY(find_plain(options, &plain, error));
        ULP_TRY(set_choice(&search->choices[search->choice_count++], plain, options, error));
    }
    for (size_t f = 0; f < options->format_count; f++) {
        if (plain && strcmp(options->formats[f], plain) == 0)
            continue;
        struct ulp_search_choice *choice = &search->choices[search->choice_count++];
        char room[ULP_JUDGED_IN_BYTES];
        const char *name;
        const char *format = options->formats[f] ? options->formats[f] : "fp32";
        ULP_TRY(name_choice(search, format, room, &name, error));
        ULP_TRY(plain && ulp_scaling_find_word(format, scaling)
                    ? set_scaled(choice, format, plain, options, error)
                    : set_choice(choice, name, options, error));
        for (size_t i = 0; i + 1 < search->choice_count; i++)
            if (strcmp(search->choices[i].arithmetic.name, choice->arithmetic.name) == 0)
                return ulp_fail(error, ULP_ERROR_USAGE,
                                "format %s is there twice: a search needs a wider and a narrower",
                                format);
    }
    return ULP_OK;
}

void ulp_search_set_narrow(struct ulp_searcher *search, size_t target)
{
    struct ulp_search_choice *narrow = &search->choices[search->narrow];
    narrow->arithmetic = search->lowered[target];
    snprintf(narrow->name, sizeof narrow->name, "%s", search->target_names[target]);
    struct ulp_search_choice *wide = &search->choices[0];
    if (search->options->formats[0])
        return;
    wide->arithmetic = search->floats[target];
    snprintf(wide->name, sizeof wide->name, "%s", wide->arithmetic.asked);
}

enum ulp_status ulp_search_choose(struct ulp_searcher *search, struct ulp_arena *memory,
                                  struct ulp_error *error)
{
    const struct ulp_search_options *options = search->options;
    if (options->by_node && options->format_count != 2)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a plan is of two arithmetics, the wider one first");
    if (!options->format_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "a search is of formats: give these");
    ULP_TRY(list_formats(search, memory, error));
    if (options->by_node) {
        ULP_TRY(list_targets(search, error));
        search->narrow = search->base = 1;
        ulp_search_set_narrow(search, 0);
    }
    for (size_t c = 1; c < search->choice_count && !options->by_node; c++)
        if (search->choices[c].bits < search->choices[search->narrow].bits)
            search->narrow = c;
    return ULP_OK;
}

/* ---- nodes that were asked for ---- */

static bool may_be_layer(const struct ulp_searcher *search, const struct ulp_program_node *node)
{
    size_t k, run;
    return !node->step->folded && !node->step->constant &&
           (search->options->by_node || ulp_search_is_product(search, node, &k, &run));
}

enum ulp_status ulp_search_fix(struct ulp_searcher *search, struct ulp_error *error)
{
    const struct ulp_search_options *options = search->options;
    const struct ulp_program *program = search->emulation.program;
    const size_t nodes = program->node_count;
    struct ulp_arena *memory = search->emulation.memory;
    ULP_TAKE_ARRAY(bool, chosen, memory, nodes + 1, error);
    ULP_TAKE(search->fixed, memory, nodes + 1, error);
    ULP_TAKE(search->nodes.free, memory, nodes + 1, error);
    for (size_t n = 0; n < nodes; n++)
        search->fixed[n] = -1;
    for (size_t p = 0; p < options->never_count + options->always_count; p++) {
        const bool never = p < options->never_count;
        const char *pattern = never ? options->never[p] : options->always[p - options->never_count];
        memset(chosen, 0, nodes * sizeof *chosen);
        ULP_TRY(ulp_pattern_choose(program, pattern, chosen, memory, error));
        for (size_t n = 0; n < nodes; n++)
            if (chosen[n] && may_be_layer(search, &program->nodes[n]))
                search->fixed[n] = never ? (ptrdiff_t)search->narrow : 0;
    }
    for (size_t n = 0; n < nodes; n++)
        search->nodes.free[n] = may_be_layer(search, &program->nodes[n]) && search->fixed[n] < 0;
    return ULP_OK;
}
