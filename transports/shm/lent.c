/* lent.c: see lent.h. */
#include "lent.h"

#include <errno.h>
#include <stdlib.h>

static bool room(struct lent_list *l)
{
    if (l->count < l->room) return true;
    uint32_t more = l->room ? l->room * 2 : 8;
    struct lent *list = realloc(l->list, more * sizeof *list);
    if (!list) return false;
    l->list = list;
    l->room = more;
    return true;
}

void *lent_make(
    struct lent_list *l, const char *job, struct process me, uint64_t bytes, uint64_t leave)
{
    struct segment_name name;
    int descriptor;
    if (!room(l)) return NULL;
    void *at = segment_make_spare(bytes, leave, &descriptor);
    if (!at) return NULL;
    segment_lent_name(&name, job, me, l->next);
    if (segment_publish(descriptor, &name) != 0) {
        segment_unmap(at, bytes);
        return NULL;
    }
    l->list[l->count++] = (struct lent){at, bytes, l->next++};
    return at;
}

static void remove_name(const char *job, struct process me, uint32_t number)
{
    struct segment_name name;
    segment_lent_name(&name, job, me, number);
    segment_remove(&name);
}

void lent_remove(struct lent_list *l, const char *job, struct process me, void *at)
{
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->list[i].at != at) continue;
        segment_empty(at, l->list[i].bytes); /* others may have it mapped for long */
        segment_unmap(at, l->list[i].bytes);
        remove_name(job, me, l->list[i].number);
        l->list[i] = l->list[--l->count];
        return;
    }
}

void lent_close(struct lent_list *l, const char *job, struct process of, bool owner)
{
    for (uint32_t i = 0; i < l->count; i++) {
        segment_unmap(l->list[i].at, l->list[i].bytes);
        if (owner) remove_name(job, of, l->list[i].number);
    }
    free(l->list);
    *l = (struct lent_list){0};
}

bool lent_find(const struct lent_list *l, const void *at, uint64_t length, struct lent_place *place)
{
    const uint8_t *from = at;
    for (uint32_t i = l->count; i-- > 0;) {
        const struct lent *p = &l->list[i];
        if (from < p->at || from >= p->at + p->bytes) continue;
        *place = (struct lent_place){p->number, 0, (uint64_t)(from - p->at), 0};
        return length <= p->bytes - place->offset;
    }
    return false;
}

/* The piece, last used first in the list; mapped if it was not. */
static const struct lent *seen(
    struct lent_list *l, const char *job, struct process from, uint32_t number)
{
    struct segment_name name;
    struct lent piece = {.number = number};
    uint32_t i = 0;
    while (i < l->count && l->list[i].number != number) i++;
    if (i == l->count) {
        segment_lent_name(&name, job, from, number);
        if (!room(l)) return NULL;
        piece.at = segment_map(&name, &piece.bytes);
        if (!piece.at) return NULL;
        if (l->count < LENT_SEEN_MAX) {
            l->count++;
        } else { /* the one that was used the longest time ago makes room */
            i--;
            segment_unmap(l->list[i].at, l->list[i].bytes);
        }
    } else {
        piece = l->list[i];
    }
    for (; i > 0; i--) l->list[i] = l->list[i - 1];
    l->list[0] = piece;
    return l->list;
}

const uint8_t *lent_look(struct lent_list *l, const char *job, struct process from,
    struct lent_place place, uint64_t length)
{
    const struct lent *p =
        l->count && l->list[0].number == place.number ? l->list : seen(l, job, from, place.number);
    if (!p) return NULL;
    errno = EBADMSG;
    return place.offset <= p->bytes && length <= p->bytes - place.offset ? p->at + place.offset
                                                                         : NULL;
}
