/* mpi_own.c: what only the transport over MPI has: ports, addresses that are known before an end is
 * open, messages that outlive their sender, and the end of the communicator. All on one rank. */
#include "harness.h"
#include "mpi/hub.h"

#include <unistd.h>

static struct hark_mpi *mpi;
static const char *address; /* for the next end; NULL: it chooses */
static long sends, receives;

/* MPI lets a program stand between: every message that is sent must be received. */
int MPI_Isend(const void *at, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
    MPI_Request *request)
{
    sends++;
    return PMPI_Isend(at, count, type, to, tag, comm, request);
}

int MPI_Imrecv(void *at, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
    receives++;
    return PMPI_Imrecv(at, count, type, message, request);
}

static void configure(struct hark_transport_config *config)
{
    config->address = address;
    hark_mpi_join(mpi, config);
}

const struct conformance_transport conformance_subject = {
    .name = "mpi", .ops = &hark_mpi_operations, .configure = configure};

static void open_at(struct end *e, const struct job *job, uint32_t me, uint32_t inc, const char *at)
{
    address = at;
    end_open(e, job, me, inc);
    address = NULL;
}

static void knows(struct end *e, uint32_t rank, uint32_t inc, const char *at)
{
    MUST(e->t->ops->peer(e->t, rank, inc, at) == HARK_T_OK);
}

static void send_now(struct end *from, uint32_t to, uint32_t inc, uint64_t id, uint64_t length)
{
    struct parcel p;
    parcel_make(&p, from, to, inc, id, 0, length);
    MUST(parcel_send(&p, from) == HARK_T_OK);
    parcel_free(&p);
}

static void poll_often(struct end *e)
{
    for (int i = 0; i < 100; i++) end_poll(e);
}

/* ---- ports ----------------------------------------------------------------------------------- */

/* Frames for an address where nobody is yet are kept there, and each incarnation gets its own. */
static void early(void **state)
{
    (void)state;
    struct job job;
    struct end from, to;
    job_begin(&job, 2);
    open_at(&from, &job, 0, 0, "mpi:0:40");
    knows(&from, 1, 0, "mpi:0:41");
    send_now(&from, 1, 0, 1, 100);
    send_now(&from, 1, 0, 2, 600000);
    knows(&from, 1, 2, "mpi:0:41");
    send_now(&from, 1, 2, 3, 300000);
    send_now(&from, 1, 2, 4, 10);
    poll_often(&from);
    open_at(&to, &job, 1, 0, "mpi:0:41");
    knows(&to, 0, 0, "mpi:0:40");
    until_count(&to, 2, &to, 1);
    MUST(end_heard(&to, 1) == 1 && end_heard(&to, 2) == 1);
    poll_often(&to);
    end_close(&to);
    open_at(&to, &job, 1, 2, "mpi:0:41");
    until_count(&to, 2, &to, 1);
    MUST(end_heard(&to, 3) == 1 && end_heard(&to, 4) == 1);
    end_close(&to);
    end_close(&from);
    job_end(&job);
}

/* What is for an incarnation that has closed goes nowhere, not even into memory. */
static void late(void **state)
{
    (void)state;
    struct job job;
    struct end from, to;
    job_begin(&job, 2);
    open_at(&from, &job, 0, 0, "mpi:0:50");
    open_at(&to, &job, 1, 0, "mpi:0:51");
    knows(&from, 1, 0, "mpi:0:51");
    send_now(&from, 1, 0, 1, 10);
    until_count(&to, 1, &to, 1);
    end_close(&to);
    send_now(&from, 1, 0, 2, 10);
    poll_often(&from);
    MUST(mpi->ports[51].early.count == 0);
    open_at(&to, &job, 1, 1, "mpi:0:51");
    poll_often(&to);
    MUST(to.count == 0 && to.t->figures.refused == 0);
    end_close(&to);
    end_close(&from);
    job_end(&job);
}

/* The next incarnation may open elsewhere. */
static void moved(void **state)
{
    (void)state;
    struct job job;
    struct end from, to;
    job_begin(&job, 2);
    open_at(&from, &job, 0, 0, "mpi:0:70");
    for (uint32_t inc = 0; inc < 3; inc++) {
        char at[32];
        snprintf(at, sizeof at, "mpi:0:%u", 71 + inc);
        knows(&from, 1, inc, NULL);
        send_now(&from, 1, inc, 10 + inc, 400000); /* kept, for it is not known where */
        open_at(&to, &job, 1, inc, at);
        knows(&from, 1, inc, at);
        send_now(&from, 1, inc, 20 + inc, 400000);
        until_count(&to, 2, &to, 1);
        MUST(end_heard(&to, 10 + inc) == 1 && end_heard(&to, 20 + inc) == 1);
        end_close(&to);
    }
    end_close(&from);
    job_end(&job);
}

/* A port belongs to one process: what came for another one is dropped when that opens. */
static void other_owner(void **state)
{
    (void)state;
    struct job job, other;
    struct end from, to;
    job_begin(&job, 3);
    job_begin(&other, 3);
    open_at(&from, &job, 0, 0, "mpi:0:60");
    knows(&from, 1, 0, "mpi:0:61");
    send_now(&from, 1, 0, 1, 10);
    poll_often(&from);
    MUST(mpi->ports[61].early.count == 1);
    open_at(&to, &other, 1, 0, "mpi:0:61"); /* the same rank, of another job */
    MUST(mpi->ports[61].early.count == 0);
    send_now(&from, 1, 0, 2, 10);
    poll_often(&to);
    MUST(to.count == 0 && mpi->ports[61].early.count == 0);
    end_close(&to);
    end_close(&from);
    job_end(&job);
    job_end(&other);
}

static void refused_open(const struct job *job, const char *at, const char *why)
{
    struct hark_transport_config config;
    struct hark_transport *t;
    struct end e;
    char error[200] = "";
    address = at;
    end_config(&config, job, 1, 0, &e);
    address = NULL;
    MUST(conformance_subject.ops->open(&t, &config, error) == HARK_T_EINVAL);
    MUST(t == NULL && strstr(error, why) != NULL);
}

static void addresses(void **state)
{
    (void)state;
    static const char form[] = "expected mpi:RANK:PORT";
    struct job job;
    struct end e;
    job_begin(&job, 2);
    open_at(&e, &job, 0, 0, "mpi:0:7");
    MUST(strcmp(e.t->ops->address(e.t), "mpi:0:7") == 0);
    refused_open(&job, "mpi:0:7", "the port is in use");
    refused_open(&job, "mpi:1:7", "its rank is none of the communicator");
    refused_open(&job, "mpi:0:32768", "its port is not 0 .. 32767");
    refused_open(&job, "mpi:0:99999999999999999999", "its port is not 0 .. 32767");
    refused_open(&job, "mpi:0:", "its port is not 0 .. 32767");
    refused_open(&job, "mpi:0:7x", form);
    refused_open(&job, "mpi:0", form);
    refused_open(&job, "tcp:127.0.0.1:0", form);
    MUST(e.t->ops->peer(e.t, 1, 0, "mpi:9:0") == HARK_T_EINVAL);
    MUST(strstr(e.t->error, "address of rank 1") != NULL);
    end_close(&e);
    job_end(&job);
}

/* An end that chooses takes the port that it had. */
static void chosen_again(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    char before[32];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) open_at(&e[i], &job, i, 0, NULL);
    MUST(strcmp(e[0].t->ops->address(e[0].t), e[1].t->ops->address(e[1].t)) != 0);
    snprintf(before, sizeof before, "%s", e[1].t->ops->address(e[1].t));
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    open_at(&e[1], &job, 1, 1, NULL);
    MUST(strcmp(e[1].t->ops->address(e[1].t), before) == 0);
    end_close(&e[1]);
    job_end(&job);
}

static void options(void **state)
{
    (void)state;
    static const uint64_t bad[][3] = {
        {1, (1u << 20) - 1, 0}, {1, (1u << 30) + 1, 0}, {2, 9, 0}, {2, 1000001, 0}};
    struct hark_transport_config config;
    struct hark_transport *t;
    struct job job;
    struct end e;
    char error[200];
    job_begin(&job, 2);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        end_config(&config, &job, 0, 0, &e);
        config.option[bad[i][0]] = bad[i][1];
        MUST(conformance_subject.ops->open(&t, &config, error) == HARK_T_EINVAL);
        MUST(strstr(error, bad[i][0] == 1 ? "window" : "sleep") != NULL);
    }
    end_config(&config, &job, 0, 0, &e);
    config.option[0] = 0;
    MUST(conformance_subject.ops->open(&t, &config, error) == HARK_T_EINVAL);
    MUST(strstr(error, "hark_mpi_join()") != NULL);
    end_config(&config, &job, 0, 0, &e);
    config.encrypts = true;
    MUST(conformance_subject.ops->open(&t, &config, error) == HARK_T_EINVAL);
    MUST(strstr(error, "encrypt") != NULL);
    job_end(&job);
}

/* ---- sleeping -------------------------------------------------------------------------------- */

/* A frame waits for room at an incarnation that is no more: the news end wait(). */
static void news_wake(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    struct parcel p;
    job_begin(&job, 2);
    open_at(&e, &job, 0, 0, NULL);
    knows(&e, 1, 0, NULL);
    parcel_make(&p, &e, 1, 0, 1, 0, 20 * MIB);
    MUST(parcel_send(&p, &e) == HARK_T_AGAIN);
    knows(&e, 1, 1, NULL);
    MUST(e.t->ops->wait(e.t, -1) >= 0); /* or this hangs */
    MUST(parcel_send(&p, &e) == HARK_T_EGONE);
    parcel_free(&p);
    end_close(&e);
    job_end(&job);
}

/* Whoever waits until all has left is woken by that. */
static void drained_wakes(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) open_at(&e[i], &job, i, 0, NULL);
    ends_meet(e, 2);
    send_now(&e[0], 1, 0, 1, 900000); /* too long for MPI to take it without a receiver */
    MUST(!e[0].t->ops->drained(e[0].t));
    while (!e[0].t->ops->drained(e[0].t)) {
        MUST(e[0].t->ops->wait(e[0].t, -1) >= 0); /* or this hangs */
        end_poll(&e[0]);
    }
    until_count(&e[1], 1, &e[1], 1);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

/* ---- messages that are wrong ----------------------------------------------------------------- */

/* A message with `payload` bytes, as rank 1 at port 41 would send it to rank 0 at port 40. */
struct raw {
    struct head head;
    struct label label;
    uint8_t payload[PIECE];
};

static struct raw *raw_new(uint32_t kind, uint64_t length)
{
    struct raw *r = calloc(1, sizeof *r);
    MUST(r != NULL);
    r->head = (struct head){.kind = kind,
        .from = 1,
        .from_port = 41,
        .header = sizeof r->label,
        .length = length,
        .job = mpi->ports[40].job};
    r->label = (struct label){9, length, sizeof r->label, 1, 0, 0, 0, 0};
    fill(r->payload, sizeof r->payload, 9);
    return r;
}

/* Sends so many bytes of it, and frees it. */
static void raw_send(struct raw *r, struct end *to, size_t bytes)
{
    MPI_Request request;
    MPI_Isend(r, (int)bytes, MPI_BYTE, 0, 40, mpi->comm, &request);
    mpi->sent[0]++;
    for (int done = 0; !done; end_poll(to)) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    poll_often(to);
    free(r);
}

static void raw_frame(struct end *to, uint32_t port, uint64_t length)
{
    struct raw *r = raw_new(KIND_FRAME, length);
    size_t bytes = sizeof r->head + sizeof r->label + (length < PIECE ? (size_t)length : PIECE);
    r->head.from_port = port;
    raw_send(r, to, bytes);
}

static void wrong_frames(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    job_begin(&job, 2);
    open_at(&e, &job, 0, 0, "mpi:0:40");
    knows(&e, 1, 0, "mpi:0:41");
    raw_frame(&e, 41, 10);
    MUST(e.count == 1 && e.t->figures.refused == 0); /* it can be said like this */
    raw_frame(&e, 42, 10);
    MUST(e.count == 1 && e.t->figures.refused == 1); /* that process is not there */
    raw_frame(&e, 41, 2 * PIECE);
    MUST(e.open_places == 1);
    raw_frame(&e, 41, 2 * PIECE);
    MUST(e.open_places == 1 && e.t->figures.refused == 2); /* the last one is not whole */
    raw_frame(&e, 41, 10);
    MUST(e.count == 1 && e.t->figures.refused == 3);
    knows(&e, 1, 1, NULL);
    end_poll(&e);
    MUST(e.open_places == 0 && e.broken == 1);
    end_close(&e);
    job_end(&job);
}

static void raw_ack(struct end *to, uint32_t inc, uint64_t at)
{
    struct raw *r = raw_new(KIND_ACK, 0);
    r->head.from_inc = inc;
    r->head.at = at;
    raw_send(r, to, sizeof r->head);
}

/* What was never sent can not have been taken, and a dead incarnation takes nothing. */
static void wrong_acknowledgements(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    struct parcel p;
    job_begin(&job, 2);
    open_at(&e, &job, 0, 0, "mpi:0:40");
    knows(&e, 1, 3, NULL);
    parcel_make(&p, &e, 1, 3, 1, 0, 20 * MIB);
    MUST(parcel_send(&p, &e) == HARK_T_AGAIN);
    uint64_t done = p.out.done;
    const struct {
        uint32_t inc;
        uint64_t at;
    } wrong[] = {{2, 300000}, {4, 300000}, {3, 4 * MIB + 1}, {3, UINT64_MAX}}; /* window: 4 MiB */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        raw_ack(&e, wrong[i].inc, wrong[i].at);
        MUST(parcel_send(&p, &e) == HARK_T_AGAIN && p.out.done == done);
    }
    raw_ack(&e, 3, 300000);
    MUST(parcel_send(&p, &e) == HARK_T_AGAIN && p.out.done > done);
    parcel_free(&p);
    end_close(&e);
    job_end(&job);
}

/* ---- what outlives its end ------------------------------------------------------------------- */

/* close() with messages under way: they are sent all the same. */
static void close_while_sending(void **state)
{
    (void)state;
    struct job job;
    struct end from, to;
    job_begin(&job, 2);
    open_at(&from, &job, 0, 0, NULL);
    open_at(&to, &job, 1, 0, NULL);
    knows(&from, 1, 0, to.t->ops->address(to.t));
    for (uint64_t i = 0; i < 4; i++) send_now(&from, 1, 0, i, 700000 + i);
    MUST(!from.t->ops->drained(from.t));
    end_close(&from);
    until_count(&to, 4, &to, 1);
    for (uint64_t i = 0; i < 4; i++) MUST(end_heard(&to, i) == 1);
    end_close(&to);
    job_end(&job);
}

/* Nobody ever receives these: hark_mpi_free() does. */
static void nothing_is_left(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    char error[200] = "";
    struct hark_mpi *before = mpi;
    job_begin(&job, 3);
    MUST(hark_mpi_new(&mpi, MPI_COMM_SELF, NULL) == HARK_T_OK);
    open_at(&e, &job, 0, 0, NULL);
    knows(&e, 1, 0, "mpi:0:9");
    for (uint64_t i = 0; i < 4; i++) send_now(&e, 1, 0, i, i % 2 ? 700000 : 10);
    MUST(hark_mpi_free(mpi, error) == HARK_T_EINVAL && strstr(error, "open") != NULL);
    MUST(hark_mpi_free(mpi, NULL) == HARK_T_EINVAL);
    end_close(&e);
    MUST(hark_mpi_free(mpi, error) == HARK_T_OK);
    mpi = before;
    job_end(&job);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {TEST(early), TEST(late), TEST(moved), TEST(other_owner),
        TEST(addresses), TEST(chosen_again), TEST(options), TEST(news_wake), TEST(drained_wakes),
        TEST(wrong_frames), TEST(wrong_acknowledgements), TEST(close_while_sending),
        TEST(nothing_is_left)};
    char error[200] = "";
    alarm(120);
    if (hark_mpi_new(&mpi, MPI_COMM_SELF, error) != HARK_T_EINVAL || mpi != NULL ||
        strstr(error, "not initialised") == NULL)
        return fprintf(stderr, "before MPI_Init: %s\n", error), 1;
    MPI_Init(&argc, &argv);
    if (hark_mpi_new(&mpi, MPI_COMM_SELF, error) != HARK_T_OK) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (hark_mpi_free(mpi, error) != HARK_T_OK) return fprintf(stderr, "%s\n", error), 1;
    if (sends != receives || sends == 0) {
        fprintf(stderr, "%ld messages sent, %ld received\n", sends, receives);
        failed = 1;
    }
    MPI_Finalize();
    return failed;
}
