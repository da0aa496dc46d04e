#include "ops/prepared.h"

#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/tuning.h"

/* In memory of its own; the names, one behind the other, then the text, lie behind it. */
struct ulp_text_tape {
    struct ulp_tape *tape;
    struct ulp_text_tape *next;
    char names[];
};

static bool is_of(const struct ulp_text_tape *kept, const char *text, const char *const *names,
                  size_t operand_count, size_t output_count)
{
    const char *p = kept->names;
    if ((size_t)kept->tape->operand_count != operand_count ||
        (size_t)kept->tape->output_count != output_count)
        return false;
    for (size_t i = 0; i < operand_count + output_count; i++) {
        if (strcmp(p, names[i]) != 0)
            return false;
        p += strlen(p) + 1;
    }
    return strcmp(p, text) == 0;
}

static enum ulp_status keep(struct ulp_prepared *prepared, struct ulp_tape *tape, const char *text,
                            const char *const *names, size_t count, struct ulp_error *error)
{
    size_t bytes = sizeof(struct ulp_text_tape) + strlen(text) + 1;
    struct ulp_text_tape *kept;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(names[i]) + 1;
    ULP_TRY(ulp_allocate(&kept, bytes, 1, prepared->budget, "a formula's text", error));
    char *p = kept->names;
    kept->tape = tape;
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(names[i]) + 1;
        memcpy(p, names[i], length);
        p += length;
    }
    memcpy(p, text, strlen(text) + 1);
    kept->next = atomic_load(&prepared->texts);
    while (!atomic_compare_exchange_weak(&prepared->texts, &kept->next, kept))
        ;
    atomic_fetch_add(&prepared->text_count, 1);
    return ULP_OK;
}

enum ulp_status ulp_prepared_tape(struct ulp_prepared *prepared, const char *text,
                                  const char *const *names, size_t operand_count,
                                  size_t output_count, struct ulp_budget *budget,
                                  struct ulp_tape **out, bool *kept, struct ulp_error *error)
{
    const struct ulp_text_tape *found = atomic_load(&prepared->texts);
    while (found && !is_of(found, text, names, operand_count, output_count))
        found = found->next;
    *kept = *kept || found ||
            (atomic_load(&prepared->text_count) < ULP_TUNE_TEXTS_MAX &&
             (!prepared->budget || !prepared->bytes_max ||
              ulp_budget_used(prepared->budget) < prepared->bytes_max));
    if (found) {
        *out = found->tape;
        return ULP_OK;
    }
    ULP_TRY(ulp_tape_create(out, text, names, (int)operand_count, names + operand_count,
                            (int)output_count, *kept ? prepared->budget : budget, error));
    if (!*kept)
        return ULP_OK;
    enum ulp_status status = keep(prepared, *out, text, names, operand_count + output_count, error);
    if (status != ULP_OK)
        ulp_tape_free(*out);
    return status;
}

void ulp_prepared_charge(struct ulp_prepared *prepared, struct ulp_budget *budget, size_t bytes_max)
{
    prepared->budget = budget;
    prepared->bytes_max = bytes_max;
}

void ulp_prepared_free(struct ulp_prepared *prepared)
{
    for (struct ulp_text_tape *kept = atomic_exchange(&prepared->texts, NULL), *next; kept;
         kept = next) {
        next = kept->next;
        ulp_tape_free(kept->tape);
        ulp_free(kept);
    }
    atomic_store(&prepared->text_count, 0);
}
