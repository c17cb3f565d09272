/* journal.c: the files of the journals of processes (src/process/journal.h). We keep the
 * descriptors, so a journal outlives its process; and in a store that is kept, it outlives us. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hark/registry.h"

/* One a rank, in the folder `journal` of the store. A new job begins an empty one. */
static int open_in_store(const struct supervisor *s, uint32_t rank)
{
    char name[32];
    snprintf(name, sizeof name, "journal/r%u", rank);
    if (mkdirat(s->store_fd, "journal", 0700) < 0 && errno != EEXIST) return -1;
    return openat(
        s->store_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | (s->belongs ? 0 : O_TRUNC), 0600);
}

/* Once in a run: the others are no better. */
static void say_lost(struct supervisor *s)
{
    if (s->journal_said) return;
    s->journal_said = true;
    hark_sup_say(
        "store %s: journal: %s; readings of clocks are kept in memory only, and a job that "
        "is resumed may diverge",
        s->o->store, strerror(errno));
}

/* Of another host's journal: what the run before has left of it in the store. */
static void take_stored(struct child *c)
{
    struct supervisor *s = c->s;
    uint8_t bytes[4096];
    uint64_t at = 0;
    hark_sup_away(s);
    c->journal_stored = open_in_store(s, c->rank);
    const bool open = c->journal_stored >= 0;
    for (ssize_t n = open; n > 0;) {
        n = pread(c->journal_stored, bytes, sizeof bytes, (off_t)at);
        if (n < 0 && errno == EINTR) n = 1;
        else if (n > 0 && pwrite(c->journal, bytes, (size_t)n, (off_t)at) == n) at += (uint64_t)n;
        else if (n > 0) n = -1;
        if (n < 0) (void)ftruncate(c->journal, 0);
    }
    hark_sup_back(s);
    if (!open) say_lost(s);
}

int hark_sup_journal(struct child *c)
{
    struct supervisor *s = c->s;
    if (c->rank == HARK_RECOVERY || c->journal >= 0) return 0;
    if (s->o->journal == 0 || !hark_service_survives(s->o->protocol)) return 0;
    if (s->o->store && s->host == NULL) {
        c->journal = open_in_store(s, c->rank);
        if (c->journal < 0) say_lost(s);
    }
    if (c->journal < 0) c->journal = memfd_create("hark-journal", MFD_CLOEXEC);
    if (c->journal < 0) return errno;
    if (s->o->store && s->host) take_stored(c);
    return 0;
}

void hark_sup_journal_close(struct child *c)
{
    if (c->journal >= 0) close(c->journal);
    if (c->journal_stored >= 0) close(c->journal_stored);
    c->journal = c->journal_stored = -1;
}
