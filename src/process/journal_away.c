#include "journal_away.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app_state.h"
#include "process.h"

#define P     hark_process
#define PIECE 65536u /* bytes of a journal in a message */

static struct {
    struct hark_journal_file *file; /* NULL: it has not changed in this incarnation */
    bool changed;
    uint64_t asked, answered; /* READINGS: the last n, and the last that was answered */
} away;

/* ---- to the supervisor ----------------------------------------------------------------------- */

static void say(
    uint64_t n, uint32_t what, uint64_t at, uint64_t value, const void *bytes, size_t length)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_C_READINGS);
    hark_control_put64(&m, n);
    hark_control_put32(&m, what);
    hark_control_put64(&m, at);
    hark_control_put64(&m, value);
    hark_control_put_bytes(&m, bytes, (uint32_t)length);
    hark_process_say(&m);
}

static void say_pinned(void)
{
    static uint8_t bytes[HARK_JOURNAL_PINNED];
    const uint64_t length = hark_journal_prologue(away.file);
    if (length == 0 || length > sizeof bytes) return;
    hark_journal_take(away.file, 0, bytes, length);
    say(0, HARK_READINGS_PINNED, 0, 0, bytes, length);
}

static bool waits(void)
{
    return P.protocol->manual->programs == HARK_FOR_PIECEWISE;
}

/* The last piece asks for an answer, also if it is empty: then the journal has become shorter. */
static void say_changes(void)
{
    static uint8_t bytes[PIECE];
    struct hark_journal_file *f = away.file;
    const uint64_t start = hark_journal_start(f), end = hark_journal_end(f);
    uint64_t at = hark_journal_copied(f);
    if (at < start || at > end) {
        say(0, HARK_READINGS_BEGIN, start, 0, NULL, 0);
        say_pinned();
        at = start;
    }
    for (uint64_t n = PIECE; n == PIECE; at += n) {
        n = end - at < PIECE ? end - at : PIECE;
        hark_journal_take(f, at, bytes, n);
        if (n < PIECE && waits()) away.asked++;
        say(n < PIECE && waits() ? away.asked : 0, HARK_READINGS_ARE, at, 0, bytes, n);
    }
    hark_journal_set_copied(f, end);
    away.changed = false;
}

bool hark_journal_settled(void)
{
    if (away.changed) say_changes();
    if (away.answered < away.asked && waits()) return false;
    P.unsettled = false;
    return true;
}

void hark_journal_settle(void)
{
    while (!hark_journal_settled()) hark_app_wait("hark_send", HARK_WAITS_ROOM, NULL, 0);
}

/* Of another supervisor: it may lack what the one before had, and knows nothing of its answers. */
void hark_journal_away_kept(uint64_t n)
{
    if (n) {
        if (n > away.answered) away.answered = n;
        return;
    }
    if (away.file == NULL) return;
    hark_journal_set_copied(away.file, 0);
    if (hark_journal_start(away.file) == 0) say_pinned();
    away.changed = P.unsettled = true;
}

/* ---- what changes ---------------------------------------------------------------------------- */

void hark_journal_away_changed(struct hark_journal_file *f)
{
    if (!P.setup.readings) return;
    away.file = f;
    away.changed = P.unsettled = true;
}

void hark_journal_away_begun(struct hark_journal_file *f)
{
    if (!P.setup.readings) return;
    away.file = f;
    say_pinned();
}

void hark_journal_away_image(struct hark_journal_file *f, uint64_t id, uint64_t position)
{
    hark_journal_image(f, id, position);
    if (away.changed) say_changes(); /* the copy reaches as far as its images */
    if (P.setup.readings) say(0, HARK_READINGS_IMAGE, position, id, NULL, 0);
}

void hark_journal_away_dropped(struct hark_journal_file *f, uint64_t id)
{
    hark_journal_image_dropped(f, id);
    if (P.setup.readings) say(0, HARK_READINGS_DROPPED, 0, id, NULL, 0);
}

void hark_journal_away_undone(struct hark_journal_file *f, uint64_t id)
{
    hark_journal_images_undone(f, id);
    if (P.setup.readings) say(0, HARK_READINGS_UNDONE, 0, id, NULL, 0);
}

/* ---- from the supervisor --------------------------------------------------------------------- */

static int put(const uint8_t *bytes, uint32_t length, uint64_t at)
{
    while (length) {
        const ssize_t n = pwrite(P.setup.journal, bytes, length, (off_t)at);
        if (n < 0 && errno != EINTR) return errno;
        if (n <= 0) continue;
        bytes += n;
        at += (uint64_t)n;
        length -= (uint32_t)n;
    }
    return 0;
}

void hark_journal_away_restore(void)
{
    if (!P.setup.restores) return;
    int why = P.setup.journal >= 0 && ftruncate(P.setup.journal, 0) < 0 ? errno : 0;
    for (bool last = false; !last;) {
        struct hark_process_message *m = hark_process_read();
        struct hark_control c;
        uint32_t length = 0;
        if (m == NULL || hark_control_parse(&c, m->bytes, m->length) <= 0 ||
            c.type != HARK_C_JOURNAL)
            hark_process_fatal("the supervisor does not say what the journal held");
        last = hark_control_get32(&c) != 0;
        const uint64_t at = hark_control_get64(&c);
        const uint8_t *bytes = hark_control_get_bytes(&c, &length);
        if (bytes && why == 0 && P.setup.journal >= 0) why = put(bytes, length, at);
        free(m);
    }
    if (why == 0) return;
    if (P.setup.journal >= 0) (void)ftruncate(P.setup.journal, 0);
    hark_process_note("rank %u: its readings of clocks can not be kept here: %s; what it sends may "
                      "differ from what it sent before the failure",
        P.setup.rank, strerror(why));
}
