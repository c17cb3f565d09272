/* rebuild.c: an image that no host has, from what the others of its set have.
 *
 * First each of them checks what it has, since a damaged part would spoil the sum; then the chunks
 * of the image are computed one after the other, and the image is verified as any copy.
 */
#include "coder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hark/store.h"

enum part { LOST, NOT_ASKED, ASKED, GOOD };

struct hark_rebuild {
    struct hark_rebuild *next;
    struct hark_coder *coder;
    uint32_t rank, hosts;
    uint64_t id, number, run;
    char *text;                     /* of the place; addresses point into it */
    char *address[HARK_CODE_MOST];  /* NULL: that host is lost */
    enum part part[HARK_CODE_MOST]; /* of each host */
    struct hark_coded table;        /* all zero: none has said it */
    const struct hark_coded_item *item;
    struct hark_combine *combine;
    uint32_t chunk;
    int fd;                       /* -1: it has not begun */
    struct hark_placing *placing; /* all of it is here */
    char name[32];
};

static struct hark_generation *own_of(const struct hark_rebuild *r)
{
    struct hark_generation *g = hark_generation_find(r->coder, r->number, r->run);
    return g && g->kept ? g : NULL;
}

/* ---- its end --------------------------------------------------------------------------------- */

static void end(struct hark_rebuild *r)
{
    struct hark_rebuild **at = &r->coder->rebuild;
    while (*at != r) at = &(*at)->next;
    *at = r->next;
    if (r->combine) hark_combine_end(r->coder, r->combine);
    if (r->placing) hark_placing_end(r->placing);
    if (r->fd >= 0) {
        close(r->fd);
        (void)unlinkat(r->coder->directory, r->name, 0); /* unless it has got another one */
    }
    hark_coded_free(&r->table);
    free(r->text);
    free(r);
}

static void fail(struct hark_rebuild *r, const char *why)
{
    struct agent *a = r->coder->a;
    const uint32_t rank = r->rank;
    const uint64_t id = r->id;
    struct hark_coder *c = r->coder;
    if (c->failed_rank != rank || c->failed_id != id) /* it may be tried again */
        hark_agent_say_line(a, HARK_A_SAY,
            "checkpoint %" PRIu64 " of rank %u cannot be rebuilt from its code: %s", id, rank, why);
    c->failed_rank = rank;
    c->failed_id = id;
    end(r);
    hark_depot_tell(a, rank, id, HARK_HOLDS_NOT);
}

/* All parts are whole, and the sum is none: no host is to blame, and it would be no better again.
 */
static void say_spoilt(struct hark_rebuild *r)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_A_SPOILT);
    hark_control_put64(&m, r->number);
    hark_control_put64(&m, r->run);
    hark_control_put32(&m, r->rank);
    hark_control_put64(&m, r->id);
    hark_agent_say(r->coder->a, &m);
}

static void placed(void *self, int status, const char *error)
{
    struct hark_rebuild *r = self;
    struct agent *a = r->coder->a;
    const uint32_t rank = r->rank;
    const uint64_t id = r->id;
    r->placing = NULL;
    if (status != HARK_S_OK) {
        if (status == HARK_S_EDAMAGED) say_spoilt(r);
        fail(r, status == HARK_S_EDAMAGED ? "what comes out is damaged" : error);
        return;
    }
    end(r);
    hark_agent_say_line(
        a, HARK_A_SAY, "checkpoint %" PRIu64 " of rank %u was rebuilt from its code", id, rank);
    hark_depot_tell(a, rank, id, HARK_HOLDS_WHOLE);
}

static void finish(struct hark_rebuild *r)
{
    uint8_t sum[HARK_CODED_SUM];
    const uint64_t length = r->item->length;
    const bool ok =
        ftruncate(r->fd, (off_t)length) == 0 &&
        pread(r->fd, sum, sizeof sum, (off_t)(length - sizeof sum)) == (ssize_t)sizeof sum;
    if (!ok) {
        fail(r, strerror(errno));
        return;
    }
    if (memcmp(sum, r->item->sum, sizeof sum) != 0) {
        placed(r, HARK_S_EDAMAGED, "");
        return;
    }
    const struct hark_placing_of of = {.rank = r->rank,
        .id = r->id,
        .file = r->fd,
        .directory = r->coder->directory,
        .name = r->name,
        .self = r,
        .done = placed};
    r->placing = hark_placing_begin(r->coder->a, &of);
    if (r->placing == NULL) fail(r, strerror(ENOMEM));
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static bool out(void *self, uint64_t offset, const uint8_t *at, size_t length)
{
    struct hark_rebuild *r = self;
    const uint64_t chunks = r->table.code.hosts - r->table.code.parity;
    for (size_t i = 0; i < length; i += HARK_CODE_UNIT) {
        const uint64_t row = (offset + i) / HARK_CODE_UNIT - r->item->row,
                       to = (row * chunks + r->chunk) * HARK_CODE_UNIT;
        if (pwrite(r->fd, at + i, HARK_CODE_UNIT, (off_t)to) != (ssize_t)HARK_CODE_UNIT)
            return false;
    }
    return true;
}

static void begin_chunk(struct hark_rebuild *r);

static void done(void *self, bool whole)
{
    struct hark_rebuild *r = self;
    r->combine = NULL;
    r->chunk++;
    if (!whole) fail(r, "a host did not send its part, or there is no room here");
    else if (r->chunk == r->table.code.hosts - r->table.code.parity) finish(r);
    else begin_chunk(r);
}

static void begin_chunk(struct hark_rebuild *r)
{
    uint8_t have[HARK_CODE_MOST] = {0};
    const struct hark_code *c = &r->table.code;
    const uint64_t rows = hark_code_rows(c, r->item->length);
    struct hark_combine_of of = {.number = r->number,
        .run = r->run,
        .stripe = hark_code_stripe(c, r->item->host, r->chunk),
        .hosts = c->hosts,
        .own = own_of(r),
        .begin = r->item->row * HARK_CODE_UNIT,
        .end = (r->item->row + rows) * HARK_CODE_UNIT,
        .self = r,
        .out = out,
        .done = done};
    uint32_t good = 0;
    char why[120];
    for (uint32_t h = 0; h < c->hosts; h++) good += have[h] = r->part[h] == GOOD;
    memcpy(of.address, r->address, sizeof of.address);
    if (!hark_code_factors(c, of.stripe, r->item->host, have, of.factor)) {
        snprintf(why, sizeof why, "%u of the %u hosts of its set have their parts, %u are needed",
            good, c->hosts, c->hosts - c->parity);
        fail(r, why);
        return;
    }
    r->combine = hark_combine_begin(r->coder, &of);
    if (r->combine == NULL) fail(r, strerror(ENOMEM));
}

static void begin(struct hark_rebuild *r)
{
    r->item = hark_coded_find(&r->table, r->rank, r->id);
    if (r->item == NULL) {
        fail(r, r->table.items ? "it is not in it" : "no host of its set has its part");
        return;
    }
    snprintf(r->name, sizeof r->name, "rebuilt%u", ++r->coder->tag);
    r->fd = openat(
        r->coder->directory, r->name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (r->fd < 0) fail(r, strerror(errno));
    else begin_chunk(r);
}

/* ---- who has its part ------------------------------------------------------------------------ */

static void take_table(struct hark_rebuild *r, const struct hark_generation *g)
{
    struct hark_control m;
    if (r->table.items) return;
    hark_control_begin(&m, HARK_A_CODED_IS);
    hark_coded_put(&m, &g->table);
    hark_control_end(&m);
    struct hark_control in;
    if (!m.bad && hark_control_parse(&in, m.at, m.length) > 0 && !hark_coded_get(&in, &r->table))
        hark_coded_free(&r->table);
    hark_control_free(&m);
}

static enum part ask_own(struct hark_rebuild *r, struct hark_generation *g)
{
    if (g->check == HARK_CHECK_GOOD) {
        take_table(r, g);
        return GOOD;
    }
    return g->check != HARK_CHECK_BAD && r->coder->check(r->coder, g, NULL) ? ASKED : LOST;
}

static enum part ask_other(struct hark_rebuild *r, uint32_t host)
{
    struct hark_connection *to;
    struct hark_control m;
    if (!hark_depot_reach(r->coder->a, r->address[host], &to)) return LOST;
    if (to == NULL) return NOT_ASKED;
    hark_control_begin(&m, HARK_A_ASK);
    hark_control_put64(&m, r->number);
    hark_control_put64(&m, r->run);
    hark_control_put32(&m, host);
    hark_control_end(&m);
    const bool said = !m.bad && hark_connection_say(to, m.at, m.length) == 0;
    hark_control_free(&m);
    return said ? ASKED : LOST;
}

/* All have answered, or as many as are needed have their parts. */
static bool can_begin(struct hark_rebuild *r)
{
    struct hark_generation *own = own_of(r);
    const struct hark_code *c = &r->table.code;
    uint32_t open = 0, good = 0;
    for (uint32_t h = 0; h < r->hosts; h++) {
        if (r->part[h] == NOT_ASKED)
            r->part[h] = own && own->table.me == h ? ask_own(r, own) : ask_other(r, h);
        open += r->part[h] == ASKED || r->part[h] == NOT_ASKED;
        good += r->part[h] == GOOD;
    }
    return open == 0 || (c->hosts && good >= c->hosts - c->parity);
}

void hark_rebuild_go_on(struct hark_coder *c)
{
    for (struct hark_rebuild *r = c->rebuild; r;) {
        if (r->fd >= 0 || !can_begin(r)) {
            r = r->next;
            continue;
        }
        begin(r);
        r = c->rebuild; /* it may be over, and others begun */
    }
}

void hark_rebuild_checked(struct hark_coder *c, struct hark_generation *g)
{
    for (struct hark_rebuild *r = c->rebuild; r; r = r->next) {
        const uint32_t me = g->table.me;
        if (!hark_coded_is(&g->table, r->number, r->run) || r->part[me] != ASKED) continue;
        r->part[me] = g->check == HARK_CHECK_GOOD ? GOOD : LOST;
        if (r->part[me] == GOOD) take_table(r, g);
    }
}

void hark_rebuild_table(struct hark_coder *c, struct hark_control *m)
{
    const uint64_t number = hark_control_get64(m), run = hark_control_get64(m);
    const uint32_t host = hark_control_get32(m), good = hark_control_get32(m);
    const size_t next = m->next;
    for (struct hark_rebuild *r = c->rebuild; r && !m->bad; r = r->next) {
        if (r->number != number || r->run != run || host >= r->hosts || r->part[host] != ASKED)
            continue;
        r->part[host] = good ? GOOD : LOST;
        m->next = next;
        if (good && r->table.items == 0 &&
            (!hark_coded_get(m, &r->table) || r->table.code.hosts != r->hosts)) {
            hark_coded_free(&r->table);
            r->part[host] = LOST;
        }
        m->bad = false;
    }
}

void hark_rebuild_cut(struct hark_coder *c, const char *address)
{
    for (struct hark_rebuild *r = c->rebuild; r; r = r->next)
        for (uint32_t h = 0; h < r->hosts; h++)
            if ((r->part[h] == ASKED || r->part[h] == NOT_ASKED) && r->address[h] &&
                strcmp(r->address[h], address) == 0)
                r->part[h] = LOST;
}

void hark_rebuild_undo(struct hark_coder *c, uint32_t rank, uint64_t above)
{
    for (struct hark_rebuild *r = c->rebuild, *next; r; r = next) {
        next = r->next;
        if (r->rank == rank && r->id > above) end(r);
    }
}

void hark_rebuild_end_all(struct hark_coder *c)
{
    while (c->rebuild) end(c->rebuild);
}

/* ---- what it is for -------------------------------------------------------------------------- */

/* "set:NUMBER:RUN ADDRESS ..." with "-" for hosts that are lost. */
static bool take_place(struct hark_rebuild *r, const char *place)
{
    char *rest, *word = NULL;
    if (sscanf(place, HARK_AGENT_SET "%" SCNu64 ":%" SCNx64, &r->number, &r->run) != 2)
        return false;
    r->text = strdup(place);
    if (r->text) word = strtok_r(r->text, " ", &rest);
    while (word && (word = strtok_r(NULL, " ", &rest)) != NULL) {
        if (r->hosts == HARK_CODE_MOST) return false;
        const bool lost = strcmp(word, "-") == 0;
        r->part[r->hosts] = lost ? LOST : NOT_ASKED;
        r->address[r->hosts++] = lost ? NULL : word;
    }
    return r->hosts > 1;
}

void hark_coder_get(struct agent *a, uint32_t rank, uint64_t id, const char *place)
{
    struct hark_rebuild *r = a->coder ? calloc(1, sizeof *r) : NULL;
    if (r == NULL) {
        a->image_came(a, rank, id, false);
        return;
    }
    *r = (struct hark_rebuild){
        .next = a->coder->rebuild, .coder = a->coder, .rank = rank, .id = id, .fd = -1};
    a->coder->rebuild = r;
    if (take_place(r, place)) a->coder_go_on(a);
    else fail(r, "its set is not known here");
}
