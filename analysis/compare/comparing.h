/* A comparison in the making.
 *
 *   neighbours.c        the arithmetics near those asked about
 *   compare_match.c     which value of the graph each recorded array is
 *   compare_layout.c    recorded tensors in the graph's layout
 *   compare_collect.c   the run on the inputs: reference, arithmetics and their schedules side by
 *                       side
 *   trials.c            runs of problems close by
 *   matched.c           tensors behind a choice of rows, row by row
 *   compare_replay.c    the same with decisions as they were recorded, or as an arithmetic takes
 *                       them
 *   expected.c          from both: how large errors of an arithmetic are at a tensor, and the
 *                       judgement
 *   ranking.c           which arithmetic fits best, and whether that excludes those asked about
 *   cause/              why the first unexplained tensor is not
 */
#pragma once

#include <jansson.h>
#include <math.h>

#include <ulpscope/compare.h>

#include "base/memory/alloc.h"
#include "base/text/text.h"
#include "base/machine/thread.h"
#include "base/text/names.h"

#define ULP_TRIALS_DEFAULT 8
/* How many times larger errors may be in a library whose kernels differ from ours in more than the
 * order of sums: functions of 1 to 4 ulps where ours are rounded correctly, other formulas, fast
 * convolutions. Of 9,050 node outputs of 18 networks in four modes an H200's error was at most
 * 2.6 times the expected one, and above 1.71 only where three elements share it. */
#define ULP_LIBRARY_FACTOR 3
/* Of calling an explained recording unexplained, over all its tensors. */
#define ULP_FALSE_ALARM 1e-3

/* Of errors at one tensor. */
struct ulp_error_size {
    double rms, max_abs;
    double small; /* rms of those of a product's small elements (matched.c) */
    size_t nonfinite;
};

/* Distances of members' matched rows from the reference's, behind a choice; elsewhere trials' rms.
 */
struct ulp_row_distances {
    double actual;            /* on the inputs themselves, of the worst schedule */
    double squares;           /* of trials' distances, */
    double logs, log_squares; /* and of the logarithms of those that are not 0 */
    size_t count, log_count;
};

/* A node that decides otherwise in some member though nothing before it did. */
struct ulp_turning {
    const char *node, *op, *reads; /* reads: a float that the decision is made of */
};

/* What is known of an arithmetic's errors at one tensor. */
struct ulp_members {
    struct ulp_error_size actual; /* on the inputs themselves, of the worst schedule */
    size_t trials;
    double square_sum;     /* of the trials' rms */
    double max_abs;        /* of all trials */
    double small_squares;  /* the sum over trials of their squared `small` */
    size_t nonfinite;      /* the most of any trial */
    size_t pairs;          /* of consecutive trials, */
    double cosine_squares; /* and the sum over them of the squared cosine between their errors */
    double scores;         /* of what indices are taken of: the largest error */
    double moved_rms, moved_max; /* the most that a trial's reference was away from the reference */
    /* by element, where some member or the reference is not finite: the kinds of values that
     * members have there (enum ulp_value_kind); NULL: all are finite */
    unsigned char *kinds;
    unsigned stored_formats; /* ulp_stored_formats_of what some member gives */
    bool unstored;  /* some member gives what its own storage does not hold, such as scaled codes */
    size_t *equal;  /* by recording: elements with its bits, or those of one of its schedules */
    size_t varied;  /* the most elements in which another schedule differs from the arithmetic */
    bool open;      /* it follows a decision that some member turns */
    bool shapeless; /* some member gives another shape, or ended before */
    size_t reached; /* the last trial that came to it, from 1 */
    struct ulp_row_distances matched;
    double resized; /* the most rows that a member has more or less than its reference */
};
enum ulp_value_kind {
    ULP_VALUE_FINITE = 1,
    ULP_VALUE_INFINITE = 2,
    ULP_VALUE_MINUS_INFINITE = 4,
    ULP_VALUE_NAN = 8
};
static inline unsigned ulp_value_kind(double x)
{
    return isfinite(x) ? ULP_VALUE_FINITE
           : isnan(x)  ? ULP_VALUE_NAN
           : x > 0     ? ULP_VALUE_INFINITE
                       : ULP_VALUE_MINUS_INFINITE;
}

/* Beside comparison->tensors[i]. */
struct ulp_compared_work {
    const struct ulp_tensor **recorded; /* by recording, as it was read; NULL */
    struct ulp_tensor *turned;          /* by recording: in the graph's layout; no data: it is */
    struct ulp_error_size *stored;      /* by recording: of rounding the reference to its type */
    struct ulp_members *members;        /* by arithmetic */
    double *reference;                  /* its values */
    float *previous;                    /* errors of the trial before */
    size_t count;                       /* of elements */
    double
        *matched_stored; /* by recording: distance that rounding to its type makes, of a choice */
    /* by recording, of indices that a TopK, ArgMax or ArgMin takes: how far the reference's value
     * of one lies behind those that it takes itself, at most; NULL: of none */
    double *behind;
    double floor;  /* error of this size is its operator's in any library; find_floor in
                      compare_collect.c */
    bool chosen;   /* behind a choice of rows, which are matched before they are compared */
    bool integers; /* ... and these are single integers: one by one, in any order */
    /* of a product, below which elements are small: their errors are those of the sum, and not of
     * its last rounding; 0: none */
    double small;
    size_t order; /* in which the run came to it; SIZE_MAX: it did not */
};

struct ulp_comparing {
    const struct ulp_model *model;
    const struct ulp_tensor_set *inputs;
    const struct ulp_recording *recordings;
    size_t recording_count;
    const struct ulp_compare_options *options;
    size_t asked; /* of the options' arithmetics: the others are neighbours */
    size_t trials;
    bool again; /* it is only asked whether everything is explained */
    /* decisions by name that every lane of every run takes (compare_replay.c); NULL: each takes its
     * own */
    const struct ulp_tensor_set *held;
    struct ulp_program *program;
    struct ulp_pool *pool;
    struct ulp_comparison *out;
    struct ulp_arena *arena;        /* what is not the result's */
    struct ulp_compared_work *work; /* of out->tensors */
    struct ulp_names numbers;       /* of out->tensors by name */
    struct ulp_names decided;       /* decisions by name */
    struct ulp_names chosen;        /* values behind a choice, by name */
    struct ulp_tensor *decisions;   /* by number */
    size_t decision_count, decision_capacity;
    /* names of values that follow a decision that some member of an arithmetic turns, by arithmetic
     */
    struct ulp_names *open;
    struct ulp_turning turnings[4]; /* of those asked about, in the order in which they were met */
    size_t turning_count;
    size_t told; /* tensors that the run has come to */
    size_t part, part_count;
    double started, computed; /* as ulp_seconds_now and ulp_seconds_computed */
    double measured;          /* of the time, what the arithmetics asked about took */
    /* nodes of which readings were tried, of so many, until the time was over; 0: all were */
    size_t nodes_tried, node_count;
    size_t inner_count;           /* suspects in bodies and functions, of which none is read so */
    size_t ways_tried, way_count; /* in which inputs may have been prepared, the same */
};

static inline struct ulp_run_options ulp_comparing_runs(const struct ulp_comparing *comparing)
{
    return (struct ulp_run_options){.thread_count = comparing->options->thread_count,
                                    .follow = comparing->held != NULL,
                                    .decided = comparing->held};
}

/* To measure the first recording once more, within the same time, into another result. */
static inline struct ulp_comparing ulp_comparing_another(const struct ulp_comparing *comparing,
                                                         struct ulp_comparison *out)
{
    return (struct ulp_comparing){.model = comparing->model,
                                  .inputs = comparing->inputs,
                                  .recordings = comparing->recordings,
                                  .recording_count = 1,
                                  .options = comparing->options,
                                  .asked = comparing->asked,
                                  .trials = comparing->trials,
                                  .out = out,
                                  .started = comparing->started,
                                  .computed = comparing->computed};
}

/* In which an answer is wanted; 0: no limit. */
static inline double ulp_compare_limit(const struct ulp_comparing *comparing)
{
    const struct ulp_compare_options *options = comparing->options;
    return options->seconds > 0 ? options->seconds : options->patience;
}
/* The part of it that is over. */
double ulp_compare_spent(const struct ulp_comparing *comparing);
/* Is that part of the time over? */
bool ulp_compare_is_late(const struct ulp_comparing *comparing, double part);
/* Is there none left for all of a comparison once more? */
bool ulp_compare_is_last(const struct ulp_comparing *comparing);

static inline struct ulp_budget *ulp_comparing_budget(const struct ulp_comparing *comparing)
{
    return ulp_arena_budget(comparing->arena);
}
/* What was recorded, in the graph's layout. */
static inline const struct ulp_tensor *ulp_recorded(const struct ulp_compared_work *work,
                                                    size_t file)
{
    return work->turned[file].data ? &work->turned[file] : work->recorded[file];
}
/* Of an unexplained value: nothing of it differs, it has nothing to compare. */
static inline bool ulp_is_unjudged(const struct ulp_compared_tensor *tensor, size_t file)
{
    const struct ulp_compared_value *value = &tensor->values[file];
    return !value->truth.count && !value->nonfinite &&
           (!value->reshaped || tensor->expected[value->by].shapeless);
}
/* A copy of text in the result's memory; NULL: there is none left. */
char *ulp_comparing_text(const struct ulp_comparing *comparing, const char *text);
/* The number in `names` of NAME, or of NAME[k] of a later execution; -1: it is not there. */
ptrdiff_t ulp_execution_find(const struct ulp_names *names, const char *name, size_t execution);
/* The number of a tensor of the comparison. */
static inline ptrdiff_t ulp_compared_find(const struct ulp_comparing *comparing, const char *name,
                                          size_t execution)
{
    return ulp_execution_find(&comparing->numbers, name, execution);
}
/* text becomes the cause's and is freed; input may be NULL. */
enum ulp_status ulp_cause_set(const struct ulp_comparing *comparing, struct ulp_cause *cause,
                              enum ulp_cause_kind kind, struct ulp_text *text, const char *input,
                              struct ulp_error *error);
/* Told before each run. */
void ulp_comparing_begins(struct ulp_comparing *comparing);
/* measure.c: memory and names of a comparison; ulp_comparing_free in any case. */
enum ulp_status ulp_comparing_prepare(struct ulp_comparing *comparing, struct ulp_error *error);

/* compare_replay.c: where what was recorded lies behind decisions that other roundings turn: the
 * comparison with these as they were recorded, or as an arithmetic that was asked about takes them,
 * in place of *comparing where that says more. *held must be as long as it. */
enum ulp_status ulp_compare_replay(struct ulp_comparing *comparing, struct ulp_tensor_set *held,
                                   struct ulp_error *error);

/* measure.c: everything but causes; ulp_comparing_free in any case. */
enum ulp_status ulp_comparing_measure(struct ulp_comparing *comparing, struct ulp_error *error);
void ulp_comparing_free(struct ulp_comparing *comparing);
/* The same of `file` alone, with the arithmetics asked about, of another model or on other inputs;
 * causes are not looked for. *out stays empty where that ends in an error of what they hold, as of
 * an index outside of its axis: nobody can have recorded it. */
enum ulp_status ulp_compare_again(const struct ulp_comparing *comparing,
                                  const struct ulp_model *model,
                                  const struct ulp_tensor_set *inputs, size_t file,
                                  struct ulp_comparison *out, struct ulp_error *error);
/* ... is everything explained so? */
enum ulp_status ulp_compare_explains(const struct ulp_comparing *comparing,
                                     const struct ulp_model *model,
                                     const struct ulp_tensor_set *inputs, size_t file,
                                     bool *explains, struct ulp_error *error);

/* compare_match.c: out->tensors in no order yet, and what could not be matched. */
enum ulp_status ulp_compare_match(struct ulp_comparing *comparing, struct ulp_error *error);

/* compare_layout.c: the tensor in like's layout when it has the channels of each picture last and
 * like has them first, or the reverse; else *out has no data. */
enum ulp_status ulp_layout_turn(struct ulp_tensor *out, const struct ulp_tensor *recorded,
                                const struct ulp_tensor *like, struct ulp_budget *budget,
                                struct ulp_error *error);

/* compare_collect.c */
/* What a member has where it or the reference is not finite. */
enum ulp_status ulp_compare_note_kinds(struct ulp_comparing *comparing,
                                       const struct ulp_compared_work *work,
                                       struct ulp_members *members, const struct ulp_tensor *value,
                                       struct ulp_error *error);
/* Elements of what was recorded that have the bits of `value`, in the recording's type. */
size_t ulp_compare_count_equal(const struct ulp_tensor *recorded, const struct ulp_tensor *value);
enum ulp_status ulp_compare_collect(struct ulp_comparing *comparing, struct ulp_error *error);

/* decisions.c: look at a node in a run, in lane 0, which stands for the truth, and in the lanes of
 * an arithmetic from `first` to before `last`. Decisions of lane 0 are kept (keep), or compared
 * with those kept. */
enum ulp_status ulp_decisions_follow(struct ulp_comparing *comparing, size_t arithmetic,
                                     const struct ulp_event *event, size_t first, size_t last,
                                     bool keep, struct ulp_error *error);
/* Does output o hold decisions that the node makes of floats: integers that are no quantised
 * numbers? */
bool ulp_is_index(const struct ulp_event *event, size_t o);
bool ulp_is_open(const struct ulp_comparing *comparing, size_t arithmetic, const char *name);

bool ulp_is_chosen(const struct ulp_comparing *comparing, const char *name);
/* matched.c: how many numbers a row has: those along the last axis, where another one has several
 * places, too. */
size_t ulp_matched_width(const struct ulp_compared_tensor *tensor);
/* How many rows more or less than the reference's (truth NULL) a value has. */
double ulp_matched_resized(const struct ulp_comparing *comparing, size_t tensor,
                           const struct ulp_tensor *value, const struct ulp_tensor *truth);
/* The median distance of rows of a value from those of truth (NULL: of the reference)
 * that they match, of a tensor of the comparison. */
enum ulp_status ulp_matched_distance(const struct ulp_comparing *comparing, size_t tensor,
                                     const struct ulp_tensor *value, const struct ulp_tensor *truth,
                                     double *out, struct ulp_error *error);
/* `least`: what no trial need have shown. */
double ulp_matched_expected(const struct ulp_row_distances *matched, double least);
/* rms of value - truth (NULL: the reference) over small elements. */
double ulp_small_rms(const struct ulp_compared_work *work, const struct ulp_tensor *value,
                     const struct ulp_tensor *truth);
void ulp_matched_add(struct ulp_row_distances *all, double distance); /* of a trial */
/* How many times the distances of trials a further one exceeds with that probability; `draws` 2:
 * how many times another further one. */
double ulp_matched_chance(const struct ulp_row_distances *matched, int draws, double probability);

/* trials.c: the arithmetic of that index on problems close by, from a trial to before another. */
enum ulp_status ulp_compare_try(struct ulp_comparing *comparing, size_t arithmetic, size_t from,
                                size_t to, struct ulp_error *error);

/* neighbours.c: *changed becomes the options with the neighbours behind the arithmetics asked
 * about, whose memory is *memory's; free it in any case. Nodes kept otherwise have no neighbours.
 */
enum ulp_status ulp_compare_add_neighbours(const struct ulp_comparing *comparing,
                                           struct ulp_compare_options *changed,
                                           struct ulp_arena **memory, struct ulp_error *error);

static inline bool ulp_has_all_bits(const struct ulp_ranked *ranked)
{
    return ranked->elements && ranked->equal == ranked->elements;
}
/* ranking.c: files[].ranked and better, once tensors are judged by those asked about. */
/* What ranked[].blind says, of the verdict. */
void ulp_compare_weigh_power(struct ulp_comparing *comparing, size_t file);
enum ulp_status ulp_compare_rank(struct ulp_comparing *comparing, size_t file,
                                 struct ulp_error *error);

/* expected.c. The formats of fewer bits in which values are stored between nodes, of which all
 * these are numbers: bits of a set. */
unsigned ulp_stored_formats_of(const struct ulp_tensor *values);
/* Are all finite values numbers of the format, as they are when they were stored in it? */
bool ulp_is_stored_in(const struct ulp_tensor *values, const struct ulp_format *format);

/* What errors of an arithmetic at a tensor are like: whatever estimates them, a better
 * bound included, stands here and nowhere else. */
struct ulp_expected_error ulp_expected_error(const struct ulp_compared_work *work,
                                             size_t arithmetic);
void ulp_compare_judge(struct ulp_comparing *comparing);
/* The value beside one arithmetic's expected error; `probability` of a false alarm. Of a value that
 * was not recorded its sizes alone, and what a recording's type rounds off. */
struct ulp_compared_value ulp_compare_judge_value(const struct ulp_comparing *comparing,
                                                  size_t tensor, size_t file, size_t arithmetic,
                                                  double probability,
                                                  const struct ulp_compared_value *value);
/* How far beyond its limits an error is: at most 1 is within. */
double ulp_compared_excess(const struct ulp_compared_value *value);
struct ulp_compared_value ulp_compare_judge_by(const struct ulp_comparing *comparing, size_t tensor,
                                               size_t file, size_t arithmetic, double probability);
/* The expected error with the rounding to the recording's type, and the tensor's floor. */
double ulp_expected_rms(const struct ulp_comparing *comparing, size_t tensor, size_t file,
                        size_t arithmetic);
/* Does an output of the graph have no finite element to compare? Its value may have been anything.
 */
bool ulp_is_nothing(const struct ulp_comparing *comparing, const struct ulp_compared_tensor *tensor,
                    const struct ulp_compared_value *value);

/* tail.c: the ratio that the root mean square of an error with `freedom` directions exceeds with
 * that probability, when compared with the root mean square of `trials` others of its kind. */
double ulp_ratio_limit(double freedom, double trials, double probability);

/* cause/suspects.c: what a tensor comes from, back to tensors that the recording has and that are
 * explained. */
struct ulp_step;
struct ulp_suspects {
    size_t count;
    const struct ulp_step **steps; /* in graph order, the tensor's own last */
    size_t input_count;
    const char **inputs; /* of the graph, that it comes from and that are not recorded */
};
enum ulp_status ulp_suspects_find(const struct ulp_comparing *comparing, size_t file, size_t tensor,
                                  struct ulp_suspects *out, struct ulp_error *error);

/* cause/guess.c: how an input that was not recorded may have been prepared, judged by the tensor
 * that was: every usual way is run and the best is described; text stays empty when none comes
 * close. *sure: with it everything recorded is explained. */
enum ulp_status ulp_guess_input(struct ulp_comparing *comparing, size_t file, size_t tensor,
                                const char *input, struct ulp_text *text, bool *sure,
                                struct ulp_error *error);

/* ... of any input: in reverse along an axis, with axes or two inputs exchanged, or of other
 * numbers (all 0, all 1, samples of 16 bits). text stays empty
 * where that does not explain everything. */
enum ulp_status ulp_guess_order(struct ulp_comparing *comparing, size_t file, size_t tensor,
                                const struct ulp_suspects *suspects, struct ulp_text *text,
                                const char **input, struct ulp_error *error);

/* A run with inputs that are not those given. *refused: it ended in an error of what they hold. */
struct ulp_program;
enum ulp_status ulp_compare_run_changed(struct ulp_comparing *comparing,
                                        struct ulp_program *program,
                                        const struct ulp_tensor_set *inputs,
                                        const struct ulp_observer *observer, bool *refused,
                                        struct ulp_error *error);
/* Is it rows that differ? Where all of them match, their order does. */
static inline bool ulp_compared_by_rows(const struct ulp_comparing *comparing, size_t file,
                                        size_t tensor)
{
    return comparing->work[tensor].chosen &&
           comparing->out->tensors[tensor].values[file].matched != 0;
}
/* cause/guess.c: how far a value of the tensor is from what was recorded: rms, or the distance of
 * rows that match; infinite: it has no number, or another shape. */
enum ulp_status ulp_compare_distance(const struct ulp_comparing *comparing, size_t file,
                                     size_t tensor, const struct ulp_tensor *value, double *out,
                                     struct ulp_error *error);
/* ... and how far the reference is. */
double ulp_compared_error(const struct ulp_comparing *comparing, size_t file, size_t tensor);
/* cause/guess.c: may the best of so many that were tried leave this part of the tensor's error by
 * chance? */
bool ulp_is_chance(const struct ulp_comparing *comparing, size_t tensor, size_t tried,
                   size_t fitted, double left);

/* cause/cause_reading.c: whether a node among the suspects, or integers of an input, read as
 * runtimes are known to read them, explain the tensor; else cause->text stays NULL. */
enum ulp_status ulp_explain_reading(struct ulp_comparing *comparing, size_t file, size_t tensor,
                                    const struct ulp_suspects *suspects, struct ulp_cause *cause,
                                    struct ulp_error *error);

/* comparison_text.c: what is said first of a recording: what it is, why, and what to do; its output
 * that is worst by what it is for, NULL: none; and what is said beside both. */
struct ulp_headline;
json_t *ulp_comparison_notes(const struct ulp_comparison *comparison);
void ulp_comparison_headline(const struct ulp_comparison *comparison, size_t file,
                             struct ulp_headline *head);
const struct ulp_compared_tensor *ulp_comparison_worst(const struct ulp_comparison *comparison,
                                                       size_t file);
/* comparison_json.c */
extern const struct ulp_said ulp_comparison_said;

/* cause/power.c: fills in power and ranked[].blind of every file. */
enum ulp_status ulp_compare_power(struct ulp_comparing *comparing, struct ulp_error *error);
/* passed_over.c: of the event's output o, indices: how far what a recording takes is behind what
 * the reference takes, and the errors of what they are taken of; first[a]: where a's lanes begin.
 */
enum ulp_status ulp_compare_pass_over(struct ulp_comparing *comparing, size_t number,
                                      const struct ulp_event *event, size_t o, const size_t *first,
                                      struct ulp_error *error);
/* Two values err in turning, and other trials err more: of so many errors none is turned. */
#define ULP_PASSED_MOST 8.0
/* Not explained where it takes what lies behind by more. */
void ulp_compare_judge_passed(const struct ulp_compared_work *work, size_t file, size_t arithmetic,
                              struct ulp_compared_value *judged);
/* cause/outside.c: an index that is none is what is said of a file, whatever of it is explained. */
enum ulp_status ulp_explain_outside(const struct ulp_comparing *comparing, size_t file,
                                    struct ulp_compared_file *out, struct ulp_error *error);
/* cause/cause.c: fills in out->files[file].cause. */
enum ulp_status ulp_compare_cause(struct ulp_comparing *comparing, size_t file,
                                  struct ulp_error *error);
/* cause/input.c: tensor is an input, and recorded. */
enum ulp_status ulp_explain_input(const struct ulp_comparing *comparing, size_t file, size_t tensor,
                                  struct ulp_cause *cause, struct ulp_error *error);
/* ... no input is unexplained, but some were recorded in another layout than the graph's: were
 * their elements taken in the order in which they were recorded? cause->text stays NULL when
 * not. */
enum ulp_status ulp_explain_order(const struct ulp_comparing *comparing, size_t file,
                                  struct ulp_cause *cause, struct ulp_error *error);
/* cause/cause_format.c: the neighbour that fits best, where its errors are like those recorded;
 * `surely`: only where it has all bits, or excludes those asked about. cause->text stays NULL when
 * there is none. */
enum ulp_status ulp_explain_format(const struct ulp_comparing *comparing, size_t file,
                                   size_t tensor, bool surely, struct ulp_cause *cause,
                                   struct ulp_error *error);
