/* An audit of one sample as bytes, by the tables of its members: those that are not of the whole
 * audit. */
#include "analysis/audit/part.h"

#include "analysis/writing/structs.h"
#include "base/error.h"
#include "base/machine/environment.h"

/* Exponents of doubles. */
enum { FIRST_EXPONENT = -1023, LAST_EXPONENT = 1023 };

static bool is_sound_place(const struct ulp_place *place)
{
    for (size_t o = 0; o < place->output_count; o++) {
        const struct ulp_histogram *h = &place->histograms[o];
        if (h->first < FIRST_EXPONENT || h->first > LAST_EXPONENT ||
            h->count > (size_t)(LAST_EXPONENT - h->first + 1))
            return false;
    }
    return true;
}

/* Indexes within what is there, and names where there must be some. */
static bool is_sound_lane(const struct ulp_audit_lane *lane, size_t node_count)
{
    const ptrdiff_t overflows = (ptrdiff_t)lane->overflow_count;
    bool sound = lane->node_count == node_count && lane->overflow_count <= node_count;
    for (ptrdiff_t i = 0; sound && i < overflows; i++)
        sound = lane->overflows[i].joins < overflows;
    for (size_t n = 0; sound && n < node_count; n++) {
        sound = lane->nodes[n].overflow < overflows;
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            sound &= lane->nodes[n].outputs[o].name != NULL;
    }
    for (size_t o = 0; sound && o < lane->attribution.output_count; o++)
        sound = lane->attribution.outputs[o].output &&
                lane->attribution.outputs[o].node_count == node_count;
    return sound;
}

static bool is_sound_birth(const struct ulp_birth *birth, size_t node_count)
{
    bool sound = birth->node < node_count && birth->name && birth->op && birth->value && birth->is;
    for (size_t o = 0; sound && o < birth->output_count; o++)
        sound = birth->outputs[o] != NULL;
    return sound;
}

static bool is_sound(const struct ulp_audit *audit, size_t lane_count, size_t node_count)
{
    bool sound = audit->sample_count == 1 && audit->sample_names[0] &&
                 audit->lane_count == lane_count && audit->place_count == node_count &&
                 (!audit->certificate.lost || audit->certificate.lost_at < node_count);
    for (size_t i = 0; sound && i < audit->nonfinite_input_count; i++)
        sound = audit->nonfinite_inputs[i].name != NULL;
    for (size_t b = 0; sound && b < audit->birth_count; b++)
        sound = is_sound_birth(&audit->births[b], node_count);
    for (size_t l = 0; sound && l < lane_count; l++)
        sound = is_sound_lane(&audit->lanes[l], node_count);
    for (size_t n = 0; sound && n < node_count; n++)
        sound = is_sound_place(&audit->places[n]);
    return sound;
}

enum ulp_status ulp_part_encode(const struct ulp_audit *sample, unsigned char **bytes,
                                size_t *count, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_text text = {0};
    struct ulp_audit audit = *sample; /* not changed: `out` is set */
    struct ulp_coder coder = {.out = &text, .index_count = sample->lanes[0].node_count};
    *bytes = NULL;
    if (sample->sample_count != 1)
        return ulp_fail(error, ULP_ERROR_USAGE, "an audit of one sample is encoded, not of %zu",
                        sample->sample_count);
    ulp_code_struct(&coder, &ulp_struct_audit, &audit);
    *bytes = (unsigned char *)text.data;
    *count = text.length;
    if (!text.failed)
        return ULP_OK;
    ulp_text_free(&text);
    *bytes = NULL;
    return ulp_out_of_memory(error);
}

enum ulp_status ulp_part_decode(struct ulp_audit *out, const void *bytes, size_t count,
                                size_t lane_count, size_t node_count, struct ulp_arena *arena,
                                struct ulp_error *error)
{
    struct ulp_coder coder = {.at = bytes,
                              .end = (const unsigned char *)bytes + count,
                              .arena = arena,
                              .index_count = node_count};
    *out = (struct ulp_audit){0};
    ulp_code_struct(&coder, &ulp_struct_audit, out);
    ULP_TRY(ulp_taken(!coder.no_memory, error));
    return coder.wrong || coder.at != coder.end || !is_sound(out, lane_count, node_count)
               ? ulp_fail(error, ULP_ERROR_INPUT,
                          "does not hold the figures of a sample of this model in %zu arithmetics",
                          lane_count)
               : ULP_OK;
}
