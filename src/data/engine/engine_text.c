/* Layers among the lines of a log: of trtexec --verbose or --dumpLayerInfo, or of a program that
 * prints what the engine inspector gives. Lines may begin in "[11/22/2026-10:00:00] [V] [TRT] ". */
#define _GNU_SOURCE /* memmem */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "data/engine/reading.h"

/* A log as it is read. */
struct log {
    struct ulp_engine_reading *reading;
    struct ulp_names tactics; /* "0x..." to a kernel's number */
    const char **kernels;
    size_t kernel_count, kernel_capacity;
    bool names; /* in a list of names only, under "Layers:" */
    bool bindings;
};

/* Behind the bracketed prefixes of a logger. */
static const char *skip_prefix(const char *at, const char *end)
{
    for (int i = 0; i < 4 && at < end && *at == '['; i++) {
        const char *close = memchr(at, ']', (size_t)(end - at));
        const size_t inside = close ? (size_t)(close - at - 1) : 0;
        const bool logger = close && ((inside == 1 && strchr("VIWE", at[1])) ||
                                      (inside == 3 && memcmp(at + 1, "TRT", 3) == 0) ||
                                      (inside >= 10 && isdigit((unsigned char)at[1]) &&
                                       isdigit((unsigned char)at[2]) && at[3] == '/'));
        if (!logger)
            break;
        at = close + 1;
        while (at < end && *at == ' ')
            at++;
    }
    return at;
}

/* "... Set Tactic Name: KERNEL Tactic: 0x12 ..." */
static enum ulp_status note_tactic(struct log *log, const char *at, const char *end,
                                   struct ulp_error *error)
{
    static const char mark[] = "Set Tactic Name: ", other[] = " Tactic: 0x";
    const char *name = memmem(at, (size_t)(end - at), mark, sizeof mark - 1);
    const char *hash = name ? memmem(name, (size_t)(end - name), other, sizeof other - 1) : NULL;
    if (!hash)
        return ULP_OK;
    name += sizeof mark - 1;
    const char *number = hash + sizeof other - 3, *after = number;
    while (after < end && isalnum((unsigned char)*after))
        after++;
    const char *key, *kernel;
    struct ulp_engine_reading *reading = log->reading;
    ULP_TRY(ulp_engine_text(reading, number, (size_t)(after - number), &key, error));
    if (ulp_names_find(&log->tactics, key) >= 0 || hash <= name)
        return ULP_OK;
    ULP_TRY(ulp_engine_text(reading, name, (size_t)(hash - name), &kernel, error));
    ULP_TRY(ulp_grow(&log->kernels, log->kernel_count, &log->kernel_capacity, sizeof *log->kernels,
                     ulp_arena_budget(reading->arena), "kernels", error));
    log->kernels[log->kernel_count] = kernel;
    return ulp_names_add(&log->tactics, key, (int)log->kernel_count++) ? ULP_OK
                                                                       : ulp_out_of_memory(error);
}

/* "Set layer NAME to precision fp32", of trtexec's --layerPrecisions. The last " to precision "
 * counts: names hold anything. */
static enum ulp_status note_setting(struct log *log, const char *at, const char *end,
                                    struct ulp_error *error)
{
    static const char begin[] = "Set layer ", mark[] = " to precision ";
    struct ulp_engine_reading *reading = log->reading;
    struct ulp_engine *engine = reading->engine;
    const char *last = NULL;
    if ((size_t)(end - at) <= sizeof begin || memcmp(at, begin, sizeof begin - 1) != 0)
        return ULP_OK;
    at += sizeof begin - 1;
    for (const char *next = at; (next = memmem(next, (size_t)(end - next), mark, sizeof mark - 1));
         next++)
        last = next;
    if (!last || last == at || (size_t)(end - last) >= sizeof mark - 1 + 16)
        return ULP_OK;
    char type[17];
    size_t length = 0;
    for (const char *c = last + sizeof mark - 1; c < end; c++)
        type[length++] = (char)tolower((unsigned char)*c);
    struct ulp_engine_setting setting;
    ULP_TRY(ulp_engine_text(reading, at, (size_t)(last - at), &setting.layer, error));
    ULP_TRY(ulp_engine_text(reading, type, length, &setting.type, error));
    ULP_TRY(ulp_grow(&reading->settings, engine->setting_count, &reading->setting_capacity,
                     sizeof *reading->settings, ulp_arena_budget(reading->arena),
                     "layers that were set", error));
    reading->settings[engine->setting_count++] = setting;
    return ULP_OK;
}

/* What the log says beside the layers: "Precision: FP32+FP16", "TensorRT version: 10.4". */
static enum ulp_status note_facts(struct log *log, const char *at, const char *end,
                                  struct ulp_error *error)
{
    static const char precision[] = "Precision: ", version[] = "TensorRT version: ";
    struct ulp_engine *engine = log->reading->engine;
    const size_t length = (size_t)(end - at);
    if (length > sizeof precision && memcmp(at, precision, sizeof precision - 1) == 0 &&
        !*engine->precisions)
        return ulp_engine_text(log->reading, at + sizeof precision - 1,
                               length - sizeof precision + 1, &engine->precisions, error);
    if (length > sizeof version && memcmp(at, version, sizeof version - 1) == 0 &&
        !*engine->version) {
        const char *number = at + sizeof version - 1;
        char text[64];
        const int count = (int)ulp_size_min((size_t)(end - number), 40);
        const int written = snprintf(text, sizeof text, "TensorRT %.*s", count, number);
        return ulp_engine_text(log->reading, text, (size_t)written, &engine->version, error);
    }
    return ULP_OK;
}

/* Under "Layers:" and "Bindings:". */
static enum ulp_status read_listed(struct log *log, const char *at, const char *end,
                                   struct ulp_error *error)
{
    const size_t length = (size_t)(end - at);
    struct ulp_engine_layer layer = {
        .kind = "", .kernel = "", .metadata = "", .origin = "", .activation = ""};
    if ((length == 7 && memcmp(at, "Layers:", 7) == 0) ||
        (length == 9 && memcmp(at, "Bindings:", 9) == 0)) {
        log->names = length == 7;
        log->bindings = length == 9;
        return ULP_OK;
    }
    if (length == 0 || *at == '=')
        log->names = log->bindings = false;
    if (log->bindings)
        return ulp_engine_add_binding(log->reading, at, length, error);
    if (!log->names)
        return ULP_OK;
    ULP_TRY(ulp_engine_text(log->reading, at, length, &layer.name, error));
    return ulp_engine_add_layer(log->reading, &layer, error);
}

static enum ulp_status read_line(struct log *log, const char *start, const char *end,
                                 struct ulp_error *error)
{
    const char *at = skip_prefix(start, end);
    bool found = false;
    while (at < end && isspace((unsigned char)*at))
        at++;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    ULP_TRY(ulp_engine_read_line(log->reading, at, (size_t)(end - at), &log->tactics, log->kernels,
                                 &found, error));
    if (found)
        return ULP_OK;
    if (at != start) /* a line of the logger's is no name in a list */
        log->names = log->bindings = false;
    ULP_TRY(note_tactic(log, at, end, error));
    ULP_TRY(note_facts(log, at, end, error));
    ULP_TRY(note_setting(log, at, end, error));
    return read_listed(log, at, end, error);
}

/* A JSON document that begins in a line of its own; NULL: the log has none. */
static const char *find_document(const char *text, size_t length)
{
    static const char *const names[] = {"\"Layers\"", "\"layers\"", "\"LayerInfo\"",
                                        "\"layerInfo\""};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        const char *at = memmem(text, length, names[n], strlen(names[n]));
        if (!at)
            continue;
        while (at > text && isspace((unsigned char)at[-1]))
            at--;
        if (at > text && at[-1] == '{')
            return at - 1;
    }
    return NULL;
}

enum ulp_status ulp_engine_read_text(struct ulp_engine_reading *reading, const char *text,
                                     size_t length, struct ulp_error *error)
{
    struct log log = {.reading = reading, .tactics.budget = ulp_arena_budget(reading->arena)};
    const char *document = find_document(text, length), *end = text + length;
    enum ulp_status status = ULP_OK;
    bool found = false;
    reading->engine->form = ULP_ENGINE_TEXT;
    for (const char *at = text; at < end && status == ULP_OK;) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        if (!line)
            line = end;
        if (document && document >= at && document < line + 1) {
            status = ulp_engine_read_json(reading, document, (size_t)(end - document), false,
                                          &found, error);
            document = NULL;
        } else if (!found) {
            status = read_line(&log, at, line, error);
        }
        at = line + (line < end);
    }
    ulp_names_free(&log.tactics);
    ulp_free(log.kernels);
    return status;
}
