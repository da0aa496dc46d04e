/* Lists of recordings. */
#include <stdlib.h>

#include "base/memory/alloc.h"
#include "base/text/text.h"
#include "data/data.h"

void ulp_recording_list_free(struct ulp_recording_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        ulp_tensor_set_free(&list->items[i].tensors);
    }
    free(list->items);
    *list = (struct ulp_recording_list){0};
}

enum ulp_status ulp_recording_add(struct ulp_recording_list *list, const char *path,
                                  const char *runner, size_t iteration,
                                  struct ulp_tensor_set *tensors, struct ulp_error *error)
{
    struct ulp_text name = {0};
    ulp_text_add(&name, runner ? "%s:%s" : "%s", path, runner);
    struct ulp_recording *items =
        name.failed ? NULL : realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items) {
        ulp_text_free(&name);
        ulp_tensor_set_free(tensors);
        return ulp_out_of_memory(error);
    }
    list->items = items;
    items[list->count++] =
        (struct ulp_recording){.name = name.data, .iteration = iteration, .tensors = *tensors};
    *tensors = (struct ulp_tensor_set){0};
    return ULP_OK;
}
