/* ps_find.c: `hark ps`: which jobs there are. */
#include "ps_parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *ps_name(const struct ps_job *j)
{
    return j->answer == PS_ANSWERED ? j->status.job : j->name;
}

int ps_matches(const struct ps_job *j, const char *word)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%u", j->answer == PS_ANSWERED ? j->status.pid : j->pid);
    if (strcmp(word, pid) == 0 || strcmp(word, ps_name(j)) == 0) return 2;
    return word[0] && strncmp(word, ps_name(j), strlen(word)) == 0;
}

/* Only its owner can have put anything there: nobody else's answers are shown. */
static bool is_ours(int directory)
{
    struct stat st;
    return fstat(directory, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 022) == 0 &&
           faccessat(directory, HARK_STATUS_SOCKET, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool add(struct ps_jobs *jobs, int base, const char *name)
{
    unsigned pid;
    struct ps_job job = {.answer = PS_SILENT};
    if (strlen(name) >= sizeof job.name || sscanf(name, "hark-%u-", &pid) != 1) return true;
    job.directory = openat(base, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (job.directory < 0) return true;
    if (!is_ours(job.directory)) {
        close(job.directory);
        return true;
    }
    strcpy(job.name, name);
    job.pid = pid;
    struct ps_job *more = realloc(jobs->job, (jobs->count + 1) * sizeof *more);
    if (more == NULL) {
        close(job.directory);
        return false;
    }
    jobs->job = more;
    more[jobs->count++] = job;
    return true;
}

static bool look_in(struct ps_jobs *jobs, const char *base)
{
    DIR *list = opendir(base);
    bool ok = true;
    for (struct dirent *e; ok && list && (e = readdir(list)) != NULL;)
        if (strncmp(e->d_name, "hark-", 5) == 0) ok = add(jobs, dirfd(list), e->d_name);
    if (list) closedir(list);
    return ok;
}

static bool same_directory(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int by_number(const void *a, const void *b)
{
    const struct ps_job *x = a, *y = b;
    return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : strcmp(x->name, y->name);
}

bool ps_find(struct ps_jobs *jobs)
{
    const char *own = getenv("TMPDIR");
    *jobs = (struct ps_jobs){NULL, 0};
    bool ok = look_in(jobs, "/tmp");
    if (ok && own && own[0] == '/' && !same_directory(own, "/tmp")) ok = look_in(jobs, own);
    if (jobs->count) qsort(jobs->job, jobs->count, sizeof *jobs->job, by_number);
    if (!ok) ps_free(jobs);
    return ok;
}

void ps_free(struct ps_jobs *jobs)
{
    for (uint32_t i = 0; i < jobs->count; i++) {
        if (jobs->job[i].directory >= 0) close(jobs->job[i].directory);
        hark_status_free(&jobs->job[i].status);
    }
    free(jobs->job);
    *jobs = (struct ps_jobs){NULL, 0};
}
