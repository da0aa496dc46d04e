/* What the readers of engine descriptions share: the engine as it grows. */
#pragma once

#include <ulpscope/engine.h>

#include "base/memory/alloc.h"

struct ulp_engine_reading {
    struct ulp_engine *engine;
    struct ulp_arena *arena;
    struct ulp_engine_layer *layers; /* of ulp_grow */
    size_t layer_capacity;
    const char **bindings;
    size_t binding_capacity;
};

/* reading.c. The type that a text of a file names; UNDEFINED: none. */
enum ulp_type ulp_engine_type(const char *text);

/* That of the weights of a row of Myelin's, where they are constants among the inputs: its last
 * `constants` inputs, and those whose name says so. UNDEFINED: it has none. */
enum ulp_type ulp_engine_weights(const struct ulp_engine_layer *layer, size_t constants);

enum ulp_status ulp_engine_add_layer(struct ulp_engine_reading *reading,
                                     const struct ulp_engine_layer *layer, struct ulp_error *error);
enum ulp_status ulp_engine_add_binding(struct ulp_engine_reading *reading, const char *name,
                                       size_t length, struct ulp_error *error);
/* A copy; of nothing the empty text. */
enum ulp_status ulp_engine_text(struct ulp_engine_reading *reading, const char *text, size_t length,
                                const char **out, struct ulp_error *error);

/* engine_json.c. Documents that follow one another are one description. */
enum ulp_status ulp_engine_read_json(struct ulp_engine_reading *reading, const char *text,
                                     size_t length, struct ulp_error *error);
/* engine_onnx.c. */
enum ulp_status ulp_engine_read_onnx(struct ulp_engine_reading *reading, const char *path,
                                     struct ulp_error *error);
