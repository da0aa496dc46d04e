/* Cutting lines of a factor into digits: see digit/digits.h. */
#include "kernels/digit/cut.h"

#include <math.h>

#include "kernels/exact/number.h"
#include "base/tuning.h"

#define EXPONENT_MAX ((int64_t)1 << 60)
/* Floats looked at together, of one line and of lines side by side, as vectors hold them. */
#define SCAN_STRETCH 64
#define SCAN_LANES 8

size_t ulp_wide_panel_data_bytes(const struct ulp_wide_plan *plan, int side, size_t width)
{
    const struct ulp_wide_scheme *scheme = &plan->scheme;
    const int digits = plan->tile->integer ? plan->positions : scheme->digits[side],
              tails = plan->tile->integer    ? 0
                      : side == scheme->deep ? 1
                                             : scheme->digits[scheme->deep] + 1;
    return (size_t)(digits + tails) * plan->k * width * sizeof(uint64_t);
}

size_t ulp_wide_panel_half_bytes(const struct ulp_wide_plan *plan)
{
    return (size_t)(plan->positions + 2) * ULP_WIDE_COLUMNS_MAX * sizeof(int64_t);
}

struct ulp_wide_line ulp_wide_line_of_floats(int32_t largest, int32_t smallest_less_1)
{
    if (largest == 0 || largest >= 0x7f800000)
        return (struct ulp_wide_line){.zero = largest == 0, .irregular = largest != 0};
    int high = (int)(largest >> 23), low = (int)((smallest_less_1 + 1) >> 23);
    return (struct ulp_wide_line){.exponent = (high ? high : 1) - 126,
                                  .lowest = (low ? low : 1) - 150};
}

/* Floats by their bit patterns, in which zero's magnitude is 0 and less one the largest of all. */
static inline int32_t magnitude_of(const float *x)
{
    int32_t bits;
    memcpy(&bits, x, sizeof bits);
    return bits & INT32_MAX;
}

static inline void scan_float(const float *x, int32_t *largest, int32_t *smallest_less_1)
{
    const int32_t magnitude = magnitude_of(x), less_1 = (magnitude - 1) & INT32_MAX;
    *largest = magnitude > *largest ? magnitude : *largest;
    *smallest_less_1 = less_1 < *smallest_less_1 ? less_1 : *smallest_less_1;
}

static struct ulp_wide_line scan_floats(const float *x, const int64_t *offset, size_t k)
{
    int32_t largest = 0, smallest_less_1 = INT32_MAX;
    for (size_t i = 0, count; i < k; i += count) {
        count = ulp_size_min(k - i, SCAN_STRETCH);
        if (ulp_wide_count_adjacent(offset + i, count, SCAN_STRETCH) == SCAN_STRETCH) {
            /* without gaps the compiler has vectors for it */
            const float *here = x + offset[i];
            for (size_t j = 0; j < SCAN_STRETCH; j++)
                scan_float(here + j, &largest, &smallest_less_1);
        } else {
            for (size_t j = i; j < i + count; j++)
                scan_float(x + offset[j], &largest, &smallest_less_1);
        }
    }
    return ulp_wide_line_of_floats(largest, smallest_less_1);
}

/* Adds elements to what is known of a line; exponent INT64_MIN: only zeros so far. element and
 * precision are constants where this is called, or else the tensor's. */
static inline __attribute__((always_inline)) void scan_numbers(struct ulp_wide_line *line,
                                                               const void *data,
                                                               enum ulp_element element,
                                                               int precision, int64_t base,
                                                               const int64_t *offset, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ulp_wide_number x;
        ulp_wide_read_as(&x, element, data, precision, base + offset[i]);
        if (x.kind == MPFR_REGULAR_KIND) {
            int64_t lowest = ulp_wide_lowest_bit(&x);
            line->exponent = x.exponent > line->exponent ? x.exponent : line->exponent;
            line->lowest = lowest < line->lowest ? lowest : line->lowest;
        } else if (x.kind != MPFR_ZERO_KIND) {
            line->irregular = true;
        }
    }
}

static const struct ulp_wide_line unknown_line = {.exponent = INT64_MIN, .lowest = INT64_MAX};

static void end_line(struct ulp_wide_line *line)
{
    line->zero = line->exponent == INT64_MIN;
    if (line->zero)
        line->exponent = line->lowest = 0;
    line->irregular |= line->exponent > EXPONENT_MAX || line->lowest < -EXPONENT_MAX;
}

static void scan_records(struct ulp_wide_line *line, const struct ulp_tensor *tensor, int64_t base,
                         const int64_t *offset, size_t count)
{
    if (tensor->element == ULP_ELEMENT_WIDE && ulp_wide_limbs_of(tensor) == 2)
        scan_numbers(line, tensor->data, ULP_ELEMENT_WIDE, 128, base, offset, count);
    else
        scan_numbers(line, tensor->data, tensor->element, tensor->precision, base, offset, count);
}

struct ulp_wide_line ulp_wide_scan(const struct ulp_factor *factor, size_t batch, size_t line,
                                   size_t k)
{
    const int64_t base = ulp_wide_line(factor, batch, line);
    if (factor->tensor->element == ULP_ELEMENT_F32)
        return scan_floats((const float *)factor->tensor->data + base, factor->k_offset, k);
    struct ulp_wide_line result = unknown_line;
    scan_records(&result, factor->tensor, base, factor->k_offset, k);
    end_line(&result);
    return result;
}

/* Lines that begin side by side, as the columns of an image do: an element of each at once. */
static bool begin_adjacent(const struct ulp_wide_panel *panel, const struct ulp_factor *factor)
{
    const int64_t *line = factor->line_offset + panel->first;
    size_t i = 1;
    while (i < panel->count && line[i] == line[0] + (int64_t)i)
        i++;
    return panel->count > 1 && i == panel->count;
}

static void scan_adjacent(struct ulp_wide_panel *panel, const struct ulp_factor *factor,
                          size_t batch, size_t k)
{
    const float *x =
        (const float *)factor->tensor->data + ulp_wide_line(factor, batch, panel->first);
    int32_t largest[ULP_WIDE_COLUMNS_MAX] = {0}, smallest_less_1[ULP_WIDE_COLUMNS_MAX];
    const size_t count = panel->count, whole = count / SCAN_LANES * SCAN_LANES;
    for (size_t i = 0; i < ULP_WIDE_COLUMNS_MAX; i++)
        smallest_less_1[i] = INT32_MAX;
    for (size_t e = 0; e < k; e++) {
        const float *here = x + factor->k_offset[e];
        for (size_t first = 0; first < whole; first += SCAN_LANES)
            for (size_t i = first; i < first + SCAN_LANES; i++)
                scan_float(here + i, &largest[i], &smallest_less_1[i]);
        for (size_t i = whole; i < count; i++)
            scan_float(here + i, &largest[i], &smallest_less_1[i]);
    }
    for (size_t i = 0; i < count; i++)
        panel->lines[i] = ulp_wide_line_of_floats(largest[i], smallest_less_1[i]);
}

/* All lines of a panel, a stretch of each in turn, as they are cut. */
static void scan_panel(struct ulp_wide_panel *panel, const struct ulp_factor *factor, size_t batch,
                       size_t k)
{
    for (size_t i = 0; i < panel->count; i++)
        panel->lines[i] = unknown_line;
    for (size_t first = 0; first < k; first += ULP_TUNE_DIGIT_PACK_RUN)
        for (size_t i = 0; i < panel->count; i++)
            scan_records(&panel->lines[i], factor->tensor,
                         ulp_wide_line(factor, batch, panel->first + i), factor->k_offset + first,
                         k - first < ULP_TUNE_DIGIT_PACK_RUN ? k - first : ULP_TUNE_DIGIT_PACK_RUN);
    for (size_t i = 0; i < panel->count; i++)
        end_line(&panel->lines[i]);
}

/* Sets lines and base, if the tile has code for a panel's lines side by side and it pays: floats
 * that lie far apart are read one line after the other. */
static bool lay_lines(struct ulp_wide_lines *lines, int64_t *base,
                      const struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan,
                      const struct ulp_factor *factor, size_t batch)
{
    const struct ulp_tensor *tensor = factor->tensor;
    const bool floats = tensor->element == ULP_ELEMENT_F32,
               records = tensor->element == ULP_ELEMENT_WIDE && ulp_wide_limbs_of(tensor) == 2;
    size_t neighbours = 0;
    if (!plan->tile->lines || panel->count <= 2 || !(floats || records))
        return false;
    for (size_t i = 0; i < panel->count; i++) {
        base[i] = ulp_wide_line(factor, batch, panel->first + i);
        neighbours += i > 0 && base[i] == base[i - 1] + 1;
    }
    *lines = (struct ulp_wide_lines){.data = tensor->data,
                                     .floats = floats,
                                     .base = base,
                                     .offset = factor->k_offset,
                                     .count = panel->count,
                                     .k_count = plan->k};
    return records || 2 * neighbours >= panel->count;
}

static void scan_lines(struct ulp_wide_panel *panel, const struct ulp_wide_lines *lines,
                       const struct ulp_wide_lines_code *code)
{
    struct ulp_wide_scales scales = {.irregular = 0};
    for (size_t i = 0; i < ULP_WIDE_COLUMNS_MAX; i++) {
        scales.exponent[i] = unknown_line.exponent;
        scales.lowest[i] = unknown_line.lowest;
    }
    code->scan(&scales, lines);
    for (size_t i = 0; i < panel->count; i++) {
        panel->lines[i] = (struct ulp_wide_line){.exponent = scales.exponent[i],
                                                 .lowest = scales.lowest[i],
                                                 .irregular = scales.irregular >> i & 1};
        end_line(&panel->lines[i]);
    }
}

/* Digits of (f + 1) / 2, f = x * 2^-exponent cut off toward zero. limb_count and digits are
 * constants where this is called, or else what the stretch says. */
static inline __attribute__((always_inline)) void cut_integers(
    const struct ulp_wide_stretch *stretch, enum ulp_element element, int limb_count, int digits)
{
    const int word_count = (52 * digits + 63) / 64;
    const uint64_t unit = (uint64_t)1 << (64 * word_count - 52 * digits);
    uint64_t words[52 * ULP_WIDE_POSITIONS_MAX / 64 + 2];
    uint64_t *out = stretch->out;
    const void *data = stretch->tensor->data;
    const int precision = 64 * limb_count; /* of records */
    for (size_t k = stretch->first; k < stretch->first + stretch->count;
         k++, out += stretch->width) {
        struct ulp_wide_number x;
        ulp_wide_read_as(&x, element, data, precision, stretch->base + stretch->offset[k]);
        if (__builtin_expect(x.kind != MPFR_REGULAR_KIND, 0)) {
            for (int i = 0; i < digits; i++)
                out[(size_t)i * stretch->stride] = i == 0 ? (uint64_t)1 << 51 : 0;
            continue;
        }
        ulp_wide_shift_words(words, word_count, x.limbs, limb_count,
                             (uint64_t)(stretch->exponent - x.exponent));
        /* minus: complement, and one unit of the last digit with its carries */
        uint64_t flip = -(uint64_t)x.negative, carry = flip & unit;
        for (int i = word_count - 1; i >= 0; i--) {
            uint64_t word = (words[i] ^ flip) & (i == word_count - 1 ? -unit : ~(uint64_t)0);
            carry = __builtin_add_overflow(word, carry, &words[i]);
        }
        words[0] += (uint64_t)1 << 63;
        words[word_count] = 0;
        for (int i = 0; i < digits; i++)
            out[(size_t)i * stretch->stride] = ulp_wide_bits_at(words, 52 * i, 52);
    }
}

/* Floats whose line fits one digit of 52 bits: x * 2^(51 - exponent) is an integer of at most 2^51,
 * and added to
 * 1.5 * 2^52 it is, in the low 52 bits of the sum, the digit. */
static void cut_floats_once(const struct ulp_wide_stretch *stretch)
{
    const float *x = (const float *)stretch->tensor->data + stretch->base;
    const double scale = ldexp(1, 51 - (int)stretch->exponent);
    uint64_t *out = stretch->out;
    const int64_t *offset = stretch->offset + stretch->first;
    if (stretch->count == ULP_TUNE_DIGIT_PACK_RUN &&
        ulp_wide_count_adjacent(offset, ULP_TUNE_DIGIT_PACK_RUN, ULP_TUNE_DIGIT_PACK_RUN) ==
            ULP_TUNE_DIGIT_PACK_RUN) {
        double sums[ULP_TUNE_DIGIT_PACK_RUN];
        uint64_t bits[ULP_TUNE_DIGIT_PACK_RUN];
        for (size_t k = 0; k < ULP_TUNE_DIGIT_PACK_RUN; k++)
            sums[k] = (double)x[offset[0] + (int64_t)k] * scale + 0x1.8p52;
        memcpy(bits, sums, sizeof bits);
        for (size_t k = 0; k < ULP_TUNE_DIGIT_PACK_RUN; k++, out += stretch->width)
            *out = bits[k] & (((uint64_t)1 << 52) - 1);
        return;
    }
    for (size_t k = 0; k < stretch->count; k++, out += stretch->width) {
        double sum = (double)x[offset[k]] * scale + 0x1.8p52;
        uint64_t bits;
        memcpy(&bits, &sum, sizeof bits);
        *out = bits & (((uint64_t)1 << 52) - 1);
    }
}

static void cut_zeros(const struct ulp_wide_stretch *stretch, int arrays, bool integer)
{
    for (int i = 0; i < arrays; i++)
        for (size_t k = 0; k < stretch->count; k++)
            stretch->out[(size_t)i * stretch->stride + k * stretch->width] =
                integer && i == 0 ? (uint64_t)1 << 51 : 0;
}

#define CUT_INTEGERS(name, element, limbs, digits)           \
    static void name(const struct ulp_wide_stretch *stretch) \
    {                                                        \
        cut_integers(stretch, element, limbs, digits);       \
    }
CUT_INTEGERS(cut_f32_2, ULP_ELEMENT_F32, 1, 2)
CUT_INTEGERS(cut_f32, ULP_ELEMENT_F32, 1, stretch->digits)
CUT_INTEGERS(cut_f64_2, ULP_ELEMENT_F64, 1, 2)
CUT_INTEGERS(cut_f64, ULP_ELEMENT_F64, 1, stretch->digits)
CUT_INTEGERS(cut_wide_128_1, ULP_ELEMENT_WIDE, 2, 1)
CUT_INTEGERS(cut_wide_128_2, ULP_ELEMENT_WIDE, 2, 2)
CUT_INTEGERS(cut_wide_128_3, ULP_ELEMENT_WIDE, 2, 3)
CUT_INTEGERS(cut_wide_128_4, ULP_ELEMENT_WIDE, 2, 4)
CUT_INTEGERS(cut_wide_256_6, ULP_ELEMENT_WIDE, 4, 6)
CUT_INTEGERS(cut_wide, ULP_ELEMENT_WIDE, ulp_wide_limbs_of(stretch->tensor), stretch->digits)

/* The first row that fits; limbs and digits 0 fit any number. */
static ulp_wide_cut_fn *choose_cut(const struct ulp_tensor *tensor, int digits)
{
    static const struct {
        enum ulp_element element;
        int limbs, digits;
        ulp_wide_cut_fn *cut;
    } rows[] = {
        {ULP_ELEMENT_F32, 0, 2, cut_f32_2},       {ULP_ELEMENT_F32, 0, 0, cut_f32},
        {ULP_ELEMENT_F64, 0, 2, cut_f64_2},       {ULP_ELEMENT_F64, 0, 0, cut_f64},
        {ULP_ELEMENT_WIDE, 2, 1, cut_wide_128_1}, {ULP_ELEMENT_WIDE, 2, 2, cut_wide_128_2},
        {ULP_ELEMENT_WIDE, 2, 3, cut_wide_128_3}, {ULP_ELEMENT_WIDE, 2, 4, cut_wide_128_4},
        {ULP_ELEMENT_WIDE, 4, 6, cut_wide_256_6}, {ULP_ELEMENT_WIDE, 0, 0, cut_wide},
    };
    const int limbs = ulp_wide_limbs_of(tensor);
    size_t i = 0;
    while (rows[i].element != tensor->element || (rows[i].limbs && rows[i].limbs != limbs) ||
           (rows[i].digits && rows[i].digits != digits))
        i++;
    return rows[i].cut;
}

/* sums[line][1 + digit] += the digits of k in [first, last) of the block, at most 1024, carried
 * into 52 bits each; sums[line][0] takes the rest. */
static void sum_digits(int64_t sums[][ULP_WIDE_POSITIONS_MAX + 2],
                       const struct ulp_wide_panel *panel, const uint64_t *block,
                       size_t block_count, size_t first, size_t last)
{
    for (int digit = panel->digits - 1; digit >= 0; digit--) {
        uint64_t total[ULP_WIDE_COLUMNS_MAX] = {0};
        const uint64_t *row = block + ((size_t)digit * block_count + first) * panel->width;
        for (size_t k = first; k < last; k++, row += panel->width)
            for (size_t line = 0; line < panel->width; line++)
                total[line] += row[line];
        for (size_t line = 0; line < panel->width; line++)
            sums[line][1 + digit] += (int64_t)total[line];
    }
    for (size_t line = 0; line < panel->width; line++)
        for (int i = panel->digits; i > 0; i--) {
            sums[line][i - 1] += sums[line][i] >> 52;
            sums[line][i] &= ((int64_t)1 << 52) - 1;
        }
}

void ulp_wide_halve(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan,
                    int64_t sums[][ULP_WIDE_POSITIONS_MAX + 2])
{
    for (int i = 0; i <= plan->positions + 1; i++)
        for (size_t line = 0; line < panel->width; line++) {
            int64_t own = i <= panel->digits ? sums[line][i] >> 1 : 0;
            int64_t above = i > 0 && i - 1 <= panel->digits ? (sums[line][i - 1] & 1) << 51 : 0;
            panel->half_sums[(size_t)i * panel->width + line] = own + above;
        }
}

void ulp_wide_choose_digits(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan)
{
    int64_t bits = 1;
    for (size_t i = 0; i < panel->count; i++)
        if (!panel->lines[i].irregular && panel->lines[i].exponent - panel->lines[i].lowest > bits)
            bits = panel->lines[i].exponent - panel->lines[i].lowest;
    /* one bit is the sign's */
    const int digit_bits = plan->tile->integer ? 52 : plan->scheme.bits[panel->side],
              most = plan->tile->integer ? plan->positions : plan->scheme.digits[panel->side];
    const int64_t digits = (bits + 1 + digit_bits - 1) / digit_bits;
    panel->exact = digits <= most;
    panel->digits = panel->exact ? (int)digits : most;
    panel->arrays = panel->digits;
    if (!plan->tile->integer)
        ulp_wide_choose_tails(panel, &plan->scheme);
}

void ulp_wide_measure(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan,
                      const struct ulp_factor *factor, size_t batch)
{
    struct ulp_wide_lines lines;
    int64_t base[ULP_WIDE_COLUMNS_MAX];
    panel->irregular = true;
    if (lay_lines(&lines, base, panel, plan, factor, batch))
        scan_lines(panel, &lines, plan->tile->lines);
    else if (factor->tensor->element != ULP_ELEMENT_F32)
        scan_panel(panel, factor, batch, plan->k);
    else if (begin_adjacent(panel, factor))
        scan_adjacent(panel, factor, batch, plan->k);
    else
        for (size_t i = 0; i < panel->count; i++)
            panel->lines[i] = ulp_wide_scan(factor, batch, panel->first + i, plan->k);
    for (size_t i = 0; i < panel->count; i++)
        panel->irregular &= panel->lines[i].irregular;
    if (plan->special)
        ulp_wide_sort(panel, plan, factor, batch);
    ulp_wide_choose_digits(panel, plan);
}

/* Elements of a block of k: first and count of the stretch, whose other fields are set. */
static void cut_block(const struct ulp_wide_panel *panel, struct ulp_wide_stretch *stretch,
                      ulp_wide_cut_fn *cut, const struct ulp_factor *factor, size_t batch,
                      uint64_t *block, bool integer)
{
    const size_t first = stretch->first, count = stretch->count;
    for (size_t run = 0; run < count; run += ULP_TUNE_DIGIT_PACK_RUN)
        for (size_t i = 0; i < panel->count; i++) {
            stretch->base = ulp_wide_line(factor, batch, panel->first + i);
            stretch->first = first + run;
            stretch->count = ulp_size_min(count - run, ULP_TUNE_DIGIT_PACK_RUN);
            stretch->exponent = panel->lines[i].exponent;
            stretch->out = block + run * panel->width + i;
            if (panel->lines[i].irregular || panel->lines[i].zero)
                cut_zeros(stretch, panel->arrays, integer);
            else
                cut(stretch);
        }
}

/* What lines' code cuts integer digits by; false: it does not. */
static bool begin_lines_cut(struct ulp_wide_lines_cut *cut, struct ulp_wide_lines *lines,
                            int64_t *base, int64_t *exponents, const struct ulp_wide_panel *panel,
                            const struct ulp_wide_plan *plan, const struct ulp_factor *factor,
                            size_t batch)
{
    if (!plan->tile->integer || panel->digits > ULP_WIDE_LINES_DIGITS_MAX ||
        !lay_lines(lines, base, panel, plan, factor, batch))
        return false;
    *cut = (struct ulp_wide_lines_cut){.lines = lines,
                                       .exponent = exponents,
                                       .exact = panel->exact,
                                       .digits = panel->digits,
                                       .width = panel->width};
    for (size_t i = 0; i < panel->count; i++) {
        exponents[i] = panel->lines[i].exponent;
        cut->wanted |= (uint32_t) !(panel->lines[i].irregular || panel->lines[i].zero) << i;
    }
    return true;
}

void ulp_wide_cut(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan,
                  const struct ulp_factor *factor, size_t batch)
{
    int64_t sums[ULP_WIDE_COLUMNS_MAX][ULP_WIDE_POSITIONS_MAX + 2];
    int64_t base[ULP_WIDE_COLUMNS_MAX], exponents[ULP_WIDE_COLUMNS_MAX];
    if (panel->irregular)
        return;
    const bool integer = plan->tile->integer;
    struct ulp_wide_stretch stretch = {.tensor = factor->tensor,
                                       .offset = factor->k_offset,
                                       .width = panel->width,
                                       .digits = panel->digits};
    struct ulp_wide_tails tails;
    struct ulp_wide_lines lines;
    struct ulp_wide_lines_cut lines_cut;
    const bool side_by_side =
        begin_lines_cut(&lines_cut, &lines, base, exponents, panel, plan, factor, batch);
    bool floats_once =
        factor->tensor->element == ULP_ELEMENT_F32 && panel->exact && panel->digits == 1;
    ulp_wide_cut_fn *cut = !integer      ? ulp_wide_choose_double_cut(factor->tensor)
                           : floats_once ? cut_floats_once
                                         : choose_cut(factor->tensor, panel->digits);
    if (!integer) {
        ulp_wide_make_tails(&tails, panel, &plan->scheme);
        stretch.tails = &tails;
    }
    for (size_t line = 0; integer && line < panel->width; line++)
        memset(sums[line], 0, (size_t)(panel->digits + 1) * sizeof sums[line][0]);
    uint64_t *block = panel->data;
    for (size_t first = 0; first < plan->k; first += plan->k_block) {
        const size_t block_count = ulp_size_min(plan->k - first, plan->k_block);
        if (panel->count < panel->width)
            memset(block, 0, (size_t)panel->arrays * block_count * panel->width * sizeof *block);
        stretch.first = first;
        stretch.count = block_count;
        stretch.stride = block_count * panel->width;
        if (side_by_side) {
            lines.offset = factor->k_offset + first;
            lines.k_count = block_count;
            lines_cut.stride = stretch.stride;
            lines_cut.out = block;
            plan->tile->lines->cut(&lines_cut);
        } else {
            cut_block(panel, &stretch, cut, factor, batch, block, integer);
        }
        for (size_t k = 0; integer && k < block_count; k += 1024)
            sum_digits(sums, panel, block, block_count, k,
                       block_count - k < 1024 ? block_count : k + 1024);
        block += (size_t)panel->arrays * block_count * panel->width;
    }
    if (integer)
        ulp_wide_halve(panel, plan, sums);
}
