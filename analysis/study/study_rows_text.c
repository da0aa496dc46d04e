/* What rows beside rows come to: the answer, then a line for each result, output and product. */
#include "analysis/study/studying.h"
#include "analysis/writing/columns.h"
#include "analysis/writing/fields.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "base/error.h"
#include "base/machine/environment.h"

enum { NODES_MOST = 12 }; /* that have a line; the JSON has all */

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static size_t count_nonfinite(const struct ulp_study_rows *study)
{
    size_t count = 0;
    for (size_t o = 0; o < study->output_count; o++)
        count += study->outputs[o].nonfinite;
    return count;
}

static void add_rows(struct ulp_text *out, const struct ulp_study_rows_class *class)
{
    for (size_t i = 0; i < class->count; i++)
        ulp_text_add(out, "%s%zu", i ? ", " : "", class->rows[i]);
}

static void add_flips(struct ulp_text *out, const struct ulp_study_rows_output *output)
{
    if (output->choices)
        ulp_text_add(out, "; the first choice changes in %zu of %zu row%s", output->flipped,
                     output->choices, plural(output->choices));
}

static void add_answer(struct ulp_text *out, const struct ulp_study_rows *study)
{
    const size_t first = study->rows[0], last = study->rows[study->row_count - 1];
    if (study->class_count == 1)
        ulp_text_add(out,
                     "The result of a sample does not depend on the rows beside it: all %zu "
                     "numbers of rows from %zu to %zu give the same bits.\n",
                     study->row_count, first, last);
    else
        ulp_text_add(out,
                     "The result of a sample depends on the rows beside it: %zu results over %zu "
                     "to %zu times its rows.\n",
                     study->class_count, first, last);
    if (count_nonfinite(study))
        ulp_text_add(
            out, "%zu element%s of outputs are not finite and are compared by their bits alone.\n",
            count_nonfinite(study), plural(count_nonfinite(study)));
    if (study->node_count && study->class_count == 1)
        ulp_text_add(out,
                     "On equal inputs %zu of %zu products do; what differs is rounded away before "
                     "the outputs.\n",
                     study->node_count, study->product_count);
    if (!study->node_count && study->class_count == 1)
        ulp_text_add(out,
                     "Nor does that of any of %zu products on equal inputs (sums of up to 2560 "
                     "terms are never cut).\n",
                     study->product_count);
    if (study->class_count > 1)
        ulp_text_add(out,
                     "It begins in %zu of %zu products, whose sums the library cuts into other "
                     "numbers of slices. What\nmakes it invariant: a kernel that does not cut k "
                     "for them (split-k=1), or batches of rows that\nshare a line below.\n",
                     study->node_count, study->product_count);
}

static void add_outputs(const struct ulp_page *page, const struct ulp_study_rows *study)
{
    ulp_text_add(page->out, "\n");
    for (size_t o = 0; o < study->output_count; o++) {
        const struct ulp_study_rows_output *output = &study->outputs[o];
        ulp_text_add(page->out, "  ");
        ulp_page_name(page, output->name, 60);
        if (!output->differing)
            ulp_text_add(page->out, ": no element differs");
        else
            ulp_text_add(page->out, ": %.2g %% of %zu elements differ, by up to %s (%s of rms)",
                         100 * (double)output->differing / (double)output->elements,
                         output->elements, ULP_FIGURE("%.2e", output->width_max_abs),
                         ULP_FIGURE("%.2e", output->width_relative));
        add_flips(page->out, output);
        ulp_text_add(page->out, ".\n");
    }
}

static void add_nodes(const struct ulp_page *page, const struct ulp_study_rows *study)
{
    if (study->node_count)
        ulp_text_add(page->out, "\n%12s %8s  product, on equal inputs\n", "differ", "max ulp");
    for (size_t n = 0; n < study->node_count && n < NODES_MOST; n++) {
        const struct ulp_study_rows_node *node = &study->nodes[n];
        ulp_text_add(page->out, " %9.3g %% %8s  ",
                     100 * (double)node->differing / (double)node->elements,
                     ULP_FIGURE("%.3g", node->width_max_ulp));
        ulp_page_name(page, node->name, 40);
        ulp_text_add(page->out, " (%s)\n", node->op);
    }
    if (study->node_count > NODES_MOST)
        ulp_text_add(page->out, "%zu more products are in --json.\n",
                     study->node_count - NODES_MOST);
}

static void add_all(const struct ulp_page *page, const struct ulp_study_rows *study)
{
    add_answer(page->out, study);
    add_outputs(page, study);
    for (size_t c = 0; c < study->class_count && study->class_count > 1; c++) {
        ulp_text_add(page->out, "%sresult %zu: rows x ", c ? "" : "\n", c + 1);
        add_rows(page->out, &study->classes[c]);
        ulp_text_add(page->out, "\n");
    }
    add_nodes(page, study);
    ulp_text_add(page->out,
                 "\n%s, %zu sample%s. Slices as cuBLAS was recorded to take them on an H100; other "
                 "kernels\n(reductions, attention, Conv) are taken to be the same for any number "
                 "of rows.\n",
                 study->arithmetic, study->sample_count, plural(study->sample_count));
}

ULP_PAGE_TEXT(ulp_study_rows_text, ulp_study_rows, add_all)

enum ulp_status ulp_study_rows_write_json(const struct ulp_study_rows *study, const char *path,
                                          struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    const struct ulp_json_how how = {.context = study};
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    add_answer(&text, study);
    while (text.length && text.data[text.length - 1] == '\n')
        text.data[--text.length] = 0;
    json_t *verdict = text.failed ? NULL : ulp_json_text(text.data);
    return ulp_json_write(ulp_json_document(&ulp_struct_study_rows, study, &how, verdict), path,
                          error);
}
