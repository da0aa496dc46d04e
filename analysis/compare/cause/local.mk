libulpscope_a_SOURCES += \
	%D%/cause.c %D%/cause_change.c %D%/cause_change.h %D%/cause_fit.c %D%/cause_reading.c %D%/cut.c %D%/cut.h %D%/reading_alone.c %D%/readings.h %D%/reading.def %D%/reread.c %D%/reread_before.c %D%/reread_map.c %D%/reread_pads.c %D%/reread_part.c %D%/reread.h %D%/cause_format.c %D%/guess.c %D%/input.c %D%/power.c %D%/suspects.c
