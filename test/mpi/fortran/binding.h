! The three bindings of MPI in Fortran: the types of handles, and the declarations.
#if defined F08
#define COMM type(MPI_Comm)
#define DATATYPE type(MPI_Datatype)
#define GROUP type(MPI_Group)
#define INFO type(MPI_Info)
#define MESSAGE type(MPI_Message)
#define OPERATION type(MPI_Op)
#define REQUEST type(MPI_Request)
#define STATUS type(MPI_Status)
#define STATUSES(n) type(MPI_Status), dimension(n)
#define SOURCE_OF(s) s%MPI_SOURCE
#define TAG_OF(s) s%MPI_TAG
#else
#define COMM integer
#define DATATYPE integer
#define GROUP integer
#define INFO integer
#define MESSAGE integer
#define OPERATION integer
#define REQUEST integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define STATUSES(n) integer, dimension(MPI_STATUS_SIZE, n)
#define SOURCE_OF(s) s(MPI_SOURCE)
#define TAG_OF(s) s(MPI_TAG)
#endif
