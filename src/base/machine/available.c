/* How much memory the process may still take: what the kernel says is available, and what its
 * control groups leave. */
#include "base/machine/available.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope/memory.h>

/* The first number of a file, or behind `key` at the beginning of a line; SIZE_MAX: there is none,
 * or it is "max". */
static size_t read_number(const char *root, const char *folder, const char *file, const char *key)
{
    char path[4600], line[256];
    size_t found = SIZE_MAX;
    snprintf(path, sizeof path, "%s%s/%s", root, folder, file);
    FILE *in = fopen(path, "re");
    while (in && found == SIZE_MAX && fgets(line, sizeof line, in)) {
        const size_t length = key ? strlen(key) : 0;
        char *end;
        if (length && strncmp(line, key, length) != 0)
            continue;
        const unsigned long long value = strtoull(line + length, &end, 10);
        if (end != line + length && value < SIZE_MAX)
            found = (size_t)value;
    }
    if (in)
        fclose(in);
    return found;
}

/* What a group's limit leaves; pages of files that it could drop count as free. */
static size_t group_leaves(const char *root, const char *folder, bool second)
{
    const size_t limit = read_number(root, folder, second ? "memory.max" : "memory.limit_in_bytes",
                                     NULL),
                 used = read_number(root, folder,
                                    second ? "memory.current" : "memory.usage_in_bytes", NULL);
    size_t files = read_number(root, folder, "memory.stat",
                               second ? "inactive_file " : "total_inactive_file ");
    if (limit == SIZE_MAX || used == SIZE_MAX)
        return SIZE_MAX;
    if (files == SIZE_MAX)
        files = 0;
    const size_t held = used > files ? used - files : 0;
    return limit > held ? limit - held : 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The group in the file's line, and all above it. A container may see its own group as the root of
 * the mount, so the root counts, too. */
static size_t groups_leave(const char *root, char *line)
{
    size_t least = SIZE_MAX;
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return least;
    *path++ = '\0';
    controllers++;
    const bool second = !*controllers;
    if (!second && !strstr(controllers, "memory"))
        return least;
    for (;;) {
        char folder[4200];
        snprintf(folder, sizeof folder, "/sys/fs/cgroup%s%s", second ? "" : "/memory", path);
        least = smaller(least, group_leaves(root, folder, second));
        char *slash = strrchr(path, '/');
        if (!*path || !slash)
            return least;
        *slash = '\0';
    }
}

size_t ulp_memory_available_under(const char *root)
{
    char path[4200], line[4096];
    size_t least = read_number(root, "/proc", "meminfo", "MemAvailable:");
    least = least > SIZE_MAX / 1024 ? SIZE_MAX : least * 1024;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *in = fopen(path, "re");
    while (in && fgets(line, sizeof line, in))
        least = smaller(least, groups_leave(root, line));
    if (in)
        fclose(in);
    return least == SIZE_MAX ? 0 : least ? least : 1;
}

size_t ulp_memory_available(void)
{
    return ulp_memory_available_under("");
}
