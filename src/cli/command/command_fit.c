/* ulpscope fit: products of matrices read, the search, and what was found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"

struct fit_options {
    struct ulp_fit_options wanted;
    char **words;
    size_t word_count;
    bool transposed_a, transposed_b, all;
    const char *probe;
    size_t max_memory_bytes;
};

static void read_shape(struct fit_options *options, const struct argp_state *state,
                       const char *argument)
{
    size_t *const out[] = {&options->wanted.probe_m, &options->wanted.probe_n,
                           &options->wanted.probe_k};
    const char *text = argument;
    for (int i = 0; i < 3; i++) {
        char number[16];
        const size_t length = strcspn(text, "x");
        int64_t value = 0;
        snprintf(number, sizeof number, "%.*s", (int)length, text);
        text += length;
        if (length >= sizeof number || !parse_integer(number, 1, 1 << 20, &value) ||
            *text != (i < 2 ? 'x' : 0))
            refuse(state, "--probe-shape %s: expected rows, columns and k, as 64x64x1024",
                   argument);
        text += *text == 'x';
        *out[i] = (size_t)value;
    }
}

static void read_transposed(struct fit_options *options, const struct argp_state *state,
                            const char *text)
{
    if (!*text || strspn(text, "ab") != strlen(text))
        refuse(state, "--transpose %s: expected a, b or ab", text);
    options->transposed_a = strchr(text, 'a');
    options->transposed_b = strchr(text, 'b');
}

static void check(const struct argp_state *state, const struct fit_options *options)
{
    if (!options->word_count)
        refuse(state, "expected A B C, or an .npz with a, b and c");
}

static error_t take(struct argp_state *state, struct fit_options *options, char *argument)
{
    add_argument(state, &options->words, &options->word_count, argument);
    return 0;
}

static const char documentation[] =
    "Say which unit and schedule gave these bits: C = A B as a GPU computed it is compared, bit "
    "for bit, with every way to compute it that an arithmetic's name can say: rounding of the "
    "operands, matrix unit, accumulator, promotion, slices of k, order, rounding of the result. "
    "The answer is a name for --arith. A, B and C are .npy files, FILE.npz:KEY, or an .npz with "
    "one array; or one .npz has arrays a, b and c. Several products, which came from one kernel, "
    "narrow it down. Arrays of 8- and 16-bit integers are patterns of FP8, FP16 or BF16."
    "\vExit code 1: no candidate gives every bit. doc/fit.md has the method.\n\n"
    "Examples:\n"
    "  ulpscope fit a.npy b.npy c.npy\n"
    "  ulpscope fit gemm.npz --probe probe.npz\n"
    "      which schedule, and operands that tell apart what is left\n"
    "  ulpscope fit gemm.npz probed.npz\n"
    "      where probed.npz has the probe's a and b, and c from the GPU\n"
    "  ulpscope fit dump.npz:x dump.npz:w dump.npz:y --transpose b --gpu a100";

/* ---- reading ---- */

/* The files that the words name, each with its arrays. */
struct product_list {
    struct ulp_budget *budget; /* of what is read */
    struct ulp_recording_list files;
    struct ulp_fit_product *items;
    size_t count;
};

static const struct ulp_tensor *find_letter(const struct ulp_tensor_set *set, char letter)
{
    const char lower[] = {letter, 0}, upper[] = {(char)(letter - 'a' + 'A'), 0};
    const struct ulp_tensor *found = ulp_tensor_set_find(set, lower);
    return found ? found : ulp_tensor_set_find(set, upper);
}

/* Read the word's file; *key: what follows "FILE.npz:", NULL without it. */
static enum ulp_status read_word(struct product_list *list, char *word, const char **key,
                                 struct ulp_error *error)
{
    char *colon = strstr(word, ".npz:");
    *key = colon ? colon + 5 : NULL;
    if (colon)
        colon[4] = 0;
    const enum ulp_status status =
        ulp_recording_read(word, NULL, list->budget, &list->files, error);
    if (colon)
        colon[4] = ':';
    return status;
}

static enum ulp_status find_array(const struct ulp_tensor_set *set, const char *word,
                                  const char *key, char letter, const struct ulp_tensor **out,
                                  struct ulp_error *error)
{
    *out = key               ? ulp_tensor_set_find(set, key)
           : set->count == 1 ? &set->items[0].tensor
                             : find_letter(set, letter);
    if (*out)
        return ULP_OK;
    if (key)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: the file has no such array, but %zu others",
                        word, set->count);
    return ulp_fail(error, ULP_ERROR_USAGE,
                    "%s has %zu arrays: expected one, one that is called '%c', or a name as "
                    "FILE.npz:KEY",
                    word, set->count, letter);
}

/* The product that begins with a word: a, b and c of its file, or one of it and two more. */
static enum ulp_status read_product(struct product_list *list, char **words, size_t count,
                                    size_t *used, struct ulp_fit_product *out,
                                    struct ulp_error *error)
{
    const struct ulp_tensor **const parts[] = {&out->a, &out->b, &out->c};
    const char *key;
    *used = 1;
    ULP_TRY(read_word(list, words[0], &key, error));
    const struct ulp_tensor_set *set = &list->files.items[list->files.count - 1].tensors;
    if (!key && find_letter(set, 'a') && find_letter(set, 'b') && find_letter(set, 'c')) {
        for (int i = 0; i < 3; i++)
            *parts[i] = find_letter(set, (char)('a' + i));
        return ULP_OK;
    }
    if (count < 3)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: expected three files A B C, or an .npz with arrays a, b and c",
                        words[0]);
    *used = 3;
    for (size_t i = 0; i < 3; i++) {
        if (i)
            ULP_TRY(read_word(list, words[i], &key, error));
        ULP_TRY(find_array(&list->files.items[list->files.count - 1].tensors, words[i], key,
                           (char)('a' + i), parts[i], error));
    }
    return ULP_OK;
}

static enum ulp_status read_products(const struct fit_options *options, struct product_list *list,
                                     struct ulp_error *error)
{
    list->items = calloc(options->word_count, sizeof *list->items);
    ULP_TRY(taken(list->items, error));
    for (size_t w = 0, used; w < options->word_count; w += used) {
        struct ulp_fit_product *product = &list->items[list->count++];
        product->transposed_a = options->transposed_a;
        product->transposed_b = options->transposed_b;
        ULP_TRY(
            read_product(list, options->words + w, options->word_count - w, &used, product, error));
    }
    return ULP_OK;
}

static void free_products(struct product_list *list)
{
    ulp_recording_list_free(&list->files);
    free(list->items);
    ulp_budget_free(list->budget);
}

/* ---- the search ---- */

static enum ulp_status write_probe(const struct fit_options *options, struct ulp_fit_probe *probe,
                                   struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set set = {0};
    ULP_TRY(ulp_tensor_set_add(&set, "a", &probe->a, error));
    ULP_TRY(ulp_tensor_set_add(&set, "b", &probe->b, error));
    return ulp_tensor_set_write_npz(options->probe, &set, error);
}

/* Writes and prints the answer. The archive comes last: it has its name at once (outputs.h), and
 * when memory ends all of the files are there or none. */
static enum ulp_status report(const struct fit_options *options, const struct ulp_fit *fit,
                              struct ulp_fit_probe *probe, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *summary = NULL;
    ULP_TRY(ulp_fit_text(fit, probe, options->probe, options->all ? 0 : 12, &summary, error));
    if (json_file())
        ULP_TRY(ulp_fit_write_json(fit, probe, json_file(), error));
    if (probe)
        ULP_TRY(write_probe(options, probe, error));
    fputs(summary, stdout);
    return ULP_OK;
}

static enum ulp_status run_fit(const struct fit_options *options, struct ulp_error *error)
{
    ULP_SCOPED(free_products) struct product_list list = {0};
    ULP_SCOPED(ulp_fit_free) struct ulp_fit fit = {0};
    ULP_SCOPED(ulp_fit_probe_free) struct ulp_fit_probe probe = {0};
    ULP_TRY(ulp_budget_create(options->max_memory_bytes, &list.budget, error));
    ULP_TRY(read_products(options, &list, error));
    ULP_TRY(ulp_fit_run(list.items, list.count, &options->wanted, &fit, error));
    if (options->probe)
        ULP_TRY(ulp_fit_probe_make(&fit, &list.items[0], &options->wanted, &probe, error));
    ULP_TRY(report(options, &fit, options->probe ? &probe : NULL, error));
    return judge(fit.consistent > 0, error);
}

#define OPTIONS "cli/command/fit_option.def"
#define PARSED struct fit_options
#define WORDS "A B C\nPRODUCT.npz..."
#define CHILDREN MEMORY_CHILD JSON_CHILD
#define TAKE take
#define CHECK check
#define RUN run_fit
#include "cli/option/parser.def"

int command_fit(int argc, char **argv)
{
    struct fit_options options = {.max_memory_bytes = REPORT_MEMORY};
    const int code = run_command(&parser, argc, argv, &options, NULL, run_parsed);
    free(options.words);
    return code;
}
