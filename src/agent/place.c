/* place.c: what of the job is on this host: its directory, board, store and janitor. */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../control/transports.h"
#include "hark/store.h"

#define FORMER_MS  5000 /* for an agent that is told to end */
#define JANITOR_MS 1000 /* for the janitor of one that was killed */
#define LOCK_MS    3000

/* Variables that say where a process is, not what it is to do: the host's own stay. */
static bool of_host(const char *variable)
{
    static const char *const name[] = {"HOSTNAME=", "TMPDIR=", "XDG_RUNTIME_DIR=", "SLURMD_",
        "SLURM_NODEID=", "SLURM_LOCALID=", "SLURM_PROCID=", "SLURM_TASK_PID=", "SSH_"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (strncmp(variable, name[i], strlen(name[i])) == 0) return true;
    return false;
}

static void take_environment(const struct agent *a)
{
    for (char **v = a->job.environment; *v; v++)
        if (strchr(*v, '=') && !of_host(*v)) (void)putenv(*v); /* it stays: the job's is kept */
}

static const struct hark_transport_ops *transport_of(const struct agent *a)
{
    return hark_transport_named(a->job.transport);
}

static bool fails(char error[256], const char *what, const char *name, int why)
{
    snprintf(error, 256, "%s %.150s: %s", what, name, strerror(why));
    return false;
}

/* Whose directory it is: in it is a file that its agent has locked. 0: nobody's that we know. */
static pid_t owner_of(const char *directory)
{
    char path[160];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof path, "%s/agent", directory);
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    const bool locked = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0) close(fd);
    return locked ? lock.l_pid : 0;
}

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* An agent that was given up may still be here, with its processes stopped: they have others in
 * their places now, or will have. It, or its janitor, removes the directory. If there is neither,
 * as after a power cut, nobody does. */
static void end_former(const char *directory)
{
    pid_t owner = 0;
    bool told = false;
    for (int waited = 0; waited < (owner ? FORMER_MS : JANITOR_MS) && is_there(directory);
         waited += 20) {
        owner = owner_of(directory);
        if (owner && !told) told = kill(owner, SIGTERM) == 0;
        (void)poll(NULL, 0, 20);
    }
    if (owner_of(directory) == 0) hark_remove_tree(directory);
}

static bool own_directory(struct agent *a)
{
    char path[160];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof path, "%s/agent", a->directory);
    a->owned_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return a->owned_fd >= 0 && fcntl(a->owned_fd, F_SETLK, &lock) == 0;
}

static int start_janitor(const struct agent *a, struct hark_janitor *j)
{
    const struct hark_janitor_job job = {
        a->job.name, a->directory, a->spill, NULL, transport_of(a)->sweep, -1, NULL};
    return hark_janitor_start(j, &job);
}

bool hark_agent_keep_janitor(struct agent *a)
{
    struct hark_janitor another;
    if (!hark_janitor_died(&a->janitor)) return true;
    if (start_janitor(a, &another) < 0) return false;
    hark_janitor_lease(&another, a->janitor.lease);
    close(a->janitor.pipe);
    a->janitor = another;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->hosted[i].runs) hark_janitor_born(&a->janitor, a->hosted[i].local.pid);
    hark_agent_say_line(a, HARK_A_SAY, "its janitor has died, and another one is there now");
    return true;
}

static bool make_directory(struct agent *a, char error[256])
{
    const char *base = getenv("TMPDIR");
    /* Sockets lie in it, and a socket's path is short. */
    if (base == NULL || base[0] != '/' || strlen(base) > 40) base = "/tmp";
    snprintf(a->directory, sizeof a->directory, "%s/%s", base, a->job.name);
    end_former(a->directory);
    if (is_there(a->directory)) return fails(error, "cannot make", a->directory, EEXIST);
    if (a->job.spill[0] && asprintf(&a->spill, "%s/%s", a->job.spill, a->job.name) < 0) {
        a->spill = NULL;
        return fails(error, "spill directory", a->job.spill, ENOMEM);
    }
    /* From here on somebody cleans up, whatever becomes of us. */
    if (start_janitor(a, &a->janitor) < 0)
        return fails(error, "cannot start", "the janitor", errno);
    if (mkdir(a->directory, 0700) < 0 || !own_directory(a))
        return fails(error, "cannot make", a->directory, errno);
    if (a->spill) hark_remove_tree(a->spill); /* of one that nobody has removed */
    if (a->spill && mkdir(a->spill, 0700) < 0)
        return fails(error, "spill directory", a->spill, errno);
    return true;
}

static bool make_board(struct agent *a, char error[256])
{
    const size_t bytes = hark_board_bytes(a->job.ranks, a->job.traffic);
    a->board_fd = memfd_create("hark-board", MFD_CLOEXEC);
    void *at = MAP_FAILED;
    if (a->board_fd >= 0 && ftruncate(a->board_fd, (off_t)bytes) == 0)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, a->board_fd, 0);
    a->told = calloc(a->count, sizeof *a->told);
    a->hosted = calloc(a->count, sizeof *a->hosted);
    if (at == MAP_FAILED || !a->told || !a->hosted) {
        snprintf(error, 256, "no memory for the figures of %u processes", a->job.ranks);
        return false;
    }
    a->board = at;
    a->board->magic = HARK_BOARD_MAGIC;
    a->board->ranks = a->job.ranks;
    return true;
}

/* Another directory of that name would be found out after hours, by the first failure. */
static bool is_shared(const struct agent *a, char error[256])
{
    char job[65], why[256];
    uint32_t ranks;
    if (hark_store_job(a->job.store, job, &ranks, why) == HARK_S_OK && strcmp(job, a->job.job) == 0)
        return true;
    snprintf(error, 256,
        "store %.120s: %s; expected a directory that all hosts share, found another one",
        a->job.store,
        access(a->job.store, F_OK) < 0 ? strerror(errno) : "it does not hold this job");
    return false;
}

static bool open_shared(struct agent *a, char error[256])
{
    if (!is_shared(a, error)) return false;
    a->store_path = strdup(a->job.store);
    a->store_fd = open(a->job.store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return (a->store_path && a->store_fd >= 0) || fails(error, "store", a->job.store, errno);
}

/* Where hosts see the same directory none has a copy of its own, and they would overwrite each
 * other's codes. Held until all is clean, so an agent of an earlier run may have it for a moment.
 * Some file systems lock nothing: there it is not noticed. */
static bool is_ours(struct agent *a, char error[256])
{
    char file[PATH_MAX];
    snprintf(file, sizeof file, "%s/lock", a->store_path);
    a->lock_fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (a->lock_fd < 0) return fails(error, "host store", a->store_path, errno);
    for (int waited = 0; flock(a->lock_fd, LOCK_EX | LOCK_NB) < 0; waited += 50) {
        if (errno != EWOULDBLOCK && errno != EINTR) return true;
        if (waited >= LOCK_MS) {
            snprintf(error, 256,
                "host store %.100s: another host of the job has it too; expected a disk of each "
                "host: for a directory that hosts share there is --store",
                a->job.host_store);
            return false;
        }
        (void)poll(NULL, 0, 50); /* flock can not wait for a limited time */
    }
    return true;
}

/* Each job has a directory of its own in it. */
static bool open_own(struct agent *a, const char *above, char error[256])
{
    if (mkdir(above, 0700) < 0 && errno != EEXIST) return fails(error, "host store", above, errno);
    if (asprintf(&a->store_path, "%s/%s", above, a->job.job) < 0) {
        a->store_path = NULL;
        return fails(error, "host store", above, ENOMEM);
    }
    if (hark_store_open_directory(
            &a->store, a->store_path, a->job.job, a->job.ranks, false, error) != HARK_S_OK)
        return false;
    a->store_fd = open(a->store_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (a->store_fd < 0) return fails(error, "host store", a->store_path, errno);
    if (!is_ours(a, error)) return false;
    if ((a->job.shared || a->job.wait_ms) && !is_shared(a, error)) return false;
    if (!hark_shared_open(a)) return fails(error, "store", a->job.store, ENOMEM);
    return hark_coder_open(a, error) && hark_depot_open(a, error);
}

bool hark_agent_place(struct agent *a, char error[256])
{
    a->count = a->job.ranks + 1;
    sigemptyset(&a->ignored);
    for (int n = 1; n < 64; n++)
        if (a->job.ignored >> n & 1) sigaddset(&a->ignored, n);
    if (transport_of(a) == NULL) {
        snprintf(error, 256, "no transport is named %.100s here", a->job.transport);
        return false;
    }
    take_environment(a);
    if (!make_directory(a, error) || !make_board(a, error)) return false;
    if (a->job.host_store[0]) return open_own(a, a->job.host_store, error);
    if (a->job.store[0]) return open_shared(a, error);
    return open_own(a, a->directory, error); /* nobody goes back to what is there */
}

/* Of its own memory; what goes into it is kept by `hark run` too. */
int hark_agent_journal(struct hosted *h)
{
    struct agent *a = h->a;
    if (!a->job.journals || h->slot == a->job.ranks || h->journal >= 0) return 0;
    h->journal = memfd_create("hark-journal", MFD_CLOEXEC);
    return h->journal < 0 ? errno : 0;
}

/* Nothing of it is used any more. */
static void put_down(struct agent *a, bool over)
{
    hark_depot_close(a);
    hark_coder_close(a, over);
    hark_agent_files_end(a);
    hark_shared_close(a);
    for (uint32_t i = 0; a->hosted && i < a->count; i++) {
        if (!a->hosted[i].a) continue;
        if (a->hosted[i].journal >= 0) close(a->hosted[i].journal);
        if (a->hosted[i].waits) hark_agent_start_free(a->hosted[i].waits);
        free(a->hosted[i].waits);
        hark_kept_free(&a->hosted[i]);
        hark_local_free(&a->hosted[i].local);
    }
    if (a->board) munmap(a->board, hark_board_bytes(a->job.ranks, a->job.traffic));
    if (a->board_fd >= 0) close(a->board_fd);
    if (a->store_fd >= 0) close(a->store_fd);
    if (a->owned_fd >= 0) close(a->owned_fd);
    free(a->hosted);
    free(a->told);
    a->hosted = NULL;
    a->told = NULL;
    a->board = NULL;
    a->board_fd = a->store_fd = a->owned_fd = -1;
    a->count = 0;
    if (a->janitor.pipe >= 0) transport_of(a)->sweep(a->job.name, a->directory);
}

static void trees_of(const struct agent *a, bool over, const char *path[HARK_REMOVED])
{
    const bool placed = a->janitor.pipe >= 0;
    path[0] = placed ? a->directory : NULL;
    path[1] = placed ? a->spill : NULL;
    path[2] = a->store && over ? a->store_path : NULL;
}

/* All of it is removed. Until now the janitor would have done that. */
static void let_go(struct agent *a)
{
    if (a->janitor.pipe >= 0) hark_janitor_dismiss(&a->janitor);
    if (a->store) a->store->ops->close(a->store);
    if (a->lock_fd >= 0) close(a->lock_fd);
    free(a->store_path);
    free(a->spill);
    a->store_path = a->spill = NULL;
    a->store = NULL;
    a->lock_fd = -1;
}

void hark_agent_clear(struct agent *a, bool over)
{
    const char *path[HARK_REMOVED];
    if (a->removing) hark_removing_leave(a->removing); /* it goes on with what it has begun */
    a->removing = NULL;
    put_down(a, over);
    trees_of(a, over, path);
    for (int i = 0; i < HARK_REMOVED; i++)
        if (path[i]) hark_remove_tree(path[i]);
    let_go(a);
}

static void cleared(struct agent *a)
{
    void (*done)(struct agent *) = a->cleared;
    a->removing = NULL;
    let_go(a);
    done(a);
}

void hark_agent_clear_on(struct agent *a, bool over, void (*done)(struct agent *a))
{
    const char *path[HARK_REMOVED];
    put_down(a, over);
    trees_of(a, over, path);
    a->cleared = done;
    a->removing = hark_removing_begin(a, path, cleared);
    if (a->removing) return;
    hark_agent_clear(a, over);
    done(a);
}
