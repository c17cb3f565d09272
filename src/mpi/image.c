/* What a checkpoint holds of the MPI library: groups, communicators, requests, windows and
 * files (file_image.c). Each keeps its handle, so that variables of the program that hold handles
 * may be protected.
 *
 * A restart executes the beginning of the program again (prologue.h), which makes the objects that
 * it made there the first time. hark_restarted then gives back what was in the image: communicators
 * that were made later are made again, those that were freed later are freed, receives that were
 * posted are posted. Datatypes, operations, error handlers and attributes are functions and
 * structures of the program: they are those of its beginning.
 */
#include "internal.h"

enum { VERSION = 3 };

/* ---- bytes ------------------------------------------------------------------------------------
 */

static struct bytes {
    uint8_t *at;
    size_t length, room, next;
} image;

static void put(const void *from, size_t length)
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

static void put_int(int64_t value)
{
    put(&value, sizeof value);
}

static void get(void *to, size_t length)
{
    if (image.length - image.next < length)
        hark_mpi_fatal(1, "the checkpoint ends within what it holds of MPI");
    if (length) memcpy(to, image.at + image.next, length);
    image.next += length;
}

static int64_t get_int(void)
{
    int64_t value;
    get(&value, sizeof value);
    return value;
}

/* ---- objects of one kind ----------------------------------------------------------------------
 */

/* The first from `number` on that was made and is there; its number, or 0. */
static uint32_t next_made(enum kind kind, uint32_t number)
{
    const struct slots *s = &hark_mpi_slots[kind];
    if (number < HARK_MPI_FIRST_MADE) number = HARK_MPI_FIRST_MADE;
    for (; number < s->next; number++) {
        const struct object *o = hark_mpi_made(s, number, kind);
        if (o && !o->predefined) return number;
    }
    return 0;
}

static uint32_t count_made(enum kind kind)
{
    uint32_t n = 0;
    for (uint32_t at = next_made(kind, 0); at; at = next_made(kind, at + 1)) n++;
    return n;
}

#define EACH_MADE(kind, at)                                                                        \
    uint32_t at = next_made(kind, 0);                                                              \
    at;                                                                                            \
    at = next_made(kind, at + 1)

static void *made(enum kind kind, uint32_t number)
{
    return hark_mpi_made(&hark_mpi_slots[kind], number, kind);
}

/* Objects that are always there have a number below those that are made. */
enum { GROUP_WORLD = 1, GROUP_SELF, GROUP_EMPTY, COMM_WORLD = 1, COMM_SELF };

static int64_t number_of_group(const struct group *g)
{
    if (g == NULL) return 0;
    if (g == &hark_mpi_group_world) return GROUP_WORLD;
    if (g == &hark_mpi_group_self) return GROUP_SELF;
    return g == &hark_mpi_group_empty ? GROUP_EMPTY : g->o.number;
}

static struct group *numbered_group(int64_t number)
{
    switch (number) {
    case 0: return NULL;
    case GROUP_WORLD: return &hark_mpi_group_world;
    case GROUP_SELF: return &hark_mpi_group_self;
    case GROUP_EMPTY: return &hark_mpi_group_empty;
    default: return made(KIND_GROUP, (uint32_t)number);
    }
}

static int64_t number_of_comm(const struct comm *c)
{
    if (c == NULL) return 0;
    return c == &hark_mpi_world ? COMM_WORLD : c == &hark_mpi_self ? COMM_SELF : c->o.number;
}

static struct comm *numbered_comm(int64_t number)
{
    if (number == COMM_WORLD) return &hark_mpi_world;
    if (number == COMM_SELF) return &hark_mpi_self;
    return number ? made(KIND_COMM, (uint32_t)number) : NULL;
}

/* ---- groups -----------------------------------------------------------------------------------
 */

static void put_groups(void)
{
    put_int(count_made(KIND_GROUP));
    for (EACH_MADE(KIND_GROUP, at)) {
        const struct group *g = made(KIND_GROUP, at);
        put_int(at);
        put_int(g->o.references);
        put_int(g->size);
        put(g->world, (size_t)g->size * sizeof *g->world);
    }
}

static void empty_group(struct group *g)
{
    free((void *)(uintptr_t)g->world);
    free(g->local);
    g->world = g->local = NULL;
}

static void get_group(uint32_t number)
{
    struct group *g = made(KIND_GROUP, number);
    if (g) empty_group(g);
    else g = hark_mpi_new_at(KIND_GROUP, number, sizeof *g);
    g->o.references = (uint32_t)get_int();
    g->size = (int)get_int();
    int *world = hark_mpi_memory((size_t)g->size * sizeof *world);
    get(world, (size_t)g->size * sizeof *world);
    g->world = world;
    g->local = NULL;
    g->rank = MPI_UNDEFINED;
    for (int i = 0; i < g->size; i++)
        if (world[i] == hark_rank()) g->rank = i;
}

/* ---- where memory lies ------------------------------------------------------------------------
 */

/* A region that the program protects, and the place in it. */
struct place {
    int64_t region; /* its index, -1: in none, then `at` is an address (NULL, MPI_BOTTOM) */
    int64_t at;
};

/* Of memory at `buffer`, of which `first` is used. False: it is not protected. */
static bool place_at(const void *buffer, const uint8_t *first, struct place *p)
{
    *p = (struct place){-1, (int64_t)(intptr_t)buffer};
    for (size_t i = 0; i < hark_app.region_count; i++) {
        const uint8_t *at = hark_app.region[i].at;
        if (first < at || first >= at + hark_app.region[i].length) continue;
        *p = (struct place){(int64_t)i, (const uint8_t *)buffer - at};
        return true;
    }
    return false;
}

static bool place_of(const struct request *r, struct place *p)
{
    const uint8_t *first = r->type ? hark_mpi_type_first(r->type, r->buffer) : r->buffer;
    *p = (struct place){-1, (int64_t)(intptr_t)r->buffer};
    if (r->type == NULL || r->count == 0 || r->type->size == 0 || r->peer == MPI_PROC_NULL)
        return true;
    return place_at(r->buffer, first, p);
}

static void *placed(struct place p)
{
    if (p.region < 0) return (void *)(intptr_t)p.at;
    if ((size_t)p.region >= hark_app.region_count)
        hark_mpi_fatal(1, "the checkpoint names memory that is not protected now");
    return (uint8_t *)(uintptr_t)hark_app.region[p.region].at + p.at;
}

/* One that the program attached before hark_restarted is where it says. */
static void put_buffer(const struct attached *b)
{
    struct place p;
    (void)place_at(b->at, b->at, &p);
    const int64_t of[] = {b->is_there, b->size, p.region, p.at};
    put(of, sizeof of);
}

static void get_buffer(struct attached *b)
{
    int64_t of[4];
    get(of, sizeof of);
    if (of[2] >= 0 || !b->is_there || b->size != of[1])
        b->at = placed((struct place){of[2], of[3]});
    b->is_there = of[0];
    b->size = of[1];
}

/* ---- communicators ----------------------------------------------------------------------------
 */

static void put_comm(const struct comm *c)
{
    put_int(number_of_comm(c));
    put_int(c->o.references);
    put_int(c->context);
    put_int(c->calls);
    put_int(c->channels);
    put_int(number_of_group(c->group));
    put_int(number_of_group(c->remote));
    put_int(number_of_comm(c->local));
    put_buffer(&c->buffer);
    put(c->name, sizeof c->name);
}

static void put_comms(void)
{
    put_buffer(&hark_mpi_buffer);
    put_int(2 + count_made(KIND_COMM));
    put_comm(&hark_mpi_world);
    put_comm(&hark_mpi_self);
    for (EACH_MADE(KIND_COMM, at)) put_comm(made(KIND_COMM, at));
}

static void get_comm(uint8_t *kept)
{
    int64_t number = get_int();
    struct comm *c = numbered_comm(number);
    if (c == NULL) {
        c = hark_mpi_new_at(KIND_COMM, (uint32_t)number, sizeof *c);
        c->errhandler = hark_mpi_world.errhandler;
        c->errhandler->o.references++;
    }
    if (number >= HARK_MPI_FIRST_MADE) kept[number] = 1;
    c->o.references = (uint32_t)get_int();
    c->context = (uint16_t)get_int();
    c->calls = (uint32_t)get_int();
    c->channels = (uint32_t)get_int();
    c->group = numbered_group(get_int());
    c->remote = numbered_group(get_int());
    c->local_number = (uint32_t)get_int(); /* it may come later */
    get_buffer(&c->buffer);
    get(c->name, sizeof c->name);
    if (c->group == NULL) hark_mpi_fatal(1, "the checkpoint names a group that it does not have");
    c->rank = c->group->rank;
    c->size = c->group->size;
}

/* One that was freed after hark_restarted. Its groups are in the image, or have gone. */
static void forget_comm(struct comm *c)
{
    hark_mpi_errhandler_release(c->errhandler);
    hark_mpi_delete(&c->o);
}

static void get_comms(void)
{
    uint32_t limit = hark_mpi_slots[KIND_COMM].limit;
    uint8_t *kept = calloc(limit ? limit : 1, 1);
    if (kept == NULL) hark_mpi_fatal(1, "no memory for a restart");
    get_buffer(&hark_mpi_buffer);
    for (int64_t n = get_int(); n > 0; n--) get_comm(kept);
    for (EACH_MADE(KIND_COMM, at)) {
        struct comm *c = made(KIND_COMM, at);
        if (kept[at]) c->local = numbered_comm(c->local_number);
        else forget_comm(c);
    }
    free(kept);
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static void put_request(const struct request *r)
{
    struct place p;
    (void)place_of(r, &p);
    const int64_t of[] = {r->o.number, r->o.references, r->what, r->persistent, r->active,
        r->synchronous, r->done, r->cancelled, (int64_t)r->count, r->peer, r->tag, p.region, p.at,
        number_of_comm(r->comm), r->type ? MPI_Type_c2f(HANDLE(MPI_Datatype, r->type)) : 0,
        r->forgotten};
    put(of, sizeof of);
    put(&r->status, sizeof r->status);
    if (hark_mpi_is_partitioned(r)) hark_mpi_partitioned_put(r, put);
}

/* A window always has a receive, which is posted again when it is given back. */
static bool of_window(const struct hark_request *h)
{
    return h->ctx % 4 == OF_WINDOWS;
}

static void put_requests(void)
{
    put_int(count_made(KIND_REQUEST));
    for (EACH_MADE(KIND_REQUEST, at)) put_request(made(KIND_REQUEST, at));
    /* Receives match in the order in which they were posted. */
    uint32_t posted = 0;
    for (const struct hark_request *h = hark_app.posted; h; h = h->next) posted += !of_window(h);
    put_int(posted);
    for (const struct hark_request *h = hark_app.posted; h; h = h->next)
        if (!of_window(h)) put_int(hark_mpi_request_of(h)->o.number);
}

static struct type *numbered_type(int64_t number)
{
    if (number == 0) return NULL;
    struct type *t = TYPE(MPI_Type_f2c((MPI_Fint)number));
    if (t == NULL)
        hark_mpi_fatal(1, "a request in the checkpoint has a datatype that the program made after "
                          "hark_restarted: make datatypes before it");
    return t;
}

static void get_request(uint8_t *kept)
{
    int64_t of[16];
    get(of, sizeof of);
    uint32_t number = (uint32_t)of[0];
    struct request *r = made(KIND_REQUEST, number);
    struct type *t = numbered_type(of[14]);
    bool is_new = r == NULL;
    if (is_new) r = hark_mpi_new_at(KIND_REQUEST, number, sizeof *r);
    kept[number] = 1;
    r->o.references = (uint32_t)of[1];
    r->what = (__typeof__(r->what))of[2];
    r->persistent = of[3];
    r->active = of[4];
    r->synchronous = of[5];
    r->done = of[6];
    r->cancelled = of[7];
    r->count = (size_t)of[8];
    r->peer = (int)of[9];
    r->tag = (int)of[10];
    r->buffer = placed((struct place){of[11], of[12]});
    r->comm = numbered_comm(of[13]); /* whose references count this one */
    if (is_new && t) t->o.references++;
    r->type = t;
    r->receive = (struct hark_request){0};
    if (!is_new) free(r->left);
    r->left = NULL; /* what it sent has left this process, or is in the log */
    hark_mpi_request_again(r);
    if (of[15]) hark_mpi_request_forget(r);
    get(&r->status, sizeof r->status);
    if (hark_mpi_is_partitioned(r)) hark_mpi_partitioned_get(r, get);
}

static void get_requests(void)
{
    while (hark_app.posted) hark_app_unpost(hark_app.posted);
    hark_mpi_requests_remember();
    hark_mpi_partitioned_remember();
    uint32_t limit = hark_mpi_slots[KIND_REQUEST].limit;
    uint8_t *kept = calloc(limit ? limit : 1, 1);
    if (kept == NULL) hark_mpi_fatal(1, "no memory for a restart");
    for (int64_t n = get_int(); n > 0; n--) get_request(kept);
    for (EACH_MADE(KIND_REQUEST, at)) {
        struct request *r = made(KIND_REQUEST, at);
        if (kept[at]) continue;
        if (r->type) hark_mpi_type_release(r->type);
        if (r->partitioned) hark_mpi_partitioned_free(r->partitioned);
        free(r->left);
        hark_mpi_delete(&r->o);
    }
    free(kept);
    for (int64_t n = get_int(); n > 0; n--) {
        struct request *r = made(KIND_REQUEST, (uint32_t)get_int());
        if (r == NULL) hark_mpi_fatal(1, "the checkpoint posts a receive that it does not have");
        hark_mpi_request_post(r);
    }
}

/* ---- hooks of the application layer -----------------------------------------------------------
 */

/* A collective call that is under way has memory of ours; so has a receive of that call. */
static bool may_capture(void)
{
    for (EACH_MADE(KIND_REQUEST, at)) {
        struct request *r = made(KIND_REQUEST, at);
        struct place p;
        if (hark_mpi_is_partitioned(r)) hark_mpi_partitioned_note(r);
        if (r->what == REQUEST_GENERALIZED) return false; /* its functions are the program's */
        if (!r->active || r->done) continue;
        if (r->receive.done) {
            (void)hark_mpi_request_try(r);
            continue;
        }
        if (r->what == REQUEST_COLLECTIVE || r->what == REQUEST_GENERALIZED) return false;
        if ((r->what == REQUEST_RECEIVE || hark_mpi_is_partitioned(r)) && !place_of(r, &p))
            return false;
    }
    return count_made(KIND_MESSAGE) == 0 && hark_mpi_windows_may_capture();
}

static bool capture(const void **bytes, size_t *length)
{
    image.length = 0;
    put_int(VERSION);
    put_int((int64_t)(intptr_t)hark_mpi_slots[KIND_COMM].base);
    put_int((int64_t)(intptr_t)MPI_COMM_WORLD);
    hark_mpi_contexts_put(put);
    put_groups();
    put_comms();
    put_requests();
    hark_mpi_files_put(put);
    hark_mpi_windows_put(put);
    *bytes = image.at;
    *length = image.length;
    return true;
}

static void restore(const void *bytes, size_t length)
{
    image.length = image.next = 0;
    put(bytes, length);
    if (get_int() != VERSION)
        hark_mpi_fatal(1, "the checkpoint was made by another version of hark");
    intptr_t base = (intptr_t)get_int(), world = (intptr_t)get_int();
    hark_mpi_contexts_get(get);
    for (int64_t n = get_int(); n > 0; n--) get_group((uint32_t)get_int());
    get_comms();
    get_requests();
    hark_mpi_files_get(get);
    hark_mpi_windows_get(get);
    hark_mpi_slots_restored();
#if !defined(HARK_MPI_MPICH)
    if ((base && base != (intptr_t)hark_mpi_slots[KIND_COMM].base) ||
        world != (intptr_t)MPI_COMM_WORLD)
        hark_mpi_fatal(1, "handles in the checkpoint are addresses, and these are others in this "
                          "process: does the system forbid to switch off address randomization "
                          "(personality)?");
#else
    (void)base;
    (void)world;
#endif
}

void hark_mpi_image_hooks(void)
{
    hark_app.may_capture = may_capture;
    hark_app.capture = capture;
    hark_app.restore = restore;
}
