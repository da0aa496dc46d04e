/* Finding attention that a graph writes out: from its last product back to a Softmax, from there
 * through nodes that change each score by itself back to a product of computed values. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/idiom/idiom_read.h"
#include "run/program/written.h"

/* What a Where puts in place of a score hides its key when it is no more than that: beside scores
 * of any format exp of it is 0. Where something is added to scores, others may be as low, and it
 * must be lower than any. */
#define HIDING (-1e4)
#define HIDING_BESIDE_ADDED (-1e30)

enum { TRIES_MAX = 400 };

/* Nodes that change each score by itself; $0, $1, $2 are inputs. */
static const struct ulp_score_form {
    const char *op;
    size_t inputs;
    const char *text;
} forms[] = {{"Add", 2, "$0 + $1"},
             {"Sub", 2, "$0 - $1"},
             {"Mul", 2, "$0 * $1"},
             {"Div", 2, "$0 / $1"},
             {"Where", 3, "$0 ? $1 : $2"},
             {"Max", 2, "max($0, $1)"},
             {"Min", 2, "min($0, $1)"},
             {"Tanh", 1, "tanh($0)"},
             {"Neg", 1, "-$0"},
             {"Clip", 3, "min(max($0, $1), $2)"}};

static int producer(const struct ulp_written_search *f, int slot)
{
    const struct ulp_step *step = slot < 0 ? NULL : ulp_block_producer(f->block, slot);
    return step && !step->folded ? (int)(step - f->block->steps) : -1;
}

static bool add_step(struct ulp_written_search *f, int step)
{
    struct ulp_written *out = f->out;
    if (out->step_count == ULP_WRITTEN_STEPS)
        return false;
    out->steps[out->step_count++] = step;
    return true;
}

/* A product of computed values, or with a constant query. */
static bool is_product(const struct ulp_written_search *f, int s)
{
    const struct ulp_step *step = &f->block->steps[s];
    return step->own_input_count == 2 && step->inputs[0] >= 0 && step->inputs[1] >= 0 &&
           (ulp_step_is(step, "MatMul") || ulp_step_is(step, "Einsum")) &&
           !ulp_slot_known(f->block, step->inputs[1]) &&
           ulp_written_shape(f, step->inputs[0])->type != ULP_TYPE_UNDEFINED &&
           ulp_written_shape(f, step->inputs[1])->type != ULP_TYPE_UNDEFINED &&
           ulp_written_shape(f, step->outputs[0])->type != ULP_TYPE_UNDEFINED;
}

/* Have both the same elements in the same order, and the same keys? */
static bool has_same_rows(const struct ulp_written_search *f, int a, int b)
{
    const struct ulp_tensor *x = ulp_written_shape(f, a), *y = ulp_written_shape(f, b);
    return x->type != ULP_TYPE_UNDEFINED && y->type != ULP_TYPE_UNDEFINED && x->count == y->count &&
           x->rank && y->rank && x->dims[x->rank - 1] == y->dims[y->rank - 1];
}

/* Hands the step its first input on? */
static bool hands_on(const struct ulp_written_search *f, const struct ulp_step *step)
{
    return ulp_step_is(step, "Identity") || ulp_step_is(step, "Dropout") ||
           (ulp_step_is(step, "Cast") &&
            ulp_type_is_float(ulp_written_shape(f, step->inputs[0])->type) &&
            ulp_type_is_float(ulp_written_shape(f, step->outputs[0])->type)) ||
           (ulp_is_word(step->bound.op->name, "Reshape Expand Unsqueeze Squeeze Flatten") &&
            has_same_rows(f, step->inputs[0], step->outputs[0]));
}

/* Is the slot the largest of each row of another? *step computes it. */
static bool is_largest(const struct ulp_written_search *f, int slot, int of, int *step)
{
    *step = producer(f, slot);
    const struct ulp_step *s = *step < 0 ? NULL : &f->block->steps[*step];
    const int rank = ulp_written_shape(f, of)->rank;
    return s && ulp_step_is(s, "ReduceMax") && s->inputs[0] == of && ulp_step_keeps_dims(s) &&
           rank && ulp_step_axes(f->block, s, rank) == UINT32_C(1) << (rank - 1);
}

static const struct ulp_score_form *find_form(const struct ulp_step *step)
{
    for (const struct ulp_score_form *form = forms; form < forms + sizeof forms / sizeof *forms;
         form++)
        if (ulp_step_is(step, form->op) && step->own_input_count == form->inputs)
            return form;
    return NULL;
}

/* Back from the slot to a product; the chain is what lies between. */
static bool climb(struct ulp_written_search *f, int slot)
{
    const int s = producer(f, slot);
    if (s < 0 || f->length == ULP_WRITTEN_CHAIN || f->tries-- <= 0)
        return false;
    f->first = s;
    if (is_product(f, s))
        return true;
    const struct ulp_step *step = &f->block->steps[s];
    const struct ulp_score_form *form = hands_on(f, step) ? NULL : find_form(step);
    struct ulp_written_link *link = &f->chain[f->length++];
    for (int i = 0; i < (form ? (int)form->inputs : hands_on(f, step)); i++) {
        *link = (struct ulp_written_link){s, i, form};
        if (step->inputs[i] >= 0 &&
            ulp_type_is_float(ulp_written_shape(f, step->inputs[i])->type) &&
            has_same_rows(f, step->inputs[i], slot) && climb(f, step->inputs[i]))
            return true;
    }
    f->length--;
    return false;
}

/* ---- the weights ---- */

/* p where it is a number, else 0: p. */
static int without_nan(struct ulp_written_search *f, const struct ulp_step *step)
{
    double zero;
    const int p = ulp_step_input(step, 2), test = producer(f, ulp_step_input(step, 0));
    return ulp_step_is(step, "Where") && test >= 0 &&
                   ulp_step_is(&f->block->steps[test], "IsNaN") &&
                   f->block->steps[test].inputs[0] == p &&
                   ulp_slot_is_scalar(f->block, ulp_step_input(step, 1), &zero) && zero == 0 &&
                   add_step(f, test)
               ? p
               : -1;
}

static bool is_over_keys(const struct ulp_written_search *f, const struct ulp_step *softmax)
{
    const int rank = ulp_written_shape(f, softmax->inputs[0])->rank;
    const struct ulp_attribute *axis = ulp_node_attribute(softmax->bound.node, "axis");
    const int64_t at = axis ? axis->i : softmax->opset >= 13 ? -1 : 1;
    return rank && at + (at < 0 ? rank : 0) == rank - 1;
}

/* Without the last column of the weights; *sink is set. */
static bool leaves_last(const struct ulp_written_search *f, const struct ulp_step *step)
{
    const struct ulp_tensor *in = ulp_written_shape(f, step->inputs[0]),
                            *out = ulp_written_shape(f, step->outputs[0]);
    const struct ulp_tensor *start = ulp_slot_known(f->block, ulp_step_input(step, 1));
    bool fits = ulp_step_is(step, "Slice") && in->rank && in->rank == out->rank && start &&
                in->dims[in->rank - 1] == out->dims[out->rank - 1] + 1;
    for (int d = 0; d < in->rank - 1 && fits; d++)
        fits = in->dims[d] == out->dims[d];
    const int apart = ulp_step_input(step, 4);
    const struct ulp_tensor *steps = apart < 0 ? NULL : ulp_slot_known(f->block, apart);
    fits = fits && (apart < 0 || steps);
    for (size_t i = 0; start && i < start->count && fits; i++)
        fits = ulp_tensor_get_int(start, i) == 0;
    for (size_t i = 0; steps && i < steps->count && fits; i++)
        fits = ulp_tensor_get_int(steps, i) == 1;
    return fits;
}

/* From the weights of the second product back to the scores that a Softmax has; -1: it has none. */
static int find_scores(struct ulp_written_search *f, int slot, bool *sinks, const char **why)
{
    for (int s; (s = producer(f, slot)) >= 0;) {
        const struct ulp_step *step = &f->block->steps[s];
        if (!add_step(f, s))
            return -1;
        const struct ulp_idiom *idiom = f->softmaxes[s];
        if (idiom) {
            const int x = idiom->holes[ULP_IDIOM_X];
            for (size_t n = 0; n < idiom->step_count; n++)
                if (idiom->steps[n] != s && !add_step(f, idiom->steps[n]))
                    return -1;
            *why = idiom->axis == ulp_written_shape(f, x)->rank - 1
                       ? *why
                       : "its Softmax is not over the keys";
            return x;
        }
        if (ulp_step_is(step, "Softmax")) {
            *why = is_over_keys(f, step) ? *why : "its Softmax is not over the keys";
            return step->inputs[0];
        }
        const int number = without_nan(f, step);
        if (number < 0 && leaves_last(f, step))
            *sinks = true;
        else if (number < 0 && !hands_on(f, step))
            return -1;
        slot = number >= 0 ? number : step->inputs[0];
    }
    return -1;
}

/* Scores that have a sink behind them, and, as far as anything is subtracted from both, its
 * largest. The slot of the scores alone; -1: it is another. */
static int leave_sink(struct ulp_written_search *f, int slot, int *sink)
{
    int s = producer(f, slot), largest;
    const struct ulp_step *step = s < 0 ? NULL : &f->block->steps[s];
    if (step && ulp_step_is(step, "Sub") &&
        is_largest(f, step->inputs[1], step->inputs[0], &largest) && add_step(f, s) &&
        add_step(f, largest))
        s = producer(f, step->inputs[0]);
    step = s < 0 ? NULL : &f->block->steps[s];
    if (!step || !ulp_step_is(step, "Concat") || step->own_input_count != 2 || !add_step(f, s))
        return -1;
    *sink = step->inputs[1];
    const struct ulp_tensor *last = ulp_written_shape(f, *sink);
    return last->rank && last->dims[last->rank - 1] == 1 ? step->inputs[0] : -1;
}

/* ---- the whole ---- */

static bool hides(const struct ulp_written_search *f, int slot)
{
    const struct ulp_tensor *low = ulp_slot_known(f->block, slot);
    bool all = low && low->count;
    for (size_t i = 0; all && i < low->count; i++)
        all = ulp_tensor_get(low, i) <= (f->adds ? HIDING_BESIDE_ADDED : HIDING);
    return all;
}

/* Is the link a Where that hides keys? role: where its condition holds or where it does not. */
static bool is_hiding(const struct ulp_written_search *f, const struct ulp_written_link *link,
                      char *role)
{
    const struct ulp_step *step = &f->block->steps[link->step];
    *role = link->input == 1 ? 's' : 'h';
    return ulp_step_is(step, "Where") && link->input > 0 && hides(f, step->inputs[3 - link->input]);
}

static bool add_operand(struct ulp_written_search *f, int slot, char role,
                        const struct ulp_tensor *full)
{
    struct ulp_written *out = f->out;
    const size_t n = out->operand_count;
    if (n == ULP_WRITTEN_OPERANDS ||
        !ulp_written_place_operand(f, ulp_written_shape(f, slot), full, out->dims[n]))
        return false;
    out->slots[3 + n] = slot;
    out->roles[n] = role;
    out->operand_count++;
    return true;
}

/* Appends what the link makes of the scores so far, `before`, under the name `name`. */
static bool write_link(struct ulp_written_search *f, const struct ulp_written_link *link,
                       const char *before, const char *name)
{
    const struct ulp_step *step = &f->block->steps[link->step];
    char *to = f->out->between + strlen(f->out->between);
    const char *end = f->out->between + sizeof f->out->between;
    to += snprintf(to, (size_t)(end - to), "%s = ", name);
    for (const char *c = link->form->text; *c && end - to > 24; c++) {
        const int i = c[0] == '$' ? c[1] - '0' : -1;
        if (i < 0) {
            *to++ = *c;
        } else if (i == link->input) {
            to += snprintf(to, (size_t)(end - to), "%s", before);
        } else {
            if (step->inputs[i] < 0 ||
                !add_operand(f, step->inputs[i], 'm', ulp_written_shape(f, step->outputs[0])))
                return false;
            to += snprintf(to, (size_t)(end - to), "m%zu", f->out->operand_count - 1);
        }
        c += i >= 0;
    }
    if (end - to <= 24)
        return false;
    snprintf(to, (size_t)(end - to), "; ");
    return true;
}

/* A scalar that the scores are multiplied by or divided by. */
static bool take_scale(const struct ulp_written_search *f, const struct ulp_written_link *link,
                       double *scale)
{
    const struct ulp_step *step = &f->block->steps[link->step];
    double by;
    const bool multiplies = ulp_step_is(step, "Mul"),
               divides = ulp_step_is(step, "Div") && link->input == 0;
    if (!(multiplies || divides) ||
        !ulp_slot_is_scalar(f->block, step->inputs[1 - link->input], &by))
        return false;
    const double product = multiplies ? *scale * by : *scale / by;
    const bool fits = (float)product > 0 && isfinite((float)product);
    *scale = fits ? product : *scale;
    return fits;
}

/* What is added to all scores, or hides keys, as long as nothing but that comes behind it. */
static bool is_mask(const struct ulp_written_search *f, const struct ulp_written_link *link,
                    char *role)
{
    *role = 'a';
    return ulp_step_is(&f->block->steps[link->step], "Add") || is_hiding(f, link, role);
}

static const char *write_chain(struct ulp_written_search *f)
{
    struct ulp_written *out = f->out;
    static const char *const broadcasts = "its mask does not broadcast to the scores";
    size_t added = 0, masks = 0, at = f->length; /* the first links are the last nodes */
    char role, name[24], before[24] = "raw";
    for (size_t l = 0; l < f->length; l++)
        f->adds |= ulp_step_is(&f->block->steps[f->chain[l].step], "Add");
    while (masks < f->length && (!f->chain[masks].form || is_mask(f, &f->chain[masks], &role)))
        added += f->chain[masks++].form && role == 'a';
    for (size_t l = masks; l-- > 0 && added > 1;) /* one is added by the kernel, others before it */
        if (f->chain[l].form && is_mask(f, &f->chain[l], &role) && role == 'a') {
            added--;
            masks = l;
        }
    for (; at > masks && (!f->chain[at - 1].form || take_scale(f, &f->chain[at - 1], &out->scale));)
        at--;
    for (; at-- > 0;) {
        const struct ulp_written_link *link = &f->chain[at];
        const struct ulp_step *step = &f->block->steps[link->step];
        if (!link->form)
            continue;
        if (at >= masks) {
            snprintf(name, sizeof name, "u%zu", at);
            if (!write_link(f, link, before, name))
                return broadcasts;
            memcpy(before, name, sizeof before);
            continue;
        }
        is_mask(f, link, &role);
        if (!add_operand(f, step->inputs[role == 'a' ? 1 - link->input : 0], role,
                         ulp_written_shape(f, step->outputs[0])))
            return broadcasts;
    }
    if (out->between[0])
        snprintf(out->between + strlen(out->between), sizeof out->between - strlen(out->between),
                 "capped = %s; ", before);
    return NULL;
}

/* Does the kernel read nothing that it takes the place of, as s of s + s? */
static bool is_apart(const struct ulp_written_search *f)
{
    const struct ulp_written *out = f->out;
    for (size_t o = 0; o < 3 + out->operand_count; o++) {
        const int from = producer(f, out->slots[o]);
        for (size_t s = 0; s < out->step_count; s++)
            if (from >= 0 && out->steps[s] == from)
                return false;
    }
    return true;
}

/* Does nobody else read what is computed on the way? Folded steps read shapes alone. */
static bool is_closed(const struct ulp_written_search *f)
{
    const struct ulp_written *out = f->out;
    for (size_t s = 1; s < out->step_count; s++) {
        const struct ulp_step *step = &f->block->steps[out->steps[s]];
        for (size_t o = 0; o < step->output_count; o++) {
            const struct ulp_reading *all = NULL;
            for (size_t r = ulp_block_readings(f->block, step->outputs[o], &all); r-- > 0;) {
                bool within = all[r].step >= 0 && f->block->steps[all[r].step].folded;
                for (size_t i = 0; i < out->step_count; i++)
                    within |= all[r].step == out->steps[i];
                if (!within)
                    return false;
            }
        }
    }
    return true;
}

bool ulp_written_find(const struct ulp_block *block, int step,
                      const struct ulp_idiom *const *softmaxes, struct ulp_written *out,
                      const char **why)
{
    struct ulp_written_search f = {.block = block,
                                   .softmaxes = softmaxes,
                                   .out = out,
                                   .tries = TRIES_MAX};
    bool sinks = false;
    int sink = -1;
    *out = (struct ulp_written){.scale = 1};
    *why = NULL;
    if (!is_product(&f, step) || !add_step(&f, step))
        return false;
    int scores = find_scores(&f, block->steps[step].inputs[0], &sinks, why);
    if (scores < 0)
        return false;
    if (sinks && (scores = leave_sink(&f, scores, &sink)) < 0)
        *why = "what is cut off its Softmax is no sink";
    else if (!*why && !climb(&f, scores))
        *why = "more than a scale and masks is between its products";
    if (*why)
        return true;
    bool room = add_step(&f, f.first);
    for (size_t l = 0; l < f.length; l++)
        room = room && add_step(&f, f.chain[l].step);
    *why = !room ? "too many nodes are between its products" : ulp_written_place(&f);
    *why = *why ? *why : write_chain(&f);
    if (!*why && sink >= 0 && !add_operand(&f, sink, 'z', ulp_written_shape(&f, scores)))
        *why = "what is cut off its Softmax is no sink";
    out->slots[0] = block->steps[f.first].inputs[0];
    out->slots[1] = block->steps[f.first].inputs[1];
    out->slots[2] = block->steps[step].inputs[1];
    if (!*why && !(is_closed(&f) && is_apart(&f)))
        *why = "what is between its products is read elsewhere, too";
    return true;
}
