/* What may lie where the store and the payload log keep their files: names of any kind, and spilled
 * segments that somebody has changed. The input: a choice, a line for each file to be found at the
 * beginning, a zero, and what is written over a segment. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "hark/store.h"

static char root[64], spill[80], rank[80];

static void empty(const char *path)
{
    DIR *list = opendir(path);
    for (struct dirent *e; list && (e = readdir(list)) != NULL;)
        if (e->d_name[0] != '.' || (e->d_name[1] && e->d_name[1] != '.'))
            unlinkat(dirfd(list), e->d_name, 0);
    if (list) closedir(list);
}

static void leave(void)
{
    empty(spill);
    empty(rank);
    rmdir(spill);
    rmdir(rank);
    char path[96];
    snprintf(path, sizeof path, "%s/store/tmp", root);
    rmdir(path);
    snprintf(path, sizeof path, "%s/store/job", root);
    unlink(path);
    snprintf(path, sizeof path, "%s/store", root);
    rmdir(path);
    rmdir(root);
}

static struct hark_store *begin(void)
{
    static struct hark_store *store;
    char path[80], error[256];
    if (store) return store;
    const char *under = getenv("TMPDIR");
    snprintf(root, sizeof root, "%.40s/hark-fuzz-XXXXXX", under ? under : "/tmp");
    if (mkdtemp(root) == NULL) abort();
    snprintf(spill, sizeof spill, "%s/spill", root);
    snprintf(path, sizeof path, "%s/store", root);
    snprintf(rank, sizeof rank, "%s/store/r1", root);
    if (hark_store_open_directory(&store, path, "job", 2, true, error) < 0 || mkdir(rank, 0700) < 0)
        finding("%s", error);
    atexit(leave);
    return store;
}

static void make_files(const char *where, struct choices c)
{
    mkdir(where, 0700);
    int dir = open(where, O_RDONLY | O_DIRECTORY);
    char name[128];
    for (unsigned n = 0, i = 0; dir >= 0 && c.left > 0 && n < 16;) {
        char b = (char)choose(&c);
        if (b && b != '\n') {
            if (b != '/' && i < sizeof name - 1) name[i++] = b;
            continue;
        }
        name[i] = 0;
        i = 0;
        n++;
        int fd = name[0] && name[0] != '.' ? openat(dir, name, O_CREAT | O_WRONLY, 0600) : -1;
        if (fd >= 0) close(fd);
        if (b == 0) break;
    }
    if (dir >= 0) close(dir);
}

static void listed(struct hark_store *store)
{
    uint64_t id[4];
    int have = store->ops->list(store, 1, id, 4);
    if (have < 0) finding("%s", store->error);
    for (int i = 0; i < have && i < 4; i++) {
        const struct hark_section *section;
        uint32_t count;
        void *handle;
        if (id[i] == 0 || (i && id[i] <= id[i - 1])) finding("ids do not ascend");
        if (store->ops->read(store, 1, id[i], &section, &count, &handle) != HARK_S_EDAMAGED)
            finding("an empty image is read");
    }
}

/* Where the segment was changed, reading says so; else it gives what was put. */
static void changed(uint8_t how, struct choices c)
{
    static uint8_t payload[40000];
    struct hark_log_config config = {.limit = 65536, .spill = spill, .rank = 1, .inc = how % 4u};
    struct hark_log *log;
    char error[256];
    if (hark_log_open(&log, &config, error) < 0) finding("%s", error);
    for (uint64_t ssn = 1; ssn <= 12; ssn++) {
        uint32_t length = how & 4 ? 17000 + (uint32_t)ssn : 39000;
        memset(payload, (int)ssn, length);
        struct hark_log_part part = {payload, length};
        if (hark_log_retain(log, 3, 0, ssn, &part, 1) < 0) finding("%s", hark_log_error(log));
    }
    DIR *list = opendir(spill);
    bool touched = false;
    for (struct dirent *e; list && (e = readdir(list)) != NULL && c.left > 0;) {
        if (strncmp(e->d_name, "hark-log.1.", 11) != 0) continue;
        int fd = openat(dirfd(list), e->d_name, O_WRONLY);
        struct stat st;
        if (fd < 0 || fstat(fd, &st) < 0) continue;
        uint8_t b[64];
        size_t n = 0;
        off_t at = st.st_size ? (off_t)choose_bytes(&c, 3) % st.st_size : 0;
        if (choose(&c) & 1) touched = ftruncate(fd, at) == 0 || touched;
        while (c.left > 0 && n < sizeof b) b[n++] = choose(&c);
        touched = pwrite(fd, b, n, at) > 0 || touched;
        close(fd);
    }
    if (list) closedir(list);
    for (uint64_t ssn = 1; ssn <= 12; ssn++) {
        const void *at;
        uint64_t length;
        int status = hark_log_get(log, 3, 0, ssn, &at, &length);
        if (status != HARK_L_OK && (status != HARK_L_ESYSTEM || !touched))
            finding("a payload is gone: %s", hark_log_error(log));
        for (uint64_t i = 0; status == HARK_L_OK && i < length; i++)
            if (((const uint8_t *)at)[i] != ssn) finding("a payload that nobody sent");
    }
    hark_log_trim(log, 3, 0, 12);
    hark_log_close(log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hark_store *store = begin();
    struct choices c = {data, size};
    uint8_t how = choose(&c);
    const uint8_t *end = c.left ? memchr(c.at, 0, c.left) : NULL;
    make_files(spill, c);
    make_files(rank, c);
    listed(store);
    struct choices rest = {end ? end + 1 : c.at, end ? c.left - (size_t)(end + 1 - c.at) : 0};
    changed(how, rest);
    empty(spill);
    empty(rank);
    return 0;
}
