/* Long lists, and the index of them.
 *
 * A receive names a source or any, and a tag or any: so a message fits the receives of four keys.
 * The index has an entry for each key that is in use, found by its hash: with the receives that
 * have this key, and the messages that fit them, both oldest first. A message is in the lists of
 * its four entries. The receive that takes it is the oldest of the first ones there. */
#include "queue.h"

#include <stdlib.h>

#define P hark_process

enum class { EXACT, ANY_TAG, ANY_SOURCE, ANY, CLASSES };

struct key {
    int from; /* HARK_ANY_SOURCE: any */
    int tag;  /* HARK_ANY_TAG: any; without HARK_APP_MARK */
    uint32_t ctx;
};

struct node { /* a message, as its owner */
    struct hark_message *m;
    int64_t number; /* grows with the place in the list of messages */
    struct entry *entry[CLASSES];
    struct links {
        struct node *next, *previous;
    } all[CLASSES], marked[CLASSES]; /* in the lists of those entries */
};

struct list {
    struct node *first, *last;
};

struct entry {
    struct key key;
    uint32_t heap; /* its place in the heap and one more, 0: it is not there */
    struct entry *next;
    struct hark_request *posted, *posted_last;
    struct list all, marked; /* messages; those of them that are marked */
};

struct match_index {
    struct entry **slot;
    struct entry **heap; /* of those that have receives and marked messages: the one with the oldest
                            of these on top. It has room for as many entries as there are slots. */
    uint32_t slots, entries, in_heap;
    uint64_t posted; /* the number of the newest receive */
    int64_t newest;  /* of the newest message */
};

enum { SLOTS_MIN = 64 };
enum { WALKS = 4 };            /* over all members: they take about as long as making the index */
#define GAP ((int64_t)1 << 24) /* between numbers of messages: room for those that are moved */

static void *memory(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (p == NULL) hark_process_fatal("rank %u: no memory to match messages", P.setup.rank);
    return p;
}

/* ---- entries ----------------------------------------------------------------------------------
 */

static struct key key_of(enum class c, uint32_t from, uint32_t ctx, int32_t tag)
{
    return (struct key){.from = c == ANY_SOURCE || c == ANY ? HARK_ANY_SOURCE : (int)from,
        .tag = c == ANY_TAG || c == ANY ? HARK_ANY_TAG : tag & hark_app_mask(0, ctx),
        .ctx = ctx};
}

static enum class class_of(const struct hark_request *r) {
    if (r->from == HARK_ANY_SOURCE) return r->mask ? ANY_SOURCE : ANY;
    return r->mask ? EXACT : ANY_TAG;
}

static struct key key_of_request(const struct hark_request *r)
{
    return key_of(class_of(r), (uint32_t)r->from, r->ctx, r->tag);
}

static struct entry **slot_of(const struct match_index *x, const struct key *k)
{
    uint64_t hash = (uint64_t)(uint32_t)k->from << 32 | (uint32_t)k->tag;
    hash = (hash ^ (uint64_t)k->ctx << 48 ^ k->ctx >> 16) * 0x9e3779b97f4a7c15u;
    return &x->slot[(hash ^ hash >> 32) & (x->slots - 1)];
}

static struct entry *find(const struct key *k)
{
    struct entry *e = *slot_of(hark_app.index, k);
    while (e && (e->key.from != k->from || e->key.tag != k->tag || e->key.ctx != k->ctx))
        e = e->next;
    return e;
}

static void put_into_slot(const struct match_index *x, struct entry *e)
{
    struct entry **slot = slot_of(x, &e->key);
    e->next = *slot;
    *slot = e;
}

/* Twice as many slots: all entries into new ones. */
static void grow(struct match_index *x)
{
    struct match_index old = *x;
    x->slots *= 2;
    x->slot = memory(x->slots * sizeof *x->slot);
    x->heap = memory(x->slots * sizeof *x->heap);
    for (uint32_t i = 0; i < old.slots; i++)
        for (struct entry *e = old.slot[i], *next; e; e = next) {
            next = e->next;
            put_into_slot(x, e);
        }
    for (uint32_t i = 0; i < old.in_heap; i++) x->heap[i] = old.heap[i];
    free(old.slot);
    free(old.heap);
}

static struct entry *find_or_make(const struct key *k)
{
    struct match_index *x = hark_app.index;
    struct entry *e = find(k);
    if (e) return e;
    if (x->entries == x->slots) grow(x);
    e = memory(sizeof *e);
    e->key = *k;
    put_into_slot(x, e);
    x->entries++;
    return e;
}

static void forget_if_empty(struct entry *e)
{
    if (e->posted || e->all.first) return;
    struct entry **at = slot_of(hark_app.index, &e->key);
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    hark_app.index->entries--;
    free(e);
}

/* ---- the heap ---------------------------------------------------------------------------------
 */

static void heap_put(struct match_index *x, uint32_t i, struct entry *e)
{
    x->heap[i] = e;
    e->heap = i + 1;
}

static bool older(const struct entry *a, const struct entry *b)
{
    return a->marked.first->number < b->marked.first->number;
}

/* Puts e where it belongs, of the places above and below i. */
static void heap_settle(struct match_index *x, uint32_t i, struct entry *e)
{
    for (; i && older(e, x->heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap_put(x, i, x->heap[(i - 1) / 2]);
    for (uint32_t child; (child = 2 * i + 1) < x->in_heap; i = child) {
        if (child + 1 < x->in_heap && older(x->heap[child + 1], x->heap[child])) child++;
        if (!older(x->heap[child], e)) break;
        heap_put(x, i, x->heap[child]);
    }
    heap_put(x, i, e);
}

/* What e has of receives or marked messages is another now. */
static void heap_again(struct match_index *x, struct entry *e)
{
    uint32_t i = e->heap;
    if (e->posted && e->marked.first) {
        heap_settle(x, i ? i - 1 : x->in_heap++, e);
    } else if (i) {
        struct entry *last = x->heap[--x->in_heap];
        e->heap = 0;
        if (last != e) heap_settle(x, i - 1, last);
    }
}

/* ---- receives ---------------------------------------------------------------------------------
 */

static void index_post(struct match_index *x, struct hark_request *r)
{
    struct key k = key_of_request(r);
    struct entry *e = find_or_make(&k);
    r->alike.number = ++x->posted;
    r->alike.next = NULL;
    r->alike.previous = e->posted_last;
    if (e->posted_last) e->posted_last->alike.next = r;
    else e->posted = r;
    e->posted_last = r;
    heap_again(x, e);
}

static void index_unpost(struct match_index *x, struct hark_request *r)
{
    struct key k = key_of_request(r);
    struct entry *e = find(&k);
    struct hark_request *next = r->alike.next, *previous = r->alike.previous;
    if (previous) previous->alike.next = next;
    else e->posted = next;
    if (next) next->alike.previous = previous;
    else e->posted_last = previous;
    r->status = 0;
    r->info = (struct hark_info){0};
    heap_again(x, e);
    forget_if_empty(e);
}

/* ---- messages ---------------------------------------------------------------------------------
 */

static struct links *links_of(struct node *n, enum class c, bool marked)
{
    return marked ? &n->marked[c] : &n->all[c];
}

/* Behind `previous`; NULL: as the first. */
static void link_behind(
    struct list *l, struct node *n, struct node *previous, enum class c, bool marked)
{
    struct links *at = links_of(n, c, marked);
    struct node **there = previous ? &links_of(previous, c, marked)->next : &l->first;
    at->previous = previous;
    at->next = *there;
    if (at->next) links_of(at->next, c, marked)->previous = n;
    else l->last = n;
    *there = n;
}

static void unlink_node(struct list *l, struct node *n, enum class c, bool marked)
{
    struct links *at = links_of(n, c, marked);
    if (at->previous) links_of(at->previous, c, marked)->next = at->next;
    else l->first = at->next;
    if (at->next) links_of(at->next, c, marked)->previous = at->previous;
    else l->last = at->previous;
}

/* Out of the lists of marked messages, or into them: the heap is right in between, too. */
static void unlink_marked(struct match_index *x, struct node *n, enum class c)
{
    unlink_node(&n->entry[c]->marked, n, c, true);
    heap_again(x, n->entry[c]);
}

static void link_marked(struct match_index *x, struct node *n, struct node *previous, enum class c)
{
    link_behind(&n->entry[c]->marked, n, previous, c, true);
    heap_again(x, n->entry[c]);
}

static void index_add(struct match_index *x, struct hark_message *m)
{
    struct node *n = memory(sizeof *n);
    m->owner = n;
    n->m = m;
    n->number = x->newest += GAP;
    for (enum class c = EXACT; c < CLASSES; c++) {
        struct key k = key_of(c, m->from, hark_queue_context(m), (int32_t)m->tag);
        struct entry *e = n->entry[c] = find_or_make(&k);
        link_behind(&e->all, n, e->all.last, c, false);
        if (hark_queue_marked(m)) link_marked(x, n, e->marked.last, c);
    }
}

static void index_remove(struct match_index *x, struct hark_message *m)
{
    struct node *n = m->owner;
    for (enum class c = EXACT; c < CLASSES; c++) {
        struct entry *e = n->entry[c];
        unlink_node(&e->all, n, c, false);
        if (hark_queue_marked(m)) unlink_marked(x, n, c);
        forget_if_empty(e);
    }
    m->owner = NULL;
    free(n);
}

static int64_t number(const struct hark_message *m)
{
    return ((const struct node *)m->owner)->number;
}

/* The order stays. */
static void number_again(struct match_index *x)
{
    x->newest = 0;
    for (struct hark_message *m = hark_app.first; m; m = m->next)
        ((struct node *)m->owner)->number = x->newest += GAP;
}

/* Between its new neighbours, which have their numbers. */
static void number_moved(struct match_index *x, struct hark_message *m)
{
    struct node *n = m->owner;
    int64_t after = m->previous ? number(m->previous) : number(m->next) - 2 * GAP;
    n->number = after + (number(m->next) - after) / 2;
    if (n->number == after) number_again(x);
}

/* The last that is older, from `at` on. */
static struct node *back_to_older(struct node *at, const struct node *n, enum class c, bool marked)
{
    while (at && at->number > n->number) at = links_of(at, c, marked)->previous;
    return at;
}

/* Its neighbours are new ones, and older. */
static void index_move(struct match_index *x, struct hark_message *m)
{
    struct node *n = m->owner, *all[CLASSES], *marked[CLASSES];
    bool is_marked = hark_queue_marked(m);
    for (enum class c = EXACT; c < CLASSES; c++) {
        all[c] = n->all[c].previous;
        marked[c] = n->marked[c].previous;
        unlink_node(&n->entry[c]->all, n, c, false);
        if (is_marked) unlink_marked(x, n, c);
    }
    number_moved(x, m);
    for (enum class c = EXACT; c < CLASSES; c++) {
        link_behind(&n->entry[c]->all, n, back_to_older(all[c], n, c, false), c, false);
        if (is_marked) link_marked(x, n, back_to_older(marked[c], n, c, true), c);
    }
}

/* ---- making it, and giving it up ---------------------------------------------------------------
 */

static void make_index(void)
{
    struct match_index *x = hark_app.index = memory(sizeof *x);
    x->slots = SLOTS_MIN;
    x->slot = memory(x->slots * sizeof *x->slot);
    x->heap = memory(x->slots * sizeof *x->heap);
    for (struct hark_request *r = hark_app.posted; r; r = r->next) index_post(x, r);
    for (struct hark_message *m = hark_app.first; m; m = m->next) index_add(x, m);
}

static void drop_index(void)
{
    struct match_index *x = hark_app.index;
    for (struct hark_request *r = hark_app.posted; r; r = r->next) index_unpost(x, r);
    for (struct hark_message *m = hark_app.first; m; m = m->next) index_remove(x, m);
    hark_app.index = NULL;
    free(x->slot);
    free(x->heap);
    free(x);
}

static void may_be_short(void)
{
    if (hark_app.posted_more > HARK_QUEUE_SHORT / 2 || hark_app.untaken_more > HARK_QUEUE_SHORT / 2)
        return;
    if (hark_app.index) drop_index();
    hark_app.many = false;
    hark_app.walked = 0;
}

/* r is the last in the list. */
void hark_queue_post_behind(struct hark_request *r)
{
    if (r->previous) hark_app.posted_more++;
    if (hark_app.posted_more >= HARK_QUEUE_SHORT) hark_app.many = true;
    if (hark_app.index) index_post(hark_app.index, r);
}

void hark_queue_long_add(struct hark_message *m)
{
    hark_app.many = true;
    if (hark_app.index) index_add(hark_app.index, m);
}

void hark_queue_unpost_among(struct hark_request *r)
{
    if (hark_app.posted != hark_app.posted_last) hark_app.posted_more--;
    if (r->previous) r->previous->next = r->next;
    else hark_app.posted = r->next;
    if (r->next) r->next->previous = r->previous;
    else hark_app.posted_last = r->previous;
    if (hark_app.index) index_unpost(hark_app.index, r);
    if (hark_app.many) may_be_short();
}

void hark_queue_long_remove(struct hark_message *m)
{
    if (hark_app.index) index_remove(hark_app.index, m);
    may_be_short();
}

void hark_queue_move(struct hark_message *m, struct hark_message *place)
{
    hark_queue_unlink(m);
    m->previous = place->previous;
    m->next = place;
    if (place->previous) place->previous->next = m;
    else hark_app.first = m;
    place->previous = m;
    if (hark_app.index) index_move(hark_app.index, m);
}

/* ---- who fits whom ----------------------------------------------------------------------------
 */

static void walked(uint64_t steps)
{
    uint64_t members = (uint64_t)hark_app.posted_more + hark_app.untaken_more;
    if (steps <= HARK_QUEUE_SHORT) return;
    hark_app.walked += steps;
    if (hark_app.walked > WALKS * members) make_index();
}

static struct hark_request *walk_to_claimant(
    struct hark_request *r, uint32_t from, uint32_t ctx, int32_t tag)
{
    struct hark_request *q = hark_app.posted;
    uint64_t steps = 0;
    for (; q != r && (q->reserved || !hark_queue_fits(q, from, ctx, tag)); q = q->next) steps++;
    walked(steps);
    return q;
}

struct hark_request *hark_queue_long_claimant(
    struct hark_request *r, uint32_t from, uint32_t ctx, int32_t tag, const struct hark_message *m)
{
    if (hark_app.index == NULL) return walk_to_claimant(r, from, ctx, tag);
    const struct node *n = m ? m->owner : NULL;
    for (enum class c = EXACT; c < CLASSES; c++) {
        struct key k = key_of(c, from, ctx, tag);
        const struct entry *e = n ? n->entry[c] : find(&k);
        struct hark_request *q = e ? e->posted : NULL;
        if (q && q->reserved) q = q->alike.next; /* no more than one is: the one waited for */
        if (q && (r == NULL || q->alike.number < r->alike.number)) r = q;
    }
    return r;
}

/* From m on. */
static struct hark_message *walk_to_fit(const struct hark_request *r, struct hark_message *m)
{
    uint64_t steps = 0;
    for (; m && !hark_queue_fits_message(r, m); m = m->next) steps++;
    walked(steps);
    return m;
}

struct hark_message *hark_queue_long_first(const struct hark_request *r)
{
    if (hark_app.index == NULL) return walk_to_fit(r, hark_app.first);
    struct key k = key_of_request(r);
    const struct entry *e = find(&k);
    return e && e->all.first ? e->all.first->m : NULL;
}

struct hark_message *hark_queue_long_next(
    const struct hark_request *r, const struct hark_message *m)
{
    if (hark_app.index == NULL) return walk_to_fit(r, m->next);
    const struct node *n = m->owner, *next = n->all[class_of(r)].next;
    return next ? next->m : NULL;
}

static struct hark_message *walk_to_channel(
    const struct hark_request *q, const struct hark_message *m)
{
    struct hark_message *x = hark_app.first;
    uint64_t steps = 0;
    for (; x->from != m->from || !hark_queue_fits_message(q, x); x = x->next) steps++;
    walked(steps);
    return x;
}

struct hark_message *hark_queue_long_channel(
    const struct hark_request *q, const struct hark_message *m)
{
    if (hark_app.index == NULL) return walk_to_channel(q, m);
    const struct node *n = m->owner;
    return n->entry[q->mask ? EXACT : ANY_TAG]->all.first->m;
}

struct hark_message *hark_queue_long_marked(void)
{
    if (hark_app.index == NULL) make_index();
    const struct match_index *x = hark_app.index;
    return x->in_heap ? x->heap[0]->marked.first->m : NULL;
}
