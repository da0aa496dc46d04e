/* A checkpoint's folder: what says of which audit it is, and the files of finished samples. */
#include "analysis/session/session_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <ulpscope.h>

#include "analysis/audit/part.h"
#include "base/error.h"
#include "base/machine/environment.h"

enum { PATH_BYTES = 4096 };

/* ---- what an audit is, in lines: figures of two can be added up when these are equal ---- */

static void add_kept(struct ulp_text *key, const struct ulp_keeps *keeps)
{
    for (size_t k = 0; keeps && k < keeps->count; k++)
        ulp_text_show(key, "keep %s=%s\n", keeps->items[k].pattern,
                      keeps->items[k].arithmetic.name);
}

/* The kernels that a file of fuse=FILE names, whatever the file is called. */
static void add_groups(struct ulp_text *key, const struct ulp_groups *groups)
{
    unsigned long long hash = 0;
    for (size_t g = 0; groups && g < groups->count; g++) {
        const struct ulp_group *group = &groups->items[g];
        for (size_t n = 0; n < group->node_count; n++)
            hash = hash * 31 + ulp_hash(group->nodes[n], strlen(group->nodes[n]));
        for (size_t n = 0; n < group->rounded_count; n++)
            hash = hash * 37 + ulp_hash(group->rounded[n], strlen(group->rounded[n]));
        hash = hash * 41 + group->node_count;
    }
    if (groups && groups->count)
        ulp_text_add(key, "groups %016llx\n", hash);
}

/* The ranges that a file of scales=FILE has, whatever the file is called. */
static void add_ranges(struct ulp_text *key, const struct ulp_factor_ranges *ranges)
{
    for (size_t r = 0; ranges && r < ranges->count; r++)
        ulp_text_show(key, "range %s, %s: %a\n", ranges->items[r].node, ranges->items[r].factor,
                      (double)ranges->items[r].largest);
}

static enum ulp_status add_model(struct ulp_text *key, const char *what,
                                 const struct ulp_model *model, struct ulp_error *error)
{
    uint64_t fingerprint;
    ULP_TRY(ulp_model_fingerprint(model, &fingerprint, error));
    ulp_text_add(key, "%s %016llx\n", what, (unsigned long long)fingerprint);
    return ULP_OK;
}

static enum ulp_status add_original(struct ulp_text *key, const struct ulp_audit_options *options,
                                    struct ulp_error *error)
{
    const enum ulp_status status = add_model(key, "reference model", options->original, error);
    for (size_t p = 0; p < options->pair_count; p++)
        ulp_text_show(key, "pair %s=%s\n", options->pairs[p].audited, options->pairs[p].original);
    return status;
}

static void add_lane_key(struct ulp_text *key, const struct ulp_programs *programs, size_t l)
{
    const struct ulp_program_options *options = &programs->options;
    ulp_text_show(key, l ? "arithmetic %s\n" : "reference %s\n", programs->lanes[l].name);
    add_kept(key, options->keeps ? &options->keeps[l] : NULL);
    add_ranges(key, programs->lanes[l].ranges);
    add_groups(key, options->groups ? &options->groups[l] : NULL);
    if (options->names && options->names[l])
        ulp_text_show(key, "named %s\n", options->names[l]);
}

static enum ulp_status make_key(const struct ulp_session *session, struct ulp_text *key,
                                struct ulp_error *error)
{
    const struct ulp_audit_options *options = session->options;
    const struct ulp_programs *programs = session->programs;
    ulp_text_add(key, "ulpscope %s\n", ulp_version());
    ULP_TRY(add_model(key, "model", programs->model, error));
    ulp_text_show(key, "samples %zu\nfirst inputs %016llx\n", session->samples->count,
                  (unsigned long long)session->samples->items[0].fingerprint);
    for (size_t l = 0; l < programs->lane_count; l++)
        add_lane_key(key, programs, l);
    ulp_text_show(key, "shares %s, of output %s%s, %zu verified\n%s\n",
                  !options->shares ? "nowhere"
                  : options->spill ? "everywhere"
                                   : "where they fit",
                  options->output ? options->output : "all",
                  options->every_output ? ", the good ones, too" : "", options->verify,
                  options->certify ? "certified" : "not certified");
    if (options->original)
        ULP_TRY(add_original(key, options, error));
    return ulp_taken(!key->failed, error);
}

/* ---- the folder ---- */

static enum ulp_status name_file(char *out, const char *folder, size_t index,
                                 struct ulp_error *error)
{
    const int length = index == SIZE_MAX
                           ? snprintf(out, PATH_BYTES, "%s/audit.part", folder)
                           : snprintf(out, PATH_BYTES, "%s/sample-%06zu.part", folder, index + 1);
    return length < PATH_BYTES
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE, "%s: the path is too long", folder);
}

static enum ulp_status name_audit(char *out, const char *folder, bool exists,
                                  struct ulp_error *error)
{
    ULP_TRY(name_file(out, folder, SIZE_MAX, error));
    return exists && access(out, F_OK) != 0
               ? ulp_fail(error, ULP_ERROR_INPUT,
                          "%s: is no folder that audit --checkpoint wrote: no audit.part in it "
                          "(%s)",
                          folder, strerror(errno))
               : ULP_OK;
}

/* What to do, behind what is wrong with a folder of another audit. */
static enum ulp_status advise(const struct ulp_checkpoint *checkpoint, enum ulp_status status,
                              struct ulp_error *error)
{
    const struct ulp_error wrong = *error;
    if (status != ULP_ERROR_INPUT || !strstr(wrong.message, "is of another audit"))
        return status;
    return ulp_fail(error, status, "%s; %s", wrong.message,
                    checkpoint->merge
                        ? "merge folders of one audit alone, and leave this one out"
                        : "give --checkpoint another folder, or the audit the same arguments");
}

/* One of the folders: of this audit, or new where samples are made. */
static enum ulp_status open_folder(const struct ulp_store *store, const char *folder,
                                   struct ulp_error *error)
{
    const struct ulp_checkpoint *checkpoint = store->session->options->checkpoint;
    char path[PATH_BYTES];
    unsigned char *note;
    size_t count;
    ULP_TRY(name_audit(path, folder, checkpoint->merge, error));
    if (access(path, F_OK) == 0) {
        const enum ulp_status status =
            ulp_part_read(path, store->key.data, NULL, &note, &count, error);
        if (status == ULP_OK)
            free(note);
        return advise(checkpoint, status, error);
    }
    ULP_TRY(ulp_report_prepare(folder, error));
    /* processes that have shards of their own may have folders of their own */
    return !checkpoint->ranks || !checkpoint->ranks->self || checkpoint->shard
               ? ulp_part_write(path, store->key.data, checkpoint->note, checkpoint->note_bytes,
                                error)
               : ULP_OK;
}

enum ulp_status ulp_store_open(struct ulp_store *store, struct ulp_error *error)
{
    const struct ulp_checkpoint *checkpoint = store->session->options->checkpoint;
    if (!checkpoint->folder_count)
        return ULP_OK;
    ULP_TRY(make_key(store->session, &store->key, error));
    for (size_t c = 0; c < checkpoint->folder_count; c++)
        ULP_TRY(open_folder(store, checkpoint->folders[c], error));
    return ULP_OK;
}

enum ulp_status ulp_checkpoint_note(const char *folder, unsigned char **bytes, size_t *count,
                                    struct ulp_error *error)
{
    ULP_ENTER(error);
    char path[PATH_BYTES];
    ULP_TRY(name_audit(path, folder, true, error));
    return ulp_part_read(path, NULL, NULL, bytes, count, error);
}

/* ---- a sample ---- */

static void put_fingerprint(unsigned char *out, uint64_t fingerprint)
{
    for (int i = 0; i < ULP_STORE_HEAD; i++)
        out[i] = (unsigned char)(fingerprint >> 8 * i);
}

enum ulp_status ulp_store_read(const struct ulp_store *store, size_t index, unsigned char **bytes,
                               size_t *count, struct ulp_error *error)
{
    const struct ulp_checkpoint *checkpoint = store->session->options->checkpoint;
    const struct ulp_sample *sample = &store->session->samples->items[index];
    unsigned char own[ULP_STORE_HEAD];
    char path[PATH_BYTES];
    *bytes = NULL;
    for (size_t c = 0; c < checkpoint->folder_count; c++) {
        ULP_TRY(name_file(path, checkpoint->folders[c], index, error));
        if (access(path, F_OK) != 0)
            continue;
        ULP_TRY(ulp_part_read(path, store->key.data, NULL, bytes, count, error));
        put_fingerprint(own, sample->fingerprint);
        if (*count >= ULP_STORE_HEAD &&
            (!sample->fingerprint || memcmp(own, *bytes, ULP_STORE_HEAD) == 0))
            return ULP_OK;
        free(*bytes);
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s: sample %zu, %s, has changed since it was audited; remove the file "
                        "to audit it again",
                        path, index + 1, sample->name);
    }
    return ULP_OK;
}

enum ulp_status ulp_store_keep(const struct ulp_store *store, size_t index,
                               const struct ulp_audit *audit, unsigned char **bytes, size_t *count,
                               struct ulp_error *error)
{
    const struct ulp_checkpoint *checkpoint = store->session->options->checkpoint;
    unsigned char *figures;
    size_t length;
    char path[PATH_BYTES];
    ULP_TRY(ulp_part_encode(audit, &figures, &length, error));
    *count = ULP_STORE_HEAD + length;
    *bytes = malloc(*count);
    if (*bytes) {
        put_fingerprint(*bytes, store->session->samples->items[index].fingerprint);
        memcpy(*bytes + ULP_STORE_HEAD, figures, length);
    }
    free(figures);
    ULP_TRY(ulp_taken(*bytes, error));
    if (!checkpoint->folder_count)
        return ULP_OK;
    enum ulp_status status = name_file(path, checkpoint->folders[0], index, error);
    ULP_THEN(status, ulp_part_write(path, store->key.data, *bytes, *count, error));
    if (status != ULP_OK)
        free(*bytes);
    return status;
}
