bin_PROGRAMS += ulpscope
ulpscope_SOURCES =
ulpscope_SOURCES += %D%/main.c
ulpscope_SOURCES += %D%/command.h
ulpscope_SOURCES += %D%/gone.c
ulpscope_SOURCES += %D%/gone.def
ulpscope_SOURCES += %D%/ranks.c
ulpscope_SOURCES += %D%/ranks.h
ulpscope_SOURCES += %D%/command/command_list.c
ulpscope_SOURCES += %D%/command/command_audit.c
ulpscope_SOURCES += %D%/command/command_audit.h
ulpscope_SOURCES += %D%/command/audit_choices.c
ulpscope_SOURCES += %D%/command/audit_between.c %D%/command/audit_engine.c
ulpscope_SOURCES += %D%/command/audit_option.def
ulpscope_SOURCES += %D%/command/compare_option.def
ulpscope_SOURCES += %D%/command/doctor_option.def
ulpscope_SOURCES += %D%/command/engine_option.def
ulpscope_SOURCES += %D%/command/fix_option.def
ulpscope_SOURCES += %D%/command/lint_option.def
ulpscope_SOURCES += %D%/command/overflow_option.def
ulpscope_SOURCES += %D%/command/plan_option.def
ulpscope_SOURCES += %D%/command/show_option.def
ulpscope_SOURCES += %D%/command/quantise_option.def
ulpscope_SOURCES += %D%/command/tolerance_option.def
ulpscope_SOURCES += %D%/command/prove_option.def
ulpscope_SOURCES += %D%/command/run_option.def
ulpscope_SOURCES += %D%/command/diff_option.def
ulpscope_SOURCES += %D%/command/extract_option.def %D%/command/merge_option.def %D%/command/mma_option.def
ulpscope_SOURCES += %D%/command/demo_option.def %D%/command/list_option.def %D%/command/mcp_option.def
ulpscope_SOURCES += %D%/command/audit_options.c
ulpscope_SOURCES += %D%/command/audit_samples.c
ulpscope_SOURCES += %D%/command/command_compare.c
ulpscope_SOURCES += %D%/command/command_demo.c
ulpscope_SOURCES += %D%/command/command_diff.c
ulpscope_SOURCES += %D%/command/command_doctor.c
ulpscope_SOURCES += %D%/command/command_fix.c
ulpscope_SOURCES += %D%/command/command_engine.c
ulpscope_SOURCES += %D%/command/command_extract.c
ulpscope_SOURCES += %D%/command/command_lint.c
ulpscope_SOURCES += %D%/command/audit_merge.c
ulpscope_SOURCES += %D%/command/command_mcp.c
ulpscope_SOURCES += %D%/command/mma.c
ulpscope_SOURCES += %D%/command/command_overflow.c
ulpscope_SOURCES += %D%/command/command_plan.c
ulpscope_SOURCES += %D%/command/command_prove.c
ulpscope_SOURCES += %D%/command/command_run.c
ulpscope_SOURCES += %D%/command/command_show.c
ulpscope_SOURCES += %D%/command/command_quantise.c
ulpscope_SOURCES += %D%/command/command_tolerance.c
ulpscope_SOURCES += %D%/option/option_parse.c %D%/option/row.h %D%/option/option_store.c
ulpscope_SOURCES += %D%/option/common.c
ulpscope_SOURCES += %D%/option/option_describe.c
ulpscope_SOURCES += %D%/option/lanes.c
ulpscope_SOURCES += %D%/option/option_json.c
ulpscope_SOURCES += %D%/option/option_limits.c
ulpscope_SOURCES += %D%/option/option.h
ulpscope_SOURCES += %D%/option/outputs.c %D%/option/score.c
ulpscope_SOURCES += %D%/option/option_random.c %D%/option/option_samples.c
ulpscope_SOURCES += %D%/option/option_work.c
ulpscope_SOURCES += %D%/option/option_shapes.c
ulpscope_SOURCES += %D%/terminal/notes.c
ulpscope_SOURCES += %D%/terminal/print.c
ulpscope_SOURCES += %D%/terminal/progress.c
ulpscope_SOURCES += %D%/terminal/terminal.h
ulpscope_SOURCES += %D%/terminal/result.c
ulpscope_SOURCES += %D%/terminal/watch.c
ulpscope_SOURCES += %D%/mcp/mcp.h
ulpscope_SOURCES += %D%/mcp/mcp_call.c
ulpscope_SOURCES += %D%/mcp/mcp_run.c
ulpscope_SOURCES += %D%/mcp/mcp_tool.def
ulpscope_SOURCES += %D%/sandbox/landlock.c
ulpscope_SOURCES += %D%/sandbox/landlock.h
ulpscope_SOURCES += %D%/sandbox/sandbox.c
ulpscope_SOURCES += %D%/sandbox/sandbox.h
# The program is a user of the library, by its public headers; what it prints with are functions of src/base
# that it has for itself. What it lacks becomes public, or is its own.
ulpscope_SOURCES += src/base/error.c
ulpscope_SOURCES += src/base/error.h
ulpscope_SOURCES += src/base/text/shown.c
ulpscope_SOURCES += src/base/text/shown.h
ulpscope_SOURCES += src/base/text/suggest.c
ulpscope_SOURCES += src/base/text/suggest.h
ulpscope_SOURCES += src/base/text/text.c
ulpscope_SOURCES += src/base/text/text.h
ulpscope_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
ulpscope_LDADD = $(core) $(MPI_LIBS)
# The files that the program carries, as C.
example_bytes = model=examples/digits/model.onnx inputs=examples/digits/inputs.npz
%D%/command/example_bytes.h: examples/digits/model.onnx examples/digits/inputs.npz
	$(AM_V_GEN)$(MKDIR_P) %D%/command && for each in $(example_bytes); do \
	echo "static const unsigned char bytes_of_$${each%%=*}[] = {"; od -An -v -t x1 "$(srcdir)/$${each#*=}" | sed 's/  */,0x/g; s/^,//; s/$$/,/'; echo '};'; \
	done >$@.new && mv $@.new $@
%D%/command/ulpscope-command_demo.$(OBJEXT): %D%/command/example_bytes.h
BUILT_SOURCES += %D%/command/example_bytes.h
$(ulpscope_OBJECTS): | %D%/command/example_bytes.h # also for make ulpscope alone
CLEANFILES += %D%/command/example_bytes.h
# What runs the program here: itself or, compiled for another processor, a script that names the emulator.
if EMULATED
program_here = emulated/ulpscope
emulated/ulpscope: Makefile
	$(AM_V_GEN)$(MKDIR_P) emulated && { echo '#!/bin/sh' && echo "exec $(ULPSCOPE_EMULATOR) '$(abs_builddir)/ulpscope$(EXEEXT)' \"\$$@\""; } >$@.new && \
	chmod +x $@.new && mv $@.new $@
CLEANFILES += emulated/ulpscope
else
program_here = ulpscope$(EXEEXT)
endif
include src/cli/manual/local.mk
