# page/ is the page's text, style and scripts, in this order; embed turns them into C strings in the build tree.
html_page = %D%/page/page.html %D%/page/page.css \
	%D%/page/text.js %D%/page/element.js %D%/page/state.js %D%/page/hero.js %D%/page/theme.js %D%/page/adapt.js \
	%D%/page/groups.js %D%/page/layout.js %D%/page/histogram.js %D%/page/detail.js %D%/page/graph.js %D%/page/depth.js %D%/page/curves.js %D%/page/table.js \
	%D%/page/sections.js %D%/page/main.js
libulpscope_a_SOURCES += %D%/html.h %D%/html_write.c %D%/said.h %D%/said.c
nodist_libulpscope_a_SOURCES += %D%/page.c
CLEANFILES += %D%/page.c
EXTRA_DIST += %D%/embed $(html_page)

%D%/page.c: %D%/embed $(html_page)
	$(AM_V_GEN)$(MKDIR_P) %D% && cd $(top_srcdir) && %D%/embed $(abs_top_builddir)/$@ $(html_page)
