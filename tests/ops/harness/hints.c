/* Rows that are not run, and the hints of data/cases/hints.cases. */
#include "cases.h"

#include "tests/support/test.h"
#include "tests/support/text_cases.h"

#define CASES "hints.cases"

const struct exemption exemptions[] = {
    {"If", "runs a graph: tests/run/check_bodies.c"},
    {"Loop", "runs a graph: tests/run/check_bodies.c"},
    {"Scan", "runs a graph: tests/run/check_bodies.c"},
    {0},
};

/* What stands at *at before the next " | ", which it is moved behind; "-", or nothing more: NULL.
 */
static char *take_part(const char **at)
{
    const char *from = *at, *end = strstr(from, " | ");
    const size_t length = end ? (size_t)(end - from) : strlen(from);
    *at = end ? end + 3 : from + length;
    return length == 0 || (length == 1 && *from == '-') ? NULL : strndup(from, length);
}

static struct hint read_hint(size_t number)
{
    const char *at = text_case(CASES, number, "", 0);
    struct hint hint = {0};
    char op[60], sum[4] = "";
    int length = 0;
    if (sscanf(at, "%59[A-Za-z0-9_.]%n", op, &length) == 1 && at[length] == ' ')
        hint.since = (int)strtol(at + length, NULL, 10);
    at = strstr(at, ": ") + 2;
    hint.op = strdup(op);
    hint.inputs = take_part(&at);
    hint.attributes = take_part(&at);
    if (*at) /* of a bound */
        ck_assert_int_ge(sscanf(at, "%lf %lf %3s", &hint.steps, &hint.magnitude, sum), 2);
    hint.sum = strcmp(sum, "sum") == 0;
    return hint;
}

const struct hint *all_hints(void)
{
    static struct hint *hints;
    const size_t count = hints ? 0 : text_case_count(CASES);
    if (!hints)
        hints = calloc(count + 1, sizeof *hints);
    for (size_t i = 0; i < count; i++)
        hints[i] = read_hint(i);
    return hints;
}
