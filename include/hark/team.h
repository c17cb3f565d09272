/* team.h: causal message logging with teams. Messages inside a team are not logged, and a team
 * rolls back together.
 *
 * E. Meneses, L. V. Kale, G. Bronevetsky: Dynamic Load Balance for Optimized Message Logging in
 * Fault Tolerant HPC Applications. IEEE Cluster 2011, Figure 3. The algorithm is that of scmel.h;
 * this comment lists the differences.
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
 * Determinants of all messages travel, also of messages inside the team: only the order of all
 * deliveries makes a re-execution equal to the first (T-3). Which processes must hold the copies
 * depends on what may be lost at once:
 *
 * T-b, the default: one process dies. Its team-mates roll back too. They keep the determinants that
 * they know, their own and others', because these are not application state: ROLLBACK keeps the
 * packed core for RESTARTED. So a copy at a team-mate is as good as one elsewhere.
 * hark_config.copies is the number of copies.
 *
 * T-a, HARK_TEAM_LOST: a whole team may die at once (a rack). A copy counts only outside the team.
 * A receiver forwards the determinants of a team-mate until copies outside the team are known.
 *
 * Messages inside a team are sent again by re-execution. The images of a team are one consistent
 * cut, so no message of a channel inside the team is missing. A message that waits for its
 * determinants is in the log until it is transmitted.
 *
 * Each team checkpoints for itself. So TRIM tells processes outside the team what they may drop:
 * messages up to the last that the oldest kept image has received, and determinants up to its rsn
 * (T-5). Processes do not move between teams (T-4). If all processes are lost at once, the job
 * cannot be resumed from such images: the order of the messages delivered between the image of one
 * team and that of another is lost. With HARK_WAVES_ALL a checkpoint is one cut of all processes,
 * as under scmel; then no TRIM is needed.
 *
 * HARK_WAVES_ALL also permits groups, as in camel.h: what camel.h says of a process that rolls back
 * holds for a team (docs/team-camel.md).
 */
#ifndef HARK_TEAM_H
#define HARK_TEAM_H

#include "scmel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The interface of a protocol. struct hark_protocol documents each function and its errors. Without
 * a cluster each process is a team of its own. */
HARK_FN uint64_t hark_team_size(const struct hark_config *config);
/* Makes the initial state. HARK_EINVAL also for HARK_TEAM_LOST with more than one copy; for groups
 * without HARK_WAVES_ALL; in the cases of hark_camel_init; and for a group that reduces if my team
 * is not one connected piece of the group's tree, or if a member of the root's team other than the
 * root has a child outside the team. */
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

/* The state is that of scmel.h. */
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

/* Makes the checks of scmel.h. */
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
