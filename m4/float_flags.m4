# ULP_CHECK_FLOAT_FLAGS
# Refuse flags of compiling and linking under which a float operation is not one IEEE operation, demand that float
# expressions are evaluated in float, and set ULP_FLOAT_CFLAGS to what every file is compiled with.
AC_DEFUN([ULP_CHECK_FLOAT_FLAGS], [
  for ulp_flag in $CC $CFLAGS $CPPFLAGS $LDFLAGS $LIBS; do
    AS_CASE([$ulp_flag],
      [-ffast-math|-Ofast|-funsafe-math-optimizations|-fassociative-math|-freciprocal-math|-ffinite-math-only|-fno-signed-zeros|-ffp-contract=fast|-ffp-contract=on|-fsingle-precision-constant|-mfpmath=387|-ffp-model=fast|-ffp-model=aggressive|-mdaz-ftz|-mpc32|-mpc64|*crtfastmath.o],
      [AC_MSG_ERROR([$ulp_flag changes what a floating-point operation computes; ulpscope cannot be right with it. Remove it from CC, CFLAGS, CPPFLAGS, LDFLAGS and LIBS])])
  done
  # However it was asked for (a wrapper, a specs or configuration file): this object flushes
  # subnormals in every program and library that it is linked into.
  AC_MSG_CHECKING([that linking leaves the processor's floating-point mode alone])
  AS_IF([AS_ECHO(["int main(void) { return 0; }"]) > conftest.c && $CC $CFLAGS $CPPFLAGS $LDFLAGS -### conftest.c $LIBS 2>&1 | grep -q 'crtfastmath'],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([$CC links crtfastmath.o, which flushes subnormals in the whole process; ulpscope cannot be right with it. Remove what asks for it (-ffast-math and its like)])],
    [AC_MSG_RESULT([yes])])
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
