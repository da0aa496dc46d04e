/* What a runtime built of the model. */
#include "base/machine/file.h"
#include "digest.h"

/* A layer in FP16; in `second` its accumulator, too. */
static void write_engine(const char *name, const char *kernel)
{
    char content[600];
    snprintf(content, sizeof content,
             "{\"Layers\": [{\"Name\": \"product + exp\", \"LayerType\": \"gemm\", \"Inputs\": "
             "[{\"Name\": \"x\", \"Dimensions\": [3, 8], \"Format/Datatype\": \"Half\"}], "
             "\"Outputs\": [{\"Name\": \"q\", \"Dimensions\": [3, 8], \"Format/Datatype\": "
             "\"Half\"}], \"TacticName\": \"sm80_xmma_gemm_%s_tensor16x8x16\"}]}",
             kernel);
    ck_ok(ulp_file_write(test_folder(name), content, strlen(content), &why));
}

void digest_engine(struct digest *digest)
{
    static const char *const names[] = {"first.json", "second.json"};
    struct ulp_arithmetic lanes[LANE_COUNT];
    struct ulp_engine engines[2];
    struct ulp_engine_map built[2];
    struct ulp_engine_map_lane lane;
    struct ulp_wishes wishes;
    scoped_program *program = NULL;
    char *text;
    find_lanes(lanes);
    write_engine(names[0], "f16f16_f16f32_f32");
    write_engine(names[1], "f16f16_f16f16_f16");
    CALL(ulp_program_create(model, lanes, 1, &(struct ulp_program_options){.inputs = &inputs},
                            &program, e));
    for (int i = 0; i < 2; i++) {
        CALL(ulp_engine_read(test_folder(names[i]), NULL, &engines[i], e));
        CALL(ulp_engine_map_make(&engines[i], program, NULL, &built[i], e));
    }
    CALL(ulp_engine_map_lane_make(&built[0], "engine", NULL, NULL, &lane, e));
    CALL(ulp_engine_map_wishes(&built[1], NULL, "product:fp32", &wishes, e));
    CALL(ulp_engine_map_text(&built[1], &wishes, 0, 0, false, &text, e));
    add_bytes(digest, text, strlen(text));
    free(text);
    CALL(ulp_engine_map_verdict(&built[1], &text, e));
    free(text);
    CALL(ulp_engine_map_write(&built[1], &wishes, ULP_OUTPUT_FOLDER, test_folder("engine"), e));
    CALL(ulp_engine_map_write(&built[1], &wishes, ULP_OUTPUT_JSON, test_folder("engine/alone.json"),
                              e));
    CALL(ulp_engine_map_write(&built[1], &wishes, ULP_OUTPUT_HTML, test_folder("engine/page.html"),
                              e));
    ulp_wishes_free(&wishes);
    ulp_engine_map_lane_free(&lane);
    for (int i = 0; i < 2; i++) {
        ulp_engine_map_free(&built[i]);
        ulp_engine_free(&engines[i]);
    }
}
