#include "base/text/glob.h"

#include <stddef.h>
#include <string.h>

bool ulp_glob_matches(const char *glob, const char *text)
{
    const char *star = NULL, *resume = NULL;
    while (*text) {
        if (*glob == '*') {
            star = ++glob;
            resume = text;
        } else if (*glob == '?' || *glob == *text) {
            glob++;
            text++;
        } else if (star) {
            glob = star;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*glob == '*')
        glob++;
    return !*glob;
}

bool ulp_glob_matches_name(const char *pattern, const char *name)
{
    const bool cut = strncmp(pattern, "...", 3) == 0;
    bool any = ulp_glob_matches(pattern, name);
    for (size_t i = 0; name[i] && cut && !any; i++)
        any = ulp_glob_matches(pattern + 3, name + i);
    return any;
}
