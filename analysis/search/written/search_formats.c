/* Formats with scales, one for each product, as text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/search/written/search_text.h"
#include "analysis/search/searcher.h"
#include "analysis/writing/columns.h"
#include "number/function/math.h"

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* A ratio in dB where it is of an SQNR, else in units of what is allowed. */
static void add_error(struct ulp_text *out, const struct ulp_search *found, double ratio)
{
    static const char metric[] = "sqnr_db=";
    const char *one = found->tolerance_count == 0   ? ULP_SEARCH_ANY_ERROR
                      : found->tolerance_count == 1 ? found->tolerances[0]
                                                    : "";
    if (!isfinite(ratio))
        ulp_text_add(out, "no figure (something is not finite)");
    else if (ratio == 0)
        ulp_text_add(out, "no error");
    else if (strncmp(one, metric, strlen(metric)) == 0 && ratio > 0 &&
             !(found->scored && ratio > 1))
        ulp_text_add(out, "%.1f dB",
                     ulp_tenths(strtod(one + strlen(metric), NULL) -
                                20 * ulp_math_log2(ratio) / ulp_math_log2(10)));
    else
        ulp_text_add(out, "%.3g of the error allowed", ratio);
}

static void add_uniforms(struct ulp_text *out, const struct ulp_search *found)
{
    static const char start[] = "The same format in every product: ";
    bool any = false;
    for (size_t f = 0; f < found->format_count; f++)
        for (size_t u = 0; u < found->uniform_count; u++)
            if (found->uniforms[u].format == f) {
                ulp_text_add(out, "%s%s %.4g bits and ", any ? ", " : start, found->formats[f].name,
                             found->uniforms[u].bits);
                add_error(out, found, found->uniforms[u].emulated);
                any = true;
            }
    if (any)
        ulp_text_add(out, ".\n");
}

/* quantised.onnx */
static void add_file(struct ulp_text *out, const struct ulp_search *found)
{
    if (found->quantised_reason)
        ulp_text_show(out, "No quantised.onnx: %s.\n", found->quantised_reason);
    if (!found->quantised)
        return;
    ulp_text_show(out, "%s (opset %lld) quantises %zu constant%s and %zu value%s", found->quantised,
                  (long long)found->quantised_opset, found->quantised_constants,
                  plural(found->quantised_constants), found->quantised_values,
                  plural(found->quantised_values));
    if (found->tensorrt)
        ulp_text_add(out,
                     " by TensorRT's operators, with scales of tensors that are the samples'; ");
    else if (found->quantised_bits)
        ulp_text_show(out, "; with -a %s --keep 'quantise/*=fp32' it has the plan's bits, ",
                      found->base);
    else
        ulp_text_add(out, "; ");
    if (strcmp(found->declared_in, "model") == 0)
        ulp_text_add(out, "in its declared types ");
    else
        ulp_text_show(out, "computed by -a %s the worst sample has ", found->declared_in);
    add_error(out, found, found->declared_ratio);
    if (found->declared_coded)
        ulp_text_add(out,
                     ": the values of %zu product%s are rounded to INT8 there unless "
                     "session.qdq_matmulnbits_accuracy_level=1 is set",
                     found->declared_coded, plural(found->declared_coded));
    ulp_text_add(out, ".\n");
}

/* " (with scales 92 % of their multiply-adds)", of layers that are not in the base: recurrences and
 * bodies have others, which no format is looked for. */
static void add_share(struct ulp_text *out, const struct ulp_search *found)
{
    double narrow = 0;
    size_t left = found->left_count + found->called_count + found->inner_count;
    for (size_t l = 0; l < found->layer_count; l++)
        left -= strcmp(found->formats[found->layers[l].format].arithmetic, found->base) == 0;
    if (left)
        ulp_text_add(out, ", besides which %zu stay%s", left,
                     left == 1 ? "s as it is" : " as they are");
    if (strcmp(found->cost, "macs") != 0 || !(found->total_weight > 0))
        return;
    for (size_t l = 0; l < found->layer_count; l++)
        if (strcmp(found->formats[found->layers[l].format].arithmetic, found->base) != 0)
            narrow += found->layers[l].weight;
    ulp_text_add(out, " (with scales %s of %s)",
                 ULP_FIGURE("%.3g %%", 100 * narrow / found->total_weight),
                 left ? "the multiply-adds of these" : "their multiply-adds");
}

/* "; most of the error is of Conv_4 (30 %), Conv_0 (24 %) and Gemm_27 (21 %)": up to three products
 * that bring a tenth each. Of several outputs each is measured by the one that it harms most. */
static void add_worst(struct ulp_text *out, const struct ulp_search *found)
{
    enum { SHOWN = 3 };
    size_t shown[SHOWN], count = 0;
    while (count < SHOWN) {
        size_t most = found->layer_count;
        for (size_t l = 0; l < found->layer_count; l++) {
            bool is_shown = !(found->layers[l].share >= 0.1);
            for (size_t i = 0; i < count; i++)
                is_shown |= shown[i] == l;
            if (!is_shown &&
                (most == found->layer_count || found->layers[l].share > found->layers[most].share))
                most = l;
        }
        if (most == found->layer_count)
            break;
        shown[count++] = most;
    }
    for (size_t i = 0; i < count; i++)
        ulp_text_show(out, "%s%s (%s)",
                      i == 0 && found->many_outputs
                          ? "; most error, each in the output that it harms most, is of "
                      : i == 0         ? "; most of the error is of "
                      : i + 1 == count ? " and "
                                       : ", ",
                      found->layers[shown[i]].name,
                      ULP_FIGURE("%.0f %%", 100 * found->layers[shown[i]].share));
}

/* ", 3 e5m9 and 1 e8m12": the formats of most layers, and the widest. */
static void say_formats(struct ulp_text *out, const struct ulp_search *found)
{
    enum { SHOWN = 3 };
    size_t shown[SHOWN + 1], count = 0, widest = 0;
    for (size_t f = 0; f < found->format_count; f++)
        if (found->formats[f].layer_count)
            widest = f;
    while (count < SHOWN) {
        size_t most = found->format_count;
        for (size_t f = 0; f < found->format_count; f++) {
            bool is_shown = !found->formats[f].layer_count;
            for (size_t i = 0; i < count; i++)
                is_shown |= shown[i] == f;
            if (!is_shown && (most == found->format_count ||
                              found->formats[f].layer_count > found->formats[most].layer_count))
                most = f;
        }
        if (most == found->format_count)
            break;
        shown[count++] = most;
    }
    bool has_widest = false;
    for (size_t i = 0; i < count; i++)
        has_widest |= shown[i] == widest;
    if (!has_widest)
        shown[count++] = widest;
    for (size_t i = 0; i < count; i++)
        ulp_text_add(out, "%s%zu %s %s", i ? (i + 1 == count ? " and " : ", ") : "",
                     found->formats[shown[i]].layer_count,
                     i + 1 == count && !has_widest               ? "need"
                     : found->formats[shown[i]].layer_count == 1 ? "takes"
                                                                 : "take",
                     found->formats[shown[i]].name);
}

/* What the outputs are then, and in which samples: those that chose the formats tell least. */
static void add_verdict(struct ulp_text *out, const struct ulp_search *found)
{
    const struct ulp_search_sample *held =
        ulp_search_worst(found->validated, found->validated_count);
    if (!found->grade_text)
        return;
    ulp_text_show(out, ": %s in %zu sample%s, which chose it", found->grade_text,
                  found->sample_count, plural(found->sample_count));
    if (!held || !*held->metric)
        return;
    ulp_text_add(out, "; in %zu that chose nothing ", found->validated_count);
    ulp_search_say_figure(out, held);
    ulp_text_add(out, "%s", found->validated_count > 1 ? " at worst" : "");
}

static void say_found(struct ulp_headline *head, struct ulp_text *notes,
                      const struct ulp_search *found)
{
    const struct ulp_search_sample *worst = ulp_search_worst(found->samples, found->sample_count);
    ulp_text_add(&head->what, "Of %zu product%s ", found->layer_count, plural(found->layer_count));
    const bool weighted = strcmp(found->cost, "bits") != 0; /* the mean is, by costs */
    say_formats(&head->what, found);
    add_share(&head->what, found);
    add_verdict(&head->what, found);
    ulp_text_show(notes, "A factor's value has %.4g bits on average, scales included%s%s",
                  found->bits, weighted ? ", weighted by " : "", weighted ? found->cost : "");
    if (found->budget > 0)
        ulp_text_add(notes, " (%.4g allowed)", found->budget);
    ulp_text_add(notes, ".\n");
    if (worst && *worst->metric) { /* an output that is judged */
        ulp_search_say_figure(&head->why, worst);
        if (found->tolerance_count && isfinite(worst->ratio))
            ulp_text_add(&head->why, " (%.3g of the error allowed)", worst->ratio);
    }
    if (isfinite(found->predicted) && found->predicted > 0) {
        ulp_text_add(&head->why, "; the sum of what each product adds alone is ");
        add_error(&head->why, found, found->predicted);
    }
    add_worst(&head->why, found);
    add_uniforms(notes, found);
    if (found->unit) {
        ulp_text_add(notes,
                     "Factors are scaled back before they are multiplied; with scales in the "
                     "units of the GPU %s: ",
                     found->unit);
        add_error(notes, found, found->unit_ratio);
        ulp_text_add(notes, ".\n");
    }
    add_file(notes, found);
}

/* The options of the same search, with its files; share: not as many products as it has, but 90 %;
 * more: so many decibels more, of a tolerance in decibels. */
static void add_search_options(struct ulp_text *out, const struct ulp_search *found, bool share,
                               double more)
{
    double decibels;
    ulp_text_show_whole(out, found->asked);
    if (found->target)
        ulp_option_add(out, " --for", found->target);
    for (size_t f = 0; f < found->format_count && found->layer_count; f++)
        ulp_text_add(out, "%s%s", f ? "," : " --formats ", found->formats[f].name);
    for (size_t t = 0; t < found->tolerance_count && !found->by_default; t++)
        if (more > 0 && sscanf(found->tolerances[t], "sqnr_db=%lf", &decibels) == 1)
            ulp_text_add(out, " --tolerance sqnr_db=%g", decibels + more);
        else
            ulp_option_add(out, " --tolerance", found->tolerances[t]);
    if (share)
        ulp_text_add(out, " --share 90");
    else if (found->budget > 0)
        ulp_text_add(out, " --budget bits=%.17g", found->budget);
    ulp_text_add(out, " --out quantised/");
}

static void add_search_command(struct ulp_text *out, const struct ulp_search *found, bool share,
                               double more)
{
    ulp_command_add(out, "quantise", found->arguments);
    add_search_options(out, found, share, more);
}

/* Another model on the inputs of the search. */
static void add_on_inputs(struct ulp_text *out, const char *command, const char *path,
                          const struct ulp_search *found)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text model = {0};
    ulp_word_add(&model, found->model_path);
    ulp_text_add(out, "%s", command);
    ulp_word_add(out, path);
    if (!model.failed) /* what stands behind the model's word, which has a space in front */
        ulp_text_show_whole(out, found->arguments + strlen(model.data) - 1);
}

/* quantised.onnx, as it is judged. */
static void add_run(struct ulp_text *out, const struct ulp_search *found)
{
    add_on_inputs(out, "ulpscope run", found->quantised, found);
    ulp_option_add(out, " -a", found->declared_in);
}

/* Nothing was asked, and with every product in a format with scales outputs are not fine. */
static bool is_too_much(const struct ulp_search *found)
{
    bool all = !found->tolerance_count && !found->scored && found->grade_text &&
               found->grade > ULP_GRADE_FINE && found->layer_count > 1;
    for (size_t l = 0; l < found->layer_count; l++)
        all &= strcmp(found->formats[found->layers[l].format].arithmetic, found->base) != 0;
    return all;
}

/* Decibels were asked for and are met, and outputs are broken all the same. */
static bool is_too_little(const struct ulp_search *found)
{
    return found->tolerance_count == 1 && !found->scored && found->grade_text &&
           found->grade == ULP_GRADE_BROKEN &&
           strncmp(found->tolerances[0], "sqnr_db=", strlen("sqnr_db=")) == 0;
}

/* Of products that stand in functions, or in bodies, alone. */
static void add_inner_todo(struct ulp_text *out, const struct ulp_search *found)
{
    if (!found->called_count && found->inner_count)
        ulp_text_add(out, "write the branch that is taken as a graph without If, Loop and Scan: "
                          "onnxsim does where the condition is a constant");
    if (!found->called_count)
        return;
    ulp_text_add(out, "python3 -c 'import sys, onnx, onnx.inliner; "
                      "onnx.save(onnx.inliner.inline_local_functions(onnx.load(sys.argv[1])), "
                      "\"inlined.onnx\")'");
    ulp_word_add(out, found->model_path);
    add_on_inputs(out, " && ulpscope quantise", "inlined.onnx", found);
    add_search_options(out, found, false, 0);
}

/* What is to be done where the plan meets what was asked. */
static void add_todo(struct ulp_text *out, const struct ulp_search *found)
{
    if (!found->layer_count && found->called_count + found->inner_count)
        add_inner_todo(out, found);
    else if (!found->layer_count)
        ulp_text_add(out, "nothing");
    else if (is_too_much(found))
        add_search_command(out, found, true, 0);
    else if (is_too_little(found))
        add_search_command(out, found, false, 10);
    else if (found->quantised)
        add_run(out, found);
    else if (found->quantised_reason)
        ulp_text_show(out, "mend why there is no quantised.onnx: %s", found->quantised_reason);
    else
        add_search_command(out, found, false, 0);
}

/* Up to three. */
static void say_stretched(struct ulp_text *notes, const struct ulp_search *found)
{
    for (size_t i = 0; i < found->stretched_count && i < 3; i++) {
        const struct ulp_search_stretched *at = &found->stretched[i];
        if (!(at->largest > 0)) {
            ulp_text_show(notes,
                          "%s, %s, is 0 in every sample, and its scale a guess: give samples where "
                          "it is not.\n",
                          at->node, at->factor);
            continue;
        }
        ulp_text_show(notes, "The range of %s, %s, is stretched: ", at->node, at->factor);
        if (isfinite(at->part))
            ulp_text_show(notes, "%s of its values reach %.4g",
                          ULP_FIGURE("%.2g %%", 100 * at->part), at->largest);
        else
            ulp_text_show(notes, "it reaches %.4g", at->largest);
        if (at->sample)
            ulp_text_show(notes, ", of sample %s alone", at->sample);
        ulp_text_show(notes, ", the others %.4g at most.\n", at->rest);
    }
    if (found->stretched_count > 3)
        ulp_text_add(notes, "Of %zu more ranges the same is true (--json has them).\n",
                     found->stretched_count - 3);
}

void ulp_search_say_listed(struct ulp_headline *head, struct ulp_text *notes,
                           const struct ulp_search *found)
{
    const bool limited = found->tolerance_count || found->scored;
    if (!found->met) {
        ulp_text_add(&head->what,
                     found->timed_out ? "The time was over before an allocation was found that %s"
                                      : "No allocation %s",
                     limited ? "meets " : "has");
        ulp_search_say_tolerances(&head->what, found);
        if (found->budget > 0)
            ulp_text_add(&head->what, "%s %.4g bits on average", limited ? " with" : "",
                         found->budget);
        if (limited) {
            ulp_text_show(&head->why, "with %s in every product ", found->base);
            ulp_search_say_full(&head->why, found);
        }
        ulp_text_add(&head->what, "%s", found->layer_count ? ". " : "");
        ulp_text_add(&head->why, "%s", limited && found->layer_count ? " " : "");
    }
    say_stretched(notes, found);
    for (size_t r = 0; r < found->remedy_count; r++) {
        if (!(isfinite(found->remedies[r].with_db) || isfinite(found->remedies[r].without_db)))
            continue; /* of samples of zeros */
        ulp_text_show(notes, "Tried on samples that did not choose it: %s, %.1f dB for %.1f%s.\n",
                      found->remedies[r].what, ulp_tenths(found->remedies[r].with_db),
                      ulp_tenths(found->remedies[r].without_db),
                      found->remedies[r].kept ? "; it is in the file" : "; left out");
    }
    if (found->layer_count)
        say_found(head, notes, found);
    else if (found->met && found->called_count + found->inner_count)
        ulp_text_show(&head->what,
                      "Nothing to allocate: %zu MatMul, Gemm and Conv, all in %s, and formats are "
                      "for those of the main graph",
                      found->called_count + found->inner_count,
                      !found->called_count ? "bodies of If, Loop and Scan"
                      : found->inner_count ? "functions and in bodies of If, Loop and Scan"
                                           : "functions");
    else if (found->met)
        ulp_text_add(&head->what, "Nothing to allocate: the main graph has no MatMul, Gemm or Conv "
                                  "of two floating-point factors of rank 2 or more, or a range "
                                  "for none of them");
    if (found->met)
        add_todo(&head->todo, found);
    else
        ulp_text_add(&head->todo, "%s",
                     found->timed_out ? "give it more time (--stop-after)"
                                      : "ask for less (--tolerance), or allow more bits");
    if (found->minimal && found->budget > 0)
        ulp_text_add(notes,
                     "No single product in another format, others giving way, has less error: "
                     "each was tried.\n");
    else if (found->minimal && found->tried)
        ulp_text_add(
            notes,
            "No single product can do with fewer bits: each of the %zu that could have them "
            "was tried.\n",
            found->tried);
    else if (found->timed_out)
        ulp_text_add(notes, "The time was over before all was tried: this is the best so far.\n");
}
