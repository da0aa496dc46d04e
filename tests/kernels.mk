check_PROGRAMS += check_contract
TESTS += check_contract
check_contract_SOURCES = %D%/check_contract.c %D%/kernels/chain_oracle.c %D%/kernels/chain_oracle.h \
	%D%/kernels/check_integers.c %D%/kernels/check_pack.c %D%/kernels/check_special.c %D%/kernels/instance.c %D%/kernels/instance.h
check_contract_CPPFLAGS = $(test_cppflags)
check_contract_LDADD = $(test_libs)
# The same program, so the script needs it built; check_PROGRAMS are built before any test runs.
dist_check_SCRIPTS += %D%/check_contract_cpu.sh
TESTS += %D%/check_contract_cpu.sh
