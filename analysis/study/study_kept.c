/* Finished settings in a folder: a file for each, named by what its figures depend on, so that a
 * study with more sweeps finds those of another. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <ulpscope.h>

#include "analysis/audit/part.h"
#include "analysis/study/studying.h"
#include "analysis/writing/structs.h"
#include "base/error.h"
#include "base/text/coder.h"

enum { PATH_BYTES = 4096 };

/* What the figures of every setting depend on, in lines. */
static enum ulp_status make_key(struct ulp_studying *s, struct ulp_error *error)
{
    const struct ulp_study *out = s->out;
    struct ulp_text key = {0};
    uint64_t fingerprint;
    ULP_TRY(ulp_model_fingerprint(s->model, &fingerprint, error));
    ulp_text_add(&key, "ulpscope study %s\nmodel %016llx\n", ulp_version(),
                 (unsigned long long)fingerprint);
    for (size_t i = 0; i < s->sample_count; i++)
        ulp_text_add(&key, "inputs %016llx\n",
                     (unsigned long long)ulp_tensor_set_fingerprint(s->samples[i].inputs));
    ulp_text_add(&key,
                 "reference %s\nseed %llu, probability %a, confidence %a, task %d, nonfinite %d\n",
                 s->options->reference.name, (unsigned long long)out->seed, out->probability,
                 out->confidence, (int)s->options->task, s->options->allow_nonfinite_inputs);
    for (size_t p = 0; p < out->place_count; p++)
        ulp_text_show(&key, "place %d %s\n", (int)out->places[p].kind, out->places[p].name);
    s->key = key.failed ? NULL : ulp_arena_text(out->memory, key.data, key.length);
    ulp_text_free(&key);
    return ulp_taken(s->key, error);
}

enum ulp_status ulp_study_open_folder(struct ulp_studying *s, struct ulp_error *error)
{
    const char *folder = s->options->checkpoint;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return ulp_fail(error, ulp_status_of(errno), "%s: cannot make the folder: %s", folder,
                        strerror(errno));
    return make_key(s, error);
}

/* The key of one setting, and the path of its file. */
static enum ulp_status name_file(const struct ulp_studying *s, size_t setting, struct ulp_text *key,
                                 char path[PATH_BYTES], struct ulp_error *error)
{
    const struct ulp_study_setting *of = &s->out->settings[setting];
    *key = (struct ulp_text){0};
    ulp_text_add(key, "%sarithmetic %s\ntrials %zu\n", s->key, of->name, of->trials);
    ULP_TRY(ulp_taken(!key->failed, error));
    return snprintf(path, PATH_BYTES, "%s/setting-%016llx.part", s->options->checkpoint,
                    ulp_hash(key->data, key->length)) < PATH_BYTES
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE, "%s: the path is too long",
                          s->options->checkpoint);
}

enum ulp_status ulp_study_decode(struct ulp_study *study, size_t setting, const void *bytes,
                                 size_t count, struct ulp_error *error)
{
    struct ulp_coder coder = {.at = bytes,
                              .end = (const unsigned char *)bytes + count,
                              .arena = study->memory};
    ulp_code_struct(&coder, &ulp_struct_study_setting, &study->settings[setting]);
    return coder.no_memory ? ulp_out_of_memory(error)
           : coder.wrong || coder.at != coder.end ||
                   study->settings[setting].point_count != study->place_count
               ? ulp_fail(error, ULP_ERROR_INPUT,
                          "holds no figures of a setting; remove it to compute it again")
               : ULP_OK;
}

enum ulp_status ulp_study_encode(const struct ulp_study *study, size_t setting,
                                 struct ulp_text *bytes, struct ulp_error *error)
{
    struct ulp_coder coder = {.out = bytes};
    ulp_code_struct(&coder, &ulp_struct_study_setting, &study->settings[setting]);
    return bytes->failed ? ulp_out_of_memory(error) : ULP_OK;
}

enum ulp_status ulp_study_read_kept(struct ulp_studying *s, size_t setting, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text key = {0};
    char path[PATH_BYTES];
    unsigned char *bytes;
    size_t count;
    enum ulp_status status = name_file(s, setting, &key, path, error);
    if (status == ULP_OK && access(path, F_OK) == 0 &&
        (status = ulp_part_read(path, key.data, NULL, &bytes, &count, error)) == ULP_OK) {
        status = ulp_study_decode(s->out, setting, bytes, count, error);
        ulp_fail_at(error, status, "%s", path);
        s->out->settings[setting].kept = status == ULP_OK;
        free(bytes);
    }
    return status;
}

enum ulp_status ulp_study_keep(const struct ulp_studying *s, size_t setting,
                               struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text key = {0};
    ULP_SCOPED(ulp_text_free) struct ulp_text bytes = {0};
    char path[PATH_BYTES];
    ULP_TRY(name_file(s, setting, &key, path, error));
    ULP_TRY(ulp_study_encode(s->out, setting, &bytes, error));
    return ulp_part_write(path, key.data, bytes.data, bytes.length, error);
}
