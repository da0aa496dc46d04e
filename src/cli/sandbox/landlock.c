#define _GNU_SOURCE
#include "cli/sandbox/landlock.h"

#include <errno.h>

#ifdef __linux__
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's own header may be older than the kernel: these are what it has promised to keep. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define ASK_VERSION 1u
#define RULE_PATH_BENEATH 1

struct ruleset {
    uint64_t files, network, scoped;
};
struct path_rule {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_DIR = 1 << 7,
    MAKE_REG = 1 << 8,
    REFER = 1 << 13,
    TRUNCATE = 1 << 14,
};

/* What each version can forbid, and so forbids. */
static uint64_t all_of_files(int version)
{
    const int bits = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
    return (UINT64_C(1) << bits) - 1;
}

int landlock_version(void)
{
    const long version = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, ASK_VERSION);
    return version > 0 ? (int)version : 0;
}

int landlock_open(void)
{
    const int version = landlock_version();
    const struct ruleset rules = {.files = all_of_files(version),
                                  .network = version >= 4 ? 3 : 0, /* bind and connect */
                                  .scoped = version >= 6 ? 3 : 0}; /* abstract sockets, signals */
    const size_t size = version >= 6   ? sizeof rules
                        : version >= 4 ? 2 * sizeof rules.files
                                       : sizeof rules.files;
    return (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0u);
}

int landlock_allow(int rules, const char *path, enum landlock_right right)
{
    static const uint64_t beneath[] = {[LANDLOCK_READ] = READ_FILE | READ_DIR,
                                       [LANDLOCK_WRITE] = READ_FILE | READ_DIR | WRITE_FILE |
                                                          TRUNCATE | MAKE_REG | MAKE_DIR |
                                                          REMOVE_FILE | REMOVE_DIR | REFER,
                                       [LANDLOCK_TIDY] = REMOVE_DIR};
    struct stat info;
    const int parent = open(path, O_PATH | O_CLOEXEC);
    if (parent < 0)
        return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -1;
    uint64_t allowed = beneath[right] & all_of_files(landlock_version());
    if (fstat(parent, &info) == 0 && !S_ISDIR(info.st_mode))
        allowed &= READ_FILE | WRITE_FILE | TRUNCATE;
    const struct path_rule rule = {.allowed = allowed, .parent = parent};
    const int made = (int)syscall(SYS_landlock_add_rule, rules, RULE_PATH_BENEATH, &rule, 0u);
    close(parent);
    return made;
}

int landlock_enter(int rules)
{
    int entered = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (entered == 0)
        entered = (int)syscall(SYS_landlock_restrict_self, rules, 0u);
    const int code = errno;
    close(rules);
    errno = code;
    return entered;
}

#else

int landlock_version(void)
{
    return 0;
}

int landlock_open(void)
{
    errno = ENOSYS;
    return -1;
}

int landlock_allow(int rules, const char *path, enum landlock_right right)
{
    (void)rules, (void)path, (void)right;
    errno = ENOSYS;
    return -1;
}

int landlock_enter(int rules)
{
    (void)rules;
    errno = ENOSYS;
    return -1;
}

#endif
