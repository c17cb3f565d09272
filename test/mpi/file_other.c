/* file_other.c: a process that executes again does other things with a file than before: it writes
 * what it had not written (new), writes the same in another order (order), or resizes to what it
 * had before, after a longer write (size). The file is as the last execution has it.
 * file_other SIZE new|order|size */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static const char *const path = "test.data", *const mark = "test.mark";

static int is_first_execution(void)
{
    int fd = open(mark, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static void put(MPI_File f, const char *bytes)
{
    MPI_File_write_at(f, 0, bytes, (int)strlen(bytes), MPI_CHAR, MPI_STATUS_IGNORE);
}

static void change(MPI_File f, const char *what, int first)
{
    if (strcmp(what, "new") == 0) {
        if (!first) put(f, "YYYYY");
        put(f, "XXXXX");
    } else if (strcmp(what, "order") == 0) {
        put(f, first ? "XXXXX" : "YYYYY");
        put(f, first ? "YYYYY" : "XXXXX");
    } else {
        if (!first) put(f, "XXXXXXXXX");
        MPI_File_set_size(f, 5);
        put(f, "XXXXX");
    }
}

static void receive(void)
{
    MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void change_and_die(const char *what)
{
    char bytes[16] = "";
    MPI_Offset length;
    MPI_File f;
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    receive();
    const int first = is_first_execution();
    change(f, what, first);
    receive();                  /* here it dies */
    if (first) put(f, "XXXXX"); /* nobody dies: all executions end alike */
    MPI_File_get_size(f, &length);
    MPI_File_read_at(f, 0, bytes, sizeof bytes - 1, MPI_CHAR, MPI_STATUS_IGNORE);
    printf("%lld bytes: %s\n", (long long)length, bytes);
    MPI_File_close(&f);
    unlink(path);
    unlink(mark);
}

int main(int argc, char *argv[])
{
    begin(argc, argv);
    CHECK(argc > 2, "");
    if (rank == 0) change_and_die(argv[2]);
    for (int i = 0; rank == 1 && i < 2; i++) MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
