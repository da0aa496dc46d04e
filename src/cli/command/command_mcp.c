/* ulpscope mcp: the server's loop. A line in is a message of JSON-RPC 2.0, a line out its answer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/mcp/mcp.h"
#include "cli/sandbox/landlock.h"

struct mcp_options {
    const char *root;
    struct mcp_server server;
};

/* ---- messages ---- */

enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    NO_METHOD = -32601,
    INVALID_PARAMS = -32602
};

/* `result` is taken over; NULL: no memory. */
static void answer(const json_t *id, const char *name, json_t *result)
{
    json_t *message = json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, name, result);
    if (message) {
        json_dumpf(message, stdout, JSON_COMPACT);
        fputs("\n", stdout);
    }
    fflush(stdout);
    json_decref(message);
}

static void answer_error(const json_t *id, int code, const char *text)
{
    json_t *none = json_null();
    answer(id ? id : none, "error", json_pack("{s:i, s:s}", "code", code, "message", text));
}

/* The protocol's version that the client asks for, where it is one of these; else the newest. */
static const char *choose_version(const json_t *params)
{
    static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
    const char *asked = json_string_value(json_object_get(params, "protocolVersion"));
    for (size_t v = 0; asked && v < sizeof versions / sizeof *versions; v++)
        if (strcmp(asked, versions[v]) == 0)
            return versions[v];
    return versions[0];
}

static json_t *initialize(const json_t *params)
{
    return json_pack(
        "{s:s, s:{s:{s:b}}, s:{s:s, s:s}, s:s}", "protocolVersion", choose_version(params),
        "capabilities", "tools", "listChanged", 0, "serverInfo", "name", "ulpscope", "version",
        ulp_version(), "instructions",
        "To find where a model loses accuracy: doctor; or by steps lint (no run), overflow, then "
        "audit; show looks at single nodes of an audit's report; plan finds what to keep in FP32, "
        "and audit with that plan proves it. Paths are relative to the server's root.");
}

static void call_tool(struct mcp_server *server, const json_t *id, const json_t *params)
{
    struct ulp_error error = {0};
    const char *name = json_string_value(json_object_get(params, "name"));
    const json_t *arguments = json_object_get(params, "arguments");
    json_t *none = json_object(), *result = NULL;
    if (name && (!arguments || json_is_object(arguments)))
        result = mcp_call(server, name, arguments ? arguments : none, &error);
    else
        ulp_fail(&error, ULP_ERROR_USAGE, "expected name, and arguments as an object");
    if (result)
        answer(id, "result", result);
    else
        answer_error(id, INVALID_PARAMS, error.message);
    json_decref(none);
}

static void take_message(struct mcp_server *server, const char *line, size_t length)
{
    json_t *message = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
    const char *method = json_string_value(json_object_get(message, "method"));
    if (!message)
        answer_error(NULL, PARSE_ERROR, "this line is no JSON");
    else if (!method || (id && !json_is_string(id) && !json_is_number(id)))
        answer_error(NULL, INVALID_REQUEST, "expected a request or a notification of JSON-RPC 2.0");
    else if (!id) /* a notification: there is nothing to do for any, as calls end before the next */
        ;
    else if (strcmp(method, "initialize") == 0)
        answer(id, "result", initialize(params));
    else if (strcmp(method, "ping") == 0)
        answer(id, "result", json_object());
    else if (strcmp(method, "tools/list") == 0)
        answer(id, "result", json_pack("{s:o}", "tools", mcp_tools()));
    else if (strcmp(method, "tools/call") == 0)
        call_tool(server, id, params);
    else
        answer_error(id, NO_METHOD, "there is no such method");
    json_decref(message);
}

#define LINE_BYTES ((size_t)4 << 20)

/* Until the input ends. A line beyond the limit is refused, and read to its end. */
static enum ulp_status serve(struct mcp_server *server, struct ulp_error *error)
{
    char *line = malloc(LINE_BYTES);
    size_t used = 0;
    bool too_long = false;
    int next;
    if (!line)
        return out_of_memory(error);
    while ((next = getchar()) != EOF) {
        if (next != '\n') {
            too_long |= used == LINE_BYTES;
            if (!too_long)
                line[used++] = (char)next;
            continue;
        }
        if (too_long)
            answer_error(NULL, INVALID_REQUEST, "a message has 4 MiB at most");
        else if (used && strspn(line, " \t\r") < used)
            take_message(server, line, used);
        used = 0;
        too_long = false;
    }
    free(line);
    return ULP_OK;
}

/* ---- the folder of reports ---- */

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

static enum ulp_status make_scratch(struct mcp_server *server, struct ulp_error *error)
{
    struct ulp_text text = {0};
    ulp_text_add(&text, "%s/ulpscope-mcp-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (text.failed)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    server->scratch = mkdtemp(text.data);
    if (server->scratch)
        return ULP_OK;
    ulp_fail(error, ULP_ERROR_INPUT, "%s: cannot be made: %s (TMPDIR names another place)",
             text.data, strerror(errno));
    ulp_text_free(&text);
    return error->status;
}

static enum ulp_status check_seconds(const char *text, struct ulp_error *error)
{
    char *end;
    const double seconds = strtod(text, &end);
    return end > text && !*end && seconds >= 1e-3 && seconds <= 86400
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE, "%s: expected a number from 0.001 to 86400",
                          text);
}

static enum ulp_status serve_calls(void *parsed, struct ulp_error *error)
{
    struct mcp_options *options = parsed;
    struct mcp_server *server = &options->server;
    ULP_SCOPED(ulp_scoped_free) char *root = realpath(options->root, NULL);
    server->root = root;
    if (!root)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: %s", options->root, strerror(errno));
    if (!server->no_sandbox && !landlock_version())
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "this kernel has no Landlock, and calls would not be in a sandbox; "
                        "--no-sandbox accepts that");
    ULP_TRY(make_scratch(server, error));
    const enum ulp_status status = serve(server, error);
    nftw(server->scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(server->scratch);
    return status;
}

#define PARSED struct mcp_options
static const struct option_row rows[] = {
#include "cli/command/mcp_option.def"
    {0}};
const struct command command_mcp = {
    .name = "mcp",
    .summary = "serve audits, plans and lookups to agents, by the Model Context Protocol",
    .purpose = "Serve doctor, audit, plan, overflow, lint, compare, show and explain to agents, by "
               "the Model Context Protocol on standard input and output. Models and inputs lie "
               "below --root; every call is a process of its own with limits of time and memory, "
               "in a sandbox that opens no other files. What calls write goes to a folder in "
               "TMPDIR that ends with the server; nothing is written below --root.",
    .examples = "  ulpscope mcp --root models/\n"
                "      {\"mcpServers\": {\"ulpscope\": {\"command\": \"ulpscope\", \"args\": "
                "[\"mcp\", \"--root\", \"/models\"]}}}\n"
                "      in the settings of a client",
    .groups = {{NULL, rows, 0}, HELP_GROUP},
    .size = sizeof(struct mcp_options),
    .run = serve_calls,
};
