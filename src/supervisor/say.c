/* say.c: lines on stderr, the names in them, and how far things are. */
#include "internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct hark_outlet *errors; /* while there is one, lines go through it: between those of
                                      processes */

void hark_sup_say_through(struct hark_outlet *w)
{
    errors = w;
}

void hark_sup_say(const char *format, ...)
{
    char line[1024] = "hark: ";
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line + 6, sizeof line - 7, format, list);
    va_end(list);
    if (n < 0) return;
    for (char *c = line; *c; c++)
        if (*c == '\n') *c = ' '; /* one line stays one line */
    size_t length = strlen(line);
    line[length++] = '\n';
    if (errors == NULL || !hark_outlet_put(errors, HARK_OUTLET_NO_STREAM, 0, line, length))
        fprintf(stderr, "%.*s", (int)length, line);
}

const char *hark_sup_name(const struct child *c, char name[32])
{
    if (c->rank == HARK_RECOVERY) snprintf(name, 32, "the recovery process");
    else snprintf(name, 32, "rank %u", c->rank);
    return name;
}

void hark_sup_name_ranks(const struct supervisor *s, const uint8_t *member, char *text, size_t room)
{
    size_t at = 0;
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        if (!member[r]) continue;
        uint32_t first = r;
        while (r + 1 < s->o->ranks && member[r + 1]) r++;
        int n = snprintf(
            text + at, room - at, first == r ? "%s%u" : "%s%u-%u", at ? " " : "", first, r);
        if (n < 0 || (size_t)n >= room - at) {
            snprintf(text + room - 4, 4, "...");
            return;
        }
        at += (size_t)n;
    }
}

const char *hark_sup_count(uint64_t n, const char *one, const char *more, char text[48])
{
    snprintf(text, 48, "%" PRIu64 " %s", n, n == 1 ? one : more);
    return text;
}

const char *hark_sup_deliveries(uint64_t n, char text[48])
{
    return hark_sup_count(n, "delivery", "deliveries", text);
}

const char *hark_sup_signal_name(int number, char text[24])
{
    const char *name = sigabbrev_np(number);
    if (name) snprintf(text, 24, "SIG%s", name);
    else snprintf(text, 24, "signal %d", number);
    return text;
}

/* ---- how far things are ---------------------------------------------------------------------- */

uint64_t hark_sup_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct hark_board_slot *hark_sup_slot(const struct child *c)
{
    return &c->s->board->slot[c->rank == HARK_RECOVERY ? c->s->o->ranks : c->rank];
}

uint64_t hark_sup_progress(const struct child *c)
{
    const struct hark_board_slot *slot = hark_sup_slot(c);
    return c->rank == HARK_RECOVERY ? slot->frames_in : slot->deliveries;
}
