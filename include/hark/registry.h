/* registry.h: the list of all protocols, a line each. No other file lists them.
 *
 * A new protocol is one header on this floor and one line in HARK_PROTOCOLS: name, kind, which
 * processes roll back (HARK_ROLLS_*), whether it needs the recovery process, further traits
 * (HARK_TRAIT_*), a function that counts unstable determinants (NULL: there are none), and the two
 * entries for the usual message (NULL: everything goes through step). Its header has everything
 * else: the functions of struct hark_protocol, and its options and help texts
 * (struct hark_manual).
 */
#ifndef HARK_REGISTRY_H
#define HARK_REGISTRY_H

#include "camel.h"
#include "coordinated.h"
#include "hydee.h"
#include "none.h"
#include "parts/options.h"
#include "sendet.h"
#include "service.h"
#include "team.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_PROTOCOLS(X)                                                                          \
    X(none, HARK_KIND_NONE, 0, 0, 0, NULL, hark_none_post, hark_none_receive)                      \
    X(coordinated, HARK_KIND_COORDINATED, HARK_ROLLS_ALL, 0, 0, NULL, hark_coordinated_post,       \
        hark_coordinated_receive)                                                                  \
    X(hydee, HARK_KIND_HYDEE, HARK_ROLLS_CLUSTER, 1,                                               \
        HARK_TRAIT_GROUPS | HARK_TRAIT_RECLUSTERS | HARK_TRAIT_USUAL | HARK_TRAIT_DIGESTS, NULL,   \
        hark_hydee_post, hark_hydee_receive)                                                       \
    X(scmel, HARK_KIND_SCMEL, HARK_ROLLS_PROCESS, 0, 0, hark_scmel_unstable, hark_scmel_post,      \
        hark_scmel_receive)                                                                        \
    X(team, HARK_KIND_TEAM, HARK_ROLLS_CLUSTER, 0,                                                 \
        HARK_TRAIT_WANTS_OLD_CORE | HARK_TRAIT_WAVES | HARK_TRAIT_GROUPS | HARK_TRAIT_REDUCES,     \
        hark_scmel_unstable, hark_scmel_post, hark_scmel_receive)                                  \
    X(camel, HARK_KIND_CAMEL, HARK_ROLLS_PROCESS, 0, HARK_TRAIT_GROUPS | HARK_TRAIT_REDUCES,       \
        hark_scmel_unstable, hark_scmel_post, hark_scmel_receive)                                  \
    X(sendet, HARK_KIND_SENDET, HARK_ROLLS_LINE, 1, HARK_TRAIT_DIGESTS, NULL, hark_sendet_post,    \
        hark_sendet_receive)                                                                       \
    X(recovery, HARK_KIND_RECOVERY, 0, 0, 0, NULL, NULL, NULL)

/* Returns the i-th protocol, from 0; NULL after the last. */
HARK_FN const struct hark_protocol *hark_protocol_at(unsigned i);
/* Return the protocol of that name, or of that block; NULL if there is none. `recovery` is the
 * recovery process, which is listed as a protocol too. */
HARK_FN const struct hark_protocol *hark_protocol_named(const char *name);
HARK_FN const struct hark_protocol *hark_protocol_of(const struct hark *p);
/* Returns the default protocol. */
HARK_FN const struct hark_protocol *hark_protocol_usual(void);
/* Returns the protocol to recommend for programs of that class (HARK_FOR_*); NULL: there is
 * none. */
HARK_FN const struct hark_protocol *hark_protocol_for(uint32_t programs);
/* Returns the recovery process, which runs at HARK_RECOVERY beside protocols that need one. */
HARK_FN const struct hark_protocol *hark_protocol_recovery(void);
/* True if it runs programs; false for the recovery process. */
HARK_FN bool hark_protocol_runs(const struct hark_protocol *protocol);
/* Returns the i-th option of all protocols, from 0; NULL after the last. An option of several
 * protocols is listed once, as the first of them describes it. */
HARK_FN const struct hark_option *hark_option_at(unsigned i);
/* Returns the protocol's own option of that name; NULL: it has none. */
HARK_FN const struct hark_option *hark_option_of(
    const struct hark_protocol *protocol, const struct hark_option *named);
/* Steps a block of any protocol by that protocol's step function; HARK_EINVAL if `p` is no
 * block. */
HARK_FN int hark_step(struct hark *p, const struct hark_event *event, struct hark_effects *effects);
/* Returns the number of unstable determinants that this state depends on, own and others'. A
 * determinant is unstable while fewer copies of it are known than configured. Output that leaves
 * the job before this is 0 may be undone by a failure. Acknowledgements lower it; IDLE with
 * `stable` asks for them. Always 0 for protocols without determinants. */
HARK_FN uint64_t hark_unstable(const struct hark *p);
/* True if multicasts (hark_protocol_reduces: reductions) are sent to groups under this protocol.
 * `asked`: the user asked for groups; `copies`: of a determinant. */
HARK_FN bool hark_protocol_groups(const struct hark_protocol *protocol, bool asked);
HARK_FN bool hark_protocol_reduces(
    const struct hark_protocol *protocol, bool asked, uint32_t copies);

#if HARK_BODIES
#define HARK_PROTOCOL_ROW(name, kind, rolls, recovery, traits, unstable, post, receive)            \
    {#name, kind, rolls, recovery, traits, &hark_##name##_manual, &hark_##name##_shape,            \
        hark_##name##_size, hark_##name##_init, hark_##name##_step, hark_##name##_names,           \
        hark_##name##_violated, hark_##name##_unrest, unstable, hark_##name##_describe, post,      \
        receive},

#define HARK_PROTOCOL_STEP(name, kind, rolls, recovery, traits, unstable, post, receive)           \
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
    switch (p->kind) {
        HARK_PROTOCOLS(HARK_PROTOCOL_STEP)
    }
    return HARK_EINVAL;
}

HARK_FN const struct hark_protocol *hark_protocol_usual(void)
{
    for (unsigned i = 0; i < HARK_COUNT(hark_protocols); i++)
        if (hark_protocols[i].traits & HARK_TRAIT_USUAL) return &hark_protocols[i];
    return NULL;
}

HARK_FN const struct hark_protocol *hark_protocol_for(uint32_t programs)
{
    for (unsigned i = 0; i < HARK_COUNT(hark_protocols); i++) {
        const struct hark_manual *m = hark_protocols[i].manual;
        if (m->programs == programs && m->when == NULL) return &hark_protocols[i];
    }
    return NULL;
}

HARK_FN const struct hark_protocol *hark_protocol_recovery(void)
{
    return hark_protocol_named(hark_recovery_shape.name);
}

HARK_FN bool hark_protocol_runs(const struct hark_protocol *protocol)
{
    return protocol->kind != HARK_KIND_RECOVERY;
}

HARK_FN const struct hark_option *hark_option_of(
    const struct hark_protocol *protocol, const struct hark_option *named)
{
    uint32_t length = 0;
    while (named->name[length]) length++;
    return hark_option_named(protocol->manual->options, named->name, length);
}

HARK_FN const struct hark_option *hark_option_at(unsigned i)
{
    for (unsigned at = 0; at < HARK_COUNT(hark_protocols); at++)
        for (const struct hark_option *o = hark_protocols[at].manual->options; o->name; o++) {
            bool again = false;
            for (unsigned k = 0; k < at && !again; k++)
                again = hark_option_of(&hark_protocols[k], o) != NULL;
            if (!again && i-- == 0) return o;
        }
    return NULL;
}

/* A protocol made for groups has no option that asks for them, and uses them always. */
HARK_FN bool hark_protocol_groups(const struct hark_protocol *protocol, bool asked)
{
    if (!(protocol->traits & HARK_TRAIT_GROUPS)) return false;
    for (const struct hark_option *o = protocol->manual->options; o->name && !asked; o++)
        if (o->at == offsetof(struct hark_config, asks) && o->bits & HARK_ASKS_GROUPS) return false;
    return true;
}

HARK_FN bool hark_protocol_reduces(
    const struct hark_protocol *protocol, bool asked, uint32_t copies)
{
    return hark_protocol_groups(protocol, asked) && protocol->traits & HARK_TRAIT_REDUCES &&
           copies <= 1;
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
