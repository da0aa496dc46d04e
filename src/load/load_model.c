/* The model: reading the file, the protobuf parser under limits, versions, operator sets,
 * functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/names.h"
#include "base/text.h"
#include "load/load.h"

#define FILE_BYTES_MAX ((size_t)INT32_MAX) /* protobuf's own limit */
/* Real models take less than 20 bytes of memory for a byte of their graph, and 1 for a byte of
 * their weights. */
#define UNPACK_BYTES_FREE ((size_t)256 << 20)
#define UNPACK_BYTES_PER_BYTE 64
#define COPIED_BYTES_MAX ((size_t)4 << 20)

static void *unpacker_alloc(void *context, size_t size)
{
    struct ulp_unpacker *unpacker = context;
    void *block;
    unpacker->refused = size > unpacker->limit_bytes - unpacker->taken_bytes;
    if (unpacker->refused)
        return NULL;
    unpacker->taken_bytes += size;
    unpacker->copied_bytes += size;
    if (unpacker->mapped && unpacker->copied_bytes > COPIED_BYTES_MAX) {
        /* pages that are needed come again */
        madvise(unpacker->mapped, unpacker->mapped_bytes, MADV_DONTNEED);
        unpacker->copied_bytes = 0;
    }
    unpacker->exhausted = ulp_allocate(&block, size, 1, NULL, "model", NULL) != ULP_OK;
    return unpacker->exhausted ? NULL : block;
}

static void unpacker_free(void *context, void *block)
{
    (void)context;
    ulp_free(block);
}

void ulp_unpacker_init(struct ulp_unpacker *unpacker, size_t file_bytes)
{
    size_t limit;
    if (!ulp_size_mul(file_bytes, UNPACK_BYTES_PER_BYTE, &limit) ||
        !ulp_size_add(limit, UNPACK_BYTES_FREE, &limit))
        limit = SIZE_MAX;
    *unpacker = (struct ulp_unpacker){.allocator = {unpacker_alloc, unpacker_free, unpacker},
                                      .limit_bytes = limit};
}

enum ulp_status ulp_unpack(struct ulp_unpacker *unpacker, void **out,
                           const ProtobufCMessageDescriptor *descriptor, const void *bytes,
                           size_t count, const char *what, struct ulp_error *error)
{
    *out = protobuf_c_message_unpack(descriptor, &unpacker->allocator, count, bytes);
    if (*out)
        return ULP_OK;
    if (unpacker->exhausted)
        return ulp_fail(error, ULP_ERROR_MEMORY, "the %s: out of memory", what);
    if (unpacker->refused)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "the %s would take more than %zu bytes of memory: not a real model", what,
                        unpacker->limit_bytes);
    return ulp_fail(
        error, ULP_ERROR_INPUT,
        "the %s is not valid ONNX protobuf: truncated, damaged, or another kind of file", what);
}

void ulp_unpack_free(struct ulp_unpacker *unpacker, void *message)
{
    if (message)
        protobuf_c_message_free_unpacked(message, &unpacker->allocator);
}

enum ulp_status ulp_load_text(struct ulp_loader *loader, const char **out,
                              ProtobufCBinaryData bytes, const char *what, struct ulp_error *error)
{
    if (bytes.len && memchr(bytes.data, 0, bytes.len))
        return ulp_fail(error, ULP_ERROR_INPUT, "%s has a zero byte inside: '%.100s'", what,
                        (const char *)bytes.data);
    *out = ulp_arena_text(loader->model->arena, (const char *)bytes.data, bytes.len);
    return *out ? ULP_OK : ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
}

enum ulp_status ulp_load_opsets(struct ulp_loader *loader, const struct ulp_opset **out,
                                size_t *out_count, Ulp__OpsetProto *const *protos, size_t count,
                                struct ulp_error *error)
{
    struct ulp_opset *opsets = ulp_arena_take(loader->model->arena, count, sizeof *opsets);
    if (!opsets)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    struct ulp_names seen = {0};
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; status == ULP_OK && i < count; i++) {
        status = ulp_load_text(loader, &opsets[i].domain, protos[i]->domain,
                               "an operator set's domain", error);
        if (status != ULP_OK)
            break;
        opsets[i].domain = ulp_domain_normal(opsets[i].domain);
        opsets[i].version = protos[i]->version;
        const char *shown = *opsets[i].domain ? opsets[i].domain : "ai.onnx";
        int before = ulp_names_find(&seen, opsets[i].domain);
        if (opsets[i].version < 1)
            status = ulp_fail(error, ULP_ERROR_INPUT,
                              "operator set '%.100s' has version %lld, expected 1 or more", shown,
                              (long long)opsets[i].version);
        else if (before >= 0 && opsets[before].version != opsets[i].version)
            status = ulp_fail(error, ULP_ERROR_INPUT,
                              "operator set '%.100s' is imported twice, as %lld and as %lld", shown,
                              (long long)opsets[before].version, (long long)opsets[i].version);
        else if (before < 0 && !ulp_names_add(&seen, opsets[i].domain, (int)i))
            status = ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    }
    ulp_names_free(&seen);
    if (status == ULP_OK)
        ulp_opsets_sort(opsets, count);
    *out = opsets;
    *out_count = count;
    return status;
}

static enum ulp_status check_versions(const struct ulp_model *model, const Ulp__ModelProto *proto,
                                      struct ulp_error *error)
{
    if (!proto->has_ir_version)
        return ulp_fail(error, ULP_ERROR_INPUT, "no IR version: truncated, or not an ONNX model");
    if (model->ir_version < 1)
        return ulp_fail(error, ULP_ERROR_INPUT, "IR version %lld is not one of ONNX's",
                        (long long)model->ir_version);
    if (model->ir_version < ULP_LOAD_IR_MIN && proto->n_opset_import)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "IR version %lld cannot import operator sets, yet the model does: its "
                        "ir_version field is wrong "
                        "(IR %d to %d are read)",
                        (long long)model->ir_version, ULP_LOAD_IR_MIN, ULP_LOAD_IR_MAX);
    if (model->ir_version < ULP_LOAD_IR_MIN)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "IR version %lld is older than %d, the oldest this version reads; export "
                        "the model again",
                        (long long)model->ir_version, ULP_LOAD_IR_MIN);
    if (model->ir_version > ULP_LOAD_IR_MAX)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "IR version %lld is newer than %d, the newest this version knows; export "
                        "with an older ONNX",
                        (long long)model->ir_version, ULP_LOAD_IR_MAX);
    if (!proto->graph)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "the model has no graph: truncated, or not an ONNX model");
    if (!proto->n_opset_import)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "the model imports no operator set (opset_import is empty)");
    return ULP_OK;
}

static enum ulp_status load_functions(struct ulp_loader *loader, const Ulp__ModelProto *proto,
                                      struct ulp_error *error)
{
    struct ulp_model *model = loader->model;
    struct ulp_function *functions =
        ulp_arena_take(model->arena, proto->n_functions, sizeof *functions);
    if (!functions)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < proto->n_functions; i++) {
        enum ulp_status status =
            ulp_load_function(loader, &functions[i], proto->functions[i], error);
        if (status != ULP_OK)
            return status;
    }
    model->functions = functions;
    model->function_count = proto->n_functions;
    const struct ulp_function *twice = ulp_functions_sort(functions, model->function_count);
    return twice ? ulp_fail(error, ULP_ERROR_INPUT, "function '%.60s%s%.100s' is there twice",
                            twice->domain, *twice->domain ? "::" : "", twice->name)
                 : ULP_OK;
}

static enum ulp_status load_model(struct ulp_loader *loader, Ulp__ModelProto *proto,
                                  struct ulp_error *error)
{
    struct ulp_model *model = loader->model;
    model->ir_version = proto->ir_version;
    enum ulp_status status = check_versions(model, proto, error);
    if (status == ULP_OK)
        status = ulp_load_text(loader, &model->producer_name, proto->producer_name,
                               "the producer's name", error);
    if (status == ULP_OK)
        status = ulp_load_text(loader, &model->producer_version, proto->producer_version,
                               "the producer's version", error);
    if (status == ULP_OK)
        status = ulp_load_opsets(loader, &model->opsets, &model->opset_count, proto->opset_import,
                                 proto->n_opset_import, error);
    if (status == ULP_OK)
        status = load_functions(loader, proto, error);
    if (status == ULP_OK)
        status = ulp_load_graph(loader, &model->graph, proto->graph, NULL, error);
    return status;
}

/* Reading a text file that stands for the model is a common accident. */
static enum ulp_status check_kind(const unsigned char *bytes, size_t count, struct ulp_error *error)
{
    static const char lfs[] = "version https://git-lfs";
    if (count == 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "the file is empty");
    if (count >= sizeof lfs - 1 && memcmp(bytes, lfs, sizeof lfs - 1) == 0)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "a Git LFS pointer, not the model itself; run git lfs pull");
    return ULP_OK;
}

/* Names from hostile files must not break the rule of one line a message. */
static void clean_message(struct ulp_error *error)
{
    for (char *c = error ? error->message : NULL; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

static enum ulp_status start_loader(struct ulp_loader *loader, const char *path, size_t count,
                                    struct ulp_error *error)
{
    *loader = (struct ulp_loader){.model = calloc(1, sizeof *loader->model)};
    ulp_unpacker_init(&loader->unpacker, count);
    if (!loader->model || !(loader->model->path = strdup(path)) || !(loader->folder = strdup(path)))
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    char *slash = strrchr(loader->folder, '/');
    if (slash)
        slash[slash == loader->folder] = '\0';
    else
        strcpy(loader->folder, *path ? "." : "");
    return ulp_arena_create(&loader->model->arena, error);
}

static enum ulp_status load_bytes(const char *path, const void *bytes, size_t count, void *mapped,
                                  struct ulp_model **out, struct ulp_error *error)
{
    struct ulp_loader loader;
    void *proto = NULL;
    *out = NULL;
    enum ulp_status status = check_kind(bytes, count, error);
    if (status != ULP_OK)
        return ulp_fail_at(error, status, "%s", path);
    status = start_loader(&loader, path, count, error);
    loader.unpacker.mapped = mapped;
    loader.unpacker.mapped_bytes = count;
    if (status == ULP_OK)
        status = ulp_unpack(&loader.unpacker, &proto, &ulp__model_proto__descriptor, bytes, count,
                            "model", error);
    if (status == ULP_OK)
        status = load_model(&loader, proto, error);
    ulp_unpack_free(&loader.unpacker, proto);
    if (status == ULP_OK) {
        *out = loader.model;
        loader.model = NULL;
    }
    ulp_loader_free(&loader);
    if (status == ULP_OK)
        return ULP_OK;
    ulp_fail_at(error, status, "%s", path);
    clean_message(error);
    return status;
}

enum ulp_status ulp_model_load_bytes(const char *path, const void *bytes, size_t count,
                                     struct ulp_model **out, struct ulp_error *error)
{
    return load_bytes(path, bytes, count, NULL, out, error);
}

enum ulp_status ulp_model_load(const char *path, struct ulp_model **out, struct ulp_error *error)
{
    struct stat info;
    void *bytes;
    size_t count;
    *out = NULL;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s: a folder, expected an ONNX file (%s/model.onnx?)", path, path);
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && (size_t)info.st_size > FILE_BYTES_MAX)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s: %lld bytes, but protobuf ends at 2 GiB; save the weights as external "
                        "data beside the model",
                        path, (long long)info.st_size);
    enum ulp_status status = ulp_file_map(path, FILE_BYTES_MAX, &bytes, &count, error);
    if (status != ULP_OK)
        return status;
    status = load_bytes(path, bytes, count, bytes, out, error);
    if (bytes)
        munmap(bytes, count);
    return status;
}
