bin_PROGRAMS += ulpscope
ulpscope_SOURCES = \
	%D%/command.h \
	%D%/command_arith.c \
	%D%/command_audit.c \
	%D%/command_compare.c \
	%D%/command_conformance.c \
	%D%/command_mma.c \
	%D%/command_ops.c \
	%D%/command_plan.c \
	%D%/command_run.c \
	%D%/common.c \
	%D%/conformance.h \
	%D%/conformance_case.c \
	%D%/conformance_scope.c \
	%D%/coverage.c \
	%D%/coverage.h \
	%D%/lanes.c \
	%D%/main.c \
	%D%/notes.c \
	%D%/onnx_operators.def \
	%D%/outputs.c \
	%D%/print.c \
	%D%/progress.c \
	%D%/samples.c \
	%D%/shapes.c
# The program is a user of the library, by its public headers; what it prints with are functions of src/base
# that it has for itself. What it lacks becomes public, or is its own.
ulpscope_SOURCES += src/base/error.c src/base/error.h src/base/shown.c src/base/shown.h src/base/text.c src/base/text.h
ulpscope_CPPFLAGS = $(AM_CPPFLAGS)
ulpscope_LDADD = libulpscope.la $(GMP_LIBS)
dist_man_MANS += %D%/ulpscope.1
