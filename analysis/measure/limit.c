/* Limits of --fail-above: parsing "ARITH:OUTPUT:METRIC=VALUE", and the outputs of an audit that
 * cross one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope/audit.h>
#include <ulpscope/limit.h>

#include "analysis/measure/limit.h"
#include "analysis/measure/judge.h"
#include "analysis/measure/judged.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/text/suggest.h"
#include "base/text/text.h"
#include "run/program/program.h"

/* No figures: counts of every node (an overflow may be hidden from the outputs: 1 / Inf is 0), of
 * outputs alone, and whether an output has diverged. */
enum {
    NONFINITE = ULP_FIGURE_COUNT,
    OUTPUTS_NONFINITE,
    DIVERGED,
    JUDGED, /* figures of what outputs are for */
    METRIC_COUNT = JUDGED + ULP_JUDGED_COUNT
};
static const char *const other_metrics[] = {"nonfinite", "outputs.nonfinite", "diverged"};

static const char *metric_name(int metric)
{
    return metric >= JUDGED            ? ulp_judged_rows[metric - JUDGED].name
           : metric < ULP_FIGURE_COUNT ? ulp_figure_rows[metric].name
                                       : other_metrics[metric - ULP_FIGURE_COUNT];
}

/* A limit, and what of an arithmetic does not meet it so far. */
struct check {
    const char *arithmetic, *output; /* that it is of; NULL: of all */
    enum ulp_view view;
    int figure; /* enum ulp_figure, or one of the others */
    double limit;
    const struct ulp_audit *audit;
    char *const *samples; /* names */
    struct ulp_crossing worst;
    bool crossed;
};

static double read_value(const struct ulp_metrics *metrics, int figure)
{
    return figure == DIVERGED           ? (double)metrics->diverged
           : figure >= ULP_FIGURE_COUNT ? (double)metrics->nonfinite
                                        : ulp_figure_get(metrics, figure);
}

static bool is_smallest(int figure)
{
    return (figure >= JUDGED            ? ulp_judged_rows[figure - JUDGED].worst
            : figure < ULP_FIGURE_COUNT ? ulp_figure_rows[figure].worst
                                        : ULP_WORST_LARGEST) == ULP_WORST_SMALLEST;
}

/* Written so that NaN crosses: a figure that does not exist meets no limit. */
bool ulp_limit_is_beyond(int figure, double value, double limit)
{
    return is_smallest(figure) ? !(value >= limit) : !(fabs(value) <= limit);
}

/* Of nodes that overflow the first is the cause. */
static bool is_worse(int figure, double value, double than)
{
    return figure >= JUDGED ? (is_smallest(figure) ? value < than : value > than)
                            : figure < ULP_FIGURE_COUNT && ulp_figure_worse(figure, value, than);
}

static void add_crossing(struct check *check, enum ulp_crossing_kind kind, double value,
                         const struct ulp_audit_output *output, const char *node)
{
    struct ulp_crossing *worst = &check->worst;
    const size_t more = worst->more + check->crossed;
    const bool vacant =
        output->vacant.count &&
        (kind == ULP_CROSSED_EMPTY || kind == ULP_CROSSED_IDLE || kind == ULP_CROSSED_NOTHING);
    if (!check->crossed || kind > worst->kind ||
        (kind == worst->kind && is_worse(check->figure, value, worst->value)))
        *worst =
            (struct ulp_crossing){.kind = kind,
                                  .arithmetic = worst->arithmetic,
                                  .output = output->name,
                                  .node = node,
                                  .sample = vacant ? check->samples[output->vacant.sample] : NULL,
                                  .value = value,
                                  .limit = check->limit};
    worst->more = more;
    check->crossed = true;
}

/* The node that computes a value; names of values are unique in a graph. */
static const char *find_computing_node(const struct ulp_audit_lane *lane, const char *output)
{
    for (size_t n = lane->node_count; n-- > 0;)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            if (strcmp(lane->nodes[n].outputs[o].name, output) == 0)
                return lane->nodes[n].name;
    return NULL;
}

static bool is_meant(const char *wanted, const char *name)
{
    return !wanted || strcmp(wanted, name) == 0;
}

/* A float output that has diverged may have figures with the reference's decisions. Where these
 * leave no error it is nothing but the decision, as integers are, and would be compared with
 * itself. */
static bool is_followed(const struct check *check, const struct ulp_audit_output *output)
{
    return check->figure < DIVERGED && check->view == ULP_VIEW_ENTIRE && output->divergence &&
           output->divergence->followed.given && !output->divergence->followed.metrics.diverged &&
           output->divergence->followed.metrics.max_abs > 0 &&
           ulp_view_limit_get(output, check->view)->diverged;
}

static const struct ulp_metrics *find_metrics(const struct check *check,
                                              const struct ulp_audit_output *output)
{
    return is_followed(check, output) ? &output->divergence->followed.metrics
                                      : ulp_view_limit_get(output, check->view);
}

static double read_figure(const struct check *check, const struct ulp_audit_output *output)
{
    return check->figure >= JUDGED ? ulp_judged_get(&output->judged, check->figure - JUDGED)
                                   : read_value(find_metrics(check, output), check->figure);
}

static bool is_beyond(const struct check *check, const struct ulp_audit_output *output)
{
    return ulp_limit_is_beyond(check->figure, read_figure(check, output), check->limit);
}

/* What stands against the output besides the value of its figure. Counts of what is not finite are
 * values of their own, as is having diverged. */
static enum ulp_crossing_kind judge_output(const struct check *check,
                                           const struct ulp_audit_output *output)
{
    const bool is_other_model = check->view == ULP_VIEW_ENTIRE || check->view == ULP_VIEW_CARRIED;
    const enum ulp_crossing_kind kind = ulp_judge_metrics(find_metrics(check, output));
    /* whatever was decided otherwise, and however it comes out with the reference's decisions */
    if (check->view == ULP_VIEW_ENTIRE && check->figure != DIVERGED && !output->unpaired &&
        ulp_view_limit_get(output, ULP_VIEW_ENTIRE)->nonfinite)
        return check->figure < JUDGED && check->figure >= ULP_FIGURE_COUNT ? ULP_CROSSED_VALUE
                                                                           : ULP_CROSSED_NONFINITE;
    if (output->unpaired && is_other_model)
        return ULP_CROSSED_UNPAIRED;
    /* these are figures of the outputs as they are */
    if (check->figure >= JUDGED && kind == ULP_CROSSED_DIVERGED &&
        !(output->divergence && output->divergence->reshaped))
        return ULP_CROSSED_VALUE;
    if (check->figure == DIVERGED || (check->figure < JUDGED && check->figure >= ULP_FIGURE_COUNT &&
                                      kind == ULP_CROSSED_NONFINITE))
        return ULP_CROSSED_VALUE;
    /* what meets the limit in some samples may have nothing to meet it with in others, of which
     * NaN remains */
    const bool open = isnan(read_figure(check, output)) || !is_beyond(check, output);
    return kind == ULP_CROSSED_VALUE && output->vacant.count && open
               ? ulp_judge_vacant(&output->vacant)
               : kind;
}

/* values false: figures have been checked among the nodes'. */
static void check_output(struct check *check, const struct ulp_audit_lane *lane,
                         const struct ulp_audit_output *output, bool values)
{
    const enum ulp_crossing_kind kind = judge_output(check, output);
    const struct ulp_birth *birth =
        output->unpaired || check->view != ULP_VIEW_ENTIRE
            ? NULL
            : ulp_birth_of(check->audit->births, check->audit->birth_count, output->name);
    if (birth) {
        add_crossing(check, kind == ULP_CROSSED_NOTHING ? kind : ULP_CROSSED_REFERENCE,
                     (double)birth->count, output, birth->name);
        return;
    }
    const double value = kind == ULP_CROSSED_NONFINITE
                             ? (double)ulp_view_limit_get(output, check->view)->nonfinite
                             : read_figure(check, output);
    if (kind != ULP_CROSSED_VALUE || (values && is_beyond(check, output)))
        add_crossing(check, kind, value, output, find_computing_node(lane, output->name));
}

/* What has diverged has no element that may be finite here and not there: it fails limits on such
 * counts only where nothing else is left. */
static void check_outputs(struct check *check, const struct ulp_audit_lane *lane, bool values)
{
    const struct ulp_audit_output *diverged = NULL;
    const bool counts = check->figure >= ULP_FIGURE_COUNT && check->figure < DIVERGED;
    bool any = false, without = false;
    for (size_t o = lane->outputs.output_count; o-- > 0;) {
        const struct ulp_audit_output *output = &lane->outputs.outputs[o];
        if (!is_meant(check->output, output->name))
            continue;
        if (check->figure >= JUDGED && judge_output(check, output) == ULP_CROSSED_VALUE &&
            isnan(read_figure(check, output)) && !check->output &&
            !ulp_task_has(output->judged.task, check->figure - JUDGED)) {
            without = true;
            continue;
        }
        if (counts && judge_output(check, output) == ULP_CROSSED_DIVERGED) {
            diverged = output;
            continue;
        }
        check_output(check, lane, output, values);
        any = true;
    }
    if (!any && diverged)
        check_output(check, lane, diverged, values);
    if (!any && without)
        add_crossing(check, ULP_CROSSED_NO_FIGURE, NAN, &(struct ulp_audit_output){0}, NULL);
    else if (!any && !diverged)
        add_crossing(check, ULP_CROSSED_NO_OUTPUT, NAN, &(struct ulp_audit_output){0}, NULL);
}

/* What is not finite in the reference and what finite outputs depend on. */
static void check_hidden(struct check *check)
{
    for (size_t b = 0; b < check->audit->birth_count; b++) {
        const struct ulp_birth *birth = &check->audit->births[b];
        if (!birth->output_count && !check->output)
            add_crossing(check, ULP_CROSSED_HIDDEN, (double)birth->count,
                         &(struct ulp_audit_output){.name = birth->value}, birth->name);
    }
}

/* An overflow inside may be hidden from the outputs. A node may decide otherwise than the reference
 * and be finite all the same. */
static void check_nodes(struct check *check, const struct ulp_audit_lane *lane)
{
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++) {
            const struct ulp_audit_output *output = &lane->nodes[n].outputs[o];
            if (!is_meant(check->output, output->name))
                continue;
            const double value = read_value(ulp_view_limit_get(output, check->view), check->figure);
            if (ulp_limit_is_beyond(check->figure, value, check->limit))
                add_crossing(check, ULP_CROSSED_VALUE, value, output, lane->nodes[n].name);
        }
}

static enum ulp_status add_to_list(struct ulp_crossing_list *list, struct ulp_crossing crossing,
                                   struct ulp_error *error)
{
    struct ulp_crossing *items = realloc(list->items, (list->count + 1) * sizeof *items);
    ULP_TRY(ulp_taken(items, error));
    list->items = items;
    items[list->count++] = crossing;
    return ULP_OK;
}

static enum ulp_status check_lane(struct check check, const struct ulp_audit_lane *lane,
                                  struct ulp_crossing_list *out, struct ulp_error *error)
{
    if (!is_meant(check.arithmetic, lane->name))
        return ULP_OK;
    check.worst.arithmetic = lane->name;
    check.worst.limit = check.limit;
    if (ulp_certificate_is_lost(&check.audit->certificate))
        add_crossing(&check, ULP_CROSSED_LOST, check.audit->certificate.output_digits,
                     &(struct ulp_audit_output){0}, NULL);
    else if (check.figure == NONFINITE)
        check_nodes(&check, lane);
    check_outputs(&check, lane, !check.crossed);
    check_hidden(&check);
    return check.crossed ? add_to_list(out, check.worst, error) : ULP_OK;
}

static enum ulp_status check_inputs(const struct ulp_audit *audit, struct ulp_crossing_list *out,
                                    struct ulp_error *error)
{
    if (!audit->nonfinite_input_count)
        return ULP_OK;
    const struct ulp_audit_input *first = &audit->nonfinite_inputs[0];
    return add_to_list(out,
                       (struct ulp_crossing){.kind = ULP_CROSSED_INPUT,
                                             .output = first->name,
                                             .sample = audit->sample_names[first->sample],
                                             .value = (double)first->count,
                                             .more = audit->nonfinite_input_count - 1},
                       error);
}

/* ---- the text of a limit ---- */

static const char *name_of_metric(const void *context, size_t m)
{
    (void)context;
    return metric_name((int)m);
}

/* word: the metric that there is not; "": that is not what is wrong. */
static enum ulp_status fail_limit(const char *limit, const char *word, struct ulp_error *error)
{
    struct ulp_text text = {0}, near = {0};
    ulp_suggest_names(&near, word, METRIC_COUNT, name_of_metric, NULL);
    for (int m = 0; m < METRIC_COUNT; m++)
        ulp_text_add(&text, "%s%s", m ? ", " : "", metric_name(m));
    ulp_text_add(&text, ", alone or after ");
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        ulp_text_add(&text, "%s%s.",
                     v == 0                   ? ""
                     : v + 1 < ULP_VIEW_COUNT ? ", "
                                              : " or ",
                     ulp_view_names[v]);
    ulp_fail(error, ULP_ERROR_USAGE,
             "limit '%s': expected METRIC=NUMBER, as sqnr_db=60 or max_abs=1e-3%s, perhaps after "
             "ARITH:, OUTPUT: or ARITH:OUTPUT:, with METRIC one of %s",
             limit, near.length ? near.data : "",
             text.failed ? "those of ulpscope audit --help" : text.data);
    ulp_text_free(&text);
    ulp_text_free(&near);
    return ULP_ERROR_USAGE;
}

static bool equals(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* By its name, or by what numpy and Polygraphy call it; METRIC_COUNT: none. */
static int find_figure(const char *text, size_t length)
{
    static const char *const others[][2] = {{"atol", "max_abs"}, {"rtol", "max_rel"}};
    for (size_t o = 0; o < sizeof others / sizeof *others; o++)
        if (equals(text, length, others[o][0]))
            return find_figure(others[o][1], strlen(others[o][1]));
    int m = 0;
    while (m < METRIC_COUNT && !equals(text, length, metric_name(m)))
        m++;
    return m;
}

/* Where the name of the metric begins; names of outputs may hold ':' and '='. */
static const char *find_metric(const char *limit, const char *equals_sign)
{
    const char *start = equals_sign;
    while (start > limit && start[-1] != ':')
        start--;
    return start;
}

/* "VIEW.METRIC=VALUE" behind what it is of. */
static enum ulp_status read_limit(const char *limit, struct check *out, struct ulp_error *error)
{
    const char *sign = strrchr(limit, '=');
    char *end = NULL;
    if (!sign)
        return fail_limit(limit, "", error);
    const char *name = find_metric(limit, sign), *found = name;
    out->view = ULP_VIEW_ENTIRE;
    for (int v = 0; v < ULP_VIEW_COUNT; v++) {
        const size_t length = strlen(ulp_view_names[v]);
        if (strncmp(name, ulp_view_names[v], length) == 0 && name[length] == '.') {
            out->view = (enum ulp_view)v;
            found = name + length + 1;
        }
    }
    out->figure = find_figure(found, (size_t)(sign - found));
    out->limit = strtod(sign + 1, &end);
    char word[64] = "";
    if (out->figure == METRIC_COUNT)
        snprintf(word, sizeof word, "%.*s", (int)(sign - found), found);
    return out->figure < METRIC_COUNT && end != sign + 1 && !*end && !isnan(out->limit)
               ? ULP_OK
               : fail_limit(limit, word, error);
}

/* What a limit may be of: names of arithmetics and of outputs. */
struct names {
    size_t count;
    const char *(*name)(const void *context, size_t i);
    const void *context;
};

static const char *find_name(const struct names *names, const char *text, size_t length)
{
    for (size_t i = 0; i < names->count; i++)
        if (equals(text, length, names->name(names->context, i)))
            return names->name(names->context, i);
    return NULL;
}

/* By the lane's name, or another name of the same arithmetic. */
static const char *find_lane(const struct names *lanes, const char *text, size_t length)
{
    struct ulp_arithmetic arithmetic;
    char name[256];
    const char *found = find_name(lanes, text, length);
    if (found || length >= sizeof name)
        return found;
    memcpy(name, text, length);
    name[length] = '\0';
    return ulp_arithmetic_find(name, &arithmetic, NULL) == ULP_OK
               ? find_name(lanes, arithmetic.asked, strlen(arithmetic.asked))
               : NULL;
}

/* "ARITH:", "OUTPUT:" or "ARITH:OUTPUT:" before the metric; either name may hold ':'. */
static enum ulp_status find_scope(const char *limit, const struct names *lanes,
                                  const struct names *outputs, struct check *out,
                                  struct ulp_error *error)
{
    const char *metric = find_metric(limit, strrchr(limit, '='));
    const size_t length = metric > limit ? (size_t)(metric - limit) - 1 : 0;
    struct ulp_text text = {0};
    if (metric == limit || (out->arithmetic = find_lane(lanes, limit, length)) != NULL ||
        (out->output = find_name(outputs, limit, length)) != NULL)
        return ULP_OK;
    for (size_t k = 0; k < length; k++)
        if (limit[k] == ':' && (out->arithmetic = find_lane(lanes, limit, k)) != NULL) {
            out->output = find_name(outputs, limit + k + 1, length - k - 1);
            if (out->output)
                return ULP_OK;
            ulp_text_show(&text, "'%.*s' is no output", (int)(length - k - 1), limit + k + 1);
        }
    if (!text.length)
        ulp_text_show(&text, "'%.*s' is neither an arithmetic of the audit nor an output",
                      (int)length, limit);
    ulp_text_add(&text, outputs->count ? " (outputs:" : " (outputs: none");
    for (size_t o = 0; o < outputs->count && o < 8; o++)
        ulp_text_show(&text, "%s %s", o ? "," : "", outputs->name(outputs->context, o));
    ulp_text_add(&text, outputs->count > 8 ? ", ...)" : ")");
    ulp_fail(error, ULP_ERROR_USAGE, "limit '%s': %s", limit,
             text.failed ? "it is of an output that is not there" : text.data);
    ulp_text_free(&text);
    return ULP_ERROR_USAGE;
}

static const char *audited_lane(const void *context, size_t i)
{
    return ((const struct ulp_audit *)context)->lanes[i].name;
}

static const char *audited_output(const void *context, size_t i)
{
    return ((const struct ulp_audit *)context)->lanes[0].outputs.outputs[i].name;
}

static const char *planned_lane(const void *context, size_t i)
{
    return ulp_program_lane_name(context, i + 1);
}

static const char *planned_output(const void *context, size_t i)
{
    return ulp_model_output(context, i).name;
}

enum ulp_status ulp_limit_check(const char *limit, const struct ulp_model *model,
                                const struct ulp_program *program, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct check check = {0};
    ULP_TRY(read_limit(limit, &check, error));
    if (!program)
        return ULP_OK;
    const struct names lanes = {program->lane_count - 1, planned_lane, program},
                       outputs = {ulp_model_output_count(model), planned_output, model};
    return find_scope(limit, &lanes, &outputs, &check, error);
}

static enum ulp_status find_audited(const char *limit, const struct ulp_audit *audit,
                                    struct check *check, struct ulp_error *error)
{
    const struct names lanes = {audit->lane_count, audited_lane, audit},
                       outputs = {audit->lane_count ? audit->lanes[0].outputs.output_count : 0,
                                  audited_output, audit};
    return find_scope(limit, &lanes, &outputs, check, error);
}

enum ulp_status ulp_audit_check(const struct ulp_audit *audit, const char *limit,
                                bool allow_nonfinite_inputs, struct ulp_crossing_list *out,
                                struct ulp_error *error)
{
    ULP_ENTER(error);
    struct check check = {.audit = audit, .samples = audit->sample_names};
    *out = (struct ulp_crossing_list){0};
    enum ulp_status status = read_limit(limit, &check, error);
    ULP_THEN(status, find_audited(limit, audit, &check, error));
    if (status == ULP_OK && !allow_nonfinite_inputs)
        status = check_inputs(audit, out, error);
    for (size_t l = 0; l < audit->lane_count && status == ULP_OK; l++)
        status = check_lane(check, &audit->lanes[l], out, error);
    if (status != ULP_OK) {
        free(out->items);
        *out = (struct ulp_crossing_list){0};
    }
    return status;
}

static bool is_entire(const struct check *check)
{
    return check->figure < ULP_FIGURE_COUNT && check->view == ULP_VIEW_ENTIRE;
}

bool ulp_limit_is_tolerance(const char *text)
{
    struct check check = {0};
    struct ulp_error refused;
    return read_limit(text, &check, &refused) == ULP_OK && is_entire(&check);
}

enum ulp_status ulp_limit_read(const char *text, const struct ulp_model *model,
                               struct ulp_limit *out, struct ulp_error *error)
{
    struct check check = {0};
    const struct names lanes = {0, planned_lane, NULL},
                       outputs = {ulp_model_output_count(model), planned_output, model};
    ULP_TRY(read_limit(text, &check, error));
    ULP_TRY(find_scope(text, &lanes, &outputs, &check, error));
    if (!is_entire(&check))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "tolerance '%s': expected a figure of the whole error, as sqnr_db=60",
                        text);
    *out = (struct ulp_limit){check.output, check.figure, check.limit};
    return ULP_OK;
}
