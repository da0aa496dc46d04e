#include "tests/support/networks.h"

#include <unistd.h>

#include "tests/support/test.h"

/* clang-format off */
const struct network networks[] = {
    {"examples/digits", false},
    {"mnist_8", false},
    {"resnet_4b_cifar10", false},
    {"super_resolution_10", true},
    {"residual_block", true},
    {"ultraface_rfb_320", true},
    {"fsanet_1x1", false},
    {"ppocr_v3_det", true},
    {"yunet_n_320", true},
    {"vit_pgd_2_3_16", false},
    {"cct2_32_opset20", false},
    {"nanogpt_4l", false},
    {"tinybert_1l", false},
    {"self_attention_ezkl", false},
    {"magika_v3_3", true},
    {"deimv2_atto_coco", true},
};
/* clang-format on */
const int network_count = sizeof networks / sizeof *networks;

static bool find_folder(int index, char *folder, size_t size)
{
    if (index == 0)
        return snprintf(folder, size, "%s", test_source("examples/digits")) < (int)size;
    char relative[256];
    snprintf(relative, sizeof relative, "models/%s", networks[index].name);
    const char *path = networks[index].heavy && !test_long() ? NULL : test_shared(relative);
    return path && snprintf(folder, size, "%s", path) < (int)size;
}

bool network_load(int index, struct ulp_model **model, struct ulp_tensor_set *inputs)
{
    char folder[4096], path[4200];
    if (!find_folder(index, folder, sizeof folder))
        return false;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    ck_ok(ulp_model_load(path, NULL, model, &why));
    snprintf(path, sizeof path, "%s/inputs.npz", folder);
    ck_ok(ulp_tensor_set_read(path, NULL, inputs, &why));
    return true;
}

bool network_outputs(int index, const struct ulp_model *model, struct ulp_tensor_set *inputs,
                     struct ulp_tensor_set *outputs)
{
    char folder[4096], path[4200];
    if (!find_folder(index, folder, sizeof folder))
        return false;
    snprintf(path, sizeof path, "%s/test_data_set_0", folder);
    if (access(path, R_OK) != 0)
        return false;
    ck_ok(ulp_test_data_set_read(path, "input", model, NULL, inputs, &why));
    ck_ok(ulp_test_data_set_read(path, "output", model, NULL, outputs, &why));
    return true;
}
