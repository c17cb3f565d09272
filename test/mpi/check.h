/* check.h: what the programs share: a check that fails ends the job with a line that names it. */
#ifndef HARK_TEST_MPI_CHECK_H
#define HARK_TEST_MPI_CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

__attribute__((format(printf, 2, 3))) static void check_failed(int line, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "rank %d of %d, line %d: ", rank, size, line);
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) check_failed(__LINE__, #condition ": " __VA_ARGS__);                     \
    } while (0)

/* Begins: the job has as many processes as the first argument says, so the program is not on its
 * own with another library. */
static void begin(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc > 1 && atoi(argv[1]) == size, "the first argument is the number of processes");
}

#endif
