/* peer.c: images on their way between this host's own store and those of others.
 *
 * An image that comes is written to a file, in pieces, and when all is there it is put into the
 * store (placing.c), whatever becomes of the connection. One that another agent asks for is
 * verified before it is sent; a copy that hark run has asked for is verified by who gets it.
 */
#include "depot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hark/store.h"

#define PIECE (256u << 10) /* bytes of an image in a message */

static void name_coming(char name[64], const struct hark_coming *c)
{
    snprintf(name, 64, "%u", c->number);
}

/* ---- peers ----------------------------------------------------------------------------------- */

/* It is whole, or it ends here. */
static void end_coming(struct hark_coming **list, struct hark_coming *c, bool whole)
{
    struct agent *a = c->a;
    char name[64];
    while (*list != c) list = &(*list)->next;
    *list = c->next;
    name_coming(name, c);
    if (c->placing) hark_placing_end(c->placing);
    if (!whole) (void)unlinkat(a->depot->in, name, 0);
    hark_agent_close(&a->loop, c->fd);
    hark_depot_holds(a, c->rank, c->id, whole ? HARK_HOLDS_WHOLE : HARK_HOLDS_NOT, c->round);
    free(c);
}

static void end_sending(struct hark_sending *s)
{
    struct hark_sending **at = &s->peer->sending;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    if (s->check) hark_placing_end(s->check);
    if (s->fd >= 0) hark_agent_close(&s->peer->a->loop, s->fd); /* it may have been dropped */
    free(s);
}

static void forget(struct hark_peer *p)
{
    struct hark_peer **at = &p->a->depot->peer;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    while (p->sending) end_sending(p->sending);
    while (p->coming) end_coming(&p->coming, p->coming, false);
    while (p->wish) {
        struct hark_wish *w = p->wish;
        p->wish = w->next;
        p->a->image_came(p->a, w->rank, w->id, false);
        free(w);
    }
    free(p);
}

static void say(struct hark_peer *p, struct hark_control *m)
{
    hark_control_end(m);
    if (!m->bad) (void)hark_connection_say(p->connection, m->at, m->length);
    hark_control_free(m);
}

static void say_about(
    struct hark_peer *p, uint16_t type, uint32_t rank, uint64_t id, uint32_t round)
{
    struct hark_control m;
    hark_control_begin(&m, type);
    hark_control_put32(&m, rank);
    hark_control_put64(&m, id);
    if (type == HARK_A_NONE) hark_control_put32(&m, round);
    say(p, &m);
}

/* One piece; false: this image is through. */
static bool send_piece(struct hark_peer *p, struct hark_sending *s)
{
    static uint8_t piece[PIECE];
    const uint64_t left = s->length - s->at;
    const ssize_t n = pread(s->fd, piece, left < PIECE ? left : PIECE, (off_t)s->at);
    struct hark_control m;
    if (n <= 0) { /* it was dropped, or can not be read */
        say_about(p, HARK_A_NONE, s->rank, s->id, s->round);
        return false;
    }
    hark_control_begin(&m, HARK_A_PUT);
    hark_control_put32(&m, s->rank);
    hark_control_put64(&m, s->id);
    hark_control_put32(&m, s->round);
    hark_control_put64(&m, s->at);
    hark_control_put64(&m, s->length);
    hark_control_put_bytes(&m, piece, (uint32_t)n);
    say(p, &m);
    s->at += (uint64_t)n;
    return s->at < s->length;
}

static struct hark_sending *next_to_send(const struct hark_peer *p)
{
    struct hark_sending *s = p->sending;
    while (s && s->check) s = s->next;
    return s;
}

static void send_on(struct hark_peer *p)
{
    struct hark_sending *s;
    while (p->opened && (s = next_to_send(p)) != NULL &&
           hark_connection_waiting(p->connection) < HARK_CONNECTION_HIGH)
        if (!send_piece(p, s)) end_sending(s);
}

static void end_unsent(struct hark_sending *s)
{
    say_about(s->peer, HARK_A_NONE, s->rank, s->id, s->round);
    end_sending(s);
}

static void checked(void *self, int status, const char *error)
{
    struct hark_sending *s = self;
    struct hark_peer *p = s->peer;
    s->check = NULL;
    if (!hark_depot_found(p->a, s->rank, s->id, status, error)) end_unsent(s);
    send_on(p);
}

static bool begin_check(struct hark_sending *s)
{
    const struct hark_placing_of of = {
        .rank = s->rank, .id = s->id, .file = s->fd, .self = s, .done = checked};
    s->check = hark_placing_begin(s->peer->a, &of);
    return s->check != NULL;
}

/* Round 0: another agent has asked for it, to begin a process with. */
static void begin_sending(struct hark_peer *p, uint32_t rank, uint64_t id, uint32_t round)
{
    char name[64];
    struct stat st;
    for (const struct hark_sending *s = p->sending; s; s = s->next)
        if (s->rank == rank && s->id == id && s->round == round) return; /* it is on its way */
    struct hark_sending *s = calloc(1, sizeof *s), **at = &p->sending;
    if (s == NULL) {
        say_about(p, HARK_A_NONE, rank, id, round);
        return;
    }
    hark_depot_name(name, rank, id);
    *s = (struct hark_sending){.peer = p,
        .rank = rank,
        .round = round,
        .id = id,
        .fd = openat(p->a->store_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
    if (s->fd >= 0 && fstat(s->fd, &st) == 0) s->length = (uint64_t)st.st_size;
    while (*at) at = &(*at)->next;
    *at = s;
    if (round == 0 && !begin_check(s)) end_unsent(s);
    send_on(p);
}

/* ---- what comes ------------------------------------------------------------------------------ */

static void say_wishes(struct hark_peer *p)
{
    for (struct hark_wish *w = p->wish; w && p->opened; w = w->next) {
        if (!w->said) say_about(p, HARK_A_GET, w->rank, w->id, 0);
        w->said = true;
    }
}

/* False: nobody waits for it here. */
static bool is_answered(struct hark_peer *p, uint32_t rank, uint64_t id)
{
    for (struct hark_wish **at = &p->wish; *at; at = &(*at)->next) {
        struct hark_wish *w = *at;
        if (w->rank != rank || w->id != id) continue;
        *at = w->next;
        free(w);
        return true;
    }
    return false;
}

static struct hark_coming *coming_of(struct hark_peer *p, uint32_t rank, uint64_t id, bool begins)
{
    char name[64];
    struct hark_coming *c = p->coming;
    while (c && (c->rank != rank || c->id != id)) c = c->next;
    if (c || !begins || (c = calloc(1, sizeof *c)) == NULL) return c;
    *c = (struct hark_coming){.a = p->a, .rank = rank, .id = id, .number = p->a->depot->number++};
    name_coming(name, c);
    (void)unlinkat(p->a->depot->in, name, 0); /* if it could not be removed before */
    c->fd = openat(p->a->depot->in, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (c->fd < 0) {
        free(c);
        return NULL;
    }
    c->next = p->coming;
    return p->coming = c;
}

/* Once, until one is kept again: the disk is full for all that comes next too. */
static void say_no_room(struct agent *a, uint32_t rank, uint64_t id, int why)
{
    if (a->depot->no_room) return;
    a->depot->no_room = true;
    hark_agent_say_line(a, HARK_A_SAY, "cannot keep a copy of checkpoint %llu of rank %u in %s: %s",
        (unsigned long long)id, rank, a->store_path, strerror(why));
}

/* What begins to come: is it of use? An image that was undone after it was asked for is not, and
 * there may be another one of its number by now. */
static bool is_wanted(struct hark_peer *p, uint32_t rank, uint64_t id, uint32_t round)
{
    return round == 0 ? is_answered(p, rank, id) : round > p->a->depot->undone[rank];
}

static void named(void *self)
{
    struct hark_coming *c = self;
    if (c->round) hark_depot_note_placed(c->a->depot, c);
}

static void placed(void *self, int status, const char *error)
{
    struct hark_coming *c = self;
    if (status == HARK_S_ESYSTEM) hark_agent_say_line(c->a, HARK_A_SAY, "%s", error);
    if (status == HARK_S_OK) c->a->depot->no_room = false;
    c->placing = NULL;
    end_coming(&c->a->depot->placing, c, status == HARK_S_OK);
}

/* All of it has come. */
static void place(struct hark_peer *p, struct hark_coming *c)
{
    struct hark_depot *d = p->a->depot;
    struct hark_coming **at = &p->coming;
    char name[64];
    name_coming(name, c);
    const struct hark_placing_of of = {.rank = c->rank,
        .id = c->id,
        .file = c->fd,
        .directory = d->in,
        .name = name,
        .self = c,
        .named = named,
        .done = placed};
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    c->next = d->placing;
    d->placing = c;
    c->placing = hark_placing_begin(p->a, &of);
    if (c->placing == NULL) end_coming(&d->placing, c, false);
}

/* False with errno. A disk that becomes full takes a part of it first. */
static bool keep_piece(
    const struct hark_coming *c, const uint8_t *at, uint32_t length, uint64_t offset)
{
    while (length) {
        const ssize_t n = pwrite(c->fd, at, length, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        length -= (uint32_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

static void take_piece(struct hark_peer *p, struct hark_control *m)
{
    const uint32_t rank = hark_control_get32(m);
    const uint64_t id = hark_control_get64(m);
    const uint32_t round = hark_control_get32(m);
    const uint64_t offset = hark_control_get64(m), all = hark_control_get64(m);
    uint32_t length;
    const uint8_t *at = hark_control_get_bytes(m, &length);
    if (m->bad || rank >= p->a->job.ranks || id == 0) return;
    if (offset == 0 && !is_wanted(p, rank, id, round)) return;
    struct hark_coming *c = coming_of(p, rank, id, offset == 0);
    if (c == NULL) {
        if (offset == 0) hark_depot_holds(p->a, rank, id, HARK_HOLDS_NOT, round);
        return; /* the rest of one that could not be kept */
    }
    if (offset == 0) c->round = round;
    errno = EIO;
    const bool kept =
        c->at == offset && length <= all - offset && keep_piece(c, at, length, offset);
    c->at += length;
    const int why = errno;
    if (!kept) say_no_room(p->a, rank, id, why);
    if (!kept) end_coming(&p->coming, c, false);
    else if (c->at == all) place(p, c);
}

static void message(
    void *self, struct hark_connection *connection, const uint8_t *at, size_t length)
{
    struct hark_peer *p = hark_connection_owner(connection);
    struct hark_control m;
    (void)self;
    if (p == NULL || hark_control_parse(&m, at, length) != (long)length) return;
    if (m.type == HARK_A_PUT) {
        take_piece(p, &m);
        return;
    }
    if (m.type >= HARK_A_SHARD && p->a->coder) {
        p->a->coder_message(p->a, connection, &m);
        return;
    }
    const uint32_t rank = hark_control_get32(&m);
    const uint64_t id = hark_control_get64(&m);
    if (m.bad || rank >= p->a->job.ranks) return;
    if (m.type == HARK_A_GET) begin_sending(p, rank, id, 0);
    else if (m.type == HARK_A_NONE) {
        struct hark_coming *c = coming_of(p, rank, id, false);
        const uint32_t round = hark_control_get32(&m);
        if (round == 0 && !is_answered(p, rank, id) && c == NULL) return;
        if (c) end_coming(&p->coming, c, false);
        else hark_depot_holds(p->a, rank, id, HARK_HOLDS_NOT, round);
    }
}

static void opened(void *self, struct hark_connection *connection)
{
    struct agent *a = self;
    struct hark_peer *p = hark_connection_owner(connection);
    if (p == NULL) { /* another agent has begun it */
        p = calloc(1, sizeof *p);
        if (p == NULL) {
            hark_connection_close(connection, false);
            return;
        }
        *p = (struct hark_peer){.next = a->depot->peer, .a = a, .connection = connection};
        a->depot->peer = p;
        hark_connection_own(connection, p);
    }
    p->opened = true;
    say_wishes(p);
    send_on(p);
    if (a->coder) a->coder_go_on(a);
}

static void room(void *self, struct hark_connection *connection)
{
    struct hark_peer *p = hark_connection_owner(connection);
    (void)self;
    if (p) send_on(p);
}

static void closed(void *self, struct hark_connection *connection, const char *why)
{
    struct hark_peer *p = hark_connection_owner(connection);
    (void)self;
    (void)why; /* the supervisor sees what does not come */
    if (p == NULL) return;
    struct agent *a = p->a;
    char address[sizeof p->address];
    memcpy(address, p->address, sizeof address);
    forget(p);
    if (a->coder) a->coder_cut(a, connection, address);
}

struct hark_connection_config hark_peer_config(struct agent *a)
{
    struct hark_connection_config config = {
        .loop = &a->loop, .events = {a, opened, message, room, closed}, .silent_ms = a->silent_ms};
    memcpy(config.key, a->key, sizeof config.key);
    return config;
}

/* The connection to the agent at that address, begun if there is none; NULL: it can not be. */
static struct hark_peer *peer_at(struct agent *a, const char *address)
{
    char error[200];
    struct hark_peer *p = a->depot->peer;
    while (p && strcmp(p->address, address) != 0) p = p->next;
    if (p || (p = calloc(1, sizeof *p)) == NULL) return p;
    const struct hark_connection_config config = hark_peer_config(a);
    p->a = a;
    snprintf(p->address, sizeof p->address, "%s", address);
    if (hark_connection_begin(&p->connection, &config, address, error) < 0) {
        free(p);
        return NULL;
    }
    hark_connection_own(p->connection, p);
    p->next = a->depot->peer;
    return a->depot->peer = p;
}

/* ---- what it is for -------------------------------------------------------------------------- */

bool hark_depot_reach(struct agent *a, const char *address, struct hark_connection **to)
{
    const struct hark_peer *p = a->depot ? peer_at(a, address) : NULL;
    *to = p && p->opened ? p->connection : NULL;
    return p != NULL;
}

void hark_depot_copy(
    struct agent *a, uint32_t rank, uint64_t id, const char *address, uint32_t round)
{
    struct hark_peer *p = a->depot ? peer_at(a, address) : NULL;
    if (p) begin_sending(p, rank, id, round);
}

void hark_depot_get(struct agent *a, uint32_t rank, uint64_t id, const char *address)
{
    struct hark_peer *p = a->depot ? peer_at(a, address) : NULL;
    struct hark_wish *w = p ? calloc(1, sizeof *w) : NULL;
    if (w == NULL) {
        a->image_came(a, rank, id, false);
        return;
    }
    *w = (struct hark_wish){.next = p->wish, .rank = rank, .id = id};
    p->wish = w;
    say_wishes(p);
}

static void undo(struct hark_coming **list, uint32_t rank, uint64_t above, uint32_t round)
{
    struct hark_coming *next;
    for (struct hark_coming *c = *list; c; c = next) {
        next = c->next;
        if (c->rank == rank && c->id > above && c->round <= round) end_coming(list, c, false);
    }
}

static void undo_wishes(struct hark_peer *p, uint32_t rank, uint64_t above)
{
    for (struct hark_wish **at = &p->wish; *at;) {
        struct hark_wish *w = *at;
        if (w->rank != rank || w->id <= above) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        p->a->image_came(p->a, rank, w->id, false);
        free(w);
    }
}

/* Images that are being verified to be sent end: there may soon be others of their numbers. */
static void undo_checks(struct hark_peer *p, uint32_t rank, uint64_t above)
{
    struct hark_sending *next;
    for (struct hark_sending *s = p->sending; s; s = next) {
        next = s->next;
        if (s->check && s->rank == rank && s->id > above) end_unsent(s);
    }
}

/* Copies of a later round are of the checkpoints that came after. */
void hark_peers_undo(struct agent *a, uint32_t rank, uint64_t above, uint32_t round)
{
    for (struct hark_peer *p = a->depot->peer; p; p = p->next) {
        undo_wishes(p, rank, above);
        undo_checks(p, rank, above);
        undo(&p->coming, rank, above, round);
    }
    undo(&a->depot->placing, rank, above, round);
}

void hark_peers_close(struct agent *a)
{
    struct hark_depot *d = a->depot;
    while (d->peer) {
        hark_connection_close(d->peer->connection, false);
        forget(d->peer);
    }
    while (d->placing) end_coming(&d->placing, d->placing, false);
}
