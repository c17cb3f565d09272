/* lease.h: may processes of a host still run, and when is it certain that they do not?
 *
 * An agent sends BEAT n; the supervisor answers each. The agent's processes may run until `lease`
 * after the time at which it SENT the last beat that was answered; then it kills them, whatever
 * else it knows. The supervisor calls the host dead when it has received nothing for `lease` and a
 * margin. So the two never overlap, by their own clocks alone:
 *
 *     the agent's last answered beat n was sent at x (agent's clock), received at y, y after x;
 *     the agent kills at x + lease;
 *     the supervisor has heard nothing after y' >= y, and starts others after y' + lease + margin.
 *
 * No message between the two is needed for that, and no clocks that agree: only clocks that run
 * equally fast. The margin covers clocks that differ by up to an eighth, and the time that a
 * SIGKILL takes. Both use CLOCK_BOOTTIME, which goes on while a machine is suspended.
 */
#ifndef HARK_AGENT_LEASE_H
#define HARK_AGENT_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define HARK_LEASE_BEATS 64u /* that can be on their way */

struct hark_lease { /* the agent's side; all zero and `ns`: not begun */
    uint64_t ns;
    uint64_t sent[HARK_LEASE_BEATS]; /* when beat n was sent, at n % HARK_LEASE_BEATS */
    uint64_t next;                   /* beat */
    uint64_t answered;               /* when the last answered one was sent; 0: none was */
};

static inline uint64_t hark_lease_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* The lease begins with JOB, which is as good as an answer to a beat sent when HELLO was. */
static inline void hark_lease_begin(struct hark_lease *l, uint64_t ns, uint64_t now)
{
    *l = (struct hark_lease){.ns = ns, .answered = now};
}

/* The number of a beat that is sent now. */
static inline uint64_t hark_lease_beat(struct hark_lease *l, uint64_t now)
{
    l->sent[l->next % HARK_LEASE_BEATS] = now;
    return l->next++;
}

/* What was sent then has been answered. */
static inline void hark_lease_heard(struct hark_lease *l, uint64_t sent)
{
    if (sent > l->answered) l->answered = sent;
}

/* An answer; one to a beat of long ago, or to none, says nothing. */
static inline void hark_lease_answer(struct hark_lease *l, uint64_t n)
{
    if (n >= l->next || l->next - n > HARK_LEASE_BEATS) return;
    hark_lease_heard(l, l->sent[n % HARK_LEASE_BEATS]);
}

static inline uint64_t hark_lease_end(const struct hark_lease *l)
{
    return l->answered + l->ns;
}

/* With a supervisor timeout processes are stopped then, before whoever can only end them does so.
 * They may run again when a later beat is answered: it is the supervisor's word that it had not
 * given the host up when it had that beat, and so it does not before the lease of that is over. */
static inline uint64_t hark_lease_stop(const struct hark_lease *l)
{
    return hark_lease_end(l) - l->ns / 10;
}

/* Between two beats. */
static inline uint64_t hark_lease_period_ms(uint64_t lease_ms)
{
    const uint64_t period = lease_ms / 10;
    return period < 20 ? 20 : period > 500 ? 500 : period;
}

/* The supervisor's side: from so long silence on the host's processes are certainly gone. */
static inline uint64_t hark_lease_dead_ns(uint64_t lease_ns)
{
    return lease_ns + lease_ns / 8 + UINT64_C(100000000);
}

#endif
