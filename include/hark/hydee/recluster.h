/* hydee/recluster.h: clusters that change while the job runs (docs/recluster.md). A part of
 * hydee.h.
 *
 * Clusters change only with HARK_WAVES_ALL. The embedder gives every process the next map of
 * clusters (HARK_RECLUSTER). The first wave at which all processes know the map brings it into
 * force: a process reports in COUNT that it knows the map, PREPARE announces that all do, and the
 * failure service stores this with its decision. From COMMIT on the map is in force.
 * Why nothing is lost. A wave drains every channel, so at COMMIT both ends of a channel agree on
 * the messages before it. No process rolls back beyond the wave unless all do, and then no log is
 * needed. A channel that now lies inside a cluster drops its log; a channel that now lies between
 * clusters begins an empty one. Later messages are under the new map at both ends: if the receiver
 * has not got COMMIT yet, it holds the message until then. Phases stay, because they only grow.
 */
#ifndef HARK_HYDEE_RECLUSTER_H
#define HARK_HYDEE_RECLUSTER_H

#include "channel.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* Takes RECLUSTER. HARK_EINVAL: the ranges are invalid, or this process was configured without
 * HARK_WAVES_ALL, in a group, or with the exact gate. HARK_ESTATE: another map is already the
 * next. */
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

/* True if the channel lies inside my cluster now and the present wave puts it between clusters. */
static inline bool hark_hydee_becomes_intercluster(
    struct hark_hydee *s, const struct hark_hydee_channel *c)
{
    return s->wave.map == HARK_W_MAP_NOW && !hark_hydee_inter(c) &&
           !hark_ranges_hold(&s->head, hark_hydee_next(s), c->channel.peer);
}

/* Moves a channel into a cluster (`mate`), where it loses its log, because no process rolls back
 * beyond the wave alone; or out of one, where an empty log begins. */
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

/* Makes the next map mine, after a commit or a restart from the image of the wave, if the wave
 * brought the map into force. */
HARK_COLD void hark_hydee_reclustered(struct hark_hydee *s)
{
    if (s->wave.map == HARK_W_NO_MAP)
        hark_empty(&s->head, hark_hydee_next(s)); /* of an image; the embedder gives the map
                                                   * again */
    if (s->wave.map != HARK_W_MAP_TAKEN) return;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        bool mate = hark_ranges_hold(&s->head, hark_hydee_next(s), c->channel.peer);
        if (mate == hark_hydee_inter(c)) hark_hydee_rewire(s, c, mate);
    }
    s->in_force ^= 1; /* an index is switched, because tables must stay in the order of the shape */
    hark_empty(&s->head, hark_hydee_next(s));
    s->wave.map = HARK_W_NO_MAP;
    s->busy = 1;
}

/* True if the maps of an unpacked state are valid. */
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
