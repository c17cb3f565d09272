/* mpi.c: `hark mpi`: what hark has of MPI. */
#include "mpi.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "elf_file.h"
#include "mpi_choice.h"
#include "programs.h"
#include "values.h"

#define bad(...) hark_cli_bad("mpi", __VA_ARGS__)

void hark_cli_mpi_help(void)
{
    fputs(
        "usage: hark mpi\n"
        "       hark mpi PROGRAM\n"
        "       hark mpi --functions\n"
        "Shows the MPIs whose programs `hark run` runs, and where hark's libraries for them are; "
        "or what `hark run`\n"
        "would do for PROGRAM, and which functions it calls that hark refuses.\n\n"
        "  --functions   the functions of MPI, a line each: name, who declares it, family, yes or "
        "why hark refuses it\n"
        "Exit status: 0; 1 PROGRAM calls functions that hark refuses; 2 bad usage, or PROGRAM "
        "cannot run under hark.\n",
        stdout);
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool is_there(const struct hark_cli_mpi_function *f)
{
    return strcmp(f->does, "yes") == 0;
}

static const char *does(const struct hark_cli_mpi_function *f)
{
    return strcmp(f->does, "todo") == 0 ? "hark does not have this function" : f->does;
}

static int print_functions(void)
{
    unsigned all = 0, there = 0;
    for (const struct hark_cli_mpi_function *f = hark_cli_mpi_functions; f->name; f++) {
        const char *i = f->interfaces;
        printf("%-34s %-5s %-7s %-3s %-14s %s\n", f->name, i[0] == 'm' ? "mpich" : "-",
            i[1] == 'o' ? "openmpi" : "-", i[2] == 's' ? "abi" : "-", f->family, does(f));
        all++;
        there += is_there(f);
    }
    fprintf(stderr, "%u functions, %u of them hark has\n", all, there);
    return 0;
}

/* ---- interfaces ------------------------------------------------------------------------------ */

static void print_interface(enum hark_cli_mpi which)
{
    struct hark_cli_mpi_kind kind;
    char path[4400];
    const char *name;
    bool any = false;
    hark_cli_mpi_kind(which, &kind);
    for (size_t n = 0; (name = hark_cli_mpi_soname(which, n)) != NULL; n++) {
        snprintf(path, sizeof path, "%s/%s", kind.folder, name);
        if (access(path, R_OK) < 0) continue;
        printf("%-8s %s: %s\n", any ? "" : kind.option, any ? "and" : kind.name, path);
        any = true;
    }
    if (!any) printf("%-8s %s: not there: %s\n", kind.option, kind.name, kind.missing);
}

static int print_interfaces(void)
{
    unsigned all = 0, there = 0;
    for (unsigned i = 0; i < HARK_CLI_MPIS; i++) print_interface(i);
    for (const struct hark_cli_mpi_function *f = hark_cli_mpi_functions; f->name; f++)
        all++, there += is_there(f);
    printf("hark has %u of %u functions (hark mpi --functions)\n", there, all);
    return 0;
}

/* ---- a program ------------------------------------------------------------------------------- */

/* MPI_Send, PMPI_Send, and what Fortran makes of it: mpi_send_, mpi_send__, mpi_send_f08_,
 * MPI_SEND. */
static bool names(const char *symbol, const char *function)
{
    static const char *const endings[] = {"", "_", "__", "_f08", "_f08_", "_f08ts_"};
    const size_t length = strlen(function);
    if (*symbol == 'P' || *symbol == 'p') symbol++;
    if (strncasecmp(symbol, function, length) != 0) return false;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (strcmp(symbol + length, endings[i]) == 0) return true;
    return false;
}

enum { CALLED_MAX = 1024 };
struct called {
    bool refused[CALLED_MAX]; /* of the functions in the table */
};

static bool note_call(void *self, const char *symbol, bool defined)
{
    struct called *c = self;
    if (defined || (strncasecmp(symbol, "MPI", 3) != 0 && strncasecmp(symbol, "PMPI", 4) != 0))
        return false;
    for (size_t i = 0; i < CALLED_MAX && hark_cli_mpi_functions[i].name; i++)
        if (!is_there(&hark_cli_mpi_functions[i]) && names(symbol, hark_cli_mpi_functions[i].name))
            c->refused[i] = true;
    return false;
}

/* A script calls nothing itself; and of libraries we do not know which of their functions a program
 * uses. 1: some are refused. */
static int print_refused(const char *file)
{
    struct hark_elf e;
    struct called c = {.refused = {false}};
    int any = 0;
    if (hark_elf_open(&e, file) != HARK_ELF_OK) return 0;
    (void)hark_elf_visit(&e, note_call, &c);
    hark_elf_close(&e);
    for (size_t i = 0; i < CALLED_MAX && hark_cli_mpi_functions[i].name; i++) {
        if (!c.refused[i]) continue;
        const struct hark_cli_mpi_function *f = &hark_cli_mpi_functions[i];
        if (!any) printf("  it refers to functions that end it with a line when it calls them:\n");
        printf("    %s: %s\n", f->name, does(f));
        any = 1;
    }
    return any;
}

static void print_choice(const struct hark_cli_program *p)
{
    const char *preload = NULL, *search = NULL;
    for (size_t i = 0; i < p->variables.count; i++) {
        if (strncmp(p->variables.at[i], "LD_PRELOAD=", 11) == 0) preload = p->variables.at[i] + 11;
        if (strncmp(p->variables.at[i], "LD_LIBRARY_PATH=", 16) == 0)
            search = p->variables.at[i] + 16;
    }
    if (preload)
        printf("%s: a program of MPI\n  hark run puts in the place of its MPI library: %.*s\n",
            p->file, (int)strcspn(preload, ":"), preload);
    else if (search)
        printf("%s: it names no MPI library; for what it loads later, hark run begins "
               "LD_LIBRARY_PATH with:\n  %s\n",
            p->file, search);
    else printf("%s: hark run leaves it as it is: it calls hark itself, or no MPI\n", p->file);
}

static int print_program(char **argv)
{
    struct hark_cli_programs programs = {.command = "mpi"};
    struct hark_cli_program *p = hark_cli_programs_add(&programs);
    uint64_t ranks;
    if (p == NULL) return 2;
    p->argv = argv;
    int status = hark_cli_programs_find(&programs, HARK_CLI_MPI_AUTO, 1, &ranks);
    if (status == 0) {
        print_choice(&programs.at[0]);
        status = print_refused(programs.at[0].file);
    }
    hark_cli_programs_free(&programs);
    return status;
}

int hark_cli_mpi(int argc, char **argv)
{
    static const struct option options[] = {
        {"functions", 0, NULL, 'f'}, {"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool functions = false;
    int c;
    optind = 0; /* start anew: the dispatcher may have parsed options of its own */
    opterr = 0;
    while ((c = hark_cli_next(argc, argv, "+:h", options)) != -1) {
        if (c == 'h') {
            hark_cli_mpi_help();
            return 0;
        }
        if (c != 'f') return hark_cli_refused("mpi", c, argv);
        functions = true;
    }
    if (optind + !functions < argc)
        return bad("expected %s, found \"%s\" too",
            functions ? "--functions alone" : "one program at most", argv[optind + !functions]);
    if (functions) return print_functions();
    return optind < argc ? print_program(argv + optind) : print_interfaces();
}
