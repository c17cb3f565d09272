/* How a job stands, as bytes: what is put is read again; what is cut or damaged is refused, or read
 * as something else, within its memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/supervisor/status.h"

static struct hark_status_host hosts[] = {
    {"node01", HARK_HOST_READY, 2, 15}, {"", HARK_HOST_DEAD, 0, HARK_STATUS_UNKNOWN}};
static struct hark_status_process processes[] = {
    {0, 0, HARK_PROCESS_WAITING, 3, 2, 10, 11, 12, 13, 14, 15},
    {1, HARK_STATUS_NO_HOST, HARK_PROCESS_RUNNING, 0, 0, UINT64_MAX, 0, 0, 0, 0,
        HARK_STATUS_UNKNOWN},
    {HARK_STATUS_RECOVERY, 1, HARK_PROCESS_ENDED, 1, 1, 0, 0, 0, 0, 0, HARK_STATUS_UNKNOWN}};
static const struct hark_job_status whole = {.job = "hark-1-00000001",
    .pid = 4711,
    .state = HARK_JOB_FINISHING,
    .program = "./a b",
    .protocol = "p",
    .transport = "t",
    .store = "",
    .ranks = 2,
    .failures = 5,
    .recoveries = 4,
    .elapsed_ns = UINT64_C(1) << 40,
    .age_ns = 7,
    .host = hosts,
    .hosts = 2,
    .process = processes,
    .processes = 3};

static uint8_t *made(size_t *length)
{
    struct hark_control m;
    hark_status_put(&m, &whole);
    assert_false(m.bad);
    *length = m.length;
    return m.at;
}

static enum hark_status_read read_it(
    const uint8_t *at, size_t length, struct hark_job_status *status)
{
    struct hark_control m;
    assert_int_equal(hark_control_parse(&m, at, length), (long)length);
    return hark_status_get(&m, status);
}

static void comes_back(void **state)
{
    size_t length;
    struct hark_job_status s;
    uint8_t *at = made(&length);
    (void)state;
    assert_int_equal(read_it(at, length, &s), HARK_STATUS_OK);
    assert_string_equal(s.job, whole.job);
    assert_string_equal(s.program, whole.program);
    assert_string_equal(s.protocol, whole.protocol);
    assert_string_equal(s.transport, whole.transport);
    assert_string_equal(s.store, whole.store);
    assert_int_equal(s.pid, whole.pid);
    assert_int_equal(s.state, whole.state);
    assert_int_equal(s.ranks, whole.ranks);
    assert_int_equal(s.failures, whole.failures);
    assert_int_equal(s.recoveries, whole.recoveries);
    assert_int_equal(s.elapsed_ns, whole.elapsed_ns);
    assert_int_equal(s.age_ns, whole.age_ns);
    assert_int_equal(s.hosts, 2);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(s.host[i].name, hosts[i].name);
        assert_int_equal(s.host[i].state, hosts[i].state);
        assert_int_equal(s.host[i].processes, hosts[i].processes);
        assert_int_equal(s.host[i].silent_ns, hosts[i].silent_ns);
    }
    assert_int_equal(s.processes, 3);
    for (int i = 0; i < 3; i++) {
        const struct hark_status_process *a = &s.process[i], *b = &processes[i];
        assert_int_equal(a->rank, b->rank);
        assert_int_equal(a->host, b->host);
        assert_int_equal(a->state, b->state);
        assert_int_equal(a->inc, b->inc);
        assert_int_equal(a->restarts, b->restarts);
        assert_int_equal(a->deliveries, b->deliveries);
        assert_int_equal(a->messages, b->messages);
        assert_int_equal(a->bytes, b->bytes);
        assert_int_equal(a->log_bytes, b->log_bytes);
        assert_int_equal(a->checkpoint, b->checkpoint);
        assert_int_equal(a->age_ns, b->age_ns);
    }
    hark_status_free(&s);
    free(at);
}

static void set_length(uint8_t *at, size_t length)
{
    const uint32_t n = (uint32_t)length - 4;
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(n >> 8 * i);
}

/* In memory of its length, so that a byte read too far is noticed. */
static enum hark_status_read read_copy(const uint8_t *at, size_t length)
{
    struct hark_job_status s;
    uint8_t *copy = malloc(length);
    assert_non_null(copy);
    memcpy(copy, at, length);
    set_length(copy, length);
    const enum hark_status_read status = read_it(copy, length, &s);
    hark_status_free(&s);
    free(copy);
    return status;
}

static void is_cut(void **state)
{
    size_t length;
    uint8_t *at = made(&length), *longer;
    (void)state;
    for (size_t n = 8; n < length; n++) assert_int_equal(read_copy(at, n), HARK_STATUS_BAD);
    assert_int_equal(read_copy(at, length), HARK_STATUS_OK);
    longer = realloc(at, length + 1);
    assert_non_null(longer);
    longer[length] = 0;
    assert_int_equal(read_copy(longer, length + 1), HARK_STATUS_BAD);
    free(longer);
}

static void is_damaged(void **state)
{
    static const uint8_t other[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    size_t length;
    unsigned refused = 0;
    uint8_t *at = made(&length);
    (void)state;
    for (size_t i = 8; i < length; i++)
        for (size_t k = 0; k < sizeof other; k++) {
            const uint8_t was = at[i];
            at[i] = other[k];
            refused += read_copy(at, length) == HARK_STATUS_BAD;
            at[i] = was;
        }
    assert_true(refused > 100);
    free(at);
}

static void is_on_no_host(void **state)
{
    size_t length;
    (void)state;
    processes[1].host = 2; /* of two */
    uint8_t *at = made(&length);
    processes[1].host = HARK_STATUS_NO_HOST;
    assert_int_equal(read_copy(at, length), HARK_STATUS_BAD);
    free(at);
}

static void is_of_another(void **state)
{
    size_t length;
    uint8_t *at = made(&length);
    (void)state;
    at[8] = 2; /* the version */
    assert_int_equal(read_copy(at, length), HARK_STATUS_OTHER);
    at[8] = 1;
    at[4] = HARK_STATUS_ASK; /* the type */
    assert_int_equal(read_copy(at, length), HARK_STATUS_BAD);
    free(at);
}

static void states_have_names(void **state)
{
    (void)state;
    assert_string_equal(hark_job_state_name(HARK_JOB_ENDING), "ending");
    assert_string_equal(hark_job_state_name(HARK_JOB_STATES), "unknown");
    assert_string_equal(hark_process_state_name(HARK_PROCESS_RECOVERING), "recovering");
    assert_string_equal(hark_process_state_name(HARK_PROCESS_STATES), "unknown");
    assert_string_equal(hark_host_state_name(HARK_HOST_SPARE), "spare");
    assert_string_equal(hark_host_state_name(UINT32_MAX), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(comes_back), cmocka_unit_test(is_cut),
        cmocka_unit_test(is_damaged), cmocka_unit_test(is_on_no_host),
        cmocka_unit_test(is_of_another), cmocka_unit_test(states_have_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
