/* Sums inside operators that nobody recorded: what outputs are with another accumulator, where the
 * audit has both and only one of them is fine. */
#include <string.h>

#include <ulpscope/target.h>

#include "analysis/audit/auditor.h"
#include "analysis/report/report.h"

/* This much of what accumulation makes of the error comes from the sums whose size is said. */
#define MOST 0.9
/* From this share of the error on it is accumulation that makes the difference. */
#define SUMS 0.2

static const char part[] = ",acc=";

/* Is it the other arithmetic with another accumulator? */
static bool is_with_other_sums(const char *name, const char *of)
{
    const char *at = strstr(name, part);
    const size_t before = at ? (size_t)(at - name) : 0;
    return at && strncmp(name, of, before) == 0 &&
           strcmp(of + before, at + 1 + strcspn(at + 1, ",")) == 0;
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
            if (!is_with_other_sums(audit->lanes[m].name, audit->lanes[l].name) ||
                is_fine(audit, l) == is_fine(audit, m) ||
                !find_rule(audit->lanes[l].name, &out->rule) ||
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
