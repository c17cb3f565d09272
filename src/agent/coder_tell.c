/* coder_tell.c: what the supervisor hears of codes. */
#include "coder.h"

void hark_coder_tell(struct agent *a, uint64_t number, uint64_t run, uint32_t status)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_A_CODED);
    hark_control_put64(&m, number);
    hark_control_put64(&m, run);
    hark_control_put32(&m, status);
    hark_agent_say(a, &m);
}

void hark_coder_say_trouble(struct hark_coder *c, const char *why)
{
    if (!c->trouble) hark_agent_say_line(c->a, HARK_A_SAY, "cannot keep a code: %s", why);
    c->trouble = true;
}

void hark_coder_tell_gone(struct agent *a, uint32_t rank, uint64_t id)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_A_HOLDS);
    hark_control_put32(&m, rank);
    hark_control_put64(&m, id);
    hark_control_put32(&m, HARK_HOLDS_GONE);
    hark_control_put32(&m, 0);
    hark_agent_say(a, &m);
}
