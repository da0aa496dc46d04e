libulpscope_a_SOURCES += \
	%D%/unit_contract.c %D%/fast.c %D%/fast.h \
	%D%/fast_template.h %D%/fp4.c %D%/fp4.h %D%/fp4_template.h %D%/multiply.c %D%/panels.c %D%/planes.c %D%/raw.c \
	%D%/sums.c %D%/table.c %D%/unit.c %D%/unit.h %D%/work.h
