/* What comes over a connection of the uv transport: from a stranger, from whom we called, from one
 * who has the key, and from one who is joined. The input: which of these, choices, and the bytes as
 * they come. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* For seal(): whoever has the key can say anything else. */
#include "../../transports/uv/handshake.c"
#include "../../transports/uv/uv.h"
#include "fuzz.h"

enum { LIMIT = 1 << 19 };

static void *placed;

static void *place(void *self, const struct hark_frame *frame)
{
    (void)self;
    if (placed) finding("a second frame is placed before the first is whole");
    if (frame->length + frame->header.length > LIMIT) finding("a frame over the limit");
    placed = frame->length % 3 ? malloc(frame->length) : NULL;
    return placed;
}

static void arrived(void *self, const struct hark_frame *frame, const void *payload)
{
    (void)self;
    if (frame->from != 1) finding("a frame from nobody");
    if (frame->header.length == 0 || frame->header.length + frame->length > LIMIT)
        finding("a frame over the limit");
    free(exactly(frame->header.at, frame->header.length));
    if (payload && payload != placed) free(exactly(payload, frame->length));
    if (payload == placed) free(placed), placed = NULL;
}

static void broken(void *self, const struct hark_frame *frame, void *payload)
{
    (void)self, (void)frame;
    if (payload == NULL || payload != placed) finding("broken is said of nothing");
    free(placed);
    placed = NULL;
}

static void feed(struct hark_transport *t, int fd, const void *at, size_t length)
{
    (void)send(fd, at, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    for (int i = 0; i < 3; i++) (void)t->ops->poll(t);
}

/* What a legal HELLO is answered with, and a PROOF that is sealed right, with this position. */
static void prove(struct hark_transport *t, int fd, struct conn *c, uint64_t position)
{
    uint8_t hello[HELLO_BYTES] = {0}, challenge[CHALLENGE_BYTES], proof[POSITION_BYTES];
    put_le(hello, MAGIC, 4);
    put_le(hello + 4, 1, 4);
    feed(t, fd, hello, sizeof hello);
    if (recv(fd, challenge, sizeof challenge, MSG_DONTWAIT) != sizeof challenge)
        finding("a HELLO is not answered");
    put_le(proof, position, 8);
    seal(proof + 8, c, ROLE_PROOF, position);
    feed(t, fd, proof, sizeof proof);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hark_transport_config config = {.job = "fuzz",
        .me = 0,
        .ranks = 2,
        .frame_limit = LIMIT,
        .address = "tcp:127.0.0.1:0",
        .sink = {NULL, place, arrived, broken}};
    struct choices c = {data, size};
    struct hark_transport *t;
    char error[200];
    int fd[2];
    uint8_t how = choose(&c);
    if (hark_uv_transport.open(&t, &config, error) != HARK_T_OK) finding("%s", error);
    struct end *e = (struct end *)t;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) != 0) abort();
    struct conn *conn =
        hark_uv_conn_new(e, fd[0], how % 4 == 1 ? CONN_CONNECTING : CONN_WANT_HELLO);
    if (conn == NULL) abort();
    struct pair *p;
    if (how % 4 == 1) {
        (void)hark_uv_pair_at(e, 1, 0, &p);
        conn->pair = p;
        p->attempt = conn;
        hark_uv_shake_begin(conn);
    } else {
        hark_uv_conn_watch(conn, false);
    }
    if (how % 4 > 1) prove(t, fd[1], conn, how % 4 == 2 ? 0 : choose_number(&c));
    if (how & 0x10) { /* something is to go out, which the other may acknowledge */
        struct hark_outgoing o = {
            .to = 1, .header = {(const uint8_t *)"header", 6}, .part = {{"payload", 7}}};
        (void)t->ops->send(t, &o);
    }
    while (c.left > 0) {
        uint8_t what = choose(&c);
        uint8_t b[HEAD_BYTES + 256];
        size_t n = 0, more = what % 64u;
        if (what & 0x80) { /* a head as there can be */
            head_write(
                b, &(struct head){HEAD_FRAME + (what >> 6 & 1) + (what >> 5 & what >> 6 & 1),
                       choose(&c), choose_number(&c), choose(&c) % 4 ? 0 : choose_number(&c)});
            n = HEAD_BYTES;
        }
        for (; more > 0; more--) b[n++] = choose(&c);
        feed(t, fd[1], b, n);
        if (what == 0x7f) { /* a long piece */
            static uint8_t zeros[70000];
            feed(t, fd[1], zeros, sizeof zeros);
        }
    }
    close(fd[1]);
    (void)t->ops->poll(t);
    t->ops->close(t);
    free(placed);
    placed = NULL;
    return 0;
}
