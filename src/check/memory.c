#include "memory.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH = 4096, LINE = 4096 };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The number behind `key` in a file of lines with keys, or of a file of one number if that is "".
 * UINT64_MAX: it is not there, or is no number: "max". */
static uint64_t number_in(const char *path, const char *key)
{
    char line[LINE];
    uint64_t found = UINT64_MAX;
    FILE *f = fopen(path, "re");
    while (f && found == UINT64_MAX && fgets(line, sizeof line, f)) {
        const char *at = line + strlen(key);
        if (strncmp(line, key, strlen(key)) != 0) continue;
        at += strspn(at, ": \t");
        if (isdigit((unsigned char)*at)) found = strtoull(at, NULL, 10);
    }
    if (f) fclose(f);
    return found;
}

struct group_files { /* of one version of control groups */
    const char *mount, *limit, *usage, *droppable;
};

static const struct group_files versions[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
        "total_inactive_file"}};

static uint64_t number_of_group(const char *root, const struct group_files *v, const char *group,
    const char *file, const char *key)
{
    char path[PATH];
    int n = snprintf(path, sizeof path, "%s%s%s/%s", root, v->mount, group, file);
    return n < 0 || (size_t)n >= sizeof path ? UINT64_MAX : number_in(path, key);
}

/* What is left of one group's memory; UINT64_MAX: it has no limit, or is none. */
static uint64_t left_of_group(const char *root, const struct group_files *v, const char *group)
{
    uint64_t limit = number_of_group(root, v, group, v->limit, ""),
             used = number_of_group(root, v, group, v->usage, "");
    uint64_t droppable = number_of_group(root, v, group, "memory.stat", v->droppable);
    if (limit == UINT64_MAX || used == UINT64_MAX) return limit;
    if (droppable != UINT64_MAX) used -= least(droppable, used);
    return limit - least(limit, used);
}

/* Of the group and of all above it: "/a/b", "/a", "". In a container the path may be one outside of
 * it; then the top is its own. */
static uint64_t left_of_groups(const char *root, const struct group_files *v, char *group)
{
    uint64_t left = left_of_group(root, v, "");
    for (char *end; group[0]; *end = 0) {
        left = least(left, left_of_group(root, v, group));
        end = strrchr(group, '/');
        if (end == NULL) break;
    }
    return left;
}

/* Is this word in a list with commas between? */
static bool lists(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, n) == 0 && (at[n] == 0 || at[n] == ',')) return true;
    return false;
}

/* Lines of /proc/self/cgroup: number:controllers:path; version 2 has number 0 and no controllers.
 */
static uint64_t left_by_groups(const char *root)
{
    char line[LINE], path[PATH];
    uint64_t left = UINT64_MAX;
    int n = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = n < 0 || (size_t)n >= sizeof path ? NULL : fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        char *controllers = strchr(line, ':'),
             *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL) continue;
        *group++ = *controllers++ = 0;
        group[strcspn(group, "\n")] = 0;
        if (controllers[0] == 0) left = least(left, left_of_groups(root, &versions[0], group));
        else if (lists(controllers, "memory"))
            left = least(left, left_of_groups(root, &versions[1], group));
    }
    if (f) fclose(f);
    return left;
}

/* Of the address space, that its limit leaves; the first number of statm is of pages. */
static uint64_t left_of_space(const char *root)
{
    char path[PATH];
    struct rlimit space;
    int n = snprintf(path, sizeof path, "%s/proc/self/statm", root);
    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
    uint64_t used = n < 0 || (size_t)n >= sizeof path ? UINT64_MAX : number_in(path, "");
    used = used == UINT64_MAX ? 0 : used * (uint64_t)sysconf(_SC_PAGESIZE);
    return space.rlim_cur - least(used, space.rlim_cur);
}

uint64_t memory_available(const char *root)
{
    char path[PATH];
    uint64_t left = UINT64_MAX;
    int n = snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (n > 0 && (size_t)n < sizeof path) left = number_in(path, "MemAvailable:");
    if (left != UINT64_MAX) left *= 1024;
    left = least(left, left_by_groups(root));
    left = least(left, left_of_space(root));
    return left == UINT64_MAX ? 0 : left;
}
