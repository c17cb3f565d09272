/* Handles of Fortran: whole numbers. In MPICH's interface those of C are whole numbers too, and in
 * the standard ABI those of predefined objects; an object whose handle is an address gets a number
 * when it is asked for. */
#include "internal.h"

/* ---- numbers of predefined objects ------------------------------------------------------------
 */

#if defined(HARK_MPI_OPENMPI)
/* MPI 3 has removed MPI_UB and MPI_LB, but not their Fortran numbers. */
extern struct ompi_predefined_datatype_t ompi_mpi_ub, ompi_mpi_lb;

/* The numbers of Open MPI's mpif-handles.h, which are compiled into every program in Fortran. */
static const struct number {
    enum kind kind;
    int number;
    const void *handle;
} numbers[] = {
#define COMM_IS(n, handle)                                                                         \
    {                                                                                              \
        KIND_COMM, n, handle                                                                       \
    }
#define GROUP_IS(n, handle)                                                                        \
    {                                                                                              \
        KIND_GROUP, n, handle                                                                      \
    }
#define TYPE_IS(n, handle)                                                                         \
    {                                                                                              \
        KIND_TYPE, n, handle                                                                       \
    }
#define OP_IS(n, handle)                                                                           \
    {                                                                                              \
        KIND_OP, n, handle                                                                         \
    }
#define ERRHANDLER_IS(n, handle)                                                                   \
    {                                                                                              \
        KIND_ERRHANDLER, n, handle                                                                 \
    }
#define INFO_IS(n, handle)                                                                         \
    {                                                                                              \
        KIND_INFO, n, handle                                                                       \
    }
#define MESSAGE_IS(n, handle)                                                                      \
    {                                                                                              \
        KIND_MESSAGE, n, handle                                                                    \
    }
    COMM_IS(0, MPI_COMM_WORLD), COMM_IS(1, MPI_COMM_SELF), COMM_IS(2, MPI_COMM_NULL),
    GROUP_IS(0, MPI_GROUP_NULL), GROUP_IS(1, MPI_GROUP_EMPTY),
    ERRHANDLER_IS(0, MPI_ERRHANDLER_NULL), ERRHANDLER_IS(1, MPI_ERRORS_ARE_FATAL),
    ERRHANDLER_IS(2, MPI_ERRORS_RETURN), INFO_IS(0, MPI_INFO_NULL), INFO_IS(1, MPI_INFO_ENV),
    MESSAGE_IS(0, MPI_MESSAGE_NULL), MESSAGE_IS(1, MPI_MESSAGE_NO_PROC),
    {KIND_REQUEST, 0, MPI_REQUEST_NULL}, {KIND_WINDOW, 0, MPI_WIN_NULL},
    {KIND_FILE, 0, MPI_FILE_NULL}, OP_IS(0, MPI_OP_NULL), OP_IS(1, MPI_MAX), OP_IS(2, MPI_MIN),
    OP_IS(3, MPI_SUM), OP_IS(4, MPI_PROD), OP_IS(5, MPI_LAND), OP_IS(6, MPI_BAND),
    OP_IS(7, MPI_LOR), OP_IS(8, MPI_BOR), OP_IS(9, MPI_LXOR), OP_IS(10, MPI_BXOR),
    OP_IS(11, MPI_MAXLOC), OP_IS(12, MPI_MINLOC), OP_IS(13, MPI_REPLACE), OP_IS(14, MPI_NO_OP),
    TYPE_IS(0, MPI_DATATYPE_NULL), TYPE_IS(1, MPI_BYTE), TYPE_IS(2, MPI_PACKED),
    TYPE_IS(3, &ompi_mpi_ub), TYPE_IS(4, &ompi_mpi_lb), TYPE_IS(5, MPI_CHARACTER),
    TYPE_IS(6, MPI_LOGICAL), TYPE_IS(7, MPI_INTEGER), TYPE_IS(8, MPI_INTEGER1),
    TYPE_IS(9, MPI_INTEGER2), TYPE_IS(10, MPI_INTEGER4), TYPE_IS(11, MPI_INTEGER8),
    TYPE_IS(12, &ompi_mpi_integer16), TYPE_IS(13, MPI_REAL), TYPE_IS(14, MPI_REAL4),
    TYPE_IS(15, MPI_REAL8), TYPE_IS(16, MPI_REAL16), TYPE_IS(17, MPI_DOUBLE_PRECISION),
    TYPE_IS(18, MPI_COMPLEX), TYPE_IS(19, MPI_COMPLEX8), TYPE_IS(20, MPI_COMPLEX16),
    TYPE_IS(21, MPI_COMPLEX32), TYPE_IS(22, MPI_DOUBLE_COMPLEX), TYPE_IS(23, MPI_2REAL),
    TYPE_IS(24, MPI_2DOUBLE_PRECISION), TYPE_IS(25, MPI_2INTEGER), TYPE_IS(26, &ompi_mpi_2cplex),
    TYPE_IS(27, &ompi_mpi_2dblcplex), TYPE_IS(28, &ompi_mpi_real2), TYPE_IS(29, &ompi_mpi_logical1),
    TYPE_IS(30, &ompi_mpi_logical2), TYPE_IS(31, &ompi_mpi_logical4),
    TYPE_IS(32, &ompi_mpi_logical8), TYPE_IS(33, MPI_WCHAR), TYPE_IS(34, MPI_CHAR),
    TYPE_IS(35, MPI_UNSIGNED_CHAR), TYPE_IS(36, MPI_SIGNED_CHAR), TYPE_IS(37, MPI_SHORT),
    TYPE_IS(38, MPI_UNSIGNED_SHORT), TYPE_IS(39, MPI_INT), TYPE_IS(40, MPI_UNSIGNED),
    TYPE_IS(41, MPI_LONG), TYPE_IS(42, MPI_UNSIGNED_LONG), TYPE_IS(43, MPI_LONG_LONG),
    TYPE_IS(44, MPI_UNSIGNED_LONG_LONG), TYPE_IS(45, MPI_FLOAT), TYPE_IS(46, MPI_DOUBLE),
    TYPE_IS(47, MPI_LONG_DOUBLE), TYPE_IS(48, MPI_FLOAT_INT), TYPE_IS(49, MPI_DOUBLE_INT),
    TYPE_IS(50, MPI_LONG_DOUBLE_INT), TYPE_IS(51, MPI_LONG_INT), TYPE_IS(52, MPI_2INT),
    TYPE_IS(53, MPI_SHORT_INT), TYPE_IS(54, MPI_CXX_BOOL), TYPE_IS(55, MPI_CXX_FLOAT_COMPLEX),
    TYPE_IS(56, MPI_CXX_DOUBLE_COMPLEX), TYPE_IS(57, MPI_CXX_LONG_DOUBLE_COMPLEX),
    TYPE_IS(58, MPI_INT8_T), TYPE_IS(59, MPI_UINT8_T), TYPE_IS(60, MPI_INT16_T),
    TYPE_IS(61, MPI_UINT16_T), TYPE_IS(62, MPI_INT32_T), TYPE_IS(63, MPI_UINT32_T),
    TYPE_IS(64, MPI_INT64_T), TYPE_IS(65, MPI_UINT64_T), TYPE_IS(66, MPI_AINT),
    TYPE_IS(67, MPI_OFFSET), TYPE_IS(68, MPI_C_BOOL), TYPE_IS(69, MPI_C_FLOAT_COMPLEX),
    TYPE_IS(70, MPI_C_DOUBLE_COMPLEX), TYPE_IS(71, MPI_C_LONG_DOUBLE_COMPLEX),
    TYPE_IS(72, MPI_COUNT)};

static bool known_number(enum kind kind, uintptr_t handle, int *number)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].kind == kind && (uintptr_t)numbers[i].handle == handle) {
            *number = numbers[i].number;
            return true;
        }
    return false;
}

static bool known_handle(enum kind kind, int number, uintptr_t *handle)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].kind == kind && numbers[i].number == number) {
            *handle = (uintptr_t)numbers[i].handle;
            return true;
        }
    return false;
}
#elif defined(HARK_MPI_ABI)
static bool known_number(enum kind kind, uintptr_t handle, int *number)
{
    (void)kind;
    *number = (int)handle;
    return handle < PREDEFINED_NUMBERS;
}

static bool known_handle(enum kind kind, int number, uintptr_t *handle)
{
    (void)kind;
    *handle = (uintptr_t)number;
    return number >= 0 && number < PREDEFINED_NUMBERS;
}
#endif

/* ---- conversion -------------------------------------------------------------------------------
 */

/* The Fortran number of a handle. A handle that is not valid has -1, the number of no object; if it
 * is of a file in MPICH's interface, 0. */
static int number_of(enum kind kind, uintptr_t handle, struct object *o)
{
#if defined(HARK_MPI_MPICH)
    if (kind != KIND_FILE) return (int)(uint32_t)handle;
    return o ? (int)o->number : 0;
#else
    int number;
    if (known_number(kind, handle, &number)) return number;
    return o ? (int)o->number : -1;
#endif
}

/* The handle of a Fortran number; 0 if the number is not valid. In MPICH's interface the
 * handle is the number, unless it is of a file. */
static uintptr_t handle_of(enum kind kind, int number)
{
#if defined(HARK_MPI_MPICH)
    if (kind != KIND_FILE) return (uint32_t)number;
    struct object *o = hark_mpi_made(&hark_mpi_slots[kind], (uint32_t)number, kind);
    return o ? o->handle : 0;
#else
    uintptr_t handle;
    if (known_handle(kind, number, &handle)) return handle;
    struct object *o = hark_mpi_numbered(kind, number);
    return o ? o->handle : 0;
#endif
}

/* Name, type of the C handle, kind, the macro that finds the object. MPICH's mpi.h has macros of
 * the names. */
#define CONVERSIONS(X)                                                                             \
    X(Comm, MPI_Comm, KIND_COMM, COMM)                                                             \
    X(Group, MPI_Group, KIND_GROUP, GROUP)                                                         \
    X(Type, MPI_Datatype, KIND_TYPE, TYPE)                                                         \
    X(Op, MPI_Op, KIND_OP, OP)                                                                     \
    X(Request, MPI_Request, KIND_REQUEST, REQUEST)                                                 \
    X(Errhandler, MPI_Errhandler, KIND_ERRHANDLER, ERRHANDLER)                                     \
    X(Info, MPI_Info, KIND_INFO, INFO)                                                             \
    X(Win, MPI_Win, KIND_WINDOW, WINDOW)                                                           \
    X(Message, MPI_Message, KIND_MESSAGE, MESSAGE)                                                 \
    X(File, MPI_File, KIND_FILE, FILE_OF)

#undef MPI_Comm_c2f
#undef MPI_Comm_f2c
#undef MPI_Group_c2f
#undef MPI_Group_f2c
#undef MPI_Type_c2f
#undef MPI_Type_f2c
#undef MPI_Op_c2f
#undef MPI_Op_f2c
#undef MPI_Request_c2f
#undef MPI_Request_f2c
#undef MPI_Errhandler_c2f
#undef MPI_Errhandler_f2c
#undef MPI_Info_c2f
#undef MPI_Info_f2c
#undef MPI_Win_c2f
#undef MPI_Win_f2c
#undef MPI_Message_c2f
#undef MPI_Message_f2c
#undef MPI_File_c2f
#undef MPI_File_f2c
#undef MPI_Session_c2f
#undef MPI_Session_f2c
#undef MPI_Status_c2f
#undef MPI_Status_f2c
#undef PMPI_Comm_c2f
#undef PMPI_Comm_f2c
#undef PMPI_Group_c2f
#undef PMPI_Group_f2c
#undef PMPI_Type_c2f
#undef PMPI_Type_f2c
#undef PMPI_Op_c2f
#undef PMPI_Op_f2c
#undef PMPI_Request_c2f
#undef PMPI_Request_f2c
#undef PMPI_Errhandler_c2f
#undef PMPI_Errhandler_f2c
#undef PMPI_Info_c2f
#undef PMPI_Info_f2c
#undef PMPI_Win_c2f
#undef PMPI_Win_f2c
#undef PMPI_Message_c2f
#undef PMPI_Message_f2c
#undef PMPI_File_c2f
#undef PMPI_File_f2c
#undef PMPI_Session_c2f
#undef PMPI_Session_f2c
#undef PMPI_Status_c2f
#undef PMPI_Status_f2c

#define CONVERSION(name, type, kind, find)                                                         \
    MPI_Fint PMPI_##name##_c2f(type handle);                                                       \
    PUBLIC(name##_c2f)                                                                             \
    MPI_Fint PMPI_##name##_c2f(type handle)                                                        \
    {                                                                                              \
        return number_of(kind, BITS(handle), (struct object *)find(handle));                       \
    }                                                                                              \
    type PMPI_##name##_f2c(MPI_Fint number);                                                       \
    PUBLIC(name##_f2c)                                                                             \
    type PMPI_##name##_f2c(MPI_Fint number)                                                        \
    {                                                                                              \
        return (type)handle_of(kind, number);                                                      \
    }

#pragma GCC visibility push(default)
CONVERSIONS(CONVERSION)
#if defined(HARK_MPI_ABI)
/* The standard ABI's names of the same. */
#define NUMBERING(name, type, kind, find)                                                          \
    PUBLIC(name##_toint)                                                                           \
    int PMPI_##name##_toint(type handle)                                                           \
    {                                                                                              \
        return PMPI_##name##_c2f(handle);                                                          \
    }                                                                                              \
    PUBLIC(name##_fromint)                                                                         \
    type PMPI_##name##_fromint(int number)                                                         \
    {                                                                                              \
        return PMPI_##name##_f2c(number);                                                          \
    }
CONVERSIONS(NUMBERING)
PUBLIC(Session_toint)
int PMPI_Session_toint(MPI_Session session)
{
    return number_of(KIND_SESSION, BITS(session), (struct object *)SESSION(session));
}

PUBLIC(Session_fromint)
MPI_Session PMPI_Session_fromint(int number)
{
    return (MPI_Session)handle_of(KIND_SESSION, number);
}
#endif

/* ---- statuses: the same bytes, as an array of INTEGER -----------------------------------------
 */

int PMPI_Status_c2f(const MPI_Status *from, MPI_Fint *to);
int PMPI_Status_f2c(const MPI_Fint *from, MPI_Status *to);

static int copy_status(const void *from, void *to, const char *call)
{
    if (from == NULL || to == NULL || from == (const void *)MPI_STATUS_IGNORE)
        return hark_mpi_error(
            NULL, MPI_ERR_ARG, call, "a status is NULL, or one that stands for none");
    memcpy(to, from, sizeof(MPI_Status));
    return MPI_SUCCESS;
}

PUBLIC(Status_c2f)
int PMPI_Status_c2f(const MPI_Status *from, MPI_Fint *to)
{
    return copy_status(from, to, __func__);
}

PUBLIC(Status_f2c)
int PMPI_Status_f2c(const MPI_Fint *from, MPI_Status *to)
{
    return copy_status(from, to, __func__);
}

/* TYPE(MPI_Status) of Fortran 2008 has the same bytes as well. */
#if defined(HARK_MPI_MPICH)
#define STATUS_F08 MPI_F08_status
#else
#define STATUS_F08 void
#endif
#define STATUS_CONVERSION(name, from_type, to_type)                                                \
    int PMPI_Status_##name(const from_type *from, to_type *to);                                    \
    PUBLIC(Status_##name)                                                                          \
    int PMPI_Status_##name(const from_type *from, to_type *to)                                     \
    {                                                                                              \
        return copy_status(from, to, __func__);                                                    \
    }
STATUS_CONVERSION(c2f08, MPI_Status, STATUS_F08)
STATUS_CONVERSION(f082c, STATUS_F08, MPI_Status)
STATUS_CONVERSION(f2f08, MPI_Fint, STATUS_F08)
STATUS_CONVERSION(f082f, STATUS_F08, MPI_Fint)
#pragma GCC visibility pop
