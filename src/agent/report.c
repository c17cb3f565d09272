/* report.c: what goes from an agent to its supervisor. */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../transports/entries.h"

#define PIECE (256u << 10) /* of a file, bytes */

void hark_agent_say(struct agent *a, struct hark_control *m)
{
    hark_control_end(m);
    if (a->connection && a->opened && !m->bad)
        (void)hark_connection_say(a->connection, m->at, m->length);
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

static void send_file(struct agent *a, int directory, const char *name)
{
    static uint8_t piece[PIECE];
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    uint64_t at = 0;
    for (ssize_t n; fd >= 0 && (n = pread(fd, piece, sizeof piece, (off_t)at)) != 0;) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            hark_agent_say_line(a, HARK_A_SAY, "cannot read %s: %s", name, strerror(errno));
            break;
        }
        struct hark_control m;
        hark_control_begin(&m, HARK_A_FILE);
        hark_control_puts(&m, name, strlen(name));
        hark_control_put64(&m, at);
        hark_control_put_bytes(&m, piece, (uint32_t)n);
        hark_agent_say(a, &m);
        at += (uint64_t)n;
    }
    if (fd >= 0) close(fd);
}

void hark_agent_files(struct agent *a)
{
    struct entries files;
    if (!entries_open(&files, AT_FDCWD, a->directory, 0)) return;
    for (const char *name; (name = entries_next(&files)) != NULL;)
        if (strncmp(name, "trace-", 6) == 0 || strncmp(name, "record-", 7) == 0)
            send_file(a, files.fd, name);
    entries_close(&files);
}
