# Manual pages and completions, made of the program's own tables. Only what the program says (description) is in the tarball; a
# command that is new needs its page named here, which tests/cli/check_manual.sh sees to.
manual_pages = %D%/ulpscope.1 %D%/ulpscope-audit.1 %D%/ulpscope-compare.1 %D%/ulpscope-demo.1 \
	%D%/ulpscope-diff.1 %D%/ulpscope-doctor.1 %D%/ulpscope-engine.1 %D%/ulpscope-extract.1 %D%/ulpscope-fix.1 %D%/ulpscope-lint.1 %D%/ulpscope-list.1 %D%/ulpscope-mcp.1 %D%/ulpscope-mma.1 %D%/ulpscope-overflow.1 \
	%D%/ulpscope-plan.1 %D%/ulpscope-prove.1 %D%/ulpscope-quantise.1 %D%/ulpscope-run.1 %D%/ulpscope-show.1 %D%/ulpscope-tolerance.1
man_MANS += $(manual_pages)
bashcompletiondir = $(datarootdir)/bash-completion/completions
nodist_bashcompletion_DATA = %D%/ulpscope
zshcompletiondir = $(datarootdir)/zsh/site-functions
nodist_zshcompletion_DATA = %D%/_ulpscope
fishcompletiondir = $(datarootdir)/fish/vendor_completions.d
nodist_fishcompletion_DATA = %D%/ulpscope.fish
manual_sources = $(srcdir)/%D%/read.awk $(srcdir)/%D%/man.awk $(srcdir)/%D%/bash.awk $(srcdir)/%D%/zsh.awk $(srcdir)/%D%/fish.awk \
	$(srcdir)/%D%/overview.man $(srcdir)/%D%/completion.bash $(srcdir)/%D%/completion.zsh $(srcdir)/%D%/completion.fish
EXTRA_DIST += %D%/describe.sh %D%/description %D%/read.awk %D%/man.awk %D%/bash.awk %D%/zsh.awk %D%/fish.awk \
	%D%/overview.man %D%/completion.bash %D%/completion.zsh %D%/completion.fish

if ASK_PROGRAM
%D%/description: ulpscope$(EXEEXT) $(program_here) %D%/describe.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && $(SHELL) $(srcdir)/%D%/describe.sh ./$(program_here) >%D%/description.new && mv %D%/description.new %D%/description
else
%D%/description: %D%/describe.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && if test -n "$(ULPSCOPE_NATIVE)"; then $(SHELL) $(srcdir)/%D%/describe.sh "$(ULPSCOPE_NATIVE)"; \
	else cat $(srcdir)/%D%/description; fi >%D%/description.new && mv %D%/description.new %D%/description
endif
# one run makes them all; the description is in the source's folder where make found that one new enough
%D%/made.stamp: %D%/description $(manual_sources)
	$(AM_V_GEN)$(MKDIR_P) %D% && from=%D%/description && { test -f $$from || from=$(srcdir)/$$from; } && \
	in=$(srcdir)/%D% && make_from() { $(AWK) -v folder=%D% -v date=$(ULP_RELEASE_DATE) -f $$in/read.awk -f $$in/$$1.awk $$from reading_template=1 $$in/$$2; } && \
	make_from man overview.man && make_from bash completion.bash >%D%/ulpscope && \
	make_from zsh completion.zsh >%D%/_ulpscope && make_from fish completion.fish >%D%/ulpscope.fish && touch $@
$(manual_pages) %D%/ulpscope %D%/_ulpscope %D%/ulpscope.fish: %D%/made.stamp
CLEANFILES += $(manual_pages) %D%/ulpscope %D%/_ulpscope %D%/ulpscope.fish %D%/made.stamp
# that of a tarball stays
clean-local: clean-manual
clean-manual:
	test "$(srcdir)" = . || rm -f %D%/description
.PHONY: clean-manual
