check_PROGRAMS += check_contract
TESTS += check_contract
check_contract_SOURCES = %D%/check_contract.c %D%/chain_oracle.c %D%/chain_oracle.h \
	%D%/check_integers.c %D%/check_pack.c %D%/check_special.c %D%/instance.c %D%/instance.h
check_contract_CPPFLAGS = $(test_cppflags)
check_contract_LDADD = $(test_libs)
# The same program, so the script needs it built; check_PROGRAMS are built before any test runs.
dist_check_SCRIPTS += %D%/check_contract_cpu.sh
TESTS += %D%/check_contract_cpu.sh
check_PROGRAMS += check_wide
TESTS += check_wide
check_wide_SOURCES = %D%/check_wide.c %D%/exact/check_kept.c %D%/exact/world.c %D%/exact/world.h
check_wide_CPPFLAGS = $(test_cppflags)
check_wide_LDADD = $(test_libs)
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
	tests/data/unit/SOURCES.md \
	tests/data/unit/h200_gemm.npz tests/data/unit/h200_mma.npz tests/data/unit/h200_unary.npz tests/data/unit/h200_wgmma.npz tests/data/unit/other_gpus.npz
