libcore_la_SOURCES += \
	%D%/contract.h \
	%D%/cpu.c %D%/cpu.h \
	%D%/pack.c %D%/pack.h %D%/pack_template.h
libcore_la_SOURCES += \
	%D%/unit.c %D%/unit.h %D%/unit_contract.c %D%/unit_raw.c %D%/unit_table.c
libcore_la_SOURCES += \
	%D%/wide.c %D%/wide.h %D%/wide_parts.h \
	%D%/wide_sum.c
