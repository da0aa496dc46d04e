/* Values of JSON reports. */
#include "analysis/json_value.h"

#include <math.h>
#include <string.h>

#include "base/shown.h"
#include "base/text.h"

json_t *ulp_json_number(double value)
{
    return isfinite(value) ? json_real(value + 0.0) : json_null(); /* no -0.0 */
}

json_t *ulp_json_text(const char *text)
{
    json_t *value = json_string(text);
    if (value)
        return value;
    struct ulp_text clean = {0};
    struct ulp_shown shown;
    for (const char *end = text + strlen(text); text < end;) {
        text = ulp_show_character(&shown, text, end);
        ulp_text_add(&clean, "%s", shown.text);
    }
    value = json_string(clean.data ? clean.data : "");
    ulp_text_free(&clean);
    return value;
}
