#include "service_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/parts/mem.h"

#define VERSION 2u
#define HEAD    28u
enum { STATE = 1, IDENTITY = 2 };

static size_t state_length(const struct hark_service *s)
{
    size_t length = HEAD + (size_t)s->ranks * 16 + (size_t)s->groups * (8 + sizeof s->group[0].wave);
    for (uint32_t r = 0; r < s->ranks; r++) length += (size_t)s->epochs[r].count * 8;
    return length + (size_t)(s->maps - 1) * (8 + (size_t)s->ranks * 4);
}

static size_t encode(const struct hark_service *s, uint8_t *b)
{
    const uint32_t head[] = {VERSION, s->ranks, s->config.protocol->kind, s->re, s->recovery_inc, s->finished, s->groups};
    uint8_t *at = b;
    for (size_t i = 0; i < HARK_COUNT(head); i++, at += 4) hark_put32(at, head[i]);
    for (uint32_t r = 0; r < s->ranks; r++, at += 8) {
        hark_put32(at, s->inc[r]);
        hark_put32(at + 4, s->down[r]);
    }
    for (uint32_t g = 0; g < s->groups; g++) {
        hark_put32(at, s->group[g].count);
        hark_put32(at + 4, s->group[g].decided);
        at += 8;
        for (uint32_t i = 0; i < s->group[g].count; i++, at += 8) hark_put64(at, s->group[g].wave[i]);
    }
    for (uint32_t r = 0; r < s->ranks; r++) {
        hark_put32(at, s->epochs[r].count);
        hark_put32(at + 4, 0);
        at += 8;
        for (uint32_t i = 0; i < s->epochs[r].count; i++, at += 8) hark_put64(at, s->epochs[r].id[i]);
    }
    for (uint32_t m = 1; m < s->maps; m++) {
        hark_put64(at, s->map[m].since);
        at += 8;
        for (uint32_t r = 0; r < s->ranks; r++, at += 4) hark_put32(at, s->map[m].of[r]);
    }
    return (size_t)(at - b);
}

/* The maps of clusters at `at`: true if they fill it exactly and make sense. */
static bool decode_maps(struct hark_service *s, const uint8_t *at, const uint8_t *end)
{
    for (s->maps = 1; end - at >= 8 + (ptrdiff_t)s->ranks * 4; s->maps++) {
        if (s->maps == HARK_COUNT(s->map)) return false;
        struct hark_service_map *m = &s->map[s->maps];
        if (m->of == NULL) m->of = malloc(sizeof *m->of * s->ranks); /* of a damaged record: again */
        m->since = hark_get64(at);
        if (m->of == NULL || m->since <= s->map[s->maps - 1].since) return false;
        at += 8;
        for (uint32_t r = 0; r < s->ranks; r++, at += 4) {
            m->of[r] = hark_get32(at);
            if (m->of[r] >= s->ranks) return false;
        }
    }
    return at == end;
}

/* The epochs at `at`, and behind them the maps. */
static bool decode_epochs(struct hark_service *s, const uint8_t *at, const uint8_t *end)
{
    for (uint32_t r = 0; r < s->ranks; r++) {
        if (end - at < 8) return false;
        uint32_t count = hark_get32(at);
        at += 8;
        hark_epochs_cut(&s->epochs[r], 0); /* of a damaged record */
        for (uint64_t id, last = 0; count > 0; count--, at += 8, last = id) {
            if (end - at < 8) return false;
            id = hark_get64(at);
            if (id <= last || hark_epochs_begin(&s->epochs[r], id) < 0) return false;
        }
    }
    return decode_maps(s, at, end);
}

/* The groups at `at`, and behind them the epochs. */
static bool decode_groups(struct hark_service *s, const uint8_t *at, const uint8_t *end)
{
    for (uint32_t g = 0; g < s->groups; g++) {
        struct hark_service_group *x = &s->group[g];
        if (end - at < 8) return false;
        x->count = hark_get32(at);
        x->decided = hark_get32(at + 4);
        at += 8;
        if (x->count > HARK_SERVICE_GENERATIONS || end - at < (ptrdiff_t)x->count * 8) return false;
        for (uint32_t i = 0; i < x->count; i++, at += 8) {
            x->wave[i] = hark_get64(at);
            if (x->wave[i] == 0 || (i && x->wave[i] <= x->wave[i - 1])) return false;
        }
    }
    return decode_epochs(s, at, end);
}

static bool decode(struct hark_service *s, const uint8_t *b, uint64_t length)
{
    if (length < HEAD + (uint64_t)s->ranks * 8 || hark_get32(b) != VERSION || hark_get32(b + 4) != s->ranks ||
        hark_get32(b + 8) != s->config.protocol->kind || hark_get32(b + 24) != s->groups)
        return false;
    s->re = hark_get32(b + 12);
    s->recovery_inc = hark_get32(b + 16);
    s->finished = hark_get32(b + 20) != 0;
    for (uint32_t r = 0; r < s->ranks; r++) {
        s->inc[r] = hark_get32(b + HEAD + r * 8);
        s->down[r] = hark_get32(b + HEAD + r * 8 + 4) != 0;
    }
    return decode_groups(s, b + HEAD + (size_t)s->ranks * 8, b + length);
}

int hark_service_write(struct hark_service *s)
{
    struct hark_store *store = s->config.record;
    if (store == NULL) return HARK_SERVICE_OK;
    uint8_t *bytes = malloc(state_length(s));
    if (bytes == NULL) {
        snprintf(s->error, sizeof s->error, "the record of failures: no memory");
        return HARK_SERVICE_EDURABLE;
    }
    const char *identity = s->config.identity ? s->config.identity : "";
    struct hark_section section[2] = {{.tag = STATE, .at = bytes, .length = encode(s, bytes)},
        {.tag = IDENTITY, .at = identity, .length = strlen(identity)}};
    int status = store->ops->write(store, s->config.key, s->record + 1, section, 2);
    free(bytes);
    if (status != HARK_S_OK) {
        snprintf(s->error, sizeof s->error, "%s", store->error);
        return HARK_SERVICE_EDURABLE;
    }
    s->record++;
    if (s->record > 2) (void)store->ops->drop(store, s->config.key, s->record - 2);
    return HARK_SERVICE_OK;
}

/* Finds the first line in which two identities differ, and says so. */
static bool same_identity(struct hark_service *s, const char *theirs, size_t length)
{
    const char *ours = s->config.identity ? s->config.identity : "";
    const char *end = theirs + length;
    while (*ours || theirs < end) {
        int a = (int)strcspn(ours, "\n");
        const char *newline = theirs < end ? memchr(theirs, '\n', (size_t)(end - theirs)) : NULL;
        int b = (int)((newline ? newline : end) - theirs);
        if (a != b || memcmp(ours, theirs, (size_t)a) != 0) {
            snprintf(s->error, sizeof s->error, "the store belongs to a job with %.*s, this one has %.*s",
                b > 180 ? 180 : b, theirs, a > 180 ? 180 : a, ours);
            return false;
        }
        ours += a + (ours[a] == '\n');
        theirs += b + (newline != NULL);
    }
    return true;
}

/* HARK_SERVICE_OK, HARK_SERVICE_EINVAL (of another job), or HARK_SERVICE_EDURABLE (damaged). */
static int take(struct hark_service *s, uint64_t id)
{
    struct hark_store *store = s->config.record;
    const struct hark_section *section;
    uint32_t count;
    void *handle;
    if (store->ops->read(store, s->config.key, id, &section, &count, &handle) != HARK_S_OK) {
        snprintf(s->error, sizeof s->error, "%s", store->error);
        return HARK_SERVICE_EDURABLE;
    }
    int status = HARK_SERVICE_EDURABLE;
    snprintf(s->error, sizeof s->error, "the record of failures is of another version");
    if (count == 2 && section[0].tag == STATE && section[1].tag == IDENTITY) {
        if (!same_identity(s, section[1].at, section[1].length)) status = HARK_SERVICE_EINVAL;
        else if (decode(s, section[0].at, section[0].length)) status = HARK_SERVICE_OK;
    }
    store->ops->release(store, handle);
    return status;
}

int hark_service_read(struct hark_service *s)
{
    uint64_t id[4];
    int have = s->config.record->ops->list(s->config.record, s->config.key, id, 4);
    if (have < 0) {
        snprintf(s->error, sizeof s->error, "%s", s->config.record->error);
        return HARK_SERVICE_EDURABLE;
    }
    if (have == 0) return HARK_SERVICE_OK;
    int status = HARK_SERVICE_EDURABLE;
    for (int i = have < 4 ? have : 4; i > 0 && status == HARK_SERVICE_EDURABLE; i--) status = take(s, id[i - 1]);
    if (status < 0) return status;
    for (uint32_t m = s->maps; m < HARK_COUNT(s->map); m++) free(s->map[m].of), s->map[m].of = NULL; /* of damaged ones */
    s->record = id[(have < 4 ? have : 4) - 1]; /* a damaged newer one keeps its number */
    s->resumed = true;
    return HARK_SERVICE_OK;
}

char *hark_service_identity(struct hark_store *store, uint32_t key, uint64_t id)
{
    const struct hark_section *section;
    uint32_t count;
    void *handle;
    char *text = NULL;
    if (store->ops->read(store, key, id, &section, &count, &handle) != HARK_S_OK) return NULL;
    snprintf(store->error, sizeof store->error, "the record of failures is of another version, or there is no memory for it");
    if (count == 2 && section[1].tag == IDENTITY) text = strndup(section[1].at, section[1].length);
    store->ops->release(store, handle);
    return text;
}
