/* progress.c: messages of MPI: sent, received, given to the end at their port. */
#include "end.h"

enum { COMING_MOST = 64, RECEIVED_A_TURN = 256, SENDS_A_TURN = 32 };

/* ---- sending --------------------------------------------------------------------------------- */

static void has_left(struct message *m)
{
    struct end *e = m->owner;
    free(m);
    if (!e || --e->sending > 0) return;
    e->go = true; /* someone may wait until all is drained */
}

int hark_mpi_post(struct end *e, struct message *m)
{
    struct hark_mpi *mpi = e->mpi;
    int done = 0,
        code = MPI_Isend(m->at, (int)m->bytes, MPI_BYTE, m->rank, m->port, mpi->comm, &m->request);
    if (code != MPI_SUCCESS) {
        free(m);
        return hark_mpi_failed(e->head.error, "MPI_Isend", code);
    }
    mpi->sent[m->rank]++;
    code = MPI_Test(&m->request, &done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && done) {
        free(m);
        return HARK_T_OK;
    }
    m->owner = e;
    e->sending++;
    queue_put(&mpi->sending, m);
    return code == MPI_SUCCESS ? HARK_T_OK : hark_mpi_failed(e->head.error, "MPI_Test", code);
}

void hark_mpi_disown(struct end *e)
{
    for (struct message *m = e->mpi->sending.first; m; m = m->next)
        if (m->owner == e) m->owner = NULL;
}

/* Looks at some, the others next time: what waits for a receiver may wait for long. */
static int look_at_sends(struct hark_mpi *mpi, char error[200])
{
    uint32_t some = mpi->sending.count < SENDS_A_TURN ? mpi->sending.count : SENDS_A_TURN;
    for (; some > 0; some--) {
        struct message *m = queue_take(&mpi->sending);
        int done = 0, code = MPI_Test(&m->request, &done, MPI_STATUS_IGNORE);
        if (done) has_left(m);
        else queue_put(&mpi->sending, m);
        if (code != MPI_SUCCESS) return hark_mpi_failed(error, "MPI_Test", code);
    }
    return HARK_T_OK;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Where a message goes; NULL: nowhere, it is dropped. */
static struct queue *destination(struct port *at, struct message *m)
{
    const struct head *h = message_head(m);
    bool owner = at->owned && h->job == at->job && h->to == at->next.rank;
    if (at->end && owner && h->to_inc == at->end->me.inc) return &at->end->queue;
    if (at->end && !owner) return NULL;
    if (owner && h->to_inc < at->next.inc) return NULL;
    return &at->early;
}

static void deliver(struct port *at, struct message *m)
{
    struct end *e = at->end;
    if (!hark_mpi_well_formed(m)) {
        if (e) e->head.figures.refused++;
        free(m);
        return;
    }
    struct queue *to = destination(at, m);
    bool is_ack = message_head(m)->kind == KIND_ACK;
    if (is_ack && to && to != &at->early) hark_mpi_acked(e, m);
    if (is_ack || !to) free(m);
    else queue_put(to, m);
}

/* A message that MPI has matched is received: its memory must be here first. */
static int receive_matched(struct hark_mpi *mpi, char error[200])
{
    int bytes = 0;
    MPI_Get_count(&mpi->matched_status, MPI_BYTE, &bytes);
    struct message *m = message_new(bytes > 0 ? (uint64_t)bytes : 0);
    if (!m) return hark_mpi_failed(error, "cannot receive a message", MPI_SUCCESS);
    m->rank = mpi->matched_status.MPI_SOURCE;
    m->port = mpi->matched_status.MPI_TAG;
    int code = MPI_Imrecv(m->at, bytes, MPI_BYTE, &mpi->matched, &m->request);
    mpi->matched = MPI_MESSAGE_NULL;
    if (code != MPI_SUCCESS) {
        free(m);
        return hark_mpi_failed(error, "MPI_Imrecv", code);
    }
    mpi->received[m->rank]++;
    queue_put(&mpi->coming, m);
    return HARK_T_OK;
}

/* Returns 1 if there was a message, 0 if not. */
static int receive_one(struct hark_mpi *mpi, char error[200])
{
    if (mpi->matched == MPI_MESSAGE_NULL) {
        int flag = 0, code = MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, mpi->comm, &flag,
                          &mpi->matched, &mpi->matched_status);
        if (code != MPI_SUCCESS) return hark_mpi_failed(error, "MPI_Improbe", code);
        if (!flag) {
            mpi->matched = MPI_MESSAGE_NULL;
            return 0;
        }
    }
    int status = receive_matched(mpi, error);
    return status == HARK_T_OK ? 1 : status;
}

/* Messages of one source stay in their order, which is that of the frames and their pieces. */
static int deliver_whole(struct hark_mpi *mpi, char error[200])
{
    int status = HARK_T_OK;
    mpi->pass++;
    for (uint32_t count = mpi->coming.count; count > 0; count--) {
        struct message *m = queue_take(&mpi->coming);
        int done = 0, code = MPI_SUCCESS;
        if (mpi->late[m->rank] != mpi->pass) code = MPI_Test(&m->request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) status = hark_mpi_failed(error, "MPI_Test", code);
        if (done && !hark_mpi_port_room(mpi, (uint32_t)m->port)) {
            status = hark_mpi_failed(error, "cannot receive a message", MPI_SUCCESS);
            done = 0;
        }
        if (done) deliver(&mpi->ports[m->port], m);
        else {
            mpi->late[m->rank] = mpi->pass;
            queue_put(&mpi->coming, m);
        }
    }
    return status;
}

int hark_mpi_progress(struct hark_mpi *mpi, char error[200])
{
    int status = 1;
    for (int i = 0; i < RECEIVED_A_TURN && status == 1 && mpi->coming.count < COMING_MOST; i++) {
        status = receive_one(mpi, error);
        if (status == 1 && mpi->coming.count == COMING_MOST) {
            int whole = deliver_whole(mpi, error);
            if (whole != HARK_T_OK) return whole;
        }
    }
    if (status < 0) return status;
    status = deliver_whole(mpi, error);
    return status == HARK_T_OK ? look_at_sends(mpi, error) : status;
}
