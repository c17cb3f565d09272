/* report.c: what goes from an agent to its supervisor. */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECE (256u << 10) /* of a file, bytes */

void hark_agent_say(struct agent *a, struct hark_control *m)
{
    hark_control_end(m);
    if (a->cleaning) {
        hark_control_free(m); /* one thing is still said: hark_agent_leave() */
        return;
    }
    if (m->bad || hark_session_say(&a->session, m->at, m->length) != 0)
        a->misses_something = true; /* at the end of this turn we end */
    hark_control_free(m);
}

void hark_agent_mention(struct agent *a, struct hark_control *m)
{
    hark_control_end(m);
    if (!m->bad) hark_session_mention(&a->session, m->at, m->length);
    hark_control_free(m);
}

void hark_agent_say_line(struct agent *a, uint16_t type, const char *format, ...)
{
    char line[512];
    struct hark_control m;
    va_list rest;
    va_start(rest, format);
    vsnprintf(line, sizeof line, format, rest);
    va_end(rest);
    hark_control_begin(&m, type);
    hark_control_puts(&m, line, strlen(line));
    hark_agent_say(a, &m);
}

/* Numbers of a slot are read one by one, while its process writes them: each is right by itself. */
void hark_agent_figures(struct agent *a, uint32_t first, uint32_t count)
{
    struct hark_control m;
    uint32_t changed = 0;
    for (uint32_t i = first; i < first + count; i++) {
        struct hark_board_slot now;
        if (!a->hosted[i].a) continue; /* it never ran here */
        memcpy(&now, (const void *)&a->board->slot[i], sizeof now);
        if (memcmp(&now, &a->told[i], sizeof now) == 0) continue;
        if (changed++ == 0) hark_control_begin(&m, HARK_A_BOARD);
        a->told[i] = now;
        hark_control_put32(&m, i);
        hark_control_put_bytes(&m, &now, sizeof now);
    }
    if (changed) hark_agent_say(a, &m);
}

void hark_agent_row(struct agent *a, uint32_t slot)
{
    struct hark_control m;
    if (!a->job.traffic || slot >= a->job.ranks) return;
    hark_control_begin(&m, HARK_A_ROW);
    hark_control_put32(&m, slot);
    hark_control_put_bytes(&m, (const void *)hark_board_traffic(a->board, slot),
        a->job.ranks * (uint32_t)sizeof(uint64_t));
    hark_agent_say(a, &m);
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool is_wanted(const char *name)
{
    return strncmp(name, "trace-", 6) == 0 || strncmp(name, "record-", 7) == 0;
}

/* False: there is no more of it. */
static bool send_piece(struct agent *a, struct sent_files *f)
{
    static uint8_t piece[PIECE];
    struct hark_control m;
    ssize_t n;
    do n = pread(f->fd, piece, sizeof piece, (off_t)f->at);
    while (n < 0 && errno == EINTR);
    if (n < 0) hark_agent_say_line(a, HARK_A_SAY, "cannot read %s: %s", f->name, strerror(errno));
    if (n <= 0) return false;
    hark_control_begin(&m, HARK_A_FILE);
    hark_control_puts(&m, f->name, strlen(f->name));
    hark_control_put64(&m, f->at);
    hark_control_put_bytes(&m, piece, (uint32_t)n);
    hark_agent_say(a, &m);
    f->at += (uint64_t)n;
    return true;
}

void hark_agent_files_begin(struct agent *a)
{
    a->files = (struct sent_files){.fd = -1};
    a->files.open = entries_open(&a->files.all, AT_FDCWD, a->directory, 0);
}

static bool next_file(struct sent_files *f)
{
    while ((f->name = entries_next(&f->all)) != NULL) {
        f->fd = is_wanted(f->name) ? openat(f->all.fd, f->name, O_RDONLY | O_CLOEXEC) : -1;
        f->at = 0;
        if (f->fd >= 0) return true;
    }
    return false;
}

bool hark_agent_files_go_on(struct agent *a)
{
    struct sent_files *f = &a->files;
    while (f->open && !hark_session_full(&a->session) && !a->misses_something) {
        if (f->fd < 0 && !next_file(f)) {
            hark_agent_files_end(a);
        } else if (!send_piece(a, f)) {
            close(f->fd);
            f->fd = -1;
        }
    }
    return !f->open;
}

void hark_agent_files_end(struct agent *a)
{
    struct sent_files *f = &a->files;
    if (!f->open) return;
    if (f->fd >= 0) close(f->fd);
    entries_close(&f->all);
    f->open = false;
}
