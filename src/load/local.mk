# onnx.proto is ours; protoc-c turns it into C in the build tree.
libulpscope_a_SOURCES += \
	%D%/load_element.c \
	%D%/external_data.c \
	%D%/load.h \
	%D%/load_attribute.c \
	%D%/load_function.c \
	%D%/load_graph.c \
	%D%/load_model.c \
	%D%/load_tensor.c \
	%D%/mixed/body.c %D%/mixed/editor.c %D%/mixed/editor.h %D%/mixed/edit_file.c %D%/mixed/edit_file.h %D%/mixed/extract_file.c %D%/mixed/extract_file.h %D%/mixed/message.c %D%/mixed/mixed.h %D%/mixed/node.c %D%/mixed/quantise_file.c %D%/mixed/quantise_file.h %D%/mixed/quantise_integer.c %D%/mixed/quantising.c %D%/mixed/quantising.h %D%/mixed/raise_nodes.c %D%/mixed/raise_nodes.h %D%/mixed/scope.c %D%/mixed/settle.c \
	%D%/mixed/edit_tensor.c %D%/mixed/mixed_write.c %D%/mixed/writer.h \
	%D%/unpack.c
nodist_libulpscope_a_SOURCES += %D%/onnx.pb-c.c %D%/onnx.pb-c.h
BUILT_SOURCES += %D%/onnx.pb-c.h
# make all, check and install make BUILT_SOURCES first; this is for one target alone, such as make ulpscope.
$(libulpscope_a_OBJECTS): | %D%/onnx.pb-c.h
CLEANFILES += %D%/onnx.pb-c.c %D%/onnx.pb-c.h
EXTRA_DIST += %D%/onnx.proto

%D%/onnx.pb-c.c: %D%/onnx.proto
	$(AM_V_GEN)$(MKDIR_P) %D% && $(PROTOC_C) -I$(top_srcdir)/%D% --c_out=%D% $(top_srcdir)/%D%/onnx.proto
%D%/onnx.pb-c.h: %D%/onnx.pb-c.c
	@test -f $@ || { rm -f %D%/onnx.pb-c.c; $(MAKE) $(AM_MAKEFLAGS) %D%/onnx.pb-c.c; }
