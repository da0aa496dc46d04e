bin_PROGRAMS += ulpscope
ulpscope_SOURCES = \
	%D%/command.h \
	%D%/command_arith.c \
	%D%/command_audit.c \
	%D%/command_compare.c \
	%D%/command_conformance.c \
	%D%/command_mma.c \
	%D%/command_ops.c \
	%D%/command_run.c \
	%D%/common.c \
	%D%/conformance.h \
	%D%/conformance_case.c \
	%D%/conformance_scope.c \
	%D%/coverage.c \
	%D%/coverage.h \
	%D%/lanes.c \
	%D%/main.c \
	%D%/onnx_operators.def \
	%D%/print.c \
	%D%/progress.c \
	%D%/samples.c
ulpscope_LDADD = libcore.la
dist_man_MANS += %D%/ulpscope.1
