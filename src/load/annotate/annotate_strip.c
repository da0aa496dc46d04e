/* A model without its annotations: what the copy is compared by, and what a copy of a copy is made
 * of. Entries whose keys are ours go, and of such a node's doc_string all from our mark on. */
#include <string.h>

#include "base/error.h"
#include "load/annotate/wire.h"
#include "load/load.h"

enum kind { OTHER, MODEL, GRAPH, FUNCTION, NODE, ATTRIBUTE };

static enum kind find_kind(enum kind parent, uint64_t number)
{
    switch (parent) {
    case MODEL: return number == MODEL_GRAPH ? GRAPH : number == MODEL_FUNCTIONS ? FUNCTION : OTHER;
    case GRAPH: return number == GRAPH_NODE ? NODE : OTHER;
    case FUNCTION: return number == FUNCTION_NODE ? NODE : OTHER;
    case NODE: return number == NODE_ATTRIBUTE ? ATTRIBUTE : OTHER;
    case ATTRIBUTE: return number == ATTRIBUTE_GRAPH || number == ATTRIBUTE_GRAPHS ? GRAPH : OTHER;
    case OTHER: break;
    }
    return OTHER;
}

static bool is_ours(const struct wire_field *entry)
{
    struct wire_bytes rest = entry->payload;
    struct wire_field field;
    bool ours = false, damaged;
    while (wire_next(&rest, &field, &damaged))
        if (field.number == ENTRY_KEY && field.is_bytes)
            ours = field.payload.count >= strlen(ULP_ANNOTATION_KEY) &&
                   memcmp(field.payload.data, ULP_ANNOTATION_KEY, strlen(ULP_ANNOTATION_KEY)) == 0;
    return ours;
}

/* Where the last mark is; count: there is none. */
static size_t find_mark(struct wire_bytes text)
{
    const size_t length = strlen(ULP_ANNOTATION_MARK);
    for (size_t i = text.count >= length ? text.count - length + 1 : 0; i-- > 0;)
        if (memcmp(text.data + i, ULP_ANNOTATION_MARK, length) == 0)
            return i;
    return text.count;
}

/* Where the doc_string begins that may have our words: the last one of a node with entries of
 * ours. NULL: there is none. */
static const uint8_t *find_doc(struct wire_bytes node)
{
    const uint8_t *doc = NULL;
    struct wire_field field;
    bool damaged, ours = false;
    while (wire_next(&node, &field, &damaged)) {
        ours |= field.number == NODE_METADATA && field.is_bytes && is_ours(&field);
        doc = field.number == NODE_DOC && field.is_bytes ? field.start : doc;
    }
    return ours ? doc : NULL;
}

/* A field goes as a whole. */
static int64_t drop(struct wire_edits *edits, const struct wire_field *field)
{
    const size_t whole = (size_t)(field->payload.data + field->payload.count - field->start);
    return wire_replace(edits, wire_edit(edits, field->start), whole, NULL, 0);
}

/* Of the node's doc_string: `before` is an earlier one. An empty line was put before the mark. */
static int64_t strip_doc(struct wire_edits *edits, const struct wire_field *doc,
                         const struct wire_field *before)
{
    size_t kept = find_mark(doc->payload);
    if (kept == doc->payload.count)
        return 0;
    if (kept >= 2 && memcmp(doc->payload.data + kept - 2, "\n\n", 2) == 0)
        kept -= 2;
    if (kept == 0 || (before && before->payload.count == kept &&
                      memcmp(before->payload.data, doc->payload.data, kept) == 0))
        return drop(edits, doc);
    const size_t length = wire_edit(edits, doc->length);
    const size_t rest = wire_edit(edits, doc->payload.data + kept);
    const int64_t cut = wire_replace(edits, rest, doc->payload.count - kept, NULL, 0);
    return wire_replace_length(edits, length, doc, cut);
}

/* Returns how much longer the message gets: at most 0. */
static int64_t strip(struct wire_edits *edits, struct wire_bytes message, enum kind kind, int depth)
{
    const uint8_t *last_doc = kind == NODE ? find_doc(message) : NULL;
    struct wire_field field, doc;
    bool damaged = false, has_doc = false;
    int64_t grown = 0;
    if (depth > 4 * ULP_LOAD_DEPTH_MAX && edits->status == ULP_OK)
        edits->status = ulp_fail(edits->error, ULP_ERROR_INPUT,
                                 "graphs are nested more than %d deep", ULP_LOAD_DEPTH_MAX);
    while (edits->status == ULP_OK && wire_next(&message, &field, &damaged)) {
        const enum kind inner = field.is_bytes ? find_kind(kind, field.number) : OTHER;
        if (inner != OTHER) {
            const size_t length = wire_edit(edits, field.length);
            const int64_t inside = strip(edits, field.payload, inner, depth + 1);
            if (inside)
                grown += wire_replace_length(edits, length, &field, inside);
        } else if (field.is_bytes && ((kind == NODE && field.number == NODE_METADATA) ||
                                      (kind == MODEL && field.number == MODEL_METADATA))) {
            grown += is_ours(&field) ? drop(edits, &field) : 0;
        } else if (last_doc && field.is_bytes && field.number == NODE_DOC) {
            if (field.start == last_doc)
                grown += strip_doc(edits, &field, has_doc ? &doc : NULL);
            doc = field;
            has_doc = true;
        }
    }
    if (damaged && edits->status == ULP_OK)
        edits->status = ulp_fail(edits->error, ULP_ERROR_INPUT, "is no ONNX file");
    return grown;
}

enum ulp_status wire_strip(struct wire_bytes model, struct wire_edits *out, struct ulp_error *error)
{
    out->base = model.data;
    out->error = error;
    strip(out, model, MODEL, 0);
    return out->status;
}
