/* RNN, GRU and LSTM: per step one contraction of the state, and the cell as a formula. States are rounded to the lane's
 * storage after every step, the products' sums are not rounded in between. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "kernels/packed.h"
#include "ops/contraction.h"
#include "ops/move.h"

/* ---- activations ---- */

/* Formula of a value written as '$'; 'A' and 'B' are alpha and beta with their defaults. */
static const struct activation {
    const char *name, *formula, *alpha, *beta; /* NULL: the function has none */
} activations[] = {
    {"Relu", "max($, 0)", NULL, NULL},
    {"Tanh", "tanh($)", NULL, NULL},
    {"Sigmoid", "sigmoid($)", NULL, NULL},
    {"Affine", "A * $ + B", "1", "0"},
    {"LeakyRelu", "$ < 0 ? A * $ : $", "0x1.47ae14p-7", NULL},
    {"ThresholdedRelu", "$ >= A ? $ : 0", "1", NULL},
    {"ScaledTanh", "A * tanh(B * $)", "1", "1"},
    {"HardSigmoid", "min(max(A * $ + B, 0), 1)", "0x1.99999ap-3", "0.5"},
    {"Elu", "$ >= 0 ? $ : A * (exp(min($, 0)) - 1)", "1", NULL},
    {"Softsign", "$ / (1 + abs($))", NULL, NULL},
    {"Softplus", "softplus($)", NULL, NULL},
};

struct chosen {
    const struct activation *activation;
    char alpha[40], beta[40];
};

static const struct activation *find_activation(const char *name)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcmp(activations[i].name, name) == 0)
            return &activations[i];
    return NULL;
}

static void take_parameter(char *out, size_t size, const char *fallback, const struct ulp_attribute_value *given,
                           size_t *next)
{
    if (!fallback)
        return;
    if (*next < given->count)
        snprintf(out, size, "%a", (double)given->floats[(*next)++]);
    else
        snprintf(out, size, "%s", fallback);
}

/* The activations of all directions, `each` for one; parameters are consumed in order by the functions that have them.
 */
static enum ulp_status read_activations(const struct ulp_call *call, size_t directions, size_t each,
                                        const char *const *defaults, struct chosen *out, struct ulp_error *error)
{
    const struct ulp_attribute_value *names = ulp_call_attribute(call, "activations");
    size_t next_alpha = 0, next_beta = 0;
    if (names->count && names->count != each && names->count != directions * each)
        return ulp_fail(error, ULP_ERROR_INPUT, "%zu activations: expected %zu", names->count, directions * each);
    for (size_t i = 0; i < directions * each; i++) {
        const char *name = names->count ? names->strings[i % names->count] : defaults[i % each];
        out[i].activation = find_activation(name);
        if (!out[i].activation)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "activation %s is not supported", name);
        take_parameter(out[i].alpha, sizeof out[i].alpha, out[i].activation->alpha,
                       ulp_call_attribute(call, "activation_alpha"), &next_alpha);
        take_parameter(out[i].beta, sizeof out[i].beta, out[i].activation->beta,
                       ulp_call_attribute(call, "activation_beta"), &next_beta);
    }
    return ULP_OK;
}

/* "name = f(z_name); " where z_name is `sum`, clipped when the operator clips. */
static void write_gate(struct ulp_text *text, const struct ulp_call *call, const struct chosen *chosen,
                       const char *name, const char *sum)
{
    const struct ulp_attribute_value *clip = ulp_call_attribute(call, "clip");
    if (clip->present && clip->f > 0)
        ulp_text_add(text, "z_%s = min(max(%s, -%a), %a); %s = ", name, sum, (double)clip->f, (double)clip->f, name);
    else
        ulp_text_add(text, "z_%s = %s; %s = ", name, sum, name);
    for (const char *p = chosen->activation->formula; *p; p++) {
        if (*p == '$')
            ulp_text_add(text, "z_%s", name);
        else if (*p == 'A' || *p == 'B')
            ulp_text_add(text, "%s", *p == 'A' ? chosen->alpha : chosen->beta);
        else
            ulp_text_add(text, "%c", *p);
    }
    ulp_text_add(text, "; ");
}

/* ---- what the three operators share ---- */

enum { RNN_GATES = 1, GRU_GATES = 3, LSTM_GATES = 4 };

struct recurrent {
    size_t gates, directions, steps, batch, input, hidden;
    bool batch_first;
    struct chosen activations[6];
    const struct ulp_tensor *x, *w, *r, *b, *lengths, *initial_h, *initial_c, *p;
    struct ulp_tensor sums_x, sums_h,
        sums_r; /* accumulators: of all steps' inputs, of the state, of GRU's reset state */
    struct ulp_tensor h, c, new_h, new_c, reset; /* storage: batch x hidden */
};

static enum ulp_status read_recurrent(const struct ulp_call *call, struct recurrent *s, struct ulp_error *error)
{
    static const char *const rnn[] = {"Tanh"}, *const gru[] = {"Sigmoid", "Tanh"},
                             *const lstm[] = {"Sigmoid", "Tanh", "Tanh"};
    *s = (struct recurrent){.gates = (size_t)call->bound->op->parameter, .batch_first = ulp_call_int(call, "layout")};
    s->x = call->in[0], s->w = call->in[1], s->r = call->in[2], s->b = ulp_call_input(call, "b");
    s->lengths = ulp_call_input(call, "sequence_lens"), s->initial_h = ulp_call_input(call, "initial_h");
    s->initial_c = ulp_call_input(call, "initial_c"), s->p = ulp_call_input(call, "p");
    if (s->x->rank != 3 || s->w->rank != 3 || s->r->rank != 3)
        return ulp_fail(error, ULP_ERROR_INPUT, "x, w and r have ranks %d, %d, %d: expected 3", s->x->rank, s->w->rank,
                        s->r->rank);
    bool both = ulp_call_is(call, "direction", "bidirectional");
    if (!both && !ulp_call_is(call, "direction", "forward") && !ulp_call_is(call, "direction", "reverse"))
        return ulp_fail(error, ULP_ERROR_INPUT, "direction %s: expected forward, reverse or bidirectional",
                        ulp_call_attribute(call, "direction")->s);
    s->directions = both ? 2 : 1;
    s->steps = (size_t)s->x->dims[s->batch_first];
    s->batch = (size_t)s->x->dims[!s->batch_first];
    s->input = (size_t)s->x->dims[2];
    s->hidden = (size_t)s->r->dims[2];
    const size_t lines = s->gates * s->hidden, state = s->directions * s->batch * s->hidden;
    const struct ulp_attribute_value *hidden = ulp_call_attribute(call, "hidden_size");
    bool fits = s->w->count == s->directions * lines * s->input && s->r->count == s->directions * lines * s->hidden &&
                (!s->b || s->b->count == 2 * s->directions * lines) && (!s->lengths || s->lengths->count == s->batch) &&
                (!s->initial_h || s->initial_h->count == state) && (!s->initial_c || s->initial_c->count == state) &&
                (!s->p || s->p->count == 3 * s->directions * s->hidden) &&
                (!hidden->present || hidden->i == (int64_t)s->hidden);
    if (!fits)
        return ulp_fail(error, ULP_ERROR_INPUT, "the inputs' shapes do not fit x, %zu directions and hidden size %zu",
                        s->directions, s->hidden);
    const size_t each = s->gates == LSTM_GATES ? 3 : s->gates == GRU_GATES ? 2 : 1;
    return read_activations(call, s->directions, each, each == 3 ? lstm : each == 2 ? gru : rnn, s->activations, error);
}

static enum ulp_status infer_recurrent(struct ulp_call *call, struct ulp_error *error)
{
    struct recurrent s;
    enum ulp_status status = read_recurrent(call, &s, error);
    if (status != ULP_OK)
        return status;
    const int64_t steps = (int64_t)s.steps, batch = (int64_t)s.batch, directions = (int64_t)s.directions,
                  hidden = (int64_t)s.hidden;
    const int64_t y[2][4] = {{steps, directions, batch, hidden}, {batch, steps, directions, hidden}};
    const int64_t state[2][3] = {{directions, batch, hidden}, {batch, directions, hidden}};
    status = ulp_call_describe(call, 0, s.x->type, 4, y[s.batch_first], error);
    for (size_t i = 1; status == ULP_OK && i < 3; i++)
        status = ulp_call_describe(call, i, s.x->type, 3, state[s.batch_first], error);
    return status;
}

/* The row (direction d, item b) of a state tensor, and (step t, d, b) of Y. */
static size_t state_row(const struct recurrent *s, size_t d, size_t b)
{
    return s->batch_first ? b * s->directions + d : d * s->batch + b;
}
static size_t output_row(const struct recurrent *s, size_t t, size_t d, size_t b)
{
    return s->batch_first ? (b * s->steps + t) * s->directions + d : (t * s->directions + d) * s->batch + b;
}

static enum ulp_status make_buffers(struct ulp_call *call, struct recurrent *s, struct ulp_error *error)
{
    const int64_t lines = (int64_t)(s->gates * s->hidden), batch = (int64_t)s->batch;
    const struct { struct ulp_tensor *tensor; int64_t rows, columns; bool sums; } buffers[] = {
        {&s->sums_x, batch * (int64_t)s->steps, lines, true}, {&s->sums_h, batch, lines, true},
        {&s->sums_r, batch, (int64_t)s->hidden, true},        {&s->h, batch, (int64_t)s->hidden, false},
        {&s->c, batch, (int64_t)s->hidden, false},            {&s->new_h, batch, (int64_t)s->hidden, false},
        {&s->new_c, batch, (int64_t)s->hidden, false},        {&s->reset, batch, (int64_t)s->hidden, false},
    };
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; status == ULP_OK && i < sizeof buffers / sizeof *buffers; i++) {
        const int64_t dims[2] = {buffers[i].rows, buffers[i].columns};
        status = buffers[i].sums
                     ? ulp_tensor_describe(buffers[i].tensor, s->x->type, ulp_accumulator_element(call->arithmetic),
                                           call->arithmetic->accumulator.precision, 2, dims, error)
                     : ulp_call_describe_tensor(call, buffers[i].tensor, s->x->type, 2, dims, error);
        if (status == ULP_OK)
            status = ulp_call_temporary(call, buffers[i].tensor, error);
    }
    return status;
}

/* out (rows x lines) = a (rows of k numbers at a_line) times the transposed matrix that starts at b. */
static enum ulp_status multiply(struct ulp_call *call, struct ulp_tensor *out, const struct ulp_tensor *a,
                                const int64_t *a_line, size_t rows, const struct ulp_tensor *b, size_t lines, size_t k,
                                struct ulp_error *error)
{
    int64_t *k_offset, *b_line, *row, *column;
    enum ulp_status status = ulp_move_table(call, &k_offset, k, 0, 1, error);
    if (status != ULP_OK || (status = ulp_move_table(call, &b_line, lines, 0, (int64_t)k, error)) != ULP_OK ||
        (status = ulp_move_table(call, &row, rows, 0, (int64_t)lines, error)) != ULP_OK ||
        (status = ulp_move_table(call, &column, lines, 0, 1, error)) != ULP_OK)
        return status;
    struct ulp_contraction problem = {
        .batch_count = 1, .m = rows, .n = lines, .k = k, .out = out, .out_row_offset = row, .out_column_offset = column,
        .a = {.tensor = a, .line_offset = a_line, .k_offset = k_offset},
        .b = {.tensor = b, .line_offset = b_line, .k_offset = k_offset},
    };
    return ulp_call_contract(call, &problem, error);
}

/* ---- cells as formulas ----
 * x_G, h_G: gate G's sums over the input and over the state; v_G, r_G: its two biases; p_G: its peephole; h, c: the
 * state; q: GRU's sum over the reset state. */

static bool resets_before(const struct ulp_call *call, const struct recurrent *s)
{
    return s->gates == GRU_GATES && !ulp_call_int(call, "linear_before_reset");
}

static void write_rnn(struct ulp_text *text, const struct ulp_call *call, const struct recurrent *s,
                      const struct chosen *f)
{
    (void)s;
    write_gate(text, call, &f[0], "y", "x_i + h_i + v_i + r_i");
    ulp_text_add(text, "y");
}

static void write_reset(struct ulp_text *text, const struct ulp_call *call, const struct chosen *f)
{
    write_gate(text, call, &f[0], "r", "x_r + h_r + v_r + r_r");
    ulp_text_add(text, "r * h");
}

static void write_gru(struct ulp_text *text, const struct ulp_call *call, const struct recurrent *s,
                      const struct chosen *f)
{
    write_gate(text, call, &f[0], "z", "x_z + h_z + v_z + r_z");
    if (resets_before(call, s)) {
        write_gate(text, call, &f[1], "y", "x_h + q + r_h + v_h");
    } else {
        write_gate(text, call, &f[0], "r", "x_r + h_r + v_r + r_r");
        write_gate(text, call, &f[1], "y", "x_h + r * (h_h + r_h) + v_h");
    }
    ulp_text_add(text, "(1 - z) * y + z * h");
}

static void write_lstm(struct ulp_text *text, const struct ulp_call *call, const struct recurrent *s,
                       const struct chosen *f)
{
    write_gate(text, call, &f[0], "i", s->p ? "x_i + h_i + p_i * c + v_i + r_i" : "x_i + h_i + v_i + r_i");
    if (ulp_call_int(call, "input_forget"))
        ulp_text_add(text, "f = 1 - i; ");
    else
        write_gate(text, call, &f[0], "f", s->p ? "x_f + h_f + p_f * c + v_f + r_f" : "x_f + h_f + v_f + r_f");
    write_gate(text, call, &f[1], "g", "x_c + h_c + v_c + r_c");
    ulp_text_add(text, "n = f * c + i * g; ");
    write_gate(text, call, &f[0], "o", s->p ? "x_o + h_o + p_o * n + v_o + r_o" : "x_o + h_o + v_o + r_o");
    write_gate(text, call, &f[2], "m", "n");
    ulp_text_add(text, "o * m");
}

/* By parameter, which is the number of gates. */
static const struct cell {
    const char *gates, *peepholes; /* in the order of w, r, b and of p */
    size_t activations;
    void (*write)(struct ulp_text *text, const struct ulp_call *call, const struct recurrent *s,
                  const struct chosen *f);
} cells[] = {
    [RNN_GATES] = {"i", "", 1, write_rnn},
    [GRU_GATES] = {"zrh", "", 2, write_gru},
    [LSTM_GATES] = {"iofc", "iof", 3, write_lstm},
};

struct cell_operands {
    size_t count;
    struct ulp_named_operand items[5 * LSTM_GATES + 3];
    char names[5 * LSTM_GATES][4];
    struct ulp_tensor views[5 * LSTM_GATES];
};

/* "LETTER_GATE": hidden numbers from element `first` of tensor on; rows row_stride (or row_offset) apart. tensor NULL:
 * -0. */
static void add_gate(struct cell_operands *o, char letter, char gate, const struct ulp_tensor *tensor, size_t first,
                     const int64_t *row_offset, int64_t row_stride)
{
    char *name = o->names[o->count];
    name[0] = letter, name[1] = '_', name[2] = gate, name[3] = 0;
    struct ulp_operand operand = {.constant = "-0"};
    if (tensor) {
        o->views[o->count] = ulp_tensor_view_from(tensor, first);
        operand = (struct ulp_operand){
            .tensor = &o->views[o->count], .row_offset = row_offset, .row_stride = row_stride, .position_stride = 1};
    }
    o->items[o->count++] = (struct ulp_named_operand){name, operand};
}

/* Operands of direction d; x_row: the row of sums_x of each item. */
static void lay_cell(struct cell_operands *o, const struct ulp_call *call, const struct recurrent *s, size_t d,
                     const int64_t *x_row)
{
    const struct cell *cell = &cells[s->gates];
    const size_t hidden = s->hidden, lines = s->gates * hidden;
    const size_t state_lines = resets_before(call, s) ? 2 * hidden : lines;
    const struct {
        const char *name;
        const struct ulp_tensor *tensor;
    } states[] = {{"h", &s->h}, {"c", &s->c}, {"q", &s->sums_r}};
    o->count = 0;
    for (size_t g = 0; cell->gates[g]; g++) {
        add_gate(o, 'x', cell->gates[g], &s->sums_x, g * hidden, x_row, 0);
        add_gate(o, 'h', cell->gates[g], g * hidden < state_lines ? &s->sums_h : NULL, g * hidden, NULL,
                 (int64_t)state_lines);
        add_gate(o, 'v', cell->gates[g], s->b, (2 * d * s->gates + g) * hidden, NULL, 0);
        add_gate(o, 'r', cell->gates[g], s->b, ((2 * d + 1) * s->gates + g) * hidden, NULL, 0);
    }
    for (size_t g = 0; cell->peepholes[g]; g++)
        add_gate(o, 'p', cell->peepholes[g], s->p, (3 * d + g) * hidden, NULL, 0);
    for (size_t i = 0; i < 3; i++)
        o->items[o->count++] = (struct ulp_named_operand){
            states[i].name, {.tensor = states[i].tensor, .row_stride = (int64_t)hidden, .position_stride = 1}};
}

static enum ulp_status run_cell(struct ulp_call *call, const struct recurrent *s, const char *formula,
                                const struct cell_operands *operands, struct ulp_tensor *result,
                                struct ulp_tensor *second, struct ulp_error *error)
{
    const struct ulp_rows rows = {.row_count = s->batch, .row_length = s->hidden};
    const struct ulp_named_operand outputs[2] = {
        {"y", {.tensor = result, .row_stride = (int64_t)s->hidden, .position_stride = 1}},
        {"n", {.tensor = second, .row_stride = (int64_t)s->hidden, .position_stride = 1}},
    };
    return ulp_call_formula(call, formula, call->arithmetic, &rows, operands->count, operands->items, second ? 2 : 1,
                            outputs, error);
}

/* ---- the steps ---- */

static void copy_row(struct ulp_tensor *to, size_t to_row, const struct ulp_tensor *from, size_t from_row,
                     size_t length)
{
    memcpy(ulp_element_at(to, to_row * length), ulp_element_at(from, from_row * length), length * to->element_bytes);
}

static enum ulp_status begin_direction(struct ulp_call *call, struct recurrent *s, size_t d, struct ulp_error *error)
{
    struct ulp_tensor zero;
    int64_t *line;
    const size_t lines = s->gates * s->hidden;
    enum ulp_status status = ulp_call_scalar(call, &zero, s->x->type, 0, error);
    if (status == ULP_OK)
        status = ulp_call_take(call, s->steps * s->batch, sizeof *line, &line, error);
    if (status != ULP_OK)
        return status;
    for (size_t t = 0; t < s->steps; t++)
        for (size_t b = 0; b < s->batch; b++)
            line[t * s->batch + b] = (int64_t)((s->batch_first ? b * s->steps + t : t * s->batch + b) * s->input);
    for (size_t b = 0; b < s->batch; b++) {
        struct ulp_tensor *const states[] = {&s->h, &s->c};
        const struct ulp_tensor *const initial[] = {s->initial_h, s->initial_c};
        for (int i = 0; i < 2; i++)
            if (initial[i])
                copy_row(states[i], b, initial[i], state_row(s, d, b), s->hidden);
            else
                ulp_move_fill(states[i], b * s->hidden, s->hidden, zero.data);
    }
    const struct ulp_tensor w = ulp_tensor_view_from(s->w, d * lines * s->input);
    return multiply(call, &s->sums_x, s->x, line, s->steps * s->batch, &w, lines, s->input, error);
}

/* Step t of every item that has one: item b reads and writes place time[b]. */
static enum ulp_status run_step(struct ulp_call *call, struct recurrent *s, size_t d, const char *const formulas[2],
                                const int64_t *x_row, const int64_t *h_line, struct ulp_error *error)
{
    const size_t lines = s->gates * s->hidden, state_lines = resets_before(call, s) ? 2 * s->hidden : lines;
    const struct ulp_tensor r = ulp_tensor_view_from(s->r, d * lines * s->hidden);
    struct cell_operands *operands;
    enum ulp_status status = ulp_call_take(call, 1, sizeof *operands, &operands, error);
    if (status == ULP_OK)
        status = multiply(call, &s->sums_h, &s->h, h_line, s->batch, &r, state_lines, s->hidden, error);
    if (status != ULP_OK)
        return status;
    lay_cell(operands, call, s, d, x_row);
    if (resets_before(call, s)) {
        const struct ulp_tensor r_last = ulp_tensor_view_from(&r, 2 * s->hidden * s->hidden);
        status = run_cell(call, s, formulas[0], operands, &s->reset, NULL, error);
        if (status == ULP_OK)
            status = multiply(call, &s->sums_r, &s->reset, h_line, s->batch, &r_last, s->hidden, s->hidden, error);
    }
    return status == ULP_OK
               ? run_cell(call, s, formulas[1], operands, &s->new_h, s->gates == LSTM_GATES ? &s->new_c : NULL, error)
               : status;
}

/* A step's tables are needed no longer than the step: long sequences must not gather them. */
static enum ulp_status run_step_alone(struct ulp_call *call, struct recurrent *s, size_t d,
                                      const char *const formulas[2], const int64_t *x_row, const int64_t *h_line,
                                      struct ulp_error *error)
{
    struct ulp_arena *outer = call->scratch;
    enum ulp_status status = ulp_arena_create(&call->scratch, error);
    if (status == ULP_OK) {
        status = run_step(call, s, d, formulas, x_row, h_line, error);
        ulp_arena_free(call->scratch);
    }
    call->scratch = outer;
    return status;
}

static enum ulp_status run_direction(struct ulp_call *call, struct recurrent *s, size_t d,
                                     const char *const formulas[2], struct ulp_error *error)
{
    const bool reverse = d == 1 || ulp_call_is(call, "direction", "reverse");
    int64_t *x_row, *h_line;
    size_t *place;
    enum ulp_status status = begin_direction(call, s, d, error);
    if (status == ULP_OK)
        status = ulp_call_take(call, s->batch, sizeof *x_row, &x_row, error);
    if (status == ULP_OK)
        status = ulp_move_table(call, &h_line, s->batch, 0, (int64_t)s->hidden, error);
    if (status == ULP_OK)
        status = ulp_call_take(call, s->batch, sizeof *place, &place, error);
    for (size_t t = 0; status == ULP_OK && t < s->steps; t++) {
        for (size_t b = 0; b < s->batch; b++) {
            size_t length =
                s->lengths ? (size_t)ulp_clamp(ulp_tensor_get_int(s->lengths, b), 0, (int64_t)s->steps) : s->steps;
            place[b] = t >= length ? s->steps : reverse ? length - 1 - t : t; /* steps: the item has ended */
            x_row[b] = (int64_t)((place[b] < s->steps ? place[b] : 0) * s->batch + b) * (int64_t)(s->gates * s->hidden);
        }
        status = run_step_alone(call, s, d, formulas, x_row, h_line, error);
        for (size_t b = 0; status == ULP_OK && b < s->batch; b++) {
            if (place[b] == s->steps)
                continue;
            copy_row(&s->h, b, &s->new_h, b, s->hidden);
            if (s->gates == LSTM_GATES)
                copy_row(&s->c, b, &s->new_c, b, s->hidden);
            if (ulp_call_wants(call, 0))
                copy_row(&call->out[0], output_row(s, place[b], d, b), &s->h, b, s->hidden);
        }
    }
    for (size_t b = 0; status == ULP_OK && b < s->batch; b++) {
        if (ulp_call_wants(call, 1))
            copy_row(&call->out[1], state_row(s, d, b), &s->h, b, s->hidden);
        if (ulp_call_wants(call, 2))
            copy_row(&call->out[2], state_row(s, d, b), &s->c, b, s->hidden);
    }
    return status;
}

static enum ulp_status run_recurrent(struct ulp_call *call, struct ulp_error *error)
{
    struct recurrent s;
    struct ulp_tensor zero;
    enum ulp_status status = read_recurrent(call, &s, error);
    if (status == ULP_OK && (s.batch == 0 || s.hidden == 0))
        return ULP_OK;
    if (status == ULP_OK)
        status = make_buffers(call, &s, error);
    if (status == ULP_OK)
        status = ulp_call_scalar(call, &zero, s.x->type, 0, error);
    if (status == ULP_OK && ulp_call_wants(call, 0)) /* what no item reaches stays 0 */
        ulp_move_fill(&call->out[0], 0, call->out[0].count, zero.data);
    if (status == ULP_OK) /* every step meets it */
        status = ulp_packed_keep(call->packed, s.r, error);
    const bool kept = status == ULP_OK;
    for (size_t d = 0; status == ULP_OK && d < s.directions; d++) {
        const struct chosen *f = &s.activations[d * cells[s.gates].activations];
        struct ulp_text reset = {0}, cell = {0};
        write_reset(&reset, call, f);
        cells[s.gates].write(&cell, call, &s, f);
        status = reset.failed || cell.failed
                     ? ulp_fail(error, ULP_ERROR_MEMORY, "out of memory")
                     : run_direction(call, &s, d, (const char *const[]){reset.data, cell.data}, error);
        ulp_text_free(&reset);
        ulp_text_free(&cell);
    }
    if (kept)
        ulp_packed_drop(call->packed, s.r);
    return status;
}

#define RECURRENT .infer = infer_recurrent, .run = run_recurrent
#define COMMON "activation_alpha:floats; activation_beta:floats; activations:strings; clip:float; " \
    "direction:string=forward; hidden_size:int"
#define STATES "y? y_h?"

const struct ulp_operator ulp_ops_recurrent[] = {
    {.name = "GRU", .since = 7, .inputs = "x w r b? sequence_lens:i? initial_h?", .outputs = STATES,
     .attributes = COMMON "; linear_before_reset:int=0", RECURRENT, .parameter = GRU_GATES},
    {.name = "GRU", .since = 14, .inputs = "x w r b? sequence_lens:i? initial_h?", .outputs = STATES,
     .attributes = COMMON "; linear_before_reset:int=0; layout:int=0", RECURRENT, .parameter = GRU_GATES},
    {.name = "LSTM", .since = 7, .inputs = "x w r b? sequence_lens:i? initial_h? initial_c? p?",
     .outputs = STATES " y_c?", .attributes = COMMON "; input_forget:int=0", RECURRENT, .parameter = LSTM_GATES},
    {.name = "LSTM", .since = 14, .inputs = "x w r b? sequence_lens:i? initial_h? initial_c? p?",
     .outputs = STATES " y_c?", .attributes = COMMON "; input_forget:int=0; layout:int=0", RECURRENT,
     .parameter = LSTM_GATES},
    {.name = "RNN", .since = 7, .inputs = "x w r b? sequence_lens:i? initial_h?", .outputs = STATES,
     .attributes = COMMON, RECURRENT, .parameter = RNN_GATES},
    {.name = "RNN", .since = 14, .inputs = "x w r b? sequence_lens:i? initial_h?", .outputs = STATES,
     .attributes = COMMON "; layout:int=0", RECURRENT, .parameter = RNN_GATES},
    {0},
};
