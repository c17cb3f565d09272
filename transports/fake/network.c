/* network.c: the network itself: what is in flight, who dies, and choosing by hand.
 *
 * A port is a rank's place in the network, whoever is open there; frames wait at the port of their
 * receiver until its poll() finds them due. One lock guards everything; it is let go around the
 * calls into a sink, so a frame in a sink's hands has been taken out of its list, or is marked
 * busy.
 */
#include <stdlib.h>
#include <time.h>

#include "fake.h"

#define ROOM  (256u * 1024)
#define CHUNK (32u * 1024)

/* ---- small tools ----------------------------------------------------------------------------- */

uint64_t fake_draw(struct hark_fake *n, uint64_t below) /* 0 .. below-1; splitmix64 */
{
    uint64_t x = n->random += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return below ? (x ^ (x >> 31)) % below : 0;
}

uint32_t fake_port_number(uint32_t ranks, uint32_t rank) /* ranks + 1: no such rank */
{
    if (rank == HARK_RECOVERY) return ranks;
    return rank < ranks ? rank : ranks + 1;
}

struct channel *fake_channel_of(struct hark_fake *n, const struct frame *f)
{
    return &n->port[fake_port_number(n->ranks, f->to)].channel[fake_port_number(n->ranks, f->from)];
}

void fake_unlink_frame(struct port *port, struct frame *f)
{
    struct frame **p = &port->first;
    while (*p != f) p = &(*p)->next;
    *p = f->next;
    if (port->last == &f->next) port->last = p;
}

void fake_free_frame(struct hark_fake *n, struct frame *f)
{
    if (!f->ghost) fake_channel_of(n, f)->flying -= f->taken - f->given;
    free(f->header);
    free(f->payload);
    free(f);
}

static bool receiver_is_open(const struct hark_fake *n, const struct frame *f)
{
    const struct port *port = &n->port[fake_port_number(n->ranks, f->to)];
    return port->end && port->end->inc == f->to_inc;
}

/* The frame will never arrive. If its receiver has given a place, it must hear so at its next
 * poll(). */
void fake_lose(struct hark_fake *n, struct frame *f)
{
    if (f->placed && f->place && receiver_is_open(n, f)) {
        f->broken = true;
        f->let_in = true;
        f->due = n->now;
        return;
    }
    if (f->busy) { /* a sink has it in hand: poll() frees it */
        f->broken = true;
        return;
    }
    fake_unlink_frame(&n->port[fake_port_number(n->ranks, f->to)], f);
    fake_free_frame(n, f);
}

/* ---- the network ----------------------------------------------------------------------------- */

struct hark_fake *hark_fake_new(const struct hark_fake_config *config)
{
    if (!config || config->drop > 1000 || config->ghosts > 1000) return NULL;
    struct hark_fake *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    pthread_condattr_t clock;
    n->config = *config;
    if (n->config.room == 0) n->config.room = ROOM;
    if (n->config.chunk == 0) n->config.chunk = CHUNK;
    n->random = config->seed;
    pthread_mutex_init(&n->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&n->moved, &clock);
    pthread_condattr_destroy(&clock);
    return n;
}

void hark_fake_free(struct hark_fake *n)
{
    if (!n) return;
    for (uint32_t i = 0; n->port && i <= n->ranks; i++) {
        for (struct frame *f = n->port[i].first, *next; f; f = next) {
            next = f->next;
            free(f->header);
            free(f->payload);
            free(f);
        }
        free(n->port[i].channel);
    }
    free(n->port);
    pthread_cond_destroy(&n->moved);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

void hark_fake_join(struct hark_fake *n, struct hark_transport_config *config)
{
    config->option[0] = (uint64_t)(uintptr_t)n;
}

/* What an end leaves when it goes: nothing is for it any more, what it half sent is lost. */
void fake_leave(struct hark_fake *n, struct end *e, bool killed)
{
    struct port *own = &n->port[e->port];
    if (own->end == e) own->end = NULL;
    for (struct frame *f = own->first, *next; f; f = next) {
        next = f->next;
        if (f->to_inc == e->inc) fake_lose(n, f);
    }
    for (uint32_t i = 0; i <= n->ranks; i++)
        for (struct frame *f = n->port[i].first, *next; f; f = next) {
            next = f->next;
            if (f->from != e->me || f->from_inc != e->inc || f->broken || f->ghost) continue;
            if (f->taken < f->length) {
                fake_lose(n, f);
            } else if (killed) {
                if (fake_draw(n, 1000) >= n->config.ghosts) {
                    fake_lose(n, f);
                    continue;
                }
                fake_channel_of(n, f)->flying -= f->taken - f->given; /* a ghost takes no room of
                                                                         the living */
                f->ghost = true;
                f->due = n->now + 1 + fake_draw(n, 3 * (uint64_t)n->config.delay + 3);
            }
        }
    pthread_cond_broadcast(&n->moved);
}

bool hark_fake_kill(struct hark_fake *n, uint32_t rank)
{
    pthread_mutex_lock(&n->lock);
    uint32_t number = n->port ? fake_port_number(n->ranks, rank) : 0;
    struct end *e = n->port && number <= n->ranks ? n->port[number].end : NULL;
    if (e) {
        e->dead = true;
        fake_leave(n, e, true);
    }
    pthread_mutex_unlock(&n->lock);
    return e != NULL;
}

bool hark_fake_alive(const struct hark_fake *network, uint32_t rank, uint32_t *inc)
{
    struct hark_fake *n = (struct hark_fake *)(uintptr_t)network; /* only its lock is written */
    pthread_mutex_lock(&n->lock);
    uint32_t number = n->port ? fake_port_number(n->ranks, rank) : 0;
    const struct end *e = n->port && number <= n->ranks ? n->port[number].end : NULL;
    if (e && inc) *inc = e->inc;
    pthread_mutex_unlock(&n->lock);
    return e != NULL;
}

uint64_t hark_fake_now(const struct hark_fake *network)
{
    struct hark_fake *n = (struct hark_fake *)(uintptr_t)network;
    pthread_mutex_lock(&n->lock);
    uint64_t now = n->now;
    pthread_mutex_unlock(&n->lock);
    return now;
}

/* ---- choosing by hand ------------------------------------------------------------------------ */

/* The frame with the lowest id above `above`. */
static struct frame *next_in_flight(const struct hark_fake *n, uint64_t above)
{
    struct frame *best = NULL;
    for (uint32_t i = 0; n->port && i <= n->ranks; i++)
        for (struct frame *f = n->port[i].first; f; f = f->next)
            if (f->id > above && !f->broken && !f->busy && (!best || f->id < best->id)) best = f;
    return best;
}

size_t hark_fake_in_flight(
    const struct hark_fake *network, struct hark_fake_flight *at, size_t room)
{
    struct hark_fake *n = (struct hark_fake *)(uintptr_t)network;
    size_t count = 0;
    pthread_mutex_lock(&n->lock);
    for (const struct frame *f = next_in_flight(n, 0); f; f = next_in_flight(n, f->id), count++)
        if (count < room)
            at[count] = (struct hark_fake_flight){f->id, f->from, f->from_inc, f->to, f->to_inc,
                f->length, {f->header, f->header_length}, f->placed, receiver_is_open(n, f)};
    pthread_mutex_unlock(&n->lock);
    return count;
}

static struct frame *kth(const struct hark_fake *n, size_t k)
{
    struct frame *f = next_in_flight(n, 0);
    while (f && k-- > 0) f = next_in_flight(n, f->id);
    return f;
}

bool hark_fake_deliver(struct hark_fake *n, size_t k)
{
    pthread_mutex_lock(&n->lock);
    struct frame *f = kth(n, k);
    bool can = f && receiver_is_open(n, f) && !f->let_in;
    if (can) {
        f->let_in = true;
        f->due = ++n->let_in; /* the order of letting in is the order of arrival */
        pthread_cond_broadcast(&n->moved);
    }
    pthread_mutex_unlock(&n->lock);
    return can;
}

bool hark_fake_lose(struct hark_fake *n, size_t k)
{
    pthread_mutex_lock(&n->lock);
    struct frame *f = kth(n, k);
    bool can = f && f->ghost;
    if (can) fake_lose(n, f);
    pthread_mutex_unlock(&n->lock);
    return can;
}
