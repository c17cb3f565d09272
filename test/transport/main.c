/* main.c: the conformance suite, for the one transport it is linked with. */
#include "harness.h"

#include <signal.h>
#include <unistd.h>

static size_t add(struct CMUnitTest *all, size_t at, const struct CMUnitTest *some, size_t count)
{
    memcpy(all + at, some, count * sizeof *some);
    return at + count;
}

static int suite(void)
{
    struct CMUnitTest all[128];
    size_t count = 0;
    count = add(all, count, arguments_tests, arguments_count);
    count = add(all, count, frames_tests, frames_count);
    count = add(all, count, pressure_tests, pressure_count);
    count = add(all, count, incarnations_tests, incarnations_count);
    count = add(all, count, waiting_tests, waiting_count);
    count = add(all, count, leftovers_tests, leftovers_count);
    count = add(all, count, streams_tests, streams_count);
    count = add(all, count, offers_tests, offers_count);
    if (!conformance_subject.ghosts) count = add(all, count, news_tests, news_count);
    else
        printf("%s brings what the dead have sent: the %zu tests of news do not apply\n",
            conformance_subject.name, news_count);
    if (conformance_subject.processes) {
        count = add(all, count, processes_tests, processes_count);
        count = add(all, count, offers_processes_tests, offers_processes_count);
    } else
        printf("%s lives in one process: the %zu tests that fork do not apply\n",
            conformance_subject.name, processes_count + offers_processes_count);
    if (conformance_subject.ops->lend) count = add(all, count, lending_tests, lending_count);
    else
        printf("%s lends no memory: the %zu tests of that do not apply\n", conformance_subject.name,
            lending_count);
    if (!conformance_subject.garbage)
        printf("%s: nothing outside reaches it, no garbage thrown\n", conformance_subject.name);
    if (getenv("HARK_TEST_ONLY")) cmocka_set_test_filter(getenv("HARK_TEST_ONLY"));
    return _cmocka_run_group_tests(conformance_subject.name, all, count, NULL, NULL);
}

int main(int argc, char **argv)
{
    char **argument = argc == 3 ? argv + 1 : NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    hang_after(PATIENCE);
    if (conformance_subject.start) conformance_subject.start(argument);
    int status = argument ? streams_program(argument) : suite();
    if (conformance_subject.finish) conformance_subject.finish();
    return status;
}
