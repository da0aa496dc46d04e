/* Where an attribution keeps its values until the sweep: in memory up to a limit, then in a file.
 * What is kept and read back has the same bits wherever it was. */
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "base/memory/budget.h"
#include "base/error.h"
#include "base/memory/scratch.h"

/* Without a memory limit. */
#define KEPT_MAX ((size_t)1 << 30)

static const char too_large[] =
    "they need more memory; --attribute keeps values in a file (TMPDIR)",
                  not_written[] = "the file in TMPDIR that they need cannot be written";

/* A run's need is known from below only: where little is left, nothing is kept in memory. */
void ulp_attribution_limit(struct ulp_attributor *attributor)
{
    const double limit = (double)ulp_budget_limit(attributor->budget),
                 half = (limit - ulp_plan_peak(attributor->plan, true, NULL)) / 2;
    attributor->kept_max = limit == 0         ? KEPT_MAX
                           : half < limit / 8 ? 0
                           : half < limit / 3 ? (size_t)half
                                              : (size_t)(limit / 3);
}

enum ulp_status ulp_attribution_room(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                     size_t count, size_t bytes, void *out, struct ulp_error *error)
{
    const size_t refusals = ulp_budget_refusals(attributor->budget);
    void *memory = NULL;
    enum ulp_status status = ULP_OK;
    if (!attributor->folder && attributor->kept_bytes + count * bytes > attributor->kept_max)
        lane->reason = too_large;
    else
        status = ulp_allocate(&memory, count, bytes, attributor->budget, "values of an attribution",
                              error);
    if (status == ULP_ERROR_MEMORY && ulp_budget_refusals(attributor->budget) > refusals) {
        lane->reason = too_large;
        status = ULP_OK;
    }
    memcpy(out, &memory, sizeof memory);
    return status;
}

enum ulp_status ulp_attribution_settle(struct ulp_attributor *attributor,
                                       struct ulp_attributed *lane,
                                       struct ulp_attributed_bytes *kept, size_t bytes,
                                       struct ulp_error *error)
{
    kept->bytes = bytes;
    if (attributor->kept_bytes + bytes <= attributor->kept_max) {
        attributor->kept_bytes += bytes;
        return ULP_OK;
    }
    enum ulp_status status = ULP_OK;
    if (attributor->file < 0)
        status = ulp_scratch_open(&attributor->file, attributor->folder, error);
    if (status == ULP_OK)
        status =
            ulp_scratch_write(attributor->file, kept->data, bytes, attributor->file_end, error);
    ulp_free(kept->data);
    kept->data = NULL;
    if (status != ULP_OK) {
        lane->reason = not_written;
        return ULP_OK;
    }
    kept->in_file = true;
    kept->at = attributor->file_end;
    attributor->file_end += bytes;
    return ULP_OK;
}

enum ulp_status ulp_attribution_fetch(const struct ulp_attributor *attributor,
                                      struct ulp_attributed_bytes *kept, struct ulp_error *error)
{
    if (!kept->in_file || kept->data)
        return ULP_OK;
    enum ulp_status status = ulp_allocate(&kept->data, kept->bytes, 1, attributor->budget,
                                          "values of an attribution", error);
    if (status == ULP_OK)
        status = ulp_scratch_read(attributor->file, kept->data, kept->bytes, kept->at, error);
    if (status != ULP_OK)
        ulp_attribution_release(kept);
    return status;
}

void ulp_attribution_release(struct ulp_attributed_bytes *kept)
{
    if (kept->in_file) {
        ulp_free(kept->data);
        kept->data = NULL;
    }
}

void ulp_attribution_forget(struct ulp_attributed_bytes *kept)
{
    ulp_free(kept->data);
    *kept = (struct ulp_attributed_bytes){0};
}
