/* ps.c: `hark ps`: jobs that run, and the processes of one. */
#include "ps.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ps_parts.h"
#include "values.h"

#define bad(...) hark_cli_bad("ps", __VA_ARGS__)

struct arguments {
    const char *job; /* NULL: all */
    bool json, once;
};

void hark_cli_ps_help(void)
{
    fputs("usage: hark ps [--once] [--json] [JOB]\n"
          "Shows the jobs of this user that run on this host; or of JOB, the name of one, a "
          "beginning of it, or the\n"
          "process id of its hark run, each rank and each host. On a terminal it is shown again "
          "each second, until q\n"
          "or Ctrl-C.\n\n"
          "  --once                  show it once, also on a terminal\n"
          "  --json                  print it once, as JSON\n"
          "Exit status: 0; 1 the job's hark run does not answer; 2 bad usage, or not one such "
          "job.\n",
        stdout);
}

static int parse(struct arguments *a, int argc, char **argv)
{
    static const struct option options[] = {
        {"json", 0, NULL, 'j'}, {"once", 0, NULL, 'o'}, {"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int c;
    optind = 0; /* start anew: the dispatcher may have parsed options of its own */
    opterr = 0;
    while ((c = hark_cli_next(argc, argv, ":h", options)) != -1) {
        if (c == 'h') {
            hark_cli_ps_help();
            return -1;
        }
        if (c != 'j' && c != 'o') return hark_cli_refused("ps", c, argv);
        a->json |= c == 'j';
        a->once |= c == 'o';
    }
    if (optind + 1 < argc) return bad("expected one job, found \"%s\" too", argv[optind + 1]);
    a->job = argv[optind];
    return 0;
}

static int no_memory(void)
{
    (void)bad("no memory for the jobs of this host");
    return 1; /* not the input's fault */
}

/* ---- which one ------------------------------------------------------------------------------- */

static void name_matches(FILE *f, const struct ps_jobs *jobs, const char *word)
{
    const char *before = "";
    for (uint32_t i = 0; i < jobs->count; i++) {
        const struct ps_job *j = &jobs->job[i];
        if (j->answer == PS_GONE || !ps_matches(j, word)) continue;
        fprintf(f, "%s%s", before, ps_name(j));
        before = ", ";
    }
}

static int several(const struct ps_jobs *jobs, const char *word)
{
    char *names = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&names, &length);
    if (f) name_matches(f, jobs, word);
    const bool whole = f && fclose(f) == 0;
    const int status = bad(
        "expected one job, found several that begin with \"%s\": %s", word, whole ? names : "...");
    free(names);
    return status;
}

/* 0, or the exit status after one line. */
static int choose(const struct ps_jobs *jobs, const char *word, struct ps_job **chosen)
{
    uint32_t found = 0;
    *chosen = NULL;
    for (int how = 2; how > 0 && found == 0; how--)
        for (uint32_t i = 0; i < jobs->count; i++) {
            if (jobs->job[i].answer == PS_GONE || ps_matches(&jobs->job[i], word) != how) continue;
            *chosen = &jobs->job[i];
            found++;
        }
    if (found == 1) return 0;
    if (found) return several(jobs, word);
    return bad("no job \"%s\" of this user runs on this host: `hark ps` lists those that do", word);
}

/* ---- showing --------------------------------------------------------------------------------- */

static int no_answer(const struct ps_job *j)
{
    fprintf(stderr, "hark ps: job %s: ", ps_name(j));
    ps_show_why(stderr, j);
    fputc('\n', stderr);
    return 1;
}

static int show_one(const struct arguments *a, struct ps_jobs *jobs)
{
    struct ps_job *j;
    ps_ask(jobs, true, a->job);
    const int status = choose(jobs, a->job, &j);
    if (status) return status;
    if (j->answer != PS_ANSWERED) return no_answer(j);
    if (a->json) ps_json(stdout, j, 1, true);
    else if (!a->once && isatty(STDOUT_FILENO)) return ps_screen(j);
    else ps_show_job(stdout, j);
    return 0;
}

int hark_cli_ps(int argc, char **argv)
{
    struct arguments a = {0};
    struct ps_jobs jobs;
    int status = parse(&a, argc, argv);
    if (status) return status < 0 ? 0 : status;
    if (!a.job && !a.json && !a.once && isatty(STDOUT_FILENO)) return ps_screen(NULL);
    if (!ps_find(&jobs)) return no_memory();
    if (a.job) {
        status = show_one(&a, &jobs);
    } else {
        ps_ask(&jobs, false, NULL);
        if (a.json) ps_json(stdout, jobs.job, jobs.count, false);
        else ps_show_jobs(stdout, &jobs);
    }
    ps_free(&jobs);
    return status;
}
