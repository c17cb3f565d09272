/* keep.c: what a supervisor must hear that takes the place of this one.
 *
 * When a supervisor dies it may have heard what it has not acted upon, and it has acted upon what
 * nobody has heard. Its record has all decisions. An agent keeps the rest of each process: which
 * incarnation runs, where it is reached and what it was told last; what it has said and has had no
 * answer to; what it has printed and nobody has been shown. So an answer that was lost on its way
 * is given again.
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

#define MOST  (4u << 20) /* of an output, bytes: then the process waits */
#define PIECE (256u << 10)

static bool is_on(const struct hosted *h)
{
    return h->a->job.wait_ms != 0 || h->a->adopted; /* what comes before GO_ON is said behind it */
}

static void add(struct hosted *h, struct kept_bytes *b, const void *at, size_t length)
{
    if (b->length + length > b->room) {
        const size_t room = (b->length + length) * 2;
        uint8_t *more = realloc(b->at, room);
        if (more == NULL) {
            h->a->misses_something = true;
            return;
        }
        b->at = more;
        b->room = room;
    }
    if (length) memcpy(b->at + b->length, at, length);
    b->length += length;
}

static void take_out(struct kept_bytes *b, size_t at, size_t length)
{
    if (length == 0) return; /* and there may be no memory yet */
    memmove(b->at + at, b->at + at + length, b->length - at - length);
    b->length -= length;
}

/* ---- an incarnation begins ------------------------------------------------------------------- */

static void on_setup(struct hosted *h, struct hark_control *m)
{
    struct kept *k = &h->kept;
    uint32_t length;
    const void *text = hark_control_get_bytes(m, &length);
    const char key[] = "\ncheckpoint=",
               *at = m->bad ? NULL : memmem(text, length, key, sizeof key - 1);
    k->checkpoint = at ? strtoull(at + sizeof key - 1, NULL, 10) : 0;
    free(k->peer);
    k->peer = calloc(h->a->count, sizeof *k->peer);
    if (k->peer == NULL) h->a->misses_something = true;
    k->flags = 0;
    k->asked = k->input = k->begin[0] = k->begin[1] = 0;
    k->re = 0;
    k->lost[0] = k->lost[1] = false;
    k->out[0].length = k->out[1].length = k->open.length = k->part.length = 0;
}

static void on_peer(struct hosted *h, struct hark_control *m)
{
    const uint32_t rank = hark_control_get32(m), last = h->a->count - 1,
                   slot = rank == HARK_RECOVERY ? last : rank;
    if (slot <= last && h->kept.peer) h->kept.peer[slot] = hark_control_get32(m) + 1;
}

/* From an image: what it printed before belongs to nowhere, and what of its output had not been
 * shown when the image was taken is in it. */
static void begin_output(
    struct hosted *h, int i, uint64_t position, const void *at, uint32_t length)
{
    struct kept *k = &h->kept;
    if (length > position) length = 0;
    k->out[i].length = 0;
    k->lost[i] = false;
    k->begin[i] = position - length;
    add(h, &k->out[i], at, length);
}

/* As on_hello() of the supervisor reads it. */
static void on_hello(struct hosted *h, struct hark_control *m)
{
    struct kept *k = &h->kept;
    size_t length;
    uint64_t position[2];
    k->inc = hark_control_get32(m);
    for (int i = 0; i < 2; i++) position[i] = hark_control_get64(m);
    const char *address = hark_control_gets(m, &length);
    if (m->bad) return;
    free(k->address);
    k->address = strndup(address, length);
    if (k->address == NULL) h->a->misses_something = true;
    const uint32_t kept = m->next < m->length ? hark_control_get32(m) : 0;
    const size_t behind = m->next + kept;
    for (int i = 0; i < 2; i++) {
        uint32_t pending = 0;
        const uint8_t *text = kept ? hark_control_get_bytes(m, &pending) : NULL;
        if (k->checkpoint) begin_output(h, i, position[i], text, pending);
    }
    if (m->next < behind) k->input = hark_control_get64(m);
    k->program = m->next < m->length ? hark_control_get32(m) : 0;
    k->flags |= HARK_LIVES_HELLO;
}

/* ---- what it says, and what is answered ------------------------------------------------------ */

/* One of the supervisor's answers says the same of what was said: its kind and number. */
static bool answers(const struct hark_control *said, const struct hark_control *answer)
{
    struct hark_control s = *said, a = *answer;
    switch (a.type) {
    case HARK_C_STORED: {
        if (s.type != HARK_C_PERSIST) return false;
        const uint32_t fact = hark_control_get32(&s);
        (void)hark_control_get32(&s);
        (void)hark_control_get32(&s);
        return fact == hark_control_get32(&a) && hark_control_get64(&s) == hark_control_get64(&a);
    }
    case HARK_C_MARKED:
        return s.type == HARK_C_MARK && hark_control_get64(&s) == hark_control_get64(&a);
    case HARK_C_INPUT_SET: return s.type == HARK_C_INPUT;
    default: return false;
    }
}

static void answered(struct kept *k, const struct hark_control *answer)
{
    struct hark_control m;
    for (size_t at = 0; at < k->open.length;) {
        const long n = hark_control_parse(&m, k->open.at + at, k->open.length - at);
        if (n <= 0) return;
        if (answers(&m, answer)) {
            take_out(&k->open, at, (size_t)n);
            return;
        }
        at += (size_t)n;
    }
}

static void said(struct hosted *h, struct hark_control *m, const uint8_t *at, size_t length)
{
    switch (m->type) {
    case HARK_C_HELLO: on_hello(h, m); break;
    case HARK_C_FINISHED: h->kept.flags |= HARK_LIVES_FINISHED; break;
    case HARK_C_AGAIN: h->kept.flags |= HARK_LIVES_BACK; break;
    case HARK_C_PERSIST:
    case HARK_C_MARK:
    case HARK_C_INPUT:
    case HARK_C_ABORT:
    case HARK_C_DIVERGED:
    case HARK_C_FATAL: add(h, &h->kept.open, at, length); break;
    default: break; /* a supervisor asks again, or can do without it */
    }
}

/* Of another incarnation more may have been shown: then what this one prints again was. */
static void forget(struct kept *k, int i)
{
    struct kept_bytes *b = &k->out[i];
    const uint64_t shown = k->shown[i];
    if (shown <= k->begin[i]) return;
    const size_t n = shown - k->begin[i] < b->length ? (size_t)(shown - k->begin[i]) : b->length;
    take_out(b, 0, n);
    k->begin[i] += n;
}

/* When it is too much, only its position is kept, in `begin`: when that is shown, all is well. */
static void print(struct hosted *h, int i, const uint8_t *at, size_t length)
{
    struct kept *k = &h->kept;
    if (k->lost[i]) {
        k->begin[i] += length;
        if (k->shown[i] >= k->begin[i]) k->lost[i] = false;
        return;
    }
    add(h, &k->out[i], at, length);
    forget(k, i);
    if (k->out[i].length <= MOST) return;
    k->lost[i] = true;
    k->begin[i] += k->out[i].length;
    free(k->out[i].at);
    k->out[i] = (struct kept_bytes){0};
}

void hark_kept_heard(struct hosted *h, enum hark_pipe line, const uint8_t *at, size_t length)
{
    struct kept *k = &h->kept;
    struct hark_control m;
    size_t done = 0;
    if (!is_on(h)) return;
    if (line != HARK_PIPE_CONTROL) {
        print(h, line == HARK_PIPE_ERR, at, length);
        return;
    }
    add(h, &k->part, at, length);
    for (long n; (n = hark_control_parse(&m, k->part.at + done, k->part.length - done)) > 0;
         done += (size_t)n)
        said(h, &m, k->part.at + done, (size_t)n);
    take_out(&k->part, 0, done);
}

void hark_kept_told(struct hosted *h, const uint8_t *at, size_t length)
{
    struct kept *k = &h->kept;
    struct hark_control m;
    if (!is_on(h)) return;
    for (long n; length && (n = hark_control_parse(&m, at, length)) > 0;
         at += n, length -= (size_t)n)
        switch (m.type) {
        case HARK_C_SETUP: on_setup(h, &m); break;
        case HARK_C_PEER: on_peer(h, &m); break;
        case HARK_C_FAILED: k->re = hark_control_get32(&m); break;
        case HARK_C_ASK: k->asked = hark_control_get64(&m); break;
        default: answered(k, &m); break;
        }
}

/* ---- what was shown -------------------------------------------------------------------------- */

void hark_kept_shown(struct agent *a, struct hark_control *m)
{
    if (a->adopted) return; /* LIVES has said what follows */
    while (m->next < m->length) {
        const uint32_t slot = hark_control_get32(m);
        uint64_t shown[2];
        for (int i = 0; i < 2; i++) shown[i] = hark_control_get64(m);
        if (m->bad || slot >= a->count || !a->hosted[slot].runs) continue;
        struct kept *k = &a->hosted[slot].kept;
        for (int i = 0; i < 2; i++) {
            if (shown[i] > k->shown[i]) k->shown[i] = shown[i];
            if (k->lost[i]) k->lost[i] = k->shown[i] < k->begin[i];
            else forget(k, i);
        }
    }
}

/* ---- to another supervisor ------------------------------------------------------------------- */

void hark_kept_lives(struct hosted *h)
{
    const struct kept *k = &h->kept;
    struct hark_control m;
    hark_control_begin(&m, HARK_A_LIVES);
    hark_control_put32(&m, h->slot);
    hark_control_put32(&m, (uint32_t)h->local.pid);
    hark_control_put32(&m, (uint32_t)h->journal);
    const bool can = !h->left && !k->lost[0] && !k->lost[1];
    hark_control_put32(&m, can ? k->flags : k->flags | HARK_LIVES_BACK);
    hark_control_put32(&m, k->inc);
    hark_control_put32(&m, k->program);
    hark_control_put32(&m, k->re);
    hark_control_put64(&m, k->checkpoint);
    hark_control_put64(&m, k->asked);
    hark_control_put64(&m, k->input);
    hark_control_put64(&m, hark_agent_input_read(h));
    for (int i = 0; i < 2; i++) hark_control_put64(&m, k->begin[i]);
    hark_control_puts(&m, k->address ? k->address : "", k->address ? strlen(k->address) : 0);
    for (uint32_t i = 0; i < h->a->count; i++) hark_control_put32(&m, k->peer ? k->peer[i] : 0);
    hark_agent_say(h->a, &m);
}

static void say_pieces(struct hosted *h, enum hark_pipe line, const struct kept_bytes *b)
{
    struct hark_control m;
    for (size_t at = 0, n; at < b->length; at += n) {
        n = b->length - at < PIECE ? b->length - at : PIECE;
        hark_control_begin(&m, HARK_A_HEARD);
        hark_control_put32(&m, h->slot);
        hark_control_put32(&m, (uint32_t)line);
        hark_control_put_bytes(&m, b->at + at, (uint32_t)n);
        hark_agent_say(h->a, &m);
    }
}

void hark_kept_say_again(struct hosted *h)
{
    say_pieces(h, HARK_PIPE_OUT, &h->kept.out[0]);
    say_pieces(h, HARK_PIPE_ERR, &h->kept.out[1]);
    say_pieces(h, HARK_PIPE_CONTROL, &h->kept.open);
    say_pieces(h, HARK_PIPE_CONTROL, &h->kept.part);
    if (!is_on(h)) h->kept.out[0].length = h->kept.out[1].length = 0; /* nobody takes over again */
}

void hark_kept_free(struct hosted *h)
{
    struct kept *k = &h->kept;
    for (int i = 0; i < 2; i++) free(k->out[i].at);
    free(k->open.at);
    free(k->part.at);
    free(k->address);
    free(k->peer);
    *k = (struct kept){0};
}
