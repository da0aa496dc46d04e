#include "base/options.h"

#include <string.h>

#include "base/error.h"

enum ulp_status ulp_options_read(void *out, size_t bytes, size_t first, const void *given,
                                 struct ulp_error *error)
{
    size_t size = 0;
    memset(out, 0, bytes);
    if (!given)
        return ULP_OK;
    memcpy(&size, given, sizeof size);
    size = size ? size : first;
    if (size < sizeof size)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "options begin with the size of their struct, and %zu is none: begin them "
                        "with ULP_OPTIONS",
                        size);
    memcpy(out, given, size < bytes ? size : bytes);
    for (size_t i = bytes; i < size; i++)
        if (((const unsigned char *)given)[i])
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "options of a later version: byte %zu is set, and this one knows %zu",
                            i, bytes);
    memcpy(out, &bytes, sizeof bytes);
    return ULP_OK;
}
