/* Reading inputs from a path, whatever kind of file it is. */
#include <sys/stat.h>

#include "base/machine/environment.h"
#include "data/data.h"

enum ulp_status ulp_tensor_set_read(const char *path, struct ulp_budget *budget,
                                    struct ulp_tensor_set *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct stat info;
    *out = (struct ulp_tensor_set){0};
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return ulp_test_data_set_read(path, "input", NULL, budget, out, error);
    return ulp_npz_read(path, budget, out, error);
}
