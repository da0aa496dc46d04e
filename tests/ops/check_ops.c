/* Every row of the operator table by itself: its texts parse, its formula parses, and a node that
 * gives what the row requires binds to it. Numbers are checked by ONNX's own cases
 * (tests/conformance). */
#include "ops/bounds.h"
#include "ops/call.h"
#include "ops/ops_move.h"
#include "tests/support/test.h"

static struct ulp_arena *arena;

static void make_arena(void)
{
    ck_assert_int_eq(ulp_arena_create(&arena, NULL, NULL), ULP_OK);
}
static void drop_arena(void)
{
    ulp_arena_free(arena);
}

/* Attributes a node must give: the required ones, and the one `when` asks for. */
static size_t make_attributes(const struct ulp_operator *op, struct ulp_attribute *out)
{
    static const int64_t ints[] = {1};
    size_t count = 0;
    const char *text = op->attributes ? op->attributes : "";
    while (*(text += strspn(text, "; "))) {
        size_t length = strcspn(text, ";"), name_length = strcspn(text, ":");
        const char *kind = text + name_length + 1;
        bool wanted =
            op->when && strncmp(op->when, text, name_length) == 0 && op->when[name_length] == '=';
        if (*kind == '!' || wanted) {
            kind += *kind == '!';
            struct ulp_attribute *a = &out[count++];
            *a = (struct ulp_attribute){.name = ulp_arena_text(arena, text, name_length),
                                        .i = 1,
                                        .f = 1,
                                        .s = "LEFT"};
            a->count = 1;
            a->ints = ints;
            a->kind = strncmp(kind, "ints", 4) == 0     ? ULP_ATTRIBUTE_INTS
                      : strncmp(kind, "int", 3) == 0    ? ULP_ATTRIBUTE_INT
                      : strncmp(kind, "floats", 6) == 0 ? ULP_ATTRIBUTE_FLOATS
                      : strncmp(kind, "float", 5) == 0  ? ULP_ATTRIBUTE_FLOAT
                      : strncmp(kind, "tensor", 6) == 0 ? ULP_ATTRIBUTE_TENSOR
                      : strncmp(kind, "graph", 5) == 0  ? ULP_ATTRIBUTE_GRAPH
                                                        : ULP_ATTRIBUTE_STRING;
            if (wanted) {
                a->s = op->when + name_length + 1;
                a->i = atoll(a->s);
            }
        }
        text += length;
    }
    return count;
}

static size_t count_words(const char *text)
{
    size_t count = 0;
    for (const char *p = text ? text : ""; *(p += strspn(p, " ")); p += strcspn(p, " "))
        count++;
    return count;
}

TEST(every_row_binds)
{
    const struct ulp_operator *op;
    size_t count = 0;
    for (; (op = ulp_operator_row(count)); count++) {
        struct ulp_attribute attributes[ULP_ATTRIBUTES_MAX + 1];
        int numbers[64];
        for (int i = 0; i < 64; i++)
            numbers[i] = i;
        const struct ulp_node node = {
            .name = op->name,
            .op_type = op->name,
            .domain = op->domain ? op->domain : "",
            .attribute_count = make_attributes(op, attributes),
            .attributes = attributes,
            .input_count = count_words(op->inputs),
            .inputs = numbers,
            .output_count =
                op->when && strncmp(op->when, "outputs=", 8) == 0 ? (size_t)atoi(op->when + 8) : 1,
            .outputs = numbers,
        };
        struct ulp_bound bound;
        struct ulp_error error = {0};
        enum ulp_status status = ulp_bind(&bound, &node, op->since, arena, &error);
        ck_assert_msg(status == ULP_OK, "%s since %d: %s", op->name, op->since, error.message);
        ck_assert_msg(bound.op == op || !op->when, "%s since %d binds to another row, since %d",
                      op->name, op->since, bound.op->since);
        ck_assert_msg((op->formula != NULL) != (op->run != NULL),
                      "%s: exactly one of formula and run", op->name);
        ck_assert_msg(op->infer != NULL, "%s: no infer", op->name);
        ck_assert_msg((bound.tape != NULL) == (op->formula || op->epilogue), "%s: tape", op->name);
        ulp_unbind(&bound);
    }
    printf("%zu rows\n", count);
    ck_assert_uint_gt(count, 100);
}

/* Wherever in a table of any length the least and the greatest entry are, and behind its end. */
TEST_LOOP(ends_of_tables, 0, 3)
{
    static const char *const disabled[] = {"", "avx512", "avx512,avx2"};
    int64_t table[40];
    setenv("ULPSCOPE_DISABLE_CPU", disabled[_i], 1);
    for (size_t count = 1; count <= 36; count++)
        for (size_t low = 0; low < count; low++)
            for (size_t high = 0; high < count; high++) {
                struct ulp_offset_range range = {.fits = true};
                for (size_t i = 0; i < 40; i++)
                    table[i] = i < count ? (int64_t)i : i % 2 ? INT64_MIN : INT64_MAX;
                table[low] = -((int64_t)1 << 40);
                table[high] = (int64_t)1 << 41;
                ulp_offsets_add(&range, table, 0, count);
                ck_expect(range.fits && range.high == (int64_t)1 << 41 &&
                              range.low == (low != high ? -((int64_t)1 << 40)
                                            : high != 0 ? 0
                                            : count > 1 ? 1
                                                        : range.high),
                          "%zu entries, the least at %zu, the greatest at %zu", count, low, high);
            }
}

/* Short runs, long ones that are cut into pieces, one of a remainder, and none; what lies between
 * them stays. */
TEST_LOOP(runs_are_moved_whole, 0, 7)
{
    static const struct {
        size_t count, run, gap;
    } shapes[] = {{1, 100003, 0}, {5, 70000, 3}, {3, 32768, 1}, {4000, 7, 2},
                  {1, 1, 0},      {0, 5, 0},     {3, 0, 1}};
    const size_t count = shapes[_i].count, run = shapes[_i].run, gap = shapes[_i].gap;
    const int64_t size = (int64_t)(2 + count * (run + gap));
    scoped_pool *pool = test_pool(3);
    scoped_tensor in = {0}, out = {0};
    ck_ok(ulp_tensor_create(&in, ULP_TYPE_INT32, ULP_ELEMENT_COUNT, 0, 1, &size, &why));
    ck_ok(ulp_tensor_create(&out, ULP_TYPE_INT32, ULP_ELEMENT_COUNT, 0, 1, &size, &why));
    for (size_t i = 0; i < in.count; i++) {
        ((int32_t *)in.data)[i] = (int32_t)i;
        ((int32_t *)out.data)[i] = -1;
    }
    ck_ok(ulp_move_runs(&out, 2, run + gap, &in, 1, run, count, run, pool, &why));
    for (size_t i = 0; i < out.count; i++) {
        const size_t r = i < 2 ? count : (i - 2) / (run + gap + !(run + gap)),
                     at = i < 2 ? run : i - 2 - r * (run + gap);
        const int32_t wanted = r < count && at < run ? (int32_t)(1 + r * run + at) : -1;
        ck_expect(((int32_t *)out.data)[i] == wanted, "element %zu of shape %d", i, _i);
    }
}

TEST_MAIN("ops", 60)
{
    tcase_add_checked_fixture(tests, make_arena, drop_arena);
}
