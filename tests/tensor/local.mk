check_PROGRAMS += check_tensor
TESTS += check_tensor
check_tensor_SOURCES = %D%/check_tensor.c
check_tensor_CPPFLAGS = $(test_cppflags)
check_tensor_LDADD = $(test_libs)
