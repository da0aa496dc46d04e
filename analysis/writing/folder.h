/* The folder that results are written into. */
#pragma once

#include <ulpscope/report.h>

#include <jansson.h>

#include "base/text/text.h"

/* A document as FOLDER/NAME, in a folder that is made when it is not there; the document is freed.
 */
enum ulp_status ulp_report_write_json(json_t *root, const char *folder, const char *name,
                                      struct ulp_error *error);
/* Begin the file FOLDER/NAME, in a folder that is there, for ulp_text_close. */
enum ulp_status ulp_report_open(const char *folder, const char *name, struct ulp_text *out,
                                struct ulp_error *error);
