/* The values of every instruction of a formula: the tape itself, with all of them as outputs. */
#include <math.h>

#include "base/error.h"
#include "formula/words.h"
#include "ops/operator.h"
#include "ops/probe.h"

/* Elements of all outputs together that are in memory at a time. */
#define CHUNK_ELEMENTS ((size_t)1 << 21)
#define WORDS 160

/* To the range of *hidden; whether it is the new largest. */
static bool add_magnitude(struct ulp_hidden *hidden, const struct ulp_format *format, double size)
{
    const double normal = ldexp(1, format->emin),
                 zero = format->subnormals ? ldexp(1, format->emin - format->precision) : normal;
    hidden->count++;
    if (size == 0 || !isfinite(size))
        return false;
    hidden->zero += size <= zero;
    hidden->subnormal += size > zero && size < normal;
    if (hidden->smallest == 0 || size < hidden->smallest)
        hidden->smallest = size;
    if (size <= hidden->largest)
        return false;
    hidden->largest = hidden->bound = size;
    return true;
}

bool ulp_hidden_is_absorbed(const struct ulp_format *format, double a, double b)
{
    const double big = fabs(a) < fabs(b) ? b : a;
    return ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, a + b, 0, 0) ==
           ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, big, 0, 0);
}

/* One run of a tape with more outputs. */
struct looking {
    const struct ulp_call *call;
    const struct ulp_tape_call *run;
    struct ulp_tape tape;      /* the run's, its outputs all instructions that are looked at */
    double **values;           /* by instruction: of the chunk; NULL: not looked at */
    bool *result;              /* by instruction: a result of the node */
    struct ulp_hidden *hidden; /* by instruction */
    struct ulp_operand *operands, *outputs;
    struct ulp_tensor *tensors; /* of the outputs */
    size_t first, count, chunk; /* rows now in memory, and at most */
};

static bool gives_truth(enum ulp_primitive primitive)
{
    return primitive == ULP_PRIMITIVE_LESS || primitive == ULP_PRIMITIVE_LESS_EQUAL ||
           primitive == ULP_PRIMITIVE_EQUAL || primitive == ULP_PRIMITIVE_AND ||
           primitive == ULP_PRIMITIVE_OR || primitive == ULP_PRIMITIVE_NOT;
}

static bool is_number(const struct ulp_instruction *instruction)
{
    return instruction->kind == ULP_TAPE_REDUCTION || instruction->kind == ULP_TAPE_SCAN ||
           (instruction->kind == ULP_TAPE_PRIMITIVE && !gives_truth(instruction->primitive));
}

static bool is_sum(const struct ulp_instruction *instruction)
{
    return instruction->kind == ULP_TAPE_REDUCTION && instruction->reduction == ULP_REDUCTION_SUM;
}

static bool is_addition(const struct ulp_instruction *instruction)
{
    return instruction->kind == ULP_TAPE_PRIMITIVE &&
           (instruction->primitive == ULP_PRIMITIVE_ADD ||
            instruction->primitive == ULP_PRIMITIVE_SUB);
}

/* Is the output tensor one of the node's? */
static bool is_result(const struct ulp_call *call, const struct ulp_tensor *tensor)
{
    for (size_t o = 0; tensor && o < call->output_count; o++)
        if (call->out[o].data == tensor->data)
            return true;
    return false;
}

/* Which instructions to look at: those inside, and what sums and additions read. */
static int choose_instructions(struct looking *looking, bool *wanted)
{
    const struct ulp_tape *tape = looking->run->tape;
    int inside = 0;
    for (int o = 0; o < tape->output_count; o++)
        if (tape->outputs[o] >= 0 && is_result(looking->call, looking->run->outputs[o].tensor))
            looking->result[tape->outputs[o]] = true;
    for (int i = 0; i < tape->instruction_count; i++) {
        const struct ulp_instruction *instruction = &tape->instructions[i];
        const bool terms = is_sum(instruction) || is_addition(instruction);
        if (!is_number(instruction) || (looking->result[i] && !terms))
            continue;
        inside++;
        wanted[i] = true;
        for (int a = 0; a < 3 && terms; a++)
            if (instruction->arguments[a] >= 0)
                wanted[instruction->arguments[a]] = true;
    }
    return inside;
}

static size_t look_window(const void *context, size_t row, int32_t *positions)
{
    const struct looking *looking = context;
    const struct ulp_rows *rows = looking->run->rows;
    return rows->window(rows->window_context, looking->first + row, positions);
}

static bool by_row(const struct looking *looking, int i)
{
    return looking->tape.instructions[i].per_row;
}

/* Value of instruction i at a row and position of the chunk. */
static double value_at(const struct looking *looking, int i, size_t row, size_t position)
{
    return looking
        ->values[i][by_row(looking, i) ? row : row * looking->run->rows->row_length + position];
}

/* ---- memory ---- */

static enum ulp_status take_chunk_memory(struct looking *looking, const bool *wanted,
                                         struct ulp_error *error)
{
    struct ulp_arena *arena = looking->call->scratch;
    const struct ulp_tape *tape = looking->run->tape;
    const size_t length = looking->run->rows->row_length, rows = looking->run->rows->row_count;
    size_t outputs = 0;
    ULP_TAKE_ARRAY(int, list, arena, (size_t)tape->instruction_count + 1, error);
    for (int i = 0; i < tape->instruction_count; i++)
        if (wanted[i])
            list[outputs++] = i;
    looking->chunk = CHUNK_ELEMENTS / (outputs * length);
    looking->chunk = looking->chunk ? ulp_size_min(looking->chunk, rows) : 1;
    looking->tape = *tape;
    looking->tape.outputs = list;
    looking->tape.output_count = (int)outputs;
    ULP_TAKE(looking->outputs, arena, outputs, error);
    ULP_TAKE(looking->tensors, arena, outputs, error);
    ULP_TAKE(looking->operands, arena, (size_t)tape->operand_count + 1, error);
    for (size_t o = 0; o < outputs; o++) {
        const bool per_row = by_row(looking, list[o]);
        const int64_t count = (int64_t)(looking->chunk * (per_row ? 1 : length));
        ULP_TRY(ulp_tensor_describe(&looking->tensors[o], ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, 1,
                                    &count, error));
        ULP_TRY(ulp_tensor_allocate(&looking->tensors[o], looking->call->budget, error));
        looking->values[list[o]] = looking->tensors[o].data;
        looking->outputs[o] = (struct ulp_operand){.tensor = &looking->tensors[o],
                                                   .row_stride = per_row ? 1 : (int64_t)length,
                                                   .position_stride = !per_row};
    }
    return ULP_OK;
}

/* The operands from the chunk's first row on. */
static enum ulp_status lay_operands(struct looking *looking, struct ulp_error *error)
{
    for (int i = 0; i < looking->tape.operand_count; i++) {
        struct ulp_operand *operand = &looking->operands[i];
        *operand = looking->run->operands[i];
        if (!operand->tensor || !looking->first)
            continue;
        ULP_TAKE_ARRAY(int64_t, table, looking->call->scratch, looking->count, error);
        for (size_t r = 0; r < looking->count; r++)
            table[r] = ulp_row_base(operand, looking->first + r);
        operand->row_offset = table;
        operand->row_period = 0;
    }
    return ULP_OK;
}

/* ---- figures ---- */

/* Partial sums in the order of the row, and what each adds. */
static void look_at_sum(struct looking *looking, int i)
{
    struct ulp_hidden *hidden = &looking->hidden[i];
    const struct ulp_format *format = &looking->call->probe->format;
    const int term = looking->tape.instructions[i].arguments[0];
    const size_t length = looking->run->rows->row_length;
    for (size_t r = 0; r < looking->count; r++) {
        double sum = 0;
        ptrdiff_t k = 0;
        for (size_t p = 0; p < length; p++) {
            const double value = value_at(looking, term, r, p);
            if (isnan(value)) /* not there, of a window */
                continue;
            if (k && sum != 0 && value != 0) {
                hidden->additions++;
                hidden->absorbed += ulp_hidden_is_absorbed(format, sum, value);
            }
            sum += value;
            if (!isfinite(sum))
                break;
            if (fabs(sum) > format->max_finite && (hidden->first < 0 || k < hidden->first))
                hidden->first = k;
            if (fabs(sum) > hidden->largest) {
                hidden->largest = hidden->bound = fabs(sum);
                hidden->index = looking->first + r;
                hidden->k = k;
            }
            k++;
        }
        add_magnitude(hidden, format, fabs(sum));
    }
}

static void look_at_addition(struct looking *looking, int i)
{
    struct ulp_hidden *hidden = &looking->hidden[i];
    const struct ulp_instruction *instruction = &looking->tape.instructions[i];
    const size_t length = by_row(looking, i) ? 1 : looking->run->rows->row_length;
    const double sign = instruction->primitive == ULP_PRIMITIVE_SUB ? -1 : 1;
    for (size_t r = 0; r < looking->count; r++)
        for (size_t p = 0; p < length; p++) {
            const double a = value_at(looking, instruction->arguments[0], r, p),
                         b = sign * value_at(looking, instruction->arguments[1], r, p);
            if (a == 0 || b == 0 || !isfinite(a) || !isfinite(b))
                continue;
            hidden->additions++;
            hidden->absorbed += ulp_hidden_is_absorbed(&looking->call->probe->format, a, b);
        }
}

static void look_at_values(struct looking *looking, int i)
{
    struct ulp_hidden *hidden = &looking->hidden[i];
    const size_t count = looking->count * (by_row(looking, i) ? 1 : looking->run->rows->row_length);
    const size_t before =
        looking->first * (by_row(looking, i) ? 1 : looking->run->rows->row_length);
    for (size_t e = 0; e < count; e++) {
        const double value = looking->values[i][e];
        if (!isnan(value) && add_magnitude(hidden, &looking->call->probe->format, fabs(value)))
            hidden->index = before + e;
    }
}

static enum ulp_status look_at_chunk(struct looking *looking, struct ulp_error *error)
{
    const struct ulp_rows *all = looking->run->rows;
    const struct ulp_rows rows = {.row_count = looking->count,
                                  .row_length = all->row_length,
                                  .window = all->window ? look_window : NULL,
                                  .window_context = looking};
    struct ulp_tape_call run = *looking->run;
    run.tape = &looking->tape;
    run.rows = &rows;
    run.operands = looking->operands;
    run.outputs = looking->outputs;
    for (int o = 0; o < looking->tape.output_count; o++) {
        double *data = looking->tensors[o].data;
        for (size_t e = 0; all->window && e < looking->tensors[o].count; e++)
            data[e] = NAN;
    }
    ULP_TRY(lay_operands(looking, error));
    ULP_TRY(ulp_tape_run(&run, error));
    for (int i = 0; i < looking->tape.instruction_count; i++) {
        const struct ulp_instruction *instruction = &looking->tape.instructions[i];
        if (!looking->values[i] || !is_number(instruction))
            continue;
        if (is_sum(instruction))
            look_at_sum(looking, i);
        else
            look_at_values(looking, i);
        if (is_addition(instruction))
            look_at_addition(looking, i);
    }
    return ULP_OK;
}

static enum ulp_status tell(struct looking *looking, struct ulp_error *error)
{
    const struct ulp_probe *probe = looking->call->probe;
    for (int i = 0; i < looking->tape.instruction_count; i++) {
        const struct ulp_instruction *instruction = &looking->tape.instructions[i];
        struct ulp_hidden *hidden = &looking->hidden[i];
        char words[WORDS];
        if (!looking->values[i] || !is_number(instruction))
            continue;
        hidden->call = looking->call;
        hidden->words = ulp_tape_words(looking->run->tape, i, words, sizeof words);
        hidden->sum = is_sum(instruction);
        ULP_TRY(probe->tell(probe->context, probe->node, hidden, looking->result[i] && !hidden->sum,
                            error));
    }
    return ULP_OK;
}

static bool has_floats(const struct ulp_tape_call *run)
{
    for (int i = 0; i < run->tape->operand_count; i++)
        if (run->operands[i].tensor && ulp_element_is_float(run->operands[i].tensor->element))
            return true;
    return false;
}

enum ulp_status ulp_probe_tape(const struct ulp_call *call, const struct ulp_tape_call *run,
                               struct ulp_error *error)
{
    const size_t count = (size_t)run->tape->instruction_count;
    struct looking looking = {.call = call, .run = run};
    if (!call->probe->tell || !run->rows->row_count || !run->rows->row_length || !has_floats(run))
        return ULP_OK;
    bool *wanted = ulp_arena_take(call->scratch, count + 1, sizeof *wanted);
    looking.result = ulp_arena_take(call->scratch, count + 1, sizeof *looking.result);
    looking.values = ulp_arena_take(call->scratch, count + 1, sizeof *looking.values);
    looking.hidden = ulp_arena_take(call->scratch, count + 1, sizeof *looking.hidden);
    ULP_TRY(ulp_taken(wanted && looking.result && looking.values && looking.hidden, error));
    for (size_t i = 0; i < count; i++)
        looking.hidden[i].k = looking.hidden[i].first = -1;
    if (!choose_instructions(&looking, wanted))
        return ULP_OK;
    enum ulp_status status = take_chunk_memory(&looking, wanted, error);
    for (size_t r = 0; r < run->rows->row_count && status == ULP_OK; r += looking.chunk) {
        looking.first = r;
        looking.count = ulp_size_min(looking.chunk, run->rows->row_count - r);
        status = look_at_chunk(&looking, error);
    }
    ulp_tensors_free(looking.tensors, (size_t)looking.tape.output_count);
    return status == ULP_OK ? tell(&looking, error) : status;
}
