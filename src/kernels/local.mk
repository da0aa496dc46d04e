libcore_la_SOURCES += \
	%D%/contract.h \
	%D%/cpu.c %D%/cpu.h \
	%D%/pack.c %D%/pack.h %D%/pack_template.h
libcore_la_SOURCES += \
	%D%/unit.c %D%/unit.h %D%/unit_avx2.c %D%/unit_avx512.c %D%/unit_contract.c %D%/unit_fast.c %D%/unit_fast.h \
	%D%/unit_fast_template.h %D%/unit_planes.c %D%/unit_raw.c %D%/unit_table.c
libcore_la_SOURCES += \
	%D%/wide.c %D%/wide.h %D%/wide_parts.h \
	%D%/wide_sum.c
