/* arguments.c: what is out of its range is refused in words, and garbage from outside harms nobody.
 */
#include "harness.h"

static void refuse_open(const struct hark_transport_config *config)
{
    char error[200] = "";
    struct hark_transport *t = (struct hark_transport *)&error;
    MUST(conformance_subject.ops->open(&t, config, error) == HARK_T_EINVAL);
    MUST(t == NULL);
    MUST(error[0] != 0 && strlen(error) < 200 && strchr(error, '\n') == NULL);
    MUST(conformance_subject.ops->open(&t, config, NULL) == HARK_T_EINVAL && t == NULL);
}

static void bad_configs(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    struct hark_transport_config config;
    const char *const jobs[] = {
        NULL, "", "a/b", "../x", "a b", "a.b", "a\n", "01234567890123456789012345678901234567890"};
    job_begin(&job, 4);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        end_config(&config, &job, 0, 0, &e);
        config.job = jobs[i];
        refuse_open(&config);
    }
    end_config(&config, &job, 4, 0, &e);
    refuse_open(&config);
    end_config(&config, &job, HARK_RECOVERY - 1, 0, &e);
    refuse_open(&config);
    end_config(&config, &job, 0, 0, &e);
    config.ranks = 0;
    refuse_open(&config);
    config.me = HARK_RECOVERY;
    refuse_open(&config);
    config.ranks = UINT32_MAX;
    refuse_open(&config);
    job_end(&job);
}

static void bad_calls(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    struct parcel p;
    struct hark_outgoing out;
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    const struct hark_transport_ops *ops = e[0].t->ops;
    MUST(ops->peer(e[0].t, 2, 0, NULL) == HARK_T_EINVAL);
    MUST(ops->peer(e[0].t, HARK_RECOVERY - 1, 0, NULL) == HARK_T_EINVAL);
    parcel_make(&p, &e[0], 1, 0, 1, 0, 10);
    out = p.out;
    out.to = 2;
    MUST(ops->send(e[0].t, &out) == HARK_T_EINVAL);
    out = p.out;
    out.to = HARK_RECOVERY - 1;
    MUST(ops->send(e[0].t, &out) == HARK_T_EINVAL);
    out = p.out;
    out.header.length = 0;
    MUST(ops->send(e[0].t, &out) == HARK_T_EINVAL);
    out = p.out;
    out.header.length = HARK_HEADER_MAX + 1;
    MUST(ops->send(e[0].t, &out) == HARK_T_EINVAL);
    out = p.out;
    out.part[0].length = UINT64_MAX; /* over the limit; nothing of it may be read */
    MUST(ops->send(e[0].t, &out) == HARK_T_EINVAL);
    out = p.out;
    out.part[1].length = UINT64_MAX - 5; /* a sum that wraps around is over the limit too */
    MUST(ops->send(e[0].t, &out) == HARK_T_EINVAL);
    MUST(parcel_send(&p, &e[0]) == HARK_T_OK); /* none of this did any harm */
    until_count(&e[1], 1, e, 2);
    parcel_free(&p);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

/* The limit counts header and payload; at the limit is fine. */
static void frame_limit(void **state)
{
    (void)state;
    enum { LIMIT = 300000 };
    struct job job;
    struct end e[2];
    struct parcel p;
    job_begin(&job, 2);
    job.frame_limit = LIMIT;
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    parcel_make(&p, &e[0], 1, 0, 1, 100, LIMIT - 99);
    MUST(parcel_send(&p, &e[0]) == HARK_T_EINVAL);
    parcel_free(&p);
    send_wholly(&e[0], 1, 0, 2, 100, LIMIT - 100, e, 2);
    until_count(&e[1], 1, e, 2);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

static void garbage(void **state)
{
    (void)state;
    enum { ROUNDS = 300 };
    if (!conformance_subject.garbage) return;
    struct job job;
    struct end e[2];
    job_begin(&job, 3); /* rank 2 never opens */
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    for (unsigned round = 0; round < ROUNDS; round++) {
        conformance_subject.garbage(&e[0].config, e[0].t->ops->address(e[0].t), 2, round);
        for (int i = 0; i < 3; i++) ends_poll(e, 2);
        send_wholly(&e[0], 1, 0, 2 * round, 0, 100 + round * 300, e, 2); /* the honest go on */
        send_wholly(&e[1], 0, 0, 2 * round + 1, 0, 100 + round * 300, e, 2);
        until_count(&e[0], round + 1, e, 2);
        until_count(&e[1], round + 1, e, 2);
        MUST(e[0].t->ops->wait(e[0].t, 0) >= 0);
    }
    while (e[0].t->figures.refused == 0) ends_poll(e, 2);
    MUST(e[1].t->figures.refused == 0);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    conformance_subject.ops->sweep(job.name, job.directory); /* what the neighbour left */
    job_end(&job);
}

const struct CMUnitTest arguments_tests[] = {
    TEST(bad_configs), TEST(bad_calls), TEST(frame_limit), TEST(garbage)};
const size_t arguments_count = sizeof arguments_tests / sizeof *arguments_tests;
