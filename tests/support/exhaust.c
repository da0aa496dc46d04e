/* The linker turns the calls of our own objects into those of __wrap_NAME (tests/cli/local.mk).
 * Calls of other libraries (jansson, GMP, protobuf-c, zlib, and libc's own in fopen or scandir)
 * find these definitions of malloc and its like before libc's, or before AddressSanitizer's, whose
 * own functions they then call. Where all is linked statically the linker sees to the
 * libraries' calls, too. */
#define _GNU_SOURCE
#include "tests/support/exhaust.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

static atomic_bool started;
static atomic_long count;
static atomic_size_t live, peak;
static long fails_at;
static bool fails_after;
static uint64_t content;

void exhaust_start(long at, bool all_after)
{
    fails_at = at;
    fails_after = all_after;
    count = 0;
    peak = live;
    started = true;
}

long exhaust_count(void)
{
    return count;
}

void exhaust_fill(uint64_t word)
{
    content = word;
}

size_t exhaust_live(void)
{
    return live;
}

size_t exhaust_peak(void)
{
    return peak;
}

static bool fails(void)
{
    if (!started)
        return false;
    const long number = ++count;
    if (!fails_at || (fails_after ? number < fails_at : number != fails_at))
        return false;
    errno = ENOMEM;
    return true;
}

static void *note(void *block)
{
    if (!block)
        return NULL;
    const size_t bytes = malloc_usable_size(block), now = atomic_fetch_add(&live, bytes) + bytes;
    size_t most = peak;
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now))
        ;
    return block;
}

static void forget(void *block)
{
    if (block)
        live -= malloc_usable_size(block);
}

static void *fill(void *block, size_t bytes)
{
    if (block && content)
        for (size_t at = 0; at < bytes; at++)
            ((unsigned char *)block)[at] = (unsigned char)(content >> at % sizeof content * 8);
    return block;
}

#ifdef SANITIZED
#define REAL(NAME) __interceptor_##NAME
#elif defined(__GLIBC__)
#define REAL(NAME) __libc_##NAME
#else
#define REAL(NAME) __real_##NAME
#define __real_memalign __real_aligned_alloc
#endif
void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t number, size_t size);
void *REAL(realloc)(void *block, size_t size);
void *REAL(memalign)(size_t alignment, size_t size);
void REAL(free)(void *block);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *context);
void *__real_mmap(void *address, size_t length, int protection, int flags, int file, off_t offset);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t number, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *block);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *context);
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int file, off_t offset);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : fill(note(REAL(malloc)(size)), size);
}

void *__wrap_calloc(size_t number, size_t size)
{
    return fails() ? NULL : note(REAL(calloc)(number, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : fill(note(REAL(memalign)(alignment, size)), size);
}

void *__wrap_realloc(void *block, size_t size)
{
    if (fails())
        return NULL;
    const size_t before = block ? malloc_usable_size(block) : 0;
    void *moved = REAL(realloc)(block, size);
    if (moved)
        live -= before;
    return note(moved);
}

void __wrap_free(void *block)
{
    forget(block);
    REAL(free)(block);
}

static char *copy_text(const char *text, size_t length)
{
    char *copy = __wrap_malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *__wrap_strndup(const char *text, size_t size)
{
    return copy_text(text, strnlen(text, size));
}

char *__wrap_strdup(const char *text)
{
    return copy_text(text, strlen(text));
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *context)
{
    return fails() ? EAGAIN : __real_pthread_create(thread, attributes, run, context);
}

void *__wrap_mmap(void *address, size_t length, int protection, int flags, int file, off_t offset)
{
    return fails() ? MAP_FAILED : __real_mmap(address, length, protection, flags, file, offset);
}

#if defined(SANITIZED) || defined(__GLIBC__)
/* Under other names here, for the linker turns the plain ones into those above; visible, or else
 * shared libraries do not find them. */
#pragma GCC visibility push(default)
void *other_malloc(size_t size) __asm__("malloc");
void *other_calloc(size_t number, size_t size) __asm__("calloc");
void *other_realloc(void *block, size_t size) __asm__("realloc");
void *other_aligned_alloc(size_t alignment, size_t size) __asm__("aligned_alloc");
int other_posix_memalign(void **out, size_t alignment, size_t size) __asm__("posix_memalign");
void other_free(void *block) __asm__("free");
#pragma GCC visibility pop

/* AddressSanitizer's own start asks for memory, too: until it is done nothing can be noted, and no
 * instrumented code can run. */
#ifdef SANITIZED
static bool ready;
__attribute__((constructor)) static void get_ready(void)
{
    ready = true;
}
#define EARLY __attribute__((no_sanitize_address))
#else
enum { ready = true };
#define EARLY
#endif

EARLY void *other_malloc(size_t size)
{
    return ready ? __wrap_malloc(size) : REAL(malloc)(size);
}

EARLY void *other_calloc(size_t number, size_t size)
{
    return ready ? __wrap_calloc(number, size) : REAL(calloc)(number, size);
}

EARLY void *other_realloc(void *block, size_t size)
{
    return ready ? __wrap_realloc(block, size) : REAL(realloc)(block, size);
}

EARLY void *other_aligned_alloc(size_t alignment, size_t size)
{
    return ready ? __wrap_aligned_alloc(alignment, size) : REAL(memalign)(alignment, size);
}

EARLY int other_posix_memalign(void **out, size_t alignment, size_t size)
{
    void *block = other_aligned_alloc(alignment, size);
    if (!block)
        return ENOMEM;
    *out = block;
    return 0;
}

EARLY void other_free(void *block)
{
    if (ready)
        __wrap_free(block);
    else
        REAL(free)(block);
}
#endif
