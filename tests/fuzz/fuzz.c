#define _GNU_SOURCE
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text/shown.h"

#define BUDGET_BYTES ((size_t)256 << 20)

static const struct fuzz_target targets[] = {
#define FUZZ_TARGET(name, meaning) {#name, meaning, fuzz_##name},
#include "tests/fuzz/target.def"
#undef FUZZ_TARGET
};

const struct fuzz_target *fuzz_target(size_t index)
{
    return index < sizeof targets / sizeof *targets ? &targets[index] : NULL;
}

const char *fuzz_failure(enum ulp_status status, unsigned allowed, const struct ulp_error *error)
{
    if (!(FUZZ_ALLOW(status) & allowed) || error->status != status)
        return "another failure than expected";
    if (!*error->message || !ulp_is_utf8(error->message))
        return "a failure without a message of UTF-8";
    for (const char *c = error->message; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return "a message with a control character";
    return NULL;
}

const char *fuzz_file(const uint8_t *bytes, size_t count)
{
    static char path[40];
    static int file = -1;
    if (file < 0) {
        file = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (file < 0 || ftruncate(file, (off_t)count) != 0 ||
        pwrite(file, bytes, count, 0) != (ssize_t)count)
        abort();
    return path;
}

char *fuzz_text(const uint8_t *bytes, size_t count)
{
    char *text = malloc(count + 1);
    if (!text)
        abort();
    if (count)
        memcpy(text, bytes, count);
    text[count] = 0;
    return text;
}

struct ulp_budget *fuzz_budget(void)
{
    static struct ulp_budget *budget;
    struct ulp_error error;
    if (!budget && ulp_budget_create(BUDGET_BYTES, &budget, &error) != ULP_OK)
        abort();
    return budget;
}
