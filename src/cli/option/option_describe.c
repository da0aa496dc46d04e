/* A command's options: what --help prints, and as lines of text with tabs between fields. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"

void describe_field(const char *text)
{
    putchar('\t');
    for (; text && *text; text++)
        switch (*text) {
        case '\n': fputs("\\n", stdout); break;
        case '\\': fputs("\\\\", stdout); break;
        case '\t': putchar(' '); break;
        default: putchar(*text);
        }
}

static bool is_end(const struct argp_option *option)
{
    return !option->name && !option->key && !option->doc && !option->group;
}

/* argp's rule for a header of a group. */
static bool is_header(const struct argp_option *option)
{
    return !option->name && !option->key;
}

/* Behind an option and the aliases that follow it. */
static const struct argp_option *end_option(const struct argp_option *first)
{
    const struct argp_option *end = first + 1;
    while (!is_end(end) && (end->flags & OPTION_ALIAS))
        end++;
    return end;
}

/* An option and its aliases: letters, long names, argument, meaning, whether it is
 * read, and the names of what is written. */
static const struct argp_option *describe_option(const struct argp_option *first,
                                                 const char *command)
{
    const struct argp_option *end = end_option(first);
    if (first->flags & (OPTION_HIDDEN | OPTION_DOC))
        return end;
    fputs("option\t", stdout);
    for (const struct argp_option *o = first; o < end; o++)
        if (o->key > 0 && o->key < 128 && isgraph(o->key))
            putchar(o->key);
    const char *space = "";
    putchar('\t');
    for (const struct argp_option *o = first; o < end; o++)
        if (o->name) {
            say(stdout, "%s%s", space, o->name);
            space = " ";
        }
    describe_field(first->arg);
    describe_field(first->doc);
    describe_field(first->flags & OPTION_READS ? "reads" : NULL);
    describe_field(!(first->flags & OPTION_WRITES)     ? NULL
                   : first->flags & OPTION_READS       ? "*.part"
                   : strcmp(first->arg, "FOLDER") == 0 ? names_written(command)
                   : first->flags & OPTION_WEIGHTS     ? "FILE FILE.data"
                                                       : first->arg);
    putchar('\n');
    return end;
}

static void describe_list(const struct argp *argp, const char *command)
{
    for (const struct argp_option *o = argp->options; o && !is_end(o);) {
        if (!is_header(o)) {
            o = describe_option(o, command);
            continue;
        }
        fputs("group", stdout);
        describe_field(o++->doc);
        putchar('\n');
    }
    for (const struct argp_child *child = argp->children; child && child->argp; child++) {
        fputs("group", stdout);
        describe_field(child->header);
        putchar('\n');
        describe_list(child->argp, command);
    }
}

/* A half of a command's documentation, before or after its options; freed with free(). */
static char *make_text(const struct argp *argp, bool is_after)
{
    const char *doc = argp->doc ? argp->doc : "", *after = strchr(doc, '\v');
    if (!is_after)
        return strndup(doc, after ? (size_t)(after - doc) : strlen(doc));
    return strdup(after ? after + 1 : "");
}

enum { MEANINGS = 32, WIDEST = 100 }; /* columns of --help */

/* A line of any length in lines as wide as the terminal; under an option, behind `indent`. */
static void wrap(const char *line, size_t length, size_t indent)
{
    const int terminal = terminal_width(STDOUT_FILENO);
    const size_t width = terminal && terminal <= WIDEST ? (size_t)terminal - 1 : WIDEST;
    size_t column = 0;
    for (size_t at = 0; at < length;) {
        const size_t blanks = strspn(line + at, " "), word = strcspn(line + at + blanks, " \n");
        const bool next = column + blanks + word > width && column > indent;
        column = next ? indent : column + blanks;
        if (next)
            putchar('\n');
        say(stdout, "%*s%.*s", (int)(next ? indent : blanks), "", (int)word, line + at + blanks);
        column += word;
        at += blanks + word;
    }
    putchar('\n');
}

static void wrap_lines(const char *text)
{
    for (const char *end; text && *text; text = *end ? end + 1 : end) {
        end = text + strcspn(text, "\n");
        wrap(text, (size_t)(end - text), strspn(text, " "));
    }
}

static const struct argp_option *print_option(const struct argp_option *first)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text line = {0};
    const struct argp_option *end = end_option(first);
    const bool letter = first->key > 0 && first->key < 128 && isgraph(first->key);
    const char *equals = !first->arg ? "" : first->flags & OPTION_ARG_OPTIONAL ? "[=" : "=";
    ulp_text_add(&line, letter ? "  -%c" : "    ", first->key);
    for (const struct argp_option *o = first; o < end; o++)
        if (o->name)
            ulp_text_add(&line, "%s--%s%s%s%s", o > first || letter ? ", " : "  ", o->name, equals,
                         first->arg ? first->arg : "", *equals == '[' ? "]" : "");
    if (line.length + 2 > MEANINGS) {
        ulp_text_add(&line, "\n");
        fputs(line.data ? line.data : "", stdout);
        ulp_text_free(&line);
    }
    ulp_text_add(&line, "%*s%s", (int)(MEANINGS - line.length), "", first->doc);
    if (line.failed)
        exit(fail_memory());
    if (!(first->flags & OPTION_HIDDEN))
        wrap(line.data, line.length, MEANINGS);
    return end;
}

static void print_list(const struct argp *argp)
{
    int group = argp->options ? argp->options->group : 0;
    for (const struct argp_option *o = argp->options; o && !is_end(o);) {
        if (o->group != group || is_header(o))
            putchar('\n');
        group = o->group;
        if (is_header(o))
            say(stdout, " %s\n", o++->doc);
        else
            o = print_option(o);
    }
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        if (!child->header)
            print_list(child->argp);
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        if (child->header) {
            say(stdout, "\n %s\n", child->header);
            print_list(child->argp);
        }
}

/* Not by argp, which puts blanks where its buffer of lines happens to end. */
void print_options(const struct argp *argp, const char *name)
{
    static const struct argp_option own[] = {
        {"help", '?', 0, 0, "Print the options and examples", 0},
        {"usage", 256, 0, 0, "Print a short usage message", 0},
        {0},
    };
    const char *way = argp->args_doc ? argp->args_doc : "";
    char *before = make_text(argp, false), *after = make_text(argp, true);
    say(stdout, "Usage: %s [OPTION...] %.*s\n", name, (int)strcspn(way, "\n"), way);
    if (strchr(way, '\n'))
        say(stdout, "  or:  %s [OPTION...] %s\n", name, strchr(way, '\n') + 1);
    wrap_lines(before);
    print_list(argp);
    print_list(&(struct argp){.options = own});
    if (after && *after)
        putchar('\n');
    wrap_lines(after);
    free(before);
    free(after);
}

/* A line of the description; frees text. */
static void describe_text(const char *name, char *text)
{
    fputs(name, stdout);
    describe_field(text);
    putchar('\n');
    free(text);
}

void describe_options(const struct argp *argp, const char *command)
{
    describe_text("words", argp->args_doc ? strdup(argp->args_doc) : NULL);
    describe_text("before", make_text(argp, false));
    describe_list(argp, command);
    fputs("group\t\noption\t?\thelp\t\tPrint the options and examples\n"
          "option\t\tusage\t\tPrint a short usage message\n",
          stdout);
    describe_text("after", make_text(argp, true));
}

static void describe_value(const char *kind, const char *name)
{
    fputs("value", stdout);
    describe_field(kind);
    describe_field(name);
    putchar('\n');
}

void describe_values(void)
{
    /* of report --figure, which would not fit on a line of --help */
    static const char *const figures[] = {"share", "introduced", "entire", "headroom", "nonfinite"};
    struct ulp_unit_info unit;
    struct ulp_lint_rule rule;
    struct ulp_operator_info operator= {0};
    char spelled[200];
    for (size_t i = 0; ulp_arithmetic_preset(i); i++)
        describe_value("arithmetic", ulp_arithmetic_preset(i));
    for (size_t i = 0; ulp_target(i); i++) {
        describe_value("target", ulp_target(i)->name);
        if (ulp_target(i)->alias)
            describe_value("target", ulp_target(i)->alias);
    }
    for (size_t i = 0; ulp_arithmetic_runtime(i); i++)
        describe_value("arithmetic", ulp_arithmetic_runtime(i)->name);
    for (size_t i = 0; ulp_arithmetic_part(i, spelled, sizeof spelled); i++)
        describe_value("part", spelled);
    for (size_t i = 0; ulp_format_row(i); i++)
        describe_value("number-format", ulp_format_row(i)->name);
    for (size_t i = 0; ulp_saved_format_row(i); i++)
        describe_value("report-format", ulp_saved_format_row(i)->name);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        describe_value("figure", figures[i]);
    for (size_t i = 0; ulp_unit_info(i, &unit); i++)
        describe_value("unit", unit.name);
    for (size_t i = 0; ulp_lint_rule(i, &rule); i++)
        describe_value("rule", rule.id);
    for (size_t i = 0; ulp_operator_info(i, &operator); i++)
        describe_value("operator", operator.name);
}
