/* Names by pattern. */
#pragma once

#include <stdbool.h>

/* '*' is any text, '?' any character. */
bool ulp_glob_matches(const char *glob, const char *text);
/* The same; a pattern that begins with "..." is a name as a terminal shows it, cut at its front. */
bool ulp_glob_matches_name(const char *pattern, const char *name);
