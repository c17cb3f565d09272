#include "mpi_choice.h"

#include <elf.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_file.h"
#include "values.h"

#define bad(...) hark_cli_bad("run", __VA_ARGS__)

#define LIBRARIES_MAX 512u /* that are looked into, of one program */

static const struct {
    const char *option, *name, *missing;
} known_mpi[HARK_CLI_MPIS] = {
    {"mpich", "MPICH",
        "hark was built without MPICH's headers: install libmpich-dev and build hark again"},
    {"openmpi", "Open MPI",
        "hark was built without Open MPI's headers: install libopenmpi-dev and build hark again"},
    {"abi", "the standard ABI of MPI", "hark was built without it: build hark again, with MPI"}};

#define VELOC "libveloc-client.so" /* hark has one for all MPIs */
/* Open MPI's library of mpif.h calls internals of its library of C, so hark has its own of both. */
#define MPIFH "libmpi_mpifh.so.40"

/* The libraries by which a program needs an MPI: that of C, and those of other languages that stand
 * on it. */
static const struct soname {
    const char *name, *stands_on;
    enum hark_cli_mpi mpi;
} sonames[] = {{"libmpich.so.12", NULL, HARK_CLI_MPICH}, {"libmpi.so.12", NULL, HARK_CLI_MPICH},
    {"libmpi.so.40", NULL, HARK_CLI_OPENMPI}, {"libmpi_abi.so.0", NULL, HARK_CLI_MPI_ABI},
    {"libmpi_abi.so.1", NULL, HARK_CLI_MPI_ABI},
    {"libmpichfort.so.12", "libmpich.so.12", HARK_CLI_MPICH},
    {"libmpichcxx.so.12", "libmpich.so.12", HARK_CLI_MPICH},
    {"libmpifort.so.12", "libmpi.so.12", HARK_CLI_MPICH},
    {"libmpicxx.so.12", "libmpi.so.12", HARK_CLI_MPICH}, {MPIFH, "libmpi.so.40", HARK_CLI_OPENMPI},
    {"libmpi_usempi_ignore_tkr.so.40", MPIFH, HARK_CLI_OPENMPI},
    {"libmpi_usempif08.so.40", MPIFH, HARK_CLI_OPENMPI},
    {"libmpi_cxx.so.40", "libmpi.so.40", HARK_CLI_OPENMPI}};
#define SONAMES (sizeof sonames / sizeof sonames[0])

static const struct soname *soname_of(const char *name)
{
    for (size_t i = 0; i < SONAMES; i++)
        if (strcmp(sonames[i].name, name) == 0) return &sonames[i];
    return NULL;
}

static int no_memory(void)
{
    (void)bad("no memory for what the program needs");
    return 1;
}

bool hark_cli_mpi_named(const char *text, enum hark_cli_mpi *which)
{
    for (unsigned i = 0; i < HARK_CLI_MPIS; i++)
        if (strcmp(text, known_mpi[i].option) == 0) return *which = i, true;
    *which = strcmp(text, "none") == 0 ? HARK_CLI_MPI_NONE : HARK_CLI_MPI_AUTO;
    return *which == HARK_CLI_MPI_NONE || strcmp(text, "auto") == 0;
}

/* ---- launchers ------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int hark_cli_mpi_launcher(char *const *argv)
{
    static const char *const launchers[] = {"mpiexec", "mpirun", "srun", "orterun", "prterun",
        "prun", "mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich", "mpiexec.openmpi",
        "mpirun.openmpi", "oshrun", "aprun", "jsrun"};
    const char *name = base_name(argv[0]), *ranks = "N";
    bool is = false;
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        is |= strcmp(name, launchers[i]) == 0;
    if (!is) return 0;
    for (char *const *word = argv + 1; *word && word[1]; word++)
        if (strcmp(*word, "-n") == 0 || strcmp(*word, "-np") == 0 || strcmp(*word, "-c") == 0)
            ranks = word[1];
    return bad("%s: hark run starts the processes itself: use `hark run -n %s -- PROGRAM`, without "
               "%s (or hark-mpiexec, which takes options of mpiexec)",
        argv[0], ranks, name);
}

/* ---- what a program needs -------------------------------------------------------------------- */

struct needs {
    const struct soname *found[SONAMES]; /* libraries of MPI's C interface, each once */
    size_t founds;
    bool mpifh;  /* one of them is, or stands on, MPIFH */
    char **seen; /* libraries that were looked into, or wait for that; owned */
    size_t seen_count, next;
    char **folder; /* in which ld.so looks for all programs; owned */
    size_t folders;
    bool hark;  /* it is linked with hark */
    bool veloc; /* it is checkpointed by VELOC */
    bool no_memory;
};

static void add(char ***list, size_t *count, const char *text, struct needs *n)
{
    char **more = realloc(*list, (*count + 1) * sizeof *more);
    if (more) *list = more;
    char *copy = more ? strdup(text) : NULL;
    if (copy) more[(*count)++] = copy;
    else n->no_memory = true;
}

static void add_folders_of(struct needs *n, const char *configuration)
{
    char *line = NULL;
    size_t room = 0;
    FILE *f = fopen(configuration, "re");
    while (f && getline(&line, &room, f) > 0) {
        line[strcspn(line, " \t\n#")] = 0;
        if (*line == '/') add(&n->folder, &n->folders, line, n);
    }
    free(line);
    if (f) fclose(f);
}

/* The names of ld.so.conf(5), which is what ld.so.cache was made from, and those of ld.so itself.
 */
static void find_folders(struct needs *n)
{
    static const char *const usual[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
    glob_t files;
    add_folders_of(n, "/etc/ld.so.conf");
    if (glob("/etc/ld.so.conf.d/*.conf", 0, NULL, &files) == 0) {
        for (size_t i = 0; i < files.gl_pathc; i++) add_folders_of(n, files.gl_pathv[i]);
        globfree(&files);
    }
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        add(&n->folder, &n->folders, usual[i], n);
}

static void note_library(struct needs *n, const char *path)
{
    for (size_t i = 0; i < n->seen_count; i++)
        if (strcmp(n->seen[i], path) == 0) return;
    if (n->seen_count < LIBRARIES_MAX) add(&n->seen, &n->seen_count, path, n);
}

/* Is `name` there, in one of the folders of `list`, which ':' separates? $ORIGIN is the folder of
 * `of`. */
static bool found_in(struct needs *n, const char *list, const char *name, const char *of)
{
    char path[PATH_MAX];
    const int own = (int)(base_name(of) - of);
    while (list && *list) {
        const size_t length = strcspn(list, ":");
        const size_t origin = strncmp(list, "$ORIGIN", 7) == 0     ? 7
                              : strncmp(list, "${ORIGIN}", 9) == 0 ? 9
                                                                   : 0;
        int made = snprintf(path, sizeof path, "%.*s%.*s/%s", origin ? own : 0, of,
            (int)(length - origin), list + origin, name);
        if (made > 0 && (size_t)made < sizeof path && access(path, R_OK) == 0) {
            note_library(n, path);
            return true;
        }
        list += length + (list[length] == ':');
    }
    return false;
}

/* A library that is not found is not looked into: ld.so will say so, if it is not there. */
static void find_library(
    struct needs *n, const struct hark_elf *e, const char *of, const char *name)
{
    char folder[PATH_MAX + 1];
    if (strchr(name, '/')) {
        note_library(n, name);
        return;
    }
    if (found_in(n, hark_elf_string(e, DT_RPATH, 0), name, of)) return;
    if (found_in(n, getenv("LD_LIBRARY_PATH"), name, of)) return;
    if (found_in(n, hark_elf_string(e, DT_RUNPATH, 0), name, of)) return;
    for (size_t i = 0; i < n->folders; i++) {
        snprintf(folder, sizeof folder, "%s", n->folder[i]);
        if (found_in(n, folder, name, of)) return;
    }
}

static void note_mpi(struct needs *n, const struct soname *s)
{
    for (; s->stands_on; s = soname_of(s->stands_on))
        n->mpifh = n->mpifh || strcmp(s->name, MPIFH) == 0;
    for (size_t i = 0; i < n->founds; i++)
        if (n->found[i] == s) return;
    n->found[n->founds++] = s;
}

static void look_into(struct needs *n, const struct hark_elf *e, const char *path)
{
    const char *name;
    for (size_t i = 0; (name = hark_elf_string(e, DT_NEEDED, i)) != NULL; i++) {
        const struct soname *s = soname_of(base_name(name));
        if (s) note_mpi(n, s);
        else if (strncmp(name, "libhark_app.so", 14) == 0) n->hark = true;
        else if (strcmp(base_name(name), VELOC) == 0) n->veloc = true;
        else if (*name) find_library(n, e, path, name);
    }
}

/* All libraries that would be loaded with it, each once. */
static void look_into_libraries(struct needs *n)
{
    struct hark_elf e;
    while (n->next < n->seen_count && !n->hark) {
        char *path = n->seen[n->next++];
        if (hark_elf_open(&e, path) != HARK_ELF_OK) continue;
        look_into(n, &e, path);
        hark_elf_close(&e);
    }
}

static void free_needs(struct needs *n)
{
    for (size_t i = 0; i < n->seen_count; i++) free(n->seen[i]);
    for (size_t i = 0; i < n->folders; i++) free(n->folder[i]);
    free(n->seen);
    free(n->folder);
}

/* ---- hark's libraries ------------------------------------------------------------------------ */

/* The folder that has a folder for each MPI: beside the command in a build tree, else where both
 * were installed, also if the whole was moved since. */
static void find_libraries(char root[PATH_MAX])
{
    static const char build[] = "/src/cli";
    const char *given = getenv("HARK_MPI_PATH");
    char exe[PATH_MAX], whole[PATH_MAX];
    if (given && *given) {
        snprintf(root, PATH_MAX, "%s", given);
        if (realpath(given, whole)) memcpy(root, whole, sizeof whole);
        return;
    }
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = 0;
    exe[base_name(exe) - exe] = 0;
    const size_t length = strlen(exe);
    const bool built =
        length > sizeof build && strncmp(exe + length - sizeof build, build, sizeof build - 1) == 0;
    int made = built ? snprintf(root, PATH_MAX, "%s../mpi", exe)
                     : snprintf(root, PATH_MAX, "%s%s", exe, HARK_MPI_FROM_BINDIR);
    if (made >= PATH_MAX || (!built && access(root, X_OK) < 0))
        snprintf(root, PATH_MAX, "%s", HARK_MPI_INSTALLED);
    if (realpath(root, whole)) memcpy(root, whole, sizeof whole);
}

void hark_cli_mpi_kind(enum hark_cli_mpi which, struct hark_cli_mpi_kind *kind)
{
    char root[PATH_MAX];
    find_libraries(root);
    kind->option = known_mpi[which].option;
    kind->name = known_mpi[which].name;
    kind->missing = known_mpi[which].missing;
    snprintf(kind->folder, sizeof kind->folder, "%s/%s", root, kind->option);
}

const char *hark_cli_mpi_soname(enum hark_cli_mpi which, size_t n)
{
    for (size_t i = 0; i < SONAMES; i++)
        if (sonames[i].mpi == which && n-- == 0) return sonames[i].name;
    return NULL;
}

/* hark's library `name` in the folder of its kind: an MPI's, or another. */
static int preload(const char *of, const char *folder, const char *name, const char *missing,
    struct hark_cli_variables *v)
{
    char root[PATH_MAX], path[PATH_MAX + 64];
    find_libraries(root);
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    if (access(path, R_OK) < 0)
        return bad("the program needs %s of %s, and there is no %s: %s", name, of, path, missing);
    if (strpbrk(path, ": "))
        return bad("%s: LD_PRELOAD can not name a path with a space or a colon: set HARK_MPI_PATH "
                   "to one without",
            path);
    return hark_cli_variables_prepend(v, "LD_PRELOAD", path) ? 0 : no_memory();
}

static int preload_of(enum hark_cli_mpi mpi, const char *name, struct hark_cli_variables *v)
{
    return preload(known_mpi[mpi].name, known_mpi[mpi].option, name, known_mpi[mpi].missing, v);
}

/* The library of C is the first: it has what the others call. */
static int preload_all(const struct needs *n, struct hark_cli_variables *v)
{
    const struct soname *s = n->found[0];
    int status = 0;
    if (n->veloc)
        status = preload("VELOC", "veloc", VELOC, "set HARK_MPI_PATH to the whole of them", v);
    if (status == 0 && n->mpifh) status = preload_of(s->mpi, MPIFH, v);
    return status ? status : preload_of(s->mpi, s->name, v);
}

/* The folders are searched in their order: `first` comes first. */
static int search(enum hark_cli_mpi first, struct hark_cli_variables *v)
{
    char root[PATH_MAX], path[PATH_MAX + 16];
    find_libraries(root);
    if (first >= HARK_CLI_MPIS) first = HARK_CLI_MPICH;
    for (unsigned i = HARK_CLI_MPIS; i-- > 0;) {
        const unsigned which = (first + i) % HARK_CLI_MPIS;
        snprintf(path, sizeof path, "%s/%s", root, known_mpi[which].option);
        if (access(path, X_OK) < 0) continue;
        if (!hark_cli_variables_prepend(v, "LD_LIBRARY_PATH", path)) return no_memory();
    }
    return 0;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* One name of one MPI, and that which was asked for. */
static int agree(enum hark_cli_mpi which, const char *path, const struct needs *n)
{
    const struct soname *a = n->found[0], *b = n->founds > 1 ? n->found[1] : NULL;
    if (b)
        return bad("%s: it needs the libraries of two MPIs, %s (%s) and %s (%s): link it, and the "
                   "libraries that it uses, with one of them",
            path, a->name, known_mpi[a->mpi].name, b->name, known_mpi[b->mpi].name);
    if (which == HARK_CLI_MPI_AUTO || which == a->mpi) return 0;
    return bad("--mpi %s: %s needs %s, which is %s: leave out --mpi, or use --mpi %s",
        known_mpi[which].option, path, a->name, known_mpi[a->mpi].name, known_mpi[a->mpi].option);
}

/* An MPI within the program itself, in the place of which no other can be loaded? */
static int has_mpi_inside(const struct hark_elf *e, const char *path)
{
    if (!hark_elf_defines(e, "MPI_Init") && !hark_elf_defines(e, "PMPI_Init")) return 0;
    return bad(
        "%s: MPI is linked into it statically, and hark replaces shared libraries only: link "
        "it again without -static",
        path);
}

static int choose(enum hark_cli_mpi which, const char *path, const struct hark_elf *e,
    struct needs *n, struct hark_cli_variables *v)
{
    find_folders(n);
    look_into(n, e, path);
    if (hark_elf_defines(e, "hark_init")) return 0;
    look_into_libraries(n); /* a program that calls hark for its checkpoints uses MPI, too */
    if (n->no_memory) return no_memory();
    if (n->hark && n->founds == 0) return 0;
    if (n->founds) {
        int status = agree(which, path, n);
        return status ? status : preload_all(n, v);
    }
    int status = has_mpi_inside(e, path);
    return status || !e->starts_with_loader ? status : search(which, v);
}

int hark_cli_mpi_choose(
    enum hark_cli_mpi which, const char *path, struct hark_cli_variables *v, bool *same_addresses)
{
    struct hark_elf e;
    struct needs n = {.founds = 0};
    if (which == HARK_CLI_MPI_NONE || sizeof(void *) < 8) return 0;
    switch (hark_elf_open(&e, path)) {
    case HARK_ELF_NOT: return 0; /* whatever it is, its start will say so */
    case HARK_ELF_SCRIPT: *same_addresses = true; return search(which, v);
    case HARK_ELF_OTHER:
        return bad("%s: it is built for other machines than this hark, such as 32-bit ones: build "
                   "it for this one (or use --mpi none, if it calls hark itself)",
            path);
    case HARK_ELF_OK: break;
    }
    int status = choose(which, path, &e, &n, v);
    *same_addresses = n.founds == 0 || n.found[0]->mpi == HARK_CLI_OPENMPI;
    free_needs(&n);
    hark_elf_close(&e);
    return status;
}
