#include <jansson.h>
#include <math.h>
#include <string.h>

#include "analysis/scales/calibrate.h"
#include "analysis/writing/json_value.h"
#include "base/error.h"
#include "base/text/text.h"

static void add_lost(const struct ulp_calibrating *c, json_t **root)
{
    const struct ulp_calibration_options *options = c->options;
    json_t *list = json_array();
    ulp_json_set(root, "history",
                 json_integer((json_int_t)(options->history ? options->history : ULP_HISTORY)));
    ulp_json_set(root, "amax", ulp_json_text(options->most_recent ? "most_recent" : "max"));
    ulp_json_set(root, "margin", json_integer(options->margin));
    for (size_t i = 0; i < c->lost_count; i++) {
        const struct ulp_delayed_lost *lost = &c->lost[i];
        ulp_json_append(&list, ulp_json_object("sample", ulp_json_text(lost->sample), "node",
                                               ulp_json_text(lost->of->node), "factor",
                                               ulp_json_text(lost->of->factor), "range",
                                               ulp_json_number((double)lost->range), "largest",
                                               ulp_json_number((double)lost->largest), "elements",
                                               json_integer((json_int_t)lost->elements), "clipped",
                                               json_integer((json_int_t)lost->clipped), "zeros",
                                               json_integer((json_int_t)lost->zeros), NULL));
    }
    ulp_json_set(root, "lost", list);
    list = json_array();
    for (size_t r = 0; r < c->run_count; r++)
        ulp_json_append(&list,
                        ulp_json_object("sample", ulp_json_text(c->runs[r].sample), "sqnr_db",
                                        ulp_json_number(c->runs[r].sqnr_db), "dynamic_db",
                                        ulp_json_number(c->runs[r].dynamic_db), NULL));
    ulp_json_set(root, "runs", list);
}

static void add_ranges(const struct ulp_factor_ranges *ranges, bool least, json_t **list)
{
    for (size_t i = 0; i < ranges->count; i++) {
        const struct ulp_factor_range *range = &ranges->items[i];
        json_t *object = ulp_json_object("node", ulp_json_text(range->node), "factor",
                                         ulp_json_text(range->factor), "largest",
                                         ulp_json_number((double)range->largest), NULL);
        if (least)
            ulp_json_set(&object, "least", ulp_json_number((double)range->least));
        ulp_json_append(list, object);
    }
}

enum ulp_status ulp_calibrate_write(const struct ulp_calibrating *c,
                                    const struct ulp_factor_ranges *ranges, const char *path,
                                    struct ulp_error *error)
{
    static const char *const names[] = {"max", "percentile", "mse", "delayed", "entropy"};
    const struct ulp_calibration_options *options = c->options;
    json_t *list = json_array(), *root = json_object();
    add_ranges(ranges, options->arithmetic.scaling[0].zero_point, &list);
    ulp_json_set(&root, "arithmetic", ulp_json_text(options->arithmetic.asked));
    ulp_json_set(&root, "calibrator", ulp_json_text(names[options->calibrator]));
    if (options->calibrator == ULP_CALIBRATOR_PERCENTILE)
        ulp_json_set(&root, "percentile", ulp_json_number(options->percentile));
    if (ulp_calibrates_delayed(c))
        add_lost(c, &root);
    ulp_json_set(&root, "samples", json_integer((json_int_t)c->sample_count));
    ulp_json_set(&root, "ranges", list);
    return ulp_json_write(root, path, error);
}

/* What delayed scales lost most of, in a sentence. */
enum ulp_status ulp_calibrate_say_lost(const struct ulp_calibrating *c, char **out,
                                       struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    const struct ulp_delayed_lost *worst = NULL;
    size_t count = 0;
    for (size_t i = 0; i < c->lost_count; i++) {
        const struct ulp_delayed_lost *lost = &c->lost[i];
        count += lost->clipped > 0;
        if (lost->clipped && (!worst || (double)lost->clipped / (double)lost->elements >
                                            (double)worst->clipped / (double)worst->elements))
            worst = lost;
    }
    if (!worst)
        ulp_text_add(&text, "Delayed scales clip nothing in these samples.\n");
    else
        ulp_text_show(&text,
                      "Delayed scales clip values %zu times, most in sample %s: %zu of %zu values "
                      "of node %s, %s, which reach %.3g where those before left a range of %.3g. A "
                      "margin, or a longer history, leaves more room.\n",
                      count, worst->sample, worst->clipped, worst->elements, worst->of->node,
                      worst->of->factor, (double)worst->largest, (double)worst->range);
    const struct ulp_delayed_run *least = c->runs;
    for (size_t r = 1; r < c->run_count; r++)
        least = c->runs[r].sqnr_db < least->sqnr_db ? &c->runs[r] : least;
    if (isfinite(least->sqnr_db))
        ulp_text_show(
            &text,
            "Run with them the worst output has %.1f dB at least (sample %s); with scales "
            "of its own that sample has %.1f.\n",
            ulp_tenths(least->sqnr_db), least->sample, ulp_tenths(least->dynamic_db));
    else if (least->sqnr_db < 0)
        ulp_text_show(&text, "Run with them an output of sample %s is not finite.\n",
                      least->sample);
    *out = text.failed ? NULL : strdup(text.data);
    return ulp_taken(*out, error);
}
