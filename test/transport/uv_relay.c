/* Encrypted connections with an attacker between both ends, who knows where each record begins, and
 * changes, repeats, leaves out, moves and keeps them: all frames arrive all the same, once and as
 * they were, and nobody else notices. */
#include "harness.h"
#include "uv/address.h"
#include "uv/record.h"
#include "uv/uv.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HELLO = 85, CHALLENGE = 109, PROOF = 40 };
enum { FRAMES = 14, CIPHER = 52 + 32 }; /* of a HELLO, the byte that says the cipher */

static bool encrypts[3], no_aes, long_ones;

int __real_crypto_aead_aes256gcm_is_available(void);
int __wrap_crypto_aead_aes256gcm_is_available(void);
int __wrap_crypto_aead_aes256gcm_is_available(void)
{
    return !no_aes && __real_crypto_aead_aes256gcm_is_available();
}

static void configure(struct hark_transport_config *config)
{
    config->encrypts = encrypts[config->me];
}

const struct conformance_transport conformance_subject = {
    .name = "uv", .ops = &hark_uv_transport, .configure = configure};

/* ---- the attacker ---------------------------------------------------------------------------- */

struct bytes {
    uint8_t *at;
    size_t length;
};

enum attack { PASS, FLIP, SWAP, REPEAT, LEAVE_OUT, SEND_BACK, SHORTEN, FORGE, OLD, CUT };

struct way {
    struct bytes came, to_send;
    size_t looked, sent; /* of these */
    size_t units;        /* messages of the handshake and records that were passed */
    size_t held, held_length;
};

struct relay {
    int listener, fd[2]; /* [0]: who called */
    char here[200], there[200];
    struct way way[2];
    struct bytes old[2]; /* what both said on the connection before */
    struct bytes all;    /* that was ever seen */
    unsigned connections;
    bool open, plain, plays; /* plays: it answers itself, with old[1] */
    /* on which connection (from 1), which way, which unit, which bit */
    enum attack attack;
    unsigned connection, direction;
    size_t unit, bit;
    bool done;
};

static void add(struct bytes *b, const uint8_t *at, size_t length)
{
    if (length == 0) return;
    b->at = realloc(b->at, b->length + length);
    MUST(b->at != NULL);
    memcpy(b->at + b->length, at, length);
    b->length += length;
}

static int stream_socket(const char *text, struct address *a)
{
    MUST(hark_uv_address_parse(a, text) == NULL);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(fd >= 0);
    return fd;
}

static int connect_to(const char *text)
{
    struct address a;
    int fd = stream_socket(text, &a);
    MUST(connect(fd, &a.at.any, a.length) == 0);
    return fd;
}

static void relay_open(struct relay *x, const struct job *job, const char *there)
{
    struct address a;
    snprintf(x->here, sizeof x->here, "unix:%s/relay", job->directory);
    snprintf(x->there, sizeof x->there, "%s", there);
    x->listener = stream_socket(x->here, &a);
    MUST(bind(x->listener, &a.at.any, a.length) == 0 && listen(x->listener, 8) == 0);
    MUST(fcntl(x->listener, F_SETFL, O_NONBLOCK) == 0);
}

static void hang_up(struct relay *x)
{
    for (int i = 0; x->open && i < 2; i++) {
        if (x->fd[i] >= 0) close(x->fd[i]);
        free(x->old[i].at);
        x->old[i] = x->way[i].came;
        free(x->way[i].to_send.at);
        memset(&x->way[i], 0, sizeof x->way[i]);
    }
    x->open = false;
}

static void relay_close(struct relay *x)
{
    hang_up(x);
    for (int i = 0; i < 2; i++) free(x->old[i].at);
    free(x->all.at);
    close(x->listener);
    MUST(unlink(x->here + 5) == 0);
}

/* The length of the unit of that number which begins at `at`; 0: it is not there as a whole. */
static size_t unit_length(
    const struct relay *x, int direction, size_t number, const uint8_t *at, size_t there)
{
    size_t length = there;
    if (x->plain) return there;
    if (number < 2) length = number ? PROOF : direction ? CHALLENGE : HELLO;
    else if (there < RECORD_HEAD) return 0;
    else length = RECORD_AROUND + (at[0] | (size_t)at[1] << 8);
    return length <= there ? length : 0;
}

/* The unit of that number on the connection before. */
static const uint8_t *old_unit(const struct relay *x, int direction, size_t number, size_t *length)
{
    const struct bytes *old = &x->old[direction];
    size_t at = 0;
    for (size_t i = 0; i <= number; i++, at += *length) {
        *length = unit_length(x, direction, i, old->at + at, old->length - at);
        MUST(*length > 0);
        if (i == number) break;
    }
    return old->at + at;
}

static void attack(struct relay *x, int direction, uint8_t *at, size_t length)
{
    struct way *w = &x->way[direction];
    struct bytes *to = &w->to_send;
    x->done = true;
    switch (x->attack) {
    case FLIP:
        at[x->bit / 8 % length] ^= (uint8_t)(1 << x->bit % 8);
        add(to, at, length);
        break;
    case SWAP: /* goes behind the next one */
        w->held = (size_t)(at - w->came.at);
        w->held_length = length;
        break;
    case REPEAT:
        add(to, at, length);
        add(to, at, length);
        break;
    case LEAVE_OUT: break;
    case SEND_BACK:
        add(&x->way[1 - direction].to_send, at, length);
        add(to, at, length);
        break;
    case SHORTEN: add(to, at, length - 1); break;
    case FORGE: { /* a record of its own in front, from keys of its own */
        uint8_t secret[RECORD_SECRET] = {1}, record[100 + RECORD_AROUND];
        struct records r;
        hark_uv_records_begin(&r, false, secret);
        r.number = w->units - 2;
        hark_uv_record_seal(&r, secret, sizeof secret, record);
        add(to, record, sizeof secret + RECORD_AROUND);
        add(to, at, length);
        break;
    }
    case OLD: {
        size_t old;
        const uint8_t *from = old_unit(x, direction, x->unit, &old);
        add(to, from, old);
        break;
    }
    default: break;
    }
}

static void look(struct relay *x, int direction)
{
    struct way *w = &x->way[direction];
    size_t length;
    while (w->looked < w->came.length &&
           (length = unit_length(
                x, direction, w->units, w->came.at + w->looked, w->came.length - w->looked)) > 0) {
        uint8_t *at = w->came.at + w->looked;
        const bool now = x->attack != PASS && x->attack != CUT && !x->done &&
                         x->connections == x->connection && direction == (int)x->direction &&
                         w->units == x->unit;
        if (now) attack(x, direction, at, length);
        else add(&w->to_send, at, length);
        if (!now && w->held_length) {
            add(&w->to_send, w->came.at + w->held, w->held_length);
            w->held_length = 0;
        }
        w->looked += length;
        w->units++;
    }
}

/* False: one of both has hung up. */
static bool carry(struct relay *x, int direction)
{
    struct way *w = &x->way[direction];
    uint8_t bytes[20000];
    ssize_t n = recv(x->fd[direction], bytes, sizeof bytes, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN)) return false;
    if (n > 0) {
        add(&x->all, bytes, (size_t)n);
        add(&w->came, bytes, (size_t)n);
        look(x, direction);
    }
    if (w->sent == w->to_send.length) return true;
    n = send(x->fd[1 - direction], w->to_send.at + w->sent, w->to_send.length - w->sent,
        MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) w->sent += (size_t)n;
    return n >= 0 || errno == EAGAIN;
}

/* Who calls is answered with what was said to the last one. */
static void play(struct relay *x)
{
    (void)!send(x->fd[0], x->old[1].at, x->old[1].length, MSG_NOSIGNAL);
    x->fd[1] = -1;
    x->plays = false;
}

static void relay_go(struct relay *x)
{
    if (!x->open) {
        int fd = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) return;
        x->open = true;
        x->connections++;
        x->fd[0] = fd;
        if (x->plays) play(x);
        else x->fd[1] = connect_to(x->there);
    }
    bool goes = x->fd[1] >= 0 ? carry(x, 0) && carry(x, 1)
                              : recv(x->fd[0], &(uint8_t){0}, 1, MSG_DONTWAIT) != 0;
    const struct way *w = &x->way[x->direction];
    if (x->attack == CUT && x->connections == x->connection && w->units > x->unit && !x->done)
        x->done = true, goes = false;
    if (!goes) hang_up(x);
}

/* ---- both ends ------------------------------------------------------------------------------- */

struct scene {
    struct job job;
    struct end e[3]; /* 0 and 1 talk through the relay, 1 and 2 directly */
    struct relay x;
};

static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    job_begin(&s->job, 3);
    for (uint32_t i = 0; i < 3; i++) end_open(&s->e[i], &s->job, i, 0);
    relay_open(&s->x, &s->job, s->e[1].t->ops->address(s->e[1].t));
    s->x.plain = !encrypts[0];
    MUST(s->e[0].t->ops->peer(s->e[0].t, 1, 0, s->x.here) == HARK_T_OK);
    MUST(s->e[2].t->ops->peer(s->e[2].t, 1, 0, s->x.there) == HARK_T_OK);
}

static void close_scene(struct scene *s)
{
    for (int i = 0; i < 3; i++) end_close(&s->e[i]);
    relay_close(&s->x);
    job_end(&s->job);
}

static uint64_t length_of(uint64_t id)
{
    return long_ones && id % 7 == 5 ? 150000 + mix(id) % 100000 : 20 + mix(id) % 2000;
}

static void step(struct scene *s)
{
    relay_go(&s->x);
    ends_poll(s->e, 3);
}

/* FRAMES frames each way, from `first` on, and some between those who are not attacked. */
static void talk(struct scene *s, uint64_t first)
{
    struct parcel p[2];
    uint64_t sent[2] = {0, 0};
    size_t before[2] = {s->e[0].count, s->e[1].count};
    memset(p, 0, sizeof p);
    send_wholly(&s->e[2], 1, 0, 1000 + first, 0, 100, s->e, 3);
    before[1]++;
    while (s->e[0].count < before[0] + FRAMES || s->e[1].count < before[1] + FRAMES) {
        for (uint32_t i = 0; i < 2; i++) {
            if (sent[i] == FRAMES) continue;
            const uint64_t id = first + sent[i];
            if (!p[i].header) parcel_make(&p[i], &s->e[i], 1 - i, 0, id, 0, length_of(id));
            int status = parcel_send(&p[i], &s->e[i]);
            MUST(status == HARK_T_OK || status == HARK_T_AGAIN);
            if (status == HARK_T_OK) parcel_free(&p[i]), sent[i]++;
        }
        step(s);
    }
    for (int i = 0; i < 2; i++) {
        for (uint64_t id = first; id < first + FRAMES; id++) MUST(end_heard(&s->e[i], id) == 1);
        MUST(s->e[i].broken == 0 && s->e[i].open_places == 0);
    }
    MUST(end_heard(&s->e[1], 1000 + first) == 1);
}

static uint64_t refused(const struct scene *s)
{
    return s->e[0].t->figures.refused + s->e[1].t->figures.refused;
}

/* One attack, on one unit of one connection; returns how many connections were refused. */
static uint64_t attacked(
    enum attack attack, unsigned connection, unsigned direction, size_t unit, size_t bit)
{
    struct scene s;
    no_aes = (unit + bit) % 2;
    open_scene(&s);
    s.x.attack = attack;
    s.x.connection = connection;
    s.x.direction = direction;
    s.x.unit = unit;
    s.x.bit = bit;
    if (attack == OLD) {
        s.x.attack = CUT;
        s.x.connection = 1;
        s.x.unit += 3;
    }
    talk(&s, 0);
    if (attack == OLD) {
        MUST(s.x.done && s.x.connections == 2);
        hang_up(&s.x); /* what is old is long enough now */
        s.x.attack = OLD;
        s.x.connection = 3;
        s.x.unit = unit;
        s.x.done = false;
    }
    talk(&s, 100);
    MUST(s.x.done && s.x.connections == connection + 1);
    MUST(s.e[2].t->figures.reconnects == 0 && s.e[2].t->figures.refused == 0);
    const uint64_t count = refused(&s);
    /* once joined, they are joined anew */
    if (unit >= 2) MUST(s.e[0].t->figures.reconnects == s.x.connections - 1);
    close_scene(&s);
    return count;
}

static void always(void)
{
    long_ones = false;
    for (int i = 0; i < 3; i++) encrypts[i] = true;
}

/* Bits of each byte of the first record, and some of longer ones. */
static void bits_of_records(void **state)
{
    (void)state;
    enum { BITS = 8 * (24 + RECORD_AROUND) };
    always();
    for (unsigned way = 0; way < 2; way++) {
        for (size_t bit = 0; bit < BITS; bit += 3) MUST(attacked(FLIP, 1, way, 2, bit) == 1);
        long_ones = true;
        for (size_t bit = 0; bit < 20; bit++)
            MUST(attacked(FLIP, 1, way, 3 + bit % 5, mix(bit) % 100000) == 1);
        long_ones = false;
    }
}

/* A bit of each byte of the handshake: no connection comes of it, but the next one. */
static void each_byte_of_the_handshake(void **state)
{
    (void)state;
    static const size_t length[2][2] = {{HELLO, PROOF}, {CHALLENGE, PROOF}};
    always();
    for (unsigned way = 0; way < 2; way++)
        for (size_t unit = 0; unit < 2; unit++)
            for (size_t byte = 0; byte < length[way][unit]; byte++) {
                const uint64_t count = attacked(FLIP, 1, way, unit, 8 * byte + mix(byte) % 8);
                /* who looks for, or is, somebody of long ago or to come is just dropped */
                MUST(count == 1 || (way == 0 && unit == 0 && byte >= 4 && byte < 20));
            }
    MUST(attacked(FLIP, 1, 0, 0, 8 * CIPHER) == 1); /* another cipher, though both can be */
}

static void records_in_another_order(void **state)
{
    (void)state;
    static const enum attack kinds[] = {SWAP, REPEAT, LEAVE_OUT, SEND_BACK, SHORTEN, FORGE, OLD};
    always();
    long_ones = true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (unsigned way = 0; way < 2; way++)
            for (size_t unit = 2; unit < 9; unit++)
                MUST(attacked(kinds[i], kinds[i] == OLD ? 3 : 1, way, unit, 0) == 1);
}

/* All that both have said, once more, to either. */
static void recordings(void **state)
{
    (void)state;
    struct scene s;
    always();
    no_aes = false;
    open_scene(&s);
    talk(&s, 0);
    hang_up(&s.x);
    const struct bytes said = s.x.old[0];
    int fd = connect_to(s.x.there);
    size_t sent = 0;
    while (refused(&s) < 1) {
        ssize_t n = send(fd, said.at + sent, said.length - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) sent += (size_t)n;
        ends_poll(s.e, 3);
    }
    close(fd);
    MUST(s.e[1].t->figures.refused == 1);
    s.x.plays = true;
    talk(&s, 100);
    MUST(s.e[0].t->figures.refused == 1 && s.e[1].t->figures.refused == 1 && !s.x.plays);
    close_scene(&s);
}

/* Does the relay see this? */
static bool sees(bool encrypted, const void *what, size_t length)
{
    struct scene s;
    for (int i = 0; i < 3; i++) encrypts[i] = encrypted;
    open_scene(&s);
    talk(&s, 0);
    const bool found = memmem(s.x.all.at, s.x.all.length, what, length) != NULL;
    close_scene(&s);
    return found;
}

static void the_wire(void **state)
{
    (void)state;
    uint8_t payload[16], header[24];
    long_ones = true;
    for (uint64_t id = 0; id < FRAMES; id++) {
        struct scene s;
        struct parcel p;
        for (int i = 0; i < 3; i++) encrypts[i] = false;
        open_scene(&s); /* for the label of an end */
        parcel_make(&p, &s.e[0], 1, 0, id, 0, length_of(id));
        memcpy(payload, p.payload + length_of(id) - (id % 2 ? 20 : 16), 16);
        memcpy(header, &p.label, 24);
        parcel_free(&p);
        close_scene(&s);
        for (int cipher = 0; cipher < 2; cipher++) {
            no_aes = cipher;
            MUST(!sees(true, payload, 16) && !sees(true, header, 24));
        }
        MUST(sees(false, payload, 16) && sees(false, header, 24));
    }
}

/* One that encrypts and one that does not have nothing to say to each other. */
static void only_one_encrypts(void **state)
{
    (void)state;
    for (int who = 0; who < 2; who++) {
        struct scene s;
        always();
        encrypts[who] = false;
        if (who == 1) encrypts[2] = false;
        open_scene(&s);
        s.x.plain = true;
        for (uint32_t i = 0; i < 2; i++) send_wholly(&s.e[i], 1 - i, 0, i, 0, 100, s.e, 0);
        while (s.e[1].t->figures.refused < 3) step(&s);
        MUST(s.e[0].count == 0 && s.e[1].count == 0);
        send_wholly(&s.e[2], 1, 0, 7, 0, 100, s.e, 3);
        if (who == 1 || encrypts[1]) until_count(&s.e[1], 1, s.e, 3);
        close_scene(&s);
    }
}

/* ---- records --------------------------------------------------------------------------------- */

static void keys_change(void **state)
{
    (void)state;
    uint8_t secret[RECORD_SECRET], record[32 + RECORD_AROUND], kept[sizeof record], text[32];
    for (int aes = 0; aes < 2; aes++) {
        struct records out, in, same;
        if (aes && !hark_uv_records_aes()) continue;
        randombytes_buf(secret, sizeof secret);
        hark_uv_records_begin(&out, aes, secret);
        hark_uv_records_begin(&in, aes, secret);
        hark_uv_record_seal(&out, secret, sizeof text, record);
        hark_uv_record_seal(&out, secret, sizeof text, kept);
        for (size_t i = 0; i < sizeof kept; i += 8) /* but the length */
            MUST(memcmp(record + (i ? i : 4), kept + (i ? i : 4), i ? 8 : 4) != 0);
        hark_uv_records_begin(&out, aes, secret);
        same = out; /* who has stolen the first key */
        for (uint64_t i = 0; i < RECORDS_OF_A_KEY + 10; i++) {
            memset(text, (int)i, sizeof text);
            hark_uv_record_seal(&out, text, sizeof text, record);
            MUST(hark_uv_record_length(&in, record) == sizeof text);
            same.number = i;
            memcpy(kept, record, sizeof kept);
            MUST(hark_uv_record_open(&same, kept, sizeof text, text) == (i < RECORDS_OF_A_KEY));
            MUST(hark_uv_record_open(&in, record, sizeof text, text));
            for (size_t k = 0; k < sizeof text; k++) MUST(text[k] == (uint8_t)i);
            same.number = 0;
            if (aes) (void)crypto_aead_aes256gcm_beforenm(&same.aes, secret);
            memcpy(same.key, secret, sizeof same.key);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_change),
        TEST(bits_of_records),
        TEST(each_byte_of_the_handshake),
        TEST(records_in_another_order),
        TEST(recordings),
        TEST(the_wire),
        TEST(only_one_encrypts),
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    no_aes = false;
    MUST(sodium_init() >= 0);
    hang_after(PATIENCE);
    return cmocka_run_group_tests_name("uv, attacked", tests, NULL, NULL);
}
