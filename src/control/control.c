#include "control.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/parts/mem.h"

static uint8_t *room_for(struct hark_control *m, size_t n)
{
    if (m->bad) return NULL;
    if (m->length + n > m->room) {
        size_t room = (m->length + n) * 2 + 64;
        uint8_t *at = m->lent ? NULL : realloc(m->at, room);
        if (at == NULL) {
            m->bad = true;
            return NULL;
        }
        m->at = at;
        m->room = room;
    }
    m->length += n;
    return m->at + m->length - n;
}

static void begin(struct hark_control *m)
{
    uint8_t *b = room_for(m, 8);
    if (b == NULL) return;
    memset(b, 0, 8);
    hark_put16(b + 4, m->type);
}

void hark_control_begin(struct hark_control *m, uint16_t type)
{
    *m = (struct hark_control){.type = type};
    begin(m);
}

void hark_control_begin_in(struct hark_control *m, uint16_t type, void *memory, size_t room)
{
    *m = (struct hark_control){.at = memory, .room = room, .type = type, .lent = true};
    begin(m);
}

void hark_control_put32(struct hark_control *m, uint32_t v)
{
    uint8_t *b = room_for(m, 4);
    if (b) hark_put32(b, v);
}

void hark_control_put64(struct hark_control *m, uint64_t v)
{
    uint8_t *b = room_for(m, 8);
    if (b) hark_put64(b, v);
}

void hark_control_puts(struct hark_control *m, const char *text, size_t length)
{
    if (length > UINT16_MAX) length = UINT16_MAX;
    uint8_t *b = room_for(m, 2 + length);
    if (b == NULL) return;
    hark_put16(b, (uint16_t)length);
    memcpy(b + 2, text, length);
}

void hark_control_put_bytes(struct hark_control *m, const void *at, uint32_t length)
{
    uint8_t *b = room_for(m, 4 + (size_t)length);
    if (b == NULL) return;
    hark_put32(b, length);
    if (length) memcpy(b + 4, at, length);
}

void hark_control_end(struct hark_control *m)
{
    if (m->at && !m->bad) hark_put32(m->at, (uint32_t)(m->length - 4));
}

void hark_control_free(struct hark_control *m)
{
    if (!m->lent) free(m->at);
    memset(m, 0, sizeof *m);
}

long hark_control_parse(struct hark_control *m, const uint8_t *at, size_t length)
{
    if (length < 4) return 0;
    uint64_t n = (uint64_t)hark_get32(at) + 4;
    if (n < 8 || n > HARK_CONTROL_MAX) return -1;
    if (length < n) return 0;
    memset(m, 0, sizeof *m);
    m->at = (uint8_t *)(uintptr_t)at;
    m->length = n;
    m->next = 8;
    m->type = hark_get16(at + 4);
    return (long)n;
}

static const uint8_t *field(struct hark_control *m, size_t n)
{
    if (m->bad || m->length - m->next < n) {
        m->bad = true;
        return NULL;
    }
    m->next += n;
    return m->at + m->next - n;
}

uint32_t hark_control_get32(struct hark_control *m)
{
    const uint8_t *b = field(m, 4);
    return b ? hark_get32(b) : 0;
}

uint64_t hark_control_get64(struct hark_control *m)
{
    const uint8_t *b = field(m, 8);
    return b ? hark_get64(b) : 0;
}

const char *hark_control_gets(struct hark_control *m, size_t *length)
{
    const uint8_t *b = field(m, 2);
    *length = b ? hark_get16(b) : 0;
    b = field(m, *length);
    if (b == NULL) *length = 0;
    return b ? (const char *)b : "";
}

const uint8_t *hark_control_get_bytes(struct hark_control *m, uint32_t *length)
{
    *length = hark_control_get32(m);
    const uint8_t *b = field(m, *length);
    if (b == NULL) *length = 0;
    return b;
}

/* ---- WAITS ----------------------------------------------------------------------------------- */

void hark_waits_put(struct hark_control *m, const struct hark_waits *w)
{
    hark_control_puts(m, w->call, strlen(w->call));
    hark_control_put32(m, w->what);
    hark_control_put32(m, (uint32_t)w->from);
    hark_control_put32(m, (uint32_t)w->tag);
    hark_control_put32(m, w->count);
    hark_control_put64(m, w->calls);
    hark_control_put32(m, w->untaken);
    hark_control_put32(m, (uint32_t)w->untaken_from);
    hark_control_put32(m, (uint32_t)w->untaken_tag);
}

bool hark_waits_get(struct hark_control *m, struct hark_waits *w)
{
    size_t length;
    const char *call = hark_control_gets(m, &length);
    snprintf(w->call, sizeof w->call, "%.*s", (int)length, call);
    w->what = hark_control_get32(m);
    w->from = (int32_t)hark_control_get32(m);
    w->tag = (int32_t)hark_control_get32(m);
    w->count = hark_control_get32(m);
    w->calls = hark_control_get64(m);
    w->untaken = hark_control_get32(m);
    w->untaken_from = (int32_t)hark_control_get32(m);
    w->untaken_tag = (int32_t)hark_control_get32(m);
    return !m->bad;
}

/* ---- SETUP ----------------------------------------------------------------------------------- */

struct key {
    const char *name;
    size_t at;
    char what; /* 4 u32, 8 u64, s string, i int */
};
#define KEY(member, what)                                                                          \
    {                                                                                              \
#member, offsetof(struct hark_setup, member), what                                         \
    }
static const struct key keys[] = {KEY(rank, '4'), KEY(ranks, '4'), KEY(inc, '4'), KEY(re, '4'),
    KEY(checkpoint, '8'), KEY(job, 's'), KEY(directory, 's'), KEY(store, 's'), KEY(listen, 's'),
    KEY(protocol, 's'), KEY(transport, 's'), KEY(clusters, 's'), KEY(trace, 's'), KEY(spill, 's'),
    KEY(again, 's'), KEY(host, 's'), KEY(log_limit, '8'), KEY(interval_ms, '8'), KEY(mtbf_ms, '8'),
    KEY(options, 's'), KEY(generations, '4'), KEY(digest, '4'), KEY(waits, '4'),
    KEY(incremental, '4'), KEY(compression, '4'), KEY(encrypts, '4'), KEY(traffic, '4'),
    KEY(program, '4'), KEY(record, '4'), KEY(steady, '4'), KEY(keeps, '4'), KEY(readings, '4'),
    KEY(restores, '4'), KEY(kill_at, '8'), KEY(frame_limit, '8'), KEY(board, 'i'),
    KEY(journal, 'i'), KEY(option[0], '8'), KEY(option[1], '8'), KEY(option[2], '8'),
    KEY(option[3], '8'), KEY(option[4], '8'), KEY(option[5], '8'), KEY(store_fd, 'i'),
    KEY(kept, 'i')};

char *hark_setup_write(const struct hark_setup *s)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    if (f == NULL) return NULL;
    for (size_t i = 0; i < HARK_COUNT(keys); i++) {
        const void *at = (const char *)s + keys[i].at;
        switch (keys[i].what) {
        case '4': fprintf(f, "%s=%" PRIu32 "\n", keys[i].name, *(const uint32_t *)at); break;
        case '8': fprintf(f, "%s=%" PRIu64 "\n", keys[i].name, *(const uint64_t *)at); break;
        case 'i': fprintf(f, "%s=%d\n", keys[i].name, *(const int *)at); break;
        default:
            if (*(char *const *)at) fprintf(f, "%s=%s\n", keys[i].name, *(char *const *)at);
        }
    }
    fputs("key=", f);
    for (int i = 0; i < 32; i++) fprintf(f, "%02x", s->key[i]);
    fputc('\n', f);
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* -1: it is not a value; -2: no memory. */
static int key_value(struct hark_setup *s, const char *name, const char *value)
{
    if (strcmp(name, "key") == 0) {
        for (int i = 0; i < 32; i++)
            if (sscanf(value + 2 * i, "%2hhx", &s->key[i]) != 1) return -1;
        return 0;
    }
    for (size_t i = 0; i < HARK_COUNT(keys); i++) {
        if (strcmp(keys[i].name, name) != 0) continue;
        void *at = (char *)s + keys[i].at;
        char *end = NULL;
        unsigned long long v = keys[i].what == 's' ? 0 : strtoull(value, &end, 10);
        if (end && (*end || end == value)) return -1;
        switch (keys[i].what) {
        case '4': *(uint32_t *)at = (uint32_t)v; break;
        case '8': *(uint64_t *)at = v; break;
        case 'i': *(int *)at = (int)v; break;
        default:
            free(*(char **)at);
            *(char **)at = strdup(value);
            return *(char **)at ? 0 : -2;
        }
        return 0;
    }
    return 0; /* a newer supervisor may say more */
}

int hark_setup_read(struct hark_setup *s, const char *text, size_t length, char error[200])
{
    memset(s, 0, sizeof *s);
    s->board = s->journal = s->store_fd = s->kept = -1;
    char *copy = strndup(text, length), *next = copy;
    int status = copy ? 0 : -2;
    snprintf(error, 200, "the supervisor's setup: no memory");
    for (char *line; status == 0 && (line = strsep(&next, "\n")) != NULL;) {
        char *value = strchr(line, '=');
        if (value == NULL) continue;
        *value++ = 0;
        status = key_value(s, line, value);
        if (status == -1)
            snprintf(error, 200, "the supervisor's setup: %s=%s is not a value", line, value);
    }
    free(copy);
    if (status == 0 &&
        (s->ranks == 0 || !s->job || !s->directory || !s->store || !s->protocol || !s->transport)) {
        snprintf(error, 200, "the supervisor's setup is not complete");
        status = -1;
    }
    if (status < 0) hark_setup_free(s);
    return status < 0 ? -1 : 0;
}

void hark_setup_free(struct hark_setup *s)
{
    for (size_t i = 0; i < HARK_COUNT(keys); i++) {
        char **at = (char **)(void *)((char *)s + keys[i].at);
        if (keys[i].what != 's') continue;
        free(*at);
        *at = NULL;
    }
}
