! Attributes with functions of the program, names, error handlers, info.
#include "binding.inc"
module of_program
  implicit none
  integer :: copies = 0, deletions = 0, errors = 0
contains

  subroutine copy_it(comm, key, extra, in, out, flag, ierror)
#include "use.inc"
    COMM :: comm
    integer :: key, ierror
    integer(MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    copies = copies + 1
    out = in + extra
    flag = comm /= MPI_COMM_NULL .and. key /= MPI_KEYVAL_INVALID
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete_it(comm, key, value, extra, ierror)
#include "use.inc"
    COMM :: comm
    integer :: key, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    if (comm /= MPI_COMM_NULL .and. key /= MPI_KEYVAL_INVALID .and. value > extra) deletions = deletions + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine note(comm, code)
#include "use.inc"
    COMM :: comm
    integer :: code
    if (comm /= MPI_COMM_NULL .and. code /= MPI_SUCCESS) errors = errors + 1
  end subroutine

  subroutine query_it(extra, status, ierror)
#include "use.inc"
    integer(MPI_ADDRESS_KIND) :: extra
    STATUS :: status
    integer :: ierror
    SOURCE_OF(status) = MPI_UNDEFINED
    TAG_OF(status) = 7
    call MPI_Status_set_cancelled(status, .false., ierror)
    call MPI_Status_set_elements(status, MPI_BYTE, 0, ierror)
    if (extra < 0) ierror = MPI_ERR_OTHER
  end subroutine

  subroutine free_it(extra, ierror)
#include "use.inc"
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    extra = extra - 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel_it(extra, complete, ierror)
#include "use.inc"
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, complete .and. extra > 0)
  end subroutine
end module

program attributes
  use checks
  use of_program
#include "use.inc"
  integer, parameter :: rounds = 12
  integer :: error, round, total, key
#if defined F08
  type(MPI_Errhandler) :: handler
#else
  integer :: handler
#endif

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call check_job()
  call MPI_Comm_create_keyval(copy_it, delete_it, key, 1000_MPI_ADDRESS_KIND, error)
  call MPI_Comm_create_errhandler(note, handler, error)
  call predefined()
  do round = 1, rounds
    call cached(round)
    call with_error(round)
    call with_info(round)
    call in_c(round)
    call generalized(round)
    call MPI_Allreduce(own_digest(), total, 1, MPI_INTEGER, MPI_BXOR, MPI_COMM_WORLD, error)
    call mix(abs(total))
  end do
  call check('functions were called', copies == 2 * rounds .and. deletions == 5 * rounds .and. errors == rounds)
  call MPI_Errhandler_free(handler, error)
  call MPI_Comm_free_keyval(key, error)
  call MPI_Reduce(own_digest(), total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(z8.8)', total
  call MPI_Finalize(error)

contains

  subroutine predefined()
    integer(MPI_ADDRESS_KIND) :: value
    logical :: found
    integer :: version, subversion, length
    character(MPI_MAX_PROCESSOR_NAME) :: name
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, found, error)
    call check('MPI_TAG_UB', found .and. value >= 32767)
    call MPI_Get_version(version, subversion, error)
    call check('version', version >= 3)
    call MPI_Get_processor_name(name, length, error)
    call check('processor', length > 0 .and. name(length + 1:) == '')
  end subroutine

  subroutine cached(round)
    integer, intent(in) :: round
    COMM :: first, second
    integer(MPI_ADDRESS_KIND) :: value
    logical :: found
    integer :: length
    character(MPI_MAX_OBJECT_NAME) :: name
    call MPI_Comm_dup(MPI_COMM_WORLD, first, error)
    call MPI_Comm_get_attr(first, key, value, found, error)
    call check('not there yet', .not. found)
    call MPI_Comm_set_attr(first, key, 5000_MPI_ADDRESS_KIND + round, error)
    call MPI_Comm_set_name(first, 'a name with blanks  ', error)
    call MPI_Comm_dup(first, second, error)
    call MPI_Comm_get_attr(second, key, value, found, error)
    call check('copied', found .and. value == 6000 + round)
    call mix(int(value))
    call MPI_Comm_get_name(first, name, length, error)
    call check('name', name == 'a name with blanks')
    call MPI_Comm_free(first, error)
    call MPI_Comm_free(second, error)
  end subroutine

  ! What C sees of a number that Fortran has set, and Fortran of one that C has set: seen_in_c.c.
  subroutine in_c(round)
    integer, intent(in) :: round
    COMM :: mine, copy
    integer(MPI_ADDRESS_KIND) :: value, seen
    integer :: handle, last
    logical :: found
    call MPI_Comm_dup(MPI_COMM_SELF, mine, error)
    call MPI_Comm_set_attr(mine, key, 7000_MPI_ADDRESS_KIND + round, error)
#if defined F08
    handle = mine%MPI_VAL
#else
    handle = mine
#endif
    call seen_in_c(handle, key, seen)
    call check('C gets a pointer to the number', seen == 7000 + round)
    call set_in_c(handle, key, seen)
    call MPI_Comm_get_attr(mine, key, value, found, error)
    call check('Fortran gets the pointer as a number', found .and. value == seen)
    last = copies
    call MPI_Comm_dup(mine, copy, error)
    call MPI_Comm_get_attr(copy, key, value, found, error)
    call check('so does its copy function', found .and. value == seen + 1000 .and. copies == last + 1)
    call MPI_Comm_free(copy, error)
    call MPI_Comm_free(mine, error)
  end subroutine

  ! Its functions get the variable of the program, and may change it.
  subroutine generalized(round)
    integer, intent(in) :: round
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: other
    REQUEST :: request
    STATUS :: status
    extra = round
    call MPI_Grequest_start(query_it, free_it, cancel_it, extra, request, error)
    call MPI_Grequest_complete(request, error)
    call MPI_Cancel(request, other)
    call MPI_Wait(request, status, error)
    call check('generalized request', other == MPI_SUCCESS .and. error == MPI_SUCCESS .and. TAG_OF(status) == 7)
    call touch(extra)
    call check('the free function has changed the extra state', extra == round - 1)
  end subroutine

  subroutine with_error(round)
    integer, intent(in) :: round
    COMM :: mine
    integer :: class, length, code
    character(MPI_MAX_ERROR_STRING) :: text
    call MPI_Comm_dup(MPI_COMM_SELF, mine, error)
    call MPI_Comm_set_errhandler(mine, handler, error)
    call MPI_Send(round, 1, MPI_INTEGER, 17, 1, mine, code)
    call MPI_Error_class(code, class, error)
    call check('a wrong rank', class == MPI_ERR_RANK)
    call MPI_Error_string(code, text, length, error)
    call check('its text', length > 0 .and. text /= '')
    call MPI_Comm_free(mine, error)
  end subroutine

  subroutine with_info(round)
    integer, intent(in) :: round
    INFO :: i, copy
    character(20) :: value
    integer :: keys
    logical :: found
    write (value, '(i0)') round
    call MPI_Info_create(i, error)
    call MPI_Info_set(i, 'round', value, error)
    call MPI_Info_set(i, ' blanks ', ' around ', error)
    call MPI_Info_dup(i, copy, error)
    call MPI_Info_get_nkeys(copy, keys, error)
    call check('keys', keys == 2)
    value = 'before'
    call MPI_Info_get(copy, 'blanks', 20, value, found, error)
    call check('blanks are removed', found .and. value == 'around')
    call MPI_Info_free(i, error)
    call MPI_Info_free(copy, error)
  end subroutine
end program
