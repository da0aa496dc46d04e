#include "tests/support/text_cases.h"

#include <ctype.h>

#include "tests/support/test.h"

enum { FILE_MAX = 1 << 17, TEXT_MAX = 1 << 13 };

/* The file that was read last. Programs of several files read them in turns, which are few. */
static const char *read_cases(const char *file)
{
    static char name[100], text[FILE_MAX];
    if (strcmp(name, file) != 0) {
        char path[200];
        snprintf(path, sizeof path, "cases/%s", file);
        FILE *from = fopen(test_data(path), "rb");
        if (!from)
            abort(); /* before any test */
        text[fread(text, 1, FILE_MAX - 1, from)] = 0;
        fclose(from);
        snprintf(name, sizeof name, "%s", file);
    }
    return text;
}

static const char *next_line(const char *at)
{
    at += strcspn(at, "\n");
    return at + (*at != 0);
}

/* Where it begins; the text's end where there are no so many. */
static const char *find_record(const char *file, size_t number)
{
    const char *at = read_cases(file);
    for (; *at; at = next_line(at))
        if (!strchr(" #$\n", *at) && number-- == 0)
            break;
    return at;
}

size_t text_case_count(const char *file)
{
    size_t count = 0;
    for (const char *at = read_cases(file); *at; at = next_line(at))
        count += !strchr(" #$\n", *at);
    return count;
}

/* The end of the line behind others, with a blank between. */
static void add_line(char *out, const char *from)
{
    const size_t length = strlen(out), more = strcspn(from, "\n");
    ck_assert_uint_lt(length + more, TEXT_MAX - 2);
    sprintf(out + length, "%s%.*s", length ? " " : "", (int)more, from);
}

/* The text of that name, with its arguments at `at`, which is moved behind them. */
static void add_named(const char *file, const char **at, char *out)
{
    const size_t name = strspn(*at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    const char *line = read_cases(file), *arguments[10] = {NULL};
    char text[TEXT_MAX] = "";
    while (*line && (*line != '$' || strncmp(line + 1, *at, name) != 0 || line[1 + name] != ' '))
        line = next_line(line);
    ck_assert_msg(*line, "no text is called %.20s", *at);
    add_line(text, line + name + 4);
    while (*(line = next_line(line)) == ' ')
        add_line(text, line + 4);
    *at += name;
    if (**at == '(') {
        size_t count = 1;
        arguments[count] = ++*at;
        for (; **at && **at != ')'; ++*at)
            if (**at == ';' && count < 9)
                arguments[++count] = *at + 2;
        ++*at;
    }
    for (const char *from = text; *from; from++) {
        const bool takes = *from == '$' && isdigit((unsigned char)from[1]);
        const char *argument = takes ? arguments[from[1] - '0'] : NULL;
        if (argument)
            from++;
        const size_t length = argument ? strcspn(argument, ";)") : 1;
        strncat(out, argument ? argument : from, length);
    }
}

const char *text_case(const char *file, size_t number, const char *word, int side)
{
    static char ring[16][TEXT_MAX];
    static size_t calls;
    char text[TEXT_MAX] = "", whole[TEXT_MAX] = "", *out = ring[calls++ % 16];
    const char *line = find_record(file, number);
    bool wanted = !*word;
    if (wanted)
        add_line(text, line);
    for (line = next_line(line); *line == ' '; line = next_line(line)) {
        const char *from = line + strspn(line, " ");
        const size_t letters = strspn(from, "abcdefghijklmnopqrstuvwxyz");
        const bool named = letters && strncmp(from + letters, ": ", 2) == 0;
        if (from - line == 4) {
            const char *its = named ? from : "model:";
            wanted = strncmp(its, word, strlen(word)) == 0 && *word && its[strlen(word)] == ':';
            from += named ? letters + 2 : 0;
        }
        if (wanted)
            add_line(text, from);
    }
    for (const char *at = text; *at;)
        if (*at == '$' && isupper((unsigned char)at[1])) {
            at++;
            add_named(file, &at, whole);
        } else {
            strncat(whole, at++, 1);
        }
    char *to = out;
    int between = -1; /* which side of a pair, if any */
    for (const char *at = whole; *at; at++)
        if (*at == '`')
            between = between < 0 ? 0 : -1;
        else if (*at == '|' && between == 0)
            between = 1;
        else if (between < 0 || between == side)
            *to++ = *at;
    *to = 0;
    return *out ? out : NULL;
}

struct text_head text_case_head(const char *file, size_t number)
{
    struct text_head head = {.rest = text_case(file, number, "", 0)};
    char target[40];
    int length = 0;
    ck_assert_int_eq(sscanf(head.rest, "%39s %d%n", head.name, &head.opset, &length), 2);
    head.rest += length;
    if (sscanf(head.rest, " for %39[a-z0-9-]%n", target, &length) == 1) {
        head.rest += length;
        head.targets = ulp_target_find(target)->bit;
    }
    return head;
}
