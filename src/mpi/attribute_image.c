/* Attributes in checkpoints: which ones there are. Their values are the program's, and so are the
 * functions of their keys: a restart has those that the program sets again before hark_restarted,
 * and knows them by their serials. What it does not have is lost: whoever uses it ends with a line.
 */
#include "attribute.h"

struct saved_keyval {
    uint64_t serial;
    uint32_t of, references; /* references 0: there is none */
    bool freed;
};

void hark_mpi_keyvals_put(void (*put)(const void *from, size_t length))
{
    put(&hark_mpi_keyvals_made, sizeof hark_mpi_keyvals_made);
    put(&hark_mpi_attributes_made, sizeof hark_mpi_attributes_made);
    put(&hark_mpi_keyval_room, sizeof hark_mpi_keyval_room);
    for (int i = 0; i < hark_mpi_keyval_room; i++) {
        const struct keyval *k = hark_mpi_keyvals[i];
        struct saved_keyval s;
        memset(&s, 0, sizeof s);
        if (k) {
            s.serial = k->serial;
            s.of = k->of;
            s.references = k->references;
            s.freed = k->freed;
        }
        put(&s, sizeof s);
    }
}

static void get_keyval(struct keyval **at, const struct saved_keyval *s)
{
    struct keyval *k = *at;
    if (k && (s->references == 0 || k->serial != s->serial)) {
        free(k);
        k = NULL;
    }
    if (k == NULL && s->references) {
        k = hark_mpi_memory(sizeof *k);
        *k = (struct keyval){.of = (enum kind)s->of, .serial = s->serial, .lost = true};
    }
    *at = k;
    if (k == NULL) return;
    k->references = s->references;
    k->freed = s->freed;
}

void hark_mpi_keyvals_get(void (*get)(void *to, size_t length))
{
    int room, had = hark_mpi_keyval_room;
    get(&hark_mpi_keyvals_made, sizeof hark_mpi_keyvals_made);
    get(&hark_mpi_attributes_made, sizeof hark_mpi_attributes_made);
    get(&room, sizeof room);
    if (room > had) {
        struct keyval **more = realloc(hark_mpi_keyvals, (size_t)room * sizeof *more);
        if (more == NULL) hark_mpi_fatal(1, "no memory for a restart");
        memset(more + had, 0, (size_t)(room - had) * sizeof *more);
        hark_mpi_keyvals = more;
        hark_mpi_keyval_room = room;
    }
    for (int i = 0; i < hark_mpi_keyval_room; i++) {
        struct saved_keyval s = {0};
        if (i < room) get(&s, sizeof s);
        get_keyval(&hark_mpi_keyvals[i], &s);
    }
}

struct saved_attribute {
    uint64_t serial;
    int32_t keyval, kind;
};

void hark_mpi_attributes_put(
    const struct attribute *list, void (*put)(const void *from, size_t length))
{
    uint32_t count = 0;
    for (const struct attribute *a = list; a; a = a->next) count++;
    put(&count, sizeof count);
    for (const struct attribute *a = list; a; a = a->next) {
        const struct saved_attribute s = {a->serial, a->keyval, (int32_t)a->kind};
        put(&s, sizeof s);
    }
}

/* Takes this one out of the list, or makes one that is lost. */
static struct attribute *take(struct attribute **list, const struct saved_attribute *s)
{
    struct attribute *a;
    while (*list && (*list)->serial != s->serial) list = &(*list)->next;
    if (*list) {
        a = *list;
        *list = a->next;
        return a;
    }
    a = hark_mpi_memory(sizeof *a);
    *a = (struct attribute){NULL, s->keyval, (enum value_kind)s->kind, NULL, s->serial, true};
    return a;
}

/* The keys have their references from the checkpoint. */
void hark_mpi_attributes_forget(struct attribute **list)
{
    while (*list) {
        struct attribute *a = *list;
        *list = a->next;
        free(a);
    }
}

void hark_mpi_attributes_get(struct attribute **list, void (*get)(void *to, size_t length))
{
    struct attribute *old = *list, **end = list;
    uint32_t count;
    *list = NULL;
    for (get(&count, sizeof count); count > 0; count--) {
        struct saved_attribute s;
        get(&s, sizeof s);
        *end = take(&old, &s);
        (*end)->next = NULL;
        end = &(*end)->next;
    }
    hark_mpi_attributes_forget(&old);
}
