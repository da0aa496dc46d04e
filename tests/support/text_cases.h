/* Cases written in a file of tests/data/cases, one record each:
 *
 *     $CAST = (float[2] x) => (float16[2] y) { a = Cast<to=$1>(x)
 *         y = Add(a, $2) }
 *     # comments
 *     the record's head, which a test reads as it likes,
 *             and its next line
 *         (float[2] x) => (float[2] y) { y = `Neg|Abs`(x) }
 *         word: another text,
 *             and its next line
 *         third: $CAST(10; `x|a`)
 *
 * `one|other` are two texts in one; $NAME(...; ...) stands for the text of that name. */
#pragma once

#include <stddef.h>

/* A head "NAME OPSET", or "NAME OPSET for TARGET", and what follows. */
struct text_head {
    char name[40];
    int opset;
    unsigned targets; /* the target's bit, or 0 */
    const char *rest;
};
struct text_head text_case_head(const char *file, size_t number);

/* How many records there are. */
size_t text_case_count(const char *file);
/* What a record has under a word, "" being its head and "model" the text without a word; NULL:
 * nothing. side: which of the two texts, 0 or 1. It is there until the 16th call from now on. */
const char *text_case(const char *file, size_t number, const char *word, int side);
