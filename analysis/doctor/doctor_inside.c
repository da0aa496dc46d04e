/* How a target adds, of products and of rows inside operators, where nobody recorded or documented
 * it: the answer by what is assumed, and by the other choice. */
#include <string.h>

#include "analysis/doctor/doctoring.h"
#include "analysis/measure/judge.h"
#include "analysis/measure/judged.h"
#include "analysis/report/report.h"
#include "analysis/writing/columns.h"
#include "base/error.h"

/* From this share of the error on it is the sums', beside which others do not count. */
#define MAKES_MOST 0.5

void ulp_doctor_choose_sums(struct ulp_doctoring *x, const char *arithmetic)
{
    char other[ULP_JUDGED_IN_BYTES];
    struct ulp_error ignored;
    const struct ulp_target_choice *row;
    for (size_t i = 0; !x->options->engine && x->sum_count < ULP_DOCTOR_SUMS &&
                       (row = ulp_judged_sums(x->model, arithmetic, i, other));
         i++) {
        struct ulp_doctor_sums *sums = &x->sums[x->sum_count];
        sums->row = row;
        /* what was named may say something else of these sums */
        x->sum_count += ulp_arithmetic_find(other, &sums->arithmetic, &ignored) == ULP_OK;
    }
}

/* The node whose sums make the difference: the first that is not finite by itself, or the one that
 * makes most of the error, where it adds rows; NULL: there is none. */
static const struct ulp_audit_node *find_adding(const struct ulp_target_choice *row,
                                                const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_node *found = NULL;
    struct ulp_rule rule;
    bool adds = false;
    for (size_t n = 0; n < lane->node_count && !(found && found->born); n++)
        if (lane->nodes[n].born ||
            (lane->nodes[n].share >= MAKES_MOST && (!found || lane->nodes[n].share > found->share)))
            found = &lane->nodes[n];
    for (size_t i = 0; found && ulp_target_rule(i, &rule); i++)
        adds |= ulp_rule_holds(&rule, row->other) &&
                strncmp(rule.rule, found->op, strlen(found->op)) == 0 &&
                rule.rule[strlen(found->op)] == ':';
    return adds ? found : NULL;
}

/* The other choice of one kind of sums, behind a verdict of that grade: of rows where it is worse
 * by what they are, of products where one is fine and the other not. */
static enum ulp_status weigh(struct ulp_doctoring *x, size_t s, enum ulp_grade grade,
                             struct ulp_text *out, struct ulp_error *error)
{
    ULP_SCOPED(ulp_verdict_free) struct ulp_verdict other = {0};
    const struct ulp_audit *audit = x->doctor->audit;
    const size_t at = audit->lane_count - x->sum_count + s;
    const struct ulp_target_choice *row = x->sums[s].row;
    ULP_TRY(ulp_audit_judge(audit, at, x->options->allow_nonfinite_inputs, &other, error));
    const struct ulp_audit_node *node = row->inside ? find_adding(row, &audit->lanes[at]) : NULL;
    if (other.grade == ULP_GRADE_NOT ||
        (row->inside ? !node || ulp_grade_weigh(other.grade) <= ulp_grade_weigh(grade)
                     : (other.grade == ULP_GRADE_FINE) == (grade == ULP_GRADE_FINE)))
        return ULP_OK;
    ulp_text_show(out, "; assumed: %s (%s: %s, %s)", row->word, row->other_word,
                  ulp_grade_name(other.grade), other.text);
    x->adds = node ? node : x->adds;
    return ULP_OK;
}

enum ulp_status ulp_doctor_weigh_sums(struct ulp_doctoring *x, size_t of, enum ulp_grade grade,
                                      struct ulp_text *out, struct ulp_error *error)
{
    for (size_t s = 0; s < x->sum_count && x->sums_of == of; s++)
        ULP_TRY(weigh(x, s, grade, out, error));
    return ULP_OK;
}

const struct ulp_doctor_sums *ulp_doctor_rows(const struct ulp_doctoring *x)
{
    size_t s = 0;
    while (!x->sums[s].row->inside)
        s++;
    return &x->sums[s];
}

/* The sum that leaves the format, of a forecast; NULL: none does. */
static const struct ulp_overflow_hidden *find_sum(const struct ulp_overflow_forecast *forecast,
                                                  const struct ulp_audit_node *node)
{
    const struct ulp_overflow_hidden *found = NULL;
    for (size_t n = 0; forecast && n < forecast->lanes[0].node_count; n++) {
        const struct ulp_overflow_node *other = &forecast->lanes[0].nodes[n];
        for (size_t h = 0; strcmp(other->name, node->name) == 0 && h < other->hidden_count; h++)
            if (other->hidden[h].sum && other->hidden[h].narrow.verdict == ULP_OVERFLOW_HAPPENS &&
                (!found || other->hidden[h].largest > found->largest))
                found = &other->hidden[h];
    }
    return found;
}

void ulp_doctor_find_inside(struct ulp_doctoring *x)
{
    struct ulp_text text = {0}, fix = {0};
    if (!x->only_inside)
        return;
    const struct ulp_doctor_sums *rows = ulp_doctor_rows(x);
    const struct ulp_format *format = &rows->arithmetic.storage;
    const struct ulp_overflow_hidden *sum = find_sum(x->doctor->overflow, x->adds);
    ulp_text_show(&text, "node %zu %s (%s) adds rows inside, which is right in FP32; in %s ",
                  x->adds->index, x->adds->name, x->adds->op, format->name);
    if (sum)
        ulp_text_show(&text,
                      "the sum of %s reaches %s, and the largest %s is %.6g, which is left "
                      "from %td terms of such a size on",
                      sum->words, ULP_REACH(sum->largest), format->name, format->max_finite,
                      sum->first + 1);
    else
        ulp_text_show(&text, "their sums are too coarse");
    ulp_text_show(&text, "; %s", rows->row->question);
    ulp_text_show_whole(&fix,
                        "record an output there, by which ulpscope compare tells which it is (");
    ulp_text_show_whole(&fix, rows->row->other);
    ulp_text_show_whole(&fix, " beside ");
    ulp_text_show_whole(&fix, x->doctor->arithmetic);
    ulp_text_show_whole(&fix, "), or ");
    ulp_text_show_whole(&fix, x->target && x->target->wider ? x->target->wider
                                                            : "keep this node in FP32");
    ulp_doctor_add(x, ULP_DOCTOR_INSIDE, x->adds, NULL, &text)->fix = ulp_doctor_keep(x, &fix);
}
