/* team.h: causal message logging with teams: what is sent inside a team is not logged, and a team
 * goes back together.
 *
 * E. Meneses, L. V. Kale, G. Bronevetsky: Dynamic Load Balance for Optimized Message Logging in
 * Fault Tolerant HPC Applications. IEEE Cluster 2011, Figure 3. The algorithm is that of scmel.h;
 * here is what differs.
 *
 *   Figure 3, as rebuilt                   function
 *   SEND, payload only across teams        hark_scmel_send, hark_scmel_unlogged
 *   RECV, ACK                              hark_scmel_message, hark_scmel_acks
 *   CKPT of a team, TRIM                   parts/wave.h, hark_scmel_captured, hark_scmel_commit;
 *                                          hark_scmel_tell, hark_scmel_trim
 *   FAIL, survivors of the team            hark_scmel_failed (ROLLBACK), hark_scmel_earlier,
 *                                          hark_scmel_inherit
 *   COLLECT, REPLAY                        hark_scmel_dets, hark_scmel_collected, hark_scmel_ready
 *
 * Determinants of all messages travel, also of those inside the team: only the order of deliveries
 * makes re-execution the same (T-3). Where they must live depends on what is lost at once:
 *
 * T-b, the default: one process dies. Its team-mates go back too, but what they know of deliveries,
 * their own and others', is not application state and stays with them: ROLLBACK keeps the packed
 * core for RESTARTED. So a copy at a team-mate is as good as one elsewhere, and hark_config.copies
 * says how many.
 *
 * T-a, HARK_TEAM_LOST: a team may die at once (a rack). A copy counts only outside the team, and
 * who receives from a team-mate passes its determinants on until they are known to be outside.
 *
 * Messages inside a team are regenerated: the team's image is one cut, so nothing is missing on a
 * channel inside it, and what a team-mate sends again needs no answer. One that has to wait for its
 * determinants is in the log until it goes.
 *
 * Checkpoints are of the team alone, so those outside must be told what may go (TRIM): messages up
 * to what the oldest kept image has received, determinants up to its rsn (T-5). Nobody moves
 * between teams (T-4). If everything is lost at once, no job can go on from such images: in what
 * order messages were delivered behind the image of one team and before that of another nobody
 * knows any more. With HARK_WAVES_ALL a checkpoint is one cut of all processes, as scmel's; nobody
 * needs to be told anything then.
 *
 * And then it may have groups, as camel.h has: what is said there of a process that goes back holds
 * for a team (docs/team-camel.md).
 */
#ifndef HARK_TEAM_H
#define HARK_TEAM_H

#include "scmel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The uniform door: as struct hark_protocol says of each, with its errors. Without a group a
 * process is a team of its own. */
HARK_FN uint64_t hark_team_size(const struct hark_config *config);
/* HARK_EINVAL also for HARK_TEAM_LOST with more than one copy; for trees without HARK_WAVES_ALL,
 * and as hark_camel_init; for one that reduces of which my team is not one piece, or where one of
 * the root's team besides the root is above others. */
HARK_FN int hark_team_init(struct hark *p, uint64_t bytes, const struct hark_config *config);
HARK_FN int hark_team_step(
    struct hark *p, const struct hark_event *event, struct hark_effects *effects);
HARK_FN int hark_team_names(const struct hark *p, uint64_t *cursor, struct hark_names *run);
HARK_FN const char *hark_team_violated(const struct hark *p);
HARK_FN const char *hark_team_unrest(const struct hark *p);
HARK_FN void hark_team_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *words);

static const struct hark_option hark_team_options[] = {
    {"camel", NULL,
        "a broadcast is logged once, by rank 0, and passed on along a tree, and so is a reduction",
        NULL, NULL, NULL, 0, 0, 0, HARK_ASKS_GROUPS, HARK_SETS(asks), true},
    {"copies", "K", "copies of a determinant", "copies", NULL, NULL, 1, 8, 1, 0, HARK_SETS(copies),
        true},
    {"team-lost", NULL, "a whole team may be lost at once, not only one process of it",
        "teams lost", "copies", "it is for one copy of each determinant", 0, 0, 0, HARK_TEAM_LOST,
        HARK_SETS(flags), true},
    HARK_OPTIONS_END};
static const struct hark_manual hark_team_manual = {HARK_FOR_PIECEWISE, NULL,
    "and it sends much inside groups of processes", "--clusters K", NULL, hark_team_options};

/* What is remembered is what scmel.h remembers. */
static const struct hark_shape hark_team_shape = {"team", HARK_SCMEL_IMAGE,
    HARK_COUNT(hark_scmel_fields), HARK_COUNT(hark_scmel_rows), sizeof(struct hark_scmel),
    hark_scmel_fields, hark_scmel_rows, offsetof(struct hark_scmel, pool), hark_scmel_frames,
    HARK_COUNT(hark_scmel_frames), hark_scmel_accept};

#if HARK_BODIES

HARK_FN uint64_t hark_team_size(const struct hark_config *c)
{
    return hark_scmel_size(c);
}

HARK_FN int hark_team_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    bool lost = (c->flags & HARK_TEAM_LOST) != 0;
    if (lost && c->copies > 1) return HARK_EINVAL;
    int status = hark_scmel_begin(
        p, bytes, HARK_KIND_TEAM, c, lost ? HARK_SCMEL_TEAM_LOST : HARK_SCMEL_TEAMS);
    return status < 0 ? status : hark_scmel_trees((struct hark_scmel *)(void *)p, c);
}

HARK_FN int hark_team_step(struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    return hark_scmel_step(p, event, fx);
}

HARK_FN int hark_team_names(const struct hark *p, uint64_t *cursor, struct hark_names *run)
{
    return hark_scmel_names(p, cursor, run);
}

/* And no message crosses teams unlogged. */
HARK_FN const char *hark_team_violated(const struct hark *p)
{
    return hark_scmel_violated(p);
}

HARK_FN const char *hark_team_unrest(const struct hark *p)
{
    return hark_scmel_unrest(p);
}

HARK_FN void hark_team_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *w)
{
    hark_scmel_describe(p, header, w);
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
