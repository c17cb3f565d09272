/* Datatypes with arguments that are wrong: the call of this number, which ends the job with a line
 * that names the call. wrong.sh has the lines. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_Datatype t;
static int one = 1, none, minus = -1, buffer[10], position, integers[4];
static MPI_Aint at;

static void send_uncommitted(void)
{
    MPI_Type_contiguous(2, MPI_INT, &t);
    MPI_Send(buffer, 1, t, 0, 0, MPI_COMM_WORLD);
}

static void darray(int distribution)
{
    MPI_Type_create_darray(2, 0, 1, &one, &distribution, &one, &one, MPI_ORDER_C, MPI_INT, &t);
}

static void free_named(void)
{
    t = MPI_INT;
    MPI_Type_free(&t);
}

static void ask_freed(void)
{
    MPI_Type_contiguous(2, MPI_INT, &t);
    MPI_Type_free(&t);
    MPI_Type_size(t, &none);
}

static void call(int number)
{
    switch (number) {
    case 0: MPI_Type_contiguous(-1, MPI_INT, &t); break;
    case 1: MPI_Type_vector(1, -2, 1, MPI_INT, &t); break;
    case 2: MPI_Type_create_hindexed(1, &minus, &at, MPI_INT, &t); break;
    case 3: MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &t); break;
    case 4: MPI_Type_create_subarray(1, &one, &one, &one, MPI_ORDER_C, MPI_INT, &t); break;
    case 5: darray(-1); break;
    case 6: free_named(); break;
    case 7: send_uncommitted(); break;
    case 8: MPI_Pack(buffer, 2, MPI_INT, buffer + 5, 7, &position, MPI_COMM_WORLD); break;
    case 9: MPI_Type_get_contents(MPI_INT, 4, 0, 0, integers, &at, &t); break;
    case 10: MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &t); break;
    case 11: MPI_Type_create_f90_real(40, MPI_UNDEFINED, &t); break;
    case 12: MPI_Pack_external("external64", buffer, 1, MPI_INT, buffer + 5, 8, &at); break;
    case 13: ask_freed(); break;
    default: printf("no call\n");
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc > 1) call(atoi(argv[1]));
    MPI_Finalize();
    return 0;
}
