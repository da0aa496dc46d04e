/* Models with many of one thing, of any number. */
#pragma once

#include <ulpscope.h>

#include "tests/support/proto.h"

struct growth_model {
    const char *name;
    struct proto (*make)(size_t count);
    enum growth_work { GROWTH_RUN, GROWTH_AUDIT, GROWTH_REPORT } work;
    size_t few;
    enum ulp_status status; /* what loading, planning or running it ends in */
};
extern const struct growth_model growth_models[];
extern const int growth_model_count;
