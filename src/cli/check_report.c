/* check_report.c: what `hark check` says: while it searches, of what it found, and for other
 * programs. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../json.h"
#include "check_parts.h"

/* ---- while it searches ----------------------------------------------------------------------- */

void check_size(uint64_t bytes, char text[16])
{
    if (bytes < UINT64_C(1) << 30)
        snprintf(text, 16, "%llu MiB", (unsigned long long)(bytes >> 20));
    else snprintf(text, 16, "%.1f GiB", (double)bytes / (double)(UINT64_C(1) << 30));
}

static double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void check_watch_begin(struct check_watch *w, const char *name)
{
    double now = clock_now();
    *w = (struct check_watch){.name = name, .last = now};
}

bool check_watch_due(struct check_watch *w, uint64_t done, double *rate)
{
    double now = clock_now();
    if (now - w->last < 1) return false;
    if (done < w->done) w->done = 0; /* another search, of the same scenario, has begun */
    *rate = (double)(done - w->done) / (now - w->last);
    w->last = now;
    w->done = done;
    return true;
}

void check_progress(void *watch, const struct search_progress *now)
{
    struct check_watch *w = watch;
    const char *what = now->walks ? "walks" : "states";
    double rate;
    char size[16];
    if (!check_watch_due(w, now->done, &rate)) return;
    check_size(now->bytes, size);
    fprintf(stderr, "\r\033[K%.24s: %llu %s, %llu to do, depth %u, %.0f %s/s, %s ", w->name,
        (unsigned long long)now->done, what, (unsigned long long)now->waiting, now->depth, rate,
        what, size);
}

void check_watch_end(void)
{
    fputs("\r\033[K", stderr);
}

void check_say_memory(const struct check_arguments *a)
{
    char size[16];
    if (a->own_memory || a->search.most_bytes == 0 || !isatty(STDERR_FILENO)) return;
    check_size(a->search.most_bytes, size);
    fprintf(stderr,
        "hark check: up to %s of memory, three quarters of what is available; see --max-memory\n",
        size);
}

/* ---- what was found -------------------------------------------------------------------------- */

const char *check_verdict(const struct search_result *r)
{
    static const char *const words[] = {"ok", "violated", "unfinished", "limit", "failed"};
    return words[r->verdict];
}

/* A share of nothing is 0. */
static double per(uint64_t n, double of)
{
    return of > 0 ? (double)n / of : 0;
}

static void report_limit(const struct check_arguments *a, const struct search_result *r)
{
    const char *by = check_stopped_by(a);
    char size[16];
    printf("  not searched whole%s: ", r->alone ? ", and only without failures" : "");
    check_size(a->search.most_bytes, size);
    switch (r->limit) {
    case SEARCH_STATES: fputs("the limit of states (--max-states) was reached", stdout); break;
    case SEARCH_MEMORY:
        printf("the limit of memory, %s%s (--max-memory), was reached", size,
            a->own_memory ? "" : ", three quarters of what was available");
        break;
    case SEARCH_STOPPED: printf("stopped by %s", by ? by : "a signal"); break;
    default: fputs("there was no more memory", stdout); break;
    }
    puts("; nothing wrong as far as it went");
}

void check_report(const struct check_arguments *a, const char *name, const char *protocol,
    const struct search_result *r)
{
    bool walks = r->states == 0; /* they keep none */
    printf("%-24s %-12s %-10s %10llu %s %11llu steps %4u deep %8.2f s ", name, protocol,
        check_verdict(r), (unsigned long long)(walks ? r->finals : r->states),
        walks ? "walks to an end" : "states", (unsigned long long)r->transitions, r->depth,
        r->seconds);
    if (walks) printf("%8.0f steps/s\n", per(r->transitions, r->seconds));
    else
        printf("%8.0f states/s %5.0f bytes/state\n", per(r->states, r->seconds),
            per(r->bytes, (double)r->states));
    switch (r->verdict) {
    case SEARCH_VIOLATED:
        if (r->path) printf("  after %u steps: %s\n", r->path_length, lab_violation(r->violated));
        else
            printf("  %s\n  no way to it: it had to be searched for again, and a limit was reached "
                   "first\n",
                lab_violation(r->violated));
        if (r->whole) printf("  as in the search of all\n");
        break;
    case SEARCH_UNFINISHED:
        printf("  the program can not finish even without failures%s: %s%s%s\n",
            r->needs ? "" : " and protocol", lab_violation(r->violated), r->why[0] ? ": " : "",
            r->why);
        break;
    case SEARCH_OK:
        if (r->whole)
            printf("  the same ends as all of its %llu states\n", (unsigned long long)r->whole);
        break;
    case SEARCH_LIMIT: report_limit(a, r); break;
    default: break;
    }
    fflush(stdout);
}

/* As --max-memory takes it, rounded up. */
int check_too_little(
    const struct check_arguments *a, const char *name, const struct search_result *r)
{
    unsigned long long least = (unsigned long long)(r->least >> 20) + 1;
    if (a->own_memory)
        return bad("--max-memory: expected at least %lluM for %s, found less", least, name);
    return bad("%s needs at least %lluM of memory, more than three quarters of what is available",
        name, least);
}

static const char *limit_word(const struct search_result *r)
{
    static const char *const words[] = {"", "states", "memory", "stopped", "no memory"};
    return words[r->verdict == SEARCH_LIMIT ? r->limit : SEARCH_NO_LIMIT];
}

void check_json_row(
    FILE *json, const char *name, const char *protocol, const struct search_result *r, bool *first)
{
    if (json == NULL) return;
    fprintf(json, "%s\n  {\"name\": ", *first ? "" : ",");
    *first = false;
    hark_json_string(json, name);
    fprintf(json,
        ", \"protocol\": \"%s\", \"verdict\": \"%s\", \"violated\": \"%s\", \"limit\": \"%s\", "
        "\"states\": %llu, "
        "\"steps\": %llu, \"finals\": %llu, \"depth\": %u, \"seconds\": %.3f, \"bytes\": %llu, "
        "\"core_steps_made\": "
        "%llu, "
        "\"core_steps_known\": %llu, \"whole\": %llu}",
        protocol, check_verdict(r), lab_violation(r->violated), limit_word(r),
        (unsigned long long)r->states, (unsigned long long)r->transitions,
        (unsigned long long)r->finals, r->depth, r->seconds, (unsigned long long)r->bytes,
        (unsigned long long)r->made, (unsigned long long)r->looked_up,
        (unsigned long long)r->whole);
}

/* ---- the way to it --------------------------------------------------------------------------- */

enum { STORY_NAME = 160 };

static bool is_read(const struct check_arguments *a, const char *path)
{
    struct stat ours, read;
    if (stat(path, &ours) < 0) return false;
    for (int i = 0; i < a->files; i++)
        if (stat(a->file[i], &read) == 0 && read.st_dev == ours.st_dev &&
            read.st_ino == ours.st_ino)
            return true;
    return false;
}

/* The names of the violations that have been written in this run: there is no end to how many
 * scenarios are called the same. */
static char (*written)[STORY_NAME];
static size_t written_count;

static bool is_written(const char *path)
{
    for (size_t i = 0; i < written_count; i++)
        if (strcmp(written[i], path) == 0) return true;
    return false;
}

static void note_written(const char *path)
{
    void *more = realloc(written, (written_count + 1) * sizeof *written);
    if (more == NULL) return;
    written = more;
    snprintf(written[written_count++], STORY_NAME, "%s", path);
}

/* By the scenario's name, which may be any words. A scenario that is read is not written over: it
 * may be a violation of before, with notes; nor are the figures, nor another scenario's violation.
 */
static void name_story(
    const struct check_arguments *a, const struct hark_scenario *s, char path[STORY_NAME])
{
    snprintf(path, STORY_NAME, "%.100s-violation.hark", s->name);
    for (char *at = path; *at; at++)
        if (!isalnum((unsigned char)*at) && strchr("._-+", *at) == NULL) *at = '_';
    if (*path == '-') *path = '_';
    size_t stem = strlen(path) - strlen(".hark");
    for (int i = 2; is_read(a, path) || is_written(path) || (a->json && !strcmp(a->json, path));
         i++)
        snprintf(path + stem, STORY_NAME - stem, "-%d.hark", i);
}

static int write_text(const char *option, const char *path, const char *text)
{
    FILE *file = hark_cli_create("check", option, path);
    if (file == NULL) return CHECK_WRONG;
    (void)fputs(text, file);
    return hark_cli_close("check", option, path, file);
}

/* A search of hours is not to be lost for want of room, or of a permission. */
static void print_story(const char *text)
{
    printf("  printed instead, the scenario with its schedule:\n\n%s\n", text);
    fflush(stdout);
}

int check_write_story(
    const struct check_arguments *a, const struct hark_scenario *s, const struct search_result *r)
{
    struct hark_scenario story;
    char path[STORY_NAME];
    name_story(a, s, path);
    const char *out = a->out ? a->out : path;
    char *text = search_story(s, &a->search, r, &story) == 0 ? hark_scenario_text(&story) : NULL;
    int status = text ? write_text(a->out ? "-o" : NULL, out, text)
                      : bad("%s: no memory for the way to the violation", s->name);
    if (status == 0) {
        note_written(out);
        printf("  written to %s%s: see it by `hark replay %s`\n", out,
            r->violated == VIOLATED_FOREVER ? ", the way to where no step leads to an end any more"
                                            : "",
            out);
    } else if (text) {
        print_story(text);
    }
    free(text);
    for (uint32_t i = 0; i < story.schedule_lines; i++) free(story.schedule[i].text);
    free(story.schedule);
    return status;
}
