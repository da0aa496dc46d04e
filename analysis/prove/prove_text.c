/* A proof as JSON, whose schema is in doc/fields.md, and on the terminal: the verdict, the box,
 * then what is not proven and why. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include <ulpscope/prove.h>

#include "analysis/html/said.h"
#include "analysis/writing/structs.h"
#include "base/machine/environment.h"
#include "number/function/math.h"

static const struct ulp_proof_node *find_proof_node(const struct ulp_proof *proof, ptrdiff_t index)
{
    for (size_t n = 0; n < proof->node_count; n++)
        if ((ptrdiff_t)proof->nodes[n].index == index)
            return &proof->nodes[n];
    return NULL;
}

static enum ulp_proof_verdict verdict_of(const struct ulp_proof_node *node)
{
    enum ulp_proof_verdict worst = ULP_PROOF_PROVEN;
    for (size_t o = 0; o < node->output_count; o++)
        if (node->outputs[o].verdict > worst)
            worst = node->outputs[o].verdict;
    return worst;
}

static double bound_of(const struct ulp_proof_node *node)
{
    double bound = 0;
    for (size_t o = 0; o < node->output_count; o++)
        bound = ulp_math_max(bound, node->outputs[o].bound);
    return bound;
}

static const struct ulp_proof_node *first_unproven(const struct ulp_proof *proof)
{
    for (size_t n = 0; n < proof->node_count; n++)
        if (verdict_of(&proof->nodes[n]) == ULP_PROOF_NOT_PROVEN)
            return &proof->nodes[n];
    return NULL;
}

/* Does it index a table, so that its range is no assumption? */
static bool is_index(const struct ulp_proof_input *input)
{
    return !input->given && strstr(input->why, "picks one of");
}

/* Where the range is from, unless it was given. */
static const char *origin_of(const struct ulp_proof_input *input)
{
    return input->given ? "" : input->sampled ? " (sampled)" : " (assumed)";
}

/* The condition on the inputs under which the verdict holds: the range of one, or of all that have
 * the same, and whether it is assumed. */
static void add_condition(const struct ulp_page *page, const struct ulp_proof *proof)
{
    const struct ulp_proof_input *first = NULL;
    size_t count = 0, alike = 0, assumed = 0;
    for (size_t i = 0; i < proof->input_count; i++) {
        const struct ulp_proof_input *input = &proof->inputs[i];
        if (is_index(input))
            continue;
        first = first ? first : input;
        count++;
        alike += input->low == first->low && input->high == first->high &&
                 strcmp(origin_of(input), origin_of(first)) == 0;
        assumed += !input->given && !input->sampled;
    }
    if (!count) {
        ulp_text_add(page->out, proof->input_count ? " for any indexes" : " for its constants");
        return;
    }
    if (alike < count) {
        ulp_text_add(page->out, " if inputs are as %sbelow", assumed ? "assumed " : "");
        return;
    }
    ulp_text_add(page->out, " if ");
    if (count > 1)
        ulp_text_add(page->out, "%zu inputs are", count);
    else
        ulp_page_name(page, first->name, 60);
    ulp_text_add(page->out, count > 1 ? " " : " is ");
    if (first->low == first->high)
        ulp_text_add(page->out, "%g%s", first->low, origin_of(first));
    else
        ulp_text_add(page->out, "in [%g, %g]%s", first->low, first->high, origin_of(first));
}

/* A format alone in capitals, as it is called in a sentence; an arithmetic by its name. */
static void add_format(struct ulp_text *out, const char *text)
{
    const bool named = strpbrk(text, ":,@=");
    for (; *text; text++)
        ulp_text_add(out, "%c", named ? *text : toupper((unsigned char)*text));
}

/* Why, and where the bound grew. */
static void add_cause(const struct ulp_page *page, const struct ulp_proof *proof,
                      const struct ulp_proof_node *node)
{
    const struct ulp_proof_node *grew = find_proof_node(proof, node->grew);
    if (node->reason) {
        ulp_text_show(page->out, "because %s", node->reason);
        return;
    }
    if (isfinite(bound_of(node)))
        ulp_text_add(page->out, "because its bound is %.3g", bound_of(node));
    else
        ulp_text_add(page->out, "because nothing bounds it");
    if (grew && grew != node) {
        ulp_text_add(page->out, "; the bound grew at ");
        ulp_page_node(page, grew->index, grew->name, grew->op, 24);
        ulp_text_add(page->out, ", from %.3g to %.3g", node->grew_from, bound_of(grew));
    } else if (grew && isfinite(bound_of(node))) {
        ulp_text_add(page->out, ", that of its inputs %.3g", node->inputs);
    }
}

/* What to do next. */
static void add_advice(struct ulp_text *out, const struct ulp_proof *proof)
{
    const struct ulp_proof_input *assumed = NULL;
    for (size_t i = 0; i < proof->input_count; i++)
        if (!proof->inputs[i].given && !proof->inputs[i].sampled && !is_index(&proof->inputs[i]))
            assumed = &proof->inputs[i];
    if (proof->empty) {
        ulp_text_add(out, "give samples or sizes (--dim) with which it has elements");
        return;
    }
    if (proof->counts[ULP_PROOF_PROVEN] == proof->output_count && !proof->hidden_unproven) {
        ulp_text_add(out, "nothing%s",
                     assumed ? ", if inputs are that; --input-range says what they are" : "");
        return;
    }
    ulp_command_add(out, "overflow", proof->arguments);
    ulp_option_add(out, " --format", proof->arithmetic);
    ulp_text_add(out, " # how near your samples come");
    if (assumed)
        ulp_text_show(out,
                      "; --input-range '%s=LO,HI' with what that input really is may prove more "
                      "(assumed: [%g, %g])",
                      assumed->name, assumed->low, assumed->high);
}

/* The proven output that comes nearest to the format's largest; NULL: none below that. */
static const struct ulp_proof_node *find_nearest_proven(const struct ulp_proof *proof, double below)
{
    const struct ulp_proof_node *best = NULL;
    for (size_t n = 0; n < proof->node_count; n++) {
        const struct ulp_proof_node *node = &proof->nodes[n];
        if (verdict_of(node) == ULP_PROOF_PROVEN && bound_of(node) < below &&
            (!best || bound_of(node) > bound_of(best)))
            best = node;
    }
    return best;
}

static void add_why(const struct ulp_page *page, const struct ulp_proof *proof)
{
    const struct ulp_proof_node *first = first_unproven(proof),
                                *nearest = find_nearest_proven(proof, INFINITY);
    if (first) {
        ulp_text_add(page->out, "not proven: ");
        ulp_page_node(page, first->index, first->name, first->op, 14);
        ulp_text_add(page->out, ", ");
        add_cause(page, proof, first);
    } else if (nearest) {
        ulp_page_node(page, nearest->index, nearest->name, nearest->op, 50);
        ulp_text_add(page->out, " has the largest bound, %.3g of %.5g", bound_of(nearest),
                     proof->format.max_finite);
    } else {
        ulp_text_add(page->out, "no node has a float output that depends on the inputs");
    }
}

/* The verdict and its condition. */
static void add_what(const struct ulp_page *page, const struct ulp_proof *proof)
{
    const size_t proven = proof->counts[ULP_PROOF_PROVEN],
                 conditional = proof->counts[ULP_PROOF_CONDITIONAL],
                 others = proof->counts[ULP_PROOF_NOT_PROVEN];
    size_t indexes = 0;
    add_format(page->out, proof->arithmetic);
    if (proof->empty)
        ulp_text_show(page->out, ": nothing is proven of output %s, which has no element",
                      proof->empty);
    else if (!proof->output_count)
        ulp_text_add(page->out, ": there is nothing to prove");
    else if (proven == proof->output_count)
        ulp_text_add(page->out, ": none of the %zu node outputs can overflow", proven);
    else
        ulp_text_add(page->out, ": %zu of %zu node outputs cannot overflow", proven,
                     proof->output_count);
    add_condition(page, proof);
    if (conditional && others)
        ulp_text_add(page->out, ", %zu more if the other %zu stay finite", conditional, others);
    else if (conditional)
        ulp_text_add(page->out, ", %zu more if the inputs fit the format", conditional);
    for (size_t i = 0; i < proof->input_count; i++)
        indexes += is_index(&proof->inputs[i]);
    if (indexes && indexes < proof->input_count)
        ulp_text_add(page->out, ", for any indexes");
}

static void conclude(struct ulp_headline *head, const void *proof, size_t part)
{
    const struct ulp_page what = ulp_page_make(&head->what, 0, false),
                          why = ulp_page_make(&head->why, 0, false);
    (void)part;
    add_what(&what, proof);
    add_why(&why, proof);
    add_advice(&head->todo, proof);
}

static json_t *make_notes(const void *result)
{
    const struct ulp_proof *proof = result;
    json_t *notes = json_array();
    for (size_t i = 0; i < proof->input_count; i++) {
        const struct ulp_proof_input *input = &proof->inputs[i];
        const double most = ulp_math_max(fabs(input->low), fabs(input->high));
        if (input->beyond && most > proof->format.max_finite)
            ulp_note_add(&notes, "",
                         "not proven: input %s itself, which may be %.5g: the largest number is "
                         "%.5g",
                         input->name, most, proof->format.max_finite);
        else if (input->beyond)
            ulp_note_add(&notes, "",
                         "not proven: input %s itself, which may be %.5g: its type in the model "
                         "ends before",
                         input->name, most);
    }
    if (proof->hidden_unproven)
        ulp_note_add(&notes, "",
                     "inside nodes %zu value%s may be too large for the format of that step, or "
                     "sum",
                     proof->hidden_unproven, proof->hidden_unproven == 1 ? "" : "s");
    else if (proof->output_count)
        ulp_note_add(&notes, "", "no value inside a node can overflow either");
    if (proof->short_of_memory)
        ulp_note_add(&notes, "",
                     "affine forms did not fit into memory, and bounds are wider without them: "
                     "--max-memory allows more");
    return notes;
}

/* ---- JSON ---- */

static void add_proven(struct ulp_json_writer *writer, const void *output, const void *context)
{
    (void)context;
    if (((const struct ulp_proof_output *)output)->verdict == ULP_PROOF_PROVEN)
        ulp_json_put(writer, "proven", json_true());
}

static json_t *make_tiles(const void *result)
{
    static const enum ulp_tile_level levels[] = {
        [ULP_PROOF_PROVEN] = ULP_TILE_GOOD,
        [ULP_PROOF_CONDITIONAL] = ULP_TILE_WARN,
        [ULP_PROOF_NOT_PROVEN] = ULP_TILE_BAD,
    };
    const struct ulp_proof *proof = result;
    json_t *tiles = json_array();
    for (int v = 0; v < (int)(sizeof levels / sizeof *levels); v++) {
        const size_t count = proof->counts[v];
        char title[64];
        snprintf(title, sizeof title, "Outputs %s", ulp_proof_verdict_name(v));
        ulp_tile_add(&tiles,
                     v == ULP_PROOF_PROVEN && count < proof->output_count ? ULP_TILE_PLAIN
                     : count                                              ? levels[v]
                                                                          : ULP_TILE_GOOD,
                     title, "%zu of %zu", count, proof->output_count);
    }
    return tiles;
}

static const struct ulp_json_hook hooks[] = {{&ulp_struct_proof_output, add_proven, NULL}};
static const struct ulp_said said = {"proof",
                                     &ulp_struct_proof,
                                     .conclude = conclude,
                                     .tiles = make_tiles,
                                     .notes = make_notes,
                                     .hooks = hooks,
                                     .hook_count = 1};
ULP_SAID_TEXT(proof, ulp_proof, said, ULP_DOCUMENT_ROWS)
ULP_SAID_WRITE(proof, ulp_proof, said)
