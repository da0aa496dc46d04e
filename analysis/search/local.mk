libulpscope_a_SOURCES += \
	%D%/choices.c %D%/descend.c %D%/emulate.c %D%/layers.c %D%/model.c %D%/products.c %D%/search_audit.c %D%/search_beside.c %D%/search_fields.c %D%/search_remedy.c %D%/search_remedy.h %D%/search_result.c %D%/search_run.c %D%/search_tf32.c %D%/search_tf32.h %D%/searcher.h %D%/towards.c
include analysis/search/formats/local.mk
include analysis/search/hold/local.mk
include analysis/search/written/local.mk
