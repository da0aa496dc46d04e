/* The page of an audit, and of reports read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/html/html.h"
#include "analysis/report/json_node.h"
#include "analysis/report/report.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "data/json_file.h"

/* ---- of an audit ---- */

static size_t count_nodes(const void *context, size_t lane)
{
    const struct ulp_audit *audit = context;
    return audit->lanes[lane].node_count;
}

static json_t *make_node(const void *context, size_t lane, size_t n)
{
    const struct ulp_audit *audit = context;
    return ulp_json_node(audit, &audit->lanes[lane], &audit->lanes[lane].nodes[n]);
}

static json_t *make_place(const void *context, size_t n)
{
    const struct ulp_audit *audit = context;
    return ulp_json_place(&audit->places[n]);
}

enum ulp_status ulp_report_html(const struct ulp_audit *audit, const char *path,
                                struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_text head = {0};
    enum ulp_status status = ulp_report_json_head(audit, &head, error);
    if (status == ULP_OK && head.failed)
        status = ulp_fail_memory(error, "out of memory for the page");
    json_t *root = status == ULP_OK ? ulp_json_load(head.data, head.length, 0, NULL) : NULL;
    ulp_text_free(&head);
    if (status == ULP_OK && !root)
        status = ulp_fail_memory(error, "out of memory for the page");
    if (status == ULP_OK)
        status = ulp_html_write(&(struct ulp_html_report){.kind = "audit",
                                                          .root = root,
                                                          .context = audit,
                                                          .lane_count = audit->lane_count,
                                                          .place_count = audit->place_count,
                                                          .count = count_nodes,
                                                          .node = make_node,
                                                          .place = make_place},
                                1, path, error);
    json_decref(root);
    return status;
}

/* ---- of files ---- */

/* The files in a folder, in the order of the page; a report is of the kind whose member it has. */
static const struct {
    const char *kind, *file, *member;
} known[] = {{"audit", "report.json", "peak_tensor_bytes"},
             {"bits", "bits.json", "uniforms"}, /* a plan, too, and of layers */
             {"plan", "plan.json", "keep"},
             {"overflow", "overflow.json", "formats"},
             {"compare", "compare.json", "tensors"},
             {"engine", "engine.json", "layers"},
             {"proof", "proof.json", "hidden_unproven"},
             {"lint", "lint.json", "findings"},
             {"study", "study.json", "sweeps"}};
enum { KNOWN = sizeof known / sizeof *known };

/* Nodes as the report has them, taken out of its root. */
struct read_report {
    json_t *lanes[64], *graph;
};

struct reading {
    struct ulp_html_report reports[KNOWN];
    struct read_report parts[KNOWN];
    size_t charged[KNOWN]; /* for the documents, until the page is written */
    size_t count;
};

static size_t count_read(const void *context, size_t lane)
{
    return json_array_size(((const struct read_report *)context)->lanes[lane]);
}

static json_t *take_node(const void *context, size_t lane, size_t n)
{
    return json_incref(json_array_get(((const struct read_report *)context)->lanes[lane], n));
}

static json_t *take_place(const void *context, size_t n)
{
    return json_incref(json_array_get(((const struct read_report *)context)->graph, n));
}

/* Move what is of single nodes out of the root. */
static void part_audit(struct ulp_html_report *report, struct read_report *parts)
{
    json_t *lane;
    size_t l;
    report->context = parts;
    report->count = count_read;
    report->node = take_node;
    report->place = take_place;
    parts->graph = json_incref(json_object_get(report->root, "graph"));
    json_object_del(report->root, "graph");
    report->place_count = json_array_size(parts->graph);
    json_array_foreach(json_object_get(report->root, "arithmetics"), l, lane)
    {
        if (l == sizeof parts->lanes / sizeof *parts->lanes)
            break;
        parts->lanes[l] = json_incref(json_object_get(lane, "nodes"));
        json_object_del(lane, "nodes");
        report->lane_count = l + 1;
    }
}

static enum ulp_status read_one(struct reading *reading, const char *path,
                                struct ulp_budget *budget, struct ulp_error *error)
{
    json_t *root;
    size_t k = 0, charged;
    const enum ulp_status status = ulp_json_file_load(path, budget, &root, &charged, error);
    if (status != ULP_OK)
        return status;
    while (k < KNOWN && !json_object_get(root, known[k].member))
        k++;
    if (k == KNOWN) {
        ulp_json_file_free(root, budget, charged);
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: is no report of ulpscope", path);
    }
    struct ulp_html_report *report = &reading->reports[reading->count];
    *report = (struct ulp_html_report){.kind = known[k].kind, .root = root};
    reading->charged[reading->count] = charged;
    if (strcmp(report->kind, "audit") == 0)
        part_audit(report, &reading->parts[reading->count]);
    reading->count++;
    return ULP_OK;
}

static enum ulp_status read_folder(struct reading *reading, const char *folder,
                                   struct ulp_budget *budget, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t k = 0; k < KNOWN && status == ULP_OK; k++) {
        struct ulp_text path = {0};
        struct stat info;
        ulp_text_add(&path, "%s/%s", folder, known[k].file);
        if (path.failed)
            status = ulp_fail_memory(error, "out of memory for a path");
        else if (stat(path.data, &info) == 0)
            status = read_one(reading, path.data, budget, error);
        ulp_text_free(&path);
    }
    if (status == ULP_OK && !reading->count)
        status = ulp_fail(error, ULP_ERROR_INPUT,
                          "%s: there is no report in it (report.json, overflow.json, ...)", folder);
    return status;
}

enum ulp_status ulp_saved_html(const char *report, struct ulp_budget *budget, const char *path,
                               struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct stat info;
    struct reading *reading = calloc(1, sizeof *reading);
    if (!reading)
        return ulp_fail_memory(error, "out of memory for the page");
    const bool folder = stat(report, &info) == 0 && S_ISDIR(info.st_mode);
    enum ulp_status status = folder ? read_folder(reading, report, budget, error)
                                    : read_one(reading, report, budget, error);
    if (status == ULP_OK)
        status = ulp_html_write(reading->reports, reading->count, path, error);
    for (size_t r = 0; r < reading->count; r++) {
        json_decref(reading->parts[r].graph);
        for (size_t l = 0; l < reading->reports[r].lane_count; l++)
            json_decref(reading->parts[r].lanes[l]);
        ulp_json_file_free(reading->reports[r].root, budget, reading->charged[r]);
    }
    free(reading);
    return status;
}
