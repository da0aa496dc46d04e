/* `audit --for`: which arithmetics it audits, and what is said of them. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/writing/columns.h"
#include "base/error.h"
#include "base/text/text.h"
#include "cli/command/command_audit.h"

/* The lane of that name, which is added where it is not there; "@GPU" behind the base, `part` last.
 */
static size_t add_lane_once(struct audit_choices *choices, const char *name, const char *gpu,
                            const char *part)
{
    char full[sizeof choices->lanes[0]];
    const int base = (int)strcspn(name, ",");
    snprintf(full, sizeof full, "%.*s%s%s%s", base, name, gpu, name + base, part);
    for (size_t l = 0; l < choices->lane_count; l++)
        if (strcmp(choices->lanes[l], full) == 0)
            return l;
    memcpy(choices->lanes[choices->lane_count], full, sizeof full);
    return choices->lane_count++;
}

/* Is there such an arithmetic on that GPU? An old one has no TF32. */
static bool is_there(const char *name, const char *gpu)
{
    char full[320];
    struct ulp_arithmetic found;
    struct ulp_error ignored;
    const int base = (int)strcspn(name, ",");
    snprintf(full, sizeof full, "%.*s%s%s", base, name, gpu, name + base);
    return ulp_arithmetic_find(full, &found, &ignored) == ULP_OK;
}

static bool adds_rows(const struct ulp_model *model, const struct ulp_target_choice *row,
                      const char *lowered)
{
    char other[ULP_JUDGED_IN_BYTES];
    const struct ulp_target_choice *open;
    bool found = false;
    for (size_t i = 0; (open = ulp_judged_sums(model, lowered, i, other)); i++)
        found |= open == row;
    return found;
}

/* `name`: of a target, "@GPU" behind it. */
static enum ulp_status choose_target(struct audit_choices *out, const char *name,
                                     const struct ulp_model *model, struct ulp_error *error)
{
    static const char declared[] = ",types=declared", integer[] = ",qdq=integer";
    char lane[ULP_JUDGED_IN_BYTES], lowered[ULP_JUDGED_IN_BYTES];
    struct ulp_arithmetic judged;
    struct ulp_target_name named;
    const struct ulp_target_choice *row;
    ULP_TRY(ulp_judged_in(model, name, NULL, lane, &judged, error));
    ulp_target_read(name, &named);
    const struct ulp_target *target = named.target;
    ULP_TRY(ulp_lint_refusal(model, target->name, NULL, &out->refusal, error));
    const char *gpu = named.gpu;
    const char *part = strstr(lane, declared) ? declared : "";
    const char *integers = strstr(lane, integer) ? integer : "";
    snprintf(lowered, sizeof lowered, "%.*s", (int)strcspn(lane, ",@"), lane);
    ULP_SCOPED(ulp_scoped_free) char *rests_on = NULL;
    ULP_TRY(
        ulp_judged_rests(model,
                         out->lanes[add_lane_once(out, lowered, gpu, *integers ? integers : part)],
                         name, &rests_on, error));
    if (rests_on)
        snprintf(out->rests_on, sizeof out->rests_on, "%s", rests_on);
    if (ulp_target_leaves_floats(target) && !*part) {
        ULP_TRY(ulp_target_floats(&named, &judged, error));
        out->as_is = add_lane_once(out, judged.asked, "", "");
    }
    for (size_t i = 0; (row = ulp_target_choice(i)); i++) {
        if (strcmp(row->target, target->name) != 0 || !is_there(row->arithmetic, gpu) ||
            !is_there(row->other, gpu) ||
            (row->processors && !ulp_judged_processors(model, target)) ||
            (row->inside && !adds_rows(model, row, lowered)) ||
            (*part && strstr(row->arithmetic, strstr(lowered, ":bf16") ? ":fp16" : ":bf16")))
            continue;
        struct audit_choice *choice = &out->items[out->count++];
        const bool plain = strcmp(row->arithmetic, lowered) == 0;
        const size_t first = add_lane_once(out, row->arithmetic, gpu,
                                           plain && *integers ? integers : part),
                     second = add_lane_once(out, row->other, gpu, part);
        *choice = (struct audit_choice){.question = row->question,
                                        .lanes = {first, second},
                                        .words = {row->word, row->other_word},
                                        .count = 2};
    }
    return ULP_OK;
}

/* What was built answers what is assumed: its lane, which is behind the others, beside both. */
static void add_engine(struct audit_choices *out)
{
    for (size_t i = 0; i < out->count; i++) {
        struct audit_choice *choice = &out->items[i];
        choice->lanes[choice->count] = out->lane_count;
        choice->words[choice->count++] = "the engine";
    }
}

enum ulp_status choose_arithmetics(const struct audit_options *options,
                                   const struct ulp_model *model, struct audit_choices *out,
                                   struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text list = {0};
    *out = (struct audit_choices){0};
    if (options->target)
        ULP_TRY(choose_target(out, options->target, model, error));
    if (options->target && options->engine)
        add_engine(out);
    for (size_t l = 0; l < out->lane_count; l++)
        ulp_text_add(&list, "%s%s", l ? "," : "", out->lanes[l]);
    if (!out->lane_count)
        ulp_text_add(&list, "%s", options->arithmetics ? options->arithmetics : "");
    out->list = list.failed || !list.length ? NULL : strdup(list.data);
    const bool failed = list.failed || (list.length && !out->list);
    return failed ? out_of_memory(error) : ULP_OK;
}

/* Broken before borderline, what is not judged and fine. */
static const enum ulp_grade order[] = {ULP_GRADE_FINE, ULP_GRADE_NOT, ULP_GRADE_BORDERLINE,
                                       ULP_GRADE_BROKEN};
#define GRADES (sizeof order / sizeof *order)

static size_t weigh(enum ulp_grade grade)
{
    size_t weight = 0;
    while (order[weight] != grade)
        weight++;
    return weight;
}

enum { FIGURE_BYTES = 16 };
static const char *write_decibels(char out[FIGURE_BYTES], double decibels)
{
    snprintf(out, FIGURE_BYTES, isfinite(decibels) ? "%.1f" : "-", ulp_tenths(decibels));
    return decibels < -DBL_MAX ? "not finite" : out;
}

static void print_counts(const char *of, const struct ulp_audit *audit, const size_t *counts,
                         size_t all)
{
    const char *drawn = audit->drawn ? ULP_DRAWN : "";
    size_t most = GRADES - 1;
    while (most && !counts[most])
        most--;
    if (all == 1)
        say(stdout, "%s: %s%s\n", of, ulp_grade_name(order[most]), drawn);
    else if (most)
        say(stdout, "%s: %s in %zu of its %zu arithmetics%s\n", of, ulp_grade_name(order[most]),
            counts[most], all, drawn);
    else
        say(stdout, "%s: fine in each of its %zu arithmetics%s\n", of, all, drawn);
}

/* Of a target, fix takes its first arithmetic. */
static void print_fix(const struct audit_options *options, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text command = {0};
    ulp_text_add(&command, "ulpscope fix ");
    ulp_text_show_whole(&command, audit->arguments);
    const bool first = lane == audit->lanes;
    ulp_option_add(&command, first ? " --for" : " -a", first ? options->target : lane->name);
    fputs("  do    ", stdout);
    fputs(command.data && !command.failed ? command.data : "ulpscope fix", stdout);
    fputs(" -o fixed.onnx\n\n", stdout);
}

static enum ulp_status print_worst(const struct audit_options *options,
                                   const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                                   const struct ulp_verdict *verdict, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *why = NULL;
    ULP_TRY(ulp_report_why(audit, (size_t)(lane - audit->lanes), terminal_width(STDOUT_FILENO),
                           use_colour(STDOUT_FILENO), &why, error));
    fputs(why, stdout);
    if (verdict->grade == ULP_GRADE_FINE)
        say(stdout, "  do    nothing\n\n");
    else if (verdict->grade != ULP_GRADE_NOT)
        print_fix(options, audit, lane);
    else
        say(stdout, "  do    give inputs %s\n\n",
            audit->nonfinite_input_count && !audit->nonfinite_inputs_meant
                ? "that are finite"
                : "of which an output has elements");
    return ULP_OK;
}

enum ulp_status print_target(const struct audit_options *options,
                             const struct audit_choices *choices, const struct ulp_audit *audit,
                             size_t *worst, struct ulp_error *error)
{
    size_t counts[GRADES] = {0}, all = 0, judged = 0, heaviest = 0;
    double least = (double)INFINITY;
    enum ulp_status status = ULP_OK;
    struct ulp_verdict *verdicts = calloc(audit->lane_count, sizeof *verdicts);
    ULP_TRY(taken(verdicts, error));
    *worst = 0;
    for (size_t l = 0; l < audit->lane_count && status == ULP_OK; l++) {
        status = ulp_audit_judge(audit, l, audit->nonfinite_inputs_meant, &verdicts[l], error);
        if (status != ULP_OK)
            break;
        judged++;
        const size_t weight = weigh(verdicts[l].grade);
        const double decibels = verdicts[l].sqnr_db;
        const bool counted = /* of a graph in FP32, what a conversion to FP16 makes of it */
            !choices->as_is || strcmp(audit->lanes[l].arithmetic.storage.name, "fp16") == 0;
        counts[weight] += counted;
        all += counted;
        if (!l || weight > heaviest || (weight == heaviest && decibels < least - 0.05)) {
            heaviest = weight;
            least = decibels;
            *worst = l;
        }
    }
    if (status == ULP_OK) {
        const struct ulp_refusal *refusal = &choices->refusal;
        const char *of = refusal->what ? "  by its figures alone" : options->target;
        if (choices->as_is)
            say(stdout, "%s: %s as the graph is, in %s\n", of,
                ulp_grade_name(verdicts[choices->as_is].grade), audit->lanes[choices->as_is].name);
        print_counts(choices->as_is ? "  if you convert it to FP16" : of, audit, counts, all);
        if (refusal->refuses || (refusal->what && verdicts[*worst].grade == ULP_GRADE_FINE))
            say(stdout, "\n");
        else
            status = print_worst(options, audit, &audit->lanes[*worst], &verdicts[*worst], error);
        say(stdout, "%10s  %-10s  arithmetic\n", "sqnr dB", "verdict");
    }
    for (size_t l = 0; l < audit->lane_count && status == ULP_OK; l++) {
        char text[FIGURE_BYTES];
        say(stdout, "%10s  %-10s  %s\n", write_decibels(text, verdicts[l].sqnr_db),
            ulp_grade_name(verdicts[l].grade), audit->lanes[l].name);
    }
    for (size_t l = 0; l < judged; l++)
        ulp_verdict_free(&verdicts[l]);
    free(verdicts);
    return status;
}

enum ulp_status print_choices(const struct audit_choices *choices, const struct ulp_audit *audit,
                              struct ulp_error *error)
{
    for (size_t c = 0; c < choices->count; c++) {
        const struct audit_choice *item = &choices->items[c];
        say(stdout, "\n");
        say_wrapped(2, "%s", item->question);
        for (size_t i = 0; i < item->count; i++) {
            ULP_SCOPED(ulp_verdict_free) struct ulp_verdict verdict = {0};
            char text[FIGURE_BYTES];
            ULP_TRY(ulp_audit_judge(audit, item->lanes[i], audit->nonfinite_inputs_meant, &verdict,
                                    error));
            say(stdout, "  %10s dB  %s\n", write_decibels(text, verdict.sqnr_db), item->words[i]);
        }
    }
    if (*choices->rests_on)
        say_wrapped(2, "rests on %s (ulpscope list %s)", choices->rests_on, choices->lanes[0]);
    return ULP_OK;
}
