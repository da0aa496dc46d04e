# A test program is a name in its folder's test_programs and its sources; what several share is in libtest.a. make
# check-long runs the same programs with their exhaustive cases (ULPSCOPE_TEST_LONG=1).
test_programs =
# No check_PROGRAMS, which make check links before any test, whatever TESTS names: a log depends on its program, a script's on
# those it runs. $(also), which is nothing, keeps automake from taking such a line for the whole rule of the log.
also =
EXTRA_PROGRAMS += $(test_programs)
CLEANFILES += $(EXTRA_PROGRAMS)
TESTS += $(test_programs)
check_LIBRARIES += libtest.a
libtest_a_SOURCES = %D%/support/element.c %D%/support/element.h %D%/support/line_model.c %D%/support/line_model.h \
	%D%/support/networks.c %D%/support/networks.h %D%/support/onnx_text.c %D%/support/onnx_text.h %D%/support/proto.c %D%/support/proto.h %D%/support/run.c %D%/support/scoped.h %D%/support/stream.h \
	%D%/support/test.c %D%/support/test.h %D%/support/text_cases.c %D%/support/text_cases.h %D%/support/text_model.c %D%/support/text_model.h %D%/support/unit_schedule.c %D%/support/unit_schedule.h \
	%D%/fuzz/fuzz.c %D%/fuzz/fuzz.h %D%/fuzz/fuzz_array.c %D%/fuzz/fuzz_document.c %D%/fuzz/fuzz_formula.c \
	%D%/fuzz/fuzz_formula.h %D%/fuzz/fuzz_load.c %D%/fuzz/fuzz_load.h %D%/fuzz/fuzz_mapping.c %D%/fuzz/fuzz_mapping.h %D%/fuzz/fuzz_option.c %D%/fuzz/mutate.c %D%/fuzz/target.def
libtest_a_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_SOURCE_DIR='"$(abs_top_srcdir)"'
AM_CPPFLAGS += $(CHECK_CFLAGS)
LDADD = libtest.a $(core) $(CHECK_LIBS)
test_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/support
test_libs = $(LDADD)
# Check's time-outs only catch hangs; ten times longer, a sanitizer build or a busy machine does not trip them.
AM_TESTS_ENVIRONMENT = CK_VERBOSITY=normal; export CK_VERBOSITY; CK_TIMEOUT_MULTIPLIER=10; export CK_TIMEOUT_MULTIPLIER; top_srcdir=$(top_srcdir); export top_srcdir; top_builddir=$(top_builddir); export top_builddir; ULPSCOPE_PROGRAM='$(abs_builddir)/$(program_here)'; export ULPSCOPE_PROGRAM; NM='$(NM)'; export NM;
# Programs for another processor run under its emulator, scripts as they are; an emulator takes ten times as long again.
if EMULATED
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/support/emulate.sh
AM_TESTS_ENVIRONMENT += ULPSCOPE_EMULATOR='$(ULPSCOPE_EMULATOR)'; export ULPSCOPE_EMULATOR; CK_TIMEOUT_MULTIPLIER=100;
check_DATA = $(program_here)
endif
EXTRA_DIST += %D%/support/emulate.sh
EXTRA_DIST += %D%/support/objects.sh
dist_check_SCRIPTS += %D%/check_lab.sh %D%/check_libm.sh %D%/cli/check_platforms.sh %D%/cli/check_sort.sh
TESTS += %D%/check_lab.sh %D%/check_libm.sh %D%/cli/check_platforms.sh %D%/cli/check_sort.sh

EXTRA_DIST += %D%/data/conv/h200_conv.npz %D%/data/conv/h200_floats.npz %D%/data/mufu/mufu_ex2_fraction.npz %D%/data/mufu/mufu_rcp.npz %D%/data/mufu/mufu_rsqrt.npz %D%/data/mufu/tanh_edge.npz %D%/data/mufu/tanh_far.npz %D%/data/mufu/tanh_near.npz %D%/data/bits/h100_bits.npz %D%/data/bits/h200_decoder.npz %D%/data/plans/h200_plans.json %D%/data/split_k/h100_split_k.npz
EXTRA_DIST += %D%/data/cases %D%/data/targets
EXTRA_DIST += %D%/support/samples.py %D%/support/sarif.py

# libFuzzer's program, which scripts/fuzz builds in a tree of clang's.
EXTRA_PROGRAMS += fuzz_targets
fuzz_targets_SOURCES = %D%/fuzz/fuzz_entry.c
fuzz_targets_LDFLAGS = -fsanitize=fuzzer
# make all makes BUILT_SOURCES first; this is for scripts/fuzz, which makes fuzz_targets alone.
$(libtest_a_OBJECTS): | src/load/onnx.pb-c.h
EXTRA_DIST += %D%/fuzz/corpus %D%/fuzz/uncovered.txt

# the compiled ones, for scripts/test --arch: first those that take minutes there, so that none of them is left alone at the end
long_programs = \
	check_contract \
	check_binary64 \
	check_formula \
	check_enclosures \
	check_prove \
	check_operators \
	check_exhaustion \
	check_left \
	check_walk
list-programs:
	@for test in $(long_programs); do echo $$test; done
	@for test in $(TESTS); do case " $(long_programs) $$test" in *" $$test "* | *.sh) ;; *) echo $$test ;; esac; done
.PHONY: list-programs

# for scripts/test --threads: those in which plans run, or pools work, on several threads. The rest computes on one, often for minutes.
threaded_programs = \
	check_shared check_analysis check_attribution check_base check_bodies check_compare check_environment \
	check_exact check_fold_norm check_fusion check_idiom check_iterations check_keep check_mixed check_nested check_networks \
	check_overflow check_left check_plan check_prove check_qdq check_run check_scaled check_search_shapes \
	check_tables check_tolerance check_trial check_truth check_unit_contract check_views check_wide check_work
list-threaded:
	@echo $(threaded_programs)
.PHONY: list-threaded

check-long: all
	ULPSCOPE_TEST_LONG=1 $(MAKE) $(AM_MAKEFLAGS) check
.PHONY: check-long


if HAVE_CHECK
test_programs += check_corpus
check_corpus_SOURCES = %D%/fuzz/check_corpus.c
include tests/base/local.mk
include tests/number/local.mk
include tests/tensor/local.mk
include tests/formula/local.mk
include tests/kernels/local.mk
include tests/load/local.mk
include tests/conformance/local.mk
include tests/ops/local.mk
include tests/run/local.mk
include tests/walk/local.mk
include tests/analysis/local.mk
include tests/cli/local.mk
include tests/doc/local.mk
include tests/python/local.mk
include tests/html/local.mk
endif
