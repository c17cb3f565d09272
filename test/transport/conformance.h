/* conformance.h: what a transport fills in to be put through the conformance suite.
 *
 * A transport's test file defines conformance_subject, and is linked with the files of the suite
 * (conformance_sources in meson.build), which bring main(). See fake_test.c for a whole one.
 */
#ifndef HARK_TEST_CONFORMANCE_H
#define HARK_TEST_CONFORMANCE_H

#include "hark/transport.h"

struct conformance_transport {
    const char *name;
    const struct hark_transport_ops *ops;
    bool processes; /* its ends may live in different OS processes: the tests that fork() apply */
    bool stops;     /* poll() ends with the frame at which the sink says that it has enough */
    uint64_t chunk; /* sizes one below, at and above it are tried; 0: 32 KiB */
    bool ghosts;    /* what a dead incarnation has half sent may still arrive whole: no news.c */
    /* open() takes long: streams.c and processes.c begin fewer programs. NULL: it does not */
    bool (*slow_start)(void);
    /* Does what `from` has sent to `to` and is still in its memory die with it? NULL: no, others
     * read it there. */
    bool (*loses)(uint32_t from, uint32_t to);
    /* Around the whole program, before it opens or closes anything. NULL: nothing to do. `argument`
     * is NULL, or this is a program that a test of streams.c has begun. */
    void (*start)(char **argument);
    void (*finish)(void);
    /* Around each test; NULL: nothing to do. */
    void (*begin)(void);
    void (*end)(void);
    /* Called for each config before open(), when job, directory, me, inc, ranks, key and sink are
     * set. */
    void (*configure)(struct hark_transport_config *config);
    /* Throws the `round`-th piece of garbage, different each time, at an open end, as a hostile or
     * dying neighbour would: `victim` is its config, `address` its address. Rank `as` never opens
     * in that test, garbage may pretend to come from it. NULL: nothing outside the process reaches
     * this transport. */
    void (*garbage)(const struct hark_transport_config *victim, const char *address, uint32_t as,
        unsigned round);
};

extern const struct conformance_transport conformance_subject;

#endif
