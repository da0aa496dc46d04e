/* A command's options: what --help prints, and as lines of text with tabs between fields. */
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

/* ". Not with --keep, --plan": those of the names that the command has. */
static void add_related(struct ulp_text *out, const struct command *command, const char *before,
                        const char *between, const char *names)
{
    char option[80];
    for (const char *end; names && *names && *names != ':'; names = end + strspn(end, " ")) {
        end = names + strcspn(names, " :");
        const struct option_row *row = find_option(command, names, (size_t)(end - names));
        if (row)
            ulp_text_add(out, "%s%s", before, say_option(row, option));
        before = row ? between : before;
    }
}

/* What it does, whole. */
static void add_help(struct ulp_text *out, const struct command *command,
                     const struct option_row *row)
{
    ulp_text_add(out, "%s", row->help);
    add_related(out, command, ". Not with ", ", ", row->excludes);
    add_related(out, command, ". Needs ", " or ", row->needs);
}

/* An option: letters, long names, argument, meaning, whether it is read, and the names of what is
 * written. */
static void describe_option(const struct option_row *row, const struct command *command)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text help = {0};
    say(stdout, "option\t%s%s\t%s%s%s", (char[]){row->letter, '\0'},
        (char[]){row->also_letter, '\0'}, row->name, row->also ? " " : "",
        row->also ? row->also : "");
    describe_field(row->is_optional ? NULL : row->value);
    if (row->is_optional)
        say(stdout, "[%s]", row->value);
    add_help(&help, command, row);
    describe_field(help.failed ? row->help : help.data);
    describe_field(row->reads ? "reads" : NULL);
    describe_field(!row->writes                        ? NULL
                   : row->reads                        ? "*.part"
                   : strcmp(row->value, "FOLDER") == 0 ? row->files
                   : row->has_weights                  ? "FILE FILE.data"
                                                       : row->value);
    putchar('\n');
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

/* Behind the parenthesis that the text begins with, and those in it. */
static const char *end_parenthesis(const char *text)
{
    for (int depth = 0; *text; text++) {
        depth += *text == '(' ? 1 : *text == ')' ? -1 : 0;
        if (!depth)
            return text + 1;
    }
    return text;
}

void shorten_help(struct ulp_text *out, const char *text)
{
    while (*text && *text != ';' &&
           (*text != '.' || (text[1] && text[1] != ' ') || text[-1] == '.')) {
        const bool within = strncmp(text, " (", 2) == 0;
        const char *end = within ? end_parenthesis(text + 1) : text + 1;
        if (!within || strncmp(text, " (default ", 10) == 0)
            ulp_text_add(out, within ? "%.*s)" : "%.*s",
                         within ? (int)strcspn(text, ";)") : (int)(end - text), text);
        text = end;
    }
}

static void print_option(const struct command *command, const struct option_row *row, bool all)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text line = {0};
    const char *const names[] = {row->name, row->also};
    ulp_text_add(&line, row->letter ? "  -%c" : "    ", row->letter);
    for (int n = 0; n < (all ? 2 : 1) && names[n]; n++)
        ulp_text_add(&line, "%s--%s%s%s%s%s", n || row->letter ? ", " : "  ", names[n],
                     row->is_optional ? "[" : "", row->value ? "=" : "",
                     row->value ? row->value : "", row->is_optional ? "]" : "");
    if (line.length + 2 > MEANINGS) {
        ulp_text_add(&line, "\n");
        fputs(line.data ? line.data : "", stdout);
        ulp_text_free(&line);
    }
    ulp_text_add(&line, "%*s", (int)(MEANINGS - line.length), "");
    if (all)
        add_help(&line, command, row);
    else
        shorten_help(&line, row->help);
    if (line.failed)
        exit(fail_memory());
    wrap(line.data, line.length, MEANINGS);
}

const char *list_words(const struct command *command, char *out, size_t size)
{
    size_t length = 0;
    *out = '\0';
    for (const struct option_group *group = command->groups; group->rows; group++)
        for (const struct option_row *row = group->rows; row->name; row++)
            if (row->is_word && length < size)
                length +=
                    (size_t)snprintf(out + length, size - length, "%s%s%s%s%s", length ? " " : "",
                                     row->missing ? "" : "[", row->value,
                                     row->kind == KIND_TEXTS ? "..." : "", row->missing ? "" : "]");
    return out;
}

/* The examples, or the first three; an example is a line that begins with two spaces and those
 * that go on with it. */
static void print_examples(const struct command *command, bool all)
{
    enum { EXAMPLES_SHOWN = 3 };
    size_t shown = 0;
    if (!command->examples)
        return;
    fputs("\nExamples:\n", stdout);
    for (const char *at = command->examples, *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, "\n");
        shown += strncmp(at, "   ", 3) != 0;
        if (all || shown <= EXAMPLES_SHOWN)
            wrap(at, (size_t)(end - at), strspn(at, " "));
    }
}

/* Of the rows of inputs, or of the others; how many options there are. */
static size_t print_rows(const struct command *command, bool all, bool of_inputs)
{
    size_t count = 0;
    for (const struct option_group *group = command->groups; group->rows; group++) {
        if ((group->rows == common_rows) != of_inputs)
            continue;
        if (group->title && all)
            say(stdout, "\n %s\n", group->title);
        for (const struct option_row *row = group->rows; row->name; row++) {
            count += !row->is_word;
            if (!row->is_word && (all || row->is_front))
                print_option(command, row, all);
        }
    }
    return count;
}

void print_options(const struct command *command, bool all)
{
    char words[200];
    say(stdout, "Usage: ulpscope %s [OPTION...] %s\n", command->name,
        list_words(command, words, sizeof words));
    if (command->other_words)
        say(stdout, "  or:  ulpscope %s [OPTION...] %s\n", command->name, command->other_words);
    wrap_lines(command->purpose);
    print_examples(command, all);
    putchar('\n');
    size_t count = print_rows(command, all, !all);
    count += print_rows(command, all, all);
    if (all && command->notes) {
        putchar('\n');
        wrap_lines(command->notes);
    } else if (!all) {
        say(stdout, "\nulpscope %s --help=all has all %zu options, in full%s.\n", command->name,
            count, command->notes ? ", and notes" : "");
    }
}

void describe_options(const struct command *command)
{
    char words[200];
    fputs("words", stdout);
    list_words(command, words, sizeof words);
    if (command->other_words)
        snprintf(words + strlen(words), sizeof words - strlen(words), "\n%s", command->other_words);
    describe_field(words);
    fputs("\nbefore", stdout);
    describe_field(command->purpose);
    putchar('\n');
    for (const struct option_group *group = command->groups; group->rows; group++) {
        fputs("group", stdout);
        describe_field(group->title);
        putchar('\n');
        for (const struct option_row *row = group->rows; row->name; row++)
            if (!row->is_word)
                describe_option(row, command);
    }
    fputs("notes", stdout);
    describe_field(command->notes);
    fputs("\nexamples", stdout);
    describe_field(command->examples);
    putchar('\n');
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
    for (size_t i = 0; ulp_unit_info(i, &unit); i++)
        describe_value("unit", unit.name);
    for (size_t i = 0; ulp_lint_rule(i, &rule); i++)
        describe_value("rule", rule.id);
    for (size_t i = 0; ulp_operator_info(i, &operator); i++)
        describe_value("operator", operator.name);
}
