/* source.h: a file whose beginning says what it is, and which is read as a whole after that: of a
 * pipe, or of what else can be read only once, a copy is kept in memory. */
#ifndef HARK_CLUSTER_SOURCE_H
#define HARK_CLUSTER_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

struct cluster_source {
    const char *name;        /* as it was given */
    const char *path;        /* where it can be read as often as one likes, until it is closed */
    char copy[32], head[16]; /* head: how it begins, ended by a NUL */
    int descriptor;
};

/* 0, or -1: errno, and nothing is to be closed. */
int hark_cluster_source_open(struct cluster_source *s, const char *name);
void hark_cluster_source_close(struct cluster_source *s);
/* Does it begin as a Matrix Market file, in capitals or not, or as what gzip makes? */
bool hark_cluster_source_is_matrix(const struct cluster_source *s);
/* What a reader says of the path it was given is said of the name. */
void hark_cluster_source_rename(const struct cluster_source *s, char *error, size_t room);

#endif
