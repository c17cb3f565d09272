/* keeper_record.c: the record of the failure service in a store: an image of two sections. STATE is
 * hark_pack() of the core; IDENTITY lines NAME=VALUE. Behind them there may be MORE. */
#include "keeper_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATE = 1, IDENTITY = 2, MORE = 3 };

bool hark_keeper_grow(struct hark_keeper *k)
{
    const uint64_t bytes = hark_wants(k->core, NULL);
    struct hark *more = realloc(k->core, bytes);
    if (more == NULL) return false;
    k->core = more;
    (void)hark_grow(more, bytes);
    return true;
}

bool hark_keeper_pack(const struct hark_keeper *k, uint8_t **bytes, uint64_t *length)
{
    *length = hark_pack(k->core, &hark_service_shape, NULL, 0);
    *bytes = malloc(*length);
    if (*bytes) (void)hark_pack(k->core, &hark_service_shape, *bytes, *length);
    return *bytes != NULL;
}

static int put(const struct hark_keeper *k, struct hark_store *to, uint32_t key, uint64_t id,
    struct hark_section state, struct hark_section more)
{
    const char *identity = k->config.identity ? k->config.identity : "";
    const struct hark_section section[3] = {
        state, {.tag = IDENTITY, .at = identity, .length = strlen(identity)}, more};
    return to->ops->write(to, key, id, section, more.at ? 3 : 2) == HARK_S_OK
               ? HARK_KEEPER_OK
               : HARK_KEEPER_EDURABLE;
}

int hark_keeper_put(const struct hark_keeper *k, struct hark_store *to, uint64_t id,
    const void *bytes, uint64_t length, const void *more, uint64_t more_length)
{
    return put(k, to, 0, id, (struct hark_section){.tag = STATE, .at = bytes, .length = length},
        (struct hark_section){.tag = MORE, .at = more, .length = more_length});
}

uint64_t *hark_keeper_records(struct hark_store *store, uint32_t key, int *have)
{
    uint64_t *id = NULL, *more;
    for (int room = 0; (*have = store->ops->list(store, key, id, (uint32_t)room)) > room;) {
        room = *have;
        more = realloc(id, (size_t)room * sizeof *id);
        if (more == NULL) {
            snprintf(store->error, sizeof store->error, "the records of failures: no memory");
            *have = HARK_S_ESYSTEM;
            break;
        }
        id = more;
    }
    return id;
}

/* Keeps the last two records. Older ones, which an earlier run could not remove or was killed
 * before it did, go too: with the next record, if they can not be removed now. */
static void drop_others(struct hark_keeper *k)
{
    struct hark_store *store = k->config.record;
    const uint64_t last = k->record;
    int have = 0;
    if (last <= 2) return;
    if (k->tidy) {
        k->tidy = store->ops->drop(store, k->config.key, last - 2) == HARK_S_OK;
        return;
    }
    uint64_t *id = hark_keeper_records(store, k->config.key, &have);
    k->tidy = have >= 0;
    for (int i = 0; i < have && id[i] < last - 1; i++)
        k->tidy &= store->ops->drop(store, k->config.key, id[i]) == HARK_S_OK;
    free(id);
}

int hark_keeper_write(struct hark_keeper *k)
{
    struct hark_store *store = k->config.record;
    uint64_t length;
    uint8_t *bytes;
    if (store == NULL) return HARK_KEEPER_OK;
    if (!hark_keeper_pack(k, &bytes, &length)) {
        snprintf(k->error, sizeof k->error, "the record of failures: no memory");
        return HARK_KEEPER_EDURABLE;
    }
    int status = put(k, store, k->config.key, k->record + 1,
        (struct hark_section){.tag = STATE, .at = bytes, .length = length},
        (struct hark_section){0});
    free(bytes);
    if (status != HARK_KEEPER_OK) {
        snprintf(k->error, sizeof k->error, "%s", store->error);
        return status;
    }
    k->record++;
    drop_others(k);
    return HARK_KEEPER_OK;
}

static size_t line_length(struct hark_bytes text)
{
    const uint8_t *end = text.length ? memchr(text.at, '\n', text.length) : NULL;
    return end ? (size_t)(end - text.at) : text.length;
}

static struct hark_bytes behind_line(struct hark_bytes text)
{
    const size_t length = line_length(text), next = length + (length < text.length);
    return (struct hark_bytes){text.at + next, (uint32_t)(text.length - next)};
}

/* The line of that name, without its end; of no length: there is none. */
static struct hark_bytes line_named(struct hark_bytes text, struct hark_bytes name)
{
    for (; text.length; text = behind_line(text)) {
        const size_t length = line_length(text);
        if (length >= name.length && (length == name.length || text.at[name.length] == '=') &&
            memcmp(text.at, name.at, name.length) == 0)
            return (struct hark_bytes){text.at, (uint32_t)length};
    }
    return (struct hark_bytes){0};
}

/* An option that is not given is not there. */
static void put_line(struct hark_bytes line, struct hark_bytes name, char text[200])
{
    const bool there = line.length;
    if (!there) line = name;
    snprintf(text, 200, "%s%.*s", there ? "" : "the default ",
        line.length > 180 ? 180 : (int)line.length, (const char *)line.at);
}

/* Are all lines of `one` in the other one too? If not, says the first. */
static bool has_lines(
    struct hark_keeper *k, struct hark_bytes one, struct hark_bytes other, bool ours)
{
    char first[200], second[200];
    for (; one.length; one = behind_line(one)) {
        const struct hark_bytes line = {one.at, (uint32_t)line_length(one)};
        const uint8_t *end = line.length ? memchr(line.at, '=', line.length) : NULL;
        const struct hark_bytes name = {one.at, end ? (uint32_t)(end - one.at) : line.length},
                                found = line_named(other, name);
        if (found.length == line.length &&
            (line.length == 0 || memcmp(found.at, line.at, line.length) == 0))
            continue;
        put_line(ours ? found : line, name, first);
        put_line(ours ? line : found, name, second);
        snprintf(k->error, sizeof k->error, "the store belongs to a job with %s, this one has %s",
            first, second);
        return false;
    }
    return true;
}

/* Finds the first line in which two identities differ, and says so. */
static bool same_identity(struct hark_keeper *k, const char *theirs, size_t length)
{
    const char *text = k->config.identity ? k->config.identity : "";
    const struct hark_bytes their = {(const uint8_t *)theirs, (uint32_t)length},
                            our = {(const uint8_t *)text, (uint32_t)strlen(text)};
    return has_lines(k, their, our, false) && has_lines(k, our, their, true);
}

/* The state of a record, if it is of a service like this one. HARK_KEEPER_OK, HARK_KEEPER_EDURABLE,
 * HARK_KEEPER_EMEMORY. */
static int unpack(struct hark_keeper *k, struct hark_bytes state)
{
    int status;
    while ((status = hark_unpack(k->core, &hark_service_shape, state)) == HARK_EFULL)
        if (!hark_keeper_grow(k)) return HARK_KEEPER_EMEMORY;
    if (status < 0) return HARK_KEEPER_EDURABLE;
    struct hark_service *s = (struct hark_service *)(void *)k->core;
    s->generations = k->config.generations ? k->config.generations : 2; /* this job's own */
    return hark_service_is_of(k->core, &k->service) ? HARK_KEEPER_OK : HARK_KEEPER_EDURABLE;
}

int hark_keeper_take(struct hark_keeper *k, struct hark_store *store, uint32_t key, uint64_t id)
{
    const struct hark_section *section;
    uint32_t count;
    void *handle;
    if (store->ops->read(store, key, id, &section, &count, &handle) != HARK_S_OK) {
        snprintf(k->error, sizeof k->error, "%s", store->error);
        return HARK_KEEPER_EDURABLE;
    }
    int status = HARK_KEEPER_EDURABLE;
    snprintf(k->error, sizeof k->error, "the record of failures is of another version");
    if (count >= 2 && section[0].tag == STATE && section[1].tag == IDENTITY) {
        if (!same_identity(k, section[1].at, section[1].length)) status = HARK_KEEPER_EINVAL;
        else status = unpack(k, (struct hark_bytes){section[0].at, (uint32_t)section[0].length});
    }
    store->ops->release(store, handle);
    return status;
}

int hark_keeper_read(struct hark_keeper *k)
{
    int have, status = HARK_KEEPER_EDURABLE;
    uint64_t *id = hark_keeper_records(k->config.record, k->config.key, &have);
    if (have < 0) snprintf(k->error, sizeof k->error, "%s", k->config.record->error);
    if (have == 0) status = HARK_KEEPER_OK;
    char newest[HARK_KEEPER_ERROR] = "";
    /* Those that are older could not be removed, and are of a long past. */
    for (int i = have; i > 0 && status == HARK_KEEPER_EDURABLE && id[i - 1] + 2 >= id[have - 1];
         i--) {
        if (i == have - 1) snprintf(newest, sizeof newest, "%s", k->error);
        status = hark_keeper_take(k, k->config.record, k->config.key, id[i - 1]);
    }
    k->resumed = have > 0 && status == HARK_KEEPER_OK;
    if (status == HARK_KEEPER_OK) snprintf(k->error, sizeof k->error, "%s", newest);
    if (k->resumed) k->record = id[have - 1]; /* a damaged newer one keeps its number */
    free(id);
    return status;
}

char *hark_keeper_identity(struct hark_store *store, uint32_t key, uint64_t id)
{
    const struct hark_section *section;
    uint32_t count;
    void *handle;
    char *text = NULL;
    if (store->ops->read(store, key, id, &section, &count, &handle) != HARK_S_OK) return NULL;
    snprintf(store->error, sizeof store->error,
        "the record of failures is of another version, or there is no memory for it");
    if (count == 2 && section[1].tag == IDENTITY) text = strndup(section[1].at, section[1].length);
    store->ops->release(store, handle);
    return text;
}
