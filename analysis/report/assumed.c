/* Sums inside operators that nobody recorded: what outputs are with another accumulator, where the
 * audit has both and only one of them is fine. */
#include <stdio.h>
#include <string.h>

#include <ulpscope/doctor.h>

#include "analysis/audit/auditor.h"
#include "analysis/report/report.h"

/* This much of what accumulation makes of the error comes from the sums whose size is said. */
#define MOST 0.9
/* From this share of the error on it is accumulation that makes the difference. */
#define SUMS 0.2

static const char part[] = ",acc=", rows[] = ",steps=stored-";

/* Is it the other arithmetic with another accumulator, or with rows added in storage? */
static bool is_with(const char *other, const char *name, const char *of)
{
    const char *at = strstr(name, other);
    const size_t before = at ? (size_t)(at - name) : 0;
    return at && strncmp(name, of, before) == 0 &&
           strcmp(of + before, at + 1 + strcspn(at + 1, ",")) == 0;
}

/* What is assumed of rows where the other arithmetic adds them in storage. */
static bool find_rows(const char *other, struct ulp_rule *out)
{
    const struct ulp_target_choice *row;
    for (size_t i = 0; (row = ulp_target_choice(i)); i++)
        if (row->inside && strncmp(other, row->other, strcspn(row->other, ",")) == 0) {
            *out = (struct ulp_rule){.rule = row->word,
                                     .known = ULP_KNOWN_INFERRED,
                                     .by = row->question};
            return true;
        }
    return false;
}

/* The rule by which the arithmetic adds: of an accumulator, else its base. */
static bool find_rule(const char *name, struct ulp_rule *out)
{
    struct ulp_rule rule;
    bool found = false, own = false;
    for (size_t i = 0; ulp_target_rule(i, &rule); i++) {
        const bool sums = strncmp(rule.rule, part + 1, strlen(part + 1)) == 0;
        if (!ulp_rule_holds(&rule, name) || own || (!sums && (found || strpbrk(rule.rule, "=:"))))
            continue;
        *out = rule;
        found = true;
        own = sums;
    }
    return found;
}

static bool adds_rows(const struct ulp_model *model, const char *arithmetic)
{
    struct ulp_rule rule;
    char op[64];
    bool found = false;
    for (size_t i = 0; ulp_target_rule(i, &rule) && !found; i++) {
        snprintf(op, sizeof op, "%.*s", (int)strcspn(rule.rule, ":"), rule.rule);
        found = strchr(rule.rule, ':') && ulp_rule_holds(&rule, arithmetic) &&
                ulp_model_has_operator(model, op);
    }
    return found;
}

/* Is it about sums of the model, and answered by nothing that was recorded or documented? */
static bool is_open(const struct ulp_target_choice *row, const struct ulp_model *model,
                    const char *arithmetic)
{
    struct ulp_rule rule;
    return row->inside ? adds_rows(model, row->other)
                       : strstr(row->other, part) && !strstr(arithmetic, part) &&
                             find_rule(arithmetic, &rule) && rule.known >= ULP_KNOWN_STATED;
}

const struct ulp_target_choice *ulp_judged_sums(const struct ulp_model *model,
                                                const char *arithmetic, size_t index,
                                                char other[ULP_JUDGED_IN_BYTES])
{
    const struct ulp_runtime *runtime = ulp_runtime_find(arithmetic);
    const struct ulp_target_choice *row;
    const char *gpu = arithmetic + strcspn(arithmetic, "@,"), *parts = gpu + strcspn(gpu, ",");
    for (size_t i = 0; runtime && (row = ulp_target_choice(i)); i++) {
        const size_t base = strcspn(row->other, ",");
        if (strlen(runtime->name) != base || strncmp(runtime->name, row->other, base) != 0 ||
            !is_open(row, model, arithmetic) || index--)
            continue;
        snprintf(other, ULP_JUDGED_IN_BYTES, "%.*s%.*s%s%s", (int)base, row->other,
                 (int)(parts - gpu), gpu, row->other + base, parts);
        return row;
    }
    return NULL;
}

static bool is_fine(const struct ulp_audit *audit, size_t lane)
{
    return ulp_audit_lane_grade(audit, &audit->lanes[lane]) == ULP_GRADE_FINE;
}

/* What accumulation makes of the error in sums of so many terms and more. */
static double sum_causes(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                         size_t terms)
{
    double sum = 0;
    for (size_t n = 0; n < audit->place_count; n++)
        if (audit->places[n].terms >= terms)
            sum += lane->nodes[n].causes[ULP_SHARE_SUMS];
    return sum;
}

static void find_size(const struct ulp_audit *audit, struct ulp_assumed *out)
{
    const struct ulp_audit_lane *wrong = &audit->lanes[out->wrong],
                                *fine = &audit->lanes[out->fine];
    out->node = wrong->first_born;
    if (out->node >= 0) {
        out->terms = fine->nodes[out->node].born ? 0 : audit->places[out->node].terms;
        return;
    }
    const double all = wrong->attribution.given ? sum_causes(audit, wrong, 0) : 0;
    for (size_t n = 0; n < audit->place_count && all >= SUMS; n++)
        if (audit->places[n].terms > out->terms &&
            sum_causes(audit, wrong, audit->places[n].terms) >= MOST * all)
            out->terms = audit->places[n].terms;
}

bool ulp_report_assumed(const struct ulp_audit *audit, size_t index, struct ulp_assumed *out)
{
    for (size_t l = 0; l < audit->lane_count; l++)
        for (size_t m = 0; m < audit->lane_count; m++) {
            *out = (struct ulp_assumed){.node = -1};
            const char *name = audit->lanes[l].name, *other = audit->lanes[m].name;
            if (is_fine(audit, l) == is_fine(audit, m) ||
                !((is_with(part, other, name) && find_rule(name, &out->rule)) ||
                  (is_with(rows, other, name) && find_rows(other, &out->rule))) ||
                out->rule.known < ULP_KNOWN_STATED || index--)
                continue;
            out->fine = is_fine(audit, l) ? l : m;
            out->wrong = is_fine(audit, l) ? m : l;
            find_size(audit, out);
            return true;
        }
    return false;
}

void ulp_report_assumed_say(struct ulp_text *out, const struct ulp_audit *audit,
                            const struct ulp_assumed *assumed)
{
    const struct ulp_audit_lane *wrong = &audit->lanes[assumed->wrong];
    ulp_text_show(out, "the answer depends on a rule that is %s, %s (%s): fine in %s, %s in %s",
                  ulp_known_name(assumed->rule.known), assumed->rule.rule, assumed->rule.by,
                  audit->lanes[assumed->fine].name,
                  ulp_grade_name(ulp_audit_lane_grade(audit, wrong)), wrong->name);
    if (assumed->node >= 0)
        ulp_text_show(out, ", first at node %td %s (%s)", assumed->node,
                      wrong->nodes[assumed->node].name, wrong->nodes[assumed->node].op);
    if (assumed->terms && assumed->node >= 0)
        ulp_text_add(out, ", whose sums have %zu terms", assumed->terms);
    else if (assumed->terms)
        ulp_text_add(out, ", by sums of %zu terms and more", assumed->terms);
}
