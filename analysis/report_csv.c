/* layers.csv: one line for each node output of each arithmetic. An empty field is a figure that
 * does not exist. */
#include <math.h>

#include "analysis/report_internal.h"

static void add_text(struct ulp_text *out, const char *value)
{
    ulp_text_add(out, "\"");
    for (; *value; value++)
        ulp_text_add(out, *value == '"' ? "\"\"" : "%c", *value);
    ulp_text_add(out, "\"");
}

static void add_number(struct ulp_text *out, double value)
{
    if (isnan(value))
        ulp_text_add(out, ",");
    else
        ulp_text_add(out, ",%.9g", value);
}

static void add_metrics(struct ulp_text *out, const struct ulp_metrics *m)
{
    add_number(out, m->max_abs);
    add_number(out, m->rms);
    add_number(out, m->mean);
    add_number(out, m->max_rel);
    add_number(out, m->max_ulp);
    add_number(out, m->median_ulp);
    add_number(out, m->cosine);
    add_number(out, m->sqnr_db);
    ulp_text_add(out, ",%zu,%zu", m->nonfinite, m->worst_index);
}

static void add_header(struct ulp_text *out)
{
    static const char *const views[] = {"single", "entire", "introduced", "carried"};
    static const char *const metrics[] = {"max_abs",   "rms",        "mean",   "max_rel",
                                          "max_ulp",   "median_ulp", "cosine", "sqnr_db",
                                          "nonfinite", "worst_index"};
    ulp_text_add(out, "arithmetic,index,name,op,output,shape,ref_rms,ref_max,ref_min_nonzero,"
                      "headroom_bits,diverged,"
                      "born,poisoned,worst_sample");
    for (size_t v = 0; v < sizeof views / sizeof *views; v++)
        for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++)
            ulp_text_add(out, ",%s_%s", views[v], metrics[m]);
    ulp_text_add(out, ",weight_type,compute_type,rounds,unpaired");
    ulp_text_add(out, "\n");
}

enum ulp_status ulp_report_csv(const struct ulp_audit *audit, struct ulp_text *out,
                               struct ulp_error *error)
{
    (void)error;
    add_header(out);
    for (size_t l = 0; l < audit->lane_count; l++)
        for (size_t n = 0; n < audit->lanes[l].node_count; n++)
            for (size_t o = 0; o < audit->lanes[l].nodes[n].output_count; o++) {
                const struct ulp_audit_node *node = &audit->lanes[l].nodes[n];
                const struct ulp_audit_output *output = &node->outputs[o];
                add_text(out, audit->lanes[l].arithmetic.name);
                ulp_text_add(out, ",%zu,", node->index);
                add_text(out, node->name);
                ulp_text_add(out, ",");
                add_text(out, node->op);
                ulp_text_add(out, ",");
                add_text(out, output->name);
                ulp_text_add(out, ",");
                for (int d = 0; d < output->rank; d++)
                    ulp_text_add(out, d ? "x%lld" : "%lld", (long long)output->dims[d]);
                add_number(out, output->range.ref_rms);
                add_number(out, output->range.ref_max);
                add_number(out, output->range.ref_min_nonzero);
                add_number(out, output->range.headroom_bits);
                ulp_text_add(out, ",%d,%d,%d,", output->entire.diverged, node->born,
                             node->poisoned);
                add_text(out, audit->sample_names[output->worst_sample]);
                add_metrics(out, &output->single);
                add_metrics(out, &output->entire);
                add_metrics(out, &output->introduced);
                add_metrics(out, &output->carried);
                ulp_text_add(out, ",%s,%s,%zu,%d\n",
                             node->types.weight == ULP_TYPE_UNDEFINED
                                 ? ""
                                 : ulp_type_name(node->types.weight),
                             node->types.compute, node->rounds, output->unpaired);
            }
    return ULP_OK;
}
