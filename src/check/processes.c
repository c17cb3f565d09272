#include "processes.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(uint32_t number, void (*work)(void *self, uint32_t number, void *shared),
    void *self, void *shared)
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it was gone before */
    work(self, number, shared);
    fflush(NULL);
    _exit(0);
}

/* All have ended well. */
static bool ended(pid_t *pid, uint32_t count, char error[PROCESSES_ERROR])
{
    for (uint32_t left = count; left > 0;) {
        int status;
        uint32_t k = 0;
        pid_t who = waitpid(-1, &status, 0);
        if (who < 0 && errno == EINTR) continue;
        while (k < count && pid[k] != who) k++;
        if (who > 0 && k == count) continue; /* somebody else's */
        if (who > 0) pid[k] = 0;
        left--;
        if (who > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        if (who < 0) snprintf(error, PROCESSES_ERROR, "waiting for a process: %s", strerror(errno));
        else if (WIFSIGNALED(status))
            snprintf(
                error, PROCESSES_ERROR, "one of the processes died of signal %d", WTERMSIG(status));
        else
            snprintf(error, PROCESSES_ERROR, "one of the processes ended with status %d",
                WEXITSTATUS(status));
        return false;
    }
    return true;
}

static void end(const pid_t *pid, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (pid[k] > 0) kill(pid[k], SIGKILL);
    for (uint32_t k = 0; k < count; k++)
        while (pid[k] > 0 && waitpid(pid[k], NULL, 0) < 0 && errno == EINTR) continue;
}

void *processes_run(uint32_t count, size_t bytes,
    void (*work)(void *self, uint32_t number, void *shared), void *self,
    char error[PROCESSES_ERROR])
{
    pid_t *pid = calloc(count, sizeof *pid);
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool well = pid != NULL && shared != MAP_FAILED;
    if (!well) snprintf(error, PROCESSES_ERROR, "no memory");
    signal(SIGCHLD, SIG_DFL); /* where it was ignored nobody could wait */
    fflush(NULL);             /* once */
    for (uint32_t k = 0; k < count && well; k++) {
        pid[k] = start(k, work, self, shared);
        well = pid[k] > 0;
        if (!well) snprintf(error, PROCESSES_ERROR, "starting a process: %s", strerror(errno));
    }
    well = well && ended(pid, count, error);
    if (!well && pid) end(pid, count);
    free(pid);
    if (!well && shared != MAP_FAILED) munmap(shared, bytes);
    return well ? shared : NULL;
}

void processes_free(void *shared, size_t bytes)
{
    munmap(shared, bytes);
}
