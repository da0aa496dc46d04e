/* Powers of two for values that leave the format: which of them do, in a run of the samples, and
 * the edit, tried like others. */
#include <math.h>

#include "analysis/fix/fixing.h"
#include "analysis/fix/powers.h"
#include "base/error.h"
#include "number/function/math.h"

/* What is too small is brought to that part of the format's largest number, at most so far. */
#define SMALL_TO 0x1p-6
enum { UP_MOST = 40 };
/* A node goes wrong whose result is so far off although what it reads is not. */
#define WRONG 0.1
#define RIGHT 0.01
/* What a normalisation squares and adds up is brought to that. */
#define SQUARED_TO 8
enum { HIDDEN_STEP = 4 };

struct looking {
    struct ulp_fix_looking at;
    struct ulp_powers powers;
};

/* ---- what values there are ---- */

static void add_range(struct ulp_power_range *range, const struct ulp_tensor *tensor)
{
    for (size_t i = 0; i < tensor->count; i++) {
        const double size = fabs(ulp_tensor_get(tensor, i));
        if (!isfinite(size) || size == 0)
            continue;
        range->least = range->count ? ulp_math_min(range->least, size) : size;
        range->most = ulp_math_max(range->most, size);
        range->squares += size * size;
        range->count++;
    }
}

/* Is the arithmetic's value off by more than that part of the exact one's rms? Not finite where
 * that is: it is. */
static bool is_off(const struct ulp_tensor *value, const struct ulp_tensor *exact, double part)
{
    double error = 0, squares = 0;
    if (!value || !exact || value->count != exact->count || !ulp_element_is_float(exact->element))
        return false;
    for (size_t i = 0; i < exact->count; i++) {
        const double x = ulp_tensor_get(exact, i), d = ulp_tensor_get(value, i) - x;
        error += isfinite(x) ? d * d : 0;
        squares += isfinite(x) ? x * x : 0;
    }
    return !(error <= part * part * squares);
}

/* Behind the reference the arithmetic: does the node go wrong inside? */
static enum ulp_status look(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    struct looking *l = context;
    bool lost = false;
    (void)error;
    for (size_t o = 0; o < event->output_count; o++) {
        const struct ulp_tensor *exact = event->values[o].entire;
        const int number = ulp_names_find(&l->at.names, event->output_names[o]);
        if (number < 0 || !exact || !ulp_element_is_float(exact->element))
            continue;
        add_range(&l->powers.ranges[number], exact);
        lost |= is_off(event->values[event->output_count + o].entire, exact, WRONG);
    }
    for (size_t i = 0; i < event->input_count && lost; i++)
        lost =
            !is_off(event->inputs[event->input_count + i].entire, event->inputs[i].entire, RIGHT);
    const int first = lost ? ulp_names_find(&l->at.names, event->output_names[0]) : -1;
    if (first >= 0 && l->powers.graph->values[first].producer >= 0)
        l->powers.nodes[l->powers.graph->values[first].producer].born = true;
    return ULP_OK;
}

static enum ulp_status run_samples(const struct ulp_fixing *x, struct looking *l,
                                   struct ulp_error *error)
{
    const struct ulp_arithmetic lanes[] = {x->options->reference, x->arithmetic};
    const struct ulp_observer looking = {.context = l, .node_done = look, .modes_unused = true};
    for (size_t s = 0; s < x->sample_count; s++)
        for (size_t i = 0; i < x->samples[s].inputs->count; i++) {
            const struct ulp_named_tensor *input = &x->samples[s].inputs->items[i];
            const int number = ulp_names_find(&l->at.names, input->name);
            if (number >= 0 && ulp_element_is_float(input->tensor.element))
                add_range(&l->powers.ranges[number], &input->tensor);
        }
    return ulp_fix_look_run(x, &l->at, lanes, 2, &looking, error);
}

/* ---- what leaves the format ---- */

static int bits(double ratio)
{
    return (int)ceil(ulp_math_log2(ratio));
}

static double largest(const struct ulp_powers *powers, int value)
{
    const struct ulp_lint_figures *figures = ulp_lint_figures(powers->view, value);
    return figures ? figures->largest : 0;
}

/* A constant that the format lacks: the node's result takes it, or what it is multiplied by. */
static bool carry_constants(struct ulp_powers *powers, size_t n, bool large)
{
    const struct ulp_node *node = &powers->graph->nodes[n];
    const struct ulp_power_node *row = &powers->nodes[n];
    bool any = false;
    for (size_t i = 0; i < node->input_count && i < 2 && row->kind != ULP_POWER_FIXED; i++) {
        const int value = node->inputs[i], out = node->outputs[0];
        const double most = value >= 0 ? largest(powers, value) : 0;
        const bool too_large = most > powers->format->max_finite;
        if (!(most > 0) || ulp_power_constant_fits(powers, value, 0) || too_large != large ||
            (row->tied && !large) || /* next to nothing in a sum */
            !ulp_power_scales(row, i) || (row->tied ? row->out : powers->of[out]))
            continue;
        const int k = bits(most / powers->format->max_finite * (large ? 4 : 64));
        any |= row->tied ? ulp_powers_carry(powers, -1, (int)n, k)
                         : ulp_powers_carry(powers, out, -1, k) ||
                               ulp_powers_carry(powers, node->inputs[1 - i], -1, -k);
    }
    return any;
}

/* What is not seen from outside: squares and sums inside. */
static bool carry_hidden(struct ulp_powers *powers, size_t n, bool large)
{
    const struct ulp_power_node *row = &powers->nodes[n];
    const struct ulp_node *node = &powers->graph->nodes[n];
    const int x = node->input_count ? node->inputs[0] : -1;
    if (!row->born || row->kind == ULP_POWER_FIXED || x < 0)
        return false;
    if (row->kind == ULP_POWER_NORM) {
        const int k =
            powers->ranges[x].count ? bits(powers->ranges[x].most / SQUARED_TO) - powers->of[x] : 0;
        return (large ? k > 0 : k < 0) && ulp_powers_carry(powers, x, -1, k);
    }
    if (!large)
        return false;
    return row->tied ? ulp_powers_carry(powers, -1, (int)n, HIDDEN_STEP)
                     : ulp_powers_carry(powers, node->outputs[0], -1, HIDDEN_STEP);
}

static bool carry_large(struct ulp_powers *powers, size_t n)
{
    const struct ulp_node *node = &powers->graph->nodes[n];
    const double room = powers->format->max_finite;
    bool any = carry_constants(powers, n, true);
    for (size_t o = 0; o < node->output_count; o++) {
        const int value = node->outputs[o];
        if (value >= 0 && ldexp(powers->ranges[value].most, -powers->of[value]) > room)
            any |=
                ulp_powers_carry(powers, value, -1,
                                 bits(4 * powers->ranges[value].most / room) - powers->of[value]);
    }
    return any || carry_hidden(powers, n, true);
}

static bool carry_small(struct ulp_powers *powers, size_t n)
{
    const struct ulp_node *node = &powers->graph->nodes[n];
    bool any = carry_constants(powers, n, false);
    any |= carry_hidden(powers, n, false);
    for (size_t o = 0; o < node->output_count; o++) {
        const int value = node->outputs[o];
        const struct ulp_power_range *range = value >= 0 ? &powers->ranges[value] : NULL;
        if (!range || !range->count || powers->of[value] > 0)
            continue;
        const double typical =
            range->sensitive ? range->least : sqrt(range->squares / (double)range->count);
        const int k = bits(range->most / (SMALL_TO * powers->format->max_finite));
        if (ldexp(typical, -powers->of[value]) < ldexp(1, powers->format->emin) &&
            k < powers->of[value])
            any |= ulp_powers_carry(powers, value, -1,
                                    (k < -UP_MOST ? -UP_MOST : k) - powers->of[value]);
    }
    return any;
}

/* What outputs do not follow from is left alone. */
static void find_read(struct ulp_powers *powers)
{
    for (size_t n = powers->graph->node_count; n-- > 0;) {
        const struct ulp_node *node = &powers->graph->nodes[n];
        bool read = false;
        for (size_t o = 0; o < node->output_count; o++) {
            const int value = node->outputs[o];
            read |= value >= 0 && powers->view->is_output[value];
            for (size_t r = 0; r < ulp_lint_reader_count(powers->view, value); r++)
                read |= powers->nodes[ulp_lint_reader(powers->view, value, r).node->index].read;
        }
        powers->nodes[n].read = read;
    }
}

static enum ulp_status find_powers(const struct ulp_fixing *x, const struct ulp_model *model,
                                   struct looking *l, bool large, struct ulp_error *error)
{
    struct ulp_powers *powers = &l->powers;
    const struct ulp_graph *graph = model->graph;
    struct ulp_arena *memory = powers->p->lint.arena;
    struct ulp_lint_place first = {0};
    powers->view = &powers->p->lint.graphs[0];
    powers->graph = graph;
    powers->format = &x->arithmetic.storage;
    ULP_TAKE(powers->ranges, memory, graph->value_count + 1, error);
    ULP_TAKE(powers->nodes, memory, graph->node_count + 1, error);
    ULP_TAKE(powers->of, memory, graph->value_count + 1, error);
    ULP_TAKE(powers->bound, memory, graph->value_count + 1, error);
    ULP_TRY(run_samples(x, l, error));
    ulp_powers_classify(powers);
    find_read(powers);
    for (size_t n = 0; n < graph->node_count; n++)
        if (powers->nodes[n].read && (large ? carry_large : carry_small)(powers, n) && !first.node)
            first = (struct ulp_lint_place){powers->view, &graph->nodes[n]};
    if (first.node)
        ulp_powers_propose(powers, first);
    if (powers->failed) /* a number that FP32 does not hold: nothing is proposed */
        powers->p->count = 0;
    return powers->p->lint.failed ? ulp_out_of_memory(error) : ULP_OK;
}

/* ---- trying ---- */

enum ulp_status ulp_fix_say_edit(struct ulp_fixing *x, const struct ulp_lint_edit *said,
                                 struct ulp_fix_edit edit, size_t mended, struct ulp_error *error)
{
    struct ulp_fix *fix = x->fix;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ULP_TAKE_ARRAY(struct ulp_fix_edit, edits, fix->memory, fix->edit_count + 1, error);
    ulp_text_add(&text, "%s", said->text);
    if (mended)
        ulp_text_add(&text, "; %zu values more are finite", mended);
    edit.rule = ulp_arena_copy(fix->memory, said->rule);
    edit.node = ulp_arena_copy(fix->memory, said->node);
    edit.text = ulp_text_keep(&text, fix->memory);
    if (fix->edit_count)
        memcpy(edits, fix->edits, fix->edit_count * sizeof *edits);
    edits[fix->edit_count++] = edit;
    fix->edits = edits;
    return ulp_taken(edit.rule && edit.node && edit.text, error);
}

/* *gained: the model has it now. */
static enum ulp_status try_powers(struct ulp_fixing *x, struct ulp_lint_proposals *p,
                                  struct ulp_fix_judged *after, bool *gained,
                                  struct ulp_error *error)
{
    ULP_SCOPED(ulp_altered_free) struct ulp_altered change = {0};
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *made = NULL;
    struct ulp_fix_judged judged;
    const bool all[] = {true};
    ULP_TRY(ulp_lint_load_edited(p, all, true, &made, error));
    ULP_TRY(ulp_fix_change(x, made, &change, error));
    ULP_TRY(ulp_fix_judge(x, made, NULL, &judged, error));
    struct ulp_fix_edit edit = {.gain = ulp_fix_gain(after, &judged), .change = change.most};
    /* where outputs are as they should be and a value is not */
    const bool finite = judged.nonfinite < after->nonfinite && edit.gain > -ULP_FIX_GAIN_LEAST;
    edit.done = change.refused                              ? ULP_FIX_REFUSED
                : !(change.most <= ULP_FIX_CHANGE)          ? ULP_FIX_CHANGES
                : edit.gain < ULP_FIX_GAIN_LEAST && !finite ? ULP_FIX_NO_GAIN
                                                            : ULP_FIX_MADE;
    *gained = edit.done == ULP_FIX_MADE;
    ULP_TRY(ulp_fix_say_edit(
        x, &p->items[0].said, edit,
        *gained && finite && isfinite(edit.gain) ? after->nonfinite - judged.nonfinite : 0, error));
    if (!*gained)
        return ULP_OK;
    ulp_model_free(x->edited);
    x->edited = made;
    made = NULL;
    *after = judged;
    x->fix->change = change.most;
    x->fix->made_count++;
    return ULP_OK;
}

static enum ulp_status carry_once(struct ulp_fixing *x, bool large, struct ulp_fix_judged *after,
                                  bool *gained, struct ulp_error *error)
{
    const struct ulp_model *model = x->edited ? x->edited : x->model;
    struct looking l = {0};
    *gained = false;
    l.powers.p = &l.at.p;
    enum ulp_status status = ulp_fix_look_open(&l.at, model, error);
    ULP_THEN(status, find_powers(x, model, &l, large, error));
    if (status == ULP_OK && l.at.p.count)
        status = try_powers(x, &l.at.p, after, gained, error);
    ulp_fix_look_close(&l.at);
    return status;
}

/* Of a model whose outputs do not say it, how many of its values are not finite. */
static enum ulp_status count_values(struct ulp_fixing *x, struct ulp_fix_judged *after,
                                    struct ulp_error *error)
{
    const struct ulp_model *model = x->edited ? x->edited : x->model;
    bool added = true;
    for (size_t v = 0; v < model->graph->value_count && added; v++)
        added = ulp_names_find(&x->shared, model->graph->values[v].name) >= 0 ||
                ulp_names_add(&x->shared, model->graph->values[v].name, 0);
    ULP_TRY(ulp_taken(added, error));
    return ulp_fix_judge(x, model, NULL, after, error);
}

enum ulp_status ulp_fix_carry_powers(struct ulp_fixing *x, struct ulp_fix_judged *after,
                                     struct ulp_error *error)
{
    enum { ROUNDS = 3 };
    bool gained = true;
    if (ulp_fix_is_met(x, after) && !x->ill)
        return ULP_OK;
    ULP_TRY(ulp_fix_bring_constants(x, true, after, error));
    const size_t made = x->fix->made_count;
    if (x->ill || isinf(after->worst.ratio))
        ULP_TRY(count_values(x, after, error));
    for (int large = 1; large >= 0; large--, gained = true)
        for (int round = 0; round < ROUNDS && gained &&
                            (!ulp_fix_is_met(x, after) || (x->ill && after->nonfinite));
             round++)
            ULP_TRY(carry_once(x, large, after, &gained, error));
    return x->fix->made_count > made ? ULP_OK : ulp_fix_bring_constants(x, false, after, error);
}
