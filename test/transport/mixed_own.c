/* What only a transport over two ways can suffer: hosts in addresses, frames whose way is not known
 * yet, processes that come back on another host, memory that is lent here and read there, sleep
 * that two kinds of news must end. */
#include "harness.h"
#include "mixed/mixed.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <uv.h>

const struct conformance_transport conformance_subject = {
    .name = "mixed", .ops = &hark_mixed_transport};

static const struct hark_transport_ops *const ops = &hark_mixed_transport;

/* ---- ends on hosts --------------------------------------------------------------------------- */

static void listen_on(struct hark_transport_config *config, const char *host, char text[64])
{
    snprintf(text, 64, "%s tcp:127.0.0.1:0", host);
    config->address = text;
}

static void open_on(
    struct end *e, const struct job *job, uint32_t me, uint32_t inc, const char *host)
{
    char error[200] = "", text[64];
    memset(e, 0, sizeof *e);
    e->me = me;
    e->inc = inc;
    end_config(&e->config, job, me, inc, e);
    listen_on(&e->config, host, text);
    int status = ops->open(&e->t, &e->config, error);
    if (status != HARK_T_OK) fprintf(stderr, "%s\n", error);
    MUST(status == HARK_T_OK);
}

static void open_all(struct end *e, size_t count, struct job *job, const char *const host[])
{
    job_begin(job, (uint32_t)count);
    for (uint32_t i = 0; i < count; i++) open_on(&e[i], job, i, 0, host[i]);
    ends_meet(e, count);
}

static void close_all(struct end *e, size_t count, struct job *job)
{
    for (size_t i = 0; i < count; i++) end_close(&e[i]);
    job_end(job);
}

static int tell(struct end *e, const struct end *of)
{
    return ops->peer(e->t, of->me, of->inc, ops->address(of->t));
}

/* libuv runs so often: the test is linked with --wrap for this. */
static unsigned runs;
int __real_uv_run(uv_loop_t *loop, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode)
{
    runs++;
    return __real_uv_run(loop, mode);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void must_refuse(const struct hark_transport_config *config, const char *word)
{
    char error[200] = "";
    struct hark_transport *t;
    int status = ops->open(&t, config, error);
    if (!strstr(error, word)) fprintf(stderr, "\"%s\" is not in \"%s\"\n", word, error);
    MUST(status == HARK_T_EINVAL && t == NULL && strstr(error, word));
}

static void configs(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    struct hark_transport_config config;
    static const char *const addresses[] = {"", "h0", "h0 ", " tcp:127.0.0.1:0", "tcp:127.0.0.1:0",
        "h_0 tcp:127.0.0.1:0", "a234567890123456 tcp:127.0.0.1:0"};
    static const struct {
        unsigned at;
        uint64_t value;
        const char *word;
    } option[] = {{0, (256u << 10) + 1, "ring"}, {0, 128u << 10, "ring"}, {0, 512u << 20, "ring"},
        {1, 100001, "spin"}, {2, 3600001, "handshake-ms"}, {3, (256u << 10) - 1, "window"},
        {3, (1u << 30) + 1, "window"}};
    job_begin(&job, 2);
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        end_config(&config, &job, 0, 0, &e);
        config.address = addresses[i];
        must_refuse(&config, "HOST ADDRESS");
    }
    end_config(&config, &job, 0, 0, &e);
    config.address = "h0 carrier:pigeon";
    must_refuse(&config, "unix: or tcp:");
    for (size_t i = 0; i < sizeof option / sizeof *option; i++) {
        end_config(&config, &job, 0, 0, &e);
        config.option[option[i].at] = option[i].value;
        must_refuse(&config, option[i].word);
    }
    job_end(&job);
}

/* The job and its host have 40 characters together with the one between them. */
static void long_names(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    char longer[48];
    job_begin(&job, 2);
    snprintf(longer, sizeof longer, "%.*s", 24, "a-job-of-24-characters-012345");
    MUST(strlen(longer) == 24);
    for (int more = 0; more < 2; more++) {
        struct hark_transport *t = NULL;
        char error[200] = "";
        end_config(&e.config, &job, 0, 0, &e);
        e.config.job = longer;
        e.config.address = "a23456789-12345 tcp:127.0.0.1:0";
        if (more) strcat(longer, "x");
        int status = ops->open(&t, &e.config, error);
        MUST((status == HARK_T_OK) == !more && (t != NULL) == !more);
        if (t) ops->close(t);
        else MUST(strstr(error, "more than 40 characters") && strstr(error, longer));
    }
    job_end(&job);
}

static void addresses(void **state)
{
    (void)state;
    static const char *const host[] = {"b-1", "h0"};
    struct job job;
    struct end e[2], alone;
    open_all(e, 2, &job, host);
    MUST(strncmp(ops->address(e[0].t), "b-1 tcp:127.0.0.1:", 18) == 0);
    MUST(atoi(ops->address(e[0].t) + 18) > 0);
    MUST(ops->peer(e[0].t, 1, 0, "tcp:127.0.0.1:1") == HARK_T_EINVAL);
    MUST(strstr(e[0].t->error, "rank 1") && strstr(e[0].t->error, "HOST ADDRESS"));
    MUST(ops->peer(e[0].t, 1, 0, "h0 tcp:somewhere:1") == HARK_T_EINVAL);
    MUST(strstr(e[0].t->error, "numeric"));
    MUST(ops->peer(e[0].t, 1, 0, "b-1 tcp:127.0.0.1:1") == HARK_T_EINVAL); /* as an incarnation */
    MUST(strstr(e[0].t->error, "another host"));
    MUST(tell(&e[0], &e[1]) == HARK_T_OK);
    send_wholly(&e[0], 1, 0, 1, 0, 10, e, 2);
    until_count(&e[1], 1, e, 2);
    end_close(&e[1]); /* without an address it is on h0 */
    end_config(&alone.config, &job, 1, 1, &alone);
    MUST(ops->open(&alone.t, &alone.config, NULL) == HARK_T_OK);
    MUST(strncmp(ops->address(alone.t), "h0 unix:", 8) == 0);
    ops->close(alone.t);
    end_close(&e[0]);
    job_end(&job);
}

/* ---- a way that is not known ----------------------------------------------------------------- */

/* Whatever was sent before the address came goes where the receiver then is, in its order; of what
 * is kept by the caller a copy is where it shall be. */
static void kept_until_known(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h0", "h1"};
    for (uint32_t to = 1; to < 3; to++) {
        struct job job;
        struct end e[3];
        uint8_t *elsewhere = calloc(1, 3000);
        job_begin(&job, 3);
        for (uint32_t i = 0; i < 3; i++) open_on(&e[i], &job, i, 0, host[i]);
        uint8_t *lent = ops->lend(e[0].t, 1 * MIB);
        MUST(elsewhere && lent);
        for (uint64_t id = 1; id <= 30; id++) {
            struct parcel p;
            uint64_t length = id == 7 ? 600 * KIB : id == 8 ? 3000 : 1000 * id;
            parcel_make(&p, &e[0], to, 0, id, (uint32_t)(id * 10), length);
            p.out.keep = id == 7 ? lent : id == 8 ? elsewhere : NULL;
            MUST(parcel_send(&p, &e[0]) == HARK_T_OK);
            MUST(id != 7 || filled(lent, length, id));
            MUST(id != 8 || filled(elsewhere, length, id));
            parcel_free(&p);
        }
        memset(elsewhere, 0xee, 3000);
        MUST(!ops->drained(e[0].t));
        for (int i = 0; i < 20; i++) ends_poll(e, 3);
        MUST(e[to].count == 0);
        MUST(tell(&e[0], &e[to]) == HARK_T_OK);
        until_count(&e[to], 30, e, 3);
        for (uint64_t id = 1; id <= 30; id++) MUST(e[to].got[id - 1].id == id);
        while (!ops->drained(e[0].t)) ends_poll(e, 3);
        MUST(e[0].t->figures.frames_out == 30 && e[to].t->figures.frames_in == 30);
        MUST(e[0].t->figures.bytes_out == e[to].t->figures.bytes_in);
        free(elsewhere);
        close_all(e, 3, &job);
    }
}

/* So much is not kept. What had AGAIN for that goes when the address is there, and wait() does not
 * sleep then. */
static void too_much_to_keep(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h0", "h1"};
    for (uint32_t to = 1; to < 3; to++) {
        struct job job;
        struct end e[3];
        struct parcel p;
        uint64_t id = 0;
        job_begin(&job, 3);
        for (uint32_t i = 0; i < 3; i++) open_on(&e[i], &job, i, 0, host[i]);
        parcel_make(&p, &e[0], to, 0, 100, 0, 200 * KIB); /* one alone that is too long */
        MUST(parcel_send(&p, &e[0]) == HARK_T_AGAIN && p.out.done == 0);
        parcel_free(&p);
        for (int status = HARK_T_OK; status == HARK_T_OK;) {
            parcel_make(&p, &e[0], to, 0, ++id, 0, 100 * KIB);
            status = parcel_send(&p, &e[0]);
            MUST(status == HARK_T_OK || status == HARK_T_AGAIN);
            if (status == HARK_T_OK) parcel_free(&p);
        }
        MUST(id > 5 && id < 20);
        MUST(tell(&e[0], &e[to]) == HARK_T_OK);
        MUST(ops->wait(e[0].t, -1) == HARK_T_OK); /* or this hangs */
        while (parcel_send(&p, &e[0]) == HARK_T_AGAIN) ends_poll(e, 3);
        parcel_free(&p);
        until_count(&e[to], (size_t)id, e, 3);
        for (uint64_t i = 1; i <= id; i++) MUST(end_heard(&e[to], i) == 1);
        close_all(e, 3, &job);
    }
}

/* More than a ring holds was lent to one whose place was not known, and then frames come that do
 * not wait: none of them gets between the pieces of another. */
static void kept_and_more(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h0"};
    enum { KEPT = 8, MORE = 40 };
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) open_on(&e[i], &job, i, 0, host[i]);
    for (uint64_t id = 1; id <= KEPT; id++) send_wholly(&e[0], 1, 0, id, 0, 125 * KIB, e, 1);
    MUST(tell(&e[0], &e[1]) == HARK_T_OK); /* the ring is full now, of a frame a part is in it */
    MUST(!ops->drained(e[0].t));
    for (uint64_t id = KEPT + 1; id <= KEPT + MORE; id++) {
        struct parcel p;
        int status;
        parcel_make(&p, &e[0], 1, 0, id, 0, id % 3 ? 100 : 70 * KIB);
        while ((status = parcel_send(&p, &e[0])) == HARK_T_AGAIN) ends_poll(e, 2);
        MUST(status == HARK_T_OK);
        parcel_free(&p);
        if (id % 8 == 0) end_poll(&e[1]);
    }
    until_count(&e[1], KEPT + MORE, e, 2);
    for (uint64_t i = 0; i < KEPT + MORE; i++) MUST(e[1].got[i].id == i + 1);
    close_all(e, 2, &job);
}

/* ---- on another host ------------------------------------------------------------------------- */

static void sweep_host(const struct job *job, const char *host)
{
    char name[100];
    snprintf(name, sizeof name, "%s-%s", job->name, host);
    ops->sweep(name, job->directory);
}

/* A process comes back here and there in turn, while a frame is half sent to it and one half there
 * from it: what is for one incarnation reaches no other, and the next one is heard where it is. */
static void comes_back_elsewhere(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h1", "h1", "h0", "h2", "h0"};
    struct job job;
    struct end e[2];
    struct parcel there, back, late;
    job_begin(&job, 2);
    open_on(&e[0], &job, 0, 0, "h0");
    for (uint32_t inc = 0; inc < sizeof host / sizeof *host; inc++) {
        open_on(&e[1], &job, 1, inc, host[inc]);
        ends_meet(e, 2);
        uint64_t id = 100 * (inc + 1);
        size_t broken = e[0].broken, count = e[0].count;
        send_wholly(&e[0], 1, inc, id, 0, 3 * MIB, e, 2);
        send_wholly(&e[1], 0, 0, id + 1, 0, 3 * MIB, e, 2);
        until_count(&e[1], 1, e, 2);
        until_count(&e[0], count + 1, e, 2);
        parcel_make(&there, &e[0], 1, inc, id + 2, 0, 20 * MIB);
        parcel_make(&back, &e[1], 0, 0, id + 3, 0, 20 * MIB);
        MUST(parcel_send(&there, &e[0]) == HARK_T_AGAIN);
        while (e[0].open_places == 0) {
            MUST(parcel_send(&back, &e[1]) == HARK_T_AGAIN);
            ends_poll(e, 2);
        }
        end_close(&e[1]); /* as if it had died, but for what stays in /dev/shm */
        MUST(ops->peer(e[0].t, 1, inc + 1, NULL) == HARK_T_OK);
        MUST(parcel_send(&there, &e[0]) == HARK_T_EGONE);
        while (e[0].open_places > 0) end_poll(&e[0]);
        MUST(e[0].broken == broken + 1 && end_heard(&e[0], id + 3) == 0);
        parcel_make(&late, &e[0], 1, inc, id + 4, 0, 10);
        MUST(parcel_send(&late, &e[0]) == HARK_T_EGONE);
        parcel_free(&there);
        parcel_free(&back);
        parcel_free(&late);
    }
    end_close(&e[0]);
    job_end(&job);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Between two calls of send() a frame may move: nothing reads where it was. */
static void a_frame_moves(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h1"};
    enum { LENGTH = 6 * MIB };
    struct job job;
    struct end e[2];
    struct parcel p;
    open_all(e, 2, &job, host);
    parcel_make(&p, &e[0], 1, 0, 1, 5000, LENGTH);
    int status;
    size_t moves = 0;
    while ((status = parcel_send(&p, &e[0])) == HARK_T_AGAIN) {
        uint8_t *header = malloc(5000), *payload = malloc(LENGTH);
        MUST(header && payload);
        memcpy(header, p.header, 5000);
        memcpy(payload, p.payload, LENGTH);
        memset(p.header, 0xee, 5000);
        memset(p.payload, 0xee, LENGTH);
        ends_poll(e, 2);
        free(p.header);
        free(p.payload);
        p.out.header.at = p.header = header;
        p.out.part[0].at = p.payload = payload;
        moves++;
    }
    MUST(status == HARK_T_OK && moves > 3);
    until_count(&e[1], 1, e, 2); /* the sink looks at every byte */
    parcel_free(&p);
    close_all(e, 2, &job);
}

/* What was lent is taken back while frames of it are still to go: their receiver is dead, but we
 * have not been told. If it lives after all, it gets them. */
static void lent_and_taken_back(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h1"};
    struct job job;
    struct end e[2];
    open_all(e, 2, &job, host);
    uint8_t *a = ops->lend(e[0].t, 4 * MIB), *b = ops->lend(e[0].t, 4 * MIB);
    MUST(a && b);
    for (uint64_t id = 1; id <= 4; id++) {
        struct parcel p;
        parcel_make(&p, &e[0], 1, 0, id, 0, 2 * MIB);
        p.out.keep = (id % 2 ? a : b) + (id > 2 ? 2 * MIB : 0);
        MUST(parcel_send(&p, &e[0]) == HARK_T_OK);
        parcel_free(&p);
    }
    ops->reclaim(e[0].t, a, 4 * MIB);
    until_count(&e[1], 4, e, 2);
    for (uint64_t id = 1; id <= 4; id++) MUST(e[1].got[id - 1].id == id);
    ops->reclaim(e[0].t, b, 4 * MIB);
    close_all(e, 2, &job);
}

/* A frame that is given up half-way to another host does not arrive, what its receiver had of it is
 * broken, its memory is not looked at, and what follows arrives. So, however far it had come. */
static void withdrawn(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h1"};
    struct job job;
    struct end e[2];
    size_t broken = 0;
    open_all(e, 2, &job, host);
    for (uint64_t id = 1; id <= 40; id++) {
        struct parcel p;
        parcel_make(&p, &e[0], 1, 0, id, (uint32_t)(id % 4 * 1000), 20 * MIB);
        p.out.stays = true;
        MUST(parcel_send(&p, &e[0]) == HARK_T_AGAIN);
        for (uint64_t i = 0; i < id % 10; i++) {
            ends_poll(e, 2);
            if (i == 1) MUST(parcel_send(&p, &e[0]) == HARK_T_AGAIN);
        }
        ops->withdraw(e[0].t, &p.out);
        memset(p.payload, 0xee, 20 * MIB);
        parcel_free(&p);
        for (uint64_t i = 0; i < 2; i++) { /* also a long one */
            send_wholly(&e[0], 1, 0, 1000 + 2 * id + i, 0, i ? 2 * MIB : 100, e, 2);
            send_wholly(&e[1], 0, 0, 1000 + 2 * id + i, 0, i ? 2 * MIB : 100, e, 2);
        }
        until_count(&e[1], 2 * (size_t)id, e, 2);
        until_count(&e[0], 2 * (size_t)id, e, 2);
        MUST(e[1].open_places == 0 && e[1].broken >= broken && e[1].broken <= broken + 1);
        broken = e[1].broken;
    }
    MUST(broken > 10 && broken < 40); /* some had begun, and some had not */
    MUST(e[0].t->figures.refused == 0 && e[1].t->figures.refused == 0);
    close_all(e, 2, &job);
}

/* ---- polling and sleeping -------------------------------------------------------------------- */

/* Where nothing comes from other hosts, nobody looks for it, neither with nor without messages of
 * this one. */
static void silence_costs_nothing(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h0", "h1"};
    struct job job;
    struct end e[3];
    open_all(e, 3, &job, host);
    for (uint32_t i = 1; i < 3; i++) send_wholly(&e[0], i, 0, i, 0, 10, e, 3);
    for (uint32_t i = 1; i < 3; i++) until_count(&e[i], 1, e, 3);
    while (!ops->drained(e[0].t)) ends_poll(e, 3);
    unsigned before;
    do { /* until what is left over of meeting is seen to */
        before = runs;
        for (int i = 0; i < 1000; i++) end_poll(&e[0]);
    } while (runs != before);
    for (uint64_t id = 10; id < 1000; id++) {
        send_wholly(&e[0], 1, 0, id, 0, 10, e, 2);
        send_wholly(&e[1], 0, 0, id, 0, 10, &e[1], 1);
        end_poll(&e[0]);
        end_poll(&e[0]);
    }
    MUST(e[0].count == 990 && runs == before);
    send_wholly(&e[2], 0, 0, 5000, 0, 10, &e[2], 1); /* and then it does hear */
    while (end_heard(&e[0], 5000) == 0) ends_poll(e, 3);
    close_all(e, 3, &job);
}

struct talker {
    struct end *e;
    uint64_t rounds;
};

/* Answers each frame by one of the same number. */
static void *answers(void *argument)
{
    struct talker *talker = argument;
    struct end *e = talker->e;
    for (size_t round = 0; round < talker->rounds; round++) {
        while (e->count <= round) {
            MUST(ops->wait(e->t, -1) == HARK_T_OK);
            end_poll(e);
        }
        send_wholly(e, 0, 0, 10 * e->got[round].id + e->me, 0, 50, e, 1);
    }
    while (!ops->drained(e->t)) {
        MUST(ops->wait(e->t, 1) == HARK_T_OK);
        end_poll(e);
    }
    return NULL;
}

/* One waits for a neighbour and for somebody on another host, in turn and both at once. */
static void woken_by_either(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h0", "h1"};
    enum { ROUNDS = 3000 };
    struct job job;
    struct end e[3];
    pthread_t thread[2];
    struct talker talker[2] = {{&e[1], ROUNDS}, {&e[2], ROUNDS}};
    open_all(e, 3, &job, host);
    for (int i = 0; i < 2; i++) MUST(pthread_create(&thread[i], NULL, answers, &talker[i]) == 0);
    for (uint64_t round = 0; round < ROUNDS; round++)
        for (uint32_t i = 0; i < 2; i++) {
            send_wholly(&e[0], 1 + i, 0, round, 0, 50, e, 1);
            size_t wanted = 2 * (size_t)round + (round % 2 ? 1 + i : 2 * i);
            while (e[0].count < wanted) {
                MUST(ops->wait(e[0].t, -1) == HARK_T_OK);
                end_poll(&e[0]);
            }
        }
    while (!ops->drained(e[0].t)) end_poll(&e[0]);
    for (int i = 0; i < 2; i++) MUST(pthread_join(thread[i], NULL) == 0);
    for (uint64_t round = 0; round < ROUNDS; round++)
        for (uint32_t i = 1; i < 3; i++) MUST(end_heard(&e[0], 10 * round + i) == 1);
    close_all(e, 3, &job);
}

static void enough(struct end *e, const struct label *label)
{
    (void)label;
    e->t->enough = true;
}

/* A sink that has enough at each frame gets one of a neighbour at a time, and those of other hosts
 * all the same. */
static void enough_at_each(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h0", "h1"};
    enum { EACH = 50 };
    struct job job;
    struct end e[3];
    open_all(e, 3, &job, host);
    e[0].on_arrived = enough;
    for (uint64_t id = 0; id < EACH; id++)
        for (uint32_t i = 1; i < 3; i++) send_wholly(&e[i], 0, 0, 10 * id + i, 0, 10, &e[i], 1);
    size_t together = 0;
    while (e[0].count < 2 * EACH) {
        size_t before = e[0].count;
        ends_poll(e, 3);
        size_t near = 0;
        for (size_t i = before; i < e[0].count; i++) near += e[0].got[i].from == 1;
        MUST(near <= 1);
        together += near == 1 && e[0].count > before + 1;
    }
    MUST(together == 0);
    close_all(e, 3, &job);
}

/* The thread takes no signals: one that we block stays for us. */
static void signals(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h1"};
    struct job job;
    struct end e[2];
    sigset_t one, before, now;
    int number = 0;
    open_all(e, 2, &job, host);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    MUST(kill(getpid(), SIGUSR2) == 0); /* anybody who does not block it dies */
    MUST(sigpending(&now) == 0 && sigismember(&now, SIGUSR2) == 1);
    MUST(sigwait(&one, &number) == 0 && number == SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    send_wholly(&e[0], 1, 0, 1, 0, 10, e, 2);
    until_count(&e[1], 1, e, 2);
    close_all(e, 2, &job);
}

/* ---- sweeping -------------------------------------------------------------------------------- */

/* Each host's supervisor takes away what its own left. */
static void sweeps(void **state)
{
    (void)state;
    static const char *const host[] = {"h1", "h1", "h11", "h11", "h0"};
    struct job job;
    struct end e[5];
    open_all(e, 5, &job, host);
    for (uint32_t i = 0; i < 4; i += 2) send_wholly(&e[i], i + 1, 0, i, 0, 10, &e[i], 1);
    MUST(ops->peer(e[0].t, 1, 3, ops->address(e[1].t)) == HARK_T_OK); /* who never opens */
    send_wholly(&e[0], 1, 3, 7, 0, 10, &e[0], 1);
    size_t all = job_things(&job);
    end_close(&e[0]);
    MUST(job_things(&job) > all - 2); /* the bell and the ring of the unborn are left */
    sweep_host(&job, "h1");
    size_t left = job_things(&job);
    until_count(&e[3], 1, &e[3], 1); /* nobody has taken its ring away */
    MUST(left == 3 + 1 - 1 + 1 || left == 3 + 1);
    sweep_host(&job, "h11");
    sweep_host(&job, "h1");
    MUST(job_things(&job) == 1);
    ops->sweep(job.name, job.directory); /* of a job without addresses all are on h0 */
    MUST(job_things(&job) == 0);
    close_all(e, 5, &job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(configs),
        TEST(long_names),
        TEST(addresses),
        TEST(kept_until_known),
        TEST(too_much_to_keep),
        TEST(kept_and_more),
        TEST(comes_back_elsewhere),
        TEST(a_frame_moves),
        TEST(lent_and_taken_back),
        TEST(withdrawn),
        TEST(silence_costs_nothing),
        TEST(woken_by_either),
        TEST(enough_at_each),
        TEST(signals),
        TEST(sweeps),
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    hang_after(PATIENCE);
    return cmocka_run_group_tests_name("mixed", tests, NULL, NULL);
}
