/* harness.h: ends of a transport that check all they hear, for the files of the conformance suite.
 */
#ifndef HARK_TEST_HARNESS_H
#define HARK_TEST_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance.h"

#define KIB 1024u
#define MIB (1024u * 1024u)

/* The first bytes of every header that the suite sends; from them the receiver knows what the rest
 * of the header and the payload must be. */
struct label {
    uint64_t id;
    uint64_t length; /* of the payload */
    uint32_t header; /* length of the whole header */
    uint32_t from, from_inc, to, to_inc;
    uint32_t pad;
};

struct got {
    uint64_t id;
    uint64_t length;
    uint32_t from, from_inc;
};

/* One end, and what arrived there. Frames with wrong content end the test at once. */
struct end {
    struct hark_transport *t;
    struct hark_transport_config config;
    uint32_t me, inc;
    struct got *got;
    size_t count, room;
    size_t placed, broken; /* calls of place() answered with memory; of broken() */
    size_t open_places;    /* placed, neither arrived nor broken yet */
    bool refuse_places;    /* place() answers NULL */
    bool decline_offers;   /* the same for what can come in another way */
    bool inside;           /* a callback is running */
    bool polling;
    void (*on_arrived)(struct end *e, const struct label *label); /* NULL: nothing more */
    void (*on_placed)(struct end *e, const struct label *label);  /* the same within place() */
};

/* A job: its name and directory, new for each test. */
struct job {
    char name[48];
    char directory[64];
    uint32_t ranks;
    uint64_t frame_limit; /* 0: the transport's default */
};

void job_begin(struct job *job, uint32_t ranks);
/* Asserts that nothing of the job is left outside this process, and removes its directory. */
void job_end(struct job *job);
/* Names in /dev/shm that carry the job's name, and entries of its directory. */
size_t job_things(const struct job *job);

void end_config(struct hark_transport_config *config, const struct job *job, uint32_t me,
    uint32_t inc, struct end *e);
void end_open(struct end *e, const struct job *job, uint32_t me, uint32_t inc);
void end_close(struct end *e);
/* All of the ends know each other, with addresses. */
void ends_meet(struct end *ends, size_t count);
void end_poll(struct end *e);
void ends_poll(struct end *ends, size_t count);
/* The frames with this id that arrived. */
size_t end_heard(const struct end *e, uint64_t id);

/* A frame to send, with content derived from its label. */
struct parcel {
    struct hark_outgoing out;
    struct label label;
    uint8_t *header;
    uint8_t *payload;
};
void parcel_make(struct parcel *p, const struct end *from, uint32_t to, uint32_t inc, uint64_t id,
    uint32_t header, uint64_t length);
void parcel_free(struct parcel *p);
int parcel_send(struct parcel *p, struct end *from);
/* Sends wholly, polling the ends while it answers AGAIN. */
void send_wholly(struct end *from, uint32_t to, uint32_t inc, uint64_t id, uint32_t header,
    uint64_t length, struct end *ends, size_t count);
/* Polls the ends until `e` has `count` frames. */
void until_count(struct end *e, size_t count, struct end *ends, size_t ends_count);

void fill(uint8_t *at, uint64_t length, uint64_t seed);
bool filled(const uint8_t *at, uint64_t length, uint64_t seed);
static inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* What must hold; also works in a forked child, where CMocka's assertions do not. */
#define MUST(what) must((what), #what, __FILE__, __LINE__)
void must(bool holds, const char *what, const char *file, int line);
extern bool in_child;

/* A hang is a failure too: after so many seconds this process says where it stands and ends. It is
 * the only clock of the suite. A forked child sets its own, which is to come before its parent's.
 */
#define PATIENCE       300u
#define CHILD_PATIENCE 120u
void hang_after(unsigned seconds);
bool starts_slowly(void);

/* The tests of each file. */
#define SUITE(name)                                                                                \
    extern const struct CMUnitTest name##_tests[];                                                 \
    extern const size_t name##_count
SUITE(frames);
SUITE(pressure);
SUITE(incarnations);
SUITE(waiting);
SUITE(leftovers);
SUITE(arguments);
SUITE(processes);
SUITE(lending);
SUITE(streams);
SUITE(news);
SUITE(offers);
SUITE(offers_processes);
/* The program that the tests of streams.c run, a process for each case. */
int streams_program(char **argument);
#define TEST(function) cmocka_unit_test_setup_teardown(function, test_begin, test_end)
int test_begin(void **state);
int test_end(void **state);

#endif
