/* How results are written. */
#ifndef ULPSCOPE_WRITTEN_H
#define ULPSCOPE_WRITTEN_H

/* To the path that is given; files are complete or unchanged. */
enum ulp_as {
    ULP_AS_FOLDER, /* the JSON under its own name, and what else there is, into that folder, which
                    * is made when missing */
    ULP_AS_JSON,   /* as the file of that path */
    ULP_AS_HTML    /* one page (ulpscope/html.h) */
};

#endif
