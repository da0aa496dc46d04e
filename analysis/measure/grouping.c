#include "analysis/measure/grouping.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define PARTS_MAX 100

enum ulp_status ulp_grouping_read(const char *by, int *parts, struct ulp_error *error)
{
    char *end = NULL;
    *parts = 0;
    if (strcmp(by, "op") == 0)
        return ULP_OK;
    if (strcmp(by, "cause") == 0) {
        *parts = ULP_GROUPING_CAUSE;
        return ULP_OK;
    }
    if (strncmp(by, "prefix:", 7) == 0) {
        const long count = strtol(by + 7, &end, 10);
        *parts = count >= 1 && count <= PARTS_MAX ? (int)count : 0;
    }
    return *parts && end != by + 7 && !*end
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE,
                          "groups by %s are not known: expected op, cause, or prefix:N for names "
                          "cut after the N-th part between '/', N from 1 to %d",
                          by, PARTS_MAX);
}

size_t ulp_grouping_cut(const char *name, int parts)
{
    const char *last = strrchr(name, '/');
    size_t length = name[0] == '/';
    if (!last || last == name)
        return strlen(name);
    for (;;) {
        length += strcspn(name + length, "/");
        if (name + length == last || --parts == 0)
            return length;
        length++;
    }
}
