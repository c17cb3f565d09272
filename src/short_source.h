/* short_source.h: sources with long names, whose readers have messages with room for so much. */
#ifndef HARK_SHORT_SOURCE_H
#define HARK_SHORT_SOURCE_H

#include <stdio.h>

#include "cluster/source.h"
#include "short_path.h"

/* A long name is shortened, and its readers get the descriptor's name, which always has room:
 * hark_cluster_source_rename() puts the short one in its place. */
static inline void hark_short_source(struct cluster_source *s, char shown[HARK_SHORT_PATH])
{
    const char *name = hark_short_path(s->name, shown);
    if (s->path == s->name && name == shown) {
        snprintf(s->copy, sizeof s->copy, "/proc/self/fd/%d", s->descriptor);
        s->path = s->copy;
    }
    s->name = name;
}

#endif
