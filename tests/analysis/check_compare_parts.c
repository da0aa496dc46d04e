/* analysis/compare: what a comparison is made of. */
#include "analysis/compare/cause/cause_change.h"
#include "analysis/compare/comparing.h"
#include "analysis/measure/row_match.h"
#include "pictures.h"
#include "tests/support/test.h"

/* Upper 0.1 % and 2.5 % points of the F distribution with (freedom, freedom * trials) degrees, by
 * scipy.stats.f.isf: the limit is of the root of F. The last two are where lower points are. */
TEST(quantiles)
{
    static const struct {
        double freedom, trials, share, f;
    } rows[] = {{1, 8, 1e-3, 25.41476047255982},          {1, 4, 1e-3, 74.1372933223024},
                {2, 4, 1e-3, 18.493653007613958},         {4, 2, 1e-3, 14.391584514382373},
                {5, 4, 1e-3, 6.460561849707358},          {10, 2, 1e-3, 5.075246211209698},
                {120, 10, 1e-3, 1.4800736013449078},      {10, 8, 0.025, 2.213025709005588},
                {2.8, 8, 0.025, 3.8613732312136633},      {80, 1. / 8, 0.025, 3.169353407112538},
                {22.4, 1. / 8, 0.025, 16.347555124923293}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double limit = ulp_ratio_limit(rows[i].freedom, rows[i].trials, rows[i].share);
        ck_assert_msg(fabs(limit * limit / rows[i].f - 1) <= 1e-9, "F(%g, %g): %.15g, not %.15g",
                      rows[i].freedom, rows[i].freedom * rows[i].trials, limit * limit, rows[i].f);
    }
}

/* Changes that a loop over elements makes are what ulp_change_apply makes. */
TEST(changes)
{
    scoped_tensor x = picture_make();
    const float *u = x.data;
    for (int m = 0; m < MISTAKES; m++) {
        scoped_tensor_set wrong = picture_mistaken(m);
        const float *v = wrong.items[0].tensor.data;
        for (size_t c = 0; c < CHANNELS; c++)
            for (size_t r = 0; r < HEIGHT; r++)
                for (size_t k = 0; k < WIDTH; k++) {
                    const size_t last = (r * WIDTH + k) * CHANNELS + c,
                                 here = (c * HEIGHT + r) * WIDTH + k;
                    const double value = (double)u[here],
                                 one = value * ulp_normalisations[0].deviation[c] +
                                       ulp_normalisations[0].mean[c];
                    const size_t next = k + 1 < WIDTH ? here + 1 : here,
                                 below = r + 1 < HEIGHT ? here + WIDTH : here;
                    const double wanted[MISTAKES] = {
                        (double)u[((2 - c) * HEIGHT + r) * WIDTH + k],
                        255 * value,
                        value,
                        one,
                        255 * one,
                        (double)u[next],
                        (double)u[below],
                        (double)u[(c * HEIGHT + r) * WIDTH + WIDTH - 1 - k]};
                    const double got = (double)v[m == 2 ? last : here];
                    ck_expect(fabs(got - wanted[m]) <= 0x1p-23 * fabs(wanted[m]) + 0x1p-24,
                              "%s: %g, not %g", mistake_words[m], got, wanted[m]);
                }
    }
}

/* Channels last is turned, whatever the element; other shapes are left alone. */
TEST(layouts)
{
    static const int64_t shapes[][2][4] = {{{2, 3, 4, 5}, {2, 4, 5, 3}},
                                           {{2, 4, 5, 3}, {2, 3, 4, 5}},
                                           {{3, 4, 5, 0}, {4, 5, 3, 0}},
                                           {{4, 5, 3, 0}, {3, 4, 5, 0}}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int rank = shapes[s][0][3] ? 4 : 3, batch = rank - 3;
        const bool to_front = s % 2 == 0;
        struct ulp_tensor like, recorded, turned;
        ck_ok(ulp_tensor_create(&like, ULP_TYPE_DOUBLE, ULP_ELEMENT_COUNT, 0, rank, shapes[s][0],
                                &why));
        ck_ok(ulp_tensor_create(&recorded, ULP_TYPE_INT16, ULP_ELEMENT_COUNT, 0, rank, shapes[s][1],
                                &why));
        for (size_t i = 0; i < recorded.count; i++)
            ulp_tensor_set_int(&recorded, i, (int64_t)i);
        ck_ok(ulp_layout_turn(&turned, &recorded, &like, NULL, &why));
        ck_assert_ptr_nonnull(turned.data);
        ck_assert(ulp_tensor_same_shape(&turned, &like));
        for (size_t i = 0; i < recorded.count; i++) { /* where element i of 3 x 20 pictures went */
            const size_t image = batch ? i / 60 : 0, at = i % 60,
                         to = to_front ? at % 3 * 20 + at / 3 : at % 20 * 3 + at / 20;
            ck_assert_int_eq(ulp_tensor_get_int(&turned, image * 60 + to), (int64_t)i);
        }
        ulp_tensor_free(&turned);
        recorded.dims[rank - 1]--;
        ck_ok(ulp_layout_turn(&turned, &recorded, &like, NULL, &why));
        ck_assert_ptr_null(turned.data);
        ulp_tensor_free(&recorded);
        ulp_tensor_free(&like);
    }
}

/* Rows in another order, each k / 64 off in every column; columns are permutations of 0 to 36,
 * whose spread is known. A distance has a root and a quotient more than exact sums. */
TEST(rows_are_matched)
{
    enum { ROWS = 37, COLUMNS = 4 };
    double base[ROWS][COLUMNS], rows[ROWS][COLUMNS], found;
    struct ulp_match matches[ROWS];
    for (size_t r = 0; r < ROWS; r++) /* columns of one spread, rows far apart */
        for (size_t c = 0; c < COLUMNS; c++)
            base[r][c] = (double)((r + c * 9) % ROWS);
    double squares = 0;
    for (size_t r = 0; r < ROWS; r++)
        squares += ((double)r - 18) * ((double)r - 18);
    const double spread = sqrt(squares / ROWS);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < COLUMNS; c++)
            rows[r][c] = base[r * 5 % ROWS][c] + (double)(r % 3) / 64;
    ulp_match_rows(rows[0], ROWS, base[0], ROWS, COLUMNS, matches);
    for (size_t r = 0; r < ROWS; r++) {
        ck_assert_uint_eq(matches[r].of, r * 5 % ROWS);
        ck_assert_double_eq_tol(matches[r].distance, (double)(r % 3) / 64 / spread, 1e-15);
    }
    ck_ok(ulp_match_median(rows[0], ROWS, base[0], ROWS, COLUMNS, NULL, &found, &why));
    ck_assert_double_eq_tol(found, 1.0 / 64 / spread, 1e-15);
    /* fewer rows, and numbers by their order */
    ck_ok(ulp_match_median(rows[0], 5, base[0], ROWS, COLUMNS, NULL, &found, &why));
    ck_assert_double_eq_tol(found, 1.0 / 64 / spread, 1e-15);
    double up[ROWS], down[ROWS];
    for (size_t r = 0; r < ROWS; r++) {
        up[r] = (double)r;
        down[ROWS - 1 - r] = (double)r + 2;
    }
    ck_ok(ulp_match_median(down, ROWS, up, ROWS, 1, NULL, &found, &why));
    ck_assert_double_eq_tol(found, 2 / spread, 1e-15);
    /* NaN matches nothing; of no rows nothing is apart */
    rows[3][1] = (double)NAN;
    ulp_match_rows(rows[0], ROWS, base[0], ROWS, COLUMNS, matches);
    ck_assert_uint_eq(matches[3].of, SIZE_MAX);
    ck_assert(isinf(matches[3].distance));
    ck_ok(ulp_match_median(NULL, 0, NULL, 0, COLUMNS, NULL, &found, &why));
    ck_assert_double_eq(found, 0);
    ck_ok(ulp_match_median(NULL, 0, base[0], ROWS, COLUMNS, NULL, &found, &why));
    ck_assert(isinf(found));
}

TEST_SUITE("compare: parts", 0)
