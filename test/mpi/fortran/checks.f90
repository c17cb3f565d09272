! What the programs share: checks, and a digest of what they have received.
module checks
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  implicit none
  integer :: rank = -1, ranks = 0
  integer(int64) :: digest = 0

contains

  ! The first argument says how many processes the job has: alone, with another MPI, it is 1.
  subroutine check_job()
    character(20) :: text
    integer :: expected
    call get_command_argument(1, text)
    read (text, *) expected
    call check('the job has as many processes as the argument says', ranks == expected)
  end subroutine

  subroutine check(what, holds)
    character(*), intent(in) :: what
    logical, intent(in) :: holds
    if (holds) return
    write (error_unit, '("rank ", i0, " of ", i0, ": not so: ", a)') rank, ranks, what
    stop 1
  end subroutine

  subroutine mix(value)
    integer, intent(in) :: value
    digest = mod(digest * 31 + value, 2147483647_int64)
  end subroutine

  ! Of this process: a sum of them differs when one does.
  integer function own_digest()
    own_digest = int(mod(digest * (rank + 1), 100000007_int64))
  end function

  integer function next_of(of)
    integer, intent(in) :: of
    next_of = mod(of + 1, ranks)
  end function

  integer function last_of(of)
    integer, intent(in) :: of
    last_of = mod(of + ranks - 1, ranks)
  end function
end module
