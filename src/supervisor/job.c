/* job.c: what a job has outside of its processes. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hark/registry.h"

static int bad(const char *what, const char *name, const char *why)
{
    hark_sup_say("%s %s: %s", what, name, why);
    return 2;
}

/* ---- the store ------------------------------------------------------------------------------- */

/* The name of the job that a store belongs to; false: it has none, or none that can be read. */
static bool job_of_store(const char *path, char job[41])
{
    char name[65], error[256];
    uint32_t ranks;
    if (hark_store_job(path, name, &ranks, error) != HARK_S_OK || strlen(name) > 40) return false;
    snprintf(job, 41, "%.40s", name);
    return true;
}

void hark_sup_look_for_store(struct supervisor *s)
{
    struct stat named, ours;
    if (s->store_gone) return;
    hark_sup_away(s);
    const bool is = fstat(s->store_fd, &ours) < 0 ||
                    (stat(s->store_path, &named) == 0 && named.st_dev == ours.st_dev &&
                        named.st_ino == ours.st_ino);
    hark_sup_back(s);
    if (is) return;
    s->store_gone = true;
    hark_sup_say("store %s: it is not there any more, removed or renamed; the run goes on with the "
                 "checkpoints that it has",
        s->store_path);
}

/* `why`, and if the folder is missing that the store would be made in, that too. */
static int no_store(const char *path, int why)
{
    const char *slash = strrchr(path, '/');
    char above[PATH_MAX], text[200];
    struct stat st;
    if (why == ENOENT && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return bad("store", path, "it is a link to what is not there");
    snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    snprintf(text, sizeof text, "%s%s", strerror(why),
        why == ENOENT && access(above, F_OK) < 0 ? "; the directory above it must exist" : "");
    return bad("store", path, text);
}

/* Opens the record of failures in a store. A status of the store. */
static int open_record(const struct supervisor *s, struct hark_store **record, const char *job,
    bool fresh, char error[256])
{
    char *path = NULL;
    if (asprintf(&path, "%s/service", s->store_path) < 0) {
        snprintf(error, 256, "no memory for the record of failures");
        return HARK_S_ESYSTEM;
    }
    const int status = hark_store_open_directory(record, path, job, 1, fresh, error);
    free(path);
    return status;
}

/* By the record of the run that has the store. False: error says of what other job that is. */
static bool has_same_record(
    const struct supervisor *s, const char *job, char error[HARK_KEEPER_ERROR])
{
    struct hark_keeper_config config = {.protocol = s->o->protocol, .clusters = &s->o->clusters};
    struct hark_keeper *keeper = NULL;
    char *who = hark_sup_identity(s);
    bool same = true;
    config.identity = who;
    if (who && open_record(s, &config.record, job, false, error) == HARK_S_OK) {
        if (config.record->ops->list(config.record, 0, NULL, 0) > 0)
            same = hark_keeper_open(&keeper, &config, error) != HARK_KEEPER_EINVAL;
        hark_keeper_close(keeper);
        config.record->ops->close(config.record);
    }
    free(who);
    return same;
}

/* Another run has the store, and this one is to wait: for the same job? Else that would be found
 * only when it is needed. What can not be read just now is looked at again then. */
static int is_for_it(const struct supervisor *s)
{
    char job[41], error[HARK_KEEPER_ERROR];
    struct hark_store *images = NULL;
    if (!job_of_store(s->store_path, job)) return 0;
    const int status =
        hark_store_open_directory(&images, s->store_path, job, s->o->ranks, false, error);
    if (images) images->ops->close(images);
    if (status == HARK_S_EINVAL) hark_sup_say("%s", error);
    if (status == HARK_S_EINVAL) return 2;
    if (status != HARK_S_OK || has_same_record(s, job, error)) return 0;
    hark_sup_say("%s: %s", s->o->store, error);
    return 2;
}

/* Finds and locks the store that is kept, and learns whose it is. */
static int take_store(struct supervisor *s)
{
    char job[41];
    s->store_path = realpath(s->o->store, NULL);
    if (s->store_path == NULL && errno == ENOENT &&
        (mkdir(s->o->store, 0700) == 0 || errno == EEXIST))
        s->store_path = realpath(s->o->store, NULL);
    if (s->store_path == NULL) return no_store(s->o->store, errno);
    int status = hark_sup_lock_store(s, is_for_it);
    if (status) return status;
    s->belongs = job_of_store(s->store_path, job);
    if (s->belongs && !s->o->resume)
        return bad("store", s->o->store, "it holds a job already, expected a new one, or --resume");
    /* Images and what they name belong to one job, over all its runs. */
    if (s->belongs) memcpy(s->job, job, sizeof job);
    return 0;
}

static int open_stores(struct supervisor *s, bool fresh)
{
    char error[256];
    int status =
        hark_store_open_directory(&s->images, s->store_path, s->job, s->o->ranks, fresh, error);
    if (status == HARK_S_OK) status = open_record(s, &s->record, s->job, fresh, error);
    if (s->record) {
        s->store_fd = open(s->store_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (s->store_fd >= 0 && hark_sup_aside(s, &s->record) && hark_sup_aside(s, &s->images))
            return 0;
        if (s->store_fd >= 0) errno = ENOMEM;
        snprintf(error, sizeof error, "store %s: %s", s->store_path, strerror(errno));
    }
    hark_sup_say("%s", error);
    return s->o->store ? 2 : 1;
}

static void fell_back(void *self, uint32_t rank, uint64_t wave, const char *why)
{
    (void)self;
    (void)rank;
    hark_sup_say("%s; the older checkpoint %llu is used", why, (unsigned long long)wave);
}

static void lost(void *self, uint32_t rank, const char *why)
{
    struct supervisor *s = self;
    char name[32];
    snprintf(s->lost, sizeof s->lost,
        "%s can not go back, no checkpoint of its cluster is whole: %s",
        hark_sup_name(&s->child[rank], name), why);
}

/* The record is written before the first image. To begin anew would be to write over these. */
static bool lacks_record(const struct supervisor *s)
{
    uint64_t id;
    bool images = hark_sup_missed_images(s); /* on hosts */
    if (!s->belongs || s->record->ops->list(s->record, 0, &id, 1) != 0) return false;
    for (uint32_t r = 0; r < s->o->ranks && !images; r++)
        images = s->images->ops->list(s->images, r, &id, 1) > 0;
    if (images)
        hark_sup_say("store %s: there are checkpoints, and no record of the job (service/r0), "
                     "without which it can not go on; expected both, or a new store",
            s->o->store);
    return images;
}

static int say_finished(const struct supervisor *s)
{
    const int status = hark_sup_afterwards(s);
    char with[64] = "";
    if (status == HARK_SUP_NOT_ENDED) {
        hark_sup_say("store %s: all processes of the job in it had called hark_finalize "
                     "(MPI_Finalize), and the run ended before they had exited, so what they do "
                     "after that may not be done, and can not be repeated; look at the results, or "
                     "run the job again with a new store",
            s->o->store);
        return 1;
    }
    if (status) snprintf(with, sizeof with, ", and ended with status %d after that", status);
    hark_sup_say("store %s: the job in it has finished already%s; there is nothing to do",
        s->o->store, with);
    return status;
}

static int open_service(struct supervisor *s)
{
    char error[HARK_KEEPER_ERROR];
    if (lacks_record(s)) return 2;
    char *who = hark_sup_identity(s);
    if (who == NULL) {
        hark_sup_say("no memory for a job");
        return 1;
    }
    struct hark_keeper_config config = {.protocol = s->o->protocol,
        .clusters = &s->o->clusters,
        .waves_all = hark_service_waves_all(s->o->protocol, s->o->core.asks),
        .generations = s->o->generations,
        .record = s->record,
        .images = s->o->host_store ? &s->copies : s->images,
        .identity = who,
        .fell_back = fell_back,
        .lost = lost,
        .self = s};
    int status = hark_keeper_open(&s->keeper, &config, error);
    s->identity = who;
    if (status < 0) {
        hark_sup_say("%s%s%s", s->o->store ? s->o->store : "", s->o->store ? ": " : "", error);
        return s->o->store ? 2 : 1;
    }
    if (error[0]) hark_sup_say("%s; the older record is used", error);
    s->finished_before = hark_service_finished(core_of(s));
    return s->finished_before ? say_finished(s) : 0;
}

/* ---- directory, board, files ----------------------------------------------------------------- */

static int name_job(struct supervisor *s)
{
    const char *base = getenv("TMPDIR");
    uint32_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random ||
        getrandom(s->key, sizeof s->key, 0) != sizeof s->key) {
        hark_sup_say("no random numbers: %s", strerror(errno));
        return 1;
    }
    /* Sockets lie in it, and a socket's path is short. */
    if (base == NULL || base[0] != '/' || strlen(base) > 40) base = "/tmp";
    snprintf(s->job, sizeof s->job, "hark-%d-%08x", (int)getpid(), random);
    snprintf(s->directory, sizeof s->directory, "%s/%s", base, s->job);
    return 0;
}

/* With hosts no process is ours, and an agent beside us, perhaps of a run that is to be taken over,
 * does that for its own. */
static void sweep_nothing(const char *job, const char *directory)
{
    (void)job;
    (void)directory;
}

static void (*sweeper(const struct supervisor *s))(const char *job, const char *directory)
{
    return s->o->hosts ? sweep_nothing : s->o->transport->sweep;
}

/* From here on somebody cleans up, whatever becomes of us. */
static int make_directory(struct supervisor *s)
{
    struct hark_janitor_job job = {s->job, s->directory, s->spill_path, s->trace_path, sweeper(s),
        s->lock, s->metrics_address.path[0] ? s->metrics_address.path : NULL};
    if (hark_janitor_start(&s->janitor, &job) < 0) {
        hark_sup_say("cannot start the janitor: %s", strerror(errno));
        return 1;
    }
    if (mkdir(s->directory, 0700) < 0) return bad("cannot make", s->directory, strerror(errno));
    s->directory_made = true;
    return 0;
}

static int make_board(struct supervisor *s)
{
    size_t bytes = hark_board_bytes(s->o->ranks, s->o->traffic);
    s->board_fd = memfd_create("hark-board", MFD_CLOEXEC);
    void *at = MAP_FAILED;
    if (s->board_fd >= 0 && ftruncate(s->board_fd, (off_t)bytes) == 0)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->board_fd, 0);
    if (at == MAP_FAILED) {
        hark_sup_say(
            "no shared memory for the figures of %u processes: %s", s->o->ranks, strerror(errno));
        return 1;
    }
    s->board = at;
    s->board->magic = HARK_BOARD_MAGIC;
    s->board->ranks = s->o->ranks;
    return 0;
}

/* A new store is to be empty, and a job that is resumed may be without a spill directory. */
static bool is_in_store(const struct supervisor *s, const char *path)
{
    const size_t length = s->store_path ? strlen(s->store_path) : 0;
    return length && strncmp(path, s->store_path, length) == 0 &&
           (path[length] == '/' || path[length] == 0);
}

/* Each job has a directory of its own in it, which can be removed with all that is there. */
static int open_spill(struct supervisor *s)
{
    const char *path = s->o->spill;
    struct stat st;
    if (path == NULL) return 0;
    const bool made = mkdir(path, 0700) == 0;
    if (!made && errno != EEXIST) return bad("spill directory", path, strerror(errno));
    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        return bad("spill directory", path, "is no directory");
    if (access(path, W_OK | X_OK) < 0) return bad("spill directory", path, strerror(errno));
    char *whole = realpath(path, NULL);
    if (whole && is_in_store(s, whole)) {
        if (made) (void)rmdir(path);
        free(whole);
        return bad("spill directory", path, "expected one that is not in the store");
    }
    if (whole == NULL || asprintf(&s->spill_path, "%s/%s", whole, s->job) < 0) s->spill_path = NULL;
    free(whole);
    if (s->spill_path == NULL) return bad("spill directory", path, strerror(errno));
    hark_remove_tree(s->spill_path); /* of an earlier run of this job, whose janitor was killed too
                                      */
    return mkdir(s->spill_path, 0700) == 0 ? 0
                                           : bad("spill directory", s->spill_path, strerror(errno));
}

/* ---- trace ----------------------------------------------------------------------------------- */

const char *hark_sup_part(struct supervisor *s, uint32_t rank, uint32_t inc)
{
    char *path = NULL, who[16];
    if (s->o->trace == NULL) return NULL;
    snprintf(who, sizeof who, "%u", rank);
    const char *name = rank == HARK_RECOVERY ? "r" : rank == HARK_TRACE_SUPERVISOR ? "s" : who;
    char **more = realloc(s->part, (s->parts + 1) * sizeof *more);
    if (more) s->part = more;
    if (more == NULL || asprintf(&path, "%s/trace-%s.%u", s->directory, name, inc) < 0) return NULL;
    for (uint32_t i = 0; i < s->parts; i++)
        if (strcmp(s->part[i], path) == 0) { /* an incarnation that did not come about: this is it
                                                now */
            free(path);
            return s->part[i];
        }
    s->part[s->parts++] = path;
    return path;
}

/* As it is also from another working directory, the janitor's. */
static int find_trace(struct supervisor *s)
{
    char *here = s->o->trace && s->o->trace[0] != '/' ? getcwd(NULL, 0) : NULL;
    bool whole = s->o->trace == NULL || s->o->trace[0] == '/' || here;
    if (whole && s->o->trace &&
        asprintf(&s->trace_path, "%s%s%s", here ? here : "", here ? "/" : "", s->o->trace) < 0)
        s->trace_path = NULL;
    free(here);
    if (s->trace_path || s->o->trace == NULL) return 0;
    hark_sup_say("no memory for a trace");
    return 1;
}

static int open_trace(struct supervisor *s)
{
    char error[HARK_TRACE_ERROR];
    struct hark_trace_job job = {
        s->o->ranks, s->o->protocol->name, s->o->transport->name, s->o->clusters.of};
    const char *path = hark_sup_part(s, HARK_TRACE_SUPERVISOR, 0);
    if (path) s->trace = hark_trace_open(path, &job, 0, error);
    if (s->o->trace == NULL || s->trace) return 0;
    hark_sup_say("%s", path ? error : "no memory for a trace");
    return 1;
}

void hark_sup_trace(struct supervisor *s, uint8_t kind, uint32_t rank, uint32_t inc, uint64_t id)
{
    struct hark_trace_record r = {
        .time = hark_sup_now(), .rank = rank, .inc = inc, .kind = kind, .id = id};
    if (s->trace) (void)hark_trace_add(s->trace, &r);
}

void hark_sup_trace_failed(struct supervisor *s)
{
    struct hark_trace_record r = {.time = hark_sup_now(),
        .rank = HARK_TRACE_SUPERVISOR,
        .kind = HARK_TRACE_FAILED,
        .id = hark_service_epoch(core_of(s))};
    uint32_t count = 0, written = 0, down[256];
    if (s->trace == NULL) return;
    for (uint32_t i = 0; i < s->o->ranks; i++) {
        if (hark_service_is_down(core_of(s), i)) down[count++] = i;
        if (count < sizeof down / sizeof down[0]) continue;
        (void)hark_trace_add_failed(s->trace, &r, down, count);
        written += count;
        count = 0;
    }
    if (count || written == 0) (void)hark_trace_add_failed(s->trace, &r, down, count);
}

int hark_sup_close_trace(struct supervisor *s)
{
    char error[HARK_TRACE_ERROR];
    int status = 0;
    if (s->trace == NULL) return 0;
    hark_trace_close(s->trace);
    s->trace = NULL;
    if (hark_trace_merge(s->o->trace, (const char *const *)s->part, s->parts, error) !=
        HARK_TRACE_OK) {
        hark_sup_say("cannot write the trace %s: %s", s->o->trace, error);
        status = -1;
    } else if (error[0]) {
        hark_sup_say("the trace %s is not whole: %s in %s", s->o->trace, error, s->directory);
    }
    return status;
}

/* ---- recording ------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int hark_sup_close_recording(struct supervisor *s)
{
    char error[HARK_RECORDING_ERROR];
    const struct hark_recording_job job = {.ranks = s->o->ranks,
        .failures = s->failures,
        .protocol = s->o->protocol->name,
        .transport = s->o->transport->name,
        .program = base_name(s->o->program->argv[0])};
    if (s->o->record == NULL) return 0;
    if (s->failures)
        hark_sup_say("--record %s: processes died, so what was sent can not be compared with "
                     "another run: record a run without failures",
            s->o->record);
    if (hark_recording_join(s->o->record, s->directory, &job, error) == HARK_RECORDING_OK) return 0;
    hark_sup_say("cannot write the recording %s", error);
    return -1;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int hark_sup_job_open(struct supervisor *s)
{
    int status = find_trace(s);
    if (status == 0) status = name_job(s);
    if (status == 0 && s->o->store) status = take_store(s);
    if (status == 0) status = open_spill(s);
    if (status == 0) status = make_directory(s);
    if (status) return status;
    s->clusters_text = hark_clusters_text(&s->o->clusters);
    if (!s->o->store && asprintf(&s->store_path, "%s/store", s->directory) < 0)
        s->store_path = NULL;
    if (s->store_path == NULL || s->clusters_text == NULL) {
        hark_sup_say("no memory for a job");
        return 1;
    }
    /* What an earlier run of this job may have left. */
    sweeper(s)(s->job, s->directory);
    if (!hark_sup_copies_open(s)) return 1;
    status = hark_sup_missed_open(s);
    if (status == 0) status = open_stores(s, !s->belongs);
    if (status == 0) status = hark_sup_missed_made(s);
    if (status == 0) status = hark_sup_flush_open(s);
    if (status == 0) status = open_service(s);
    if (status || s->finished_before) return status;
    if (s->ended_before) {
        hark_sup_say("store %s: the run before has ended by itself, and the job is not done; "
                     "`hark run --resume` goes on with it",
            s->o->store);
        return 1;
    }
    status = hark_sup_one_run_begins(s);
    if (status == 0) hark_sup_afterwards_begin(s);
    if (status == 0) status = hark_sup_output_open(s, s->belongs);
    if (status == 0) status = hark_sup_input_open(s);
    if (status == 0) status = make_board(s);
    if (status == 0) status = open_trace(s);
    return status;
}

void hark_sup_job_close(struct supervisor *s)
{
    hark_trace_close(s->trace); /* of a job that did not begin */
    for (uint32_t i = 0; i < s->parts; i++) free(s->part[i]);
    free(s->part);
    hark_sup_input_close(s);
    hark_keeper_close(s->keeper);
    hark_sup_copies_close(s);
    hark_sup_flush_close(s);
    hark_sup_missed_close(s);
    if (s->record) s->record->ops->close(s->record);
    if (s->images) s->images->ops->close(s->images);
    if (s->board) munmap(s->board, hark_board_bytes(s->o->ranks, s->o->traffic));
    if (s->board_fd >= 0) close(s->board_fd);
    if (s->positions >= 0) close(s->positions);
    hark_sup_one_run_ends(s);
    if (s->store_fd >= 0) close(s->store_fd);
    if (s->directory_made) {
        sweeper(s)(s->job, s->directory);
        hark_remove_tree(s->directory);
    }
    if (s->spill_path) hark_remove_tree(s->spill_path);
    hark_janitor_dismiss(&s->janitor);
    if (s->lock >= 0) close(s->lock);
    free(s->store_path);
    free(s->clusters_text);
    free(s->identity);
    free(s->spill_path);
    free(s->trace_path);
}
