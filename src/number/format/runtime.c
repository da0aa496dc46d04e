/* Arithmetics named by a runtime: "torch-compile:fp16@a100,acc=fp16". */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "number/format/request.h"

static const struct ulp_runtime rows[] = {
#define RUNTIME(name, expansion, support) {name, expansion, support},
#include "number/format/runtime.def"
#undef RUNTIME
};

const struct ulp_runtime *ulp_arithmetic_runtime(size_t index)
{
    return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

static const struct ulp_runtime *find_row(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

/* A word before ':' that some row begins with; of "mpfr:128" it is none. */
static bool names_runtime(const char *name, size_t length)
{
    const char *colon = memchr(name, ':', length);
    for (size_t i = 0; colon && i < sizeof rows / sizeof *rows; i++)
        if (strncmp(rows[i].name, name, (size_t)(colon - name) + 1) == 0)
            return true;
    return false;
}

bool ulp_request_names_runtime(const char *name)
{
    return names_runtime(name, strcspn(name, ",@"));
}

enum ulp_status ulp_request_read_runtime(struct ulp_request *request, const char *name,
                                         struct ulp_error *error)
{
    const size_t length = strcspn(name, ",@");
    const struct ulp_runtime *row = find_row(name, length);
    char known[300] = "", word[300];
    for (size_t i = 0; !row && i < sizeof rows / sizeof *rows; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
                 rows[i].name);
    if (!row)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "no arithmetic of a runtime is called so; known: %s", known);
    enum ulp_status status = ulp_request_read(request, row->expansion, error);
    for (const char *next = name + length; *next && status == ULP_OK;) {
        const bool gpu = *next == '@';
        const size_t end = 1 + strcspn(next + 1, gpu ? "," : ",@");
        snprintf(word, sizeof word, "%.*s", (int)(gpu ? end : end - 1), gpu ? next : next + 1);
        status = ulp_request_change(request, word, error);
        next += end;
    }
    return status;
}
