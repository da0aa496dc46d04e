/* Running the protobuf parser under memory limits, and reading its strings. */
#include <string.h>
#include <sys/mman.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "load/load.h"

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
    unpacker->exhausted = ulp_allocate(&block, size, 1, unpacker->budget, "the parsed file",
                                       &unpacker->failure) != ULP_OK;
    return unpacker->exhausted ? NULL : block;
}

static void unpacker_free(void *context, void *block)
{
    (void)context;
    ulp_free(block);
}

void ulp_unpacker_init(struct ulp_unpacker *unpacker, size_t file_bytes, struct ulp_budget *budget)
{
    size_t limit;
    if (!ulp_size_mul(file_bytes, UNPACK_BYTES_PER_BYTE, &limit) ||
        !ulp_size_add(limit, UNPACK_BYTES_FREE, &limit))
        limit = SIZE_MAX;
    *unpacker = (struct ulp_unpacker){.allocator = {unpacker_alloc, unpacker_free, unpacker},
                                      .limit_bytes = limit,
                                      .budget = budget};
}

enum ulp_status ulp_unpack(struct ulp_unpacker *unpacker, void **out,
                           const ProtobufCMessageDescriptor *descriptor, const void *bytes,
                           size_t count, const char *what, struct ulp_error *error)
{
    *out = protobuf_c_message_unpack(descriptor, &unpacker->allocator, count, bytes);
    if (*out)
        return ULP_OK;
    if (unpacker->exhausted)
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s", unpacker->failure.message);
    if (unpacker->refused)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "the %s would take more than %zu bytes of memory: not a real model", what,
                        unpacker->limit_bytes);
    if (count > 4 && memcmp(bytes, "PK\3\4", 4) == 0)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "the %s is a zip archive: an .npz holds inputs (--inputs), and what "
                        "torch.save wrote is exported with torch.onnx.export first",
                        what);
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
                              ProtobufCBinaryData bytes, const char *what)
{
    if (bytes.len && memchr(bytes.data, 0, bytes.len))
        return ulp_fail(loader->error, ULP_ERROR_INPUT, "%s has a zero byte inside: '%.100s'", what,
                        (const char *)bytes.data);
    *out = ulp_arena_text(loader->model->arena, (const char *)bytes.data, bytes.len);
    return ulp_taken(*out, loader->error);
}
