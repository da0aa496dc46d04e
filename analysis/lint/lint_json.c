/* The result of a lint as JSON (doc/lint.md) and as SARIF 2.1.0 (OASIS standard). */
#include <ulpscope.h>

#include "analysis/lint/lint.h"
#include "analysis/html/said.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "base/machine/environment.h"
#include "base/error.h"

static json_t *make_targets(unsigned targets)
{
    json_t *names = json_array();
    const struct ulp_target *target;
    for (size_t t = 0; (target = ulp_target(t)); t++)
        if (targets & target->bit)
            ulp_json_append(&names, json_string(target->name));
    return names;
}

static json_t *make_lint_tiles(const void *result)
{
    const struct ulp_lint_result *lint = result;
    json_t *tiles = json_array();
    ulp_tile_count(&tiles, ULP_TILE_BAD, "Errors", lint->counts[ULP_SEVERITY_ERROR]);
    ulp_tile_count(&tiles, ULP_TILE_WARN, "Warnings", lint->counts[ULP_SEVERITY_WARNING]);
    ulp_tile_count(&tiles, ULP_TILE_PLAIN, "Notes", lint->counts[ULP_SEVERITY_NOTE]);
    ulp_tile_add(&tiles, ULP_TILE_PLAIN, "Nodes looked at", "%zu", lint->node_count);
    if (lint->unplanned)
        ulp_tile_note(&tiles, -1, "shapes are not known");
    return tiles;
}

static void add_targets(struct ulp_json_writer *writer, const void *result)
{
    const struct ulp_lint_result *lint = result;
    json_t *notes = json_array();
    ulp_json_put(writer, "targets", make_targets(lint->targets));
    if (lint->unplanned)
        ulp_note_add(&notes, "",
                     "operators that are written out as several nodes were not looked for: %s",
                     lint->unplanned);
    if (lint->assumed)
        ulp_note_add(&notes, "",
                     "taken as 1, so that findings may be hidden: %s (--dim, --shape or --inputs "
                     "says what they are)",
                     lint->assumed);
    ulp_json_put(writer, "notes", notes);
}

/* Why a finding matters, beside what it is and what to do. */
static void add_why(struct ulp_json_writer *writer, const void *finding, const void *context)
{
    const struct ulp_finding *found = finding;
    (void)context;
    ulp_json_put(writer, "why", ulp_json_text(ulp_lint_rows[found->row].rule.why));
}

static const struct ulp_json_hook hooks[] = {{&ulp_struct_finding, add_why, NULL}};
const struct ulp_said ulp_lint_said = {"lint",
                                       &ulp_struct_lint_result,
                                       .conclude = ulp_lint_conclude,
                                       .tiles = make_lint_tiles,
                                       .rest = add_targets,
                                       .hooks = hooks,
                                       .hook_count = 1};
ULP_SAID_WRITE(lint, ulp_lint_result, ulp_lint_said)

enum ulp_status ulp_lint_text(const struct ulp_lint_result *result, size_t shown, int width,
                              bool colour, char **out, struct ulp_error *error)
{
    ULP_ENTER(error);
    return ulp_said_text(&ulp_lint_said, result, shown, width, colour, out, error);
}

/* ---- SARIF ---- */

#define SCHEMA \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

/* {"text": ...} */
static json_t *make_message(const char *text)
{
    return ulp_json_object("text", ulp_json_text(text), NULL);
}

/* A list of one. */
static json_t *make_list(json_t *element)
{
    json_t *list = json_array();
    ulp_json_append(&list, element);
    return list;
}

/* A path as a URI reference: RFC 3986 allows these characters in a path. */
static json_t *make_uri(const char *path)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text uri = {0};
    for (const char *c = path; *c; c++) {
        const bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                           (*c >= '0' && *c <= '9') || strchr("-._~/!$&'()*+,;=@", *c);
        ulp_text_add(&uri, plain ? "%c" : "%%%02X", plain ? *c : (unsigned char)*c);
    }
    return uri.failed ? NULL : json_string(uri.data ? uri.data : "");
}

static json_t *make_rule(const struct ulp_lint_rule *rule)
{
    json_t *level = json_string(ulp_severity_name(rule->severity)),
           *properties = ulp_json_object("source", json_string(rule->source), "runtimes",
                                         make_targets(rule->targets), NULL);
    return ulp_json_object("id", json_string(rule->id), "shortDescription",
                           make_message(rule->what), "fullDescription", make_message(rule->why),
                           "help", make_message(rule->fix), "defaultConfiguration",
                           ulp_json_object("level", level, NULL), "properties", properties, NULL);
}

static json_t *make_location(const struct ulp_lint_result *result,
                             const struct ulp_finding *finding)
{
    json_t *artifact = ulp_json_object("uri", make_uri(result->model_path), NULL),
           *physical = ulp_json_object("artifactLocation", artifact, NULL),
           *location = ulp_json_object("physicalLocation", physical, NULL);
    if (finding->node)
        ulp_json_set(&location, "logicalLocations",
                     make_list(ulp_json_object("name", ulp_json_text(finding->node), "kind",
                                               json_string("element"), NULL)));
    return location;
}

static json_t *make_result(const struct ulp_lint_result *result, const struct ulp_finding *finding)
{
    const struct ulp_lint_rule *rule = &ulp_lint_rows[finding->row].rule;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    if (finding->node)
        ulp_text_show(&text, "%s (%s): ", finding->node, finding->op);
    ulp_text_add(&text, "%s", finding->text);
    return ulp_json_object("ruleId", json_string(rule->id), "ruleIndex",
                           json_integer((json_int_t)finding->row), "level",
                           json_string(ulp_severity_name(rule->severity)), "message",
                           text.failed ? NULL : make_message(text.data), "locations",
                           make_list(make_location(result, finding)), NULL);
}

static json_t *make_sarif(const struct ulp_lint_result *result)
{
    json_t *rules = json_array(), *results = json_array();
    for (size_t r = 0; r < ulp_lint_row_count; r++)
        ulp_json_append(&rules, make_rule(&ulp_lint_rows[r].rule));
    for (size_t f = 0; f < result->finding_count; f++)
        ulp_json_append(&results, make_result(result, &result->findings[f]));
    json_t *driver = ulp_json_object("name", json_string("ulpscope"), "version",
                                     json_string(ulp_version()), "rules", rules, NULL),
           *tool = ulp_json_object("driver", driver, NULL),
           *run = ulp_json_object("tool", tool, "results", results, NULL);
    return ulp_json_object("$schema", json_string(SCHEMA), "version", json_string("2.1.0"), "runs",
                           make_list(run), NULL);
}

enum ulp_status ulp_lint_write_sarif(const struct ulp_lint_result *result, const char *path,
                                     struct ulp_error *error)
{
    ULP_ENTER(error);
    return ulp_json_write(make_sarif(result), path, error);
}
