/* library.c: libfabric, loaded when it is needed. It stays: what it has begun can not be ended. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../../src/store/descriptor.h"
#include "end.h"

#define LIBRARY "libfabric.so.1"

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

static void load(void)
{
    const int held = hark_descriptor_hold();
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (held > 0) hark_descriptor_release(held);
    if (!handle) {
        snprintf(reason, sizeof reason, "cannot load it: %s", dlerror());
        return;
    }
    loaded = find(handle, "fi_getinfo", &library.getinfo) &&
             find(handle, "fi_freeinfo", &library.freeinfo) &&
             find(handle, "fi_dupinfo", &library.dupinfo) &&
             find(handle, "fi_fabric", &library.fabric) &&
             find(handle, "fi_strerror", &library.strerror);
    if (!loaded) snprintf(reason, sizeof reason, "%s lacks a function of libfabric", LIBRARY);
}

const struct library *hark_fabric_library(char why[160])
{
    pthread_once(&once, load);
    if (loaded) return &library;
    memcpy(why, reason, sizeof reason);
    return NULL;
}
