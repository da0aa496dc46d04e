/* Attacks the proof of a model until the time is up: by turns with random and with climbing inputs,
 * after 10^4 of these with random ones alone:
 *   attack_proofs MODEL.onnx INPUTS FORMAT LOW HIGH SECONDS [SEED]
 * INPUTS, an .npz or a test_data_set folder, gives the shapes. LOW > HIGH: the model's own ranges.
 * Ends with code 1 at the first value that is outside its bounds, naming it. */
#include "attack.h"
#include "base/machine/clock.h"
#include "tests/support/line_model.h"

/* Climbs by turns: a plan is made for them. */
#define CLIMBS 4
#define CLIMBED_MAX 10000

static char **arguments;

TEST(nothing_is_outside)
{
    const double seconds = atof(arguments[6]), started = ulp_seconds_now();
    uint64_t seed = arguments[7] ? strtoull(arguments[7], NULL, 10) : 1;
    struct ulp_tensor_set inputs = {0};
    struct ulp_model *model;
    struct subject subject;
    ck_ok(ulp_model_load(arguments[1], NULL, &model, &why));
    if (strstr(arguments[2], ".npz"))
        ck_ok(ulp_tensor_set_read(arguments[2], NULL, &inputs, &why));
    else
        ck_ok(ulp_test_data_set_read(arguments[2], "input", model, NULL, &inputs, &why));
    subject_begin(&subject, model, arguments[3], atof(arguments[4]), atof(arguments[5]), &inputs);
    size_t climbs = seed;
    while (ulp_seconds_now() - started < seconds) {
        const double begun = ulp_seconds_now();
        if (subject.climbed < CLIMBED_MAX)
            attack_climbing(&subject, CLIMBS, climbs, &inputs);
        climbs += CLIMBS;
        /* as long with random inputs as with those */
        attack_randomly(&subject, 100, seed, &inputs);
        seed += 1000003;
        for (const double climbed = ulp_seconds_now();
             ulp_seconds_now() - climbed < climbed - begun; seed += 1000003)
            attack_randomly(&subject, 1, seed, &inputs);
    }
    printf("%s in %s: %zu of %zu outputs proven; %zu random and %zu climbing inputs, %zu values "
           "within their bounds, at most %.2f of one; %.0f s\n",
           arguments[1], arguments[3], subject.proof.counts[ULP_PROOF_PROVEN],
           subject.proof.output_count, subject.random, subject.climbed, subject.values,
           subject.attained, ulp_seconds_now() - started);
    ulp_tensor_set_free(&inputs);
    subject_end(&subject);
}

int main(int argc, char **argv)
{
    if (argc < 7 || argc > 8) {
        fprintf(stderr, "usage: %s MODEL.onnx INPUTS FORMAT LOW HIGH SECONDS [SEED]\n", argv[0]);
        return 2;
    }
    arguments = argv;
    return test_main("attack", 24 * 3600, NULL);
}
