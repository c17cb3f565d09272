/* Shared memory under the conformance suite, with neighbours that write garbage into rings and
 * bells. */
#include "harness.h"
#include "shm/bell.h"
#include "shm/lent.h"
#include "shm/ring.h"
#include "shm/shm.h"

/* A ring that was made in good order and filled with nonsense: random state words, or records with
 * one wrong field, or a wrong head of the ring itself. */
static void spoil(struct ring_writer *w, unsigned round)
{
    uint64_t dice = mix(round);
    struct ring_record *record = (struct ring_record *)w->data, *second;
    struct label label = {5, 100000, sizeof label, w->ring->from.rank, w->ring->from.inc,
        w->ring->to.rank, w->ring->to.inc, 0};
    uint32_t word = (uint32_t)(40u << 2 | RING_FIRST);
    record->header = 24;
    record->payload = 16;
    struct lent_place place = {(uint32_t)dice, 0, dice >> 20, 16};
    switch (round % 17) {
    case 0: word = (uint32_t)dice | 1; break;
    case 1: record->header = (uint32_t)dice | HARK_HEADER_MAX; break;
    case 2: record->header = 0; break;
    case 3: record->header = 48; break;
    case 4: record->payload = 0; break;
    case 5: record->payload = dice | 1ull << 62; break;
    case 6: word = (uint32_t)(40u << 2 | RING_REST); break;
    case 7: word = UINT32_MAX; break;
    case 8: word = (uint32_t)(w->size - sizeof *record) << 2 | RING_SKIP; break;
    case 9: w->ring->magic ^= 1 + (dice & 255); break;
    case 10: w->ring->size *= 2; break;
    case 11: w->ring->from.inc++; break;
    case 12: /* a payload elsewhere: nowhere, without a place, or beside another */
    case 13:
        record->header = 24 | RING_ELSEWHERE;
        memcpy((uint8_t *)(record + 1) + 24, &place, sizeof place);
        if (round % 17 == 13) word = (uint32_t)(32u << 2 | RING_FIRST);
        break;
    case 14:
        record->header = (24 + (dice & 7)) | RING_ELSEWHERE;
        record->payload = dice;
        break;
    default: /* a long frame that begins well, and goes on at the wrong place, or for too long */
        record->header = sizeof label;
        record->payload = label.length;
        memcpy(record + 1, &label, sizeof label);
        word = (uint32_t)(sizeof label + 16) << 2 | RING_FIRST;
        second = (struct ring_record *)(w->data + ring_need(RING_FIRST, sizeof label + 16));
        second->payload = round % 17 == 15 ? 17 : 16;
        atomic_store(&second->word, (round % 17 == 15 ? 1000u : 100001u) << 2 | RING_REST);
        break;
    }
    if (round % 17 == 8)
        atomic_store(ring_word(w->data, 0), word); /* a ring of nothing but skips */
    atomic_store(&record->word, word);
}

static void garbage(
    const struct hark_transport_config *victim, const char *address, uint32_t as, unsigned round)
{
    struct process from = {as, round}, to = {victim->me, victim->inc};
    struct segment_name name;
    struct ring_writer w;
    (void)address;
    struct bell *bell = bell_open(victim->job, to, victim->ranks, false);
    MUST(bell != NULL);
    segment_ring_name(&name, victim->job, from, to);
    if (round % 13 != 5) { /* else: announced, and not there */
        MUST(ring_make(&w, &name, from, to, RING_SIZE_MIN) == RING_OK);
        spoil(&w, round);
        ring_unmap(w.ring, w.size);
    }
    bell_announce(bell, as, round);
    bell_unmap(bell, victim->ranks);
}

/* Every other end hardly looks twice before it sleeps. */
static void configure(struct hark_transport_config *config)
{
    config->option[1] = config->me % 2;
}

const struct conformance_transport conformance_subject = {.name = "shm",
    .ops = &hark_shm_transport,
    .processes = true,
    .stops = true,
    .chunk = RING_CHUNK,
    .configure = configure,
    .garbage = garbage};
