bin_PROGRAMS += ulpscope
ulpscope_SOURCES = %D%/main.c
ulpscope_LDADD = libcore.la
