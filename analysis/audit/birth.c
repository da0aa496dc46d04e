/* Births of NaN and infinity in the reference: found as the run goes, followed by names, and held
 * against the outputs afterwards. */
#include "analysis/audit/birth.h"

#include <math.h>
#include <string.h>

#include "analysis/audit/certify.h"
#include "base/error.h"
#include "tensor/tensor.h"

/* As many as a taint has bits; what is born behind so many others is named by none. */
enum { BIRTHS_MAX = 64, OPERANDS_MAX = 8 };

void ulp_birth_forget(struct ulp_birth_watch *watch)
{
    ulp_taint_clear(&watch->taints);
    watch->items = NULL;
    watch->count = watch->capacity = 0;
}

/* ---- what a node reads ---- */

struct counts {
    size_t elements, nan, positive, negative; /* the last two: infinities */
    size_t zeros, below;                      /* 0, and finite below it */
};

static struct counts count_values(const struct ulp_tensor *tensor)
{
    struct counts counts = {.elements = tensor->count};
    for (size_t i = 0; ulp_element_is_float(tensor->element) && i < tensor->count; i++) {
        const double x = ulp_tensor_read(tensor, i);
        if (!isfinite(x) && ulp_judge_is_finite(tensor, i))
            continue; /* a record beyond double's range */
        counts.nan += isnan(x) != 0;
        counts.positive += x == (double)INFINITY;
        counts.negative += x == -(double)INFINITY;
        counts.zeros += x == 0;
        counts.below += x < 0 && isfinite(x);
    }
    return counts;
}

/* By the node's inputs; those of an If, Loop or Scan are not told apart. */
struct read {
    const char *names[OPERANDS_MAX];
    const struct ulp_tensor *tensors[OPERANDS_MAX]; /* NULL: omitted, or not shown */
    struct counts counts[OPERANDS_MAX], all;
    size_t spoilt; /* the first operand that is a constant with NaN; OPERANDS_MAX: none */
};

static const struct ulp_tensor *find_shown(const struct ulp_event *event, const char *name)
{
    for (size_t i = 0; i < event->input_count; i++)
        if (event->input_names[i] == name)
            return event->inputs[i].entire;
    return NULL;
}

static void add_counts(struct counts *all, const struct counts *more)
{
    all->nan += more->nan;
    all->positive += more->positive;
    all->negative += more->negative;
}

static void read_operands(const struct ulp_program_node *node, const struct ulp_event *event,
                          struct read *out)
{
    const struct ulp_step *step = node->step;
    *out = (struct read){.spoilt = OPERANDS_MAX};
    for (size_t i = 0; i < step->input_count; i++) {
        const struct ulp_program_slot *slot =
            step->inputs[i] < 0 ? NULL : &node->block->slots[step->inputs[i]];
        const struct ulp_tensor *tensor = !slot            ? NULL
                                          : slot->constant ? slot->constant
                                                           : find_shown(event, slot->name);
        const struct counts counts = tensor ? count_values(tensor) : (struct counts){0};
        if (slot && slot->constant && counts.nan && i < out->spoilt)
            out->spoilt = i;
        else
            add_counts(&out->all, &counts);
        if (i >= OPERANDS_MAX)
            continue;
        out->names[i] = slot ? slot->name : NULL;
        out->tensors[i] = tensor;
        out->counts[i] = counts;
    }
    for (size_t i = 0; step->bound.blocks && i < event->input_count; i++)
        if (event->inputs[i].entire) {
            const struct counts counts = count_values(event->inputs[i].entire);
            add_counts(&out->all, &counts);
        }
}

/* ---- why ---- */

/* What an operator makes of operands outside of its domain: NaN and infinity by what is 0 or
 * negative in operand `by`. */
static const struct {
    const char *ops, *nan, *infinite;
    size_t by;
    bool negative; /* NaN comes of a negative operand, not of 0 */
} domains[] = {
    {"Div", "0 / 0", "a number / 0", 1, false},
    {"Mod", "a remainder by 0", NULL, 1, false},
    {"Reciprocal", NULL, "1 / 0", 0, false},
    {"Log", "the log of a negative number", "log 0", 0, true},
    {"Sqrt", "the root of a negative number", NULL, 0, true},
    {"Pow", "a power of a negative number", "a power of 0 or too large", 0, true},
    {"ReduceLogSum", "the log of a negative sum", "the log of a sum of 0", 0, true},
    {"ReduceLogSumExp", NULL, "the log of a sum of 0", 0, false},
    {"LayerNormalization BatchNormalization InstanceNormalization GroupNormalization "
     "RMSNormalization SimplifiedLayerNormalization SkipLayerNormalization "
     "SkipSimplifiedLayerNormalization MeanVarianceNormalization LpNormalization",
     "0 / 0, by a variance or norm of 0", "a number / 0, by a variance or norm of 0", 0, false},
    {"QuantizeLinear", "0 / 0, by its scale", "a number / 0, by its scale", 1, false},
    {"Acos Asin Acosh Atanh", "outside of its domain", "at the end of its domain", 0, false},
    {"Exp Cosh Sinh Softplus", NULL, "too large for the reference", 0, false},
};

/* "all of c is 0", "2 of 8 elements of c are negative" */
static void add_part(struct ulp_text *out, const char *name, size_t count, size_t elements,
                     const char *what)
{
    if (!count || !name)
        return;
    if (count == elements)
        ulp_text_show(out, "all of %s is %s", name, what);
    else
        ulp_text_show(out, "%zu of %zu elements of %s %s %s", count, elements, name,
                      count == 1 ? "is" : "are", what);
}

static void describe_infinities(const struct ulp_step *step, const struct read *read,
                                struct ulp_text *is, struct ulp_text *why)
{
    const char *op = step->bound.op->name;
    const bool softmax = ulp_is_word(op, "Softmax LogSoftmax LogSumExp Attention "
                                         "MultiHeadAttention GroupQueryAttention");
    ulp_text_add(is, "%s",
                 softmax && !read->all.positive ? "the softmax of a row of -Inf"
                 : softmax                      ? "Inf - Inf in a softmax"
                 : ulp_is_word(op, "Div")       ? "Inf / Inf"
                 : ulp_is_word(op, "Mul Einsum") || step->bound.op->work == ULP_WORK_CONTRACTION
                     ? ulp_is_word(op, "Mul") ? "0 * Inf" : "0 * Inf or Inf - Inf"
                 : ulp_is_word(op, "Add Sub Sum ReduceSum ReduceMean CumSum")
                     ? "Inf - Inf"
                     : "NaN, of infinities");
    for (size_t i = 0; i < OPERANDS_MAX && !why->length; i++)
        if (read->tensors[i])
            add_part(why, read->names[i], read->counts[i].positive + read->counts[i].negative,
                     read->counts[i].elements, "infinite");
}

/* `is`: the rest of "node 3 Div_3 (Div) is"; why: of its operand, "": not known. */
static void describe_birth(const struct ulp_step *step, const struct read *read, bool nan,
                           struct ulp_text *is, struct ulp_text *why)
{
    const char *op = step->bound.op->name;
    const struct ulp_tensor *first = read->tensors[0];
    if (nan && read->spoilt < OPERANDS_MAX) {
        ulp_text_add(is, "NaN, by a constant");
        add_part(why, read->names[read->spoilt], read->counts[read->spoilt].nan,
                 read->counts[read->spoilt].elements, "NaN");
        return;
    }
    if (nan && read->all.positive + read->all.negative) {
        describe_infinities(step, read, is, why);
        return;
    }
    if (first && !first->count && strncmp(op, "Reduce", 6) == 0) {
        ulp_text_add(is, "%s over no element", op);
        ulp_text_show(why, "%s is empty", read->names[0]);
        return;
    }
    for (size_t d = 0; d < sizeof domains / sizeof *domains; d++) {
        const char *text = nan ? domains[d].nan : domains[d].infinite;
        if (!text || !ulp_is_word(op, domains[d].ops))
            continue;
        const struct counts *counts = &read->counts[domains[d].by];
        const bool negative = nan && domains[d].negative;
        ulp_text_add(is, "%s", text);
        add_part(why, read->names[domains[d].by], negative ? counts->below : counts->zeros,
                 counts->elements, negative ? "negative" : "0");
        return;
    }
    ulp_text_add(is, nan ? "NaN of finite numbers" : "infinite by finite numbers");
}

/* ---- as a run goes ---- */

static enum ulp_status add_birth(struct ulp_birth_watch *watch, const struct ulp_event *event,
                                 const struct read *read, size_t o, const struct counts *counts,
                                 bool nan, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text is = {0};
    ULP_SCOPED(ulp_text_free) struct ulp_text why = {0};
    describe_birth(watch->program->nodes[event->index].step, read, nan, &is, &why);
    struct ulp_arena *memory = watch->memory;
    struct ulp_birth birth = {.node = event->index,
                              .name = ulp_arena_copy(memory, event->name),
                              .op = ulp_arena_copy(memory, event->op),
                              .value = ulp_arena_copy(memory, event->output_names[o]),
                              .is = ulp_text_keep(&is, memory),
                              .why = why.length ? ulp_arena_copy(memory, why.data) : NULL,
                              .sample = watch->sample,
                              .count = counts->nan + counts->positive + counts->negative,
                              .elements = counts->elements};
    ULP_TRY(ulp_taken(birth.name && birth.op && birth.value && birth.is && !why.failed &&
                          (birth.why || !why.length) &&
                          ULP_ARENA_GROWS(watch->items, memory, watch->count, watch->capacity),
                      error));
    watch->items[watch->count++] = birth;
    return ULP_OK;
}

/* What the node reads is not finite by: births, or (nonfinite) inputs of the model. */
static struct ulp_taint gather(const struct ulp_birth_watch *watch, const struct ulp_event *event)
{
    struct ulp_taint all = {0};
    for (size_t i = 0; i < event->input_count; i++) {
        const struct ulp_taint *taint = ulp_taint_find(&watch->taints, event->input_names[i]);
        const struct ulp_tensor *value = event->inputs[i].entire;
        all.births |= taint ? taint->births : 0;
        all.nonfinite |= taint ? taint->nonfinite : value && ulp_judge_count_nonfinite(value);
    }
    return all;
}

static enum ulp_status look_at_output(struct ulp_birth_watch *watch, const struct ulp_event *event,
                                      size_t o, const struct ulp_taint *from,
                                      struct ulp_error *error)
{
    const struct ulp_tensor *value = event->values[o].entire;
    const struct counts counts = value ? count_values(value) : (struct counts){0};
    struct ulp_taint taint = *from;
    taint.name = event->output_names[o];
    if (!(counts.nan + counts.positive + counts.negative)) {
        /* a value computed again, in another iteration, is not what it was */
        return !ulp_taint_find(&watch->taints, taint.name) ||
                       ulp_taint_add(&watch->taints, (struct ulp_taint){.name = taint.name})
                   ? ULP_OK
                   : ulp_out_of_memory(error);
    }
    struct read read;
    read_operands(&watch->program->nodes[event->index], event, &read);
    const bool nan = counts.nan && !read.all.nan;
    const bool born = nan || !(read.all.nan + read.all.positive + read.all.negative);
    /* what follows from inputs that are not finite is meant, or they are named before it */
    if (born && !from->nonfinite && !watch->program->nodes[event->index].step->bound.blocks &&
        watch->count < BIRTHS_MAX) {
        taint.births |= (uint64_t)1 << watch->count;
        ULP_TRY(add_birth(watch, event, &read, o, &counts, nan, error));
    }
    return ulp_taint_add(&watch->taints, taint) ? ULP_OK : ulp_out_of_memory(error);
}

enum ulp_status ulp_birth_look(struct ulp_birth_watch *watch, const struct ulp_event *event,
                               size_t nonfinite, struct ulp_error *error)
{
    if (!nonfinite && !watch->taints.count)
        return ULP_OK;
    const struct ulp_taint from = gather(watch, event);
    for (size_t o = 0; o < event->output_count; o++)
        ULP_TRY(look_at_output(watch, event, o, &from, error));
    return ULP_OK;
}

/* ---- what becomes of them ---- */

/* The births that output o of the graph bears. */
static uint64_t borne_by(const struct ulp_birth_watch *watch, size_t o)
{
    const struct ulp_block *main = watch->program->main;
    const struct ulp_taint *taint =
        ulp_taint_find(&watch->taints, main->slots[main->outputs[o]].name);
    return taint ? taint->births : 0;
}

static enum ulp_status reach(struct ulp_birth_watch *watch, size_t b, size_t o,
                             struct ulp_error *error)
{
    struct ulp_birth *birth = &watch->items[b];
    const char *name = ulp_model_output(watch->program->model, o).name;
    if (!birth->outputs)
        ULP_TAKE(birth->outputs, watch->memory, watch->program->main->output_count, error);
    birth->outputs[birth->output_count] = ulp_arena_copy(watch->memory, name);
    return ulp_taken(birth->outputs[birth->output_count++], error);
}

/* A run in FP64, and the values that are born in it. */
struct trying {
    const struct ulp_birth_watch *watch;
    struct ulp_program *program;
    struct ulp_tensor *born; /* by birth; without data: none of that name was seen */
    struct ulp_tensor_set base;
};

static enum ulp_status keep_born(void *context, const struct ulp_event *event,
                                 struct ulp_error *error)
{
    const struct trying *trying = context;
    for (size_t b = 0; b < trying->watch->count; b++)
        for (size_t o = 0; trying->watch->items[b].node == event->index && o < event->output_count;
             o++)
            if (event->values[o].entire && !trying->born[b].data &&
                trying->program->nodes[event->index].block == trying->program->main &&
                strcmp(event->output_names[o], trying->watch->items[b].value) == 0)
                ULP_TRY(ulp_tensor_copy(&trying->born[b], event->values[o].entire,
                                        ulp_model_budget(trying->program->model), error));
    return ULP_OK;
}

static enum ulp_status open_trying(struct trying *trying, const struct ulp_tensor_set *inputs,
                                   int thread_count, struct ulp_error *error)
{
    const struct ulp_program_options planning = {.inputs = inputs};
    const struct ulp_run_options run = {.thread_count = thread_count};
    const struct ulp_observer observer = {.context = trying,
                                          .node_done = keep_born,
                                          .modes_unused = true};
    struct ulp_arithmetic fp64;
    ULP_TRY(ulp_arithmetic_find("fp64", &fp64, error));
    ULP_TRY(ulp_program_create(trying->watch->program->model, &fp64, 1, &planning, &trying->program,
                               error));
    return ulp_program_look(trying->program, inputs, &run, &observer, NULL, &trying->base, error);
}

static void close_trying(struct trying *trying)
{
    ulp_tensors_free(trying->born, trying->watch->count);
    ulp_tensor_set_free(&trying->base);
    ulp_program_free(trying->program);
}

/* Numbers in place of what is not finite: on both sides of what a comparison or a Clip may hold
 * them against, and not all alike. */
#define INSTEAD 4096.0

static enum ulp_status replace(const struct ulp_tensor *born, double sign, const char *name,
                               struct ulp_tensor_set *out, struct ulp_error *error)
{
    struct ulp_tensor value = {0};
    enum ulp_status status = ulp_tensor_create(&value, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0,
                                               born->rank, born->dims, error);
    value.type = status == ULP_OK ? born->type : value.type;
    for (size_t i = 0; status == ULP_OK && i < born->count; i++) {
        const double x = ulp_tensor_read(born, i);
        ((double *)value.data)[i] = isfinite(x) ? x : sign * INSTEAD * (1 + (double)(i % 7) / 8);
    }
    ULP_THEN(status, ulp_tensor_set_add(out, name, &value, error));
    ulp_tensor_free(&value);
    return status;
}

static bool is_changed(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    bool same = ulp_tensor_same_shape(a, b);
    for (size_t i = 0; same && i < a->count; i++) {
        const double x = ulp_tensor_get(a, i), y = ulp_tensor_get(b, i);
        same = x == y || (isnan(x) && isnan(y));
    }
    return !same;
}

/* Which outputs change with the birth's value: bits of *changed, the first 64. */
static enum ulp_status try_birth(const struct trying *trying, size_t b,
                                 const struct ulp_tensor_set *inputs, int thread_count,
                                 uint64_t *changed, struct ulp_error *error)
{
    *changed = 0;
    for (int sign = -1; trying->born[b].data && sign <= 1; sign += 2) {
        ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set values = {0};
        ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set outputs = {0};
        const struct ulp_run_options run = {.thread_count = thread_count, .given = &values};
        ULP_TRY(replace(&trying->born[b], sign, trying->watch->items[b].value, &values, error));
        const enum ulp_status status =
            ulp_program_run(trying->program, inputs, &run, NULL, 0, &outputs, NULL, error);
        if (status == ULP_ERROR_MEMORY)
            return status;
        if (status != ULP_OK) /* as an index beyond what there is */
            *changed = UINT64_MAX;
        for (size_t o = 0; o < outputs.count && o < 64; o++)
            if (is_changed(&outputs.items[o].tensor, &trying->base.items[o].tensor))
                *changed |= (uint64_t)1 << o;
    }
    return ULP_OK;
}

/* Births that names alone do not settle: several meet in an output, or none bears it. */
static enum ulp_status try_births(struct ulp_birth_watch *watch, bool *hidden,
                                  const struct ulp_tensor_set *inputs, int thread_count,
                                  struct ulp_error *error)
{
    const size_t outputs = watch->program->main->output_count;
    ULP_SCOPED(close_trying) struct trying trying = {.watch = watch};
    ULP_TAKE(trying.born, watch->memory, watch->count, error);
    ULP_TRY(open_trying(&trying, inputs, thread_count, error));
    for (size_t b = 0; b < watch->count; b++) {
        uint64_t changed;
        if (watch->items[b].output_count)
            continue;
        ULP_TRY(try_birth(&trying, b, inputs, thread_count, &changed, error));
        for (size_t o = 0; o < outputs && o < 64; o++) {
            const uint64_t borne = borne_by(watch, o);
            if (!(changed >> o & 1))
                continue;
            if (borne >> b & 1)
                ULP_TRY(reach(watch, b, o, error));
            else
                hidden[b] |= !borne;
        }
        /* of what is born in a body nothing is tried */
        hidden[b] |= watch->program->nodes[watch->items[b].node].block != watch->program->main;
    }
    return ULP_OK;
}

/* Is the output named by a birth? */
static bool is_reached(const struct ulp_birth_watch *watch, size_t o)
{
    return ulp_birth_of(watch->items, watch->count,
                        ulp_model_output(watch->program->model, o).name) != NULL;
}

enum ulp_status ulp_birth_settle(struct ulp_birth_watch *watch, const struct ulp_tensor_set *inputs,
                                 int thread_count, struct ulp_error *error)
{
    const size_t outputs = watch->program->main->output_count;
    bool *hidden, open = false;
    if (!watch->count)
        return ULP_OK;
    ULP_TAKE(hidden, watch->memory, watch->count, error);
    for (size_t o = 0; o < outputs; o++)
        for (size_t b = 0; b < watch->count; b++)
            if (borne_by(watch, o) == (uint64_t)1 << b)
                ULP_TRY(reach(watch, b, o, error));
    for (size_t b = 0; b < watch->count; b++)
        open |= !watch->items[b].output_count;
    if (open)
        ULP_TRY(try_births(watch, hidden, inputs, thread_count, error));
    /* where several make the same NaN, each alone changes nothing: the first */
    for (size_t o = 0; o < outputs; o++)
        for (size_t b = 0; b < watch->count && borne_by(watch, o) && !is_reached(watch, o); b++)
            if (borne_by(watch, o) >> b & 1)
                ULP_TRY(reach(watch, b, o, error));
    size_t kept = 0;
    for (size_t b = 0; b < watch->count; b++)
        if (watch->items[b].output_count || hidden[b])
            watch->items[kept++] = watch->items[b];
    watch->count = kept;
    return ULP_OK;
}

/* ---- by a run of its own ---- */

static enum ulp_status look_at_event(void *context, const struct ulp_event *event,
                                     struct ulp_error *error)
{
    struct ulp_birth_watch *watch = context;
    size_t nonfinite = 0;
    for (size_t o = 0; o < event->output_count; o++)
        nonfinite +=
            event->values[o].entire ? ulp_judge_count_nonfinite(event->values[o].entire) : 0;
    ULP_TRY(ulp_lost_look(&watch->lost, event, NULL, error));
    return ulp_birth_look(watch, event, nonfinite, error);
}

static enum ulp_status watch_run(struct ulp_birth_watch *watch, const struct ulp_model *model,
                                 const struct ulp_arithmetic *arithmetic,
                                 const struct ulp_tensor_set *inputs, int thread_count,
                                 struct ulp_error *error)
{
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    const struct ulp_program_options planning = {.inputs = inputs};
    const struct ulp_run_options run = {.thread_count = thread_count};
    const struct ulp_observer observer = {.context = watch,
                                          .node_done = look_at_event,
                                          .modes_unused = true};
    ULP_TRY(ulp_program_create(model, arithmetic, 1, &planning, &program, error));
    watch->program = watch->lost.program = program;
    watch->taints.budget = watch->lost.values.budget = ulp_model_budget(model);
    ULP_TRY(ulp_program_look(program, inputs, &run, &observer, NULL, NULL, error));
    return ulp_birth_settle(watch, inputs, thread_count, error);
}

enum ulp_status ulp_birth_find(struct ulp_birth_watch *watch, const struct ulp_model *model,
                               const struct ulp_arithmetic *reference,
                               const struct ulp_tensor_set *inputs, int thread_count,
                               struct ulp_certificate *certificate, struct ulp_error *error)
{
    struct ulp_arithmetic fp64;
    const struct ulp_run_options run = {.thread_count = thread_count};
    ULP_TRY(ulp_arithmetic_find("fp64", &fp64, error));
    watch->lost.bits = certificate ? ulp_lost_bits(reference) : 0;
    enum ulp_status status = watch_run(watch, model, &fp64, inputs, thread_count, error);
    if (status == ULP_OK && watch->count && strcmp(reference->name, fp64.name) != 0) {
        ulp_birth_forget(watch);
        status = watch_run(watch, model, reference, inputs, thread_count, error);
    }
    if (status == ULP_OK && watch->lost.suspected) {
        status = ulp_certify(model, reference, inputs, &run, NULL, certificate, error);
        certificate->lost = true;
        certificate->lost_at = watch->lost.node;
    }
    ulp_taint_clear(&watch->taints);
    ulp_taint_clear(&watch->lost.values);
    watch->program = watch->lost.program = NULL;
    return status;
}
