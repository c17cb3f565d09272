/* coded.c: see coded.h. */
#include "coded.h"

#include <stdlib.h>
#include <string.h>

bool hark_coded_add(struct hark_coded *g, const struct hark_coded_item *item)
{
    if ((g->items & (g->items - 1)) == 0) { /* full at powers of two */
        struct hark_coded_item *more =
            realloc(g->item, (g->items ? (size_t)g->items * 2 : 1) * sizeof *more);
        if (more == NULL) return false;
        g->item = more;
    }
    g->item[g->items++] = *item;
    return true;
}

void hark_coded_measure(struct hark_coded *g)
{
    uint64_t rows[HARK_CODE_MOST] = {0};
    g->rows = 0;
    for (uint32_t i = 0; i < g->items; i++) {
        struct hark_coded_item *x = &g->item[i];
        x->row = rows[x->host];
        rows[x->host] += hark_code_rows(&g->code, x->length);
        if (rows[x->host] > g->rows) g->rows = rows[x->host];
    }
}

const struct hark_coded_item *hark_coded_find(
    const struct hark_coded *g, uint32_t rank, uint64_t id)
{
    for (uint32_t i = 0; i < g->items; i++)
        if (g->item[i].rank == rank && g->item[i].id == id && !g->item[i].undone)
            return &g->item[i];
    return NULL;
}

bool hark_coded_is(const struct hark_coded *g, uint64_t number, uint64_t run)
{
    return g->number == number && g->run == run;
}

void hark_coded_put(struct hark_control *m, const struct hark_coded *g)
{
    hark_control_put64(m, g->number);
    hark_control_put64(m, g->run);
    hark_control_put32(m, g->code.hosts);
    hark_control_put32(m, g->code.parity);
    hark_control_put32(m, g->me);
    for (uint32_t i = 0; i < g->code.hosts; i++)
        hark_control_puts(m, g->host[i], strlen(g->host[i]));
    hark_control_put32(m, g->items);
    for (uint32_t i = 0; i < g->items; i++) {
        const struct hark_coded_item *x = &g->item[i];
        hark_control_put32(m, x->host);
        hark_control_put32(m, x->rank);
        hark_control_put64(m, x->id);
        hark_control_put64(m, x->length);
        hark_control_put32(m, x->undone);
        hark_control_put_bytes(m, x->sum, HARK_CODED_SUM);
    }
}

/* A length beyond this is none of a file, and rows could not be added up. */
#define LENGTH_MAX (UINT64_MAX >> 16)

static bool get_item(struct hark_control *m, struct hark_coded *g)
{
    struct hark_coded_item x = {.host = hark_control_get32(m), .rank = hark_control_get32(m)};
    uint32_t length;
    x.id = hark_control_get64(m);
    x.length = hark_control_get64(m);
    x.undone = hark_control_get32(m) != 0;
    const uint8_t *sum = hark_control_get_bytes(m, &length);
    if (m->bad || x.host >= g->code.hosts || length != HARK_CODED_SUM || x.length > LENGTH_MAX)
        return false;
    memcpy(x.sum, sum, HARK_CODED_SUM);
    return hark_coded_add(g, &x);
}

bool hark_coded_get(struct hark_control *m, struct hark_coded *g)
{
    *g = (struct hark_coded){.number = hark_control_get64(m), .run = hark_control_get64(m)};
    const uint32_t hosts = hark_control_get32(m), parity = hark_control_get32(m);
    if (m->bad || hosts > HARK_CODE_MOST || parity >= hosts || !hark_code_built(parity))
        return false;
    g->code = (struct hark_code){hosts, parity};
    g->me = hark_control_get32(m);
    for (uint32_t i = 0; i < hosts; i++) {
        size_t length;
        const char *name = hark_control_gets(m, &length);
        if (m->bad || (g->host[i] = strndup(name, length)) == NULL) return false;
    }
    const uint32_t items = hark_control_get32(m);
    for (uint32_t i = 0; i < items; i++)
        if (!get_item(m, g)) return false;
    hark_coded_measure(g);
    return !m->bad && g->me < hosts;
}

void hark_coded_free(struct hark_coded *g)
{
    for (uint32_t i = 0; i < HARK_CODE_MOST; i++) free(g->host[i]);
    free(g->item);
    *g = (struct hark_coded){0};
}
