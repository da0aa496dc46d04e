/* Fields of files of values separated by commas. RFC 4180. */
#include "analysis/writing/csv.h"

#include <math.h>
#include <string.h>

void ulp_csv_text(struct ulp_text *out, const char *value)
{
    ulp_text_add(out, "\"");
    if (*value && strchr("=+-@", *value)) /* a spreadsheet would take it for a formula */
        ulp_text_add(out, "\\x%02x", (unsigned char)*value++);
    ulp_text_show_marked(out, value, "\"", '"');
    ulp_text_add(out, "\"");
}

void ulp_csv_number(struct ulp_text *out, double value)
{
    if (isnan(value))
        ulp_text_add(out, ",");
    else
        ulp_text_add(out, ",%.9g", value + 0.0); /* no -0 */
}
