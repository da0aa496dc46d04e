/* The tools: their schemas, and a call as the words of a command line. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/mcp/mcp.h"

static const struct tool {
    const char *name;
    const struct command *command;
    const char *file; /* NULL: its text is all */
    bool folder;
    const char *arguments, *meaning;
} tools[] = {
#define TOOL(name, command, file, folder, arguments, meaning) \
    {#name, &command, file, folder, arguments, meaning},
#include "cli/mcp/mcp_tool.def"
#undef TOOL
};
#define TOOL_COUNT (sizeof tools / sizeof *tools)

struct argument {
    char name[40];
    const struct option_row *row;
};

/* The next of a tool's arguments, which *at is moved behind; false: it was the last. */
static bool next_argument(const struct tool *tool, const char **at, struct argument *out)
{
    const char *text = *at + strspn(*at, " ");
    const size_t length = strcspn(text, " "), named = strcspn(text, " =");
    const char *option = named < length ? text + named + 1 : text;
    if (!length)
        return false;
    snprintf(out->name, sizeof out->name, "%.*s", (int)named, text);
    for (char *dash = out->name; (dash = strchr(dash, '-'));)
        *dash = '_';
    *at = text + length;
    out->row = find_option(tool->command, option, (size_t)(*at - option));
    return true;
}

/* ---- schemas ---- */

/* Of "a|b|c" each; NULL: any text. */
static json_t *list_choices(const struct option_row *row)
{
    json_t *list = row->kind == KIND_CHOICE ? json_array() : NULL;
    for (const char *at = row->value; list && *at; at += strcspn(at, "|"), at += *at == '|')
        json_array_append_new(list, json_stringn(at, strcspn(at, "|")));
    return list;
}

/* Whether it is a report, or a plan, that an earlier call wrote. */
static bool takes_report(const struct option_row *row)
{
    return strcmp(row->name, "report") == 0 || strcmp(row->name, "plan") == 0;
}

static json_t *make_schema(const struct option_row *row)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    if (row->value && row->kind != KIND_CHOICE)
        ulp_text_add(&text, "%s: ", row->value);
    shorten_help(&text, row->help);
    if (row->reads)
        ulp_text_add(&text,
                     takes_report(row) ? "; below the root, or a report's id" : "; below the root");
    json_t *schema = json_pack("{s:s, s:s}", "type",
                               row->is_repeated ? "array"
                               : row->value     ? "string"
                                                : "boolean",
                               "description", text.failed ? row->help : text.data);
    if (schema && row->is_repeated)
        json_object_set_new(schema, "items", json_pack("{s:s}", "type", "string"));
    if (schema && row->kind == KIND_CHOICE)
        json_object_set_new(schema, "enum", list_choices(row));
    if (schema && row->fallback)
        json_object_set_new(schema, "default", json_string(row->fallback));
    return schema;
}

json_t *mcp_tools(void)
{
    json_t *list = json_array();
    for (size_t t = 0; t < TOOL_COUNT; t++) {
        json_t *properties = json_object(), *required = json_array();
        struct argument argument;
        for (const char *at = tools[t].arguments; next_argument(&tools[t], &at, &argument);) {
            json_object_set_new(properties, argument.name, make_schema(argument.row));
            if (argument.row->missing)
                json_array_append_new(required, json_string(argument.name));
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

/* A path, or report-3: of a plan its file. */
static char *find_input(const struct mcp_server *server, const struct argument *argument,
                        const char *given, struct ulp_error *error)
{
    struct ulp_text text = {0};
    const size_t digits = strncmp(given, "report-", 7) == 0 ? strspn(given + 7, "0123456789") : 0;
    if (!takes_report(argument->row) || !digits || given[7 + digits])
        return find_path(server, argument->name, given, error);
    ulp_text_add(&text, "%s/%s%s", server->scratch, given,
                 strcmp(argument->name, "plan") == 0 ? "/plan.json" : "");
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
    const struct option_row *row = argument->row;
    const char *text = json_string_value(value);
    char option[80];
    if (!text || !*text)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: expected %s", argument->name,
                        json_is_array(value) ? "one text, not a list" : "a text that is not empty");
    if (!row->reads && names_file(text))
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: %s: no file is named here", argument->name,
                        text);
    ULP_SCOPED(ulp_scoped_free)
    char *path = row->reads ? find_input(server, argument, text, error) : NULL;
    if (row->reads && !path)
        return error->status;
    add_word(words, row->is_word ? NULL : say_option(row, option), path ? path : text);
    return ULP_OK;
}

static enum ulp_status add_argument_of(const struct mcp_server *server,
                                       const struct argument *argument, const json_t *value,
                                       struct words *words, struct ulp_error *error)
{
    const struct option_row *row = argument->row;
    char option[80];
    if (!value)
        return row->missing ? ulp_fail(error, ULP_ERROR_USAGE, "%s: is required: %s",
                                       argument->name, row->help)
                            : ULP_OK;
    if (!row->value && !json_is_boolean(value))
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: expected true or false", argument->name);
    if (!row->value) {
        if (json_is_true(value))
            add_word(words, say_option(row, option), NULL);
        return ULP_OK;
    }
    if (!row->is_repeated)
        return add_value(server, argument, value, words, error);
    if (!json_is_array(value))
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: expected a list of texts", argument->name);
    for (size_t i = 0; i < json_array_size(value); i++)
        ULP_TRY(add_value(server, argument, json_array_get(value, i), words, error));
    return ULP_OK;
}

static bool has_argument(const struct tool *tool, const char *name)
{
    struct argument argument;
    for (const char *at = tool->arguments; next_argument(tool, &at, &argument);)
        if (strcmp(argument.name, name) == 0)
            return true;
    return false;
}

/* Options, then behind "--" words, which are none. */
static enum ulp_status add_arguments(const struct mcp_server *server, const struct tool *tool,
                                     const json_t *given, struct words *words,
                                     struct ulp_error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)given, name, value)
    {
        if (!has_argument(tool, name))
            return ulp_fail(error, ULP_ERROR_USAGE, "%s: is no argument of %s", name, tool->name);
    }
    for (int are_words = 0; are_words < 2; are_words++) {
        struct argument argument;
        if (are_words)
            add_word(words, NULL, "--");
        for (const char *at = tool->arguments; next_argument(tool, &at, &argument);)
            if (argument.row->is_word == are_words)
                ULP_TRY(add_argument_of(server, &argument, json_object_get(given, argument.name),
                                        words, error));
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
    add_word(words, "--max-time", server->seconds);
    if (!server->no_sandbox)
        add_word(words, NULL, "--sandbox");
    if (find_option(tool->command, "max-memory", strlen("max-memory")))
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
    add_word(&words, NULL, tool->command->name);
    add_limits(server, tool, folder, &words);
    enum ulp_status status = add_arguments(server, tool, given, &words, error);
    if (status == ULP_OK && words.failed)
        status = ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    if (status == ULP_OK && tool->file && mkdir(folder, 0700) != 0)
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: cannot be made", folder);
    ULP_THEN(status, mcp_run(words.items, server->scratch, &run, error));
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
