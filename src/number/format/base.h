/* What the first word of an arithmetic's name means. */
#pragma once

#include <ulpscope/format.h>

/* What a base means before any part is set. NAME-strict, in which all is the storage format, exists
 * of every format. */
struct ulp_base {
    const char *name, *strict; /* NULL: there is no NAME-strict */
    const char *storage, *factor, *compute, *accumulator;
    enum ulp_rounding_place place;
    bool unit, fused;
    enum ulp_rounding operands;
    bool preset, strict_preset; /* shown to users who ask for names */
};

/* The base of a word. Words outside the table (eXmY, NAME-strict, mpfr:P) give a row in which all
 * is one format, whose name is kept in `name`. */
enum ulp_status ulp_base_find(struct ulp_base *out, char name[32], const char *word,
                              struct ulp_error *error);
/* Bases in a storage format that have another name than it, by index, until NULL. */
const char *ulp_base_of_storage(const char *storage, size_t index);
/* The format that the word mpfr:P stands for, for a P that is one (ULP_MPFR_PRECISION_MAX). */
struct ulp_format ulp_format_mpfr(int precision);
