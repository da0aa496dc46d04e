/* Random graphs as files:
 *   random_graph [-n SAMPLES] -o FOLDER SEED...
 * SEED is a number, or a range FIRST-LAST. Each graph has FOLDER/SEED with model.onnx, inputs.npz,
 * further samples inputs-1.npz ..., arith.txt (the name of an arithmetic) and ranges.txt, the
 * inputs' ranges as options, one on a line, for
 *   ulpscope prove model.onnx -i inputs.npz -a "$(cat arith.txt)" $(cat ranges.txt) */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "builder.h"
#include "tests/support/test.h"

static char **arguments;
static int argument_count, sample_count = 1;
static const char *folder;

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_expect(file && fputs(text, file) >= 0 && fclose(file) == 0, "cannot write %s", path);
}

static void make_folder(const char *path)
{
    ck_expect(mkdir(path, 0777) == 0 || errno == EEXIST, "cannot make %s", path);
}

static void write_graph(uint64_t seed)
{
    struct random_graph graph;
    char place[3000], path[4000];
    random_graph_make(seed, &graph);
    snprintf(place, sizeof place, "%s/%llu", folder, (unsigned long long)seed);
    make_folder(place);
    snprintf(path, sizeof path, "%s/model.onnx", place);
    proto_write(&graph.model, path);
    for (int n = 0; n < sample_count; n++) {
        scoped_tensor_set inputs = {0};
        random_graph_sample(&graph, (uint64_t)n, &inputs);
        if (n)
            snprintf(path, sizeof path, "%s/inputs-%d.npz", place, n);
        else
            snprintf(path, sizeof path, "%s/inputs.npz", place);
        ck_ok(ulp_tensor_set_write_npz(path, &inputs, &why));
    }
    char *options = random_graph_options(&graph);
    snprintf(path, sizeof path, "%s/ranges.txt", place);
    write_text(path, options);
    free(options);
    snprintf(path, sizeof path, "%s/arith.txt", place);
    write_text(path, graph.arithmetic);
    random_graph_free(&graph);
}

TEST(graphs_are_written)
{
    make_folder(folder);
    for (int i = 0; i < argument_count; i++) {
        char *end;
        const uint64_t first = strtoull(arguments[i], &end, 10),
                       last = *end == '-' ? strtoull(end + 1, NULL, 10) : first;
        for (uint64_t seed = first; seed <= last; seed++)
            write_graph(seed);
    }
}

int main(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "n:o:")) != -1;)
        if (option == 'n')
            sample_count = atoi(optarg);
        else if (option == 'o')
            folder = optarg;
        else
            folder = NULL, argc = 0;
    if (!folder || optind >= argc) {
        fprintf(stderr, "usage: %s [-n SAMPLES] -o FOLDER SEED...\n", argv[0]);
        return 2;
    }
    arguments = argv + optind;
    argument_count = argc - optind;
    return test_main("random_graph", 24 * 3600, NULL);
}
