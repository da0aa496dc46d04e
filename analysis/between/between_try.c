/* What brings the second arithmetic nearer to the first: parts of its name as the first has them,
 * operators and single nodes computed in the first. Each is run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/between/betweening.h"
#include "base/error.h"
#include "base/text/text.h"

enum { PARTS_MAX = 24, OPERATORS = 3, NODES = 4, CHANGES_MAX = PARTS_MAX + OPERATORS + NODES };

struct change {
    struct ulp_arithmetic arithmetic;
    size_t *nodes, node_count; /* in the first */
    char what[320];
    double sum; /* of |d| */
};

struct trying {
    struct ulp_betweening *b;
    struct ulp_arena *memory;
    struct change *changes;
    size_t count;
};

/* ---- parts of the name ---- */

/* "bf16@h100,acc=fp16" as "bf16@h100", "@h100", "acc=fp16". */
static int split_name(char *name, char *parts[PARTS_MAX])
{
    int count = 0;
    char *rest;
    for (char *word = strtok_r(name, ",", &rest); word && count + 1 < PARTS_MAX;
         word = strtok_r(NULL, ",", &rest)) {
        char *gpu = count ? NULL : strchr(word, '@');
        parts[count++] = word;
        if (gpu)
            parts[count++] = gpu;
    }
    return count;
}

/* The length of what a part says something of: "acc=", "@", or all of a word. */
static size_t key_length(const char *part)
{
    const char *equals = strchr(part, '=');
    return *part == '@' ? 1 : equals ? (size_t)(equals - part) + 1 : strlen(part);
}

static const char *find_part(char *const *parts, int count, const char *part)
{
    const size_t length = key_length(part);
    for (int i = 1; i < count; i++)
        if (key_length(parts[i]) == length && strncmp(parts[i], part, length) == 0)
            return parts[i];
    return NULL;
}

/* The second's name with `part` instead of `old`; either may be NULL. */
static bool name_changed(char *const *second, int count, const char *old, const char *part,
                         struct ulp_arithmetic *out)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text name = {0};
    struct ulp_error ignored;
    ulp_text_add(&name, "%.*s", (int)strcspn(second[0], "@"), second[0]);
    if (!old && part && *part == '@')
        ulp_text_add(&name, "%s", part);
    for (int i = 1; i < count; i++) {
        const char *word = second[i] == old ? part : second[i];
        if (word)
            ulp_text_add(&name, "%s%s", *word == '@' ? "" : ",", word);
    }
    if (!old && part && *part != '@')
        ulp_text_add(&name, ",%s", part);
    return !name.failed && ulp_arithmetic_find(name.data, out, &ignored) == ULP_OK;
}

static void add_part(struct trying *t, char *const *second, int count, const char *old,
                     const char *part)
{
    struct change *change = &t->changes[t->count];
    *change = (struct change){0};
    if (!name_changed(second, count, old, part, &change->arithmetic) ||
        strcmp(change->arithmetic.name, t->b->options->second.name) == 0)
        return;
    if (part)
        snprintf(change->what, sizeof change->what, "%.200s as in the first", part);
    else
        snprintf(change->what, sizeof change->what, "without %.200s, as in the first", old);
    t->count++;
}

static enum ulp_status add_parts(struct trying *t, struct ulp_error *error)
{
    const struct ulp_between_options *options = t->b->options;
    char *names[2], *parts[2][PARTS_MAX];
    int counts[2];
    for (int i = 0; i < 2; i++) {
        const char *name = i ? options->second.name : options->first.name;
        names[i] = ulp_arena_copy(t->memory, name);
        ULP_TRY(ulp_taken(names[i], error));
        counts[i] = split_name(names[i], parts[i]);
    }
    for (int i = 1; i < counts[0] && t->count < PARTS_MAX; i++) {
        const char *old = find_part(parts[1], counts[1], parts[0][i]);
        if (!old || strcmp(old, parts[0][i]) != 0)
            add_part(t, parts[1], counts[1], old, parts[0][i]);
    }
    for (int i = 1; i < counts[1] && t->count < PARTS_MAX; i++)
        if (!find_part(parts[0], counts[0], parts[1][i]))
            add_part(t, parts[1], counts[1], parts[1][i], NULL);
    return ULP_OK;
}

/* ---- nodes ---- */

static enum ulp_status add_nodes(struct trying *t, size_t room, struct change **out,
                                 struct ulp_error *error)
{
    struct change *change = &t->changes[t->count];
    *change = (struct change){.arithmetic = t->b->options->second};
    ULP_TAKE(change->nodes, t->memory, room, error);
    *out = change;
    t->count++;
    return ULP_OK;
}

/* The share of all nodes of the operator; 0 where an earlier one has it, and where they are all
 * nodes that give other results on equal inputs: in the first they are the first. */
static double sum_operator(const struct ulp_between *out, size_t at, size_t *count)
{
    double sum = 0;
    size_t own = 0;
    *count = 0;
    for (size_t n = 0; n < out->node_count; n++) {
        if (strcmp(out->nodes[n].op, out->nodes[at].op) != 0)
            continue;
        if (n < at)
            return 0;
        sum += out->nodes[n].share;
        own += out->nodes[n].own;
        (*count)++;
    }
    return own < out->own_count ? sum : 0;
}

static enum ulp_status add_operators(struct trying *t, struct ulp_error *error)
{
    const struct ulp_between *out = t->b->out;
    double below = INFINITY;
    for (int k = 0; k < OPERATORS; k++) {
        size_t best = SIZE_MAX, most = 0;
        double largest = 0;
        for (size_t n = 0; n < out->node_count; n++) {
            size_t count;
            const double sum = sum_operator(out, n, &count);
            if (count > 1 && sum > largest && sum < below) {
                best = n;
                largest = sum;
                most = count;
            }
        }
        if (best == SIZE_MAX)
            return ULP_OK;
        below = largest;
        struct change *change;
        ULP_TRY(add_nodes(t, most, &change, error));
        for (size_t n = 0; n < out->node_count; n++)
            if (strcmp(out->nodes[n].op, out->nodes[best].op) == 0)
                change->nodes[change->node_count++] = out->nodes[n].index;
        snprintf(change->what, sizeof change->what, "the %zu %.100s as in the first", most,
                 out->nodes[best].op);
    }
    return ULP_OK;
}

static enum ulp_status add_single(struct trying *t, struct ulp_error *error)
{
    const struct ulp_between *out = t->b->out;
    size_t taken = 0;
    for (size_t n = 0; n < out->node_count && taken < NODES; n++) {
        struct change *change;
        if (!(out->nodes[n].share > 0))
            continue;
        ULP_TRY(add_nodes(t, 1, &change, error));
        change->nodes[change->node_count++] = out->nodes[n].index;
        snprintf(change->what, sizeof change->what, "node %.200s as in the first",
                 out->nodes[n].name);
        taken++;
    }
    return ULP_OK;
}

/* ---- they are run ---- */

static enum ulp_status add_difference(struct trying *t, const struct ulp_tensor_set *outputs,
                                      const struct ulp_given_tokens *given, double *logs[2],
                                      struct change *change, struct ulp_error *error)
{
    const int o = t->b->output;
    for (int l = 0; l < 2; l++)
        ULP_TRY(ulp_between_logs(given, &outputs[l].items[o].tensor, logs[l], NULL, NULL, error));
    for (size_t r = 0; r < given->rows; r++)
        if (given->tokens[r] >= 0)
            change->sum += fabs(logs[1][r] - logs[0][r]);
    return ULP_OK;
}

/* The first and the changed second, on every sample. */
static enum ulp_status run_change(struct trying *t, struct change *change, struct ulp_error *error)
{
    struct ulp_betweening *b = t->b;
    const struct ulp_keeps *own = b->options->keeps;
    const size_t own_count = own ? own->count : 0;
    const struct ulp_arithmetic lanes[2] = {b->options->first, change->arithmetic};
    struct ulp_keeps keeps[2] = {0};
    struct ulp_run_options run = {.thread_count = b->options->thread_count};
    ULP_TAKE_ARRAY(struct ulp_keep, items, t->memory, own_count + 1, error);
    for (size_t i = 0; i < own_count; i++)
        items[i] = own->items[i];
    items[own_count] = (struct ulp_keep){.nodes = change->nodes,
                                         .node_count = change->node_count,
                                         .arithmetic = b->options->first};
    keeps[1] = (struct ulp_keeps){.count = own_count + (change->node_count > 0), .items = items};
    b->tokens_taken = 0;
    for (size_t s = 0; s < b->sample_count; s++) {
        ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
        ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
        struct ulp_tensor_set outputs[2] = {0};
        struct ulp_given_tokens given;
        double *logs[2];
        const struct ulp_program_options planned = {.inputs = b->samples[s].inputs, .keeps = keeps};
        ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(b->model), error));
        ULP_TRY(ulp_program_create(b->model, lanes, 2, &planned, &program, error));
        enum ulp_status status =
            ulp_program_run(program, b->samples[s].inputs, &run, NULL, 0, outputs, NULL, error);
        ULP_THEN(status, ulp_between_find_tokens(b, b->samples[s].inputs,
                                                 &outputs[0].items[b->output].tensor, memory,
                                                 &given, error));
        for (int l = 0; l < 2 && status == ULP_OK; l++) {
            logs[l] = ulp_arena_take(memory, given.rows, sizeof *logs[l]);
            status = ulp_taken(logs[l], error);
        }
        ULP_THEN(status, add_difference(t, outputs, &given, logs, change, error));
        for (int l = 0; l < 2; l++)
            ulp_tensor_set_free(&outputs[l]);
        ULP_TRY(status);
    }
    return ULP_OK;
}

/* The one that closes most first, of equal ones the smaller: parts, then a node, then all of an
 * operator. What is not finite with one is last. */
static void insert_change(struct ulp_between *out, struct ulp_between_change change)
{
    size_t at = out->change_count++;
    for (; at > 0 && !isnan(change.nats) && !(out->changes[at - 1].nats <= change.nats); at--)
        out->changes[at] = out->changes[at - 1];
    out->changes[at] = change;
}

enum ulp_status ulp_between_try(struct ulp_betweening *b, struct ulp_error *error)
{
    struct ulp_between *out = b->out;
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    struct trying t = {.b = b};
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(b->model), error));
    t.memory = memory;
    ULP_TAKE(t.changes, memory, CHANGES_MAX, error);
    ULP_TRY(add_parts(&t, error));
    ULP_TRY(add_single(&t, error));
    ULP_TRY(add_operators(&t, error));
    ULP_TAKE(out->changes, out->memory, t.count + 1, error);
    for (size_t i = 0; i < t.count; i++) {
        struct ulp_between_change change;
        struct ulp_error why;
        const enum ulp_status status = run_change(&t, &t.changes[i], &why);
        if (status == ULP_ERROR_UNSUPPORTED || status == ULP_ERROR_USAGE)
            continue; /* the nodes cannot be computed so */
        if (status != ULP_OK)
            return ulp_fail_lines(error, status, why.message);
        change.what = ulp_arena_copy(out->memory, t.changes[i].what);
        ULP_TRY(ulp_taken(change.what, error));
        change.nats = t.changes[i].sum / (double)out->token_count;
        change.closes = 1 - change.nats / out->nats;
        insert_change(out, change);
    }
    return ULP_OK;
}
