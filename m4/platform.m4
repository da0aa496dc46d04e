# ULP_CHECK_PLATFORM
# What the exact sums and records stand on, and what not every system has. Nothing here runs a program, so that compiling for another
# processor asks the same questions.
AC_DEFUN([ULP_CHECK_PLATFORM], [
  AC_MSG_CHECKING([that GMP has limbs of 64 bits and the compiler integers of 128])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <limits.h>
#include <gmp.h>
#if GMP_NUMB_BITS != 64 || !defined __SIZEOF_INT128__ || CHAR_BIT != 8
#error a processor of 64 bits is needed
#endif]], [])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([ulpscope needs a processor of 64 bits: its exact sums are made of GMP's 64-bit limbs and the compiler's __int128 (doc/platforms.md)])])
  AC_CHECK_FUNCS([sched_getaffinity])
  AC_CHECK_HEADER([argp.h], [], [AC_MSG_ERROR([argp.h is needed: it is in glibc; elsewhere install argp-standalone])])
  AC_SEARCH_LIBS([argp_parse], [argp], [], [AC_MSG_ERROR([argp_parse is needed: it is in glibc; elsewhere install argp-standalone])])
  AC_CHECK_FUNCS([qsort_r versionsort memmem], [],
    [AC_MSG_ERROR([$ac_func is needed: it is in glibc, and in musl 1.2.3 or later])])
  # of the arguments that POSIX 2024 gives it, not those of older BSDs
  AC_MSG_CHECKING([that qsort_r takes the context last])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <stdlib.h>
void qsort_r(void *, size_t, size_t, int (*)(const void *, const void *, void *), void *);]], [])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([this qsort_r takes its arguments in another order than POSIX 2024 says])])
])
