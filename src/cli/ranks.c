#include "config.h"

#include "cli/ranks.h"

#include <stdint.h>
#include <stdlib.h>

/* What mpirun of Open MPI, or of MPICH and srun, put into the environment. */
static size_t read_start(const char *of_openmpi, const char *of_pmi, size_t otherwise)
{
    const char *text = getenv(of_openmpi) ? getenv(of_openmpi) : getenv(of_pmi);
    char *end;
    const long long number = text ? strtoll(text, &end, 10) : -1;
    return text && end != text && !*end && number >= 0 ? (size_t)number : otherwise;
}

size_t ranks_started(void)
{
    return read_start("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", 1);
}

size_t ranks_own_start(void)
{
    return read_start("OMPI_COMM_WORLD_RANK", "PMI_RANK", 0);
}

#ifdef HAVE_MPI
#include <mpi.h>

#include "cli/terminal/terminal.h"

static int self, count = 1;
static bool joined;

/* What is on its way to rank 0. */
static struct {
    unsigned char *bytes;
    uint64_t size;
    MPI_Request requests[2];
    bool any;
} sent;

/* Counts of MPI are ints; a sample has some megabytes of figures. */
#define BYTES_MAX ((size_t)1 << 30)
#define TAG_MAX 32768 /* what every MPI has */

/* Of mpirun of Open MPI, MPICH and Slurm: MPI_Init of a process started alone would start a daemon.
 */
bool ranks_are_several(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE") || getenv("PMIX_RANK");
}

bool ranks_are_possible(void)
{
    return true;
}

void ranks_join(void)
{
    if (!ranks_are_several())
        return;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &self);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    joined = true;
}

static void settle(void)
{
    if (sent.any)
        MPI_Waitall(2, sent.requests, MPI_STATUSES_IGNORE);
    free(sent.bytes);
    sent.bytes = NULL;
    sent.any = false;
}

void ranks_hand(size_t index, unsigned char *bytes, size_t size)
{
    const int tag = (int)(index % TAG_MAX);
    settle();
    sent.bytes = bytes;
    sent.size = size;
    sent.any = true;
    if (size > BYTES_MAX) {
        say(stderr, "ulpscope: rank %d of %d: a sample has more figures than MPI carries\n", self,
            count);
        MPI_Abort(MPI_COMM_WORLD, 5);
    }
    MPI_Isend(&sent.size, 1, MPI_UINT64_T, 0, tag, MPI_COMM_WORLD, &sent.requests[0]);
    MPI_Isend(bytes, (int)size, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &sent.requests[1]);
}

bool ranks_take(size_t index, size_t from, unsigned char **bytes, size_t *size)
{
    const int tag = (int)(index % TAG_MAX);
    uint64_t expected = 0;
    MPI_Recv(&expected, 1, MPI_UINT64_T, (int)from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *size = (size_t)expected;
    if (!(*bytes = malloc(*size + 1)))
        return false;
    MPI_Recv(*bytes, (int)*size, MPI_BYTE, (int)from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return true;
}

bool ranks_all_equal(uint64_t number)
{
    const uint64_t own[2] = {number, ~number};
    uint64_t most[2] = {0, 0};
    MPI_Allreduce(own, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return most[0] == own[0] && most[1] == own[1];
}

int ranks_leave(int code)
{
    if (!joined)
        return code;
    if (code > 1) { /* 1: a limit was crossed */
        say(stderr, "ulpscope: rank %d of %d has failed, and ends the others\n", self, count);
        MPI_Abort(MPI_COMM_WORLD, code);
    }
    settle();
    MPI_Finalize();
    return code;
}

size_t ranks_count(void)
{
    return (size_t)count;
}

size_t ranks_self(void)
{
    return (size_t)self;
}

#else

bool ranks_are_several(void)
{
    return false;
}

bool ranks_are_possible(void)
{
    return false;
}

void ranks_join(void) {}

size_t ranks_count(void)
{
    return 1;
}

size_t ranks_self(void)
{
    return 0;
}

void ranks_hand(size_t index, unsigned char *bytes, size_t size)
{
    (void)index, (void)size;
    free(bytes);
}

bool ranks_take(size_t index, size_t from, unsigned char **bytes, size_t *size)
{
    (void)index, (void)from;
    *bytes = NULL;
    *size = 0;
    return false;
}

bool ranks_all_equal(uint64_t number)
{
    (void)number;
    return true;
}

int ranks_leave(int code)
{
    return code;
}

#endif
