libulpscope_a_SOURCES += \
	%D%/available.c %D%/available.h \
	%D%/clock.h \
	%D%/cpu.c %D%/cpu.h %D%/each_cpu_template.h \
	%D%/environment.c %D%/environment.h \
	%D%/file.c %D%/file.h %D%/file_map.c %D%/new_file.c \
	%D%/sha256.c %D%/sha256.h \
	%D%/thread.c %D%/thread.h
