/* Writing the page: see html.h. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ulpscope.h>
#include <zlib.h>

#include "analysis/html/html.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/machine/file.h"
#include "analysis/writing/document.h"
#include "analysis/writing/folder.h"
#include "analysis/writing/json_value.h"
#include "base/machine/sha256.h"
#include "data/data.h"
#include "data/json_file.h"

/* Text between tags, or in an attribute between quotation marks: foreign characters as messages
 * show them, those of HTML as entities. */
static void put_html(struct ulp_text *out, const char *value)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text shown = {0};
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
}

static const char *find_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static const char *find_file_name(const struct ulp_document *document)
{
    const char *slash = strrchr(document->model, '/');
    return slash ? slash + 1 : document->model;
}

/* What the page says where scripts are not run. */
static void put_headlines(struct ulp_text *out, const struct ulp_document *document)
{
    ulp_text_add(out, "<noscript><p>This report is drawn by the script in it, which is not run "
                      "here.</p>");
    for (size_t b = 0; b < document->block_count; b++) {
        const struct ulp_document_block *block = &document->blocks[b];
        for (int t = 1; t < 4 && block->kind == ULP_BLOCK_HEADLINE; t++) {
            ulp_text_add(out, "<p>");
            put_html(out, block->text[t] ? block->text[t] : "");
            ulp_text_add(out, "</p>");
        }
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

/* ---- the data: JSON, deflated, in base64 ---- */

struct data {
    struct ulp_text json; /* what is not deflated yet: the first member, for take_json */
    z_stream stream;
    struct ulp_text *out;
    unsigned char bytes[3 << 14]; /* in threes, so that base64 has padding at its end alone */
};

/* What is deflated goes out, and deflating goes on in the same bytes. */
static void put_bytes(struct data *data)
{
    const void *const bytes = data->bytes;
    const size_t count = sizeof data->bytes - data->stream.avail_out;
    char *text = ulp_base64_encode(&bytes, &count, 1, NULL);
    data->out->failed |= !text;
    ulp_text_add(data->out, "%s\n", text ? text : "");
    ulp_free(text);
    data->stream.next_out = data->bytes;
    data->stream.avail_out = sizeof data->bytes;
}

static void deflate_json(struct data *data, int flush)
{
    size_t rest = data->json.length;
    int code = Z_OK;
    data->stream.next_in = (unsigned char *)data->json.data;
    data->json.length = 0;
    while (rest || data->stream.avail_in || (flush == Z_FINISH && code != Z_STREAM_END)) {
        if (!data->stream.avail_in) {
            data->stream.avail_in = rest < UINT_MAX ? (unsigned)rest : UINT_MAX;
            rest -= data->stream.avail_in;
        }
        code = deflate(&data->stream, rest ? Z_NO_FLUSH : flush);
        if (!data->stream.avail_out || code == Z_STREAM_END)
            put_bytes(data);
    }
}

static void take_json(struct ulp_text *text)
{
    struct data *data = (struct data *)(void *)text;
    if (text->length >= sizeof data->bytes)
        deflate_json(data, Z_NO_FLUSH);
    text->failed |= data->out->failed;
}

/* The formats that pictures of ranges show. */
static void put_formats(struct ulp_text *out)
{
    const struct ulp_format *format;
    const char *comma = "";
    for (size_t i = 0; (format = ulp_format_row(i)) != NULL; i++) {
        if (format->carrier == ULP_CARRIER_MPFR)
            continue;
        ulp_text_add(
            out, "%s{\"name\":\"%s\",\"precision\":%d,\"emin\":%d,\"emax\":%d,\"largest\":%.9g}",
            comma, format->name, format->precision, format->emin, format->emax, format->max_finite);
        comma = ",";
    }
}

/* The day of the run, or of the file that keeps its report (SOURCE_DATE_EPOCH stands for both, so
 * that pages can be made again), and what model it was: a file that may be another by now is not
 * asked. */
static void put_origin(const struct ulp_html_report *report, struct ulp_text *out)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH"), *path = find_text(report->root, "model_path");
    const time_t when = epoch && *epoch ? (time_t)strtoll(epoch, NULL, 10)
                        : report->saved ? report->saved
                                        : time(NULL);
    struct tm day;
    char digest[65], date[32];
    uint64_t bytes;
    if (gmtime_r(&when, &day) && strftime(date, sizeof date, "%Y-%m-%d", &day))
        ulp_text_add(out, ",\"date\":\"%s\"", date);
    if (!report->saved && ulp_file_sha256(path, digest, &bytes))
        ulp_text_add(out, ",\"model\":{\"sha256\":\"%s\",\"bytes\":%" PRIu64 "}", digest, bytes);
}

/* The value as text, and freed. */
static void put_json(struct ulp_text *out, json_t *value)
{
    char *text =
        value ? ulp_json_dump(value, JSON_COMPACT | JSON_REAL_PRECISION(ULP_HTML_DIGITS)) : NULL;
    out->failed |= !text;
    ulp_text_add(out, "%s", text ? text : "");
    free(text);
    json_decref(value);
}

static enum ulp_status put_reports(const struct ulp_html_report *reports,
                                   const struct ulp_document *documents, size_t count,
                                   struct ulp_text *out, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    ulp_text_add(out, "{\"version\":\"%s\"", ulp_version());
    put_origin(&reports[0], out);
    ulp_text_add(out, ",\"formats\":[");
    put_formats(out);
    ulp_text_add(out, "],\"reports\":[");
    for (size_t r = 0; r < count && status == ULP_OK; r++) {
        ulp_text_add(out, "%s{\"kind\":\"%s\",\"document\":", r ? "," : "", reports[r].kind);
        put_json(out, ulp_document_page(&documents[r]));
        ulp_text_add(out, ",\"root\":");
        if (reports[r].put)
            status = reports[r].put(reports[r].context, out, error);
        else
            put_json(out, json_incref(reports[r].root));
        ulp_text_add(out, "}");
    }
    ulp_text_add(out, "]}");
    return status;
}

static enum ulp_status put_data(const struct ulp_html_report *reports,
                                const struct ulp_document *documents, size_t count,
                                struct ulp_text *out, struct ulp_error *error)
{
    struct data *data = calloc(1, sizeof *data);
    if (!data || deflateInit(&data->stream, Z_DEFAULT_COMPRESSION) != Z_OK) {
        free(data);
        return ulp_out_of_memory(error);
    }
    data->json.grown = take_json;
    data->out = out;
    data->stream.next_out = data->bytes;
    data->stream.avail_out = sizeof data->bytes;
    const enum ulp_status status = put_reports(reports, documents, count, &data->json, error);
    deflate_json(data, Z_FINISH);
    out->failed |= data->json.failed;
    deflateEnd(&data->stream);
    ulp_text_free(&data->json);
    free(data);
    return status;
}

static enum ulp_status put_page(const struct ulp_html_report *reports,
                                const struct ulp_document *documents, size_t count,
                                struct ulp_text *out, struct ulp_error *error)
{
    ulp_text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(out);
    ulp_text_add(out,
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<meta name=\"generator\" content=\"ulpscope %s\">\n<title>",
                 ulp_version());
    put_html(out, find_file_name(&documents[0]));
    ulp_text_add(out, " · ulpscope</title>\n<style>\n");
    put_whole(out, ulp_html_style);
    ulp_text_add(out, "</style>\n</head>\n<body>\n");
    put_whole(out, ulp_html_body);
    put_headlines(out, &documents[0]);
    ulp_text_add(out, "<script type=\"application/octet-stream\" id=\"data\">\n");
    const enum ulp_status status = put_data(reports, documents, count, out, error);
    ulp_text_add(out, "</script>\n<script>");
    put_whole(out, ulp_html_script);
    ulp_text_add(out, "</script>\n</body>\n</html>\n");
    return status;
}

enum ulp_status ulp_html_write(const struct ulp_html_report *reports, size_t count,
                               const char *path, struct ulp_error *error)
{
    struct ulp_text out;
    ULP_SCOPED(ulp_scoped_free) struct ulp_document *documents = calloc(count, sizeof *documents);
    ULP_TRY(ulp_taken(documents, error));
    enum ulp_status status = ulp_text_open(&out, path, error);
    if (status != ULP_OK)
        return status;
    for (size_t r = 0; r < count && status == ULP_OK; r++)
        status = ulp_document_make(reports[r].kind, reports[r].root, &documents[r], error);
    ULP_THEN(status, put_page(reports, documents, count, &out, error));
    for (size_t r = 0; r < count; r++)
        ulp_document_free(&documents[r]);
    const enum ulp_status closed = ulp_text_close(&out, status == ULP_OK, error);
    return status == ULP_OK ? closed : status;
}

static enum ulp_status write_markdown(const char *kind, json_t *root, const char *path,
                                      struct ulp_error *error)
{
    struct ulp_document document = {0};
    struct ulp_text out;
    enum ulp_status status =
        root ? ulp_document_make(kind, root, &document, error) : ulp_out_of_memory(error);
    if (status == ULP_OK && (status = ulp_text_open(&out, path, error)) == ULP_OK) {
        ulp_document_markdown(&document, &out);
        status = ulp_text_close(&out, true, error);
    }
    ulp_document_free(&document);
    json_decref(root);
    return status;
}

enum ulp_status ulp_html_write_as(const char *kind, enum ulp_output_kind as, json_t *root,
                                  const char *path, struct ulp_error *error)
{
    ULP_ENTER(error);
    char name[32];
    snprintf(name, sizeof name, "%s.json", kind);
    if (as == ULP_OUTPUT_MARKDOWN)
        return write_markdown(kind, root, path, error);
    if (as != ULP_OUTPUT_HTML)
        return as == ULP_OUTPUT_FOLDER ? ulp_report_write_json(root, path, name, error)
                                       : ulp_json_write(root, path, error);
    const struct ulp_html_report report = {.kind = kind, .root = root};
    const enum ulp_status status =
        root ? ulp_html_write(&report, 1, path, error) : ulp_out_of_memory(error);
    json_decref(root);
    return status;
}
