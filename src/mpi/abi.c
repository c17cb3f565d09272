/* What a program may ask of the standard ABI, and of the types of Fortran: they are gfortran's. A
 * library for Fortran that was compiled otherwise is told so. */
#include <stdio.h>

#include "internal.h"

#if defined(HARK_MPI_ABI)

PUBLIC(Abi_get_version)
int PMPI_Abi_get_version(int *major, int *minor)
{
    NEED(NULL, major && minor, MPI_ERR_ARG, "abi_major or abi_minor is NULL");
    *major = MPI_ABI_VERSION;
    *minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}

static void set_size(struct info *i, const char *key, size_t size)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", size);
    hark_mpi_info_set(i, key, text);
}

PUBLIC(Abi_get_info)
int PMPI_Abi_get_info(MPI_Info *info)
{
    NEED(NULL, info, MPI_ERR_ARG, "info is NULL");
    struct info *i = hark_mpi_info_make();
    set_size(i, "mpi_aint_size", sizeof(MPI_Aint));
    set_size(i, "mpi_count_size", sizeof(MPI_Count));
    set_size(i, "mpi_offset_size", sizeof(MPI_Offset));
    *info = (MPI_Info)((struct object *)i)->handle;
    return MPI_SUCCESS;
}

/* ---- Fortran ----------------------------------------------------------------------------------
 */

static const struct {
    const char *key;
    MPI_Datatype type;
    bool is_optional; /* then the value is whether it is there, else its size */
} fortran_types[] = {
    {"mpi_logical_size", MPI_LOGICAL, false},
    {"mpi_integer_size", MPI_INTEGER, false},
    {"mpi_real_size", MPI_REAL, false},
    {"mpi_double_precision_size", MPI_DOUBLE_PRECISION, false},
    {"mpi_logical1_supported", MPI_LOGICAL1, true},
    {"mpi_logical2_supported", MPI_LOGICAL2, true},
    {"mpi_logical4_supported", MPI_LOGICAL4, true},
    {"mpi_logical8_supported", MPI_LOGICAL8, true},
    {"mpi_logical16_supported", MPI_LOGICAL16, true},
    {"mpi_integer1_supported", MPI_INTEGER1, true},
    {"mpi_integer2_supported", MPI_INTEGER2, true},
    {"mpi_integer4_supported", MPI_INTEGER4, true},
    {"mpi_integer8_supported", MPI_INTEGER8, true},
    {"mpi_integer16_supported", MPI_INTEGER16, true},
    {"mpi_real2_supported", MPI_REAL2, true},
    {"mpi_real4_supported", MPI_REAL4, true},
    {"mpi_real8_supported", MPI_REAL8, true},
    {"mpi_real16_supported", MPI_REAL16, true},
    {"mpi_complex4_supported", MPI_COMPLEX4, true},
    {"mpi_complex8_supported", MPI_COMPLEX8, true},
    {"mpi_complex16_supported", MPI_COMPLEX16, true},
    {"mpi_complex32_supported", MPI_COMPLEX32, true},
    {"mpi_double_complex_supported", MPI_DOUBLE_COMPLEX, true},
};
enum { FORTRAN_TYPES = sizeof fortran_types / sizeof *fortran_types };

static struct info *describe_fortran(void)
{
    struct info *i = hark_mpi_info_make();
    for (int n = 0; n < FORTRAN_TYPES; n++) {
        const struct type *t = TYPE(fortran_types[n].type);
        if (fortran_types[n].is_optional)
            hark_mpi_info_set(i, fortran_types[n].key, t ? "true" : "false");
        else set_size(i, fortran_types[n].key, t->size);
    }
    return i;
}

PUBLIC(Abi_get_fortran_info)
int PMPI_Abi_get_fortran_info(MPI_Info *info)
{
    NEED_OPEN();
    NEED(NULL, info, MPI_ERR_ARG, "info is NULL");
    *info = (MPI_Info)((struct object *)describe_fortran())->handle;
    return MPI_SUCCESS;
}

/* A type that is there may be one that the program does not have. */
PUBLIC(Abi_set_fortran_info)
int PMPI_Abi_set_fortran_info(MPI_Info info)
{
    NEED_OPEN();
    const struct info *given = INFO(info);
    NEED(NULL, given, MPI_ERR_INFO, "the info object is not valid: was it freed?");
    struct info *ours = describe_fortran();
    const char *wrong = NULL, *theirs = NULL;
    for (int n = 0; n < FORTRAN_TYPES && wrong == NULL; n++) {
        theirs = hark_mpi_info_value(given, fortran_types[n].key);
        bool is_less = theirs && fortran_types[n].is_optional && strcmp(theirs, "false") == 0;
        if (theirs == NULL || is_less) continue;
        if (strcmp(theirs, hark_mpi_info_value(ours, fortran_types[n].key)) != 0)
            wrong = fortran_types[n].key;
    }
    hark_mpi_info_release(ours);
    NEED(NULL, wrong == NULL, MPI_ERR_ABI,
        "the types of Fortran are those of gfortran, and %s is not \"%s\" there", wrong, theirs);
    return MPI_SUCCESS;
}

/* LOGICAL: 1 is true, 0 is false. */
#define NEED_LOGICAL(size)                                                                         \
    NEED(NULL, (size) == (int)sizeof(MPI_Fint), MPI_ERR_ABI,                                       \
        "a LOGICAL has %d bytes, and %d were given", (int)sizeof(MPI_Fint), size)

PUBLIC(Abi_get_fortran_booleans)
int PMPI_Abi_get_fortran_booleans(int size, void *is_true, void *is_false, int *is_set)
{
    NEED_OPEN();
    NEED(NULL, is_true && is_false && is_set, MPI_ERR_ARG, "a result is NULL");
    NEED_LOGICAL(size);
    const MPI_Fint value[] = {0, 1};
    memcpy(is_false, &value[0], sizeof *value);
    memcpy(is_true, &value[1], sizeof *value);
    *is_set = 1;
    return MPI_SUCCESS;
}

PUBLIC(Abi_set_fortran_booleans)
int PMPI_Abi_set_fortran_booleans(int size, void *is_true, void *is_false)
{
    NEED_OPEN();
    NEED(NULL, is_true && is_false, MPI_ERR_ARG, "logical_true or logical_false is NULL");
    NEED_LOGICAL(size);
    MPI_Fint value[2];
    memcpy(&value[0], is_false, sizeof *value);
    memcpy(&value[1], is_true, sizeof *value);
    NEED(NULL, value[0] == 0 && value[1] == 1, MPI_ERR_ABI,
        "LOGICAL has 1 for .true. and 0 for .false., not %d and %d", value[1], value[0]);
    return MPI_SUCCESS;
}
#endif
