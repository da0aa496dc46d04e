/* Activations, and the texts of the cells. */
#include "ops/product/recurrent_cell.h"

#include <stdio.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/text/text.h"

/* Formula of a value written as '$'; 'A' and 'B' are alpha and beta with their defaults. */
static const struct ulp_activation {
    const char *name, *formula, *alpha, *beta; /* NULL: the function has none */
    const char *stepped;                       /* NULL: no kernel's */
} activations[] = {
    {"Relu", "max($, 0)", NULL, NULL, NULL},
    {"Tanh", "tanh($)", NULL, NULL, "2 / (1 + exp(-2 * $)) - 1"},
    {"Sigmoid", "sigmoid($)", NULL, NULL, "1 / (1 + exp(-$))"},
    {"Affine", "A * $ + B", "1", "0", NULL},
    {"LeakyRelu", "$ < 0 ? A * $ : $", "0x1.47ae14p-7", NULL, NULL},
    {"ThresholdedRelu", "$ >= A ? $ : 0", "1", NULL, NULL},
    {"ScaledTanh", "A * tanh(B * $)", "1", "1", NULL},
    {"HardSigmoid", "min(max(A * $ + B, 0), 1)", "0x1.99999ap-3", "0.5", NULL},
    {"Elu", "$ >= 0 ? $ : A * (exp(min($, 0)) - 1)", "1", NULL, NULL},
    {"Softsign", "$ / (1 + abs($))", NULL, NULL, NULL},
    {"Softplus", "softplus($)", NULL, NULL, NULL},
};

static const struct ulp_activation *find_activation(const char *name)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcmp(activations[i].name, name) == 0)
            return &activations[i];
    return NULL;
}

static const struct grid {
    enum ulp_steps runtime;
    const char *name, *gates, *activation;
    int steps;
} grids[] = {
#define CELL(runtime, name, gates, activation, steps, ...) \
    {ULP_STEPS_##runtime, name, gates, activation, steps},
#include "number/format/steps.def"
};

/* The gate is right to so many steps to 1; 0: as the arithmetic says. */
static int find_grid(const struct ulp_call *call, const char *gate, const char *activation)
{
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++)
        if (grids[i].runtime == call->arithmetic->steps &&
            strcmp(grids[i].name, call->bound->op->name) == 0 &&
            ulp_is_word(gate, grids[i].gates) && strcmp(grids[i].activation, activation) == 0)
            return grids[i].steps;
    return 0;
}

static void take_parameter(char *out, size_t size, const char *fallback,
                           const struct ulp_attribute_value *given, size_t *next)
{
    if (!fallback)
        return;
    if (*next < given->count)
        snprintf(out, size, "%a", (double)given->floats[(*next)++]);
    else
        snprintf(out, size, "%s", fallback);
}

enum ulp_status ulp_cell_activations(const struct ulp_call *call, size_t directions, bool stepped,
                                     struct ulp_chosen_activation *out)
{
    const struct ulp_cell *cell = ulp_cell_of(call);
    const struct ulp_attribute_value *names = ulp_call_attribute(call, "activations");
    const size_t each = cell->activation_count;
    size_t next_alpha = 0, next_beta = 0;
    if (names->count && names->count != each && names->count != directions * each)
        return ULP_REFUSE(call, "%zu activations: expected %zu", names->count, directions * each);
    for (size_t i = 0; i < directions * each; i++) {
        const char *name =
            names->count ? names->strings[i % names->count] : cell->defaults[i % each];
        out[i].activation = find_activation(name);
        out[i].stepped = stepped;
        if (!out[i].activation)
            return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED, "activation %s is not supported",
                            name);
        take_parameter(out[i].alpha, sizeof out[i].alpha, out[i].activation->alpha,
                       ulp_call_attribute(call, "activation_alpha"), &next_alpha);
        take_parameter(out[i].beta, sizeof out[i].beta, out[i].activation->beta,
                       ulp_call_attribute(call, "activation_beta"), &next_beta);
    }
    return ULP_OK;
}

/* "name = f(z_name); " where z_name is `sum`, clipped when the operator clips. */
static void write_gate(struct ulp_text *text, const struct ulp_call *call,
                       const struct ulp_chosen_activation *chosen, const char *name,
                       const char *sum)
{
    const struct ulp_attribute_value *clip = ulp_call_attribute(call, "clip");
    if (clip->present && clip->f > 0)
        ulp_text_add(text, "z_%s = min(max(%s, -%a), %a); %s = ", name, sum, (double)clip->f,
                     (double)clip->f, name);
    else
        ulp_text_add(text, "z_%s = %s; %s = ", name, sum, name);
    const char *formula =
        chosen->stepped ? chosen->activation->stepped : chosen->activation->formula;
    const int grid = find_grid(call, name, chosen->activation->name);
    if (grid)
        ulp_text_add(text, "round(%d * (", grid);
    for (const char *p = formula, *next;; p = next + 1) {
        next = p + strcspn(p, "$AB");
        ulp_text_put(text, p, (size_t)(next - p));
        if (*next == '$')
            ulp_text_add(text, "z_%s", name);
        else if (*next)
            ulp_text_add(text, "%s", *next == 'A' ? chosen->alpha : chosen->beta);
        else
            break;
    }
    if (grid)
        ulp_text_add(text, ")) / %d", grid);
    ulp_text_add(text, "; ");
}

/* Of both products, a peephole, if any, and biases, which ort-cpu adds to each other first. */
static void write_sums(struct ulp_text *text, const struct ulp_call *call,
                       const struct ulp_chosen_activation *chosen, const char *name, const char *of,
                       const char *peephole)
{
    const bool joined = call->arithmetic->steps == ULP_STEPS_ORT_CPU && !*peephole;
    char sum[64];
    snprintf(sum, sizeof sum,
             joined ? "x_%s + h_%s%s + (v_%s + r_%s)" : "x_%s + h_%s%s + v_%s + r_%s", of, of,
             peephole, of, of);
    write_gate(text, call, chosen, name, sum);
}

bool ulp_cell_resets_before(const struct ulp_call *call)
{
    return call->bound->op->parameter == ULP_GRU_GATES &&
           !ulp_call_int(call, "linear_before_reset");
}

static bool has_own_functions(const struct ulp_call *call)
{
    const struct ulp_attribute_value *names = ulp_call_attribute(call, "activations");
    const struct ulp_cell *cell = ulp_cell_of(call);
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->strings[i], cell->defaults[i % cell->activation_count]) != 0)
            return false;
    return true;
}

bool ulp_cell_is_cudnns(const struct ulp_call *call)
{
    const struct ulp_attribute_value *clip = ulp_call_attribute(call, "clip");
    const size_t gates = (size_t)call->bound->op->parameter;
    return !call->bound->op->integer_sums && !(clip->present && clip->f > 0) &&
           has_own_functions(call) && !ulp_cell_resets_before(call) &&
           (gates != ULP_LSTM_GATES ||
            (!ulp_call_input(call, "p") && !ulp_call_int(call, "input_forget")));
}

static void write_rnn(struct ulp_text *text, const struct ulp_call *call,
                      const struct ulp_chosen_activation *f)
{
    write_gate(text, call, &f[0], "y", "x_i + h_i + v_i + r_i");
    ulp_text_add(text, "y");
}

static void write_reset(struct ulp_text *text, const struct ulp_call *call,
                        const struct ulp_chosen_activation *f)
{
    write_sums(text, call, &f[0], "r", "r", "");
    ulp_text_add(text, "r * h");
}

static void write_gru(struct ulp_text *text, const struct ulp_call *call,
                      const struct ulp_chosen_activation *f)
{
    write_sums(text, call, &f[0], "z", "z", "");
    if (ulp_cell_resets_before(call)) {
        write_gate(text, call, &f[1], "y",
                   call->arithmetic->steps == ULP_STEPS_ORT_CPU ? "x_h + q + (v_h + r_h)"
                                                                : "x_h + q + r_h + v_h");
    } else {
        write_sums(text, call, &f[0], "r", "r", "");
        write_gate(text, call, &f[1], "y",
                   f->stepped ? "fma(r, h_h + r_h, x_h + v_h)" : "x_h + r * (h_h + r_h) + v_h");
    }
    ulp_text_add(text, f->stepped ? "fma(1 - z, y, z * h)" : "(1 - z) * y + z * h");
}

static void write_lstm(struct ulp_text *text, const struct ulp_call *call,
                       const struct ulp_chosen_activation *f)
{
    const bool p = ulp_call_input(call, "p") != NULL;
    write_sums(text, call, &f[0], "i", "i", p ? " + p_i * c" : "");
    if (ulp_call_int(call, "input_forget"))
        ulp_text_add(text, "f = 1 - i; ");
    else
        write_sums(text, call, &f[0], "f", "f", p ? " + p_f * c" : "");
    write_sums(text, call, &f[1], "g", "c", "");
    ulp_text_add(text, f->stepped ? "n = fma(f, c, i * g); " : "n = f * c + i * g; ");
    write_sums(text, call, &f[0], "o", "o", p ? " + p_o * n" : "");
    write_gate(text, call, &f[2], "m", "n");
    ulp_text_add(text, "o * m");
}

/* clang-format off */
static const struct ulp_cell cells[] = {
    [ULP_RNN_GATES] = {"i", "", 1, {"Tanh"}, write_rnn},
    [ULP_GRU_GATES] = {"zrh", "", 2, {"Sigmoid", "Tanh"}, write_gru},
    [ULP_LSTM_GATES] = {"iofc", "iof", 3, {"Sigmoid", "Tanh", "Tanh"}, write_lstm},
};
/* clang-format on */

const struct ulp_cell *ulp_cell_of(const struct ulp_call *call)
{
    return &cells[call->bound->op->parameter];
}

enum ulp_status ulp_cell_write(const struct ulp_call *call,
                               const struct ulp_chosen_activation *chosen,
                               struct ulp_text formulas[2])
{
    write_reset(&formulas[0], call, chosen);
    ulp_cell_of(call)->write(&formulas[1], call, chosen);
    return formulas[0].failed || formulas[1].failed ? ulp_out_of_memory(call->error) : ULP_OK;
}
