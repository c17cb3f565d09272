/* The regions of memory that the program protects, and which of them a call means. */
#include "state.h"

#include <stdlib.h>
#include <string.h>

size_t hark_veloc_place_of(int id, const char *name)
{
    size_t i = 0;
    while (i < hark_veloc.count &&
           (hark_veloc.region[i].id != id || strcmp(hark_veloc.region[i].name, name) != 0))
        i++;
    return i;
}

void hark_veloc_remove_region(size_t i)
{
    free(hark_veloc.region[i].name);
    hark_veloc.region[i] = hark_veloc.region[--hark_veloc.count];
}

static int protect(const char *call, int id, void *at, size_t count, size_t size, const char *name)
{
    if (name == NULL) return hark_veloc_fail(call, "region %d: its name is NULL", id);
    if (size && count > SIZE_MAX / size)
        return hark_veloc_fail(
            call, "region %d: %zu elements of %zu bytes are no memory", id, count, size);
    const size_t length = count * size, i = hark_veloc_place_of(id, name);
    if (at == NULL && length) return hark_veloc_fail(call, "region %d: its address is NULL", id);
    if (length == 0) {
        if (i < hark_veloc.count) hark_veloc_remove_region(i);
        return SUCCESS;
    }
    if (i == hark_veloc.count) {
        struct region *more = realloc(hark_veloc.region, (i + 1) * sizeof *more);
        if (more) hark_veloc.region = more;
        char *copy = more ? strdup(name) : NULL;
        if (copy == NULL) return hark_veloc_no_memory(call);
        hark_veloc.region[hark_veloc.count++] = (struct region){.id = id, .name = copy};
    }
    hark_veloc.region[i].at = at;
    hark_veloc.region[i].length = length;
    return SUCCESS;
}

static int unprotect(int id, const char *name)
{
    const size_t i = hark_veloc_place_of(id, name);
    if (i == hark_veloc.count) return FAILURE;
    hark_veloc_remove_region(i);
    return SUCCESS;
}

static void clear(const char *name)
{
    for (size_t i = hark_veloc.count; i-- > 0;)
        if (strcmp(hark_veloc.region[i].name, name) == 0) hark_veloc_remove_region(i);
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
    return name ? unprotect(id, name)
                : hark_veloc_fail(__func__, "region %d: its name is NULL", id);
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
    if (name == NULL) return hark_veloc_fail(__func__, "the name is NULL");
    clear(name);
    return SUCCESS;
}

const char *hark_veloc_group_of_phase(void)
{
    for (size_t i = 0; i < hark_veloc.count; i++)
        if (strcmp(hark_veloc.region[i].name, hark_veloc.name) == 0) return hark_veloc.name;
    return "";
}

bool hark_veloc_selected(int mode, const int *ids, int count, int id)
{
    bool named = false;
    for (int i = 0; i < count; i++) named = named || ids[i] == id;
    return mode == SELECT_ALL || named == (mode == SELECT_SOME);
}

int hark_veloc_check_selection(const char *call, int mode, const int *ids, int count)
{
    if (mode < SELECT_ALL || mode > SELECT_REST)
        return hark_veloc_fail(
            call, "the mode is %d, and may be ALL, SOME or REST: 0, 1 or 2", mode);
    if (mode != SELECT_ALL && (count < 0 || (count && ids == NULL)))
        return hark_veloc_fail(call, "%d ids at %p are no list of ids", count, (const void *)ids);
    return SUCCESS;
}
