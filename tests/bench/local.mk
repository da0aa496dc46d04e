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

EXTRA_DIST += %D%/instruction_sets.py %D%/networks.py %D%/page.py %D%/pairs.py %D%/process.py
EXTRA_DIST += %D%/stack.py

# The scripts say so when python3 lacks onnxruntime or onnx.
# Each says which instruction sets it ran; then its own figures side by side with what processors without some of them would do.
bench: bench_contract bench_elementwise bench_measure ulpscope
	for program in contract elementwise measure; do ./bench_$$program || exit 1; done
	@if command -v python3 >/dev/null; then \
	    for program in contract elementwise measure; do \
	        python3 $(srcdir)/tests/bench/instruction_sets.py ./bench_$$program || exit 1; done && \
	    python3 $(srcdir)/tests/bench/networks.py --ulpscope ./ulpscope && \
	    python3 $(srcdir)/tests/bench/stack.py --ulpscope ./ulpscope; \
	else echo "instruction sets side by side, networks, stack: not measured: no python3"; fi
# doc/performance.md, from one run on a quiet machine.
performance: bench_contract bench_elementwise bench_measure ulpscope
	python3 $(srcdir)/tests/bench/page.py --build . --out $(srcdir)/doc/performance.md
.PHONY: bench performance
