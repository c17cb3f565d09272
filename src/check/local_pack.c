/* local_pack.c: a process as bytes and back, in one form only, so that the same process has the
 * same number. */
#include "local.h"

#include <stdlib.h>
#include <string.h>

enum { LOCAL_BYTES = 16384 };

struct bytes {
    uint8_t at[LOCAL_BYTES];
    uint32_t length;
};

static void put(struct bytes *b, const void *at, uint64_t length)
{
    if (length) memcpy(b->at + b->length, at, length);
    b->length += (uint32_t)length;
}

static const uint8_t *get(void *to, const uint8_t *from, uint64_t length)
{
    if (length) memcpy(to, from, length);
    return from + length;
}

/* Of what was said only the ranks and messages that the program has; of its content nothing where
 * that is fixed. */
static void put_program(const struct lab *lab, struct bytes *b, const struct app *a)
{
    b->length = 0;
    put(b, a, offsetof(struct app, got));
    put(b, a->got, sources(lab) * sizeof a->got[0]);
    put(b, a->sent, sources(lab) * sizeof a->sent[0]);
    for (uint32_t i = 0; i < sources(lab) && lab->history; i++) {
        put(b, a->heard[i], lab->most_ssn * sizeof a->heard[0][0]);
        put(b, a->told[i], lab->most_ssn * sizeof a->told[0][0]);
    }
}

static uint32_t part_put(struct lab *lab, const struct bytes *b)
{
    uint32_t part = intern_put(&lab->part, b->at, b->length);
    if (part == 0) lab_starve(lab);
    return part;
}

uint32_t app_put(struct lab *lab, const struct app *a)
{
    static struct bytes b;
    put_program(lab, &b, a);
    if (lab->wild) put(&b, &a->took, sizeof a->took);
    if (lab->wild) put(&b, a->took_by, a->sends * sizeof a->took_by[0]);
    return part_put(lab, &b);
}

void app_get(struct lab *lab, struct app *a, uint32_t part)
{
    const uint8_t *from = intern_at(&lab->part, part);
    memset(a, 0, sizeof *a);
    from = get(a, from, offsetof(struct app, got));
    from = get(a->got, from, sources(lab) * sizeof a->got[0]);
    from = get(a->sent, from, sources(lab) * sizeof a->sent[0]);
    for (uint32_t i = 0; i < sources(lab) && lab->history; i++) {
        from = get(a->heard[i], from, lab->most_ssn * sizeof a->heard[0][0]);
        from = get(a->told[i], from, lab->most_ssn * sizeof a->told[0][0]);
    }
    if (lab->wild) from = get(&a->took, from, sizeof a->took);
    if (lab->wild) (void)get(a->took_by, from, a->sends * sizeof a->took_by[0]);
}

static bool after(const struct lab *lab, uint32_t a, uint32_t b)
{
    const struct frame *x = frame_of(lab, a), *y = frame_of(lab, b);
    uint32_t from = frame_source(lab, x), other = frame_source(lab, y);
    if (from != other) return from > other;
    if (frame_ssn(x) != frame_ssn(y)) return frame_ssn(x) > frame_ssn(y);
    return a > b;
}

/* Handed-up messages and the log have no order that anybody sees. */
static void sort(struct lab *lab)
{
    struct local *l = &lab->at;
    for (uint32_t i = 1; i < l->inboxes; i++)
        for (uint32_t k = i; k > 0 && after(lab, l->inbox[k - 1], l->inbox[k]); k--) {
            uint32_t t = l->inbox[k];
            l->inbox[k] = l->inbox[k - 1];
            l->inbox[k - 1] = t;
        }
    for (uint32_t i = 1; i < l->payloads; i++)
        for (uint32_t k = i; k > 0 && l->payload[k - 1] > l->payload[k]; k--) {
            uint32_t t = l->payload[k];
            l->payload[k] = l->payload[k - 1];
            l->payload[k - 1] = t;
        }
}

uint32_t local_close(struct lab *lab)
{
    static struct bytes b;
    struct local *l = &lab->at;
    sort(lab);
    b.length = 0;
    uint32_t app = l->core ? app_put(lab, &l->app) : 0;
    put(&b, l, offsetof(struct local, fact));
    put(&b, &app, sizeof app);
    put(&b, l->fact, l->facts * sizeof l->fact[0]);
    put(&b, l->show, l->shown * sizeof l->show[0]);
    put(&b, l->inbox, l->inboxes * sizeof l->inbox[0]);
    put(&b, l->held, l->helds * sizeof l->held[0]);
    put(&b, l->payload, l->payloads * sizeof l->payload[0]);
    put(&b, l->image, l->images * sizeof l->image[0]);
    uint32_t number = intern_put(&lab->local, b.at, b.length);
    if (number == 0) lab_starve(lab);
    return number;
}

void local_open(struct lab *lab, uint32_t local)
{
    struct local *l = &lab->at;
    const uint8_t *from = intern_at(&lab->local, local);
    uint32_t app;
    from = get(l, from, offsetof(struct local, fact)); /* of the lists only what is in use */
    from = get(&app, from, sizeof app);
    from = get(l->fact, from, l->facts * sizeof l->fact[0]);
    from = get(l->show, from, l->shown * sizeof l->show[0]);
    from = get(l->inbox, from, l->inboxes * sizeof l->inbox[0]);
    from = get(l->held, from, l->helds * sizeof l->held[0]);
    from = get(l->payload, from, l->payloads * sizeof l->payload[0]);
    (void)get(l->image, from, l->images * sizeof l->image[0]);
    if (app) app_get(lab, &l->app, app);
    else memset(&l->app, 0, sizeof l->app);
}

/* ---- a look at one field --------------------------------------------------------------------- */

struct hark_fact local_fact(const struct lab *lab, uint32_t local)
{
    struct hark_fact f;
    memcpy(&f,
        (const uint8_t *)intern_at(&lab->local, local) + offsetof(struct local, fact) +
            sizeof(uint32_t),
        sizeof f); /* behind the number of the application */
    return f;
}

static const uint8_t *app_of(const struct lab *lab, uint32_t local)
{
    uint32_t app;
    memcpy(&app, (const uint8_t *)intern_at(&lab->local, local) + offsetof(struct local, fact),
        sizeof app);
    return app ? intern_at(&lab->part, app) : NULL;
}

uint32_t app_sends(const struct lab *lab, uint32_t local)
{
    uint16_t sends = 0;
    const uint8_t *app = app_of(lab, local);
    if (app) memcpy(&sends, app + offsetof(struct app, sends), sizeof sends);
    return sends;
}

uint64_t app_past(const struct lab *lab, uint32_t local)
{
    uint64_t past = 0;
    const uint8_t *app = app_of(lab, local);
    if (app) memcpy(&past, app + offsetof(struct app, past), sizeof past);
    return past;
}

/* The words of the channel with a peer: first those heard, then those told. */
static uint64_t word(const struct lab *lab, uint32_t local, uint32_t peer, uint32_t index)
{
    uint64_t said = 0;
    const uint8_t *app = lab->history ? app_of(lab, local) : NULL;
    uint64_t at = offsetof(struct app, got) + (uint64_t)sources(lab) * 5 +
                  ((uint64_t)peer * 2 * lab->most_ssn + index) * 8;
    if (app) memcpy(&said, app + at, sizeof said);
    return said;
}

uint64_t app_heard(const struct lab *lab, uint32_t local, uint32_t from, uint32_t ssn)
{
    return word(lab, local, from, ssn - 1);
}

uint64_t app_told(const struct lab *lab, uint32_t local, uint32_t to, uint32_t ssn)
{
    return word(lab, local, to, lab->most_ssn + ssn - 1);
}

uint32_t app_signature(struct lab *lab, uint32_t local)
{
    static struct bytes b; /* without the ghost, which one protocol's lab has and another's has not:
                              ends are compared */
    struct app a;
    uint32_t app;
    memcpy(&app, (const uint8_t *)intern_at(&lab->local, local) + offsetof(struct local, fact),
        sizeof app);
    if (app == 0) return 0;
    app_get(lab, &a, app);
    a.pc = 0; /* which part of a branch was gone through is no difference */
    a.past = a.open = a.shown = a.inside = 0;
    put_program(lab, &b, &a);
    return part_put(lab, &b);
}
