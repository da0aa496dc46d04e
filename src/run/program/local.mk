libulpscope_a_SOURCES += \
	%D%/integer_amounts.c %D%/border.c %D%/expand.c %D%/fold.c %D%/fold_conv.c %D%/fold_norm.c %D%/fusion/fusion.c %D%/fusion/fusion.h %D%/fusion/groups.c %D%/fusion/kernels.c %D%/fusion/ort_groups.c %D%/fusion/parts.c %D%/inline.c %D%/integer_form.c %D%/written.h %D%/written_attention.c %D%/written_find.c %D%/written_place.c %D%/keep.c %D%/program_memory.c %D%/spelled.c %D%/program_mixed.c %D%/program_mixed.h \
	%D%/open_program.c %D%/open_program.h %D%/opening.c %D%/openvino.c %D%/order.c %D%/behind_product.c %D%/stored_values.c %D%/stored_values.h %D%/ort_cpu.c %D%/ort_forms.c %D%/ort_cpu.def %D%/pattern.c %D%/program.c %D%/program.h %D%/programs.c %D%/problems.c %D%/readers.c \
	%D%/types.c
