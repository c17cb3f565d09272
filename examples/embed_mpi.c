/* embed_mpi.c: checkpoints.c inside a stock MPI job. Logical processes are spread over the ranks;
 * two are lost and come back while the ranks live.
 *
 *     mpiexec -n 3 ./embed_mpi           any number of ranks, MPICH or Open MPI
 *
 * Six processes in three clusters, 0 1, 2 3 and 4 5, pass numbers round a ring under HydEE. Process
 * p lives on rank p % n of MPI, at port p / n of the transport; the recovery process and the
 * failure service live on rank 0. Frames between cores go over the transport, whose messages have a
 * communicator of their own. What the failure service is told and tells goes over MPI_COMM_WORLD,
 * as `struct control`. Images stay in the memory of the rank, which outlives its processes.
 *
 * The sink of a transport only queues what arrives: a step inside of another one's effects would
 * need effects of its own. The answer is that of a run in which nothing happens. */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hark/mpi_transport.h"
#include "hark/registry.h"

enum { RANKS = 6, STEPS = 16, EVERY = 4, IMAGES = 4, INBOX = 64, CONTROLS = 1 << 20 };
static const struct {
    uint32_t rank, step;
} loss[] = {{2, 10}, {5, 11}};
static const uint32_t cluster[RANKS] = {0, 0, 1, 1, 2, 2};
static const struct hark_range group[3] = {{0, 1}, {2, 3}, {4, 5}};

struct payload {
    uint64_t ssn, value;
};
struct frame { /* that has arrived */
    struct frame *next;
    uint32_t from, length;
    uint64_t bytes; /* of the payload: 0 in frames of the cores' own */
    struct payload payload;
    uint8_t header[HARK_FRAGMENT];
};
enum { SENDS, RECEIVES, CALLS, WAITS, ENDED }; /* WAITS: in a checkpoint call, for RESUME */
struct application {
    uint64_t x;
    uint32_t step, at;
};
struct payloads { /* those that the core may name: of its log, by receiver and ssn; and arrived, not
                     yet delivered */
    uint64_t log[RANKS][STEPS + 1];
    struct frame inbox[INBOX];
    uint32_t arrived;
};
struct image {
    uint64_t id;
    struct application app;
    struct payloads have;
    uint32_t length;
    uint8_t core[8192];
};
struct process {
    struct hark *core; /* NULL: it is lost, or lives on another rank */
    struct hark_transport *t;
    uint32_t rank, inc;
    struct application app;
    struct payloads have;
    struct frame *first, **last; /* arrived, for the core */
    struct image image[IMAGES];
};

enum kind { DIED, FACT, DONE, STORED, FAILED, RESTART, END, LAST }; /* three to rank 0 */
struct control {
    enum kind kind;
    uint32_t rank, inc, ok;
    struct hark_fact fact; /* of STORED: its id */
    struct hark_service_restart restart;
    uint32_t re, downs, incs, waves; /* of FAILED and RESTART: the announcement */
    uint32_t down[RANKS];
    struct hark_incarnation incarnation[RANKS + 1];
    struct hark_decision wave[RANKS];
};

static int my_rank, size;
static struct hark_mpi *mpi;
static const char *job_name;
static struct process process[RANKS + 1];
static struct hark *service; /* on rank 0 */
static uint32_t done[RANKS]; /* on rank 0: the incarnation that has ended, and one */
static bool over;            /* this job */
static int begun;            /* new incarnations of both jobs, on this rank */
static int lasts;            /* ranks that say no more in it */

static void step(struct process *p, struct hark_event event, const struct frame *f);

static void expect(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "embed_mpi: rank %d: %s\n", my_rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int home(uint32_t rank)
{
    return rank == HARK_RECOVERY ? 0 : (int)rank % size;
}

static const char *address_of(uint32_t rank, char text[32])
{
    int number = rank == HARK_RECOVERY ? RANKS : (int)rank / size;
    snprintf(text, 32, "mpi:%d:%d", home(rank), number);
    return text;
}

static struct process *process_of(uint32_t rank)
{
    return &process[rank == HARK_RECOVERY ? RANKS : rank];
}

/* Buffered by MPI: it never waits for the receiver, which may be this rank. */
static void tell(int to, const struct control *c)
{
    MPI_Bsend(c, sizeof *c, MPI_BYTE, to, 0, MPI_COMM_WORLD);
}

/* ---- frames over the transport --------------------------------------------------------------- */

static void *place(void *self, const struct hark_frame *f)
{
    (void)self, (void)f;
    return NULL; /* ours are short */
}

static void broken(void *self, const struct hark_frame *f, void *payload)
{
    (void)self, (void)f, (void)payload;
}

static void put(struct process *p, const struct frame *f)
{
    struct frame *copy = malloc(sizeof *copy);
    expect(copy != NULL, "no memory");
    *copy = *f;
    copy->next = NULL;
    *p->last = copy;
    p->last = &copy->next;
}

static void arrived(void *self, const struct hark_frame *x, const void *payload)
{
    struct frame f = {.from = x->from, .length = x->header.length, .bytes = x->length};
    expect(f.length <= sizeof f.header && x->length <= sizeof f.payload, "a strange frame");
    memcpy(f.header, x->header.at, f.length);
    if (x->length > 0) memcpy(&f.payload, payload, x->length);
    put(self, &f);
}

/* A frame leaves; what is sent again comes from the log. */
static void transmit(struct process *p, const struct hark_transmit *x)
{
    struct payload payload = {x->name.ssn, p->app.x};
    struct hark_outgoing out = {.to = x->peer, .inc = x->inc, .header = x->header};
    if (x->replay) payload.value = p->have.log[x->name.peer][x->name.ssn];
    if (x->name.ssn > 0) out.part[0] = (struct hark_part){&payload, sizeof payload};
    int status;
    while ((status = p->t->ops->send(p->t, &out)) == HARK_T_AGAIN)
        expect(p->t->ops->poll(p->t) >= 0, p->t->error);
    expect(status == HARK_T_OK || status == HARK_T_EGONE, p->t->error);
}

static void open_end(struct process *p)
{
    char text[32], error[200];
    struct hark_transport_config config = {.job = job_name,
        .me = p->rank,
        .inc = p->inc,
        .ranks = RANKS,
        .address = address_of(p->rank, text),
        .sink = {p, place, arrived, broken}};
    hark_mpi_join(mpi, &config);
    int status = hark_mpi_transport()->open(&p->t, &config, error);
    expect(status == HARK_T_OK, error);
    for (uint32_t i = 0; i <= RANKS; i++) { /* addresses follow from ranks */
        const uint32_t rank = i < RANKS ? i : HARK_RECOVERY;
        expect(p->t->ops->peer(p->t, rank, 0, address_of(rank, text)) == HARK_T_OK, "no peer");
    }
}

/* ---- a process, as in checkpoints.c ---------------------------------------------------------- */

static struct image *image(struct process *p, uint64_t id) /* id 0: room for one */
{
    struct image *m = NULL;
    for (int i = 0; i < IMAGES; i++)
        if (p->image[i].id == id) m = &p->image[i];
    expect(m != NULL, "no such image");
    return m;
}

/* Saves what makes up the process now: not more payloads than the core names. */
static void capture(struct process *p, uint64_t id)
{
    struct image *m = image(p, 0);
    struct hark_names run;
    *m = (struct image){.id = id, .app = p->app};
    m->length = (uint32_t)hark_pack(p->core, &hark_hydee_shape, m->core, sizeof m->core);
    expect(m->length <= sizeof m->core, "no room for an image");
    for (uint64_t cursor = 0; hark_hydee_names(p->core, &cursor, &run);)
        for (uint64_t ssn = run.name.ssn; ssn <= run.last; ssn++) {
            if (run.name.way == HARK_OUT)
                m->have.log[run.name.peer][ssn] = p->have.log[run.name.peer][ssn];
            for (uint32_t i = 0; run.name.way == HARK_IN && i < p->have.arrived; i++)
                if (p->have.inbox[i].from == run.name.peer && p->have.inbox[i].payload.ssn == ssn)
                    m->have.inbox[m->have.arrived++] = p->have.inbox[i];
        }
}

static void begin(struct process *p, uint32_t rank, uint32_t inc)
{
    const bool member = rank != HARK_RECOVERY;
    const struct hark_config config = {.me = rank,
        .ranks = RANKS,
        .flags = HARK_DIGEST,
        .cluster = member ? &group[cluster[rank]] : NULL,
        .cluster_count = member};
    const struct hark_protocol *protocol = hark_protocol_named(member ? "hydee" : "recovery");
    const uint64_t bytes = protocol->size(&config) + 16384; /* else: hark_wants, hark_grow */
    p->core = malloc(bytes);
    p->rank = rank;
    p->inc = inc;
    p->app = (struct application){.x = rank};
    memset(&p->have, 0, sizeof p->have);
    p->first = NULL;
    p->last = &p->first;
    expect(p->core && protocol->init(p->core, bytes, &config) == HARK_OK, "no core");
    open_end(p);
}

/* Everything of the process goes but its images. Frames under way find nobody. */
static void end(struct process *p)
{
    if (p->core == NULL) return;
    p->t->ops->close(p->t);
    for (struct frame *f = p->first, *next; f; f = next) next = f->next, free(f);
    free(p->core);
    p->core = NULL;
}

static void perform(struct process *p, const struct hark_effect *x, const struct frame *f)
{
    switch (x->type) {
    case HARK_TRANSMIT: transmit(p, &x->u.transmit); break;
    case HARK_RETAIN: p->have.log[x->u.retain.name.peer][x->u.retain.name.ssn] = p->app.x; break;
    case HARK_HANDUP:
        expect(p->have.arrived < INBOX, "the inbox is full");
        p->have.inbox[p->have.arrived++] = *f;
        break;
    case HARK_HOLD: put(p, f); break; /* round again, which makes OFFER unnecessary */
    case HARK_CAPTURE: capture(p, x->u.checkpoint.id); break;
    case HARK_PERSIST:
        tell(0, &(struct control){.kind = FACT, .rank = p->rank, .fact = x->u.persist});
        break;
    case HARK_DROP: /* after a restart it may be gone already */
        for (int i = 0; i < IMAGES; i++)
            if (p->image[i].id == x->u.checkpoint.id) p->image[i].id = 0;
        break;
    case HARK_RESUME: p->app.at = SENDS, p->app.step++; break;
    case HARK_RECOVERED: printf("  process %u: recovered\n", p->rank); break;
    default: break; /* TRIM: this log is never full */
    }
}

/* Gives the core an event and performs the effects. `f`: the frame that arrives. */
static void step(struct process *p, struct hark_event event, const struct frame *f)
{
    struct hark_effect effect[HARK_EFFECTS_ROOM];
    uint8_t bytes[HARK_EFFECTS_BYTES];
    struct hark_effects fx = {
        .at = effect, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = sizeof bytes};
    uint64_t captured = 0;
    const int status = hark_step(p->core, &event, &fx);
    expect(status >= 0, hark_status_text(status));
    for (const struct hark_effect *x = effect; x < effect + fx.count; x++) {
        perform(p, x, f);
        if (x->type == HARK_CAPTURE) captured = x->u.checkpoint.id;
    }
    if (status == HARK_MORE) step(p, (struct hark_event){.type = HARK_CONTINUE}, f);
    if (captured > 0)
        step(p, (struct hark_event){HARK_STORED, {.stored = {HARK_CAPTURE, 1, captured, 0}}}, NULL);
}

/* Takes the next message, if one has been handed up: all are from the left neighbour, in order. */
static bool receive(struct process *p)
{
    const struct frame f = p->have.inbox[0];
    if (p->have.arrived == 0) return false;
    memmove(p->have.inbox, p->have.inbox + 1, --p->have.arrived * sizeof f);
    step(p, (struct hark_event){HARK_DELIVER, {.frame = {{f.header, f.length}, f.bytes}}}, NULL);
    p->app.x = p->app.x * 31 + f.payload.value;
    return true;
}

/* Goes on as far as it can. */
static void run(struct process *p)
{
    struct hark_event send = {HARK_SEND,
        {.send = {
             .peer = (p->rank + 1) % RANKS, .length = sizeof(struct payload), .digest = p->app.x}}};
    struct hark_event point = {
        HARK_CHECKPOINT_POINT, {.point = {.due = (p->app.step + 1) % EVERY == 0}}};
    if (p->app.at == SENDS && p->app.step == STEPS) {
        p->app.at = ENDED;
        tell(0, &(struct control){.kind = DONE, .rank = p->rank, .inc = p->inc});
    }
    if (p->app.at == SENDS) p->app.at = RECEIVES, step(p, send, NULL);
    if (p->app.at == RECEIVES && (p->app.step == 0 || receive(p)))
        p->app.at = CALLS; /* what was sent a step ago */
    if (p->app.at == CALLS) p->app.at = WAITS, step(p, point, NULL);
}

/* The core gets the next frame that has arrived. False: there is none. */
static bool take(struct process *p)
{
    struct frame *f = p->first;
    if (f == NULL) return false;
    p->first = f->next;
    if (p->first == NULL) p->last = &p->first;
    step(p, (struct hark_event){HARK_ARRIVE, {.frame = {{f->header, f->length}, f->bytes}}}, f);
    free(f);
    return true;
}

/* ---- failures -------------------------------------------------------------------------------- */

/* The announcement as the event that it is. */
static struct hark_event announced(const struct control *c)
{
    struct hark_event event = {.type = HARK_FAILED};
    event.u.failed.re = c->re;
    event.u.failed.down = c->down;
    event.u.failed.down_count = c->downs;
    event.u.failed.inc = c->incarnation;
    event.u.failed.inc_count = c->incs;
    event.u.failed.wave = c->wave;
    event.u.failed.wave_count = c->waves;
    return event;
}

/* Transports drop what is of the incarnations before these. */
static void know(struct process *p, const struct control *c)
{
    char text[32];
    for (uint32_t i = 0; i < c->incs; i++) {
        const struct hark_incarnation *x = &c->incarnation[i];
        const char *address = address_of(x->rank, text);
        expect(p->t->ops->peer(p->t, x->rank, x->inc, address) == HARK_T_OK, p->t->error);
    }
}

static uint32_t incarnation_in(const struct control *c, uint32_t rank)
{
    for (uint32_t i = 0; i < c->incs; i++)
        if (c->incarnation[i].rank == rank) return c->incarnation[i].inc;
    return 0;
}

static void on_failed(const struct control *c)
{
    for (struct process *p = process; p <= &process[RANKS]; p++) {
        if (p->core == NULL || p->inc != incarnation_in(c, p->rank)) continue; /* RESTART */
        know(p, c);
        step(p, announced(c), NULL);
    }
}

/* A new incarnation, from the checkpoint that the failure service has chosen. */
static void on_restart(const struct control *c)
{
    const struct hark_service_restart *r = &c->restart;
    struct process *p = process_of(c->rank);
    struct image *m = r->checkpoint ? image(p, r->checkpoint) : NULL;
    struct hark_event event = {
        HARK_RESTARTED, {.restarted = {.checkpoint = r->checkpoint, .re = r->re, .inc = r->inc}}};
    printf("  process %u begins anew on rank %d, from checkpoint %" PRIu64 "\n", c->rank, my_rank,
        r->checkpoint);
    begun++;
    end(p); /* if it lives, and is only of the cluster of one that does not */
    begin(p, c->rank, r->inc);
    for (int i = 0; i < IMAGES; i++)
        if (p->image[i].id > r->checkpoint) p->image[i].id = 0; /* newer ones have never been */
    if (m != NULL) {
        event.u.restarted.image = (struct hark_bytes){m->core, m->length};
        p->app = m->app;
        memcpy(p->have.log, m->have.log, sizeof p->have.log);
        p->app.at = SENDS, p->app.step++; /* the image is of the call; RESUME does not come again */
    }
    know(p, c);
    step(p, event, NULL);
    step(p, announced(c), NULL);
    for (uint32_t i = 0; m && i < m->have.arrived; i++) put(p, &m->have.inbox[i]);
}

static void on_stored(const struct control *c)
{
    struct process *p = process_of(c->rank);
    struct hark_event event = {
        HARK_STORED, {.stored = {HARK_PERSIST, c->ok != 0, c->fact.id, c->fact.kind}}};
    if (p->core != NULL && p->inc == c->inc) step(p, event, NULL);
}

static void lose(struct process *p)
{
    printf("process %u is lost on rank %d in step %u\n", p->rank, my_rank, p->app.step);
    end(p);
    tell(0, &(struct control){.kind = DIED, .rank = p->rank});
}

/* ---- the failure service, on rank 0 ---------------------------------------------------------- */

static void announce(enum kind kind, int to, uint32_t rank)
{
    struct control c = {.kind = kind, .rank = rank};
    struct hark_event failed;
    hark_service_failed(service, &failed, c.down, c.incarnation, c.wave);
    c.restart = hark_service_restart(service, rank);
    c.re = failed.u.failed.re;
    c.downs = (uint32_t)failed.u.failed.down_count;
    c.incs = (uint32_t)failed.u.failed.inc_count;
    c.waves = (uint32_t)failed.u.failed.wave_count;
    tell(to, &c);
}

/* Gives the failure service an event and performs the effects. `asks`: whose FACT it is. */
static void change(struct hark_service_event event, uint32_t asks)
{
    struct hark_service_effect effect[8 + RANKS];
    const struct hark_fact fact = event.u.fact;
    while (event.type) {
        struct hark_service_effects fx = {.at = effect, .room = 8 + RANKS};
        const int status = hark_service_step(service, &event, &fx);
        expect(status == HARK_OK, hark_status_text(status));
        event = (struct hark_service_event){0};
        for (const struct hark_service_effect *x = effect; x < effect + fx.count; x++) {
            if (x->type == HARK_SERVICE_RECORD) /* this rank lives as long as the job */
                event = (struct hark_service_event){HARK_SERVICE_DURABLE, {.durable = {true}}};
            if (x->type == HARK_SERVICE_ANSWER)
                tell(home(asks), &(struct control){.kind = STORED,
                                     .rank = asks,
                                     .inc = hark_service_incarnation(service, asks),
                                     .ok = x->id != 0,
                                     .fact = fact});
            for (int to = 0; x->type == HARK_SERVICE_ANNOUNCE && to < size; to++)
                announce(FAILED, to, 0);
            if (x->type == HARK_SERVICE_RESTART) announce(RESTART, home(x->rank), x->rank);
        }
    }
}

/* All have ended, and nobody needs their logs any more. */
static void look_for_the_end(void)
{
    for (uint32_t i = 0; i < RANKS; i++)
        if (done[i] != hark_service_incarnation(service, i) + 1) return;
    if (hark_service_down(service) > 0) return;
    done[0] = 0; /* once */
    for (int to = 0; to < size; to++) tell(to, &(struct control){.kind = END});
}

/* ---- a rank ---------------------------------------------------------------------------------- */

static void on_control(const struct control *c)
{
    switch (c->kind) {
    case DIED:
        change((struct hark_service_event){HARK_SERVICE_DIED, {.died = {&c->rank, 1, false}}}, 0);
        break;
    case FACT:
        change((struct hark_service_event){HARK_SERVICE_FACT, {.fact = c->fact}}, c->rank);
        break;
    case DONE: done[c->rank] = c->inc + 1; break;
    case STORED: on_stored(c); break;
    case FAILED: on_failed(c); break;
    case RESTART: on_restart(c); break;
    case END: over = true; break;
    case LAST: break;
    }
    if (my_rank == 0 && (c->kind == DONE || c->kind == FACT)) look_for_the_end();
}

static bool hear(void)
{
    struct control c;
    int there;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    if (!there) return false;
    MPI_Recv(&c, sizeof c, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (c.kind == LAST) lasts++;
    else if (!over) on_control(&c);
    return true;
}

/* What was still said in this job is heard, and all ports are free for the next one. */
static void part(void)
{
    for (uint32_t i = 0; i <= RANKS; i++) end(&process[i]);
    for (int to = 0; to < size; to++) tell(to, &(struct control){.kind = LAST});
    while (lasts < size) hear();
    lasts = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One turn of one process. Returns whether anything has moved. */
static bool turn(struct process *p, uint32_t losses)
{
    const struct application before = p->app;
    expect(p->t->ops->poll(p->t) >= 0, p->t->error);
    bool moved = take(p);
    if (p->rank == HARK_RECOVERY) return moved;
    run(p);
    moved |= memcmp(&before, &p->app, sizeof before) != 0;
    for (uint32_t i = 0; i < losses; i++)
        if (p->core && p->rank == loss[i].rank && p->inc == 0 && p->app.step >= loss[i].step)
            lose(p);
    return moved;
}

/* All processes from beginning to end, with so many losses; `answer`: what each has at the end. */
static void job(const char *name, uint32_t losses, uint64_t answer[RANKS])
{
    job_name = name;
    over = false;
    memset(done, 0, sizeof done);
    for (uint32_t i = 0; i <= RANKS; i++) {
        const uint32_t rank = i < RANKS ? i : HARK_RECOVERY;
        memset(process[i].image, 0, sizeof process[i].image);
        if (home(rank) == my_rank) begin(&process[i], rank, 0);
    }
    while (!over) {
        bool moved = hear();
        struct process *last = NULL;
        for (struct process *p = process; p <= &process[RANKS]; p++) {
            if (p->core) moved |= turn(p, losses);
            if (p->core) last = p;
        }
        if (moved || last == NULL) continue;
        for (struct process *p = process; p <= &process[RANKS]; p++)
            if (p->core) step(p, (struct hark_event){.type = HARK_IDLE}, NULL);
        last->t->ops->wait(last->t, 1); /* ends early only for a frame to this one */
    }
    for (uint32_t i = 0; i < RANKS; i++) answer[i] = process[i].core ? process[i].app.x : 0;
    part();
    MPI_Allreduce(MPI_IN_PLACE, answer, RANKS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}

static void begin_service(void)
{
    const struct hark_service_config config = {
        hark_protocol_named("hydee"), RANKS, cluster, .generations = 2, .unverified = true};
    const uint64_t bytes = hark_service_size(&config) + 4096;
    free(service);
    service = malloc(bytes);
    expect(service && hark_service_init(service, bytes, &config) == HARK_OK, "no failure service");
}

int main(int argc, char **argv)
{
    static uint64_t calm[RANKS], failed[RANKS];
    static uint8_t buffer[CONTROLS];
    char error[200];
    void *detached;
    int bytes;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Buffer_attach(buffer, sizeof buffer);
    expect(hark_mpi_new(&mpi, MPI_COMM_WORLD, error) == HARK_T_OK, error);
    begin_service();
    job("calm", 0, calm);
    begin_service();
    job("failed", 2, failed);
    expect(hark_mpi_free(mpi, error) == HARK_T_OK, error);
    free(service);
    for (int i = 0; my_rank == 0 && i < RANKS; i++)
        printf("process %d: %016" PRIx64 ", %016" PRIx64 "\n", i, calm[i], failed[i]);
    MPI_Allreduce(MPI_IN_PLACE, &begun, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(begun == 4, "expected four new incarnations, of two clusters");
    MPI_Buffer_detach(&detached, &bytes);
    MPI_Finalize();
    return memcmp(calm, failed, sizeof calm) != 0;
}
