/* Joining and leaving the job, and what a program may ask of it. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "../process/process.h"
#include "internal.h"

static bool initialized, finalized; /* by MPI_Init, by MPI_Finalize */
static bool leaves_at_exit;         /* sessions were opened: only the end of the process is */
static int sessions;                /* that are open */
static pthread_t main_thread;
int hark_mpi_thread_level = MPI_THREAD_SINGLE;

static void open_library(void)
{
    hark_app.combine = hark_mpi_combine_part; /* contributions may come before all else is ready */
    int status = hark_init();
    if (status < 0) hark_mpi_fatal(1, "MPI_Init: %s", hark_app_error(status));
    main_thread = pthread_self();
    hark_app.acknowledge = hark_mpi_acknowledge;
    hark_mpi_image_hooks();
    hark_mpi_predefine_errhandlers();
    hark_mpi_predefine_comms();
    hark_mpi_predefine_types();
    hark_mpi_predefine_ops();
    hark_mpi_predefine_requests();
    hark_mpi_predefine_messages();
    hark_mpi_predefine_infos();
    hark_mpi_open = true;
}

/* A program that has posted a receive for what never comes, such as a last message that says stop,
 * ends with every MPI all the same. */
static void drop_posted(const char *call)
{
    uint32_t count = 0;
    for (; hark_app.posted; count++) hark_app_unpost(hark_app.posted);
    if (count)
        hark_process_note("%s: %s was called while %" PRIu32
                          " receive%s posted, neither completed nor cancelled: it ends without",
            hark_process.name, call, count, count == 1 ? " was" : "s were");
}

static void close_library(const char *call)
{
    hark_mpi_requests_close();
    hark_mpi_windows_close();
    hark_mpi_sized_types_close();
    hark_mpi_scratch_close();
    drop_posted(call);
    int status = hark_app_end(call);
    if (status < 0) hark_mpi_fatal(1, "%s: %s", call, hark_app_error(status));
    hark_mpi_open = false;
}

/* More than SERIALIZED is not given: only one thread at a time may call. A program that asks for
 * MPI_THREAD_MULTIPLE is told so. */
static void set_level(int required)
{
    hark_mpi_thread_level = required > MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED : required;
}

static void open_once(int required, const char *call)
{
    if (initialized) hark_mpi_fatal(1, "%s is called a second time", call);
    set_level(required);
    if (!hark_mpi_open) open_library();
    initialized = true;
}

/* Leaves the job, if the program has ended all that it had begun. */
static void leave_at_exit(void)
{
    if (hark_mpi_open && sessions == 0 && initialized == finalized)
        close_library("MPI_Session_finalize");
}

void hark_mpi_session_opened(int required)
{
    if (!hark_mpi_open && finalized)
        hark_mpi_fatal(1, "MPI_Session_init is called after MPI_Finalize: call MPI_Session_init "
                          "before it, for a process can not join the job again");
    if (!hark_mpi_open) {
        set_level(required);
        open_library();
    }
    if (!leaves_at_exit) atexit(leave_at_exit);
    leaves_at_exit = true;
    sessions++;
}

void hark_mpi_session_closed(void)
{
    sessions--;
}

PUBLIC(Init)
int PMPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    open_once(MPI_THREAD_SINGLE, "MPI_Init");
    return MPI_SUCCESS;
}

PUBLIC(Init_thread)
int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc;
    (void)argv;
    open_once(required, "MPI_Init_thread");
    if (provided) *provided = hark_mpi_thread_level;
    return MPI_SUCCESS;
}

PUBLIC(Query_thread)
int PMPI_Query_thread(int *provided)
{
    NEED_OPEN();
    NEED(NULL, provided, MPI_ERR_ARG, "provided is NULL");
    *provided = hark_mpi_thread_level;
    return MPI_SUCCESS;
}

PUBLIC(Is_thread_main)
int PMPI_Is_thread_main(int *flag)
{
    NEED_OPEN();
    NEED(NULL, flag, MPI_ERR_ARG, "flag is NULL");
    *flag = pthread_equal(pthread_self(), main_thread) != 0;
    return MPI_SUCCESS;
}

PUBLIC(Initialized)
int PMPI_Initialized(int *flag)
{
    NEED(NULL, flag, MPI_ERR_ARG, "flag is NULL");
    *flag = initialized;
    return MPI_SUCCESS;
}

PUBLIC(Finalized)
int PMPI_Finalized(int *flag)
{
    NEED(NULL, flag, MPI_ERR_ARG, "flag is NULL");
    *flag = finalized;
    return MPI_SUCCESS;
}

/* The attributes of MPI_COMM_SELF first: their delete functions may still call MPI. */
PUBLIC(Finalize)
int PMPI_Finalize(void)
{
    NEED_OPEN();
    struct comm *comms[] = {&hark_mpi_self, &hark_mpi_world};
    for (int i = 0; i < 2; i++) {
        int code = hark_mpi_attributes_delete(&comms[i]->o, &comms[i]->attributes);
        NEED(comms[i], code == MPI_SUCCESS, code,
            "the delete function of an attribute has failed with code %d", code);
    }
    if (!leaves_at_exit) close_library("MPI_Finalize");
    finalized = true;
    return MPI_SUCCESS;
}

PUBLIC(Abort)
int PMPI_Abort(MPI_Comm comm, int status)
{
    (void)comm;
    hark_process_abort(status);
}

PUBLIC(Get_version)
int PMPI_Get_version(int *version, int *subversion)
{
    NEED(NULL, version && subversion, MPI_ERR_ARG, "version or subversion is NULL");
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

PUBLIC(Get_library_version)
int PMPI_Get_library_version(char *version, int *length)
{
    NEED(NULL, version && length, MPI_ERR_ARG, "version or resultlen is NULL");
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "hark 0.1.0");
    return MPI_SUCCESS;
}

/* The same in every execution, for a program may send it. */
PUBLIC(Get_processor_name)
int PMPI_Get_processor_name(char *name, int *length)
{
    NEED_OPEN();
    NEED(NULL, name && length, MPI_ERR_ARG, "name or resultlen is NULL");
    *length = (int)strnlen(hark_app.host, MPI_MAX_PROCESSOR_NAME - 1);
    memcpy(name, hark_app.host, (size_t)*length);
    name[*length] = 0;
    return MPI_SUCCESS;
}

/* hark run starts all processes of a job. */
PUBLIC(Comm_get_parent)
int PMPI_Comm_get_parent(MPI_Comm *parent)
{
    NEED_OPEN();
    NEED(NULL, parent, MPI_ERR_ARG, "parent is NULL");
    *parent = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

#if defined(HARK_MPI_ABI)
/* The kinds of resources that MPI_Comm_split_type knows: no process uses more than one of them. */
PUBLIC(Get_hw_resource_info)
int PMPI_Get_hw_resource_info(MPI_Info *info)
{
    NEED_OPEN();
    NEED(NULL, info, MPI_ERR_ARG, "hw_info is NULL");
    struct info *i = hark_mpi_info_make();
    hark_mpi_info_set(i, "mpi_shared_memory", "true");
    *info = (MPI_Info)((struct object *)i)->handle;
    return MPI_SUCCESS;
}
#endif

PUBLIC(Wtime)
double PMPI_Wtime(void)
{
    return hark_wtime(); /* the same again in a process that executes again */
}

PUBLIC(Wtick)
double PMPI_Wtick(void)
{
    return 1e-9;
}

PUBLIC(Pcontrol)
int PMPI_Pcontrol(const int level_of_profiling, ...)
{
    (void)level_of_profiling;
    return MPI_SUCCESS;
}

/* Extensions that programs ask before they hand over memory of a graphics processor. */
#pragma GCC visibility push(default)
int MPIX_Query_cuda_support(void);
int MPIX_Query_hip_support(void);
int MPIX_Query_ze_support(void);
#pragma GCC visibility pop

int MPIX_Query_cuda_support(void)
{
    return 0;
}

int MPIX_Query_hip_support(void)
{
    return 0;
}

int MPIX_Query_ze_support(void)
{
    return 0;
}

#if defined(HARK_MPI_MPICH)
WEAK(MPIX_GPU_query_support = PMPIX_GPU_query_support)
int PMPIX_GPU_query_support(int gpu_type, int *is_supported)
{
    (void)gpu_type;
    NEED(NULL, is_supported, MPI_ERR_ARG, "is_supported is NULL");
    *is_supported = 0;
    return MPI_SUCCESS;
}
#endif
