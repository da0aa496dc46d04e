/* The commands, and what each of them includes: options, and the terminal. Commands print; the
 * library does not. */
#pragma once

#include "cli/option/option.h"
#include "cli/terminal/terminal.h"

/* Each takes its own argv (argv[0] is "ulpscope COMMAND") and returns the exit code. */
int command_audit(int argc, char **argv);
int command_engine(int argc, char **argv);
int command_extract(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_fix(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_demo(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_overflow(int argc, char **argv);
int command_prove(int argc, char **argv);
int command_run(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_mcp(int argc, char **argv);
int command_lint(int argc, char **argv);
int command_list(int argc, char **argv);
int command_mma(int argc, char **argv);
int command_scales(int argc, char **argv);
int command_show(int argc, char **argv);
int command_tolerance(int argc, char **argv);

/* Whether the command, or an option among its arguments, is a name that has left (gone.def): then
 * stderr says where it went. */
bool answer_gone(const char *command, int argc, char **argv);
