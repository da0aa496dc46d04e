/* Operators written out as several nodes are found in every order, grouping and spelling, and what
 * is not one of them is not. */
#include "tests/support/line_model.h"
#include "tests/support/text_cases.h"
#include "run/idiom/idiom.h"

struct found {
    struct ulp_model *model;
    struct ulp_program *program;
    struct ulp_arena *arena;
    struct ulp_idiom *items;
    size_t count;
};

static void find(struct found *out, struct ulp_model *model)
{
    *out = (struct found){.model = model};
    const struct ulp_arithmetic fp32 = test_arithmetic("fp32");
    ck_ok(ulp_program_create(out->model, &fp32, 1, NULL, &out->program, &why));
    ck_ok(ulp_arena_create(&out->arena, NULL, &why));
    ck_ok(ulp_idioms_find(out->program->main, out->arena, &out->items, &out->count, &why));
}

static void release(struct found *found)
{
    ulp_arena_free(found->arena);
    ulp_program_free(found->program);
    ulp_model_free(found->model);
}

#define CASES "idiom.cases"

static const char *slot_name(const struct found *found, int slot)
{
    return slot < 0 ? NULL : found->program->main->slots[slot].name;
}

static const char *kind_name(enum ulp_idiom_kind kind)
{
    static const char *const names[ULP_IDIOM_KIND_COUNT] = {
        [ULP_IDIOM_LAYER_NORM] = "LayerNormalization",
        [ULP_IDIOM_RMS_NORM] = "RMSNormalization",
        [ULP_IDIOM_GELU_ERF] = "Gelu",
        [ULP_IDIOM_GELU_TANH] = "Gelu (tanh)",
        [ULP_IDIOM_GELU_SIGMOID] = "Gelu (sigmoid)",
        [ULP_IDIOM_SILU] = "SiLU",
        [ULP_IDIOM_SOFTMAX] = "Softmax",
        [ULP_IDIOM_ATTENTION] = "Attention"};
    return names[kind];
}

/* What is found, as records have it. */
static void describe(const struct found *found, char text[1000])
{
    int length = snprintf(text, 1000, "%s", found->count ? "" : "nothing");
    for (const struct ulp_idiom *i = found->items; i < found->items + found->count; i++) {
        const char *of[3];
        static const int holes[] = {ULP_IDIOM_X, ULP_IDIOM_GAMMA, ULP_IDIOM_BETA};
        for (int h = 0; h < 3; h++)
            of[h] = i->holes[holes[h]] < 0 ? "-" : slot_name(found, i->holes[holes[h]]);
        length += snprintf(text + length, 1000 - (size_t)length,
                           "%zu steps, epsilon %g, axis %d, of %s %s %s: %s", i->step_count,
                           i->epsilon, i->axis, of[0], of[1], of[2], kind_name(i->kind));
        ck_assert(i->steps[i->step_count - 1] == i->root);
    }
}

TEST_LOOP(idioms_are_found, 0, text_case_count(CASES))
{
    const char *lines = text_case(CASES, (size_t)_i, "lines", 0);
    struct found found;
    char text[1000];
    find(&found, line_model(lines, 12));
    describe(&found, text);
    ck_assert_msg(strcmp(text, text_case(CASES, (size_t)_i, "", 0)) == 0, "%s in %s", text, lines);
    release(&found);
}

TEST(attention_has_its_parts)
{
    struct found found;
    find(&found, line_model("k = Transpose(z) perm=0,2,1\ns = MatMul(x, k)\nc = Div(s, 4.0)\n"
                            "p = Softmax(c) axis=-1\ny = MatMul(p, v)",
                            13));
    ck_assert_uint_eq(found.count, 1);
    const struct ulp_idiom *attention = &found.items[0];
    ck_assert_int_eq(attention->kind, ULP_IDIOM_ATTENTION);
    ck_assert_str_eq(slot_name(&found, attention->holes[ULP_IDIOM_Q]), "x");
    ck_assert_str_eq(slot_name(&found, attention->holes[ULP_IDIOM_K]), "k");
    ck_assert_str_eq(slot_name(&found, attention->holes[ULP_IDIOM_V]), "v");
    ck_assert_int_eq(attention->holes[ULP_IDIOM_MASK], -1);
    ck_assert(attention->scale == 0.25);
    ck_assert_uint_eq(attention->length, 3);
    release(&found);
}

/* Long chains in which every node could begin an idiom end soon: tries are limited. */
TEST(hostile_chains_end)
{
    char lines[4096] = "a0 = Mul(x, x)\n";
    for (int i = 1; i < 120; i++) {
        char line[80];
        snprintf(line, sizeof line, "a%d = Mul(a%d, a%d)\n", i, i - 1, i - 1);
        strcat(lines, line);
    }
    struct found found;
    find(&found, line_model(lines, 13));
    ck_assert_uint_eq(found.count, 0);
    release(&found);
}

/* How many of each there are in real networks, by their sources: layers times what a layer has. */
static const struct network_case {
    const char *name;
    int layer_norms, rms_norms, gelus, silus, attentions;
} network_cases[] = {
    {"models/tinybert_1l", 3, 0, 1, 0, 1},
    {"models/nanogpt_4l", 9, 0, 4, 0, 4},
    {"models/t5_random_encoder", 2, 0, 0, 0, 1},
    {"models/vit_pgd_2_3_16", 0, 0, 0, 0, 2},
    {"models/self_attention_ezkl", 2, 0, 1, 0, 1},
    {"generated/clip_text_tiny_op14", 9, 0, 4, 0, 4},
    {"generated/clip_text_tiny_op17", 0, 0, 4, 0, 4},
    {"generated/vit_tiny_op14", 9, 0, 4, 0, 4},
    {"generated/torch_encoder_layer_op17", 0, 0, 1, 0, 1},
    {"mixed/nanogpt_4l_mixed", 9, 0, 4, 0, 4},
    {"mixed/tinybert_1l_mixed", 3, 0, 1, 0, 1},
};

TEST_LOOP(networks_have_theirs, 0, sizeof network_cases / sizeof *network_cases)
{
    const struct network_case *c = &network_cases[_i];
    char relative[200];
    snprintf(relative, sizeof relative, "%s/model.onnx", c->name);
    const char *path = test_shared(relative);
    struct ulp_model *model;
    struct found found;
    int counts[ULP_IDIOM_KIND_COUNT] = {0};
    if (!path)
        return;
    ck_ok(ulp_model_load(path, NULL, &model, &why));
    find(&found, model);
    for (size_t i = 0; i < found.count; i++)
        counts[found.items[i].kind]++;
    const int gelus =
        counts[ULP_IDIOM_GELU_ERF] + counts[ULP_IDIOM_GELU_TANH] + counts[ULP_IDIOM_GELU_SIGMOID];
    ck_assert_msg(counts[ULP_IDIOM_LAYER_NORM] == c->layer_norms &&
                      counts[ULP_IDIOM_RMS_NORM] == c->rms_norms && gelus == c->gelus &&
                      counts[ULP_IDIOM_SILU] == c->silus &&
                      counts[ULP_IDIOM_ATTENTION] == c->attentions,
                  "%s: %d LayerNorm, %d RMSNorm, %d Gelu, %d SiLU, %d attention", c->name,
                  counts[ULP_IDIOM_LAYER_NORM], counts[ULP_IDIOM_RMS_NORM], gelus,
                  counts[ULP_IDIOM_SILU], counts[ULP_IDIOM_ATTENTION]);
    release(&found);
}

TEST_SUITE("idiom", 0)
