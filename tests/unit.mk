check_PROGRAMS += check_unit check_unit_contract check_unit_recorded
TESTS += check_unit check_unit_contract check_unit_recorded
check_unit_SOURCES = %D%/check_unit.c
check_unit_CPPFLAGS = $(test_cppflags)
check_unit_LDADD = $(test_libs)
check_unit_contract_SOURCES = %D%/check_unit_contract.c
check_unit_contract_CPPFLAGS = $(test_cppflags)
check_unit_contract_LDADD = $(test_libs)
check_unit_recorded_SOURCES = %D%/check_unit_recorded.c
check_unit_recorded_CPPFLAGS = $(test_cppflags)
check_unit_recorded_LDADD = $(test_libs)
EXTRA_DIST += \
	%D%/data/unit/SOURCES.md \
	%D%/data/unit/h200_gemm.npz %D%/data/unit/h200_mma.npz %D%/data/unit/h200_unary.npz %D%/data/unit/h200_wgmma.npz %D%/data/unit/other_gpus.npz
