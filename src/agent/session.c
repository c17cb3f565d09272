/* session.c: see session.h. */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"

struct hark_session_kept {
    struct hark_session_kept *next;
    uint64_t number;
    size_t length; /* with its head */
    uint8_t bytes[];
};

static void put_head(const struct hark_session *s, uint8_t *head, uint64_t number)
{
    const uint64_t value[2] = {number, s->heard};
    for (unsigned i = 0; i < HARK_SESSION_HEAD; i++)
        head[i] = (uint8_t)(value[i / 8] >> (i % 8 * 8));
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t value = 0;
    for (unsigned i = 8; i-- > 0;) value = value << 8 | at[i];
    return value;
}

/* Whatever fails now is said again over another connection. */
static void send_one(struct hark_session *s, uint8_t *bytes, size_t length, uint64_t number)
{
    if (s->to == NULL) return;
    put_head(s, bytes, number);
    if (s->send(s->to, bytes, length) != 0) s->to = NULL;
    else s->untold = 0;
}

int hark_session_say(struct hark_session *s, const void *at, size_t length)
{
    if (length > HARK_CONNECTION_MESSAGE - HARK_SESSION_HEAD) return -EINVAL;
    struct hark_session_kept *k = malloc(sizeof *k + HARK_SESSION_HEAD + length);
    if (k == NULL) return -ENOMEM;
    k->next = NULL;
    k->number = ++s->said;
    k->length = HARK_SESSION_HEAD + length;
    if (length) memcpy(k->bytes + HARK_SESSION_HEAD, at, length);
    if (s->last) s->last->next = k;
    else s->first = k;
    s->last = k;
    s->kept += k->length;
    s->full |= s->kept > HARK_SESSION_HIGH;
    send_one(s, k->bytes, k->length, k->number);
    return 0;
}

void hark_session_mention(struct hark_session *s, const void *at, size_t length)
{
    uint8_t bytes[HARK_SESSION_HEAD + HARK_SESSION_MENTION];
    if (length > HARK_SESSION_MENTION) return;
    if (length) memcpy(bytes + HARK_SESSION_HEAD, at, length);
    send_one(s, bytes, HARK_SESSION_HEAD + length, 0);
}

static void drop_first(struct hark_session *s)
{
    struct hark_session_kept *k = s->first;
    s->first = k->next;
    if (s->first == NULL) s->last = NULL;
    s->kept -= k->length;
    free(k);
}

static bool confirm(struct hark_session *s, uint64_t heard)
{
    if (heard < s->confirmed || heard > s->said) return false;
    s->confirmed = heard;
    while (s->first && s->first->number <= heard) drop_first(s);
    return true;
}

bool hark_session_take(struct hark_session *s, const uint8_t **at, size_t *length)
{
    if (*length < HARK_SESSION_HEAD) return false;
    const uint64_t number = get64(*at);
    (void)confirm(s, get64(*at + 8));
    if (number != 0 && number != s->heard + 1) return false;
    if (number) {
        s->heard = number;
        s->untold += *length;
        if (s->untold >= HARK_SESSION_TELL) hark_session_mention(s, NULL, 0);
    }
    *at += HARK_SESSION_HEAD;
    *length -= HARK_SESSION_HEAD;
    return *length > 0;
}

bool hark_session_join(
    struct hark_session *s, int (*to_send)(void *, const void *, size_t), void *to, uint64_t heard)
{
    if (!confirm(s, heard)) return false;
    s->send = to_send;
    s->to = to;
    for (struct hark_session_kept *k = s->first; k; k = k->next)
        send_one(s, k->bytes, k->length, k->number);
    return true;
}

void hark_session_part(struct hark_session *s)
{
    s->to = NULL;
}

bool hark_session_full(const struct hark_session *s)
{
    return s->full;
}

bool hark_session_room(struct hark_session *s)
{
    if (!s->full || s->kept >= HARK_SESSION_LOW) return false;
    s->full = false;
    return true;
}

void hark_session_free(struct hark_session *s)
{
    while (s->first) drop_first(s);
    *s = (struct hark_session){0};
}
