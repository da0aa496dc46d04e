/* Operators written out as several nodes are found in every order, grouping and spelling, and what
 * is not one of them is not. */
#include "tests/support/line_model.h"
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
    struct ulp_arithmetic fp32;
    *out = (struct found){.model = model};
    fp32 = test_arithmetic("fp32");
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

static const struct idiom_case {
    const char *lines;
    const char *kind; /* NULL: none is found */
    int steps;        /* of it; 0: not asked */
    double epsilon;
    int axis;
    const char *x, *gamma, *beta;
} cases[] = {
    /* LayerNormalization as PyTorch writes it, and in other words */
    {"m = ReduceMean(x) axes=-1\nd = Sub(x, m)\nq = Pow(d, 2.0)\nv = ReduceMean(q) axes=-1\n"
     "e = Add(v, 0.5)\ns = Sqrt(e)\nn = Div(d, s)\ng = Mul(n, w8)\ny = Add(g, w8b)",
     "LayerNormalization", 9, 0.5, 2, "x", "w8", "w8b"},
    {"m = ReduceMean(x) axes=-1\nd = Sub(x, m)\nc = Cast(d) to=1\nq = Mul(c, d)\n"
     "v = ReduceMean(q) axes=2\ne = Add(0.5, v)\ns = Sqrt(e)\nr = Reciprocal(s)\nn = Mul(r, d)\n"
     "i = Identity(n)\ng = Mul(w8, i)\ny = Add(w8b, g)",
     "LayerNormalization", 12, 0.5, 2, "x", "w8", "w8b"},
    {"m = ReduceMean(x) axes=-1\nd = Sub(x, m)\nq = Pow(d, 2.0)\nv = ReduceMean(q) axes=-1\n"
     "e = Add(v, 0.5)\nr = Pow(e, -0.5)\nn = Mul(d, r)\ng = Mul(n, w8)\nz = Relu(g)",
     "LayerNormalization", 8, 0.5, 2, "x", "w8", NULL},
    /* the mean as a sum; gamma joins the root first; another axis */
    {"t = ReduceSum(x) axes=1\nm = Mul(t, 0.33333334)\nd = Sub(x, m)\nq = Mul(d, d)\n"
     "u = ReduceSum(q) axes=1\nv = Div(u, 3.0)\ne = Add(v, 0.5)\ns = Sqrt(e)\nn = Div(d, s)",
     "LayerNormalization", 9, 0.5, 1, "x", NULL, NULL},
    /* TensorFlow: x * (gamma / s) + (beta - mean * (gamma / s)) */
    {"m = ReduceMean(x) axes=-1\nd = Sub(x, m)\nq = Mul(d, d)\nv = ReduceMean(q) axes=-1\n"
     "e = Add(v, 0.5)\ns = Sqrt(e)\nr = Reciprocal(s)\ni = Mul(r, w8)\nz = Mul(m, i)\n"
     "c = Sub(w8b, z)\nf = Mul(x, i)\ny = Add(f, c)",
     "LayerNormalization", 12, 0.5, 2, "x", "w8", "w8b"},
    /* the difference is computed twice; keepdims=0 with an Unsqueeze */
    {"m = ReduceMean(x) axes=-1 keepdims=0\nk = Unsqueeze(m) axes=2\nd = Sub(x, k)\n"
     "n = ReduceMean(x) axes=-1\nc = Sub(x, n)\nq = Mul(c, c)\nv = ReduceMean(q) axes=-1\n"
     "e = Add(v, 0.5)\ns = Sqrt(e)\ny = Div(d, s)",
     "LayerNormalization", 10, 0.5, 2, "x", NULL, NULL},
    /* JAX: E(x^2) - E(x)^2 of at least 0, on means without their axis */
    /* ONNX Runtime 1.32 takes 2 for 0 */
    {"m = ReduceMean(x) axes=-1 keepdims=2\nq = Mul(x, x)\nt = ReduceSum(q) axes=-1 keepdims=0\n"
     "a = Mul(t, 0.125)\nb = Mul(m, m)\nc = Sub(a, b)\nv = Max(0.0, c)\nk = Reshape(v, [2,3,1])\n"
     "e = Add(k, 0.5)\ns = Sqrt(e)\nr = Reciprocal(s)\ng = Mul(r, w8)\nl = Reshape(m, [2,3,1])\n"
     "d = Sub(x, l)\nn = Mul(d, g)\ny = Add(n, w8b)",
     "LayerNormalization", 16, 0.5, 2, "x", "w8", "w8b"},
    {"q = Pow(x, 2.0)\nv = ReduceMean(q) axes=-1\ne = Add(v, 0.5)\ns = Sqrt(e)\nn = Div(x, s)\n"
     "y = Mul(w8, n)",
     "RMSNormalization", 6, 0.5, 2, "x", "w8", NULL},
    {"q = Mul(x, x)\nv = ReduceMean(q) axes=-1\ns = Sqrt(v)\nr = Div(1.0, s)\ny = Mul(r, x)",
     "RMSNormalization", 5, 0, 2, "x", NULL, NULL},
    /* Gelu in four groupings */
    {"a = Div(x, 1.4142135)\nb = Erf(a)\nc = Add(b, 1.0)\nd = Mul(x, c)\ny = Mul(d, 0.5)", "Gelu",
     5, 0, -1, "x", NULL, NULL},
    {"h = Mul(0.5, x)\na = Mul(x, 0.70710677)\nb = Erf(a)\nc = Add(1.0, b)\ny = Mul(c, h)", "Gelu",
     5, 0, -1, "x", NULL, NULL},
    {"a = Div(x, 1.4142135)\nb = Erf(a)\nc = Add(b, 1.0)\nd = Div(c, 2.0)\ny = Mul(d, x)", "Gelu",
     5, 0, -1, "x", NULL, NULL},
    {"p = Mul(x, 3.0)\na = Div(p, 1.4142135)\nb = Erf(a)\nc = Add(b, 1.0)\nd = Mul(p, c)\n"
     "y = Mul(d, 0.5)",
     "Gelu", 5, 0, -1, "p", NULL, NULL},
    {"c = Pow(x, 3.0)\nk = Mul(c, 0.044715)\ns = Add(x, k)\nt = Mul(s, 0.7978846)\nh = Tanh(t)\n"
     "o = Add(h, 1.0)\nz = Mul(x, 0.5)\ny = Mul(z, o)",
     "Gelu (tanh)", 8, 0, -1, "x", NULL, NULL},
    {"a = Mul(x, x)\nc = Mul(a, x)\nk = Mul(0.044715, c)\ns = Add(k, x)\nt = Mul(0.7978846, s)\n"
     "h = Tanh(t)\no = Add(1.0, h)\nz = Mul(o, x)\ny = Mul(0.5, z)",
     "Gelu (tanh)", 9, 0, -1, "x", NULL, NULL},
    {"a = Mul(x, 1.702)\ns = Sigmoid(a)\ny = Mul(s, x)", "Gelu (sigmoid)", 3, 0, -1, "x", NULL,
     NULL},
    {"s = Sigmoid(x)\ny = Mul(x, s)", "SiLU", 2, 0, -1, "x", NULL, NULL},
    {"n = Neg(x)\ne = Exp(n)\na = Add(1.0, e)\ny = Div(x, a)", "SiLU", 4, 0, -1, "x", NULL, NULL},
    {"m = ReduceMax(x) axes=-1\nd = Sub(x, m)\ne = Exp(d)\ns = ReduceSum(e) axes=-1\ny = Div(e, s)",
     "Softmax", 5, 0, 2, "x", NULL, NULL},
    {"k = Transpose(z) perm=0,2,1\ns = MatMul(x, k)\nc = Mul(s, 0.25)\nm = Add(c, w3)\n"
     "p = Softmax(m) axis=2\ny = MatMul(p, v)",
     "Attention", 5, 0, 2, NULL, NULL, NULL},
    /* near misses */
    {"m = ReduceMean(x) axes=-1\nd = Sub(x, m)\nq = Pow(d, 2.0)\nv = ReduceMean(q) axes=1\n"
     "e = Add(v, 0.5)\ns = Sqrt(e)\ny = Div(d, s)", /* of another axis: no LayerNormalization */
     "RMSNormalization", 5, 0.5, 1, "d", NULL, NULL},
    {"m = ReduceMean(x) axes=-1\nd = Sub(x, m)\nq = Pow(d, 3.0)\nv = ReduceMean(q) axes=-1\n"
     "e = Add(v, 0.5)\ns = Sqrt(e)\ny = Div(d, s)",
     NULL, 0, 0, 0, NULL, NULL, NULL},
    {"m = ReduceMean(z) axes=-1\nd = Sub(x, m)\nq = Pow(x, 2.0)\nv = ReduceMean(q) axes=-1\n"
     "e = Add(v, 0.5)\ns = Sqrt(e)\ny = Div(d, s)", /* the mean of another value */
     NULL, 0, 0, 0, NULL, NULL, NULL},
    {"t = ReduceSum(x) axes=-1\nm = Mul(t, 0.25)\nd = Sub(x, m)\nq = Mul(d, d)\n"
     "v = ReduceMean(q) axes=-1\ns = Sqrt(v)\nr = Reciprocal(s)\ny = Mul(x, r)", /* 8 elements */
     NULL, 0, 0, 0, NULL, NULL, NULL},
    {"a = Div(x, 1.5)\nb = Erf(a)\nc = Add(b, 1.0)\nd = Mul(x, c)\ny = Mul(d, 0.5)", NULL, 0, 0, 0,
     NULL, NULL, NULL},
    {"a = Div(z, 1.4142135)\nb = Erf(a)\nc = Add(b, 1.0)\nd = Mul(x, c)\ny = Mul(d, 0.5)", NULL, 0,
     0, 0, NULL, NULL, NULL},
    {"a = Div(x, 1.4142135)\nb = Erf(a)\nc = Sub(b, 1.0)\nd = Mul(x, c)\ny = Mul(d, 0.5)", NULL, 0,
     0, 0, NULL, NULL, NULL},
    {"s = Sigmoid(z)\ny = Mul(x, s)", NULL, 0, 0, 0, NULL, NULL, NULL},
    {"e = Exp(x)\ns = ReduceSum(z) axes=-1\ny = Div(e, s)", NULL, 0, 0, 0, NULL, NULL, NULL},
    {"e = Exp(x)\ns = ReduceSum(e) axes=-1\ny = Div(s, e)", NULL, 0, 0, 0, NULL, NULL, NULL},
    {"y = Add(x, w8)", NULL, 0, 0, 0, NULL, NULL, NULL},
};

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

static bool same_name(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

TEST_LOOP(idioms_are_found, 0, sizeof cases / sizeof *cases)
{
    const struct idiom_case *c = &cases[_i];
    const struct ulp_idiom *idiom = NULL;
    struct found found;
    find(&found, line_model(c->lines, 12));
    for (size_t i = 0; i < found.count; i++)
        if (c->kind && strcmp(kind_name(found.items[i].kind), c->kind) == 0) {
            ck_assert_msg(!idiom, "%s twice in\n%s", c->kind, c->lines);
            idiom = &found.items[i];
        } else {
            ck_abort_msg("%s (%s) in\n%s", kind_name(found.items[i].kind), found.items[i].formula,
                         c->lines);
        }
    ck_assert_msg(!c->kind == !idiom, "%s not found in\n%s", c->kind, c->lines);
    if (idiom) {
        ck_assert_msg(same_name(slot_name(&found, idiom->holes[ULP_IDIOM_X]), c->x), "x in\n%s",
                      c->lines);
        ck_assert_msg(same_name(slot_name(&found, idiom->holes[ULP_IDIOM_GAMMA]), c->gamma),
                      "gamma in\n%s", c->lines);
        ck_assert_msg(same_name(slot_name(&found, idiom->holes[ULP_IDIOM_BETA]), c->beta),
                      "beta in\n%s", c->lines);
        ck_assert_msg(idiom->step_count == (size_t)c->steps, "%zu steps in\n%s", idiom->step_count,
                      c->lines);
        ck_assert_msg(idiom->steps[idiom->step_count - 1] == idiom->root, "root in\n%s", c->lines);
        ck_assert_msg(idiom->epsilon == c->epsilon && idiom->axis == c->axis,
                      "epsilon %g, axis %d in\n%s", idiom->epsilon, idiom->axis, c->lines);
    }
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
