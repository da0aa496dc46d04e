/* The networks the tests run: the project's own example everywhere, and the measured data's when it
 * is there. */
#pragma once

#include <ulpscope.h>

struct network {
    const char *name;
    bool heavy; /* only in the long tests */
};
extern const struct network networks[];
extern const int network_count;

/* Load network `index` and its nominal inputs. false: its data is not there (or it is heavy and
 * this is the short run): skip. */
bool network_load(int index, struct ulp_model **model, struct ulp_tensor_set *inputs);
/* Its recorded outputs (test_data_set_0); false when there are none. */
bool network_outputs(int index, const struct ulp_model *model, struct ulp_tensor_set *inputs,
                     struct ulp_tensor_set *outputs);
