/* The trace: recorded, killed, merged, read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/view/trace.h"
#include "../../src/view/trace_part.h"

static char dir[64];
static const uint32_t pairs[] = {0, 0, 1, 1};
static const struct hark_trace_job job = {4, "hydee", "shm", pairs};

/* Good until the fourth call from now. */
static const char *in_dir(const char *name)
{
    static char path[4][128];
    static unsigned next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", dir, name);
    return path[next];
}

static void write_file(const char *path, const void *bytes, size_t length)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

static char *read_file(const char *path, size_t *length)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *bytes = malloc(1 << 20);
    assert_non_null(bytes);
    *length = fread(bytes, 1, (1 << 20) - 1, f);
    bytes[*length] = 0;
    fclose(f);
    return bytes;
}

/* One record of every kind, all fields set that the kind has, some at their limits. */
static struct hark_trace_record example(uint8_t kind)
{
    struct hark_trace_record r = {
        .time = 5000000 + kind, .rank = kind % 4u, .inc = 2, .kind = kind};
    switch (kind) {
    case HARK_TRACE_SEND:
    case HARK_TRACE_TRANSMIT:
    case HARK_TRACE_REPLAY:
    case HARK_TRACE_ARRIVE:
    case HARK_TRACE_DELIVER:
        r.phase = HARK_INFINITY - 1;
        r.bytes = 1u << 30;
        r.flags = kind == HARK_TRACE_SEND ? HARK_TRACE_LOGGED : HARK_TRACE_PEER_INC;
        r.peer_inc = kind == HARK_TRACE_SEND ? 0 : UINT32_MAX;
        /* fall through */
    case HARK_TRACE_SUPPRESS:
    case HARK_TRACE_DISCARD:
    case HARK_TRACE_DIVERGED:
        r.peer = kind == HARK_TRACE_SEND ? 77 : 3; /* 77: a group */
        r.ctx = UINT16_MAX;
        r.ssn = 17;
        if (kind == HARK_TRACE_SUPPRESS) r.phase = HARK_INFINITY;
        if (kind == HARK_TRACE_DIVERGED) r.id = 19;
        break;
    case HARK_TRACE_CHECKPOINT: r.bytes = 99; /* fall through */
    case HARK_TRACE_RESTART: r.phase = 6;     /* fall through */
    case HARK_TRACE_COMMIT:
    case HARK_TRACE_ROLLBACK: r.id = 12; break;
    case HARK_TRACE_FAILED:
        r.rank = HARK_TRACE_SUPERVISOR;
        r.id = 1;
        r.peer = 2;
        r.last = 3;
        break;
    case HARK_TRACE_RELEASE:
        r.rank = HARK_RECOVERY;
        r.phase = 8;
        break;
    case HARK_TRACE_START: r.phase = 1; break;
    case HARK_TRACE_CLUSTER:
        r.id = 12;
        r.peer = 1;
        break;
    default: break;
    }
    return r;
}

static void assert_same(
    const struct hark_trace_record *a, const struct hark_trace_record *b, uint64_t zero)
{
    struct hark_trace_record x = *a;
    x.time -= zero;
    assert_memory_equal(&x, b, sizeof x);
}

/* ---- round trip ------------------------------------------------------------------------------ */

/* Parts of hosts whose clocks differ come together by the clock of who merges. */
static void clocks_of_other_hosts(void **state)
{
    (void)state;
    char error[HARK_TRACE_ERROR];
    struct hark_trace trace;
    const int64_t ahead[2] = {0, -5000000000};
    const char *parts[] = {in_dir("here"), in_dir("there")};
    for (int i = 0; i < 2; i++) {
        struct hark_trace_writer *w = hark_trace_open(parts[i], &job, 0, error);
        assert_non_null(w);
        for (uint64_t n = 0; n < 3; n++) { /* in turns: 0 here, 1 there, 2 here ... */
            struct hark_trace_record r = example(HARK_TRACE_START);
            r.rank = (uint32_t)i;
            r.time = (uint64_t)((int64_t)(UINT64_C(60000000000) + 2 * n + (uint64_t)i) - ahead[i]);
            assert_int_equal(hark_trace_add(w, &r), HARK_TRACE_OK);
        }
        hark_trace_close(w);
        assert_int_equal(hark_trace_set_clock(parts[i], ahead[i]), HARK_TRACE_OK);
    }
    assert_int_equal(hark_trace_merge(in_dir("hosts"), parts, 2, error), HARK_TRACE_OK);
    assert_int_equal(hark_trace_read(in_dir("hosts"), &trace, error), HARK_TRACE_OK);
    assert_int_equal(trace.count, 6);
    for (uint32_t n = 0; n < 6; n++) {
        assert_int_equal(trace.record[n].time, n);
        assert_int_equal(trace.record[n].rank, n % 2);
    }
    hark_trace_free(&trace);
    assert_int_equal(hark_trace_set_clock(in_dir("hosts"), 1), HARK_TRACE_EFORMAT);
    assert_int_equal(hark_trace_set_clock(in_dir("nowhere"), 1), HARK_TRACE_ESYSTEM);
}

static void every_kind_comes_back(void **state)
{
    (void)state;
    char error[HARK_TRACE_ERROR];
    struct hark_trace trace;
    struct hark_trace_writer *odd = hark_trace_open(in_dir("odd"), &job, 0, error);
    struct hark_trace_writer *even = hark_trace_open(in_dir("even"), &job, 0, error);
    assert_non_null(odd);
    assert_non_null(even);
    for (uint8_t k = HARK_TRACE_START; k < HARK_TRACE_KINDS; k++) {
        struct hark_trace_record r = example(k);
        assert_int_equal(hark_trace_add(k % 2 ? odd : even, &r), HARK_TRACE_OK);
    }
    hark_trace_close(odd);
    hark_trace_close(even);
    const char *parts[] = {in_dir("even"), in_dir("odd"), "/nonexistent/part"};
    assert_int_equal(hark_trace_merge(in_dir("all"), parts, 2, error), HARK_TRACE_OK);
    assert_int_equal(hark_trace_read(in_dir("all"), &trace, error), HARK_TRACE_OK);
    assert_int_equal(trace.count, HARK_TRACE_KINDS - 1);
    for (uint8_t k = HARK_TRACE_START; k < HARK_TRACE_KINDS; k++) {
        struct hark_trace_record r = example(k);
        assert_same(&r, &trace.record[k - 1], 5000001);
    }
    assert_int_equal(trace.job.ranks, 4);
    assert_string_equal(trace.job.protocol, "hydee");
    assert_string_equal(trace.job.transport, "shm");
    assert_memory_equal(trace.job.cluster, pairs, sizeof pairs);

    /* What was read is written in the same words. */
    size_t length, again;
    FILE *f = fopen(in_dir("again"), "w");
    assert_int_equal(hark_trace_write(&trace, f), HARK_TRACE_OK);
    fclose(f);
    char *a = read_file(in_dir("all"), &length), *b = read_file(in_dir("again"), &again);
    assert_int_equal(length, again);
    assert_memory_equal(a, b, length);
    free(a);
    free(b);
    hark_trace_free(&trace);
}

static void the_text_is_as_documented(void **state)
{
    (void)state;
    static const char expected[] =
        "hark-trace 1 ranks=8 protocol=hydee transport=shm clusters=0-1+7,2,3-6\n"
        "0.000000 s.0 failed re=2 down=2-3\n"
        "0.000000 s.0 failed re=3 down=-\n"
        "12.345678 3.0 deliver from=2 ctx=0 ssn=17 phase=4 bytes=4096\n"
        "12.345678 3.1 replay to=2.1 ctx=0 ssn=18 phase=inf bytes=0 logged\n"
        "end records=4 lost=5 unfinished\n";
    static const uint32_t cluster[] = {9, 9, 4, 0, 0, 0, 0, 9};
    struct hark_trace_record r[] = {{.time = 1000,
                                        .rank = HARK_TRACE_SUPERVISOR,
                                        .id = 2,
                                        .peer = 2,
                                        .last = 3,
                                        .kind = HARK_TRACE_FAILED},
        {.time = 1000,
            .rank = HARK_TRACE_SUPERVISOR,
            .id = 3,
            .peer = HARK_RECOVERY,
            .kind = HARK_TRACE_FAILED},
        {.time = 12346678,
            .rank = 3,
            .peer = 2,
            .ssn = 17,
            .phase = 4,
            .bytes = 4096,
            .kind = HARK_TRACE_DELIVER},
        {.time = 12346678,
            .rank = 3,
            .inc = 1,
            .peer = 2,
            .peer_inc = 1,
            .ssn = 18,
            .phase = HARK_INFINITY,
            .flags = HARK_TRACE_PEER_INC | HARK_TRACE_LOGGED,
            .kind = HARK_TRACE_REPLAY}};
    struct hark_trace trace = {{8, "hydee", "shm", cluster}, r, 4, 5, true}, back;
    char *text, error[HARK_TRACE_ERROR];
    size_t length;
    FILE *f = open_memstream(&text, &length);
    assert_int_equal(hark_trace_write(&trace, f), HARK_TRACE_OK);
    fclose(f);
    assert_string_equal(text, expected);
    write_file(in_dir("documented"), text, length);
    free(text);
    assert_int_equal(hark_trace_read(in_dir("documented"), &back, error), HARK_TRACE_OK);
    assert_int_equal(back.lost, 5);
    assert_true(back.unfinished);
    hark_trace_free(&back);

    r[3].time = 5; /* time may not go back */
    f = fopen("/dev/null", "w");
    assert_int_equal(hark_trace_write(&trace, f), HARK_TRACE_EINVAL);
    r[3].time = r[2].time;
    r[3].peer = 8;
    assert_int_equal(hark_trace_write(&trace, f), HARK_TRACE_EINVAL);
    fclose(f);
    r[3].peer = 2;
    f = fopen("/dev/full", "w");
    assert_int_equal(hark_trace_write(&trace, f), HARK_TRACE_ESYSTEM);
    fclose(f);
}

static void down_is_written_in_runs(void **state)
{
    (void)state;
    char error[HARK_TRACE_ERROR];
    struct hark_trace trace;
    const uint32_t down[] = {0, 2, 3};
    const struct hark_trace_record r = {.time = 7, .id = 1, .rank = HARK_TRACE_SUPERVISOR};
    struct hark_trace_writer *t = hark_trace_open(in_dir("down"), &job, 0, error);
    assert_int_equal(hark_trace_add_failed(t, &r, down, 3), HARK_TRACE_OK);
    assert_int_equal(hark_trace_add_failed(t, &r, NULL, 0), HARK_TRACE_OK);
    hark_trace_close(t);
    const char *parts[] = {in_dir("down")};
    assert_int_equal(hark_trace_merge(in_dir("down.txt"), parts, 1, error), HARK_TRACE_OK);
    assert_int_equal(hark_trace_read(in_dir("down.txt"), &trace, error), HARK_TRACE_OK);
    assert_int_equal(trace.count, 3);
    assert_int_equal(trace.record[0].peer, 0);
    assert_int_equal(trace.record[0].last, 0);
    assert_int_equal(trace.record[1].peer, 2);
    assert_int_equal(trace.record[1].last, 3);
    assert_int_equal(trace.record[2].peer, HARK_RECOVERY);
    hark_trace_free(&trace);
}

static void merge_sorts_many_parts(void **state)
{
    (void)state;
    enum { PARTS = 37, EACH = 500 };
    char error[HARK_TRACE_ERROR], name[PARTS][128];
    const char *parts[PARTS];
    struct hark_trace trace;
    for (uint32_t p = 0; p < PARTS; p++) {
        snprintf(name[p], sizeof name[p], "%s/many-%u", dir, (unsigned)p);
        parts[p] = name[p];
        struct hark_trace_writer *t = hark_trace_open(name[p], &job, 0, error);
        assert_non_null(t);
        for (uint32_t i = 0; i < EACH; i++) {
            struct hark_trace_record r = {.time = 1000 + i * (p % 5 + 1) * 10,
                .rank = p % 4,
                .inc = p,
                .ssn = i + 1,
                .kind = HARK_TRACE_DELIVER};
            if (i == 3) r.time = 1; /* a clock that goes back is held */
            hark_trace_add(t, &r);
        }
        hark_trace_close(t);
    }
    assert_int_equal(hark_trace_merge(in_dir("many.txt"), parts, PARTS, error), HARK_TRACE_OK);
    assert_int_equal(hark_trace_read(in_dir("many.txt"), &trace, error), HARK_TRACE_OK); /* refuses
                                                                                            what is
                                                                                            unsorted
                                                                                          */
    assert_int_equal(trace.count, PARTS * EACH);
    uint64_t next[PARTS] = {0};
    for (uint64_t i = 0; i < trace.count; i++)
        assert_int_equal(trace.record[i].ssn, ++next[trace.record[i].inc]);
    hark_trace_free(&trace);
}

/* ---- recording ------------------------------------------------------------------------------- */

static void refusals_and_room(void **state)
{
    (void)state;
    char error[HARK_TRACE_ERROR];
    struct hark_trace trace;
    struct hark_trace_record r = example(HARK_TRACE_START);
    struct hark_trace_job worse = job;
    assert_int_equal(hark_trace_add(NULL, &r), HARK_TRACE_OK); /* tracing is off */
    hark_trace_close(NULL);
    worse.protocol = "HYDEE x";
    assert_null(hark_trace_open(in_dir("x"), &worse, 0, error));
    worse = job;
    worse.ranks = HARK_TRACE_RANKS_MAX + 1;
    assert_null(hark_trace_open(in_dir("x"), &worse, 0, error));
    assert_null(hark_trace_open("/nonexistent/part", &job, 0, error));
    assert_non_null(strstr(error, "/nonexistent/part: No such file"));
    assert_null(hark_trace_open(in_dir("x"), &job, 100, error));
    struct hark_trace_writer *t = hark_trace_open(in_dir("limited"), &job, 300000, error);
    assert_non_null(t);
    r.kind = HARK_TRACE_KINDS;
    assert_int_equal(hark_trace_add(t, &r), HARK_TRACE_EINVAL);
    r.kind = HARK_TRACE_START;
    uint64_t kept = 0, lost = 0;
    for (int i = 0; i < 6000; i++) *(hark_trace_add(t, &r) == HARK_TRACE_OK ? &kept : &lost) += 1;
    assert_int_equal(kept, 4096); /* 4 KiB of head, 64 KiB of buffer, three times that behind it */
    hark_trace_close(t);
    const char *parts[] = {in_dir("limited")};
    char expected[HARK_TRACE_ERROR];
    assert_int_equal(hark_trace_merge(in_dir("limited.txt"), parts, 1, error), HARK_TRACE_OK);
    snprintf(expected, sizeof expected, "%d records found no room", (int)lost);
    assert_string_equal(error, expected);
    assert_int_equal(hark_trace_read(in_dir("limited.txt"), &trace, error), HARK_TRACE_OK);
    assert_int_equal(trace.count, kept);
    assert_int_equal(trace.lost, lost);
    hark_trace_free(&trace);
}

static void a_record_is_cheap(void **state)
{
    (void)state;
    enum { MANY = 1000000 };
    char error[HARK_TRACE_ERROR];
    struct hark_trace_record r = example(HARK_TRACE_DELIVER);
    struct timespec a, b;
    struct hark_trace_writer *t = hark_trace_open(in_dir("cheap"), &job, 0, error);
    assert_non_null(t);
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (uint32_t i = 0; i < MANY; i++) {
        r.time++;
        hark_trace_add(t, &r);
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    hark_trace_close(t);
    unlink(in_dir("cheap"));
    double ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / MANY;
    print_message("%.1f ns a record\n", ns);
    assert_true(ns < 5000); /* generous: sanitizers, valgrind and busy machines run this too */
}

/* ---- kill -9 --------------------------------------------------------------------------------- */

static void write_until_killed(const char *path, volatile uint64_t *done)
{
    char error[HARK_TRACE_ERROR];
    struct hark_trace_writer *t = hark_trace_open(path, &job, 0, error);
    if (t == NULL) _exit(1);
    for (uint64_t i = 1;; i++) {
        struct hark_trace_record r = {.time = i,
            .ssn = i,
            .phase = i * 3,
            .bytes = i * 7,
            .rank = 1,
            .peer = 2,
            .ctx = (uint16_t)i,
            .kind = HARK_TRACE_DELIVER};
        if (hark_trace_add(t, &r) != HARK_TRACE_OK) _exit(1);
        *done = i;
    }
}

static void nothing_recorded_is_lost_to_sigkill(void **state)
{
    (void)state;
    char error[HARK_TRACE_ERROR];
    char path[128];
    snprintf(path, sizeof path, "%s/killed", dir);
    volatile uint64_t *done =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(done, MAP_FAILED);
    for (long round = 0; round < 150; round++) {
        struct hark_trace trace;
        struct hark_trace_writer *other = hark_trace_open(in_dir("survivor"), &job, 0, error);
        *done = 0;
        unlink(path);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) write_until_killed(path, done);
        /* From before the file exists until some thousand records later. */
        struct timespec pause = {0, round * round * 29};
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        hark_trace_close(other);
        const char *parts[] = {path, in_dir("survivor")};
        assert_int_equal(hark_trace_merge(in_dir("killed.txt"), parts, 2, error), HARK_TRACE_OK);
        assert_int_equal(hark_trace_read(in_dir("killed.txt"), &trace, error), HARK_TRACE_OK);
        assert_true(trace.count == *done || trace.count == *done + 1);
        for (uint64_t i = 1; i <= trace.count; i++) {
            const struct hark_trace_record *r = &trace.record[i - 1];
            if (r->time != i - 1 || r->ssn != i || r->phase != i * 3 || r->bytes != i * 7 ||
                r->ctx != (uint16_t)i)
                fail_msg("record %llu is torn", (unsigned long long)i);
        }
        hark_trace_free(&trace);
    }
    munmap((void *)(uintptr_t)done, 4096);
}

/* ---- damaged parts --------------------------------------------------------------------------- */

static int merge_one(const char *name, char *error)
{
    const char *parts[] = {in_dir(name)};
    return hark_trace_merge(in_dir("merged.txt"), parts, 1, error);
}

/* Any byte of the head may be wrong: no crash, and nothing else than these two answers. */
static void turn_each_byte(char *good, size_t head, size_t length)
{
    char error[HARK_TRACE_ERROR];
    for (size_t i = 0; i < head; i++) {
        char was = good[i];
        good[i] = (char)~good[i];
        write_file(in_dir("bad"), good, length);
        int status = merge_one("bad", error);
        assert_true(status == HARK_TRACE_OK || status == HARK_TRACE_EFORMAT);
        good[i] = was;
    }
}

static void damaged_parts_are_named(void **state)
{
    (void)state;
    char error[HARK_TRACE_ERROR];
    size_t length;
    struct hark_trace_record r = example(HARK_TRACE_START);
    struct hark_trace_writer *t = hark_trace_open(in_dir("good"), &job, 0, error);
    for (int i = 0; i < 3; i++) hark_trace_add(t, &r);
    hark_trace_close(t);
    char *good = read_file(in_dir("good"), &length);
    struct hark_part_head *head = (void *)good;
    struct hark_trace_record *record = (void *)(good + head->buffer_at);
    assert_int_equal(length, head->buffer_at + HARK_PART_BUFFER * sizeof *record);

    assert_int_equal(merge_one("no such part", error), HARK_TRACE_EFORMAT);
    write_file(in_dir("bad"), "", 0);
    assert_int_equal(merge_one("bad", error), HARK_TRACE_EFORMAT); /* an empty one is none */
    for (size_t cut = 0; cut < length; cut += cut < 256 || cut + 8 > length ? 1 : 61) {
        write_file(in_dir("bad"), good, cut);
        int status = merge_one("bad", error);
        if (status != HARK_TRACE_OK) assert_int_equal(status, HARK_TRACE_EFORMAT);
        else assert_true(cut == length);
    }
    record[1].kind = HARK_TRACE_KINDS;
    write_file(in_dir("bad"), good, length);
    assert_int_equal(merge_one("bad", error), HARK_TRACE_EFORMAT);
    assert_non_null(strstr(error, "bad: record 2: no such kind"));
    record[1].kind = HARK_TRACE_START;
    record[1].time = 1;
    write_file(in_dir("bad"), good, length);
    assert_int_equal(merge_one("bad", error), HARK_TRACE_EFORMAT);
    assert_non_null(strstr(error, "time goes back"));
    record[1].time = record[0].time;
    record[1].rank = 4;
    write_file(in_dir("bad"), good, length);
    assert_int_equal(merge_one("bad", error), HARK_TRACE_EFORMAT);
    record[1].rank = 1;
    head->ranks = 3; /* of another job */
    write_file(in_dir("bad"), good, length);
    char first[128], second[128];
    snprintf(first, sizeof first, "%s/good", dir);
    snprintf(second, sizeof second, "%s/bad", dir);
    const char *two[] = {first, second};
    assert_int_equal(hark_trace_merge(in_dir("merged.txt"), two, 2, error), HARK_TRACE_EFORMAT);
    assert_non_null(strstr(error, "another job"));
    turn_each_byte(good, sizeof *head, length);
    assert_int_equal(hark_trace_merge(first, two, 1, error), HARK_TRACE_EINVAL);
    assert_non_null(strstr(error, "itself a part"));
    assert_int_equal(hark_trace_merge("/nonexistent/out", two, 1, error), HARK_TRACE_ESYSTEM);
    assert_non_null(strstr(error, "/nonexistent/out"));
    free(good);
}

/* ---- hostile text ---------------------------------------------------------------------------- */

#define HEAD "hark-trace 1 ranks=4 protocol=hydee transport=shm clusters=0-1,2-3\n"

static const struct {
    const char *text, *says;
} hostile[] = {
    {"", ":1: expected the first line of a trace"},
    {"hark-tr", ":1: expected the first line of a trace"},
    {"\x7f"
     "ELF\x02\x01\x01\x01 and so on and on",
        "found '?ELF"},
    {"hark-trace 2 ranks=4\n", ":1: expected the first line"},
    {"hark-trace 1 ranks=4294967297 protocol=a transport=b clusters=0\n",
        "expected ranks=1..1048576"},
    {"hark-trace 1 ranks=1048577 protocol=a transport=b clusters=0\n", "expected ranks=1..1048576"},
    {"hark-trace 1 ranks=0 protocol=a transport=b clusters=0\n", "expected ranks=1..1048576"},
    {"hark-trace 1 ranks=-1 protocol=a transport=b clusters=0\n", "expected ranks=1..1048576"},
    {"hark-trace 1 ranks=2 protocol=<b> transport=b clusters=0-1\n", "expected names of letters"},
    {"hark-trace 1 ranks=2 protocol= transport=b clusters=0-1\n", "expected protocol=NAME"},
    {"hark-trace 1 ranks=2 protocol=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa transport=b "
     "clusters=0-1\n",
        "protocol=NAME"},
    {"hark-trace 1 ranks=2 protocol=a transport=b clusters=0-2\n",
        "expected the last rank of a run"},
    {"hark-trace 1 ranks=2 protocol=a transport=b clusters=0,0\n", "expected each rank once"},
    {"hark-trace 1 ranks=2 protocol=a transport=b clusters=0\n",
        "expected every rank in clusters="},
    {"hark-trace 1 ranks=2 protocol=a transport=b clusters=0,1,\n", "expected a rank below ranks="},
    {"hark-trace 1 ranks=2 protocol=a transport=b clusters=0,1 \n", "the end of clusters="},
    {HEAD, ":2: expected a whole record, or `end records=N`, found the end of the file"},
    {HEAD "0.000000 0.0 finish\n", ":3: expected a whole record"},
    {HEAD "0.000000 0.0 finish", ":2: expected a whole record"},
    {HEAD "0.000000 0.0 finish\nend records=2\n", ":3: expected records=1, found 'records=2'"},
    {HEAD "end records=0\nend records=0\n", "expected the end of the file behind `end`"},
    {HEAD "end records=0 lost=\n", "expected a number of lost records"},
    {HEAD "end records=0 x\n", "expected the end of the line, found ' x'"},
    {HEAD "\n", ":2: expected a time in ms with six decimals, or `end`, found the end of the line"},
    {HEAD "0.0 0.0 finish\n", "expected a time in ms"},
    {HEAD "99999999999999999999.000000 0.0 finish\n", "expected a time in ms"},
    {HEAD "18446744073709.551616 0.0 finish\n", "expected a time in ms"},
    {HEAD "1.000000 0.0 finish\n0.999999 0.0 finish\n",
        ":3: expected a time not below the line before"},
    {HEAD "0.000000 4.0 finish\n", "expected rank.incarnation, found '4.0 finish'"},
    {HEAD "0.000000 0.4294967296 finish\n", "expected rank.incarnation"},
    {HEAD "0.000000 0.0 explode\n", "expected a kind of record, found 'explode'"},
    {HEAD "0.000000 0.0 deliverx from=1\n", "expected a kind of record"},
    {HEAD "0.000000 0.0 finish now\n", "expected the end of the line, found ' now'"},
    {HEAD "0.000000 0.0 deliver from=4 ctx=0 ssn=1 phase=1 bytes=1\n",
        "expected from= within its range in `deliver`"},
    {HEAD "0.000000 0.0 deliver from=1 ctx=65536 ssn=1 phase=1 bytes=1\n",
        "expected ctx= within its range"},
    {HEAD "0.000000 0.0 deliver from=1 ctx=0 ssn=18446744073709551616 phase=1 bytes=1\n",
        "expected ssn= within"},
    {HEAD "0.000000 0.0 deliver from=1 ctx=0 ssn=1 phase=1\n",
        "expected bytes= within its range in `deliver`, found the end"},
    {HEAD "0.000000 s.0 failed re=1 down=3-2\n", "expected down= within"},
    {HEAD "1.000000 1.0 cluster id=7 to=r\n", ":2: expected ranks of the job, below 4, in "
                                              "`cluster`, found '1.000000 1.0 cluster id=7 to=r'"},
    {HEAD "1.000000 s.0 cluster id=7 to=0\n",
        ":2: expected ranks of the job, below 4, in `cluster`"},
    {HEAD "0.000000 s.0 failed re=1 down=2-4\n", "expected down= within"},
};

static void hostile_text_gives_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        char error[HARK_TRACE_ERROR] = "";
        struct hark_trace trace;
        write_file(in_dir("hostile"), hostile[i].text, strlen(hostile[i].text));
        assert_int_equal(hark_trace_read(in_dir("hostile"), &trace, error), HARK_TRACE_EFORMAT);
        if (strstr(error, hostile[i].says) == NULL ||
            strncmp(error, in_dir("hostile"), strlen(dir)) != 0)
            fail_msg("case %zu says: %s", i, error);
        assert_null(strchr(error, '\n'));
        assert_null(trace.record);
        assert_int_equal(trace.count, 0);
    }
    struct hark_trace trace;
    char error[HARK_TRACE_ERROR];
    assert_int_equal(hark_trace_read("/nonexistent/trace", &trace, error), HARK_TRACE_ESYSTEM);
    assert_non_null(strstr(error, "No such file"));
    assert_int_equal(hark_trace_read("/", &trace, error), HARK_TRACE_ESYSTEM);
}

static void endless_lines_are_not_swallowed(void **state)
{
    (void)state;
    char error[HARK_TRACE_ERROR], text[4000];
    struct hark_trace trace;
    memset(text, '7', sizeof text);
    memcpy(text, HEAD, sizeof HEAD - 1);
    write_file(in_dir("endless"), text, sizeof text);
    assert_int_equal(hark_trace_read(in_dir("endless"), &trace, error), HARK_TRACE_EFORMAT);
    assert_non_null(strstr(error, ":2: expected a whole record"));
    assert_int_equal(hark_trace_read("/dev/zero", &trace, error), HARK_TRACE_EFORMAT);
    memcpy(text, HEAD "0.000000 0.0\0 finish\nend", sizeof HEAD + 22);
    write_file(in_dir("endless"), text, sizeof HEAD + 22);
    assert_int_equal(hark_trace_read(in_dir("endless"), &trace, error), HARK_TRACE_EFORMAT);
}

static void truncation_is_noticed_at_every_byte(void **state)
{
    (void)state;
    char error[HARK_TRACE_ERROR];
    struct hark_trace trace;
    size_t length;
    char *text = read_file(HARK_TEST_DATA "/hydee-8.trace", &length);
    size_t dense = 3000; /* the beginning and the end byte by byte, what is like them in larger
                            steps */
    for (size_t cut = 0; cut < length; cut += cut < dense || cut + dense > length ? 1 : 97) {
        write_file(in_dir("cut"), text, cut);
        assert_int_equal(hark_trace_read(in_dir("cut"), &trace, error), HARK_TRACE_EFORMAT);
        assert_null(strchr(error, '\n'));
    }
    write_file(in_dir("cut"), text, length);
    assert_int_equal(hark_trace_read(in_dir("cut"), &trace, error), HARK_TRACE_OK);
    hark_trace_free(&trace);
    /* Any byte may be another. */
    for (size_t i = 0; i < 2000; i++) {
        char was = text[i];
        text[i] = (char)(i * 37 + 1);
        write_file(in_dir("cut"), text, length);
        if (hark_trace_read(in_dir("cut"), &trace, error) == HARK_TRACE_OK) hark_trace_free(&trace);
        else assert_non_null(strstr(error, "expected"));
        text[i] = was;
    }
    free(text);
}

static int make_dir(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%.40s/hark-trace-XXXXXX", tmp != NULL ? tmp : "/tmp");
    return mkdtemp(dir) == NULL;
}

static int remove_dir(void **state)
{
    char command[96];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_of_other_hosts),
        cmocka_unit_test(every_kind_comes_back),
        cmocka_unit_test(the_text_is_as_documented),
        cmocka_unit_test(down_is_written_in_runs),
        cmocka_unit_test(merge_sorts_many_parts),
        cmocka_unit_test(refusals_and_room),
        cmocka_unit_test(a_record_is_cheap),
        cmocka_unit_test(nothing_recorded_is_lost_to_sigkill),
        cmocka_unit_test(damaged_parts_are_named),
        cmocka_unit_test(hostile_text_gives_one_line),
        cmocka_unit_test(endless_lines_are_not_swallowed),
        cmocka_unit_test(truncation_is_noticed_at_every_byte),
    };
    return cmocka_run_group_tests_name("trace", tests, make_dir, remove_dir);
}
