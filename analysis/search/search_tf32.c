/* What TF32 is to a plan: FP32 products that it keeps are TF32 on a GPU unless someone says no. */
#include "analysis/search/search_tf32.h"

#include <string.h>

#include "analysis/search/searcher.h"
#include "base/error.h"
#include "base/text/text.h"

/* Is the node a product whose results are FLOAT with the allocation? */
static bool is_float_product(const struct ulp_searcher *search, size_t n)
{
    const struct ulp_program_node *node = &search->emulation.program->nodes[n];
    const struct ulp_operator *op = node->step->bound.op;
    if (!op || op->work != ULP_WORK_CONTRACTION || node->step->folded || node->step->constant)
        return false;
    const bool kept = !search->given || ulp_search_choice_of(search, search->best, n) == 0;
    return kept || (search->choices[search->base].arithmetic.types_declared &&
                    ulp_step_type(node->block, node->step) == ULP_TYPE_FLOAT);
}

static const struct ulp_target_tf32 *find_row(const struct ulp_searcher *search, size_t t)
{
    const struct ulp_search_options *options = search->options;
    const struct ulp_target *target =
        options->target_count ? ulp_target_find(options->targets[t]) : NULL;
    return target ? ulp_target_tf32(target) : NULL;
}

/* What is said to each target, once. */
static enum ulp_status join_sentences(const struct ulp_searcher *search, bool python, char **out,
                                      struct ulp_arena *memory, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    for (size_t t = 0; t < search->target_count; t++) {
        const struct ulp_target_tf32 *row = find_row(search, t);
        const char *said = !row || !search->forbids[t] ? NULL : python ? row->python : row->forbids;
        if (!said || (text.data && strstr(text.data, said)))
            continue;
        ulp_text_add(&text, "%s%s", !text.length ? "" : python ? "\n" : ", ", said);
    }
    ULP_TRY(ulp_taken(!text.failed, error));
    *out = text.length ? ulp_arena_copy(memory, text.data) : NULL;
    return ulp_taken(*out || !text.length, error);
}

enum ulp_status ulp_search_report_tf32(const struct ulp_searcher *search, struct ulp_search *out,
                                       struct ulp_error *error)
{
    bool product = false, allowed = false, forbidden = !search->options->target_count;
    for (size_t n = 0; n < search->emulation.program->node_count && !product; n++)
        product = is_float_product(search, n);
    for (size_t t = 0; t < search->target_count; t++) {
        allowed |= strcmp(search->floats[t].factor.name, "tf32") == 0;
        forbidden |= search->forbids[t];
    }
    if (!product || !out->by_node || (!allowed && !forbidden) ||
        (!allowed && strcmp(search->choices[0].arithmetic.factor.name, "fp32") != 0))
        return ULP_OK;
    out->tf32 = ulp_arena_copy(out->memory, allowed ? "allowed" : "forbidden");
    ULP_TRY(ulp_taken(out->tf32, error));
    ULP_TRY(join_sentences(search, false, &out->tf32_forbidden_by, out->memory, error));
    return join_sentences(search, true, &out->tf32_python, out->memory, error);
}

bool ulp_tf32_is_forbidden(const struct ulp_search *found)
{
    return found->tf32 && strcmp(found->tf32, "forbidden") == 0;
}

bool ulp_tf32_is_allowed(const struct ulp_search *found)
{
    return found->tf32 && !ulp_tf32_is_forbidden(found);
}

bool ulp_tf32_has_python(const struct ulp_search *found)
{
    return found->tf32_python && (found->kept_count || found->met);
}

enum ulp_status ulp_tf32_python(const struct ulp_search *found, struct ulp_text *out,
                                struct ulp_error *error)
{
    (void)error;
    ulp_text_add(out,
                 "# The plan holds where products in FP32 are FP32 and not TF32: say so to the "
                 "runtime.\n%s\n",
                 found->tf32_python);
    return ULP_OK;
}

void ulp_tf32_say(struct ulp_text *out, const struct ulp_search *found)
{
    if (ulp_tf32_is_forbidden(found) && found->tf32_forbidden_by)
        ulp_text_add(out, ", with TF32 forbidden (%s)", found->tf32_forbidden_by);
}
