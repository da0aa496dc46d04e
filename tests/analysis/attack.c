#include "attack.h"

#include <stdarg.h>

#include "run/idiom/idiom_read.h"
#include "run/pass/backward.h"
#include "tests/support/element.h"
#include "tests/support/test.h"

void subject_begin_in(struct subject *out, struct ulp_model *model, const char *format,
                      const struct ulp_prove_box *box, const struct ulp_tensor_set *inputs)
{
    const struct ulp_program_options options = {.inputs = inputs};
    const struct ulp_arithmetic lane = test_arithmetic(format);
    *out = (struct subject){.model = model};
    ck_ok(ulp_program_create(model, &lane, 1, &options, &out->program, &why));
    ck_ok(ulp_proof_run(model, out->program, box, 1, &out->proof, &why));
}

void subject_begin(struct subject *out, struct ulp_model *model, const char *format, double low,
                   double high, const struct ulp_tensor_set *inputs)
{
    const struct ulp_input_range range = {NULL, low, high};
    const struct ulp_prove_box box = {.ranges = &range, .range_count = low <= high};
    subject_begin_in(out, model, format, &box, inputs);
}

void subject_end(struct subject *subject)
{
    ulp_proof_free(&subject->proof);
    ulp_program_free(subject->program);
    ulp_model_free(subject->model);
}

static const struct ulp_proof_node *find_node(const struct ulp_proof *proof, size_t index)
{
    for (size_t n = 0; n < proof->node_count; n++)
        if (proof->nodes[n].index == index)
            return &proof->nodes[n];
    return NULL;
}

__attribute__((format(printf, 2, 3))) static void say_wrong(struct subject *subject,
                                                            const char *format, ...)
{
    char text[800];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (!subject->wrong)
        ck_abort_msg("%s", text);
    subject->wrong(subject->context, text);
}

/* Whether it is done; else it was refused, which some subjects may be. */
static bool is_done(struct subject *subject, enum ulp_status status, const struct ulp_error *error)
{
    if (status == ULP_OK)
        return true;
    if (!subject->wrong)
        ck_abort_msg("%s", error->message);
    if ((status != ULP_ERROR_INPUT && status != ULP_ERROR_UNSUPPORTED &&
         status != ULP_ERROR_MEMORY) ||
        !*error->message)
        say_wrong(subject, "a refusal of status %d: %.300s", (int)status, error->message);
    subject->refused++;
    return false;
}

static void check_element(struct subject *subject, const struct ulp_proof_output *output, double x)
{
    /* low and high are those of the elements that are proven */
    const bool inside = output->verdict == ULP_PROOF_NOT_PROVEN
                            ? fabs(x) <= output->bound
                            : x >= output->low && x <= output->high && fabs(x) <= output->bound;
    if (!inside && !(output->infinite && isinf(x)) && !subject->outside++)
        say_wrong(subject, "%s output %s of %s: %.17g is not in [%.17g, %.17g], of magnitude %.17g",
                  ulp_proof_verdict_name(output->verdict), output->name, subject->node->name, x,
                  output->low, output->high, output->bound);
    if (output->bound > 0 && isfinite(x) && output->verdict == ULP_PROOF_PROVEN)
        subject->attained = fmax(subject->attained, fabs(x) / output->bound);
}

/* What is not proven may overflow; bounds hold as long as all of it, and of what is not proven
 * before it, is finite, in memory too where a kernel stores what it holds: what the verdicts
 * promise, whatever overflows inside of nodes. Its own, while it fits the format. */
static void check_unproven(struct subject *subject, const struct ulp_proof_output *output,
                           const struct ulp_tensor *values)
{
    const double most = subject->proof.format.max_finite;
    struct ulp_node_kernel kernel;
    bool overflows = false, fits = true;
    ulp_program_node_kernel(subject->program, 0, subject->node->index, &kernel);
    for (size_t i = 0; i < values->count; i++) {
        const double x = fabs(ulp_tensor_get(values, i));
        fits = fits && x < most;
        overflows = overflows || !isfinite(x) ||
                    (subject->program->mixes[0].fusion && !kernel.unstored && x > most);
    }
    for (size_t i = 0; i < values->count && fits && !subject->overflowed; i++)
        check_element(subject, output, ulp_tensor_get(values, i));
    subject->overflowed |= overflows;
}

/* The smallest and the largest, and every element that is neither: NaN. */
static void check_proven(struct subject *subject, const struct ulp_proof_output *output,
                         const struct ulp_tensor *values)
{
    const float *floats = values->element == ULP_ELEMENT_F32 ? values->data : NULL;
    float least = INFINITY, most = -INFINITY;
    for (size_t i = 0; floats && !output->infinite && i < values->count; i++) {
        if (isnan(floats[i]))
            check_element(subject, output, (double)floats[i]);
        least = floats[i] < least ? floats[i] : least;
        most = floats[i] > most ? floats[i] : most;
    }
    for (size_t i = 0; (!floats || output->infinite) && i < values->count; i++)
        check_element(subject, output, ulp_tensor_get(values, i));
    if (floats && !output->infinite && values->count && least <= most) {
        check_element(subject, output, (double)least);
        check_element(subject, output, (double)most);
    }
}

static void check_output(struct subject *subject, const struct ulp_proof_output *output,
                         const struct ulp_tensor *values)
{
    if (output->verdict == ULP_PROOF_NOT_PROVEN)
        check_unproven(subject, output, values);
    else if (output->verdict == ULP_PROOF_PROVEN || !subject->overflowed)
        check_proven(subject, output, values);
    subject->values += values->count;
    subject->tensors++;
}

/* Every output of every node; conditional ones while every output that is not proven is finite. */
static enum ulp_status check_node(void *context, const struct ulp_event *event,
                                  struct ulp_error *error)
{
    struct subject *subject = context;
    const struct ulp_proof_node *node = find_node(&subject->proof, event->index);
    (void)error;
    subject->node = node;
    for (size_t o = 0; node && o < event->output_count; o++)
        for (size_t p = 0; p < node->output_count; p++)
            if (strcmp(node->outputs[p].name, event->output_names[o]) == 0 &&
                event->values[o].entire)
                check_output(subject, &node->outputs[p], event->values[o].entire);
    return ULP_OK;
}

static void run_inputs(struct subject *subject, const struct ulp_tensor_set *inputs)
{
    const struct ulp_observer observer = {.context = subject, .node_done = check_node};
    const struct ulp_run_options options = {.thread_count = 1};
    struct ulp_error error;
    subject->overflowed = false;
    for (size_t i = 0; i < inputs->count; i++)
        for (size_t e = 0; subject->proof.inputs[i].beyond && e < inputs->items[i].tensor.count;
             e++)
            subject->overflowed |= !(fabs(ulp_tensor_get(&inputs->items[i].tensor, e)) <=
                                     subject->proof.format.max_finite);
    is_done(subject,
            ulp_program_run(subject->program, inputs, &options, &observer, 1, NULL, NULL, &error),
            &error);
}

/* Inputs of the box: at its ends with probability 3/4, else inside. */
static struct ulp_tensor_set make_inputs(const struct subject *subject, uint64_t seed,
                                         const struct ulp_tensor_set *shapes)
{
    struct ulp_tensor_set out = {0};
    if (subject->make) {
        subject->make(subject->context, seed, &out);
        return out;
    }
    for (size_t i = 0; i < subject->proof.input_count; i++) {
        const struct ulp_proof_input *box = &subject->proof.inputs[i];
        const struct ulp_tensor *shape = shapes ? ulp_tensor_set_find(shapes, box->name) : NULL;
        const struct ulp_value_info info = ulp_model_input(subject->model, i);
        const uint64_t key = ulp_mix(seed) + i;
        struct ulp_tensor tensor;
        ck_ok(ulp_tensor_create(&tensor, shape ? shape->type : info.type, ULP_ELEMENT_COUNT, 0,
                                shape ? shape->rank : info.rank, shape ? shape->dims : info.dims,
                                &why));
        for (size_t e = 0; e < tensor.count; e++) {
            const double u = ulp_random_uniform(key, 2 * e), v = ulp_random_uniform(key, 2 * e + 1),
                         x = u < 0.375  ? box->low
                             : u < 0.75 ? box->high
                                        : box->low + v * (box->high - box->low);
            test_set_element(&tensor, e,
                             tensor.type == ULP_TYPE_BOOL           ? u < 0.5
                             : ulp_element_is_float(tensor.element) ? x
                                                                    : floor(x));
        }
        ck_ok(ulp_tensor_set_add(&out, box->name, &tensor, &why));
    }
    return out;
}

/* ---- climbing ---- */

/* Rows of a table that are tried for an index. */
#define ROWS_TRIED 256

struct climb {
    const struct subject *subject;
    const struct ulp_program *program; /* fp64 */
    struct ulp_tensor *values;         /* by slot */
    struct ulp_tensor_set *inputs;
    uint64_t seed;
};

static int slot_named(const struct ulp_block *block, const char *name)
{
    for (size_t s = 0; s < block->slot_count; s++)
        if (strcmp(block->slots[s].name, name) == 0)
            return (int)s;
    return -1;
}

static enum ulp_status collect(void *context, const struct ulp_event *event,
                               struct ulp_error *error)
{
    struct climb *climb = context;
    for (size_t o = 0; o < event->output_count; o++) {
        const int slot = slot_named(climb->program->main, event->output_names[o]);
        if (slot >= 0 && !climb->values[slot].data)
            ck_ulp_ok(ulp_tensor_copy(&climb->values[slot], event->values[o].entire, NULL, error),
                      *error);
    }
    return ULP_OK;
}

/* The input whose elements, in their order, are the slot's; -1: none. */
static int given_behind(const struct ulp_block *block, int slot)
{
    static const char *const same[] = {"Cast",    "Flatten", "Identity",
                                       "Reshape", "Squeeze", "Unsqueeze"};
    while (slot >= 0 && !block->slots[slot].given) {
        const struct ulp_step *maker = ulp_block_producer(block, slot);
        bool moves = false;
        for (size_t s = 0; maker && s < sizeof same / sizeof *same; s++)
            moves = moves || ulp_step_is(maker, same[s]);
        slot = moves ? maker->inputs[0] : -1;
    }
    return slot;
}

/* Indexes of a table's rows: for each the row with the largest product with the cotangent there, of
 * those that are tried. */
static void choose_rows(struct climb *climb, const struct ulp_step *step, const double *cotangents,
                        size_t count)
{
    const struct ulp_block *block = climb->program->main;
    const struct ulp_tensor *table = block->slots[step->inputs[0]].constant;
    const int slot = given_behind(block, step->inputs[1]);
    if (!table || table->rank != 2 || slot < 0)
        return;
    const size_t width = (size_t)table->dims[1], rows = (size_t)table->dims[0];
    struct ulp_tensor *indexes = NULL;
    const struct ulp_proof_input *box = NULL;
    for (size_t i = 0; i < climb->inputs->count; i++)
        if (strcmp(climb->inputs->items[i].name, block->slots[slot].name) == 0) {
            indexes = &climb->inputs->items[i].tensor;
            box = &climb->subject->proof.inputs[i];
        }
    if (!indexes || indexes->element != ULP_ELEMENT_I64 || count != indexes->count * width)
        return;
    for (size_t p = 0; p < indexes->count; p++) {
        double best = -INFINITY;
        for (size_t t = 0; t < ROWS_TRIED && t < rows; t++) {
            const size_t row =
                rows <= ROWS_TRIED
                    ? t
                    : (size_t)(ulp_random_uniform(climb->seed + t, p) * (double)rows);
            double product = 0;
            if ((double)row < box->low || (double)row > box->high)
                continue;
            for (size_t k = 0; k < width; k++)
                product += cotangents[p * width + k] * ulp_tensor_get(table, row * width + k);
            if (product > best) {
                best = product;
                ((int64_t *)indexes->data)[p] = (int64_t)row;
            }
        }
    }
}

static enum ulp_status see_cotangents(void *context, size_t node, size_t execution, int position,
                                      const double *cotangents, size_t count, double *introduced,
                                      struct ulp_error *error)
{
    struct climb *climb = context;
    const struct ulp_step *step = climb->program->nodes[node].step;
    const struct ulp_block *main = climb->program->main;
    (void)execution, (void)position, (void)introduced, (void)error;
    if (step && step >= main->steps && step < main->steps + main->step_count &&
        ulp_step_is(step, "Gather"))
        choose_rows(climb, step, cotangents, count);
    return ULP_OK;
}

/* The corner of the box to which the gradient of |element| of the slot points. */
static void step_to_corner(struct subject *subject, struct climb *climb,
                           struct ulp_tensor_set *inputs, int target, uint64_t seed)
{
    const struct ulp_block *block = climb->program->main;
    struct ulp_error error;
    scoped_pool *pool = test_pool(1);
    SCOPED_MEMORY bool *stopped = calloc(climb->program->node_count + 1, sizeof *stopped),
                       *passed = calloc(climb->program->node_count + 1, sizeof *passed);
    double **cotangents = calloc(block->slot_count + 1, sizeof *cotangents), *seeded;
    ck_assert(stopped && passed && cotangents);
    for (size_t s = 0; s < block->slot_count; s++)
        if (block->slots[s].given)
            for (size_t i = 0; i < inputs->count; i++)
                if (strcmp(inputs->items[i].name, block->slots[s].name) == 0)
                    climb->values[s] = ulp_tensor_view(&inputs->items[i].tensor);
    const struct ulp_reverse sweep = {.plain = true,
                                      .program = climb->program,
                                      .values = climb->values,
                                      .cotangents = cotangents,
                                      .stopped = stopped,
                                      .passed = passed,
                                      .pool = pool,
                                      .node = see_cotangents,
                                      .context = climb};
    const struct ulp_tensor *value = &climb->values[target];
    ck_ok(ulp_reverse_cotangents(&sweep, target, value->count, &seeded, &why));
    const size_t element = (size_t)(ulp_random_uniform(seed, 0) * (double)value->count);
    seeded[element] = ulp_tensor_get(value, element) < 0 ? -1 : 1;
    const bool swept = is_done(subject, ulp_reverse_run(&sweep, 1, &error), &error);
    for (size_t i = 0; i < inputs->count && swept; i++) {
        const int slot = slot_named(block, inputs->items[i].name);
        const double *gradient = slot >= 0 ? cotangents[slot] : NULL;
        struct ulp_tensor *input = &inputs->items[i].tensor;
        for (size_t e = 0; gradient && ulp_element_is_float(input->element) && e < input->count;
             e++)
            if (gradient[e] != 0)
                test_set_element(input, e,
                                 gradient[e] > 0 ? subject->proof.inputs[i].high
                                                 : subject->proof.inputs[i].low);
    }
    for (size_t s = 0; s < block->slot_count; s++)
        ulp_free(cotangents[s]);
    free(cotangents);
}

/* From random inputs towards the largest magnitude of an element of a node's output. */
static void climb_to(struct subject *subject, const struct ulp_program *exact, int target,
                     uint64_t seed, const struct ulp_tensor_set *shapes)
{
    const size_t slots = exact->main->slot_count;
    struct climb climb = {.subject = subject,
                          .program = exact,
                          .values = calloc(slots + 1, sizeof *climb.values),
                          .seed = seed};
    const struct ulp_observer observer = {.context = &climb, .node_done = collect};
    const struct ulp_run_options options = {.thread_count = 1};
    scoped_tensor_set inputs = make_inputs(subject, seed, shapes);
    struct ulp_error error;
    climb.inputs = &inputs;
    ck_assert_ptr_nonnull(climb.values);
    for (int step = 0; step < 3; step++) {
        if (is_done(subject,
                    ulp_program_run(exact, &inputs, &options, &observer, 1, NULL, NULL, &error),
                    &error) &&
            climb.values[target].count)
            step_to_corner(subject, &climb, &inputs, target, seed);
        for (size_t s = 0; s < slots; s++)
            if (exact->main->slots[s].given)
                climb.values[s] = (struct ulp_tensor){0};
            else
                ulp_tensor_free(&climb.values[s]);
        run_inputs(subject, &inputs);
        subject->climbed++;
    }
    free(climb.values);
}

void attack_randomly(struct subject *subject, size_t count, uint64_t seed,
                     const struct ulp_tensor_set *shapes)
{
    for (size_t s = 0; s < count; s++) {
        scoped_tensor_set inputs = make_inputs(subject, seed + s, shapes);
        run_inputs(subject, &inputs);
        subject->random++;
    }
}

void attack_climbing(struct subject *subject, size_t count, uint64_t seed,
                     const struct ulp_tensor_set *shapes)
{
    const struct ulp_program_options options = {.inputs = shapes};
    scoped_program *exact = NULL;
    struct ulp_error error;
    const struct ulp_arithmetic fp64 = test_arithmetic("fp64");
    if (!is_done(subject, ulp_program_create(subject->model, &fp64, 1, &options, &exact, &error),
                 &error))
        return;
    for (size_t s = 0; s < count; s++) {
        const size_t turn = seed + s;
        const struct ulp_proof_node *node =
            subject->proof.node_count ? &subject->proof.nodes[turn % subject->proof.node_count]
                                      : NULL;
        const int target = node ? slot_named(exact->main, node->outputs[0].name) : -1;
        if (target >= 0)
            climb_to(subject, exact, target, 31 * turn + 5, shapes);
    }
}
