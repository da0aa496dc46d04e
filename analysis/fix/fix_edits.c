/* Which edits of the graph are made: those that gain something, by a run of the model without each.
 */
#include <math.h>
#include <string.h>

#include "analysis/fix/fixing.h"
#include "base/error.h"

/* From so many edits on a rule's are tried together alone: each costs a run. */
#define SINGLY_MAX 64

ULP_NAMES(ulp_fix_done_name, enum ulp_fix_done, "made", "no gain", "changes", "left out", "dearer",
          "refused", "unproven")

static bool is_listed(const char *rule, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], rule) == 0)
            return true;
    return false;
}

bool ulp_fix_is_asked(const struct ulp_fix_options *options, const char *rule)
{
    return (!options->only_count || is_listed(rule, options->only, options->only_count)) &&
           !is_listed(rule, options->without, options->without_count);
}

static enum ulp_status list_edits(struct ulp_fixing *x, struct ulp_error *error)
{
    const struct ulp_fix_options *options = x->options;
    struct ulp_fix *fix = x->fix;
    const struct ulp_lint_proposals *proposals = &x->proposals;
    ULP_TAKE(x->taken, fix->memory, proposals->count + 1, error);
    ULP_TAKE(fix->edits, fix->memory, proposals->count + 1, error);
    for (size_t i = 0; i < proposals->count; i++) {
        const struct ulp_lint_edit *said = &proposals->items[i].said;
        struct ulp_fix_edit *edit = &fix->edits[fix->edit_count++];
        x->taken[i] = !said->reason && ulp_fix_is_asked(options, said->rule);
        *edit = (struct ulp_fix_edit){.rule = ulp_arena_copy(fix->memory, said->rule),
                                      .node = ulp_arena_copy(fix->memory, said->node),
                                      .text = ulp_arena_copy(fix->memory, said->text),
                                      .done = x->taken[i]    ? ULP_FIX_MADE
                                              : said->reason ? ULP_FIX_UNPROVEN
                                                             : ULP_FIX_LEFT_OUT,
                                      .gain = NAN,
                                      .change = NAN};
        if (said->reason)
            edit->reason = ulp_arena_copy(fix->memory, said->reason);
        ULP_TRY(ulp_taken(edit->rule && edit->node && edit->text && (edit->reason || !said->reason),
                          error));
    }
    return ULP_OK;
}

/* What is in the given model and in the one with all edits. */
static enum ulp_status share_values(struct ulp_fixing *x, struct ulp_error *error)
{
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *all = NULL;
    ULP_SCOPED(ulp_names_free) struct ulp_names kept = {.budget = ulp_model_budget(x->model)};
    ULP_TRY(ulp_lint_load_edited(&x->proposals, x->taken, false, &all, error));
    bool added = true;
    for (size_t v = 0; v < all->graph->value_count && added; v++)
        added = ulp_names_add(&kept, all->graph->values[v].name, 0);
    for (size_t v = 0; v < x->model->graph->value_count && added; v++)
        added = ulp_names_find(&kept, x->model->graph->values[v].name) < 0 ||
                ulp_names_add(&x->shared, x->model->graph->values[v].name, 0);
    return ulp_taken(added, error);
}

static bool any(const struct ulp_fixing *x, const bool *taken)
{
    bool found = false;
    for (size_t i = 0; i < x->proposals.count; i++)
        found |= taken[i];
    return found;
}

/* change NULL: it is not wanted. */
static enum ulp_status judge_edits(struct ulp_fixing *x, const bool *taken,
                                   struct ulp_fix_judged *out, struct ulp_altered *change,
                                   struct ulp_error *error)
{
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_TRY(ulp_lint_load_edited(&x->proposals, taken, false, &model, error));
    if (out)
        ULP_TRY(ulp_fix_judge(x, model, NULL, out, error));
    if (change)
        ULP_TRY(ulp_fix_change(x, model, change, error));
    return ULP_OK;
}

/* Are all edits identities, together, that are said to be? An infinity may make one none. */
static enum ulp_status check_identities(struct ulp_fixing *x, bool *exact, bool *hold,
                                        struct ulp_error *error)
{
    ULP_SCOPED(ulp_altered_free) struct ulp_altered change = {0};
    for (size_t i = 0; i < x->proposals.count; i++)
        exact[i] = x->taken[i] && x->proposals.items[i].said.exact;
    if (any(x, exact))
        ULP_TRY(judge_edits(x, exact, NULL, &change, error));
    memset(exact, 0, x->proposals.count * sizeof *exact);
    *hold = change.most <= ULP_FIX_CHANGE;
    return ULP_OK;
}

static enum ulp_status measure_alone(struct ulp_fixing *x, const bool *alone,
                                     struct ulp_fix_edit *edit, struct ulp_error *error)
{
    ULP_SCOPED(ulp_altered_free) struct ulp_altered change = {0};
    ULP_TRY(judge_edits(x, alone, NULL, &change, error));
    edit->change = change.most;
    if (change.text.data)
        edit->reason = ulp_arena_copy(x->fix->memory, change.text.data);
    ULP_TRY(ulp_taken(edit->reason || !change.text.data, error));
    if (change.refused)
        edit->done = ULP_FIX_REFUSED;
    else if (!(change.most <= ULP_FIX_CHANGE) && !x->options->allow_value_change)
        edit->done = ULP_FIX_CHANGES;
    return ULP_OK;
}

/* What an edit that is not an identity changes, by itself. */
static enum ulp_status measure_changes(struct ulp_fixing *x, bool *alone, struct ulp_error *error)
{
    bool hold = true;
    ULP_TRY(check_identities(x, alone, &hold, error));
    for (size_t i = 0; i < x->proposals.count; i++) {
        struct ulp_fix_edit *edit = &x->fix->edits[i];
        if (!x->taken[i] || (hold && x->proposals.items[i].said.exact))
            continue;
        alone[i] = true;
        ULP_TRY(measure_alone(x, alone, edit, error));
        alone[i] = false;
        x->taken[i] = edit->done == ULP_FIX_MADE;
    }
    return ULP_OK;
}

/* Is it one of those that are tried together: of that rule, or the edit alone? */
static bool is_of(const struct ulp_fixing *x, size_t i, size_t of, bool rule)
{
    return x->taken[i] &&
           (i == of || (rule && strcmp(x->fix->edits[i].rule, x->fix->edits[of].rule) == 0));
}

/* Leave the edit, or all of its rule, out, and for good where nothing is lost. */
static enum ulp_status leave_out(struct ulp_fixing *x, size_t of, bool rule, bool *rest,
                                 const struct ulp_fix_judged *before, struct ulp_fix_judged *all,
                                 struct ulp_error *error)
{
    struct ulp_fix_judged without = *before;
    for (size_t i = 0; i < x->proposals.count; i++)
        rest[i] = x->taken[i] && !is_of(x, i, of, rule);
    ULP_TRY(any(x, rest) ? judge_edits(x, rest, &without, NULL, error) : ULP_OK);
    const double gain = ulp_fix_gain(&without, all);
    const bool drop = gain < ULP_FIX_GAIN_LEAST;
    for (size_t i = 0; i < x->proposals.count; i++) {
        if (!is_of(x, i, of, rule))
            continue;
        x->fix->edits[i].gain = gain;
        if (drop)
            x->fix->edits[i].done = ULP_FIX_NO_GAIN;
    }
    if (drop) {
        memcpy(x->taken, rest, x->proposals.count * sizeof *rest);
        *all = without;
    }
    return ULP_OK;
}

static size_t count_of(const struct ulp_fixing *x, size_t of)
{
    size_t count = 0;
    for (size_t i = 0; i < x->proposals.count; i++)
        count += is_of(x, i, of, true);
    return count;
}

static bool is_first(const struct ulp_fixing *x, size_t of)
{
    for (size_t i = 0; i < of; i++)
        if (is_of(x, i, of, true))
            return false;
    return x->taken[of];
}

/* Rule by rule, those first whose edits are no identities; then edit by edit. */
static enum ulp_status choose_edits(struct ulp_fixing *x, bool *rest,
                                    const struct ulp_fix_judged *before, struct ulp_fix_judged *all,
                                    struct ulp_error *error)
{
    const size_t count = x->proposals.count;
    for (int exact = 0; exact < 2; exact++)
        for (size_t i = 0; i < count; i++)
            if (is_first(x, i) && x->proposals.items[i].said.exact == exact)
                ULP_TRY(leave_out(x, i, true, rest, before, all, error));
    size_t made = 0;
    for (size_t i = 0; i < count; i++)
        made += x->taken[i];
    for (size_t i = 0; i < count && made <= SINGLY_MAX; i++)
        if (x->taken[i] && count_of(x, i) > 1)
            ULP_TRY(leave_out(x, i, false, rest, before, all, error));
    return ULP_OK;
}

/* The one that changes most by itself goes. */
static void drop_one(struct ulp_fixing *x, const struct ulp_altered *change)
{
    size_t worst = x->proposals.count;
    for (size_t i = 0; i < x->proposals.count; i++)
        if (x->taken[i] &&
            (worst == x->proposals.count || x->fix->edits[i].change > x->fix->edits[worst].change))
            worst = i;
    x->taken[worst] = false;
    x->fix->edits[worst].done = change->refused ? ULP_FIX_REFUSED : ULP_FIX_CHANGES;
}

/* Load the model with what is taken, less what all edits together must not have. */
static enum ulp_status make(struct ulp_fixing *x, struct ulp_error *error)
{
    while (any(x, x->taken)) {
        ULP_SCOPED(ulp_altered_free) struct ulp_altered change = {0};
        ulp_model_free(x->edited);
        ULP_TRY(ulp_lint_load_edited(&x->proposals, x->taken, true, &x->edited, error));
        ULP_TRY(ulp_fix_change(x, x->edited, &change, error));
        x->fix->change = change.most;
        if (!change.refused && (change.most <= ULP_FIX_CHANGE || x->options->allow_value_change))
            return ULP_OK;
        drop_one(x, &change);
    }
    ulp_model_free(x->edited);
    x->edited = NULL;
    x->fix->change = 0;
    return ULP_OK;
}

enum ulp_status ulp_fix_try_edits(struct ulp_fixing *x, const struct ulp_fix_judged *given,
                                  struct ulp_fix_judged *out, struct ulp_error *error)
{
    struct ulp_fix_judged again = *given;
    const struct ulp_fix_judged *before = &again;
    *out = *given;
    ULP_TRY(list_edits(x, error));
    ULP_TAKE_ARRAY(bool, rest, x->fix->memory, x->proposals.count + 1, error);
    ULP_TRY(measure_changes(x, rest, error));
    if (any(x, x->taken) && isinf(given->worst.ratio)) {
        ULP_TRY(share_values(x, error));
        ULP_TRY(ulp_fix_judge(x, x->model, NULL, &again, error));
    }
    if (any(x, x->taken))
        ULP_TRY(judge_edits(x, x->taken, out, NULL, error));
    if (any(x, x->taken))
        ULP_TRY(choose_edits(x, rest, before, out, error));
    ULP_TRY(make(x, error));
    for (size_t i = 0; i < x->proposals.count; i++)
        x->fix->made_count += x->taken[i];
    if (x->fix->made_count)
        return ulp_fix_judge(x, x->edited, NULL, out, error);
    *out = *given;
    return ULP_OK;
}

enum ulp_status ulp_fix_bring_constants(struct ulp_fixing *x, bool bring,
                                        struct ulp_fix_judged *after, struct ulp_error *error)
{
    struct ulp_fix *fix = x->fix;
    bool any_moved = false;
    for (size_t i = 0; i < x->proposals.count; i++) {
        struct ulp_fix_edit *edit = &fix->edits[i];
        if (x->proposals.items[i].said.exact || x->taken[i] == bring ||
            !(edit->change <= ULP_FIX_CHANGE) || !(edit->gain < ULP_FIX_GAIN_LEAST))
            continue;
        any_moved = true;
        x->taken[i] = bring;
        edit->done = bring ? ULP_FIX_MADE : ULP_FIX_NO_GAIN;
    }
    if (!any_moved)
        return ULP_OK;
    ULP_TRY(make(x, error));
    fix->made_count = 0;
    for (size_t i = 0; i < x->proposals.count; i++)
        fix->made_count += x->taken[i];
    return ulp_fix_judge(x, x->edited ? x->edited : x->model, NULL, after, error);
}
