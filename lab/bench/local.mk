# make bench: speeds beside their peers, measured in one run. Not part of make check.
EXTRA_PROGRAMS += bench_contract bench_elementwise bench_measure
bench_contract_SOURCES = %D%/bench_contract.c %D%/bench.h
bench_contract_CPPFLAGS = $(AM_CPPFLAGS) $(BLAS_CFLAGS)
bench_contract_LDADD = $(core) $(BLAS_LIBS)
bench_elementwise_SOURCES = %D%/bench_elementwise.c %D%/bench.h
bench_elementwise_CPPFLAGS = $(AM_CPPFLAGS)
bench_elementwise_LDADD = $(core) -lm
bench_measure_SOURCES = %D%/bench_measure.c %D%/bench.h
bench_measure_CPPFLAGS = $(AM_CPPFLAGS)
bench_measure_LDADD = $(core) -lm

EXTRA_DIST += %D%/networks.py %D%/page.py %D%/pairs.py %D%/process.py

# On a quiet machine: the page's figures, and doc/performance.md of them.
bench: bench_contract bench_elementwise bench_measure ulpscope
	python3 $(srcdir)/lab/bench/page.py --build . --out -
performance: bench_contract bench_elementwise bench_measure ulpscope
	python3 $(srcdir)/lab/bench/page.py --build . --out $(srcdir)/doc/performance.md
.PHONY: bench performance
