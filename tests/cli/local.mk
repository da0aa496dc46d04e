# The library as a user has it: public headers, the shared library.
check_PROGRAMS += layer_error
layer_error_SOURCES = examples/layer_error.c
layer_error_CPPFLAGS = -I$(top_srcdir)/include
layer_error_LDADD = libulpscope.la

dist_check_SCRIPTS += tests/check_layers.sh tests/check_symbols.sh %D%/check_cli.sh %D%/check_coverage.sh
TESTS += tests/check_layers.sh tests/check_symbols.sh %D%/check_cli.sh %D%/check_coverage.sh
