/* agent.c: an agent, from its launcher's lines to its end. */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- the launcher's lines -------------------------------------------------------------------- */

static int unfit(const char *line)
{
    fprintf(stderr,
        "hark agent: standard input: %s; it is started by hark run on another host, and not by "
        "hand\n",
        line);
    return 2;
}

static bool take_line(struct agent *a, const char *line, bool *ended)
{
    size_t length;
    if (strncmp(line, "key ", 4) == 0)
        return sodium_hex2bin(
                   a->key, sizeof a->key, line + 4, strlen(line + 4), NULL, &length, NULL) == 0 &&
               length == sizeof a->key;
    if (strncmp(line, "host ", 5) == 0) {
        snprintf(a->name, sizeof a->name, "%.*s", HARK_HOST_NAME - 1, line + 5);
    } else if (strncmp(line, "silent ", 7) == 0) {
        a->silent_ms = (uint32_t)strtoul(line + 7, NULL, 10);
    } else if (strncmp(line, "supervisor ", 11) == 0) {
        if (a->supervisors == sizeof a->supervisor / sizeof *a->supervisor) return true;
        snprintf(a->supervisor[a->supervisors++], sizeof *a->supervisor, "%.*s", HARK_HOST_NAME - 1,
            line + 11);
    } else if (strcmp(line, "end") == 0) {
        *ended = true;
    }
    return true; /* what a newer one may say more */
}

/* 0, or the exit status after a line. */
static int read_launcher(struct agent *a)
{
    char line[512], first[40];
    bool ended = false, all = true;
    snprintf(first, sizeof first, "hark agent %u", HARK_AGENT_VERSION);
    for (unsigned n = 0; !ended && all; n++) {
        if (fgets(line, sizeof line, stdin) == NULL) return unfit("it ended before its last line");
        line[strcspn(line, "\r\n")] = 0;
        if (n == 0 && strcmp(line, first) != 0)
            return unfit(strncmp(line, "hark agent ", 11) == 0
                             ? "it is of another version of hark: install the same on all hosts"
                             : "it is not what hark run writes");
        if (n > 0) all = take_line(a, line, &ended);
    }
    sodium_memzero(line, sizeof line);
    if (!all || a->supervisors == 0) return unfit("it is not what hark run writes");
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC); /* no launcher waits for us to read more */
    if (null >= 0) (void)dup2(null, 0);
    return 0;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void on_child(uv_signal_t *handle, int number)
{
    (void)number;
    ((struct agent *)handle->data)->deaths_due = true;
}

static void on_end(uv_signal_t *handle, int number)
{
    struct agent *a = handle->data;
    fprintf(stderr, "hark agent: %s: ended by signal %d\n", hark_agent_name(a), number);
    hark_agent_leave(a, 128 + number);
}

static void look_at_janitor(struct agent *a)
{
    if (hark_agent_keep_janitor(a)) return;
    fprintf(stderr, "hark agent: %s: its janitor has died, and no other one can be started: %s\n",
        hark_agent_name(a), strerror(errno));
    hark_agent_leave(a, 1); /* nobody would end its processes in time */
}

static void end_turn(uv_prepare_t *handle)
{
    struct agent *a = handle->data;
    const bool deaths = a->deaths_due;
    while (a->deaths_due && !a->cleaning) hark_agent_reap(a);
    if (deaths && !a->cleaning) look_at_janitor(a);
    if (!a->misses_something || a->cleaning) return;
    fprintf(stderr, "hark agent: %s: no memory for what hark run must hear\n", hark_agent_name(a));
    hark_agent_leave(a, 1);
}

static bool open_loop(struct agent *a)
{
    if (uv_loop_init(&a->loop) != 0) return false;
    uv_signal_t *handler[] = {&a->on_child, &a->on_end};
    for (size_t i = 0; i < 2; i++) {
        uv_signal_init(&a->loop, handler[i]);
        handler[i]->data = a;
    }
    uv_signal_start(&a->on_child, on_child, SIGCHLD);
    uv_signal_start(&a->on_end, on_end, SIGTERM);
    uv_prepare_init(&a->loop, &a->turn);
    a->turn.data = a;
    uv_prepare_start(&a->turn, end_turn);
    uv_timer_t *timer[] = {&a->beat, &a->figures, &a->fence, &a->again};
    for (size_t i = 0; i < sizeof timer / sizeof *timer; i++) {
        uv_timer_init(&a->loop, timer[i]);
        timer[i]->data = a;
    }
    return true;
}

static void close_one(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

static void close_all(struct agent *a)
{
    uv_handle_t *ours[] = {(uv_handle_t *)&a->on_child, (uv_handle_t *)&a->on_end,
        (uv_handle_t *)&a->turn, (uv_handle_t *)&a->beat, (uv_handle_t *)&a->figures,
        (uv_handle_t *)&a->fence, (uv_handle_t *)&a->again};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) close_one(ours[i], NULL);
    if (a->connection) hark_connection_close(a->connection, true); /* its last words */
    if (a->attempt) hark_connection_close(a->attempt, false);
    a->connection = a->attempt = NULL;
    while (uv_run(&a->loop, UV_RUN_DEFAULT) != 0) {
    }
    uv_loop_close(&a->loop);
}

int hark_agent(void)
{
    static struct agent agent;
    struct agent *a = &agent;
    struct rlimit files;
    *a = (struct agent){.janitor = {-1, 0, 0},
        .board_fd = -1,
        .store_fd = -1,
        .lock_fd = -1,
        .owned_fd = -1,
        .status = 1};
    if (sodium_init() < 0) return unfit("libsodium finds no randomness");
    int status = read_launcher(a);
    if (status) return status;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    /* A terminal of the launcher's, or its end, is not the job's. */
    for (int n = 0; n < 3; n++) signal((const int[]){SIGHUP, SIGINT, SIGPIPE}[n], SIG_IGN);
    if (!open_loop(a)) {
        fprintf(stderr, "hark agent: cannot make an event loop\n");
        return 1;
    }
    hark_agent_reach(a);
    if (!a->cleaning) uv_run(&a->loop, UV_RUN_DEFAULT);
    hark_agent_clear(a, false);
    close_all(a);
    hark_session_free(&a->session);
    hark_agent_job_free(&a->job);
    sodium_memzero(a->key, sizeof a->key);
    return a->status;
}
