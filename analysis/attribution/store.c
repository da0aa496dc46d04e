/* Where an attribution keeps its values until the sweep: in memory up to a limit, then in a file,
 * and without the zeros where they are many. What is kept and read back has the same bits wherever
 * it was. */
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "base/bits.h"
#include "base/memory/budget.h"
#include "base/error.h"
#include "base/memory/scratch.h"
#include "base/vectorise.h"

/* Without a memory limit. */
#define KEPT_MAX ((size_t)1 << 30)

const char ulp_attribution_too_large[] =
    "they need more memory; --attribute keeps values in a file (TMPDIR)";
static const char not_written[] = "the file in TMPDIR that they need cannot be written";

/* A run's need is known from below only: where little is left, nothing is kept in memory. */
void ulp_attribution_limit(struct ulp_attributor *attributor)
{
    const double limit = (double)ulp_budget_limit(attributor->budget),
                 half = (limit - ulp_program_peak(attributor->program, true, NULL)) / 2;
    attributor->kept_max = limit == 0         ? KEPT_MAX
                           : half < limit / 8 ? 0
                           : half < limit / 3 ? (size_t)half
                                              : (size_t)(limit / 3);
}

enum ulp_status ulp_attribution_room(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                     size_t count, size_t bytes, void *out, struct ulp_error *error)
{
    void *memory = NULL;
    enum ulp_status status = ULP_OK;
    if (!attributor->folder && count * bytes > attributor->room)
        lane->reason = ulp_attribution_too_large;
    else
        status = ulp_allocate(&memory, count, bytes, attributor->budget, "values of an attribution",
                              error);
    memcpy(out, &memory, sizeof memory);
    return status;
}

/* ---- words that are zero ---- */

/* What nodes introduce, and much of what behind a Relu is kept, is zero. Packed bytes are a bit for
 * each word, in 64 at a time, and the words that are not zero. */
#define GROUP ((size_t)64)
#define PACKED_BYTES_MIN ((size_t)4096)

static size_t count_groups(size_t words)
{
    return (words + GROUP - 1) / GROUP;
}

static uint64_t find_mask(const uint32_t *words, size_t count)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < count; i++)
        mask |= (uint64_t)(words[i] != 0) << i;
    return mask;
}

static size_t count_full(const uint32_t *words, size_t count)
{
    uint32_t full = 0;
    for (size_t i = 0; i < count; i++)
        full += words[i] != 0;
    return full;
}

/* Whether packed words seem to take much less: of every so many groups one is looked at. Not of a
 * power of two: rows of such lengths would be looked at in one place (causal attention). */
#define LOOKED 17
static bool seems_sparse(const uint32_t *words, size_t count)
{
    size_t full = 0, seen = 0;
    for (size_t first = 0; first + GROUP <= count; first += LOOKED * GROUP, seen += GROUP)
        full += count_full(words + first, GROUP);
    return full <= seen / 4 * 3;
}

static size_t find_packed_bytes(const uint32_t *words, size_t count)
{
    size_t full = 0;
    for (size_t first = 0; first < count; first += PACKED_BYTES_MIN)
        full += count_full(words + first, ulp_size_min(count - first, PACKED_BYTES_MIN));
    return count_groups(count) * sizeof(uint64_t) + full * sizeof *words;
}

static void pack(void *packed, const uint32_t *words, size_t count)
{
    uint64_t *masks = packed;
    uint32_t *out = (uint32_t *)(masks + count_groups(count));
    for (size_t first = 0; first < count; first += GROUP) {
        uint64_t mask = find_mask(words + first, ulp_size_min(count - first, GROUP));
        *masks++ = mask;
        for (; mask; mask &= mask - 1)
            *out++ = words[first + (size_t)__builtin_ctzll(mask)];
    }
}

/* words: zeros. */
static void unpack(uint32_t *words, const void *packed, size_t count)
{
    const uint64_t *masks = packed;
    const uint32_t *in = (const uint32_t *)(masks + count_groups(count));
    for (size_t first = 0; first < count; first += GROUP)
        for (uint64_t mask = *masks++; mask; mask &= mask - 1)
            words[first + (size_t)__builtin_ctzll(mask)] = *in++;
}

/* The bytes packed, where that is much less; or as they are. */
static enum ulp_status pack_kept(const struct ulp_attributor *attributor,
                                 struct ulp_attributed_bytes *kept, struct ulp_error *error)
{
    const size_t count = kept->bytes / sizeof(uint32_t);
    void *packed;
    if (kept->bytes % sizeof(uint32_t) || kept->bytes < PACKED_BYTES_MIN)
        return ULP_OK;
    const size_t bytes =
        seems_sparse(kept->data, count) ? find_packed_bytes(kept->data, count) : kept->bytes;
    if (bytes > kept->bytes / 4 * 3)
        return ULP_OK;
    ULP_TRY(ulp_allocate(&packed, bytes, 1, attributor->budget, "values of an attribution", error));
    pack(packed, kept->data, count);
    ulp_free(kept->data);
    kept->data = NULL;
    kept->packed = packed;
    kept->packed_bytes = bytes;
    return ULP_OK;
}

static enum ulp_status unpack_kept(const struct ulp_attributor *attributor,
                                   struct ulp_attributed_bytes *kept, struct ulp_error *error)
{
    ULP_TRY(ulp_allocate_zero(&kept->data, kept->bytes, 1, attributor->budget,
                              "values of an attribution", error));
    unpack(kept->data, kept->packed, kept->bytes / sizeof(uint32_t));
    return ULP_OK;
}

/* ---- in memory, or in the file ---- */

enum ulp_status ulp_attribution_settle(struct ulp_attributor *attributor,
                                       struct ulp_attributed *lane,
                                       struct ulp_attributed_bytes *kept, size_t bytes,
                                       size_t *room, struct ulp_error *error)
{
    kept->bytes = bytes;
    ULP_TRY(pack_kept(attributor, kept, error));
    const size_t stored = kept->packed_bytes ? kept->packed_bytes : bytes;
    if (stored <= *room) {
        *room -= stored;
        return ULP_OK;
    }
    enum ulp_status status = ULP_OK;
    if (attributor->file < 0)
        status = ulp_scratch_open(&attributor->file, attributor->folder, error);
    if (status == ULP_OK)
        status = ulp_scratch_write(attributor->file, kept->packed_bytes ? kept->packed : kept->data,
                                   stored, attributor->file_end, error);
    ulp_free(kept->data);
    ulp_free(kept->packed);
    kept->data = kept->packed = NULL;
    if (status != ULP_OK) {
        lane->reason = not_written;
        return ULP_OK;
    }
    kept->in_file = true;
    kept->at = attributor->file_end;
    attributor->file_end += stored;
    return ULP_OK;
}

static enum ulp_status read_stored(const struct ulp_attributor *attributor,
                                   struct ulp_attributed_bytes *kept, size_t bytes, void **out,
                                   struct ulp_error *error)
{
    ULP_TRY(ulp_allocate(out, bytes, 1, attributor->budget, "values of an attribution", error));
    return ulp_scratch_read(attributor->file, *out, bytes, kept->at, error);
}

/* ---- what a Relu gives ---- */

struct rectified {
    const float *in, *errors; /* P and P - R */
    float *out, *out_errors;  /* theirs behind the Relu; NULL: `own` is compared with P */
    const float *own;
    _Atomic bool differs;
};

/* An error between two numbers above 0 is handed on. Of an element that is above 0 in the reference
 * alone it is -R, off by 2^-25 of P - R. Without branches, which no processor foresees here: R is
 * above 0 where P is greater than P - R. */
ULP_VECTORISE static void rectify_floats(const float *restrict in, const float *restrict errors,
                                         float *restrict out, float *restrict out_errors,
                                         size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        const float p = in[i], e = errors[i], less = (float)((double)e - (double)p);
        const uint32_t own = 0u - (uint32_t)(p > 0), true_one = 0u - (uint32_t)(p > e),
                       above = (ulp_float_bits(e) & true_one) | (ulp_float_bits(p) & ~true_one);
        out[i] = ulp_float_from(ulp_float_bits(p) & own);
        out_errors[i] = ulp_float_from((above & own) | (ulp_float_bits(less) & true_one & ~own));
    }
}

ULP_WORK(rectify_range)
{
    struct rectified *job = context;
    if (job->out)
        rectify_floats(job->in, job->errors, job->out, job->out_errors, first, last);
    uint32_t differing = 0;
    for (size_t i = first; i < last && job->own; i++)
        differing |= ulp_float_bits(job->own[i]) ^
                     (ulp_float_bits(job->in[i]) & (0u - (uint32_t)(job->in[i] > 0)));
    if (differing)
        job->differs = true;
    return ULP_OK;
}

/* Over what a Relu reads, which comes into memory for that. */
static enum ulp_status rectify(const struct ulp_attributor *attributor,
                               struct ulp_attributed_bytes *from, struct rectified *job,
                               size_t count, struct ulp_error *error)
{
    const bool there = from->data != NULL;
    ULP_TRY(ulp_attribution_fetch(attributor, from, error));
    job->in = from->data;
    job->errors = job->in + count;
    const enum ulp_status status =
        ulp_parallel_for(attributor->pool, count, ulp_grain(2), rectify_range, job, error);
    if (!there)
        ulp_attribution_release(from);
    return status;
}

static enum ulp_status fetch_rectified(const struct ulp_attributor *attributor,
                                       struct ulp_attributed_bytes *kept, struct ulp_error *error)
{
    const size_t count = kept->bytes / (2 * sizeof(float));
    ULP_TRY(ulp_allocate(&kept->data, kept->bytes, 1, attributor->budget,
                         "values of an attribution", error));
    struct rectified job = {.out = kept->data};
    job.out_errors = job.out + count;
    const enum ulp_status status = rectify(attributor, kept->rectifies, &job, count, error);
    if (status != ULP_OK)
        ulp_attribution_release(kept);
    return status;
}

enum ulp_status ulp_attribution_rectified(const struct ulp_attributor *attributor,
                                          struct ulp_attributed_bytes *kept,
                                          struct ulp_attributed_bytes *from,
                                          const struct ulp_tensor *own, bool *done,
                                          struct ulp_error *error)
{
    struct rectified job = {.own = own->data};
    if (!own->count || from->bytes != own->count * 2 * sizeof(float))
        return ULP_OK;
    ULP_TRY(rectify(attributor, from, &job, own->count, error));
    *done = !job.differs;
    if (*done)
        *kept =
            (struct ulp_attributed_bytes){.bytes = from->bytes,
                                          /* a second Relu changes nothing */
                                          .rectifies = from->rectifies ? from->rectifies : from};
    return ULP_OK;
}

enum ulp_status ulp_attribution_fetch(const struct ulp_attributor *attributor,
                                      struct ulp_attributed_bytes *kept, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    if (kept->of) {
        status = ulp_attribution_fetch(attributor, kept->of, error);
        kept->data = kept->of->data;
        return status;
    }
    if ((!kept->in_file && !kept->packed_bytes && !kept->rectifies) || kept->data)
        return ULP_OK;
    if (kept->rectifies)
        return fetch_rectified(attributor, kept, error);
    if (kept->in_file)
        status = kept->packed_bytes
                     ? read_stored(attributor, kept, kept->packed_bytes, &kept->packed, error)
                     : read_stored(attributor, kept, kept->bytes, &kept->data, error);
    if (status == ULP_OK && kept->packed_bytes)
        status = unpack_kept(attributor, kept, error);
    if (status != ULP_OK)
        ulp_attribution_release(kept);
    return status;
}

void ulp_attribution_release(struct ulp_attributed_bytes *kept)
{
    if (kept->of) {
        ulp_attribution_release(kept->of);
        kept->data = kept->of->data;
        return;
    }
    if (kept->in_file || kept->packed_bytes || kept->rectifies) {
        ulp_free(kept->data);
        kept->data = NULL;
    }
    if (kept->in_file) {
        ulp_free(kept->packed);
        kept->packed = NULL;
    }
}

void ulp_attribution_forget(struct ulp_attributed_bytes *kept)
{
    if (!kept->of) {
        ulp_free(kept->data);
        ulp_free(kept->packed);
    }
    *kept = (struct ulp_attributed_bytes){0};
}

void ulp_attribution_share(struct ulp_attributed_bytes *out, struct ulp_attributed_bytes *kept)
{
    *out = (struct ulp_attributed_bytes){.data = kept->data, .of = kept};
}
