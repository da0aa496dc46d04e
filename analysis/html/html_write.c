/* Writing the page: see html.h. */
#include <string.h>

#include <ulpscope.h>

#include "analysis/html/html.h"
#include "analysis/html/html_pack.h"
#include "analysis/writing/json_value.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/machine/file.h"

/* Text between tags, or in an attribute between quotation marks: foreign characters as messages
 * show them, those of HTML as entities. */
static void put_html(struct ulp_text *out, const char *value)
{
    struct ulp_text shown = {0};
    ulp_text_show(&shown, "%s", value);
    for (const char *c = shown.data; c && *c; c++)
        switch (*c) {
        case '&': ulp_text_add(out, "&amp;"); break;
        case '<': ulp_text_add(out, "&lt;"); break;
        case '>': ulp_text_add(out, "&gt;"); break;
        case '"': ulp_text_add(out, "&quot;"); break;
        default: ulp_text_put(out, c, 1);
        }
    out->failed |= shown.failed;
    ulp_text_free(&shown);
}

static const char *find_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* "model": a path, or an object that has it. */
static const char *find_model(const json_t *root)
{
    const json_t *model = json_object_get(root, "model");
    const char *path = json_is_object(model) ? find_text(model, "path") : find_text(root, "model");
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* What the page says where scripts are not run. */
static void put_verdicts(struct ulp_text *out, const json_t *root)
{
    const json_t *lane;
    size_t l;
    ulp_text_add(out, "<noscript><p>This report is drawn by the script in it, which is not run "
                      "here.</p>");
    json_array_foreach(json_object_get(root, "arithmetics"), l, lane)
    {
        if (!*find_text(lane, "verdict"))
            continue;
        ulp_text_add(out, "<p><strong>");
        put_html(out, find_text(lane, "name"));
        ulp_text_add(out, "</strong>: ");
        put_html(out, find_text(lane, "verdict"));
        ulp_text_add(out, "</p>");
    }
    ulp_text_add(out, "</noscript>\n");
}

/* The script is the only one that runs, and nothing is fetched. */
static void put_policy(struct ulp_text *out)
{
    ulp_text_add(out,
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; script-src ");
    if (*ulp_html_script_hash)
        ulp_text_add(out, "'sha256-%s'\">\n", ulp_html_script_hash);
    else
        ulp_text_add(out, "'unsafe-inline'\">\n");
}

static void put_whole(struct ulp_text *out, const char *text)
{
    ulp_text_put(out, text, strlen(text));
}

/* The formats that pictures of ranges show. */
static bool put_formats(struct ulp_text *out)
{
    const struct ulp_format *format;
    bool whole = true;
    ulp_text_add(out, "[");
    for (size_t i = 0, shown = 0; (format = ulp_format_row(i)) != NULL; i++) {
        if (format->carrier == ULP_CARRIER_MPFR)
            continue;
        ulp_text_add(out, "%s{\"name\":", shown++ ? "," : "");
        whole = whole && ulp_html_pack_string(format->name, out);
        ulp_text_add(out, ",\"precision\":%d,\"emin\":%d,\"emax\":%d,\"largest\":%.9g}",
                     format->precision, format->emin, format->emax, format->max_finite);
    }
    ulp_text_add(out, "]");
    return whole;
}

static bool put_nodes(const struct ulp_html_report *report, size_t lane, struct ulp_text *out)
{
    struct ulp_html_pack *pack = ulp_html_pack_create();
    const size_t count = report->count(report->context, lane);
    for (size_t n = 0; pack && n < count; n++)
        ulp_html_pack_add(pack, report->node(report->context, lane, n));
    const bool whole = pack && ulp_html_pack_put(pack, out);
    ulp_html_pack_free(pack);
    return whole;
}

static bool put_places(const struct ulp_html_report *report, struct ulp_text *out)
{
    struct ulp_html_pack *pack = ulp_html_pack_create();
    for (size_t n = 0; pack && n < report->place_count; n++)
        ulp_html_pack_add(pack, report->place(report->context, n));
    const bool whole = pack && ulp_html_pack_put(pack, out);
    ulp_html_pack_free(pack);
    return whole;
}

static bool put_report(const struct ulp_html_report *report, struct ulp_text *out)
{
    ulp_text_add(out, "{\"kind\":\"%s\",\"root\":", report->kind);
    bool whole = ulp_html_pack_value(report->root, out);
    if (report->node) {
        ulp_text_add(out, ",\n\"graph\":");
        whole = whole && put_places(report, out);
        ulp_text_add(out, ",\n\"nodes\":[");
        for (size_t l = 0; l < report->lane_count && whole; l++) {
            ulp_text_add(out, l ? ",\n" : "");
            whole = put_nodes(report, l, out);
        }
        ulp_text_add(out, "]");
    }
    ulp_text_add(out, "}");
    return whole;
}

static bool put_page(const struct ulp_html_report *reports, size_t count, struct ulp_text *out)
{
    bool whole = true;
    ulp_text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(out);
    ulp_text_add(out,
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<meta name=\"generator\" content=\"ulpscope %s\">\n<title>",
                 ulp_version());
    put_html(out, find_model(reports[0].root));
    ulp_text_add(out, " · ulpscope</title>\n<style>\n");
    put_whole(out, ulp_html_style);
    ulp_text_add(out, "</style>\n</head>\n<body>\n");
    put_whole(out, ulp_html_body);
    put_verdicts(out, reports[0].root);
    ulp_text_add(out, "<script type=\"application/json\" id=\"data\">\n{\"version\":");
    whole = whole && ulp_html_pack_string(ulp_version(), out);
    ulp_text_add(out, ",\"formats\":");
    whole = whole && put_formats(out);
    ulp_text_add(out, ",\"reports\":[");
    for (size_t r = 0; r < count && whole; r++) {
        ulp_text_add(out, r ? ",\n" : "");
        whole = put_report(&reports[r], out);
    }
    ulp_text_add(out, "]}\n</script>\n<script>");
    put_whole(out, ulp_html_script);
    ulp_text_add(out, "</script>\n</body>\n</html>\n");
    return whole;
}

enum ulp_status ulp_html_write(const struct ulp_html_report *reports, size_t count,
                               const char *path, struct ulp_error *error)
{
    struct ulp_text out;
    enum ulp_status status = ulp_text_open(&out, path, error);
    if (status != ULP_OK)
        return status;
    if (!put_page(reports, count, &out) && !out.failed)
        status = ulp_fail_memory(error, "out of memory for the page");
    const enum ulp_status closed = ulp_text_close(&out, status == ULP_OK, error);
    return status == ULP_OK ? closed : status;
}

enum ulp_status ulp_html_write_root(const char *kind, json_t *root, const char *path,
                                    struct ulp_error *error)
{
    const struct ulp_html_report report = {.kind = kind, .root = root};
    const enum ulp_status status = root ? ulp_html_write(&report, 1, path, error)
                                        : ulp_fail_memory(error, "out of memory for the page");
    json_decref(root);
    return status;
}
