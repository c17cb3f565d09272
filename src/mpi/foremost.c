/* A program that has checkpoints is linked with libhark_app too, and that library may come before
 * this one. Then the program's calls of hark_protect and its kin reach another application layer
 * than the one in here, which nobody has opened. `hark run` loads this library first, in the
 * programs that it starts itself; it can not know which one a script starts, or env. So such a
 * program is executed again, before its main begins, with this library first. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "internal.h"

static const char again[] = "HARK_MPI_AGAIN"; /* once is enough, whatever comes of it */

/* Where the library lies in memory that the program finds this function in; NULL: in none. */
static const void *library_of(const void *function)
{
    Dl_info info;
    return function && dladdr(function, &info) ? info.dli_fbase : NULL;
}

/* Does the program itself ask for libhark_app? What it loads when it runs is its own affair. */
static bool program_has_app(void)
{
    static const char app[] = "libhark_app.so";
    const struct link_map *program = dlopen(NULL, RTLD_LAZY);
    const char *names = NULL;
    if (program == NULL) return false;
    for (const ElfW(Dyn) *d = program->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB) names = (const char *)d->d_un.d_ptr;
    if ((uintptr_t)names < program->l_addr) names += program->l_addr; /* not on all machines */
    for (const ElfW(Dyn) *d = program->l_ld; names && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED && strncmp(names + d->d_un.d_val, app, sizeof app - 1) == 0)
            return true;
    return false;
}

/* Of two libraries of hark's for MPI the first one counts: this is about libhark_app alone. */
static bool another_is_first(const void *own)
{
    const void *layer = library_of(dlsym(RTLD_DEFAULT, "hark_init"));
    return layer && layer != own && library_of(dlsym(RTLD_DEFAULT, "PMPI_Init")) == own;
}

/* Puts the library before those that LD_PRELOAD has. */
static bool preload(const char *path)
{
    char all[8192];
    const char *had = getenv("LD_PRELOAD");
    if (path[0] != '/' || strpbrk(path, ": ")) return false; /* it can not name this one */
    int length = snprintf(all, sizeof all, "%s%s%s", path, had && *had ? ":" : "", had ? had : "");
    return length < (int)sizeof all && setenv("LD_PRELOAD", all, 1) == 0 &&
           setenv(again, "1", 1) == 0;
}

__attribute__((constructor)) static void be_first(int argc, char **argv)
{
    char program[4096];
    Dl_info own;
    (void)argc;
    const bool tried = getenv(again) != NULL;
    (void)unsetenv(again);
    if (tried || getenv("HARK_CONTROL") == NULL || getauxval(AT_BASE) == 0) return;
    if (!dladdr((const void *)again, &own) || !another_is_first(own.dli_fbase)) return;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0 || !program_has_app() || !preload(own.dli_fname)) return;
    program[length] = 0;
    execv(program, argv);
    (void)unsetenv(again);
}
