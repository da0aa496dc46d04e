check_PROGRAMS += check_unit
TESTS += check_unit
check_unit_SOURCES = %D%/check_unit.c
check_unit_CPPFLAGS = $(test_cppflags)
check_unit_LDADD = $(test_libs)
