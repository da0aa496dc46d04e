libulpscope_a_SOURCES += %D%/study_fields.c %D%/conclude.c %D%/study_fit.c %D%/study_rows.c %D%/study_rows_text.c %D%/study_json.c %D%/study_kept.c %D%/places.c %D%/settings.c %D%/study.c %D%/studying.h \
	%D%/study_sweep.c %D%/study_text.c %D%/study_trials.c %D%/study_walk.c
