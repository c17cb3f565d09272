/* The janitor, when the supervisor has gone without a word: what it kills, and what it leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/agent/janitor.h"
#include "../fault/place.h"

static pid_t sleeper(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
}

static void sweep(const char *job, const char *directory)
{
    (void)job, (void)directory;
}

/* A number that was reaped may be anybody's by now: here it is that of a process that lives. */
static void what_was_reaped_is_left_alone(void **state)
{
    (void)state;
    char place[256];
    int status;
    struct hark_janitor j;
    place_make(place);
    const struct hark_janitor_job job = {
        .name = "job", .directory = place, .sweep = sweep, .lock = -1};
    pid_t pid[3]; /* before the pipe, so that none keeps it open */
    for (int i = 0; i < 3; i++) pid[i] = sleeper();
    assert_int_equal(hark_janitor_start(&j, &job), 0);
    for (int i = 0; i < 3; i++) hark_janitor_born(&j, pid[i]);
    hark_janitor_dead(&j, pid[1]);
    close(j.pipe);
    assert_int_equal(waitpid(j.pid, &status, 0), j.pid);
    assert_int_equal(status, 0);
    for (int i = 0; i < 3; i += 2) {
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    assert_int_equal(waitpid(pid[1], &status, WNOHANG), 0);
    assert_int_equal(kill(pid[1], SIGTERM), 0);
    assert_int_equal(waitpid(pid[1], &status, 0), pid[1]);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(access(place, F_OK), -1);
}

/* A tree of more directories than there may be descriptors is removed all the same. */
static void a_tree_of_many_directories(void **state)
{
    (void)state;
    enum { MANY = 100, FEW = 32 };
    char place[256], path[300];
    struct rlimit before, few;
    place_make(place);
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "%s/%d", place, i);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/%d/inner", place, i);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){FEW, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    hark_remove_tree(place);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(access(place, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_reaped_is_left_alone),
        cmocka_unit_test(a_tree_of_many_directories)};
    return cmocka_run_group_tests_name("janitor", tests, NULL, NULL);
}
