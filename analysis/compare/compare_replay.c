/* A comparison with decisions replayed. Behind a TopK that another rounding turns values differ by
 * the size of the choice, and hardly anything is told apart; with the same choice they differ by
 * roundings, as elsewhere. Whose choices? Those that were recorded; where none were, those of an
 * arithmetic that was asked about, and those that take the later of equal values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/comparing.h"
#include "analysis/measure/difference.h"
#include "analysis/measure/row_match.h"
#include "base/error.h"
#include "graph/scoped.h"
#include "ops/image/detect.h"
#include "run/program/program.h"
#include "tensor/tensor.h"

/* TopKs one behind the other, each of which may have equal values. */
enum { TIED_MAX = 4 };
/* Roundings turn choices that are close, which of many are few: more are no roundings' work. */
#define OTHERS_MOST 0.25
/* Of a tensor's rms, in its places: more is not errors. */
#define FAR 0.25

/* ---- as they were recorded ---- */

static enum ulp_status hold(struct ulp_tensor_set *held, const char *name,
                            const struct ulp_tensor *values, const struct ulp_tensor *like,
                            struct ulp_budget *budget, struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor copy = {0};
    ULP_TRY(ulp_tensor_copy(&copy, like, budget, error));
    for (size_t i = 0; i < copy.count; i++)
        ulp_tensor_set_int(&copy, i, ulp_tensor_get_int(values, i));
    return ulp_tensor_set_add(held, name, &copy, error);
}

/* Rows of `width` whose numbers are others than the reference's, in any order. */
static enum ulp_status count_others(const struct ulp_tensor *recorded, const struct ulp_tensor *own,
                                    size_t width, struct ulp_budget *budget, size_t *out,
                                    struct ulp_error *error)
{
    ULP_SCOPED(ulp_free_of) double *rows = NULL;
    *out = 0;
    ULP_TRY(ulp_allocate(&rows, 2 * width, sizeof *rows, budget, "choices", error));
    for (size_t i = 0; i + width <= own->count && width; i += width) {
        ulp_side_read(rows, recorded, i, width);
        ulp_side_read(rows + width, own, i, width);
        *out += ulp_match_integers(rows, width, rows + width, width) > 0;
    }
    return ULP_OK;
}

/* Decisions that the recording has and are explained, and what is said of them. *plausible: not so
 * many are others that roundings did not turn them. */
static enum ulp_status hold_recorded(const struct ulp_comparing *comparing,
                                     struct ulp_tensor_set *held, bool *plausible,
                                     struct ulp_text *text, struct ulp_error *error)
{
    const char *first = NULL;
    size_t all = 0, others = 0;
    for (size_t t = 0; t < comparing->out->tensor_count; t++) {
        const struct ulp_compared_tensor *tensor = &comparing->out->tensors[t];
        const struct ulp_tensor *recorded = ulp_recorded(&comparing->work[t], 0);
        const ptrdiff_t number = ulp_execution_find(&comparing->decided, tensor->name, 0);
        const struct ulp_tensor *own = number < 0 ? NULL : &comparing->decisions[number];
        if (!recorded || !own || ulp_element_is_float(own->element) ||
            ulp_element_is_float(recorded->element) || recorded->count != own->count ||
            !tensor->values[0].explained || !ulp_is_chosen(comparing, tensor->name))
            continue;
        /* what a TopK takes is a set; others decide of each element */
        const bool set = own->rank && strcmp(tensor->op, "TopK") == 0;
        const size_t width = set ? (size_t)own->dims[own->rank - 1] : 1;
        size_t here;
        ULP_TRY(count_others(recorded, own, width, ulp_comparing_budget(comparing), &here, error));
        ULP_TRY(hold(held, tensor->name, recorded, own, ulp_comparing_budget(comparing), error));
        first = here && !first ? tensor->name : first;
        others += here;
        all += width ? own->count / width : 0;
    }
    *plausible = (double)others <= OTHERS_MOST * (double)all;
    ulp_text_add(text, "the %zu choice%s recorded", all, all == 1 ? "" : "s");
    if (first)
        ulp_text_show(text, ", of which %zu %s not the reference's (the first in '%s')", others,
                      others == 1 ? "is" : "are", first);
    return ULP_OK;
}

/* ---- as an arithmetic takes them ---- */

struct deciding {
    const struct ulp_comparing *comparing;
    const struct ulp_program *program;
    struct ulp_tensor_set *held;
    bool later;       /* of equal values the later one is taken */
    const char *tied; /* the first node in which that is another choice, in this run */
};

struct ranked_value {
    double value;
    int64_t index;
};

static int by_value_then_later(const void *a, const void *b)
{
    const struct ranked_value *x = a, *y = b;
    return x->value != y->value ? (x->value < y->value) - (x->value > y->value)
                                : (x->index < y->index) - (x->index > y->index);
}

/* What TopK takes of `from` where the later of equals comes first; of NaN what it took. */
static enum ulp_status take_later(const struct ulp_step *step, const struct ulp_tensor *from,
                                  struct ulp_tensor *indices, struct ulp_budget *budget,
                                  struct ulp_error *error)
{
    const int64_t given = ulp_node_int(step->bound.node, "axis", -1);
    const double sign = ulp_node_int(step->bound.node, "largest", 1) ? 1 : -1;
    const int axis = (int)(given < 0 ? given + from->rank : given);
    const size_t n = (size_t)from->dims[axis], k = (size_t)indices->dims[axis];
    size_t inner = 1;
    for (int d = axis + 1; d < from->rank; d++)
        inner *= (size_t)from->dims[d];
    ULP_SCOPED(ulp_free_of) struct ranked_value *line = NULL;
    ULP_TRY(ulp_allocate(&line, n + 1, sizeof *line, budget, "values in order", error));
    for (size_t o = 0; k && o < indices->count / k; o++) {
        const size_t outer = o / inner, at = o % inner;
        bool numbers = true;
        for (size_t i = 0; i < n; i++) {
            const double value = sign * ulp_tensor_get(from, (outer * n + i) * inner + at);
            line[i] = (struct ranked_value){value, (int64_t)i};
            numbers &= !isnan(value);
        }
        if (!numbers)
            continue;
        qsort(line, n, sizeof *line, by_value_then_later);
        for (size_t i = 0; i < k; i++)
            ulp_tensor_set_int(indices, (outer * k + i) * inner + at, line[i].index);
    }
    return ULP_OK;
}

struct suppressed_box {
    struct ranked_value ranked;
    struct ulp_box box;
};

static int by_score_then_later(const void *a, const void *b)
{
    return by_value_then_later(&((const struct suppressed_box *)a)->ranked,
                               &((const struct suppressed_box *)b)->ranked);
}

/* An input of the step, a constant or the reference's value; NULL: it is omitted. */
static const struct ulp_tensor *find_input(const struct deciding *deciding,
                                           const struct ulp_event *event, size_t input)
{
    const struct ulp_step *step = deciding->program->nodes[event->index].step;
    const int slot = input < step->own_input_count ? step->inputs[input] : -1;
    const struct ulp_program_slot *of = slot < 0 ? NULL : &deciding->program->main->slots[slot];
    for (size_t i = 0; of && !of->constant && i < event->input_count; i++)
        if (strcmp(event->input_names[i], of->name) == 0)
            return event->inputs[i].entire;
    return of ? of->constant : NULL;
}

/* Boxes of one image and class in the order in which they are looked at; their number. */
static size_t rank_boxes(const struct ulp_tensor *boxes, const struct ulp_tensor *scores,
                         bool center, size_t image, size_t row, double score,
                         struct suppressed_box *out)
{
    const size_t n = (size_t)boxes->dims[1];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        struct suppressed_box *box = &out[count];
        box->ranked = (struct ranked_value){ulp_tensor_read(scores, row * n + i), (int64_t)i};
        box->box = ulp_box_read(boxes, image * n + i, center);
        count += box->ranked.value > score;
    }
    qsort(out, count, sizeof *out, by_score_then_later);
    return count;
}

/* What NonMaxSuppression takes where the later of equals comes first; of another number than it
 * took nothing is put in its place. */
static enum ulp_status suppress_later(const struct deciding *deciding,
                                      const struct ulp_event *event, struct ulp_tensor *indices,
                                      struct ulp_budget *budget, struct ulp_error *error)
{
    const struct ulp_tensor *boxes = find_input(deciding, event, 0),
                            *scores = find_input(deciding, event, 1);
    const struct ulp_node *node = deciding->program->nodes[event->index].step->bound.node;
    const bool center = ulp_node_int(node, "center_point_box", 0) != 0;
    const double most = ulp_detect_limit(find_input(deciding, event, 2), 0),
                 overlap = ulp_detect_limit(find_input(deciding, event, 3), 0),
                 score = ulp_detect_limit(find_input(deciding, event, 4), -INFINITY);
    if (!boxes || !scores)
        return ULP_OK;
    const size_t classes = (size_t)scores->dims[1], rows = (size_t)scores->dims[0] * classes;
    ULP_SCOPED(ulp_free_of) struct suppressed_box *ranked = NULL;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor taken = {0};
    size_t all = 0;
    ULP_TRY(ulp_allocate(&ranked, (size_t)boxes->dims[1] + 1, sizeof *ranked, budget,
                         "boxes in order", error));
    ULP_TRY(ulp_tensor_copy(&taken, indices, budget, error));
    for (size_t row = 0; row < rows; row++) {
        const size_t count = rank_boxes(boxes, scores, center, row / classes, row, score, ranked);
        size_t kept = 0; /* at the front */
        for (size_t i = 0; i < count && (double)kept < most; i++) {
            bool free = true;
            for (size_t k = 0; k < kept && free; k++)
                free = !(ulp_box_overlap(&ranked[k].box, &ranked[i].box) > overlap);
            if (!free)
                continue;
            ranked[kept++] = ranked[i];
            const int64_t triple[] = {(int64_t)(row / classes), (int64_t)(row % classes),
                                      ranked[kept - 1].ranked.index};
            for (size_t c = 0; c < 3 && all < taken.count; c++)
                ulp_tensor_set_int(&taken, all + c, triple[c]);
            all += 3;
        }
    }
    for (size_t i = 0; i < taken.count && all == taken.count; i++)
        ulp_tensor_set_int(indices, i, ulp_tensor_get_int(&taken, i));
    return ULP_OK;
}

static enum ulp_status keep_decisions(void *context, const struct ulp_event *event,
                                      struct ulp_error *error)
{
    struct deciding *deciding = context;
    struct ulp_budget *const budget = ulp_comparing_budget(deciding->comparing);
    const struct ulp_step *step = deciding->program->nodes[event->index].step;
    for (size_t o = 0; o < event->output_count && !event->execution; o++) {
        const bool boxes = strcmp(event->op, "NonMaxSuppression") == 0,
                   ties = deciding->later && event->input_count &&
                          (boxes || strcmp(event->op, "TopK") == 0);
        if (!ulp_is_index(event, o) || deciding->tied ||
            deciding->program->nodes[event->index].block != deciding->program->main ||
            ulp_tensor_set_find(deciding->held, event->output_names[o]))
            continue;
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor copy = {0};
        ULP_TRY(ulp_tensor_copy(&copy, event->values[o].entire, budget, error));
        if (ties)
            ULP_TRY(boxes ? suppress_later(deciding, event, &copy, budget, error)
                          : take_later(step, event->inputs[0].entire, &copy, budget, error));
        if (ties &&
            memcmp(copy.data, event->values[o].entire->data, copy.count * copy.element_bytes) != 0)
            deciding->tied = event->name;
        ULP_TRY(ulp_tensor_set_add(deciding->held, event->output_names[o], &copy, error));
    }
    return ULP_OK;
}

/* ... of its own, or with the later of equal values; *tied: a node that then takes others. */
static enum ulp_status hold_own(const struct ulp_comparing *comparing, size_t arithmetic,
                                bool later, struct ulp_tensor_set *held, const char **tied,
                                struct ulp_error *error)
{
    const struct ulp_compare_options *options = comparing->options;
    const struct ulp_program_options plan = {
        .inputs = comparing->inputs,
        .keeps = options->keeps ? &options->keeps[arithmetic] : NULL,
        .groups = options->groups ? &options->groups[arithmetic] : NULL};
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    const struct ulp_run_options run = {.thread_count = options->thread_count,
                                        .follow = true,
                                        .decided = held};
    ULP_TRY(ulp_program_create(comparing->model, &options->arithmetics[arithmetic], 1, &plan,
                               &program, error));
    *tied = NULL;
    for (int turn = 0; turn < TIED_MAX; turn++) { /* what lies behind a tie is decided anew */
        struct deciding deciding = {comparing, program, held, later, NULL};
        const struct ulp_observer looking = {.context = &deciding,
                                             .node_done = keep_decisions,
                                             .modes_unused = true};
        ULP_TRY(ulp_program_look(program, comparing->inputs, &run, &looking, options->progress,
                                 NULL, error));
        if (!deciding.tied)
            break;
        *tied = *tied ? *tied : ulp_comparing_text(comparing, deciding.tied);
    }
    return ULP_OK;
}

/* ---- the comparison with them ---- */

/* Is what was recorded nowhere near what the arithmetic gives in its places, so that its choices
 * were surely others? */
static bool is_far(const struct ulp_comparing *comparing, size_t arithmetic)
{
    bool far = false;
    for (size_t t = 0; t < comparing->out->tensor_count; t++) {
        const struct ulp_compared_tensor *tensor = &comparing->out->tensors[t];
        const struct ulp_compared_value *value = &tensor->values[0];
        far |=
            value->recorded && !comparing->work[t].integers &&
            (value->reshaped || value->arithmetics[arithmetic].rms > FAR * tensor->range.ref_rms);
    }
    return far;
}

/* How good the outputs are is asked of the reference that takes its own choices. */
static enum ulp_status take_judged(struct ulp_comparing *to, const struct ulp_comparison *from,
                                   struct ulp_error *error)
{
    for (size_t t = 0; t < to->out->tensor_count; t++) {
        struct ulp_compared_tensor *tensor = &to->out->tensors[t];
        for (size_t i = 0; i < from->tensor_count; i++) { /* they stand in one order as a rule */
            const size_t f = (t + i) % from->tensor_count;
            const struct ulp_judged *judged = &from->tensors[f].values[0].judged;
            if (strcmp(from->tensors[f].name, tensor->name) != 0)
                continue;
            tensor->values[0].judged = *judged;
            if (judged->text) {
                tensor->values[0].judged.text = ulp_comparing_text(to, judged->text);
                ULP_TRY(ulp_taken(tensor->values[0].judged.text, error));
            }
            break;
        }
    }
    return ULP_OK;
}

/* *explains: the comparison with them does; it has then (`anyway`: always) taken the place of
 * *comparing, but of a node that is `read` otherwise. */
static enum ulp_status try_held(struct ulp_comparing *comparing, const struct ulp_tensor_set *held,
                                struct ulp_text *text, bool anyway, bool read, bool *explains,
                                struct ulp_error *error)
{
    struct ulp_comparison result, *const out = comparing->out;
    struct ulp_comparing again = ulp_comparing_another(comparing, &result);
    again.held = held;
    again.part = comparing->part;
    enum ulp_status status = ulp_comparing_measure(&again, error);
    *explains = status == ULP_OK && result.files[0].explained;
    const bool adopts = status == ULP_OK && !read && (anyway || *explains);
    if (adopts) {
        result.files[0].choices = ulp_text_keep(text, again.out->memory);
        status = ulp_taken(result.files[0].choices, error);
        ULP_THEN(status, take_judged(&again, out, error));
    }
    ulp_comparing_free(adopts ? comparing : &again);
    ulp_comparison_free(adopts ? out : &result);
    if (adopts) {
        *out = result;
        *comparing = again;
        comparing->out = out;
    }
    return ulp_program_refuses(status) ? ULP_OK : status;
}

/* The first float that was recorded behind decisions that an arithmetic that was asked about turns;
 * -1: there is none, and where all that was recorded are decisions nothing would be left to judge.
 * ties: anything behind a decision, which of equal values no arithmetic turns. */
static ptrdiff_t find_behind(const struct ulp_comparing *comparing, bool ties)
{
    for (size_t t = 0; t < comparing->out->tensor_count; t++)
        for (size_t a = 0; a < comparing->asked && comparing->work[t].recorded[0]; a++)
            if (comparing->work[t].chosen &&
                (ties || (ulp_type_is_float(comparing->out->tensors[t].type) &&
                          comparing->out->tensors[t].expected[a].open)))
                return (ptrdiff_t)t;
    return -1;
}

/* The node that takes the later of equal values is the cause. */
static enum ulp_status name_tied(struct ulp_comparing *comparing, const char *tied,
                                 const char *arithmetic, struct ulp_error *error)
{
    struct ulp_compared_file *file = &comparing->out->files[0];
    struct ulp_text text = {0};
    file->explained = file->hidden = false;
    file->first_unexplained = find_behind(comparing, true);
    ulp_text_show(&text,
                  "node %s may have taken the later of values that are equal in %s, where "
                  "ONNX has the earlier: with that everything that was recorded is explained.",
                  tied, arithmetic);
    ULP_TRY(ulp_cause_set(comparing, &file->cause, ULP_CAUSE_NODE, &text, NULL, error));
    ULP_TAKE(file->cause.nodes, comparing->out->memory, 1, error);
    file->cause.nodes[file->cause.node_count++] = ulp_comparing_text(comparing, tied);
    file->cause.todo = ulp_comparing_text(
        comparing, "where any of equal values will do, nothing; else give it values that do not "
                   "become equal, as what stands before a Sigmoid or Softmax that saturates");
    return ulp_taken(file->cause.nodes[0] && file->cause.todo, error);
}

/* A choice is the arithmetic's own, or else one of equal values. */
static enum ulp_status replay_own(struct ulp_comparing *comparing, size_t a, bool later,
                                  struct ulp_tensor_set *held, bool *explains,
                                  struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    const char *name = comparing->options->arithmetics[a].asked, *tied;
    ulp_tensor_set_free(held);
    ULP_TRY(hold_own(comparing, a, later, held, &tied, error));
    if (later && !tied)
        return ULP_OK;
    ulp_text_show(&text, "the choices that %s makes", name);
    ULP_TRY(try_held(comparing, held, &text, false, later, explains, error));
    return later && *explains ? name_tied(comparing, tied, name, error) : ULP_OK;
}

enum ulp_status ulp_compare_replay(struct ulp_comparing *comparing, struct ulp_tensor_set *held,
                                   struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    bool explains = false, plausible = false;
    const bool open = comparing->recording_count == 1 && find_behind(comparing, false) >= 0,
               ties = comparing->recording_count == 1 && !comparing->out->files[0].explained &&
                      find_behind(comparing, true) >= 0;
    if (!(open || ties) || ulp_compare_is_last(comparing))
        return ULP_OK;
    if (open)
        ULP_TRY(hold_recorded(comparing, held, &plausible, &text, error));
    if (held->count)
        return plausible ? try_held(comparing, held, &text, true, false, &explains, error) : ULP_OK;
    for (size_t way = 0; way < 2 * comparing->asked && !explains; way++) {
        const bool later = way % 2;
        if ((later || (open && !is_far(comparing, way / 2))) && !ulp_compare_is_last(comparing))
            ULP_TRY(replay_own(comparing, way / 2, later, held, &explains, error));
    }
    return ULP_OK;
}
