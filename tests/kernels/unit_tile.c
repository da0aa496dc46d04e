#include "unit_tile.h"

#include "base/machine/cpu.h"
#include "tests/support/test.h"

enum { COLUMNS = ULP_UNIT_COLUMNS, ROWS = UNIT_TILE_ROWS, SUMS = ROWS * COLUMNS };

static const struct {
    const char *name;
    unsigned cpu;
} instances[] = {{"portable C", 0}, {"AVX2", ULP_CPU_AVX2}, {"AVX-512", ULP_CPU_AVX512}};

bool unit_tile_serves(const struct ulp_unit *unit)
{
    return (unit->kind == ULP_UNIT_TRUNCATED || unit->kind == ULP_UNIT_HALVES) &&
           ulp_unit_is_plain(unit);
}

bool unit_is_first_alike(size_t index)
{
    const struct ulp_unit *unit = ulp_unit_row(index);
    for (size_t i = 0; i < index; i++) {
        const struct ulp_unit *other = ulp_unit_row(i);
        if (other->kind == unit->kind && other->output == unit->output &&
            other->block == unit->block && other->fraction_bits == unit->fraction_bits &&
            other->floor == unit->floor && strcmp(other->input, unit->input) == 0)
            return false;
    }
    return true;
}

static bool same(float x, float y)
{
    uint32_t a, b;
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &y, sizeof b);
    return a == b || (x != x && y != y);
}

static void *take(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

void unit_tile_create(struct unit_tile *it, const struct ulp_unit *unit, size_t k)
{
    struct ulp_error error;
    char name[96];
    *it = (struct unit_tile){.unit = unit, .k = k};
    const char *format = ulp_unit_input(unit, 0)->format;
    const bool narrow = strncmp(format, "fp4", 3) == 0 || strncmp(format, "fp6", 3) == 0;
    snprintf(name, sizeof name, "%s@%s%s%s,unit=%s,acc=%s", narrow ? "bf16" : format, unit->gpu,
             narrow ? ",factor=" : "", narrow ? format : "", unit->unit_class,
             unit->output == ULP_UNIT_RNE_FP16 ? "fp16" : "fp32");
    it->arithmetic = test_arithmetic(name);
    ck_assert_ptr_eq(ulp_unit_of(&it->arithmetic, &error), unit);
    ck_ok(ulp_unit_layout_create(&it->layout, unit, &it->arithmetic.schedule, k, 0, NULL, &why));
    const size_t slots = it->layout.slot_stride;
    const int64_t a_dims[] = {ROWS, (int64_t)k}, b_dims[] = {COLUMNS, (int64_t)k};
    ck_ok(ulp_tensor_create(&it->a_tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, a_dims, &why));
    ck_ok(ulp_tensor_create(&it->b_tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, b_dims, &why));
    it->a = it->a_tensor.data;
    it->b = it->b_tensor.data;
    it->line = take(COLUMNS * sizeof *it->line);
    it->k_offset = take(k * sizeof *it->k_offset);
    for (size_t i = 0; i < COLUMNS; i++)
        it->line[i] = (int64_t)(i * k);
    for (size_t i = 0; i < k; i++)
        it->k_offset[i] = (int64_t)i;
    it->rows = (struct ulp_unit_rows){take(ROWS * slots * 4), take(ROWS * slots * 2),
                                      take(ROWS * it->layout.block_count)};
    it->panel = (struct ulp_unit_panel){take(COLUMNS * slots * 4), take(COLUMNS * slots * 2),
                                        take(it->layout.block_count),
                                        take(ULP_UNIT_SET_COUNT * slots * sizeof(uint32_t))};
    it->before = take(SUMS * sizeof(float));
    it->expected = take(SUMS * sizeof(float));
    it->got = take(SUMS * sizeof(float));
    it->scratch = take(COLUMNS * k * sizeof(float));
}

void unit_tile_free(struct unit_tile *it)
{
    ulp_tensor_free(&it->a_tensor);
    ulp_tensor_free(&it->b_tensor);
    ulp_unit_layout_free(&it->layout);
    void *const memory[] = {it->line,           it->k_offset,      it->rows.value,
                            it->rows.exponent,  it->rows.special,  it->panel.value,
                            it->panel.exponent, it->panel.special, it->panel.kinds,
                            it->before,         it->expected,      it->got,
                            it->scratch};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        free(memory[i]);
}

void unit_tile_draw(struct unit_tile *it, enum regime regime, uint64_t *state)
{
    for (size_t i = 0; i < ROWS; i++)
        draw_line(it->a + i * it->k, &it->arithmetic.factor, regime, 0, it->k, state);
    for (size_t i = 0; i < COLUMNS; i++)
        draw_line(it->b + i * it->k, &it->arithmetic.factor, regime, 1, it->k, state);
    for (size_t i = 0; i < SUMS; i++)
        it->before[i] = draw_accumulator(&it->layout.unit, regime, state);
}

/* What formats without NaN and infinity read of them. */
static double operand(const struct ulp_format *format, float x)
{
    return isfinite(x) || !format->lacks
               ? (double)x
               : ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, x, 0, 0);
}

/* The chain of the layout's blocks by the oracle, block by block as the tile runs them. */
static float chain_oracle(const struct ulp_unit_layout *layout, const struct ulp_format *format,
                          const float *a, const float *b, float c)
{
    double x[64], y[64], sum = c;
    const size_t block = (size_t)layout->unit.block;
    for (size_t first = 0; first < layout->slot_count; first += block) {
        for (size_t s = 0; s < block; s++) {
            const int64_t k = layout->slot_k[first + s];
            x[s] = k < 0 ? 0 : operand(format, a[k]);
            y[s] = k < 0 ? 0 : operand(format, b[k]);
        }
        sum = ulp_unit_chain(&layout->unit, x, y, NULL, NULL, block, sum);
    }
    return (float)sum;
}

/* The first row_count rows by one instance; the others' c must stay as it was. */
static void compare_run(struct unit_tile *it, size_t instance, size_t row_count, bool fresh,
                        const char *what)
{
    char name[64];
    memcpy(it->got, it->before, SUMS * sizeof(float));
    ulp_unit_choose(instances[instance].cpu)
        ->run(&(struct ulp_unit_tile){.layout = &it->layout,
                                      .rows = it->rows,
                                      .panel = it->panel,
                                      .row_count = row_count,
                                      .block_last = it->layout.block_count,
                                      .c = it->got,
                                      .fresh = fresh});
    for (size_t i = 0; i < SUMS; i++) {
        const float wanted = i / COLUMNS < row_count ? it->expected[i] : it->before[i];
        if (!same(it->got[i], wanted)) /* ck_assert writes a line to a file each time */
            ck_abort_msg("%s, %s, %s, k %zu, element %zu of %zu rows: c %a%s, got %a, oracle %a",
                         ulp_unit_name(it->unit, name, sizeof name), instances[instance].name, what,
                         it->k, i, row_count, (double)it->before[i], fresh ? " (taken for 0)" : "",
                         (double)it->got[i], (double)wanted);
    }
}

/* Decoded by an instance. */
static void decode_tile(struct unit_tile *it, size_t instance)
{
    const struct ulp_unit_instance *by = ulp_unit_choose(instances[instance].cpu);
    const struct ulp_contraction problem = {
        .batch_count = 1,
        .m = ROWS,
        .n = COLUMNS,
        .k = it->k,
        .a = {.tensor = &it->a_tensor, .line_offset = it->line, .k_offset = it->k_offset},
        .b = {.tensor = &it->b_tensor, .line_offset = it->line, .k_offset = it->k_offset}};
    const struct ulp_pack a = ulp_pack_make(&it->arithmetic, &problem, 0),
                          b = ulp_pack_make(&it->arithmetic, &problem, 1);
    const struct ulp_pack_range rows = {0, 0, ROWS, 0, it->k}, columns = {0, 0, COLUMNS, 0, it->k};
    ulp_unit_decode_rows(by, &it->rows, &it->layout, &a, rows, false, it->scratch);
    ulp_unit_decode_panel(by, &it->panel, &it->layout, &b, columns,
                          ulp_pack_may_be_special(&a, NULL), it->scratch);
}

void unit_tile_compare(struct unit_tile *it, const char *what)
{
    for (int fresh = 0; fresh < 2; fresh++) {
        for (size_t i = 0; i < SUMS; i++)
            it->expected[i] =
                chain_oracle(&it->layout, &it->arithmetic.factor, it->a + i / COLUMNS * it->k,
                             it->b + i % COLUMNS * it->k, fresh ? 0 : it->before[i]);
        for (size_t x = 0; x < sizeof instances / sizeof instances[0]; x++) {
            if ((ulp_cpu_features() & instances[x].cpu) != instances[x].cpu)
                continue;
            decode_tile(it, x);
            for (size_t rows = ROWS - 1; rows <= ROWS; rows++)
                compare_run(it, x, rows, fresh, what);
        }
    }
}
