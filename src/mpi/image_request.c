/* Requests in checkpoints, and memory of the program that they point to. A restart makes all of
 * them again: which ones there are depends on timing, for a send that leaves at once has none. */
#include "image.h"

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
void hark_mpi_buffer_put(const struct attached *b, void (*put)(const void *from, size_t length))
{
    struct place p;
    (void)place_at(b->at, b->at, &p);
    const int64_t of[] = {b->is_there, b->size, p.region, p.at};
    put(of, sizeof of);
}

void hark_mpi_buffer_get(struct attached *b, void (*get)(void *to, size_t length))
{
    int64_t of[4];
    get(of, sizeof of);
    if (of[2] >= 0 || !b->is_there || b->size != of[1])
        b->at = placed((struct place){of[2], of[3]});
    b->is_there = of[0];
    b->size = of[1];
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static void put_request(const struct request *r)
{
    struct place p;
    (void)place_of(r, &p);
    const int64_t of[] = {r->what, r->persistent, r->active, r->synchronous, r->done, r->cancelled,
        (int64_t)r->count, r->peer, r->tag, p.region, p.at, hark_mpi_comm_number(r->comm),
        r->type ? MPI_Type_c2f(HANDLE(MPI_Datatype, r->type)) : 0, r->forgotten,
        hark_mpi_collective_tag(r), hark_mpi_comm_number(hark_mpi_duplicate_of(r))};
    hark_mpi_put(of, sizeof of);
    hark_mpi_put(&r->status, sizeof r->status);
    if (hark_mpi_is_partitioned(r)) hark_mpi_partitioned_put(r, hark_mpi_put);
}

/* A window always has a receive, which is posted again when it is given back. */
static bool of_window(const struct hark_request *h)
{
    return h->ctx % 4 == OF_WINDOWS;
}

void hark_mpi_requests_put(void)
{
    for (EACH_SLOT(KIND_REQUEST, o)) put_request((struct request *)o);
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

static void get_request(struct request *r)
{
    int64_t of[16];
    hark_mpi_get(of, sizeof of);
    r->what = (__typeof__(r->what))of[0];
    r->persistent = of[1];
    r->active = of[2];
    r->synchronous = of[3];
    r->done = of[4];
    r->cancelled = of[5];
    r->count = (size_t)of[6];
    r->peer = (int)of[7];
    r->tag = (int)of[8];
    r->buffer = placed((struct place){of[9], of[10]});
    if (of[15]) r->buffer = hark_mpi_numbered_comm(of[15]);
    r->comm = hark_mpi_numbered_comm(of[11]);
    r->type = numbered_type(of[12]);
    hark_mpi_request_again(r);
    if (of[13]) hark_mpi_request_forget(r);
    hark_mpi_collective_again(r, of[14]);
    hark_mpi_get(&r->status, sizeof r->status);
    if (hark_mpi_is_partitioned(r)) hark_mpi_partitioned_get(r, hark_mpi_get);
}

void hark_mpi_requests_begin(void)
{
    while (hark_app.posted) hark_app_unpost(hark_app.posted);
    hark_mpi_requests_remember();
    hark_mpi_partitioned_remember();
}

void hark_mpi_request_drop(struct object *o)
{
    struct request *r = (struct request *)o;
    if (r->collective) hark_mpi_collective_keep(r);
    if (r->partitioned) hark_mpi_partitioned_free(r->partitioned);
    free(r->left); /* what it sent has left this process, or is in the log */
    hark_mpi_delete(o);
}

void hark_mpi_requests_get(void)
{
    for (EACH_SLOT(KIND_REQUEST, o)) get_request((struct request *)o);
    hark_mpi_collectives_forget();
    for (int64_t n = get_int(); n > 0; n--) {
        struct request *r =
            hark_mpi_made(&hark_mpi_slots[KIND_REQUEST], (uint32_t)get_int(), KIND_REQUEST);
        if (r == NULL) hark_mpi_fatal(1, "the checkpoint posts a receive that it does not have");
        if (hark_mpi_duplicate_of(r)) hark_mpi_duplicate_post(r);
        else hark_mpi_request_post(r);
    }
}

bool hark_mpi_requests_may_capture(void)
{
    for (EACH_SLOT(KIND_REQUEST, o)) {
        struct request *r = (struct request *)o;
        struct place p;
        if (hark_mpi_is_partitioned(r)) hark_mpi_partitioned_note(r);
        if (r->what == REQUEST_GENERALIZED) return false; /* its functions are the program's */
        if (!r->active || r->done) continue;
        if (r->receive.done) {
            (void)hark_mpi_request_try(r);
            continue;
        }
        if (r->what == REQUEST_COLLECTIVE) return false;
        if ((r->what == REQUEST_RECEIVE || hark_mpi_is_partitioned(r)) && !place_of(r, &p))
            return false;
    }
    return true;
}
