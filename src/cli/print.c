/* What the program prints: names come from others' files. */
#include <stdarg.h>
#include <stdlib.h>

#include "base/shown.h"
#include "base/text.h"
#include "command.h"

void say(FILE *stream, const char *format, ...)
{
    va_list list;
    struct ulp_text text = {0};
    va_start(list, format);
    ulp_text_show_list(&text, format, list);
    va_end(list);
    fputs(text.failed ? "(out of memory)" : text.data, stream);
    ulp_text_free(&text);
}

void refuse(const struct argp_state *state, const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    ulp_show_arguments(text, sizeof text, format, list);
    va_end(list);
    argp_error(state, "%s", text);
}
