/* hub.c: what the ends of one MPI process share: the communicator and its ports. */
#include "end.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

int hark_mpi_failed(char error[200], const char *what, int code)
{
    char why[MPI_MAX_ERROR_STRING] = "no memory";
    int length = 0;
    if (code != MPI_SUCCESS) MPI_Error_string(code, why, &length);
    why[strcspn(why, "\n")] = 0; /* one line */
    if (error) snprintf(error, 200, "mpi: %s: %.150s", what, why);
    return HARK_T_ESYSTEM;
}

/* ---- made and freed by all ranks ------------------------------------------------------------- */

static bool is_running(void)
{
    int begun = 0, ended = 0;
    MPI_Initialized(&begun);
    if (begun) MPI_Finalized(&ended);
    return begun && !ended;
}

static void release(struct hark_mpi *mpi)
{
    for (uint32_t i = 0; i < mpi->port_count; i++) queue_free(&mpi->ports[i].early);
    queue_free(&mpi->coming);
    free(mpi->ports);
    free(mpi->sent);
    free(mpi->received);
    free(mpi->late);
    pthread_mutex_destroy(&mpi->lock);
    free(mpi);
}

/* NULL without memory. */
static struct hark_mpi *hub_new(int size)
{
    struct hark_mpi *mpi = calloc(1, sizeof *mpi);
    if (!mpi) return NULL;
    mpi->size = size;
    mpi->matched = MPI_MESSAGE_NULL;
    pthread_mutex_init(&mpi->lock, NULL);
    queue_begin(&mpi->sending);
    queue_begin(&mpi->coming);
    mpi->sent = calloc((size_t)size, sizeof *mpi->sent);
    mpi->received = calloc((size_t)size, sizeof *mpi->received);
    mpi->late = calloc((size_t)size, sizeof *mpi->late);
    if (mpi->sent && mpi->received && mpi->late) return mpi;
    release(mpi);
    return NULL;
}

int hark_mpi_new(struct hark_mpi **mpi, MPI_Comm communicator, char error[200])
{
    MPI_Comm comm;
    int size, all;
    *mpi = NULL;
    if (!is_running()) {
        if (error) snprintf(error, 200, "mpi: MPI is not initialised, or has been finalised");
        return HARK_T_EINVAL;
    }
    int code = MPI_Comm_dup(communicator, &comm);
    if (code != MPI_SUCCESS) return hark_mpi_failed(error, "MPI_Comm_dup", code);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_size(comm, &size);
    struct hark_mpi *hub = hub_new(size);
    int mine = hub != NULL; /* all ranks go on, or none */
    code = MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    if (code == MPI_SUCCESS && all) {
        hub->comm = comm;
        MPI_Comm_rank(comm, &hub->rank);
        *mpi = hub;
        return HARK_T_OK;
    }
    if (hub) release(hub);
    if (code != MPI_SUCCESS) return hark_mpi_failed(error, "MPI_Allreduce", code);
    MPI_Comm_free(&comm);
    return hark_mpi_failed(error, "a rank cannot begin", MPI_SUCCESS);
}

/* Progress, until `request` is complete. */
static int complete(struct hark_mpi *mpi, MPI_Request *request, char error[200])
{
    for (;;) {
        int flag = 0, code = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return hark_mpi_failed(error, "MPI_Test", code);
        if (flag) return HARK_T_OK;
        int status = hark_mpi_progress(mpi, error);
        if (status != HARK_T_OK) return status;
        sched_yield();
    }
}

static bool is_empty(const struct hark_mpi *mpi, const uint64_t *expected)
{
    return !mpi->sending.first && !mpi->coming.first &&
           memcmp(mpi->received, expected, (size_t)mpi->size * sizeof *expected) == 0;
}

/* Every message that was sent is received: each rank says to each how many there were. */
static int drain(struct hark_mpi *mpi, char error[200])
{
    uint64_t *expected = calloc((size_t)mpi->size, sizeof *expected);
    MPI_Request request;
    if (!expected) return hark_mpi_failed(error, "cannot drain", MPI_SUCCESS);
    int status, code = MPI_Ialltoall(
                    mpi->sent, 1, MPI_UINT64_T, expected, 1, MPI_UINT64_T, mpi->comm, &request);
    if (code == MPI_SUCCESS) status = complete(mpi, &request, error);
    else status = hark_mpi_failed(error, "MPI_Ialltoall", code);
    while (status == HARK_T_OK && !is_empty(mpi, expected)) {
        status = hark_mpi_progress(mpi, error);
        sched_yield();
    }
    free(expected);
    return status;
}

int hark_mpi_free(struct hark_mpi *mpi, char error[200])
{
    if (mpi->ends > 0) {
        if (error) snprintf(error, 200, "mpi: %u ends are still open", mpi->ends);
        return HARK_T_EINVAL;
    }
    int status = drain(mpi, error);
    if (status == HARK_T_OK) {
        int code = MPI_Comm_free(&mpi->comm);
        if (code != MPI_SUCCESS) status = hark_mpi_failed(error, "MPI_Comm_free", code);
    }
    release(mpi); /* what MPI still sends or receives after a failure is left to it */
    return status;
}

void hark_mpi_join(struct hark_mpi *mpi, struct hark_transport_config *config)
{
    config->option[0] = (uint64_t)(uintptr_t)mpi;
}

/* ---- ports ----------------------------------------------------------------------------------- */

bool hark_mpi_port_room(struct hark_mpi *mpi, uint32_t port)
{
    uint32_t count = mpi->port_count ? mpi->port_count : 8;
    if (port < mpi->port_count) return true;
    while (count <= port) count *= 2;
    struct port *ports = realloc(mpi->ports, count * sizeof *ports);
    if (!ports) return false;
    memset(ports + mpi->port_count, 0, (count - mpi->port_count) * sizeof *ports);
    for (uint32_t i = 0; i < mpi->port_count; i++) /* a queue may point into itself */
        if (!ports[i].early.first) queue_begin(&ports[i].early);
    for (uint32_t i = mpi->port_count; i < count; i++) queue_begin(&ports[i].early);
    mpi->ports = ports;
    mpi->port_count = count;
    return true;
}

uint32_t hark_mpi_port_free(const struct hark_mpi *mpi, uint64_t job, uint32_t rank)
{
    uint32_t free_port = PORTS_MOST;
    for (uint32_t i = 0; i < mpi->port_count; i++) {
        const struct port *at = &mpi->ports[i];
        if (at->end) continue;
        if (at->owned && at->job == job && at->next.rank == rank) return i;
        if (free_port == PORTS_MOST && !at->early.first) free_port = i;
    }
    return free_port == PORTS_MOST ? mpi->port_count : free_port;
}

void hark_mpi_port_open(struct end *e)
{
    struct port *at = &e->mpi->ports[e->port];
    struct queue early = at->early;
    if (!early.first) queue_begin(&early);
    queue_begin(&at->early);
    at->end = e;
    at->owned = true;
    at->job = e->job;
    at->next = (struct process){e->me.rank, e->me.inc};
    e->mpi->ends++;
    for (struct message *m; (m = queue_take(&early));) {
        const struct head *h = message_head(m);
        if (h->job != e->job || h->to != e->me.rank || h->to_inc < e->me.inc) free(m);
        else queue_put(h->to_inc == e->me.inc ? &e->queue : &at->early, m);
    }
}

void hark_mpi_port_close(struct end *e)
{
    struct port *at = &e->mpi->ports[e->port];
    at->end = NULL;
    at->next.inc = e->me.inc + 1;
    e->mpi->ends--;
}
