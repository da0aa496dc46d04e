/* Samples finished one by one: kept in a checkpoint's folder, left to other shards, shared among
 * processes, and added up in their own order, so that the sum is the same bits in every case. */
#include "analysis/audit/part.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/session/session_store.h"
#include "base/error.h"
#include "base/machine/environment.h"

/* Which samples are this process's. */
struct portion {
    struct ulp_store store;
    struct ulp_checkpoint *checkpoint;
    size_t self, count; /* of the processes */
    size_t first, step; /* of the samples that this process makes */
    bool shares;        /* process 0 adds up what each makes of the same samples */
};

static void tell_finished(const struct ulp_session *session, size_t index)
{
    const struct ulp_audit_options *options = session->options;
    if (!options->finished)
        return;
    struct ulp_environment *paused = ulp_environment_pause();
    options->finished(options->context, index);
    ulp_environment_resume(paused);
}

/* ---- one process, and nothing kept ---- */

static enum ulp_status add_samples(const struct ulp_session *session, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t s = 0; s < session->samples->count && status == ULP_OK; s++) {
        struct ulp_audit audit;
        status = ulp_session_sample(session, s, &audit, error);
        ULP_THEN(status, ulp_auditor_add(session->sum, &audit, error));
        ulp_audit_free(&audit);
        ULP_TRY(ulp_fail_at(error, status, "sample %s", session->samples->items[s].name));
        tell_finished(session, s);
    }
    return status;
}

/* ---- parts ---- */

static enum ulp_status make_part(const struct portion *portion, size_t index, unsigned char **bytes,
                                 size_t *count, struct ulp_error *error)
{
    const struct ulp_session *session = portion->store.session;
    ULP_SCOPED(ulp_audit_free) struct ulp_audit audit = {0};
    ULP_TRY(ulp_session_sample(session, index, &audit, error));
    ULP_TRY(ulp_store_keep(&portion->store, index, &audit, bytes, count, error));
    tell_finished(session, index);
    return ULP_OK;
}

/* A sample's bytes: from a folder, or made now. */
static enum ulp_status finish_sample(const struct portion *portion, size_t index,
                                     unsigned char **bytes, size_t *count, struct ulp_error *error)
{
    const struct ulp_samples *samples = portion->store.session->samples;
    enum ulp_status status = ulp_store_read(&portion->store, index, bytes, count, error);
    portion->checkpoint->mine++;
    portion->checkpoint->found += status == ULP_OK && *bytes;
    if (status != ULP_OK || *bytes)
        return status;
    if (portion->checkpoint->merge)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "sample %zu of %zu, %s, is in none of the folders: its shard is not "
                        "finished, or its folder was not given",
                        index + 1, samples->count, samples->items[index].name);
    status = make_part(portion, index, bytes, count, error);
    return ulp_fail_at(error, status, "sample %s", samples->items[index].name);
}

static enum ulp_status add_part(const struct portion *portion, size_t index, unsigned char *bytes,
                                size_t count, struct ulp_error *error)
{
    const struct ulp_session *session = portion->store.session;
    const enum ulp_status status = count < ULP_STORE_HEAD
                                       ? ulp_fail(error, ULP_ERROR_INPUT, "holds no figures")
                                       : ulp_auditor_add_part(session->sum, bytes + ULP_STORE_HEAD,
                                                              count - ULP_STORE_HEAD, error);
    free(bytes);
    return ulp_fail_at(error, status, "figures of sample %s", session->samples->items[index].name);
}

/* The samples of a process alone, of a shard, or of its part where all processes were given the
 * same shard: then they share that. (Under srun each task may have a shard of its own.) */
static enum ulp_status choose_samples(struct portion *portion, struct ulp_error *error)
{
    const struct ulp_checkpoint *checkpoint = portion->checkpoint;
    const struct ulp_ranks *ranks = checkpoint->ranks;
    const size_t numbers[] = {checkpoint->shard, checkpoint->shard_count};
    const char *folder = checkpoint->folder_count ? checkpoint->folders[0] : "";
    portion->first = checkpoint->shard ? checkpoint->shard - 1 : 0;
    portion->step = checkpoint->shard ? checkpoint->shard_count : 1;
    if (portion->count == 1 || checkpoint->merge)
        return ULP_OK;
    const bool equal = ranks->all_equal(ulp_hash(numbers, sizeof numbers)),
               together =
                   ranks->all_equal(checkpoint->shard ? ulp_hash(folder, strlen(folder)) : 0);
    portion->checkpoint->split = checkpoint->shard && equal && together;
    portion->shares = !checkpoint->shard;
    if (checkpoint->split || portion->shares) {
        portion->first += portion->self * portion->step;
        portion->step *= portion->count;
    }
    return equal || checkpoint->shard
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE,
                          "rank %zu of %zu has no --shard, and others have one: give all of them "
                          "one, or none",
                          portion->self, portion->count);
}

/* A process alone, or a shard's: what a shard finishes is in its folder. */
static enum ulp_status run_alone(const struct portion *portion, struct ulp_error *error)
{
    for (size_t s = portion->first; s < portion->store.session->samples->count;
         s += portion->step) {
        unsigned char *bytes;
        size_t count;
        ULP_TRY(finish_sample(portion, s, &bytes, &count, error));
        if (!portion->checkpoint->shard)
            ULP_TRY(add_part(portion, s, bytes, count, error));
        else
            free(bytes);
    }
    return ULP_OK;
}

/* Process 0 adds all up in order while the others go on. */
static enum ulp_status run_shared(const struct portion *portion, struct ulp_error *error)
{
    const struct ulp_ranks *ranks = portion->checkpoint->ranks;
    enum ulp_status status = ULP_OK;
    for (size_t s = 0; s < portion->store.session->samples->count && status == ULP_OK; s++) {
        const size_t owner = s % portion->count;
        unsigned char *bytes = NULL;
        size_t count = 0;
        if (owner != portion->self && portion->self != 0)
            continue;
        if (owner == portion->self)
            status = finish_sample(portion, s, &bytes, &count, error);
        else if (!ranks->take(s, owner, &bytes, &count))
            status = ulp_out_of_memory(error);
        if (status == ULP_OK && portion->self != 0)
            ranks->hand(s, bytes, count);
        else if (status == ULP_OK)
            status = add_part(portion, s, bytes, count, error);
    }
    return ulp_fail_at(error, status, "rank %zu of %zu", portion->self, portion->count);
}

enum ulp_status ulp_session_parts(const struct ulp_session *session, bool *whole,
                                  struct ulp_error *error)
{
    struct ulp_checkpoint *checkpoint = session->options->checkpoint;
    *whole = true;
    if (!checkpoint)
        return add_samples(session, error);
    struct portion portion = {.store = {.session = session},
                              .checkpoint = checkpoint,
                              .self = checkpoint->ranks ? checkpoint->ranks->self : 0,
                              .count = checkpoint->ranks ? checkpoint->ranks->count : 1};
    *whole = !checkpoint->shard && !portion.self;
    checkpoint->mine = checkpoint->found = 0;
    checkpoint->split = false;
    enum ulp_status status = choose_samples(&portion, error);
    ULP_THEN(status, ulp_store_open(&portion.store, error));
    ULP_THEN(status, portion.shares ? run_shared(&portion, error) : run_alone(&portion, error));
    ulp_text_free(&portion.store.key);
    return status;
}
