/* What outputs are for, and the rules by which they are fine, borderline or broken. */
#include "analysis/measure/judged.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "number/function/math.h"
#include "tensor/tensor.h"

ULP_NAMES(ulp_grade_name, enum ulp_grade, "fine", "borderline", "broken", "not judged")

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

const char *ulp_basis_name(enum ulp_basis basis)
{
    static const char *const names[ULP_BASIS_COUNT] = {
#define BASIS(NAME, op, words) [ULP_BASIS_##NAME] = words,
#include "analysis/measure/verdict.def"
    };
    return names[basis];
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

int ulp_judged_rank(const struct ulp_tensor *output)
{
    size_t behind = 1;
    for (int d = 2; d < output->rank; d++)
        behind *= (size_t)output->dims[d];
    return output->rank > 2 && behind == 1 ? 2 : output->rank;
}

/* What is known of an output's elements. */
enum what { ANY, ROWS, PLACES, UNBOUND, LOGS, BOXES };

/* Sums of up to this many lines are formed, spread over the output: what a Softmax gives adds up
 * everywhere. */
enum { LINES = 256 };

/* Do the elements along that axis add up to 1, or their exponentials? */
static bool adds_up(const struct ulp_tensor *output, int axis, int rank)
{
    size_t inner = 1, seen = 0;
    const size_t length = (size_t)output->dims[axis];
    for (int d = axis + 1; d < rank; d++)
        inner *= (size_t)output->dims[d];
    const size_t lines = length ? output->count / length : 0;
    size_t right[2] = {0};
    for (size_t l = 0; l < lines; l += 1 + lines / LINES) {
        double sum = 0, exps = 0, least = 0;
        for (size_t i = 0; i < length; i++) {
            const double x = ulp_tensor_read(output, (l / inner * length + i) * inner + l % inner);
            sum += x;
            exps += ulp_math_exp(x);
            least = ulp_math_min(least, x);
        }
        seen += !isnan(sum);
        right[0] += least >= 0 && fabs(sum - 1) < ULP_ADDS_UP;
        right[1] += fabs(exps - 1) < ULP_ADDS_UP;
    }
    return right[0] == seen || right[1] == seen;
}

static bool is_share(const struct ulp_tensor *output)
{
    bool share = true;
    for (size_t i = 0; i < output->count && share; i++) {
        const double x = ulp_tensor_read(output, i);
        share = isnan(x) || (x >= 0 && x <= 1);
    }
    return share;
}

static bool is_log(const struct ulp_tensor *output)
{
    bool log = true;
    for (size_t i = 0; i < output->count && log; i++)
        log = !(ulp_tensor_read(output, i) > 0);
    return log;
}

static bool has_elements(const struct ulp_tensor *output, enum what what)
{
    const int rank = ulp_judged_rank(output), last = rank - 1;
    return what == ROWS     ? adds_up(output, last, rank)
           : what == PLACES ? adds_up(output, 1, rank) && (rank > 3 || !adds_up(output, last, rank))
           : what == UNBOUND ? !is_share(output)
           : what == LOGS
               ? is_log(output) && (output->dims[last] == 1 || !adds_up(output, last, rank))
           : what == BOXES ? rank < 3 || output->dims[last] <= 2 * output->dims[last - 1] ||
                                 output->dims[last - 1] < 4
                           : true;
}

static enum ulp_basis find_basis(const char *op)
{
    static const char *const ops[] = {
#define BASIS(NAME, op, words) [ULP_BASIS_##NAME] = op,
#include "analysis/measure/verdict.def"
    };
    int basis = ULP_BASIS_COUNT - 1;
    while (basis > 0 && strcmp(ops[basis], op) != 0)
        basis--;
    return (enum ulp_basis)basis;
}

struct ulp_purpose ulp_task_recognise(const struct ulp_tensor *output, const char *name,
                                      const char *op, enum ulp_vocabulary vocabulary)
{
    static const struct {
        enum ulp_task task;
        const char *words, *ops;
        int rank_low, rank_high;
        int64_t last_low, last_high;
        enum what what;
    } rows[] = {
#define KNOWN(task, words, ops, rank_low, rank_high, last_low, last_high, what) \
    {ULP_TASK_##task, words, ops, rank_low, rank_high, last_low, last_high, what},
#include "analysis/measure/verdict.def"
    };
    const int rank = ulp_judged_rank(output);
    const int64_t last = rank ? output->dims[rank - 1] : 1;
    const bool sure = vocabulary == ULP_VOCABULARY_SURE && rank <= 3; /* no image */
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const bool ends = is_word(rows[r].ops, op), /* a small vocabulary is one, if it is known */
            long_enough = last >= rows[r].last_low || (rows[r].task == ULP_TASK_TEXT && vocabulary),
                   tokens = sure &&
                            (rows[r].task == ULP_TASK_CLASSIFY || rows[r].task == ULP_TASK_SCORE);
        if (!tokens && rank >= rows[r].rank_low && rank <= rows[r].rank_high && long_enough &&
            last <= rows[r].last_high && (ends || has_word(rows[r].words, name)) &&
            has_elements(output, rows[r].what))
            return (struct ulp_purpose){rows[r].task, ends ? find_basis(op) : ULP_BASIS_NAME};
    }
    return sure ? (struct ulp_purpose){ULP_TASK_TEXT, ULP_BASIS_VOCABULARY}
                : (struct ulp_purpose){ULP_TASK_SIGNAL, ULP_BASIS_NONE};
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

/* NaN: there is none. */
static bool is_less(double a, double b)
{
    return !isnan(a) && !(a >= b);
}

/* Those that are counts. */
static bool is_count(int figure)
{
    return figure == ULP_JUDGED_top1_flips || figure == ULP_JUDGED_top1_clear ||
           figure == ULP_JUDGED_top5_changes || figure == ULP_JUDGED_mask_flips ||
           figure == ULP_JUDGED_differing || figure == ULP_JUDGED_objects_off ||
           figure == ULP_JUDGED_constant_rows || figure == ULP_JUDGED_constant_columns ||
           figure == ULP_JUDGED_constant_channels;
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
    sum->sqnr_db = ulp_worst_of(sum->sqnr_db, more->sqnr_db, ULP_WORST_SMALLEST);
    if (more->task < sum->task)
        sum->task = more->task, sum->basis = more->basis;
    if (is_less(more->group_db, sum->group_db))
        sum->group_kind = more->group_kind, sum->group_at = more->group_at,
        sum->group_carries = more->group_carries;
    if (is_less(more->faint_db, sum->faint_db))
        sum->faint_kind = more->faint_kind, sum->faint_at = more->faint_at,
        sum->faint_carries = more->faint_carries;
    const double rows = sum_of(sum->rows, more->rows);
    /* a mean over rows */
    const double kl = isnan(sum->kl)    ? more->kl
                      : isnan(more->kl) ? sum->kl
                                        : (sum->kl * sum->rows + more->kl * more->rows) / rows;
    for (int f = 0; f < ULP_JUDGED_COUNT; f++) {
        const double a = *figure_of(sum, f), b = ulp_judged_get(more, f);
        *figure_of(sum, f) =
            is_count(f) ? sum_of(a, b) : ulp_worst_of(a, b, ulp_judged_rows[f].worst);
    }
    sum->lost += more->lost;
    sum->moved += more->moved;
    sum->renamed += more->renamed;
    sum->ended += more->ended;
    sum->turned += more->turned;
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

double ulp_task_decibels(enum ulp_task task, bool broken)
{
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        if (rules[r].task == task && rules[r].figure == offsetof(struct ulp_judged, sqnr_db))
            return broken ? rules[r].broken : rules[r].fine;
    return ulp_task_decibels(ULP_TASK_SIGNAL, broken);
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
        ulp_text_show(out, "%s is at %.1f dB", name, ulp_tenths(db));
    else
        ulp_text_show(out, "%s %s", name,
                      db > 0 ? "equals the reference" : "has an error where the reference is 0");
}

/* "column 3", "1e-06": of the group that the figure is of */
static void say_group(struct ulp_text *text, bool faint, bool share,
                      const struct ulp_judged *judged)
{
    static const char *const kinds[] = {"column", "channel", "eighth"};
    if (share)
        ulp_text_add(text, "%.1g", faint ? judged->faint_carries : judged->group_carries);
    else
        ulp_text_add(text, "%s %.0f", kinds[(int)(faint ? judged->faint_kind : judged->group_kind)],
                     faint ? judged->faint_at : judged->group_at);
}

/* " (score of 0.25 or more, of 300 rows)"; " (3 lost, 1 moved, 8 in another row)" */
static void say_objects(struct ulp_text *text, bool rows, const struct ulp_judged *judged)
{
    const struct {
        double count;
        const char *words;
    } parts[] = {{judged->lost, "lost"},
                 {judged->moved, "moved"},
                 {judged->renamed, "named otherwise"},
                 {judged->ended, "other at the list's end"},
                 {judged->turned, "in another row"}};
    if (rows) {
        if (judged->rows < judged->elements)
            ulp_text_add(text, " (score of 0.25 or more, of %.0f rows)", judged->elements);
        return;
    }
    const char *before = " (";
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        if (!(parts[p].count > 0))
            continue;
        ulp_text_add(text, "%s%.0f %s", before, parts[p].count, parts[p].words);
        before = ", ";
    }
    if (strcmp(before, " (") != 0)
        ulp_text_add(text, ")");
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
        else if (*c == 'g' || *c == 's')
            say_group(text, rule->figure == AT(faint_db), *c == 's', judged);
        else if (*c == 'k' || *c == 'p')
            say_objects(text, *c == 'k', judged);
        else if (rule->figure == AT(group_db) || rule->figure == AT(faint_db))
            ulp_text_add(text, "%.1f", member(judged, rule->figure));
        else
            add_number(text, *c == 'v'   ? member(judged, rule->figure)
                             : *c == 'o' ? member(judged, rule->of)
                             : *c == 'f' ? judged->top1_flips
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
    ulp_text_add(text, none ? "no rule is applied"
                       : judged->task == ULP_TASK_OBJECTS
                           ? "has no object with a score of 0.25, by which to judge"
                           : "has no figure to judge by");
    return none ? ULP_GRADE_FINE : ULP_GRADE_NOT;
}

bool ulp_judged_is_worse(const struct ulp_judged *one, const struct ulp_judged *other)
{
    const int by = ulp_grade_weigh(one->grade) - ulp_grade_weigh(other->grade);
    return by > 0 || (by == 0 && one->task == other->task && one->sqnr_db < other->sqnr_db);
}

size_t ulp_judged_worst(struct ulp_judged *items, size_t count)
{
    size_t worst = count;
    for (size_t i = 0; i < count; i++) {
        ULP_SCOPED(ulp_text_free) struct ulp_text unread = {0};
        if (items[i].task == ULP_TASK_UNKNOWN)
            continue;
        items[i].grade = ulp_judged_grade(&items[i], &unread);
        if (worst == count || ulp_judged_is_worse(&items[i], &items[worst]))
            worst = i;
    }
    return worst;
}

/* Is the text no more than the decibels of the whole? */
static bool is_whole(const char *text)
{
    return strncmp(text, "it ", 3) == 0;
}

bool ulp_judged_tells(const struct ulp_judged *judged)
{
    return judged->varies || !is_whole(judged->text);
}

void ulp_judged_say_whole(struct ulp_text *out, const char *text, double db)
{
    if (isfinite(db) && !is_whole(text))
        ulp_text_add(out, ", %sat %.1f dB", strstr(text, " dB") ? "the whole " : "", db);
}

void ulp_judged_say_task(struct ulp_text *out, const struct ulp_judged *judged)
{
    ulp_text_add(out, "%s%s%s", ulp_task_name(judged->task), judged->basis ? " " : "",
                 ulp_basis_name(judged->basis));
}

void ulp_judged_say(struct ulp_text *out, enum ulp_grade grade, const struct ulp_judged *judged,
                    const char *name)
{
    ulp_text_add(out, "%s", ulp_grade_name(grade));
    if (judged->grade == ULP_GRADE_NOT)
        ulp_text_show(out, " (%s %s)", name ? name : "it", judged->text);
    if (judged->grade == ULP_GRADE_NOT || judged->task == ULP_TASK_NONE)
        return;
    ulp_text_show(out, " (%s%s", name ? name : "", name ? ", " : "");
    ulp_judged_say_task(out, judged);
    if (ulp_judged_tells(judged) || grade != ULP_GRADE_FINE) /* which needs a reason */
        ulp_text_show(out, ": %s", judged->text);
    ulp_text_add(out, ")");
}
