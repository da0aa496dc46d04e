/* Values of JSON reports; NULL: out of memory. */
#pragma once

#include <jansson.h>
#include <ulpscope/limit.h>

#include "base/text/text.h"

/* null when it is infinite or no number: JSON has neither. No -0.0. */
json_t *ulp_json_number(double value);
/* JSON holds any characters, but a hostile model's names may not be UTF-8: such bytes are shown. */
json_t *ulp_json_text(const char *text);
/* What jansson wrote, `count` bytes: characters that move a terminal's cursor or hide others, which
 * JSON allows inside strings, are written as \uXXXX; so `cat report.json` is harmless, and what a
 * reader gets is the same. python: beyond U+FFFF as Python writes them, \UXXXXXXXX. */
void ulp_json_put_escaped(struct ulp_text *out, const char *text, size_t count, bool python);
/* The text as a string of JSON, which is one of Python's (python) and YAML's, too. */
void ulp_json_put_text(struct ulp_text *out, const char *text, bool python);
/* An object of pairs, a key and a value that is freed, NULL at the end; of a value that is NULL it
 * is NULL, too. */
json_t *ulp_json_object(const char *key, ...) __attribute__((sentinel));
/* Set a member, or append an element, which is freed. When there is no memory the whole becomes
 * NULL, and what it is put into with it. */
void ulp_json_set(json_t **object, const char *key, json_t *value);
void ulp_json_append(json_t **array, json_t *value);
/* Lines as one, with spaces between them; the text is freed. */
json_t *ulp_json_lines(struct ulp_text *lines);
/* One more pattern of the "keep" of a plan (doc/plan.md): those of one arithmetic that follow each
 * other are one entry. */
void ulp_json_keep(json_t **keep, const char *pattern, const char *arithmetic);
/* Put the document into a text, or write it to a file, and free it. what: "plan.json", of the
 * message when there is no memory. */
enum ulp_status ulp_json_put_document(json_t *root, struct ulp_text *out, const char *what,
                                      struct ulp_error *error);
enum ulp_status ulp_json_write(json_t *root, const char *path, struct ulp_error *error);
