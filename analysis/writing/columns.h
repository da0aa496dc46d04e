/* A text report's page: where it goes, how wide it is, and its tables. */
#pragma once

#include <ulpscope/model.h>

#include "base/text/shown.h"
#include "base/text/text.h"

struct ulp_arena;

#define ULP_PAGE_WIDTH 100
#define ULP_PAGE_PROSE 10000 /* columns of a text for JSON: a headline is a sentence */
#define ULP_PAGE_RANKED 5
#define ULP_SHOWN_BYTES (4 * ULP_PAGE_WIDTH + 1) /* of a line: four bytes of UTF-8 a column */

#define ULP_FIGURE_BYTES 32

struct ulp_page {
    struct ulp_text *out;
    int width; /* columns of a terminal; 0: a file, names stay whole */
    const char *bold, *red, *yellow, *dim, *off;
};
struct ulp_page ulp_page_make(struct ulp_text *out, int width, bool colour);
/* The end of a summary: the status that it was made with, and its text, which the caller frees.
 * With another status than ULP_OK, or out of memory, *out is NULL. */
enum ulp_status ulp_page_take(struct ulp_text *text, enum ulp_status status, char **out,
                              struct ulp_error *error);
/* Add a name that stands after `used` columns: what a terminal has no room for is cut at its
 * front. */
void ulp_page_name(const struct ulp_page *page, const char *name, int used);
/* "node N NAME (OP)" so. */
void ulp_page_node(const struct ulp_page *page, size_t index, const char *name, const char *op,
                   int used);
/* "ulpscope command arguments", whole: what a result proposes to run. */
void ulp_command_add(struct ulp_text *out, const char *command, const char *arguments);
/* The model and its inputs as a command that judges names them: "model.onnx -i inputs.npz". NULL:
 * out of memory. */
char *ulp_model_words(struct ulp_arena *arena, const struct ulp_model *model);
/* A figure as printf writes it, and "-" where there is none (NaN). ULP_FIGURE is for one use in the
 * block it stands in. */
const char *ulp_page_figure(char text[ULP_FIGURE_BYTES], const char *format, double value);
#define ULP_FIGURE(format, value) ulp_page_figure((char[ULP_FIGURE_BYTES]){0}, format, value)
/* How large values get, which are known up to the largest double: "6.6e+04". */
const char *ulp_page_reach(char text[ULP_FIGURE_BYTES], double largest);
#define ULP_REACH(largest) ulp_page_reach((char[ULP_FIGURE_BYTES]){0}, largest)
/* What there is to do where FP32 cannot hold the values either. */
#define ULP_BEYOND_FP32 \
    "FP32 cannot hold that either: bound what the node reads (Clip), or compute it otherwise"
/* Words of the text in lines that begin `indent` columns in, the first `used` columns on, and the
 * end of the last line. A word longer than a line has one of its own. */
void ulp_page_wrapped(const struct ulp_page *page, const char *text, size_t indent, size_t used);
/* The same of a text that was made for it, of whole names, which is freed. */
void ulp_page_broken(const struct ulp_page *page, struct ulp_text *text, size_t indent,
                     size_t used);

/* What a command concludes: what, why, and what to do. */
struct ulp_headline {
    struct ulp_text what, beside, why, todo;
};
enum { ULP_HEADLINE_INDENT = 8 };
/* Each of them whole, in as many lines as it needs, but for a command or options, which are to be
 * copied. An empty text has no line. As prose: all of it in one. */
void ulp_page_headline(const struct ulp_page *page, const char *colour,
                       const struct ulp_headline *headline);
#define ULP_DRAWN " (with random inputs, which stand for yours)"
/* Ends `what` in that condition, where inputs were drawn at random and not given. */
void ulp_headline_drawn(struct ulp_headline *headline, bool drawn);
/* What and why as a sentence; and it is freed. */
void ulp_headline_join(struct ulp_text *out, struct ulp_headline *headline);
/* And where memory was lacking, the page knows it. */
void ulp_headline_free(const struct ulp_page *page, struct ulp_headline *headline);
