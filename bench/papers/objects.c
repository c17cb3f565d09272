/* objects.c: writes the loads and the communication of the balancer's experiments: objects NAME, in
 * NAME.csv and NAME.mtx. */
#include "objects.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static bool made(const char *name, struct objects *o)
{
    if (strcmp(name, "bt-mz") == 0) return objects_bt_mz(o);
    if (strcmp(name, "lbtest") == 0) return objects_lbtest(o);
    if (strcmp(name, "uncorrelated") == 0) return objects_cg(o, false);
    return strcmp(name, "correlated") == 0 && objects_cg(o, true);
}

static void loads(const struct objects *o, FILE *f)
{
    for (uint32_t i = 0; i < o->count; i++)
        for (uint32_t c = 0; c < o->columns; c++)
            fprintf(f, "%" PRIu64 "%s", o->load[(size_t)i * o->columns + c],
                c + 1 < o->columns ? "," : "\n");
}

static void matrix(const struct objects *o, FILE *f)
{
    fprintf(f,
        "%%%%MatrixMarket matrix coordinate integer general\n%" PRIu32 " %" PRIu32 " %" PRIu32 "\n",
        o->count, o->count, o->edges);
    for (uint32_t k = 0; k < o->edges; k++)
        fprintf(f, "%" PRIu32 " %" PRIu32 " %" PRIu64 "\n", o->edge[k].from + 1, o->edge[k].to + 1,
            o->edge[k].bytes);
}

static int write_to(const char *name, const char *end, const struct objects *o,
    void (*put)(const struct objects *, FILE *))
{
    char path[256];
    snprintf(path, sizeof path, "%s%s", name, end);
    FILE *f = fopen(path, "we");
    if (f != NULL) put(o, f);
    if (f != NULL && fclose(f) == 0) return 0;
    fprintf(stderr, "objects: %s: %s\n", path, strerror(errno));
    return 1;
}

int main(int argc, char **argv)
{
    struct objects o;
    if (argc != 2 || !made(argv[1], &o)) {
        fputs("usage: objects bt-mz|lbtest|uncorrelated|correlated\n", stderr);
        return 2;
    }
    int status = write_to(argv[1], ".csv", &o, loads) | write_to(argv[1], ".mtx", &o, matrix);
    objects_free(&o);
    return status;
}
