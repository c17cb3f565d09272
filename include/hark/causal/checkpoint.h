/* causal/checkpoint.h: checkpoints, lines 22-27 of CAMEL's Algorithm 1. A process remembers its
 * positions (ssn, rsn) at each image, and drops from its logs what is older than the oldest image
 * that it keeps. A part of scmel.h. */
#ifndef HARK_CAUSAL_CHECKPOINT_H
#define HARK_CAUSAL_CHECKPOINT_H

#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

#if HARK_BODIES

static inline void hark_scmel_remember(
    struct hark_scmel *s, uint32_t peer, uint16_t ctx, uint16_t what, uint64_t at)
{
    struct hark_scmel_position *x =
        (struct hark_scmel_position *)hark_insert(&s->head, &s->positions, s->positions.count);
    x->id = s->wave.wave;
    x->peer = peer;
    x->ctx = ctx;
    x->what = what;
    x->at = at;
}

/* Remembers the positions of an image when it is taken: all processes of the wave are frozen, and
 * none of their messages is in flight. A run of looks (causal/determinant.h) ends here: a process
 * that rolls back to the image could not find the rest of the run under an rsn of its own. */
HARK_COLD void hark_scmel_captured(struct hark_scmel *s)
{
    s->published_rsn = s->rsn;
    hark_scmel_remember(s, s->endpoint.me, 0, HARK_SCMEL_RSN, s->rsn);
    for (uint32_t i = 0; i < s->logs.count; i++) {
        const struct hark_scmel_log *log = hark_scmel_log_at(s, i);
        if (log->dets.top && (!s->team_checkpoints_alone || hark_scmel_mate(s, log->rank)))
            hark_scmel_remember(s, log->rank, 0, HARK_SCMEL_RSN, log->dets.top);
    }
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_scmel_channel *c = hark_scmel_at(s, i);
        if (s->team_checkpoints_alone && !(c->channel.flags & HARK_SCMEL_MATE))
            hark_scmel_remember(
                s, c->channel.peer, c->channel.ctx, HARK_SCMEL_RECV, c->channel.recv);
        else if (c->channel.peer != s->endpoint.me && c->channel.sent &&
                 !(c->channel.flags & HARK_SCMEL_GROUP))
            hark_scmel_remember(
                s, c->channel.peer, c->channel.ctx, HARK_SCMEL_SENT, c->channel.sent);
    }
    for (uint32_t i = 0; i < s->groups.count; i++) {
        const struct hark_scmel_group *g =
            (const struct hark_scmel_group *)hark_row(&s->head, &s->groups, i);
        if (g->sent && !g->reduces)
            hark_scmel_remember(s, s->endpoint.me, (uint16_t)g->ctx, HARK_SCMEL_GROUPS, g->sent);
        if (g->whole_keeper && g->keeps)
            hark_scmel_remember(
                s, s->endpoint.me, (uint16_t)g->ctx, HARK_SCMEL_KEPT, g->whole_keeper);
    }
}

/* Remembers, when I am frozen, how many contributions I have sent. Contributions from below that
 * arrive before the wave ends are combined with mine and go to my parent. Its image may lack them,
 * so they stay in the log (v17). The root waits: its result would be in flight. */
HARK_COLD void hark_scmel_frozen(struct hark_scmel *s)
{
    for (uint32_t i = 0; i < s->groups.count; i++) {
        const struct hark_scmel_group *g =
            (const struct hark_scmel_group *)hark_row(&s->head, &s->groups, i);
        if (g->sent && g->reduces)
            hark_scmel_remember(s, s->endpoint.me, (uint16_t)g->ctx, HARK_SCMEL_GROUPS, g->sent);
    }
}

/* Ends a wave. If it committed, and as many images are kept as configured, everything older than
 * the oldest of them is dropped: never before COMMIT.                                   l. 23-25 */
HARK_COLD void hark_scmel_commit(struct hark_scmel *s, bool committed)
{
    struct hark *p = &s->head;
    const struct hark_table *kept = &s->wave.kept;
    uint64_t oldest = kept->count ? ((const struct hark_image *)hark_row(p, kept, 0))->id : 0;
    uint64_t newest =
        kept->count ? ((const struct hark_image *)hark_row(p, kept, kept->count - 1))->id : 0;
    committed = committed && kept->count == s->wave.generations;
    for (uint32_t i = s->positions.count; i-- > 0;) {
        const struct hark_scmel_position x =
            *(const struct hark_scmel_position *)hark_row(p, &s->positions, i);
        if (x.id < oldest || x.id > newest) hark_remove(p, &s->positions, i);
        if (!committed || x.id != oldest) continue;
        if (x.what == HARK_SCMEL_GROUPS || x.what == HARK_SCMEL_KEPT) {
            struct hark_scmel_group *g = hark_scmel_group(s, x.ctx);
            bool all = x.what == HARK_SCMEL_KEPT || (g && g->reduces && g->root == s->endpoint.me);
            uint64_t *first = g == NULL ? NULL : all ? &g->whole_first : &g->first;
            if (first == NULL || *first > x.at) continue;
            *first = x.at + 1;
            g->trim |= all ? HARK_SCMEL_TRIM_ALL : HARK_SCMEL_TRIM_OWN;
            s->busy = 1;
        } else if (x.what != HARK_SCMEL_RSN) {
            struct hark_scmel_channel *c = (struct hark_scmel_channel *)(void *)hark_channel_find(
                p, &s->endpoint, x.peer, x.ctx);
            if (c && x.what == HARK_SCMEL_RECV) c->kept = x.at;
            if (c == NULL || x.what != HARK_SCMEL_SENT || c->first > x.at || x.at > c->channel.sent)
                continue;
            c->first = x.at + 1;
            c->channel.flags |= HARK_SCMEL_TRIM;
            s->busy = 1;
        } else if (x.peer == s->endpoint.me) {
            hark_dets_trim(p, &s->pool, &s->own, x.at);
            s->oldest_image_rsn = x.at;
        } else if (hark_scmel_log(s, x.peer, false)) {
            hark_dets_trim(p, &s->pool, &hark_scmel_log(s, x.peer, false)->dets, x.at);
        }
    }
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
