/* registry.h: every protocol, a line each. The only place that knows which there are.
 *
 * A new protocol is one header on this floor and one line in HARK_PROTOCOLS: name, kind, who rolls back
 * (HARK_ROLLS_*), whether it needs the recovery process, what else (HARK_TRAIT_*), what tells how much is
 * unstable (NULL: nothing ever is).
 */
#ifndef HARK_REGISTRY_H
#define HARK_REGISTRY_H

#include "camel.h"
#include "coordinated.h"
#include "hydee.h"
#include "none.h"
#include "sendet.h"
#include "service.h"
#include "team.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_PROTOCOLS(X)                                                                                              \
    X(none, HARK_KIND_NONE, 0, 0, 0, NULL)                                                                             \
    X(coordinated, HARK_KIND_COORDINATED, HARK_ROLLS_ALL, 0, 0, NULL)                                                  \
    X(hydee, HARK_KIND_HYDEE, HARK_ROLLS_GROUP, 1, HARK_TRAIT_GROUPS | HARK_TRAIT_REGROUPS | HARK_TRAIT_GATES, NULL)   \
    X(scmel, HARK_KIND_SCMEL, HARK_ROLLS_PROCESS, 0, 0, hark_scmel_unstable)                                           \
    X(team, HARK_KIND_TEAM, HARK_ROLLS_GROUP, 0,                                                                       \
        HARK_TRAIT_KEEPS | HARK_TRAIT_WAVES | HARK_TRAIT_GROUPS | HARK_TRAIT_REDUCES | HARK_TRAIT_LOST, hark_scmel_unstable) \
    X(camel, HARK_KIND_CAMEL, HARK_ROLLS_PROCESS, 0,                                                                   \
        HARK_TRAIT_GROUPS | HARK_TRAIT_REDUCES | HARK_TRAIT_ALWAYS, hark_scmel_unstable)                               \
    X(sendet, HARK_KIND_SENDET, HARK_ROLLS_LINE, 1, 0, NULL)                                                           \
    X(recovery, HARK_KIND_RECOVERY, 0, 0, 0, NULL)

/* The i-th protocol, NULL behind the last. */
HARK_FN const struct hark_protocol *hark_protocol_at(unsigned i);
/* By name or by kind; NULL if there is none. `recovery` is the recovery process of those that need one. */
HARK_FN const struct hark_protocol *hark_protocol_named(const char *name);
HARK_FN const struct hark_protocol *hark_protocol_of(const struct hark *p);
/* The uniform door, for those who do not hold the protocol: HARK_EINVAL for a block that is none. */
HARK_FN int hark_step(struct hark *p, const struct hark_event *event, struct hark_effects *effects);
/* How many determinants that the state depends on, own ones and those of others, are not stable yet: fewer than the
 * configured copies of them are known to be stored. What leaves the job (output) before that is 0 may have to be taken
 * back after a failure. It falls as acknowledgements arrive; IDLE with `stable` asks for them. 0 for other protocols. */
HARK_FN uint64_t hark_unstable(const struct hark *p);
/* Do collectives go to groups, where users asked for that or did not? And with so many copies of determinants also reductions? */
HARK_FN bool hark_protocol_groups(const struct hark_protocol *protocol, bool asked);
HARK_FN bool hark_protocol_reduces(const struct hark_protocol *protocol, bool asked, uint32_t copies);

#if HARK_BODIES
#define HARK_PROTOCOL_ROW(name, kind, rolls, recovery, traits, unstable)                                                \
    {#name, kind, rolls, recovery, traits, &hark_##name##_shape, hark_##name##_size, hark_##name##_init, hark_##name##_step,    \
        hark_##name##_names, hark_##name##_violated, hark_##name##_unrest, unstable, hark_##name##_describe},

#define HARK_PROTOCOL_STEP(name, kind, rolls, recovery, traits, unstable)                                               \
    case kind: return hark_##name##_step(p, event, effects);

static const struct hark_protocol hark_protocols[] = {HARK_PROTOCOLS(HARK_PROTOCOL_ROW)};

HARK_FN const struct hark_protocol *hark_protocol_at(unsigned i)
{
    return i < HARK_COUNT(hark_protocols) ? &hark_protocols[i] : NULL;
}

HARK_FN const struct hark_protocol *hark_protocol_named(const char *name)
{
    for (unsigned i = 0; i < HARK_COUNT(hark_protocols); i++) {
        const char *a = hark_protocols[i].name, *b = name;
        while (*a && *a == *b) a++, b++;
        if (*a == *b) return &hark_protocols[i];
    }
    return NULL;
}

HARK_FN const struct hark_protocol *hark_protocol_of(const struct hark *p)
{
    for (unsigned i = 0; p->magic == HARK_MAGIC && i < HARK_COUNT(hark_protocols); i++)
        if (hark_protocols[i].kind == p->kind) return &hark_protocols[i];
    return NULL;
}

HARK_FN int hark_step(struct hark *p, const struct hark_event *event, struct hark_effects *effects)
{
    if (p->magic != HARK_MAGIC) return HARK_EINVAL;
    switch (p->kind) { HARK_PROTOCOLS(HARK_PROTOCOL_STEP) }
    return HARK_EINVAL;
}

HARK_FN bool hark_protocol_groups(const struct hark_protocol *protocol, bool asked)
{
    return protocol->traits & HARK_TRAIT_GROUPS && (asked || protocol->traits & HARK_TRAIT_ALWAYS);
}

HARK_FN bool hark_protocol_reduces(const struct hark_protocol *protocol, bool asked, uint32_t copies)
{
    return hark_protocol_groups(protocol, asked) && protocol->traits & HARK_TRAIT_REDUCES && copies <= 1;
}

HARK_FN uint64_t hark_unstable(const struct hark *p)
{
    const struct hark_protocol *protocol = hark_protocol_of(p);
    return protocol && protocol->unstable ? protocol->unstable(p) : 0;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
