! Functions that MPI 3.0 deleted, with INTEGER addresses and values, as programs with mpif.h call them.
      program old
      implicit none
      include 'mpif.h'
      integer ierr, made, lengths(2), where(2), types(2), extent, lb, ub
      integer key, value, comm, handler, n, failed
      integer x(4), y(4)
      logical flag
      integer notes
      common /noted/ notes
      external add, forget, note
      failed = 0
      notes = 0
      call MPI_INIT(ierr)
      lengths(1) = 1
      lengths(2) = 1
      where(1) = 0
      where(2) = 8
      types(1) = MPI_INTEGER
      types(2) = MPI_DOUBLE_PRECISION
      call MPI_TYPE_STRUCT(2, lengths, where, types, made, ierr)
      call MPI_TYPE_COMMIT(made, ierr)
      call MPI_TYPE_EXTENT(made, extent, ierr)
      call check('MPI_TYPE_EXTENT', 16, extent, failed)
      call MPI_TYPE_LB(made, lb, ierr)
      call check('MPI_TYPE_LB', 0, lb, failed)
      call MPI_TYPE_UB(made, ub, ierr)
      call check('MPI_TYPE_UB', 16, ub, failed)
      call MPI_TYPE_SIZE(made, n, ierr)
      call check('MPI_TYPE_STRUCT', 12, n, failed)
      call MPI_TYPE_FREE(made, ierr)
      call MPI_TYPE_HVECTOR(2, 1, 12, MPI_INTEGER, made, ierr)
      call MPI_TYPE_EXTENT(made, extent, ierr)
      call check('MPI_TYPE_HVECTOR', 16, extent, failed)
      call MPI_TYPE_HINDEXED(2, lengths, where, MPI_INTEGER, made, ierr)
      call MPI_TYPE_EXTENT(made, extent, ierr)
      call check('MPI_TYPE_HINDEXED', 12, extent, failed)
      call MPI_TYPE_COMMIT(made, ierr)
      x(1) = 11
      x(2) = 12
      x(3) = 13
      y(2) = 0
      call MPI_SENDRECV(x, 1, made, 0, 1, y, 1, made, 0, 1,
     &  MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call check('what is in the gaps stays', 0, y(2), failed)
      call check('what is behind them', 13, y(3), failed)

      call MPI_KEYVAL_CREATE(add, forget, key, 100, ierr)
      call MPI_ATTR_PUT(MPI_COMM_WORLD, key, -5, ierr)
      call MPI_ATTR_GET(MPI_COMM_WORLD, key, value, flag, ierr)
      call check('MPI_ATTR_GET', -5, value, failed)
      call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierr)
      call MPI_ATTR_GET(comm, key, value, flag, ierr)
      call check('the copy', 95, value, failed)
      call MPI_ATTR_DELETE(comm, key, ierr)
      call check('MPI_ATTR_DELETE', 1, notes, failed)
      call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, key, 0,
     &  ierr)
      call MPI_ATTR_PUT(comm, key, 8, ierr)
      call MPI_ERRHANDLER_CREATE(note, handler, ierr)
      call MPI_ERRHANDLER_SET(comm, handler, ierr)
      call MPI_SEND(x, 1, MPI_INTEGER, 4711, 1, comm, ierr)
      call check('MPI_ERRHANDLER_SET', 11, notes, failed)
      call MPI_COMM_FREE(comm, ierr)
      call MPI_FINALIZE(ierr)
      if (failed .ne. 0) stop 1
      print '(a)', '12 passed, 0 failed'
      end

      subroutine check(what, expected, found, failed)
      character*(*) what
      integer expected, found, failed
      if (expected .eq. found) return
      failed = failed + 1
      print *, 'FAILED ', what, ': expected ', expected, ', found ',
     &  found
      end

      subroutine add(comm, key, extra, in, out, flag, ierr)
      integer comm, key, extra, in, out, ierr
      logical flag
      out = in + extra
      flag = .true.
      ierr = 0
      end

      subroutine forget(comm, key, value, extra, ierr)
      integer comm, key, value, extra, ierr, notes
      common /noted/ notes
      if (value .eq. 95 .and. extra .eq. 100) notes = notes + 1
      ierr = 0
      end

      subroutine note(comm, code)
      integer comm, code, notes
      common /noted/ notes
      if (code .ne. 0) notes = notes + 10
      end
