/* Views of files: which bytes of the file a process sees, and in which order. */
#include <stdio.h>
#include <strings.h>

#include "file.h"

/* ---- where bytes are --------------------------------------------------------------------------
 */

/* In "external32" etypes follow each other without gaps: set_view has seen to that. */
const struct type *hark_mpi_file_tile(const struct file *f)
{
    return f->external ? TYPE(MPI_BYTE) : f->filetype;
}

size_t hark_mpi_file_etype_size(const struct file *f)
{
    return f->external ? f->etype->external : f->etype->size;
}

static void note_place(void *argument, ptrdiff_t at, size_t length)
{
    (void)length;
    *(ptrdiff_t *)argument = at;
}

MPI_Offset hark_mpi_file_place(const struct file *f, MPI_Offset at)
{
    const struct type *t = hark_mpi_file_tile(f);
    ptrdiff_t in_tile = 0;
    if (t->size == 0) return f->displacement;
    MPI_Offset size = (MPI_Offset)t->size;
    hark_mpi_type_walk(t, 1, (size_t)(at % size), 1, note_place, &in_tile);
    return f->displacement + at / size * t->extent + in_tile;
}

/* Bytes of the view before `size` bytes of the file: their places ascend. */
static MPI_Offset bytes_before(const struct file *f, MPI_Offset size)
{
    const struct type *t = hark_mpi_file_tile(f);
    if (t->size == 0 || t->extent <= 0 || size <= f->displacement) return 0;
    MPI_Offset low = 0, tiles = (size - f->displacement) / t->extent + 1;
    MPI_Offset high = tiles * (MPI_Offset)t->size;
    while (low < high) {
        MPI_Offset middle = low + (high - low) / 2;
        if (hark_mpi_file_place(f, middle) < size) low = middle + 1;
        else high = middle;
    }
    return low;
}

MPI_Offset hark_mpi_file_view_length(const struct file *f, MPI_Offset size)
{
    MPI_Offset etype = (MPI_Offset)hark_mpi_file_etype_size(f);
    return etype ? (bytes_before(f, size) + etype - 1) / etype : 0;
}

/* ---- setting and getting it -------------------------------------------------------------------
 */

void hark_mpi_file_view_use(struct file *f, struct type *etype, struct type *filetype)
{
    etype->o.references++;
    filetype->o.references++;
    hark_mpi_file_view_release(f);
    f->etype = etype;
    f->filetype = filetype;
}

void hark_mpi_file_view_release(struct file *f)
{
    if (f->etype) hark_mpi_type_release(f->etype);
    if (f->filetype) hark_mpi_type_release(f->filetype);
    f->etype = f->filetype = NULL;
}

void hark_mpi_file_view_reset(struct file *f)
{
    struct type *byte = TYPE(MPI_BYTE);
    hark_mpi_file_view_use(f, byte, byte);
    f->displacement = 0;
    f->external = false;
}

/* The blocks of a filetype ascend, and do not overlap in a file that may be written: MPI 3.1, 13.3.
 */
struct ascent {
    ptrdiff_t at, end;
    bool descends, overlaps;
};

static void climb(void *argument, ptrdiff_t at, size_t length)
{
    struct ascent *a = argument;
    if (at < a->at) a->descends = true;
    if (at < a->end) a->overlaps = true;
    if (at != a->end) a->at = at; /* else it is one block with the last */
    a->end = at + (ptrdiff_t)length;
}

/* NULL, or what is wrong with a filetype. */
static const char *wrong_filetype(
    const struct file *f, const struct type *etype, const struct type *t)
{
    struct ascent a = {0};
    if (etype->size == 0) return t->size ? "the etype has no bytes" : NULL;
    if (t->size % etype->size) return "the filetype is not made of whole etypes";
    hark_mpi_type_walk(t, 1, 0, t->size, climb, &a);
    if (a.descends) return "the displacements of the filetype are negative, or do not ascend";
    if (a.overlaps && !(f->mode & MPI_MODE_RDONLY))
        return "blocks of the filetype overlap, in a file that may be written";
    return NULL;
}

static bool has_gaps(const struct type *t)
{
    return !hark_mpi_type_is_block(t, 1) || t->true_lower || t->extent != (MPI_Aint)t->size;
}

/* 0 native, 1 external32, -1 neither. */
static int representation(const char *name)
{
    if (strcasecmp(name, "native") == 0 || strcasecmp(name, "internal") == 0) return 0;
    return strcasecmp(name, "external32") == 0 ? 1 : -1;
}

PUBLIC(File_set_view)
int PMPI_File_set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype,
    MPI_Datatype filetype, const char *datarep, MPI_Info info)
{
    (void)info;
    NEED_FILE(f, file);
    FILE_NEED(f, f->split == NULL, MPI_ERR_OTHER, "%s has not ended yet", f->split + 1);
    if (displacement == MPI_DISPLACEMENT_CURRENT && f->mode & MPI_MODE_SEQUENTIAL)
        displacement = hark_mpi_file_place(f, f->shared * (MPI_Offset)hark_mpi_file_etype_size(f));
    FILE_NEED(f, displacement >= 0, MPI_ERR_ARG,
        "the displacement is %lld, and must not be negative", (long long)displacement);
    struct type *e = TYPE(etype), *t = TYPE(filetype);
    FILE_NEED(f, e && t, MPI_ERR_TYPE, "the etype or filetype is not valid: was it freed?");
    FILE_NEED(f, e->committed && t->committed, MPI_ERR_TYPE,
        "the etype or filetype is not committed: call MPI_Type_commit");
    const char *wrong = wrong_filetype(f, e, t);
    FILE_NEED(f, wrong == NULL, MPI_ERR_IO, "%s", wrong); /* as in MPICH and Open MPI */
    FILE_NEED(f, datarep, MPI_ERR_ARG, "datarep is NULL");
    int external = representation(datarep);
    FILE_NEED(f, external >= 0, MPI_ERR_UNSUPPORTED_DATAREP,
        "there is no data representation \"%s\": native, internal and external32 are", datarep);
    FILE_NEED(f, !external || !(has_gaps(t) || has_gaps(e)), MPI_ERR_UNSUPPORTED_DATAREP,
        "external32 needs an etype and a filetype without gaps");
    hark_mpi_file_view_use(f, e, t);
    f->displacement = displacement;
    f->external = external;
    f->position = f->shared = 0;
    return MPI_SUCCESS;
}

static MPI_Datatype handle_again(struct type *t)
{
    t->o.references++;
    return HANDLE(MPI_Datatype, t);
}

PUBLIC(File_get_view)
int PMPI_File_get_view(MPI_File file, MPI_Offset *displacement, MPI_Datatype *etype,
    MPI_Datatype *filetype, char *datarep)
{
    NEED_FILE(f, file);
    FILE_NEED(f, displacement && etype && filetype && datarep, MPI_ERR_ARG, "a result is NULL");
    *displacement = f->displacement;
    *etype = handle_again(f->etype);
    *filetype = handle_again(f->filetype);
    snprintf(datarep, MPI_MAX_DATAREP_STRING, "%s", f->external ? "external32" : "native");
    return MPI_SUCCESS;
}

PUBLIC(File_get_byte_offset)
int PMPI_File_get_byte_offset(MPI_File file, MPI_Offset offset, MPI_Offset *place)
{
    NEED_FILE(f, file);
    FILE_NEED(f, place, MPI_ERR_ARG, "disp is NULL");
    FILE_NEED(f, offset >= 0, MPI_ERR_ARG, "the offset is %lld, and must not be negative",
        (long long)offset);
    *place = hark_mpi_file_place(f, offset * (MPI_Offset)hark_mpi_file_etype_size(f));
    return MPI_SUCCESS;
}

#define TYPE_EXTENT_OF(name, integer)                                                              \
    PUBLIC(name) int PMPI_##name(MPI_File file, MPI_Datatype datatype, integer *extent)            \
    {                                                                                              \
        NEED_FILE(f, file);                                                                        \
        struct type *t = TYPE(datatype);                                                           \
        FILE_NEED(f, t, MPI_ERR_TYPE, "the datatype is not valid: was it freed?");                 \
        FILE_NEED(f, extent, MPI_ERR_ARG, "extent is NULL");                                       \
        *extent = f->external ? (integer)t->external : (integer)t->extent;                         \
        return MPI_SUCCESS;                                                                        \
    }
TYPE_EXTENT_OF(File_get_type_extent, MPI_Aint)
TYPE_EXTENT_OF(File_get_type_extent_c, MPI_Count)
