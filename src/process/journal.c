#include "journal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hark/registry.h"
#include "journal_away.h"
#include "journal_kept.h"
#include "process.h"

#define P hark_process

static struct {
    struct hark_journal_file file;
    bool open;         /* there is a journal */
    bool records;      /* and readings go into it */
    bool broken;       /* it could not grow: until the next image nothing goes into it */
    uint64_t position; /* of the next reading */
    uint64_t again;    /* if that is one of several times: so many of these were given */
    uint64_t limit;    /* readings below it are given again; both are 0 without a journal */
    uint64_t image, image_again; /* where the image was taken that this incarnation began from */
    uint64_t empty_at; /* the last image that was taken before there was any reading; 0: none */
} journal;

struct again { /* HARK_JOURNAL_AGAIN */
    double seconds;
    uint64_t count;
};

/* In an image one number has a position, and in these bits `again`. */
#define AGAIN_SHIFT 44
#define AGAIN_MOST  ((UINT64_C(1) << (64 - AGAIN_SHIFT)) - 1)

static struct {
    bool goes_on;      /* the last entry of the journal is of hark_wtime */
    double first;      /* of its readings one after the other */
    double last;       /* that is in the journal */
    double called;     /* when it was read last */
    uint32_t quick;    /* so many of these came at once, one after the other */
    uint64_t messages; /* sent and delivered before */
    uint64_t counts;   /* where the journal counts how often; 0: it does not yet */
} waiting;

static void count(_Atomic uint64_t *figure)
{
    atomic_store_explicit(
        figure, atomic_load_explicit(figure, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* The run goes on. Only if this process is lost before its next image, some of its readings are
 * not given again. */
static void on_no_room(void)
{
    char line[250];
    const bool full = errno == EFBIG;
    snprintf(line, sizeof line,
        "the journal of clocks and files %s%s: if the process is lost before its next checkpoint, "
        "it "
        "may diverge; more checkpoints (--interval) help",
        full ? "is full" : "can not grow: ", full ? "" : strerror(errno));
    hark_process_trouble(line);
    journal.records = false;
    journal.broken = true;
    waiting.goes_on = false;
}

/* The first reading makes the file: most programs of hark read no clock. */
static bool mapped(void)
{
    if (journal.file.header) return true;
    if (hark_journal_map(&journal.file, P.setup.journal) < 0) return false;
    if (journal.empty_at) hark_journal_away_image(&journal.file, journal.empty_at, 0);
    return true;
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* A process that the program forks is none of the job. */
static void forget(void)
{
    journal.open = journal.records = waiting.goes_on = false;
    journal.position = journal.again = journal.limit = 0;
}

void hark_journal_open(void)
{
    struct stat st;
    if (P.setup.journal < 0) return;
    pthread_atfork(NULL, NULL, forget);
    journal.open = journal.records = true;
    if (fstat(P.setup.journal, &st) < 0 || (st.st_size && !mapped())) on_no_room();
}

void hark_journal_close(void)
{
    hark_journal_disconnect_calls();
    hark_journal_unmap(&journal.file);
    if (journal.open) close(P.setup.journal);
    forget();
}

/* Forgets all, and goes on at `position`. */
static void begin_at(uint64_t position)
{
    if (!mapped() || hark_journal_begin_at(&journal.file, position) < 0) on_no_room();
    else hark_journal_away_changed(&journal.file);
}

/* The journal lacks readings, since the machine or a store lost them: there is nothing to give. */
static bool is_lost(uint64_t position)
{
    return position > hark_journal_end(&journal.file) ||
           position < hark_journal_start(&journal.file);
}

void hark_journal_restart(uint64_t checkpoint, uint64_t taken)
{
    const uint64_t again = taken >> AGAIN_SHIFT, position = taken - (again << AGAIN_SHIFT);
    if (!journal.open) return;
    waiting.goes_on = false;
    if (journal.file.header ? is_lost(position) : position != 0) begin_at(position);
    journal.image = position;
    journal.image_again = again;
    journal.records = checkpoint == 0 && !journal.broken;
    if (journal.file.header == NULL) {
        journal.empty_at = checkpoint;
        return;
    }
    hark_journal_away_undone(&journal.file, checkpoint);
    if (checkpoint) hark_journal_away_image(&journal.file, checkpoint, position);
    hark_journal_away_changed(&journal.file); /* it may have died before it said what it read */
    /* With an image the program executes its beginning again, and then asks for its memory. */
    journal.limit =
        checkpoint ? hark_journal_prologue(&journal.file) : hark_journal_end(&journal.file);
    hark_journal_kept_begin(0, journal.limit);
}

/* Only the first execution tells where the beginning ends. */
static void note_prologue(void)
{
    if (P.setup.checkpoint == 0 && journal.file.header && journal.position <= HARK_JOURNAL_PINNED) {
        hark_journal_set_prologue(&journal.file, journal.position);
        hark_journal_away_begun(&journal.file);
    }
}

void hark_journal_ready(void)
{
    if (!journal.open || journal.broken) return;
    waiting.goes_on = false;
    if (journal.records) {
        note_prologue();
        return;
    }
    journal.records = true;
    journal.position = journal.image;
    journal.again = journal.image_again;
    journal.limit = journal.file.header ? hark_journal_end(&journal.file) : 0;
    hark_journal_kept_begin(journal.position, journal.limit);
}

/* ---- images ---------------------------------------------------------------------------------- */

/* Readings are missing before this image: those before them are of no use to it, nor to older
 * ones. */
static void mend(void)
{
    journal.broken = false;
    begin_at(journal.position + HARK_JOURNAL_GAP);
    if (journal.broken) return;
    journal.records = true;
    journal.position = journal.limit = hark_journal_end(&journal.file);
    journal.again = 0;
}

uint64_t hark_journal_captured(uint64_t id)
{
    if (!journal.open) return 0;
    waiting.goes_on = false; /* what is counted before the image is none of what comes after */
    if (journal.broken) mend();
    if (journal.position < journal.limit)
        journal.position =
            hark_journal_kept_skip_found(&journal.file, journal.position, journal.limit);
    if (journal.file.header) hark_journal_away_image(&journal.file, id, journal.position);
    else journal.empty_at = id;
    return journal.position | journal.again << AGAIN_SHIFT;
}

void hark_journal_dropped(uint64_t id)
{
    if (journal.open && journal.file.header) hark_journal_away_dropped(&journal.file, id);
}

/* ---- readings -------------------------------------------------------------------------------- */

#define WORDS 48

static const char *words(uint8_t kind, char text[WORDS])
{
    switch (kind) {
    case HARK_JOURNAL_WTIME:
    case HARK_JOURNAL_AGAIN: return "the time (hark_wtime or MPI_Wtime)";
    case HARK_JOURNAL_TIME_OF_DAY: return "the time of day (gettimeofday)";
    case HARK_JOURNAL_TIME: return "the time (time)";
    case HARK_JOURNAL_PROCESSOR_TIME: return "its processor time (clock)";
    case HARK_JOURNAL_TIMES: return "its processor times (times)";
    case HARK_JOURNAL_USAGE: return "what it has used (getrusage)";
    case HARK_JOURNAL_RANDOM: return "random bytes (getrandom)";
    default:
        snprintf(text, WORDS, "clock %u (clock_gettime)", (unsigned)kind - HARK_JOURNAL_CLOCK);
        return text;
    }
}

_Noreturn static void say_diverged(const char *line)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_C_DIVERGED);
    hark_control_puts(&m, line, strlen(line));
    hark_process_say(&m);
    _exit(1);
}

/* Of one that was given some of several times; *position is behind it then. */
static bool read_again(uint64_t *position, struct again *x)
{
    uint8_t found;
    size_t length;
    return hark_journal_read(&journal.file, position, HARK_JOURNAL_AGAIN, x, sizeof *x, &found,
               &length) == HARK_JOURNAL_GIVEN;
}

/* The rest of the journal is of no use. Of a reading that was given some of several times, these
 * are. */
static void cut(void)
{
    struct again x;
    uint64_t behind = journal.position;
    const uint64_t given = journal.again;
    journal.again = 0;
    if (journal.records && given && read_again(&behind, &x)) {
        hark_journal_set(&journal.file, behind - sizeof x.count, given);
        journal.position = behind;
    }
    if (journal.records) hark_journal_cut(&journal.file, journal.position);
    if (journal.records) hark_journal_away_changed(&journal.file);
    journal.limit = journal.position;
    hark_journal_kept_begin(journal.position, journal.position);
}

/* The program takes another way than before. What a send-deterministic program sends does not
 * depend on the order of messages, but the order of its readings may: then nobody can tell which of
 * them the journal holds. Under the other protocols that order may rightly be another one from here
 * on, and nobody depends on what came next: the rest is of no use. */
static void on_different(uint8_t kind, uint8_t found)
{
    char line[400], now[WORDS], then[WORDS];
    snprintf(line, sizeof line,
        "%s diverged: its re-execution reads %s where it read %s%s before the failure: the order "
        "of its readings depends on the order of its messages, or on something that is not "
        "protected",
        P.name, words(kind, now), kind == found ? "another number of " : "", words(found, then));
    if (P.protocol->manual->programs == HARK_FOR_SENDS) say_diverged(line);
    cut();
}

static bool give_again(void *value)
{
    struct again x;
    uint64_t behind = journal.position;
    if (!read_again(&behind, &x)) return false;
    memcpy(value, &x.seconds, sizeof x.seconds);
    if (++journal.again >= x.count) {
        journal.position = behind;
        journal.again = 0;
    }
    return true;
}

static bool next_of_journal(uint8_t kind, void *value, size_t length)
{
    uint8_t found;
    size_t found_length;
    if (journal.position < journal.limit)
        journal.position = hark_journal_kept_skip(&journal.file, journal.position, journal.limit);
    if (journal.position >= journal.limit) return false;
    enum hark_journal_found result = hark_journal_read(
        &journal.file, &journal.position, kind, value, length, &found, &found_length);
    if (result == HARK_JOURNAL_DIFFERENT && kind == HARK_JOURNAL_WTIME &&
        found == HARK_JOURNAL_AGAIN && give_again(value))
        result = HARK_JOURNAL_GIVEN;
    switch (result) {
    case HARK_JOURNAL_GIVEN: count(&P.slot->readings_given); return true;
    case HARK_JOURNAL_DAMAGED: cut(); return false;
    default: /* DIFFERENT */
        if (journal.records) on_different(kind, found);
        else { /* of the beginning nothing depends on it */ journal.limit = journal.position;
            journal.again = 0;
        }
        return false;
    }
}

bool hark_journal_next(uint8_t kind, void *value, size_t length)
{
    if (next_of_journal(kind, value, length)) return true;
    if (!P.setup.steady) return false;
    hark_steady_fill(kind, value, length);
    hark_journal_record(kind, value, length);
    return true;
}

/* An entry was appended. */
static void appended(void)
{
    hark_journal_away_changed(&journal.file);
    journal.limit = hark_journal_end(&journal.file);
    count(&P.slot->readings);
    atomic_store_explicit(
        &P.slot->journal_bytes, hark_journal_file_bytes(&journal.file), memory_order_relaxed);
    /* Checkpoints trim it. */
    if (journal.limit - hark_journal_start(&journal.file) > HARK_JOURNAL_MOST / 2)
        P.checkpoint = true;
}

static bool append(uint8_t kind, const void *value, size_t length)
{
    waiting.goes_on = false;
    if (mapped() && hark_journal_append(&journal.file, kind, value, length) == 0) return true;
    on_no_room();
    return false;
}

void hark_journal_record(uint8_t kind, const void *value, size_t length)
{
    if (!journal.records || !append(kind, value, length)) return;
    appended();
    journal.position = journal.limit;
}

/* The last reading once more. */
static bool count_again(void)
{
    const struct again x = {waiting.last, 1};
    const uint64_t end = hark_journal_end(&journal.file);
    hark_journal_away_changed(&journal.file);
    if (waiting.counts && hark_journal_increment(&journal.file, waiting.counts) < AGAIN_MOST) {
        count(&P.slot->readings);
        return true;
    }
    if (waiting.counts) { /* that was the last that it can count */
        waiting.counts = 0;
        count(&P.slot->readings);
        return true;
    }
    if (end >> (AGAIN_SHIFT - 1)) return false; /* the position would not fit into an image */
    hark_journal_record(HARK_JOURNAL_AGAIN, &x, sizeof x);
    waiting.goes_on = journal.records;
    waiting.counts = journal.limit - sizeof x.count;
    return waiting.goes_on;
}

/* Does the program only read the clock? Pages of the journal, and other programs, take their time
 * now and then; one that measures what it does is slow at each other reading at least. */
static bool only_waits(double now)
{
    const bool quick = now - waiting.called < 1e-6, waits = quick || waiting.quick >= 16;
    waiting.quick = quick ? waiting.quick + 1 : 0;
    waiting.called = now;
    const struct hark_driver_figures *f = hark_driver_figures(P.driver);
    const uint64_t messages = f->messages + f->deliveries, before = waiting.messages;
    waiting.messages = messages;
    if (waiting.goes_on && waits && messages == before) return true;
    waiting.first = now;
    return false;
}

void hark_journal_time(double *seconds)
{
    const double now = *seconds;
    if (!journal.records) return;
    const bool waits = only_waits(now);
    const double waited = now - waiting.first;
    if (waits && waited > 5e-5 && now - waiting.last < (waited < 0.1 ? waited * 1e-3 : 1e-4) &&
        count_again()) {
        *seconds = waiting.last;
        return;
    }
    hark_journal_record(HARK_JOURNAL_WTIME, seconds, sizeof *seconds);
    waiting.goes_on = journal.records;
    waiting.last = now;
    waiting.counts = 0;
}

/* ---- results by key -------------------------------------------------------------------------- */

/* As on_different(): what comes next in the journal is of an execution that is undone. Results of a
 * send-deterministic program may come in another order; of the others nobody depends on them. */
static void keep_order(struct hark_journal_key key)
{
    if (!journal.records || P.protocol->manual->programs == HARK_FOR_SENDS) return;
    if (hark_journal_kept_follows(&journal.file, key)) return;
    journal.position = hark_journal_kept_skip_found(&journal.file, journal.position, journal.limit);
    cut();
}

ptrdiff_t hark_journal_find(struct hark_journal_key key, void *value, size_t room)
{
    if (!journal.open || journal.file.header == NULL) return -1;
    keep_order(key);
    ptrdiff_t length = hark_journal_kept_find(&journal.file, key, value, room);
    if (length >= 0) count(&P.slot->readings_given);
    return length;
}

/* Readings that are still to be given again stay the next ones. */
void hark_journal_keep(struct hark_journal_key key, const void *value, size_t length)
{
    uint8_t entry[HARK_JOURNAL_ENTRY];
    if (!journal.records) return;
    memcpy(entry, &key, sizeof key);
    if (length) memcpy(entry + sizeof key, value, length);
    const bool at_end = journal.position == journal.limit;
    if (!append(HARK_JOURNAL_KEPT, entry, sizeof key + length)) return;
    appended();
    if (at_end) journal.position = journal.limit;
}
