/* readings.c: on several hosts we have a copy of each journal (src/process/journal_away.h), in
 * memory and, so that a run that resumes the job has it, in the store; it goes to the next
 * incarnation if that begins on another host. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../process/journal_file.h"

#define PIECE (1u << 20) /* bytes of a file in a message */

static bool is_open(struct child *c)
{
    if (c->readings == NULL) c->readings = calloc(1, sizeof *c->readings);
    if (c->readings == NULL) errno = ENOMEM;
    else if (hark_sup_journal(c) == 0 && c->journal >= 0)
        return hark_journal_map(c->readings, c->journal) == 0;
    return false;
}

/* What a process has said, until the end of the turn: then all of it goes to the store at once. */
struct hark_readings_said {
    struct hark_readings_said *next;
    struct child *c;
    uint32_t what, length;
    uint64_t n, at, value;
    uint8_t bytes[];
};

static int change(struct hark_journal_file *f, const struct hark_readings_said *r)
{
    errno = EINVAL;
    switch (r->what) {
    case HARK_READINGS_ARE: return hark_journal_put(f, r->at, r->bytes, r->length);
    case HARK_READINGS_BEGIN:
        return r->at % HARK_JOURNAL_GAP ? -1 : hark_journal_begin_at(f, r->at);
    case HARK_READINGS_PINNED: return hark_journal_put_pinned(f, r->bytes, r->length);
    case HARK_READINGS_IMAGE: hark_journal_image(f, r->value, r->at); return 0;
    case HARK_READINGS_DROPPED: hark_journal_image_dropped(f, r->value); return 0;
    case HARK_READINGS_UNDONE: hark_journal_images_undone(f, r->value); return 0;
    default: return 0; /* a newer library may say more */
    }
}

/* One that goes back asks no more, and the next it is told is its SETUP. */
static void tell_kept(struct child *c, uint64_t n)
{
    struct hark_control m;
    if (c->host == NULL || !c->hello || c->goes_back) return;
    hark_control_begin(&m, HARK_C_READINGS_KEPT);
    hark_control_put64(&m, n);
    hark_control_end(&m);
    hark_sup_tell(c, &m);
    hark_control_free(&m);
}

/* Without a copy the job goes on: it is missed only if the host is lost. */
static void say_none(struct child *c, int why)
{
    if (!c->s->readings_said)
        hark_sup_say("the readings of clocks of rank %u are on host %s only: %s; if that is lost, "
                     "what it sends may differ from what it sent before",
            c->rank, c->host->name, strerror(why));
    c->s->readings_said = true;
}

void hark_sup_on_readings(struct child *c, struct hark_control *m)
{
    struct supervisor *s = c->s;
    struct hark_readings_said said = {.c = c, .n = hark_control_get64(m)};
    said.what = hark_control_get32(m);
    said.at = hark_control_get64(m);
    said.value = hark_control_get64(m);
    const uint8_t *bytes = hark_control_get_bytes(m, &said.length);
    if (m->bad || c->host == NULL || c->rank == HARK_RECOVERY) return;
    struct hark_readings_said *r = malloc(sizeof *r + said.length);
    if (r == NULL) {
        say_none(c, ENOMEM);
        if (said.n) tell_kept(c, said.n);
        return;
    }
    *r = said;
    if (said.length) memcpy(r->bytes, bytes, said.length);
    if (s->readings_last) s->readings_last->next = r;
    else s->readings = r;
    s->readings_last = r;
}

static void store_all(struct supervisor *s)
{
    int why = 0;
    hark_sup_away(s);
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        if (c->readings_from != UINT64_MAX && c->readings && c->journal_stored >= 0 && why == 0)
            why = hark_journal_save(c->readings, c->journal_stored, c->readings_from);
        c->readings_from = UINT64_MAX;
    }
    hark_sup_back(s);
    if (why && !s->journal_said)
        hark_sup_say("store %s: journal: %s; readings of clocks are kept in memory only, and a job "
                     "that is resumed may diverge",
            s->o->store, strerror(why));
    if (why) s->journal_said = true;
}

void hark_sup_readings_write(struct supervisor *s)
{
    struct hark_readings_said *first = s->readings;
    if (first == NULL) return;
    s->readings = s->readings_last = NULL;
    for (struct hark_readings_said *r = first; r; r = r->next) r->c->readings_from = UINT64_MAX;
    for (struct hark_readings_said *r = first; r; r = r->next) {
        struct child *c = r->c;
        const uint64_t from = r->what == HARK_READINGS_ARE      ? r->at
                              : r->what == HARK_READINGS_PINNED ? 0
                                                                : UINT64_MAX - 1;
        if (c->readings_lost == 0 && (!is_open(c) || change(c->readings, r) < 0))
            c->readings_lost = errno ? errno : EIO;
        if (from < c->readings_from) c->readings_from = from;
    }
    if (s->o->store) store_all(s);
    for (struct hark_readings_said *r = first, *next; r; r = next) {
        next = r->next;
        if (r->c->host && r->c->readings_lost) say_none(r->c, r->c->readings_lost);
        if (r->n) tell_kept(r->c, r->n);
        free(r);
    }
}

void hark_sup_readings_again(struct child *c)
{
    if (c->host == NULL || c->rank == HARK_RECOVERY) return;
    c->readings_session = c->host->session_name;
    tell_kept(c, 0);
}

/* Before its SETUP. Does it begin where its journal is not, or is of before? */
bool hark_sup_readings_elsewhere(struct child *c)
{
    struct stat st;
    if (c->host == NULL || c->rank == HARK_RECOVERY) return false;
    const bool there = c->readings_session == c->host->session_name;
    c->readings_session = c->host->session_name;
    hark_sup_readings_write(c->s);
    return !there && c->journal >= 0 && fstat(c->journal, &st) == 0 && st.st_size > 0;
}

/* Behind it. */
void hark_sup_readings_give(struct child *c)
{
    uint8_t *bytes = malloc(PIECE);
    uint64_t at = 0;
    for (bool last = false; !last;) {
        struct hark_control m;
        const ssize_t n = bytes ? pread(c->journal, bytes, PIECE, (off_t)at) : -1;
        if (n < 0 && bytes && errno == EINTR) continue;
        last = n < PIECE;
        hark_control_begin(&m, HARK_C_JOURNAL);
        hark_control_put32(&m, last);
        hark_control_put64(&m, at);
        hark_control_put_bytes(&m, bytes, n > 0 ? (uint32_t)n : 0);
        hark_control_end(&m);
        hark_sup_tell(c, &m);
        hark_control_free(&m);
        if (n > 0) at += (uint64_t)n;
        if (n < 0)
            hark_sup_say("the readings of clocks of rank %u can not be read: %s; what it sends may "
                         "differ from what it sent before",
                c->rank, strerror(bytes ? errno : ENOMEM));
    }
    free(bytes);
}

void hark_sup_readings_close(struct supervisor *s)
{
    for (struct hark_readings_said *r = s->readings, *next; r; r = next) {
        next = r->next;
        free(r);
    }
    s->readings = s->readings_last = NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->child[i].readings) hark_journal_unmap(s->child[i].readings);
        free(s->child[i].readings);
        s->child[i].readings = NULL;
    }
}
