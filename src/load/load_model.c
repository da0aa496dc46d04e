/* Loading the model: reading the file, checking versions, loading functions and the graph. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/machine/environment.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/machine/file.h"
#include "load/load.h"

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
                        "ir_version field is wrong (IR %d to %d are read)",
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

static enum ulp_status load_functions(struct ulp_loader *loader, const Ulp__ModelProto *proto)
{
    struct ulp_model *model = loader->model;
    ULP_TAKE_ARRAY(struct ulp_function, functions, model->arena, proto->n_functions, loader->error);
    for (size_t i = 0; i < proto->n_functions; i++)
        ULP_TRY(ulp_load_function(loader, &functions[i], proto->functions[i]));
    model->functions = functions;
    model->function_count = proto->n_functions;
    const struct ulp_function *twice = ulp_functions_sort(functions, model->function_count);
    return twice
               ? ulp_fail(loader->error, ULP_ERROR_INPUT, "function '%.60s%s%.100s' is there twice",
                          twice->domain, *twice->domain ? "::" : "", twice->name)
               : ULP_OK;
}

static enum ulp_status load_model(struct ulp_loader *loader, Ulp__ModelProto *proto)
{
    struct ulp_model *model = loader->model;
    model->ir_version = proto->ir_version;
    ULP_TRY(check_versions(model, proto, loader->error));
    ULP_TRY(
        ulp_load_text(loader, &model->producer_name, proto->producer_name, "the producer's name"));
    ULP_TRY(ulp_load_text(loader, &model->producer_version, proto->producer_version,
                          "the producer's version"));
    ULP_TRY(ulp_load_opsets(loader, &model->opsets, &model->opset_count, proto->opset_import,
                            proto->n_opset_import));
    ULP_TRY(load_functions(loader, proto));
    return ulp_load_graph(loader, &model->graph, proto->graph, NULL);
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

enum ulp_status ulp_loader_open(struct ulp_loader *loader, const char *path, size_t count,
                                struct ulp_budget *budget, struct ulp_error *error)
{
    *loader = (struct ulp_loader){.model = calloc(1, sizeof *loader->model), .error = error};
    ULP_TRY(ulp_taken(loader->model, error));
    ulp_budget_open(&loader->model->budget, budget);
    ulp_unpacker_init(&loader->unpacker, count, &loader->model->budget);
    if (!(loader->model->path = strdup(path)) || !(loader->folder = strdup(path)))
        return ulp_out_of_memory(error);
    char *slash = strrchr(loader->folder, '/');
    if (slash)
        slash[slash == loader->folder] = '\0';
    else
        strcpy(loader->folder, *path ? "." : "");
    return ulp_arena_create(&loader->model->arena, &loader->model->budget, error);
}

static enum ulp_status load_bytes(const char *path, const void *bytes, size_t count, void *mapped,
                                  struct ulp_budget *budget, struct ulp_model **out,
                                  struct ulp_error *error)
{
    struct ulp_loader loader;
    void *proto = NULL;
    *out = NULL;
    enum ulp_status status = check_kind(bytes, count, error);
    ULP_TRY(ulp_fail_at(error, status, "%s", path));
    status = ulp_loader_open(&loader, path, count, budget, error);
    loader.unpacker.mapped = mapped;
    loader.unpacker.mapped_bytes = count;
    ULP_THEN(status, ulp_unpack(&loader.unpacker, &proto, &ulp__model_proto__descriptor, bytes,
                                count, "model", error));
    if (status == ULP_ERROR_INPUT && (ulp_text_ends(path, ".engine") ||
                                      ulp_text_ends(path, ".plan") || ulp_text_ends(path, ".trt")))
        ulp_fail(error, status,
                 "an engine of TensorRT is no ONNX model: give the model that it was built from, "
                 "and --engine with what trtexec --exportLayerInfo=FILE wrote of it");
    ULP_THEN(status, load_model(&loader, proto));
    ulp_unpack_free(&loader.unpacker, proto);
    if (status == ULP_OK) {
        *out = loader.model;
        loader.model = NULL;
    }
    ulp_loader_free(&loader);
    return ulp_fail_at(error, status, "%s", path);
}

static enum ulp_status fail_size(const char *path, size_t count, struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_INPUT,
                    "%s: %zu bytes, but protobuf ends at 2 GiB; save the weights as external data "
                    "beside the model",
                    path, count);
}

enum ulp_status ulp_model_load_bytes(const char *path, const void *bytes, size_t count,
                                     struct ulp_budget *budget, struct ulp_model **out,
                                     struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = NULL;
    if (count > ULP_MODEL_BYTES_MAX)
        return fail_size(path, count, error);
    return load_bytes(path, bytes, count, NULL, budget, out, error);
}

enum ulp_status ulp_model_load(const char *path, struct ulp_budget *budget, struct ulp_model **out,
                               struct ulp_error *error)
{
    ULP_ENTER(error);
    struct stat info;
    void *bytes;
    size_t count;
    *out = NULL;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s: a folder, expected an ONNX file (%s/model.onnx?)", path, path);
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
        (size_t)info.st_size > ULP_MODEL_BYTES_MAX)
        return fail_size(path, (size_t)info.st_size, error);
    ULP_TRY(ulp_file_map(path, ULP_MODEL_BYTES_MAX, &bytes, &count, error));
    enum ulp_status status = load_bytes(path, bytes, count, bytes, budget, out, error);
    if (status == ULP_OK)
        (*out)->at_path = true;
    if (bytes)
        munmap(bytes, count);
    return status;
}
