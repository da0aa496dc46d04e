/* Values at paths in JSON: see document.h. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/writing/document.h"

enum { PATH_BYTES = 160, LISTED = 20 };

bool ulp_json_visit(const struct ulp_json_place *place, const char *path, ulp_use_place *use,
                    void *context)
{
    for (; *path == '^' && place; path++)
        place = place->up;
    for (; *path == '/'; path++)
        while (place->up)
            place = place->up;
    if (!place)
        return true;
    if (json_is_array(place->value)) {
        const json_t *element;
        size_t i;
        json_array_foreach(place->value, i, element)
        {
            const struct ulp_json_place inner = {element, place->up};
            if (!ulp_json_visit(&inner, path, use, context))
                return false;
        }
        return true;
    }
    if (!*path)
        return json_is_null(place->value) || use(place, context);
    char name[PATH_BYTES];
    const size_t length = strcspn(path, ".");
    snprintf(name, sizeof name, "%.*s", (int)length, path);
    const struct ulp_json_place inner = {json_object_get(place->value, name), place};
    return !inner.value ||
           ulp_json_visit(&inner, path + length + (path[length] == '.'), use, context);
}

static bool take_first(const struct ulp_json_place *place, void *context)
{
    *(const json_t **)context = place->value;
    return false;
}

static const json_t *find_first(const struct ulp_json_place *place, const char *path)
{
    const json_t *found = NULL;
    ulp_json_visit(place, path, take_first, &found);
    return found;
}

double ulp_json_number_at(const struct ulp_json_place *place, const char *path)
{
    const char *over = strstr(path, " / ");
    char part[PATH_BYTES];
    if (over) {
        snprintf(part, sizeof part, "%.*s", (int)(over - path), path);
        return ulp_json_number_at(place, part) / ulp_json_number_at(place, over + 3);
    }
    const json_t *value = find_first(place, path);
    return json_is_boolean(value)  ? json_is_true(value)
           : json_is_number(value) ? json_number_value(value)
                                   : (double)NAN;
}

const char *ulp_json_text_at(const struct ulp_json_place *place, const char *path)
{
    const json_t *value = find_first(place, path);
    return json_is_true(value) ? "yes" : json_is_false(value) ? "no" : json_string_value(value);
}

/* Goes on while nothing is. */
static bool is_untrue(const struct ulp_json_place *place, void *context)
{
    const char *word = context, *text = json_string_value(place->value);
    if (word)
        return !text || strcmp(text, word) != 0;
    return !json_is_true(place->value) && !json_is_object(place->value) && !(text && *text) &&
           !(json_is_number(place->value) && json_number_value(place->value) != 0);
}

bool ulp_json_holds(const struct ulp_json_place *place, const char *condition)
{
    char path[PATH_BYTES];
    const char *equals = strchr(condition, '='), *word = equals ? equals + 1 : NULL,
               *less = strchr(condition, '<');
    if (*condition == '!')
        return !find_first(place, condition + 1);
    if (less) {
        snprintf(path, sizeof path, "%.*s", (int)(less - condition), condition);
        return ulp_json_number_at(place, path) < strtod(less + 1, NULL);
    }
    snprintf(path, sizeof path, "%.*s", equals ? (int)(equals - condition) : (int)strlen(condition),
             condition);
    if (word && *word == '@' && !(word = ulp_json_text_at(place, word + 1)))
        return false;
    return !ulp_json_visit(place, path, is_untrue, (void *)(uintptr_t)word);
}

struct expanding {
    struct ulp_text *out;
    const char *between;
    bool percent;
    size_t count;
};

static bool add_value(const struct ulp_json_place *place, void *context)
{
    struct expanding *e = context;
    const char *text = json_string_value(place->value);
    if (json_is_object(place->value))
        text = ulp_json_text_at(place, "name");
    if (++e->count > LISTED)
        return true;
    ulp_text_add(e->out, "%s", e->count > 1 ? e->between : "");
    if (text)
        ulp_text_add(e->out, "%s", text);
    else if (e->percent)
        ulp_text_add(e->out, "%.3g %%", 100 * json_number_value(place->value));
    else if (json_is_integer(place->value))
        ulp_text_add(e->out, "%lld", (long long)json_integer_value(place->value));
    else
        ulp_text_add(e->out, "%.4g", json_number_value(place->value));
    return true;
}

bool ulp_json_expand(struct ulp_text *out, const struct ulp_json_place *place, const char *text,
                     const char *between)
{
    bool all = true;
    for (const char *open; (open = strchr(text, '{')) != NULL;) {
        const char *close = strchr(open, '}');
        struct expanding e = {out, between, close[-1] == '%', 0};
        char path[PATH_BYTES];
        ulp_text_put(out, text, (size_t)(open - text));
        snprintf(path, sizeof path, "%.*s", (int)(close - open - 1 - e.percent), open + 1);
        ulp_json_visit(place, path, add_value, &e);
        if (e.count > LISTED)
            ulp_text_add(out, "%sand %zu more", between, e.count - LISTED);
        all &= e.count > 0;
        text = close + 1;
    }
    ulp_text_put(out, text, strlen(text));
    return all;
}
