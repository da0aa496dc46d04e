/* Formatting error messages. */
#include "base/error.h"

#include <stdarg.h>
#include <string.h>

#include "base/text/shown.h"

enum ulp_status ulp_fail(struct ulp_error *error, enum ulp_status status, const char *format, ...)
{
    if (error) {
        va_list list;
        va_start(list, format);
        ulp_show_arguments(error->message, sizeof error->message, format, list);
        va_end(list);
        error->status = status;
    }
    return status;
}

enum ulp_status ulp_fail_lines(struct ulp_error *error, enum ulp_status status, const char *lines)
{
    if (error) {
        size_t keep = strnlen(lines, sizeof error->message - 1);
        while (keep && (lines[keep] & 0xC0) == 0x80) /* not inside a character */
            keep--;
        memcpy(error->message, lines, keep);
        error->message[keep] = '\0';
        error->status = status;
    }
    return status;
}

enum ulp_status ulp_fail_at(struct ulp_error *error, enum ulp_status status, const char *format,
                            ...)
{
    if (!error || status == ULP_OK)
        return status;
    char place[1024];
    va_list list;
    va_start(list, format);
    ulp_show_arguments(place, sizeof place, format, list);
    va_end(list);
    size_t place_length = strlen(place), room = sizeof error->message - place_length - 3;
    size_t keep = strlen(error->message);
    if (keep > room)
        keep = room;
    while (keep && (error->message[keep] & 0xC0) == 0x80) /* not inside a character */
        keep--;
    memmove(error->message + place_length + 2, error->message, keep);
    memcpy(error->message, place, place_length);
    memcpy(error->message + place_length, ": ", 2);
    error->message[place_length + 2 + keep] = '\0';
    error->status = status;
    return status;
}
