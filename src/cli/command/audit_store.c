/* --checkpoint's folder: what says of which audit it is, and the files of finished samples. */
#include "cli/command/audit_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/ranks.h"

static enum ulp_status out_of_memory(struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
}

/* ---- what an audit is, in lines: figures of two can be added up when these are equal ---- */

static void add_arithmetics_of_keeps(struct ulp_text *key, const struct ulp_keeps *keeps)
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

static enum ulp_status add_model(struct ulp_text *key, const char *what,
                                 const struct ulp_model *model, struct ulp_error *error)
{
    uint64_t fingerprint;
    const enum ulp_status status = ulp_model_fingerprint(model, &fingerprint, error);
    if (status == ULP_OK)
        ulp_text_add(key, "%s %016llx\n", what, (unsigned long long)fingerprint);
    return status;
}

static enum ulp_status add_original(struct ulp_text *key, const struct audit_options *options,
                                    struct ulp_error *error)
{
    struct ulp_model *model;
    enum ulp_status status =
        load_model(options->reference_model, options->common.budget, &model, error);
    if (status == ULP_OK)
        status = add_model(key, "reference model", model, error);
    ulp_model_free(status == ULP_OK ? model : NULL);
    for (size_t p = 0; p < options->pair_count; p++)
        ulp_text_show(key, "pair %s\n", options->pairs[p]);
    return status;
}

static enum ulp_status make_key(const struct audit_parts *parts, struct ulp_text *key,
                                struct ulp_error *error)
{
    const struct audit_options *options = parts->options;
    const struct lane_list *lanes = parts->lanes;
    ulp_text_add(key, "ulpscope %s\n", ulp_version());
    enum ulp_status status = add_model(key, "model", parts->model, error);
    ulp_text_show(key, "samples %zu\nfirst inputs %016llx\n", parts->samples->count,
                  (unsigned long long)parts->samples->items[0].fingerprint);
    for (size_t l = 0; l < lanes->count; l++) {
        ulp_text_show(key, l ? "arithmetic %s\n" : "reference %s\n", lanes->arithmetics[l].name);
        add_arithmetics_of_keeps(key, lanes->keeps ? &lanes->keeps[l] : NULL);
        add_groups(key, lanes->groups ? &lanes->groups[l] : NULL);
        if (lanes->names && lanes->names[l])
            ulp_text_show(key, "named %s\n", lanes->names[l]);
    }
    static const char *const shares[] = {[ATTRIBUTE_DEFAULT] = "where they fit",
                                         [ATTRIBUTE_YES] = "everywhere",
                                         [ATTRIBUTE_NO] = "nowhere"};
    ulp_text_show(key, "shares %s, of output %s, %zu verified\n%s\n", shares[options->attribute],
                  options->output ? options->output : "all", options->verify,
                  options->certify ? "certified" : "not certified");
    if (status == ULP_OK && options->reference_model)
        status = add_original(key, options, error);
    return status == ULP_OK && key->failed ? out_of_memory(error) : status;
}

/* ---- the folder ---- */

static enum ulp_status name_file(char *out, size_t size, const char *folder, size_t index,
                                 struct ulp_error *error)
{
    return snprintf(out, size, "%s/sample-%06zu.part", folder, index + 1) < (int)size
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE, "%s: the path is too long", folder);
}

/* Words, each with a zero byte behind it. */
static enum ulp_status write_arguments(const struct audit_options *options, const char *path,
                                       const char *key, struct ulp_error *error)
{
    struct ulp_text words = {0};
    for (int a = 0; a < options->argc; a++)
        ulp_text_put(&words, options->argv[a], strlen(options->argv[a]) + 1);
    const enum ulp_status status = words.failed
                                       ? out_of_memory(error)
                                       : ulp_part_write(path, key, words.data, words.length, error);
    ulp_text_free(&words);
    return status;
}

static enum ulp_status name_audit(char *out, size_t size, const char *folder,
                                  struct ulp_error *error)
{
    return snprintf(out, size, "%s/audit.part", folder) < (int)size
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE, "%s: the path is too long", folder);
}

/* What to do, behind what is wrong with a folder of another audit. */
static enum ulp_status advise(const struct audit_options *options, enum ulp_status status,
                              struct ulp_error *error)
{
    const struct ulp_error wrong = *error;
    if (status != ULP_ERROR_INPUT || !strstr(wrong.message, "is of another audit"))
        return status;
    return ulp_fail(error, status, "%s; %s", wrong.message,
                    options->merge
                        ? "merge folders of one audit alone, and leave this one out"
                        : "give --checkpoint another folder, or the audit the same arguments");
}

static enum ulp_status expect_audit(const char *folder, const char *path, struct ulp_error *error)
{
    return access(path, F_OK) == 0
               ? ULP_OK
               : ulp_fail(
                     error, ULP_ERROR_INPUT,
                     "%s: is no folder that audit --checkpoint wrote: no audit.part in it (%s)",
                     folder, strerror(errno));
}

/* One of the folders: of this audit, or new where samples are made. */
static enum ulp_status open_folder(const struct store *store, const char *folder,
                                   struct ulp_error *error)
{
    const struct audit_options *options = store->parts->options;
    char path[4096];
    unsigned char *words;
    size_t count;
    enum ulp_status status = name_audit(path, sizeof path, folder, error);
    if (status == ULP_OK && options->merge)
        status = expect_audit(folder, path, error);
    if (status != ULP_OK)
        return status;
    if (access(path, F_OK) == 0) {
        status = ulp_part_read(path, store->key.data, NULL, &words, &count, error);
        if (status == ULP_OK)
            free(words);
        return advise(options, status, error);
    }
    status = ulp_report_prepare(folder, error);
    /* ranks that have shards of their own may have folders of their own */
    return status == ULP_OK && (ranks_self() == 0 || options->shard)
               ? write_arguments(options, path, store->key.data, error)
               : status;
}

enum ulp_status open_store(struct store *store, struct ulp_error *error)
{
    const struct audit_options *options = store->parts->options;
    enum ulp_status status = make_key(store->parts, &store->key, error);
    for (size_t c = 0; c < options->checkpoint_count && status == ULP_OK; c++)
        status = open_folder(store, options->checkpoints[c], error);
    return status;
}

enum ulp_status read_checkpoint_arguments(const char *folder, int *argc, char ***argv, char **text,
                                          struct ulp_error *error)
{
    char path[4096];
    unsigned char *bytes = NULL;
    size_t count = 0, words = 0;
    *argv = NULL;
    *text = NULL;
    enum ulp_status status = name_audit(path, sizeof path, folder, error);
    if (status == ULP_OK)
        status = expect_audit(folder, path, error);
    if (status == ULP_OK)
        status = ulp_part_read(path, NULL, NULL, &bytes, &count, error);
    if (status != ULP_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        words += bytes[i] == 0;
    *text = (char *)bytes;
    *argv = calloc(words + 1, sizeof **argv);
    if (!*argv || !count || bytes[count - 1]) {
        status = *argv ? ulp_fail(error, ULP_ERROR_INPUT, "%s: holds no arguments", path)
                       : out_of_memory(error);
        free(*text);
        free(*argv);
        *text = NULL;
        *argv = NULL;
        return status;
    }
    char *at = *text;
    for (size_t w = 0; w < words; w++, at += strlen(at) + 1)
        (*argv)[w] = at;
    *argc = (int)words;
    return ULP_OK;
}

static void put_fingerprint(unsigned char *out, uint64_t fingerprint)
{
    for (int i = 0; i < FINGERPRINT_BYTES; i++)
        out[i] = (unsigned char)(fingerprint >> 8 * i);
}

enum ulp_status read_finished(const struct store *store, size_t index, bool *found,
                              unsigned char **bytes, size_t *count, struct ulp_error *error)
{
    const struct audit_options *options = store->parts->options;
    const struct sample *sample = &store->parts->samples->items[index];
    unsigned char own[FINGERPRINT_BYTES];
    *found = false;
    for (size_t c = 0; c < options->checkpoint_count; c++) {
        char path[4096];
        enum ulp_status status =
            name_file(path, sizeof path, options->checkpoints[c], index, error);
        if (status != ULP_OK)
            return status;
        if (access(path, F_OK) != 0)
            continue;
        status = ulp_part_read(path, store->key.data, NULL, bytes, count, error);
        if (status != ULP_OK)
            return status;
        put_fingerprint(own, sample->fingerprint);
        if (*count < FINGERPRINT_BYTES ||
            (sample->fingerprint && memcmp(own, *bytes, FINGERPRINT_BYTES) != 0)) {
            free(*bytes);
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "%s: sample %zu, %s, has changed since it was audited; remove the file "
                            "to audit it again",
                            path, index + 1, sample->name);
        }
        *found = true;
        return ULP_OK;
    }
    return ULP_OK;
}

enum ulp_status keep_finished(const struct store *store, size_t index, const void *figures,
                              size_t length, unsigned char **bytes, size_t *count,
                              struct ulp_error *error)
{
    const struct audit_options *options = store->parts->options;
    char path[4096];
    *count = FINGERPRINT_BYTES + length;
    *bytes = malloc(*count);
    if (!*bytes)
        return out_of_memory(error);
    put_fingerprint(*bytes, store->parts->samples->items[index].fingerprint);
    memcpy(*bytes + FINGERPRINT_BYTES, figures, length);
    if (!options->checkpoint_count)
        return ULP_OK;
    enum ulp_status status = name_file(path, sizeof path, options->checkpoints[0], index, error);
    if (status == ULP_OK)
        status = ulp_part_write(path, store->key.data, *bytes, *count, error);
    if (status != ULP_OK)
        free(*bytes);
    return status;
}
