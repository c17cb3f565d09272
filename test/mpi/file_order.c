/* file_order.c: a process writes to the same place through two views, in the order in which others
 * come; when it executes again they come the other way round. So it writes first, through one view,
 * what it had written first through the other. */
#include <fcntl.h>
#include <unistd.h>

#include "check.h"

static const char *const path = "test.data", *const mark = "test.mark";

/* Two bytes of each four, the second one at `second`. */
static MPI_Datatype view_of(int second)
{
    const int at[] = {0, second};
    MPI_Datatype two, four;
    MPI_Type_create_indexed_block(2, 1, at, MPI_CHAR, &two);
    MPI_Type_create_resized(two, 0, 4, &four);
    MPI_Type_commit(&four);
    MPI_Type_free(&two);
    return four;
}

/* In the first execution the second process comes first. */
static int who_is_first(void)
{
    int fd = open(mark, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd < 0) return 1;
    close(fd);
    return 2;
}

static void write_for(MPI_File f, int source)
{
    int second;
    MPI_Recv(&second, 1, MPI_INT, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Datatype view = view_of(second);
    MPI_File_set_view(f, 0, MPI_CHAR, view, "native", MPI_INFO_NULL);
    MPI_File_write_at(f, 0, "XX", 2, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_Type_free(&view);
}

static void write_both(void)
{
    char bytes[4];
    const int first = who_is_first();
    MPI_File f;
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_File_write_at(f, 0, "....", 4, MPI_CHAR, MPI_STATUS_IGNORE);
    write_for(f, first);
    write_for(f, 3 - first);
    MPI_File_set_view(f, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL);
    MPI_File_read_at(f, 0, bytes, 4, MPI_CHAR, MPI_STATUS_IGNORE);
    printf("%.4s\n", bytes);
    MPI_File_close(&f);
    unlink(path);
    unlink(mark);
}

int main(int argc, char *argv[])
{
    begin(argc, argv);
    const int second = 1 + rank;
    if (rank == 0 && size > 2) write_both();
    if (rank == 1 || rank == 2) MPI_Send(&second, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
