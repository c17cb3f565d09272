/* The interface of VELOC on hark's checkpoints. It knows nothing of any mpi.h, so one library
 * serves programs of all MPIs: a communicator is not looked at. The functions of app.h are those of
 * the MPI library that hark run has put into the process; without one they are not there. */
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hark/app.h"

#pragma weak hark_rank
#pragma weak hark_protect
#pragma weak hark_checkpoint
#pragma weak hark_restarted
#pragma weak hark_saved
#pragma weak hark_app_error

/* As in veloc.h, which needs an mpi.h. */
enum { SUCCESS = 0, FAILURE = -1 };
enum { MAX_NAME = 1024 };
enum selection { SELECT_ALL, SELECT_SOME, SELECT_REST };
#define PUBLIC __attribute__((visibility("default"))) /* NOLINT */

/* Regions of hark: the high half tells them from those that the program protects itself. */
#define REGION_OF(id) (UINT64_C(0x76656c6f) << 32 | (uint32_t)(id))
#define CONTENTS      (UINT64_C(0x76656c70) << 32)
#define FILE_BYTES    (CONTENTS + 1)

struct region {
    int id;
    void *at;
    size_t length;
    char *name; /* of the checkpoints that it belongs to; "": of all */
};

/* A region of its own in each image: what is in it. Then come the ids. */
struct contents {
    char name[MAX_NAME];
    int32_t version;
    uint32_t ids;
    uint32_t has_file; /* which may be empty, as no region is */
    int32_t id[];
};

static struct {
    bool open;
    struct region *region;
    size_t count;
    enum { IDLE, CHECKPOINTING, RESTARTING } phase;
    char name[MAX_NAME]; /* of the phase */
    int version;
    int file;    /* of the phase: a memfd; -1: none */
    bool asked;  /* hark_restarted was called */
    bool failed; /* a part of the restart */
    /* What hark has now as regions of ours. */
    struct contents *contents;
    void *mapped;
    size_t mapped_length;
    /* That which was restored, until the next checkpoint call. */
    char restored_name[MAX_NAME];
    int restored;
} V = {.file = -1};

__attribute__((format(printf, 2, 3))) static int fail(const char *call, const char *format, ...)
{
    char text[1400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "hark: rank %d: %s: %s\n", hark_rank ? hark_rank() : -1, call, text);
    return FAILURE;
}

static int no_memory(const char *call)
{
    return fail(call, "no memory");
}

#define NEED_OPEN()                                                                                \
    do {                                                                                           \
        if (!V.open) return fail(__func__, "call VELOC_Init first");                               \
    } while (0)

/* ---- begin and end --------------------------------------------------------------------------- */

static int init(const char *call)
{
    if (hark_rank == NULL || hark_rank() < 0) {
        fprintf(stderr,
            "hark: %s: hark's MPI library is not in the process: call MPI_Init first, and start "
            "the program with hark run -n N -- PROGRAM\n",
            call);
        return FAILURE;
    }
    V.open = true;
    return SUCCESS;
}

PUBLIC int VELOC_Init(void *comm, const char *configuration)
{
    (void)comm, (void)configuration;
    return init(__func__);
}

PUBLIC int VELOC_Init_single(unsigned id, const char *configuration)
{
    (void)id, (void)configuration;
    return init(__func__);
}

/* ---- regions --------------------------------------------------------------------------------- */

static size_t place_of(int id, const char *name)
{
    size_t i = 0;
    while (i < V.count && (V.region[i].id != id || strcmp(V.region[i].name, name) != 0)) i++;
    return i;
}

static void remove_region(size_t i)
{
    free(V.region[i].name);
    V.region[i] = V.region[--V.count];
}

static int protect(const char *call, int id, void *at, size_t count, size_t size, const char *name)
{
    if (name == NULL) return fail(call, "region %d: its name is NULL", id);
    if (size && count > SIZE_MAX / size)
        return fail(call, "region %d: %zu elements of %zu bytes are no memory", id, count, size);
    const size_t length = count * size, i = place_of(id, name);
    if (at == NULL && length) return fail(call, "region %d: its address is NULL", id);
    if (length == 0) {
        if (i < V.count) remove_region(i);
        return SUCCESS;
    }
    if (i == V.count) {
        struct region *more = realloc(V.region, (i + 1) * sizeof *more);
        if (more) V.region = more;
        char *copy = more ? strdup(name) : NULL;
        if (copy == NULL) return no_memory(call);
        V.region[V.count++] = (struct region){.id = id, .name = copy};
    }
    V.region[i].at = at;
    V.region[i].length = length;
    return SUCCESS;
}

static int unprotect(int id, const char *name)
{
    const size_t i = place_of(id, name);
    if (i == V.count) return FAILURE;
    remove_region(i);
    return SUCCESS;
}

static void clear(const char *name)
{
    for (size_t i = V.count; i-- > 0;)
        if (strcmp(V.region[i].name, name) == 0) remove_region(i);
}

PUBLIC int VELOC_Mem_protect(int id, void *at, size_t count, size_t size)
{
    NEED_OPEN();
    return protect(__func__, id, at, count, size, "");
}

PUBLIC int VELOC_Region_protect(int id, void *at, size_t count, size_t size, const char *name)
{
    NEED_OPEN();
    return protect(__func__, id, at, count, size, name);
}

PUBLIC int VELOC_Mem_unprotect(int id)
{
    NEED_OPEN();
    return unprotect(id, "");
}

PUBLIC int VELOC_Region_unprotect(int id, const char *name)
{
    NEED_OPEN();
    return name ? unprotect(id, name) : fail(__func__, "region %d: its name is NULL", id);
}

PUBLIC int VELOC_Mem_clear(void)
{
    NEED_OPEN();
    clear("");
    return SUCCESS;
}

PUBLIC int VELOC_Region_clear(const char *name)
{
    NEED_OPEN();
    if (name == NULL) return fail(__func__, "the name is NULL");
    clear(name);
    return SUCCESS;
}

/* The group of regions that checkpoints with the name of the phase have. */
static const char *group_of_phase(void)
{
    for (size_t i = 0; i < V.count; i++)
        if (strcmp(V.region[i].name, V.name) == 0) return V.name;
    return "";
}

static bool selected(int mode, const int *ids, int count, int id)
{
    bool named = false;
    for (int i = 0; i < count; i++) named = named || ids[i] == id;
    return mode == SELECT_ALL || named == (mode == SELECT_SOME);
}

static int check_selection(const char *call, int mode, const int *ids, int count)
{
    if (mode < SELECT_ALL || mode > SELECT_REST)
        return fail(call, "the mode is %d, and may be ALL, SOME or REST: 0, 1 or 2", mode);
    if (mode != SELECT_ALL && (count < 0 || (count && ids == NULL)))
        return fail(call, "%d ids at %p are no list of ids", count, (const void *)ids);
    return SUCCESS;
}

/* ---- phases ---------------------------------------------------------------------------------- */

static int check_name(const char *call, const char *name, int version)
{
    if (name == NULL || *name == 0 || strlen(name) >= MAX_NAME)
        return fail(call, "the name of a checkpoint has 1 to %d letters", MAX_NAME - 1);
    if (version < 0) return fail(call, "the version is %d, and must not be negative", version);
    return SUCCESS;
}

static int begin_phase(const char *call, int phase, const char *name, int version)
{
    if (V.phase != IDLE)
        return fail(call, "%s is not ended: call VELOC_%s_end first",
            V.phase == CHECKPOINTING ? "a checkpoint" : "a restart",
            V.phase == CHECKPOINTING ? "Checkpoint" : "Restart");
    if (check_name(call, name, version) < 0) return FAILURE;
    strcpy(V.name, name);
    V.version = version;
    V.phase = phase;
    return SUCCESS;
}

static void end_phase(void)
{
    if (V.file >= 0) close(V.file);
    V.file = -1;
    V.phase = IDLE;
}

/* The program goes on as if it had asked whether there is a checkpoint, or has what it wanted. */
static int finish_beginning(const char *call)
{
    uint64_t from;
    if (V.asked) return SUCCESS;
    int status = hark_restarted(&from);
    if (status < 0) return fail(call, "%s", hark_app_error(status));
    V.asked = true;
    return SUCCESS;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The file has the bytes of the checkpoint. */
static int fill_file(const char *call)
{
    const void *bytes;
    size_t length, written = 0;
    if (hark_saved(FILE_BYTES, &bytes, &length) < 0) return SUCCESS; /* it was empty */
    while (written < length) {
        ssize_t n = write(V.file, (const char *)bytes + written, length - written);
        if (n < 0) return fail(call, "no memory for the %zu bytes of the file", length);
        written += (size_t)n;
    }
    return SUCCESS;
}

static const struct contents *saved_contents(void)
{
    const void *at;
    size_t length;
    return !V.asked && hark_saved(CONTENTS, &at, &length) == HARK_A_OK ? at : NULL;
}

PUBLIC int VELOC_Route_file(const char *original, char *routed)
{
    NEED_OPEN();
    if (routed == NULL) return fail(__func__, "there is no room for a path");
    if (V.phase == IDLE)
        return fail(__func__,
            "%s: call it between VELOC_Checkpoint_begin and _end, or "
            "VELOC_Restart_begin and _end",
            original ? original : "a file");
    if (V.phase == RESTARTING && !saved_contents()->has_file)
        return fail(__func__, "%s: checkpoint %s, version %d, has no file",
            original ? original : "a file", V.name, V.version);
    if (V.file < 0) {
        V.file = memfd_create("hark-veloc", MFD_CLOEXEC);
        if (V.file < 0) return fail(__func__, "no memory for a file");
        if (V.phase == RESTARTING && fill_file(__func__) < 0) return FAILURE;
    }
    snprintf(routed, MAX_NAME, "/proc/%d/fd/%d", (int)getpid(), V.file);
    return SUCCESS;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* What hark has of ours goes, until the next checkpoint call. */
static void withdraw(void)
{
    for (uint32_t i = 0; V.contents && i < V.contents->ids; i++)
        (void)hark_protect(REGION_OF(V.contents->id[i]), NULL, 0);
    (void)hark_protect(CONTENTS, NULL, 0);
    (void)hark_protect(FILE_BYTES, NULL, 0);
    if (V.mapped) munmap(V.mapped, V.mapped_length);
    V.mapped = NULL;
    free(V.contents);
    V.contents = NULL;
}

static int add_file(const char *call)
{
    struct stat file;
    if (V.file < 0) return SUCCESS;
    V.contents->has_file = true;
    if (fstat(V.file, &file) < 0 || file.st_size == 0) return SUCCESS;
    V.mapped_length = (size_t)file.st_size;
    V.mapped = mmap(NULL, V.mapped_length, PROT_READ, MAP_SHARED, V.file, 0);
    if (V.mapped == MAP_FAILED) V.mapped = NULL;
    if (V.mapped == NULL) return no_memory(call);
    (void)hark_protect(FILE_BYTES, V.mapped, V.mapped_length);
    return SUCCESS;
}

/* The contents of a checkpoint that begins: so far without regions. */
static int begin_contents(const char *call)
{
    withdraw();
    V.contents = calloc(1, sizeof *V.contents + V.count * sizeof V.contents->id[0]);
    if (V.contents == NULL) return no_memory(call);
    strcpy(V.contents->name, V.name);
    V.contents->version = V.version;
    return SUCCESS;
}

PUBLIC int VELOC_Checkpoint_begin(const char *name, int version)
{
    NEED_OPEN();
    if (begin_phase(__func__, CHECKPOINTING, name, version) < 0) return FAILURE;
    if (begin_contents(__func__) == SUCCESS) return SUCCESS;
    end_phase();
    return FAILURE;
}

static int add_regions(const char *call, int mode, const int *ids, int count)
{
    if (V.phase != CHECKPOINTING) return fail(call, "call VELOC_Checkpoint_begin first");
    if (check_selection(call, mode, ids, count) < 0 || begin_contents(call) < 0) return FAILURE;
    const char *group = group_of_phase();
    for (size_t i = 0; i < V.count; i++) {
        const struct region *r = &V.region[i];
        if (strcmp(r->name, group) != 0 || !selected(mode, ids, count, r->id)) continue;
        V.contents->id[V.contents->ids++] = r->id;
        (void)hark_protect(REGION_OF(r->id), r->at, r->length);
    }
    if (V.contents->ids) return SUCCESS;
    return fail(call,
        "checkpoint %s: none of the %zu protected regions belongs to it: call "
        "VELOC_Mem_protect first",
        V.name, V.count);
}

PUBLIC int VELOC_Checkpoint_selective(int mode, int *ids, int count)
{
    NEED_OPEN();
    return add_regions(__func__, mode, ids, count);
}

PUBLIC int VELOC_Checkpoint_mem(void)
{
    NEED_OPEN();
    return add_regions(__func__, SELECT_ALL, NULL, 0);
}

/* A restart goes on at this very call: the processes that have not failed have passed it once. */
static bool just_restored(void)
{
    bool same = V.restored == V.version && strcmp(V.restored_name, V.name) == 0;
    V.restored_name[0] = 0;
    return same;
}

static int take(const char *call)
{
    size_t length = sizeof *V.contents + V.contents->ids * sizeof V.contents->id[0];
    if (just_restored() || V.version == 0) return SUCCESS;
    if (add_file(call) < 0) return FAILURE;
    (void)hark_protect(CONTENTS, V.contents, length);
    int status = hark_checkpoint();
    return status < 0 ? fail(call, "%s", hark_app_error(status)) : SUCCESS;
}

/* The last that is done in a checkpoint: the regions are the program's again. */
static int end_checkpoint(const char *call)
{
    int status = take(call);
    withdraw();
    end_phase();
    return status;
}

PUBLIC int VELOC_Checkpoint_end(int success)
{
    NEED_OPEN();
    if (V.phase != CHECKPOINTING) return fail(__func__, "call VELOC_Checkpoint_begin first");
    if (!success) {
        (void)fail(__func__,
            "checkpoint %s, version %d, failed in the program: the other processes "
            "can not have it without this one, so the job ends",
            V.name, V.version);
        exit(1);
    }
    return end_checkpoint(__func__);
}

PUBLIC int VELOC_Checkpoint(const char *name, int version)
{
    NEED_OPEN();
    if (begin_phase(__func__, CHECKPOINTING, name, version) < 0) return FAILURE;
    if (add_regions(__func__, SELECT_ALL, NULL, 0) == SUCCESS) return end_checkpoint(__func__);
    end_phase();
    return FAILURE;
}

PUBLIC int VELOC_Checkpoint_wait(void)
{
    NEED_OPEN();
    if (V.phase == CHECKPOINTING) return fail(__func__, "call VELOC_Checkpoint_end first");
    return SUCCESS;
}

PUBLIC int VELOC_Checkpoint_finished(void)
{
    return VELOC_Checkpoint_wait();
}

PUBLIC int VELOC_Cleanup(const char *name)
{
    (void)name;
    NEED_OPEN();
    return SUCCESS;
}

/* ---- restarts -------------------------------------------------------------------------------- */

PUBLIC int VELOC_Restart_test(const char *name, int version)
{
    NEED_OPEN();
    if (check_name(__func__, name, version) < 0) return FAILURE;
    const struct contents *c = saved_contents();
    if (c == NULL) return finish_beginning(__func__), FAILURE;
    if (strcmp(c->name, name) != 0 || (version && c->version >= version)) return FAILURE;
    return c->version;
}

PUBLIC int VELOC_Restart_begin(const char *name, int version)
{
    NEED_OPEN();
    if (begin_phase(__func__, RESTARTING, name, version) < 0) return FAILURE;
    const struct contents *c = saved_contents();
    if (c && strcmp(c->name, name) == 0 && c->version == version) return V.failed = false, SUCCESS;
    end_phase();
    if (c)
        return fail(__func__,
            "there is no checkpoint %s, version %d: this process starts again from %s, version %d",
            name, version, c->name, c->version);
    (void)finish_beginning(__func__);
    return fail(__func__, "this process does not start again from a checkpoint");
}

PUBLIC int VELOC_Recover_size(int id)
{
    const void *at;
    size_t length;
    NEED_OPEN();
    if (V.phase != RESTARTING) return fail(__func__, "call VELOC_Restart_begin first");
    if (hark_saved(REGION_OF(id), &at, &length) < 0) return FAILURE;
    return length <= INT_MAX
               ? (int)length
               : fail(__func__, "region %d has %zu bytes, more than an int", id, length);
}

static int recover(const char *call, int id)
{
    const void *at;
    size_t length, i = place_of(id, group_of_phase());
    if (i == V.count)
        return fail(call,
            "region %d of checkpoint %s is not protected: call VELOC_Mem_protect "
            "first",
            id, V.name);
    int status = hark_saved(REGION_OF(id), &at, &length);
    if (status < 0) return fail(call, "region %d: %s", id, hark_app_error(status));
    if (V.region[i].length < length)
        return fail(call, "region %d is protected with %zu bytes, and the checkpoint has %zu", id,
            V.region[i].length, length);
    memcpy(V.region[i].at, at, length);
    return SUCCESS;
}

static int recover_regions(const char *call, int mode, const int *ids, int count)
{
    if (V.phase != RESTARTING) return fail(call, "call VELOC_Restart_begin first");
    V.failed = true;
    if (check_selection(call, mode, ids, count) < 0) return FAILURE;
    const struct contents *c = saved_contents();
    for (uint32_t i = 0; i < c->ids; i++)
        if (selected(mode, ids, count, c->id[i]) && recover(call, c->id[i]) < 0) return FAILURE;
    V.failed = false;
    return SUCCESS;
}

PUBLIC int VELOC_Recover_selective(int mode, int *ids, int count)
{
    NEED_OPEN();
    return recover_regions(__func__, mode, ids, count);
}

PUBLIC int VELOC_Recover_mem(void)
{
    NEED_OPEN();
    return recover_regions(__func__, SELECT_ALL, NULL, 0);
}

/* To hark, all regions of the image are as they were: the program has copies of those that it
 * wanted. */
static void keep_saved(uint64_t id)
{
    const void *at;
    size_t length;
    if (hark_saved(id, &at, &length) == HARK_A_OK)
        (void)hark_protect(id, (void *)(uintptr_t)at, length);
}

static int copy_contents(const char *call, const struct contents *c)
{
    const size_t length = sizeof *c + c->ids * sizeof c->id[0];
    withdraw();
    V.contents = malloc(length);
    if (V.contents == NULL) return no_memory(call);
    memcpy(V.contents, c, length);
    return SUCCESS;
}

static int end_restart(const char *call)
{
    if (copy_contents(call, saved_contents()) < 0) return FAILURE;
    for (uint32_t i = 0; i < V.contents->ids; i++) keep_saved(REGION_OF(V.contents->id[i]));
    keep_saved(CONTENTS);
    keep_saved(FILE_BYTES);
    int status = finish_beginning(call);
    withdraw();
    if (status == SUCCESS) strcpy(V.restored_name, V.name), V.restored = V.version;
    return status;
}

PUBLIC int VELOC_Restart_end(int success)
{
    NEED_OPEN();
    if (V.phase != RESTARTING) return fail(__func__, "call VELOC_Restart_begin first");
    int status = success && !V.failed
                     ? end_restart(__func__)
                     : fail(__func__,
                           "the restart from %s, version %d, failed, and there is no other "
                           "checkpoint of this process",
                           V.name, V.version);
    end_phase();
    return status;
}

PUBLIC int VELOC_Restart(const char *name, int version)
{
    if (VELOC_Restart_begin(name, version) < 0) return FAILURE;
    return VELOC_Restart_end(VELOC_Recover_mem() == SUCCESS);
}

PUBLIC int VELOC_Finalize(int drain)
{
    (void)drain;
    NEED_OPEN();
    withdraw();
    end_phase();
    while (V.count) remove_region(V.count - 1);
    free(V.region);
    V.region = NULL;
    V.open = false;
    return SUCCESS;
}
