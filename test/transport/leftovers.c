/* leftovers.c: nothing is made for those who never talk, and nothing stays behind. */
#include "harness.h"

#include <dirent.h>

static size_t descriptors(void)
{
    size_t count = 0;
    DIR *d = opendir("/proc/self/fd");
    MUST(d != NULL);
    while (readdir(d)) count++;
    closedir(d);
    return count;
}

/* Mappings of what carries the job's name. */
static size_t mappings(const struct job *job)
{
    char line[600];
    size_t count = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    MUST(f != NULL);
    while (fgets(line, sizeof line, f)) count += strstr(line, job->name) != NULL;
    fclose(f);
    return count;
}

/* 64 processes cost 64 ends. A pair that never talks costs nothing, neither names nor descriptors.
 */
static void silence_is_free(void **state)
{
    (void)state;
    enum { ENDS = 64 };
    static struct end e[ENDS];
    struct job job;
    size_t fds_before = descriptors();
    job_begin(&job, ENDS);
    for (uint32_t i = 0; i < ENDS; i++) end_open(&e[i], &job, i, 0);
    size_t things = job_things(&job), fds = descriptors();
    MUST(things <= 2 * ENDS);
    MUST(fds <= fds_before + 16 * ENDS);
    ends_meet(e, ENDS);
    ends_poll(e, ENDS);
    MUST(job_things(&job) == things);
    MUST(descriptors() == fds);
    send_wholly(&e[3], 60, 0, 1, 0, 100, e, ENDS);
    until_count(&e[60], 1, e, ENDS);
    MUST(job_things(&job) <= things + 2);
    MUST(descriptors() <= fds + 4);
    for (uint32_t i = 0; i < ENDS; i++) end_close(&e[i]);
    MUST(descriptors() == fds_before);
    job_end(&job);
}

/* Whatever state the ends are in, closing all of them leaves nothing: here in both orders, with
 * frames unread, half sent, and a pair that met and never talked. */
static void close_leaves_nothing(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 2; order++) {
        struct job job;
        struct end e[3];
        struct parcel p;
        size_t fds = descriptors();
        job_begin(&job, 3);
        for (uint32_t i = 0; i < 3; i++) end_open(&e[i], &job, i, 0);
        ends_meet(e, 3);
        send_wholly(&e[0], 1, 0, 1, 0, 100, e, 3);
        send_wholly(&e[1], 2, 0, 2, 0, 100, &e[1], 1); /* unread, unseen */
        parcel_make(&p, &e[0], 1, 0, 3, 0, 20 * MIB);
        int status = parcel_send(&p, &e[0]);
        MUST(status == HARK_T_AGAIN || status == HARK_T_OK);
        for (uint32_t i = 0; i < 3; i++) end_close(&e[order ? i : 2 - i]);
        parcel_free(&p);
        MUST(descriptors() == fds);
        MUST(mappings(&job) == 0);
        job_end(&job);
    }
}

/* sweep() takes away what closed nobody, and only that of its own job. */
static void sweep(void **state)
{
    (void)state;
    struct job job, other;
    struct end e, neighbour;
    struct parcel p;
    const struct hark_transport_ops *ops = conformance_subject.ops;
    job_begin(&job, 3);
    job_begin(&other, 3);
    /* the other one's name begins as ours does */
    strcat(strcpy(other.name, job.name), "-1");
    end_open(&neighbour, &other, 0, 0);
    ops->sweep(job.name, job.directory); /* nothing is there yet: fine */
    end_open(&e, &job, 0, 0);
    MUST(ops->peer(e.t, 1, 4, NULL) == HARK_T_OK); /* never opens */
    parcel_make(&p, &e, 1, 4, 1, 0, 100);
    MUST(parcel_send(&p, &e) == HARK_T_OK);
    end_poll(&e);
    parcel_free(&p);
    end_close(&e);
    ops->sweep(job.name, job.directory);
    MUST(ops->peer(neighbour.t, 1, 0, NULL) == HARK_T_OK);
    struct end second;
    end_open(&second, &other, 1, 0);
    MUST(ops->peer(second.t, 0, 0, neighbour.t->ops->address(neighbour.t)) == HARK_T_OK);
    MUST(ops->peer(neighbour.t, 1, 0, second.t->ops->address(second.t)) == HARK_T_OK);
    parcel_make(&p, &second, 0, 0, 9, 0, 100000);
    int status;
    while ((status = parcel_send(&p, &second)) == HARK_T_AGAIN) {
        end_poll(&second);
        end_poll(&neighbour);
    }
    MUST(status == HARK_T_OK);
    while (neighbour.count == 0) {
        end_poll(&second);
        end_poll(&neighbour);
    }
    parcel_free(&p);
    end_close(&second);
    end_close(&neighbour);
    ops->sweep("no-such-job", NULL);
    job_end(&job);
    job_end(&other);
}

const struct CMUnitTest leftovers_tests[] = {
    TEST(silence_is_free), TEST(close_leaves_nothing), TEST(sweep)};
const size_t leftovers_count = sizeof leftovers_tests / sizeof *leftovers_tests;
