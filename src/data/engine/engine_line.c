/* One layer in one line of text, as getLayerInformation(ONELINE) writes it:
 *     Name: X, LayerType: Y, Inputs: [ { Name: T, Dimensions: [1,2], Format/Datatype: Half }],
 *     Outputs: [...], ..., TacticName: K, StreamId: 0, Metadata: [ONNX Layer: A]
 * or as the log of a build lists it:
 *     Layer(Y): X, Tactic: 0x12, T (Half[1,2]) -> U (Float[1,2]), V (Int32[1])
 * Names are not quoted, and may hold anything: a field ends where the next one's name begins. */
#define _GNU_SOURCE /* memmem */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/engine/reading.h"

/* A part of the line. */
struct span {
    const char *at, *end;
};

/* Where `mark` begins in the span; NULL: nowhere. */
static const char *find_mark(struct span span, const char *mark)
{
    return memmem(span.at, (size_t)(span.end - span.at), mark, strlen(mark));
}

/* The last one. */
static const char *find_last(struct span span, const char *mark)
{
    const char *last = NULL;
    for (const char *at = find_mark(span, mark); at;
         at = find_mark((struct span){at + 1, span.end}, mark))
        last = at;
    return last;
}

static bool begins(struct span span, const char *mark)
{
    return (size_t)(span.end - span.at) >= strlen(mark) && memcmp(span.at, mark, strlen(mark)) == 0;
}

/* What stands between `mark` and the first of the ends (or the line's); empty: there is no mark. */
static struct span field(struct span line, const char *mark, const char *const *ends)
{
    const char *at = find_mark(line, mark);
    if (!at)
        return (struct span){line.end, line.end};
    struct span out = {at + strlen(mark), line.end};
    for (; *ends; ends++) {
        const char *end = find_mark(out, *ends);
        if (end)
            out.end = end;
    }
    return out;
}

static enum ulp_status copy_span(struct ulp_engine_reading *reading, struct span span,
                                 const char **out, struct ulp_error *error)
{
    return ulp_engine_text(reading, span.at, (size_t)(span.end - span.at), out, error);
}

/* "1,2,3" or "1x2x3"; "3:4" counts vectors of channels. */
static void read_dims(struct span span, struct ulp_engine_tensor *out)
{
    out->rank = 0;
    while (span.at < span.end) {
        char number[24];
        size_t length = 0;
        while (span.at < span.end && !strchr(",x: ", *span.at) && length < sizeof number - 1)
            number[length++] = *span.at++;
        number[length] = 0;
        char *end;
        const long long value = strtoll(number, &end, 10);
        if (!length || *end || out->rank == ULP_RANK_MAX) {
            out->rank = -1;
            return;
        }
        out->dims[out->rank++] = value;
        if (span.at < span.end && *span.at == ':')
            while (span.at < span.end && *span.at != ',')
                span.at++;
        while (span.at < span.end && strchr(", x", *span.at))
            span.at++;
    }
}

static enum ulp_status grow_tensors(struct ulp_engine_reading *reading,
                                    struct ulp_engine_tensor **tensors, size_t count,
                                    size_t *capacity, struct ulp_error *error)
{
    return ulp_grow(tensors, count, capacity, sizeof **tensors, ulp_arena_budget(reading->arena),
                    "tensors of a layer", error);
}

/* The grown list in the arena. */
static enum ulp_status keep_tensors(struct ulp_engine_reading *reading,
                                    struct ulp_engine_tensor *tensors, size_t count,
                                    const struct ulp_engine_tensor **out, size_t *out_count,
                                    struct ulp_error *error)
{
    struct ulp_engine_tensor *kept = ulp_arena_take(reading->arena, count + 1, sizeof *kept);
    for (size_t t = 0; t < count && kept; t++)
        kept[t] = tensors[t];
    *out = kept;
    *out_count = count;
    return ulp_taken(kept, error);
}

/* ---- "Name: X, LayerType: Y, ..." ---- */

static enum ulp_status read_braced(struct ulp_engine_reading *reading, struct span span,
                                   struct ulp_engine_tensor *out, struct ulp_error *error)
{
    static const char *const after_name[] = {", Location: ", ", Dimensions: [", NULL},
                             *const after_dims[] = {"]", NULL},
                             *const after_type[] = {", Format: ", " }", "}", NULL};
    const bool both = find_mark(span, "Format/Datatype: ") != NULL;
    ULP_TRY(copy_span(reading, field(span, "Name: ", after_name), &out->name, error));
    ULP_TRY(copy_span(reading, field(span, both ? "Format/Datatype: " : "Datatype: ", after_type),
                      &out->format, error));
    out->rank = -1;
    if (find_mark(span, "Dimensions: ["))
        read_dims(field(span, "Dimensions: [", after_dims), out);
    out->type = ulp_engine_type(out->format);
    return ULP_OK;
}

/* "[ { Name: ... }, { Name: ... }]"; `mark` is "Inputs: [". */
static enum ulp_status read_list(struct ulp_engine_reading *reading, struct span line,
                                 const char *mark, struct ulp_engine_tensor **tensors,
                                 size_t *count, size_t *capacity, struct ulp_error *error)
{
    static const char *const ends[] = {"}], Outputs: [", "}], Constants: [", "}], ", "}]", NULL};
    struct span list = field(line, mark, ends);
    while (list.at < list.end && *list.at == ' ')
        list.at++;
    if (begins(list, "]"))
        return ULP_OK;
    const char *next = find_mark(list, "{ Name: ");
    enum ulp_status status = ULP_OK;
    while (next && status == ULP_OK) {
        struct span one = {next + 2, list.end};
        next = find_mark(one, "}, { Name: ");
        if (next)
            one.end = next;
        status = grow_tensors(reading, tensors, *count, capacity, error);
        if (status != ULP_OK)
            break;
        (*tensors)[*count] = (struct ulp_engine_tensor){0};
        status = read_braced(reading, one, &(*tensors)[(*count)++], error);
        next = next ? next + 3 : NULL;
    }
    return status;
}

static enum ulp_status read_record(struct ulp_engine_reading *reading, struct span line,
                                   struct ulp_error *error)
{
    static const char
        *const after_name[] = {", LayerType: ", NULL},
               *const after_kind[] = {", ", NULL},
               *const after_kernel[] = {", TacticValue: ", ", StreamId: ", ", Metadata: ", NULL},
               *const after_metadata[] = {NULL}, *const after_type[] = {",", "}", NULL};
    struct ulp_engine_layer out = {.origin = "", .activation = ""};
    ULP_SCOPED(ulp_free_of) struct ulp_engine_tensor *tensors = NULL;
    size_t count = 0, capacity = 0, constants = 0;
    struct span rest = {find_mark(line, ", LayerType: "), line.end}, weights, type;
    ULP_TRY(copy_span(reading, field(line, "Name: ", after_name), &out.name, error));
    ULP_TRY(copy_span(reading, field(rest, ", LayerType: ", after_kind), &out.kind, error));
    ULP_TRY(copy_span(reading, field(rest, ", TacticName: ", after_kernel), &out.kernel, error));
    ULP_TRY(copy_span(reading, field(rest, ", Metadata: ", after_metadata), &out.metadata, error));
    ULP_TRY(copy_span(reading, field(rest, ", Origin: ", after_kind), &out.origin, error));
    ULP_TRY(copy_span(reading, field(rest, ", Activation: ", after_kind), &out.activation, error));
    ULP_TRY(read_list(reading, rest, "Inputs: [", &tensors, &count, &capacity, error));
    constants = count;
    ULP_TRY(read_list(reading, rest, "Constants: [", &tensors, &count, &capacity, error));
    constants = count - constants;
    ULP_TRY(keep_tensors(reading, tensors, count, &out.inputs, &out.input_count, error));
    count = 0;
    ULP_TRY(read_list(reading, rest, "Outputs: [", &tensors, &count, &capacity, error));
    ULP_TRY(keep_tensors(reading, tensors, count, &out.outputs, &out.output_count, error));
    weights = field(rest, ", Weights: {", after_metadata);
    type = weights.at < weights.end ? field(weights, "Type\": ", after_type) : weights;
    const char *text = "";
    if (type.at < type.end)
        ULP_TRY(copy_span(reading, type, &text, error));
    out.weights = ulp_engine_type(text);
    if (out.weights == ULP_TYPE_UNDEFINED)
        out.weights = ulp_engine_weights(&out, constants);
    return ulp_engine_add_layer(reading, &out, error);
}

/* ---- "Layer(Y): X, Tactic: T, ..." ---- */

/* "name (Half[1,2])", or "name[Half(1,2)]" of versions before 8. */
static enum ulp_status read_typed(struct ulp_engine_reading *reading, struct span span,
                                  struct ulp_engine_tensor *out, struct ulp_error *error)
{
    const char *open = find_last(span, " (");
    struct span name = {span.at, open ? open : span.end},
                type = {open ? open + 2 : span.end, span.end}, dims = type;
    const char *bracket = find_mark(type, "[");
    dims.at = bracket ? bracket + 1 : span.end;
    if (bracket)
        type.end = bracket;
    while (dims.end > dims.at && (dims.end[-1] == ')' || dims.end[-1] == ']'))
        dims.end--;
    ULP_TRY(copy_span(reading, name, &out->name, error));
    ULP_TRY(copy_span(reading, type, &out->format, error));
    out->type = ulp_engine_type(out->format);
    out->rank = -1;
    if (bracket)
        read_dims(dims, out);
    return ULP_OK;
}

/* Tensors end in "])" and are parted by ", ". */
static enum ulp_status read_side(struct ulp_engine_reading *reading, struct span side,
                                 const struct ulp_engine_tensor **out, size_t *out_count,
                                 struct ulp_error *error)
{
    ULP_SCOPED(ulp_free_of) struct ulp_engine_tensor *tensors = NULL;
    size_t count = 0, capacity = 0;
    while (side.at < side.end) {
        const char *end = find_mark(side, "]), ");
        struct span one = {side.at, end ? end + 2 : side.end};
        side.at = end ? end + 4 : side.end;
        if (!find_mark(one, " ("))
            continue;
        ULP_TRY(grow_tensors(reading, &tensors, count, &capacity, error));
        tensors[count] = (struct ulp_engine_tensor){0};
        ULP_TRY(read_typed(reading, one, &tensors[count++], error));
    }
    return keep_tensors(reading, tensors, count, out, out_count, error);
}

/* The tactic is a hash, whose kernel the log has named before ("Set Tactic Name"), or the kernel.
 */
static enum ulp_status read_tactic(struct ulp_engine_reading *reading, struct span tactic,
                                   const struct ulp_names *tactics, const char *const *kernels,
                                   const char **out, struct ulp_error *error)
{
    ULP_TRY(copy_span(reading, tactic, out, error));
    if (!begins(tactic, "0x"))
        return ULP_OK;
    const int known = ulp_names_find(tactics, *out);
    *out = known >= 0 ? kernels[known] : "";
    return ULP_OK;
}

static enum ulp_status read_listed(struct ulp_engine_reading *reading, struct span line,
                                   const struct ulp_names *tactics, const char *const *kernels,
                                   struct ulp_error *error)
{
    static const char *const after_kind[] = {"): ", NULL},
                             *const after_name[] = {", Tactic: ", NULL},
                             *const after_tactic[] = {", ", NULL};
    struct ulp_engine_layer out = {.metadata = "", .origin = "", .activation = ""};
    const char *mark = find_mark(line, ", Tactic: ");
    struct span rest = {mark, line.end};
    ULP_TRY(copy_span(reading, field(line, "Layer(", after_kind), &out.kind, error));
    ULP_TRY(copy_span(reading, field(line, "): ", after_name), &out.name, error));
    const struct span tactic = field(rest, ", Tactic: ", after_tactic);
    ULP_TRY(read_tactic(reading, tactic, tactics, kernels, &out.kernel, error));
    rest.at = tactic.end + 2 <= line.end ? tactic.end + 2 : line.end;
    const char *arrow = find_mark(rest, " -> ");
    const struct span from = {rest.at, arrow ? arrow : rest.at},
                      to = {arrow ? arrow + 4 : rest.end, rest.end};
    ULP_TRY(read_side(reading, from, &out.inputs, &out.input_count, error));
    ULP_TRY(read_side(reading, to, &out.outputs, &out.output_count, error));
    out.weights = ulp_engine_weights(&out, 0);
    return ulp_engine_add_layer(reading, &out, error);
}

enum ulp_status ulp_engine_read_line(struct ulp_engine_reading *reading, const char *text,
                                     size_t length, const struct ulp_names *tactics,
                                     const char *const *kernels, bool *found,
                                     struct ulp_error *error)
{
    const struct span line = {text, text + length};
    *found = true;
    if (begins(line, "Name: ") && find_mark(line, ", LayerType: "))
        return read_record(reading, line, error);
    if (begins(line, "Layer(") && find_mark(line, "): ") && find_mark(line, ", Tactic: "))
        return read_listed(reading, line, tactics, kernels, error);
    *found = false;
    return ULP_OK;
}
