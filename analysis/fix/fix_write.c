/* fix.json, and the same as one page. */
#include "analysis/fix/fixing.h"
#include "analysis/html/html.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "base/machine/environment.h"

static json_t *make_document(const struct ulp_fix *fix)
{
    static const struct ulp_json_how how = {0};
    struct ulp_text verdict = {0};
    ulp_fix_verdict(&verdict, fix);
    return ulp_json_document(&ulp_struct_fix, fix, &how, ulp_json_lines(&verdict));
}

enum ulp_status ulp_fix_write_json(const struct ulp_fix *fix, const char *path,
                                   struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    return ulp_json_write(make_document(fix), path, error);
}

enum ulp_status ulp_fix_html(const struct ulp_fix *fix, const char *path, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    return ulp_html_write_root("fix", make_document(fix), path, error);
}
