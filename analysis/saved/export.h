/* The writers of a saved report in other tools' formats; export.def lists them. */
#pragma once

#include "analysis/saved/saved.h"

struct ulp_exporting {
    struct ulp_saved *saved;
    const struct ulp_saved_request *request;
    const json_t *lane; /* of a format that takes one */
    struct ulp_text *out;
};

void ulp_export_csv(const struct ulp_exporting *e);
void ulp_export_model_explorer(const struct ulp_exporting *e);
