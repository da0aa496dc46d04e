bin_PROGRAMS += ulpscope
ulpscope_SOURCES = \
	%D%/main.c %D%/command.h %D%/ranks.c %D%/ranks.h \
	%D%/command/arith.c %D%/command/audit.c %D%/command/audit.h %D%/command/audit_engine.c %D%/command/audit_option.def %D%/command/audit_options.c \
	%D%/command/audit_choice.def %D%/command/audit_choices.c %D%/command/audit_lanes.c %D%/command/audit_original.c %D%/command/audit_parts.c %D%/command/audit_samples.c %D%/command/audit_store.c %D%/command/audit_store.h %D%/command/bits.c %D%/command/compare.c %D%/command/conformance.c %D%/command/lint.c %D%/command/merge.c %D%/command/mma.c \
	%D%/command/diff.c %D%/command/engine.c %D%/command/fit.c %D%/command/ops.c %D%/command/overflow.c %D%/command/plan.c %D%/command/prove.c %D%/command/report.c %D%/command/run.c %D%/command/show.c %D%/command/study.c %D%/command/tolerance.c \
	%D%/option/common.c %D%/option/describe.c %D%/option/engine.c %D%/option/lanes.c %D%/option/limits.c %D%/option/memory.c %D%/option/option.h %D%/option/outputs.c %D%/option/plans.c %D%/option/samples.c %D%/option/search.c %D%/option/shapes.c \
	%D%/sandbox/landlock.c %D%/sandbox/landlock.h %D%/sandbox/sandbox.c %D%/sandbox/sandbox.h \
	%D%/terminal/notes.c %D%/terminal/print.c %D%/terminal/progress.c %D%/terminal/terminal.h %D%/terminal/timings.c %D%/terminal/watch.c \
	%D%/conformance/case.c %D%/conformance/conformance.h %D%/conformance/coverage.c %D%/conformance/coverage.h \
	%D%/conformance/onnx_operators.def %D%/conformance/scope.c
# The program is a user of the library, by its public headers; what it prints with are functions of src/base
# that it has for itself. What it lacks becomes public, or is its own.
ulpscope_SOURCES += src/base/error.c src/base/error.h src/base/text/shown.c src/base/text/shown.h src/base/text/text.c src/base/text/text.h
ulpscope_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
ulpscope_LDADD = libulpscope.la $(GMP_LIBS) $(MPI_LIBS)
# What runs the program here: itself or, compiled for another processor, a script that names the emulator.
if EMULATED
program_here = emulated/ulpscope
emulated/ulpscope: Makefile
	$(AM_V_GEN)$(MKDIR_P) emulated && { echo '#!/bin/sh' && echo "exec $(ULPSCOPE_EMULATOR) '$(abs_builddir)/ulpscope$(EXEEXT)' \"\$$@\""; } >$@.new && \
	chmod +x $@.new && mv $@.new $@
CLEANFILES += emulated/ulpscope
else
program_here = ulpscope$(EXEEXT)
endif
include src/cli/manual/local.mk
