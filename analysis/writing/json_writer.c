/* See json_writer.h. */
#include "analysis/writing/json_writer.h"

#include <string.h>

#include "analysis/writing/json_value.h"

/* A new line, and the key when it is in an object. */
static void start_value(struct ulp_json_writer *writer, const char *key)
{
    if (writer->depth)
        ulp_text_add(writer->out, "%s\n%*s", writer->empty ? "" : ",", writer->depth, "");
    if (key)
        ulp_text_add(writer->out, "\"%s\": ", key);
    writer->empty = false;
}

/* Into what is open, or as the root; NULL: there was no memory for it. */
static void attach(struct ulp_json_writer *writer, const char *key, json_t *value)
{
    const bool deep = writer->depth > ULP_JSON_DEPTH;
    json_t *parent = writer->depth && !deep ? writer->open[writer->depth - 1] : NULL;
    if (!writer->depth && value)
        writer->root = value;
    else if (deep || (key ? json_object_set_new(parent, key, value)
                          : json_array_append_new(parent, value)) != 0)
        writer->failed = true;
    writer->failed |= !value;
}

void ulp_json_open(struct ulp_json_writer *writer, const char *key, char bracket)
{
    if (!writer->out) {
        json_t *value = bracket == '{' ? json_object() : json_array();
        attach(writer, key, value);
        if (writer->depth < ULP_JSON_DEPTH)
            writer->open[writer->depth] = writer->failed ? NULL : value;
        writer->depth++;
        return;
    }
    start_value(writer, key);
    ulp_text_add(writer->out, "%c", bracket);
    writer->depth++;
    writer->empty = true;
}

void ulp_json_close(struct ulp_json_writer *writer, char bracket)
{
    writer->depth--;
    if (!writer->out)
        return;
    if (!writer->empty)
        ulp_text_add(writer->out, "\n%*s", writer->depth, "");
    ulp_text_add(writer->out, "%c", bracket);
    writer->empty = false;
}

/* A piece of the text as jansson writes it, moved in to the writer's depth: jansson writes line
 * ends only between values. */
static int add_piece(const char *piece, size_t size, void *context)
{
    const struct ulp_json_writer *writer = context;
    for (const char *end = piece + size, *line; piece < end; piece = line) {
        const char *newline = memchr(piece, '\n', (size_t)(end - piece));
        line = newline ? newline + 1 : end;
        ulp_json_put_escaped(writer->out, piece, (size_t)(line - piece), false);
        for (int i = 0; newline && i < writer->depth; i++)
            ulp_text_put(writer->out, " ", 1);
    }
    return writer->out->failed ? -1 : 0;
}

void ulp_json_put(struct ulp_json_writer *writer, const char *key, json_t *value)
{
    if (!writer->out) {
        attach(writer, key, value);
        return;
    }
    start_value(writer, key);
    if (!value || json_dump_callback(value, add_piece, writer,
                                     JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_ENCODE_ANY |
                                         JSON_REAL_PRECISION(writer->digits)) != 0)
        writer->failed = true;
    json_decref(value);
}

json_t *ulp_json_made(struct ulp_json_writer *writer)
{
    if (!writer->failed)
        return writer->root;
    json_decref(writer->root);
    return NULL;
}
