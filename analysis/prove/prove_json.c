/* proof.json: its schema is in doc/fields.md. */

#include <ulpscope.h>

#include "analysis/html/html.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "analysis/writing/first_screen.h"

static void add_proven(struct ulp_json_writer *writer, const void *output, const void *context)
{
    (void)context;
    if (((const struct ulp_proof_output *)output)->verdict == ULP_PROOF_PROVEN)
        ulp_json_put(writer, "proven", json_true());
}

static void add_tiles(struct ulp_json_writer *writer, const void *result, const void *context)
{
    static const enum ulp_tile_level levels[] = {
        [ULP_PROOF_PROVEN] = ULP_TILE_GOOD,
        [ULP_PROOF_CONDITIONAL] = ULP_TILE_WARN,
        [ULP_PROOF_NOT_PROVEN] = ULP_TILE_BAD,
    };
    const struct ulp_proof *proof = result;
    json_t *tiles = json_array();
    (void)context;
    for (int v = 0; v < (int)(sizeof levels / sizeof *levels); v++) {
        const size_t count = proof->counts[v];
        char title[64];
        snprintf(title, sizeof title, "Outputs %s", ulp_proof_verdict_name(v));
        ulp_tile_add(&tiles,
                     v == ULP_PROOF_PROVEN && count < proof->output_count ? ULP_TILE_PLAIN
                     : count                                              ? levels[v]
                                                                          : ULP_TILE_GOOD,
                     title, "%zu of %zu", count, proof->output_count);
    }
    ulp_tiles_put(writer, NULL, tiles);
}

static json_t *make_proof_document(const struct ulp_proof *proof)
{
    static const struct ulp_json_hook hooks[] = {{&ulp_struct_proof_output, add_proven, NULL},
                                                 {&ulp_struct_proof, add_tiles, NULL}};
    const struct ulp_json_how how = {hooks, sizeof hooks / sizeof *hooks, NULL, NULL};
    struct ulp_error ignored; /* memory: NULL */
    char *text;
    ulp_proof_text(proof, ULP_PAGE_PROSE, false, &text, &ignored);
    return ulp_json_document(&ulp_struct_proof, proof, &how, ulp_json_paragraph(text));
}

ULP_DOCUMENT_WRITE(ulp_proof_write, ulp_proof, "proof", make_proof_document)
