/* hark-mpi/mpi.h is the standard ABI: sizes, layout and values. Compiled as C and as C++; it also
 * calls what is a macro or an inline function there, with a library that has two functions. */
#include <mpi.h>
#include <mpi.h>

#include <stddef.h>
#include <stdio.h>

static int passed, failed;

static void is(const char *what, long expected, long found)
{
    if (expected == found) {
        passed++;
        return;
    }
    failed++;
    printf("FAILED %s: expected %ld, found %ld\n", what, expected, found);
}

static void layout(void)
{
    is("sizeof(MPI_Status)", 32, sizeof(MPI_Status));
    is("MPI_SOURCE", 0, offsetof(MPI_Status, MPI_SOURCE));
    is("MPI_TAG", 4, offsetof(MPI_Status, MPI_TAG));
    is("MPI_ERROR", 8, offsetof(MPI_Status, MPI_ERROR));
    is("a status of Fortran", sizeof(MPI_Status), MPI_F_STATUS_SIZE * sizeof(MPI_Fint));
    is("sizeof(MPI_Comm)", sizeof(void *), sizeof(MPI_Comm));
    is("sizeof(MPI_Aint)", sizeof(void *), sizeof(MPI_Aint));
    is("sizeof(MPI_Offset)", 8, sizeof(MPI_Offset));
    is("sizeof(MPI_Count)", 8, sizeof(MPI_Count));
}

/* Values as the tables of the standard have them. */
static const struct {
    const char *name;
    intptr_t expected, found;
} values[] = {
#define VALUE(name, expected)                                                                      \
    {                                                                                              \
#name, expected, (intptr_t)(name)                                                          \
    }
    VALUE(MPI_COMM_NULL, 0x100),
    VALUE(MPI_COMM_WORLD, 0x101),
    VALUE(MPI_COMM_SELF, 0x102),
    VALUE(MPI_GROUP_EMPTY, 0x109),
    VALUE(MPI_WIN_NULL, 0x110),
    VALUE(MPI_FILE_NULL, 0x118),
    VALUE(MPI_SESSION_NULL, 0x120),
    VALUE(MPI_MESSAGE_NO_PROC, 0x129),
    VALUE(MPI_INFO_ENV, 0x131),
    VALUE(MPI_ERRORS_ARE_FATAL, 0x141),
    VALUE(MPI_ERRORS_RETURN, 0x143),
    VALUE(MPI_REQUEST_NULL, 0x180),
    VALUE(MPI_OP_NULL, 0x20),
    VALUE(MPI_SUM, 0x21),
    VALUE(MPI_LXOR, 0x32),
    VALUE(MPI_MAXLOC, 0x39),
    VALUE(MPI_NO_OP, 0x3d),
    VALUE(MPI_DATATYPE_NULL, 0x200),
    VALUE(MPI_AINT, 0x201),
    VALUE(MPI_INT, 0x209),
    VALUE(MPI_DOUBLE, 0x214),
    VALUE(MPI_LONG_DOUBLE, 0x220),
    VALUE(MPI_2INT, 0x22b),
    VALUE(MPI_BYTE, 0x247),
    VALUE(MPI_UINT64_T, 0x259),
    VALUE(MPI_COMPLEX32, 0x2eb),
    VALUE(MPI_ANY_SOURCE, -1),
    VALUE(MPI_ANY_TAG, -2),
    VALUE(MPI_PROC_NULL, -3),
    VALUE(MPI_ROOT, -4),
    VALUE(MPI_UNDEFINED, -32766),
    VALUE(MPI_BOTTOM, 0),
    VALUE(MPI_IN_PLACE, 1),
    VALUE(MPI_BUFFER_AUTOMATIC, 2),
    VALUE(MPI_STATUS_IGNORE, 0),
    VALUE(MPI_UNWEIGHTED, 10),
    VALUE(MPI_WEIGHTS_EMPTY, 11),
    VALUE(MPI_COMM_DUP_FN, 1),
    VALUE(MPI_SUCCESS, 0),
    VALUE(MPI_ERR_TRUNCATE, 15),
    VALUE(MPI_ERR_PENDING, 18),
    VALUE(MPI_ERR_ABI, 62),
    VALUE(MPI_T_ERR_PVAR_NO_ATOMIC, 1018),
    VALUE(MPI_ERR_LASTCODE, 16383),
    VALUE(MPI_THREAD_MULTIPLE, 4096),
    VALUE(MPI_ORDER_FORTRAN, 15),
    VALUE(MPI_CONGRUENT, 202),
    VALUE(MPI_TAG_UB, 501),
    VALUE(MPI_WIN_MODEL, 605),
    VALUE(MPI_MODE_WRONLY, 256),
    VALUE(MPI_SEEK_SET, 403),
    VALUE(MPI_MAX_ERROR_STRING, 512),
    VALUE(MPI_MAX_PROCESSOR_NAME, 256),
    VALUE(MPI_MAX_LIBRARY_VERSION_STRING, 8192),
};

/* Bits 3 to 5 of a datatype of a fixed size are the logarithm of its bytes. */
static const struct {
    const char *name;
    MPI_Datatype datatype;
    unsigned bytes;
} fixed[] = {
#define FIXED(name, bytes)                                                                         \
    {                                                                                              \
#name, name, bytes                                                                         \
    }
    FIXED(MPI_CHAR, 1),
    FIXED(MPI_SIGNED_CHAR, 1),
    FIXED(MPI_UNSIGNED_CHAR, 1),
    FIXED(MPI_BYTE, 1),
    FIXED(MPI_INT8_T, 1),
    FIXED(MPI_UINT8_T, 1),
    FIXED(MPI_INT16_T, 2),
    FIXED(MPI_UINT16_T, 2),
    FIXED(MPI_INT32_T, 4),
    FIXED(MPI_UINT32_T, 4),
    FIXED(MPI_INT64_T, 8),
    FIXED(MPI_UINT64_T, 8),
    FIXED(MPI_LOGICAL1, 1),
    FIXED(MPI_LOGICAL2, 2),
    FIXED(MPI_LOGICAL4, 4),
    FIXED(MPI_LOGICAL8, 8),
    FIXED(MPI_LOGICAL16, 16),
    FIXED(MPI_INTEGER1, 1),
    FIXED(MPI_INTEGER2, 2),
    FIXED(MPI_INTEGER4, 4),
    FIXED(MPI_INTEGER8, 8),
    FIXED(MPI_INTEGER16, 16),
    FIXED(MPI_REAL2, 2),
    FIXED(MPI_REAL4, 4),
    FIXED(MPI_REAL8, 8),
    FIXED(MPI_REAL16, 16),
    FIXED(MPI_COMPLEX4, 4),
    FIXED(MPI_COMPLEX8, 8),
    FIXED(MPI_COMPLEX16, 16),
    FIXED(MPI_COMPLEX32, 32),
};

static void tables(void)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        is(values[i].name, values[i].expected, values[i].found);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        is(fixed[i].name, fixed[i].bytes, 1 << ((intptr_t)fixed[i].datatype >> 3 & 7));
    /* One datatype, one value: two of a fixed size are the same only by a mistake. */
    for (size_t i = 1; i < sizeof fixed / sizeof *fixed; i++)
        for (size_t j = 0; j < i; j++) is(fixed[i].name, 1, fixed[i].datatype != fixed[j].datatype);
}

/* A library of the functions that are called below. */
int MPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent)
{
    if (datatype == MPI_DATATYPE_NULL) return MPI_ERR_TYPE;
    *lb = -8;
    *extent = 24;
    return MPI_SUCCESS;
}
int PMPI_Comm_toint(MPI_Comm comm)
{
    return (int)(intptr_t)comm;
}
int MPI_Comm_toint(MPI_Comm comm)
{
    return PMPI_Comm_toint(comm);
}

/* What is not in the ABI, on top of it. */
static void older(void)
{
    MPI_Aint lb = 0, ub = 99, extent = 0;
    is("MPI_Type_extent", MPI_SUCCESS, MPI_Type_extent(MPI_INT, &extent));
    is("the extent", 24, extent);
    is("MPI_Type_lb", MPI_SUCCESS, MPI_Type_lb(MPI_INT, &lb));
    is("the lower bound", -8, lb);
    is("MPI_Type_ub", MPI_ERR_TYPE, MPI_Type_ub(MPI_DATATYPE_NULL, &ub));
    is("no upper bound", 99, ub);
    is("MPI_Type_ub", MPI_SUCCESS, MPI_Type_ub(MPI_INT, &ub));
    is("the upper bound", 16, ub);
    is("MPI_Comm_c2f", 0x101, MPI_Comm_c2f(MPI_COMM_WORLD));
}

static void statuses(void)
{
    MPI_Status status = {1, 2, 3, {4, 5, 6, 7, 8}}, back;
    MPI_Fint integers[MPI_F_STATUS_SIZE];
    is("MPI_Status_c2f", MPI_SUCCESS, MPI_Status_c2f(&status, integers));
    for (int i = 0; i < MPI_F_STATUS_SIZE; i++) is("an integer of a status", i + 1, integers[i]);
    is("MPI_Status_f2c", MPI_SUCCESS, MPI_Status_f2c(integers, &back));
    is("the source", 1, back.MPI_SOURCE);
    is("the tag", 2, back.MPI_TAG);
    is("the error", 3, back.MPI_ERROR);
    is("the last of the internal ones", 8, back.MPI_internal[4]);
}

int main(void)
{
    layout();
    tables();
    older();
    statuses();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
