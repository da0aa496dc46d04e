#include "base/text/coder.h"

#include <string.h>

#define TEXT_MAX ((size_t)1 << 24)

void ulp_code_number(struct ulp_coder *coder, uint64_t *number)
{
    unsigned char bytes[8];
    if (coder->out) {
        for (int i = 0; i < 8; i++)
            bytes[i] = (unsigned char)(*number >> 8 * i);
        ulp_text_put(coder->out, (const char *)bytes, sizeof bytes);
        return;
    }
    *number = 0;
    coder->wrong |= coder->end - coder->at < 8;
    if (coder->wrong)
        return;
    for (int i = 0; i < 8; i++)
        *number |= (uint64_t)coder->at[i] << 8 * i;
    coder->at += 8;
}

void ulp_code_double(struct ulp_coder *coder, double *value)
{
    uint64_t bits = 0;
    if (coder->out)
        memcpy(&bits, value, sizeof bits);
    ulp_code_number(coder, &bits);
    memcpy(value, &bits, sizeof bits);
}

void ulp_code_size(struct ulp_coder *coder, size_t *size)
{
    uint64_t number = *size;
    ulp_code_number(coder, &number);
    *size = (size_t)number;
}

void ulp_code_flag(struct ulp_coder *coder, bool *flag)
{
    uint64_t number = *flag;
    ulp_code_number(coder, &number);
    coder->wrong |= number > 1;
    *flag = number == 1;
}

void ulp_code_index(struct ulp_coder *coder, ptrdiff_t *index, size_t count)
{
    uint64_t number = (uint64_t)*index + 1;
    ulp_code_number(coder, &number);
    if (coder->out)
        return;
    coder->wrong |= number > count;
    *index = coder->wrong ? -1 : (ptrdiff_t)number - 1;
}

void ulp_code_count(struct ulp_coder *coder, size_t *count)
{
    ulp_code_size(coder, count);
    if (!coder->out && (coder->wrong || *count > (size_t)(coder->end - coder->at) / 8)) {
        coder->wrong = true;
        *count = 0;
    }
}

void *ulp_code_take(struct ulp_coder *coder, size_t count, size_t bytes)
{
    void *memory = coder->no_memory ? NULL : ulp_arena_take(coder->arena, count + 1, bytes);
    coder->no_memory |= !memory;
    return memory;
}

void ulp_code_text(struct ulp_coder *coder, char **text)
{
    bool given = coder->out && *text;
    size_t length = given ? strlen(*text) : 0;
    ulp_code_flag(coder, &given);
    ulp_code_size(coder, &length);
    if (coder->out) {
        ulp_text_put(coder->out, given ? *text : "", length);
        return;
    }
    *text = NULL;
    coder->wrong |= length > TEXT_MAX || length > (size_t)(coder->end - coder->at) ||
                    (!given && length) || memchr(coder->at, 0, coder->wrong ? 0 : length);
    if (coder->wrong || !given)
        return;
    *text = ulp_arena_text(coder->arena, (const char *)coder->at, length);
    coder->no_memory |= !*text;
    coder->at += length;
}
