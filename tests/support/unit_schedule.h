/* The oracle of a unit's whole sum over k with its schedule: chains of its integer definition. */
#pragma once

#include "kernels/unit/unit.h"

float unit_schedule(const struct ulp_unit *unit, const struct ulp_schedule *schedule,
                    const double *a, const double *b, size_t k);
