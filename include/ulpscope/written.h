/* How results are written. */
#ifndef ULPSCOPE_WRITTEN_H
#define ULPSCOPE_WRITTEN_H

/* What a function that writes a result makes at the path it is given. A file is complete, or is as
 * it was before the call. */
enum ulp_output_kind {
    ULP_OUTPUT_FOLDER,  /* the JSON under its own name, and what else there is, into that folder,
                         * which is made when missing */
    ULP_OUTPUT_JSON,    /* as the file of that path */
    ULP_OUTPUT_HTML,    /* one page (ulpscope/html.h) */
    ULP_OUTPUT_MARKDOWN /* its headlines and tables, for a comment on a pull request */
};

#endif
