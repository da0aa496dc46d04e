#include "analysis/search/search_remedy.h"

#include "base/memory/alloc.h"

enum ulp_status ulp_remedy_search(const struct ulp_model *model,
                                  const struct ulp_search_options *wanted, const char *arithmetic,
                                  const char *named, bool for_target,
                                  const struct ulp_sample *samples, size_t sample_count,
                                  struct ulp_search *out, struct ulp_error *error)
{
    const char *const name = named ? named : arithmetic;
    const char *const formats[] = {named ? NULL : ULP_REMEDY_KEPT_IN, name};
    struct ulp_search_options options = *wanted;
    options.formats = formats;
    options.format_count = 2;
    options.by_node = true;
    options.targets = &name;
    options.target_count = for_target;
    return ulp_search_run(model, &options, samples, sample_count, NULL, 0, out, error);
}

void ulp_remedy_add_wider(struct ulp_text *out, const struct ulp_target *target)
{
    ulp_text_add(out, "%s; %s %s", target->wider, target->name,
                 target->keeps == ULP_KEEPS_TYPES
                     ? "computes them in integers whatever a plan keeps"
                     : "lowers every model itself, so no node of a file stays in FP32");
}

char *ulp_remedy_say_wider(const struct ulp_target *target, struct ulp_arena *memory)
{
    struct ulp_text text = {0};
    ulp_remedy_add_wider(&text, target);
    return ulp_text_keep(&text, memory);
}
