/* The text of trtexec's --layerPrecisions and --layerOutputTypes (TensorRT 8.2 to 10):
 *
 *     NAME:TYPE,NAME:TYPE,...          --layerPrecisions
 *     NAME:TYPE[+TYPE],...             --layerOutputTypes, a type for each output or one for all
 *
 * as samples/common/sampleOptions.cpp and sampleEngines.cpp of TensorRT read it:
 *   - Commas part the entries first, so a name cannot hold one, whatever its quotes.
 *   - The last ':' of an entry parts name and type; a name may hold others. Two single quotes in an
 *     entry are dropped, and what stands up to the second one is the name.
 *   - The first '*' of a name stands for any text; later ones for themselves. TensorRT 8.4 and
 *     before know only "*" by itself.
 *   - Of two entries with the same name the later applies. An entry whose name is a layer's own
 *     comes before those with '*'; of several of these that match, any one applies: trtexec keeps
 *     them in a hash table.
 *   - Names are those of network layers, which ONNX's parser calls after the nodes. Names that are
 *     no layer's are ignored without a word.
 * TYPE is fp32, fp16, bf16, fp8, int8, int4, int32, int64, uint8 or bool. */
#pragma once

#include <ulpscope/tensor.h>

#include "base/memory/alloc.h"
#include "base/text/names.h"
#include "base/text/text.h"

struct ulp_layer_option {
    const char *name; /* without quotes */
    bool pattern;     /* holds a '*' */
    size_t type_count;
    const enum ulp_type *types;
};
/* In the order of the text. Memory is the arena's; the table is freed by ulp_layer_options_free. */
struct ulp_layer_options {
    size_t count;
    struct ulp_layer_option *items;
    struct ulp_names exact; /* the last entry of each name, patterns included */
};

/* Which option a text is of. */
enum ulp_layer_option_kind { ULP_LAYER_PRECISIONS, ULP_LAYER_OUTPUT_TYPES };
/* "--layerPrecisions". */
const char *ulp_layer_option_flag(enum ulp_layer_option_kind kind);

/* ULP_ERROR_USAGE names the entry that trtexec would refuse, and says why. */
enum ulp_status ulp_layer_options_parse(const char *text, enum ulp_layer_option_kind kind,
                                        struct ulp_arena *arena, struct ulp_layer_options *out,
                                        struct ulp_error *error);
void ulp_layer_options_free(struct ulp_layer_options *options);

/* Whether the entry's name, as a pattern, matches a layer's name. */
bool ulp_layer_option_matches(const struct ulp_layer_option *option, const char *layer);
/* The entry that applies to the layer: that of its own name, else the first pattern that matches;
 * NULL: none. Takes time proportional to the number of patterns. */
const struct ulp_layer_option *ulp_layer_options_find(const struct ulp_layer_options *options,
                                                      const char *layer);

/* "fp16", as trtexec spells it; NULL: it has no such type. */
const char *ulp_layer_type_name(enum ulp_type type);
/* Append ",NAME:TYPE" (without the comma at the start of the text). Of a name with a comma, a
 * single quote, a '*' or anything but visible UTF-8 all from the first such character to the last
 * becomes one '*', which may match more. */
void ulp_layer_option_add(struct ulp_text *out, const char *name, enum ulp_type type);
