/* Images written behind the program: the copy and its thread (hark_behind_*), and the driver over
 * them. The store writes an image when the test lets it. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>

#include "hark/registry.h"
#include "script.h"

/* ---- a store --------------------------------------------------------------------------------- */

static struct gate {
    struct hark_store head;
    sem_t let;  /* how many images may be written */
    int status; /* of the next write */
    bool keeps; /* nothing can be deleted */
    pthread_mutex_t lock;
    /* The first section of each; under the lock what was done, in order. */
    char saw[8][64], did[256];
    int writes;
} gate;

static void note(const char *what, uint64_t id)
{
    pthread_mutex_lock(&gate.lock);
    snprintf(gate.did + strlen(gate.did), 32, id ? "%s %u, " : "%s, ", what, (unsigned)id);
    pthread_mutex_unlock(&gate.lock);
}

static int gate_write(struct hark_store *s, uint32_t rank, uint64_t id,
    const struct hark_section *section, uint32_t count)
{
    (void)rank;
    while (sem_wait(&gate.let) != 0) {
    }
    const struct hark_section *last = &section[count - 1];
    assert_in_range(gate.writes, 0, 7);
    if (last->length) memcpy(gate.saw[gate.writes], last->at, last->length);
    gate.writes++;
    note("wrote", id);
    if (gate.status < 0) snprintf(s->error, sizeof s->error, "the disk is full");
    return gate.status;
}

static int gate_drop(struct hark_store *s, uint32_t rank, uint64_t id)
{
    (void)rank;
    note("dropped", id);
    if (gate.keeps) snprintf(s->error, sizeof s->error, "the disk is read only");
    return gate.keeps ? HARK_S_ESYSTEM : HARK_S_OK;
}

static const struct hark_store_ops gate_ops = {
    .name = "gate", .write = gate_write, .drop = gate_drop};

/* ---- memory that is short -------------------------------------------------------------------- */

void *__real_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t from);
void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t from);

static bool no_memory;

void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t from)
{
    return no_memory ? MAP_FAILED : __real_mmap64(at, bytes, protection, flags, fd, from);
}

/* ---- the copy and its thread ----------------------------------------------------------------- */

static struct hark_behind *behind;
static sem_t done;

static void on_done(void *self)
{
    assert_ptr_equal(self, &gate);
    sem_post(&done);
}

static int set_up(void **state)
{
    (void)state;
    char error[256];
    memset(&gate, 0, sizeof gate);
    gate.head.ops = &gate_ops;
    pthread_mutex_init(&gate.lock, NULL);
    no_memory = false;
    if (sem_init(&gate.let, 0, 0) != 0 || sem_init(&done, 0, 0) != 0) return -1;
    return hark_behind_open(&behind, &gate.head, on_done, &gate, error);
}

static int tear_down(void **state)
{
    (void)state;
    hark_behind_close(behind);
    behind = NULL;
    sem_destroy(&gate.let);
    sem_destroy(&done);
    return 0;
}

static int write_text(uint64_t id, const char *text)
{
    const struct hark_section section[] = {
        {.tag = 1, .at = NULL, .length = 0}, {.tag = 2, .at = text, .length = strlen(text) + 1}};
    return hark_behind_write(behind, 3, id, section, 2);
}

static void wait_done(void)
{
    while (sem_wait(&done) != 0) {
    }
}

/* What is written is what was there when the call was made, and the caller does not wait. */
static void writes_what_was_there(void **state)
{
    (void)state;
    char text[] = "before";
    uint64_t id = 0;
    int status = 1;
    assert_int_equal(write_text(5, text), HARK_S_OK);
    memcpy(text, "after.", sizeof text);
    assert_int_equal(gate.writes, 0);
    assert_int_equal(hark_behind_written(behind, &id, &status), 0);
    sem_post(&gate.let);
    wait_done();
    assert_int_equal(hark_behind_written(behind, &id, &status), 1);
    assert_int_equal(id, 5);
    assert_int_equal(status, HARK_S_OK);
    assert_string_equal(gate.saw[0], "before");
    assert_int_equal(hark_behind_written(behind, &id, &status), 0); /* once */
}

/* The memory of the copy is used again, also by a longer image. */
static void waits_for_the_one_before(void **state)
{
    (void)state;
    uint64_t id = 0;
    int status = 1;
    sem_post(&gate.let);
    sem_post(&gate.let);
    sem_post(&gate.let);
    assert_int_equal(write_text(1, "one"), HARK_S_OK);
    assert_int_equal(write_text(2, "two is longer"), HARK_S_OK);
    assert_int_equal(write_text(3, "3"), HARK_S_OK);
    hark_behind_wait(behind);
    assert_int_equal(hark_behind_written(behind, &id, &status), 1);
    assert_int_equal(id, 3);
    assert_string_equal(gate.did, "wrote 1, wrote 2, wrote 3, ");
    assert_string_equal(gate.saw[1], "two is longer");
    assert_string_equal(gate.saw[2], "3");
}

static void says_why_it_failed(void **state)
{
    (void)state;
    uint64_t id = 0;
    int status = 1;
    gate.status = HARK_S_ESYSTEM;
    sem_post(&gate.let);
    assert_int_equal(write_text(4, "lost"), HARK_S_OK);
    wait_done();
    assert_int_equal(hark_behind_written(behind, &id, &status), 1);
    assert_int_equal(status, HARK_S_ESYSTEM);
    assert_string_equal(hark_behind_error(behind), "the disk is full");
}

static void without_memory(void **state)
{
    (void)state;
    no_memory = true;
    assert_int_equal(write_text(1, "one"), HARK_S_ENOMEMORY);
    no_memory = false;
    sem_post(&gate.let);
    assert_int_equal(write_text(1, "one"), HARK_S_OK);
    wait_done();
    assert_string_equal(gate.did, "wrote 1, ");
}

static void too_long(void **state)
{
    (void)state;
    const struct hark_section section[] = {
        {.at = "x", .length = UINT64_MAX / 4}, {.at = "x", .length = UINT64_MAX / 4}};
    assert_int_equal(hark_behind_write(behind, 3, 1, section, 2), HARK_S_EINVAL);
    assert_int_equal(gate.writes, 0);
}

static void close_waits(void **state)
{
    (void)state;
    assert_int_equal(write_text(1, "one"), HARK_S_OK);
    sem_post(&gate.let);
    hark_behind_close(behind);
    behind = NULL;
    assert_string_equal(gate.did, "wrote 1, ");
}

/* In order, and before what is written later. */
static void drops_before_it_writes(void **state)
{
    (void)state;
    char line[256];
    gate.keeps = true;
    assert_true(hark_behind_drop(behind, 3, 7));
    assert_true(hark_behind_drop(behind, 3, 8));
    sem_post(&gate.let);
    assert_int_equal(write_text(7, "again"), HARK_S_OK);
    wait_done();
    assert_string_equal(gate.did, "dropped 7, dropped 8, wrote 7, ");
    assert_true(hark_behind_trouble(behind, line));
    assert_string_equal(line, "the disk is read only");
    assert_false(hark_behind_trouble(behind, line));
}

/* ---- the driver ------------------------------------------------------------------------------ */

static char memory[64];
static struct hark_fact fact;
static char trouble[256];

static int on_capture(void *self, uint64_t id, const struct hark_region **region, uint32_t *count)
{
    static struct hark_region all;
    (void)self, (void)id;
    all = (struct hark_region){7, memory, sizeof memory};
    *region = &all;
    *count = 1;
    return 0;
}

static void on_resume(void *self)
{
    (void)self;
    note("goes on", 0);
}

static void on_committed(void *self, uint64_t id)
{
    (void)self;
    note("committed", id);
}

static void on_persist(void *self, const struct hark_fact *f)
{
    (void)self;
    fact = *f;
}

static void on_trouble(void *self, const char *line)
{
    (void)self;
    snprintf(trouble, sizeof trouble, "%s", line);
}

static void on_recovered(void *self)
{
    (void)self;
}

static struct hark_driver *open_driver(const char *protocol, bool copies)
{
    char error[256];
    struct hark_driver *d;
    struct hark_range mine = {0, 0};
    struct hark_driver_config c = {.protocol = hark_protocol_named(protocol),
        .transport = &plain,
        .store = &gate.head,
        .behind = copies ? &gate.head : NULL,
        .hooks = {.capture = on_capture,
            .resume = on_resume,
            .committed = on_committed,
            .persist = on_persist,
            .trouble = on_trouble,
            .recovered = on_recovered}};
    c.core.ranks = 2;
    c.core.cluster = &mine;
    c.core.cluster_count = 1;
    memset(&script, 0, sizeof script);
    memset(&fact, 0, sizeof fact);
    trouble[0] = 0;
    script.head.ops = &plain;
    assert_int_equal(hark_driver_open(&d, &c, error), HARK_D_OK);
    return d;
}

static void poll_until_written(struct hark_driver *d)
{
    while (hark_driver_writes(d)) {
        assert_true(hark_driver_poll(d) >= 0);
        sched_yield();
    }
}

/* The program goes on, changes its memory and sends, before its image is written; the checkpoint is
 * decided after that. */
static void goes_on_before_it_is_written(void **state)
{
    (void)state;
    struct hark_driver *d = open_driver("hydee", true);
    strcpy(memory, "before");
    assert_int_equal(hark_driver_checkpoint(d, true), HARK_D_OK);
    assert_string_equal(gate.did, "goes on, ");
    assert_true(hark_driver_writes(d));
    strcpy(memory, "after.");
    assert_int_equal(hark_driver_send(d, 1, 0, 5, "x", 1), HARK_D_OK);
    assert_int_equal(hark_driver_checkpoint(d, true), HARK_D_OK); /* none begins meanwhile */
    assert_int_equal(hark_driver_poll(d), 0);
    assert_int_equal(fact.id, 0);
    sem_post(&gate.let);
    poll_until_written(d);
    assert_string_equal(gate.saw[0], "before");
    assert_int_equal(fact.id, 1);
    assert_int_equal(hark_driver_stored(d, HARK_FACT_WAVE, 1, true), HARK_D_OK);
    assert_string_equal(gate.did, "goes on, goes on, wrote 1, committed 1, ");
    assert_true(hark_driver_figures(d)->image_ns >= hark_driver_figures(d)->capture_ns);
    hark_driver_close(d);
}

/* sendet waits: what was sent in an epoch cannot be taken back. */
static void sendet_waits(void **state)
{
    (void)state;
    struct hark_driver *d = open_driver("sendet", true);
    assert_int_equal(hark_driver_checkpoint(d, true), HARK_D_OK);
    assert_string_equal(gate.did, "");
    sem_post(&gate.let);
    poll_until_written(d);
    assert_int_equal(hark_driver_stored(d, HARK_FACT_WAVE, 1, true), HARK_D_OK);
    assert_string_equal(gate.did, "wrote 1, committed 1, goes on, ");
    hark_driver_close(d);
}

/* Without a second handle of the store the program waits. */
static void waits_if_nothing_is_copied(void **state)
{
    (void)state;
    struct hark_driver *d = open_driver("hydee", false);
    sem_post(&gate.let);
    assert_int_equal(hark_driver_checkpoint(d, true), HARK_D_OK);
    assert_false(hark_driver_writes(d));
    assert_string_equal(gate.did, "wrote 1, ");
    assert_int_equal(hark_driver_stored(d, HARK_FACT_WAVE, 1, true), HARK_D_OK);
    assert_string_equal(gate.did, "wrote 1, committed 1, goes on, ");
    hark_driver_close(d);
}

static void writes_at_once_without_memory(void **state)
{
    (void)state;
    struct hark_driver *d = open_driver("hydee", true);
    no_memory = true;
    sem_post(&gate.let);
    assert_int_equal(hark_driver_checkpoint(d, true), HARK_D_OK);
    no_memory = false;
    assert_false(hark_driver_writes(d));
    assert_string_equal(gate.did, "wrote 1, goes on, ");
    assert_int_equal(fact.id, 1);
    hark_driver_close(d);
}

/* A disk that is full: there is no such checkpoint, the run goes on, and says so. */
static void goes_on_though_it_is_not_written(void **state)
{
    (void)state;
    struct hark_driver *d = open_driver("hydee", true);
    gate.status = HARK_S_ESYSTEM;
    assert_int_equal(hark_driver_checkpoint(d, true), HARK_D_OK);
    sem_post(&gate.let);
    poll_until_written(d);
    assert_string_equal(trouble, "the disk is full");
    assert_int_equal(fact.id, 0);
    hark_driver_close(d);
    assert_string_equal(gate.did, "goes on, wrote 1, dropped 1, ");
}

static void rank_1_fails(struct hark_driver *d)
{
    static const uint32_t down[] = {1};
    static const struct hark_incarnation inc[] = {{1, 1}};
    struct hark_event failed = {.type = HARK_FAILED};
    failed.u.failed.re = 1;
    failed.u.failed.down = down;
    failed.u.failed.inc = inc;
    failed.u.failed.down_count = failed.u.failed.inc_count = 1;
    assert_int_equal(hark_driver_failed(d, &failed), HARK_D_OK);
}

/* A failure aborts a checkpoint whose image is still being written: it is dropped when it is there,
 * and the next one waits for it. */
static void aborted_while_it_is_written(void **state)
{
    (void)state;
    struct hark_driver *d = open_driver("hydee", true);
    assert_int_equal(hark_driver_checkpoint(d, true), HARK_D_OK);
    rank_1_fails(d);
    assert_string_equal(gate.did, "goes on, ");
    assert_true(hark_driver_writes(d));
    sem_post(&gate.let);
    poll_until_written(d);
    assert_int_equal(fact.id, 0);
    hark_driver_close(d);
    assert_string_equal(gate.did, "goes on, wrote 1, dropped 1, ");
}

static void the_next_waits_for_an_aborted_one(void **state)
{
    (void)state;
    struct hark_driver *d = open_driver("coordinated", true);
    assert_int_equal(hark_driver_checkpoint(d, true), HARK_D_OK);
    rank_1_fails(d);
    sem_post(&gate.let);
    assert_int_equal(hark_driver_checkpoint(d, true), HARK_D_OK);
    sem_post(&gate.let);
    poll_until_written(d);
    assert_int_equal(fact.id, 2);
    hark_driver_close(d);
    /* The thread deletes before it writes, and the program does not wait for it. */
    assert_true(strcmp(gate.did, "goes on, wrote 1, dropped 1, goes on, wrote 2, ") == 0 ||
                strcmp(gate.did, "goes on, wrote 1, goes on, dropped 1, wrote 2, ") == 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(writes_what_was_there), TEST(waits_for_the_one_before),
        TEST(says_why_it_failed), TEST(without_memory), TEST(too_long), TEST(close_waits),
        TEST(drops_before_it_writes), TEST(goes_on_before_it_is_written), TEST(sendet_waits),
        TEST(waits_if_nothing_is_copied), TEST(writes_at_once_without_memory),
        TEST(goes_on_though_it_is_not_written), TEST(aborted_while_it_is_written),
        TEST(the_next_waits_for_an_aborted_one)};
    return cmocka_run_group_tests_name("images behind the program", tests, NULL, NULL);
}
