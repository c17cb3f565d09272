/* depot.c: images in a host's own store: copies go to agents of other hosts, and come from there.
 *
 * The store is a directory store (hark/store.h), in which the processes of the host write their own
 * images. A copy is written beside it, as HOST-STORE/JOB/in/N, verified, and then renamed into it:
 * so what bears the name of an image is whole, also after a crash.
 */
#include "state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hark/store.h"

#define PIECE (256u << 10) /* bytes of an image in a message */

struct sending { /* an image on its way to another agent */
    struct sending *next;
    uint32_t rank, round;
    uint64_t id, length, at;
    int fd;
};

struct coming { /* one on its way here */
    struct coming *next;
    uint32_t rank, round, number; /* number: its name until it is whole */
    uint64_t id, at;
    int fd;
};

struct wish { /* GET, until there is an answer; said when the connection is opened */
    struct wish *next;
    uint32_t rank;
    uint64_t id;
    bool said;
};

struct peer { /* a connection to another agent, whoever began it */
    struct peer *next;
    struct agent *a;
    struct hark_connection *connection;
    char address[HARK_HOST_NAME + 8]; /* that we connected to; empty: it did */
    bool opened;
    struct sending *sending;
    struct coming *coming;
    struct wish *wish;
};

struct placed { /* a copy, asked for in that round, that was put into the store */
    uint32_t rank, round;
    uint64_t id;
};

struct hark_depot {
    struct hark_listener *listener;
    struct peer *peer;
    int in; /* the directory of what comes */
    uint32_t number;
    uint32_t *undone; /* of each rank: copies of that round and before are of a past that is undone
                       */
    bool no_room;     /* and said */
    struct placed *placed;
    uint32_t placed_count;
};

/* ---- files ----------------------------------------------------------------------------------- */

static void name_of(char name[64], uint32_t rank, uint64_t id)
{
    snprintf(name, 64, "r%u/%llu", rank, (unsigned long long)id);
}

static void name_coming(char name[64], const struct coming *c)
{
    snprintf(name, 64, "%u", c->number);
}

static void say_holds(
    struct agent *a, uint32_t rank, uint64_t id, enum hark_agent_holds whole, uint32_t round)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_A_HOLDS);
    hark_control_put32(&m, rank);
    hark_control_put64(&m, id);
    hark_control_put32(&m, whole);
    hark_control_put32(&m, round);
    hark_agent_say(a, &m);
}

static void tell_holds(
    struct agent *a, uint32_t rank, uint64_t id, enum hark_agent_holds whole, uint32_t round)
{
    say_holds(a, rank, id, whole, round);
    if (round == 0) a->image_came(a, rank, id, whole == HARK_HOLDS_WHOLE);
}

void hark_depot_tell(struct agent *a, uint32_t rank, uint64_t id, enum hark_agent_holds whole)
{
    tell_holds(a, rank, id, whole, 0);
}

/* A damaged one is removed: it shall not be taken for a copy again. */
bool hark_depot_has(struct agent *a, uint32_t rank, uint64_t id)
{
    const int status = a->store ? a->store->ops->verify(a->store, rank, id) : HARK_S_ENONE;
    if (status == HARK_S_OK) return true;
    if (a->store)
        hark_agent_say_line(a, HARK_A_SAY, "%s; another copy of it is looked for", a->store->error);
    if (status == HARK_S_EDAMAGED) (void)a->store->ops->drop(a->store, rank, id);
    say_holds(a, rank, id, HARK_HOLDS_GONE, 0);
    return false;
}

bool hark_depot_place(
    struct agent *a, int directory, const char *name, int file, uint32_t rank, uint64_t id)
{
    char to[64], parent[32];
    snprintf(parent, sizeof parent, "r%u", rank);
    name_of(to, rank, id);
    if (mkdirat(a->store_fd, parent, 0700) < 0 && errno != EEXIST) return false;
    if (hark_store_verify_file(a->store, rank, id, file) != HARK_S_OK) return false;
    const int fd = openat(a->store_fd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool ok = fd >= 0 && fsync(file) == 0 &&
                    renameat(directory, name, a->store_fd, to) == 0 && fsync(fd) == 0 &&
                    fsync(a->store_fd) == 0;
    if (fd >= 0) close(fd);
    return ok;
}

/* All of a copy has come. */
static bool place(struct agent *a, struct coming *c)
{
    char from[64];
    name_coming(from, c);
    return hark_depot_place(a, a->depot->in, from, c->fd, c->rank, c->id);
}

/* Without memory for it an UNDO that comes late removes it too, as if it were older. */
static void note_placed(struct hark_depot *d, const struct coming *c)
{
    struct placed *more = realloc(d->placed, (d->placed_count + 1) * sizeof *more);
    if (more == NULL) return;
    d->placed = more;
    more[d->placed_count++] = (struct placed){c->rank, c->round, c->id};
}

/* Forgets those of the rank from `first` on, before `end`, up to that round. */
static void forget_placed(
    struct hark_depot *d, uint32_t rank, uint64_t first, uint64_t end, uint32_t round)
{
    for (uint32_t i = 0; i < d->placed_count;) {
        const struct placed *x = &d->placed[i];
        if (x->rank == rank && x->id >= first && x->id < end && x->round <= round)
            d->placed[i] = d->placed[--d->placed_count];
        else i++;
    }
}

static bool is_placed(const struct hark_depot *d, uint32_t rank, uint64_t id)
{
    for (uint32_t i = 0; i < d->placed_count; i++)
        if (d->placed[i].rank == rank && d->placed[i].id == id) return true;
    return false;
}

/* ---- peers ----------------------------------------------------------------------------------- */

static void end_coming(struct peer *p, struct coming *c, bool whole)
{
    char name[64];
    struct coming **at = &p->coming;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    name_coming(name, c);
    if (!whole) (void)unlinkat(p->a->depot->in, name, 0);
    close(c->fd);
    tell_holds(p->a, c->rank, c->id, whole ? HARK_HOLDS_WHOLE : HARK_HOLDS_NOT, c->round);
    free(c);
}

static void end_sending(struct peer *p)
{
    struct sending *s = p->sending;
    p->sending = s->next;
    if (s->fd >= 0) close(s->fd);
    free(s);
}

static void forget(struct peer *p)
{
    struct peer **at = &p->a->depot->peer;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    while (p->sending) end_sending(p);
    while (p->coming) end_coming(p, p->coming, false);
    while (p->wish) {
        struct wish *w = p->wish;
        p->wish = w->next;
        p->a->image_came(p->a, w->rank, w->id, false);
        free(w);
    }
    free(p);
}

static void say(struct peer *p, struct hark_control *m)
{
    hark_control_end(m);
    if (!m->bad) (void)hark_connection_say(p->connection, m->at, m->length);
    hark_control_free(m);
}

static void say_about(struct peer *p, uint16_t type, uint32_t rank, uint64_t id, uint32_t round)
{
    struct hark_control m;
    hark_control_begin(&m, type);
    hark_control_put32(&m, rank);
    hark_control_put64(&m, id);
    if (type == HARK_A_NONE) hark_control_put32(&m, round);
    say(p, &m);
}

/* One piece; false: this image is through. */
static bool send_piece(struct peer *p, struct sending *s)
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

static void send_on(struct peer *p)
{
    while (p->opened && p->sending && hark_connection_waiting(p->connection) < HARK_CONNECTION_HIGH)
        if (!send_piece(p, p->sending)) end_sending(p);
}

static void begin_sending(struct peer *p, uint32_t rank, uint64_t id, uint32_t round)
{
    char name[64];
    struct stat st;
    for (const struct sending *s = p->sending; s; s = s->next)
        if (s->rank == rank && s->id == id && s->round == round) return; /* it is on its way */
    struct sending *s = calloc(1, sizeof *s), **at = &p->sending;
    if (s == NULL) {
        say_about(p, HARK_A_NONE, rank, id, round);
        return;
    }
    name_of(name, rank, id);
    *s = (struct sending){.rank = rank,
        .round = round,
        .id = id,
        .fd = openat(p->a->store_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
    if (s->fd >= 0 && fstat(s->fd, &st) == 0) s->length = (uint64_t)st.st_size;
    while (*at) at = &(*at)->next;
    *at = s;
    send_on(p);
}

/* ---- what comes ------------------------------------------------------------------------------ */

static void say_wishes(struct peer *p)
{
    for (struct wish *w = p->wish; w && p->opened; w = w->next) {
        if (!w->said) say_about(p, HARK_A_GET, w->rank, w->id, 0);
        w->said = true;
    }
}

/* False: nobody waits for it here. */
static bool is_answered(struct peer *p, uint32_t rank, uint64_t id)
{
    for (struct wish **at = &p->wish; *at; at = &(*at)->next) {
        struct wish *w = *at;
        if (w->rank != rank || w->id != id) continue;
        *at = w->next;
        free(w);
        return true;
    }
    return false;
}

static struct coming *coming_of(struct peer *p, uint32_t rank, uint64_t id, bool begins)
{
    char name[64];
    struct coming *c = p->coming;
    while (c && (c->rank != rank || c->id != id)) c = c->next;
    if (c || !begins || (c = calloc(1, sizeof *c)) == NULL) return c;
    *c = (struct coming){.rank = rank, .id = id, .number = p->a->depot->number++};
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

/* Once: the disk is full for all that comes later too. */
static void say_no_room(struct agent *a, uint32_t rank, uint64_t id, int why)
{
    if (a->depot->no_room) return;
    a->depot->no_room = true;
    hark_agent_say_line(a, HARK_A_SAY, "cannot keep a copy of checkpoint %llu of rank %u in %s: %s",
        (unsigned long long)id, rank, a->store_path, strerror(why));
}

/* What begins to come: is it of use? An image that was undone after it was asked for is not, and
 * there may be another one of its number by now. */
static bool is_wanted(struct peer *p, uint32_t rank, uint64_t id, uint32_t round)
{
    return round == 0 ? is_answered(p, rank, id) : round > p->a->depot->undone[rank];
}

static void take_piece(struct peer *p, struct hark_control *m)
{
    const uint32_t rank = hark_control_get32(m);
    const uint64_t id = hark_control_get64(m);
    const uint32_t round = hark_control_get32(m);
    const uint64_t offset = hark_control_get64(m), all = hark_control_get64(m);
    uint32_t length;
    const uint8_t *at = hark_control_get_bytes(m, &length);
    if (m->bad || rank >= p->a->job.ranks || id == 0) return;
    if (offset == 0 && !is_wanted(p, rank, id, round)) return;
    struct coming *c = coming_of(p, rank, id, offset == 0);
    if (c == NULL) {
        if (offset == 0) tell_holds(p->a, rank, id, HARK_HOLDS_NOT, round);
        return; /* the rest of one that could not be kept */
    }
    if (offset == 0) c->round = round;
    errno = EIO;
    const bool kept = c->at == offset && length <= all - offset &&
                      pwrite(c->fd, at, length, (off_t)offset) == (ssize_t)length;
    c->at += length;
    const int why = errno;
    const bool whole = kept && c->at == all && place(p->a, c);
    if (whole && c->round) note_placed(p->a->depot, c);
    if (!kept) say_no_room(p->a, rank, id, why);
    if (!kept || c->at == all) end_coming(p, c, whole);
}

static void message(
    void *self, struct hark_connection *connection, const uint8_t *at, size_t length)
{
    struct peer *p = hark_connection_owner(connection);
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
    if (m.type == HARK_A_GET && hark_depot_has(p->a, rank, id)) begin_sending(p, rank, id, 0);
    else if (m.type == HARK_A_GET) say_about(p, HARK_A_NONE, rank, id, 0);
    else if (m.type == HARK_A_NONE) {
        struct coming *c = coming_of(p, rank, id, false);
        const uint32_t round = hark_control_get32(&m);
        if (round == 0 && !is_answered(p, rank, id) && c == NULL) return;
        if (c) end_coming(p, c, false);
        else tell_holds(p->a, rank, id, HARK_HOLDS_NOT, round);
    }
}

static void opened(void *self, struct hark_connection *connection)
{
    struct agent *a = self;
    struct peer *p = hark_connection_owner(connection);
    if (p == NULL) { /* another agent has begun it */
        p = calloc(1, sizeof *p);
        if (p == NULL) {
            hark_connection_close(connection, false);
            return;
        }
        *p = (struct peer){.next = a->depot->peer, .a = a, .connection = connection};
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
    struct peer *p = hark_connection_owner(connection);
    (void)self;
    if (p) send_on(p);
}

static void closed(void *self, struct hark_connection *connection, const char *why)
{
    struct peer *p = hark_connection_owner(connection);
    (void)self;
    (void)why; /* the supervisor sees what does not come */
    if (p == NULL) return;
    struct agent *a = p->a;
    char address[sizeof p->address];
    memcpy(address, p->address, sizeof address);
    forget(p);
    if (a->coder) a->coder_cut(a, connection, address);
}

static struct hark_connection_config connections(struct agent *a)
{
    struct hark_connection_config config = {
        .loop = &a->loop, .events = {a, opened, message, room, closed}, .silent_ms = a->silent_ms};
    memcpy(config.key, a->key, sizeof config.key);
    return config;
}

/* The connection to the agent at that address, begun if there is none; NULL: it can not be. */
static struct peer *peer_at(struct agent *a, const char *address)
{
    char error[200];
    struct peer *p = a->depot->peer;
    while (p && strcmp(p->address, address) != 0) p = p->next;
    if (p || (p = calloc(1, sizeof *p)) == NULL) return p;
    const struct hark_connection_config config = connections(a);
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
    const struct peer *p = a->depot ? peer_at(a, address) : NULL;
    *to = p && p->opened ? p->connection : NULL;
    return p != NULL;
}

void hark_depot_copy(
    struct agent *a, uint32_t rank, uint64_t id, const char *address, uint32_t round)
{
    struct peer *p = a->depot ? peer_at(a, address) : NULL;
    if (p) begin_sending(p, rank, id, round);
}

void hark_depot_get(struct agent *a, uint32_t rank, uint64_t id, const char *address)
{
    struct peer *p = a->depot ? peer_at(a, address) : NULL;
    struct wish *w = p ? calloc(1, sizeof *w) : NULL;
    if (w == NULL) {
        a->image_came(a, rank, id, false);
        return;
    }
    *w = (struct wish){.next = p->wish, .rank = rank, .id = id};
    p->wish = w;
    say_wishes(p);
}

void hark_depot_drop(struct agent *a, uint32_t rank, uint64_t below)
{
    uint64_t id[256];
    const int n = a->store ? a->store->ops->list(a->store, rank, id, 256) : 0;
    if (a->depot) forget_placed(a->depot, rank, 0, below, UINT32_MAX);
    for (int i = 0; i < n && i < 256 && id[i] < below; i++)
        (void)a->store->ops->drop(a->store, rank, id[i]);
}

/* Images of the rank behind that one are not wanted any more: those on their way here end, and so
 * do the wishes for some. Copies of a later round are of the checkpoints that came after. */
static void cancel(struct peer *p, uint32_t rank, uint64_t above, uint32_t round)
{
    struct coming *next;
    for (struct wish **at = &p->wish; *at;) {
        struct wish *w = *at;
        if (w->rank != rank || w->id <= above) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        p->a->image_came(p->a, rank, w->id, false);
        free(w);
    }
    for (struct coming *c = p->coming; c; c = next) {
        next = c->next;
        if (c->rank == rank && c->id > above && c->round <= round) end_coming(p, c, false);
    }
}

void hark_depot_undo(struct agent *a, uint32_t rank, uint64_t above, uint32_t round)
{
    if (a->depot && round > a->depot->undone[rank]) a->depot->undone[rank] = round;
    for (struct peer *p = a->depot ? a->depot->peer : NULL; p; p = p->next)
        cancel(p, rank, above, round);
    if (a->depot) forget_placed(a->depot, rank, above + 1, UINT64_MAX, round);
    uint64_t id[256];
    const int n = a->store ? a->store->ops->list(a->store, rank, id, 256) : 0;
    for (int i = 0; i < n && i < 256; i++)
        if (id[i] > above && !(a->depot && is_placed(a->depot, rank, id[i])))
            (void)a->store->ops->drop(a->store, rank, id[i]);
}

void hark_depot_list(struct agent *a)
{
    uint64_t id[256];
    for (uint32_t rank = 0; a->store && rank < a->job.ranks; rank++) {
        const int n = a->store->ops->list(a->store, rank, id, 256);
        for (int i = 0; i < n && i < 256; i++) tell_holds(a, rank, id[i], HARK_HOLDS_WHOLE, 0);
    }
}

/* Copies that came in part to an agent that died are of no use. */
static void empty(int directory)
{
    const int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *all = again >= 0 ? fdopendir(again) : NULL;
    for (const struct dirent *e; all && (e = readdir(all)) != NULL;)
        if (e->d_name[0] != '.') (void)unlinkat(directory, e->d_name, 0);
    if (all) closedir(all);
    else if (again >= 0) close(again);
}

bool hark_depot_open(struct agent *a, char error[256])
{
    const struct hark_connection_config config = connections(a);
    char why[200] = "no memory";
    a->depot = calloc(1, sizeof *a->depot);
    if (a->depot) a->depot->undone = calloc(a->job.ranks, sizeof *a->depot->undone);
    if (a->depot && a->depot->undone) {
        (void)mkdirat(a->store_fd, "in", 0700);
        a->depot->in = openat(a->store_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (a->depot->in >= 0) empty(a->depot->in);
        if (a->depot->in < 0)
            snprintf(why, sizeof why, "%s/in: %s", a->store_path, strerror(errno));
        else if (hark_listener_open(&a->depot->listener, &config, NULL, 0, why) == 0) return true;
    }
    snprintf(error, 256, "%s", why);
    return false;
}

uint16_t hark_depot_port(const struct agent *a)
{
    return a->depot && a->depot->listener ? hark_listener_port(a->depot->listener) : 0;
}

void hark_depot_close(struct agent *a)
{
    struct hark_depot *d = a->depot;
    if (d == NULL) return;
    while (d->peer) {
        hark_connection_close(d->peer->connection, false);
        forget(d->peer);
    }
    if (d->listener) hark_listener_close(d->listener);
    if (d->in > 0) close(d->in);
    free(d->undone);
    free(d->placed);
    free(d);
    a->depot = NULL;
}
