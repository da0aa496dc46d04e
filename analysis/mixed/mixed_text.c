/* A model with types as text. */
#include <ulpscope/mixed.h>

#include "analysis/writing/columns.h"
#include "base/machine/environment.h"
#include "base/text/text.h"

#define NAMES_SHOWN 3

static const struct {
    const char *name, *sentence;
    bool type; /* the sentence ends with it */
} widenings[] = {
    [ULP_WIDENED_OPERATOR] = {"operator", "for which this opset has no operator in ", true},
    [ULP_WIDENED_LENGTH] = {"length", "which compute lengths", false},
    [ULP_WIDENED_NORM] = {"parameters", "whose parameters are folded in FP32, for they are beyond ",
                          true},
    [ULP_WIDENED_INPUT] = {"input",
                           "of which an initializer is an input, too, and has values beyond ",
                           true},
};

const char *ulp_widened_name(enum ulp_widened why)
{
    return widenings[why].name;
}

static void add_widened(struct ulp_text *out, const struct ulp_mixed *mixed, enum ulp_widened why)
{
    size_t count = 0;
    for (size_t w = 0; w < mixed->widened_count; w++)
        count += mixed->widened[w].why == why;
    if (!count)
        return;
    ulp_text_show(out, "%zu more node%s %s FLOAT, %s%s:", count, count == 1 ? "" : "s",
                  count == 1 ? "is" : "are", widenings[why].sentence,
                  widenings[why].type ? mixed->low_type : "");
    for (size_t w = 0, shown = 0; w < mixed->widened_count; w++)
        if (mixed->widened[w].why == why && shown++ < NAMES_SHOWN)
            ulp_text_show(out, "%s %s (%s)", shown > 1 ? "," : "", mixed->widened[w].name,
                          mixed->widened[w].op);
    ulp_text_add(out, count > NAMES_SHOWN ? ", ...\n" : "\n");
}

enum ulp_status ulp_mixed_text(const struct ulp_mixed *mixed, char **out, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_text text = {0};
    if (mixed->reason) {
        ulp_text_show(&text, "No mixed.onnx: %s.\n", mixed->reason);
    } else {
        ulp_text_show(&text, "%s: %zu nodes in %s, %zu in FLOAT", mixed->path, mixed->low_count,
                      mixed->low_type, mixed->float_count);
        if (mixed->other_count)
            ulp_text_add(&text, ", %zu in a third type", mixed->other_count);
        ulp_text_add(&text, "; %zu Cast%s inserted, %zu constant%s converted", mixed->cast_count,
                     mixed->cast_count == 1 ? "" : "s", mixed->constant_count,
                     mixed->constant_count == 1 ? "" : "s");
        if (mixed->duplicate_count)
            ulp_text_add(&text, ", %zu of them in two types", mixed->duplicate_count);
        ulp_text_add(&text, ".\n");
        for (enum ulp_widened why = ULP_WIDENED_OPERATOR; why < ULP_WIDENED_COUNT; why++)
            add_widened(&text, mixed, why);
        ulp_text_add(&text,
                     "Run in the arithmetic `model` it gives the plan's outputs bit for bit "
                     "(%zu sample%s, ",
                     mixed->sample_count, mixed->sample_count == 1 ? "" : "s");
        ulp_text_show(&text, "%s).\n", mixed->checked);
        if (mixed->external)
            ulp_text_show(&text, "Its weights are in %s.data: keep the two together.\n",
                          mixed->path);
    }
    return ulp_page_take(&text, ULP_OK, out, error);
}
