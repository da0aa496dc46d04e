/* A command line, read by the rows of its command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/suggest.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/sandbox/sandbox.h"

/* A row of the command, and where its struct is in the options. */
struct placed {
    const struct option_row *row; /* NULL: there is none */
    size_t at;
};
enum { ROWS_MAX = 64 };

/* An option or a word as it was given, in their order. */
struct argument {
    const struct option_row *row;
    size_t at;
    char *value;
    bool is_given; /* false: its default */
};

/* The command line that was read last. */
static struct {
    const struct command *command;
    struct placed rows[ROWS_MAX];
    size_t row_count;
    struct argument *items;
    size_t count;
} line;

static size_t list_rows(const struct command *command, struct placed rows[ROWS_MAX])
{
    size_t count = 0;
    for (const struct option_group *group = command->groups; group->rows; group++)
        for (const struct option_row *row = group->rows; row->name && count < ROWS_MAX; row++)
            rows[count++] = (struct placed){row, group->at};
    return count;
}

const char *command_in_use(void)
{
    return line.command ? line.command->name : "";
}

static void add_line(struct placed row, char *value, bool is_given)
{
    line.items = grow_arguments(line.items, line.count, sizeof *line.items);
    line.items[line.count++] = (struct argument){row.row, row.at, value, is_given};
}

/* As it is written on a command line. */
const char *say_option(const struct option_row *row, char out[80])
{
    snprintf(out, 80, "%s%s", row->is_word ? "" : "--", row->is_word ? row->value : row->name);
    return out;
}

static bool is_called(const struct option_row *row, const char *name, size_t length)
{
    return strlen(row->name) == length && strncmp(row->name, name, length) == 0;
}

static const struct option_row *find_given(const char *name, size_t length)
{
    for (size_t i = 0; i < line.count; i++)
        if (line.items[i].is_given && is_called(line.items[i].row, name, length))
            return line.items[i].row;
    return NULL;
}

bool is_option_given(const char *name)
{
    return find_given(name, strlen(name)) != NULL;
}

const struct option_row *find_option(const struct command *command, const char *name, size_t length)
{
    for (const struct option_group *group = command->groups; group->rows; group++)
        for (const struct option_row *row = group->rows; row->name; row++)
            if (is_called(row, name, length))
                return row;
    return NULL;
}

/* ---- options there are ---- */

static struct placed find_letter(char letter)
{
    for (size_t r = 0; r < line.row_count; r++)
        if (line.rows[r].row->letter == letter || line.rows[r].row->also_letter == letter)
            return line.rows[r];
    return (struct placed){0};
}

/* By its name, or by a beginning that no other option has. */
static struct placed find_name(const char *name, size_t length)
{
    struct placed found = {0};
    for (size_t r = 0; r < line.row_count; r++) {
        const struct option_row *row = line.rows[r].row;
        const char *const names[] = {row->name, row->also};
        for (int n = 0; n < 2 && !row->is_word; n++) {
            if (!names[n] || strncmp(names[n], name, length) != 0)
                continue;
            if (!names[n][length])
                return line.rows[r];
            if (found.row && found.row != row)
                refuse("--%.*s may be --%s or --%s", (int)length, name, found.row->name, row->name);
            found = line.rows[r];
        }
    }
    return found;
}

/* What other programs call it. */
static const char *called_here(const char *name)
{
    static const char *const words[][2] = {{"--precision", "--arith"}, {"--dtype", "--arith"},
                                           {"--type", "--arith"},      {"--fp16", "--arith"},
                                           {"--bf16", "--arith"},      {"--half", "--arith"},
                                           {"--fp8", "--arith"},       {"--data", "--inputs"},
                                           {"--atol", "--tolerance"},  {"--rtol", "--tolerance"},
                                           {"--gpu", "--arith"},       {"--target", "--for"},
                                           {"--usage", "--help"}};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (strcmp(name, words[w][0]) == 0)
            return words[w][1];
    return name;
}

enum { NAMES_MAX = 128 };
struct dashed {
    char name[40];
};

static const char *name_option(const void *dashed, size_t i)
{
    return ((const struct dashed *)dashed)[i].name;
}

static _Noreturn void refuse_unknown(const char *text, size_t length)
{
    static struct dashed dashed[NAMES_MAX];
    char name[64];
    size_t count = 0;
    struct ulp_text near = {0};
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    if (strcmp(name, "--json") == 0)
        refuse("there is no option '--json': this command has no result as JSON; --help says what "
               "it writes");
    for (size_t r = 0; r < line.row_count; r++) {
        const struct option_row *row = line.rows[r].row;
        const char *const names[] = {row->name, row->also};
        for (int n = 0; n < 2 && !row->is_word; n++)
            if (names[n] && count < NAMES_MAX)
                snprintf(dashed[count++].name, sizeof dashed->name, "--%s", names[n]);
    }
    ulp_suggest_names(&near, called_here(name), count, name_option, dashed);
    refuse("there is no option '%s'%s", name, near.length ? near.data : "");
}

/* ---- the words of a command line ---- */

static bool may_be_stream(const struct option_row *row)
{
    return row == json_rows || row == json_rows + 1;
}

/* A value that is empty is a variable of a shell that is not set, and would be no value in
 * silence: no option and no path has an empty one. */
static void add_option_given(struct placed found, char *value)
{
    char name[80];
    if (found.row->kind == KIND_HELP) {
        print_options(line.command, value && strcmp(value, "all") == 0);
        exit(ULP_OK);
    }
    if (value && !*value)
        refuse("%s: the value is empty", say_option(found.row, name));
    if (value && found.row->writes && strcmp(value, "-") == 0 && !may_be_stream(found.row))
        refuse("%s: standard output takes JSON or Markdown alone; name a file or folder (./- for "
               "one of that name)",
               say_option(found.row, name));
    add_line(found, value, true);
}

/* Where the value is the next word, *next is that, and is moved on. */
static char *take_next(const struct option_row *row, char ***next)
{
    char name[80];
    if (!**next)
        refuse("%s wants a value: %s", say_option(row, name), row->value);
    return *(*next)++;
}

static void take_long(char *text, char ***next)
{
    const size_t length = strcspn(text, "=");
    const struct placed found = find_name(text + 2, length - 2);
    char *value = text[length] ? text + length + 1 : NULL;
    if (!found.row)
        refuse_unknown(text, length);
    if (value && !found.row->value)
        refuse("--%s takes no value", found.row->name);
    if (!value && found.row->value && !found.row->is_optional)
        value = take_next(found.row, next);
    add_option_given(found, value);
}

static void take_letters(char *text, char ***next)
{
    for (char *letter = text + 1; *letter; letter++) {
        const struct placed found = find_letter(*letter);
        if (!found.row)
            refuse("there is no option '-%c'", *letter);
        if (found.row->value && !found.row->is_optional) {
            add_option_given(found, letter[1] ? letter + 1 : take_next(found.row, next));
            return;
        }
        add_option_given(found, NULL);
    }
}

/* The row of the n-th word; the last may take all that follow. */
static struct placed find_place(size_t n)
{
    for (size_t r = 0; r < line.row_count; r++) {
        const struct option_row *row = line.rows[r].row;
        if (row->is_word && (!n-- || row->kind == KIND_TEXTS))
            return line.rows[r];
    }
    return (struct placed){0};
}

/* What --inputs *.npz leaves behind its first. */
static bool is_sample_name(const char *name)
{
    static const char *const ends[] = {".npz", ".npy", ".json", ".pb"};
    bool is = strncmp(name, "test_data_set_", 14) == 0 || strstr(name, "/test_data_set_");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        is |= ulp_text_ends(name, ends[i]);
    return is;
}

static void take_word(char *text, size_t n)
{
    char words[200];
    const struct placed found = find_place(n);
    if (!*text)
        refuse("an argument is empty: a path was expected");
    if (found.row)
        add_line(found, text, true);
    else if (n && line.command->is_common && is_sample_name(text))
        refuse("'%s' is no model: give --inputs before each sample, or once a folder of them or a "
               ".txt that lists them",
               text);
    else
        refuse("'%s' is too much: %s takes %s", text, line.command->name,
               *list_words(line.command, words, sizeof words) ? words : "no words");
}

static void take_words(int argc, char **argv)
{
    char **next = argv + (argc > 0), **end = argv + argc;
    size_t words = 0;
    bool are_options = true;
    while (next < end) {
        char *text = *next++;
        if (!are_options || text[0] != '-' || !text[1])
            take_word(text, words++);
        else if (strcmp(text, "--") == 0)
            are_options = false;
        else if (text[1] == '-')
            take_long(text, &next);
        else
            take_letters(text, &next);
    }
}

/* ---- what goes together ---- */

/* The next name of "NAME NAME: reason", which *names is moved behind; NULL: it was the last. */
static const char *next_name(const char **names, size_t *length)
{
    const char *name = *names + strspn(*names, " ");
    *length = strcspn(name, " :");
    *names = name + *length;
    return *length ? name : NULL;
}

static void check_excluded(const struct option_row *row)
{
    const char *names = row->excludes ? row->excludes : "";
    char own[80], other[80];
    size_t length;
    for (const char *name; (name = next_name(&names, &length));) {
        const struct option_row *given = find_given(name, length);
        if (given)
            refuse("%s does not go with %s%s", say_option(row, own), say_option(given, other),
                   strchr(name, ':'));
    }
}

/* One of those that the command has. */
static void check_needed(const struct option_row *row)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text list = {0};
    const char *names = row->needs ? row->needs : "";
    char own[80], other[80];
    size_t length;
    for (const char *name; (name = next_name(&names, &length));) {
        const struct option_row *needed = find_option(line.command, name, length);
        if (find_given(name, length))
            return;
        if (needed)
            ulp_text_add(&list, "%s%s", list.length ? " or " : "", say_option(needed, other));
    }
    if (list.length)
        refuse("%s needs %s%s", say_option(row, own), list.data, names);
}

static void check_words(void)
{
    for (size_t i = 0; i < line.count; i++)
        if (line.items[i].row->is_alone)
            return;
    for (size_t r = 0; r < line.row_count; r++)
        if (line.rows[r].row->missing && !is_option_given(line.rows[r].row->name))
            refuse("%s", line.rows[r].row->missing);
}

static void check_line(void *options)
{
    check_words();
    for (size_t i = 0; i < line.count; i++) {
        const struct option_row *row = line.items[i].row;
        if (!line.items[i].is_given)
            continue;
        check_excluded(row);
        check_needed(row);
    }
    if (line.command->check)
        line.command->check(options);
}

static void add_defaults(void)
{
    for (size_t r = 0; r < line.row_count; r++) {
        const struct placed *row = &line.rows[r];
        if (row->row->fallback && !is_option_given(row->row->name))
            add_line(*row, (char *)(uintptr_t)row->row->fallback, false);
    }
}

int parse_command(const struct command *command, int argc, char **argv, void *options)
{
    line.command = command;
    line.row_count = list_rows(command, line.rows);
    line.count = 0;
    if (argc == 2 && strcmp(argv[1], "--describe") == 0) {
        describe_options(command);
        exit(ULP_OK);
    }
    take_words(argc, argv);
    add_defaults();
    for (size_t i = 0; i < line.count; i++)
        store_option(line.items[i].row, (char *)options + line.items[i].at, line.items[i].value);
    check_line(options);
    int code = enter_paths();
    if (code == ULP_OK)
        code = sandbox_enter();
    return code == ULP_OK ? begin_json() : code;
}

/* Whether it is one of the words that the row lists before a file: "nodes|bits|FILE". */
static bool is_listed(const struct option_row *row, const char *value)
{
    const size_t length = strlen(value);
    for (const char *at = row->value, *end; (end = strchr(at, '|')); at = end + 1)
        if ((size_t)(end - at) == length && strncmp(at, value, length) == 0)
            return true;
    return false;
}

const char *files_written(const char *option)
{
    for (size_t r = 0; r < line.row_count; r++) {
        const struct option_row *row = line.rows[r].row;
        if (row->files && !row->writes && is_option_given(row->name))
            return row->files;
    }
    const struct option_row *row = find_option(line.command, option, strlen(option));
    return row && row->files ? row->files : "";
}

void visit_arguments(use_argument *use, void *context)
{
    bool goes_on = true;
    for (size_t i = 0; i < line.count && goes_on; i++) {
        const struct option_row *row = line.items[i].row;
        const char *value = line.items[i].value;
        if (!line.items[i].is_given && !row->writes)
            continue;
        const bool no_file = value && ((row->reads && is_listed(row, value)) ||
                                       (may_be_stream(row) && strcmp(value, "-") == 0));
        goes_on = use(context, row, no_file ? NULL : value);
    }
}

void free_options(const struct command *command, void *options)
{
    struct placed rows[ROWS_MAX];
    const size_t count = list_rows(command, rows);
    for (size_t r = 0; r < count; r++)
        free_option(rows[r].row, (char *)options + rows[r].at);
    if (command->is_common)
        common_free(options);
}
