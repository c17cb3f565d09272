/* transport.c: a small transport: UNIX datagrams in the job's directory.
 *
 *     ./transport                two processes carry a few frames
 *
 * An end is a socket named JOB.RANK.INCARNATION. So a frame can reach only the incarnation it is
 * for, and the name proves the sender. A frame that is too long for a datagram goes in pieces,
 * which the system keeps in order. A frame for a process that has not opened yet waits here in
 * memory.
 *
 * Every transport must keep the promises of include/hark/transport.h, and test/transport tests
 * them. A new transport needs a test file of a dozen lines like test/transport/fake_test.c, and its
 * name in test/transport/meson.build. For `hark run` it also needs its name in
 * src/control/transports.c. No other file knows it.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hark/transport.h"

enum { PIECE = 32768, FRAMES_A_POLL = 64 };

struct piece { /* head of every datagram; bytes of the frame (header, then payload) follow */
    uint32_t header, pad;
    uint64_t length; /* of the payload */
    uint64_t at;     /* where in the frame these bytes belong */
};
struct peer {
    uint32_t inc;        /* the newest known */
    bool met;            /* something has reached it: if its socket is gone, the process is dead */
    uint32_t from;       /* the incarnation whose frame in pieces is coming, */
    struct piece coming; /* its lengths, and in `at` how much of it is here */
    uint8_t *header, *payload;
};
struct kept { /* a frame for a process that has not opened yet */
    struct kept *next;
    struct hark_outgoing frame;
    uint8_t bytes[];
};
struct end {
    struct hark_transport head;
    struct hark_transport_config config;
    char prefix[84], address[108]; /* DIRECTORY/JOB; the same with .RANK.INCARNATION: 108 is what
                                      the system allows */
    int fd;
    bool blocked; /* a frame was answered AGAIN: the system does not say when it can go on */
    bool news; /* a newer incarnation of a peer is known: half a frame of the older one may be here
                */
    struct kept *kept;
    struct peer *peer; /* ranks, and the recovery process */
    uint8_t piece[sizeof(struct piece) + PIECE];
};

static struct peer *peer_of(struct end *e, uint32_t rank)
{
    if (rank == HARK_RECOVERY) return &e->peer[e->config.ranks];
    return rank < e->config.ranks ? &e->peer[rank] : NULL;
}

static struct sockaddr_un name_of(const struct end *e, uint32_t rank, uint32_t inc)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%s.%u.%u", e->prefix, rank, inc);
    return name;
}

static int refuse(char error[200], int status, const char *what)
{
    if (error && status == HARK_T_ESYSTEM) snprintf(error, 200, "%s: %s", what, strerror(errno));
    else if (error) snprintf(error, 200, "%s", what);
    return status;
}

static void datagram_close(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    for (uint32_t i = 0; e->peer && i <= e->config.ranks; i++) free(e->peer[i].header);
    for (struct kept *k = e->kept, *next; k; k = next) next = k->next, free(k);
    if (e->fd >= 0 && close(e->fd) == 0) unlink(e->address);
    free(e->peer);
    free(e);
}

static int datagram_open(
    struct hark_transport **t, const struct hark_transport_config *c, char error[200])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    struct end *e;
    *t = NULL;
    if (c->job == NULL || c->job[0] == 0 || strlen(c->job) > 40 || c->job[strspn(c->job, letters)])
        return refuse(error, HARK_T_EINVAL, "the job's name: expected 1 to 40 of A-Z a-z 0-9 _ -");
    if (c->ranks == 0 || c->ranks > HARK_RANKS_MAX || (c->me >= c->ranks && c->me != HARK_RECOVERY))
        return refuse(error, HARK_T_EINVAL, "expected a rank below the number of ranks");
    if (c->directory == NULL || strlen(c->directory) + 1 + strlen(c->job) >= sizeof e->prefix)
        return refuse(error, HARK_T_EINVAL,
            "expected a directory with a path that leaves room for a socket's name");
    e = calloc(1, sizeof *e);
    if (e == NULL) return refuse(error, HARK_T_ESYSTEM, "memory");
    e->config = *c;
    if (e->config.frame_limit == 0) e->config.frame_limit = UINT64_C(1) << 30;
    snprintf(e->prefix, sizeof e->prefix, "%s/%s", c->directory, c->job);
    e->peer = calloc((size_t)c->ranks + 1, sizeof *e->peer);
    e->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un name = name_of(e, c->me, c->inc);
    if (e->peer == NULL || e->fd < 0 || bind(e->fd, (struct sockaddr *)&name, sizeof name) < 0) {
        refuse(error, HARK_T_ESYSTEM, name.sun_path);
        datagram_close(&e->head);
        return HARK_T_ESYSTEM;
    }
    strcpy(e->address, name.sun_path);
    extern const struct hark_transport_ops datagram_transport;
    e->head.ops = &datagram_transport;
    *t = &e->head;
    return HARK_T_OK;
}

static const char *datagram_address(const struct hark_transport *t)
{
    return ((const struct end *)t)->address;
}

/* The address is not needed: it follows from rank and incarnation. */
static int datagram_peer(struct hark_transport *t, uint32_t rank, uint32_t inc, const char *address)
{
    struct peer *p = peer_of((struct end *)t, rank);
    (void)address;
    if (p == NULL) return HARK_T_EINVAL;
    if (inc > p->inc) {
        p->inc = inc;
        p->met = false;
        ((struct end *)t)->news = true;
    }
    return HARK_T_OK;
}

/* Writes the next piece of the frame into a datagram; returns its length. */
static size_t pack(const struct hark_outgoing *f, uint64_t length, uint8_t *out)
{
    struct piece piece = {f->header.length, 0, length, f->done};
    struct hark_part part[4] = {
        {f->header.at, f->header.length}, f->part[0], f->part[1], f->part[2]};
    uint64_t skip = f->done;
    size_t n = sizeof piece;
    memcpy(out, &piece, sizeof piece);
    for (int i = 0; i < 4; i++) {
        uint64_t from = skip < part[i].length ? skip : part[i].length,
                 room = sizeof piece + PIECE - n;
        uint64_t take = part[i].length - from < room ? part[i].length - from : room;
        if (take) memcpy(out + n, (const uint8_t *)part[i].at + from, take);
        n += take;
        skip -= from;
    }
    return n;
}

/* HARK_T_OK: all of it has left; AGAIN, EGONE, ESYSTEM; 2: the receiver has not opened yet. */
static int push(struct end *e, struct hark_outgoing *f, uint64_t length)
{
    struct peer *p = peer_of(e, f->to);
    struct sockaddr_un name = name_of(e, f->to, f->inc);
    uint8_t datagram[sizeof(struct piece) + PIECE];
    if (f->inc < p->inc) return HARK_T_EGONE;
    while (f->done < f->header.length + length) {
        size_t n = pack(f, length, datagram);
        if (sendto(e->fd, datagram, n, 0, (struct sockaddr *)&name, sizeof name) < 0) {
            if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)
                return e->blocked = true, HARK_T_AGAIN;
            if (errno == ENOENT && !p->met && f->done == 0) return 2;
            if (errno == ENOENT || errno == ECONNREFUSED) return HARK_T_EGONE;
            return refuse(e->head.error, HARK_T_ESYSTEM, name.sun_path);
        }
        p->met = f->inc == p->inc;
        f->done += n - sizeof(struct piece);
    }
    e->head.figures.frames_out++;
    e->head.figures.bytes_out += f->header.length + length;
    return HARK_T_OK;
}

static int keep(struct end *e, const struct hark_outgoing *f, uint64_t length)
{
    struct kept *k = malloc(sizeof *k + f->header.length + length);
    if (k == NULL) return refuse(e->head.error, HARK_T_ESYSTEM, "memory for a frame");
    uint8_t *at = k->bytes;
    memcpy(at, f->header.at, f->header.length);
    k->frame = (struct hark_outgoing){.to = f->to, .inc = f->inc, .header = {at, f->header.length}};
    at += f->header.length;
    k->frame.part[0] = (struct hark_part){at, length};
    for (int i = 0; i < 3; at += f->part[i++].length)
        if (f->part[i].length) memcpy(at, f->part[i].at, f->part[i].length);
    struct kept **last = &e->kept;
    while (*last) last = &(*last)->next;
    k->next = NULL;
    *last = k;
    return HARK_T_OK;
}

/* Is there, in front of `end`, a kept frame for the same receiver? Pieces of two frames must not
 * mingle. */
static bool behind(const struct end *e, const struct hark_outgoing *f, const struct kept *end)
{
    for (const struct kept *k = e->kept; k != end; k = k->next)
        if (k->frame.to == f->to && k->frame.inc == f->inc) return true;
    return false;
}

static int datagram_send(struct hark_transport *t, struct hark_outgoing *f)
{
    struct end *e = (struct end *)t;
    uint64_t length = 0, limit = e->config.frame_limit - f->header.length;
    if (peer_of(e, f->to) == NULL || f->header.length == 0 || f->header.length > HARK_HEADER_MAX ||
        f->header.length > e->config.frame_limit)
        return HARK_T_EINVAL;
    for (int i = 0; i < 3; i++) {
        if (f->part[i].length > limit - length) return HARK_T_EINVAL;
        length += f->part[i].length;
    }
    const struct peer *p = peer_of(e, f->to);
    if (f->inc >= p->inc && f->done == 0 && behind(e, f, NULL)) {
        e->blocked = p->met;
        return e->blocked ? HARK_T_AGAIN : keep(e, f, length);
    }
    int status = push(e, f, length);
    return status == 2 ? keep(e, f, length) : status;
}

/* The sender of a datagram, by the name of its socket; NULL if that is no end of this job. */
static struct peer *sender_of(
    struct end *e, const struct sockaddr_un *name, struct hark_frame *frame)
{
    size_t n = strlen(e->prefix);
    char end;
    if (name->sun_family != AF_UNIX || strncmp(name->sun_path, e->prefix, n) != 0 ||
        sscanf(name->sun_path + n, ".%u.%u%c", &frame->from, &frame->from_inc, &end) != 2)
        return NULL;
    return peer_of(e, frame->from);
}

/* No more pieces of this frame will come. */
static void give_up(struct end *e, struct peer *p, uint32_t rank)
{
    const struct hark_frame frame = {
        rank, p->from, {p->header, p->coming.header}, p->coming.length, false};
    if (p->payload) e->config.sink.broken(e->config.sink.self, &frame, p->payload);
    free(p->header);
    p->header = p->payload = NULL;
}

static int whole(struct end *e, const struct hark_frame *frame, const void *payload)
{
    e->head.figures.frames_in++;
    e->head.figures.bytes_in += frame->header.length + frame->length;
    e->config.sink.arrived(e->config.sink.self, frame, payload);
    return 1;
}

/* Bytes of a frame in pieces: first into its header, then, once that is whole, where the sink wants
 * its payload. */
static int gather(
    struct end *e, struct peer *p, struct hark_frame *frame, const uint8_t *bytes, uint64_t n)
{
    struct piece *c = &p->coming;
    uint64_t head = c->at < c->header ? c->header - c->at : 0;
    bool had = head == 0;
    if (head > n) head = n;
    memcpy(p->header + (c->at < c->header ? c->at : 0), bytes, head);
    c->at += head;
    frame->header = (struct hark_bytes){p->header, c->header};
    frame->length = c->length;
    if (c->at < c->header) return 0;
    if (!had) p->payload = e->config.sink.place(e->config.sink.self, frame);
    if (p->payload) memcpy(p->payload + (c->at - c->header), bytes + head, n - head);
    c->at += n - head;
    if (c->at < c->header + c->length) return 0;
    uint8_t *header = p->header, *payload = p->payload;
    p->header = p->payload = NULL;
    whole(e, frame, payload);
    free(header);
    return 1;
}

/* A datagram of n bytes has come. 1: a frame is now whole. */
static int take(struct end *e, const struct sockaddr_un *name, size_t n)
{
    struct hark_frame frame = {0};
    struct piece piece;
    struct peer *p = sender_of(e, name, &frame);
    const uint8_t *bytes = e->piece + sizeof piece;
    if (n == 0) return 0; /* wake() */
    memcpy(&piece, e->piece, sizeof piece);
    n -= sizeof piece;
    if (p == NULL || n == 0 || n > PIECE || piece.header == 0 || piece.header > HARK_HEADER_MAX ||
        piece.header > e->config.frame_limit || piece.length > e->config.frame_limit - piece.header)
        return e->head.figures.refused++, 0;
    if (frame.from_inc < p->inc) return 0; /* its last words */
    if (piece.at == 0 && n == piece.header + piece.length) {
        frame.header = (struct hark_bytes){bytes, piece.header};
        frame.length = piece.length;
        return whole(e, &frame, bytes + piece.header);
    }
    if (piece.at == 0) {
        give_up(e, p, frame.from);
        p->header = malloc(piece.header);
        p->coming = piece;
        p->from = frame.from_inc;
    }
    if (p->header == NULL || p->from != frame.from_inc || piece.at != p->coming.at ||
        piece.header != p->coming.header || piece.length != p->coming.length ||
        n > piece.header + piece.length - piece.at)
        return e->head.figures.refused++, 0;
    return gather(e, p, &frame, bytes, n);
}

static int datagram_poll(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    int frames = 0;
    for (uint32_t i = 0; e->news && i <= e->config.ranks; i++)
        if (e->peer[i].header && e->peer[i].from < e->peer[i].inc)
            give_up(e, &e->peer[i], i < e->config.ranks ? i : HARK_RECOVERY);
    e->news = false;
    for (struct kept **at = &e->kept; *at;) {
        struct kept *k = *at;
        int status =
            behind(e, &k->frame, k) ? HARK_T_AGAIN : push(e, &k->frame, k->frame.part[0].length);
        if (status == HARK_T_ESYSTEM) return status;
        if (status == HARK_T_OK || status == HARK_T_EGONE) *at = k->next, free(k);
        else at = &k->next;
    }
    while (frames < FRAMES_A_POLL) {
        struct sockaddr_un name = {0};
        socklen_t length = sizeof name;
        ssize_t n =
            recvfrom(e->fd, e->piece, sizeof e->piece, 0, (struct sockaddr *)&name, &length);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
        if (n < 0) return refuse(e->head.error, HARK_T_ESYSTEM, e->address);
        frames += take(e, &name, (size_t)n);
    }
    return frames;
}

static int datagram_wait(struct hark_transport *t, int milliseconds)
{
    struct end *e = (struct end *)t;
    struct pollfd fd = {.fd = e->fd, .events = POLLIN};
    if ((e->blocked || e->kept) && milliseconds != 0) milliseconds = 1;
    if (e->news) milliseconds = 0;
    e->blocked = false;
    if (poll(&fd, 1, milliseconds) < 0 && errno != EINTR)
        return refuse(e->head.error, HARK_T_ESYSTEM, "poll");
    return HARK_T_OK;
}

/* An empty datagram to itself. If there is no room for it, other datagrams will wake the process.
 */
static void datagram_wake(struct hark_transport *t)
{
    const struct end *e = (const struct end *)t;
    struct sockaddr_un name = name_of(e, e->config.me, e->config.inc);
    (void)!sendto(e->fd, "", 0, 0, (struct sockaddr *)&name, sizeof name);
}

static int datagram_drained(struct hark_transport *t)
{
    return ((struct end *)t)->kept == NULL;
}

static void datagram_sweep(const char *job, const char *directory)
{
    DIR *d = directory ? opendir(directory) : NULL;
    size_t n = strlen(job);
    for (struct dirent *x; d && (x = readdir(d));)
        if (strncmp(x->d_name, job, n) == 0 && x->d_name[n] == '.')
            unlinkat(dirfd(d), x->d_name, 0);
    if (d) closedir(d);
}

extern const struct hark_transport_ops datagram_transport;
const struct hark_transport_ops datagram_transport = {.name = "datagram",
    .open = datagram_open,
    .address = datagram_address,
    .peer = datagram_peer,
    .send = datagram_send,
    .poll = datagram_poll,
    .wait = datagram_wait,
    .wake = datagram_wake,
    .drained = datagram_drained,
    .close = datagram_close,
    .sweep = datagram_sweep};

#ifndef TRANSPORT_ALONE /* without main(), for the suite */
enum { FRAMES = 4 };

static void *place(void *self, const struct hark_frame *frame)
{
    (void)self;
    return malloc(frame->length + 1);
}

static void arrived(void *self, const struct hark_frame *frame, const void *payload)
{
    if (payload == NULL) fputs("transport: no memory\n", stderr), exit(1);
    const uint8_t *last = (const uint8_t *)payload + frame->length - 1;
    printf("from process %u: \"%.*s\", %llu bytes, of them the last is %d\n", frame->from,
        (int)frame->header.length, (const char *)frame->header.at,
        (unsigned long long)frame->length, *last);
    if (frame->header.length + frame->length > PIECE)
        free((void *)(uintptr_t)payload); /* of place() */
    ++*(int *)self;
}

static void broken(void *self, const struct hark_frame *frame, void *payload)
{
    (void)self, (void)frame;
    free(payload);
}

static struct hark_transport *join(const char *directory, uint32_t me, int *count)
{
    struct hark_transport_config config = {.job = "example",
        .directory = directory,
        .me = me,
        .ranks = 2,
        .sink = {.self = count, .place = place, .arrived = arrived, .broken = broken}};
    struct hark_transport *t;
    char error[200];
    if (datagram_transport.open(&t, &config, error) == HARK_T_OK) return t;
    fprintf(stderr, "transport: %s\n", error);
    exit(1);
}

static void carry(struct hark_transport *t, uint32_t to, size_t length, int number)
{
    uint8_t *payload = malloc(length);
    char header[32];
    int n = snprintf(header, sizeof header, "frame %d", number), status;
    if (payload == NULL) exit(1);
    memset(payload, number, length);
    struct hark_bytes bytes = {(const uint8_t *)header, (uint32_t)n};
    struct hark_outgoing frame = {.to = to, .header = bytes, .part = {{payload, length}}};
    while ((status = t->ops->send(t, &frame)) == HARK_T_AGAIN) {
        t->ops->wait(t, -1);
        t->ops->poll(t);
    }
    if (status < 0) fprintf(stderr, "transport: %s: %d %s\n", header, status, t->error);
    free(payload);
}

int main(void)
{
    char directory[] = "/tmp/hark-transport-XXXXXX";
    int count = 0, status = 1;
    if (mkdtemp(directory) == NULL) return perror(directory), 1;
    alarm(20); /* it ends, whatever happens to the other */
    pid_t child = fork();
    if (child < 0) return perror("fork"), 1;
    struct hark_transport *t = join(directory, child == 0, &count);
    for (int i = 1; i <= FRAMES && child == 0; i++)
        carry(t, 0, (size_t)1 << 5 * i, i); /* 32 bytes .. 1 MiB */
    while ((child != 0 && count < FRAMES) || !t->ops->drained(t)) {
        t->ops->wait(t, -1);
        if (t->ops->poll(t) < 0) break;
    }
    t->ops->close(t);
    if (child == 0) return 0;
    waitpid(child, &status, 0);
    datagram_transport.sweep("example", directory);
    rmdir(directory);
    return status == 0 && count == FRAMES ? 0 : 1;
}
#endif
