/* library.c: libfabric, loaded when it is needed. It stays: what it has begun can not be ended.
 *
 * What it loads in turn may do more than a library should: that of PSM, in Debian 12, takes over
 * SIGSEGV, SIGABRT, SIGINT and others to print a backtrace. They are the program's, so they are put
 * back.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/store/descriptor.h"
#include "end.h"

#define LIBRARY "libfabric.so.1"
/* Receive buffers of 16 KiB for each endpoint over connections, 4096 if nobody says anything: they
 * would take 64 MiB and 80 ms of each process. */
#define BUFFERS      "FI_OFI_RXM_MSG_RX_SIZE"
#define BUFFER_COUNT "256"

static struct library library;
static bool loaded;
static char reason[160];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *handle, const char *name, void *to)
{
    void *at = dlsym(handle, name);
    memcpy(to, &at, sizeof at); /* ISO C has no conversion of an object to a function */
    return at != NULL;
}

/* Its providers begin with the first question, whatever that is. */
static void begin_providers(void)
{
    struct fi_info *info = NULL;
    struct fi_info *hints = library.dupinfo(NULL);
    const bool ours = getenv(BUFFERS) == NULL && setenv(BUFFERS, BUFFER_COUNT, 0) == 0;
    if (hints) hints->fabric_attr->prov_name = strdup("none of them");
    if (library.getinfo(FABRIC_VERSION, NULL, NULL, 0, hints, &info) == 0) library.freeinfo(info);
    if (hints) library.freeinfo(hints);
    if (ours) (void)unsetenv(BUFFERS);
}

static void load(void)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(reason, sizeof reason, "cannot load it: %s", dlerror());
        return;
    }
    loaded = find(handle, "fi_getinfo", &library.getinfo) &&
             find(handle, "fi_freeinfo", &library.freeinfo) &&
             find(handle, "fi_dupinfo", &library.dupinfo) &&
             find(handle, "fi_fabric", &library.fabric) &&
             find(handle, "fi_strerror", &library.strerror);
    if (loaded) begin_providers();
    else snprintf(reason, sizeof reason, "%s lacks a function of libfabric", LIBRARY);
}

static void load_quietly(void)
{
    struct sigaction before[NSIG];
    for (int n = 1; n < NSIG; n++)
        if (sigaction(n, NULL, &before[n]) != 0) before[n].sa_flags = -1;
    const int held = hark_descriptor_hold();
    load();
    if (held > 0) hark_descriptor_release(held);
    for (int n = 1; n < NSIG; n++)
        if (before[n].sa_flags != -1) (void)sigaction(n, &before[n], NULL);
}

const struct library *hark_fabric_library(char why[160])
{
    pthread_once(&once, load_quietly);
    if (loaded) return &library;
    memcpy(why, reason, sizeof reason);
    return NULL;
}
