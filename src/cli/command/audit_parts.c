/* Samples finished one by one: kept in --checkpoint's folder, left to other shards (--shard),
 * shared among ranks, whole or lane by lane, and added up in their own order, so that the sum is
 * the same bits in every case. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/audit_store.h"
#include "cli/ranks.h"

static enum ulp_status out_of_memory(struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
}

/* ---- one sample ---- */

/* The audit of a sample by this process: all lanes, or those that are its own. */
static enum ulp_status make_figures(const struct store *store, size_t index,
                                    unsigned char **figures, size_t *length,
                                    struct ulp_error *error)
{
    const struct audit_parts *parts = store->parts;
    struct sample *sample = &parts->samples->items[index];
    struct ulp_audit audit = {0};
    enum ulp_status status = parts->make(parts->context, index, sample, &audit, error);
    if (status == ULP_OK)
        status = ulp_part_encode(&audit, figures, length, error);
    ulp_audit_free(&audit);
    return status == ULP_OK ? ULP_OK : ulp_fail_at(error, status, "sample %s", sample->name);
}

/* In rank 0: its own lanes' figures, in *figures, and those of the other ranks into one. */
static enum ulp_status join_lanes(const struct ulp_auditor *sum, size_t index,
                                  unsigned char **figures, size_t *length, struct ulp_error *error)
{
    const size_t ranks = ranks_count();
    unsigned char **each = calloc(ranks, sizeof *each), *whole = NULL;
    size_t *lengths = calloc(ranks, sizeof *lengths);
    enum ulp_status status = each && lengths ? ULP_OK : out_of_memory(error);
    for (size_t r = 1; r < ranks && status == ULP_OK; r++)
        if (!ranks_take(index, r, &each[r], &lengths[r]))
            status = out_of_memory(error);
    if (status == ULP_OK) {
        each[0] = *figures;
        lengths[0] = *length;
        status =
            ulp_part_join(sum, (const void *const *)each, lengths, ranks, &whole, length, error);
        each[0] = NULL;
    }
    for (size_t r = 1; each && r < ranks; r++)
        free(each[r]);
    free(each);
    free(lengths);
    free(*figures);
    *figures = whole;
    return status;
}

static void say_done(const struct store *store, size_t index)
{
    const struct audit_parts *parts = store->parts;
    if (parts->options->checkpoint_count)
        watch_done("the samples finished so far, up to %zu of %zu, are in %s; the same command "
                   "resumes after them",
                   index + 1, parts->samples->count, parts->options->checkpoints[0]);
    else
        watch_done("sample %zu of %zu was finished, and nothing was written; --checkpoint FOLDER "
                   "keeps finished samples",
                   index + 1, parts->samples->count);
}

/* The figures of a sample of this process, or of all ranks: from the folder, or made now. */
static enum ulp_status finish_sample(const struct store *store, const struct ulp_auditor *sum,
                                     size_t index, bool *made, unsigned char **bytes, size_t *count,
                                     struct ulp_error *error)
{
    const struct audit_parts *parts = store->parts;
    unsigned char *figures;
    size_t length;
    bool found;
    enum ulp_status status = read_finished(store, index, &found, bytes, count, error);
    if (status == ULP_OK && parts->shared && parts->options->checkpoint_count)
        ranks_agree(&found);
    *made = status == ULP_OK && !found;
    if (!*made)
        return status;
    if (parts->options->merge)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "sample %zu of %zu, %s, is in none of the folders: its shard is not "
                        "finished, or its folder was not given",
                        index + 1, parts->samples->count, parts->samples->items[index].name);
    status = make_figures(store, index, &figures, &length, error);
    if (status != ULP_OK)
        return status;
    if (parts->shared)
        status = join_lanes(sum, index, &figures, &length, error);
    ulp_timer_phase(parts->options->timer, ULP_TIMED_WRITING);
    if (status == ULP_OK)
        status = keep_finished(store, index, figures, length, bytes, count, error);
    ulp_timer_phase(parts->options->timer, ULP_TIMED_OTHER);
    free(figures);
    if (status == ULP_OK)
        say_done(store, index);
    return status == ULP_OK
               ? ULP_OK
               : ulp_fail_at(error, status, "sample %s", parts->samples->items[index].name);
}

static enum ulp_status add_part(struct ulp_auditor *sum, const struct sample *sample,
                                const unsigned char *bytes, size_t count, struct ulp_error *error)
{
    const enum ulp_status status = count < FINGERPRINT_BYTES
                                       ? ulp_fail(error, ULP_ERROR_INPUT, "holds no figures")
                                       : ulp_auditor_add_part(sum, bytes + FINGERPRINT_BYTES,
                                                              count - FINGERPRINT_BYTES, error);
    return status == ULP_OK ? ULP_OK
                            : ulp_fail_at(error, status, "figures of sample %s", sample->name);
}

/* ---- all ---- */

/* The samples of a process alone, of a shard, or of its part where all ranks were given the same
 * shard: then they share that. (Under srun each task may have a shard of its own.) */
static enum ulp_status choose_samples(struct store *store, struct ulp_error *error)
{
    const struct audit_parts *parts = store->parts;
    const struct audit_options *options = parts->options;
    const size_t numbers[] = {options->shard, options->shard_count};
    store->first = options->shard ? options->shard - 1 : 0;
    store->step = options->shard ? options->shard_count : 1;
    store->split = false;
    if (ranks_count() == 1 || parts->shared || options->merge)
        return ULP_OK;
    const bool equal = ranks_all_equal(ulp_hash(numbers, sizeof numbers)),
               together = ranks_all_equal(options->shard ? ulp_hash(options->checkpoints[0],
                                                                    strlen(options->checkpoints[0]))
                                                         : 0);
    store->split = options->shard && equal && together;
    if (store->split) {
        store->first += ranks_self() * store->step;
        store->step *= ranks_count();
    }
    return equal || options->shard
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE,
                          "rank %zu of %zu has no --shard, and others have one: give all of them "
                          "one, or none",
                          ranks_self(), ranks_count());
}

/* A shard is at its end, also those ranks that share it. */
static void say_shard(const struct store *store)
{
    const struct audit_options *options = store->parts->options;
    const size_t all = store->parts->samples->count,
                 mine = (all + options->shard_count - options->shard) / options->shard_count;
    if (store->split) {
        ranks_all_equal(0); /* waits for them */
        if (ranks_self() > 0)
            return;
    }
    if (mine)
        say(stdout, "shard %zu of %zu: %zu of %zu samples are finished in %s.", options->shard,
            options->shard_count, mine, all, options->checkpoints[0]);
    else
        say(stdout, "shard %zu of %zu: there is none of the %zu samples in it.", options->shard,
            options->shard_count, all);
    say(stdout, " When all shards are: ulpscope merge FOLDER... --out REPORT\n");
}

/* One process alone, a shard, or rank 0 of those that share lanes. */
static enum ulp_status run_alone(const struct store *store, struct ulp_auditor *sum,
                                 struct ulp_error *error)
{
    const struct audit_options *options = store->parts->options;
    const struct sample_list *samples = store->parts->samples;
    size_t finished = 0, mine = 0;
    enum ulp_status status = ULP_OK;
    for (size_t s = store->first; s < samples->count && status == ULP_OK;
         s += store->step, mine++) {
        unsigned char *bytes;
        size_t count;
        bool made;
        status = finish_sample(store, sum, s, &made, &bytes, &count, error);
        if (status != ULP_OK)
            break;
        finished += !made;
        if (!options->shard)
            status = add_part(sum, &samples->items[s], bytes, count, error);
        free(bytes);
    }
    if (status == ULP_OK && finished && !options->common.quiet && !options->merge && !store->split)
        say(stderr, "ulpscope: %zu of %zu samples were in %s already\n", finished, mine,
            options->checkpoints[0]);
    if (status == ULP_OK && options->shard)
        say_shard(store);
    return status;
}

/* Sample s is of rank s modulo their number. Rank 0 adds all up in order while the others go on. */
static enum ulp_status run_ranks(const struct store *store, struct ulp_auditor *sum,
                                 struct ulp_error *error)
{
    const struct sample_list *samples = store->parts->samples;
    const size_t ranks = ranks_count(), self = ranks_self();
    enum ulp_status status = ULP_OK;
    for (size_t s = 0; s < samples->count && status == ULP_OK; s++) {
        const size_t owner = s % ranks;
        unsigned char *bytes;
        size_t count;
        bool made;
        if (owner != self && self != 0)
            continue;
        if (owner == self)
            status = finish_sample(store, sum, s, &made, &bytes, &count, error);
        else if (!ranks_take(s, owner, &bytes, &count))
            status = out_of_memory(error);
        if (status != ULP_OK)
            break;
        if (self != 0) {
            ranks_hand(s, bytes, count);
            continue;
        }
        status = add_part(sum, &samples->items[s], bytes, count, error);
        free(bytes);
    }
    return status == ULP_OK ? ULP_OK : ulp_fail_at(error, status, "rank %zu of %zu", self, ranks);
}

/* A rank that is not the first, of those that share the lanes of every sample. */
static enum ulp_status run_lanes_alone(const struct store *store, struct ulp_error *error)
{
    const struct audit_options *options = store->parts->options;
    const size_t samples = store->parts->samples->count;
    enum ulp_status status = ULP_OK;
    for (size_t s = store->first; s < samples && status == ULP_OK; s += store->step) {
        unsigned char *figures;
        size_t length;
        bool found = false;
        if (options->checkpoint_count)
            ranks_agree(&found);
        if (found)
            continue;
        status = make_figures(store, s, &figures, &length, error);
        if (status == ULP_OK)
            ranks_hand(s, figures, length);
    }
    return status == ULP_OK
               ? ULP_OK
               : ulp_fail_at(error, status, "rank %zu of %zu", ranks_self(), ranks_count());
}

enum ulp_status audit_parts(const struct audit_parts *parts, struct ulp_auditor *sum, bool *whole,
                            struct ulp_error *error)
{
    struct store store = {.parts = parts};
    const struct audit_options *options = parts->options;
    *whole = !options->shard && ranks_self() == 0;
    enum ulp_status status = choose_samples(&store, error);
    if (status == ULP_OK && parts->shared && ranks_self() > 0)
        return run_lanes_alone(&store, error);
    if (status == ULP_OK && options->checkpoint_count)
        status = open_store(&store, error);
    if (status == ULP_OK)
        status = ranks_count() > 1 && !parts->shared && !options->shard && !options->merge
                     ? run_ranks(&store, sum, error)
                     : run_alone(&store, sum, error);
    ulp_text_free(&store.key);
    return status;
}
