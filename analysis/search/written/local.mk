libulpscope_a_SOURCES += \
	%D%/exclude.c %D%/modelopt.c %D%/search_casts.c %D%/search_files.h %D%/search_formats.c %D%/search_quantised.c %D%/search_say.c %D%/search_text.c %D%/search_text.h %D%/search_write.c %D%/trt_files.c
