libulpscope_a_SOURCES += \
	%D%/pair_contract.c %D%/pair_contract.h %D%/pair_panels.c %D%/pair_panels.h %D%/pair_tile.c %D%/pair_tile.h %D%/pair_tile_template.h
