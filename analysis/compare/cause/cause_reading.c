/* Cause "node", where what a runtime makes of an operator is known: each reading of reading.def is
 * tried on each node alone (reading_alone.c), then, the likeliest first, on nodes of an operator,
 * on those at like places, as in all layers, and on each, in as much of the graph as lies between
 * it and the tensor. What explains that is judged as the model itself would be. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/cause/readings.h"
#include "base/error.h"
#include "base/text/text.h"
#include "number/function/math.h"

/* So much is computed, as a step's cost is: a minute or two of a core, or so many runs. */
#define COST_MAX 3e11
#define RUNS_MIN 96
/* Of several that leave about as little, so many times at most, the plainest is told. */
#define ALIKE 1.5
#define BEST_MAX 4
/* One that leaves less is told after so many more have been tried. */
#define FOUND 0.1
#define FURTHER 16
/* A bias is fitted to so many elements of each channel at least. */
#define EACH_MIN 4

/* Its words with what `from` stands for, and the next list's number one less. */
static const char *fill(struct ulp_arena *arena, const char *words, const char *with, size_t length)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    for (; words && *words; words++)
        if (words[0] == '$' && words[1] == '1')
            ulp_text_add(&text, "%.*s", (int)length, with), words++;
        else if (words[0] == '$' && words[1] == '2')
            ulp_text_add(&text, "$1"), words++;
        else
            ulp_text_add(&text, "%c", *words);
    return text.failed || !text.data ? NULL : ulp_arena_copy(arena, text.data);
}

/* One row, or one for each of what its lists hold. */
static enum ulp_status add_readings(struct ulp_trying *trying, const char *ops, const char *change,
                                    const char *words, struct ulp_error *error)
{
    struct ulp_arena *const arena = trying->comparing->arena;
    const char *open = strchr(change, '('), *close = open ? strchr(open, ')') : NULL;
    struct ulp_known_reading *reading;
    if (!close) {
        ULP_TAKE(reading, arena, 1, error);
        *reading = (struct ulp_known_reading){ops, change, words, trying->reading_count++, NULL};
        *trying->last = reading;
        trying->last = &reading->next;
        return ULP_OK;
    }
    for (const char *at = open + 1, *end; at < close; at = end + 1) {
        end = at + strcspn(at, "|)");
        const char *one = ulp_arena_say(arena, "%.*s%.*s%s", (int)(open - change), change,
                                        (int)(end - at), at, close + 1),
                   *said = fill(arena, words, at, (size_t)(end - at));
        ULP_TRY(ulp_taken(one && (said || !words), error));
        ULP_TRY(add_readings(trying, ops, one, said, error));
    }
    return ULP_OK;
}

static enum ulp_status list_readings(struct ulp_trying *trying, struct ulp_error *error)
{
    static const char *const rows[][3] = {
#define READING(operators, change, words) {operators, change, words},
#include "analysis/compare/cause/reading.def"
    };
    trying->last = &trying->readings;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        ULP_TRY(add_readings(trying, rows[r][0], rows[r][1], rows[r][2], error));
    return ULP_OK;
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

/* By channel, of which there must be many elements each, or any error would be one of the bias. */
static enum ulp_status find_ahead(struct ulp_trying *trying, struct ulp_error *error)
{
    const struct ulp_compared_tensor *target = &trying->comparing->out->tensors[trying->tensor];
    const struct ulp_compared_work *work = &trying->comparing->work[trying->tensor];
    const struct ulp_tensor *recorded = ulp_recorded(work, trying->file);
    const int axis = strncmp(target->op, "Conv", 4) == 0 ? 1 : target->rank - 1;
    size_t after = 1;
    if (axis < 0 || axis >= target->rank || !work->reference || recorded->count != work->count)
        return ULP_OK;
    const size_t channels = (size_t)target->dims[axis];
    for (int d = axis + 1; d < target->rank; d++)
        after *= (size_t)target->dims[d];
    ULP_TAKE_ARRAY(double, ahead, trying->comparing->arena, channels + 1, error);
    for (size_t i = 0; i < work->count; i++)
        ahead[i / after % channels] += (ulp_tensor_get(recorded, i) - work->reference[i]) *
                                       (double)channels / (double)work->count;
    trying->ahead = ahead;
    trying->ahead_count = work->count < EACH_MIN * channels ? 0 : channels;
    return ULP_OK;
}

/* By value: its shape; NULL: it is a constant, or its shape is not known. */
static enum ulp_status list_shapes(struct ulp_trying *trying, struct ulp_error *error)
{
    const struct ulp_graph *graph = ulp_trying_graph(trying);
    const struct ulp_program *program = trying->comparing->program;
    ULP_TAKE(trying->shapes, trying->comparing->arena, graph->value_count + 1, error);
    for (size_t v = 0; v < graph->value_count; v++) {
        const int at = ulp_program_find_slot(program, graph->values[v].name);
        const struct ulp_program_slot *slot = at < 0 ? NULL : &program->main->slots[at];
        if (slot && !slot->constant && slot->shape.type != ULP_TYPE_UNDEFINED)
            trying->shapes[v] = &slot->shape;
    }
    return ULP_OK;
}

static enum ulp_status prepare(struct ulp_trying *trying, const struct ulp_suspects *all,
                               struct ulp_error *error)
{
    struct ulp_comparing *comparing = trying->comparing;
    const size_t nodes = ulp_trying_graph(trying)->node_count + 1;
    const struct ulp_run_options run = ulp_comparing_runs(comparing);
    unsigned long long *places;
    ULP_TAKE(places, comparing->arena, nodes, error);
    ULP_TAKE_ARRAY(bool, suspects, comparing->arena, nodes, error);
    ULP_TAKE(trying->read, comparing->arena, nodes, error);
    trying->places = places;
    trying->suspects = suspects;
    trying->target =
        ulp_reread_find(ulp_trying_graph(trying), comparing->out->tensors[trying->tensor].name);
    for (size_t s = 0; s < all->count; s++)
        suspects[ulp_trying_node(trying, all->steps[s])] = true;
    suspects[nodes - 1] = false;
    ULP_TRY(list_readings(trying, error));
    ULP_TAKE(trying->left, comparing->arena, nodes, error);
    ULP_TRY(find_places(ulp_trying_graph(trying), comparing->arena, places, error));
    ULP_TRY(find_ahead(trying, error));
    ULP_TRY(list_shapes(trying, error));
    ULP_TRY(ulp_cut_open(&trying->base, comparing->program, comparing->options->arithmetics,
                         comparing->inputs, suspects, &run, error));
    const struct ulp_tensor *value =
        trying->target < 0 ? NULL
                           : ulp_cut_value(&trying->base, ulp_trying_graph(trying), trying->target);
    trying->unchanged = INFINITY;
    return value ? ulp_compare_distance(comparing, trying->file, trying->tensor, value,
                                        &trying->unchanged, error)
                 : ULP_OK;
}

/* ---- which are tried, and when ---- */

struct candidates {
    struct ulp_tried_reading *items;
    size_t count;
};

/* By reading, operator and place. */
static int by_kind(const void *a, const void *b)
{
    const struct ulp_tried_reading *one = a, *other = b;
    const int op = strcmp(one->op, other->op);
    const size_t number = one->reading ? one->reading->number : 0,
                 second = other->reading ? other->reading->number : 0;
    return number != second             ? (number < second ? -1 : 1)
           : op                         ? op
           : one->place != other->place ? (one->place < other->place ? -1 : 1)
           : one->only != other->only   ? (one->only < other->only ? -1 : 1)
           : one->wired != other->wired ? (one->wired < other->wired ? -1 : 1)
                                        : one->value - other->value;
}

enum extent { ALL, PLACES, NODES };

/* To first order, what changes of several nodes make is their sum. */
static void add_candidate(const struct ulp_trying *trying, struct candidates *candidates,
                          const struct ulp_tried_reading *items, size_t count, enum extent extent)
{
    struct ulp_tried_reading *to = &candidates->items[candidates->count++];
    const size_t reading = items->reading ? items->reading->number : items->wired;
    *to = *items;
    to->order = (extent * trying->reading_count + reading) * 100000 + items->only;
    if (extent == NODES)
        return;
    to->only = SIZE_MAX;
    to->place = extent == PLACES ? items->place : 0;
    for (size_t i = 1; i < count; i++) {
        to->result = 31 * to->result + items[i].result;
        to->told &= items[i].told;
        for (size_t p = 0; p < ULP_PROBES; p++)
            to->moved[p] += items[i].moved[p];
    }
}

/* Ends of what begins at `first` and is of one operator, or of one place of it. */
static size_t end_of(const struct ulp_trying *trying, size_t first, bool place)
{
    size_t end = first + 1;
    while (end < trying->alone_count &&
           trying->alone[end].reading == trying->alone[first].reading &&
           strcmp(trying->alone[end].op, trying->alone[first].op) == 0 &&
           (!place || trying->alone[end].place == trying->alone[first].place))
        end++;
    return end;
}

static enum ulp_status list_candidates(const struct ulp_trying *trying, struct candidates *out,
                                       struct ulp_error *error)
{
    struct ulp_tried_reading *alone = trying->alone;
    for (size_t i = 0; i < trying->alone_count; i++) {
        alone[i].op = ulp_trying_graph(trying)->nodes[alone[i].only].op_type;
        alone[i].place = trying->places[alone[i].only];
    }
    if (trying->alone_count)
        qsort(alone, trying->alone_count, sizeof *alone, by_kind);
    ULP_TAKE(out->items, trying->comparing->arena, 3 * trying->alone_count + 1, error);
    for (size_t i = 0, all = 0, place = 0, first = 0; i < trying->alone_count; i++) {
        if (i == all) {
            first = i;
            all = end_of(trying, i, false);
            if (all > i + 1 && alone[i].reading)
                add_candidate(trying, out, &alone[i], all - i, ALL);
        }
        if (i == place) {
            place = end_of(trying, i, true);
            if (place > i + 1 && alone[i].reading && (i != first || place != all))
                add_candidate(trying, out, &alone[i], place - i, PLACES);
        }
        add_candidate(trying, out, &alone[i], 1, NODES);
    }
    return ULP_OK;
}

/* What a change is to make of the tensor, and what it makes by the probes: how much of the error it
 * leaves, and how far its direction is from the error's. */
static void find_nearness(const struct ulp_trying *trying, const struct ulp_tried_reading *trial,
                          double *left, double *aside)
{
    const double part = trial->moved[0] / trying->seeds[0];
    double across = 0;
    for (size_t p = 1; p < ULP_PROBES; p++) {
        const double d = trial->moved[p] - part * trying->seeds[p];
        across += d * d / (ULP_PROBES - 1) / trying->seeds[0];
    }
    *left = sqrt((1 - part) * (1 - part) + across);
    *aside = part > 0 ? sqrt(across / (part * part + across)) : 1;
}

struct rank {
    double by;
    size_t order, item;
};

static int by_rank(const void *a, const void *b)
{
    const struct rank *one = a, *other = b;
    return one->by != other->by         ? (one->by < other->by ? -1 : 1)
           : one->order != other->order ? (one->order < other->order ? -1 : 1)
                                        : (one->item > other->item) - (one->item < other->item);
}

static int by_key(const void *a, const void *b)
{
    const struct ulp_tried_reading *one = a, *other = b;
    return one->key != other->key       ? (one->key < other->key ? -1 : 1)
           : one->order != other->order ? (one->order < other->order ? -1 : 1)
                                        : by_kind(a, b);
}

/* In turns those that leave least, those whose direction is nearest, and the plainest of the
 * others. */
static enum ulp_status order_candidates(const struct ulp_trying *trying, struct candidates *all,
                                        struct ulp_error *error)
{
    ULP_TAKE_ARRAY(struct rank, ranks, trying->comparing->arena, all->count + 1, error);
    for (size_t i = 0; i < all->count; i++)
        all->items[i].key = INFINITY;
    for (int turn = 0; turn < 3; turn++) {
        size_t count = 0;
        for (size_t i = 0; i < all->count; i++) {
            double by[3] = {0};
            if (all->items[i].told == (turn == 2))
                continue;
            if (turn < 2)
                find_nearness(trying, &all->items[i], &by[0], &by[1]);
            ranks[count++] = (struct rank){by[turn], all->items[i].order, i};
        }
        if (count)
            qsort(ranks, count, sizeof *ranks, by_rank);
        for (size_t r = 0; r < count; r++) {
            struct ulp_tried_reading *item = &all->items[ranks[r].item];
            item->key = ulp_math_min(item->key, (double)(3 * r) + turn);
        }
    }
    if (all->count)
        qsort(all->items, all->count, sizeof *all->items, by_key);
    return ULP_OK;
}

/* ---- the best ---- */

struct best {
    struct ulp_tried_reading items[BEST_MAX]; /* the nearest first */
    size_t count;
    double whole; /* the tensor's error */
};

/* The same attributes of the same nodes, as where an axis is counted from the other end, or the
 * same in the same words. */
static bool is_same(const struct ulp_tried_reading *one, const struct ulp_tried_reading *other)
{
    const bool told = one->reading && other->reading && one->reading->words &&
                      other->reading->words &&
                      strcmp(one->reading->words, other->reading->words) == 0;
    return ((one->given && one->given == other->given) || told) && one->first == other->first &&
           one->changed == other->changed && one->distance == other->distance;
}

static void keep(struct best *best, const struct ulp_tried_reading *trial)
{
    size_t at = best->count;
    for (size_t b = 0; b < best->count; b++)
        if (is_same(&best->items[b], trial))
            return;
    while (at && (trial->distance < best->items[at - 1].distance ||
                  (trial->distance == best->items[at - 1].distance &&
                   trial->order < best->items[at - 1].order)))
        at--;
    if (at == BEST_MAX)
        return;
    best->count += best->count < BEST_MAX;
    memmove(&best->items[at + 1], &best->items[at], (best->count - 1 - at) * sizeof *trial);
    best->items[at] = *trial;
}

/* Is everything that was recorded explained by the model read so? */
static enum ulp_status verify_read(const struct ulp_trying *trying, struct ulp_tried_reading *trial,
                                   bool *sure, struct ulp_error *error)
{
    struct ulp_reread read = {0};
    *sure = false;
    if (ulp_compare_is_last(trying->comparing)) {
        trying->left[trial->first] = true;
        return ULP_OK;
    }
    enum ulp_status status = ulp_tried_reread(trying, trial, &read, error);
    ULP_THEN(status, ulp_compare_explains(trying->comparing, &read.model, trying->comparing->inputs,
                                          trying->file, sure, error));
    ulp_arena_free(read.arena);
    return ulp_program_refuses(status) ? ULP_OK : status;
}

/* ... or read so behind the tensor, too: what a runtime makes of an operator it makes of all. */
static enum ulp_status verify(struct ulp_trying *trying, struct ulp_tried_reading *trial,
                              bool *sure, struct ulp_error *error)
{
    const size_t nodes = ulp_trying_graph(trying)->node_count;
    ULP_TRY(verify_read(trying, trial, sure, error));
    if (*sure || !trial->reading)
        return ULP_OK;
    struct ulp_tried_reading all = *trial;
    bool *const suspects = trying->suspects;
    ULP_TAKE(trying->suspects, trying->comparing->arena, nodes + 1, error);
    memset(trying->suspects, true, nodes);
    all.only = SIZE_MAX;
    all.place = 0;
    const enum ulp_status status = verify_read(trying, &all, sure, error);
    trying->suspects = suspects;
    *trial = *sure ? all : *trial;
    return status;
}

static void say_reading(const struct ulp_trying *trying, const struct ulp_tried_reading *trial,
                        struct ulp_text *text)
{
    const struct ulp_known_reading *reading = trial->reading;
    const struct ulp_graph *graph = ulp_trying_graph(trying);
    if (!reading) {
        ulp_text_show(text, "with '%s' in place of its input '%s'",
                      graph->values[trial->value].name,
                      graph->values[graph->nodes[trial->only].inputs[trial->wired]].name);
        return;
    }
    if (trial->number != 0 && reading->words)
        ulp_text_add(text, "%s %.6g", reading->words, trial->number);
    else if (trial->number != 0)
        ulp_text_add(text, "with %.6g in place of %.6g", trial->number, trial->own);
    else if (reading->words)
        ulp_text_add(text, "%s", reading->words);
    else if (strncmp(reading->change, "@left", 5) == 0 ||
             strncmp(reading->change, "@skipped", 8) == 0)
        ulp_text_add(text, "by handing on its input %s, as if it were left out",
                     strchr(reading->change, '=') + 1);
    else
        ulp_text_add(text, "with %s", reading->change);
}

static void say_trial(const struct ulp_trying *trying, const struct ulp_tried_reading *trial,
                      bool only, struct ulp_text *text)
{
    const struct ulp_node *node = &ulp_trying_graph(trying)->nodes[trial->first];
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
static bool is_alike(const struct ulp_tried_reading *told, const struct ulp_tried_reading *other)
{
    return other->order != told->order && other->distance <= told->distance * ALIKE;
}

static void say_trials(const struct ulp_trying *trying, const struct best *best,
                       const struct ulp_tried_reading *told, struct ulp_text *text)
{
    bool only = true;
    for (size_t b = 0; b < best->count; b++)
        only &= !is_alike(told, &best->items[b]);
    say_trial(trying, told, only, text);
    ulp_text_add(text, ": with that everything that was recorded is explained.");
    for (size_t b = 0; b < best->count; b++)
        if (is_alike(told, &best->items[b])) {
            ulp_text_show(text, " It cannot be told from this: ");
            say_trial(trying, &best->items[b], false, text);
            ulp_text_add(text, ".");
        }
}

static enum ulp_status tell(const struct ulp_trying *trying, const struct best *best,
                            const struct ulp_tried_reading *trial, struct ulp_cause *cause,
                            struct ulp_error *error)
{
    struct ulp_text text = {0}, todo = {0};
    const struct ulp_node *node = &ulp_trying_graph(trying)->nodes[trial->first];
    const bool attribute =
        trial->reading && *trial->reading->change != '@' && !trial->reading->words;
    say_trials(trying, best, trial, &text);
    ulp_text_show(&todo,
                  "where the recording is right, %s %s; where the graph is, mend it in the "
                  "runtime or write the node in other operators there",
                  attribute ? "give the node" : "change the graph at",
                  attribute ? trial->reading->change : node->name);
    ULP_TRY(ulp_cause_set(trying->comparing, cause, ULP_CAUSE_NODE, &text, NULL, error));
    cause->todo = ulp_text_keep(&todo, trying->comparing->out->memory);
    ULP_TAKE(cause->nodes, trying->comparing->out->memory, trial->changed, error);
    bool whole = cause->todo;
    for (size_t n = 0; n < ulp_trying_graph(trying)->node_count; n++)
        if (trying->read[n]) {
            char *name =
                ulp_comparing_text(trying->comparing, ulp_trying_graph(trying)->nodes[n].name);
            cause->nodes[cause->node_count++] = name;
            whole = whole && name;
        }
    return ulp_taken(whole, error);
}

/* The plainest of the best; that one is no longer among them where it does not explain all. */
static enum ulp_status tell_plainest(struct ulp_trying *trying, struct best *best,
                                     struct ulp_cause *cause, struct ulp_error *error)
{
    struct ulp_tried_reading *const items = best->items;
    size_t at = 0;
    bool sure;
    for (size_t b = 1; b < best->count; b++)
        if (items[b].distance <= items[0].distance * ALIKE && items[b].order < items[at].order)
            at = b;
    struct ulp_tried_reading trial = items[at];
    ULP_TRY(verify(trying, &trial, &sure, error));
    if (sure)
        return tell(trying, best, &trial, cause, error);
    memmove(&items[at], &items[at + 1], (--best->count - at) * sizeof *items);
    return ULP_OK;
}

static bool is_good(const struct ulp_trying *trying, const struct best *best, size_t tried)
{
    return best->count &&
           !ulp_is_chance(trying->comparing, trying->tensor, tried, best->items[0].number != 0,
                          best->items[0].distance / best->whole);
}

/* The candidates in their order, until one is told or all that may be computed has been. */
static enum ulp_status search(struct ulp_trying *trying, const struct candidates *all,
                              struct ulp_cause *cause, struct ulp_error *error)
{
    struct best best = {.whole =
                            ulp_compared_error(trying->comparing, trying->file, trying->tensor)};
    size_t since = 0;
    for (size_t c = 0; c < all->count && !cause->text; c++) {
        struct ulp_tried_reading *trial = &all->items[c];
        const double nearest = best.count ? best.items[0].distance : INFINITY;
        bool known = trial->number != 0;
        if (!known && ulp_trying_leaves(trying, trial->first, 1, ULP_READINGS_RUN))
            continue;
        for (size_t before = 0; before < c && trial->result && !known; before++)
            if (all->items[before].result == trial->result &&
                all->items[before].first == trial->first) {
                trial->distance = all->items[before].distance;
                known = true;
            }
        if (!known)
            ULP_TRY(ulp_tried_measure(trying, trial, error));
        if (!(trial->distance < INFINITY) || trial->distance == trying->unchanged)
            continue;
        keep(&best, trial);
        since = best.items[0].distance < nearest ? 0 : since + 1;
        if (best.items[0].distance < FOUND * best.whole && since >= FURTHER)
            while (is_good(trying, &best, all->count) && !cause->text)
                ULP_TRY(tell_plainest(trying, &best, cause, error));
    }
    while (is_good(trying, &best, all->count) && !cause->text)
        ULP_TRY(tell_plainest(trying, &best, cause, error));
    return ULP_OK;
}

enum turn { READINGS, WIRES, NUMBERS, TURNS };

static enum ulp_status find_candidates(struct ulp_trying *trying, int turn, struct candidates *out,
                                       struct ulp_error *error)
{
    trying->wires = turn == WIRES;
    if (turn != NUMBERS) {
        ULP_TRY(ulp_try_alone(trying, error));
        ULP_TRY(list_candidates(trying, out, error));
        return order_candidates(trying, out, error);
    }
    ULP_TRY(ulp_try_numbers(trying, error));
    *out = (struct candidates){trying->alone, trying->alone_count};
    return ULP_OK;
}

/* Those of functions, and in bodies of nodes. */
static size_t count_inner(const struct ulp_trying *trying, const struct ulp_suspects *suspects)
{
    size_t count = 0;
    for (size_t s = 0; s < suspects->count; s++) {
        const struct ulp_node *node = suspects->steps[s]->node;
        count +=
            ulp_trying_node(trying, suspects->steps[s]) == ulp_trying_graph(trying)->node_count;
        for (size_t a = 0; a < node->attribute_count; a++)
            count += node->attributes[a].graph ? node->attributes[a].graph->node_count : 0;
    }
    return count;
}

enum ulp_status ulp_explain_reading(struct ulp_comparing *comparing, size_t file, size_t tensor,
                                    const struct ulp_suspects *suspects, struct ulp_cause *cause,
                                    struct ulp_error *error)
{
    struct ulp_trying trying = {.comparing = comparing, .file = file, .tensor = tensor};
    enum ulp_status status = prepare(&trying, suspects, error);
    comparing->node_count = comparing->nodes_tried = 0;
    comparing->inner_count = count_inner(&trying, suspects);
    if (status == ULP_OK)
        trying.cost_max = ulp_math_max(COST_MAX, RUNS_MIN * trying.base.program->main->cost);
    for (int turn = 0; turn < TURNS && status == ULP_OK && !cause->text && trying.target >= 0;
         turn++) {
        struct candidates all = {0};
        status = find_candidates(&trying, turn, &all, error);
        ULP_THEN(status, search(&trying, &all, cause, error));
    }
    for (size_t n = 0; n < ulp_trying_graph(&trying)->node_count && status == ULP_OK; n++) {
        comparing->node_count += trying.suspects[n];
        comparing->nodes_tried += trying.suspects[n] && !trying.left[n];
    }
    ulp_cut_close(&trying.base);
    return status;
}
