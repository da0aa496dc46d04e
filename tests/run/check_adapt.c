/* A value of one lane given to another (run/lane.h): each element is the one that rounding it to
 * the other's storage gives, whether or not the conversion was left out. */
#include "tests/support/test.h"

#include "number/round/round.h"
#include "run/lane.h"

static const char *const names[] = {"fp8-e4m3",     "fp8-e5m2", "fp8-e4m3fnuz",
                                    "fp8-e5m2fnuz", "fp16",     "e5m7"};
enum { FORMATS = sizeof names / sizeof *names };

/* All values of the format that rounding to it can give, as a FLOAT tensor. */
static void make_all(struct ulp_tensor *out, const struct ulp_format *format)
{
    const int64_t count = INT64_C(1) << format->storage_bits;
    ck_ok(ulp_tensor_create(out, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 1, &count, &why));
    for (int64_t i = 0; i < count; i++)
        ((float *)out->data)[i] =
            (float)ulp_format_round(format, ULP_ROUND_NEAREST_EVEN,
                                    ulp_format_decode(format, (uint32_t)i), 0, 0);
}

static void check_pair(const struct ulp_format *from, const struct ulp_format *to)
{
    scoped_tensor all = {0}, given = {0};
    struct ulp_arithmetic arithmetic = test_arithmetic("fp16");
    arithmetic.storage = *to;
    make_all(&all, from);
    ck_ok(ulp_adapt(&given, &all, from, &arithmetic, false, NULL, NULL, &why));
    for (size_t i = 0; i < all.count; i++) {
        const float x = ((const float *)all.data)[i], y = ((const float *)given.data)[i];
        const double wanted = ulp_format_round(to, arithmetic.rounding, x, 0, 0);
        ck_expect((isnan(y) && isnan(wanted)) || (y == wanted && !signbit(y) == !signbit(wanted)),
                  "%a of %s in %s (subnormals %d): %a, not %a", x, from->name, to->name,
                  to->subnormals, y, wanted);
    }
}

TEST_LOOP(values_are_rounded_to_storage, 0, FORMATS)
{
    for (int to = 0; to < FORMATS; to++)
        for (int way = 0; way < 8; way++) {
            struct ulp_format from = test_format(names[_i]);
            struct ulp_format storage = test_format(names[to]);
            storage.subnormals = way & 1;
            from.subnormals = way & 2;
            if (way & 4)
                storage.overflow = ULP_OVERFLOW_SATURATE;
            check_pair(&from, &storage);
        }
}

TEST_SUITE("adapt", 0)
