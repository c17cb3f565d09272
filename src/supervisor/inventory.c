#include "inventory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "hark/registry.h"
#include "../store/lock.h"
#include "keeper_internal.h"
#include "store_file.h"

char *hark_inventory_value(const struct hark_inventory *v, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = v->identity; line && *line;
         line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, name, length) == 0 && line[length] == '=')
            return strndup(line + length + 1, strcspn(line + length + 1, "\n"));
    return NULL;
}

/* A run holds an exclusive lock as long as it lasts. */
static bool is_in_use(const char *path)
{
    int fd = hark_sup_store_file(path, HARK_STORE_LOCK, O_RDONLY);
    if (fd < 0) return false;
    bool free_now = flock(fd, LOCK_SH | LOCK_NB) == 0;
    close(fd);
    return !free_now;
}

/* What the run was started with stands in its record. */
static bool read_identity(struct hark_inventory *v, char error[HARK_KEEPER_ERROR])
{
    int have;
    uint64_t *id = hark_keeper_records(v->record, 0, &have);
    for (int i = have; i > 0 && !v->identity; i--) {
        v->identity = hark_keeper_identity(v->record, 0, id[i - 1]);
        if (!v->identity) snprintf(error, HARK_KEEPER_ERROR, "%s", v->record->error);
    }
    if (have <= 0) snprintf(error, HARK_KEEPER_ERROR, "there is no record of a run in it");
    free(id);
    return v->identity != NULL;
}

static void fell_back(void *self, uint32_t rank, uint64_t wave, const char *why)
{
    struct hark_inventory *v = self;
    (void)wave;
    (void)why;
    if (v->fell_back) v->fell_back[rank] = 1;
}

static void lost(void *self, uint32_t rank, const char *why)
{
    (void)why;
    ((struct hark_inventory *)self)->lost = rank;
}

/* The service as that run had it. */
static void open_service(struct hark_inventory *v, char error[HARK_KEEPER_ERROR])
{
    char *protocol = hark_inventory_value(v, "protocol"),
         *clusters = hark_inventory_value(v, "clusters"), why[256];
    const char *options = protocol ? protocol + strcspn(protocol, " ") : "";
    struct hark_config asked = {0};
    if (protocol && *options) protocol[options++ - protocol] = 0;
    v->protocol = protocol ? hark_protocol_named(protocol) : NULL;
    if (v->protocol && hark_options_read(v->protocol->manual->options, options, &asked) < 0) {
        snprintf(error, HARK_KEEPER_ERROR,
            "its record is of protocol %s with %s, which this hark does not know", protocol,
            options);
    } else if (v->protocol == NULL) {
        snprintf(error, HARK_KEEPER_ERROR,
            "its record is of protocol %s, which this hark does not know",
            protocol ? protocol : "none");
    } else if (clusters == NULL ||
               hark_clusters_parse(&v->clusters, v->ranks, clusters, "its record", why) < 0) {
        snprintf(error, HARK_KEEPER_ERROR, "%s", clusters ? why : "its record has no clusters");
    } else {
        struct hark_keeper_config config = {.protocol = v->protocol,
            .clusters = &v->clusters,
            .waves_all = hark_service_waves_all(v->protocol, asked.asks),
            .record = v->record,
            .images = v->images,
            .identity = v->identity,
            .fell_back = fell_back,
            .lost = lost,
            .self = v};
        v->fell_back = calloc(v->ranks, 1);
        if (hark_keeper_open(&v->keeper, &config, error) == HARK_KEEPER_OK)
            v->finished = hark_service_finished(hark_keeper_core(v->keeper));
    }
    free(protocol);
    free(clusters);
}

enum { NAMED_MOST = 8 }; /* of hosts; there may be thousands */

/* Of a job whose images lie on its hosts: see missed.c. A line that can not be read is not there.
 */
static void read_hosts(struct hark_inventory *v, const char *path)
{
    char *line = NULL;
    size_t room = 0, length = 0;
    uint32_t count = 0;
    FILE *f = hark_sup_store_stream(path, "missed", "r"),
         *names = f ? open_memstream(&v->hosts, &length) : NULL;
    while (names && getline(&line, &room, f) >= 0) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "images ", 7) == 0 && !v->host_store) v->host_store = strdup(line + 7);
        if (strncmp(line, "host ", 5) != 0 || ++count > NAMED_MOST) continue;
        fprintf(names, "%s%s", count > 1 ? ", " : "", line + 5);
    }
    if (count > NAMED_MOST) fprintf(names, " and %" PRIu32 " more", count - NAMED_MOST);
    if (names) fclose(names);
    if (f) fclose(f);
    free(line);
}

int hark_inventory_open(struct hark_inventory *v, const char *path, char error[HARK_KEEPER_ERROR])
{
    char *record = NULL, line[256];
    *v = (struct hark_inventory){0};
    error[0] = 0;
    int status = hark_store_job(path, v->job, &v->ranks, line);
    v->in_use = status == HARK_S_OK && is_in_use(path);
    if (status == HARK_S_OK)
        status = hark_store_open_directory(&v->images, path, v->job, v->ranks, false, line);
    if (status == HARK_S_OK && asprintf(&record, "%s/service", path) < 0) record = NULL;
    if (status == HARK_S_OK && (record == NULL || access(record, F_OK) < 0)) {
        snprintf(error, HARK_KEEPER_ERROR, "there is no record of a run in it");
        free(record);
        return 0;
    }
    if (status == HARK_S_OK)
        status = hark_store_open_directory(&v->record, record, v->job, 1, false, line);
    free(record);
    if (status != HARK_S_OK) {
        snprintf(error, HARK_KEEPER_ERROR, "%s", line);
        hark_inventory_close(v);
        return -1;
    }
    if (read_identity(v, error)) open_service(v, error);
    if (!v->finished) read_hosts(v, path);
    return 0;
}

void hark_inventory_close(struct hark_inventory *v)
{
    hark_keeper_close(v->keeper);
    free(v->fell_back);
    hark_clusters_free(&v->clusters);
    if (v->record) v->record->ops->close(v->record);
    if (v->images) v->images->ops->close(v->images);
    free(v->identity);
    free(v->host_store);
    free(v->hosts);
    *v = (struct hark_inventory){0};
}
