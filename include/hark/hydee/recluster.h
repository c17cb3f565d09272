/* hydee/recluster.h: clusters that change while the job runs (docs/recluster.md). A part of
 * hydee.h.
 *
 * Only with HARK_WAVES_ALL. The embedder tells every process the next map of clusters
 * (HARK_RECLUSTER); the first wave at which all know it brings it into force: COUNT says that one
 * knows it, PREPARE that all do, and the decision that is durable at the failure service that it is
 * so. From COMMIT on the map holds.
 *
 * Why nothing is lost. A wave drains every channel, so at COMMIT both ends of each have the same
 * messages behind them, and no process goes back beyond the wave unless all do, who then need no
 * log at all. A channel that comes to lie inside a cluster forgets its log; one that comes to lie
 * between two begins an empty one. What follows on it follows on both sides under the new map: a
 * process that has heard of COMMIT may send to one that has not, where the message is held until
 * that one has. Phases stay: they only grow.
 */
#ifndef HARK_HYDEE_RECLUSTER_H
#define HARK_HYDEE_RECLUSTER_H

#include "channel.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* REGROUP. HARK_EINVAL: no such ranges, or this configuration takes none; HARK_ESTATE: another map
 * is to come. */
HARK_COLD int hark_hydee_recluster(struct hark_hydee *s, const struct hark_event *event)
{
    const struct hark_range *r = event->u.recluster.cluster;
    const uint32_t n = event->u.recluster.cluster_count;
    struct hark_config c;
    hark_zero(&c, sizeof c);
    c.me = s->endpoint.me;
    c.ranks = s->endpoint.ranks;
    c.cluster = r;
    c.cluster_count = n;
    if (!s->waves_all || s->groups_configured || s->flags & HARK_EXACT_GATE || n == 0 ||
        !hark_config_valid(&c))
        return HARK_EINVAL;
    if (s->wave.map != HARK_W_NO_MAP) {
        bool same = hark_hydee_next(s)->count == n;
        for (uint32_t i = 0; same && i < n; i++) {
            const struct hark_range *known =
                (const struct hark_range *)hark_row(&s->head, hark_hydee_next(s), i);
            same = known->first == r[i].first && known->last == r[i].last;
        }
        return same ? HARK_OK : HARK_ESTATE;
    }
    int status = hark_group_init(&s->head, &hark_hydee_shape, hark_hydee_next(s), &c, false);
    if (status >= 0) s->wave.map = HARK_W_MAP_KNOWN;
    return status;
}

/* Is it a channel inside my cluster that the present wave puts between two? */
static inline bool hark_hydee_becomes_intercluster(
    struct hark_hydee *s, const struct hark_hydee_channel *c)
{
    return s->wave.map == HARK_W_MAP_NOW && !hark_hydee_inter(c) &&
           !hark_ranges_hold(&s->head, hark_hydee_next(s), c->channel.peer);
}

/* What was between two clusters lies inside one: nobody goes back behind the wave alone. Or the
 * reverse: the log begins here. */
static inline void hark_hydee_rewire(struct hark_hydee *s, struct hark_hydee_channel *c, bool mate)
{
    struct hark *p = &s->head;
    if (mate && c->pos.first <= c->channel.sent) c->channel.flags |= HARK_HYDEE_FREE;
    hark_queue_clear(p, &s->pool, &c->log);
    hark_queue_clear(p, &s->pool, &c->pos.digests);
    hark_queue_clear(p, &s->pool, &c->rpp);
    hark_queue_clear(p, &s->pool, &c->recorded);
    c->pos.first = c->channel.sent + 1;
    c->channel.flags = (uint16_t)(mate ? (c->channel.flags | HARK_HYDEE_MATE) & ~HARK_GC_DUE
                                       : c->channel.flags & ~HARK_HYDEE_MATE);
    for (uint32_t i = s->positions.count; mate && i-- > 0;) {
        const struct hark_position *x = (const struct hark_position *)hark_row(p, &s->positions, i);
        if (x->peer == c->channel.peer && x->ctx == c->channel.ctx)
            hark_remove(p, &s->positions, i);
    }
}

/* The wave has been committed, or I begin behind it: if it brought the next map into force, that is
 * mine now. */
HARK_COLD void hark_hydee_reclustered(struct hark_hydee *s)
{
    if (s->wave.map == HARK_W_NO_MAP)
        hark_empty(&s->head, hark_hydee_next(s)); /* an image's, which is to be told again */
    if (s->wave.map != HARK_W_MAP_TAKEN) return;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        bool mate = hark_ranges_hold(&s->head, hark_hydee_next(s), c->channel.peer);
        if (mate == hark_hydee_inter(c)) hark_hydee_rewire(s, c, mate);
    }
    s->in_force ^= 1; /* tables stay where they are: they lie in the order of the shape */
    hark_empty(&s->head, hark_hydee_next(s));
    s->wave.map = HARK_W_NO_MAP;
    s->busy = 1;
}

/* Of an unpacked state. */
static inline bool hark_hydee_maps_ok(struct hark_hydee *s)
{
    const struct hark *p = &s->head;
    const uint32_t me = s->endpoint.me, ranks = s->endpoint.ranks;
    if (s->in_force > 1 || !hark_ranges_ok(p, hark_hydee_cluster(s), ranks) ||
        !hark_ranges_hold(p, hark_hydee_cluster(s), me))
        return false;
    if (s->wave.map > HARK_W_MAP_NOW ||
        (s->wave.map != HARK_W_NO_MAP) != (hark_hydee_next(s)->count != 0))
        return false;
    if (hark_hydee_next(s)->count == 0) return true;
    return s->waves_all && !s->groups_configured && hark_ranges_ok(p, hark_hydee_next(s), ranks) &&
           hark_ranges_hold(p, hark_hydee_next(s), me);
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
