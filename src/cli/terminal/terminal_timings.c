/* --timings. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/command.h"

enum ulp_status print_timings(struct ulp_timer *timer, size_t runs, struct ulp_error *error)
{
    ULP_SCOPED(ulp_timings_free) struct ulp_timings timings = {0};
    char *text;
    if (!timer)
        return ULP_OK;
    ULP_TRY(ulp_timings_read(timer, &timings, error));
    ULP_TRY(ulp_timings_text(&timings, runs, &text, error));
    fputs(text, stderr);
    free(text);
    return ULP_OK;
}
