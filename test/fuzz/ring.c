/* The reader of a ring in shared memory whose writer writes what it likes. The input: choices, and
 * the bytes of the ring. */
#include <stdlib.h>

#include "../../transports/shm/end.h"
#include "../../transports/shm/shm.h"
#include "fuzz.h"

enum { RING_BYTES = 4096, POLLS = 8, LIMIT = 1 << 16 };

static unsigned arrived_count;
static void *placed;
static uint64_t placed_length;

static void *place(void *self, const struct hark_frame *frame)
{
    struct choices *c = self;
    if (placed) finding("a second frame is placed before the first is whole");
    if (frame->length + frame->header.length > LIMIT) finding("a frame over the limit");
    placed_length = frame->length;
    placed = choose(c) & 1 ? malloc(frame->length ? frame->length : 1) : NULL;
    return placed;
}

static void arrived(void *self, const struct hark_frame *frame, const void *payload)
{
    (void)self;
    arrived_count++;
    if (frame->header.length == 0 || frame->header.length > HARK_HEADER_MAX)
        finding("a header of %u bytes", frame->header.length);
    if (frame->length + frame->header.length > LIMIT) finding("a frame over the limit");
    free(exactly(frame->header.at, frame->header.length));
    if (payload == NULL) return;
    if (payload != placed) free(exactly(payload, frame->length));
    else if (frame->length != placed_length) finding("another length than was said");
    if (payload == placed) free(placed), placed = NULL;
}

static void broken(void *self, const struct hark_frame *frame, void *payload)
{
    (void)self, (void)frame;
    if (payload == NULL || payload != placed) finding("broken is said of nothing");
    free(placed);
    placed = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bell *bell;
    struct choices c = {data, size};
    if (bell == NULL) bell = calloc(1, sizeof *bell + 4 * sizeof bell->slot[0]);
    /* Off the page, so that what unmaps it does nothing. */
    void *base = NULL;
    if (bell == NULL || posix_memalign(&base, 4096, 64 + sizeof(struct ring) + RING_BYTES) != 0)
        abort();
    memset(base, 0, 64 + sizeof(struct ring) + RING_BYTES);
    struct ring *ring = (struct ring *)(void *)((uint8_t *)base + 64);
    uint8_t *bytes = (uint8_t *)(ring + 1);
    struct in *in = calloc(1, sizeof *in), *list[1] = {in};
    uint32_t known[4] = {0}, met[4] = {0};
    struct end e = {.sink = {&c, place, arrived, broken},
        .bell = bell,
        .in_count = 1,
        .in = list,
        .known = known,
        .met = met,
        .me = {0, 0},
        .number = 0,
        .ranks = 2,
        .limit = LIMIT,
        .job = "fuzz"};
    if (in == NULL) abort();
    in->from = (struct process){1, 0};
    in->number = 1;
    in->reader = (struct ring_reader){ring, bytes, RING_BYTES, 0, 0};
    in->reader.head = (uint64_t)choose(&c) % (RING_BYTES / RING_LINE) * RING_LINE;
    for (int i = 0; i < POLLS && c.left > 0 && e.in_count; i++) {
        for (unsigned records = 1 + choose(&c) % 8; records > 0 && c.left > 0;
             records--) { /* where
                             it
                             reads
                             next,
                             mostly
                           */
            uint64_t at = choose(&c) & 0x80 ? (uint64_t)choose(&c) * RING_LINE % RING_BYTES
                                            : in->reader.head % RING_BYTES;
            struct ring_record r = {0};
            uint32_t kind = choose(&c) % 4u, length = (uint32_t)choose_number(&c);
            r.header = (uint32_t)choose_number(&c);
            if (choose(&c) % 8 == 0) r.header |= RING_ELSEWHERE;
            r.payload = choose(&c) % 2 ? choose_number(&c) : in->got;
            atomic_init(&r.word, length << 2 | kind);
            memcpy(bytes + at, &r, sizeof r);
            for (uint64_t k = at + sizeof r; k < RING_BYTES && k < at + 96 && c.left > 0; k += 8)
                bytes[k] = choose(&c);
        }
        if (shm_poll(&e.head) < 0) break;
    }
    if (e.in_count) in_free(&e, in);
    free(placed);
    placed = NULL;
    free(base);
    return 0;
}
