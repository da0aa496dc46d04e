libcore_la_SOURCES += \
	%D%/approach.c %D%/choices.c %D%/confidence.c %D%/cost_file.c %D%/course.c %D%/descend.c %D%/emulate.c %D%/frontier.c %D%/layers.c %D%/learn.c %D%/links.c %D%/model.c %D%/picture.c %D%/picture.h %D%/range.c %D%/release.c \
	%D%/search_audit.c %D%/search_casts.c %D%/search_fields.c %D%/search_mixed.c %D%/search_result.c %D%/search_run.c %D%/search_tables.c %D%/search_text.c %D%/search_text.h %D%/search_write.c %D%/searcher.h %D%/towards.c %D%/trt_files.c %D%/trt_files.h %D%/uniform.c %D%/verify_draws.c %D%/widen.c
