/* How checkpoints are taken. */
#include "state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

void hark_veloc_withdraw(void)
{
    for (uint32_t i = 0; hark_veloc.contents && i < hark_veloc.contents->ids; i++)
        (void)hark_protect(REGION_OF(hark_veloc.contents->id[i]), NULL, 0);
    (void)hark_protect(CONTENTS, NULL, 0);
    (void)hark_protect(FILE_BYTES, NULL, 0);
    if (hark_veloc.mapped) munmap(hark_veloc.mapped, hark_veloc.mapped_length);
    hark_veloc.mapped = NULL;
    free(hark_veloc.contents);
    hark_veloc.contents = NULL;
}

static int add_file(const char *call)
{
    struct stat file;
    if (hark_veloc.file < 0) return SUCCESS;
    hark_veloc.contents->has_file = true;
    if (fstat(hark_veloc.file, &file) < 0 || file.st_size == 0) return SUCCESS;
    hark_veloc.mapped_length = (size_t)file.st_size;
    hark_veloc.mapped =
        mmap(NULL, hark_veloc.mapped_length, PROT_READ, MAP_SHARED, hark_veloc.file, 0);
    if (hark_veloc.mapped == MAP_FAILED) hark_veloc.mapped = NULL;
    if (hark_veloc.mapped == NULL) return hark_veloc_no_memory(call);
    (void)hark_protect(FILE_BYTES, hark_veloc.mapped, hark_veloc.mapped_length);
    return SUCCESS;
}

/* The contents of a checkpoint that begins: so far without regions. */
static int begin_contents(const char *call)
{
    hark_veloc_withdraw();
    hark_veloc.contents = calloc(
        1, sizeof *hark_veloc.contents + hark_veloc.count * sizeof hark_veloc.contents->id[0]);
    if (hark_veloc.contents == NULL) return hark_veloc_no_memory(call);
    strcpy(hark_veloc.contents->name, hark_veloc.name);
    hark_veloc.contents->version = hark_veloc.version;
    return SUCCESS;
}

PUBLIC int VELOC_Checkpoint_begin(const char *name, int version)
{
    NEED_OPEN();
    if (hark_veloc_begin_phase(__func__, CHECKPOINTING, name, version) < 0) return FAILURE;
    if (begin_contents(__func__) == SUCCESS) return SUCCESS;
    hark_veloc_end_phase();
    return FAILURE;
}

static int add_regions(const char *call, int mode, const int *ids, int count)
{
    if (hark_veloc.phase != CHECKPOINTING)
        return hark_veloc_fail(call, "call VELOC_Checkpoint_begin first");
    if (hark_veloc_check_selection(call, mode, ids, count) < 0 || begin_contents(call) < 0)
        return FAILURE;
    const char *group = hark_veloc_group_of_phase();
    for (size_t i = 0; i < hark_veloc.count; i++) {
        const struct region *r = &hark_veloc.region[i];
        if (strcmp(r->name, group) != 0 || !hark_veloc_selected(mode, ids, count, r->id)) continue;
        hark_veloc.contents->id[hark_veloc.contents->ids++] = r->id;
        (void)hark_protect(REGION_OF(r->id), r->at, r->length);
    }
    if (hark_veloc.contents->ids) return SUCCESS;
    return hark_veloc_fail(call,
        "checkpoint %s: none of the %zu protected regions belongs to it: call "
        "VELOC_Mem_protect first",
        hark_veloc.name, hark_veloc.count);
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
    bool same = hark_veloc.restored == hark_veloc.version &&
                strcmp(hark_veloc.restored_name, hark_veloc.name) == 0;
    hark_veloc.restored_name[0] = 0;
    return same;
}

static int take(const char *call)
{
    size_t length =
        sizeof *hark_veloc.contents + hark_veloc.contents->ids * sizeof hark_veloc.contents->id[0];
    if (just_restored() || hark_veloc.version == 0) return SUCCESS;
    if (add_file(call) < 0) return FAILURE;
    (void)hark_protect(CONTENTS, hark_veloc.contents, length);
    int status = hark_checkpoint();
    return status < 0 ? hark_veloc_fail(call, "%s", hark_app_error(status)) : SUCCESS;
}

/* The last that is done in a checkpoint: the regions are the program's again. */
static int end_checkpoint(const char *call)
{
    int status = take(call);
    hark_veloc_withdraw();
    hark_veloc_end_phase();
    return status;
}

PUBLIC int VELOC_Checkpoint_end(int success)
{
    NEED_OPEN();
    if (hark_veloc.phase != CHECKPOINTING)
        return hark_veloc_fail(__func__, "call VELOC_Checkpoint_begin first");
    if (!success) {
        (void)hark_veloc_fail(__func__,
            "checkpoint %s, version %d, failed in the program: the other processes "
            "can not have it without this one, so the job ends",
            hark_veloc.name, hark_veloc.version);
        exit(1);
    }
    return end_checkpoint(__func__);
}

PUBLIC int VELOC_Checkpoint(const char *name, int version)
{
    NEED_OPEN();
    if (hark_veloc_begin_phase(__func__, CHECKPOINTING, name, version) < 0) return FAILURE;
    if (add_regions(__func__, SELECT_ALL, NULL, 0) == SUCCESS) return end_checkpoint(__func__);
    hark_veloc_end_phase();
    return FAILURE;
}

PUBLIC int VELOC_Checkpoint_wait(void)
{
    NEED_OPEN();
    if (hark_veloc.phase == CHECKPOINTING)
        return hark_veloc_fail(__func__, "call VELOC_Checkpoint_end first");
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
