libulpscope_a_SOURCES += \
	%D%/columns.c %D%/columns.h %D%/csv.c %D%/csv.h %D%/folder.c %D%/folder.h %D%/json_value.c %D%/json_value.h %D%/json_writer.c \
	%D%/json_writer.h %D%/fields.c %D%/fields.h %D%/fields_code.c %D%/fields_json.c %D%/fields_read.c %D%/structs.h %D%/first_screen.c %D%/first_screen.h \
	%D%/document.h %D%/document.c %D%/document.def %D%/document_markdown.c %D%/document_page.c %D%/document_terminal.c %D%/document_path.c %D%/document_places.c %D%/document_making.h
