/* Data symbols of Open MPI's binary interface: a predefined handle is the address of one. A program
 * copies them into itself by their sizes, so these are those of Open MPI 4.1 (readelf -s
 * libmpi.so.40). The first word points to our object. */
#pragma GCC visibility push(default)
#include <mpi.h>

struct ompi_predefined_communicator_t {
    void *object;
    char rest[512 - sizeof(void *)];
};
struct ompi_predefined_datatype_t {
    void *object;
    char rest[512 - sizeof(void *)];
};
struct ompi_predefined_errhandler_t {
    void *object;
    char rest[1024 - sizeof(void *)];
};
struct ompi_predefined_file_t {
    void *object;
    char rest[1536 - sizeof(void *)];
};
struct ompi_predefined_group_t {
    void *object;
    char rest[256 - sizeof(void *)];
};
struct ompi_predefined_info_t {
    void *object;
    char rest[256 - sizeof(void *)];
};
struct ompi_predefined_message_t {
    void *object;
    char rest[256 - sizeof(void *)];
};
struct ompi_predefined_op_t {
    void *object;
    char rest[2048 - sizeof(void *)];
};
struct ompi_predefined_request_t {
    void *object;
    char rest[256 - sizeof(void *)];
};
struct ompi_predefined_win_t {
    void *object;
    char rest[512 - sizeof(void *)];
};

struct ompi_predefined_communicator_t ompi_mpi_comm_null;
struct ompi_predefined_communicator_t ompi_mpi_comm_self;
struct ompi_predefined_communicator_t ompi_mpi_comm_world;
struct ompi_predefined_datatype_t ompi_mpi_2cplex;
struct ompi_predefined_datatype_t ompi_mpi_2dblcplex;
struct ompi_predefined_datatype_t ompi_mpi_2dblprec;
struct ompi_predefined_datatype_t ompi_mpi_2int;
struct ompi_predefined_datatype_t ompi_mpi_2integer;
struct ompi_predefined_datatype_t ompi_mpi_2real;
struct ompi_predefined_datatype_t ompi_mpi_aint;
struct ompi_predefined_datatype_t ompi_mpi_byte;
struct ompi_predefined_datatype_t ompi_mpi_c_bool;
struct ompi_predefined_datatype_t ompi_mpi_c_double_complex;
struct ompi_predefined_datatype_t ompi_mpi_c_float_complex;
struct ompi_predefined_datatype_t ompi_mpi_c_long_double_complex;
struct ompi_predefined_datatype_t ompi_mpi_char;
struct ompi_predefined_datatype_t ompi_mpi_character;
struct ompi_predefined_datatype_t ompi_mpi_complex16;
struct ompi_predefined_datatype_t ompi_mpi_complex32;
struct ompi_predefined_datatype_t ompi_mpi_complex8;
struct ompi_predefined_datatype_t ompi_mpi_count;
struct ompi_predefined_datatype_t ompi_mpi_cplex;
struct ompi_predefined_datatype_t ompi_mpi_cxx_bool;
struct ompi_predefined_datatype_t ompi_mpi_cxx_cplex;
struct ompi_predefined_datatype_t ompi_mpi_cxx_dblcplex;
struct ompi_predefined_datatype_t ompi_mpi_cxx_ldblcplex;
struct ompi_predefined_datatype_t ompi_mpi_datatype_null;
struct ompi_predefined_datatype_t ompi_mpi_dblcplex;
struct ompi_predefined_datatype_t ompi_mpi_dblprec;
struct ompi_predefined_datatype_t ompi_mpi_double;
struct ompi_predefined_datatype_t ompi_mpi_double_int;
struct ompi_predefined_datatype_t ompi_mpi_float;
struct ompi_predefined_datatype_t ompi_mpi_float_int;
struct ompi_predefined_datatype_t ompi_mpi_int;
struct ompi_predefined_datatype_t ompi_mpi_int16_t;
struct ompi_predefined_datatype_t ompi_mpi_int32_t;
struct ompi_predefined_datatype_t ompi_mpi_int64_t;
struct ompi_predefined_datatype_t ompi_mpi_int8_t;
struct ompi_predefined_datatype_t ompi_mpi_integer;
struct ompi_predefined_datatype_t ompi_mpi_integer1;
struct ompi_predefined_datatype_t ompi_mpi_integer16;
struct ompi_predefined_datatype_t ompi_mpi_integer2;
struct ompi_predefined_datatype_t ompi_mpi_integer4;
struct ompi_predefined_datatype_t ompi_mpi_integer8;
__attribute__((visibility("default"))) struct ompi_predefined_datatype_t ompi_mpi_lb;
struct ompi_predefined_datatype_t ompi_mpi_ldblcplex;
struct ompi_predefined_datatype_t ompi_mpi_logical;
struct ompi_predefined_datatype_t ompi_mpi_logical1;
struct ompi_predefined_datatype_t ompi_mpi_logical2;
struct ompi_predefined_datatype_t ompi_mpi_logical4;
struct ompi_predefined_datatype_t ompi_mpi_logical8;
struct ompi_predefined_datatype_t ompi_mpi_long;
struct ompi_predefined_datatype_t ompi_mpi_long_double;
struct ompi_predefined_datatype_t ompi_mpi_long_int;
struct ompi_predefined_datatype_t ompi_mpi_long_long_int;
struct ompi_predefined_datatype_t ompi_mpi_longdbl_int;
struct ompi_predefined_datatype_t ompi_mpi_offset;
struct ompi_predefined_datatype_t ompi_mpi_packed;
struct ompi_predefined_datatype_t ompi_mpi_real;
struct ompi_predefined_datatype_t ompi_mpi_real16;
struct ompi_predefined_datatype_t ompi_mpi_real2;
struct ompi_predefined_datatype_t ompi_mpi_real4;
struct ompi_predefined_datatype_t ompi_mpi_real8;
struct ompi_predefined_datatype_t ompi_mpi_short;
struct ompi_predefined_datatype_t ompi_mpi_short_int;
struct ompi_predefined_datatype_t ompi_mpi_signed_char;
__attribute__((visibility("default"))) struct ompi_predefined_datatype_t ompi_mpi_ub;
struct ompi_predefined_datatype_t ompi_mpi_uint16_t;
struct ompi_predefined_datatype_t ompi_mpi_uint32_t;
struct ompi_predefined_datatype_t ompi_mpi_uint64_t;
struct ompi_predefined_datatype_t ompi_mpi_uint8_t;
struct ompi_predefined_datatype_t ompi_mpi_unsigned;
struct ompi_predefined_datatype_t ompi_mpi_unsigned_char;
struct ompi_predefined_datatype_t ompi_mpi_unsigned_long;
struct ompi_predefined_datatype_t ompi_mpi_unsigned_long_long;
struct ompi_predefined_datatype_t ompi_mpi_unsigned_short;
struct ompi_predefined_datatype_t ompi_mpi_wchar;
struct ompi_predefined_errhandler_t ompi_mpi_errhandler_null;
struct ompi_predefined_errhandler_t ompi_mpi_errors_are_fatal;
struct ompi_predefined_errhandler_t ompi_mpi_errors_return;
struct ompi_predefined_file_t ompi_mpi_file_null;
struct ompi_predefined_group_t ompi_mpi_group_empty;
struct ompi_predefined_group_t ompi_mpi_group_null;
struct ompi_predefined_info_t ompi_mpi_info_env;
struct ompi_predefined_info_t ompi_mpi_info_null;
struct ompi_predefined_message_t ompi_message_no_proc;
struct ompi_predefined_message_t ompi_message_null;
struct ompi_predefined_op_t ompi_mpi_op_band;
struct ompi_predefined_op_t ompi_mpi_op_bor;
struct ompi_predefined_op_t ompi_mpi_op_bxor;
struct ompi_predefined_op_t ompi_mpi_op_land;
struct ompi_predefined_op_t ompi_mpi_op_lor;
struct ompi_predefined_op_t ompi_mpi_op_lxor;
struct ompi_predefined_op_t ompi_mpi_op_max;
struct ompi_predefined_op_t ompi_mpi_op_maxloc;
struct ompi_predefined_op_t ompi_mpi_op_min;
struct ompi_predefined_op_t ompi_mpi_op_minloc;
struct ompi_predefined_op_t ompi_mpi_op_no_op;
struct ompi_predefined_op_t ompi_mpi_op_null;
struct ompi_predefined_op_t ompi_mpi_op_prod;
struct ompi_predefined_op_t ompi_mpi_op_replace;
struct ompi_predefined_op_t ompi_mpi_op_sum;
struct ompi_predefined_request_t ompi_request_null;
struct ompi_predefined_win_t ompi_mpi_win_null;

/* Constants of mpif.h that are known by their addresses. */
MPI_Fint mpi_fortran_bottom_, mpi_fortran_in_place_, mpi_fortran_unweighted_,
    mpi_fortran_weights_empty_, mpi_fortran_errcodes_ignore_;
char mpi_fortran_argv_null_, mpi_fortran_argvs_null_;
double mpi_fortran_status_ignore_, mpi_fortran_statuses_ignore_;
