/* --timings. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/command.h"

enum ulp_status print_timings(struct ulp_timer *timer, size_t runs, struct ulp_error *error)
{
    struct ulp_timings timings;
    char *text;
    if (!timer)
        return ULP_OK;
    ULP_TRY(ulp_timings_read(timer, &timings, error));
    enum ulp_status status = ulp_timings_text(&timings, runs, &text, error);
    if (status == ULP_OK) {
        fputs(text, stderr);
        free(text);
    }
    ulp_timings_free(&timings);
    return status;
}
