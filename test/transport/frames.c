/* frames.c: every frame that send() took arrives whole, once, at the right end. */
#include "harness.h"

static uint64_t chunk(void)
{
    return conformance_subject.chunk ? conformance_subject.chunk : 32 * KIB;
}

static void all_sizes(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    const uint64_t around[] = {0, 64, 4 * KIB, 64 * KIB, chunk(), 2 * chunk(), MIB, 20 * MIB};
    const uint32_t headers[] = {0, 64, 1000, 40000, HARK_HEADER_MAX};
    size_t sent = 0;
    for (size_t h = 0; h < sizeof headers / sizeof *headers; h++)
        for (size_t i = 0; i < sizeof around / sizeof *around; i++)
            for (int off = -1; off <= 1; off++) {
                if (around[i] == 0 && off < 0) continue;
                if (around[i] == 20 * MIB && (off != 0 || (h != 0 && h != 4))) continue;
                uint64_t length = around[i] + (uint64_t)(int64_t)off;
                send_wholly(&e[0], 1, 0, 2 * sent, headers[h], length, e, 2);
                send_wholly(&e[1], 0, 0, 2 * sent + 1, headers[h], length, e, 2); /* and back */
                sent++;
                until_count(&e[0], sent, e, 2);
                until_count(&e[1], sent, e, 2);
                MUST(e[1].got[sent - 1].length == length);
                MUST(e[1].got[sent - 1].from == 0 && e[1].got[sent - 1].from_inc == 0);
            }
    uint64_t bytes = 0;
    for (size_t i = 0; i < e[1].count; i++) bytes += e[1].got[i].length;
    MUST(e[0].t->figures.frames_out == sent && e[1].t->figures.frames_in == sent);
    MUST(e[0].t->figures.bytes_out == e[1].t->figures.bytes_in && e[1].t->figures.bytes_in > bytes);
    MUST(e[0].t->figures.refused == 0 && e[1].t->figures.refused == 0);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

/* Frame sizes next to each other must not disturb one another: all of 0 .. 300, header and payload.
 */
static void all_small_sizes(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    for (uint32_t i = 0; i < 300; i++)
        send_wholly(&e[0], 1, 0, i, (uint32_t)sizeof(struct label) + i % 67, i, e, 2);
    until_count(&e[1], 300, e, 2);
    for (uint64_t i = 0; i < 300; i++) MUST(end_heard(&e[1], i) == 1);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

/* Everybody talks to everybody, to the recovery process and to itself; order is nobody's promise.
 */
static void many_pairs(void **state)
{
    (void)state;
    enum { RANKS = 7, ENDS = RANKS + 1, EACH = 12 };
    struct job job;
    struct end e[ENDS];
    job_begin(&job, RANKS);
    for (uint32_t i = 0; i < ENDS; i++) end_open(&e[i], &job, i < RANKS ? i : HARK_RECOVERY, 0);
    ends_meet(e, ENDS);
    for (uint32_t k = 0; k < EACH; k++)
        for (uint32_t i = 0; i < ENDS; i++)
            for (uint32_t j = 0; j < ENDS; j++) {
                uint64_t id = (i * ENDS + j) * EACH + k;
                uint64_t length = mix(id) % (k == 5 ? 200000 : 3000);
                send_wholly(&e[i], e[j].me, 0, id, (uint32_t)(mix(~id) % 200), length, e, ENDS);
            }
    for (uint32_t j = 0; j < ENDS; j++) until_count(&e[j], ENDS * EACH, e, ENDS);
    for (uint32_t j = 0; j < ENDS; j++)
        for (uint32_t i = 0; i < ENDS; i++)
            for (uint32_t k = 0; k < EACH; k++)
                MUST(end_heard(&e[j], (i * ENDS + j) * EACH + k) == 1);
    for (uint32_t i = 0; i < ENDS; i++) end_close(&e[i]);
    job_end(&job);
}

/* The payload is the concatenation of its parts, empty ones included. */
static void payload_in_parts(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    const uint64_t lengths[] = {0, 3, 1000, 100000, 3 * MIB + 5};
    size_t sent = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (unsigned cut = 0; cut < 6; cut++) {
            struct parcel p;
            parcel_make(&p, &e[0], 1, 0, 100 + sent, 0, lengths[i]);
            uint64_t a = cut < 3 ? 0 : lengths[i] / 3, b = cut % 3 == 0 ? a
                                                           : cut % 3 == 1
                                                               ? lengths[i]
                                                               : lengths[i] - lengths[i] / 7;
            if (b < a) b = a;
            p.out.part[0] = (struct hark_part){p.payload, a};
            p.out.part[1] = (struct hark_part){p.payload + a, b - a};
            p.out.part[2] =
                (struct hark_part){b < lengths[i] ? p.payload + b : NULL, lengths[i] - b};
            int status;
            while ((status = parcel_send(&p, &e[0])) == HARK_T_AGAIN) ends_poll(e, 2);
            MUST(status == HARK_T_OK);
            parcel_free(&p); /* it is ours again: the transport may not look at it any more */
            until_count(&e[1], ++sent, e, 2);
        }
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

/* A payload that the sink has no place for is thrown away, and nothing after it suffers. */
static void no_place(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    e[1].refuse_places = true;
    for (uint64_t i = 0; i < 4; i++) send_wholly(&e[0], 1, 0, i, 0, 2 * MIB + i, e, 2);
    until_count(&e[1], 4, e, 2);
    MUST(e[1].placed == 0);
    e[1].refuse_places = false;
    for (uint64_t i = 4; i < 8; i++) send_wholly(&e[0], 1, 0, i, 0, 2 * MIB + i, e, 2);
    until_count(&e[1], 8, e, 2);
    MUST(e[1].open_places == 0 && e[1].broken == 0);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

/* arrived() may send: the answer to a frame goes out from inside poll(). */
struct answers {
    struct parcel queue[64];
    size_t from, to;
};
static struct answers answers;

static void answer(struct end *e, const struct label *label)
{
    if (label->id >= 1000) return;
    struct parcel *p = &answers.queue[answers.to++];
    parcel_make(p, e, label->from, label->from_inc, label->id + 1000, 0, label->length);
    if (answers.from + 1 == answers.to && parcel_send(p, e) == HARK_T_OK) answers.from++;
}

static void send_inside_arrived(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    memset(&answers, 0, sizeof answers);
    e[1].on_arrived = answer;
    for (uint64_t i = 0; i < 40; i++) send_wholly(&e[0], 1, 0, i, 0, i * 9000, e, 2);
    while (e[0].count < 40) {
        ends_poll(e, 2);
        while (answers.from < answers.to) { /* those that met back-pressure, in their order */
            int status = parcel_send(&answers.queue[answers.from], &e[1]);
            if (status == HARK_T_AGAIN) break;
            MUST(status == HARK_T_OK);
            answers.from++;
        }
    }
    for (uint64_t i = 0; i < 40; i++) MUST(end_heard(&e[0], i + 1000) == 1);
    for (size_t i = 0; i < answers.to; i++) parcel_free(&answers.queue[i]);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

/* What was taken and drained arrives even if the sender closes in good order before the other
 * polls. */
static void close_after_drained(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    send_wholly(&e[0], 1, 0, 1, 0, 10, e, 2);
    until_count(&e[1], 1, e, 2); /* they have met */
    for (uint64_t i = 2; i < 6; i++) send_wholly(&e[0], 1, 0, i, 0, 1000 * i, &e[0], 1);
    while (!e[0].t->ops->drained(e[0].t)) end_poll(&e[0]);
    end_close(&e[0]);
    until_count(&e[1], 5, &e[1], 1);
    end_close(&e[1]);
    job_end(&job);
}

/* The same of as much as systems keep between two ends, while the other polls and acknowledges. */
static void much_before_close(void **state)
{
    (void)state;
    enum { COUNT = 30 };
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    send_wholly(&e[0], 1, 0, 0, 0, 10, e, 2);
    until_count(&e[1], 1, e, 2); /* they have met */
    for (uint64_t i = 1; i <= COUNT; i++) send_wholly(&e[0], 1, 0, i, 0, 30000, e, 2);
    while (!e[0].t->ops->drained(e[0].t)) ends_poll(e, 2);
    end_close(&e[0]);
    until_count(&e[1], COUNT + 1, &e[1], 1);
    end_close(&e[1]);
    job_end(&job);
}

static void say_enough(struct end *e, const struct label *label)
{
    (void)label;
    e->t->enough = true;
}

/* A sink that has enough at each frame gets all of them all the same, and its neighbours take
 * turns. */
static void enough_at_each(void **state)
{
    (void)state;
    enum { ENDS = 3, EACH = 20 };
    struct job job;
    struct end e[ENDS];
    job_begin(&job, ENDS);
    for (uint32_t i = 0; i < ENDS; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, ENDS);
    for (uint32_t i = 1; i < ENDS; i++) send_wholly(&e[i], 0, 0, i, 0, 10, e, ENDS);
    until_count(&e[0], ENDS - 1, e, ENDS); /* they have met */
    e[0].on_arrived = say_enough;
    for (uint64_t k = 1; k <= EACH; k++)
        for (uint32_t i = 1; i < ENDS; i++)
            send_wholly(&e[i], 0, 0, k * ENDS + i, 0, 10 * k, &e[i], 1);
    while (e[0].count < (EACH + 1) * (ENDS - 1)) {
        size_t before = e[0].count;
        ends_poll(e, ENDS);
        if (!conformance_subject.stops) continue;
        MUST(e[0].count <= before + 1);
        MUST(before < ENDS || e[0].got[before].from != e[0].got[before - 1].from);
    }
    for (uint64_t k = 1; k <= EACH; k++)
        for (uint32_t i = 1; i < ENDS; i++) MUST(end_heard(&e[0], k * ENDS + i) == 1);
    for (uint32_t i = 0; i < ENDS; i++) end_close(&e[i]);
    job_end(&job);
}

const struct CMUnitTest frames_tests[] = {
    TEST(all_sizes),
    TEST(all_small_sizes),
    TEST(many_pairs),
    TEST(payload_in_parts),
    TEST(no_place),
    TEST(send_inside_arrived),
    TEST(enough_at_each),
    TEST(close_after_drained),
    TEST(much_before_close),
};
const size_t frames_count = sizeof frames_tests / sizeof *frames_tests;
