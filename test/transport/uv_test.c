/* Sockets under the conformance suite, with neighbours that throw garbage at them; and, with
 * UV_OWN_TESTS, a program of its own for what only sockets can suffer: wrong keys, echoes, slow
 * speakers, connections cut anywhere. The handshake and the heads of frames are written down here a
 * second time, so a change of the wire shows. */
#include "harness.h"
#include "uv/address.h"
#include "uv/uv.h"

#include <errno.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 0x31767568, HELLO = 52, CHALLENGE = 76, PROOF = 40 };
enum { MAGIC_ENCRYPT = 0x32767568, MORE = 33 }; /* HARK_TEST_ENCRYPT */

static bool encrypts(void)
{
    return getenv("HARK_TEST_ENCRYPT") != NULL;
}

/* HARK_TEST_ENCRYPT=chacha: a processor without instructions for AES. */
int __real_crypto_aead_aes256gcm_is_available(void);
int __wrap_crypto_aead_aes256gcm_is_available(void);
int __wrap_crypto_aead_aes256gcm_is_available(void)
{
    if (encrypts() && strcmp(getenv("HARK_TEST_ENCRYPT"), "chacha") == 0) return 0;
    return __real_crypto_aead_aes256gcm_is_available();
}

static void put(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static int connect_to(const char *text)
{
    struct address a;
    MUST(hark_uv_address_parse(&a, text) == NULL);
    int fd = socket(a.at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(fd >= 0 && connect(fd, &a.at.any, a.length) == 0);
    return fd;
}

static void say(int fd, const uint8_t *bytes, size_t length)
{
    (void)!send(fd, bytes, length, MSG_NOSIGNAL); /* they may have hung up: fine */
}

static void hello(uint8_t at[HELLO], uint32_t from, uint32_t from_inc, uint32_t to, uint32_t to_inc,
    uint8_t nonce)
{
    put(at, encrypts() ? MAGIC_ENCRYPT : MAGIC, 4);
    put(at + 4, from, 4);
    put(at + 8, from_inc, 4);
    put(at + 12, to, 4);
    put(at + 16, to_inc, 4);
    memset(at + 20, nonce, 32);
}

/* ---- garbage for the suite ------------------------------------------------------------------- */

static int open_fds[512];
static size_t open_count;

static void hang_up(void)
{
    while (open_count > 0) close(open_fds[--open_count]);
}

static void garbage(
    const struct hark_transport_config *victim, const char *address, uint32_t as, unsigned round)
{
    uint8_t text[300];
    const size_t whole = HELLO + (encrypts() ? MORE : 0);
    size_t length = whole;
    int fd = connect_to(address);
    for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)mix(round * 1000 + i);
    if (round % 8 != 0) hello(text, as, round, victim->me, victim->inc, 7);
    switch (round % 8) {
    case 0: length = 1 + mix(round) % 299; break;
    case 1: text[mix(round) % 4] ^= 1; break;           /* another version */
    case 2: length = mix(round) % whole; break;         /* cut, and left so */
    case 3: length = whole + PROOF; break;              /* a proof that is none */
    case 4: put(text + 4, victim->ranks + 3, 4); break; /* nobody */
    case 5: length = 0; break;
    case 6: put(text + 4, victim->me, 4); break;        /* the victim itself */
    default: put(text + 16, victim->inc + 1, 4); break; /* for another incarnation */
    }
    say(fd, text, length);
    if (round % 3 && open_count < sizeof open_fds / sizeof *open_fds) open_fds[open_count++] = fd;
    else close(fd);
}

static void configure(struct hark_transport_config *config)
{
    if (getenv("HARK_TEST_UV") != NULL) config->address = getenv("HARK_TEST_UV");
    config->encrypts = encrypts();
}

const struct conformance_transport conformance_subject = {.name = "uv",
    .ops = &hark_uv_transport,
    .processes = true,
    .chunk = 128 * KIB,
    .configure = configure,
    .end = hang_up,
    .garbage = garbage};

#ifdef UV_OWN_TESTS

/* ---- ends with a difference ------------------------------------------------------------------ */

static void open_with(struct end *e, const struct job *job, uint32_t me,
    void (*differ)(struct hark_transport_config *))
{
    char error[200] = "";
    memset(e, 0, sizeof *e);
    e->me = me;
    end_config(&e->config, job, me, 0, e);
    if (differ) differ(&e->config);
    int status = conformance_subject.ops->open(&e->t, &e->config, error);
    if (status != HARK_T_OK) fprintf(stderr, "%s\n", error);
    MUST(status == HARK_T_OK);
}

static void other_key(struct hark_transport_config *config)
{
    config->key[31] ^= 1;
}

static void hurried(struct hark_transport_config *config)
{
    config->option[0] = 20; /* ms */
    config->option[1] = 4;
}

static void peer_is(struct end *e, uint32_t rank, const char *address)
{
    MUST(e->t->ops->peer(e->t, rank, 0, address) == HARK_T_OK);
}

/* The honest still understand each other, both ways. */
static void all_is_well(struct end *a, struct end *b, struct end *ends, size_t count, uint64_t id)
{
    size_t heard_a = a->count, heard_b = b->count;
    send_wholly(a, b->me, 0, id, 0, 500, ends, count);
    send_wholly(b, a->me, 0, id + 1, 0, 300000, ends, count);
    until_count(a, heard_a + 1, ends, count);
    until_count(b, heard_b + 1, ends, count);
}

static void close_all(struct end *e, size_t count, struct job *job)
{
    for (size_t i = 0; i < count; i++) end_close(&e[i]);
    job_end(job);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void addresses(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "unix:", "tcp:", "tcp:127.0.0.1", "tcp:localhost:80",
        "tcp:1.2.3.4:99999", "tcp:1.2.3.4:", "tcp:1.2.3.4:-1", "tcp:[::1:5", "tcp:[::1]", "tcp::5",
        "file:/x", "tcp:1.2.3.4:5x"};
    struct job job;
    struct end e;
    struct hark_transport *t;
    struct hark_transport_config config;
    struct stat what;
    char error[200], text[300] = "unix:/tmp/";
    memset(text + 10, 'x', 200);
    job_begin(&job, 2);
    end_open(&e, &job, 0, 0);
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
        const char *address = i < sizeof bad / sizeof *bad ? bad[i] : text;
        MUST(e.t->ops->peer(e.t, 1, 0, address) == HARK_T_EINVAL && e.t->error[0] != 0);
        end_config(&config, &job, 1, 0, &e);
        config.address = address;
        MUST(hark_uv_transport.open(&t, &config, error) == HARK_T_EINVAL && t == NULL &&
             error[0] != 0);
    }
    end_config(&config, &job, 1, 0, &e);
    config.directory = text + 5; /* too long, then not there, then there are two of one incarnation
                                  */
    MUST(hark_uv_transport.open(&t, &config, error) == HARK_T_EINVAL && t == NULL);
    config.directory = "/tmp/hark-no-such-directory";
    MUST(hark_uv_transport.open(&t, &config, error) == HARK_T_ESYSTEM &&
         strstr(error, "hark-no-such-directory"));
    end_config(&config, &job, 0, 0, &e);
    MUST(hark_uv_transport.open(&t, &config, error) == HARK_T_ESYSTEM &&
         strstr(error, "address already in use"));
    const char *address = e.t->ops->address(e.t);
    MUST(strncmp(address, "unix:", 5) == 0 && stat(address + 5, &what) == 0 &&
         (what.st_mode & 077) == 0);
    config.directory = NULL;
    MUST(hark_uv_transport.open(&t, &config, error) == HARK_T_OK);
    MUST(strncmp(t->ops->address(t), "tcp:127.0.0.1:", 14) == 0);
    MUST(strcmp(t->ops->address(t), "tcp:127.0.0.1:0") != 0);
    t->ops->close(t);
    close_all(&e, 1, &job);
}

/* ---- strangers ------------------------------------------------------------------------------- */

/* Rank 2 has another key. Who connects finds out, whoever that is; the others do not notice. */
static void wrong_key(void **state)
{
    (void)state;
    struct job job;
    struct end e[3];
    struct parcel p[2];
    job_begin(&job, 3);
    for (uint32_t i = 0; i < 3; i++) open_with(&e[i], &job, i, i == 2 ? other_key : NULL);
    ends_meet(e, 3);
    all_is_well(&e[0], &e[1], e, 3, 10);
    parcel_make(&p[0], &e[0], 2, 0, 1, 0, 10);
    parcel_make(&p[1], &e[2], 1, 0, 2, 0, 10);
    MUST(parcel_send(&p[0], &e[0]) == HARK_T_OK); /* taken and kept, for ever */
    MUST(parcel_send(&p[1], &e[2]) == HARK_T_OK);
    while (e[0].t->figures.refused < 3 || e[2].t->figures.refused < 3) ends_poll(e, 3);
    all_is_well(&e[0], &e[1], e, 3, 20);
    MUST(e[2].count == 0 && e[0].t->ops->drained(e[0].t) == 0);
    for (int i = 0; i < 2; i++) parcel_free(&p[i]);
    close_all(e, 3, &job);
}

static void read_wholly(int fd, uint8_t *at, size_t length, struct end *ends, size_t count)
{
    for (size_t got = 0; got < length;) {
        ssize_t n = recv(fd, at + got, length - got, MSG_DONTWAIT);
        MUST(n != 0);
        if (n > 0) got += (size_t)n;
        else ends_poll(ends, count);
    }
}

static void read_to_end(int fd, struct end *e)
{
    uint8_t byte;
    ssize_t n;
    while ((n = recv(fd, &byte, 1, MSG_DONTWAIT)) < 0) {
        MUST(errno == EAGAIN);
        end_poll(e);
    }
    MUST(n == 0);
}

static int accept_from(int listener, struct end *ends, size_t count)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0) ends_poll(ends, count);
    return fd;
}

static int listen_at(const char *text)
{
    struct address a;
    MUST(hark_uv_address_parse(&a, text) == NULL);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    MUST(fd >= 0 && bind(fd, &a.at.any, a.length) == 0 && listen(fd, 64) == 0);
    return fd;
}

/* A nonce that comes twice would let an old answer pass. */
static void is_new(uint8_t (*earlier)[32], uint64_t count, const uint8_t *nonce)
{
    for (uint64_t i = 0; i < count; i++) MUST(memcmp(earlier[i], nonce, 32) != 0);
    memcpy(earlier[count], nonce, 32);
}

/* Somebody without the key sends the victim its own words: first what it has said here, then what
 * it answers as the acceptor of another connection, with the same nonce. */
static void reflection(void **state)
{
    (void)state;
    struct job job;
    struct end e[3];
    char there[200];
    uint8_t bytes[256], hellos[4][32], challenges[4][32];
    job_begin(&job, 3);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    snprintf(there, sizeof there, "unix:%s/mirror", job.directory);
    int mirror = listen_at(there);
    peer_is(&e[0], 2, there);
    send_wholly(&e[0], 2, 0, 1, 0, 10, e, 2);
    for (uint64_t round = 0; round < 4; round++) {
        int fd = accept_from(mirror, e, 2), other = -1;
        read_wholly(fd, bytes, HELLO, e, 2);
        is_new(hellos, round, bytes + 20);
        if (round % 2) { /* "I am 2, with your nonce": the answer is sealed by 0 */
            other = connect_to(e[0].t->ops->address(e[0].t));
            uint8_t mine[HELLO];
            hello(mine, 2, 0, 0, 0, 0);
            memcpy(mine + 20, bytes + 20, 32);
            say(other, mine, HELLO);
            read_wholly(other, bytes, CHALLENGE, e, 2);
            is_new(challenges, round / 2, bytes + 12);
            put(bytes + 4, 2, 4); /* who I am: that much can be altered */
        } else {
            memcpy(bytes + HELLO, bytes, CHALLENGE - HELLO);
        }
        say(fd, bytes, CHALLENGE);
        while (e[0].t->figures.refused <= round) ends_poll(e, 2);
        close(fd);
        if (other >= 0) close(other);
    }
    all_is_well(&e[0], &e[1], e, 2, 10);
    close(mirror);
    MUST(unlink(there + 5) == 0);
    close_all(e, 2, &job);
}

/* More silent and half-mute strangers than may be in their handshake at a time, on both sides of a
 * connection. */
static void slow_speakers(void **state)
{
    (void)state;
    enum { MANY = 60 };
    struct job job;
    struct end e[3];
    char there[200];
    uint8_t bytes[HELLO];
    int fd[MANY];
    job_begin(&job, 4);
    for (uint32_t i = 0; i < 3; i++) open_with(&e[i], &job, i, hurried);
    ends_meet(e, 3);
    all_is_well(&e[0], &e[1], e, 3, 10);
    for (int i = 0; i < MANY; i++) {
        fd[i] = connect_to(e[0].t->ops->address(e[0].t));
        hello(bytes, 3, 0, 0, 0, 1);
        say(fd[i], bytes, (size_t)i % (HELLO + 1)); /* some say all, and then no more */
    }
    all_is_well(&e[0], &e[1], e, 3, 20);
    all_is_well(&e[2], &e[0], e, 3, 30); /* newly met, behind all those */
    while (e[0].t->figures.refused < MANY) ends_poll(e, 3);
    for (int i = 0; i < MANY; i++) close(fd[i]);
    snprintf(there, sizeof there, "unix:%s/slow", job.directory);
    int listener = listen_at(there);
    peer_is(&e[1], 3, there);
    send_wholly(&e[1], 3, 0, 1, 0, 10, e, 3);
    int slow = accept_from(listener, e, 3);
    say(slow, bytes, 5);
    while (e[1].t->figures.refused == 0) ends_poll(e, 3);
    all_is_well(&e[0], &e[1], e, 3, 40);
    close(slow);
    close(listener);
    MUST(unlink(there + 5) == 0);
    close_all(e, 3, &job);
}

static void patient(struct hark_transport_config *config)
{
    config->option[0] = 60000; /* ms */
    config->option[1] = 4;
}

/* No more of them are answered than may be in their handshake at a time, and were refused. */
static void few_strangers(void **state)
{
    (void)state;
    enum { MANY = 12, MOST = 4 };
    struct job job;
    struct end e;
    uint8_t bytes[CHALLENGE];
    int fd[MANY];
    bool answered[MANY] = {false};
    uint64_t count = 0;
    job_begin(&job, 2);
    open_with(&e, &job, 0, patient);
    for (int i = 0; i < MANY; i++) {
        fd[i] = connect_to(e.t->ops->address(e.t));
        hello(bytes, 1, 0, 0, 0, (uint8_t)i);
        say(fd[i], bytes, HELLO);
    }
    for (int polls = 0; polls < 50 || count < MOST; polls++) {
        end_poll(&e);
        for (int i = 0; i < MANY; i++) {
            if (answered[i] || recv(fd[i], bytes, sizeof bytes, MSG_DONTWAIT) <= 0) continue;
            answered[i] = true;
            count++;
        }
        MUST(count <= MOST + e.t->figures.refused);
    }
    for (int i = 0; i < MANY; i++) close(fd[i]);
    close_all(&e, 1, &job);
}

/* ---- one who knows the key and speaks nonsense ----------------------------------------------- */

static void seal(uint8_t to[32], const struct job *job, const uint8_t *key, uint8_t role,
    const uint8_t said[HELLO], const uint8_t *their_nonce, uint64_t position)
{
    uint8_t text[144] = "hark uv 1 seal";
    text[15] = role;
    memcpy(text + 16, job->name, strlen(job->name));
    memcpy(text + 56, said + 4, 16);
    memcpy(text + 72, said + 20, 32);
    memcpy(text + 104, their_nonce, 32);
    put(text + 136, position, 8);
    crypto_generichash(to, 32, text, sizeof text, key, 32);
}

static uint64_t get(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static uint64_t has_of_us; /* so much of our stream had the end that we last joined */

/* Rank 1 by hand, joined with e if `position` can be. The answer must be sealed as it should. */
static int join_by_hand(struct end *e, const struct job *job, uint32_t inc, uint64_t position)
{
    uint8_t said[HELLO], heard[CHALLENGE], right[32], proof[PROOF];
    int fd = connect_to(e->t->ops->address(e->t));
    hello(said, 1, inc, 0, 0, (uint8_t)inc);
    say(fd, said, HELLO);
    read_wholly(fd, heard, CHALLENGE, e, 1);
    seal(right, job, e->config.key, 1, said, heard + 12, 0);
    MUST(memcmp(right, heard + 44, 32) == 0);
    put(proof, position, 8);
    seal(proof + 8, job, e->config.key, 2, said, heard + 12, position);
    say(fd, proof, PROOF);
    uint8_t welcome[PROOF];
    read_wholly(fd, welcome, PROOF, e, 1);
    has_of_us = get(welcome, 8);
    seal(right, job, e->config.key, 3, said, heard + 12, has_of_us);
    MUST(memcmp(right, welcome + 8, 32) == 0);
    return fd;
}

static void head(uint8_t at[24], uint64_t kind, uint64_t header, uint64_t payload, uint64_t ack)
{
    put(at, kind | header << 16, 8);
    put(at + 8, payload, 8);
    put(at + 16, ack, 8);
}

static void nonsense_inside(void **state)
{
    (void)state;
    static const uint64_t heads[][4] = {{3, 1, 0, 0}, {0, 1, 0, 0}, {1, 0, 5, 0},
        {1, 1, UINT64_MAX, 0}, {2, 1, 0, 0}, {2, 0, 1, 0}, {1, 1, 1, 1}, {2, 0, 0, 99},
        {1, 0x10001, 0, 0}, {0x101, 1, 0, 0}, {3, 0, 0, 0}, {4, 0, 0, 0}};
    struct job job;
    struct end e;
    uint8_t bytes[24];
    job_begin(&job, 2);
    job.frame_limit = 1000;
    end_open(&e, &job, 0, 0);
    uint32_t inc = 0;
    for (; inc < sizeof heads / sizeof *heads; inc++) {
        int fd = join_by_hand(&e, &job, inc, 0);
        head(bytes, heads[inc][0], heads[inc][1], heads[inc][2], heads[inc][3]);
        say(fd, bytes, sizeof bytes);
        while (e.t->figures.refused <= inc) end_poll(&e);
        close(fd);
    }
    int fd = join_by_hand(&e, &job, inc, 0); /* far over the limit: no memory is asked for, nobody
                                             is told */
    head(bytes, 1, 1, 1ull << 60, 0);
    say(fd, bytes, sizeof bytes);
    while (e.t->figures.refused <= inc) end_poll(&e);
    MUST(e.count == 0 && e.placed == 0);
    close(fd);
    close_all(&e, 1, &job);
}

/* One that has heard more than was said is no peer. */
static void a_wrong_position(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    uint8_t byte, greeting[24], right[24];
    job_begin(&job, 2);
    open_with(&e, &job, 0, patient);
    head(right, 2, 0, 0, 0);
    for (uint32_t inc = 0; inc < 3; inc++) {
        int fd = join_by_hand(&e, &job, inc, inc == 2 ? 0 : inc ? UINT64_MAX : 1);
        MUST(e.t->figures.refused == (inc < 2 ? inc + 1 : 2)); /* at once, with the answer */
        if (inc < 2) read_to_end(fd, &e);
        if (inc == 2) {
            read_wholly(fd, greeting, sizeof greeting, &e, 1);
            MUST(memcmp(greeting, right, sizeof right) == 0);
            MUST(recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
        }
        close(fd);
    }
    close_all(&e, 1, &job);
}

/* A connection that goes on in the middle of a long frame begins with a head that says whether the
 * rest comes. Another one there can not be. */
static void in_the_middle(void **state)
{
    (void)state;
    enum { LENGTH = 140000, PART = 5000 };
    static const uint64_t kinds[] = {2, 3, 1};
    struct job job;
    struct end e;
    static uint8_t payload[LENGTH];
    uint8_t bytes[24 + sizeof(struct label) + PART];
    job_begin(&job, 2);
    open_with(&e, &job, 0, patient);
    for (uint32_t inc = 0; inc < 3; inc++) {
        struct label label = {inc, LENGTH, sizeof label, 1, inc, 0, 0, 0};
        fill(payload, LENGTH, inc);
        int fd = join_by_hand(&e, &job, inc, 0);
        head(bytes, 1, sizeof label, LENGTH, 0);
        memcpy(bytes + 24, &label, sizeof label);
        memcpy(bytes + 24 + sizeof label, payload, PART);
        say(fd, bytes, sizeof bytes);
        while (e.open_places == 0) end_poll(&e);
        close(fd);
        fd = join_by_hand(&e, &job, inc, 0);
        MUST(has_of_us == sizeof bytes);
        head(bytes, kinds[inc], kinds[inc] == 1, 0, 0);
        say(fd, bytes, 24);
        if (kinds[inc] == 2) say(fd, payload + PART, LENGTH - PART);
        if (kinds[inc] != 1) { /* the next frame, where it belongs */
            label = (struct label){10 + inc, 8, sizeof label, 1, inc, 0, 0, 0};
            fill(payload, 8, 10 + inc);
            head(bytes, 1, sizeof label, 8, 0);
            say(fd, bytes, 24);
            say(fd, (uint8_t *)&label, sizeof label);
            say(fd, payload, 8);
            while (end_heard(&e, 10 + inc) == 0) end_poll(&e);
        }
        while (e.t->figures.refused < (kinds[inc] == 1)) end_poll(&e);
        MUST(end_heard(&e, inc) == (kinds[inc] == 2));
        MUST(e.broken == (inc > 0) && e.open_places == (kinds[inc] == 1));
        close(fd);
        if (kinds[inc] == 1) continue;
        fd = join_by_hand(&e, &job, inc, 0); /* what was withdrawn counts as heard */
        MUST(has_of_us == 24 + sizeof label + LENGTH + 24 + sizeof label + 8);
        close(fd);
    }
    close_all(&e, 1, &job);
}

/* Of two that differ in what they allow, the one with less drops what is too long, and hears what
 * follows. */
static void over_the_limit(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    end_open(&e[0], &job, 0, 0);
    job.frame_limit = 200000;
    end_open(&e[1], &job, 1, 0);
    ends_meet(e, 2);
    const uint64_t lengths[] = {100, 200000, 5000, 3 * MIB, 100000, 200001, 7};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        send_wholly(&e[0], 1, 0, i, 0, lengths[i], e, 2);
    until_count(&e[1], 4, e, 2);
    for (uint64_t i = 0; i < 7; i++) MUST(end_heard(&e[1], i) == (lengths[i] < 200000));
    MUST(e[1].t->figures.refused == 3 && e[1].t->figures.reconnects == 0 && e[1].broken == 0);
    close_all(e, 2, &job);
}

/* ---- cut connections ------------------------------------------------------------------------- */

enum { PIPES = 16 };

struct pipe { /* a connection through the proxy: [0] from who came, [1] to whom it goes */
    int fd[2];
    uint64_t left; /* bytes until it is cut */
    uint8_t bytes[2][8192];
    size_t from[2], to[2];
};

struct proxy {
    int listener;
    char here[200], there[200];
    struct pipe pipe[PIPES];
    unsigned count, open;
    uint64_t first, most, seed; /* the first is cut after `first` bytes, others at random below
                                   `most` (0: never) */
};

static void proxy_open(struct proxy *x, const struct job *job, const char *name, const char *there)
{
    memset(x, 0, sizeof *x);
    snprintf(x->here, sizeof x->here, "unix:%s/%s", job->directory, name);
    snprintf(x->there, sizeof x->there, "%s", there);
    x->listener = listen_at(x->here);
}

static void cut(struct proxy *x, unsigned i)
{
    close(x->pipe[i].fd[0]);
    close(x->pipe[i].fd[1]);
    x->pipe[i] = x->pipe[--x->open];
}

static void proxy_close(struct proxy *x)
{
    while (x->open > 0) cut(x, 0);
    close(x->listener);
    MUST(unlink(x->here + 5) == 0);
}

/* From one side to the other, what can be. False: to be cut. */
static bool carry(struct pipe *p, int way)
{
    if (p->from[way] == p->to[way]) {
        ssize_t n = recv(p->fd[way], p->bytes[way], sizeof p->bytes[way], MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) return false;
        p->from[way] = 0;
        p->to[way] = n > 0 ? (size_t)n : 0;
    }
    size_t length = p->to[way] - p->from[way];
    if (length > p->left) length = (size_t)p->left;
    ssize_t n = length ? send(p->fd[1 - way], p->bytes[way] + p->from[way], length,
                             MSG_DONTWAIT | MSG_NOSIGNAL)
                       : 0;
    if (n < 0 && errno != EAGAIN) return false;
    if (n > 0) p->from[way] += (size_t)n, p->left -= (size_t)n;
    return p->left > 0;
}

static void proxy_go(struct proxy *x)
{
    for (int fd; x->open < PIPES && (fd = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
        struct pipe *p = &x->pipe[x->open++];
        memset(p, 0, sizeof *p);
        p->fd[0] = fd;
        p->fd[1] = connect_to(x->there);
        p->left = x->most ? mix(x->seed++) % x->most : UINT64_MAX;
        if (x->count++ == 0 && x->first != UINT64_MAX) p->left = x->first;
    }
    for (unsigned i = 0; i < x->open;)
        if (carry(&x->pipe[i], 0) && carry(&x->pipe[i], 1)) i++;
        else cut(x, i);
}

/* Two ends and a proxy on each side: all that either says to the other arrives once, and nothing is
 * broken. */
static uint64_t talk_through(
    uint64_t first, uint64_t most, uint64_t seed, uint64_t frames, uint64_t longest, bool answer)
{
    struct job job;
    struct end e[2];
    struct proxy x[2];
    struct parcel p[2];
    uint64_t sent[2] = {0, answer ? 0 : frames}, back = answer ? frames : 0;
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    for (uint32_t i = 0; i < 2; i++) {
        proxy_open(&x[i], &job, i ? "proxy1" : "proxy0", e[i].t->ops->address(e[i].t));
        x[i].first = first;
        x[i].most = most;
        x[i].seed = seed * 1000 + i * 500;
        peer_is(&e[1 - i], i, x[i].here);
    }
    memset(p, 0, sizeof p);
    while (sent[0] < frames || sent[1] < frames || e[1].count < frames || e[0].count < back) {
        for (uint32_t i = 0; i < 2; i++) {
            if (sent[i] < frames) {
                uint64_t id = seed * 100 + sent[i];
                uint64_t length = longest < 200 ? longest : mix(id + i) % longest;
                if (!p[i].header) parcel_make(&p[i], &e[i], 1 - i, 0, id, 0, length);
                int status = parcel_send(&p[i], &e[i]);
                MUST(status == HARK_T_OK || status == HARK_T_AGAIN);
                if (status == HARK_T_OK) parcel_free(&p[i]), sent[i]++;
            }
            proxy_go(&x[i]);
            end_poll(&e[i]);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        for (uint64_t k = 0; k < frames && (answer || i == 1); k++)
            MUST(end_heard(&e[i], seed * 100 + k) == 1);
        MUST(e[i].broken == 0 && e[i].open_places == 0 && e[i].t->figures.refused == 0);
    }
    uint64_t reconnects = e[0].t->figures.reconnects;
    for (int i = 0; i < 2; i++) end_close(&e[i]), proxy_close(&x[i]);
    job_end(&job);
    return reconnects;
}

/* The first connection is cut after each number of bytes, in the handshake and in the frames behind
 * it. */
static void cut_at_every_byte(void **state)
{
    (void)state;
    uint64_t reconnects = 0;
    const uint64_t most = encrypts() ? 1300 : 900;
    for (uint64_t bytes = 0; bytes < most; bytes++)
        reconnects += talk_through(bytes, 0, bytes, 5, 60, bytes % 2);
    MUST(reconnects > 300); /* that is, cut behind the handshake */
}

/* Every connection is cut, after random numbers of bytes; frames short and long, one way and both
 * ways. */
static void cut_again_and_again(void **state)
{
    (void)state;
    uint64_t reconnects = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        reconnects += talk_through(UINT64_MAX, 4000 + seed * 200, seed, 30, 1500, seed % 2);
        reconnects += talk_through(UINT64_MAX, 600000, seed, 12, 900000, seed % 2);
    }
    MUST(reconnects > 500);
}

/* Both connect at the same time, and look at it in all orders: one connection comes out of it, at
 * once. */
static void crossing(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 256; order++) {
        struct job job;
        struct end e[2];
        job_begin(&job, 2);
        for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
        ends_meet(e, 2);
        for (uint32_t i = 0; i < 2; i++) send_wholly(&e[i], 1 - i, 0, i, 0, 10, e, 0);
        for (unsigned i = 0; i < 8; i++) end_poll(&e[order >> i & 1]);
        for (uint32_t i = 0; i < 2; i++) until_count(&e[i], 1, e, 2);
        all_is_well(&e[0], &e[1], e, 2, 10);
        for (uint32_t i = 0; i < 2; i++)
            MUST(e[i].t->figures.reconnects == 0 && e[i].t->figures.refused == 0);
        close_all(e, 2, &job);
    }
}

/* A peer was thought elsewhere, and is told again where that is, then where it is: at once it is
 * looked for there, though one address is as long as the other. */
static void another_address(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    char wrong[300];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    snprintf(wrong, sizeof wrong, "%s", e[1].t->ops->address(e[1].t));
    wrong[strlen(wrong) - 1] ^= 1; /* nobody is there */
    for (int i = 0; i < 2; i++) peer_is(&e[0], 1, wrong);
    for (int i = 0; i < 10; i++) ends_poll(e, 2);
    MUST(e[1].count == 0);
    peer_is(&e[0], 1, e[1].t->ops->address(e[1].t));
    all_is_well(&e[0], &e[1], e, 2, 10);
    close_all(e, 2, &job);
}

/* An end that closes says how much has come to it: its peer is not left with frames that seem to be
 * on their way, though somebody else is where the end was, who never answers. */
static void farewell(void **state)
{
    (void)state;
    for (uint32_t who = 0; who < 2; who++) {
        struct job job;
        struct end e[2];
        struct end *leaves = &e[who], *stays = &e[1 - who];
        char there[300];
        job_begin(&job, 2);
        for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
        send_wholly(stays, who, 0, 0, 0, 1000, e, 2);
        MUST(stays->t->ops->drained(stays->t) == 0); /* they have not met yet */
        ends_meet(e, 2);
        until_count(leaves, 1, e, 2);
        all_is_well(&e[0], &e[1], e, 2, 10);
        const size_t before = leaves->count;
        send_wholly(stays, who, 0, 1, 0, 1000, e, 2);
        until_count(leaves, before + 1, e, 2);
        snprintf(there, sizeof there, "%s", leaves->t->ops->address(leaves->t));
        end_close(leaves);
        int listener = listen_at(there);
        for (int i = 0; i < 50; i++) ends_poll(stays, 1);
        MUST(stays->t->ops->drained(stays->t) == 1);
        close(listener);
        MUST(unlink(there + 5) == 0);
        end_close(stays);
        job_end(&job);
    }
}

/* Greetings that cannot be right get no answer, from whomever they are; the recovery process's
 * does. */
static void wrong_greetings(void **state)
{
    (void)state;
    static const struct {
        uint32_t magic, rank, inc;
        bool right;
    } said[] = {{MAGIC, 1, 0, true}, {MAGIC, HARK_RECOVERY, 0, true}, {MAGIC + 1, 1, 0, false},
        {MAGIC, 0, 0, false}, {MAGIC, 2, 0, false}, {MAGIC, HARK_RECOVERY - 1, 0, false},
        {MAGIC, 1, UINT32_MAX, false}};
    struct job job;
    struct end e;
    uint8_t bytes[CHALLENGE];
    uint64_t refused = 0;
    job_begin(&job, 2);
    open_with(&e, &job, 0, patient);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        int fd = connect_to(e.t->ops->address(e.t));
        ssize_t n;
        hello(bytes, said[i].rank, said[i].inc, 0, 0, (uint8_t)i);
        put(bytes, said[i].magic, 4);
        say(fd, bytes, HELLO);
        while ((n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
            end_poll(&e);
        refused += !said[i].right;
        MUST((n == CHALLENGE) == said[i].right);
        MUST(e.t->figures.refused == refused);
        close(fd);
    }
    close_all(&e, 1, &job);
}

/* Who is out of reach for longer than the deadline is told once; not one to whom there is a
 * connection and who is busy. */
static void out_of_reach(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    char wrong[300], text[200];
    uint32_t rank;
    uint64_t ms;
    job_begin(&job, 3);
    for (uint32_t i = 0; i < 2; i++) open_with(&e[i], &job, i, hurried);
    struct hark_transport *t = e[0].t;
    snprintf(wrong, sizeof wrong, "%s", e[1].t->ops->address(e[1].t));
    wrong[strlen(wrong) - 1] ^= 1; /* nobody is there */
    peer_is(&e[0], 1, wrong);
    MUST(!t->ops->apart(t, &rank, &ms, text));
    send_wholly(&e[0], 1, 0, 0, 0, 10, e, 0);
    while (!t->apart) MUST(t->ops->wait(t, -1) == HARK_T_OK && t->ops->poll(t) == 0);
    MUST(t->ops->apart(t, &rank, &ms, text) && rank == 1 && ms >= 20);
    MUST(strncmp(text, wrong, strlen(wrong)) == 0 && strstr(text, strerror(ENOENT)) != NULL);
    MUST(!t->ops->apart(t, &rank, &ms, text) && !t->apart);
    MUST(t->ops->wait(t, 100) == HARK_T_OK && !t->apart);
    peer_is(&e[0], 1, e[1].t->ops->address(e[1].t));
    until_count(&e[1], 1, e, 2);
    all_is_well(&e[0], &e[1], e, 2, 10);
    int listener = listen_at(wrong);
    peer_is(&e[0], 2, wrong);
    send_wholly(&e[0], 2, 0, 0, 0, 10, e, 0);
    for (int i = 0; i < 10; i++) MUST(t->ops->wait(t, 10) == HARK_T_OK && t->ops->poll(t) == 0);
    MUST(!t->apart && !t->ops->apart(t, &rank, &ms, text));
    close(listener);
    MUST(unlink(wrong + 5) == 0);
    close_all(e, 2, &job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(addresses),
        TEST(wrong_key),
        TEST(reflection),
        TEST(slow_speakers),
        TEST(few_strangers),
        TEST(wrong_greetings),
        TEST(nonsense_inside),
        TEST(a_wrong_position),
        TEST(in_the_middle),
        TEST(over_the_limit),
        TEST(cut_at_every_byte),
        TEST(cut_again_and_again),
        TEST(crossing),
        TEST(another_address),
        TEST(out_of_reach),
        TEST(farewell),
    };
    const struct CMUnitTest encrypted[] = {
        /* those of which no part is said by hand */
        TEST(addresses),
        TEST(wrong_key),
        TEST(over_the_limit),
        TEST(cut_at_every_byte),
        TEST(cut_again_and_again),
        TEST(crossing),
        TEST(another_address),
        TEST(farewell),
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    MUST(sodium_init() >= 0);
    hang_after(PATIENCE);
    if (encrypts()) return cmocka_run_group_tests_name("uv, encrypted", encrypted, NULL, NULL);
    return cmocka_run_group_tests_name("uv", tests, NULL, NULL);
}
#endif
