/* pattern_matrix.c: programs by a communication matrix. An iteration is all of the matrix, in
 * rounds: in each round every process sends its share of each row's messages and then receives that
 * of each column's. The diagonal is left out. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../cluster/source.h"
#include "../short_source.h"
#include "hark/hark.h"
#include "pattern.h"

enum {
    ROUNDS = 16,
    INDEX = 24,
    ENTRY = 24
}; /* a place: round, side, entry, index of the message in the round */
#define SIDE (UINT64_C(1) << (INDEX + ENTRY))

/* The first place with bytes and no message that could carry them; or none. */
static bool lost_bytes(
    const struct hark_matrix *bytes, const struct hark_matrix *counts, uint32_t *row, uint64_t *at)
{
    for (*row = 0; *row < bytes->ranks; ++*row)
        for (*at = bytes->first[*row]; *at < bytes->first[*row + 1]; ++*at)
            if (counts->value[*at] == 0 && bytes->value[*at] > 0 && bytes->column[*at] != *row)
                return true;
    return false;
}

/* Nothing but whole bytes, or messages, can be sent. */
static int read_whole(struct hark_matrix *m, const char *path, uint32_t most, char error[SIM_ERROR])
{
    uint32_t row;
    uint64_t at;
    if (hark_matrix_read(m, path, most, error) < 0) return -1;
    int status = hark_matrix_whole(m, &row, &at);
    if (status < 0)
        snprintf(error, SIM_ERROR,
            "%s: expected 0 or values from 0.5 to 2^53, which are rounded, found one %s in row "
            "%" PRIu32 ", column %" PRIu32,
            path, status == -EDOM ? "between 0 and 0.5" : "beyond 2^53", row + 1,
            m->column[at] + 1);
    return status < 0 ? -1 : 0;
}

/* As many messages as bytes have places; o->messages is what is said of the file. */
static int check_counts(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    const struct hark_matrix *a = &p->sends, *b = &p->counts;
    bool same = a->ranks == b->ranks && a->entries == b->entries &&
                memcmp(a->first, b->first, ((uint64_t)a->ranks + 1) * sizeof *a->first) == 0 &&
                memcmp(a->column, b->column, a->entries * sizeof *a->column) == 0;
    if (!same) {
        snprintf(error, SIM_ERROR, "%s: expected entries in the same places as %s", o->messages,
            o->name);
        return -1;
    }
    uint32_t row;
    uint64_t at;
    if (lost_bytes(a, b, &row, &at)) {
        snprintf(error, SIM_ERROR,
            "%s: expected messages from %u to %u, where %s has %" PRIu64 " bytes; found 0",
            o->messages, row, a->column[at], o->name, a->value[at]);
        return -1;
    }
    p->counted = true;
    for (uint64_t k = 0; k < b->entries; k++) {
        if (b->value[k] >= UINT64_C(1) << INDEX) {
            snprintf(error, SIM_ERROR,
                "%s: expected fewer than 2^%d messages in one place, found %" PRIu64, o->messages,
                INDEX, b->value[k]);
            return -1;
        }
        if (b->value[k] > p->rounds)
            p->rounds = b->value[k] < ROUNDS ? (uint32_t)b->value[k] : ROUNDS;
    }
    return 0;
}

static int read_counts(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    struct cluster_source source;
    struct sim_pattern_options from = *o;
    char shown[HARK_SHORT_PATH];
    from.messages = hark_short_path(o->messages, shown);
    if (hark_cluster_source_open(&source, o->messages) < 0) {
        snprintf(error, SIM_ERROR, "%s: %s", from.messages, strerror(errno));
        return -1;
    }
    hark_short_source(&source, shown);
    int status = read_whole(&p->counts, source.path, p->ranks, error);
    if (status == 0) status = check_counts(p, &from, error);
    else hark_cluster_source_rename(&source, error, SIM_ERROR);
    hark_cluster_source_close(&source);
    return status;
}

int sim_matrix_make(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    if (read_whole(&p->sends, o->path, p->ranks ? p->ranks : HARK_MATRIX_RANKS, error) < 0)
        return -1;
    p->rounds = 1;
    if (p->ranks == 0) p->ranks = p->sends.ranks;
    if (o->messages && read_counts(p, o, error) < 0) return -1;
    int status = hark_matrix_turn(&p->receives, &p->sends);
    if (status == 0 && p->counted) status = hark_matrix_turn(&p->receipts, &p->counts);
    if (status < 0) snprintf(error, SIM_ERROR, "%s: no memory", o->name);
    for (uint32_t i = 0; status == 0 && i < p->sends.ranks; i++)
        if (p->sends.first[i + 1] - p->sends.first[i] >= UINT64_C(1) << ENTRY ||
            p->receives.first[i + 1] - p->receives.first[i] >= UINT64_C(1) << ENTRY) {
            snprintf(error, SIM_ERROR, "%s: expected fewer than 2^%d entries in one row or column",
                o->name, ENTRY);
            status = -1;
        }
    return status;
}

uint64_t sim_matrix_op(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op)
{
    (void)iteration;
    uint64_t round = place >> (INDEX + ENTRY + 1), side = place & SIDE,
             entry = place >> INDEX & ((UINT64_C(1) << ENTRY) - 1),
             index = place & ((UINT64_C(1) << INDEX) - 1);
    const struct hark_matrix *m = side ? &p->receives : &p->sends,
                             *n = side ? &p->receipts : &p->counts;
    memset(op, 0, sizeof *op);
    op->kind = SIM_END;
    if (round >= p->rounds || rank >= m->ranks) return place;
    op->kind = SIM_NOTHING;
    uint64_t at = m->first[rank] + entry;
    if (at >= m->first[rank + 1]) /* on to the other side, or the next round */
        return side ? (round + 1) << (INDEX + ENTRY + 1) : round << (INDEX + ENTRY + 1) | SIDE;
    uint64_t count = p->counted ? n->value[at] : 1, begin = count * round / p->rounds,
             here = count * (round + 1) / p->rounds - begin;
    if (index >= here || m->column[at] == rank) return place - index + (UINT64_C(1) << INDEX);
    op->kind = side ? SIM_RECEIVE : SIM_SEND;
    op->peer = m->column[at];
    op->length = m->value[at] / count + (begin + index < m->value[at] % count);
    return place + 1;
}
