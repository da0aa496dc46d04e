/* report.json: an audit by the tables of its members, and what is made of them for readers. The
 * document is written as it is made: no more than one value of it is in memory. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include <ulpscope.h>

#include "analysis/audit/audit_json.h"
#include "analysis/audit/audit_overflow.h"
#include "analysis/audit/auditor.h"
#include "analysis/measure/metrics.h"
#include "analysis/report/report_json.h"
#include "analysis/report/report.h"
#include "analysis/writing/structs.h"
#include "analysis/writing/document.h"
#include "analysis/writing/first_screen.h"
#include "number/function/math.h"
#include "data/json_file.h"

/* What the terminal says first of the arithmetic, and what to try next. */
static json_t *make_verdict(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                            const struct ulp_text *hint)
{
    struct ulp_headline headline = {0};
    struct ulp_text text = {0};
    ulp_report_conclude(audit, lane, &headline);
    ulp_headline_join(&text, &headline);
    if (hint->length)
        ulp_text_add(&text, " Try %s", hint->data);
    text.failed |= hint->failed;
    json_t *verdict = text.failed ? NULL : ulp_json_text(text.data ? text.data : "");
    ulp_text_free(&text);
    return verdict;
}

/* The name, what it means in lines, and the storage. */
static void put_arithmetic(struct ulp_json_writer *writer, const char *key, const void *object,
                           const void *context)
{
    const struct ulp_arithmetic *arithmetic = object;
    const struct ulp_format *storage = &arithmetic->storage;
    json_t *meaning = json_array(), *format = json_object();
    char text[4096];
    (void)context;
    ulp_arithmetic_describe(arithmetic, text, sizeof text);
    for (char *line = text, *end; *line; line = end) {
        for (end = line; *end && *end != '\n'; end++)
            ;
        ulp_json_append(&meaning, json_stringn(line, (size_t)(end - line)));
        end += *end == '\n';
    }
    ulp_json_set(&format, "name", ulp_json_text(storage->name));
    ulp_json_set(&format, "precision", json_integer(storage->precision));
    ulp_json_set(&format, "emin", json_integer(storage->emin));
    ulp_json_set(&format, "emax", json_integer(storage->emax));
    ulp_json_set(&format, "max_finite", ulp_json_number(storage->max_finite));
    ulp_json_open(writer, key, '{');
    ulp_json_put(writer, "name", ulp_json_text(arithmetic->name));
    ulp_json_put(writer, "meaning", meaning);
    ulp_json_put(writer, "storage", format);
    ulp_json_close(writer, '}');
}

static void add_fate(struct ulp_json_writer *writer, const void *object, const void *context)
{
    const struct ulp_audit_overflow *overflow = object;
    (void)context;
    ulp_json_put(writer, "fate",
                 json_string(overflow->reaches_output     ? "reaches output"
                             : overflow->spoils >= 0      ? "spoils"
                             : overflow->absorbed_by >= 0 ? "absorbed"
                                                          : "unused"));
}

/* The nodes that have a share in the output's error. */
static void add_node_shares(struct ulp_json_writer *writer, const void *object, const void *context)
{
    const struct ulp_output_shares *shares = object;
    (void)context;
    ulp_json_open(writer, "nodes", '[');
    for (size_t n = 0; n < shares->node_count; n++) {
        if (shares->nodes[n].share == 0 && shares->nodes[n].decision == 0)
            continue;
        ulp_json_put(writer, NULL,
                     ulp_json_object("index", json_integer((json_int_t)n), "share",
                                     ulp_json_number(shares->nodes[n].share), "decision",
                                     ulp_json_number(shares->nodes[n].decision), NULL));
    }
    ulp_json_close(writer, ']');
}

static const struct ulp_audit_lane *find_lane(const struct ulp_audit *audit,
                                              const struct ulp_audit_node *node)
{
    size_t l = 0;
    while (audit->lanes[l].nodes + node->index != node)
        l++;
    return &audit->lanes[l];
}

static void add_node(struct ulp_json_writer *writer, const void *object, const void *context)
{
    const struct ulp_audit_node *node = object;
    const struct ulp_audit_lane *lane = find_lane(context, node);
    if (node->kept >= 0)
        ulp_json_put(writer, "arithmetic", ulp_json_text(lane->kept[node->kept].name));
    if (ulp_audit_is_absorbed(lane, node))
        ulp_json_put(writer, "absorbed", json_true());
    if (node->share != 0 && !isnan(node->share)) {
        int largest = 0;
        for (int c = 1; c < ULP_SHARE_CAUSES; c++)
            if (fabs(node->causes[c]) > fabs(node->causes[largest]))
                largest = c;
        ulp_json_put(writer, "mostly",
                     json_string(ulp_share_cause_name((enum ulp_share_cause)largest, NULL, NULL)));
    }
}

static void add_lane(struct ulp_json_writer *writer, const void *object, const void *context);

static const char *name_node(const void *context, size_t index)
{
    return ((const struct ulp_audit *)context)->lanes[0].nodes[index].name;
}

static struct ulp_json_how make_how(const struct ulp_audit *audit)
{
    static const struct ulp_json_hook hooks[] = {
        {&ulp_struct_metrics, ulp_json_add_exact, NULL},
        {&ulp_struct_arithmetic, NULL, put_arithmetic},
        {&ulp_struct_audit_overflow, add_fate, NULL},
        {&ulp_struct_output_shares, add_node_shares, NULL},
        {&ulp_struct_audit_node, add_node, NULL},
        {&ulp_struct_audit_lane, add_lane, NULL},
    };
    return (struct ulp_json_how){hooks, sizeof hooks / sizeof *hooks, audit, name_node};
}

/* The node whose result is nearest to the storage's largest number, or beyond it. */
static void add_least(json_t **tiles, const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_node *least = NULL;
    double bits = INFINITY;
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            if (lane->nodes[n].outputs[o].range.headroom_bits < bits) {
                least = &lane->nodes[n];
                bits = least->outputs[o].range.headroom_bits;
            }
    if (least)
        ulp_tile_headroom(tiles, bits, (ptrdiff_t)least->index, least->name);
}

static const struct ulp_audit_output *find_output(const struct ulp_audit_lane *lane,
                                                  const char *name)
{
    for (size_t o = 0; o < lane->outputs.output_count; o++)
        if (strcmp(lane->outputs.outputs[o].name, name) == 0)
            return &lane->outputs.outputs[o];
    return NULL;
}

static json_t *make_tiles(const struct ulp_audit *audit, const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_output *worst = ulp_audit_judged_worst(lane),
                                  *said = ulp_audit_worst(&lane->outputs); /* in the headline */
    const struct ulp_audit_remedy *remedy = &lane->remedy;
    const enum ulp_grade grade = ulp_audit_lane_grade(audit, lane);
    const enum ulp_tile_level level = ulp_tile_graded(grade);
    const bool mended = remedy->tried && remedy->node_count;
    const double db = said ? ulp_decibels(&said->entire, said->judged.sqnr_db) : (double)NAN;
    json_t *tiles = json_array();
    if (worst)
        ulp_tile_grade(&tiles, grade, ulp_grade_name(grade), worst->judged.text);
    if (mended) {
        const struct ulp_audit_output *same = find_output(lane, remedy->output);
        ulp_tile_decibels(&tiles, level,
                          same ? ulp_decibels(&same->entire, same->judged.sqnr_db) : (double)NAN,
                          remedy->sqnr_db);
        ulp_tile_note(&tiles, -1, "of %s, with %zu node%s in FP32", remedy->output,
                      remedy->node_count, remedy->node_count == 1 ? "" : "s");
    } else if (db < (double)INFINITY) {
        ulp_tile_decibels(&tiles, level, (double)NAN, db);
        ulp_tile_note(&tiles, -1, "of %s", said->name);
    }
    if (worst && worst->judged.task == ULP_TASK_CLASSIFY && worst->judged.rows > 0 &&
        !worst->entire.nonfinite) {
        ulp_tile_add(&tiles, worst->judged.top1_flips > 0 ? level : ULP_TILE_GOOD,
                     "First choices changed", "%.0f of %.0f", worst->judged.top1_flips,
                     worst->judged.rows);
        ulp_tile_note(&tiles, -1, "in %s", worst->name);
    }
    if (mended) {
        ulp_tile_kept(&tiles, remedy->node_count, lane->node_count, 0, 0);
        ulp_tile_note(&tiles, -1, "that is the remedy");
    }
    add_least(&tiles, lane);
    return tiles;
}

static void add_lane(struct ulp_json_writer *writer, const void *object, const void *context)
{
    const struct ulp_audit_lane *lane = object;
    const struct ulp_json_how how = make_how(context);
    struct ulp_headline headline = {0};
    struct ulp_text hint = {0};
    ulp_report_headline(context, lane, &headline);
    ulp_report_todo(context, lane, &hint);
    ulp_json_put(writer, "verdict", make_verdict(context, lane, &hint));
    if (hint.length && headline.todo.data && strcmp(headline.todo.data, hint.data) != 0)
        ulp_json_put(writer, "try", ulp_json_lines(&hint));
    ulp_text_free(&hint);
    ulp_tiles_put(writer, &headline, make_tiles(context, lane));
    ulp_json_member(writer, &ulp_struct_audit_node, "outputs", &lane->outputs, &how);
    if (!lane->attribution.given && lane->attribution.reason)
        ulp_json_put(writer, "no_attribution", ulp_json_text(lane->attribution.reason));
    ulp_json_put(writer, "notes", ulp_report_lane_notes(context, lane));
}

/* NULL: memory was refused. */
static json_t *make_assumed(const struct ulp_audit *audit)
{
    struct ulp_assumed assumed;
    json_t *list = json_array();
    for (size_t h = 0; ulp_report_assumed(audit, h, &assumed); h++) {
        const struct ulp_audit_lane *wrong = &audit->lanes[assumed.wrong];
        json_t *item = ulp_json_object("rule", json_string(assumed.rule.rule), "known",
                                       json_string(ulp_known_name(assumed.rule.known)), "by",
                                       json_string(assumed.rule.by), "fine",
                                       ulp_json_text(audit->lanes[assumed.fine].name), "wrong",
                                       ulp_json_text(wrong->name), "terms",
                                       json_integer((json_int_t)assumed.terms), NULL);
        if (assumed.node >= 0)
            ulp_json_set(&item, "node", ulp_json_text(wrong->nodes[assumed.node].name));
        ulp_json_append(&list, item);
    }
    return list;
}

static void put_nothing(struct ulp_json_writer *writer, const char *key, const void *object,
                        const void *context)
{
    (void)writer, (void)key, (void)object, (void)context;
}

/* ---- what terminal, page and Markdown show ---- */

/* What nodes are shown for, the larger the sooner; 0: they are not. */
static double find_share(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    (void)lane;
    return isnan(node->share) ? 0 : ulp_math_max(fabs(node->share), fabs(node->decision));
}

static double find_decided(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    (void)lane;
    return node->choices.differing || fabs(node->shows) >= ULP_DECISION_SHOWN
               ? fabs(node->shows) + 1e-9
               : 0;
}

static double find_relative(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node,
                            bool introduced)
{
    double most = 0;
    for (size_t o = 0; o < node->output_count && !ulp_audit_is_absorbed(lane, node); o++) {
        const struct ulp_audit_output *output = &node->outputs[o];
        if (ulp_type_is_float(output->type))
            most = ulp_math_max(most, ulp_relative_rms(introduced ? &output->introduced
                                                                  : &output->carried,
                                                       &output->range));
    }
    return most;
}

static double find_introduced(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    return find_relative(lane, node, true);
}

static double find_carried(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    return node->types.moves ? 0 : find_relative(lane, node, false);
}

static double find_tight(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    double least = 1;
    for (size_t o = 0; o < node->output_count && !ulp_audit_is_absorbed(lane, node); o++)
        if (ulp_type_is_float(node->outputs[o].type))
            least = ulp_math_min(least, node->outputs[o].range.headroom_bits);
    return 1 - least;
}

typedef double find_key(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node);
static find_key *const keys[] = {find_share, find_decided, find_introduced, find_carried,
                                 find_tight};

/* Marks the nodes of the largest keys. */
static void choose_nodes(const struct ulp_audit_lane *lane, find_key *find, bool *chosen)
{
    double largest[ULP_DOCUMENT_ROWS] = {0};
    for (size_t n = 0; n < lane->node_count; n++) {
        double key = find(lane, &lane->nodes[n]);
        for (int k = 0; k < ULP_DOCUMENT_ROWS; k++)
            if (key > largest[k]) {
                const double next = largest[k];
                largest[k] = key;
                key = next;
            }
    }
    const double least = largest[ULP_DOCUMENT_ROWS - 1];
    for (size_t n = 0; n < lane->node_count; n++) {
        const double key = find(lane, &lane->nodes[n]);
        chosen[n] |= key > 0 && key >= least;
    }
}

static void add_shown_lane(struct ulp_json_writer *writer, const void *object, const void *context)
{
    const struct ulp_audit_lane *lane = object;
    const struct ulp_json_how how = make_how(context);
    ULP_SCOPED(ulp_scoped_free) bool *chosen = calloc(lane->node_count + 1, sizeof *chosen);
    json_t *nodes = json_array();
    for (size_t k = 0; chosen && k < sizeof keys / sizeof *keys; k++)
        choose_nodes(lane, keys[k], chosen);
    for (size_t n = 0; chosen && n < lane->node_count; n++)
        if (chosen[n])
            ulp_json_append(&nodes, ulp_json_value(&ulp_struct_audit_node, &lane->nodes[n], &how));
    writer->failed |= !chosen;
    ulp_json_put(writer, "nodes", nodes);
}

json_t *ulp_report_head(const struct ulp_audit *audit)
{
    struct ulp_json_hook hooks[16] = {{&ulp_struct_audit_node, NULL, put_nothing},
                                      {&ulp_struct_place, NULL, put_nothing},
                                      {&ulp_struct_audit_lane, add_shown_lane, NULL}};
    struct ulp_json_how how = make_how(audit);
    memcpy(&hooks[3], how.hooks, how.hook_count * sizeof *hooks);
    how.hooks = hooks;
    how.hook_count += 3;
    json_t *head = ulp_json_value(&ulp_struct_audit, audit, &how), *assumed = make_assumed(audit);
    ulp_json_set(&head, "notes", ulp_report_notes(audit));
    if (!assumed || json_array_size(assumed))
        ulp_json_set(&head, "assumed_sums", json_incref(assumed));
    json_decref(assumed);
    return head;
}

/* ---- report.json ---- */

static enum ulp_status put_report(const struct ulp_audit *audit, unsigned digits,
                                  struct ulp_text *out, struct ulp_error *error)
{
    const struct ulp_json_how how = make_how(audit);
    struct ulp_json_writer writer = {.out = out, .digits = digits};
    ulp_json_open(&writer, NULL, '{');
    ulp_json_put(&writer, "schema", json_integer(ULP_JSON_SCHEMA));
    ulp_json_put(&writer, "ulpscope", json_string(ulp_version()));
    ulp_json_members(&writer, &ulp_struct_audit, audit, &how);
    json_t *assumed = make_assumed(audit);
    if (!assumed || json_array_size(assumed))
        ulp_json_put(&writer, "assumed_sums", json_incref(assumed));
    json_decref(assumed);
    ulp_json_put(&writer, "notes", ulp_report_notes(audit));
    ulp_json_close(&writer, '}');
    ulp_text_add(out, "\n");
    return writer.failed && !out->failed ? ulp_out_of_memory(error) : ULP_OK;
}

enum ulp_status ulp_report_json(const struct ulp_audit *audit, struct ulp_text *out,
                                struct ulp_error *error)
{
    return put_report(audit, 0, out, error);
}

enum ulp_status ulp_report_json_shown(const void *audit, struct ulp_text *out,
                                      struct ulp_error *error)
{
    return put_report(audit, ULP_HTML_DIGITS, out, error);
}
