/* Cause "node", where what a runtime makes of an operator is known: each reading of reading.def is
 * given to all nodes of an operator, to those at like places, as in all layers, then to each, and
 * the model so read is run and judged as the model itself would be. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/cause/reread.h"
#include "analysis/compare/comparing.h"
#include "base/error.h"
#include "base/text/text.h"
#include "tensor/tensor.h"

/* Runs: as many as such a cost of all allows, estimated as a step's is, within these: a minute of a
 * core. */
#define COST_MAX 3e11
/* ... and of making a node ready and running it, however little it computes: 3,000 small ones take
 * 60 ms. */
#define NODE_COST 1.2e5
#define TRIED_MIN 48
#define TRIED_MAX 4000
/* Of several that leave about as little, so many times at most, the plainest is told: the one that
 * was tried first. */
#define ALIKE 1.5
#define BEST_MAX 4
/* A bias is fitted to so many elements of each channel at least. */
#define EACH_MIN 4

struct reading {
    const char *ops, *change, *words;
};
static const struct reading readings[] = {
#define READING(operators, change, words) {operators, change, words},
#include "analysis/compare/cause/reading.def"
};
#define READINGS (sizeof readings / sizeof *readings)

/* One trial: a reading of all its nodes, or of one. */
struct trial {
    const struct reading *reading; /* NULL: an input of a node is another value, or nothing */
    size_t only;                   /* a node; SIZE_MAX: several */
    const char *op;                /* of those the ones of this operator */
    unsigned long long place;      /* those of them that have this place; 0: all */
    size_t wired;                  /* of a node alone: which of its inputs is another value */
    int value;                     /* which; reading NULL and only a node */
    size_t changed, first;         /* nodes, and the first of them */
    unsigned long long given;      /* see reread.h */
    size_t order;                  /* in which it was tried */
    double distance;
};

struct trying {
    struct ulp_comparing *comparing;
    size_t file, tensor, runs, runs_max;
    size_t tried;         /* of the runs, those that gave something else than the model as it is, */
    double unchanged;     /* which is so far from what was recorded */
    const bool *suspects; /* by node */
    bool *read;           /* those that the last model reads otherwise */
    const unsigned long long *places; /* by node */
    /* by node: how many suspects have its operator, or place, where it is the first of them; else
     * 0 */
    const size_t *kinds, *leads;
    const struct ulp_suspects *all;
    struct ulp_arithmetic arithmetic;
    const double *ahead; /* see reread.h */
    size_t ahead_count;
    struct trial best[BEST_MAX]; /* the nearest first */
    size_t best_count;
};

static const struct ulp_graph *graph_of(const struct trying *trying)
{
    return trying->comparing->model->graph;
}

/* By node what stands around it: nodes at the same place of each layer have the same. */
static enum ulp_status find_places(const struct ulp_graph *graph, struct ulp_arena *arena,
                                   unsigned long long *places, struct ulp_error *error)
{
    unsigned long long *readers; /* by value */
    ULP_TAKE(readers, arena, graph->value_count + 1, error);
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        places[n] = ulp_hash(node->op_type, strlen(node->op_type));
        for (size_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] >= 0)
                readers[node->inputs[i]] += 7 * places[n];
    }
    for (size_t n = graph->node_count; n-- > 0;) { /* those that it reads have their own yet */
        const struct ulp_node *node = &graph->nodes[n];
        for (size_t i = 0; i < node->input_count; i++) {
            const struct ulp_node *from = ulp_value_producer(graph, node->inputs[i]);
            places[n] =
                places[n] * 31 + (from ? ulp_hash(from->op_type, strlen(from->op_type)) : 1);
        }
        if (node->output_count && node->outputs[0] >= 0)
            places[n] += readers[node->outputs[0]];
        places[n] += !places[n];
    }
    return ULP_OK;
}

struct place {
    unsigned long long place;
    size_t node;
};

static int by_place(const void *a, const void *b)
{
    const struct place *one = a, *other = b;
    if (one->place != other->place)
        return one->place < other->place ? -1 : 1;
    return one->node < other->node ? -1 : one->node > other->node;
}

static enum ulp_status find_leads(const struct trying *trying, bool of_places, size_t *leads,
                                  struct ulp_error *error)
{
    struct place *sorted;
    size_t count = 0, first = 0;
    ULP_TAKE(sorted, trying->comparing->arena, graph_of(trying)->node_count + 1, error);
    for (size_t n = 0; n < graph_of(trying)->node_count; n++) {
        const char *op = graph_of(trying)->nodes[n].op_type;
        if (trying->suspects[n])
            sorted[count++] =
                (struct place){of_places ? trying->places[n] : ulp_hash(op, strlen(op)), n};
    }
    qsort(sorted, count, sizeof *sorted, by_place);
    for (size_t i = 0; i < count; i++) {
        first = i && sorted[i - 1].place == sorted[i].place ? first : i;
        leads[sorted[first].node]++;
    }
    return ULP_OK;
}

static void find_suspects(const struct trying *trying, bool *suspects)
{
    const struct ulp_graph *graph = graph_of(trying);
    for (size_t s = 0; s < trying->all->count; s++) {
        const size_t n = trying->all->steps[s]->node->index;
        if (n < graph->node_count && &graph->nodes[n] == trying->all->steps[s]->node)
            suspects[n] = true; /* and not of a body, or a function */
    }
}

static bool is_read(const struct trying *trying, const struct trial *trial, size_t n)
{
    return trying->suspects[n] && (trial->only == SIZE_MAX || trial->only == n) &&
           (!trial->op || strcmp(trial->op, graph_of(trying)->nodes[n].op_type) == 0) &&
           (!trial->place || trial->place == trying->places[n]) &&
           (*trial->reading->ops == '*' ||
            ulp_is_word(graph_of(trying)->nodes[n].op_type, trial->reading->ops));
}

static enum ulp_status reread(const struct trying *trying, struct trial *trial,
                              struct ulp_reread *out, struct ulp_error *error)
{
    const struct ulp_graph *graph = graph_of(trying);
    size_t most = 1;
    for (size_t n = 0; n < graph->node_count && trial->reading; n++)
        most += is_read(trying, trial, n);
    ULP_TRY(ulp_reread_open(trying->comparing->program, most, out, error));
    out->target = trying->comparing->out->tensors[trying->tensor].node;
    out->ahead = trying->ahead;
    out->ahead_count = trying->ahead_count;
    trial->changed = 0;
    memset(trying->read, 0, graph->node_count * sizeof *trying->read);
    if (!trial->reading && trial->only != SIZE_MAX) {
        trial->changed = 1;
        trial->first = trial->only;
        trying->read[trial->only] = true;
        ULP_TRY(
            ulp_reread_set_input(out, &out->nodes[trial->only], trial->wired, trial->value, error));
    }
    for (size_t n = graph->node_count; n-- > 0 && trial->reading;) {
        bool changed = false;
        if (!is_read(trying, trial, n))
            continue;
        ULP_TRY(ulp_reread_node(out, n, trial->reading->change, &changed, error));
        trial->changed += changed;
        trying->read[n] = changed;
        trial->first = changed ? n : trial->first;
    }
    trial->given = out->given;
    out->model.graph = &out->graph;
    return ULP_OK;
}

static bool is_ours(enum ulp_status status)
{
    return status == ULP_ERROR_MEMORY || status == ULP_ERROR_CANCELLED;
}

/* How far the tensor is from what was recorded then. */
static enum ulp_status measure(struct trying *trying, struct trial *trial, struct ulp_error *error)
{
    struct ulp_program *program = NULL;
    struct ulp_comparing *comparing = trying->comparing;
    const struct ulp_program_options options = {.inputs = comparing->inputs};
    struct ulp_reread read = {0};
    trial->distance = INFINITY;
    enum ulp_status status = reread(trying, trial, &read, error);
    if (status == ULP_OK && (trial->changed || !trial->reading)) {
        trying->runs++;
        status = ulp_program_create(&read.model, &trying->arithmetic, 1, &options, &program, error);
        if (status == ULP_OK)
            status =
                ulp_guess_distance(comparing, program, comparing->inputs, NULL,
                                   comparing->out->tensors[trying->tensor].name,
                                   ulp_recorded(&comparing->work[trying->tensor], trying->file),
                                   &trial->distance, error);
        if (!is_ours(status))
            status = ULP_OK; /* nobody can have read it so */
    }
    ulp_program_free(program);
    ulp_arena_free(read.arena);
    return status;
}

/* By channel, of which there must be many elements each, or any error would be one of the bias. */
static enum ulp_status find_ahead(struct trying *trying, struct ulp_error *error)
{
    const struct ulp_compared_tensor *target = &trying->comparing->out->tensors[trying->tensor];
    const struct ulp_compared_work *work = &trying->comparing->work[trying->tensor];
    const struct ulp_tensor *recorded = ulp_recorded(work, trying->file);
    const int axis = strncmp(target->op, "Conv", 4) == 0 ? 1 : target->rank - 1;
    double *ahead;
    size_t after = 1;
    if (axis < 0 || axis >= target->rank || !work->reference || recorded->count != work->count)
        return ULP_OK;
    const size_t channels = (size_t)target->dims[axis];
    for (int d = axis + 1; d < target->rank; d++)
        after *= (size_t)target->dims[d];
    ULP_TAKE(ahead, trying->comparing->arena, channels + 1, error);
    for (size_t i = 0; i < work->count; i++)
        ahead[i / after % channels] += (ulp_tensor_get(recorded, i) - work->reference[i]) *
                                       (double)channels / (double)work->count;
    trying->ahead = ahead;
    trying->ahead_count = work->count < EACH_MIN * channels ? 0 : channels;
    return ULP_OK;
}

static enum ulp_status prepare(struct trying *trying, struct ulp_error *error)
{
    const size_t nodes = graph_of(trying)->node_count + 1;
    struct ulp_arena *arena = trying->comparing->arena;
    unsigned long long *places;
    size_t *kinds, *leads;
    bool *suspects;
    struct trial none = {.only = SIZE_MAX};
    ULP_TAKE(places, arena, nodes, error);
    ULP_TAKE(suspects, arena, nodes, error);
    ULP_TAKE(kinds, arena, nodes, error);
    ULP_TAKE(leads, arena, nodes, error);
    ULP_TAKE(trying->read, arena, nodes, error);
    trying->places = places;
    trying->suspects = suspects;
    trying->kinds = kinds;
    trying->leads = leads;
    find_suspects(trying, suspects);
    ULP_TRY(find_places(graph_of(trying), arena, places, error));
    ULP_TRY(find_leads(trying, false, kinds, error));
    ULP_TRY(find_leads(trying, true, leads, error));
    const double runs =
        COST_MAX / (trying->comparing->program->main->cost + NODE_COST * (double)nodes);
    trying->runs_max = runs < TRIED_MIN ? TRIED_MIN : runs > TRIED_MAX ? TRIED_MAX : (size_t)runs;
    trying->comparing->part_count += trying->runs_max;
    ULP_TRY(find_ahead(trying, error));
    ULP_TRY(measure(trying, &none, error));
    trying->unchanged = none.distance;
    return ULP_OK;
}

static bool is_left(const struct trying *trying)
{
    return trying->runs < trying->runs_max;
}

/* The same attributes of the same nodes, as where an axis is counted from the other end. */
static bool is_same(const struct trial *one, const struct trial *other)
{
    return one->given && one->given == other->given && one->first == other->first &&
           one->changed == other->changed && one->distance == other->distance;
}

static void keep(struct trying *trying, const struct trial *trial)
{
    size_t at = trying->best_count;
    for (size_t b = 0; b < trying->best_count; b++)
        if (is_same(&trying->best[b], trial))
            return;
    while (at && trial->distance < trying->best[at - 1].distance)
        at--;
    if (at == BEST_MAX)
        return;
    trying->best_count += trying->best_count < BEST_MAX;
    memmove(&trying->best[at + 1], &trying->best[at],
            (trying->best_count - 1 - at) * sizeof *trial);
    trying->best[at] = *trial;
}

static enum ulp_status try_one(struct trying *trying, struct trial trial, struct ulp_error *error)
{
    if (!is_left(trying))
        return ULP_OK;
    ULP_TRY(measure(trying, &trial, error));
    if (!(trial.distance < INFINITY) || trial.distance == trying->unchanged)
        return ULP_OK;
    trial.order = trying->tried++;
    keep(trying, &trial);
    return ULP_OK;
}

enum extent { ALL, PLACES, NODES, EXTENTS };

/* Does it stand for others of that extent, or for itself, that no wider extent was tried with? */
static bool stands(const struct trying *trying, enum extent extent, size_t n)
{
    return extent == ALL      ? trying->kinds[n] > 0
           : extent == PLACES ? trying->leads[n] > 1 && trying->leads[n] != trying->kinds[n]
                              : trying->kinds[n] != 1;
}

static enum ulp_status try_reading(struct trying *trying, const struct reading *reading,
                                   enum extent extent, struct ulp_error *error)
{
    for (size_t n = 0; n < graph_of(trying)->node_count && is_left(trying); n++) {
        struct trial trial = {.reading = reading,
                              .only = extent == NODES ? n : SIZE_MAX,
                              .op = graph_of(trying)->nodes[n].op_type,
                              .place = extent == PLACES ? trying->places[n] : 0};
        if (is_read(trying, &trial, n) && stands(trying, extent, n))
            ULP_TRY(try_one(trying, trial, error));
    }
    return ULP_OK;
}

static enum ulp_status try_readings(struct trying *trying, enum extent extent,
                                    struct ulp_error *error)
{
    for (size_t r = 0; r < READINGS; r++)
        ULP_TRY(try_reading(trying, &readings[r], extent, error));
    return ULP_OK;
}

/* By value: its shape; NULL: it is a constant, or its shape is not known. */
static enum ulp_status list_shapes(const struct trying *trying, const struct ulp_tensor ***out,
                                   struct ulp_error *error)
{
    const struct ulp_graph *graph = graph_of(trying);
    const struct ulp_program *program = trying->comparing->program;
    ULP_TAKE(*out, trying->comparing->arena, graph->value_count + 1, error);
    for (size_t v = 0; v < graph->value_count; v++) {
        const int at = ulp_program_find_slot(program, graph->values[v].name);
        const struct ulp_program_slot *slot = at < 0 ? NULL : &program->main->slots[at];
        if (slot && !slot->constant && slot->shape.type != ULP_TYPE_UNDEFINED)
            (*out)[v] = &slot->shape;
    }
    return ULP_OK;
}

/* A node with several inputs that reads another value of the same shape, as of a buffer that is not
 * what it is taken for. */
static enum ulp_status try_wires(struct trying *trying, struct ulp_error *error)
{
    const struct ulp_graph *graph = graph_of(trying);
    const struct ulp_tensor **shapes;
    ULP_TRY(list_shapes(trying, &shapes, error));
    for (size_t n = 0; n < graph->node_count && is_left(trying); n++)
        for (size_t i = 0; i < graph->nodes[n].input_count; i++) {
            const int own = graph->nodes[n].inputs[i];
            const size_t values = graph->value_count;
            for (size_t v = 0; v < values && trying->suspects[n] && own >= 0 && shapes[own]; v++)
                if (graph->nodes[n].input_count > 1 && (int)v != own && shapes[v] &&
                    graph->values[v].producer < (int)n && shapes[v]->type == shapes[own]->type &&
                    ulp_tensor_same_shape(shapes[v], shapes[own]))
                    ULP_TRY(try_one(trying, (struct trial){.only = n, .wired = i, .value = (int)v},
                                    error));
        }
    return ULP_OK;
}

/* Is everything that was recorded explained by the model read so? */
static enum ulp_status verify(struct trying *trying, struct trial *trial, bool *sure,
                              struct ulp_error *error)
{
    ULP_SCOPED(ulp_comparison_free) struct ulp_comparison again = {0};
    struct ulp_comparing changed = *trying->comparing;
    struct ulp_reread read = {0};
    enum ulp_status status = reread(trying, trial, &read, error);
    changed.model = &read.model;
    if (status == ULP_OK)
        status = ulp_compare_again(&changed, trying->comparing->inputs, trying->file,
                                   trying->comparing->options->arithmetics,
                                   trying->comparing->asked, &again, error);
    *sure = status == ULP_OK && again.files[0].explained;
    ulp_arena_free(read.arena);
    return is_ours(status) ? status : ULP_OK;
}

static void say_reading(const struct trying *trying, const struct trial *trial,
                        struct ulp_text *text)
{
    const struct reading *reading = trial->reading;
    const struct ulp_graph *graph = graph_of(trying);
    if (!reading) {
        ulp_text_show(text, "with '%s' in place of its input '%s'",
                      graph->values[trial->value].name,
                      graph->values[graph->nodes[trial->only].inputs[trial->wired]].name);
        return;
    }
    if (reading->words)
        ulp_text_add(text, "%s", reading->words);
    else if (strncmp(reading->change, "@left", 5) == 0 ||
             strncmp(reading->change, "@skipped", 8) == 0)
        ulp_text_add(text, "by handing on its input %s, as if it were left out",
                     strchr(reading->change, '=') + 1);
    else
        ulp_text_add(text, "with %s", reading->change);
}

static void say_trial(const struct trying *trying, const struct trial *trial, bool only,
                      struct ulp_text *text)
{
    const struct ulp_node *node = &graph_of(trying)->nodes[trial->first];
    ulp_text_show(text, "node %s (%s)", node->name, node->op_type);
    if (trial->changed > 1)
        ulp_text_add(text, " and %zu more %s", trial->changed - 1,
                     trial->place ? "at like places" : "of its kind");
    ulp_text_add(text, " %s computed ",
                 !only                ? "may have been"
                 : trial->changed > 1 ? "were"
                                      : "was");
    say_reading(trying, trial, text);
}

/* Does it leave as little as what is told, so that what was recorded does not tell them apart? */
static bool is_alike(const struct trial *told, const struct trial *other)
{
    return other->order != told->order && other->distance <= told->distance * ALIKE;
}

static void say_trials(const struct trying *trying, const struct trial *told, struct ulp_text *text)
{
    bool only = true;
    for (size_t b = 0; b < trying->best_count; b++)
        only &= !is_alike(told, &trying->best[b]);
    say_trial(trying, told, only, text);
    ulp_text_add(text, ": with that everything that was recorded is explained.");
    for (size_t b = 0; b < trying->best_count; b++)
        if (is_alike(told, &trying->best[b])) {
            ulp_text_show(text, " It cannot be told from this: ");
            say_trial(trying, &trying->best[b], false, text);
            ulp_text_add(text, ".");
        }
}

static enum ulp_status tell(const struct trying *trying, const struct trial *trial,
                            struct ulp_cause *cause, struct ulp_error *error)
{
    struct ulp_text text = {0}, todo = {0};
    const struct ulp_node *node = &graph_of(trying)->nodes[trial->first];
    const bool attribute =
        trial->reading && *trial->reading->change != '@' && !trial->reading->words;
    say_trials(trying, trial, &text);
    ulp_text_show(&todo,
                  "where the recording is right, %s %s; where the graph is, mend it in the "
                  "runtime or write the node in other operators there",
                  attribute ? "give the node" : "change the graph at",
                  attribute ? trial->reading->change : node->name);
    ULP_TRY(ulp_cause_set(trying->comparing, cause, ULP_CAUSE_NODE, &text, NULL, error));
    cause->todo = todo.failed ? NULL : ulp_comparing_text(trying->comparing, todo.data);
    ulp_text_free(&todo);
    ULP_TAKE(cause->nodes, trying->comparing->out->memory, trial->changed, error);
    bool whole = cause->todo;
    for (size_t n = 0; n < graph_of(trying)->node_count; n++)
        if (trying->read[n]) {
            char *name = ulp_comparing_text(trying->comparing, graph_of(trying)->nodes[n].name);
            cause->nodes[cause->node_count++] = name;
            whole = whole && name;
        }
    return ulp_taken(whole, error);
}

/* The plainest of the best; that one is no longer among them where it does not explain all. */
static enum ulp_status tell_plainest(struct trying *trying, struct ulp_cause *cause,
                                     struct ulp_error *error)
{
    struct trial *const best = trying->best;
    size_t at = 0;
    bool sure;
    for (size_t b = 1; b < trying->best_count; b++)
        if (best[b].distance <= best[0].distance * ALIKE && best[b].order < best[at].order)
            at = b;
    struct trial trial = best[at];
    ULP_TRY(verify(trying, &trial, &sure, error));
    if (sure)
        return tell(trying, &trial, cause, error);
    memmove(&best[at], &best[at + 1], (--trying->best_count - at) * sizeof *best);
    return ULP_OK;
}

/* Is one so good that it can be told? */
static enum ulp_status tell_best(struct trying *trying, struct ulp_cause *cause,
                                 struct ulp_error *error)
{
    const struct ulp_compared_value *value =
        &trying->comparing->out->tensors[trying->tensor].values[trying->file];
    const double whole =
        trying->comparing->work[trying->tensor].chosen ? value->matched : value->truth.rms;
    while (trying->best_count && !cause->text &&
           !ulp_is_chance(trying->comparing, trying->tensor, trying->tried,
                          trying->best[0].distance / whole))
        ULP_TRY(tell_plainest(trying, cause, error));
    return ULP_OK;
}

enum ulp_status ulp_explain_reading(struct ulp_comparing *comparing, size_t file, size_t tensor,
                                    const struct ulp_suspects *suspects, struct ulp_cause *cause,
                                    struct ulp_error *error)
{
    struct trying trying = {.comparing = comparing,
                            .file = file,
                            .tensor = tensor,
                            .all = suspects,
                            .arithmetic = comparing->options->arithmetics[0]};
    ULP_TRY(prepare(&trying, error));
    for (int extent = 0; extent <= EXTENTS && !cause->text; extent++) {
        ULP_TRY(extent < EXTENTS ? try_readings(&trying, (enum extent)extent, error)
                                 : try_wires(&trying, error));
        ULP_TRY(tell_best(&trying, cause, error));
    }
    return ULP_OK;
}
