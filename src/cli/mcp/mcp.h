/* ulpscope mcp: tools that agents call by JSON-RPC, each a run of this program of its own. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <ulpscope/status.h>

struct mcp_server {
    const char *root;             /* without links; what is read lies below it */
    char *scratch;                /* the folder of reports, which goes with the server */
    const char *seconds, *memory; /* limits of each call */
    bool no_sandbox;
    size_t reports; /* so far: ids are report-1, ... */
};

/* The array of tools/list. NULL: no memory. */
json_t *mcp_tools(void);
/* tools/call of this name: its result, or NULL with the message for -32602: there is no such tool.
 */
json_t *mcp_call(struct mcp_server *server, const char *name, const json_t *arguments,
                 struct ulp_error *error);

/* What a child process wrote, each text cut where it grows too large. */
struct mcp_run {
    int code; /* its exit code; -1: it was ended by a signal */
    char *out, *err;
};
/* Run this program with the words (NULL at the end) in the folder. */
enum ulp_status mcp_run(char *const *words, const char *folder, struct mcp_run *out,
                        struct ulp_error *error);
void mcp_run_free(struct mcp_run *run);
