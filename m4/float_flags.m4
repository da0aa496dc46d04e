# ULP_CHECK_FLOAT_FLAGS
# Refuse compiler flags under which a float operation is not one IEEE operation, demand that float
# expressions are evaluated in float, and set ULP_FLOAT_CFLAGS to what every file is compiled with.
AC_DEFUN([ULP_CHECK_FLOAT_FLAGS], [
  for ulp_flag in $CC $CFLAGS $CPPFLAGS; do
    AS_CASE([$ulp_flag],
      [-ffast-math|-Ofast|-funsafe-math-optimizations|-fassociative-math|-freciprocal-math|-ffinite-math-only|-fno-signed-zeros|-ffp-contract=fast|-ffp-contract=on|-fsingle-precision-constant|-mfpmath=387|-ffp-model=fast|-mdaz-ftz],
      [AC_MSG_ERROR([$ulp_flag changes what a floating-point operation computes; ulpscope cannot be right with it. Remove it from CC, CFLAGS and CPPFLAGS])])
  done
  ULP_FLOAT_CFLAGS="-ffp-contract=off -fno-fast-math -fno-trapping-math -fno-math-errno"
  AC_SUBST([ULP_FLOAT_CFLAGS])
  AC_MSG_CHECKING([that float expressions are evaluated in float])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <float.h>
#if FLT_EVAL_METHOD != 0 || FLT_MANT_DIG != 24 || DBL_MANT_DIG != 53
#error excess precision
#endif
#ifdef __FAST_MATH__
#error fast math
#endif]], [])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([this compiler evaluates float expressions with excess precision or unsafe optimisation (on 32-bit x86 use -msse2 -mfpmath=sse)])])
])
