/* Hosts in addresses, frames whose way is not known yet, processes that come back on another host,
 * and what each host's supervisor takes away. */
#include "mixed_ends.h"

#include <signal.h>

const struct conformance_transport conformance_subject = {
    .name = "mixed", .ops = &hark_mixed_transport};

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

/* More than a ring holds was sent to one whose place was not known, and then frames come that do
 * not wait: none of them gets between the pieces of another. */
static void more_than_a_ring(const char *host)
{
    enum { KEPT = 8, MORE = 40 };
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) open_on(&e[i], &job, i, 0, host);
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

static void kept_and_more(void **state)
{
    (void)state;
    more_than_a_ring("h0");
    more_than_a_ring(NULL);
}

/* ---- on another host ------------------------------------------------------------------------- */

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

/* ---- sweeping -------------------------------------------------------------------------------- */

static void sweep_host(const struct job *job, const char *host)
{
    char name[100];
    snprintf(name, sizeof name, "%s-%s", job->name, host);
    ops->sweep(name, job->directory);
}

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
    MUST(left == 4);                 /* three bells and a ring */
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
        TEST(sweeps),
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    hang_after(PATIENCE);
    return cmocka_run_group_tests_name("mixed", tests, NULL, NULL);
}
