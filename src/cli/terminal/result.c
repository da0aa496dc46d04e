/* A result as text, JSON, a folder and a page. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"

static enum ulp_status write_files(const struct result *result, struct ulp_error *error)
{
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

enum ulp_status say_result(const struct result *result, struct ulp_error *error)
{
    char *end = result->text && result->brief ? strstr(result->text, "\n\n") : NULL;
    if (end)
        end[1] = '\0';
    if (result->text)
        fputs(result->text, stdout);
    free(result->text);
    return write_files(result, error);
}

enum ulp_status print_refusal(const struct ulp_refusal *refusal, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *text = NULL;
    ULP_TRY(ulp_refusal_text(refusal, terminal_width(STDOUT_FILENO), use_colour(STDOUT_FILENO),
                             &text, error));
    fputs(text, stdout);
    return ULP_OK;
}
