/* --accumulate and --gpu: how what an engine's description leaves open is emulated. */
#include <string.h>

#include "cli/option/option.h"

/* clang-format off */
static const struct argp_option option_list[] = {
    {"accumulate", 'A', "unknown=fp16|unknown=fp32", 0,
     "What kernels whose names do not tell are taken to add FP16 products in: unknown=fp16 or "
     "unknown=fp32 (default)", 0},
    {"gpu", 'G', "GPU", 0,
     "Whose matrix unit is emulated for an engine (default: by the newest architecture that one of "
     "its kernels is named after)", 0},
    {0},
};
/* clang-format on */

static const char *read_accumulator(const struct argp_state *state, const char *text)
{
    static const char key[] = "unknown=";
    const char *value = strncmp(text, key, strlen(key)) == 0 ? text + strlen(key) : "";
    if (strcmp(value, "f16") == 0 || strcmp(value, "fp16") == 0)
        return "fp16";
    if (strcmp(value, "f32") != 0 && strcmp(value, "fp32") != 0)
        refuse(state, "--accumulate %s: expected unknown=fp16 or unknown=fp32", text);
    return "fp32";
}

static error_t parse_engine_option(int key, char *argument, struct argp_state *state)
{
    struct ulp_engine_map_options *options = state->input;
    switch (key) {
    case 'A': options->unknown_accumulator = read_accumulator(state, argument); return 0;
    case 'G': options->gpu = argument; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp built_argp = {.options = option_list, .parser = parse_engine_option};
