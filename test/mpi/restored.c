/* Objects of MPI over a restart from a checkpoint: those that were made or changed after
 * hark_restarted, and those that were freed after it, whose places others have taken. Each is what
 * it was, or the process ends with a line when it uses it.
 * restored SIZE WHAT */
#include <hark/app.h>
#include <string.h>

#include "check.h"

enum { STEPS = 80 };

/* All that is protected. The handles of what is made early are not: the beginning makes them. */
static struct {
    int step, in, out, row[8];
    MPI_Comm comm, other;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Request request;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_File file;
    MPI_Win win;
    int class, code, handled;
    int memory[4]; /* of a window */
#if defined(MPI_SESSION_NULL)
    MPI_Session session;
#endif
} s;
static MPI_Comm early;
static MPI_Datatype pair, four;
static MPI_Op sum;
static MPI_Request call;
static MPI_Win first, second;
static int left, right; /* neighbours in a ring */
static int keyval, value = 42, second_memory[4];

static void add(void *from, void *into, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) ((int *)into)[i] += ((int *)from)[i];
}

static void largest(void *from, void *into, int *count, MPI_Datatype *type)
{
    const int *a = from;
    int *b = into;
    (void)type;
    for (int i = 0; i < *count; i++)
        if (a[i] > b[i]) b[i] = a[i];
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    s.handled++;
}

/* One of the communicator's errors: its class is returned, or the job ends. */
static void err(MPI_Comm comm)
{
    int class;
    MPI_Error_class(MPI_Send(&s.in, 1, MPI_INT, 77, 0, comm), &class);
    CHECK(class == MPI_ERR_RANK, "class %d in step %d", class, s.step);
}

static void nothing(void)
{
}

/* ---- communicators ----------------------------------------------------------------------------
 */

static void make_grids(void)
{
    int dims[2] = {size, 1}, periods[2] = {1, 0}, index[8], edges[8], weight = 7;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &s.comm);
    MPI_Comm graph;
    for (int i = 0; i < size; i++) index[i] = i + 1, edges[i] = (i + 1) % size;
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph);
    MPI_Comm_dup(graph, &s.other);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, 1, &left, &weight, 1, &right, &weight, MPI_INFO_NULL, 0, &early);
    MPI_Comm_set_name(early, "neighbours");
    memcpy(s.row, &early, sizeof early); /* its handle */
}

static void use_grids(void)
{
    int from, to, count, edge, kind, weights[2], ends[2];
    MPI_Cart_shift(s.comm, 0, 1, &from, &to);
    CHECK(to == right && from == left, "%d %d", from, to);
    MPI_Cart_shift(s.comm, 1, 1, &from, &to);
    CHECK(to == MPI_PROC_NULL, "%d", to);
    MPI_Topo_test(s.other, &kind);
    MPI_Graph_neighbors_count(s.other, rank, &count);
    MPI_Graph_neighbors(s.other, rank, 1, &edge);
    CHECK(kind == MPI_GRAPH && count == 1 && edge == right, "%d %d", count, edge);
    memcpy(&early, s.row, sizeof early);
    MPI_Dist_graph_neighbors(early, 1, &ends[0], &weights[0], 1, &ends[1], &weights[1]);
    CHECK(weights[0] == 7 && ends[1] == right, "%d %d", weights[0], ends[1]);
}

/* A grid is freed, and another communicator takes its place. */
static void early_grid(void)
{
    int one = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &one, 0, &early);
    MPI_Comm_set_errhandler(early, MPI_ERRORS_RETURN);
}
static void replace_grid(void)
{
    MPI_Comm_free(&early);
    MPI_Comm_dup(MPI_COMM_WORLD, &s.comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}
static void use_replaced(void)
{
    int kind;
    MPI_Errhandler handler;
    MPI_Topo_test(s.comm, &kind);
    MPI_Comm_get_errhandler(s.comm, &handler);
    CHECK(kind == MPI_UNDEFINED && handler == MPI_ERRORS_ARE_FATAL, "step %d", s.step);
    err(MPI_COMM_WORLD);
}

/* Whose turn it is to name a context: the messages of the duplicates are in them. */
static void use_idup(void)
{
    MPI_Comm d;
    MPI_Request q;
    MPI_Comm_idup(MPI_COMM_WORLD, &d, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    int all;
    MPI_Allreduce(&s.step, &all, 1, MPI_INT, MPI_SUM, d);
    CHECK(all == size * s.step, "%d", all);
    MPI_Comm_free(&d);
}

/* A duplicate whose request is open over checkpoints: nobody waits for it before the 300th step. */
static void begin_idup(void)
{
    MPI_Comm_idup(MPI_COMM_WORLD, &s.comm, &s.request);
}
static void wait_idup(void)
{
    if (s.step < 300) return;
    if (s.step == 300) MPI_Wait(&s.request, MPI_STATUS_IGNORE);
    int all;
    MPI_Allreduce(&s.step, &all, 1, MPI_INT, MPI_SUM, s.comm);
    CHECK(all == size * s.step, "%d", all);
}

/* The first communicator that the program makes, and it is freed at every checkpoint. */
static void use_first(void)
{
    MPI_Comm d;
    MPI_Comm_dup(MPI_COMM_WORLD, &d);
    MPI_Comm_free(&d);
}

/* ---- what is beside them ----------------------------------------------------------------------
 */

static void make_infos(void)
{
    MPI_Info_create(&s.info);
    MPI_Info_set(s.info, "key", "value");
    MPI_Info_set(s.info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, s.info, &s.comm);
    MPI_Add_error_class(&s.class);
    MPI_Add_error_code(s.class, &s.code);
    MPI_Add_error_string(s.code, "mine");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(s.comm, MPI_ERRORS_RETURN);
}
static void use_infos(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int there, class, length, *last;
    MPI_Info used;
    MPI_Info_get(s.info, "key", 9, text, &there);
    CHECK(there && strcmp(text, "value") == 0, "%d", there);
    MPI_Comm_get_info(s.comm, &used);
    MPI_Info_get(used, "mpi_assert_no_any_tag", 9, text, &there);
    CHECK(there && strcmp(text, "true") == 0, "%d", there);
    MPI_Info_free(&used);
    MPI_Error_class(s.code, &class);
    MPI_Error_string(s.code, text, &length);
    CHECK(class == s.class && strcmp(text, "mine") == 0, "%s", text);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &there);
    CHECK(there && *last == s.code, "%d", *last);
    err(MPI_COMM_WORLD);
    err(s.comm);
}

#if defined(MPI_SESSION_NULL)
static void make_session(void)
{
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s.session);
}
static void use_session(void)
{
    int count;
    CHECK(MPI_Session_get_num_psets(s.session, MPI_INFO_NULL, &count) == 0 && count > 0, "");
    CHECK(MPI_Session_get_num_psets(s.session, MPI_INFO_NULL, NULL) != 0, "step %d", s.step);
}
static void end_session(void)
{
    MPI_Session_finalize(&s.session);
}
#endif

/* Handlers of files and windows; a name, and an info object. */
static void early_window(void)
{
    MPI_Win_create(s.memory, sizeof s.memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &first);
}
static void set_handlers(void)
{
    s.win = first;
    MPI_Win_set_errhandler(s.win, MPI_ERRORS_RETURN);
    MPI_Win_set_name(s.win, "window");
    MPI_Info_create(&s.info);
    MPI_Info_set(s.info, "key", "value");
    MPI_Win_set_info(s.win, s.info);
    char name[32];
    snprintf(name, sizeof name, "restored.%d", rank);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
        MPI_INFO_NULL, &s.file);
    MPI_File_set_errhandler(s.file, MPI_ERRORS_ARE_FATAL);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
}
static void use_handlers(void)
{
    MPI_Errhandler of_file, of_all;
    char name[MPI_MAX_OBJECT_NAME], text[10];
    int length, there;
    MPI_Info used;
    MPI_File_get_errhandler(s.file, &of_file);
    MPI_File_get_errhandler(MPI_FILE_NULL, &of_all);
    CHECK(of_file == MPI_ERRORS_ARE_FATAL && of_all == MPI_ERRORS_ARE_FATAL, "step %d", s.step);
    MPI_Win_get_name(s.win, name, &length);
    MPI_Win_get_info(s.win, &used);
    MPI_Info_get(used, "key", 9, text, &there);
    MPI_Info_free(&used);
    CHECK(there && strcmp(name, "window") == 0, "%s", name);
    CHECK(MPI_Win_unlock(0, s.win) != MPI_SUCCESS, "no lock is open");
}
static void end_handlers(void)
{
    MPI_File_close(&s.file);
}

/* Two windows, of which the first is freed; a communicator comes to where its own was. */
static void early_windows(void)
{
    early_window();
    MPI_Win_create(second_memory, sizeof second_memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &second);
}
static void free_window(void)
{
    MPI_Win_free(&first);
    s.win = second;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &s.comm);
}
static void use_second(void)
{
    int one = 1, n;
    MPI_Comm_size(s.comm, &n);
    CHECK(n == 1, "%d", n);
    if (s.step == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, s.win);
    MPI_Put(&s.step, 1, MPI_INT, right, 0, 1, MPI_INT, s.win);
    MPI_Win_flush(right, s.win);
    MPI_Barrier(MPI_COMM_WORLD); /* a process in hark_checkpoint serves no window */
    CHECK(second_memory[0] == s.step, "%d in step %d", second_memory[0], s.step);
    MPI_Allreduce(&one, &n, 1, MPI_INT, MPI_SUM, s.comm);
    CHECK(n == 1, "%d", n);
}
static void end_second(void)
{
    MPI_Win_unlock(right, s.win);
    MPI_Win_free(&s.win);
}
/* Epochs of a fence and of MPI_Win_start: a program that is in none of them can be captured. */
static void use_epochs(void)
{
    MPI_Group all, to, from;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &right, &to);
    MPI_Group_incl(all, 1, &left, &from);
    MPI_Win_fence(0, first);
    MPI_Put(&s.step, 1, MPI_INT, right, 0, 1, MPI_INT, first);
    MPI_Win_fence(0, first);
    MPI_Win_post(from, 0, first);
    MPI_Win_start(to, 0, first);
    MPI_Put(&s.step, 1, MPI_INT, right, sizeof(int), 1, MPI_INT, first);
    MPI_Win_complete(first);
    MPI_Win_wait(first);
    CHECK(s.memory[0] == s.step && s.memory[1] == s.step, "step %d", s.step);
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    MPI_Group_free(&all);
}
static void end_epochs(void)
{
    MPI_Win_free(&first);
}
static void replace_window(void)
{
    MPI_Win_free(&first);
    MPI_Win_create(second_memory, sizeof second_memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &s.win);
}

/* ---- functions and values of the program ------------------------------------------------------
 */

static void early_types(void)
{
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_vector(4, 1, 2, MPI_INT, &four);
}
static void commit_types(void) /* one is freed */
{
    MPI_Type_set_name(four, "four");
    MPI_Type_commit(&four);
    MPI_Type_free(&pair);
    s.type = four;
}
static void use_types(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int out[7] = {1, 0, 2, 0, 3, 0, s.step}, length;
    MPI_Type_get_name(s.type, name, &length);
    CHECK(strcmp(name, "four") == 0, "%s", name);
    MPI_Sendrecv(
        out, 1, s.type, right, 0, s.row, 1, s.type, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(s.row[2] == 2 && s.row[6] == s.step, "%d", s.row[6]);
}
static void replace_type(void)
{
    MPI_Type_free(&pair);
    MPI_Type_vector(2, 1, 3, MPI_INT, &s.type);
    MPI_Type_set_name(s.type, "far");
    MPI_Type_commit(&s.type);
}
static void use_type(void)
{
    int out[4] = {1, 2, 3, 4}, in[2];
    MPI_Sendrecv(
        out, 1, s.type, right, 0, in, 2, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[1] == 4, "%d", in[1]);
}
/* Each execution makes it after hark_restarted: nobody uses the one in the checkpoint. */
static MPI_Datatype own;
static void use_own(void)
{
    if (own == 0) {
        MPI_Type_vector(2, 1, 3, MPI_INT, &own);
        MPI_Type_commit(&own);
        MPI_Op_create(largest, 1, &sum);
    }
    s.type = own;
    use_type();
    int all;
    MPI_Allreduce(&rank, &all, 1, MPI_INT, sum, MPI_COMM_WORLD);
    CHECK(all == size - 1, "%d", all);
}

static void end_own(void)
{
    MPI_Type_free(&own);
    MPI_Op_free(&sum);
}

/* Requests come and go in one slot, with two datatypes. */
static void early_receive(void)
{
    early_types();
    MPI_Type_commit(&pair);
    MPI_Type_commit(&four);
    MPI_Recv_init(s.row, 1, pair, 0, 9, MPI_COMM_WORLD, &call);
}
static void post(void)
{
    MPI_Irecv(s.row, 1, four, left, 1, MPI_COMM_WORLD, &s.request);
}
static void replace_receive(void)
{
    MPI_Request_free(&call);
    post();
}
static void use_receive(void)
{
    int out[4] = {1, 2, 3, s.step};
    MPI_Send(out, 4, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Wait(&s.request, MPI_STATUS_IGNORE);
    CHECK(s.row[2] == 2 && s.row[6] == s.step, "%d", s.row[6]);
    post();
}
static void end_receive(void)
{
    MPI_Cancel(&s.request);
    MPI_Wait(&s.request, MPI_STATUS_IGNORE);
    MPI_Type_free(&pair);
    MPI_Type_free(&four);
}

static void early_op(void)
{
    MPI_Op_create(add, 1, &sum);
}
static void replace_op(void)
{
    MPI_Op_free(&sum);
    MPI_Op_create(largest, 1, &s.op);
}
static void use_op(void)
{
    MPI_Allreduce(&rank, &s.out, 1, MPI_INT, s.op, MPI_COMM_WORLD);
    CHECK(s.out == size - 1, "%d", s.out);
}

#if MPI_VERSION >= 4
static void early_call(void)
{
    MPI_Allreduce_init(&s.in, &s.out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &call);
}
static void replace_call(void)
{
    MPI_Request_free(&call);
    MPI_Allreduce_init(
        &s.in, &s.out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &s.request);
}
static void use_call(void)
{
    s.in = rank;
    MPI_Start(&s.request);
    MPI_Wait(&s.request, MPI_STATUS_IGNORE);
    CHECK(s.out == size - 1, "%d", s.out);
}
#endif

static void early_handler(void)
{
    MPI_Comm_create_errhandler(handle, &s.handler);
}
static void set_handler(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, s.handler);
}
static void make_handler(void)
{
    early_handler();
    set_handler();
}
static void use_handler(void)
{
    s.handled = 0;
    err(MPI_COMM_WORLD);
    CHECK(s.handled == 1, "%d", s.handled);
}

static void early_keyval(void)
{
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    s.code = keyval;
}
static void set_attribute(void)
{
    MPI_Comm_set_attr(MPI_COMM_WORLD, s.code, &value);
}
static void early_attribute(void)
{
    early_keyval();
    set_attribute();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &s.class, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, s.class, &value);
}
static void delete_attribute(void)
{
    MPI_Comm_delete_attr(MPI_COMM_WORLD, s.class);
}
static void use_attributes(void) /* of two one is there */
{
    int there, *at;
    MPI_Comm_get_attr(MPI_COMM_WORLD, s.class, &at, &there);
    CHECK(!there, "step %d", s.step);
    MPI_Comm_get_attr(MPI_COMM_WORLD, s.code, &at, &there);
    CHECK(there && *at == 42, "step %d", s.step);
}
static void make_keyval(void)
{
    early_keyval();
    set_attribute();
}
static void use_attribute(void)
{
    int there, *at;
    MPI_Comm_get_attr(MPI_COMM_WORLD, s.code, &at, &there);
    CHECK(there && *at == 42, "step %d", s.step);
}

/* ---- all of them ------------------------------------------------------------------------------
 */

static const struct what {
    const char *name;
    void (*early)(void), (*late)(void), (*use)(void), (*end)(void);
} whats[] = {
    {"grids", nothing, make_grids, use_grids, nothing},
    {"grid", early_grid, replace_grid, use_replaced, nothing},
    {"idup", early_grid, nothing, use_idup, nothing},
    {"idup_open", early_grid, begin_idup, wait_idup, nothing},
    {"first", nothing, nothing, use_first, nothing},
    {"infos", nothing, make_infos, use_infos, nothing},
#if defined(MPI_SESSION_NULL)
    {"session", nothing, make_session, use_session, end_session},
#endif
    {"handlers", early_window, set_handlers, use_handlers, end_handlers},
    {"windows", early_windows, free_window, use_second, end_second},
    {"epochs", early_window, nothing, use_epochs, end_epochs},
    {"window_late", early_window, replace_window, nothing, nothing},
    {"types", early_types, commit_types, use_types, nothing},
    {"type_late", early_types, replace_type, use_type, nothing},
    {"own", nothing, nothing, use_own, end_own},
    {"receive", early_receive, replace_receive, use_receive, end_receive},
    {"op_late", early_op, replace_op, use_op, nothing},
#if MPI_VERSION >= 4
    {"call_late", early_call, replace_call, use_call, nothing},
#endif
    {"handler", early_handler, set_handler, use_handler, nothing},
    {"handler_late", nothing, make_handler, use_handler, nothing},
    {"attribute", early_attribute, delete_attribute, use_attributes, nothing},
    {"attribute_late", early_keyval, set_attribute, use_attribute, nothing},
    {"keyval_late", nothing, make_keyval, use_attribute, nothing},
};

int main(int argc, char **argv)
{
    uint64_t restarted;
    const struct what *what = whats;
    begin(argc, argv);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    const struct what *end = whats + sizeof whats / sizeof *whats;
    while (argc > 2 && what < end && strcmp(what->name, argv[2]) != 0) what++;
    CHECK(what < end, "the second argument is what to test");
    what->early();
    CHECK(hark_protect(1, &s, sizeof s) == HARK_A_OK, "");
    CHECK(hark_protect(2, second_memory, sizeof second_memory) == HARK_A_OK, "");
    CHECK(hark_restarted(&restarted) == HARK_A_OK, "");
    if (restarted == 0) what->late();
    while (s.step < STEPS) {
        int all;
        MPI_Allreduce(&s.step, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(all == size * s.step, "step %d", s.step);
        what->use();
        s.step++;
        hark_checkpoint();
    }
    what->end();
    MPI_Finalize();
    return 0;
}
