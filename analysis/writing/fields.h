/* A public struct's members as a table, made of its declaration (scripts/result_fields.py, which
 * says what the directives in comments are). What writes a result as JSON, reads it back or keeps
 * it in a checkpoint goes by these tables, so a figure is named where it is declared and nowhere
 * else. */
#pragma once

#include <jansson.h>

#include "analysis/writing/json_writer.h"
#include "base/text/coder.h"

enum ulp_field_kind {
    ULP_FIELD_FLAG,    /* bool */
    ULP_FIELD_INT,     /* int, or an enum whose values have no names */
    ULP_FIELD_UINT,    /* unsigned */
    ULP_FIELD_INT64,   /* int64_t */
    ULP_FIELD_UINT64,  /* uint64_t */
    ULP_FIELD_SIZE,    /* size_t */
    ULP_FIELD_INDEX,   /* ptrdiff_t; -1: none */
    ULP_FIELD_DOUBLE,  /* NaN: not defined */
    ULP_FIELD_TEXT,    /* char *; NULL: none */
    ULP_FIELD_LETTERS, /* char[] */
    ULP_FIELD_WORD,    /* an enum whose values have names */
    ULP_FIELD_NAMED,   /* a struct of which a result says the name */
    ULP_FIELD_STRUCT,
};
struct ulp_field {
    const char *name;
    enum ulp_field_kind kind;
    size_t offset;
    const struct ulp_struct *type;  /* of a struct */
    const char *(*word)(int value); /* of a word; values are below `words` */
    int words;
    /* of an array: its length in the struct, or it is behind a pointer; what says how many of them
     * there are; the names of its elements. A pointer that nothing counts is to one or none */
    size_t length;
    bool points, counted, count_is_int;
    size_t count; /* offset */
    const char *(*key)(int index);
    const char *list; /* of the document, which this is an index into; NULL: of none */
    bool counts;      /* the elements of an array */
    bool said;        /* of one that JSON has in another form, so that no list has this length */
    bool node, whole, apart; /* directives */
};
struct ulp_struct {
    const char *name;
    size_t bytes;
    const struct ulp_field *fields;
    size_t count;
};

/* How many elements the member has; of a single one, or an optional one that is there: 1. */
size_t ulp_field_elements(const struct ulp_field *field, const void *object);
/* The first of them. */
void *ulp_field_at(const struct ulp_field *field, const void *object);
size_t ulp_field_bytes(const struct ulp_field *field);
bool ulp_field_is_array(const struct ulp_field *field);
/* The member of that name, which the struct has. */
const struct ulp_field *ulp_field_find(const struct ulp_struct *type, const char *name);

/* ---- JSON ---- */

/* Members have their names; elements of an array by an enum that are not 0 its words. Left out:
 * flags that are false, texts that are NULL, indexes of nothing, counts of lists (these have a
 * length), and structs in structs whose first member is none of these, or 0. Figures that are not
 * defined or infinite are null. */

/* What a struct says beside its members, or in place of them. */
struct ulp_json_hook {
    const struct ulp_struct *type;
    /* after the members; NULL: nothing */
    void (*also)(struct ulp_json_writer *writer, const void *object, const void *context);
    /* instead of the struct; NULL: by its members */
    void (*instead)(struct ulp_json_writer *writer, const char *key, const void *object,
                    const void *context);
};
struct ulp_json_how {
    const struct ulp_json_hook *hooks;
    size_t hook_count;
    const void *context; /* the hooks' */
    /* the name of a node */
    const char *(*node)(const void *context, size_t index);
};
/* The object; its members alone, into one that is open; one of them. */
void ulp_json_struct(struct ulp_json_writer *writer, const char *key, const struct ulp_struct *type,
                     const void *object, const struct ulp_json_how *how);
void ulp_json_members(struct ulp_json_writer *writer, const struct ulp_struct *type,
                      const void *object, const struct ulp_json_how *how);
void ulp_json_member(struct ulp_json_writer *writer, const struct ulp_struct *type,
                     const char *name, const void *object, const struct ulp_json_how *how);

/* The object in memory. NULL: there is none for it. */
json_t *ulp_json_value(const struct ulp_struct *type, const void *object,
                       const struct ulp_json_how *how);

/* Read what was written so into a struct of zeros: texts and lists into the arena, whatever is
 * missing or of another kind as if it had been left out. Members that are written by name of a node
 * or in another form are -1 and 0; figures that are null NaN. False: out of memory. */
bool ulp_json_read(const json_t *json, const struct ulp_struct *type, void *object,
                   struct ulp_arena *arena);

/* ---- checkpoints ---- */

/* The struct's members but those of the whole result. An index of a node is below
 * coder->index_count; of anything else its reader checks it. */
void ulp_code_struct(struct ulp_coder *coder, const struct ulp_struct *type, void *object);
