# The library as a user has it: public headers, the shared library.
EXTRA_PROGRAMS += layer_error
$(also)%D%/check_cli.sh.log: layer_error$(EXEEXT)
layer_error_SOURCES = examples/layer_error.c
layer_error_CPPFLAGS = -I$(top_srcdir)/include
if SHARED
layer_error_LDADD = libulpscope.so
layer_error_LDFLAGS = -Wl,-rpath,'$(abs_top_builddir)'
else
layer_error_LDADD = $(core)
endif

# The whole program with its main under another name, and allocation that can be made to fail: the linker turns our own calls
# into those of tests/support/exhaust.c, which libraries' calls find as well.
EXTRA_PROGRAMS += check_exhaustion
TESTS += check_exhaustion
check_exhaustion_SOURCES = %D%/check_exhaustion.c %D%/exhaust_files.c %D%/exhaust_files.h tests/support/exhaust.c tests/support/exhaust.h $(ulpscope_SOURCES)
check_exhaustion_CPPFLAGS = $(test_cppflags) -Dmain=ulpscope_main $(MPI_CFLAGS)
check_exhaustion_CFLAGS = $(AM_CFLAGS) -Wno-missing-prototypes
check_exhaustion_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free,--wrap=strdup \
	-Wl,--wrap=strndup,--wrap=mmap,--wrap=pthread_create
check_exhaustion_LDADD = $(test_libs) $(MPI_LIBS)

test_programs += check_sandbox
check_sandbox_SOURCES = %D%/check_sandbox.c src/cli/sandbox/landlock.c src/cli/sandbox/landlock.h

EXTRA_DIST += tests/support/program.sh %D%/screens.py
EXTRA_DIST += tests/data/screens/audit.txt tests/data/screens/compare.txt tests/data/screens/diff.txt tests/data/screens/doctor.txt tests/data/screens/engine.txt tests/data/screens/extract.txt tests/data/screens/fix.txt tests/data/screens/lint.txt tests/data/screens/list.txt tests/data/screens/overflow.txt tests/data/screens/plan.txt tests/data/screens/prove.txt tests/data/screens/run.txt tests/data/screens/quantise.txt tests/data/screens/quantise-arith.txt tests/data/screens/quantise-formats.txt tests/data/screens/show-node.txt tests/data/screens/show.txt tests/data/screens/tolerance.txt

# Scripts: those of the whole tree, then those of the program.
dist_check_SCRIPTS += tests/check_cells.sh tests/check_circles.sh tests/check_floors.sh tests/check_headers.sh tests/check_commit_msg.sh tests/check_names.sh tests/check_sizes.sh
TESTS += tests/check_cells.sh tests/check_circles.sh tests/check_floors.sh tests/check_headers.sh tests/check_commit_msg.sh tests/check_names.sh tests/check_sizes.sh
dist_check_SCRIPTS += tests/check_dist.sh
TESTS += tests/check_dist.sh
dist_check_SCRIPTS += tests/check_entries.sh
TESTS += tests/check_entries.sh
dist_check_SCRIPTS += tests/check_install.sh tests/check_packaging.sh
TESTS += tests/check_install.sh tests/check_packaging.sh
dist_check_SCRIPTS += tests/check_layers.sh
TESTS += tests/check_layers.sh
dist_check_SCRIPTS += tests/check_symbols.sh
EXTRA_DIST += tests/symbols.txt
TESTS += tests/check_symbols.sh
dist_check_SCRIPTS += %D%/check_cli.sh
TESTS += %D%/check_cli.sh
dist_check_SCRIPTS += %D%/check_demo.sh %D%/check_doctor.sh %D%/check_extract.sh %D%/check_fixed.sh %D%/check_headlines.sh %D%/check_judged.sh %D%/check_magnified.sh
TESTS += %D%/check_demo.sh %D%/check_doctor.sh %D%/check_extract.sh %D%/check_fixed.sh %D%/check_headlines.sh %D%/check_judged.sh %D%/check_magnified.sh
dist_check_SCRIPTS += %D%/check_between.sh %D%/check_ends.sh
TESTS += %D%/check_between.sh %D%/check_ends.sh
dist_check_SCRIPTS += %D%/check_plan_formats.sh
TESTS += %D%/check_plan_formats.sh
EXTRA_DIST += %D%/plan_formats.py
dist_check_SCRIPTS += %D%/check_planted.sh %D%/check_scaled_nodes.sh %D%/check_static_scales.sh %D%/check_quantise.sh
TESTS += %D%/check_planted.sh %D%/check_scaled_nodes.sh %D%/check_static_scales.sh %D%/check_quantise.sh
EXTRA_DIST += %D%/planted_borders.py %D%/planted_decisions.py %D%/planted_scales.py
dist_check_SCRIPTS += %D%/check_json.sh
TESTS += %D%/check_json.sh
dist_check_SCRIPTS += %D%/check_formats.sh
TESTS += %D%/check_formats.sh
dist_check_SCRIPTS += %D%/check_births.sh
TESTS += %D%/check_births.sh
EXTRA_DIST += %D%/birth_cases.py %D%/plain_npz.py
dist_check_SCRIPTS += %D%/check_gates.sh %D%/check_processors.sh %D%/check_routers.sh
TESTS += %D%/check_gates.sh %D%/check_processors.sh %D%/check_routers.sh
EXTRA_DIST += %D%/accept_fixed.py %D%/body_causes.py %D%/gate_models.py %D%/judged_cases.py %D%/judged_twins.py
dist_check_SCRIPTS += %D%/check_gone.sh
TESTS += %D%/check_gone.sh
dist_check_SCRIPTS += %D%/check_host.sh
TESTS += %D%/check_host.sh
dist_check_SCRIPTS += %D%/check_made.sh
TESTS += %D%/check_made.sh
dist_check_SCRIPTS += %D%/check_amounts.sh
TESTS += %D%/check_amounts.sh
dist_check_SCRIPTS += %D%/check_manual.sh
TESTS += %D%/check_manual.sh
dist_check_SCRIPTS += %D%/check_mcp.sh
TESTS += %D%/check_mcp.sh
dist_check_SCRIPTS += %D%/check_memory.sh
TESTS += %D%/check_memory.sh
dist_check_SCRIPTS += %D%/check_names.sh %D%/check_newcomer.sh
TESTS += %D%/check_names.sh %D%/check_newcomer.sh
dist_check_SCRIPTS += %D%/check_causes.sh
dist_check_SCRIPTS += %D%/check_outputs.sh
TESTS += %D%/check_outputs.sh
dist_check_SCRIPTS += %D%/check_packages.sh
TESTS += %D%/check_packages.sh
dist_check_SCRIPTS += %D%/check_packed.sh %D%/check_split_k.sh
TESTS += %D%/check_causes.sh
dist_check_SCRIPTS += %D%/check_verdicts.sh
TESTS += %D%/check_verdicts.sh
TESTS += %D%/check_packed.sh %D%/check_split_k.sh
dist_check_SCRIPTS += %D%/check_parts.sh
TESTS += %D%/check_parts.sh
dist_check_SCRIPTS += %D%/check_peers.sh
TESTS += %D%/check_peers.sh
dist_check_SCRIPTS += %D%/check_preparations.sh
TESTS += %D%/check_preparations.sh
EXTRA_DIST += %D%/planted_preparations.py %D%/planted_readings.py
dist_check_SCRIPTS += %D%/check_quantised.sh %D%/check_runtimes.sh
TESTS += %D%/check_quantised.sh %D%/check_runtimes.sh
EXTRA_DIST += %D%/runtime_networks.py scripts/install-runtimes
EXTRA_DIST += %D%/planted.py
dist_check_SCRIPTS += %D%/check_sandbox.sh
TESTS += %D%/check_sandbox.sh
dist_check_SCRIPTS += %D%/check_saved.sh %D%/check_screens.sh
TESTS += %D%/check_saved.sh %D%/check_screens.sh
dist_check_SCRIPTS += %D%/check_twins.sh
TESTS += %D%/check_twins.sh
dist_check_SCRIPTS += %D%/check_unknown.sh
TESTS += %D%/check_unknown.sh
dist_check_SCRIPTS += %D%/check_weights.sh
TESTS += %D%/check_weights.sh
dist_check_SCRIPTS += %D%/check_taken.sh
TESTS += %D%/check_taken.sh
dist_check_SCRIPTS += %D%/check_tf32.sh
TESTS += %D%/check_tf32.sh
dist_check_SCRIPTS += %D%/check_attributed.sh %D%/check_metric.sh
TESTS += %D%/check_attributed.sh %D%/check_metric.sh
EXTRA_DIST += %D%/folded_activations.py
EXTRA_DIST += %D%/twin_cases.py %D%/twin_net.py %D%/twin_sweeps.py %D%/twin_table.py
dist_check_SCRIPTS += %D%/check_declared.sh
TESTS += %D%/check_declared.sh
EXTRA_DIST += %D%/declared_models.py
