/* Arithmetics named by a runtime: "torch-compile:fp16@a100,acc=fp16". */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "number/format/request.h"

static const struct ulp_runtime rows[] = {
#define RUNTIME(name, expansion, basis, support) {name, expansion, basis, support},
#include "number/format/runtime.def"
#undef RUNTIME
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

const struct ulp_runtime *ulp_arithmetic_runtime(size_t index)
{
    return index < ROW_COUNT ? &rows[index] : NULL;
}

const struct ulp_runtime *ulp_runtime_find(const char *name)
{
    const size_t length = strcspn(name, ",@");
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (strlen(rows[i].name) == length && strncasecmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

enum ulp_status ulp_runtime_check(const char *base, struct ulp_error *error)
{
    const size_t runtime = strcspn(base, ":") + 1; /* with the colon */
    char known[300] = "";
    bool any = false;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        any = any || strncmp(rows[i].name, base, runtime) == 0;
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
                 rows[i].name);
    }
    return any ? ulp_fail(error, ULP_ERROR_USAGE,
                          "no arithmetic of a runtime is called so; known: %s", known)
               : ULP_OK;
}
