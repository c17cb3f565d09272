/* What a checkpoint holds of the MPI library: its objects, each with its handle, so that variables
 * of the program that hold handles may be protected.
 *
 * A restart executes the beginning of the program again (prologue.h), which makes the objects that
 * it made there the first time. hark_restarted then gives back what was in the image. An object of
 * the beginning is in the image if it has the same number there and the same serial; else it goes,
 * for the program freed it later, and may have made another one in its slot. What the image has
 * beyond these is made again.
 *
 * Functions and values of the program can not be made again: datatypes, functions of operations and
 * of error handlers, keyvals, attributes and windows are those of its beginning. One that it made
 * later keeps its place, and is lost: whoever uses it ends the process with a line.
 */
#include "image.h"

enum { VERSION = 5 };

/* ---- bytes ------------------------------------------------------------------------------------
 */

static struct bytes {
    uint8_t *at;
    size_t length, room, next;
} image;

void hark_mpi_put(const void *from, size_t length)
{
    if (image.length + length > image.room) {
        image.room = (image.length + length) * 2;
        uint8_t *more = realloc(image.at, image.room);
        if (more == NULL) hark_mpi_fatal(1, "no memory for a checkpoint");
        image.at = more;
    }
    if (length) memcpy(image.at + image.length, from, length);
    image.length += length;
}

void hark_mpi_get(void *to, size_t length)
{
    if (image.length - image.next < length)
        hark_mpi_fatal(1, "the checkpoint ends within what it holds of MPI");
    if (length) memcpy(to, image.at + image.next, length);
    image.next += length;
}

/* ---- objects of one kind ----------------------------------------------------------------------
 */

struct object *hark_mpi_next_slot(enum kind kind, uint32_t number)
{
    const struct slots *s = &hark_mpi_slots[kind];
    if (number < HARK_MPI_FIRST_MADE) number = HARK_MPI_FIRST_MADE;
    for (; number < s->next; number++) {
        struct object *o = hark_mpi_slot(s, number);
        if (o->kind && o->self == o) return o;
    }
    return NULL;
}

/* In the order in which they go: what uses others before those. Of requests and info objects none
 * is kept, for all of them is in the image. */
static void forget_info(struct object *o)
{
    o->references = 1;
    hark_mpi_info_release((struct info *)o);
}

static void forget_type(struct object *o)
{
    hark_mpi_type_forget((struct type *)o);
}

static const struct kind_of_object {
    enum kind kind;
    bool is_made_again;
    void (*forget)(struct object *o);
} kinds[] = {
    {KIND_WINDOW, false, hark_mpi_window_forget},
    {KIND_FILE, false, hark_mpi_file_forget},
#if defined(MPI_SESSION_NULL)
    {KIND_SESSION, false, hark_mpi_session_forget},
#endif
    {KIND_REQUEST, true, hark_mpi_request_drop},
    {KIND_COMM, false, hark_mpi_comm_forget},
    {KIND_GROUP, false, hark_mpi_group_forget},
    {KIND_TYPE, false, forget_type},
    {KIND_OP, false, hark_mpi_delete},
    {KIND_ERRHANDLER, false, hark_mpi_delete},
    {KIND_INFO, true, forget_info},
};
enum { KINDS_OF_OBJECT = sizeof kinds / sizeof *kinds };

/* ---- which objects there are ------------------------------------------------------------------
 */

struct listed {
    uint32_t number, references;
    uint64_t serial;
};
static struct list {
    struct listed *at;
    uint32_t count;
} lists[KINDS_OF_OBJECT];

struct arena_of {
    uint64_t base, slot, made;
};

static void put_lists(void)
{
    for (int k = 0; k < KINDS_OF_OBJECT; k++) {
        const struct slots *a = &hark_mpi_slots[kinds[k].kind];
        const struct arena_of of = {(uintptr_t)a->base, a->slot, a->made};
        uint32_t count = 0;
        for (EACH_SLOT(kinds[k].kind, o)) count++;
        hark_mpi_put(&of, sizeof of);
        hark_mpi_put(&count, sizeof count);
        for (EACH_SLOT(kinds[k].kind, o)) {
            const struct listed one = {o->number, o->references, o->serial};
            hark_mpi_put(&one, sizeof one);
        }
    }
}

/* Handles that are addresses stay if the arena has its address again. */
static void open_arena(enum kind kind, const struct arena_of *of)
{
#if defined(HARK_MPI_MPICH)
    const bool are_addresses = kind == KIND_FILE;
#else
    const bool are_addresses = true;
#endif
    struct slots *a = &hark_mpi_slots[kind];
    a->made = of->made;
    if (of->base == 0) return;
    hark_mpi_slots_open(kind, (size_t)of->slot);
    if (a->slot != of->slot)
        hark_mpi_fatal(1, "the checkpoint was made by another version of hark");
    if (are_addresses && (uintptr_t)a->base != of->base)
        hark_mpi_fatal(1, "handles in the checkpoint are addresses, and these are others in this "
                          "process: does the system forbid to switch off address randomization "
                          "(personality)?");
}

static void get_lists(void)
{
    for (int k = 0; k < KINDS_OF_OBJECT; k++) {
        struct arena_of of;
        struct list *l = &lists[k];
        hark_mpi_get(&of, sizeof of);
        hark_mpi_get(&l->count, sizeof l->count);
        open_arena(kinds[k].kind, &of);
        l->at = hark_mpi_memory(l->count * sizeof *l->at);
        hark_mpi_get(l->at, l->count * sizeof *l->at);
    }
}

/* ---- which of them stay -----------------------------------------------------------------------
 */

/* While objects go and come, no reference that one gives back is the last: how many there are is in
 * the image. */
enum { HELD = 1 << 30 };

static void hold(void)
{
    for (int k = 0; k < KINDS_OF_OBJECT; k++)
        for (EACH_SLOT(kinds[k].kind, o)) o->references += HELD;
}

static void forget_some(const struct kind_of_object *k, const struct list *l)
{
    uint32_t i = 0;
    for (EACH_SLOT(k->kind, o)) {
        while (i < l->count && l->at[i].number < o->number) i++;
        bool is_there = i < l->count && l->at[i].number == o->number;
        bool stays = is_there && l->at[i].serial == o->serial && !k->is_made_again;
        if (stays && k->kind == KIND_FILE) hark_mpi_file_drop_view(o);
        if (stays) continue;
        uint32_t number = o->number;
        k->forget(o);
        o->number = number; /* the loop goes on from there; the list of free ones is made anew */
    }
}

static void make_others(const struct kind_of_object *k, const struct list *l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        const struct slots *a = &hark_mpi_slots[k->kind];
        uint32_t number = l->at[i].number;
        if (number < a->next && hark_mpi_slot(a, number)->kind) continue;
        hark_mpi_new_at(k->kind, number, l->at[i].serial)->references = HELD;
    }
}

/* Numbers of references, from the image. */
static void release(void)
{
    for (int k = 0; k < KINDS_OF_OBJECT; k++) {
        const struct list *l = &lists[k];
        for (uint32_t i = 0; i < l->count; i++) {
            struct object *o = hark_mpi_slot(&hark_mpi_slots[kinds[k].kind], l->at[i].number);
            o->references = l->at[i].references;
            o->is_new = false;
        }
        free(l->at);
        lists[k] = (struct list){0};
    }
}

/* ---- info objects -----------------------------------------------------------------------------
 */

static MPI_Info handle_of(const struct info *i)
{
    return (MPI_Info)((const struct object *)i)->handle;
}

static void put_text(const char *text)
{
    put_int((int64_t)strlen(text));
    hark_mpi_put(text, strlen(text));
}

static char *get_text(void)
{
    size_t length = (size_t)get_int();
    char *text = hark_mpi_memory(length + 1);
    hark_mpi_get(text, length);
    text[length] = 0;
    return text;
}

static void put_pairs(const struct info *i)
{
    int count = 0;
    PMPI_Info_get_nkeys(handle_of(i), &count);
    put_int(count);
    for (int n = 0; n < count; n++) {
        char key[MPI_MAX_INFO_KEY + 1];
        PMPI_Info_get_nthkey(handle_of(i), n, key);
        put_text(key);
        put_text(hark_mpi_info_value(i, key));
    }
}

static void get_pairs(struct info *i)
{
    for (int64_t n = get_int(); n > 0; n--) {
        char *key = get_text(), *value = get_text();
        hark_mpi_info_set(i, key, value);
        free(key);
        free(value);
    }
}

/* That of another object, or NULL. */
void hark_mpi_info_put(const struct info *i, void (*put)(const void *from, size_t length))
{
    const uint32_t number = i ? ((const struct object *)i)->number : 0;
    put(&number, sizeof number);
}

struct info *hark_mpi_info_get(void (*get)(void *to, size_t length))
{
    uint32_t number;
    get(&number, sizeof number);
    return number ? hark_mpi_made(&hark_mpi_slots[KIND_INFO], number, KIND_INFO) : NULL;
}

/* ---- what is in them --------------------------------------------------------------------------
 */

static void put_contents(void)
{
    hark_mpi_contexts_put(hark_mpi_put);
    hark_mpi_error_codes_put(hark_mpi_put);
    hark_mpi_keyvals_put(hark_mpi_put);
    for (EACH_SLOT(KIND_INFO, o)) put_pairs((struct info *)o);
    for (EACH_SLOT(KIND_ERRHANDLER, o))
        hark_mpi_errhandler_kind_put((struct errhandler *)o, hark_mpi_put);
    for (EACH_SLOT(KIND_OP, o)) hark_mpi_op_put((struct op *)o, hark_mpi_put);
    for (EACH_SLOT(KIND_TYPE, o)) hark_mpi_type_put((struct type *)o, hark_mpi_put);
#if defined(MPI_SESSION_NULL)
    for (EACH_SLOT(KIND_SESSION, o)) hark_mpi_session_put(o, hark_mpi_put);
#endif
    hark_mpi_comms_put();
    hark_mpi_requests_put();
    hark_mpi_files_put(hark_mpi_put);
    hark_mpi_windows_put(hark_mpi_put);
}

/* The same objects, in the same order. */
static void get_contents(void)
{
    hark_mpi_contexts_get(hark_mpi_get);
    hark_mpi_error_codes_get(hark_mpi_get);
    hark_mpi_keyvals_get(hark_mpi_get);
    for (EACH_SLOT(KIND_INFO, o)) get_pairs((struct info *)o);
    for (EACH_SLOT(KIND_ERRHANDLER, o))
        hark_mpi_errhandler_kind_get((struct errhandler *)o, hark_mpi_get);
    for (EACH_SLOT(KIND_OP, o)) hark_mpi_op_get((struct op *)o, hark_mpi_get);
    for (EACH_SLOT(KIND_TYPE, o)) hark_mpi_type_get((struct type *)o, hark_mpi_get);
#if defined(MPI_SESSION_NULL)
    for (EACH_SLOT(KIND_SESSION, o)) hark_mpi_session_get(o, hark_mpi_get);
#endif
    hark_mpi_comms_get();
    hark_mpi_requests_get();
    hark_mpi_files_get(hark_mpi_get);
    hark_mpi_windows_get(hark_mpi_get);
}

/* ---- hooks of the application layer -----------------------------------------------------------
 */

static bool may_capture(void)
{
    return hark_mpi_requests_may_capture() && hark_mpi_next_slot(KIND_MESSAGE, 0) == NULL &&
           hark_mpi_windows_may_capture();
}

static bool capture(const void **bytes, size_t *length)
{
    image.length = 0;
    put_int(VERSION);
    put_int((int64_t)(intptr_t)MPI_COMM_WORLD);
    put_lists();
    put_contents();
    *bytes = image.at;
    *length = image.length;
    return true;
}

static void restore(const void *bytes, size_t length)
{
    image.length = image.next = 0;
    hark_mpi_put(bytes, length);
    if (get_int() != VERSION)
        hark_mpi_fatal(1, "the checkpoint was made by another version of hark: begin the job "
                          "without it");
    if (get_int() != (int64_t)(intptr_t)MPI_COMM_WORLD)
        hark_mpi_fatal(1, "MPI_COMM_WORLD in the checkpoint has another address than in this "
                          "process: does the system forbid to switch off address randomization "
                          "(personality)?");
    hark_mpi_restoring = true;
    get_lists();
    hold();
    hark_mpi_requests_begin();
    hark_mpi_windows_unposted();
    for (int k = 0; k < KINDS_OF_OBJECT; k++) forget_some(&kinds[k], &lists[k]);
    for (int k = 0; k < KINDS_OF_OBJECT; k++) make_others(&kinds[k], &lists[k]);
    get_contents();
    release();
    hark_mpi_slots_restored();
    hark_mpi_restoring = false;
}

void hark_mpi_image_hooks(void)
{
    hark_app.may_capture = may_capture;
    hark_app.capture = capture;
    hark_app.restore = restore;
}
