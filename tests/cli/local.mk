# The library as a user has it: public headers, the shared library.
check_PROGRAMS += layer_error
layer_error_SOURCES = examples/layer_error.c
layer_error_CPPFLAGS = -I$(top_srcdir)/include
layer_error_LDADD = libulpscope.la

# The whole program with its main under another name, and allocation that can be made to fail: the linker turns our own calls
# into those of tests/support/exhaust.c, which libraries' calls find as well.
check_PROGRAMS += check_exhaustion
TESTS += check_exhaustion
check_exhaustion_SOURCES = %D%/check_exhaustion.c %D%/exhaust_files.c %D%/exhaust_files.h tests/support/exhaust.c tests/support/exhaust.h $(ulpscope_SOURCES)
check_exhaustion_CPPFLAGS = $(test_cppflags) -Dmain=ulpscope_main
check_exhaustion_CFLAGS = $(AM_CFLAGS) -Wno-missing-prototypes
check_exhaustion_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free,--wrap=strdup \
	-Wl,--wrap=strndup,--wrap=mmap,--wrap=pthread_create
check_exhaustion_LDADD = $(test_libs)

test_programs += check_sandbox
check_sandbox_SOURCES = %D%/check_sandbox.c src/cli/sandbox/landlock.c src/cli/sandbox/landlock.h
dist_check_SCRIPTS += %D%/check_sandbox.sh
TESTS += %D%/check_sandbox.sh

EXTRA_DIST += tests/support/program.sh
dist_check_SCRIPTS += %D%/check_study.sh
TESTS += %D%/check_study.sh
dist_check_SCRIPTS += %D%/check_quick.sh
TESTS += %D%/check_quick.sh
dist_check_SCRIPTS += tests/check_entries.sh tests/check_layers.sh tests/check_circles.sh tests/check_symbols.sh %D%/check_cli.sh %D%/check_coverage.sh %D%/check_ends.sh %D%/check_host.sh %D%/check_made.sh %D%/check_names.sh %D%/check_parts.sh %D%/check_fit.sh %D%/check_saved.sh %D%/check_timings.sh
TESTS += tests/check_entries.sh tests/check_layers.sh tests/check_circles.sh tests/check_symbols.sh %D%/check_cli.sh %D%/check_coverage.sh %D%/check_ends.sh %D%/check_host.sh %D%/check_made.sh %D%/check_names.sh %D%/check_parts.sh %D%/check_fit.sh %D%/check_saved.sh %D%/check_timings.sh
dist_check_SCRIPTS += tests/check_dist.sh tests/check_doxygen.sh tests/check_install.sh %D%/check_manual.sh
TESTS += tests/check_dist.sh tests/check_doxygen.sh tests/check_install.sh %D%/check_manual.sh
dist_check_SCRIPTS += %D%/check_annotated.sh %D%/check_formats.sh %D%/check_packed.sh %D%/check_peers.sh %D%/check_weights.sh
TESTS += %D%/check_annotated.sh %D%/check_formats.sh %D%/check_packed.sh %D%/check_peers.sh %D%/check_weights.sh
