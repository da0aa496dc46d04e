/* What layers name. The order is that of their trust: "[ONNX Layer: X]" in the metadata, then the
 * layer's name, which joins network layers' by " + ", " || " and PWN(a, b), and in Myelin's rows by
 * "+" with "_myl0_12" behind. Names may hold all of that themselves, so that known ones are looked
 * for first, the longest first. */
#define _GNU_SOURCE /* memmem */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analysis/engine/mapping.h"
#include "base/error.h"

/* A name that holds more joints itself is not looked for. */
enum { NAME_BYTES = 4096, JOINS_MAX = 8 };

/* ---- tables ---- */

static bool add_once(struct ulp_names *names, const char *name, size_t number)
{
    return ulp_names_find(names, name) >= 0 || ulp_names_add(names, name, (int)number);
}

/* As Myelin writes it: '.' becomes '_'. */
static char *mangle(struct ulp_arena *arena, const char *name)
{
    char *text = ulp_arena_copy(arena, name);
    for (char *c = text; c && *c; c++)
        if (*c == '.')
            *c = '_';
    return text;
}

static enum ulp_status index_node(struct ulp_layer_map *mapping, size_t n, struct ulp_error *error)
{
    const struct ulp_step *step = mapping->program->nodes[n].step;
    char numbered[256];
    snprintf(numbered, sizeof numbered, "%s_%d", step->bound.node->op_type,
             step->bound.node->index);
    const char *number = ulp_arena_copy(mapping->arena, numbered),
               *mangled = mangle(mapping->arena, step->name);
    const bool main = mapping->program->nodes[n].block == mapping->main;
    const size_t length = strlen(step->name) + strlen(numbered);
    mapping->longest = length > mapping->longest ? length : mapping->longest;
    return number && mangled && add_once(&mapping->nodes, step->name, n) &&
                   (!main || add_once(&mapping->numbered, number, n)) &&
                   add_once(&mapping->mangled, mangled, n)
               ? ULP_OK
               : ulp_out_of_memory(error);
}

enum ulp_status ulp_mapping_index(struct ulp_layer_map *mapping, struct ulp_error *error)
{
    for (size_t n = 0; n < mapping->program->node_count; n++)
        ULP_TRY(index_node(mapping, n, error));
    for (size_t s = 0; s < mapping->main->slot_count; s++) {
        const size_t length = strlen(mapping->main->slots[s].name);
        mapping->longest = length > mapping->longest ? length : mapping->longest;
        ULP_TRY(ulp_taken(add_once(&mapping->values, mapping->main->slots[s].name, s), error));
    }
    return ULP_OK;
}

/* ---- one name ---- */

/* A name between two ends in a layer's. */
struct part {
    const char *at, *end;
};

static int look_up(const struct ulp_names *names, struct part part)
{
    char text[NAME_BYTES];
    const size_t length = (size_t)(part.end - part.at);
    if (length == 0 || length >= sizeof text)
        return -1;
    memcpy(text, part.at, length);
    text[length] = 0;
    return ulp_names_find(names, text);
}

/* What ONNX Runtime made of a node: "fused X", "X/MatMulAddFusion". */
static struct part peel_fused(struct part part)
{
    static const char before[] = "fused ", after[] = "Fusion";
    if (part.end - part.at > 6 && memcmp(part.at, before, 6) == 0)
        part.at += 6;
    if (part.end - part.at > 6 && memcmp(part.end - 6, after, 6) == 0)
        for (const char *at = part.end - 6; at > part.at; at--)
            if (*at == '/') {
                part.end = at;
                break;
            }
    return part;
}

/* The node of that name: as it is, "X_clone_2", or "[RELU]-[aten_ops.relu.default]-[X]". */
static int find_part_node(const struct ulp_layer_map *mapping, struct part part)
{
    const struct ulp_names *names = mapping->built->numbered ? &mapping->numbered : &mapping->nodes;
    int found = look_up(names, part);
    if (found < 0)
        found = look_up(&mapping->mangled, part);
    if (found < 0 && mapping->engine->form == ULP_ENGINE_ONNX)
        found = look_up(names, peel_fused(part));
    const char *clone = memmem(part.at, (size_t)(part.end - part.at), "_clone_", 7);
    if (found < 0 && clone)
        found = find_part_node(mapping, (struct part){part.at, clone});
    if (found < 0 && part.end - part.at > 6 && *part.at == '[' && part.end[-1] == ']')
        for (const char *at = part.end - 2; at > part.at + 2; at--)
            if (memcmp(at - 2, "]-[", 3) == 0)
                return look_up(names, (struct part){at + 1, part.end - 1});
    return found;
}

/* Is it a name of the model: of a node, or of a value such as a weight? */
static bool is_known(const struct ulp_layer_map *mapping, struct part part)
{
    /* around a name: "[RELU]-[aten_ops.relu.default]-[X]", "X_clone_12", "fused X/MatMulAddFusion"
     */
    const size_t around = 200;
    if ((size_t)(part.end - part.at) > mapping->longest + around)
        return false;
    return find_part_node(mapping, part) >= 0 || look_up(&mapping->values, part) >= 0;
}

/* ---- the names of a layer ---- */

static enum ulp_status take_node(struct ulp_layer_map *mapping, size_t layer, struct part part,
                                 enum ulp_mapped_by by, struct ulp_error *error)
{
    const int node = find_part_node(mapping, part);
    if (node < 0)
        return ULP_OK;
    mapping->built->layers[layer].by = by;
    return ulp_mapping_add(mapping, layer, (size_t)node, ULP_BUILT_MAPPED, error);
}

/* "[ONNX Layer: A]", one after the other, whatever stands between them. */
static enum ulp_status take_metadata(struct ulp_layer_map *mapping, size_t layer, const char *text,
                                     struct ulp_error *error)
{
    static const char mark[] = "[ONNX Layer: ";
    const char *at = strstr(text, mark);
    while (at) {
        const char *next = strstr(at + 1, mark), *end = next ? next : at + strlen(at);
        while (end > at && end[-1] != ']')
            end--;
        const struct part part = {at + sizeof mark - 1, end > at ? end - 1 : end};
        if (part.end > part.at)
            ULP_TRY(take_node(mapping, layer, part, ULP_MAPPED_METADATA, error));
        at = next;
    }
    return ULP_OK;
}

/* Where the next joint of names is; its length in *length. NULL: none. It looks no further than the
 * joint, so that a name of many joints is read in time that grows with its length. */
static const char *find_joint(struct part rest, bool myelin, size_t *length)
{
    static const char *const joints[] = {" + ", " || ", ", ", "+"};
    for (const char *at = rest.at; at < rest.end; at++)
        for (size_t j = 0; j < (myelin ? 4u : 3u) && strchr(" ,+", *at); j++) {
            *length = strlen(joints[j]);
            if ((size_t)(rest.end - at) >= *length && memcmp(at, joints[j], *length) == 0)
                return at;
        }
    return NULL;
}

/* "PWN(" and ")" around names. */
static struct part peel(struct part part)
{
    while (part.end - part.at > 4 && memcmp(part.at, "PWN(", 4) == 0)
        part.at += 4;
    return part;
}

static struct part peel_end(const struct ulp_layer_map *mapping, struct part part)
{
    while (part.end > part.at && part.end[-1] == ')' && !is_known(mapping, part))
        part.end--;
    return part;
}

/* The names in turn: of those that begin here, the longest that is known, else up to the joint. */
static enum ulp_status take_name(struct ulp_layer_map *mapping, size_t layer, struct part rest,
                                 bool myelin, struct ulp_error *error)
{
    while (rest.at < rest.end) {
        rest = peel(rest);
        struct part scan = rest, best = {rest.at, rest.end};
        const char *next = rest.end;
        bool known = false;
        for (int j = 0; j < JOINS_MAX; j++) {
            size_t length = 0;
            const char *joint = find_joint(scan, myelin, &length);
            const struct part one =
                peel_end(mapping, (struct part){rest.at, joint ? joint : rest.end});
            const bool fits = is_known(mapping, one);
            if (fits || j == 0) {
                known |= fits;
                best = one;
                next = joint ? joint + length : rest.end;
            }
            if (!joint)
                break;
            scan.at = joint + length;
        }
        if (known)
            ULP_TRY(take_node(mapping, layer, best, ULP_MAPPED_NAME, error));
        rest.at = next;
    }
    return ULP_OK;
}

/* Without " [profile 1]", and of a row of Myelin's without "_myl0_12". */
static struct part trim(const char *name, bool *myelin)
{
    struct part part = {name, name + strlen(name)};
    const char *profile = strstr(name, " [profile ");
    if (profile)
        part.end = profile;
    *myelin = false;
    const char *at = part.end;
    while (at > part.at && isdigit((unsigned char)at[-1]))
        at--;
    if (at == part.end || at == part.at || at[-1] != '_')
        return part;
    const char *number = --at;
    while (at > part.at && isdigit((unsigned char)at[-1]))
        at--;
    if (at < number && at - part.at > 4 && memcmp(at - 4, "_myl", 4) == 0) {
        part.end = at - 4;
        *myelin = true;
    }
    return part;
}

bool ulp_layer_is_copy(const struct ulp_engine_layer *layer)
{
    static const char *const begins[] = {
        "Reformatting CopyNode for ", "reshape_before_",       "reshape_after_",
        "copied_squeeze_after_",      "unsqueeze_node_after_", "squeeze_after_"};
    for (size_t b = 0; b < sizeof begins / sizeof *begins; b++)
        if (strncmp(layer->name, begins[b], strlen(begins[b])) == 0)
            return true;
    return strstr(layer->name, "_copy_input") || strstr(layer->name, "_copy_output") ||
           strcmp(layer->kind, "MyelinReformat") == 0;
}

bool ulp_foreign_ends(const struct ulp_layer_map *mapping, const char *name, ptrdiff_t *first,
                      ptrdiff_t *last)
{
    static const char mark[] = "{ForeignNode[";
    const char *at = strstr(name, mark), *close = at ? strstr(at, "]}") : NULL;
    *first = *last = -1;
    if (!close || strncmp(name, "Reformatting", 12) == 0)
        return false;
    at += sizeof mark - 1;
    for (const char *dots = at; (dots = strstr(dots, "...")) && dots < close; dots++) {
        const struct part one = {at, dots}, other = {dots + 3, close};
        if (is_known(mapping, one) || is_known(mapping, other) || !strstr(dots + 1, "...")) {
            *first = find_part_node(mapping, one);
            *last = find_part_node(mapping, other);
            break;
        }
    }
    return true;
}

static enum ulp_status name_layer(struct ulp_layer_map *mapping, size_t l, struct ulp_error *error)
{
    struct ulp_engine_map_layer *layer = &mapping->built->layers[l];
    ptrdiff_t first, last;
    bool myelin;
    if (ulp_layer_is_copy(layer->layer))
        return ULP_OK;
    ULP_TRY(take_metadata(mapping, l, layer->layer->metadata, error));
    if (layer->node_count || ulp_foreign_ends(mapping, layer->layer->name, &first, &last))
        return ULP_OK;
    const struct part name = trim(layer->layer->name, &myelin);
    return take_name(mapping, l, name, myelin, error);
}

static size_t count_nodes(const struct ulp_layer_map *mapping)
{
    size_t count = 0;
    for (size_t l = 0; l < mapping->built->layer_count; l++)
        count += mapping->of_layer[l].count;
    return count;
}

static void forget(struct ulp_layer_map *mapping)
{
    for (size_t l = 0; l < mapping->built->layer_count; l++) {
        mapping->of_layer[l].count = 0;
        mapping->built->layers[l].node_count = 0;
        mapping->built->layers[l].by = ULP_MAPPED_NOT;
    }
    for (size_t n = 0; n < mapping->built->node_count; n++)
        mapping->built->nodes[n] =
            (struct ulp_engine_map_node){.name = ulp_program_node_name(mapping->program, n),
                                         .op = ulp_program_node_op(mapping->program, n),
                                         .kind = ULP_BUILT_LOST,
                                         .layer = -1};
}

static enum ulp_status name_layers(struct ulp_layer_map *mapping, bool numbered,
                                   struct ulp_error *error)
{
    forget(mapping);
    mapping->built->numbered = numbered;
    for (size_t l = 0; l < mapping->built->layer_count; l++)
        ULP_TRY(name_layer(mapping, l, error));
    return ULP_OK;
}

/* By the nodes' own names; where these are met less often, by operator and index, as old exporters
 * called nodes. */
enum ulp_status ulp_mapping_names(struct ulp_layer_map *mapping, struct ulp_error *error)
{
    ULP_TRY(name_layers(mapping, true, error));
    const size_t numbered = count_nodes(mapping);
    ULP_TRY(name_layers(mapping, false, error));
    if (count_nodes(mapping) < numbered)
        ULP_TRY(name_layers(mapping, true, error));
    return ULP_OK;
}
