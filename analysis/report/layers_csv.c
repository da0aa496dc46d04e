/* layers.csv: one line for each node output of each arithmetic. An empty field is a figure that
 * does not exist. RFC 4180, with lines that end in LF. */

#include "analysis/measure/figure.h"
#include "analysis/report/report.h"
#include "analysis/writing/csv.h"

static void add_metrics(struct ulp_text *out, const struct ulp_metrics *m)
{
    for (int f = 0; f < ULP_FIGURE_COUNT; f++)
        ulp_csv_number(out, ulp_figure_get(m, f));
    ulp_text_add(out, ",%zu,%zu", m->nonfinite, m->worst_index);
}

static void add_header(struct ulp_text *out)
{
    ulp_text_add(out, "arithmetic,index,name,op,output,shape,ref_rms,ref_max,ref_min_nonzero,"
                      "headroom_bits,diverged,born,poisoned,worst_sample");
    for (int v = 0; v < ULP_VIEW_COUNT; v++) {
        for (int f = 0; f < ULP_FIGURE_COUNT; f++)
            ulp_text_add(out, ",%s_%s", ulp_view_names[v], ulp_figure_rows[f].name);
        ulp_text_add(out, ",%s_nonfinite,%s_worst_index", ulp_view_names[v], ulp_view_names[v]);
    }
    ulp_text_add(out, ",weight_type,compute_type,unpaired,node_arithmetic,executions");
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
                ulp_csv_text(out, audit->lanes[l].name);
                ulp_text_add(out, ",%zu,", node->index);
                ulp_csv_text(out, node->name);
                ulp_text_add(out, ",");
                ulp_csv_text(out, node->op);
                ulp_text_add(out, ",");
                ulp_csv_text(out, output->name);
                ulp_text_add(out, ",");
                for (int d = 0; d < output->rank; d++)
                    ulp_text_add(out, d ? "x%lld" : "%lld", (long long)output->dims[d]);
                ulp_csv_number(out, output->range.ref_rms);
                ulp_csv_number(out, output->range.ref_max);
                ulp_csv_number(out, output->range.ref_min_nonzero);
                ulp_csv_number(out, output->range.headroom_bits);
                ulp_text_add(out, ",%d,%d,%d,", output->entire.diverged, node->born,
                             node->poisoned);
                ulp_csv_text(out, audit->sample_names[output->worst_sample]);
                for (int v = 0; v < ULP_VIEW_COUNT; v++)
                    add_metrics(out, ulp_view_get(output, v));
                ulp_text_add(out, ",%s,%s,%d,",
                             node->types.weight == ULP_TYPE_UNDEFINED
                                 ? ""
                                 : ulp_type_name(node->types.weight),
                             node->types.compute, output->unpaired);
                ulp_csv_text(out, ulp_audit_node_arithmetic(&audit->lanes[l], node)->name);
                ulp_text_add(out, ",%zu\n", node->executions);
            }
    return ULP_OK;
}
