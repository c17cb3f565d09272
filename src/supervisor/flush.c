/* flush.c: the level above the hosts' own disks: from time to time a checkpoint of the whole job
 * goes to the store that all hosts share, in the background (--store-interval).
 *
 * A set is the state of the failure service when a checkpoint had just been decided, and the image
 * of each rank from which it goes on then. All of these together are a state from which a job can
 * be resumed. Agents write the images; when the last one is there the state is written, as a record
 * in STORE/flushed, and only then the set counts. What no set needs is removed.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hark/registry.h"

#define SETS      8
#define MOST_KEPT 256                   /* images of a rank in all of them */
#define SLOW_NS   UINT64_C(60000000000) /* nothing has come for so long: it is said */
#define GONE_NS   UINT64_C(10000000000) /* an image is not found for so long: it is gone */

struct part { /* an image of a set */
    uint32_t rank;
    uint64_t id;
    const struct host *asked; /* that is to write it */
    bool done;
};

struct set {
    uint64_t number, time; /* time: when it was taken, seconds since 1970 */
    struct part *part;     /* by rank */
    uint32_t parts, missing;
};

struct hark_flush {
    struct hark_store *record;
    struct set set[SETS]; /* that are whole, the newest last */
    uint32_t sets;
    uint64_t number, began; /* of the last one; began: hark_sup_now() */
    uint64_t moved;         /* hark_sup_now() when the last image of it was there */
    struct set next;        /* being written; parts 0: none is */
    uint8_t *state;         /* of it */
    uint64_t length;
    bool failed;   /* and said */
    bool slow;     /* `next` is, and that was said */
    bool then_end; /* the run ends when it is there */
    bool again;    /* the next one begins when this one is there */
    bool due;      /* one was given up, of which an image was gone: another one as soon as may be */
    uint64_t lacking; /* hark_sup_now() when no host had an image first; 0: all have been found
                         since */
};

/* ---- sets ------------------------------------------------------------------------------------ */

static void free_set(struct set *x)
{
    free(x->part);
    *x = (struct set){0};
}

static void give_up(struct hark_flush *f)
{
    free_set(&f->next);
    free(f->state);
    f->state = NULL;
}

static void put_off(struct hark_flush *f)
{
    give_up(f);
    f->due = true;
}

/* The first part of the rank, or where it would be. */
static uint32_t first_of(const struct set *x, uint32_t rank)
{
    uint32_t low = 0, high = x->parts;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (x->part[middle].rank < rank) low = middle + 1;
        else high = middle;
    }
    return low;
}

static struct part *part_of(const struct set *x, uint32_t rank, uint64_t id)
{
    for (uint32_t i = first_of(x, rank); i < x->parts && x->part[i].rank == rank; i++)
        if (x->part[i].id == id) return &x->part[i];
    return NULL;
}

bool hark_sup_flush_has(const struct supervisor *s, uint32_t rank, uint64_t id)
{
    const struct hark_flush *f = s->flush;
    for (uint32_t i = 0; f && i < f->sets; i++)
        if (part_of(&f->set[i], rank, id)) return true;
    return false;
}

static void drop_set(struct supervisor *s, uint32_t i)
{
    struct hark_flush *f = s->flush;
    if (f->record->ops->drop(f->record, 0, f->set[i].number) < 0)
        hark_sup_say("%s", f->record->error);
    free_set(&f->set[i]);
    f->sets--;
    memmove(&f->set[i], &f->set[i + 1], (f->sets - i) * sizeof *f->set);
}

/* {time u64, then rank u64 and id u64 of each part}. To be freed; NULL: no memory. */
static uint8_t *put_parts(const struct set *x, uint64_t *length)
{
    *length = 8 + 16 * (uint64_t)x->parts;
    uint8_t *bytes = malloc(*length);
    if (bytes == NULL) return NULL;
    hark_put64(bytes, x->time);
    for (uint32_t i = 0; i < x->parts; i++) {
        hark_put64(bytes + 8 + 16 * (size_t)i, x->part[i].rank);
        hark_put64(bytes + 16 + 16 * (size_t)i, x->part[i].id);
    }
    return bytes;
}

static bool take_parts(struct set *x, const uint8_t *bytes, uint64_t length)
{
    if (length < 8 || length % 16 != 8) return false;
    x->time = hark_get64(bytes);
    x->parts = (uint32_t)(length / 16);
    x->part = calloc(x->parts ? x->parts : 1, sizeof *x->part);
    for (uint32_t i = 0; x->part && i < x->parts; i++)
        x->part[i] = (struct part){(uint32_t)hark_get64(bytes + 8 + 16 * (size_t)i),
            hark_get64(bytes + 16 + 16 * (size_t)i), NULL, true};
    return x->part != NULL;
}

static void read_set(struct hark_flush *f, uint64_t number)
{
    const struct hark_section *section;
    uint32_t count;
    void *handle;
    struct set x = {.number = number};
    if (f->record->ops->read(f->record, 0, number, &section, &count, &handle) != HARK_S_OK) {
        hark_sup_say("%s; it is not used", f->record->error);
        return;
    }
    if (count == 3 && f->sets < SETS && take_parts(&x, section[2].at, section[2].length))
        f->set[f->sets++] = x;
    f->record->ops->release(f->record, handle);
}

/* ---- one is written -------------------------------------------------------------------------- */

static void trouble(struct supervisor *s, const char *host, const char *line)
{
    struct hark_flush *f = s->flush;
    if (!f->failed || f->then_end)
        hark_sup_say("%s%s%s%s; the run %s with older checkpoints in %s", host ? "host " : "",
            host ? host : "", host ? ": " : "", line, f->then_end ? "ends" : "goes on",
            s->o->store);
    f->failed = true;
    give_up(f);
    if (f->then_end && s->phase == RUNNING) hark_sup_end(s, HARK_RUN_AGAIN);
}

/* No host has that image: it was dropped just then, or its host has just died. A run that ends with
 * this set makes no other checkpoint, so there it may be gone for good. */
static void lacks(struct supervisor *s, const struct part *p)
{
    struct hark_flush *f = s->flush;
    char line[120];
    if (f->lacking == 0) f->lacking = hark_sup_now();
    if (f->then_end && hark_sup_now() - f->lacking > GONE_NS) {
        snprintf(line, sizeof line, "checkpoint %llu of rank %u is whole on no host any more",
            (unsigned long long)p->id, p->rank);
        trouble(s, NULL, line);
        return;
    }
    put_off(f);
}

/* A host that has it, its process's own at best. */
static struct host *holder_of(const struct supervisor *s, const struct part *p)
{
    const struct hark_holdings *x = &s->holdings[p->rank];
    struct host *found = NULL;
    for (uint32_t i = 0; i < x->count; i++) {
        struct host *h = x->at[i].host;
        if (x->at[i].id != p->id || h->lost || !h->ready) continue;
        if (found == NULL || h == s->child[p->rank].host) found = h;
    }
    return found;
}

static bool ask(struct supervisor *s, struct part *p)
{
    struct host *h = holder_of(s, p);
    struct hark_control m;
    if (h == NULL) return false;
    p->asked = h;
    hark_control_begin(&m, HARK_A_FLUSH);
    hark_control_put32(&m, p->rank);
    hark_control_put64(&m, p->id);
    hark_control_put32(&m, (uint32_t)s->flush->next.number);
    hark_sup_host_say(h, &m);
    return true;
}

/* Of each rank the image of its last checkpoint; where each rank has checkpoints of its own, the
 * recovery line may name an older one, and all that are kept are in the set. */
static bool collect(struct supervisor *s, struct set *x)
{
    const bool all = hark_service_by_line(s->o->protocol);
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        const uint64_t newest = hark_service_wave(core_of(s), r, 0);
        const struct hark_holdings *h = &s->holdings[r];
        struct part *more = realloc(x->part, (x->parts + h->count + 1) * sizeof *more);
        if (more == NULL) return false;
        x->part = more;
        if (newest && !all) more[x->parts++] = (struct part){.rank = r, .id = newest};
        for (uint32_t i = 0; newest && all && i < h->count; i++)
            if (h->at[i].id <= newest && !part_of(x, r, h->at[i].id))
                more[x->parts++] = (struct part){.rank = r, .id = h->at[i].id};
    }
    return true;
}

/* What a set has of that rank, behind the first `kept` of `keep`; how many these are now. */
static uint32_t keep_of(const struct set *x, uint32_t rank, uint64_t keep[MOST_KEPT], uint32_t kept)
{
    for (uint32_t k = first_of(x, rank);
         k < x->parts && x->part[k].rank == rank && kept < MOST_KEPT; k++)
        keep[kept++] = x->part[k].id;
    return kept;
}

/* Of the shared store only what a set has is needed, and what the next one is to have. What is left
 * of one that was given up goes before the next one takes its room, else it might never find any.
 */
static void sweep(struct supervisor *s)
{
    const struct hark_flush *f = s->flush;
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        struct hark_control m;
        uint64_t keep[MOST_KEPT];
        uint32_t kept = keep_of(&f->next, r, keep, 0);
        for (uint32_t i = 0; i < f->sets; i++) kept = keep_of(&f->set[i], r, keep, kept);
        if (s->child[r].host == NULL || kept == MOST_KEPT) continue;
        hark_control_begin(&m, HARK_A_SWEEP);
        hark_control_put32(&m, r);
        hark_control_put32(&m, kept);
        for (uint32_t i = 0; i < kept; i++) hark_control_put64(&m, keep[i]);
        hark_sup_host_say(s->child[r].host, &m);
    }
}

static void is_there(struct supervisor *s);

static void begin(struct supervisor *s)
{
    struct hark_flush *f = s->flush;
    f->began = f->moved = hark_sup_now();
    f->again = f->slow = f->due = false;
    f->next = (struct set){.number = ++f->number, .time = (uint64_t)time(NULL)};
    if (!hark_keeper_pack(s->keeper, &f->state, &f->length) || !collect(s, &f->next)) {
        trouble(s, NULL, "no memory for a checkpoint of the whole job");
        return;
    }
    for (uint32_t i = 0; i < f->next.parts; i++) {
        struct part *p = &f->next.part[i];
        p->done = hark_sup_flush_has(s, p->rank, p->id);
        f->next.missing += !p->done;
        if (p->done || holder_of(s, p)) continue;
        lacks(s, p);
        return;
    }
    sweep(s);
    for (uint32_t i = 0; i < f->next.parts; i++)
        if (!f->next.part[i].done) (void)ask(s, &f->next.part[i]);
    if (f->next.parts && f->next.missing == 0) is_there(s);
}

static void is_there(struct supervisor *s)
{
    struct hark_flush *f = s->flush;
    const uint32_t most = s->o->generations < SETS ? s->o->generations : SETS;
    uint64_t length;
    uint8_t *parts = put_parts(&f->next, &length);
    if (parts == NULL || hark_keeper_put(s->keeper, f->record, f->next.number, f->state, f->length,
                             parts, length) < 0) {
        free(parts);
        trouble(s, NULL, parts ? f->record->error : "no memory for a checkpoint of the whole job");
        return;
    }
    free(parts);
    f->failed = false;
    f->lacking = 0;
    while (f->sets >= most) drop_set(s, 0);
    f->set[f->sets++] = f->next;
    f->next = (struct set){0};
    give_up(f);
    sweep(s);
    if (s->o->verbose)
        hark_sup_say("checkpoint %llu is in %s too",
            (unsigned long long)hark_service_wave(core_of(s), 0, 0), s->o->store);
    if (f->then_end && !f->again && s->phase == RUNNING) hark_sup_end(s, HARK_RUN_AGAIN);
    else if (f->again) begin(s);
}

void hark_sup_flushed(
    struct host *h, uint32_t rank, uint64_t id, uint32_t number, uint32_t status, const char *line)
{
    struct supervisor *s = h->s;
    struct hark_flush *f = s->flush;
    if (f == NULL || number != (uint32_t)f->next.number || f->next.parts == 0) return;
    struct part *p = part_of(&f->next, rank, id);
    if (p == NULL || p->asked != h || p->done) return;
    p->done = status == HARK_FLUSHED;
    f->moved = hark_sup_now();
    f->next.missing -= p->done;
    if (status == HARK_FLUSHED_NOT) trouble(s, h->name, line);
    else if (!p->done) lacks(s, p);
    else if (f->next.missing == 0) is_there(s);
}

static void watch_slow(struct supervisor *s)
{
    struct hark_flush *f = s->flush;
    const uint64_t least = SLOW_NS, interval = s->o->store_interval_ms * UINT64_C(1000000),
                   patience = interval > least ? interval : least,
                   since = f ? hark_sup_now() - f->moved : 0;
    if (f == NULL || f->next.parts == 0 || f->slow || since < patience) return;
    const struct part *p = f->next.part;
    while (p->done) p++;
    f->slow = true;
    hark_sup_say(
        "host %s has not put checkpoint %llu of rank %u into %s in %.0f s (%u of %u images "
        "are missing); %s",
        p->asked ? p->asked->name : "?", (unsigned long long)p->id, p->rank, s->o->store,
        (double)since / 1e9, f->next.missing, f->next.parts,
        f->then_end ? "the run ends when they are there"
                    : "the run goes on, with older checkpoints there");
}

/* One that hangs is not given up: it may go on, and a set that begins anew would hang there too.
 * One that was put off begins when all have recovered: who takes no more checkpoints by itself
 * would wait for it for ever. */
void hark_sup_flush_watch(struct supervisor *s)
{
    const struct hark_flush *f = s->flush;
    if (f && f->due && f->next.parts == 0 && s->phase == RUNNING && !hark_service_down(core_of(s)))
        begin(s);
    watch_slow(s);
}

void hark_sup_flush_look(struct supervisor *s)
{
    struct hark_flush *f = s->flush;
    if (f == NULL || s->o->store_interval_ms == 0 || f->next.parts || s->phase != RUNNING) return;
    if (f->then_end || f->due ||
        hark_sup_now() - f->began >= s->o->store_interval_ms * UINT64_C(1000000))
        begin(s);
}

bool hark_sup_flush_ends(const struct supervisor *s)
{
    return s->flush && s->flush->then_end && s->flush->next.parts;
}

bool hark_sup_flush_then_end(struct supervisor *s)
{
    struct hark_flush *f = s->flush;
    if (f == NULL || s->o->store_interval_ms == 0) return false;
    f->then_end = true;
    f->again = f->next.parts != 0;
    if (!f->again) begin(s);
    return true;
}

void hark_sup_flush_again(const struct host *lost)
{
    struct supervisor *s = lost->s;
    struct hark_flush *f = s->flush;
    for (uint32_t i = 0; f && i < f->next.parts; i++) {
        struct part *p = &f->next.part[i];
        if (p->done || p->asked != lost || ask(s, p)) continue;
        lacks(s, p);
        return;
    }
}

/* ---- going back ------------------------------------------------------------------------------ */

void hark_sup_flush_undo(struct supervisor *s, const uint8_t *member)
{
    struct hark_flush *f = s->flush;
    for (uint32_t i = 0; f && i <= f->sets; i++) {
        const struct set *x = i < f->sets ? &f->set[i] : &f->next;
        bool undone = false;
        for (uint32_t k = 0; k < x->parts; k++)
            undone |=
                member[x->part[k].rank] && x->part[k].id > s->child[x->part[k].rank].checkpoint;
        if (!undone) continue;
        if (i < f->sets) drop_set(s, i--);
        else put_off(f);
        f->lacking = 0;
    }
}

void hark_sup_flush_gone(struct supervisor *s, uint32_t rank, uint64_t id)
{
    struct hark_flush *f = s->flush;
    for (uint32_t i = 0; f && i < f->sets;) /* it is no state of the job any more */
        if (part_of(&f->set[i], rank, id)) drop_set(s, i);
        else i++;
    if (f && part_of(&f->next, rank, id)) put_off(f); /* it counts on that one */
}

int hark_sup_flush_return(struct supervisor *s, bool recovery, char *text, size_t room)
{
    struct hark_flush *f = s->flush;
    int status = HARK_KEEPER_ELOST;
    for (uint32_t i = f ? f->sets : 0; i-- > 0;) {
        struct set *x = &f->set[i];
        const time_t then = (time_t)x->time;
        struct tm at;
        status = hark_keeper_return(s->keeper, f->record, x->number, recovery);
        if (status == HARK_KEEPER_OK) {
            char when[40] = "?";
            if (localtime_r(&then, &at)) strftime(when, sizeof when, "%F %T", &at);
            snprintf(text, room, "all ranks go back to what was in %s at %s", s->o->store, when);
            return status;
        }
        if (status == HARK_KEEPER_EMEMORY) return status;
        if (status != HARK_KEEPER_ELOST) hark_sup_say("%s", hark_keeper_error(s->keeper));
    }
    return status;
}

/* ---- begin and end --------------------------------------------------------------------------- */

int hark_sup_flush_open(struct supervisor *s)
{
    char error[256] = "no memory for a job", *path = NULL;
    uint64_t number[64];
    if (s->o->store == NULL || s->o->host_store == NULL) return 0;
    struct hark_flush *f = s->flush = calloc(1, sizeof *f);
    int status = -1, count = 0;
    if (f && asprintf(&path, "%s/flushed", s->store_path) < 0) path = NULL;
    if (path) status = hark_store_open_directory(&f->record, path, s->job, 1, !s->belongs, error);
    free(path);
    if (status == HARK_S_OK && !hark_sup_aside(s, &f->record)) {
        snprintf(error, sizeof error, "no memory for a job");
        status = HARK_S_ESYSTEM;
    }
    if (status == HARK_S_OK) {
        count = f->record->ops->list(f->record, 0, number, 64);
        if (count < 0) memcpy(error, f->record->error, sizeof error);
    }
    if (status != HARK_S_OK || count < 0) {
        hark_sup_say("%s", error);
        return f ? 2 : 1;
    }
    for (int i = 0; i < count && i < 64; i++) read_set(f, f->number = number[i]);
    f->began = hark_sup_now();
    return 0;
}

void hark_sup_flush_close(struct supervisor *s)
{
    struct hark_flush *f = s->flush;
    if (f == NULL) return;
    give_up(f);
    for (uint32_t i = 0; i < f->sets; i++) free_set(&f->set[i]);
    if (f->record) f->record->ops->close(f->record);
    free(f);
    s->flush = NULL;
}
