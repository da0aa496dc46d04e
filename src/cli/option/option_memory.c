/* --max-memory. */
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/option/option.h"

enum { OPTION_MEMORY = 0x300 };

/* clang-format off */
static const struct argp_option option_list[] = {
    {"max-memory", OPTION_MEMORY, "BYTES", 0,
     "Stop with exit code 5 when what is read and made would need more; suffixes K, M and G are understood "
     "(default 4G, 0: no limit)", 0},
    {0},
};
/* clang-format on */

size_t read_memory(const struct argp_state *state, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    const char *units = "KMGT", *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        value = ldexp(value, 10 * (int)(unit - units + 1));
        end++;
    }
    if (end == text || *end || !(value >= 0 && value < 0x1p62))
        refuse(state, "--max-memory %s: expected a number of bytes, such as 2G, or 0", text);
    return (size_t)value;
}

static error_t parse_memory_option(int key, char *argument, struct argp_state *state)
{
    if (key != OPTION_MEMORY)
        return ARGP_ERR_UNKNOWN;
    const size_t bytes = read_memory(state, argument);
    *(size_t *)state->input = bytes ? bytes : SIZE_MAX; /* a budget without a limit reads less */
    return 0;
}

const struct argp memory_argp = {.options = option_list, .parser = parse_memory_option};
