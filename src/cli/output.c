#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "values.h"

/* ---- before anything is written -------------------------------------------------------------- */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Has the shell opened this file for what the command prints? */
static int standard_of(const struct stat *st)
{
    struct stat standard;
    for (int fd = STDOUT_FILENO; S_ISREG(st->st_mode) && fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &standard) == 0 && is_same(st, &standard)) return fd;
    return -1;
}

/* Makes what is not there, to see whether it can be made: *made. */
static bool can_write(const char *path, bool *made)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    *made = fd >= 0;
    if (fd < 0 && errno != EEXIST) return false;
    if (fd < 0) {
        if (stat(path, &st) < 0) return errno == ENOENT; /* a link to what is not there */
        if (S_ISFIFO(st.st_mode)) return true;           /* who reads it would see it end */
        fd = open(path, O_WRONLY | O_CLOEXEC);
    }
    if (fd >= 0) close(fd);
    return fd >= 0;
}

/* Terminals and /dev/null may be named as often as one likes: nothing in them is written over. Nor
 * is it in a file that takes what the command prints, which goes on there. */
static bool is_one_file(const char *a, const char *b, bool standard_counts)
{
    struct stat one, other;
    if (stat(a, &one) < 0 || stat(b, &other) < 0) return false;
    return S_ISREG(one.st_mode) && is_same(&one, &other) &&
           (standard_counts || standard_of(&one) < 0);
}

static int one_writable(
    const char *command, const struct hark_cli_file *file, size_t at, bool *made)
{
    const struct hark_cli_file *own = &file[at];
    if (own->path == NULL) return 0;
    if (!can_write(own->path, made))
        return hark_cli_bad(command, "%s %s: %s", own->option, own->path, strerror(errno));
    for (size_t i = 0; i < at; i++)
        if (file[i].path && is_one_file(own->path, file[i].path, false))
            return hark_cli_bad(command, "%s %s: expected another file than that of %s",
                own->option, own->path, file[i].option);
    return 0;
}

/* The files that this makes are removed when all have been looked at: two names of one file that is
 * not there are seen to be that only while it is there. */
int hark_cli_writable(const char *command, const struct hark_cli_file *file)
{
    int status = 0;
    uint64_t made = 0;
    for (size_t i = 0; file[i].option && status == 0; i++) {
        bool now = false;
        status = one_writable(command, file, i, &now);
        made |= (uint64_t)now << i;
    }
    for (size_t i = 0; made >> i; i++)
        if (made >> i & 1) (void)unlink(file[i].path);
    return status;
}

int hark_cli_apart(const char *command, const struct hark_cli_file *file, const char *read)
{
    for (; file->option; file++)
        if (file->path && read && is_one_file(file->path, read, true))
            return hark_cli_bad(command, "%s %s: expected another file than %s, which is read",
                file->option, file->path, read);
    return 0;
}

/* ---- while it is written --------------------------------------------------------------------- */

struct output { /* a file that is written beside the one that it is to replace */
    struct output *next;
    FILE *file;
    char *part, *whole;
};

static struct output *outputs;

static void output_free(struct output *o)
{
    if (o == NULL) return;
    free(o->part);
    free(o->whole);
    free(o);
}

/* A new file in the folder of o->whole, called after it, lest anybody wonders what it is if hark is
 * killed; its number. */
static int open_part(struct output *o)
{
    const char *slash = strrchr(o->whole, '/');
    const int folder = (int)(slash - o->whole) + 1;
    if (asprintf(&o->part, "%.*s%.200s.part-XXXXXX", folder, o->whole, slash + 1) >= 0)
        return mkostemp(o->part, O_CLOEXEC);
    o->part = NULL;
    errno = ENOMEM;
    return -1;
}

/* A file with other names, or of another owner, would not be the same one if it were replaced. */
static bool is_replaced(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_nlink == 1 && st->st_uid == geteuid();
}

/* The file that is written in place of the one that `path` names, with the permissions of that.
 * NULL: none can be made, errno. */
static struct output *output_beside(const char *path, const struct stat *st)
{
    struct output *o = calloc(1, sizeof *o);
    int fd = -1;
    if (o && (o->whole = realpath(path, NULL)) != NULL) fd = open_part(o);
    if (fd >= 0) (void)fchmod(fd, st->st_mode & 0777);
    if (fd >= 0 && (o->file = fdopen(fd, "w")) != NULL) return o;
    const int why = errno;
    if (fd >= 0) {
        (void)unlink(o->part);
        close(fd);
    }
    output_free(o);
    errno = why;
    return NULL;
}

/* In its place: `fd` itself, emptied; or behind what the command has printed there. NULL: errno. */
static FILE *open_in_place(int fd, const struct stat *st)
{
    const int standard = standard_of(st);
    if (standard >= 0) {
        (void)fflush(stdout);
        const int again = fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        FILE *f = again >= 0 ? fdopen(again, "w") : NULL;
        if (f) close(fd);
        return f;
    }
    if (S_ISREG(st->st_mode) && ftruncate(fd, 0) != 0) return NULL;
    return fdopen(fd, "w");
}

/* A folder that takes no new file is no reason not to write into one that is there; a full disk is
 * one, for what is there would be lost. */
static bool takes_no_file(int why)
{
    return why == EACCES || why == EPERM || why == EROFS || why == ENAMETOOLONG;
}

/* Removes the file that a link names, not the link. */
static void unmake(const char *path)
{
    char *whole = realpath(path, NULL);
    if (whole) (void)unlink(whole);
    free(whole);
}

/* The file of `fd`, which was just opened, and perhaps just made. NULL: errno. */
static FILE *open_output(const char *path, int fd, bool made)
{
    struct stat st;
    if (fstat(fd, &st) < 0) return NULL;
    if (!made && (!is_replaced(&st) || standard_of(&st) >= 0)) return open_in_place(fd, &st);
    struct output *o = output_beside(path, &st);
    if (o == NULL && takes_no_file(errno)) return open_in_place(fd, &st);
    const int why = errno;
    if (made) unmake(path);
    errno = why;
    if (o == NULL) return NULL;
    close(fd);
    o->next = outputs;
    outputs = o;
    return o->file;
}

/* A file that is there is not emptied, and one that is not is made for a moment: it says whether
 * the file may be written at all, where it is, and which permissions it has. */
FILE *hark_cli_create(const char *command, const char *option, const char *path)
{
    struct stat st;
    const bool made = stat(path, &st) < 0 && errno == ENOENT;
    signal(SIGXFSZ, SIG_IGN); /* a write over the limit of files fails, as on a full disk */
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    FILE *f = fd >= 0 ? open_output(path, fd, made) : NULL;
    if (f) return f;
    hark_cli_bad(
        command, "%s%s%s: %s", option ? option : "", option ? " " : "", path, strerror(errno));
    if (fd >= 0) close(fd);
    return NULL;
}

/* ---- when it is complete --------------------------------------------------------------------- */

/* What is known of the file, taken off the list; NULL: it was written in its place. */
static struct output *output_of(const FILE *f)
{
    struct output **at = &outputs, *o;
    while (*at && (*at)->file != f) at = &(*at)->next;
    o = *at;
    if (o) *at = o->next;
    return o;
}

/* 0, or errno, also if it is the last write of the command that has failed; -1: nothing is known
 * but that something was not written. */
static int closed(FILE *f)
{
    const int before = errno;
    errno = 0;
    const bool failed = fflush(f) != 0 || ferror(f);
    const int why = errno ? errno : before;
    if (fclose(f) != 0 && !failed) return errno;
    if (failed) return why ? why : -1;
    return 0;
}

/* Into the file that can not be replaced, for example as it is mounted. 0, or errno. */
static int copied(const struct output *o)
{
    char block[65536];
    FILE *from = fopen(o->part, "re"), *to = from ? fopen(o->whole, "we") : NULL;
    int why = to ? 0 : errno;
    for (size_t n; to && (n = fread(block, 1, sizeof block, from)) > 0;)
        if (fwrite(block, 1, n, to) < n) break;
    if (from && ferror(from)) why = EIO;
    if (from) fclose(from);
    const int end = to ? closed(to) : 0;
    return why ? why : end;
}

static int placed(const struct output *o)
{
    if (rename(o->part, o->whole) == 0) return 0;
    const int why = copied(o);
    (void)unlink(o->part);
    return why;
}

int hark_cli_close(const char *command, const char *option, const char *path, FILE *f)
{
    struct output *o = output_of(f);
    int why = closed(f);
    if (o && why) (void)unlink(o->part);
    else if (o) why = placed(o);
    output_free(o);
    if (why == 0) return 0;
    return hark_cli_bad(command, "%s%s%s: %s", option ? option : "", option ? " " : "", path,
        why > 0 ? strerror(why) : "not all of it could be written");
}

void hark_cli_discard(FILE *f)
{
    struct output *o = output_of(f);
    fclose(f);
    if (o) (void)unlink(o->part);
    output_free(o);
}
