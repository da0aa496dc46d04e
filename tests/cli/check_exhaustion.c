/* Memory that ends at any of the program's requests: it then ends in exit code 5 with one line, or
 * it can do without; nothing is half-written, and what is written is what it always is. Every n-th
 * request, in a process of its own; under AddressSanitizer nothing of it leaks. */
#include "tests/support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <gmp.h>
#include <jansson.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "data/data.h"
#include "tests/cli/exhaust_files.h"
#include "tests/support/exhaust.h"

#undef main
int ulpscope_main(int argc, char **argv); /* the program's */

#define ARGUMENTS_MAX 26
#define FILES_MAX 16

/* {} is the test's folder. What others read, made once, with all the memory there is. */
static const char *const before[] = {
    "audit {}/model.onnx -i {}/inputs.npz -a fp16 --out {}/report",
    "audit {}/model.onnx -i {}/inputs.npz -a bf16 --out {}/other",
    "overflow {}/model.onnx -i {}/inputs.npz --out {}/report",
    "audit {}/model.onnx -i {}/samples.txt -a fp16 --shard 1/1 --checkpoint {}/shard",
};

static const char *const commands[] = {
    "audit {}/model.onnx -i {}/inputs.npz --out {}/out --html {}/out/out.html -t 1",
    "audit {}/model.onnx -a fp16,tf32@a100,fp32,nofma --certify --max-memory 1G --keep op:Erf=fp32 "
    "-t 2 -q",
    "audit {}/model.onnx -a fp16 --reference pair -t 1",
    "audit {}/model.onnx -a tf32 --schedules --reference-model {}/model.onnx -i {}/inputs.json "
    "--out {}/out -t 1",
    "run {}/model.onnx -i {}/test_data_set_0 --arith mpfr:200 --outputs {}/out/out.npz "
    "--all-values -t 1",
    "run {}/model.onnx -i {}/taken.npz --arith fp16 --outputs {}/out/out.json -t 3",
    "compare {}/model.onnx -i {}/inputs.npz {}/recorded.npz --trials 2 --arith fp32 "
    "--recorded-inputs {}/inputs.json --out {}/out --html {}/out/out.html -t 1",
    "audit {}/model.onnx -i {}/inputs.npz -a tf32 --attribute --verify 1 --group-by op --out "
    "{}/out -t 1",
    "overflow {}/model.onnx -i {}/inputs.npz -f fp16,fp8-e4m3 --out {}/out --html {}/out/out.html "
    "-t 1",
    "audit {}/model.onnx --shape x=4x8 --val-range x=-1,1 -a fp16 --fail-above fp16:diverged=0 "
    "--junit {}/out/limits.xml -t 1",
    "plan {}/model.onnx -i {}/inputs.npz --apply {}/plan.json --out {}/out -t 1",
    "audit {}/model.onnx -i {}/samples.txt -a fp16 --checkpoint {}/done --out {}/out -t 1",
    "audit --merge {}/shard --out {}/out",
    "plan {}/model.onnx -i {}/inputs.npz -a fp16 --tolerance sqnr_db=62 --validate "
    "{}/test_data_set_0 --out {}/out --html {}/out/out.html -t 1",
    "prove {}/model.onnx --input-range x=-1,1 --out {}/out --json {}/out/alone.json -t 1",
    "lint {}/model.onnx --layer-precisions soft*:fp32,product:fp16 --json {}/out/lint.json --sarif "
    "{}/out/lint.sarif --html {}/out/out.html",
    "engine {}/model.onnx {}/engine.json --plan {}/plan.json --out {}/out --html {}/out/out.html "
    "-t 1",
    "audit {}/model.onnx -i {}/inputs.npz --engine {}/engine.json --out {}/out -t 1",
    "tolerance {}/model.onnx -i {}/inputs.npz -a fp16 --json {}/out/tolerance.json -t 1",
    "audit {}/logs.onnx -i {}/inputs.npz --between fp16,bf16 --output y --json {}/out/between.json "
    "-t 1",
    "show {}/report --html {}/out/out.html",
    "show {}/report op:Erf",
    "diff {}/report {}/other",
    "quantise {}/model.onnx -i {}/inputs.npz --formats nvfp4,mxfp8,fp32 --tolerance sqnr_db=40 "
    "--out {}/out -t 1",
    "doctor {}/model.onnx -i {}/inputs.npz -a fp16 --tolerance 62 --out {}/out --html "
    "{}/out/out.html -t 1",
    "quantise {}/model.onnx -i {}/inputs.npz --json {}/out/scales.json -t 1",
    "fix {}/large.onnx -i {}/inputs.npz --for qnn -o {}/out/fixed.onnx --json {}/out/fix.json -t 1",
};

/* It goes on without affine forms where memory is short for them, and says so. */
static const char proof_with_forms[] = "prove {}/digits.onnx --out {}/out -t 1";

/* ---- what a command has written, without what differs from run to run ---- */

struct written {
    size_t count;
    struct {
        char name[256];
        unsigned long long hash;
    } files[FILES_MAX];
};

/* Lines with the run's time, and what depends on memory. */
static bool differs(const char *line)
{
    return strstr(line, "seconds") || strstr(line, " s, ") || strstr(line, "peak") ||
           strstr(line, "time=\"") || strstr(line, "\"work\":");
}

/* The line that holds a page's whole document, of which the time differs, and the work: values that
 * a search keeps are given up where memory ends, and computed again. */
static unsigned long long hash_document(const char *line, size_t length)
{
    static const char *const keys[] = {"\"seconds\":", "\"work\":"};
    const char *const end = line + length;
    unsigned long long hash = 0;
    for (;;) {
        const char *next = end;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            const char *at = strstr(line, keys[k]);
            if (at && at + strlen(keys[k]) < next)
                next = at + strlen(keys[k]);
        }
        hash = hash * 31 + ulp_hash(line, (size_t)(next - line));
        if (next == end)
            return hash;
        line = next + strspn(next, " 0123456789.e+-");
    }
}

static unsigned long long hash_line(unsigned long long hash, const char *line, size_t length)
{
    return length > 2000   ? hash * 31 + hash_document(line, length)
           : differs(line) ? hash
                           : hash * 31 + ulp_hash(line, length);
}

/* A page's data: base64 up to the next '<', inflated. */
static unsigned long long hash_data(unsigned long long hash, FILE *file)
{
    static char text[1 << 22];
    static unsigned char packed[1 << 20], *const end = packed + sizeof packed;
    unsigned char *next = packed;
    uLongf size = sizeof text - 1;
    char quad[5];
    size_t count;
    for (; fscanf(file, " %4[A-Za-z0-9+/=]", quad) == 1 && next + 3 <= end; next += count)
        ck_assert(ulp_base64_decode(quad, 4, next, &count));
    ck_assert_int_eq(uncompress((Bytef *)text, &size, packed, (uLong)(next - packed)), Z_OK);
    text[size] = '\0';
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        hash = hash_line(hash, line, strlen(line));
    return hash;
}

static unsigned long long hash_file(const char *path)
{
    unsigned long long hash = 1;
    SCOPED_MEMORY char *line = NULL;
    size_t room = 0;
    ssize_t length;
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while ((length = getline(&line, &room, file)) > 0) {
        hash = hash_line(hash, line, (size_t)length);
        if (strstr(line, "id=\"data\""))
            hash = hash_data(hash, file);
    }
    fclose(file);
    return hash;
}

/* Removes a folder's files and calls `use` for each before; the folder stays. */
static void take_files(const char *folder,
                       void (*use)(void *context, const char *name, const char *path),
                       void *context)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, alphasort);
    ck_assert_int_ge(count, 2);
    for (int e = 0; e < count; e++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%.200s", folder, entries[e]->d_name);
        if (strcmp(entries[e]->d_name, ".") != 0 && strcmp(entries[e]->d_name, "..") != 0) {
            if (use)
                use(context, entries[e]->d_name, path);
            unlink(path);
        }
        free(entries[e]);
    }
    free(entries);
}

static void add_written(void *context, const char *name, const char *path)
{
    struct written *written = context;
    ck_expect(written->count < FILES_MAX, "a file '%s'", name);
    memcpy(written->files[written->count].name, name, strlen(name) + 1);
    written->files[written->count++].hash = hash_file(path);
}

/* In the order of their names; they are removed. */
static struct written take_written(void)
{
    struct written written = {0};
    take_files(test_folder("out"), add_written, &written);
    return written;
}

/* ---- processes ---- */

/* What a child says to its parent. */
static struct said {
    long count;
} * said;

static void run_program(const char *line, long at, bool all_after)
{
    static char name[] = "ulpscope", text[4000];
    char *argv[ARGUMENTS_MAX + 1] = {name}, *to = text;
    int argc = 1;
    for (const char *from = line; *from;)
        if (strncmp(from, "{}/", 3) == 0) {
            to = stpcpy(to, test_folder(""));
            from += 3;
        } else {
            *to++ = *from++;
        }
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    alarm(120);
    const int nowhere = open("/dev/null", O_WRONLY),
              messages = open(test_folder("messages"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(nowhere, STDOUT_FILENO);
    dup2(messages, STDERR_FILENO);
    exhaust_start(at, all_after);
    const int code = ulpscope_main(argc, argv);
    said->count = exhaust_count();
    exit(code);
}

/* Its exit code; -1: a signal ended it. */
static int run(const char *line, long at, bool all_after)
{
    int status;
    fflush(NULL);
    said->count = 0;
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        run_program(line, at, all_after);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void create_files(void)
{
    exhaust_files_create();
    char *digits = realpath(test_source("examples/digits/model.onnx"), NULL);
    ck_assert_int_eq(digits ? symlink(digits, test_folder("digits.onnx")) : -1, 0);
    free(digits);
    for (size_t b = 0; b < sizeof before / sizeof *before; b++)
        ck_expect(run(before[b], 0, false) == ULP_OK, "files of command %zu", b);
}

/* ---- what is promised ---- */

/* The first line of the messages. */
static const char *first_message(void)
{
    static char line[300];
    FILE *file = fopen(test_folder("messages"), "r");
    ck_assert_ptr_nonnull(file);
    if (!fgets(line, sizeof line, file))
        *line = '\0';
    fclose(file);
    return line;
}

/* The last line says it. */
static void check_message(const char *what)
{
    char line[600] = "", last[600] = "";
    FILE *file = fopen(test_folder("messages"), "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file)) {
        ck_expect(strncmp(line, "ulpscope", 8) == 0, "%s: message '%s'", what, line);
        memcpy(last, line, sizeof last);
    }
    ck_expect(strstr(last, "memory"), "%s: message '%s'", what, last);
    fclose(file);
}

static void check_written(const struct written *got, const struct written *all, int code,
                          const char *what)
{
    ck_expect(got->count == 0 || got->count == all->count, "%s: %zu of %zu files", what, got->count,
              all->count);
    ck_expect(code != ULP_OK || got->count == all->count, "%s: %zu of %zu files", what, got->count,
              all->count);
    for (size_t f = 0; f < got->count; f++)
        ck_expect(strcmp(got->files[f].name, all->files[f].name) == 0 &&
                      got->files[f].hash == all->files[f].hash,
                  "%s: another %s", what, got->files[f].name);
}

/* An audit with a checkpoint that memory ended resumes with what it has kept. */
static void check_resumed(const char *line, const struct written *all, const char *what)
{
    ck_expect(run(line, 0, false) == ULP_OK, "%s: is not resumed", what);
    const struct written written = take_written();
    check_written(&written, all, ULP_OK, what);
}

/* The next audit begins anew. */
static void forget_checkpoint(void)
{
    const char *folder = test_folder("done");
    if (access(folder, F_OK) == 0)
        take_files(folder, NULL, NULL);
}

/* ULPSCOPE_TEST_SHARE=K/N: of all requests those from the K-th on that lie N apart, so that N
 * processes share them. */
static void read_share(long *first, long *stride)
{
    const char *share = getenv("ULPSCOPE_TEST_SHARE"), *slash = share ? strchr(share, '/') : NULL;
    if (!slash)
        return;
    *first = atol(share);
    *stride = atol(slash + 1);
    ck_assert_int_ge(*first, 1);
    ck_assert_int_ge(*stride, *first);
}

/* Every request, or about `processes` of them, until none fails. */
static void exhaust(size_t command, long processes, bool all_after)
{
    const char *line = commands[command];
    forget_checkpoint();
    ck_assert_int_eq(run(line, 0, false), ULP_OK);
    const struct written all = take_written();
    const long count = said->count;
    const bool keeps = access(test_folder("done"), F_OK) == 0;
    long failures = 0, tried = 0, first = 1, stride = processes ? count / processes + 1 : 1;
    ck_assert_int_gt(count, 0);
    if (test_long())
        read_share(&first, &stride);
    for (long at = first; at <= count; at += stride, tried++) {
        char what[100];
        forget_checkpoint();
        const int code = run(line, at, all_after);
        snprintf(what, sizeof what, "%zu: request %ld of %ld%s", command, at, count,
                 all_after ? " and all after" : "");
        ck_expect(code == ULP_OK || code == ULP_ERROR_MEMORY, "%s: exit code %d: %s", what, code,
                  first_message());
        const struct written written = take_written();
        check_written(&written, &all, code, what);
        if (code != ULP_OK)
            check_message(what);
        if (code != ULP_OK && keeps)
            check_resumed(line, &all, what);
        failures += code != ULP_OK;
    }
    ck_assert_int_gt(failures, 0);
    if (test_long())
        printf("command %zu: %ld of %ld requests failed%s, %ld ended the program\n", command, tried,
               count, all_after ? " with all after" : "", failures);
}

/* Most requests are for the tables of functions that a process makes when it first needs them. */
static void make_tables(void)
{
    static const char *const names[] = {"mpfr:128", "mpfr:200", "mpfr:256", "fp64",
                                        "fp16",     "tf32",     "fp32"};
    enum { COUNT = sizeof names / sizeof *names };
    struct ulp_arithmetic lanes[COUNT];
    scoped_model *model = NULL;
    scoped_tensor_set inputs = {0};
    scoped_program *program = NULL;
    const struct ulp_run_options options = {.thread_count = 1, .audit = true};
    for (size_t l = 0; l < COUNT; l++)
        lanes[l] = test_arithmetic(names[l]);
    ck_ok(ulp_model_load(test_folder("model.onnx"), NULL, &model, &why));
    ck_ok(ulp_tensor_set_read(test_folder("inputs.npz"), NULL, &inputs, &why));
    ck_ok(ulp_program_create(model, lanes, COUNT, NULL, &program, &why));
    ck_ok(ulp_program_run(program, &inputs, &options, NULL, 0, NULL, NULL, &why));
}

START_TEST(requests_of_libraries_are_counted)
{
    exhaust_start(0, false);
    json_t *object = json_object();
    ck_assert_int_ge(exhaust_count(), 1);
    json_decref(object);
    const long counted = exhaust_count();
    mpz_t number;
    mpz_init_set_ui(number, 1);
    mpz_mul_2exp(number, number, 100000);
    mpz_clear(number);
    ck_assert_int_gt(exhaust_count(), counted);
}
END_TEST

START_TEST(every_request_may_fail)
{
    make_tables();
    exhaust((size_t)_i, (long)test_count(60, 0), false);
}
END_TEST

START_TEST(all_requests_from_one_on_may_fail)
{
    make_tables();
    exhaust((size_t)_i, (long)test_count(20, 0), true);
}
END_TEST

/* Memory that was never written: no figure depends on what it holds: not a number, or the names
 * that bounds give to numbers (ops/trace/gate.h: the binade of 2^1022), as an earlier node or trace
 * has left them there. */
START_TEST(what_memory_holds_changes_nothing)
{
    static const uint64_t words[] = {UINT64_MAX, 0x7FD0000000004e22, 0x7FD000000000684e,
                                     0x7FD0000000007146};
    const char *line = _i < 0 ? proof_with_forms : commands[_i];
    ck_assert_int_eq(run(line, 0, false), ULP_OK);
    const struct written all = take_written();
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        char what[100];
        if (!test_takes((size_t)(_i + 1) + w, sizeof words / sizeof *words))
            continue;
        snprintf(what, sizeof what, "%d: memory of %llx", _i, (unsigned long long)words[w]);
        forget_checkpoint();
        exhaust_fill(words[w]);
        const int code = run(line, 0, false);
        exhaust_fill(0);
        ck_expect(code == ULP_OK, "%s: exit code %d: %s", what, code, first_message());
        const struct written written = take_written();
        check_written(&written, &all, code, what);
    }
}
END_TEST

/* With the tables, in this build's own functions and GMP's. */
START_TEST(new_processes_may_fail)
{
    exhaust(0, (long)test_count(26, 3000), _i);
}
END_TEST

/* ULPSCOPE_TEST_COMMAND: of that command alone, by its place in `commands` (with ULPSCOPE_TEST_LONG
 * all its requests; read_share). */
int main(void)
{
    Suite *suite = suite_create("exhaustion");
    TCase *tests = tcase_create("memory ends");
    const char *only = getenv("ULPSCOPE_TEST_COMMAND");
    const int count = sizeof commands / sizeof *commands, from = only ? atoi(only) : 0,
              until = only ? from + 1 : count;
    said = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (said == MAP_FAILED || from < 0 || from >= count)
        return 99;
    tcase_add_checked_fixture(tests, create_files, test_folder_remove);
    tcase_set_timeout(tests, test_long() ? 3600 : 120);
    tcase_add_test(tests, requests_of_libraries_are_counted);
    tcase_add_loop_test(tests, every_request_may_fail, from, until);
    tcase_add_loop_test(tests, all_requests_from_one_on_may_fail, from, until);
    tcase_add_loop_test(tests, what_memory_holds_changes_nothing, only ? from : -1, until);
    if (!only)
        tcase_add_loop_test(tests, new_processes_may_fail, 0, 2);
    suite_add_tcase(suite, tests);
    return test_run(suite, NULL);
}
