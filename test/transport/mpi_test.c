/* MPI under the conformance suite: all ends are on one rank, which talks to itself over
 * MPI_COMM_SELF, with a neighbour that sends garbage in the same communicator. mpi_ranks.c has the
 * tests between ranks. */
#include "harness.h"
#include "mpi/hub.h"

#include <unistd.h>

extern char **environ;

static struct hark_mpi *mpi;

/* A program that the suite begins is an MPI job of its own, of one process. */
static void forget_the_launcher(void)
{
    static const char *const words[] = {"PMI", "HYD", "MPI_", "OMPI_", "OPAL_", "ORTE_", "PRTE_"};
    for (char **at = environ; *at;) {
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*at, "="), *at);
        bool launcher = false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            launcher |= strncmp(name, words[i], strlen(words[i])) == 0;
        if (launcher && unsetenv(name) == 0) at = environ;
        else at++;
    }
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 1); /* Open MPI: without a daemon */
}

static void start(char **argument)
{
    int provided;
    char error[200] = "";
    if (argument) forget_the_launcher();
    MUST(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) == MPI_SUCCESS);
    MUST(provided >= MPI_THREAD_SERIALIZED); /* waiting.c has two threads */
    int status = hark_mpi_new(&mpi, MPI_COMM_SELF, error);
    if (status != HARK_T_OK) fprintf(stderr, "%s\n", error);
    MUST(status == HARK_T_OK);
}

static void finish(void)
{
    char error[200] = "";
    if (hark_mpi_free(mpi, error) != HARK_T_OK) fprintf(stderr, "%s\n", error), abort();
    MPI_Finalize();
}

static void configure(struct hark_transport_config *config)
{
    hark_mpi_join(mpi, config);
    if (config->me % 2 == 0) return;
    config->option[1] = WINDOW_LEAST;
    config->option[2] = 10;
}

/* A message that is nearly one of the transport's, or nothing like it. */
static void spoil(struct head *h, unsigned round, int *bytes)
{
    uint64_t dice = mix(round);
    switch (round % 12) {
    case 0: h->kind = (uint32_t)dice; break;
    case 1: *bytes = (int)(dice % sizeof *h); break;
    case 2: h->from = 1000; break;
    case 3: h->from_port = PORTS_MOST + (dice & 255); break;
    case 4: h->header = 0; break;
    case 5: h->header = (uint32_t)dice | 1 << 17; break;
    case 6: h->length = dice | 1ull << 62; break;
    case 7: h->kind = KIND_REST; break;
    case 8: h->kind = KIND_REST, h->at = PIECE, h->length = PIECE + 24; break; /* of nothing */
    case 9: h->at = 8; break;
    case 10: h->kind = KIND_ACK, h->at = dice; break;
    default: h->from_inc = UINT32_MAX; break;
    }
}

static void garbage(
    const struct hark_transport_config *victim, const char *address, uint32_t as, unsigned round)
{
    struct {
        struct head head;
        uint8_t rest[64];
    } message = {{.kind = KIND_FRAME,
                     .from = as,
                     .to = victim->me,
                     .to_inc = victim->inc,
                     .from_port = 77,
                     .header = 40,
                     .length = 24},
        {0}};
    int rank, port, bytes = sizeof message;
    MPI_Request request;
    MUST(hark_mpi_address_parse(mpi, address, &rank, &port) == NULL);
    message.head.job = mpi->ports[port].job;
    spoil(&message.head, round, &bytes);
    MPI_Isend(&message, bytes, MPI_BYTE, rank, port, mpi->comm, &request);
    mpi->sent[rank]++; /* it is one of those that hark_mpi_free() waits for */
    for (int done = 0; !done;) {
        MUST(hark_mpi_progress(mpi, NULL) == HARK_T_OK);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

const struct conformance_transport conformance_subject = {.name = "mpi",
    .ops = &hark_mpi_operations,
    .chunk = PIECE,
    .start = start,
    .finish = finish,
    .configure = configure,
    .garbage = garbage};
