libcore_la_SOURCES += \
	%D%/contract.c %D%/contract.h \
	%D%/chains.c %D%/chains.h %D%/chains_job.c %D%/chains_job.h \
	%D%/direct.c %D%/direct.h \
	%D%/output.c %D%/output.h \
	%D%/packed.c %D%/packed.h \
	%D%/pack.c %D%/pack.h %D%/pack_panel.h %D%/pack_template.h %D%/pack_x86.c \
	%D%/special.c %D%/special.h \
	%D%/rounded_template.h %D%/rounded_tiles_template.h %D%/tile_rounded.c \
	%D%/step.c %D%/step.h %D%/step_template.h \
	%D%/tile.h %D%/tile_template.h %D%/tile_generic.c %D%/tile_x86.c
libcore_la_SOURCES += \
	%D%/unit.c %D%/unit.h %D%/unit_avx2.c %D%/unit_avx512.c %D%/unit_contract.c %D%/unit_cover.c %D%/unit_cover.h \
	%D%/unit_direct.c %D%/unit_fast.c %D%/unit_fast.h \
	%D%/unit_fast_template.h %D%/unit_panels.c %D%/unit_planes.c %D%/unit_raw.c %D%/unit_settle_template.h %D%/unit_sums.c \
	%D%/unit_table.c %D%/unit_work.h
libcore_la_SOURCES += \
	%D%/wide.c %D%/wide.h %D%/wide_parts.h %D%/wide_number.h \
	%D%/wide_sum.c %D%/wide_direct.c %D%/wide_round.c %D%/wide_special.c \
	%D%/wide_digits.c %D%/wide_digits.h %D%/wide_product.c %D%/wide_plan.c %D%/wide_blocks.c %D%/wide_form.c %D%/wide_form.h \
	%D%/wide_vector.c %D%/wide_vector.h %D%/wide_vector_x86.c %D%/wide_round_x86.c \
	%D%/wide_tile.c %D%/wide_tile.h %D%/wide_tile_template.h %D%/wide_tile_x86.c
