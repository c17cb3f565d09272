/* Bad usage and bad input of the command: one line that says what, where and what was expected,
 * status 2, and nothing is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

#define MOST 24

/* Runs `hark` with these words (`@` at the beginning of one stands for the test's directory);
 * status 2 and this line. */
static void expect(struct run *r, const char *line, const char *const words[])
{
    const char *argv[MOST + 2] = {HARK_COMMAND};
    static char path[MOST][600];
    char expected[1200], *at;
    size_t n = 0;
    for (; words[n] && n < MOST; n++) {
        argv[n + 1] = words[n];
        if (words[n][0] != '@') continue;
        snprintf(path[n], sizeof path[n], "%s%s", r->place, words[n] + 1);
        argv[n + 1] = path[n];
    }
    argv[n + 1] = NULL;
    run_command(r, argv);
    run_expect_out(r, "");
    snprintf(expected, sizeof expected, "%s\n", line);
    while ((at = strstr(expected, "@/")) != NULL) { /* the line names files by their whole path */
        char rest[1200];
        snprintf(rest, sizeof rest, "%s", at + 1);
        snprintf(at, sizeof expected - (size_t)(at - expected), "%s%s", r->place, rest);
    }
    assert_string_equal(r->err, expected);
    assert_int_equal(r->status, 2);
}
#define EXPECT(line, ...) expect(*state, line, (const char *const[]){__VA_ARGS__, NULL})

static void put(struct run *r, const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", r->place, name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void the_command(void **state)
{
    EXPECT("hark: expected run, ps, store, check, replay, sim, partition, balance, trace, compare, "
           "mpi, help or "
           "--version, found \"walk\"",
        "walk");
    EXPECT("hark help: expected run, ps, store, check, replay, sim, partition, balance, trace, "
           "compare, mpi or "
           "protocols, found \"walk\"",
        "help", "walk");
    EXPECT("hark help: expected one subcommand, found \"extra\" too", "help", "replay", "extra");
    const char *const nothing[] = {NULL};
    expect(*state,
        "usage: hark run|ps|store|check|replay|sim|partition|balance|trace|compare|mpi [OPTION]... "
        ", "
        "hark help "
        "[SUBCOMMAND], hark --version",
        nothing);
}

static void the_program(void **state)
{
    EXPECT("hark run: expected a program: hark run [OPTION]... -- PROGRAM [ARG]...", "run");
    EXPECT("hark run: expected a program: hark run [OPTION]... -- PROGRAM [ARG]...", "run", "-n",
        "2", "--");
    EXPECT("hark run: no-such-program-of-hark: no such program in PATH", "run", "--",
        "no-such-program-of-hark");
    EXPECT(
        "hark run: ./no/such/program: No such file or directory", "run", "--", "./no/such/program");
    EXPECT("hark run: /: expected a program, this can not be executed", "run", "--", "/");
    EXPECT(
        "hark run: expected a program: hark run [OPTION]... -- PROGRAM [ARG]...", "run", "--", "");
    put(*state, "text", "text\n");
    EXPECT("hark run: @/text: expected a program, this can not be executed", "run", "--", "@/text");
}

static void traces(void **state)
{
    EXPECT("hark trace: --svg OUT is missing: hark trace FILE --svg OUT [--from MS] [--to MS]",
        "trace", "t.txt");
    EXPECT("hark trace: usage: hark trace FILE --svg OUT [--from MS] [--to MS]", "trace");
}

static void values(void **state)
{
    EXPECT(
        "hark run: -n: expected 1 to 65536 processes, found \"0\"", "run", "-n", "0", "--", "true");
    EXPECT("hark run: -n: expected 1 to 65536 processes, found \"-1\"", "run", "-n", "-1", "--",
        "true");
    EXPECT(
        "hark run: -n: expected 1 to 65536 processes, found \"two\"", "run", "-ntwo", "--", "true");
    EXPECT("hark run: -n: expected 1 to 65536 processes, found \"99999999999999999999999\"", "run",
        "-n", "99999999999999999999999", "--", "true");
    EXPECT("hark run: --interval: expected a time such as 500ms, 2s or 5m, or 0, found \"5\"",
        "run", "--interval", "5", "--", "true");
    static const char *const mtbf[] = {"daly:", "daly:0", "daly:0s", "daly:-5s", "daly:5",
        "daly:5 s", "daly:5s:", "daly:99999999999h"};
    for (size_t i = 0; i < sizeof mtbf / sizeof mtbf[0]; i++) {
        char line[200];
        snprintf(line, sizeof line,
            "hark run: --interval: expected daly:MTBF, a time above 0 such as 20ms, 3s, 5m or 2h, "
            "found "
            "\"%s\"",
            mtbf[i]);
        EXPECT(line, "run", "--interval", mtbf[i], "--", "true");
    }
    EXPECT("hark run: --interval: expected a time of at most 36500d, found \"307445735m\"", "run",
        "--interval", "307445735m", "--", HARK_OBEDIENT);
    EXPECT("hark run: --interval: expected a time of at most 36500d, found \"daly:36501d\"", "run",
        "--interval", "daly:36501d", "--", HARK_OBEDIENT);
    EXPECT("hark run: --stall-limit: expected a time of at most 36500d, found \"307445735m\"",
        "run", "--stall-limit", "307445735m", "--", HARK_OBEDIENT);
    EXPECT("hark run: --interval: expected a time such as 500ms, 2s or 5m, or 0, found \"-5s\"",
        "run", "--interval", "-5s", "--", "true");
    EXPECT("hark run: --log-limit: expected bytes such as 65536, 64K, 16M or 2G, found \"16MB\"",
        "run", "--log-limit", "16MB", "--", "true");
    EXPECT("hark run: --log-limit: expected bytes such as 65536, 64K, 16M or 2G, found "
           "\"99999999999T\"",
        "run", "--log-limit", "99999999999T", "--", "true");
    EXPECT(
        "hark run: --copies: expected 1 to 8, found \"9\"", "run", "--copies", "9", "--", "true");
    EXPECT("hark run: --copies: expected at most 1, for other processes have them, found 3", "run",
        "-n", "2", "--protocol", "scmel", "--copies", "3", "--", HARK_OBEDIENT);
    EXPECT("hark run: --chaos: expected SEED or SEED:COUNT, at most 10000 kills, found \"7:\"",
        "run", "--chaos", "7:", "--", "true");
    EXPECT("hark run: --copies needs --protocol scmel, team or camel; this run uses hydee", "run",
        "--copies", "2", "--", "true");
    EXPECT("hark run: --copies needs a value", "run", "--copies");
    EXPECT(
        "hark run: --faster: no such option, see `hark help run`", "run", "--faster", "--", "true");
    EXPECT("hark run: -x: no such option, see `hark help run`", "run", "-x", "--", "true");
    EXPECT("hark run: --resume needs --store DIR, the store of the job that is to go on", "run",
        "--resume", "--", "true");
    EXPECT("hark run: --spill needs --log-limit SIZE, over which the log spills", "run", "--spill",
        "@/s", "--", "true");
}

/* The list of those there are grows: only its beginning and its end are looked at. */
static void names(void **state)
{
    struct run *r = *state;
    const char *const unknown[][6] = {{HARK_COMMAND, "run", "--protocol", "hope", "--", "true"},
        {HARK_COMMAND, "run", "--protocol", "recovery", "--", "true"},
        {HARK_COMMAND, "run", "--transport", "pigeon", "--", "true"}};
    for (size_t i = 0; i < 3; i++) {
        const char *argv[] = {unknown[i][0], unknown[i][1], unknown[i][2], unknown[i][3],
            unknown[i][4], unknown[i][5], NULL};
        char text[100];
        run_command(r, argv);
        snprintf(text, sizeof text, "hark run: %s: expected one of ", argv[2]);
        run_expect_err(r, text);
        snprintf(text, sizeof text, ", found \"%s\"\n", argv[3]);
        run_expect_err(r, text);
        assert_ptr_equal(strchr(r->err, '\n') + 1, r->err + strlen(r->err));
        assert_int_equal(r->status, 2);
    }
}

static void clusters(void **state)
{
    put(*state, "two", "0-1\n2\n1\n");
    EXPECT("hark run: @/two:3: expected every rank once, found rank 1 again (first in line 1)",
        "run", "-n", "3", "--clusters", "@/two", "--", "true");
    EXPECT("hark run: @/two:2: expected ranks below 2, found 2", "run", "-n", "2", "--clusters",
        "@/two", "--", "true");
    put(*state, "one", "0-1\n3\n");
    EXPECT("hark run: @/one: expected every rank once, rank 2 is in no cluster", "run", "-n", "4",
        "--clusters", "@/one", "--", "true");
    EXPECT("hark run: --clusters: expected 1 to 4 clusters of 4 processes, found 5", "run", "-n",
        "4", "--clusters", "5", "--", "true");
    EXPECT("hark run: --clusters: expected 1 to 4 clusters of 4 processes, found 0", "run", "-n",
        "4", "--clusters", "0", "--", "true");
    EXPECT("hark run: --clusters: expected a file, a number of clusters or `auto`: @/none: No such "
           "file or directory",
        "run", "--clusters", "@/none", "--", "true");
    EXPECT("hark run: --clusters: expected a file, a number of clusters or `auto`: @/t: Is a "
           "directory",
        "run", "--clusters", "@/t", "--", "true");
}

static void kills(void **state)
{
    EXPECT("hark run: --kill: expected a rank below 4, found 4", "run", "-n", "4", "--kill", "4@10",
        "--", "true");
    EXPECT("hark run: --kill: expected a rank below 4, found 9", "run", "--kill", "9@10", "-n", "4",
        "--", "true");
    EXPECT("hark run: --kill: expected RANK@DELIVERIES, deliveries from 1, found \"3\"", "run",
        "--kill", "3", "--", "true");
    EXPECT("hark run: --kill: expected RANK@DELIVERIES, deliveries from 1, found \"3@0\"", "run",
        "--kill", "3@0", "--", "true");
    EXPECT("hark run: --kill: expected RANK@DELIVERIES, deliveries from 1, found \"all@7\"", "run",
        "--kill", "all@7", "--", "true");
    EXPECT("hark run: --kill: protocol none has no recovery process", "run", "--protocol", "none",
        "--kill", "recovery@7", "--", "true");
}

/* Of those that can do without: under camel every broadcast is one, and the others know no groups.
 */
static void multicasts(void **state)
{
    static const char *const others[] = {"none", "coordinated", "scmel", "camel", "sendet"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char line[100];
        snprintf(line, sizeof line,
            "hark run: --camel needs --protocol hydee or team; this run uses %s", others[i]);
        EXPECT(line, "run", "--camel", "--protocol", others[i], "--", "true");
        EXPECT(line, "run", "--protocol", others[i], "--camel", "--report-tree", "2", "--", "true");
    }
    EXPECT("hark run: --camel cannot be combined with --exact-gate", "run", "--camel",
        "--exact-gate", "--", "true");
    EXPECT("hark run: --camel cannot be combined with --exact-gate", "run", "--exact-gate",
        "--protocol", "hydee", "--camel", "--", "true");
    EXPECT("hark run: 2: no such program in PATH", "run", "--camel", "2", "--", "true"); /* it takes
                                                                                            no value
                                                                                          */
}

static void files(void **state)
{
    struct run *r = *state;
    char path[600];
    put(r, "file", "");
    EXPECT("hark run: --trace @/no/trace: No such file or directory", "run", "--trace",
        "@/no/trace", "--", "true");
    EXPECT("hark run: --json @/no/json: No such file or directory", "run", "--json", "@/no/json",
        "--", "true");
    EXPECT("hark: spill directory @/no/spill: No such file or directory", "run", "--log-limit",
        "1M", "--spill", "@/no/spill", "--", "true");
    EXPECT("hark: spill directory @/file: is no directory", "run", "--log-limit", "1M", "--spill",
        "@/file", "--", "true");
    EXPECT("hark: store @/no/store: No such file or directory; the directory above it must exist",
        "run", "--store", "@/no/store", "--", "true");
    EXPECT("hark: store @/file: Not a directory", "run", "--store", "@/file", "--", "true");
    snprintf(path, sizeof path, "%s/full", r->place);
    assert_int_equal(mkdir(path, 0700), 0);
    put(r, "full/letters", "");
    snprintf(path, sizeof path, "%s/dangling", r->place);
    assert_int_equal(symlink("nowhere", path), 0);
    EXPECT("hark: store @/dangling: it is a link to what is not there", "run", "--store",
        "@/dangling", "--", "true");
    EXPECT("hark: spill directory @/new: expected one that is not in the store", "run", "--store",
        "@/new", "--log-limit", "1M", "--spill", "@/new", "--", "true");
    EXPECT("hark: spill directory @/new/spill: expected one that is not in the store", "run",
        "--store", "@/new", "--log-limit", "1M", "--spill", "@/new/spill", "--", "true");
    snprintf(path, sizeof path, "%s/new", r->place);
    run_command(r, (const char *const[]){HARK_COMMAND, "run", "--store", path, "--", "true", NULL});
    assert_int_equal(r->status, 1); /* the store can be used all the same */
    EXPECT("hark: store @/full: is not empty and has no job file: not a store of hark", "run",
        "--store", "@/full", "--", "true");
    EXPECT("hark: store /proc/self/job: No such file or directory", "run", "--store",
        "/proc/self/job", "--", "true");
}

/* What can be set depends on the transport. */
static void options(void **state)
{
    EXPECT("hark run: --option: expected NAME=VALUE, NAME for transport shm one of frame-limit, "
           "answer-ms, ring, spin, found "
           "\"window=1M\"",
        "run", "--option", "window=1M", "--", "true");
    EXPECT("hark run: --option: expected NAME=VALUE, NAME for transport uv one of frame-limit, "
           "answer-ms, handshake-ms, "
           "strangers, window, found \"ring=1M\"",
        "run", "--option", "ring=1M", "--transport", "uv", "--", "true");
    EXPECT("hark run: --option: expected NAME=VALUE, NAME for transport shm one of frame-limit, "
           "answer-ms, ring, spin, found "
           "\"ring\"",
        "run", "--option", "ring", "--", "true");
    EXPECT("hark run: --option: ring: expected a power of two from 262144 to 268435456, found "
           "\"300000\"",
        "run", "--option", "ring=300000", "--", "true");
    EXPECT("hark run: --option: frame-limit: expected 131072 to 1073741824, found \"2G\"", "run",
        "--option", "frame-limit=2G", "--", "true");
    EXPECT("hark run: --option: answer-ms: expected 1 to 3600000, found \"0\"", "run", "--option",
        "answer-ms=0", "--", "true");
    EXPECT("hark run: --option: strangers: expected 1 to 65536, found \"\"", "run", "--transport",
        "uv", "--option", "strangers=", "--", "true");
#if HARK_FABRIC
    EXPECT("hark run: --option: provider: expected one of tcp, verbs, cxi, efa, opx, psm3, psm2, "
           "found \"TCP\"",
        "run", "--transport", "fabric", "--option", "provider=TCP", "--", "true");
    EXPECT("hark run: --encrypt cannot be used with --transport fabric, which does not encrypt",
        "run", "--transport", "fabric", "--encrypt", "--", "true");
    EXPECT("hark run: --encrypt cannot be used with --option between=fabric: nothing is encrypted "
           "over libfabric",
        "run", "--transport", "mixed", "--option", "between=fabric", "--encrypt", "--", "true");
    EXPECT("hark run: --option: provider needs between=fabric", "run", "--transport", "mixed",
        "--option", "provider=verbs", "--", "true");
    EXPECT("hark run: --option: handshake-ms cannot be used with between=fabric", "run",
        "--transport", "mixed", "--option", "between=fabric", "--option", "handshake-ms=5", "--",
        "true");
#endif
}

static void names_of_options(void **state)
{
    EXPECT("hark run: --n: no such option, expected -n", "run", "--n", "-n", "2", "--", "true");
    EXPECT("hark run: --n: no such option, expected -n", "run", "--n=4", "--", "true");
    EXPECT("hark run: --no-dig: no such option, expected its whole name, --no-digest", "run",
        "--no-dig", "--", "true");
    EXPECT("hark run: --spil: no such option, expected its whole name, --spill", "run", "--spil",
        "x", "--", "true");
    EXPECT("hark run: --protoco: no such option, expected its whole name, --protocol", "run",
        "--protoco=hydee", "--", "true");
    EXPECT(
        "hark run: --no-digest takes no value, found \"4\"", "run", "--no-digest=4", "--", "true");
    EXPECT("hark run: --nonsense=4: no such option, see `hark help run`", "run", "--nonsense=4",
        "--", "true");
    EXPECT("hark run: --store needs a value", "run", "--store");
}

static void a_store_of_another_job(void **state)
{
    struct run *r = *state;
    char store[600];
    snprintf(store, sizeof store, "%s/s", r->place);
    const char *const first[] = {HARK_COMMAND, "run", "-n", "2", "--protocol", "coordinated",
        "--store", store, "--", HARK_FAKE_PROCESS, "exit=1", NULL};
    run_command(r, first);
    assert_int_equal(r->status, 1);
    EXPECT("hark: store @/s: it holds a job already, expected a new one, or --resume", "run", "-n",
        "2", "--protocol", "coordinated", "--store", "@/s", "--", HARK_FAKE_PROCESS, "exit=1");
    EXPECT("hark: store @/s: belongs to a job of 2 processes, expected 3", "run", "-n", "3",
        "--protocol", "coordinated", "--store", "@/s", "--resume", "--", HARK_FAKE_PROCESS,
        "exit=1");
    EXPECT("hark: @/s: the store belongs to a job with protocol=coordinated, this one has "
           "protocol=none",
        "run", "-n", "2", "--protocol", "none", "--store", "@/s", "--resume", "--",
        HARK_FAKE_PROCESS, "exit=1");
    EXPECT("hark: @/s: the store belongs to a job with clusters=0;1, this one has clusters=0-1",
        "run", "-n", "2", "--protocol", "coordinated", "--clusters", "1", "--store", "@/s",
        "--resume", "--", HARK_FAKE_PROCESS, "exit=1");
    EXPECT("hark: @/s: the store belongs to a job with program=" HARK_FAKE_PROCESS
           " exit=1, this one has program=" HARK_FAKE_PROCESS " exit=2",
        "run", "-n", "2", "--protocol", "coordinated", "--store", "@/s", "--resume", "--",
        HARK_FAKE_PROCESS, "exit=2");
}

/* Of each option by its name, and of the program word for word. */
static void a_store_of_other_options(void **state)
{
    struct run *r = *state;
    char store[600];
    snprintf(store, sizeof store, "%s/s", r->place);
    const char *const first[] = {HARK_COMMAND, "run", "-n", "2", "--clusters", "2", "--store",
        store, "--", HARK_FAKE_PROCESS, "exit=1", "one two", "it's", "", NULL};
    run_command(r, first);
    assert_int_equal(r->status, 1);
    EXPECT("hark: @/s: the store belongs to a job with the default journal, this one has "
           "journal=none",
        "run", "-n", "2", "--clusters", "2", "--journal", "none", "--store", "@/s", "--resume",
        "--", HARK_FAKE_PROCESS, "exit=1", "one two", "it's", "");
    EXPECT("hark: @/s: the store belongs to a job with program=" HARK_FAKE_PROCESS
           " exit=1 'one two' $'it\\'s' '', this one has program=" HARK_FAKE_PROCESS
           " exit=1 one two $'it\\'s' ''",
        "run", "-n", "2", "--clusters", "2", "--store", "@/s", "--resume", "--", HARK_FAKE_PROCESS,
        "exit=1", "one", "two", "it's", "");
    snprintf(store, sizeof store, "%s/none", r->place);
    const char *const other[] = {HARK_COMMAND, "run", "-n", "2", "--clusters", "2", "--journal",
        "none", "--store", store, "--", HARK_FAKE_PROCESS, "exit=1", NULL};
    run_command(r, other);
    assert_int_equal(r->status, 1);
    EXPECT("hark: @/none: the store belongs to a job with journal=none, this one has the default "
           "journal",
        "run", "-n", "2", "--clusters", "2", "--store", "@/none", "--resume", "--",
        HARK_FAKE_PROCESS, "exit=1");
}

/* Images are of one way to run a protocol; the last is none. */
static void a_store_of_another_kind(void **state, const char *protocol, const char *const ways[3])
{
    struct run *r = *state;
    for (size_t i = 0; i < 3; i++) {
        char store[600], line[1400];
        snprintf(store, sizeof store, "%s/%zu", r->place, i);
        const char *const first[] = {HARK_COMMAND, "run", "-n", "2", "--protocol", protocol,
            ways[i], "--store", store, "--", HARK_FAKE_PROCESS, "exit=1", NULL};
        run_command(r, first);
        assert_int_equal(r->status, 1);
        for (size_t k = 0; k < 3; k++) {
            if (k == i) continue;
            snprintf(line, sizeof line,
                "hark: %s: the store belongs to a job with protocol=%s%s%s, this one has "
                "protocol=%s%s%s",
                store, protocol, i < 2 ? " " : "", i < 2 ? ways[i] : "", protocol, k < 2 ? " " : "",
                k < 2 ? ways[k] : "");
            EXPECT(line, "run", "-n", "2", "--protocol", protocol, ways[k], "--store", store,
                "--resume", "--", HARK_FAKE_PROCESS, "exit=1");
        }
    }
}

static void a_store_of_another_hydee(void **state)
{
    a_store_of_another_kind(
        state, "hydee", (const char *const[]){"--camel", "--exact-gate", "--verbose"});
}

static void a_store_of_another_team(void **state)
{
    a_store_of_another_kind(
        state, "team", (const char *const[]){"--camel", "--team-lost", "--verbose"});
}

static void a_store_of_another_number_of_copies(void **state)
{
    struct run *r = *state;
    char store[600], line[1400];
    snprintf(store, sizeof store, "%s/s", r->place);
    const char *const first[] = {HARK_COMMAND, "run", "-n", "3", "--protocol", "scmel", "--copies",
        "2", "--store", store, "--", HARK_FAKE_PROCESS, "exit=1", NULL};
    run_command(r, first);
    assert_int_equal(r->status, 1);
    snprintf(line, sizeof line,
        "hark: %s: the store belongs to a job with protocol=scmel --copies 2, this one has "
        "protocol=scmel",
        store);
    EXPECT(line, "run", "-n", "3", "--protocol", "scmel", "--store", store, "--resume", "--",
        HARK_FAKE_PROCESS, "exit=1");
}

static void help(void **state)
{
    struct run *r = *state;
    const char *const words[][2] = {
        {"help", NULL}, {"help", "run"}, {"run", "--help"}, {"--version", NULL}, {"help", "trace"}};
    for (size_t i = 0; i < 5; i++) {
        const char *argv[] = {HARK_COMMAND, words[i][0], words[i][1], NULL};
        run_command(r, argv);
        assert_int_equal(r->status, 0);
        assert_string_equal(r->err, "");
        assert_true(strlen(r->out) > 8);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, run_setup, run_teardown)
    const struct CMUnitTest tests[] = {TEST(the_command), TEST(the_program), TEST(traces),
        TEST(values), TEST(names), TEST(clusters), TEST(kills), TEST(multicasts), TEST(files),
        TEST(options), TEST(names_of_options), TEST(a_store_of_another_job),
        TEST(a_store_of_other_options), TEST(a_store_of_another_hydee),
        TEST(a_store_of_another_team), TEST(a_store_of_another_number_of_copies), TEST(help)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
