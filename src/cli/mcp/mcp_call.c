/* The tools: their schemas, and a call as the words of a command line. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/mcp/mcp.h"

enum kind { TEXT, TEXTS, WORD, PATH, PATHS, REPORT, FLAG };
static const struct argument {
    const char *tool, *name, *option;
    enum kind kind;
    bool required;
    const char *meaning;
} arguments[] = {
#define TOOL(name, file, folder, meaning)
#define ARGUMENT(tool, name, kind, option, required, meaning) \
    {#tool, #name, option, kind, required, meaning},
#include "cli/mcp/mcp_tool.def"
#undef TOOL
#undef ARGUMENT
};
#define ARGUMENT_COUNT (sizeof arguments / sizeof *arguments)

static const struct tool {
    const char *name, *file; /* NULL: its text is all */
    bool folder;
    const char *meaning;
} tools[] = {
#define TOOL(name, file, folder, meaning) {#name, file, folder, meaning},
#define ARGUMENT(tool, name, kind, option, required, meaning)
#include "cli/mcp/mcp_tool.def"
#undef TOOL
#undef ARGUMENT
};
#define TOOL_COUNT (sizeof tools / sizeof *tools)

/* ---- schemas ---- */

static json_t *make_schema(const struct argument *argument)
{
    const bool list = argument->kind == TEXTS || argument->kind == PATHS;
    json_t *schema = json_pack("{s:s, s:s}", "type",
                               list                     ? "array"
                               : argument->kind == FLAG ? "boolean"
                                                        : "string",
                               "description", argument->meaning);
    if (schema && list)
        json_object_set_new(schema, "items", json_pack("{s:s}", "type", "string"));
    return schema;
}

json_t *mcp_tools(void)
{
    json_t *list = json_array();
    for (size_t t = 0; t < TOOL_COUNT; t++) {
        json_t *properties = json_object(), *required = json_array();
        for (size_t a = 0; a < ARGUMENT_COUNT; a++)
            if (strcmp(arguments[a].tool, tools[t].name) == 0) {
                json_object_set_new(properties, arguments[a].name, make_schema(&arguments[a]));
                if (arguments[a].required)
                    json_array_append_new(required, json_string(arguments[a].name));
            }
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:{s:s, s:o, s:o, s:b}, s:{s:b, s:b, s:b}}",
                                        "name", tools[t].name, "description", tools[t].meaning,
                                        "inputSchema", "type", "object", "properties", properties,
                                        "required", required, "additionalProperties", 0,
                                        "annotations", "readOnlyHint", 1, "idempotentHint", 1,
                                        "openWorldHint", 0));
    }
    return list;
}

/* ---- arguments ---- */

struct words {
    char **items;
    size_t count;
    bool failed; /* no memory */
};

static void add_word(struct words *words, const char *option, const char *value)
{
    struct ulp_text text = {0};
    char **grown = realloc(words->items, (words->count + 2) * sizeof *grown);
    ulp_text_add(&text, "%s%s%s", option ? option : "", option && value ? "=" : "",
                 value ? value : "");
    if (!grown || text.failed) {
        words->failed = true;
        ulp_text_free(&text);
        words->items = grown ? grown : words->items;
        return;
    }
    words->items = grown;
    grown[words->count++] = text.data;
    grown[words->count] = NULL;
}

static void free_words(struct words *words)
{
    for (size_t w = 0; w < words->count; w++)
        free(words->items[w]);
    free(words->items);
}

/* Whether the path, without links, lies in the folder. */
static bool is_below(const char *path, const char *folder)
{
    const size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* A path that is there and lies below the root, without links; freed with free(). A list (.txt)
 * would name paths of its own. */
static char *find_path(const struct mcp_server *server, const char *name, const char *given,
                       struct ulp_error *error)
{
    struct ulp_text joined = {0};
    ulp_text_add(&joined, "%s%s%s", *given == '/' ? "" : server->root, *given == '/' ? "" : "/",
                 given);
    char *real = joined.failed ? NULL : realpath(joined.data, NULL);
    ulp_text_free(&joined);
    const bool below = real && is_below(real, server->root),
               list = ulp_text_ends(given, ".txt") || (real && ulp_text_ends(real, ".txt"));
    if (below && !list)
        return real;
    free(real);
    /* what lies outside is not told apart from what is not there */
    ulp_fail(error, ULP_ERROR_USAGE,
             list ? "%s: %s: lists of paths are not taken; give the paths"
                  : "%s: %s: there is no such file or folder below the root",
             name, given);
    return NULL;
}

/* report-3, or a path. */
static char *find_report(const struct mcp_server *server, const struct argument *argument,
                         const char *given, struct ulp_error *error)
{
    struct ulp_text text = {0};
    const size_t digits = strncmp(given, "report-", 7) == 0 ? strspn(given + 7, "0123456789") : 0;
    if (!digits || given[7 + digits])
        return find_path(server, argument->name, given, error);
    ulp_text_add(&text, "%s/%s%s", server->scratch, given,
                 strcmp(argument->tool, "audit") == 0 ? "/plan.json" : "");
    char *real = text.failed ? NULL : realpath(text.data, NULL);
    ulp_text_free(&text);
    if (!real)
        ulp_fail(error, ULP_ERROR_USAGE, "%s: %s: there is no such report of this server",
                 argument->name, given);
    return real;
}

/* Commands read files that stand behind '=' ("fp16,fuse=groups.json"): none of the server's is
 * named that way. */
static bool names_file(const char *text)
{
    for (const char *at = strchr(text, '='); at; at = strchr(at + 1, '='))
        if (memchr(at, '/', strcspn(at, ",")))
            return true;
    return false;
}

static enum ulp_status add_value(const struct mcp_server *server, const struct argument *argument,
                                 const json_t *value, struct words *words, struct ulp_error *error)
{
    const char *text = json_string_value(value);
    char *path = NULL;
    if (!text || !*text)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: expected %s", argument->name,
                        json_is_array(value) ? "one text, not a list" : "a text that is not empty");
    if (argument->kind == PATH || argument->kind == PATHS)
        path = find_path(server, argument->name, text, error);
    else if (argument->kind == REPORT)
        path = find_report(server, argument, text, error);
    else if (names_file(text))
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: %s: no file is named here", argument->name,
                        text);
    if (!path && argument->kind >= PATH)
        return error->status;
    if (!argument->option && argument->kind == WORD)
        add_word(words, NULL, "--");
    add_word(words, argument->option, path ? path : text);
    free(path);
    return ULP_OK;
}

static enum ulp_status add_argument_of(const struct mcp_server *server,
                                       const struct argument *argument, const json_t *value,
                                       struct words *words, struct ulp_error *error)
{
    const bool list = argument->kind == TEXTS || argument->kind == PATHS;
    enum ulp_status status = ULP_OK;
    if (!value)
        return argument->required ? ulp_fail(error, ULP_ERROR_USAGE, "%s: is required: %s",
                                             argument->name, argument->meaning)
                                  : ULP_OK;
    if (argument->kind == FLAG && !json_is_boolean(value))
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: expected true or false", argument->name);
    if (argument->kind == FLAG) {
        if (json_is_true(value))
            add_word(words, argument->option, NULL);
        return ULP_OK;
    }
    if (list && !json_is_array(value))
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: expected a list of texts", argument->name);
    for (size_t i = 0; list && i < json_array_size(value) && status == ULP_OK; i++)
        status = add_value(server, argument, json_array_get(value, i), words, error);
    return list ? status : add_value(server, argument, value, words, error);
}

static enum ulp_status add_arguments(const struct mcp_server *server, const struct tool *tool,
                                     const json_t *given, struct words *words,
                                     struct ulp_error *error)
{
    size_t known = 0;
    for (size_t a = 0; a < ARGUMENT_COUNT; a++) {
        if (strcmp(arguments[a].tool, tool->name) != 0)
            continue;
        const json_t *value = json_object_get(given, arguments[a].name);
        known += value != NULL;
        if (add_argument_of(server, &arguments[a], value, words, error) != ULP_OK)
            return error->status;
    }
    const char *name;
    json_t *value;
    if (known != json_object_size(given))
        json_object_foreach((json_t *)(uintptr_t)given, name, value)
        {
            bool found = false;
            for (size_t a = 0; a < ARGUMENT_COUNT; a++)
                found |= strcmp(arguments[a].tool, tool->name) == 0 &&
                         strcmp(arguments[a].name, name) == 0;
            if (!found)
                return ulp_fail(error, ULP_ERROR_USAGE, "%s: is no argument of %s", name,
                                tool->name);
        }
    return ULP_OK;
}

/* ---- a call ---- */

#define RESULT_BYTES (1 << 20) /* of a result that is handed on as JSON */

/* The file of the result where there is one and it is not too large; NULL: none. */
static json_t *read_result(const char *folder, const char *file)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text path = {0};
    struct stat info;
    json_t *result = NULL;
    ulp_text_add(&path, "%s/%s", folder, file);
    if (!path.failed && stat(path.data, &info) == 0 && info.st_size <= RESULT_BYTES)
        result = json_load_file(path.data, 0, NULL);
    return result;
}

/* Exit codes 0 and 1 are results, the others errors. */
static json_t *make_result(const struct tool *tool, const struct mcp_run *run, const char *folder,
                           const char *id)
{
    const bool done = run->code == 0 || run->code == 1;
    struct ulp_text text = {0};
    ulp_text_add(&text, "%s", run->out);
    if (*run->err)
        ulp_text_add(&text, "%s%s", *run->out ? "\n" : "", run->err);
    json_t *said = text.failed ? NULL : json_string(text.data);
    if (!said) /* no UTF-8, or no memory */
        said = json_string(done ? "done" : "failed");
    ulp_text_free(&text);
    json_t *structured = json_pack("{s:i, s:b}", "exit_code", run->code, "met", run->code == 0);
    json_t *file = done && tool->file ? read_result(folder, tool->file) : NULL;
    if (done && tool->file)
        json_object_set_new(structured, "report", json_string(id));
    if (file)
        json_object_set_new(structured, "result", file);
    return json_pack("{s:[{s:s, s:o}], s:o, s:b}", "content", "type", "text", "text", said,
                     "structuredContent", structured, "isError", !done);
}

static void add_limits(const struct mcp_server *server, const struct tool *tool, const char *folder,
                       struct words *words)
{
    const bool explains = strcmp(tool->name, "explain") == 0;
    add_word(words, "--max-time", server->seconds);
    if (server->sandbox)
        add_word(words, NULL, "--sandbox");
    if (!explains)
        add_word(words, "--max-memory", server->memory);
    if (tool->file && tool->folder)
        add_word(words, "--out", folder);
    else if (tool->file) {
        struct ulp_text path = {0};
        ulp_text_add(&path, "%s/%s", folder, tool->file);
        add_word(words, "--json", path.failed ? folder : path.data);
        ulp_text_free(&path);
        if (strcmp(tool->name, "fix") == 0) {
            ulp_text_add(&path, "%s/fixed.onnx", folder);
            add_word(words, "--out", path.failed ? folder : path.data);
            ulp_text_free(&path);
        }
    }
    if (tool->file)
        add_word(words, NULL, "--quiet");
}

static json_t *run_tool(struct mcp_server *server, const struct tool *tool, const json_t *given,
                        const char *id, const char *folder, struct ulp_error *error)
{
    struct words words = {0};
    struct mcp_run run = {0};
    json_t *result = NULL;
    add_word(&words, NULL, "ulpscope");
    add_word(&words, NULL, strcmp(tool->name, "explain") == 0 ? "list" : tool->name);
    add_limits(server, tool, folder, &words);
    enum ulp_status status = add_arguments(server, tool, given, &words, error);
    if (status == ULP_OK && words.failed)
        status = ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    if (status == ULP_OK && tool->file && mkdir(folder, 0700) != 0)
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: cannot be made", folder);
    if (status == ULP_OK)
        status = mcp_run(words.items, server->scratch, &run, error);
    if (status == ULP_OK) {
        server->reports += tool->file != NULL;
        result = make_result(tool, &run, folder, id);
    }
    mcp_run_free(&run);
    free_words(&words);
    return result;
}

json_t *mcp_call(struct mcp_server *server, const char *name, const json_t *given,
                 struct ulp_error *error)
{
    const struct tool *tool = NULL;
    struct ulp_text folder = {0};
    char id[32];
    for (size_t t = 0; t < TOOL_COUNT; t++)
        if (strcmp(tools[t].name, name) == 0)
            tool = &tools[t];
    if (!tool) {
        ulp_fail(error, ULP_ERROR_USAGE, "there is no tool '%s'", name);
        return NULL;
    }
    snprintf(id, sizeof id, "report-%zu", server->reports + 1);
    ulp_text_add(&folder, "%s/%s", server->scratch, id);
    json_t *result = NULL;
    if (folder.failed)
        ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    else
        result = run_tool(server, tool, given, id, folder.data, error);
    ulp_text_free(&folder);
    /* an agent reads the results of tools and calls again; errors of the protocol may end it */
    return result ? result
                  : json_pack("{s:[{s:s, s:s}], s:b}", "content", "type", "text", "text",
                              error->message, "isError", 1);
}
