/* Finding an instruction's words: from its place in the text, which is that of its operator or
 * function, out to where what binds weaker begins. */
#include "formula/words.h"

#include <ctype.h>
#include <stdio.h>

/* How strongly the operator at `at` binds; 0: none is there, or what ends any expression. */
static int level_of(const char *text, size_t at)
{
    switch (text[at]) {
    case '*':
    case '/': return 6; /* as C binds them */
    case '+':
    case '-': return 5;
    case '<':
    case '>':
    case '=':
    case '!': return 4;
    case '&': return 2;
    case '|': return 1;
    default: return 0;
    }
}

static bool ends(char c)
{
    return c == ';' || c == ',' || c == '?' || c == ':' || c == '\0';
}

/* Is the minus at `at` a sign: does an operator, or nothing, stand before it? */
static bool is_sign(const char *text, size_t at)
{
    const bool minus = text[at] == '-';
    while (at > 0 && text[at - 1] == ' ')
        at--;
    return minus &&
           (at == 0 || ends(text[at - 1]) || text[at - 1] == '(' || level_of(text, at - 1));
}

static size_t find_start(const char *text, size_t at, int level)
{
    int depth = 0;
    while (at > 0) {
        const char c = text[at - 1];
        depth += c == ')';
        depth -= c == '(';
        if (depth < 0 ||
            (!depth && (ends(c) || (level_of(text, at - 1) && level_of(text, at - 1) < level &&
                                    !is_sign(text, at - 1)))))
            break;
        at--;
    }
    return at;
}

static size_t find_end(const char *text, size_t at, int level)
{
    int depth = 0;
    while (text[at] == ' ')
        at++;
    for (size_t first = at; text[at]; at++) {
        depth += text[at] == '(';
        depth -= text[at] == ')';
        if (depth < 0 || (!depth && (ends(text[at]) || (at > first && level_of(text, at) &&
                                                        level_of(text, at) <= level))))
            break;
    }
    return at;
}

/* Behind the parenthesis that closes the one at or behind `at`. */
static size_t find_close(const char *text, size_t at)
{
    int depth = 0;
    for (; text[at]; at++) {
        depth += text[at] == '(';
        if (text[at] == ')' && --depth <= 0)
            return at + 1;
    }
    return at;
}

const char *ulp_tape_words(const struct ulp_tape *tape, int i, char *buffer, size_t size)
{
    const char *text = tape->text;
    const size_t at = (size_t)tape->instructions[i].column - 1;
    size_t start = at, end;
    if (isalpha((unsigned char)text[at]) || text[at] == '_') {
        end = find_close(text, at);
    } else if (level_of(text, at) && !is_sign(text, at)) {
        const size_t width = level_of(text, at + 1) && level_of(text, at) < 5 ? 2 : 1;
        start = find_start(text, at, level_of(text, at));
        end = find_end(text, at + width, level_of(text, at));
    } else if (text[at] == '-' || text[at] == '!') {
        end = find_end(text, at + 1, 7);
    } else { /* a choice: all of the statement */
        start = find_start(text, at, 0);
        end = find_end(text, at + 1, 0);
    }
    while (text[start] == ' ')
        start++;
    while (end > start && text[end - 1] == ' ')
        end--;
    snprintf(buffer, size, "%.*s", (int)(end - start), text + start);
    return buffer;
}
