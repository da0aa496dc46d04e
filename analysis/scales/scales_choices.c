/* What other rules and formats would gain: each a lane of one run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope/audit.h>

#include "analysis/measure/judge.h"
#include "analysis/scales/scales.h"
#include "analysis/tried/tried.h"
#include "analysis/writing/columns.h"
#include "base/error.h"
#include "number/format/scaling.h"
#include "run/program/program.h"

struct choosing {
    struct ulp_scales *out;
    const struct ulp_scales_options *options;
    struct ulp_arithmetic reference;
    struct ulp_attempt *tried;         /* the one asked about, and the choices */
    struct ulp_keep *items;            /* of their keeps */
    struct ulp_scales_choice *choices; /* of each */
    size_t count;
};

static bool add_choice(struct choosing *c, const struct ulp_arithmetic *arithmetic,
                       const char *words)
{
    struct ulp_scales_choice *choice = &c->choices[c->count];
    choice->words = ulp_arena_copy(c->out->memory, words);
    choice->arithmetic = ulp_arena_copy(c->out->memory, arithmetic->asked);
    c->tried[c->count++].arithmetic = *arithmetic;
    return choice->words && choice->arithmetic;
}

/* The arithmetic that is asked about, and what may help it. */
static enum ulp_status list_attempts(struct choosing *c, bool chooses, struct ulp_arena *arena,
                                     struct ulp_error *error)
{
    const struct ulp_arithmetic *asked = &c->options->arithmetic;
    const struct ulp_trouble trouble = {.against = !chooses                 ? 0
                                                   : asked->weights.name[0] ? ULP_AGAINST_WEIGHT
                                                                            : ULP_AGAINST_FACTOR,
                                        .as_is = {.arithmetic = *asked, .what = "as asked"}};
    size_t count;
    ULP_TRY(ulp_attempts_list(&trouble, arena, &c->tried, &count, error));
    ULP_TAKE(c->choices, c->out->memory, count, error);
    bool whole = true;
    while (c->count < count && whole)
        whole = add_choice(c, &c->tried[c->count].arithmetic, c->tried[c->count].what);
    return ulp_taken(whole, error);
}

static const char *const owners[] = {"op:If", "op:Loop", "op:Scan"};
enum { OWNERS = sizeof owners / sizeof *owners };

/* Static scales are none of products in bodies: these keep what is stored. */
static enum ulp_status keep_bodies(const struct choosing *c, const struct ulp_model *model,
                                   const struct ulp_tensor_set *inputs, struct ulp_arena *arena,
                                   struct ulp_error *error)
{
    const struct ulp_program_options options = {.inputs = inputs};
    struct ulp_keeps keeps = {.items = c->items};
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    ULP_TRY(ulp_program_create(model, &c->reference, 1, &options, &program, error));
    bool *chosen = ulp_arena_take(arena, program->node_count + 1, sizeof *chosen);
    ULP_TRY(ulp_taken(chosen != NULL, error));
    for (size_t i = 0; i < OWNERS; i++) {
        struct ulp_keep *item = &c->items[keeps.count];
        struct ulp_error ignored;
        if (ulp_pattern_choose(program, owners[i], chosen, arena, &ignored) != ULP_OK)
            continue; /* none is there, or all are folded */
        item->pattern = owners[i];
        ULP_TRY(ulp_arithmetic_find(c->tried[0].arithmetic.storage.name, &item->arithmetic, error));
        keeps.count++;
    }
    for (size_t l = 0; l < c->count; l++)
        if (c->tried[l].arithmetic.scales_static)
            c->tried[l].keeps = keeps;
    return ULP_OK;
}

/* Does the reference have an output to judge by? */
static enum ulp_status check_truth(const struct ulp_tensor_set *truth,
                                   const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    struct ulp_unjudged unjudged = {.reason = ulp_judge_reason(ULP_CROSSED_NO_OUTPUT)};
    for (size_t o = 0; o < truth->count; o++) {
        const struct ulp_tensor *value = &truth->items[o].tensor;
        const enum ulp_crossing_kind kind = ulp_judge_reference(value, inputs);
        if (ulp_type_is_float(value->type) && kind == ULP_CROSSED_VALUE)
            return ULP_OK;
        if (ulp_type_is_float(value->type))
            unjudged = (struct ulp_unjudged){.name = truth->items[o].name,
                                             .reason = ulp_judge_reason(kind)};
        else if (!unjudged.name)
            unjudged.reason = "no output has float elements";
    }
    return ulp_judge_fail(&unjudged, error);
}

static int by_gain(const void *a, const void *b)
{
    const struct ulp_scales_choice *x = a, *y = b;
    if (x->sqnr_db != y->sqnr_db)
        return x->sqnr_db > y->sqnr_db ? -1 : 1;
    return strcmp(x->words, y->words);
}

static enum ulp_status run_all(const struct choosing *c, const struct ulp_model *model,
                               const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    const struct ulp_run_options run = {.thread_count = c->options->thread_count};
    const struct ulp_observer *progress = c->options->progress;
    const struct ulp_observer asked = {.context = progress ? progress->context : NULL,
                                       .cancelled = progress ? progress->cancelled : NULL};
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set truth = {0};
    ULP_TRY(ulp_attempts_run(model, &c->reference, c->tried, c->count, inputs, &run, &asked, &truth,
                             error));
    for (size_t l = 0; l < c->count; l++)
        c->choices[l].sqnr_db = c->tried[l].outcome.any ? c->tried[l].outcome.sqnr_db : INFINITY;
    return check_truth(&truth, inputs, error);
}

enum ulp_status ulp_scales_judge(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                                 const struct ulp_scales_options *options,
                                 const struct ulp_arithmetic *arithmetics, size_t count,
                                 double *sqnr_db, struct ulp_error *error)
{
    struct choosing c = {.options = options, .count = count};
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_TRY(ulp_arena_create(&arena, ulp_model_budget(model), error));
    ULP_TAKE(c.tried, arena, count, error);
    ULP_TAKE(c.items, arena, OWNERS, error);
    ULP_TAKE(c.choices, arena, count, error);
    ULP_TRY(ulp_arithmetic_find("fp64", &c.reference, error));
    for (size_t l = 0; l < count; l++)
        c.tried[l].arithmetic = arithmetics[l];
    if (arithmetics[0].scales_static)
        ULP_TRY(keep_bodies(&c, model, inputs, arena, error));
    ULP_TRY(run_all(&c, model, inputs, error));
    for (size_t l = 0; l < count; l++)
        sqnr_db[l] = c.choices[l].sqnr_db;
    return ULP_OK;
}

enum ulp_status ulp_scales_choose(const struct ulp_model *model,
                                  const struct ulp_tensor_set *inputs,
                                  const struct ulp_scales_options *options, struct ulp_scales *out,
                                  struct ulp_error *error)
{
    struct choosing c = {.out = out, .options = options};
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_TRY(ulp_arena_create(&arena, ulp_model_budget(model), error));
    ULP_TRY(ulp_arithmetic_find("fp64", &c.reference, error));
    const bool chooses = !options->no_choices && ulp_scaling_is_used(&options->arithmetic);
    ULP_TRY(list_attempts(&c, chooses, arena, error));
    ULP_TAKE(c.items, arena, OWNERS, error);
    if (!chooses && options->arithmetic.scales_static)
        ULP_TRY(keep_bodies(&c, model, inputs, arena, error));
    ULP_TRY(run_all(&c, model, inputs, error));
    out->sqnr_db = c.choices[0].sqnr_db;
    out->choices = c.choices + 1;
    out->choice_count = c.count - 1;
    for (size_t i = 0; i < out->choice_count; i++)
        out->choices[i].gain_db = out->choices[i].sqnr_db == out->sqnr_db
                                      ? 0 /* infinities, too */
                                      : out->choices[i].sqnr_db - out->sqnr_db;
    qsort(out->choices, out->choice_count, sizeof *out->choices, by_gain);
    return ULP_OK;
}
