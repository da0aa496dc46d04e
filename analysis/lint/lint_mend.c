/* lint --fix: what needs no inputs is mended in a copy, which is held against the model. */

#include "analysis/lint/proposal.h"
#include "analysis/resized/resized.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"
#include "run/program/program.h"

#define EPSILON 0x1p-14 /* FP16's least normal number, for those that vanish */

ULP_FREES(ulp_model_free, struct ulp_model)

struct mending {
    struct ulp_lint_proposals p;
    bool allow;
    bool *taken, *alone;
    struct ulp_lint_edit *dropped;
    struct ulp_lint_fixed *out;
    /* the model, its one sample, and what it gives */
    struct ulp_arithmetic lane;
    struct ulp_tensor_set inputs, outputs; /* inputs: random ones */
    struct ulp_sample sample;
    struct ulp_resizing given;
    struct ulp_resized resized;
};

/* ---- what the model gives ---- */

static enum ulp_status run_given(struct mending *m, struct ulp_error *error)
{
    const struct ulp_lint_options *options = m->p.lint.options;
    const struct ulp_random_options random = {.dims = options->dims,
                                              .dim_count = options->dim_count};
    m->sample = (struct ulp_sample){.name = "the given sizes", .inputs = options->inputs};
    if (!options->inputs) {
        m->sample.inputs = &m->inputs;
        ULP_TRY(ulp_model_random_inputs(m->p.lint.model, &random, &m->inputs, error));
    }
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs programs = {.model = m->p.lint.model, .lanes = &m->lane, .lane_count = 1};
    return ulp_programs_look(&programs, m->sample.inputs, NULL, NULL, NULL, &m->outputs, error);
}

/* A sample that is refused leaves the other sizes. */
static enum ulp_status open(struct mending *m, struct ulp_error *error)
{
    struct ulp_error refused = {0};
    ULP_TRY(ulp_arithmetic_find("fp64", &m->lane, error));
    const enum ulp_status status = run_given(m, &refused);
    if (status != ULP_OK && !ulp_program_refuses(status)) {
        *error = refused;
        return status;
    }
    m->given = (struct ulp_resizing){.model = m->p.lint.model,
                                     .lane = &m->lane,
                                     .samples = &m->sample,
                                     .sample_count = status == ULP_OK};
    ULP_TRY(ulp_resized_find(&m->given, &m->resized, error));
    if (status == ULP_OK || m->resized.count)
        return ULP_OK;
    m->out->unchecked = ulp_arena_copy(m->p.lint.arena, refused.message);
    return ulp_taken(m->out->unchecked, error);
}

static enum ulp_status say_checked(struct mending *m, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_resized_say(&text, &m->resized, m->given.sample_count);
    m->out->checked = text.failed ? NULL : ulp_arena_copy(m->p.lint.arena, text.data);
    return ulp_taken(m->out->checked, error);
}

/* ---- what edits change ---- */

static enum ulp_status measure_change(struct mending *m, const struct ulp_model *model,
                                      struct ulp_altered *change, struct ulp_error *error)
{
    return ulp_altered_measure(&m->given, &m->outputs, &m->resized, model, NULL, change, error);
}

static bool is_right(const struct mending *m, const struct ulp_altered *change)
{
    return !change->refused && (change->most <= ULP_ALTERED_LEAST || m->allow);
}

static enum ulp_status try_edits(struct mending *m, const bool *taken, struct ulp_altered *change,
                                 struct ulp_error *error)
{
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_TRY(ulp_lint_load_edited(&m->p, taken, false, &model, error));
    return measure_change(m, model, change, error);
}

static enum ulp_status drop(struct mending *m, size_t i, const struct ulp_altered *change,
                            struct ulp_error *error)
{
    struct ulp_lint_edit *edit = &m->dropped[m->out->dropped_count++];
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    m->taken[i] = false;
    *edit = m->p.items[i].said;
    if (!change->refused)
        ulp_text_add(&text, "it changes %.2g of an output's rms ", change->most);
    ulp_text_show(&text, "%s", change->text.data ? change->text.data : "");
    edit->reason = text.failed ? NULL : ulp_arena_copy(m->p.lint.arena, text.data);
    return ulp_taken(edit->reason, error);
}

/* Together first; where these are not right, each alone. */
static enum ulp_status drop_wrong(struct mending *m, struct ulp_error *error)
{
    ULP_SCOPED(ulp_altered_free) struct ulp_altered all = {0};
    ULP_TRY(try_edits(m, m->taken, &all, error));
    if (is_right(m, &all))
        return ULP_OK;
    for (size_t i = 0; i < m->p.count; i++) {
        ULP_SCOPED(ulp_altered_free) struct ulp_altered change = {0};
        if (!m->taken[i])
            continue;
        m->alone[i] = true;
        ULP_TRY(try_edits(m, m->alone, &change, error));
        m->alone[i] = false;
        if (!is_right(m, &change))
            ULP_TRY(drop(m, i, &change, error));
    }
    ULP_SCOPED(ulp_altered_free) struct ulp_altered rest = {0};
    ULP_TRY(try_edits(m, m->taken, &rest, error));
    for (size_t i = 0; i < m->p.count && !is_right(m, &rest); i++)
        if (m->taken[i])
            ULP_TRY(drop(m, i, &rest, error));
    return ULP_OK;
}

/* ---- the copy ---- */

static enum ulp_status choose_mends(struct mending *m, struct ulp_error *error)
{
    struct ulp_lint_proposals *p = &m->p;
    size_t count = 0;
    ULP_TAKE(m->taken, p->lint.arena, p->count + 1, error);
    ULP_TAKE(m->alone, p->lint.arena, p->count + 1, error);
    ULP_TAKE(m->dropped, p->lint.arena, p->count + 1, error);
    m->out->dropped = m->dropped;
    for (size_t i = 0; i < p->count; i++) {
        if (p->items[i].tried)
            continue;
        if (p->items[i].said.reason) {
            m->dropped[m->out->dropped_count++] = p->items[i].said;
            continue;
        }
        m->taken[i] = m->allow || p->items[i].said.exact;
        count += m->taken[i];
        m->out->left_count += !m->taken[i];
    }
    if (!count)
        return ULP_OK;
    ULP_TRY(open(m, error));
    return m->out->unchecked ? ULP_OK : drop_wrong(m, error);
}

static enum ulp_status check_mended(struct mending *m, const char *path, struct ulp_error *error)
{
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(ulp_altered_free) struct ulp_altered change = {0};
    ULP_TRY(ulp_model_load(path, ulp_model_budget(m->p.lint.model), &model, error));
    if (m->out->unchecked)
        return ULP_OK;
    ULP_TRY(measure_change(m, model, &change, error));
    if (is_right(m, &change))
        return say_checked(m, error);
    return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "the copy is not the model: %s",
                    change.text.data ? change.text.data : "");
}

static enum ulp_status mend(struct mending *m, const char *path, struct ulp_error *error)
{
    ULP_TRY(choose_mends(m, error));
    ULP_TAKE_ARRAY(struct ulp_lint_edit, said, m->p.lint.arena, m->p.count + 1, error);
    for (size_t i = 0; i < m->p.count; i++)
        if (m->taken[i])
            said[m->out->edit_count++] = m->p.items[i].said;
    m->out->edits = said;
    if (!m->out->edit_count)
        return ULP_OK;
    const bool begun = ulp_files_hold();
    enum ulp_status status = ulp_lint_write_edited(&m->p, m->taken, path, error);
    if (status == ULP_OK)
        status = check_mended(m, path, error);
    return ulp_files_release(begun, status, error);
}

enum ulp_status ulp_lint_fix(const struct ulp_model *model, const struct ulp_lint_options *options,
                             const char *path, bool allow_value_change, struct ulp_lint_fixed *out,
                             struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct mending m = {.allow = allow_value_change, .out = out};
    *out = (struct ulp_lint_fixed){0};
    enum ulp_status status = ulp_lint_propose(model, options, EPSILON, &m.p, error);
    if (status == ULP_OK)
        status = mend(&m, path, error);
    if (status == ULP_OK) {
        out->memory = m.p.lint.arena;
        m.p.lint.arena = NULL;
    } else {
        *out = (struct ulp_lint_fixed){0};
    }
    ulp_resized_free(&m.resized);
    ulp_tensor_set_free(&m.outputs);
    ulp_tensor_set_free(&m.inputs);
    ulp_lint_proposals_free(&m.p);
    return status;
}

void ulp_lint_fixed_free(struct ulp_lint_fixed *fixed)
{
    ulp_arena_free(fixed->memory);
    *fixed = (struct ulp_lint_fixed){0};
}
