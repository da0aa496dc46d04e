/* A result as text, JSON, a folder and a page. */
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"

enum ulp_status print_result(text_of_result *text_of, const void *of, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *text = NULL;
    ULP_TRY(text_of(of, terminal_width(STDOUT_FILENO), use_colour(STDOUT_FILENO), &text, error));
    fputs(text, stdout);
    return ULP_OK;
}

enum ulp_status say_result(const struct result *result, struct ulp_error *error)
{
    if (result->text_of)
        ULP_TRY(print_result(result->text_of, result->of, error));
    if (result->folder) {
        ULP_TRY(result->write(result->of, ULP_OUTPUT_FOLDER, result->folder, error));
        say(stdout, "report: %s/%s\n", result->folder, result->folder_has);
    }
    if (json_file())
        ULP_TRY(result->write(result->of, ULP_OUTPUT_JSON, json_file(), error));
    if (markdown_file())
        ULP_TRY(result->write(result->of, ULP_OUTPUT_MARKDOWN, markdown_file(), error));
    if (result->page) {
        ULP_TRY(result->write(result->of, ULP_OUTPUT_HTML, result->page, error));
        say(stdout, "page: %s\n", result->page);
    }
    return ULP_OK;
}

RESULT_TEXT(refusal)

enum ulp_status print_refusal(const struct ulp_refusal *refusal, struct ulp_error *error)
{
    return print_result(text_refusal, refusal, error);
}

void say_wrapped(size_t indent, const char *format, ...)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    const size_t width = (size_t)terminal_width(STDOUT_FILENO);
    size_t column = 0;
    va_list arguments;
    va_start(arguments, format);
    ulp_text_show_list(&text, format, arguments);
    va_end(arguments);
    for (const char *word = text.data ? text.data : ""; *word;) {
        const size_t length = strcspn(word, " ");
        const bool breaks = column && column + 1 + length > (width ? width : 100);
        if (breaks)
            say(stdout, "\n%*s", (int)indent, "");
        say(stdout, "%s%.*s", breaks || word == text.data ? "" : " ", (int)length, word);
        column = breaks ? indent + length : column + (word > text.data) + length;
        word += length + (word[length] == ' ');
    }
    say(stdout, "\n");
}
