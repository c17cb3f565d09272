/* Info objects: keys with values, in the order in which they were set. They work before MPI_Init
 * and after MPI_Finalize too. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "internal.h"

struct pair {
    char *key, *value;
};

struct info {
    struct object o;
    struct pair *pair;
    int count, room;
};

/* MPICH's programs may have keys and values of these lengths, others one byte less. */
#if defined(HARK_MPI_MPICH)
enum { KEY_LIMIT = MPI_MAX_INFO_KEY, VALUE_LIMIT = MPI_MAX_INFO_VAL };
#else
enum { KEY_LIMIT = MPI_MAX_INFO_KEY - 1, VALUE_LIMIT = MPI_MAX_INFO_VAL - 1 };
#endif

static struct info environment;

/* ---- what other files need --------------------------------------------------------------------
 */

static char *text_again(const char *text, size_t length)
{
    char *again = hark_mpi_memory(length + 1);
    memcpy(again, text, length);
    again[length] = 0;
    return again;
}

/* The place of the key; the count of pairs: it is not there. */
static int find(const struct info *i, const char *key)
{
    int n = 0;
    while (n < i->count && strcmp(i->pair[n].key, key) != 0) n++;
    return n;
}

const char *hark_mpi_info_value(const struct info *i, const char *key)
{
    int n = find(i, key);
    return n < i->count ? i->pair[n].value : NULL;
}

void hark_mpi_info_set(struct info *i, const char *key, const char *value)
{
    int n = find(i, key);
    if (n < i->count) {
        free(i->pair[n].value);
        i->pair[n].value = text_again(value, strlen(value));
        return;
    }
    if (i->count == i->room) {
        i->room = i->room * 2 + 4;
        i->pair = realloc(i->pair, (size_t)i->room * sizeof *i->pair);
        if (i->pair == NULL) hark_mpi_fatal(1, "no memory for an info object");
    }
    i->pair[i->count++] =
        (struct pair){text_again(key, strlen(key)), text_again(value, strlen(value))};
}

struct info *hark_mpi_info_make(void)
{
    return hark_mpi_new(KIND_INFO, sizeof(struct info));
}

struct info *hark_mpi_info_copy(const struct info *i)
{
    struct info *copy = hark_mpi_info_make();
    for (int n = 0; n < i->count; n++) hark_mpi_info_set(copy, i->pair[n].key, i->pair[n].value);
    return copy;
}

void hark_mpi_info_release(struct info *i)
{
    if (--i->o.references || i->o.predefined) return;
    for (int n = 0; n < i->count; n++) {
        free(i->pair[n].key);
        free(i->pair[n].value);
    }
    free(i->pair);
    hark_mpi_delete(&i->o);
}

/* ---- MPI_INFO_ENV -----------------------------------------------------------------------------
 */

const char *hark_mpi_thread_level_name(int level)
{
    switch (level) {
    case MPI_THREAD_SINGLE: return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED: return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED: return "MPI_THREAD_SERIALIZED";
    default: return "MPI_THREAD_MULTIPLE";
    }
}

/* The program's name and its arguments, as the kernel has them: separated by zeros. */
static void describe_command(struct info *i)
{
    char line[VALUE_LIMIT];
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, line, sizeof line - 1);
    if (file >= 0) close(file);
    if (length <= 0) return;
    line[length] = 0;
    hark_mpi_info_set(i, "command", line);
    size_t name = strlen(line) + 1;
    if (name >= (size_t)length) return;
    for (ssize_t at = (ssize_t)name; at < length - 1; at++)
        if (line[at] == 0) line[at] = ' ';
    hark_mpi_info_set(i, "argv", line + name);
}

static void describe(struct info *i)
{
    struct utsname machine;
    char text[VALUE_LIMIT];
    describe_command(i);
    if (uname(&machine) == 0) hark_mpi_info_set(i, "arch", machine.machine);
    hark_mpi_info_set(i, "host", hark_app.host);
    if (getcwd(text, sizeof text)) hark_mpi_info_set(i, "wdir", text);
    hark_mpi_info_set(i, "thread_level", hark_mpi_thread_level_name(hark_mpi_thread_level));
}

void hark_mpi_predefine_infos(void)
{
    char text[32];
    if (environment.o.kind == 0) hark_mpi_predefine(&environment.o, KIND_INFO, BITS(MPI_INFO_ENV));
    describe(&environment);
    snprintf(text, sizeof text, "%d", hark_size());
    hark_mpi_info_set(&environment, "maxprocs", text);
    hark_mpi_info_set(&environment, "soft", text);
}

/* ---- the functions of MPI ---------------------------------------------------------------------
 */

#define NEED_INFO(i, handle)                                                                       \
    struct info *i = INFO(handle);                                                                 \
    NEED(NULL, i, MPI_ERR_INFO, "%s",                                                              \
        (handle) == MPI_INFO_NULL ? "the info object is MPI_INFO_NULL"                             \
                                  : "the info object is not valid: was it freed?")
#define NEED_POINTER(p) NEED(NULL, p, MPI_ERR_ARG, #p " is NULL")

static int check_key(const char *key, const char *call)
{
    if (key == NULL) return hark_mpi_error(NULL, MPI_ERR_INFO_KEY, call, "the key is NULL");
    size_t length = strlen(key);
    if (length > 0 && length <= KEY_LIMIT) return MPI_SUCCESS;
    return hark_mpi_error(NULL, MPI_ERR_INFO_KEY, call,
        "the key has %zu characters, and may have 1 .. %d", length, KEY_LIMIT);
}

#define NEED_KEY(key)                                                                              \
    do {                                                                                           \
        int code = check_key(key, __func__);                                                       \
        if (code) return code;                                                                     \
    } while (0)

PUBLIC(Info_create)
int PMPI_Info_create(MPI_Info *info)
{
    NEED_POINTER(info);
    *info = HANDLE(MPI_Info, hark_mpi_info_make());
    return MPI_SUCCESS;
}

#pragma GCC visibility push(default)
int PMPI_Info_create_env(int argc, char *argv[], MPI_Info *info);
int PMPI_Info_get_string(MPI_Info info, const char *key, int *length, char *value, int *flag);
#pragma GCC visibility pop

PUBLIC(Info_create_env)
int PMPI_Info_create_env(int argc, char *argv[], MPI_Info *info)
{
    (void)argc;
    (void)argv;
    NEED_POINTER(info);
    struct info *i = hark_mpi_info_make();
    describe(i);
    *info = HANDLE(MPI_Info, i);
    return MPI_SUCCESS;
}

PUBLIC(Info_dup)
int PMPI_Info_dup(MPI_Info info, MPI_Info *newinfo)
{
    NEED_INFO(i, info);
    NEED_POINTER(newinfo);
    *newinfo = HANDLE(MPI_Info, hark_mpi_info_copy(i));
    return MPI_SUCCESS;
}

PUBLIC(Info_free)
int PMPI_Info_free(MPI_Info *info)
{
    NEED_POINTER(info);
    NEED_INFO(i, *info);
    NEED(NULL, !i->o.predefined, MPI_ERR_INFO, "MPI_INFO_ENV can not be freed");
    hark_mpi_info_release(i);
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

PUBLIC(Info_set)
int PMPI_Info_set(MPI_Info info, const char *key, const char *value)
{
    NEED_INFO(i, info);
    NEED_KEY(key);
    NEED(NULL, !i->o.predefined, MPI_ERR_INFO, "MPI_INFO_ENV can not be changed");
    NEED(NULL, value && strlen(value) <= VALUE_LIMIT, MPI_ERR_INFO_VALUE,
        "the value is NULL, or has more than %d characters", VALUE_LIMIT);
    hark_mpi_info_set(i, key, value);
    return MPI_SUCCESS;
}

PUBLIC(Info_delete)
int PMPI_Info_delete(MPI_Info info, const char *key)
{
    NEED_INFO(i, info);
    NEED_KEY(key);
    NEED(NULL, !i->o.predefined, MPI_ERR_INFO, "MPI_INFO_ENV can not be changed");
    int n = find(i, key);
    NEED(NULL, n < i->count, MPI_ERR_INFO_NOKEY, "the info object has no key \"%s\"", key);
    free(i->pair[n].key);
    free(i->pair[n].value);
    i->count--;
    memmove(i->pair + n, i->pair + n + 1, (size_t)(i->count - n) * sizeof *i->pair);
    return MPI_SUCCESS;
}

/* At most `room` characters, and a zero. */
static void put_text(char *to, const char *text, size_t room)
{
    size_t length = strnlen(text, room);
    memcpy(to, text, length);
    to[length] = 0;
}

PUBLIC(Info_get)
int PMPI_Info_get(MPI_Info info, const char *key, int length, char *value, int *flag)
{
    NEED_INFO(i, info);
    NEED_KEY(key);
    NEED_POINTER(flag);
    NEED(NULL, length >= 0, MPI_ERR_ARG, "valuelen is %d, and must not be negative", length);
    NEED(NULL, value || length == 0, MPI_ERR_INFO_VALUE, "value is NULL");
    const char *text = hark_mpi_info_value(i, key);
    *flag = text != NULL;
    if (text && value) put_text(value, text, (size_t)length);
    return MPI_SUCCESS;
}

/* *length: of memory at `value`; the program learns how much the whole value needs. */
PUBLIC(Info_get_string)
int PMPI_Info_get_string(MPI_Info info, const char *key, int *length, char *value, int *flag)
{
    NEED_INFO(i, info);
    NEED_KEY(key);
    NEED_POINTER(flag);
    NEED_POINTER(length);
    NEED(NULL, *length >= 0, MPI_ERR_ARG, "buflen is %d, and must not be negative", *length);
    NEED(NULL, value || *length == 0, MPI_ERR_INFO_VALUE, "value is NULL");
    const char *text = hark_mpi_info_value(i, key);
    *flag = text != NULL;
    if (text == NULL) return MPI_SUCCESS;
    if (*length > 0) put_text(value, text, (size_t)*length - 1);
    *length = (int)strlen(text) + 1;
    return MPI_SUCCESS;
}

PUBLIC(Info_get_valuelen)
int PMPI_Info_get_valuelen(MPI_Info info, const char *key, int *length, int *flag)
{
    NEED_INFO(i, info);
    NEED_KEY(key);
    NEED_POINTER(length);
    NEED_POINTER(flag);
    const char *text = hark_mpi_info_value(i, key);
    *flag = text != NULL;
    if (text) *length = (int)strlen(text);
    return MPI_SUCCESS;
}

PUBLIC(Info_get_nkeys)
int PMPI_Info_get_nkeys(MPI_Info info, int *count)
{
    NEED_INFO(i, info);
    NEED_POINTER(count);
    *count = i->count;
    return MPI_SUCCESS;
}

PUBLIC(Info_get_nthkey)
int PMPI_Info_get_nthkey(MPI_Info info, int n, char *key)
{
    NEED_INFO(i, info);
    NEED_POINTER(key);
    NEED(NULL, n >= 0 && n < i->count, MPI_ERR_ARG, "n is %d, and the info object has %d keys", n,
        i->count);
    put_text(key, i->pair[n].key, KEY_LIMIT);
    return MPI_SUCCESS;
}

/* ---- hints of a communicator ------------------------------------------------------------------
 */

/* The assertions that the standard names are kept for the program, and change nothing here; all
 * other hints are ignored, which MPI_Comm_get_info shows. */
void hark_mpi_comm_hints(struct comm *c, const struct info *given)
{
    for (int n = 0; n < given->count; n++) {
        const struct pair *p = &given->pair[n];
        if (strncmp(p->key, "mpi_assert_", strlen("mpi_assert_")) != 0) continue;
        if (c->info == NULL) c->info = hark_mpi_info_make();
        hark_mpi_info_set(c->info, p->key, p->value);
    }
}

PUBLIC(Comm_set_info)
int PMPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
    NEED_COMM(c, comm);
    const struct info *given = INFO(info);
    NEED(c, given || info == MPI_INFO_NULL, MPI_ERR_INFO,
        "the info object is not valid: was it freed?");
    if (given) hark_mpi_comm_hints(c, given);
    return MPI_SUCCESS;
}

PUBLIC(Comm_get_info)
int PMPI_Comm_get_info(MPI_Comm comm, MPI_Info *info)
{
    NEED_COMM(c, comm);
    NEED(c, info, MPI_ERR_ARG, "info_used is NULL");
    struct info *used = c->info ? hark_mpi_info_copy(c->info) : hark_mpi_info_make();
    *info = HANDLE(MPI_Info, used);
    return MPI_SUCCESS;
}

/* ---- of windows -------------------------------------------------------------------------------
 */

#define NEED_WINDOW(w, handle)                                                                     \
    NEED_OPEN();                                                                                   \
    struct held *w = WINDOW(handle);                                                               \
    NEED(NULL, w, MPI_ERR_WIN, "the window is not valid: was it freed?")

PUBLIC(Win_set_info)
int PMPI_Win_set_info(MPI_Win win, MPI_Info info)
{
    NEED_WINDOW(w, win);
    const struct info *given = INFO(info);
    if (given == NULL && info != MPI_INFO_NULL)
        return hark_mpi_error_on(
            &w->o, MPI_ERR_INFO, __func__, "the info object is not valid: was it freed?");
    if (given == NULL) return MPI_SUCCESS;
    struct info *old = w->info;
    w->info = hark_mpi_info_copy(given);
    if (old) hark_mpi_info_release(old);
    return MPI_SUCCESS;
}

PUBLIC(Win_get_info)
int PMPI_Win_get_info(MPI_Win win, MPI_Info *info)
{
    NEED_WINDOW(w, win);
    if (info == NULL) return hark_mpi_error_on(&w->o, MPI_ERR_ARG, __func__, "info_used is NULL");
    struct info *used = w->info ? hark_mpi_info_copy(w->info) : hark_mpi_info_make();
    *info = HANDLE(MPI_Info, used);
    return MPI_SUCCESS;
}
