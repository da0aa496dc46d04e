/* What outputs are for, and the rules by which they are fine, borderline or broken. */
#include "analysis/measure/judged.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <string.h>

const char *ulp_grade_name(enum ulp_grade grade)
{
    static const char *const names[] = {"fine", "borderline", "broken", "not judged"};
    return names[grade];
}

int ulp_grade_weigh(enum ulp_grade grade)
{
    return grade == ULP_GRADE_BROKEN ? 3 : grade == ULP_GRADE_NOT ? 2 : (int)grade;
}

const char *ulp_task_name(enum ulp_task task)
{
    static const char *const names[ULP_TASK_COUNT] = {
        [ULP_TASK_UNKNOWN] = "unknown",
#define TASK(NAME, word, what) [ULP_TASK_##NAME] = word,
#include "analysis/measure/verdict.def"
    };
    return names[task];
}

/* ---- recognising ---- */

/* Is one of the words, separated by spaces, in the text, whatever the case? */
static bool has_word(const char *words, const char *text)
{
    for (const char *word = words; *word;) {
        const size_t length = strcspn(word, " ");
        for (const char *at = text; *at; at++) {
            size_t same = 0;
            while (same < length && at[same] &&
                   tolower((unsigned char)at[same]) == tolower((unsigned char)word[same]))
                same++;
            if (same == length)
                return true;
        }
        word += length + (word[length] == ' ');
    }
    return false;
}

/* Is the text one of the words? */
static bool is_word(const char *words, const char *text)
{
    for (const char *word = words; *word;) {
        const size_t length = strcspn(word, " ");
        if (strlen(text) == length && memcmp(word, text, length) == 0)
            return true;
        word += length + (word[length] == ' ');
    }
    return false;
}

enum ulp_task ulp_task_recognise(const struct ulp_tensor *output, const char *name, const char *op)
{
    static const struct {
        enum ulp_task task;
        const char *words, *ops;
        int rank_low, rank_high;
        int64_t last_low, last_high, divisor;
    } rows[] = {
#define KNOWN(task, words, ops, rank_low, rank_high, last_low, last_high, divisor) \
    {ULP_TASK_##task, words, ops, rank_low, rank_high, last_low, last_high, divisor},
#include "analysis/measure/verdict.def"
    };
    const int64_t last = output->rank ? output->dims[output->rank - 1] : 1;
    if (!ulp_type_is_float(output->type))
        return ULP_TASK_INTEGER;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const bool any = !*rows[r].words && !*rows[r].ops;
        if (output->rank >= rows[r].rank_low && output->rank <= rows[r].rank_high &&
            last >= rows[r].last_low && last <= rows[r].last_high && last % rows[r].divisor == 0 &&
            (any || has_word(rows[r].words, name) || is_word(rows[r].ops, op)))
            return rows[r].task;
    }
    return ULP_TASK_SIGNAL;
}

/* ---- figures ---- */

const struct ulp_judged_row ulp_judged_rows[ULP_JUDGED_COUNT] = {
#define FIGURE(name, worst, meaning) {#name, offsetof(struct ulp_judged, name), ULP_WORST_##worst},
#include "analysis/measure/verdict.def"
};

static double *figure_of(struct ulp_judged *judged, int figure)
{
    return (double *)(void *)((char *)judged + ulp_judged_rows[figure].offset);
}

double ulp_judged_get(const struct ulp_judged *judged, int figure)
{
    return *(const double *)(const void *)((const char *)judged + ulp_judged_rows[figure].offset);
}

static double sum_of(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

static double worst_of(double a, double b, enum ulp_worst worst)
{
    return isnan(a)                      ? b
           : isnan(b)                    ? a
           : worst == ULP_WORST_SMALLEST ? (a < b ? a : b)
                                         : (a > b ? a : b);
}

/* Those that are counts. */
static bool is_count(int figure)
{
    return figure == ULP_JUDGED_top1_flips || figure == ULP_JUDGED_top1_clear ||
           figure == ULP_JUDGED_top5_changes || figure == ULP_JUDGED_mask_flips ||
           figure == ULP_JUDGED_differing || figure == ULP_JUDGED_constant_rows ||
           figure == ULP_JUDGED_constant_columns || figure == ULP_JUDGED_constant_channels;
}

void ulp_judged_add(struct ulp_judged *sum, const struct ulp_judged *more)
{
    if (more->task == ULP_TASK_UNKNOWN)
        return;
    if (sum->task == ULP_TASK_UNKNOWN) {
        *sum = *more;
        sum->text = NULL; /* of all, in the end */
        return;
    }
    sum->varies |= sum->task != more->task;
    sum->task = sum->task < more->task ? sum->task : more->task;
    const double rows = sum_of(sum->rows, more->rows);
    /* a mean over rows */
    const double kl = isnan(sum->kl)    ? more->kl
                      : isnan(more->kl) ? sum->kl
                                        : (sum->kl * sum->rows + more->kl * more->rows) / rows;
    for (int f = 0; f < ULP_JUDGED_COUNT; f++) {
        const double a = *figure_of(sum, f), b = ulp_judged_get(more, f);
        *figure_of(sum, f) = is_count(f) ? sum_of(a, b) : worst_of(a, b, ulp_judged_rows[f].worst);
    }
    sum->kl = kl;
    sum->rows = rows;
    sum->columns = sum_of(sum->columns, more->columns);
    sum->channels = sum_of(sum->channels, more->channels);
    sum->elements = sum_of(sum->elements, more->elements);
}

/* ---- rules ---- */

/* Rules of all tasks stand under the one that none has. */
#define ULP_TASK_ANY ULP_TASK_UNKNOWN

/* Members by their offset; 0 (the task's): none. */
struct rule {
    enum ulp_task task;
    size_t figure, of;
    double fine, broken;
    const char *sentence;
};
#define AT(member) offsetof(struct ulp_judged, member)
#define AT_one 0
#define AT_rows AT(rows)
#define AT_columns AT(columns)
#define AT_channels AT(channels)
#define AT_elements AT(elements)
static const struct rule rules[] = {
#define RULE(task, figure, of, fine, broken, sentence) \
    {ULP_TASK_##task, AT(figure), AT_##of, fine, broken, sentence},
#include "analysis/measure/verdict.def"
};

bool ulp_task_has(enum ulp_task task, int figure)
{
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        if (rules[r].task == task && task != ULP_TASK_ANY &&
            rules[r].figure == ulp_judged_rows[figure].offset)
            return true;
    return false;
}

static double member(const struct ulp_judged *judged, size_t offset)
{
    return offset ? *(const double *)(const void *)((const char *)judged + offset) : 1;
}

static bool is_smallest(size_t offset)
{
    bool smallest = offset == AT(sqnr_db);
    for (int f = 0; f < ULP_JUDGED_COUNT; f++)
        smallest |=
            ulp_judged_rows[f].offset == offset && ulp_judged_rows[f].worst == ULP_WORST_SMALLEST;
    return smallest;
}

/* Is the output of the rule's task? */
static bool is_of(const struct rule *rule, const struct ulp_judged *judged)
{
    if (rule->task == ULP_TASK_ANY)
        return judged->task != ULP_TASK_NONE;
    return judged->varies ? rule->task == ULP_TASK_SIGNAL || rule->figure != AT(sqnr_db)
                          : rule->task == judged->task;
}

/* Does the output have the figure? A ratio that is none because the reference is 0 is one. */
static bool applies(const struct rule *rule, const struct ulp_judged *judged)
{
    return rule->figure == AT(sqnr_db)
               ? true
               : !isnan(member(judged, rule->figure)) && member(judged, rule->of) > 0;
}

static enum ulp_grade grade_rule(const struct rule *rule, const struct ulp_judged *judged)
{
    const double value = member(judged, rule->figure) / member(judged, rule->of);
    if (!applies(rule, judged))
        return ULP_GRADE_FINE;
    if (is_smallest(rule->figure))
        return value >= rule->fine        ? ULP_GRADE_FINE
               : !(value >= rule->broken) ? ULP_GRADE_BROKEN
                                          : ULP_GRADE_BORDERLINE;
    return value <= rule->fine        ? ULP_GRADE_FINE
           : !(value <= rule->broken) ? ULP_GRADE_BROKEN
                                      : ULP_GRADE_BORDERLINE;
}

/* "3" or "0.0123" */
static void add_number(struct ulp_text *text, double value)
{
    ulp_text_add(text, fabs(value) < 1e15 && value == floor(value) ? "%.0f" : "%.3g", value);
}

void ulp_judged_say_sqnr(struct ulp_text *out, const char *name, double db)
{
    if (isfinite(db))
        ulp_text_show(out, "%s is at %.1f dB", name, db);
    else
        ulp_text_show(out, "%s %s", name,
                      db > 0 ? "equals the reference" : "has an error where the reference is 0");
}

static void say(struct ulp_text *text, const struct rule *rule, const struct ulp_judged *judged)
{
    if (rule->figure == AT(sqnr_db)) {
        ulp_judged_say_sqnr(text, "it", judged->sqnr_db);
        return;
    }
    for (const char *c = rule->sentence; *c && (*c != '|' || member(judged, rule->figure) > 0); c++)
        if (*c == '|')
            continue;
        else if (*c != '%')
            ulp_text_add(text, "%c", *c);
        else if (*++c == 'c')
            ulp_text_add(text, "%.6f", member(judged, rule->figure));
        else
            add_number(text, *c == 'v'   ? member(judged, rule->figure)
                             : *c == 'o' ? member(judged, rule->of)
                             : *c == 'r' ? judged->rows
                                         : judged->top1_margin);
}

enum ulp_grade ulp_judged_grade(const struct ulp_judged *judged, struct ulp_text *text)
{
    const struct rule *worst = NULL, *first = NULL;
    enum ulp_grade grade = ULP_GRADE_FINE;
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        const struct rule *rule = &rules[r];
        const bool any = rule->task == ULP_TASK_ANY;
        if (!is_of(rule, judged) || !applies(rule, judged))
            continue;
        first = first || any ? first : rule;
        if (grade_rule(rule, judged) > grade) {
            grade = grade_rule(rule, judged);
            worst = rule;
        }
    }
    if (worst || first) {
        say(text, worst ? worst : first, judged);
        return grade;
    }
    const bool none = judged->task == ULP_TASK_NONE; /* as asked */
    ulp_text_add(text, none ? "no rule is applied" : "has no figure to judge by");
    return none ? ULP_GRADE_FINE : ULP_GRADE_NOT;
}

bool ulp_judged_tells(const struct ulp_judged *judged)
{
    return judged->varies ||
           (!strstr(judged->text, " dB") && strcmp(judged->text, "it equals the reference") != 0);
}

void ulp_judged_say(struct ulp_text *out, enum ulp_grade grade, const struct ulp_judged *judged,
                    const char *name)
{
    ulp_text_add(out, "%s", ulp_grade_name(grade));
    if (judged->grade == ULP_GRADE_NOT)
        ulp_text_show(out, " (%s %s)", name ? name : "it", judged->text);
    if (judged->grade == ULP_GRADE_NOT || judged->task == ULP_TASK_NONE)
        return;
    ulp_text_show(out, " (%s%s%s", name ? name : "", name ? ", " : "", ulp_task_name(judged->task));
    if (ulp_judged_tells(judged))
        ulp_text_show(out, ": %s", judged->text);
    ulp_text_add(out, ")");
}
