! hark.f90: checkpoints for programs in Fortran that run under `hark run`, with mpif.h, `use mpi` or
! `use mpi_f08`. Compile this file with the program, and link it with hark-app:
!
!     mpif90 $(pkg-config --variable=fortran hark-app) program.f90 $(pkg-config --libs hark-app)
!
! The three subroutines are those of C (hark/app.h), where the details are:
!
!     call hark_protect(1, step)              ! what belongs into checkpoints
!     call hark_protect(2, field)
!     call hark_restarted(number)             ! 0, or after a restart: both are as they were
!     do while (step < steps)
!       ...
!       step = step + 1
!       call hark_checkpoint()                ! taken when one is due
!     end do
!
! Each has `status` as an optional last argument: 0, or a negative value of hark/app.h. Without it an
! error ends the program with a line. Calls are allowed between MPI_Init and MPI_Finalize.
module hark
  use, intrinsic :: iso_c_binding, only: c_char, c_f_pointer, c_int, c_int64_t, c_loc, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private
  public :: hark_protect, hark_unprotect, hark_checkpoint, hark_restarted
  integer, parameter, public :: HARK_A_OK = 0, HARK_A_EINIT = -81, HARK_A_EARGUMENT = -85, &
      HARK_A_EPENDING = -86, HARK_A_EREGION = -87

  interface
    integer(c_int) function c_protect(id, at, length) bind(c, name='hark_protect')
      import :: c_int, c_int64_t, c_ptr, c_size_t
      integer(c_int64_t), value :: id
      type(c_ptr), value :: at
      integer(c_size_t), value :: length
    end function

    integer(c_int) function c_checkpoint() bind(c, name='hark_checkpoint')
      import :: c_int
    end function

    integer(c_int) function c_restarted(number) bind(c, name='hark_restarted')
      import :: c_int, c_int64_t
      integer(c_int64_t) :: number
    end function

    type(c_ptr) function c_error(status) bind(c, name='hark_app_error')
      import :: c_int, c_ptr
      integer(c_int), value :: status
    end function

    subroutine c_exit(status) bind(c, name='exit')
      import :: c_int
      integer(c_int), value :: status
    end subroutine

    integer(c_size_t) function c_length(text) bind(c, name='strlen')
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
  end interface

contains

  ! Names a variable that belongs to checkpoints: a scalar or a contiguous array of any type, not one
  ! component of an array of a derived type: compilers pass a copy of that. The compiler must know that
  ! the variable is read and written behind its back: give it the attribute TARGET (and SAVE, unless it
  ! is of a module or the main program, if the subroutine that names it returns). An id is at least 0;
  ! another call with the same id replaces the variable. HARK_A_EARGUMENT: a negative id, or an array
  ! that is not contiguous.
  subroutine hark_protect(id, variable, status)
    integer, intent(in) :: id
    type(*), dimension(..), intent(in), target :: variable
    integer, intent(out), optional :: status
    integer(c_int) :: code
    code = HARK_A_EARGUMENT
    if (id >= 0 .and. is_contiguous(variable)) &
        code = c_protect(int(id, c_int64_t), c_loc(variable), int(sizeof(variable), c_size_t))
    call report('hark_protect', code, status)
  end subroutine

  ! Removes it from checkpoints, before it is deallocated.
  subroutine hark_unprotect(id, status)
    use, intrinsic :: iso_c_binding, only: c_null_ptr
    integer, intent(in) :: id
    integer, intent(out), optional :: status
    call report('hark_unprotect', c_protect(int(id, c_int64_t), c_null_ptr, 0_c_size_t), status)
  end subroutine

  ! Takes a checkpoint if one is due. Count the step before the call. HARK_A_EPENDING.
  subroutine hark_checkpoint(status)
    integer, intent(out), optional :: status
    call report('hark_checkpoint', c_checkpoint(), status)
  end subroutine

  ! To be called once, behind the calls of hark_protect. HARK_A_EREGION: the checkpoint has other
  ! variables, or of other sizes.
  subroutine hark_restarted(number, status)
    integer(c_int64_t), intent(out) :: number
    integer, intent(out), optional :: status
    call report('hark_restarted', c_restarted(number), status)
  end subroutine

  subroutine report(call, code, status)
    character(*), intent(in) :: call
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: status
    character(kind=c_char), pointer :: text(:)
    type(c_ptr) :: words
    if (present(status)) then
      status = code
    else if (code < 0) then
      words = c_error(code)
      call c_f_pointer(words, text, [c_length(words)])
      write (error_unit, '("hark: ", a, ": ", *(a))') call, text
      call c_exit(1_c_int)
    end if
  end subroutine
end module
