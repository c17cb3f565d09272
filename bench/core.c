/* ns per step of each core: SEND + ARRIVE + DELIVER between two processes, and with digests. Medians of rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hark/registry.h"

enum { ROUNDS = 31, MESSAGES = 20000, PEERS = 8 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int up(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct end {
    const struct hark_protocol *protocol;
    struct hark *core;
    struct hark_effects fx;
    struct hark_effect at[64];
    uint8_t bytes[1 << 17];
};

static void make(struct end *e, const char *name, uint32_t me, bool together, uint32_t flags)
{
    struct hark_range all = {0, PEERS - 1}, mine = {me, me};
    struct hark_config c = {.me = me, .ranks = PEERS, .group = together ? &all : &mine, .group_count = 1, .flags = flags};
    e->protocol = hark_protocol_named(name);
    if (e->protocol->rolls != HARK_ROLLS_GROUP) c.group_count = 0;
    uint64_t bytes = 64 << 20;
    e->core = aligned_alloc(64, bytes);
    memset(e->core, 0, bytes);
    if (e->protocol->init(e->core, bytes, &c) != HARK_OK) exit(1);
    e->fx = (struct hark_effects){e->at, 0, 64, e->bytes, 0, sizeof e->bytes};
}

static void step(struct end *e, const struct hark_event *event)
{
    int status = e->protocol->step(e->core, event, &e->fx);
    if (status != HARK_OK && status != HARK_MORE) {
        fprintf(stderr, "%s: %s\n", e->protocol->name, hark_status_text(status));
        exit(1);
    }
}

/* One message from a to b, delivered. Control frames that come of it are exchanged as well. */
static void message(struct end *a, struct end *b, uint32_t to)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = to;
    e.u.send.length = 8;
    e.u.send.digest = 1;
    step(a, &e);
    for (uint32_t i = 0; i < a->fx.count; i++) {
        if (a->fx.at[i].type != HARK_TRANSMIT) continue;
        struct hark_event arrive = {.type = HARK_ARRIVE}, deliver = {.type = HARK_DELIVER};
        arrive.u.frame.header = deliver.u.frame.header = a->fx.at[i].header;
        step(b, &arrive);
        if (b->fx.count && b->fx.at[0].type == HARK_HANDUP) step(b, &deliver);
    }
}

static double measure(const char *name, bool together, uint32_t flags)
{
    static struct end a, b;
    double t[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        make(&a, name, 0, together, flags);
        make(&b, name, 1, together, flags);
        for (int i = 0; i < 100; i++) message(&a, &b, 1), message(&b, &a, 0);
        double begin = now();
        for (int i = 0; i < MESSAGES / 2; i++) message(&a, &b, 1), message(&b, &a, 0);
        t[r] = (now() - begin) / MESSAGES;
        free(a.core);
        free(b.core);
    }
    qsort(t, ROUNDS, sizeof *t, up);
    return t[ROUNDS / 2];
}

int main(void)
{
    printf("SEND + ARRIVE + DELIVER, ns\n");
    for (unsigned i = 0; hark_protocol_at(i); i++) {
        const char *name = hark_protocol_at(i)->name;
        if (strcmp(name, "recovery") == 0) continue;
        printf("%-12s %6.1f", name, measure(name, false, 0));
        if (hark_protocol_at(i)->rolls == HARK_ROLLS_GROUP)
            printf("   with digests %6.1f   inside a cluster %6.1f", measure(name, false, HARK_DIGEST),
                measure(name, true, 0));
        printf("\n");
    }
    return 0;
}
