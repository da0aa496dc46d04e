/* Values of JSON reports. */
#include "analysis/report/json_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/machine/file.h"
#include "base/text/shown.h"
#include "base/text/text.h"

json_t *ulp_json_number(double value)
{
    return isfinite(value) ? json_real(value + 0.0) : json_null(); /* no -0.0 */
}

json_t *ulp_json_text(const char *text)
{
    if (ulp_is_utf8(text))
        return json_string_nocheck(text);
    struct ulp_text clean = {0};
    struct ulp_shown shown;
    for (const char *end = text + strlen(text); text < end;) {
        text = ulp_show_character(&shown, text, end);
        ulp_text_add(&clean, "%s", shown.text);
    }
    json_t *value = clean.failed ? NULL : json_string_nocheck(clean.data);
    ulp_text_free(&clean);
    return value;
}

void ulp_json_set(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

void ulp_json_append(json_t **array, json_t *value)
{
    if (json_array_append_new(*array, value) == 0)
        return;
    json_decref(*array);
    *array = NULL;
}

json_t *ulp_json_paragraph(char *summary)
{
    if (!summary)
        return NULL;
    char *end = strstr(summary, "\n\n");
    if (!end && (end = summary + strlen(summary)) > summary && end[-1] == '\n')
        end--;
    *end = '\0';
    json_t *paragraph = ulp_json_text(summary);
    free(summary);
    return paragraph;
}

enum ulp_status ulp_json_put_document(json_t *root, struct ulp_text *out, const char *what,
                                      struct ulp_error *error)
{
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER) : NULL;
    json_decref(root);
    if (!text)
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory", what);
    ulp_text_put(out, text, strlen(text));
    ulp_text_put(out, "\n", 1);
    free(text);
    return ULP_OK;
}

enum ulp_status ulp_json_write(json_t *root, const char *path, struct ulp_error *error)
{
    struct ulp_text out;
    enum ulp_status status = ulp_text_open(&out, path, error);
    if (status != ULP_OK) {
        json_decref(root);
        return status;
    }
    status = ulp_json_put_document(root, &out, path, error);
    const enum ulp_status closed = ulp_text_close(&out, status == ULP_OK, error);
    return status == ULP_OK ? closed : status;
}
