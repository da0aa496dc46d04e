/* Status codes, and the error object that every function that can fail fills in. */
#ifndef ULPSCOPE_STATUS_H
#define ULPSCOPE_STATUS_H

#ifdef __cplusplus
#define ULP_LINKAGE extern "C"
#else
#define ULP_LINKAGE
#endif
#if defined(__GNUC__)
#define ULP_API ULP_LINKAGE __attribute__((visibility("default")))
#define ULP_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define ULP_API ULP_LINKAGE
#define ULP_PRINTF(format_index, first)
#endif

/* Structs of options begin with their size, so that later versions can add members at their end:
 *     const struct ulp_run_options options = {ULP_OPTIONS(ulp_run_options), .thread_count = 2};
 * A size of 0 stands for the members of version 0.1.0. What the caller's struct does not have is
 * 0; what this version does not know must be (ULP_ERROR_USAGE). NULL: all are 0. */
#define ULP_OPTIONS(type) .size = sizeof(struct type)

/* What a function returns. The values are the program's exit codes. */
enum ulp_status {
    ULP_OK = 0,
    ULP_ERROR_LIMIT = 1,       /* done, but a limit that the caller gave was crossed */
    ULP_ERROR_USAGE = 2,       /* an argument has no meaning: an unknown name, a contradiction */
    ULP_ERROR_INPUT = 3,       /* a file is unreadable or malformed */
    ULP_ERROR_UNSUPPORTED = 4, /* a valid model uses something this version does not compute */
    ULP_ERROR_MEMORY = 5,      /* out of memory, or the caller's memory limit was reached */
    ULP_ERROR_CANCELLED = 6,   /* an observer asked to stop */
};

/* Why a function failed. The caller owns it and passes its address, or NULL; the function fills it
 * when it does not return ULP_OK. The message is one or more complete lines without a final
 * newline: what is wrong, where (file, node, tensor), what was expected, what to do. When several
 * parts of parallel work fail, the one of the lowest index is reported, so messages do not depend
 * on threads. */
struct ulp_error {
    enum ulp_status status;
    char message[8192];
};

#endif
