# The library as a user has it: public headers, the shared library.
check_PROGRAMS += layer_error
layer_error_SOURCES = examples/layer_error.c
layer_error_CPPFLAGS = -I$(top_srcdir)/include
layer_error_LDADD = libulpscope.la

EXTRA_DIST += %D%/support/program.sh
dist_check_SCRIPTS += %D%/check_host.sh %D%/check_layers.sh %D%/check_symbols.sh %D%/check_cli.sh %D%/check_coverage.sh
TESTS += %D%/check_host.sh %D%/check_layers.sh %D%/check_symbols.sh %D%/check_cli.sh %D%/check_coverage.sh
