/* RNN, GRU and LSTM: per step one contraction of the state, and the cell as a formula. What is
 * rounded to the lane's storage in between is the kernel's choice (recurrent_kernel.h). */
#include "base/error.h"
#include "ops/contraction.h"
#include "ops/ops_move.h"
#include "ops/product/recurrent.h"

static enum ulp_status infer_recurrent(struct ulp_call *call)
{
    struct ulp_recurrent s;
    ULP_TRY(ulp_recurrent_read(call, &s));
    const int64_t steps = (int64_t)s.steps, batch = (int64_t)s.batch,
                  directions = (int64_t)s.directions, hidden = (int64_t)s.hidden;
    const int64_t y[2][4] = {{steps, directions, batch, hidden},
                             {batch, steps, directions, hidden}};
    const int64_t state[2][3] = {{directions, batch, hidden}, {batch, directions, hidden}};
    ULP_TRY(ulp_call_describe(call, 0, s.x->type, 4, y[s.batch_first]));
    for (size_t i = 1; i < 3; i++)
        ULP_TRY(ulp_call_describe(call, i, s.x->type, 3, state[s.batch_first]));
    return ULP_OK;
}

/* The row (direction d, item b) of a state tensor, and (step t, d, b) of Y. */
static size_t state_row(const struct ulp_recurrent *s, size_t d, size_t b)
{
    return s->batch_first ? b * s->directions + d : d * s->batch + b;
}
static size_t output_row(const struct ulp_recurrent *s, size_t t, size_t d, size_t b)
{
    return s->batch_first ? (b * s->steps + t) * s->directions + d
                          : (t * s->directions + d) * s->batch + b;
}

/* out (rows x lines) = a (rows of k numbers at a_line) times the transposed matrix that starts at
 * b; store: rounded to storage. */
static enum ulp_status multiply_rows(struct ulp_call *call, struct ulp_tensor *out,
                                     const struct ulp_tensor *a, const int64_t *a_line, size_t rows,
                                     const struct ulp_tensor *b, size_t lines, size_t k, bool store)
{
    struct ulp_contraction problem = {
        .batch_count = 1,
        .m = rows,
        .n = lines,
        .k = k,
        .is_cudnn = true,
        .out = out,
        .store = store,
        .a = {.tensor = a, .line_offset = a_line},
        .b = {.tensor = b},
    };
    const struct ulp_product_steps steps = {
        .a_k = 1, .b_line = (int64_t)k, .b_k = 1, .row = (int64_t)lines, .column = 1};
    ULP_TRY(ulp_product_lay(call, &problem, steps));
    return ulp_call_contract(call, &problem);
}

struct cell_operands {
    size_t count;
    struct ulp_named_operand items[5 * ULP_LSTM_GATES + 3];
    char names[5 * ULP_LSTM_GATES][4];
    struct ulp_tensor views[5 * ULP_LSTM_GATES];
};

/* "LETTER_GATE": hidden numbers from element `first` of tensor on; rows row_stride (or row_offset)
 * apart. NULL: -0. */
static void add_gate(struct cell_operands *o, char letter, char gate,
                     const struct ulp_tensor *tensor, size_t first, const int64_t *row_offset,
                     int64_t row_stride)
{
    char *name = o->names[o->count];
    name[0] = letter, name[1] = '_', name[2] = gate, name[3] = 0;
    struct ulp_operand operand = {.constant = "-0"};
    if (tensor) {
        o->views[o->count] = ulp_tensor_view_from(tensor, first);
        operand = (struct ulp_operand){.tensor = &o->views[o->count],
                                       .row_offset = row_offset,
                                       .row_stride = row_stride,
                                       .position_stride = 1};
    }
    o->items[o->count++] = (struct ulp_named_operand){name, operand};
}

/* Operands of direction d; x_row: the row of sums_x of each item. */
static void lay_cell(struct cell_operands *o, const struct ulp_call *call,
                     const struct ulp_recurrent *s, size_t d, const int64_t *x_row)
{
    const struct ulp_cell *cell = s->cell;
    const size_t hidden = s->hidden, lines = s->gates * hidden;
    const size_t state_lines = ulp_cell_resets_before(call) ? 2 * hidden : lines;
    const struct {
        const char *name;
        const struct ulp_tensor *tensor;
    } states[] = {{"h", &s->h}, {"c", &s->c}, {"q", &s->sums_r}};
    o->count = 0;
    for (size_t g = 0; cell->gates[g]; g++) {
        add_gate(o, 'x', cell->gates[g], &s->sums_x, g * hidden, x_row, 0);
        add_gate(o, 'h', cell->gates[g], g * hidden < state_lines ? &s->sums_h : NULL, g * hidden,
                 NULL, (int64_t)state_lines);
        const bool biased = s->kernel->biased;
        add_gate(o, 'v', cell->gates[g], biased ? NULL : s->b, (2 * d * s->gates + g) * hidden,
                 NULL, 0);
        add_gate(o, 'r', cell->gates[g], biased && g + 1 < s->gates ? NULL : s->b,
                 ((2 * d + 1) * s->gates + g) * hidden, NULL, 0);
    }
    for (size_t g = 0; cell->peepholes[g]; g++)
        add_gate(o, 'p', cell->peepholes[g], s->p, (3 * d + g) * hidden, NULL, 0);
    for (size_t i = 0; i < 3; i++)
        o->items[o->count++] = (struct ulp_named_operand){states[i].name,
                                                          {.tensor = states[i].tensor,
                                                           .row_stride = (int64_t)hidden,
                                                           .position_stride = 1}};
}

static enum ulp_status run_cell(struct ulp_call *call, const struct ulp_recurrent *s,
                                const char *formula, const struct cell_operands *operands,
                                struct ulp_tensor *result, struct ulp_tensor *second)
{
    const struct ulp_rows rows = {.row_count = s->batch, .row_length = s->hidden};
    const struct ulp_named_operand outputs[2] = {
        {"y", {.tensor = result, .row_stride = (int64_t)s->hidden, .position_stride = 1}},
        {"n",
         {.tensor = second,
          .row_stride = (int64_t)s->hidden,
          .position_stride = 1,
          .storage = s->kernel->c_stored ? NULL : &call->arithmetic->compute}},
    };
    struct ulp_arithmetic arithmetic = *call->arithmetic;
    arithmetic.tanh_rounded = s->kernel->tanh_rounded;
    return ulp_call_text(call, formula, &arithmetic, &rows, operands->count, operands->items,
                         second ? 2 : 1, outputs);
}

/* ---- the steps ---- */

static size_t item_length(const struct ulp_recurrent *s, size_t b)
{
    return s->lengths ? (size_t)ulp_clamp(ulp_tensor_get_int(s->lengths, b), 0, (int64_t)s->steps)
                      : s->steps;
}

/* The numbers of one state in the other's format. */
static enum ulp_status pass_state(struct ulp_call *call, const struct ulp_recurrent *s,
                                  struct ulp_tensor *to, const struct ulp_tensor *from)
{
    const struct ulp_rows rows = {.row_count = s->batch, .row_length = s->hidden};
    const struct ulp_operand whole = {.row_stride = (int64_t)s->hidden, .position_stride = 1};
    struct ulp_named_operand in = {"x", whole}, out = {"y", whole};
    in.operand.tensor = from;
    out.operand.tensor = to;
    out.operand.storage = to == &s->stored ? NULL : &call->arithmetic->compute;
    return ulp_call_text(call, "y = x; y", call->arithmetic, &rows, 1, &in, 1, &out);
}

static void copy_row(struct ulp_tensor *to, size_t to_row, const struct ulp_tensor *from,
                     size_t from_row, size_t length)
{
    ulp_move_run(to, to_row * length, from, from_row * length, length);
}

/* Steps that no item has do not count for the range of x. */
static enum ulp_status begin_coded(struct ulp_call *call, struct ulp_recurrent *s, size_t d)
{
    size_t rows = 0;
    for (size_t b = 0; b < s->batch; b++)
        if (item_length(s, b) * s->batch > rows)
            rows = item_length(s, b) * s->batch;
    struct ulp_tensor x = ulp_tensor_view(s->x);
    x.rank = 1;
    x.count = rows * s->input;
    x.dims[0] = (int64_t)x.count;
    ULP_TRY(ulp_coded_weights_read(call, &s->coded_w, s->w, ulp_call_input(call, "w_scale"),
                                   ulp_call_input(call, "w_zero_point"), d));
    ULP_TRY(ulp_coded_weights_read(call, &s->coded_r, s->r, ulp_call_input(call, "r_scale"),
                                   ulp_call_input(call, "r_zero_point"), d));
    if (rows == 0)
        return ULP_OK;
    return ulp_coded_multiply(call, &s->sums_x, &x, rows, &s->coded_w);
}

/* To the stored sums over the input, both biases but the second of the last gate. */
static enum ulp_status add_biases(struct ulp_call *call, struct ulp_recurrent *s, size_t d)
{
    const size_t lines = s->gates * s->hidden;
    const struct ulp_rows rows = {.row_count = s->steps * s->batch, .row_length = s->hidden};
    for (size_t g = 0; g < s->gates; g++) {
        struct ulp_tensor x = ulp_tensor_view_from(&s->sums_x, g * s->hidden),
                          v = ulp_tensor_view_from(s->b, 2 * d * lines + g * s->hidden),
                          r = ulp_tensor_view_from(s->b, (2 * d + 1) * lines + g * s->hidden);
        const struct ulp_operand sums = {.tensor = &x,
                                         .row_stride = (int64_t)lines,
                                         .position_stride = 1};
        const struct ulp_named_operand operands[] = {{"x", sums},
                                                     {"v", {.tensor = &v, .position_stride = 1}},
                                                     {"r", {.tensor = &r, .position_stride = 1}}};
        const struct ulp_named_operand out = {"y", sums};
        ULP_TRY(ulp_call_text(call, g + 1 < s->gates ? "y = x + (v + r); y" : "y = x + v; y",
                              call->arithmetic, &rows, 3, operands, 1, &out));
    }
    return ULP_OK;
}

static enum ulp_status begin_direction(struct ulp_call *call, struct ulp_recurrent *s, size_t d)
{
    struct ulp_tensor zero;
    const size_t lines = s->gates * s->hidden;
    ULP_TRY(ulp_call_scalar(call, &zero, s->x->type, 0));
    ULP_CALL_TAKE(int64_t, line, call, s->steps * s->batch);
    for (size_t t = 0; t < s->steps; t++)
        for (size_t b = 0; b < s->batch; b++)
            line[t * s->batch + b] =
                (int64_t)((s->batch_first ? b * s->steps + t : t * s->batch + b) * s->input);
    struct ulp_tensor *const states[] = {&s->h, &s->c};
    const struct ulp_tensor *const initial[] = {s->initial_h, s->initial_c};
    const bool stored[] = {s->kernel->h_stored, s->kernel->c_stored};
    for (int i = 0; i < 2; i++) {
        struct ulp_tensor *to = stored[i] ? states[i] : &s->stored;
        for (size_t b = 0; b < s->batch; b++)
            if (initial[i])
                copy_row(to, b, initial[i], state_row(s, d, b), s->hidden);
            else
                ulp_move_fill(to, b * s->hidden, s->hidden, zero.data);
        if (!stored[i])
            ULP_TRY(pass_state(call, s, states[i], to));
    }
    if (s->coded)
        return begin_coded(call, s, d);
    const struct ulp_tensor w = ulp_tensor_view_from(s->w, d * lines * s->input);
    ULP_TRY(multiply_rows(call, &s->sums_x, s->x, line, s->steps * s->batch, &w, lines, s->input,
                          s->kernel->input_stored));
    return s->kernel->biased && s->b ? add_biases(call, s, d) : ULP_OK;
}

/* Step t of every item that has one: item b reads and writes place time[b]. */
static enum ulp_status run_step(struct ulp_call *call, struct ulp_recurrent *s, size_t d,
                                const char *const formulas[2], const int64_t *x_row,
                                const int64_t *h_line)
{
    const size_t lines = s->gates * s->hidden,
                 state_lines = ulp_cell_resets_before(call) ? 2 * s->hidden : lines;
    const struct ulp_tensor r = ulp_tensor_view_from(s->r, d * lines * s->hidden);
    const struct ulp_arithmetic chains = ulp_call_chains(call);
    struct ulp_call wide = *call;
    if (!s->kernel->h_stored) {
        wide.arithmetic = &chains;
        call = &wide;
    }
    ULP_CALL_TAKE(struct cell_operands, operands, call, 1);
    ULP_TRY(s->coded ? ulp_coded_multiply(call, &s->sums_h, &s->h, s->batch, &s->coded_r)
                     : multiply_rows(call, &s->sums_h, &s->h, h_line, s->batch, &r, state_lines,
                                     s->hidden, s->kernel->sums_stored));
    lay_cell(operands, call, s, d, x_row);
    if (ulp_cell_resets_before(call)) {
        const struct ulp_tensor r_last = ulp_tensor_view_from(&r, 2 * s->hidden * s->hidden);
        ULP_TRY(run_cell(call, s, formulas[0], operands, &s->reset, NULL));
        ULP_TRY(multiply_rows(call, &s->sums_r, &s->reset, h_line, s->batch, &r_last, s->hidden,
                              s->hidden, false));
    }
    struct ulp_tensor *second = s->gates == ULP_LSTM_GATES ? &s->new_c : NULL;
    return run_cell(call, s, formulas[1], operands, &s->new_h, second);
}

/* A step's tables are needed no longer than the step: long sequences must not gather them. */
static enum ulp_status run_step_alone(struct ulp_call *call, struct ulp_recurrent *s, size_t d,
                                      const char *const formulas[2], const int64_t *x_row,
                                      const int64_t *h_line)
{
    struct ulp_arena *outer = call->scratch;
    enum ulp_status status = ulp_arena_create(&call->scratch, call->budget, call->error);
    ULP_THEN(status, run_step(call, s, d, formulas, x_row, h_line));
    ulp_arena_free(call->scratch);
    call->scratch = outer;
    return status;
}

static enum ulp_status run_direction(struct ulp_call *call, struct ulp_recurrent *s, size_t d,
                                     const char *const formulas[2])
{
    const bool reverse = d == 1 || ulp_call_is(call, "direction", "reverse");
    int64_t *x_row, *h_line;
    ULP_TRY(begin_direction(call, s, d));
    ULP_TRY(ulp_call_take(call, s->batch, sizeof *x_row, &x_row));
    ULP_TRY(ulp_move_table(call, &h_line, s->batch, 0, (int64_t)s->hidden));
    ULP_CALL_TAKE(size_t, place, call, s->batch);
    for (size_t t = 0; t < s->steps; t++) {
        for (size_t b = 0; b < s->batch; b++) {
            const size_t length = item_length(s, b);
            /* steps: the item has ended */
            place[b] = t >= length ? s->steps : reverse ? length - 1 - t : t;
            x_row[b] = (int64_t)((place[b] < s->steps ? place[b] : 0) * s->batch + b) *
                       (int64_t)(s->gates * s->hidden);
        }
        ULP_TRY(run_step_alone(call, s, d, formulas, x_row, h_line));
        if (!s->kernel->h_stored)
            ULP_TRY(pass_state(call, s, &s->stored, &s->new_h));
        for (size_t b = 0; b < s->batch; b++) {
            if (place[b] == s->steps)
                continue;
            copy_row(&s->h, b, &s->new_h, b, s->hidden);
            if (s->gates == ULP_LSTM_GATES)
                copy_row(&s->c, b, &s->new_c, b, s->hidden);
            if (ulp_call_wants(call, 0))
                copy_row(&call->out[0], output_row(s, place[b], d, b),
                         s->kernel->h_stored ? &s->h : &s->stored, b, s->hidden);
        }
    }
    const struct ulp_tensor *const last[] = {&s->h, &s->c};
    const bool stored[] = {s->kernel->h_stored, s->kernel->c_stored};
    for (size_t i = 0; i < 2; i++) {
        if (!ulp_call_wants(call, i + 1))
            continue;
        if (!stored[i])
            ULP_TRY(pass_state(call, s, &s->stored, last[i]));
        for (size_t b = 0; b < s->batch; b++)
            copy_row(&call->out[i + 1], state_row(s, d, b), stored[i] ? last[i] : &s->stored, b,
                     s->hidden);
    }
    return ULP_OK;
}

static enum ulp_status run_recurrent(struct ulp_call *call)
{
    struct ulp_recurrent s;
    struct ulp_tensor zero;
    ULP_TRY(ulp_recurrent_read(call, &s));
    if (s.batch == 0 || s.hidden == 0)
        return ULP_OK;
    ULP_TRY(ulp_recurrent_make_buffers(call, &s));
    ULP_TRY(ulp_call_scalar(call, &zero, s.x->type, 0));
    if (ulp_call_wants(call, 0)) /* what no item reaches stays 0 */
        ulp_move_fill(&call->out[0], 0, call->out[0].count, zero.data);
    for (size_t d = 0; d < s.directions; d++) {
        struct ulp_text formulas[2] = {{0}};
        enum ulp_status status =
            ulp_cell_write(call, &s.activations[d * s.cell->activation_count], formulas);
        ULP_THEN(status, run_direction(call, &s, d,
                                       (const char *const[]){formulas[0].data, formulas[1].data}));
        ulp_text_free(&formulas[0]);
        ulp_text_free(&formulas[1]);
        ULP_TRY(status);
    }
    return ULP_OK;
}

#define RECURRENT \
    .infer = infer_recurrent, .run = run_recurrent, .work = ULP_WORK_CONTRACTION, .weights = "w r"
#define KERNEL .kernel = "recurrence"
#define COMMON                                                                           \
    "activation_alpha:floats; activation_beta:floats; activations:strings; clip:float; " \
    "direction:string=forward; hidden_size:int"
#define STATES "y? y_h?"

/* clang-format off */
const struct ulp_operator ulp_ops_recurrent[] = {
    {.name = "DynamicQuantizeLSTM", .domain = "com.microsoft", .since = 1, .quantizes = true,
     .inputs = "x w:i r:i b? sequence_lens:i? initial_h? initial_c? p? w_scale:p w_zero_point:i "
               "r_scale:p r_zero_point:i",
     .outputs = STATES " y_c?", .attributes = COMMON "; input_forget:int=0", RECURRENT,
     .integer_sums = true, .pairs = ULP_PAIRS_UNSIGNED, .formulas = ULP_FORMULAS(&ulp_quantized_dynamic, &ulp_coded_scaled),
     .parameter = ULP_LSTM_GATES},
    {.name = "GRU", .since = 7, KERNEL, .inputs = "x w r b? sequence_lens:i? initial_h?", .outputs = STATES,
     .attributes = COMMON "; linear_before_reset:int=0", RECURRENT, .parameter = ULP_GRU_GATES},
    {.name = "GRU", .since = 14, KERNEL, .inputs = "x w r b? sequence_lens:i? initial_h?",
     .outputs = STATES,
     .attributes = COMMON "; linear_before_reset:int=0; layout:int=0", RECURRENT,
     .parameter = ULP_GRU_GATES},
    {.name = "LSTM", .since = 7, KERNEL, .inputs = "x w r b? sequence_lens:i? initial_h? initial_c? p?",
     .outputs = STATES " y_c?", .attributes = COMMON "; input_forget:int=0", RECURRENT,
     .parameter = ULP_LSTM_GATES},
    {.name = "LSTM", .since = 14, KERNEL, .inputs = "x w r b? sequence_lens:i? initial_h? initial_c? p?",
     .outputs = STATES " y_c?", .attributes = COMMON "; input_forget:int=0; layout:int=0",
     RECURRENT,
     .parameter = ULP_LSTM_GATES},
    {.name = "RNN", .since = 7, .inputs = "x w r b? sequence_lens:i? initial_h?", .outputs = STATES,
     .attributes = COMMON, RECURRENT, .parameter = ULP_RNN_GATES},
    {.name = "RNN", .since = 14, .inputs = "x w r b? sequence_lens:i? initial_h?",
     .outputs = STATES,
     .attributes = COMMON "; layout:int=0", RECURRENT, .parameter = ULP_RNN_GATES},
    {0},
};
/* clang-format on */
