libulpscope_a_SOURCES += \
	%D%/avx2.c %D%/avx512.c %D%/column_map.c %D%/column_map.h %D%/unit_contract.c %D%/fast.c %D%/fast.h %D%/unit_form.c \
	%D%/fast_template.h %D%/fp4.c %D%/fp4.h %D%/fp4_template.h %D%/inplace.c %D%/instances.c %D%/multiply.c %D%/panels.c %D%/planes.c %D%/raw.c %D%/special_template.h %D%/strip_template.h %D%/vector_template.h \
	%D%/sums.c %D%/table.c %D%/unit.c %D%/unit.h %D%/work.h
