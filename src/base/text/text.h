/* A growing text buffer. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <ulpscope/status.h>

struct ulp_new_file;
struct ulp_arena;

/* Zero-initialise. After an allocation failure `failed` is set and further calls do nothing, so a
 * writer checks once, at the end. */
struct ulp_text {
    char *data;
    size_t length, capacity;
    bool failed;
    /* of a text that goes to a file (base/machine/file.h), whose data is what is not written yet */
    struct ulp_new_file *file;
    void (*grown)(struct ulp_text *text); /* NULL, or called when something was added */
};
void ulp_text_add(struct ulp_text *text, const char *format, ...) ULP_PRINTF(2, 3);
/* As the format "%.*s" would, without looking for its end. */
void ulp_text_put(struct ulp_text *text, const char *bytes, size_t count);
/* As ulp_text_add, text arguments made harmless (base/text/shown.h). */
void ulp_text_show(struct ulp_text *text, const char *format, ...) ULP_PRINTF(2, 3);
/* As the format "%s" of it would, however long the words are: of a command, to be copied. */
void ulp_text_show_whole(struct ulp_text *text, const char *words);
/* The same, the mark before each character that is among those. */
void ulp_text_show_marked(struct ulp_text *text, const char *words, const char *marked, char mark);
void ulp_text_show_list(struct ulp_text *text, const char *format, va_list list);
/* Does the text begin as a command does, to be copied whole? */
static inline bool ulp_text_is_command(const char *text)
{
    return strncmp(text, "ulpscope ", 9) == 0 || strncmp(text, "python3 ", 8) == 0;
}
/* What stands between single quotes of a shell: there it changes nothing but a quote. */
void ulp_quoted_add(struct ulp_text *out, const char *text);
/* " word" of a command line, in quotes where a shell needs them. */
void ulp_word_add(struct ulp_text *out, const char *word);
/* The same behind an option, " -a". */
void ulp_option_add(struct ulp_text *out, const char *option, const char *word);
void ulp_text_free(struct ulp_text *text);
/* A copy in the arena of what was written, and of what the format says; NULL: out of memory, there
 * or before. The text is freed. */
char *ulp_text_keep(struct ulp_text *text, struct ulp_arena *arena);
char *ulp_arena_say(struct ulp_arena *arena, const char *format, ...) ULP_PRINTF(2, 3);

/* Whether text is longer than `end` and ends in it: ".npz". */
bool ulp_text_ends(const char *text, const char *end);
/* Is the word one of `words`, which have single spaces between them? */
bool ulp_is_word(const char *word, const char *words);

/* A function that gives the word of each value of an enum. */
#define ULP_NAMES(function, type, ...)                    \
    const char *function(type value)                      \
    {                                                     \
        static const char *const names[] = {__VA_ARGS__}; \
        return names[value];                              \
    }

/* For "%.1f": what it would print as -0.0 is 0. */
static inline double ulp_tenths(double x)
{
    return x > -0.05 && x < 0 ? 0 : x;
}

/* FNV-1a 64-bit of a string or of bytes. */
unsigned long long ulp_hash(const void *bytes, size_t count);
