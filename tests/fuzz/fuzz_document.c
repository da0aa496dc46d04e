/* Documents: precision plans, groups, ranges, Polygraphy's JSON, saved reports, descriptions of
 * engines. */
#include <stdlib.h>

#include "base/text/shown.h"
#include "data/calibration_cache.h"
#include "data/data.h"
#include "tests/fuzz/fuzz.h"

#define PLAN (FUZZ_FILE | FUZZ_ALLOW(ULP_ERROR_USAGE)) /* arithmetics are named in them */

const char *fuzz_plan(const uint8_t *bytes, size_t count)
{
    struct ulp_precision_plan plan;
    struct ulp_error error = {0};
    const enum ulp_status status =
        ulp_precision_plan_read(fuzz_file(bytes, count), fuzz_budget(), &plan, &error);
    if (status != ULP_OK)
        return fuzz_failure(status, PLAN, &error);
    const char *wrong = NULL;
    for (size_t k = 0; k < plan.keeps.count && !wrong; k++)
        if (!plan.keeps.items[k].pattern || !*plan.keeps.items[k].arithmetic.name)
            wrong = "a rule without a pattern or arithmetic";
    ulp_precision_plan_free(&plan);
    return wrong;
}

const char *fuzz_groups(const uint8_t *bytes, size_t count)
{
    struct ulp_group_list list;
    struct ulp_error error = {0};
    const enum ulp_status status =
        ulp_group_list_read(fuzz_file(bytes, count), fuzz_budget(), &list, &error);
    if (status != ULP_OK)
        return fuzz_failure(status, FUZZ_FILE, &error);
    const char *wrong = NULL;
    for (size_t g = 0; g < list.groups.count && !wrong; g++)
        if (!list.groups.items[g].node_count)
            wrong = "a group without nodes";
    ulp_group_list_free(&list);
    return wrong;
}

const char *fuzz_cache(const uint8_t *bytes, size_t count)
{
    struct ulp_calibration_cache cache;
    struct ulp_error error = {0};
    struct ulp_arena *memory = NULL;
    enum ulp_status status = ulp_arena_create(&memory, fuzz_budget(), &error);
    if (status == ULP_OK)
        status = ulp_calibration_cache_read(fuzz_file(bytes, count), memory, &cache, &error);
    const char *wrong = status == ULP_OK ? NULL : fuzz_failure(status, FUZZ_FILE, &error);
    for (size_t i = 0; status == ULP_OK && i < cache.count && !wrong; i++)
        if (ulp_calibration_cache_find(&cache, cache.items[i].name) != cache.items[i].scale ||
            !(cache.items[i].scale >= 0))
            wrong = "a scale that is not found, or is none";
    ulp_arena_free(memory);
    return wrong;
}

const char *fuzz_ranges(const uint8_t *bytes, size_t count)
{
    struct ulp_range_list list;
    struct ulp_error error = {0};
    const enum ulp_status status =
        ulp_range_list_read(fuzz_file(bytes, count), fuzz_budget(), &list, &error);
    if (status != ULP_OK)
        return fuzz_failure(status, FUZZ_FILE, &error);
    const char *wrong = list.ranges.count ? NULL : "no ranges, and no error";
    for (size_t r = 0; r < list.ranges.count && !wrong; r++)
        if (!list.ranges.items[r].node || !list.ranges.items[r].factor ||
            !(list.ranges.items[r].largest >= 0))
            wrong = "a range without node, factor or magnitude";
    ulp_range_list_free(&list);
    return wrong;
}

const char *fuzz_polygraphy(const uint8_t *bytes, size_t count)
{
    struct ulp_recording_list list = {0};
    struct ulp_error error = {0};
    const char *wrong = NULL;
    const enum ulp_status status =
        ulp_polygraphy_read(fuzz_file(bytes, count), "recorded", 0, fuzz_budget(), &list, &error);
    if (status != ULP_OK)
        wrong = fuzz_failure(status, FUZZ_FILE, &error);
    for (size_t r = 0; r < list.count && !wrong; r++)
        for (size_t i = 0; i < list.items[r].tensors.count && !wrong; i++) {
            const struct ulp_tensor *tensor = &list.items[r].tensors.items[i].tensor;
            if (tensor->count && ulp_tensor_get(tensor, tensor->count - 1) == 0x1.5p1000)
                wrong = "an unlikely element";
        }
    ulp_recording_list_free(&list);
    return wrong;
}

/* Text for a terminal or a file: UTF-8, and nothing that moves a cursor. */
static const char *check_text(enum ulp_status status, char *text, const struct ulp_error *error)
{
    const char *wrong = NULL;
    if (status != ULP_OK)
        return fuzz_failure(status, FUZZ_FILE | FUZZ_ALLOW(ULP_ERROR_USAGE), error);
    if (!text || !ulp_is_utf8(text))
        wrong = "a text that is no UTF-8";
    for (const char *c = text; !wrong && *c; c++)
        if (((unsigned char)*c < 0x20 && *c != '\n') || *c == 0x7f)
            wrong = "a text with a control character";
    free(text);
    return wrong;
}

static const char *check_saved(struct ulp_saved *saved)
{
    struct ulp_error error = {0};
    struct ulp_saved_changes changes;
    char *text = NULL;
    enum ulp_status status = ulp_saved_show(saved, NULL, 100, false, &text, &error);
    const char *wrong = check_text(status, text, &error);
    if (!wrong) {
        status = ulp_saved_show(saved, "*", 0, false, &text, &error);
        wrong = check_text(status, text, &error);
    }
    if (!wrong) {
        status = ulp_saved_show_as(saved, "*", ULP_OUTPUT_JSON, "/dev/null", &error);
        if (status != ULP_OK)
            wrong = fuzz_failure(status, FUZZ_FILE | FUZZ_ALLOW(ULP_ERROR_USAGE), &error);
    }
    if (!wrong) {
        const struct ulp_saved_comparison how = {.width = 80,
                                                 .json = "/dev/null",
                                                 .markdown = "/dev/null"};
        status = ulp_saved_compare(saved, saved, &how, &changes, &text, &error);
        wrong = check_text(status, text, &error);
    }
    return wrong;
}

const char *fuzz_saved(const uint8_t *bytes, size_t count)
{
    struct ulp_saved *saved;
    struct ulp_error error = {0};
    const enum ulp_status status =
        ulp_saved_read(fuzz_file(bytes, count), fuzz_budget(), &saved, &error);
    if (status != ULP_OK)
        return fuzz_failure(status, FUZZ_FILE, &error);
    const char *wrong = check_saved(saved);
    ulp_saved_free(saved);
    return wrong;
}

const char *fuzz_engine(const uint8_t *bytes, size_t count)
{
    struct ulp_engine engine;
    struct ulp_error error = {0};
    const char *wrong = NULL;
    const enum ulp_status status =
        ulp_engine_read(fuzz_file(bytes, count), fuzz_budget(), &engine, &error);
    if (status != ULP_OK)
        return fuzz_failure(status, FUZZ_FILE, &error);
    for (size_t l = 0; l < engine.layer_count && !wrong; l++) {
        const struct ulp_engine_layer *layer = &engine.layers[l];
        if (!layer->name || !layer->kind || !layer->kernel || !layer->metadata)
            wrong = "a layer without its texts";
        for (size_t t = 0; t < layer->input_count + layer->output_count && !wrong; t++) {
            const struct ulp_engine_tensor *tensor = t < layer->input_count
                                                         ? &layer->inputs[t]
                                                         : &layer->outputs[t - layer->input_count];
            if (!tensor->name || !tensor->format || tensor->rank < -1 ||
                tensor->rank > ULP_RANK_MAX || (unsigned)tensor->type >= ULP_TYPE_COUNT)
                wrong = "a tensor out of range";
        }
    }
    if (!wrong && !engine.layer_count)
        wrong = "an engine without a layer";
    ulp_engine_free(&engine);
    return wrong;
}
