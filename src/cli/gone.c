/* The answer to a name that has left: a line that says where it went. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

static const struct {
    const char *command, *option, *where;
} gone[] = {
#define GONE(command, option, where) {command, option, where},
#include "cli/gone.def"
#undef GONE
    {0}};

/* Whether an argument before "--" is the option, with a value or without. */
static bool names_option(const char *option, int argc, char **argv)
{
    const size_t length = strlen(option);
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], option, length) == 0 &&
            (argv[i][length] == '\0' || argv[i][length] == '='))
            return true;
    return false;
}

bool answer_gone(const char *command, int argc, char **argv)
{
    for (size_t g = 0; gone[g].command; g++) {
        const char *option = gone[g].option;
        if (strcmp(command, gone[g].command) != 0 || (*option && !names_option(option, argc, argv)))
            continue;
        say(stderr, "ulpscope: '%s%s%s' left in this release: %s\n", command, *option ? " " : "",
            option, gone[g].where);
        return true;
    }
    return false;
}
