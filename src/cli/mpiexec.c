#include "mpiexec.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

enum action {
    RANKS,    /* -n N */
    FOLDER,   /* --wdir DIR */
    VARIABLE, /* NAME VALUE, of this program */
    COMMON,   /* NAME VALUE, of all */
    EXPORT,   /* NAME or NAME=VALUE, of all */
    TAGS,
    IGNORED,
    HOSTS,    /* a list of them; this one alone is no news */
    HOSTFILE, /* or a file */
    INTERFACE
};

/* Of MPICH's mpiexec (Hydra), and of Open MPI's; one dash is as good as two. */
static const struct known {
    const char *name;
    enum action action;
    int values;
} options[] = {{"n", RANKS, 1}, {"np", RANKS, 1}, {"c", RANKS, 1}, {"wdir", FOLDER, 1},
    {"wd", FOLDER, 1}, {"env", VARIABLE, 2}, {"genv", COMMON, 2}, {"x", EXPORT, 1}, {"l", TAGS, 0},
    {"prepend-rank", TAGS, 0}, {"tag-output", TAGS, 0}, {"hosts", HOSTS, 1}, {"host", HOSTS, 1},
    {"H", HOSTS, 1}, {"hostfile", HOSTFILE, 1}, {"machinefile", HOSTFILE, 1}, {"f", HOSTFILE, 1},
    {"envall", IGNORED, 0}, {"genvall", IGNORED, 0}, {"oversubscribe", IGNORED, 0},
    {"allow-run-as-root", IGNORED, 0}, {"bind-to", IGNORED, 1}, {"bind-to-core", IGNORED, 0},
    {"map-by", IGNORED, 1}, {"rank-by", IGNORED, 1}, {"report-bindings", IGNORED, 0},
    {"use-hwthread-cpus", IGNORED, 0}, {"mca", IGNORED, 2}, {"ppn", IGNORED, 1},
    {"perhost", IGNORED, 1}, {"npernode", IGNORED, 1}, {"launcher", IGNORED, 1},
    {"rmk", IGNORED, 1}, {"iface", INTERFACE, 1}, {"disable-auto-cleanup", IGNORED, 0},
    {"enable-recovery", IGNORED, 0}, {"q", IGNORED, 0}, {"quiet", IGNORED, 0}};

struct words { /* a command line under construction */
    char **at;
    size_t count;
    bool no_memory;
};

struct command {
    struct words line;   /* of `hark run` */
    struct words common; /* "--env", "NAME=VALUE" ... for all programs */
    struct words ignored;
    bool tags;
};

static void add(struct words *w, const char *text)
{
    char **more = realloc(w->at, (w->count + 2) * sizeof *more);
    if (more) w->at = more;
    char *copy = more ? strdup(text) : NULL;
    if (copy) {
        more[w->count++] = copy;
        more[w->count] = NULL;
    } else {
        w->no_memory = true;
    }
}

static void add_variable(struct words *w, const char *name, const char *value)
{
    char *text = NULL;
    add(w, "--env");
    if (asprintf(&text, "%s=%s", name, value) < 0) text = NULL;
    if (text) add(w, text);
    else w->no_memory = true;
    free(text);
}

static void free_words(struct words *w)
{
    for (size_t i = 0; i < w->count; i++) free(w->at[i]);
    free(w->at);
}

static const struct known *known_option(const char *word)
{
    word += word[1] == '-' ? 2 : 1;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strcmp(options[i].name, word) == 0) return &options[i];
    return NULL;
}

static int wrong(const char *option, const char *why)
{
    fprintf(stderr, "hark-mpiexec: %s: %s\n", option, why);
    return 2;
}

/* `word` is the option, its values follow. */
static int take(struct command *c, const struct known *k, char *const *word)
{
    switch (k->action) {
    case RANKS: add(&c->line, "-n"), add(&c->line, word[1]); break;
    case FOLDER: add(&c->line, "--wdir"), add(&c->line, word[1]); break;
    case VARIABLE: add_variable(&c->line, word[1], word[2]); break;
    case COMMON: add_variable(&c->common, word[1], word[2]); break;
    case EXPORT: add(&c->common, "--env"), add(&c->common, word[1]); break;
    case TAGS: c->tags = true; break;
    case IGNORED:
        for (int i = 0; i <= k->values; i++) add(&c->ignored, word[i]);
        break;
    case HOSTS:
        if (strcmp(word[1], "localhost") != 0) add(&c->line, "--hosts"), add(&c->line, word[1]);
        break;
    case HOSTFILE: add(&c->line, "--hostfile"), add(&c->line, word[1]); break;
    case INTERFACE: add(&c->line, "--interface"), add(&c->line, word[1]); break;
    }
    return 0;
}

/* Options up to the program of one part; *next is that. */
static int take_options(struct command *c, char *const *argv, char *const **next)
{
    bool ranks = false;
    for (*next = argv; **next && ***next == '-'; ++*next) {
        const char *word = **next;
        if (strcmp(word, "--") == 0) {
            ++*next;
            break;
        }
        const struct known *k = known_option(word);
        if (k == NULL && strncmp(word, "--", 2) == 0 && strchr(word, '=')) {
            add(&c->line, word); /* of hark run */
            continue;
        }
        if (k == NULL)
            return wrong(word, "no such option; one of hark run is taken as --NAME=VALUE");
        for (int i = 1; i <= k->values; i++)
            if ((*next)[i] == NULL) return wrong(word, "it needs a value");
        int status = take(c, k, *next);
        if (status) return status;
        ranks |= k->action == RANKS;
        *next += k->values;
    }
    if (!ranks) add(&c->line, "-n"), add(&c->line, "1");
    return 0;
}

static int translate(struct command *c, char *const *argv)
{
    char *const *next = argv;
    add(&c->line, "run");
    for (bool first = true; first || *next; first = false) {
        if (!first) add(&c->line, *next++);
        int status = take_options(c, next, &next);
        if (status) return status;
        add(&c->line, "--");
        for (; *next && strcmp(*next, ":") != 0; next++) add(&c->line, *next);
    }
    return 0;
}

/* The common ones go behind "run" and behind each ":", where a part begins: its own come later, and
 * hold. */
static void spread(struct command *c, struct words *all)
{
    for (size_t i = 0; i < c->line.count; i++) {
        add(all, c->line.at[i]);
        if (i == 0 && c->tags) add(all, "--tag-output");
        if (i && strcmp(c->line.at[i], ":") != 0) continue;
        for (size_t k = 0; k < c->common.count; k++) add(all, c->common.at[k]);
    }
}

static void note_ignored(const struct words *ignored)
{
    if (ignored->count == 0) return;
    fputs("hark-mpiexec: ignored:", stderr);
    for (size_t i = 0; i < ignored->count; i++) fprintf(stderr, " %s", ignored->at[i]);
    fputc('\n', stderr);
}

/* hark_cli_run() changes the list that it is given; the strings stay ours. */
static int run(const struct words *all)
{
    char **list = malloc((all->count + 1) * sizeof *list);
    if (list == NULL) {
        (void)wrong("its options", "no memory");
        return 1;
    }
    memcpy(list, all->at, (all->count + 1) * sizeof *list);
    int status = hark_cli_run((int)all->count, list);
    free(list);
    return status;
}

static int help(void)
{
    puts("usage: hark-mpiexec [OPTION]... PROGRAM [ARG]... [: [OPTION]... PROGRAM [ARG]...]...\n"
         "Runs MPI programs under `hark run`, with options as those of mpiexec.\n\n"
         "  -n N, -np N, -c N       processes (1)\n"
         "  -wdir DIR               their working directory\n"
         "  -env NAME VALUE         a variable of the environment; -genv: for all programs\n"
         "  -x NAME[=VALUE]         the same\n"
         "  -l                      begin each line of output with its rank\n"
         "  -hosts LIST             run on these hosts: a:2,b:2; -hostfile FILE: those of a file\n"
         "  --NAME=VALUE            an option of hark run, such as --interval=10s\n"
         "Options that place processes or allow it (--bind-to, --oversubscribe ...) are ignored.");
    return 0;
}

int hark_cli_mpiexec(int argc, char **argv)
{
    struct command c = {.tags = false};
    struct words all = {NULL, 0, false};
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) return help();
    int status = translate(&c, argv + 1);
    if (status == 0) spread(&c, &all);
    if (status == 0 && (c.line.no_memory || c.common.no_memory || all.no_memory)) {
        (void)wrong("its options", "no memory");
        status = 1;
    }
    if (status == 0) note_ignored(&c.ignored);
    if (status == 0) status = run(&all);
    free_words(&c.line);
    free_words(&c.common);
    free_words(&c.ignored);
    free_words(&all);
    return status;
}
