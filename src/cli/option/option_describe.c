/* A command's options as lines of text, one a line and tabs between fields. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* An option and the aliases that follow it: letters, long names, argument, meaning, whether it is
 * read, and the names of what is written. */
static const struct argp_option *describe_option(const struct argp_option *first,
                                                 const char *command)
{
    const struct argp_option *end = first + 1;
    while (!is_end(end) && (end->flags & OPTION_ALIAS))
        end++;
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

/* Half of a command's documentation, as --help has it. */
static void describe_text(const struct argp *argp, const char *field, int key, const char *text)
{
    char *shown = argp->help_filter ? argp->help_filter(key, text, NULL) : NULL;
    fputs(field, stdout);
    describe_field(shown ? shown : text);
    putchar('\n');
    if (shown != text)
        free(shown);
}

void describe_options(const struct argp *argp, const char *command)
{
    const char *after = argp->doc ? strchr(argp->doc, '\v') : NULL;
    char *before = argp->doc
                       ? strndup(argp->doc, after ? (size_t)(after - argp->doc) : strlen(argp->doc))
                       : NULL;
    fputs("words", stdout);
    describe_field(argp->args_doc);
    putchar('\n');
    describe_text(argp, "before", ARGP_KEY_HELP_PRE_DOC, before);
    describe_list(argp, command);
    fputs("group\t\noption\t?\thelp\t\tPrint the options and examples\n"
          "option\t\tusage\t\tPrint a short usage message\n",
          stdout);
    describe_text(argp, "after", ARGP_KEY_HELP_POST_DOC, after ? after + 1 : NULL);
    free(before);
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
