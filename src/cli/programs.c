#include "programs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "values.h"

#define bad(...) hark_cli_bad("run", __VA_ARGS__)

static int no_memory(void)
{
    (void)bad("no memory for the programs");
    return 1;
}

struct hark_cli_program *hark_cli_programs_add(struct hark_cli_programs *p)
{
    struct hark_cli_program *more = realloc(p->at, (p->count + 1) * sizeof *more);
    if (more == NULL) {
        (void)no_memory();
        return NULL;
    }
    p->at = more;
    more[p->count] = (struct hark_cli_program){.ranks = 0};
    return &more[p->count++];
}

int hark_cli_program_variable(struct hark_cli_program *p, const char *text)
{
    const size_t length = strcspn(text, "=");
    if (length == 0) return bad("--env: expected NAME or NAME=VALUE, found \"%s\"", text);
    if (text[length] == 0 && getenv(text) == NULL)
        fprintf(
            stderr, "hark run: --env %s: it is not set, and the program does not get it\n", text);
    if (text[length] == 0) return 0; /* the program gets what we have */
    char *name = strndup(text, length);
    bool set = name && hark_cli_variables_set(&p->variables, name, text + length + 1);
    free(name);
    return set ? 0 : no_memory();
}

/* ---- the file that runs ---------------------------------------------------------------------- */

static bool can_run(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

#define refuse(p, ...) hark_cli_bad((p)->command, __VA_ARGS__)

/* `path` as it is named from every working directory. */
static bool keep_file(struct hark_cli_program *p, const char *path)
{
    while (strncmp(path, "./", 2) == 0 && path[2]) path += 2;
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (path[0] != '/' && here == NULL) return false;
    if (asprintf(&p->file, "%s%s%s", here ? here : "", here ? "/" : "", path) < 0) p->file = NULL;
    free(here);
    return p->file != NULL;
}

static int find_path(struct hark_cli_program *p, const char *name)
{
    char path[PATH_MAX];
    const bool within = p->directory && name[0] != '/';
    struct stat st;
    int made = within ? snprintf(path, sizeof path, "%s/%s", p->directory, name)
                      : snprintf(path, sizeof path, "%s", name);
    if (made >= PATH_MAX) return refuse(p, "%s: %s", name, strerror(ENAMETOOLONG));
    if (stat(path, &st) < 0) return refuse(p, "%s: %s", path, strerror(errno));
    if (!can_run(path)) return refuse(p, "%s: expected a program, this can not be executed", path);
    return keep_file(p, path) ? 0 : no_memory();
}

/* As execvp would find it. */
static int find_name(struct hark_cli_program *p, const char *name)
{
    char path[PATH_MAX];
    const char *list = getenv("PATH");
    for (const char *at = list ? list : "/bin:/usr/bin"; *name; at++) {
        int length = (int)strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", length ? length : 1, length ? at : ".", name);
        if (can_run(path)) return keep_file(p, path) ? 0 : no_memory();
        at += length;
        if (*at == 0) break;
    }
    struct stat st;
    const bool here = stat(name, &st) == 0 && S_ISREG(st.st_mode);
    return refuse(p, "%s: no such program in PATH%s%s%s", name, here ? "; did you mean ./" : "",
        here ? name : "", here ? "?" : "");
}

static int find_directory(const struct hark_cli_program *p)
{
    struct stat st;
    if (p->directory == NULL) return 0;
    if (stat(p->directory, &st) < 0)
        return refuse(p, "--wdir: %s: %s", p->directory, strerror(errno));
    return S_ISDIR(st.st_mode) ? 0 : refuse(p, "--wdir: %s is no directory", p->directory);
}

static int find(struct hark_cli_program *p, enum hark_cli_mpi mpi)
{
    const char *name = p->argv[0];
    if (name == NULL || *name == 0)
        return refuse(p, "expected a program: hark run [OPTION]... -- PROGRAM [ARG]...");
    int status = mpi == HARK_CLI_MPI_NONE ? 0 : hark_cli_mpi_launcher(p->argv);
    if (status == 0) status = find_directory(p);
    if (status == 0) status = strchr(name, '/') ? find_path(p, name) : find_name(p, name);
    return status ? status : hark_cli_mpi_choose(mpi, p->file, &p->variables, &p->same_addresses);
}

/* ---- all of them ----------------------------------------------------------------------------- */

int hark_cli_programs_find(
    struct hark_cli_programs *p, enum hark_cli_mpi mpi, uint32_t ranks, uint64_t *all)
{
    p->run = calloc(p->count, sizeof *p->run);
    *all = 0;
    if (p->run == NULL) return no_memory();
    for (uint32_t i = 0; i < p->count; i++) {
        struct hark_cli_program *one = &p->at[i];
        if (one->ranks == 0 && p->count > 1)
            return bad("expected -n N before each of several programs, none is before %s",
                one->argv[0] ? one->argv[0] : "the last");
        if (one->ranks == 0) one->ranks = ranks;
        one->command = p->command ? p->command : "run";
        int status = find(one, mpi);
        if (status) return status;
        *all += one->ranks;
        p->run[i] = (struct hark_run_program){.argv = one->argv,
            .file = one->file,
            .ranks = one->ranks,
            .directory = one->directory,
            .environment = one->variables.at,
            .same_addresses = one->same_addresses};
    }
    return 0;
}

void hark_cli_programs_free(struct hark_cli_programs *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        hark_cli_variables_free(&p->at[i].variables);
        free(p->at[i].file);
    }
    free(p->at);
    free(p->run);
}
