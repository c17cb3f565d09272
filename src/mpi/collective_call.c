/* The three forms of a collective call: blocking, non-blocking, persistent; and what is checked of
 * its arguments. */
#include "collective.h"

/* ---- arguments --------------------------------------------------------------------------------
 */

#define BAD(k, code, ...) return hark_mpi_error((k)->c, code, (k)->name, __VA_ARGS__)

static int check_comm(struct call *k, MPI_Comm comm)
{
    if (!__builtin_expect(hark_mpi_open, 1)) hark_mpi_closed(k->name);
    k->c = COMM(comm);
    if (k->c) return MPI_SUCCESS;
    BAD(k, MPI_ERR_COMM, "%s",
        comm == MPI_COMM_NULL ? "the communicator is MPI_COMM_NULL"
                              : "the communicator is not valid: was it freed?");
}

static int check_root(struct call *k)
{
    int n = peers_of(k), root = k->root;
    if (!k->family->rooted || (root >= 0 && root < n)) return MPI_SUCCESS;
    if (k->c->remote && (root == MPI_ROOT || root == MPI_PROC_NULL)) return MPI_SUCCESS;
    BAD(k, MPI_ERR_ROOT, "the root is %d, and the communicator has ranks 0 .. %d%s", root, n - 1,
        k->c->remote ? "; or MPI_ROOT or MPI_PROC_NULL" : "");
}

static int check_neighbours(struct call *k)
{
    if (!k->family->neighbours) return MPI_SUCCESS;
    int status = hark_mpi_neighbours(
        k->c, &k->sources_count, &k->sources, &k->destinations_count, &k->destinations);
    if (status >= 0) return MPI_SUCCESS;
    BAD(k, MPI_ERR_TOPOLOGY, "the communicator has no topology, so no neighbours");
}

static bool has_blocks(const struct call *k, enum who who)
{
    switch (who) {
    case EVERYBODY: return !k->family->rooted || k->root != MPI_PROC_NULL;
    case ROOT: return is_root(k);
    case LEAVES: return !k->c->remote || k->root >= 0;
    default: return false;
    }
}

static bool is_in_place(const struct call *k, const struct blocks *b, enum place place)
{
    bool allowed =
        k->family->in_place == place && !k->c->remote && (!k->family->rooted || is_root(k));
    return b->data == MPI_IN_PLACE && allowed;
}

/* How many blocks it has. */
static int blocks_of(const struct call *k, const struct blocks *b)
{
    bool is_out = b == &k->out;
    if (!(is_out ? k->family->out_for_each : k->family->in_for_each)) return 1;
    if (k->family->neighbours) return is_out ? k->destinations_count : k->sources_count;
    return k->family->reduces ? k->c->size : peers_of(k);
}

static int check_type(struct call *k, MPI_Datatype datatype, struct type **type)
{
    *type = TYPE(datatype);
    if (*type && (*type)->committed) return MPI_SUCCESS;
    BAD(k, MPI_ERR_TYPE, "%s",
        datatype == MPI_DATATYPE_NULL ? "the datatype is MPI_DATATYPE_NULL"
        : *type                       ? "the datatype is not committed: call MPI_Type_commit"
                                      : "the datatype is not valid: was it freed?");
}

/* A block without elements needs no type: its handle is not looked at. */
static int check_types(struct call *k, struct blocks *b, int n)
{
    if (b->datatypes == NULL) return check_type(k, b->datatype, &b->type);
    b->types = hark_mpi_memory((size_t)n * sizeof(struct type *));
    for (int i = 0; i < n; i++) {
        b->types[i] = TYPE(MPI_BYTE);
        if (hark_mpi_block_count(b, i) == 0) continue;
        int code = check_type(k, b->datatypes[i], &b->types[i]);
        if (code) return code;
    }
    return MPI_SUCCESS;
}

static int check_block(struct call *k, const struct blocks *b, int i)
{
    long long count = hark_mpi_block_count(b, i);
    const struct type *t = b->types ? b->types[i] : b->type;
    if (count < 0) BAD(k, MPI_ERR_COUNT, "a count is %lld, and must not be negative", count);
    if (b->data == MPI_IN_PLACE && MPI_IN_PLACE != MPI_BOTTOM)
        BAD(k, MPI_ERR_BUFFER, "the buffer is MPI_IN_PLACE, which may not be here");
    if (b->data == NULL && count > 0 && t->size > 0 && t->true_lower == 0)
        BAD(k, MPI_ERR_BUFFER, "the buffer is NULL, and the count is %lld", count);
    return MPI_SUCCESS;
}

static int check_blocks(struct call *k, struct blocks *b)
{
    int n = blocks_of(k, b);
    b->type = TYPE(MPI_BYTE);
    if (n > 0 && b->listed && b->counts == NULL) BAD(k, MPI_ERR_ARG, "the counts are NULL");
    int code = n > 0 ? check_types(k, b, n) : MPI_SUCCESS;
    for (int i = 0; i < n && code == MPI_SUCCESS; i++) {
        code = check_block(k, b, i);
        if (b->counts == NULL && b->types == NULL) break;
    }
    return code;
}

/* What a call with MPI_IN_PLACE sends is where it will receive. */
static void send_from_result(struct call *k)
{
    const struct family *f = k->family;
    if (f->reduces) {
        k->out.data = k->in.data;
    } else if (f->out_for_each) {
        k->out = k->in;
    } else {
        struct elements own = hark_mpi_block(&k->in, k->c->rank);
        k->out = (struct blocks){.data = own.at, .count = (long long)own.count, .type = own.type};
    }
}

/* The whole vector of a reduction whose result is scattered. */
static void count_all(struct call *k)
{
    k->out.count = 0;
    for (int i = 0; i < k->c->size; i++) k->out.count += hark_mpi_block_count(&k->in, i);
}

/* As MPICH has it; to programs of Open MPI it is no error. */
static int check_alias(struct call *k)
{
#if defined(HARK_MPI_MPICH)
    const struct family *f = k->family;
    int me = k->c->rank;
    if (k->c->remote || f->neighbours || f->in_place == PLACE_NONE) return MPI_SUCCESS;
    struct elements out = hark_mpi_block(&k->out, f->out_for_each ? me : 0);
    struct elements in = hark_mpi_block(&k->in, f->in_for_each && !f->reduces ? me : 0);
    if (out.at == in.at && block_bytes(out) && block_bytes(in))
        BAD(k, MPI_ERR_BUFFER,
            "the buffers to send and to receive are the same: say MPI_IN_PLACE instead");
#endif
    (void)k;
    return MPI_SUCCESS;
}

static int check_sides(struct call *k)
{
    const struct family *f = k->family;
    bool sends = has_blocks(k, f->out), receives = has_blocks(k, f->in);
    bool out_in_place = sends && is_in_place(k, &k->out, PLACE_OUT);
    bool in_in_place = receives && is_in_place(k, &k->in, PLACE_IN);
    int code = MPI_SUCCESS;
    k->in_place = out_in_place || in_in_place;
    if (receives && !in_in_place) code = check_blocks(k, &k->in);
    if (code == MPI_SUCCESS && f->reduces && f->in_for_each) count_all(k);
    if (!sends || out_in_place) k->out.type = k->in.type; /* contributions are of this one */
    if (code == MPI_SUCCESS && sends && out_in_place) {
        send_from_result(k);
    } else if (code == MPI_SUCCESS && sends) {
        code = check_blocks(k, &k->out);
    }
    if (code == MPI_SUCCESS && sends && receives && !k->in_place) code = check_alias(k);
    return code;
}

static int check_operation(struct call *k)
{
    if (!k->family->reduces || (k->family->rooted && k->root == MPI_PROC_NULL)) return MPI_SUCCESS;
    k->op = OP(k->operation);
    return hark_mpi_op_valid(k->c, k->op, k->out.type, k->name);
}

static int check_scan(struct call *k)
{
    bool scans = k->family == &hark_mpi_scan || k->family == &hark_mpi_exscan;
    if (!scans || !k->c->remote) return MPI_SUCCESS;
    BAD(k, MPI_ERR_COMM,
        "the communicator is an intercommunicator: its processes have no one order");
}

static void forget_types(struct call *k)
{
    if (k->in.types != k->out.types) free(k->in.types);
    free(k->out.types);
    k->in.types = k->out.types = NULL;
}

static int prepare(struct call *k, MPI_Comm comm, const char *name)
{
    k->name = name;
    int code = check_comm(k, comm);
    if (code == MPI_SUCCESS) code = check_root(k);
    if (code == MPI_SUCCESS) code = check_scan(k);
    if (code == MPI_SUCCESS) code = check_neighbours(k);
    if (code == MPI_SUCCESS) code = check_sides(k);
    if (code == MPI_SUCCESS) code = check_operation(k);
    if (code) forget_types(k);
    else k->tag = hark_mpi_coll_tag(k->c);
    return code;
}

/* ---- one round, begun and ended ---------------------------------------------------------------
 */

static void begin(struct collective *x)
{
    size_t n = (size_t)(x->k.family->neighbours ? x->k.sources_count : peers_of(&x->k));
    x->arrivals = hark_mpi_memory(n * sizeof *x->arrivals);
    x->count = x->done = 0;
    x->memory = NULL;
    x->last = NULL;
    x->k.status = HARK_A_OK;
    x->k.family->start(x);
}

/* All its receives are done. */
static void end(struct collective *x)
{
    for (size_t i = 0; i < x->count; i++) {
        hark_mpi_arrived(&x->k, &x->arrivals[i]);
        hark_mpi_type_release(x->arrivals[i].to.type);
    }
    if (x->last) x->last(x);
    free(x->arrivals);
    hark_mpi_scratch_free(x->memory);
    x->arrivals = NULL;
    x->memory = NULL;
}

static void wait_for_round(struct collective *x, const char *call)
{
    for (; x->done < x->count; x->done++) {
        struct hark_request *r = &x->arrivals[x->done].r;
        if (!r->done) hark_app_complete(r, call);
    }
    end(x);
}

void hark_mpi_one_round(struct call *k)
{
    struct collective x = {.k = *k};
    begin(&x);
    wait_for_round(&x, k->name + 1);
    k->status = x.k.status;
}

/* ---- the three forms --------------------------------------------------------------------------
 */

static int raise_noted(struct call *k)
{
    if (k->status != HARK_A_ETRUNCATE) return hark_mpi_status(k->c, k->status, k->name);
    BAD(k, MPI_ERR_TRUNCATE,
        "a message has %zu bytes, and should have %zu: the counts or datatypes of the processes "
        "differ",
        k->sent, k->room);
}

int hark_mpi_collective_block(struct call *k, MPI_Comm comm, const char *name)
{
    int code = prepare(k, comm, name);
    if (code) return code;
    hark_app.collective = name + 1;
    if (k->family->block && !k->c->remote && k->c->size > 1) k->family->block(k);
    else hark_mpi_one_round(k);
    hark_app.collective = NULL;
    forget_types(k);
    return k->status < 0 ? raise_noted(k) : MPI_SUCCESS;
}

/* A request keeps what the program may free meanwhile. */
static void keep_type(struct type *t, int change)
{
    if (t == NULL) return;
    if (change > 0) t->o.references++;
    else hark_mpi_type_release(t);
}

static void keep_types(struct call *k, struct blocks *b, int change)
{
    keep_type(b->type, change);
    for (int i = 0; b->types && i < blocks_of(k, b); i++) keep_type(b->types[i], change);
}

static void keep(struct call *k, int change)
{
    if (k->op && change > 0) k->op->o.references++;
    if (k->op && change < 0) hark_mpi_op_release(k->op);
    keep_types(k, &k->in, change);
    if (k->out.types != k->in.types || k->out.types == NULL) keep_types(k, &k->out, change);
}

static int start(struct request *r)
{
    r->active = true;
    r->done = false;
    hark_mpi_status_empty(&r->status);
    begin(r->collective);
    return r->collective->k.status;
}

static struct request *request_of(struct call *k, bool persistent)
{
    struct request *r = hark_mpi_request_new(k->c);
    struct collective *x = hark_mpi_memory(sizeof *x);
    *x = (struct collective){.k = *k};
    keep(&x->k, 1);
    r->what = REQUEST_COLLECTIVE;
    r->persistent = persistent;
    r->done = persistent;
    r->collective = x;
    r->start = start;
    return r;
}

static int make(
    struct call *k, MPI_Comm comm, MPI_Request *request, const char *name, bool persistent)
{
    k->name = name;
    if (request == NULL) BAD(k, MPI_ERR_ARG, "request is NULL");
    int code = prepare(k, comm, name);
    if (code) return code;
    struct request *r = request_of(k, persistent);
    *request = HANDLE(MPI_Request, r);
    int status = persistent ? HARK_A_OK : start(r);
    return status < 0 ? hark_mpi_status(k->c, status, name) : MPI_SUCCESS;
}

int hark_mpi_collective_begin(struct call *k, MPI_Comm comm, MPI_Request *request, const char *name)
{
    return make(k, comm, request, name, false);
}

/* All starts have one tag, that of its making: the messages of each pair of processes keep their
 * order. So requests may be started in any order. */
int hark_mpi_collective_init(struct call *k, MPI_Comm comm, MPI_Request *request, const char *name)
{
    return make(k, comm, request, name, true);
}

/* ---- what request.c asks ----------------------------------------------------------------------
 */

static void settle(struct request *r)
{
    struct call *k = &r->collective->k;
    r->status.MPI_ERROR = k->status == HARK_A_OK          ? MPI_SUCCESS
                          : k->status == HARK_A_ETRUNCATE ? MPI_ERR_TRUNCATE
                                                          : MPI_ERR_OTHER;
}

bool hark_mpi_collective_is_there(const struct request *r)
{
    const struct collective *x = r->collective;
    for (size_t i = x->done; i < x->count; i++)
        if (!x->arrivals[i].r.done) return false;
    return true;
}

bool hark_mpi_collective_try(struct request *r)
{
    struct collective *x = r->collective;
    for (; x->done < x->count; x->done++) {
        struct hark_request *a = &x->arrivals[x->done].r;
        if (!a->done) hark_app_try(a);
        if (a->done) continue;
        r->receive = (struct hark_request){
            .from = a->from, .tag = a->tag, .mask = a->mask, .ctx = a->ctx}; /* to say what it waits
                                                                                for */
        return false;
    }
    end(x);
    settle(r);
    return true;
}

void hark_mpi_collective_wait(struct request *r, const char *call)
{
    wait_for_round(r->collective, call);
    settle(r);
}

static void stop(struct collective *x)
{
    for (size_t i = 0; x->arrivals && i < x->count; i++)
        hark_mpi_type_release(x->arrivals[i].to.type);
    free(x->arrivals);
    hark_mpi_scratch_free(x->memory);
    x->arrivals = NULL;
    x->memory = NULL;
}

void hark_mpi_collective_free(struct collective *x)
{
    for (size_t i = x->done; x->arrivals && i < x->count; i++)
        if (!x->arrivals[i].r.done) hark_app_unpost(&x->arrivals[i].r);
    stop(x);
    keep(&x->k, -1);
    forget_types(&x->k);
    free(x);
}

/* ---- persistent ones at a restart -------------------------------------------------------------
 *
 * Checkpoints do not hold their arguments. They are those of the program's beginning, if the
 * request was made there: the tag tells the calls of a communicator from each other. */

static struct kept {
    struct kept *next;
    struct collective *x;
    uint64_t comm; /* its serial, for another one may come to its slot */
} * kept;

void hark_mpi_collective_keep(struct request *r)
{
    struct kept *k = hark_mpi_memory(sizeof *k);
    *k = (struct kept){kept, r->collective, r->collective->k.c->o.serial};
    stop(r->collective); /* no receive is posted now */
    r->collective = NULL;
    kept = k;
}

int64_t hark_mpi_collective_tag(const struct request *r)
{
    return r->collective ? r->collective->k.tag : -1;
}

void hark_mpi_collective_again(struct request *r, int64_t tag)
{
    for (struct kept *k = kept; k && r->persistent; k = k->next) {
        if (k->x == NULL || k->x->k.c != r->comm || k->comm != r->comm->o.serial) continue;
        if (k->x->k.tag != tag) continue;
        r->collective = k->x;
        r->start = start;
        k->x = NULL;
        return;
    }
}

void hark_mpi_collectives_forget(void)
{
    for (struct kept *k = kept, *next; k; k = next) {
        next = k->next;
        if (k->x) hark_mpi_collective_free(k->x);
        free(k);
    }
    kept = NULL;
}
