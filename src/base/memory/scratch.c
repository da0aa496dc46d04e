#define _GNU_SOURCE
#include "base/memory/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory/alloc.h"

static enum ulp_status fail_scratch(const char *what, int code, struct ulp_error *error)
{
    return ulp_fail(error, ulp_status_of(code), "cannot %s a temporary file: %s", what,
                    strerror(code));
}

enum ulp_status ulp_scratch_open(int *descriptor, const char *folder, struct ulp_error *error)
{
    const size_t size = strlen(folder) + 24;
    char *name = malloc(size);
    *descriptor = -1;
    ULP_TRY(ulp_taken(name, error));
    snprintf(name, size, "%s/ulpscope-XXXXXX", folder);
    *descriptor = mkostemp(name, O_CLOEXEC);
    const int code = errno;
    if (*descriptor >= 0)
        unlink(name);
    free(name);
    if (*descriptor >= 0)
        return ULP_OK;
    return ulp_fail(error, ulp_status_of(code), "%s: cannot make a temporary file: %s", folder,
                    strerror(code));
}

void ulp_scratch_close(int descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
}

static enum ulp_status write_bytes(int descriptor, const void *bytes, size_t count, uint64_t at,
                                   struct ulp_error *error)
{
    for (size_t done = 0; done < count;) {
        const ssize_t put =
            pwrite(descriptor, (const char *)bytes + done, count - done, (off_t)(at + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return fail_scratch("write", put < 0 ? errno : ENOSPC, error);
        done += (size_t)put;
    }
    return ULP_OK;
}

enum ulp_status ulp_scratch_keep(int descriptor, const void *bytes, size_t count, uint64_t *end,
                                 void **out, struct ulp_error *error)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    ULP_TRY(write_bytes(descriptor, bytes, count, *end, error));
    void *mapped = mmap(NULL, count, PROT_READ, MAP_SHARED, descriptor, (off_t)*end);
    if (mapped == MAP_FAILED)
        return fail_scratch("map", errno, error);
    *end += (count + page - 1) / page * page;
    *out = mapped;
    return ULP_OK;
}

void ulp_scratch_drop(void *bytes, size_t count)
{
    munmap(bytes, count);
}
