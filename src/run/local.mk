libulpscope_a_SOURCES += \
	%D%/block.c %D%/bodies.c %D%/constants.c %D%/run_evaluate.c %D%/execute.c %D%/follow.c %D%/info.c \
	%D%/fitting_sizes.c %D%/lane.c %D%/lane_convert.c %D%/lane.h %D%/matmul.c %D%/notify.c %D%/pace.c %D%/pace.h %D%/random_inputs.c %D%/random_inputs.h %D%/run_pairs.c %D%/run_perturb.c %D%/stream.c %D%/walk.c %D%/walk.h
include src/run/enclose/local.mk
include src/run/idiom/local.mk
include src/run/pass/local.mk
include src/run/program/local.mk
EXTRA_DIST += %D%/README.md
