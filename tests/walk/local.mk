# Random graphs over every row of the operator table; random_graph writes them as files, for walks through commands.
walk_sources = %D%/arithmetic.c %D%/builder.h %D%/control.c %D%/node.c %D%/random_graph.c %D%/random_graph.h %D%/wire.c \
	tests/ops/harness/cases.c tests/ops/harness/cases.h tests/ops/harness/rows.c tests/ops/harness/rows.h \
	tests/ops/harness/hints.c tests/ops/harness/variants.c tests/ops/harness/variants.h \
	tests/ops/harness/variants_attribute.c tests/ops/harness/variants_inside.h
EXTRA_PROGRAMS += random_graph
$(also)%D%/check_runtime.sh.log: random_graph$(EXEEXT)
$(also)%D%/check_pairs.sh.log: random_graph$(EXEEXT)
$(also)%D%/check_commands.sh.log: random_graph$(EXEEXT) walk_proofs$(EXEEXT)
random_graph_SOURCES = %D%/random_graph_files.c $(walk_sources)
EXTRA_DIST += %D%/README.md %D%/check_commands.py %D%/check_cuts.py %D%/check_runtime.py %D%/check_powers.py %D%/check_written.py %D%/cut_networks.py %D%/pair_cases.py
dist_check_SCRIPTS += %D%/check_commands.sh %D%/check_cuts.sh %D%/check_pairs.sh %D%/check_powers.sh %D%/check_runtime.sh %D%/check_written.sh
TESTS += %D%/check_commands.sh %D%/check_cuts.sh %D%/check_pairs.sh %D%/check_powers.sh %D%/check_runtime.sh %D%/check_written.sh
walk_proof_sources = %D%/proof_walk.c %D%/proof_walk.h tests/analysis/attack.c tests/analysis/attack.h $(walk_sources)
test_programs += check_prove_walk
check_prove_walk_SOURCES = %D%/check_prove_walk.c $(walk_proof_sources)
# Run by hand: the walk through proofs of any seeds.
EXTRA_PROGRAMS += walk_proofs
walk_proofs_SOURCES = %D%/walk_proofs.c $(walk_proof_sources)
