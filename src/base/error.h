/* Filling a struct ulp_error. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <ulpscope/status.h>

/* Write status and message (printf style) into *error unless it is NULL. Returns status, so that
 * a failing function ends in `return ulp_fail(error, ULP_ERROR_INPUT, "...", ...)`. Text arguments
 * are made harmless (base/text/shown.h): names and paths are given as they are, and a line end in
 * one does not end a line of the message. */
enum ulp_status ulp_fail(struct ulp_error *error, enum ulp_status status, const char *format, ...)
    ULP_PRINTF(3, 4);

/* The status of a call that fails is this function's: for where nothing is to be cleaned up. */
#define ULP_TRY(call)                                \
    do {                                             \
        const enum ulp_status tried_status = (call); \
        if (tried_status != ULP_OK)                  \
            return tried_status;                     \
    } while (0)

/* One more step of several behind which something is done in any case: left out once one of them
 * has failed. */
#define ULP_THEN(status, ...)         \
    do {                              \
        if ((status) == ULP_OK)       \
            (status) = (__VA_ARGS__); \
    } while (0)

/* Before a declaration with a value: what the variable holds is freed where its scope is left.
 * ULP_FREES makes function_of, for a variable that is a pointer. */
#define ULP_SCOPED(function) __attribute__((cleanup(function)))
#define ULP_FREES(function, type)                    \
    static inline void function##_of(type **pointer) \
    {                                                \
        function(*pointer);                          \
    }

/* free() of a variable that is any pointer. */
static inline void ulp_scoped_free(void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}

/* The error, or where none was asked for one that is nobody's. */
static inline struct ulp_error *ulp_error_or(struct ulp_error *error, struct ulp_error *unasked)
{
    unasked->status = ULP_OK;
    unasked->message[0] = '\0';
    return error ? error : unasked;
}

/* Of a system call that failed with this errno: ULP_ERROR_MEMORY for want of memory, else
 * ULP_ERROR_INPUT. */
static inline enum ulp_status ulp_status_of(int code)
{
    return code == ENOMEM ? ULP_ERROR_MEMORY : ULP_ERROR_INPUT;
}
/* The message is `lines`, made by ulp_text_show: whole lines that are harmless already. */
enum ulp_status ulp_fail_lines(struct ulp_error *error, enum ulp_status status, const char *lines);

/* Put "prefix: " (printf style) before the message already in *error: callers add the place
 * (file, node) that the callee could not know. Returns `status`; of ULP_OK that is all. */
enum ulp_status ulp_fail_at(struct ulp_error *error, enum ulp_status status, const char *format,
                            ...) ULP_PRINTF(3, 4);
