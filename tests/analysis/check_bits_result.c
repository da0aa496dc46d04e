/* analysis: what a search for the fewest bits gives: files, ranges, sums, texts, refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/analysis/bits_test.h"
#include "tests/analysis/plan_oracle.h"
#include "tests/support/text_model.h"

/* 300 x 300 is beyond 5 exponent bits, and comes back. */
static const struct text_graph too_large = {
    "x",
    "y",
    {NODE("MatMul", "first", "x w", "a"), NODE("Exp", "positive", "a", "b"),
     NODE("Mul", "large", "b big", "c"), NODE("Mul", "larger", "c big", "d"),
     NODE("Div", "back", "d big", "e"), NODE("Div", "again", "e big", "y")}};

/* ---- what is written ---- */

static const struct text_graph *const written[] = {&three, &too_large, &text_with_bodies};

START_TEST(an_allocation_is_read_back)
{
    struct ulp_model *model = text_load(written[_i]);
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true);
    static const char *const contents[][2] = {{"bits.json",
                                               "\"verdict\": \"Outputs stay within sqnr_db="},
                                              {"frontier.csv",
                                               "tolerance,error,bits,mantissa,uniform_bits,cost\n"},
                                              {"frontier.svg", "</svg>"}};
    for (double limit = 20; limit < 80; limit += 25) {
        struct ulp_precision_plan read;
        struct ulp_search bits;
        struct ulp_error error;
        char tolerance[64], *text;
        snprintf(tolerance, sizeof tolerance, "sqnr_db=%.17g", limit);
        ck_ulp_ok(find(model, (struct ulp_search_options){.headroom = 1}, tolerance, &inputs, 1,
                       &bits, &error),
                  error);
        ck_assert(bits.met && bits.minimal && bits.layer_count > 0);
        ck_ulp_ok(ulp_search_write(&bits, ULP_OUTPUT_FOLDER, test_folder("out"), &error), error);
        for (size_t f = 0; f < sizeof contents / sizeof *contents; f++) {
            char path[512];
            snprintf(path, sizeof path, "%s/%s", test_folder("out"), contents[f][0]);
            ck_assert_msg(oracle_file_has(path, contents[f][1]), "%s", path);
        }
        ck_ulp_ok(ulp_precision_plan_read(test_folder("out/bits.json"), NULL, &read, &error),
                  error);
        /* the same nodes in the same formats: the same figure, but for the doubles' sums */
        ck_assert_double_eq_tol(oracle_outputs_db(model, &inputs, &read), bits.samples[0].value,
                                1e-6);
        ck_assert_double_ge(bits.samples[0].value, limit);
        ck_ulp_ok(ulp_search_text(&bits, &text, &error), error);
        ck_assert_msg(strncmp(text, "Outputs stay within sqnr_db=", 28) == 0 &&
                          strstr(text, "No single layer can do with fewer bits") &&
                          strstr(text, "1 of 1 held-out samples"),
                      "%s", text);
        free(text);
        ulp_precision_plan_free(&read);
        ulp_search_free(&bits);
    }
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* Every layer's format holds what it reads and makes, with the headroom. */
START_TEST(ranges_have_headroom)
{
    struct ulp_model *model = text_load(&too_large);
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true);
    int exponents[2];
    for (int headroom = 0; headroom < 2; headroom++) {
        struct ulp_search bits;
        struct ulp_error error;
        double largest = 0;
        ck_ulp_ok(find(model, (struct ulp_search_options){.headroom = 3 * headroom}, "sqnr_db=30",
                       &inputs, 1, &bits, &error),
                  error);
        ck_assert(bits.met);
        for (size_t l = 0; l < bits.layer_count; l++) {
            const struct ulp_search_layer *layer = &bits.layers[l];
            struct ulp_format format;
            ck_ulp_ok(ulp_format_find(bits.formats[layer->format].name, &format, &error), error);
            ck_assert_double_ge(format.max_finite, layer->largest * exp2(3 * headroom));
            ck_assert_int_ge(bits.formats[layer->format].exponent, layer->exponent_needed);
            if (layer->largest > largest) {
                largest = layer->largest;
                exponents[headroom] = layer->exponent_needed;
            }
        }
        ck_assert_double_gt(largest, 65504); /* of "larger" */
        ulp_search_free(&bits);
    }
    ck_assert_int_gt(exponents[0], 5);
    ck_assert_int_ge(exponents[1], exponents[0]);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* ---- the rest ---- */

START_TEST(threads_do_not_matter)
{
    struct ulp_model *model = text_load(&text_chain);
    struct ulp_tensor_set inputs = text_inputs(model, 7, 0, true);
    char *texts[3];
    for (int t = 0; t < 3; t++) {
        struct ulp_search bits;
        struct ulp_error error;
        ck_ulp_ok(find(model, (struct ulp_search_options){.thread_count = 2 * t + 1}, "sqnr_db=33",
                       &inputs, 1, &bits, &error),
                  error);
        ck_ulp_ok(ulp_search_text(&bits, &texts[t], &error), error);
        ulp_search_free(&bits);
    }
    ck_assert_str_eq(texts[0], texts[1]);
    ck_assert_str_eq(texts[0], texts[2]);
    for (int t = 0; t < 3; t++)
        free(texts[t]);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* The sum of bits is what the layers say, by any weight, and no frontier point is dominated. */
START_TEST(bits_are_counted)
{
    struct ulp_model *model = text_load(&text_chain);
    struct ulp_tensor_set inputs = text_inputs(model, 7, 0, true);
    for (size_t c = 0; ulp_search_cost_name(c); c++) {
        const double per_bit = strcmp(ulp_search_cost_name(c), "bytes") == 0 ? 0.125 : 1;
        struct ulp_search bits;
        struct ulp_error error;
        double sum = 0, weights = 0, share = 0;
        ck_ulp_ok(find(model, (struct ulp_search_options){.cost = ulp_search_cost_name(c)},
                       "sqnr_db=33", &inputs, 1, &bits, &error),
                  error);
        ck_assert(bits.met);
        for (size_t l = 0; l < bits.layer_count; l++) {
            sum += bits.layers[l].weight * bits.layers[l].bits;
            weights += bits.layers[l].weight;
            share += bits.layers[l].share;
            ck_assert_double_ge(bits.layers[l].weight, 1);
        }
        ck_assert_double_eq_tol(bits.total_cost, sum * per_bit, 1e-9 * sum);
        ck_assert_double_eq_tol(bits.bits, sum / weights, 1e-9 * sum / weights);
        ck_assert_double_eq_tol(share, 1, 1e-9);
        ck_assert_double_eq_tol(bits.bits, bits.mantissa + bits.exponent + 1, 1e-9);
        ck_assert_int_ge(bits.uniform, 0);
        ck_assert_double_le(bits.bits, bits.uniforms[bits.uniform].bits);
        for (size_t p = 0; p < bits.point_count; p++) {
            const struct ulp_search_point *point = &bits.frontier[p];
            ck_assert_double_le(point->ratio, point->allowed);
            ck_assert(!(point->bits > point->uniform_bits));
            ck_assert(p == 0 || point->bits >= bits.frontier[p - 1].bits);
            ck_assert(point->allowed != 1 || point->bits == bits.bits);
        }
        ck_assert_uint_gt(bits.point_count, 3);
        ulp_search_free(&bits);
    }
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

static void expect_text(const struct ulp_search *bits, const char *begins)
{
    struct ulp_error error;
    char *text;
    ck_ulp_ok(ulp_search_text(bits, &text, &error), error);
    ck_assert_msg(strncmp(text, begins, strlen(begins)) == 0, "%s", text);
    free(text);
    ck_ulp_ok(ulp_search_write(bits, ULP_OUTPUT_FOLDER, test_folder("out"), &error), error);
}

START_TEST(some_tolerances_are_not_met)
{
    static const char *const tolerances[] = {"sqnr_db=300", "max_abs=0", "rms=0"};
    struct ulp_model *model = text_load(&three);
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true);
    for (size_t t = 0; t < sizeof tolerances / sizeof *tolerances; t++) {
        struct ulp_search bits;
        struct ulp_error error;
        char begins[64];
        ck_ulp_ok(find(model, (struct ulp_search_options){0}, tolerances[t], &inputs, 1, &bits,
                       &error),
                  error);
        ck_assert(!bits.met && !bits.minimal && bits.layer_count == 0 && bits.full > 1);
        snprintf(begins, sizeof begins, "No allocation meets %s\n  why   with ", tolerances[t]);
        expect_text(&bits, begins);
        ulp_search_free(&bits);
    }
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* Nothing rounds: no layer. */
static const struct text_graph whole = {"i_a", "i_b", {NODE("Add", "add", "i_a i_1", "i_b")}};

START_TEST(models_without_floats_have_no_layers)
{
    struct ulp_model *model = text_load(&whole);
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true);
    struct ulp_search bits;
    struct ulp_error error;
    ck_ulp_ok(find(model, (struct ulp_search_options){0}, "max_abs=0", &inputs, 1, &bits, &error),
              error);
    ck_assert(bits.met && bits.layer_count == 0);
    expect_text(&bits, "Nothing to allocate: ");
    ulp_search_free(&bits);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* What leans on no rounding has more bits, and is expected to meet the tolerance. */
START_TEST(the_expected_error_can_be_limited)
{
    struct ulp_model *model = text_load(&text_chain);
    struct ulp_tensor_set inputs = text_inputs(model, 7, 0, true);
    double total[2];
    for (int limited = 0; limited < 2; limited++) {
        struct ulp_search bits;
        struct ulp_error error;
        ck_ulp_ok(find(model, (struct ulp_search_options){.expected = limited ? 0.5 : 0},
                       "sqnr_db=33", &inputs, 1, &bits, &error),
                  error);
        ck_assert(bits.met && bits.minimal && bits.ratio <= 1);
        ck_assert(!limited || bits.predicted <= 0.5);
        ck_assert(limited || bits.predicted > 0.5);
        total[limited] = bits.total_cost;
        ulp_search_free(&bits);
    }
    ck_assert_double_gt(total[1], total[0]);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

START_TEST(the_time_can_be_over)
{
    struct ulp_model *model = text_load(&text_chain);
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true);
    struct ulp_search bits;
    struct ulp_error error;
    ck_ulp_ok(find(model, (struct ulp_search_options){.seconds = 1e-9}, "sqnr_db=40", &inputs, 1,
                   &bits, &error),
              error);
    /* every layer in the widest format has run, and meets it */
    ck_assert(bits.timed_out && bits.met && !bits.minimal);
    ck_assert_double_eq(bits.bits, 32);
    expect_text(&bits, "Outputs stay within ");
    ulp_search_free(&bits);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

START_TEST(what_cannot_be_asked_is_refused)
{
    static const char *const lists[][2] = {{"fp16", "fp16"},
                                           {"mpfr:64", "fp32"},
                                           {"model", "fp32"},
                                           {"fp16,fuse=pointwise", "fp32"},
                                           {"nothing", "fp32"}};
    struct ulp_model *model = text_load(&three);
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true);
    struct ulp_search bits;
    struct ulp_error error;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        ck_assert_int_eq(find(model,
                              (struct ulp_search_options){.formats = lists[i], .format_count = 2},
                              "sqnr_db=40", &inputs, 1, &bits, &error),
                         ULP_ERROR_USAGE);
    ck_assert_int_eq(find(model, (struct ulp_search_options){.parts = "sideways"}, "sqnr_db=40",
                          &inputs, 1, &bits, &error),
                     ULP_ERROR_USAGE);
    ck_assert_int_eq(find(model, (struct ulp_search_options){0}, "z:rms=0", &inputs, 1, &bits,
                          &error),
                     ULP_ERROR_USAGE);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

TEST_MAIN("results of bits", 300)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
    tcase_add_loop_test(tests, an_allocation_is_read_back, 0, 3);
    tcase_add_test(tests, ranges_have_headroom);
    tcase_add_test(tests, threads_do_not_matter);
    tcase_add_test(tests, bits_are_counted);
    tcase_add_test(tests, some_tolerances_are_not_met);
    tcase_add_test(tests, models_without_floats_have_no_layers);
    tcase_add_test(tests, the_expected_error_can_be_limited);
    tcase_add_test(tests, the_time_can_be_over);
    tcase_add_test(tests, what_cannot_be_asked_is_refused);
}
