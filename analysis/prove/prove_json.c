/* proof.json: its schema is in doc/prove.md. */

#include <ulpscope.h>

#include "analysis/writing/folder.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "base/machine/environment.h"

static void add_proven(struct ulp_json_writer *writer, const void *output, const void *context)
{
    (void)context;
    if (((const struct ulp_proof_output *)output)->verdict == ULP_PROOF_PROVEN)
        ulp_json_put(writer, "proven", json_true());
}

static json_t *make_document(const struct ulp_proof *proof)
{
    static const struct ulp_json_hook hooks[] = {{&ulp_struct_proof_output, add_proven, NULL}};
    const struct ulp_json_how how = {hooks, sizeof hooks / sizeof *hooks, NULL, NULL};
    struct ulp_error ignored; /* memory: NULL */
    char *text;
    ulp_proof_text(proof, 0, false, &text, &ignored);
    return ulp_json_document(&ulp_struct_proof, proof, &how, ulp_json_paragraph(text));
}

enum ulp_status ulp_proof_write(const struct ulp_proof *proof, const char *folder,
                                struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    return ulp_report_write_json(make_document(proof), folder, "proof.json", error);
}

enum ulp_status ulp_proof_write_json(const struct ulp_proof *proof, const char *path,
                                     struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    return ulp_json_write(make_document(proof), path, error);
}
