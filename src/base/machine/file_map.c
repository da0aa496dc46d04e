/* Files as memory. */
#define _GNU_SOURCE
#include "base/machine/file.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

enum ulp_status ulp_descriptor_map(int file, const char *path, size_t count, void **address,
                                   struct ulp_error *error)
{
    *address = NULL;
    if (!count)
        return ULP_OK;
    void *mapped = mmap(NULL, count, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED)
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s: cannot map %zu bytes: %s", path, count,
                        strerror(errno));
    *address = mapped;
    return ULP_OK;
}

static void advise(const void *address, size_t bytes, bool inside, int advice)
{
    const long size = sysconf(_SC_PAGESIZE);
    const uintptr_t page = size > 0 ? (uintptr_t)size : 4096, first = (uintptr_t)address,
                    end = first + bytes;
    const uintptr_t from = (inside ? first + page - 1 : first) / page * page,
                    to = inside ? end / page * page : end;
    if (from < to)
        madvise((void *)from, to - from, advice); /* advice: it may fail */
}

void ulp_mapped_fetch(const void *address, size_t bytes)
{
    advise(address, bytes, false, MADV_WILLNEED);
}

void ulp_mapped_give_back(const void *address, size_t bytes)
{
    advise(address, bytes, true, MADV_DONTNEED);
}
