/* Proofs that nothing overflows: for every input of a box, not for samples.
 *
 * A proof bounds all values of a model by intervals and norms that hold for every input whose
 * elements lie in given ranges (indexes into tables: any valid index), in one arithmetic and with
 * all its roundings (doc/prove.md has the theorem). Where a bound is below the format's largest
 * number, no input of the box makes that value overflow, or NaN. Where it is not, nothing is said
 * about whether it does: `ulpscope overflow` and the audit look at samples.
 *
 * Shapes are those of the program. A node in the body of an If, Loop or Scan is one entry, for all
 * its executions. */
#ifndef ULPSCOPE_PROVE_H
#define ULPSCOPE_PROVE_H

#include <ulpscope/run.h>
#include <ulpscope/written.h>

enum ulp_proof_verdict {
    ULP_PROOF_PROVEN, /* no input of the box makes it overflow */
    /* none that does not make one of the nodes overflow that are not proven, before it */
    ULP_PROOF_CONDITIONAL,
    ULP_PROOF_NOT_PROVEN,
};
/* "proven", "conditional", "not proven". */
ULP_API const char *ulp_proof_verdict_name(enum ulp_proof_verdict verdict);

/* A float output of a node. */
struct ulp_proof_output {
    char *name;
    enum ulp_proof_verdict verdict;
    /* No magnitude is larger, of any finite element; of a value that is not proven what it would be
     * without the format's limit, INFINITY when that is not known */
    double bound;
    /* its finite elements lie between, of a value that is not proven those that are; low > high:
     * there are none */
    double low, high;
    size_t elements; /* 0: its shape is not known */
    size_t unproven; /* elements that are not proven */
    size_t infinite; /* elements that may be an infinity that the model itself writes, as a mask */
};
/* Something inside a node: an instruction of its formula, or the partial sums of its product. */
struct ulp_proof_hidden {
    char *what;
    double bound, limit; /* limit: the largest number of the format in which it is computed */
    bool proven;
};
struct ulp_proof_node {
    size_t index; /* as in ulp_program_node_name */
    char *name, *op;
    size_t output_count, hidden_count;
    struct ulp_proof_output *outputs;
    struct ulp_proof_hidden *hidden; /* those that are not proven, then the largest */
    double inputs;                   /* the largest bound of its inputs */
    bool normalised;  /* its bound does not depend on its input's: a written out normalisation */
    char *reason;     /* why it is not proven, when that is known; NULL: by its bound */
    ptrdiff_t grew;   /* of a node that is not proven: the node at which the bound grew; else -1 */
    double grew_from; /* the bound of that node's inputs */
};
/* A range of one of the model's inputs. */
struct ulp_proof_input {
    char *name;
    double low, high;
    /* for indexes the table ("Gather emb picks one of 30522"), of samples their own range; else
     * empty */
    char *why;
    bool given;   /* by the caller */
    bool sampled; /* from the samples */
    /* some of its values are too large for the format, or for the type that the model declares:
     * what follows from them is conditional */
    bool beyond;
};
struct ulp_proof {
    char *model_path, *arguments, *arithmetic;
    struct ulp_format format; /* of storage */
    size_t input_count;
    struct ulp_proof_input *inputs;
    size_t node_count;
    struct ulp_proof_node *nodes; /* those with a float output that depends on the inputs */
    size_t output_count;          /* their float outputs */
    size_t counts[3];             /* of outputs [by ulp_proof_verdict] */
    size_t hidden_unproven;
    char *empty; /* the first output of the model without an element: nothing is proven of it; NULL:
                    none */
    size_t place_count;
    struct ulp_place *places; /* of each node of the program, by index; without histograms */
    bool short_of_memory;     /* for affine forms: the bounds are wider than with more of it */
    double seconds;
    struct ulp_arena *memory; /* private: holds the rest */
};

/* The box: ranges of inputs of the model, the later of two for one input counts; those not named
 * are the samples' own, each end moved away from 0, or (the one nearer to 0) towards it, by the
 * factor `widen`, never across 0; integers that are no indexes as they are. Without samples, and of
 * indexes: as in ulp_model_input_range. */
struct ulp_prove_box {
    const struct ulp_input_range *ranges;
    size_t range_count;
    const struct ulp_tensor_set *samples; /* NULL: none */
    size_t sample_count;
    double widen; /* >= 1; 0: ULP_PROVE_WIDEN */
};
#define ULP_PROVE_WIDEN 2.0

/* Prove, in the arithmetic of the program's only lane. box NULL: without ranges and samples.
 * thread_count 0: all processors. Free *out with ulp_proof_free. ULP_ERROR_USAGE: a range is empty,
 * or of no input, or widen is below 1. ULP_ERROR_INPUT: no range is given for an input of which the
 * samples hold NaN, an infinity, or no element. */
ULP_API enum ulp_status ulp_proof_run(const struct ulp_model *model,
                                      const struct ulp_program *program,
                                      const struct ulp_prove_box *box, int thread_count,
                                      struct ulp_proof *out, struct ulp_error *error);
ULP_API void ulp_proof_free(struct ulp_proof *proof);

/* Write proof.json (doc/fields.md). */
ULP_API enum ulp_status ulp_proof_write(const struct ulp_proof *proof, enum ulp_output_kind as,
                                        const char *path, struct ulp_error *error);
/* The proof as text, the verdict first. Free *out with free(). width and colour as in
 * ulp_report_text. */
ULP_API enum ulp_status ulp_proof_text(const struct ulp_proof *proof, int width, bool colour,
                                       char **out, struct ulp_error *error);

#endif
