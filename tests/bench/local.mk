# make bench: speeds beside their peers, measured in one run. Not part of make check.
EXTRA_PROGRAMS += bench_contract
bench_contract_SOURCES = %D%/bench_contract.c
bench_contract_CPPFLAGS = $(AM_CPPFLAGS) $(BLAS_CFLAGS)
bench_contract_LDADD = libcore.la $(BLAS_LIBS)

bench: bench_contract
	./bench_contract
.PHONY: bench
