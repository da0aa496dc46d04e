# The reference of the public headers: make doxygen, in doc/html of the build's folder.
EXTRA_DIST += %D%/Doxyfile %D%/doxygen.awk
doxygen:
	$(MKDIR_P) %D% && ULPSCOPE_VERSION=$(PACKAGE_VERSION) ULPSCOPE_SOURCE=$(abs_top_srcdir) ULPSCOPE_OUTPUT=$(abs_builddir)/%D% doxygen $(srcdir)/%D%/Doxyfile
.PHONY: doxygen
clean-local: clean-doxygen
clean-doxygen:
	rm -rf %D%/html
.PHONY: clean-doxygen
