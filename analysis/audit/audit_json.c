#include "analysis/audit/audit_json.h"

#include "analysis/writing/json_value.h"

void ulp_json_add_exact(struct ulp_json_writer *writer, const void *metrics, const void *context)
{
    const struct ulp_metrics *m = metrics;
    (void)context;
    if (ulp_metrics_exact(m))
        ulp_json_put(writer, "exact", json_true());
}

void ulp_json_put_unjudged(struct ulp_json_writer *writer, const char *key, const void *list,
                           const void *context)
{
    const struct ulp_unjudged_list *unjudged = list;
    (void)context;
    ulp_json_open(writer, key, '[');
    for (size_t u = 0; u < unjudged->count; u++) {
        const struct ulp_unjudged *item = &unjudged->items[u];
        ulp_json_open(writer, NULL, '{');
        ulp_json_put(writer, "kind", json_string(item->is_input ? "input" : "output"));
        ulp_json_put(writer, "name", item->name ? ulp_json_text(item->name) : json_null());
        ulp_json_put(writer, "sample", item->sample ? ulp_json_text(item->sample) : json_null());
        ulp_json_put(writer, "reason", ulp_json_text(item->reason));
        if (item->because)
            ulp_json_put(writer, "because", ulp_json_text(item->because));
        ulp_json_close(writer, '}');
    }
    ulp_json_close(writer, ']');
}

static const struct ulp_json_hook hooks[] = {{&ulp_struct_metrics, ulp_json_add_exact, NULL}};
const struct ulp_json_how ulp_json_plain = {hooks, sizeof hooks / sizeof *hooks, NULL, NULL};
