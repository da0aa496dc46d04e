/* Options that a caller hands in: structs that begin with their size, as the caller knows them
 * (ulpscope/status.h). */
#pragma once

#include <stddef.h>
#include <ulpscope/status.h>

/* Copy them into out, `bytes` long; NULL: zeros. A size of 0 is `first`, that of version 0.1.0.
 * ULP_ERROR_USAGE: no such struct, or a member that is unknown here is set. */
enum ulp_status ulp_options_read(void *out, size_t bytes, size_t first, const void *given,
                                 struct ulp_error *error);

/* Options in the library's own form from here on; may leave the function. The member that is added
 * first gives its offset in place of the second size. */
#define ULP_OPTIONS_TAKE(type, options, error)                                                   \
    struct type options##_here;                                                                  \
    if (ulp_options_read(&options##_here, sizeof options##_here, sizeof options##_here, options, \
                         error) != ULP_OK)                                                       \
        return ULP_ERROR_USAGE;                                                                  \
    (options) = &options##_here
