/* How a process that starts again gets back what is in its checkpoint. */
#include "state.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

PUBLIC int VELOC_Restart_test(const char *name, int version)
{
    NEED_OPEN();
    if (hark_veloc_check_name(__func__, name, version) < 0) return FAILURE;
    const struct contents *c = hark_veloc_saved_contents();
    if (c == NULL) return hark_veloc_finish_beginning(__func__), FAILURE;
    if (strcmp(c->name, name) != 0 || (version && c->version >= version)) return FAILURE;
    return c->version;
}

PUBLIC int VELOC_Restart_begin(const char *name, int version)
{
    NEED_OPEN();
    if (hark_veloc_begin_phase(__func__, RESTARTING, name, version) < 0) return FAILURE;
    const struct contents *c = hark_veloc_saved_contents();
    if (c && strcmp(c->name, name) == 0 && c->version == version)
        return hark_veloc.failed = false, SUCCESS;
    hark_veloc_end_phase();
    if (c)
        return hark_veloc_fail(__func__,
            "there is no checkpoint %s, version %d: this process starts again from %s, version %d",
            name, version, c->name, c->version);
    (void)hark_veloc_finish_beginning(__func__);
    return hark_veloc_fail(__func__, "this process does not start again from a checkpoint");
}

PUBLIC int VELOC_Recover_size(int id)
{
    const void *at;
    size_t length;
    NEED_OPEN();
    if (hark_veloc.phase != RESTARTING)
        return hark_veloc_fail(__func__, "call VELOC_Restart_begin first");
    if (hark_saved(REGION_OF(id), &at, &length) < 0) return FAILURE;
    return length <= INT_MAX
               ? (int)length
               : hark_veloc_fail(__func__, "region %d has %zu bytes, more than an int", id, length);
}

static int recover(const char *call, int id)
{
    const void *at;
    size_t length, i = hark_veloc_place_of(id, hark_veloc_group_of_phase());
    if (i == hark_veloc.count)
        return hark_veloc_fail(call,
            "region %d of checkpoint %s is not protected: call VELOC_Mem_protect "
            "first",
            id, hark_veloc.name);
    int status = hark_saved(REGION_OF(id), &at, &length);
    if (status < 0) return hark_veloc_fail(call, "region %d: %s", id, hark_app_error(status));
    if (hark_veloc.region[i].length < length)
        return hark_veloc_fail(call,
            "region %d is protected with %zu bytes, and the checkpoint has %zu", id,
            hark_veloc.region[i].length, length);
    memcpy(hark_veloc.region[i].at, at, length);
    return SUCCESS;
}

static int recover_regions(const char *call, int mode, const int *ids, int count)
{
    if (hark_veloc.phase != RESTARTING)
        return hark_veloc_fail(call, "call VELOC_Restart_begin first");
    hark_veloc.failed = true;
    if (hark_veloc_check_selection(call, mode, ids, count) < 0) return FAILURE;
    const struct contents *c = hark_veloc_saved_contents();
    for (uint32_t i = 0; i < c->ids; i++)
        if (hark_veloc_selected(mode, ids, count, c->id[i]) && recover(call, c->id[i]) < 0)
            return FAILURE;
    hark_veloc.failed = false;
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
    hark_veloc_withdraw();
    hark_veloc.contents = malloc(length);
    if (hark_veloc.contents == NULL) return hark_veloc_no_memory(call);
    memcpy(hark_veloc.contents, c, length);
    return SUCCESS;
}

static int end_restart(const char *call)
{
    if (copy_contents(call, hark_veloc_saved_contents()) < 0) return FAILURE;
    for (uint32_t i = 0; i < hark_veloc.contents->ids; i++)
        keep_saved(REGION_OF(hark_veloc.contents->id[i]));
    keep_saved(CONTENTS);
    keep_saved(FILE_BYTES);
    int status = hark_veloc_finish_beginning(call);
    hark_veloc_withdraw();
    if (status == SUCCESS)
        strcpy(hark_veloc.restored_name, hark_veloc.name), hark_veloc.restored = hark_veloc.version;
    return status;
}

PUBLIC int VELOC_Restart_end(int success)
{
    NEED_OPEN();
    if (hark_veloc.phase != RESTARTING)
        return hark_veloc_fail(__func__, "call VELOC_Restart_begin first");
    int status = success && !hark_veloc.failed
                     ? end_restart(__func__)
                     : hark_veloc_fail(__func__,
                           "the restart from %s, version %d, failed, and there is no other "
                           "checkpoint of this process",
                           hark_veloc.name, hark_veloc.version);
    hark_veloc_end_phase();
    return status;
}

PUBLIC int VELOC_Restart(const char *name, int version)
{
    if (VELOC_Restart_begin(name, version) < 0) return FAILURE;
    return VELOC_Restart_end(VELOC_Recover_mem() == SUCCESS);
}
