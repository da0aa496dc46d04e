/* Matching one formula at one step: goals that are solved one after the other, each in all its ways
 * until the rest is solved, too. */
#include <math.h>
#include <string.h>

#include "run/idiom/idiom.h"
#include "run/idiom/idiom_read.h"

/* Goals that one match may try, and that may be open at once: far more than any idiom needs, and a
 * bound of time and stack for hostile graphs. */
#define TRIES_MAX 4000
#define DEPTH_MAX 300
/* Constants as exporters round them: 0.7071 for 1/sqrt(2), 1.4142. */
#define CONSTANT_TOLERANCE 1e-3

enum goal_kind {
    MATCH_PART,  /* the slot is the part */
    MATCH_GROUP, /* the slot is the product or sum of the part's arguments in `mask` */
    CHECK_CONSTANT,
    CHECK_MEAN, /* the constant is 1 / length */
};
struct goal {
    enum goal_kind kind;
    int part, slot;
    uint32_t mask;
    bool flipped;     /* the slot is the reciprocal or the negative of that */
    double *constant; /* of the group; restored when a way fails */
    const struct goal *next;
};

struct match {
    const struct ulp_block *block;
    const struct ulp_idiom_formula *formula;
    struct ulp_idiom *out;
    int tries, depth;
};

static bool solve(struct match *m, const struct goal *goal);

/* ---- the graph ---- */

static const struct ulp_step *producer(const struct match *m, int slot)
{
    const struct ulp_step *step = ulp_block_producer(m->block, slot);
    return step && !step->folded ? step : NULL;
}

static bool add_step(struct match *m, const struct ulp_step *step)
{
    const int s = (int)(step - m->block->steps);
    for (size_t i = 0; i < m->out->step_count; i++)
        if (m->out->steps[i] == s)
            return true;
    if (m->out->step_count == ULP_IDIOM_STEPS_MAX)
        return false;
    m->out->steps[m->out->step_count++] = s;
    return true;
}

/* What the slot is without the nodes that only hand a value on; constants stay as they are. */
static int strip_slot(struct match *m, int slot)
{
    for (const struct ulp_step *step;
         (step = producer(m, slot)) && !ulp_slot_known(m->block, slot);) {
        const enum ulp_type type = m->block->slots[step->inputs[0]].shape.type;
        if (!(ulp_step_is(step, "Identity") || ulp_step_is(step, "Dropout") ||
              (ulp_step_is(step, "Cast") && ulp_type_is_float(type)) ||
              ulp_step_same_elements(m->block, step)) ||
            step->outputs[0] != slot || !add_step(m, step))
            break;
        slot = step->inputs[0];
    }
    return slot;
}

/* ---- the ways of a goal ---- */

/* Try the goal after `step` was used, and forget what it did when it fails. */
static bool try_goal(struct match *m, const struct ulp_step *step, const struct goal *goal,
                     double *constant)
{
    const struct ulp_idiom saved = *m->out;
    const double before = constant ? *constant : 0;
    if ((!step || add_step(m, step)) && solve(m, goal))
        return true;
    *m->out = saved;
    if (constant)
        *constant = before;
    return false;
}

static bool match_hole(struct match *m, enum ulp_idiom_hole hole, int slot, const struct goal *next)
{
    const bool constant = hole == ULP_IDIOM_GAMMA || hole == ULP_IDIOM_BETA;
    const bool any = hole == ULP_IDIOM_MASK || hole == ULP_IDIOM_LOW;
    int *bound = &m->out->holes[hole];
    const struct ulp_tensor *value = ulp_slot_known(m->block, slot);
    /* one number is no gamma: 1 / s is a reciprocal */
    if (!any && (constant ? !value || value->count < 2 : !!value))
        return false;
    if (*bound >= 0)
        return *bound == slot && solve(m, next);
    const struct ulp_idiom saved = *m->out;
    *bound = slot;
    if (solve(m, next))
        return true;
    *m->out = saved;
    return false;
}

/* Functions that are an operator by its inputs, a reduction, or a Pow. */
static const struct function {
    const char *name, *op;
    double exponent;
} functions[] = {{"sqrt", "Sqrt", 0.5},     {"erf", "Erf", 0},         {"tanh", "Tanh", 0},
                 {"sigmoid", "Sigmoid", 0}, {"exp", "Exp", 0},         {"matmul", "MatMul", 0},
                 {"softmax", "Softmax", 0}, {"where", "Where", 0},     {"square", "", 2},
                 {"cube", "", 3},           {"mean", "ReduceMean", 0}, {"sum", "ReduceSum", 0},
                 {"max", "ReduceMax", 0},   {"relu", "Relu", 0}};

static const struct function *find_function(const struct ulp_idiom_part *part)
{
    const struct function *f = functions, *end = f + sizeof functions / sizeof *functions;
    while (f < end && strcmp(f->name, part->name) != 0)
        f++;
    return f < end ? f : NULL;
}

static bool match_function(struct match *m, const struct ulp_idiom_part *part, const char *op,
                           const struct ulp_step *step, const struct goal *next)
{
    struct goal goals[ULP_IDIOM_ARGUMENTS];
    if (!ulp_step_is(step, op))
        return false;
    for (int i = part->count; i-- > 0;) {
        goals[i] = (struct goal){.kind = MATCH_PART,
                                 .part = part->arguments[i],
                                 .slot = ulp_step_input(step, (size_t)i),
                                 .next = i + 1 < part->count ? &goals[i + 1] : next};
        if (goals[i].slot < 0)
            return false;
    }
    return try_goal(m, step, goals, NULL);
}

/* Pow(a, e), and a * a for square(a). */
static bool match_power(struct match *m, const struct ulp_idiom_part *part, double power,
                        const struct ulp_step *step, const struct goal *next)
{
    double exponent;
    struct goal base = {.kind = MATCH_PART,
                        .part = part->arguments[0],
                        .slot = ulp_step_input(step, 0),
                        .next = next};
    if (ulp_step_is(step, "Pow"))
        return ulp_slot_is_scalar(m->block, ulp_step_input(step, 1), &exponent) &&
               exponent == power && try_goal(m, step, &base, NULL);
    const struct goal first = {.kind = MATCH_PART,
                               .part = part->arguments[0],
                               .slot = ulp_step_input(step, 1),
                               .next = &base};
    return ulp_step_is(step, "Mul") && power == 2 && try_goal(m, step, &first, NULL);
}

static bool set_axes(struct match *m, uint32_t axes, const struct ulp_tensor *shape)
{
    if (!axes || m->out->axes)
        return axes && m->out->axes == axes;
    m->out->axes = axes;
    m->out->length = 1;
    for (int d = shape->rank - 1; d >= 0; d--)
        if (axes >> d & 1) {
            m->out->axis = d;
            m->out->length *= (size_t)shape->dims[d];
        }
    return true;
}

/* Some Reshape is among the steps. */
static bool has_reshape(const struct match *m)
{
    for (size_t s = 0; s < m->out->step_count; s++)
        if (ulp_step_is(&m->block->steps[m->out->steps[s]], "Reshape"))
            return true;
    return false;
}

/* A reduction over the same axes as the others of the formula; its result has their rank, by
 * keepdims, an Unsqueeze behind it, or a Reshape later (keeps_ranks in idiom_find.c). */
static bool match_reduction(struct match *m, const struct ulp_idiom_part *part, const char *op,
                            int slot, const struct goal *next)
{
    const struct ulp_step *step = producer(m, slot), *unsqueeze = NULL;
    if (!step)
        return false;
    if (ulp_step_is(step, "Unsqueeze")) {
        unsqueeze = step;
        step = producer(m, ulp_step_input(step, 0));
    }
    if (!step || !ulp_step_is(step, op) ||
        (unsqueeze ? ulp_step_keeps_dims(step) : !ulp_step_keeps_dims(step) && !has_reshape(m)))
        return false;
    const struct ulp_tensor *shape = &m->block->slots[ulp_step_input(step, 0)].shape;
    const struct ulp_idiom saved = *m->out;
    const struct goal inner = {.kind = MATCH_PART,
                               .part = part->arguments[0],
                               .slot = ulp_step_input(step, 0),
                               .next = next};
    const uint32_t axes =
        shape->type == ULP_TYPE_UNDEFINED ? 0 : ulp_step_axes(m->block, step, shape->rank);
    if ((!unsqueeze || axes == ulp_step_axes(m->block, unsqueeze, shape->rank)) &&
        set_axes(m, axes, shape) && (!unsqueeze || add_step(m, unsqueeze)) &&
        try_goal(m, step, &inner, NULL))
        return true;
    *m->out = saved;
    return false;
}

/* mean(a) as a ReduceSum times a constant. */
static bool match_mean(struct match *m, const struct ulp_idiom_part *part, int slot,
                       const struct goal *next)
{
    const struct ulp_step *step = producer(m, slot);
    const bool divides = step && ulp_step_is(step, "Div");
    double constant, mean;
    if (!step || (!divides && !ulp_step_is(step, "Mul")))
        return false;
    for (int side = 0; side < (divides ? 1 : 2); side++) {
        if (!ulp_slot_is_scalar(m->block, ulp_step_input(step, (size_t)!side), &constant) ||
            constant == 0)
            continue;
        mean = divides ? 1 / constant : constant;
        const struct goal check = {.kind = CHECK_MEAN, .constant = &mean, .next = next};
        const struct ulp_idiom saved = *m->out;
        if (add_step(m, step) &&
            match_reduction(m, part, "ReduceSum", strip_slot(m, ulp_step_input(step, (size_t)side)),
                            &check))
            return true;
        *m->out = saved;
    }
    return false;
}

static bool match_softmax_axis(struct match *m, const struct ulp_step *step)
{
    const struct ulp_tensor *shape = &m->block->slots[step->inputs[0]].shape;
    const struct ulp_attribute *attribute = ulp_node_attribute(step->bound.node, "axis");
    int64_t axis = attribute ? attribute->i : step->opset >= 13 ? -1 : 1;
    if (shape->type == ULP_TYPE_UNDEFINED)
        return true;
    axis += axis < 0 ? shape->rank : 0;
    if (axis < 0 || axis >= shape->rank)
        return true;
    return set_axes(m, UINT32_C(1) << axis, shape);
}

/* relu(a) as Max of a and 0. */
static bool match_relu(struct match *m, const struct ulp_idiom_part *part,
                       const struct ulp_step *step, const struct goal *next)
{
    double zero;
    for (size_t i = 0; i < 2 && ulp_step_is(step, "Max") && step->own_input_count == 2; i++) {
        const struct goal inner = {.kind = MATCH_PART,
                                   .part = part->arguments[0],
                                   .slot = ulp_step_input(step, i),
                                   .next = next};
        if (ulp_slot_is_scalar(m->block, ulp_step_input(step, 1 - i), &zero) && zero == 0)
            return try_goal(m, step, &inner, NULL);
    }
    return false;
}

static bool match_call(struct match *m, const struct ulp_idiom_part *part, int slot,
                       const struct goal *next)
{
    const struct ulp_step *step = producer(m, slot);
    const struct function *f = find_function(part);
    const struct ulp_idiom saved = *m->out;
    if (!step || !f)
        return false;
    if (strcmp(part->name, "softmax") == 0 && ulp_step_is(step, "Softmax") &&
        !match_softmax_axis(m, step))
        return false;
    if ((strncmp(f->op, "Reduce", 6) == 0 ? match_reduction(m, part, f->op, slot, next)
                                          : match_function(m, part, f->op, step, next)) ||
        (f->exponent != 0 && match_power(m, part, f->exponent, step, next)) ||
        (strcmp(part->name, "relu") == 0 && match_relu(m, part, step, next)) ||
        (strcmp(part->name, "mean") == 0 && match_mean(m, part, slot, next)))
        return true;
    *m->out = saved;
    return false;
}

/* The slot is one node over two groups: try every split of the arguments. */
static bool split_group(struct match *m, const struct goal *goal, const struct ulp_step *step,
                        bool second_flipped)
{
    struct goal second = *goal, first = *goal;
    first.slot = ulp_step_input(step, 0);
    second.slot = ulp_step_input(step, 1);
    first.next = &second;
    second.flipped = goal->flipped != second_flipped;
    for (uint32_t mask = goal->mask;; mask = (mask - 1) & goal->mask) {
        first.mask = mask;
        second.mask = goal->mask & ~mask;
        if (try_goal(m, step, &first, goal->constant))
            return true;
        if (!mask)
            return false;
    }
}

/* Reciprocal, Neg; 1/sqrt(a) as Pow(a, -0.5). */
static bool match_flip(struct match *m, const struct goal *goal, const struct ulp_idiom_part *group,
                       const struct ulp_step *step)
{
    struct goal inner = *goal;
    double exponent;
    inner.slot = ulp_step_input(step, 0);
    inner.flipped = !goal->flipped;
    if (ulp_step_is(step, group->kind == ULP_IDIOM_SUM ? "Neg" : "Reciprocal"))
        return try_goal(m, step, &inner, goal->constant);
    if (group->kind == ULP_IDIOM_SUM)
        return false;
    if (ulp_step_is(step, "Neg")) {
        const double before = *goal->constant;
        inner.flipped = goal->flipped;
        *goal->constant = -before;
        if (try_goal(m, step, &inner, goal->constant))
            return true;
        *goal->constant = before;
        return false;
    }
    for (int i = 0; i < group->count; i++) {
        const struct ulp_idiom_part *root = &m->formula->parts[group->arguments[i]];
        if (goal->mask != UINT32_C(1) << i || root->kind != ULP_IDIOM_CALL ||
            strcmp(root->name, "sqrt") != 0 || group->flipped[i] == goal->flipped ||
            !ulp_step_is(step, "Pow") ||
            !ulp_slot_is_scalar(m->block, ulp_step_input(step, 1), &exponent) || exponent != -0.5)
            continue;
        const struct goal argument = {.kind = MATCH_PART,
                                      .part = root->arguments[0],
                                      .slot = ulp_step_input(step, 0),
                                      .next = goal->next};
        return try_goal(m, step, &argument, NULL);
    }
    return false;
}

/* Nothing is left of the group but a number. */
static bool match_number(struct match *m, const struct goal *goal,
                         const struct ulp_idiom_part *group)
{
    const double before = *goal->constant;
    double number;
    if (!ulp_slot_is_scalar(m->block, goal->slot, &number))
        return false;
    if (group->kind == ULP_IDIOM_SUM)
        *goal->constant += goal->flipped ? -number : number;
    else
        *goal->constant *= goal->flipped ? 1 / number : number;
    if (solve(m, goal->next))
        return true;
    *goal->constant = before;
    return false;
}

static bool match_group(struct match *m, const struct goal *goal)
{
    const struct ulp_idiom_part *group = &m->formula->parts[goal->part];
    const struct ulp_idiom saved = *m->out;
    if (!goal->mask)
        return match_number(m, goal, group);
    for (int i = 0; i < group->count; i++) {
        const struct goal leaf = {.kind = MATCH_PART,
                                  .part = group->arguments[i],
                                  .slot = goal->slot,
                                  .next = goal->next};
        if (goal->mask == UINT32_C(1) << i && group->flipped[i] == goal->flipped &&
            try_goal(m, NULL, &leaf, goal->constant))
            return true;
    }
    struct goal here = *goal;
    here.slot = strip_slot(m, goal->slot);
    const struct ulp_step *step = producer(m, here.slot);
    const bool sum = group->kind == ULP_IDIOM_SUM;
    if (step && (ulp_step_is(step, sum ? "Add" : "Mul")   ? split_group(m, &here, step, false)
                 : ulp_step_is(step, sum ? "Sub" : "Div") ? split_group(m, &here, step, true)
                                                          : match_flip(m, &here, group, step)))
        return true;
    *m->out = saved;
    return false;
}

/* A whole product or sum: its arguments, then its constant. */
static bool match_whole(struct match *m, int index, int slot, const struct goal *next)
{
    const struct ulp_idiom_part *part = &m->formula->parts[index];
    double constant = part->kind == ULP_IDIOM_SUM ? 0 : 1;
    const struct goal check = {.kind = CHECK_CONSTANT,
                               .part = index,
                               .constant = &constant,
                               .next = next},
                      group = {.kind = MATCH_GROUP,
                               .part = index,
                               .slot = slot,
                               .mask = (UINT32_C(1) << part->count) - 1,
                               .constant = &constant,
                               .next = &check};
    return solve(m, &group);
}

static bool check_constant(struct match *m, const struct goal *goal)
{
    const struct ulp_idiom_part *part = &m->formula->parts[goal->part];
    const double found = *goal->constant;
    if (!part->any)
        return fabs(found - part->constant) <= CONSTANT_TOLERANCE * fabs(part->constant) &&
               solve(m, goal->next);
    double *kept = part->kind == ULP_IDIOM_SUM ? &m->out->epsilon : &m->out->scale;
    const double before = *kept;
    *kept = found;
    if (isfinite(found) && solve(m, goal->next))
        return true;
    *kept = before;
    return false;
}

static bool match_part(struct match *m, const struct goal *goal)
{
    const struct ulp_idiom_part *part = &m->formula->parts[goal->part];
    const struct ulp_idiom saved = *m->out;
    const int slot = goal->slot < 0 ? -1 : strip_slot(m, goal->slot);
    bool matched = false;
    if (slot < 0)
        return false;
    if (part->kind == ULP_IDIOM_HOLE)
        matched = match_hole(m, part->hole, slot, goal->next);
    else if (part->kind == ULP_IDIOM_CALL)
        matched = match_call(m, part, slot, goal->next);
    else
        matched = match_whole(m, goal->part, slot, goal->next);
    if (!matched)
        *m->out = saved;
    return matched;
}

static bool solve_one(struct match *m, const struct goal *goal)
{
    switch (goal->kind) {
    case MATCH_PART: return match_part(m, goal);
    case MATCH_GROUP: return match_group(m, goal);
    case CHECK_CONSTANT: return check_constant(m, goal);
    case CHECK_MEAN:
        return fabs(*goal->constant * (double)m->out->length - 1) <= CONSTANT_TOLERANCE &&
               solve(m, goal->next);
    }
    return false;
}

static bool solve(struct match *m, const struct goal *goal)
{
    if (!goal)
        return true;
    if (m->tries == 0 || m->depth == DEPTH_MAX)
        return false;
    m->tries--;
    m->depth++;
    const bool solved = solve_one(m, goal);
    m->depth--;
    return solved;
}

static void sort_steps(struct ulp_idiom *idiom)
{
    for (size_t i = 1; i < idiom->step_count; i++) {
        const int step = idiom->steps[i];
        size_t to = i;
        for (; to > 0 && idiom->steps[to - 1] > step; to--)
            idiom->steps[to] = idiom->steps[to - 1];
        idiom->steps[to] = step;
    }
}

bool ulp_idiom_match(const struct ulp_block *block, int step,
                     const struct ulp_idiom_formula *formula, struct ulp_idiom *out)
{
    const struct ulp_step *root = &block->steps[step];
    struct match m = {.block = block, .formula = formula, .out = out, .tries = TRIES_MAX};
    for (int h = 0; h < ULP_IDIOM_HOLE_COUNT; h++)
        out->holes[h] = -1;
    out->scale = 1;
    out->axis = -1;
    const struct goal whole = {.kind = MATCH_PART, .part = formula->root, .slot = root->outputs[0]};
    if (root->output_count != 1 || root->outputs[0] < 0 ||
        ulp_is_word(root->bound.op->name, "Cast Identity Dropout Reshape Expand") ||
        !solve(&m, &whole))
        return false;
    sort_steps(out);
    return true;
}
