/* The page that shows reports: one file with everything in it. The data stand in it as JSON,
 * deflated and in base64, and the script in page/ makes the document of them, in the browser. */
#pragma once

#include <jansson.h>
#include <time.h>
#include <ulpscope/html.h>
#include <ulpscope/written.h>

#include "base/machine/environment.h"
#include "base/text/text.h"

/* Figures of a page have that many digits: more than it shows, and half of what doubles would be.
 */
enum { ULP_HTML_DIGITS = 9 };

/* One report. */
struct ulp_html_report {
    const char *kind; /* "audit", "overflow", ...: the script's word for it */
    time_t saved;     /* when the file was written that it was read from; 0: it is of this run */
    json_t *root;     /* the caller's; what is said where scripts are not run is taken from it */
    /* NULL: the data are the root. Else puts them, as JSON, without all of it in memory. */
    enum ulp_status (*put)(const void *context, struct ulp_text *out, struct ulp_error *error);
    const void *context;
};
/* Write the page; the file is complete or unchanged. */
enum ulp_status ulp_html_write(const struct ulp_html_report *reports, size_t count,
                               const char *path, struct ulp_error *error);
/* One document, which is freed, in that form; root NULL: out of memory. Its file in a folder is
 * KIND.json. */
enum ulp_status ulp_html_write_as(const char *kind, enum ulp_output_kind as, json_t *root,
                                  const char *path, struct ulp_error *error);
/* page.c, made of page/: pieces of the page, and the script's SHA-256 in base64 ("": not known). */
extern const char *const ulp_html_body, *const ulp_html_style, *const ulp_html_script,
                                                                   *const ulp_html_script_hash;
